"""The equations in the docstrings of the cells, of Adam, and of beam search are run and give what the code gives.

`statements` makes Python of them: ⊙ is ``*``, letters side by side are a matrix product or a product of numbers, Σ sums
over the rows. What stands far to the right is a remark; of rows with "reset before" and "reset after", or with "keep"
and "write", those of the cell at hand are run.
"""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers import randomised

import gru_lib
from gru_book import cells
from gru_lib import LSTMState
from gru_lib.ops import sigmoid

N, D, H = 3, 2, 4
PYTHON = {"⊙": "*", "−": "-", "ᵀ": ".T", "σ": "sigmoid", "′": "_slope", "[": "side(", "]": ")"}


class Array(np.ndarray):
    """Where a number stands beside an array, ``@`` multiplies each entry."""

    def __matmul__(self, other: Any) -> Any:
        return np.matmul(self, other)

    def __rmatmul__(self, number: Any) -> Any:
        return number * self


def side(*parts: Any) -> Any:
    return np.concatenate(parts, axis=1).view(Array)


def statements(function: Callable[..., Any], *kinds: str) -> Iterator[tuple[str, str]]:
    """The name and the Python of each equation in a docstring, for a cell of these kinds."""
    others = {"before": "after", "after": "before", "keep": "write", "write": "keep"}
    block = re.search(r"::\n\n((?:    .*\n|\n)+)", inspect.getdoc(function) or "")  # 3.13 takes the indent away itself
    assert block, function
    for line in block[1].split("\n"):
        line = re.sub(r"\s+([=←])\s+", r" \1 ", line.strip())
        remark = re.search(r"(?:reset |^\")(before|after|keep|write)\b", re.split(r"\s{3,}", line)[-1])
        if remark is None:
            remark = re.search(r", \"(keep|write)\"$", line)
        if remark and others[remark[1]] in kinds:
            continue
        for part in re.split(r",\s+(?=[\w′]+ [=←] )", line):
            if "=" in part or "←" in part:
                name, code = re.split(r" [=←] ", re.split(r"\s{3,}", part)[0], maxsplit=1)
                code = code.split("  or  ")[-1 if "after" in kinds else 0]
                code = re.sub(r"(\w+)²\((\w+)\)", r"\1(\2)**2", code).replace("²", "**2")
                for sign, python in PYTHON.items():
                    name, code = name.replace(sign, python), code.replace(sign, python)
                code = re.sub(r"^Σ (.+)", r"(\1).sum(axis=0)", code)
                yield name, re.sub(r"(?<=[\w)]) (?=[\w(])", " @ ", code)


def run(function: Callable[..., Any], known: dict[str, Any], *kinds: str) -> dict[str, Any]:
    """What the docstring of a function calculates from what is known."""
    names: dict[str, Any] = {"sigmoid": sigmoid, "tanh": np.tanh, "side": side}
    names |= {key: value.view(Array) if isinstance(value, np.ndarray) else value for key, value in known.items()}
    for name, code in statements(function, *kinds):
        if name != "g_slope":
            names[name] = eval(code, {}, names)
    return names


def same(names: dict[str, Any], **found: Any) -> None:
    for name, value in found.items():
        np.testing.assert_allclose(names[name], value, rtol=1e-12, atol=1e-13, err_msg=name)


def parameters(p: Any) -> dict[str, Any]:
    named = {name: getattr(p, name) for name in dir(p) if re.fullmatch(r"[Wbu](_\w+)?", name)}
    return {name: value for name, value in named.items() if np.ndim(value)}


def both(kind: str, p: Any, *kinds: str, more: dict[str, Any] | None = None) -> None:
    """Run the step and its backward step beside their docstrings. A state is h, c and h, or a row of both."""
    rng = np.random.default_rng(1)
    step, step_backward = getattr(cells, f"{kind}_step"), getattr(cells, f"{kind}_step_backward")
    parts = {"lstm": ("h", "c"), "scrn": ("c", "h")}.get(kind, ("h",))
    known = parameters(p) | {"x": rng.normal(size=(N, D))} | (more or {})
    known |= {f"{part}_prev": rng.normal(size=(N, H)) for part in parts}
    d = {part: rng.normal(size=(N, H)) for part in parts}

    def state(*values: Any) -> Any:
        return LSTMState(*values) if kind == "lstm" else np.concatenate(values, axis=1)

    def each(value: Any) -> tuple[Any, ...]:
        return value if kind == "lstm" else np.split(value, len(parts), axis=1)

    new, cache = step(known["x"], state(*(known[f"{part}_prev"] for part in parts)), p)
    names = run(step, known, *kinds)
    same(names, **dict(zip(parts, each(new), strict=True)))
    if "write" not in kinds:  # whose backward step is told in a remark
        names["q"] = getattr(cache, "q", None)
        dx, before, grads = step_backward(state(*d.values()), cache, p)
        names = run(step_backward, names | {f"d{part}": value for part, value in d.items()}, *kinds)
        found = {f"d{part}_prev": value for part, value in zip(parts, each(before), strict=True)}
        told = {f"d{name}": value for name, value in parameters(grads).items() if f"d{name}" in names}
        assert len(told) >= 3
        same(names, dx=dx, **found, **told)


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset", ["before", "after"])
def test_the_gru_does_what_its_docstring_says(reset: str, convention: str) -> None:
    p = cells.gru_init(np.random.default_rng(0), D, H, reset_after=reset == "after", convention=convention)
    both("gru", randomised(p, np.random.default_rng(7)), reset, convention)


