"""What many tests of the library share: random numbers, comparing many arrays, gradients, and the cells of a page."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from gru_lib import Params, gradcheck, map_state

ROOT = Path(__file__).resolve().parents[1]

# What cells are made of, for whoever writes one: described where they stand, not in the API reference.
INSIDE = {f"gru_lib.{name}" for name in ("checks", "loop", "params", "passes", "sequence", "signature", "types")}
INSIDE |= {"gru_book.table"}  # its functions are offered by viz


def rng(seed: int = 0) -> np.random.Generator:
    """A generator that always begins the same."""
    return np.random.default_rng(seed)


def randomised(p: Params, source: np.random.Generator, scale: float = 1.0) -> Params:
    """The parameters, all drawn from a normal distribution; biases too, which most layers begin at 0."""
    p.flat[:] = scale * source.normal(size=p.size)
    return p


# ----------------------------------------------------------------------------------------------------------- comparing


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays of a result: of a state, of parameters, or of a tuple or list of such."""
    if isinstance(value, Params):
        return [value.flat]
    return [a for part in value for a in leaves(part)] if isinstance(value, tuple | list) else [np.asarray(value)]


def same(found: Any, wanted: Any) -> None:
    """Two results are equal to the last bit."""
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)


def close(found: Any, wanted: Any, *, rtol: float = 0, atol: float = 1e-13) -> None:
    """Two results are equal but for rounding."""
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def refused(error: type[Exception], message: str, function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """The call raises this error, with these words."""
    with pytest.raises(error, match=message):
        function(*args, **options)


# ----------------------------------------------------------------------------------------------------------- gradients


def weighted(found: Any, weights: Any) -> Any:
    """A number whose gradients in the arrays of `found` are those of `weights`. None weighs nothing."""
    if weights is None:
        return 0
    return sum((a * w).sum() for a, w in zip(leaves(found), leaves(weights), strict=True))


def check_loss(loss_and_grads: Callable[[Params], tuple[Any, Params]], p: Params, tolerance: float = 1e-12) -> None:
    """The gradient that comes with a loss is the one that complex steps find."""
    report = gradcheck(lambda p: loss_and_grads(p)[0], p, loss_and_grads(p)[1])
    assert report.worst < tolerance, report


def check_layer(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    p: Params,
    xs: np.ndarray,
    dhs: np.ndarray,
    state0: Any = None,
    dstate_T: Any = None,
    **options: Any,
) -> None:
    """The backward pass of a layer finds the gradients that complex steps find.

    The loss is a weighted sum of the outputs and the last state. Checked are the inputs, the parameters, and the first
    state if one is given; `options` are those of the forward pass.
    """
    dxs, dstate0, grads = backward(dhs, dstate_T, forward(xs, state0, p, **options)[2], p)
    at, given = {"xs": xs, "p": p}, {"xs": dxs, "p": grads}
    if state0 is not None:
        at |= {f"state{i}": a for i, a in enumerate(leaves(state0))}
        given |= {f"state{i}": a for i, a in enumerate(leaves(dstate0))}

    def loss(xs: np.ndarray, p: Params, **parts: np.ndarray) -> Any:
        arrays = iter(parts.values())
        start = None if state0 is None else map_state(lambda _: next(arrays), state0)
        hs, state_T, _ = forward(xs, start, p, **options)
        return weighted(hs, dhs) + weighted(state_T, dstate_T)

    report = gradcheck(loss, at, given)
    assert report.worst <= 1e-13, report


def exactly(a: Any) -> Any:
    """The numbers of an array as mpmath has them, exactly."""
    return np.vectorize(lambda v: mpmath.mpf(float(v)), otypes=[object])(a)


def exact_gru_step(x: Any, h: Any, w: Mapping[str, Any], *, reset_after: bool, convention: str) -> Any:
    """A GRU's step from its four equations, apart from the library: with mpmath's numbers, and the weights by gate."""
    sigma = np.vectorize(lambda a: 1 / (1 + mpmath.exp(-a)), otypes=[object])
    tanh = np.vectorize(mpmath.tanh, otypes=[object])
    r = sigma(x @ w["W_xr"] + h @ w["W_hr"] + w["b_r"])
    z = sigma(x @ w["W_xz"] + h @ w["W_hz"] + w["b_z"])
    past = r * (h @ w["W_hn"] + w["b_hn"]) if reset_after else (r * h) @ w["W_hn"]
    n = tanh(x @ w["W_xn"] + past + w["b_n"])
    return z * h + (1 - z) * n if convention == "keep" else (1 - z) * h + z * n


def gru_weights(p: Params) -> dict[str, Any]:
    """The weights of a GRU by gate, as `exact_gru_step` takes them."""
    names = [*(f"{kind}{gate}" for kind in ("W_x", "W_h", "b_") for gate in "rzn"), "b_hn"]
    return {name: exactly(getattr(p, name)) for name in names}


# ------------------------------------------------------------------------------------------------ chapters and results


def cells_of(name: str, kind: str = "code") -> list[str]:
    """The code cells of a chapter, or its other ones: ``cells_of("06-find-the-bug")``."""
    stored = json.loads((ROOT / "book" / f"{name}.ipynb").read_text("utf8"))["cells"]
    return ["".join(cell["source"]) for cell in stored if cell["cell_type"] == kind]


def names_of(cells: Iterable[str]) -> dict[str, Any]:
    """What the cells define, once they have run. What they print is dropped."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for source in cells:
            exec(compile(source, "<cell>", "exec"), names)
    return names


def box(name: str, part: str = "") -> tuple[str, str]:
    """The code for other frameworks that a page shows, and the output below it: the one block with this part in it."""
    text = (ROOT / "book_text" / f"{name}.md").read_text("utf8")
    (found,) = (block for block in re.findall(BOX, text, re.M | re.S) if part in block[0])
    TAKEN.append((name, mark(found)))
    return found


BOX = r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?"
RAN = ROOT / "tests" / "framework_boxes.json"  # of each page, the marks of the boxes as a test ran them last
TAKEN: list[tuple[str, str]] = []  # what the test that is running took


def mark(block: tuple[str, str]) -> str:
    """A short hash of a box, code and output."""
    return hashlib.sha256("\0".join(block).encode()).hexdigest()[:12]


def note_boxes() -> None:
    """Write that a test ran these boxes, and forget those that their pages have no more."""
    known = json.loads(RAN.read_text("utf8"))
    for name in {name for name, _ in TAKEN}:
        there = map(mark, re.findall(BOX, (ROOT / "book_text" / f"{name}.md").read_text("utf8"), re.M | re.S))
        known[name] = [each for each in there if each in known.get(name, []) or (name, each) in TAKEN]
    text = json.dumps(known, indent=1, sort_keys=True) + "\n"
    if text != RAN.read_text("utf8"):
        RAN.write_text(text, "utf8")


def run_box(name: str, part: str = "", /, **names: Any) -> dict[str, Any]:
    """What that code defines, once it has run with these names. It prints what the page shows below it."""
    code, shown = box(name, part)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"<{name}>", "exec"), names)
    assert printed.getvalue() == shown
    return names


def page_says(name: str, phrase: str) -> bool:
    """Whether a chapter's text says this, wherever its lines break."""
    return " ".join(phrase.split()) in " ".join(" ".join(cells_of(name, "markdown")).split())


def load_results(name: str) -> Any:
    """What an experiment stored, by part: of the fixed kernels, or of others under a name that ends with "_own"."""
    from experiments._store import stored_file  # which a copy of the library alone has not

    return json.loads(stored_file(name).read_text("utf8"))


def results(script: Any, part: str, *what: Any) -> list[Any]:
    """The stored results of an experiment's part: of the runs whose arguments begin with these.

    Of a script, with whatever kernels the tests run those of the fixed ones; or of a file by its name:
    ``results("deep_own", "ahead", "same")``.
    """
    name = script if isinstance(script, str) else script.__name__.rpartition(".")[2]
    stored = load_results(name)[part]
    return [row[-1] for row in stored if row[: len(what)] == list(what)]


def result(script: Any, part: str, *what: Any) -> Any:
    """The one stored result of a run."""
    (found,) = results(script, part, *what)
    return found
