"""What chapter 10 and its companions say beside their cells: functions, frameworks' code, the theorem, the table."""

import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, page_says, randomised, run_box

from gru_book import results
from gru_lib import convert, gru_forward, gru_init, gru_step, infer, numeric_gradient, sigmoid, stack_forward

NAME = "10-conventions"
TEXT = (ROOT / "book_text" / f"{NAME}.md").read_text("utf8")


@pytest.fixture(scope="module")
def page():
    """The names that the page's first cells define."""
    wanted = ("viz.use_style()", "as_pytorch = convert", "print(again.name)")
    return names_of(cell for cell in cells_of(NAME) if any(word in cell for word in wanted))


# ---------------------------------------------------------------------------------------------------- moving weights


@pytest.mark.frameworks("torch")
def test_pytorch_is_recognised_as_the_page_shows():
    run_box("10-conventions", "hs, _ = gru(xs)")


@pytest.mark.frameworks("keras")
def test_keras_is_recognised_as_the_page_shows():
    run_box("10-conventions", "layer.get_weights()")


@pytest.mark.filterwarnings("ignore")  # of the exporter, of what it is made with
@pytest.mark.frameworks("torch", "onnxscript", "onnxruntime")
def test_the_export_of_the_page_is_right_or_wrong_by_its_version_and_recognise_says_which(tmp_path, monkeypatch):
    import onnx
    import onnxruntime
    import onnxscript
    import torch

    monkeypatch.chdir(tmp_path)
    names = run_box("10-conventions", "torch.onnx.export(gru")
    model, xs = onnx.load("gru.onnx"), names["xs"]
    (node,) = [node for node in model.graph.node if node.op_type == "GRU"]
    held = {a.name: onnx.numpy_helper.to_array(a) for a in model.graph.initializer}
    arrays = dict(zip("WRB", (held[name] for name in node.input[1:4]), strict=True))
    session = onnxruntime.InferenceSession("gru.onnx", providers=["CPUExecutionProvider"])
    there = session.run(None, {session.get_inputs()[0].name: xs.numpy()})[0].reshape(12, 3, 8)
    here = names["gru"](xs)[0].detach().numpy()
    version = tuple(int(part) for part in onnxscript.__version__.split(".")[:3])
    flag = int(version >= (0, 7, 1))
    assert (np.abs(here - there).max() < 1e-5) == bool(flag)
    for hs, wanted in ((here, 1), (there, flag)):
        assert [each.name for each in convert.recognise(arrays, xs, hs)] == [f"ONNX, linear_before_reset={wanted}"]
    torch.onnx.export(names["gru"], (xs,), "old.onnx", dynamo=False)
    (node,) = [node for node in onnx.load("old.onnx").graph.node if node.op_type == "GRU"]
    assert {a.name: a.i for a in node.attribute}["linear_before_reset"] == 1


def test_the_stored_export_is_what_the_page_says(page):
    found = [page[name].name for name in ("as_pytorch", "as_onnx")]
    assert found == ["ONNX, linear_before_reset=1", "ONNX, linear_before_reset=0"]
    assert page["export"]["linear_before_reset"] == 0 and page["again"].name == "Keras, reset after"
    assert 0.19 < page["gap"](page["pytorch"], page["onnxruntime"]) < 0.2
    hs = gru_forward(page["xs"], None, page["as_pytorch"].p)[0]
    assert np.abs(hs - page["pytorch"]).max() < 1e-6


def test_the_recipe_for_a_deep_bidirectional_net_computes_what_pytorch_did():
    with np.load(results.path("torch")) as arrays:
        a = {name.removeprefix("gru_deep/"): arrays[name] for name in arrays.files if name.startswith("gru_deep/")}
    state = {name.removeprefix("p."): array for name, array in a.items() if name.startswith("p.")}
    names = run_box("10-conventions", "infer(xs", gru=SimpleNamespace(state_dict=lambda: state), xs=a["xs"])
    h0 = [(a["h0"][0], a["h0"][1]), (a["h0"][2], a["h0"][3])]
    np.testing.assert_allclose(infer(a["xs"], h0, names["net"])[0], a["hs"], atol=1e-12)
    np.testing.assert_allclose(names["hs"], stack_forward(a["xs"], None, names["net"])[0], atol=1e-14)


