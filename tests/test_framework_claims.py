"""What pages, docstrings and messages claim of other frameworks is listed; and claims that no page's own tests run."""

import ast
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml

from conftest import ROOT
from gru_lib import SGD, linear_init

LIST = yaml.safe_load((ROOT / "tests" / "framework_claims.yml").read_text("utf8"))
#: A file that names one of these by this expression claims something of it, and needs a row.
NAMES = {
    "PyTorch": r"pytorch|\btorch\b|\bnn\.[A-Z]",
    "Keras": r"keras",
    "TensorFlow": r"tensorflow|tflite",
    "JAX": r"\bjax\b",
    "Flax": r"\bflax\b",
    "ONNX": r"onnx",
    "cuDNN": r"cudnn",
    "Core ML": r"core ?ml\b",
    "transformers": r"`transformers`|model\.generate",
    "others": r"\b(dreamer|equinox|flashrnn|flux|haiku|lasagne|mlx|paddle|mingru-pytorch)\b",
}
PLACES = ("book_text", "*.md"), ("book", "*.md"), ("gru_lib", "*.py"), ("gru_book", "*.py")
FILES = sorted(
    {
        ROOT / "README.md",
        ROOT / "SOURCES.md",
        *(path for folder, what in PLACES for path in (ROOT / folder).rglob(what)),
    }
)


def named(text: str) -> set[str]:
    """The frameworks that a text names."""
    return {name for name, words in NAMES.items() if re.search(words, text, re.IGNORECASE)}


@cache
def functions_of(path: Path) -> dict[str, bool]:
    """The test functions of a file, and whether each has the mark `frameworks`, as the weekly job runs them."""
    found = (each for each in ast.parse(path.read_text("utf8")).body if isinstance(each, ast.FunctionDef))
    return {
        each.name: any("frameworks" in ast.unparse(mark) for mark in each.decorator_list)
        for each in found
        if each.name.startswith("test_")
    }


def unlisted(name: str, text: str) -> list[str]:
    """What a text names and its rows do not, or the other way round."""
    rows = LIST["claims"].get(name, [])
    return sorted(named(text) ^ {framework for row in rows for framework in row["of"]})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_framework_that_a_page_or_a_docstring_names_is_in_the_list_and_no_other(path):
    assert unlisted(path.relative_to(ROOT).as_posix(), path.read_text("utf8")) == []


def test_each_claim_has_a_test_that_exists_or_says_why_it_cannot_be_run():
    for name, rows in LIST["claims"].items():
        assert (ROOT / name).is_file(), name
        for row in rows:
            assert ("test" in row) != ("not run" in row) and row["claim"] and row["of"], (name, row)
            assert set(row) <= {"claim", "of", "test", "not run"}
            if "not run" in row:
                assert len(row["not run"]) > 10, (name, row)
                continue
            for one in row["test"].split():
                file, _, function = one.partition("::")
                assert function in functions_of(ROOT / "tests" / file), (name, one)


def test_every_test_of_the_weekly_job_is_in_the_list():
    listed = " ".join(row["test"] for rows in LIST["claims"].values() for row in rows if "test" in row).split()
    marked = {
        f"{path.name}::{test}"
        for path in (ROOT / "tests").glob("test_*.py")
        for test, mark in functions_of(path).items()
        if mark
    }
    assert marked - set(listed) == set()


def test_the_list_has_the_version_of_each_framework_that_was_run():
    ran = {framework for rows in LIST["claims"].values() for row in rows if "test" in row for framework in row["of"]}
    assert ran <= set(LIST["versions"]) <= set(NAMES)


#: What a flag is if nobody says it; the test below asks the frameworks.
UNSAID = {"reset_after": True, "unit_forget_bias": True, "unroll": False}
UNSAID |= {"batch_first": False, "error_if_nonfinite": False, "drop_last": False, "fullgraph": False}
FLAG = re.compile(rf"(default )?`({'|'.join(UNSAID)})=(True|False)`")
SAID_ALL_THE_SAME = {
    ("notation.md", "reset_after"),
    ("questions.md", "reset_after"),
}  # the library's; what a form needs