def test_the_lstm_does_what_its_docstring_says() -> None:
    both("lstm", randomised(cells.lstm_init(np.random.default_rng(0), D, H), np.random.default_rng(7)))


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "linear"])
def test_elmans_network_does_what_its_docstring_says(activation: str) -> None:
    p = cells.elman_init(np.random.default_rng(0), D, H, activation=activation)
    p = randomised(p, np.random.default_rng(7))
    step, backward = cells.elman_step, cells.elman_step_backward
    x, h_prev, dh = (np.random.default_rng(k).normal(size=(N, n)) for k, n in enumerate((D, H, H)))
    h, cache = step(x, h_prev, p)
    a = x @ p.W_x + h_prev @ p.W_h + p.b
    (slopes,) = (code for name, code in statements(backward) if name == "g_slope")
    slope = re.search(rf"([^,]+?) @ \({activation}\)", slopes)
    assert slope
    value = eval(slope[1], {}, {"a": a, "h": h, "sigmoid": sigmoid, "Array": Array}) * np.ones((N, H))
    known = parameters(p) | {"x": x, "h_prev": h_prev, "dh": dh, "a": a, "g_slope": lambda _: value}
    dx, before, grads = backward(dh, cache, p)
    same(run(backward, known), dx=dx, dh_prev=before, dW_x=grads.W_x, dW_h=grads.W_h, db=grads.b)


@pytest.mark.parametrize("kind", ["diaggru", "mingru", "scrn"])
def test_a_cell_of_one_chapter_does_what_its_docstring_says(kind: str) -> None:
    init = getattr(cells, f"{kind}_init")
    p = init(np.random.default_rng(0), D, H, *([H] if kind == "scrn" else []))
    more = {"α": p.alpha} if kind == "scrn" else {}
    both(kind, randomised(p, np.random.default_rng(7)), more=more)


def right_sides(function: Callable[..., Any], signs: dict[str, str]) -> dict[str, str]:
    """The equations in a docstring by what stands on their left, as Python with these signs put in."""
    block = re.search(r"::\n\n((?:    .*\n|\n)+)", inspect.getdoc(function) or "")
    assert block, function
    found = {}
    for part in re.split(r"\n|,\s{2,}|\s{3,}at ", block[1]):
        name, equals, code = re.sub(r"\s+", " ", part.strip()).partition(" ← " if "←" in part else " = ")
        for sign, python in signs.items():
            code = re.sub(sign, python, code)
        if equals:
            found[name] = code
    return found


def test_adam_does_what_its_docstring_says() -> None:
    p = gru_lib.linear_init(np.random.default_rng(0), 3, 2)
    grads = randomised(p.zeros_like(), np.random.default_rng(1))
    known: dict[str, Any] = {"lr": 0.02, "β1": 0.8, "β2": 0.97, "eps": 1e-3, "m": 0.0, "v": 0.0, "g": grads.flat.copy()}
    optimiser = gru_lib.Adam(p, lr=known["lr"], betas=(known["β1"], known["β2"]), eps=known["eps"])
    signs = {"−": "-", "ᵏ": "**k", "²": "**2", "·": "*", "√(v̂)": r"\1**0.5", r"(?<=[\w)]) (?=[\w(])": "*"}
    told = right_sides(gru_lib.Adam, signs)
    for k in (1, 2, 3):
        known |= {"k": k, "p": p.flat.copy()}
        for name in ("m", "v", "m̂", "v̂", "p"):
            known[unicodedata.normalize("NFKC", name)] = eval(told[name], {}, known)
        optimiser.step(grads)
        np.testing.assert_allclose(p.flat, known["p"], rtol=1e-12)


def test_beam_search_scores_as_its_docstring_says() -> None:
    logs = np.log([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    code = right_sides(gru_lib.beam_search, {r"Σ_t log p\(.*?\)": "total", r"\^": "**"})["score"]
    for alpha, offset in ((0.7, 5.0), (1.0, 0.0)):
        found = gru_lib.beam_search(
            lambda t, _: (logs[t], t + 1), 0, 0, width=9, end=2, max_steps=3, alpha=alpha, offset=offset
        )
        assert len({len(one.tokens) for one in found}) > 1
        for one in found:
            known = {"total": one.log_prob, "length": len(one.tokens), "alpha": alpha, "offset": offset}
            assert one.score == pytest.approx(eval(code, {}, known), rel=1e-12)