def test_every_box_with_keras_says_what_to_set_without_tensorflow():
    """The tests set KERAS_BACKEND (conftest.py); a reader with PyTorch alone has nobody who does."""
    boxes = [line for page in (ROOT / "book_text").glob("*.md") for line in page.read_text("utf8").splitlines()]
    found = [line for line in boxes if line.startswith("import keras")]
    assert len(found) >= 4
    assert {line.partition("#")[2] for line in found} == {" without TensorFlow: KERAS_BACKEND=torch"}


# --------------------------------------------------------------------------- names of gates, in words and in the table


def table(name):
    """The rows of a list-table, each as its cells."""
    body = TEXT[TEXT.index(f":name: {name}") :].split("```")[0]
    return [[cell.strip() for cell in re.split(r"\n  - ", row)] for row in re.split(r"\n\* - ", body)[1:]]


def test_the_rows_of_this_book_and_of_a_text_are_what_the_library_does():
    rows = {cells[0].split(" {cite")[0].split(",")[0]: cells[1:] for cells in table("tab-conv-more")}
    p = gru_init(np.random.default_rng(0), 5, 7)
    assert (p.convention, p.reset_after, p.b.shape, p.W_x.shape) == ("keep", False, (21,), (5, 21))
    np.testing.assert_array_equal(p.W_x, np.concatenate([p.W_xr, p.W_xz, p.W_xn], axis=1))
    assert rows["this book"] == ["keeps", "before", "3", "r z n", "$(D, 3H)$", "run"]
    write = gru_init(np.random.default_rng(0), 5, 7, convention="write", bias=False)
    U = convert.to_source(write, "ai-edu")["U"]
    np.testing.assert_array_equal(U, np.concatenate([write.W_xz, write.W_xr, write.W_xn]))
    assert rows["ai-edu"] == ["writes", "before", "0", "z r n", "$(3D, H)$", "read"]


def test_the_programs_that_the_table_calls_run_are_run_by_a_test():
    """The weekly job runs them; tests/framework_claims.yml says with which versions."""
    tests = (ROOT / "tests" / "test_recognise.py").read_text("utf8").lower()
    run = {re.split(r",| \(", cells[0])[0] for cells in table("tab-conv-more")[1:] if cells[-1].startswith("run")}
    assert run == {"Keras", "Flax Linen", "Flax NNX", "Equinox", "MLX", "Haiku", "TensorFlow", "this book"}
    for name in ("flax", "equinox", "mlx", "haiku", "tensorflow", "keras"):
        assert f'"{name}"' in tests or f"what_{name}_wrote" in tests, name


FORMS = {  # as `recognise` names them, on what each program wrote: tests/test_recognise.py
    "PyTorch": ("keeps", "after", "r z n", "W x"),
    "Keras": ("keeps", "after", "z r n", "x W"),
    "ONNX": ("keeps", "before; with `linear_before_reset=1` after", "z r n", "W x"),
    "TensorFlow 1, `GRUCell`": ("keeps", "before", "r z, then n", "[x; h] W"),
    "Dreamer": ("writes", "over the whole", "r n z", "[x; h] W"),
}


def test_the_five_forms_are_those_by_which_recognise_knows_them():
    rows = {cells[0]: cells[1:5] for cells in table("tab-conv-who")[1:]}
    assert rows == {name: [z, reset, gates, f"${way}$"] for name, (z, reset, gates, way) in FORMS.items()}
    from gru_lib.recognise import _KNOWN

    for name, (z, reset, gates, way) in FORMS.items():
        where = {"over the whole": "whole"}.get(reset, reset.partition(";")[0])
        key = (gates.replace(", then", "").replace(" ", ""), way, way, z.rstrip("s"), where)
        assert _KNOWN[key].replace("`", "").startswith(name.replace("`", ""))