def wrong_flags(name: str, text: str) -> list[str]:
    """Flags of which the prose names the value that they have anyway, or calls another one the default."""
    found = [m for m in FLAG.finditer(text) if (name, m[2]) not in SAID_ALL_THE_SAME]
    return [m[0] for m in found if (m[3] == str(UNSAID[m[2]])) != bool(m[1])]


def test_a_flag_that_the_prose_names_is_not_as_it_is_anyway():
    files = [path for path in FILES if path.suffix == ".md"]
    assert sum(len(FLAG.findall(path.read_text("utf8"))) for path in files) > 12
    assert [(path.name, wrong) for path in files for wrong in wrong_flags(path.name, path.read_text("utf8"))] == []
    assert wrong_flags("", "with the default `reset_after=False`") and wrong_flags("", "say `batch_first=False`")


# ------------------------------------------------------------------------------------------------ run here


@pytest.mark.frameworks("torch", "keras")
def test_flags_are_by_default_what_the_list_says():
    import keras
    import torch

    torchs = (torch.nn.RNNBase, torch.nn.utils.clip_grad_norm_, torch.utils.data.DataLoader, torch.compile)
    found: dict[str, set[object]] = {}
    for thing in (keras.layers.GRU, keras.layers.LSTM, *torchs):
        for flag, parameter in inspect.signature(thing).parameters.items():
            if flag in UNSAID:
                found.setdefault(flag, set()).add(parameter.default)
    assert found == {flag: {value} for flag, value in UNSAID.items()}


@pytest.mark.frameworks("torch")
def test_pytorch_has_what_the_pages_say_in_passing():
    import torch

    assert sum(p.numel() for p in torch.nn.LSTM(28, 128).parameters()) == 80_896  # chapter 12
    assert not any(hasattr(module, "associative_scan") for module in (torch, torch.func, torch.linalg))  # 21, 21b


@pytest.mark.frameworks("torch")
def test_momentum_is_that_of_pytorch():
    import torch

    p, grads = linear_init(np.random.default_rng(0), 3, 2), [np.random.default_rng(k).normal(size=8) for k in range(5)]
    theirs = torch.tensor(p.flat.copy(), requires_grad=True)
    ours, optimiser = SGD(p, lr=0.1, momentum=0.9), torch.optim.SGD([theirs], lr=0.1, momentum=0.9)
    for k, g in enumerate(grads):
        step, theirs.grad = p.zeros_like(), torch.tensor(g)
        step.flat[:] = g
        ours.lr = optimiser.param_groups[0]["lr"] = 0.1 / (1 + k)  # outside v: else the two part
        ours.step(step)
        optimiser.step()
    np.testing.assert_allclose(p.flat, theirs.detach().numpy(), rtol=1e-12)


@pytest.mark.frameworks("keras", "tensorflow")
def test_keras_hands_to_cudnn_the_form_that_resets_after(monkeypatch):
    """No GPU is needed: what decides is told that there is one."""
    import keras
    import tensorflow as tf
    from keras.src import activations

    in_tensorflow = import_module("keras.src.backend.tensorflow.rnn")
    monkeypatch.setattr(in_tensorflow, "_is_gpu_available", lambda: True)
    default = {"activation": activations.tanh, "recurrent_activation": activations.sigmoid, "unroll": False}
    default |= {"use_bias": True, "reset_after": True}
    assert in_tensorflow.cudnn_ok(**default)
    others = {"activation": activations.relu, "recurrent_activation": activations.hard_sigmoid, "unroll": True}
    for name, other in (others | {"use_bias": False, "reset_after": False}).items():
        assert not in_tensorflow.cudnn_ok(**default | {name: other}), name
    in_tensorflow._assert_valid_mask(tf.constant([[True, True, False]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="right-pad"):
        in_tensorflow._assert_valid_mask(tf.constant([[False, True, True]]))

    assert "not self.recurrent_dropout" in inspect.getsource(keras.layers.GRU.inner_loop)