def test_negating_the_three_arrays_that_the_page_names_and_no_others_turns_keep_into_write():
    assert page_says(NAME, "negate three arrays")
    keep = gru_init(np.random.default_rng(0), 2, 3)
    keep.flat[:] = np.random.default_rng(1).normal(size=keep.size)
    x, h = np.ones((1, 2)), np.full((1, 3), 0.4)
    for gate in "rzn":
        write = gru_init(np.random.default_rng(0), 2, 3, convention="write")
        write.flat[:] = keep.flat
        for array in (f"W_x{gate}", f"W_h{gate}", f"b_{gate}"):
            getattr(write, array)[:] *= -1
        same = np.allclose(gru_step(x, h, write)[0], gru_step(x, h, keep)[0], rtol=0, atol=1e-14)
        assert same == (gate == "z")


@pytest.mark.parametrize("gate", "rzn")
def test_only_the_candidate_needs_its_second_bias(gate):
    """The page: in r and z only the sum matters; the candidate's stands inside r."""
    both = {"weight_ih_l0": (12, 3), "weight_hh_l0": (12, 4), "bias_ih_l0": (12,), "bias_hh_l0": (12,)}
    rng = np.random.default_rng(0)
    state = {name: rng.normal(size=shape) for name, shape in both.items()}
    moved = {name: array.copy() for name, array in state.items()}
    rows = slice(4 * "rzn".index(gate), 4 * "rzn".index(gate) + 4)
    moved["bias_ih_l0"][rows] -= 1
    moved["bias_hh_l0"][rows] += 1
    (one,), (two,) = (convert.from_torch(s, "gru")[0] for s in (state, moved))
    x, h = rng.normal(size=(5, 3)), rng.uniform(-1, 1, (5, 4))
    off = np.abs(gru_step(x, h, one)[0] - gru_step(x, h, two)[0]).max()
    assert off > 0.05 if gate == "n" else off < 1e-14


# ------------------------------------------------------------------------------------------------------- the theorem


def of_the_proof(reset_after):
    p = gru_init(np.random.default_rng(0), 1, 2, reset_after=reset_after)
    p.flat[:] = 0
    p.W_xr[:] = [1, -1]
    p.W_xn[:] = [1, 2]
    p.W_hn[:] = 1
    return p


@pytest.mark.parametrize("reset_after", [False, True])
def test_from_zero_the_grus_of_the_proof_fill_an_area_in_two_steps(reset_after):
    p = of_the_proof(reset_after)

    def second(x, k):
        h = np.zeros((1, 2))
        for x_t in x:
            h, _ = gru_step(x_t.reshape(1, 1), h, p)
        return h[0, k]

    rows = [numeric_gradient(lambda x, k=k: second(x, k), {"x": np.zeros(2)})["x"] for k in range(2)]
    np.testing.assert_allclose(np.transpose(rows), [[5 / 8, 7 / 8], [1 / 2, 1]], rtol=1e-12)
    p.W_xn[:] = 0  # with no input to the candidate they stay at 0 for ever, and prove nothing
    assert second(np.array([0.7, -0.4]), 0) == second(np.array([0.7, -0.4]), 1) == 0


def seen(p, x):
    """S[j, k], the derivative of the pre-activation of candidate k in h_j at h = 0."""
    p = p.copy()
    p.W_xn[:] = 0  # not in S; with it tanh would cost digits

    def a_n(h, k):
        return np.arctanh(gru_step(np.array([[x]]), h, p)[1].n[0, k])

    of = [numeric_gradient(lambda h, k=k: a_n(h, k), {"h": np.zeros((1, 2))})["h"][0] for k in range(2)]
    return np.transpose(of)


@pytest.mark.parametrize("x", [-3.0, 0.0, 2.0])
def test_the_two_grus_of_the_proof_see_the_state_as_it_says(x):
    z = gru_step([[x]], np.zeros((1, 2)), of_the_proof(False))[1].z
    np.testing.assert_array_equal(z, 0.5)
    up, down = sigmoid(x), sigmoid(-x)
    np.testing.assert_allclose(seen(of_the_proof(False), x), [[up, up], [down, down]], rtol=1e-12)
    np.testing.assert_allclose(seen(of_the_proof(True), x), [[up, down], [up, down]], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_what_no_weights_change_is_what_the_proof_uses(seed):
    rng = np.random.default_rng(seed)
    before, after = (gru_init(rng, 1, 2, reset_after=after) for after in (False, True))
    for p in (before, after):
        p.flat[:] = rng.normal(size=p.size)
        p.W_xn[:], p.b_n[:] = 0, 0
    ratios = [S[0, 0] / S[0, 1] for S in (seen(before, x) for x in (-2.0, 0.5, 3.0))]
    np.testing.assert_allclose(ratios, before.W_hn[0, 0] / before.W_hn[0, 1], rtol=1e-11)
    end = -np.sign(after.W_xr[0, 0])  # where the gate of unit 1 shuts
    S = [np.abs(seen(after, x)[:, 0]).max() for x in (end * 5, end * 50, end * 500)]
    assert S[0] > S[1] > S[2] and S[2] < 1e-3 * S[0]


@pytest.mark.parametrize("diagonal", [False, True])
def test_without_connections_between_units_the_resets_are_one(diagonal):
    source = np.random.default_rng(0)
    before, after = (gru_init(source, 2, 4, reset_after=after) for after in (False, True))
    randomised(before, source).W_hn[:] *= np.eye(4) if diagonal else 1
    after.W_x[:], after.W_h[:], after.b[:] = before.W_x, before.W_h, before.b
    x, h_prev = source.normal(size=(1, 2)), source.normal(size=(1, 4))
    off = np.abs(gru_step(x, h_prev, before)[0] - gru_step(x, h_prev, after)[0]).max()
    assert off < 1e-14 if diagonal else off > 1e-2


# ------------------------------------------------------------------------------------------------- the seven runs


def step(write, reset, turned, R, b, c, h):
    """One step of two units in the order r, z, n, from its formula; the input is 0."""
    M = R.swapaxes(1, 2) if turned else R
    r, z = (sigmoid(b[g] + c[g] + h @ M[g]) for g in (0, 1))
    n = {
        "before": b[2] + (r * h) @ M[2] + c[2],
        "after": b[2] + r * (h @ M[2] + c[2]),
        "whole": r * (b[2] + h @ M[2] + c[2]),
    }[reset]
    keep = 1 - z if write else z
    return keep * h + (1 - keep) * np.tanh(n)


@pytest.mark.parametrize(
    ("write", "reset", "turned"), list(product((False, True), ("before", "after", "whole"), (0, 1)))
)
def test_the_seven_runs_are_read_as_the_table_says(write, reset, turned):
    said = {cells[0]: cells[2] for cells in table("tab-conv-runs")[1:]}
    kept = "$h = h_0$: the block is $z$, kept; $h = 0$: $z$, written; "
    assert said["1–3"] == kept + "$h = h_0 / 2$: $r$; $h = h_0 / 2 + \\frac12$: $n$"
    assert said["7"] == "$h = 0$: over the whole; else before or after"
    h0, zeros = np.array([0.5, -0.25]), np.zeros((3, 2))

    def run(R=0, c=zeros, **gates):
        b = np.array([np.broadcast_to(gates.get(gate, 0), 2) for gate in "rzn"], float)
        return step(write, reset, turned, R + np.zeros((3, 2, 2)), b, c, h0)

    for gate, wanted in {"z": 0 * h0 if write else h0, "r": h0 / 2, "n": h0 / 2 + 0.5}.items():
        np.testing.assert_allclose(run(**{gate: 40}), wanted, atol=1e-9)
    take_n, R, second = 40 if write else -40, np.zeros((3, 2, 2)), zeros.copy()
    R[2, 1, 0] = second[2] = 1
    reader, source = (1, 0) if turned else (0, 1)
    h = run(R, z=take_n, r=40)
    assert abs(h[reader]) > 0.1 and abs(h[source]) < 1e-9
    only = np.where(np.arange(2) == source, 40, -40)
    assert (abs(run(R, z=take_n, r=only)[reader]) > 0.1) == (reset == "before")
    assert (np.abs(run(c=second, z=take_n, r=-40)).max() < 0.1) == (reset in ("after", "whole"))
    assert (np.abs(run(z=take_n, r=-40, n=1)).max() < 0.1) == (reset == "whole")
