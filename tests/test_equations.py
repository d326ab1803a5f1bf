"""The displayed equations of the pages are calculated: what is printed is true, and a fault in it would be noticed.

`PAGES` says for each page which values its letters have: the library's caches, tapes and gradients where it has them,
else what a few lines of NumPy or a difference quotient give. Under ``"(label)"`` stand those of one equation, where
letters mean something else there. tests/equations.py says how letters are called.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import equation_maths
import equations
import numpy as np
import pytest
from equation_maths import Ring, Rows, Stack, Values
from equations import ROOT, Aside, Equation, statements, words_of
from helpers import randomised
from prose_numbers import blocks

from gru_book import cells
from gru_book.models.hand_set import hand_set
from gru_lib import Adam, layers, linear_init, ops
from gru_lib.ops import sigmoid

PROSE = ROOT / "book_text"
H, D, N, T = 4, 2, 5, 3  # all that must not be confused differ; T is short enough that sums need no dots
PAGES: dict[str, list[Callable[[], Values]]] = {}

# Not calculated, with the reason.
LISTED = {
    "eq-loop-newton": "a round of a method: a state is one number before it and another after it",
}


def page(*names: str) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """The decorated function gives the letters of these pages their values."""

    def keep(values: Callable[[], Values]) -> Callable[[], Values]:
        for name in names:
            PAGES.setdefault(name, []).append(cache(values))
        return values

    return keep


@cache
def of_page(name: str) -> Values:
    """What the letters of a page stand for."""
    return {letter: value for values in PAGES.get(name, ()) for letter, value in values().items()}


def normal(*shape: int, seed: int = 0) -> Any:
    """Normal numbers, the same for the same shape and seed."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative of a function of each entry, as a difference quotient."""
    step = 1e-5
    return lambda a: (f(a + step) - f(a - step)) / (2 * step)


def softmax(a: Any) -> Any:
    return np.exp(ops.log_softmax(a))


COMMON: Values = {
    "sigma": sigmoid, "sigma'": slope(sigmoid), "tanh": np.tanh, "tanh'": slope(np.tanh), "exp": np.exp, "ln": np.log,
    "log": np.log, "log_2": np.log2, "e": math.e, "min": np.minimum, "max": np.maximum,
    "softmax": softmax, "relu": lambda a: np.maximum(a, 0),
    "diag": np.diag, "I": np.eye(H), "D": D, "H": H, "N": N, "T": T, "otherwise": True,
}  # fmt: skip


class Run:
    """A calculation that names its quantities with ``let(name, value)``, or ``let(name, value, t)`` for one of many.

    `values` has them all; `slope` differentiates one by another, and `gradients` what the calculation returns by each.
    """

    def __init__(self, calculation: Callable[[Callable[..., Any]], Any]) -> None:
        self.calculation = calculation
        self.result, self.values = self.again()

    def again(self, name: str = "", at: tuple[int, ...] = (), by: Any = 0.0) -> tuple[Any, Values]:
        """Calculate again with one quantity moved."""
        values: Values = {}

        def let(key: str, value: Any, *index: int) -> Any:
            value = np.asarray(value, float) + (by if (key, index) == (name, at) else 0.0)
            if index:
                values.setdefault(key, {})[index[0] if len(index) == 1 else index] = value
            else:
                values[key] = value
            return value

        return self.calculation(let), values

    def slope(self, of: str, by: str, *at: int, of_at: Any = None) -> Any:
        """∂of/∂by; of = "" is what the calculation returns."""
        value = self.values[by][at[0] if len(at) == 1 else at] if at else self.values[by]
        slopes = []
        for place in np.ndindex(np.shape(value)):
            step = np.zeros(np.shape(value))
            step[place] = 1e-5
            ends = [self.again(by, at, sign * step) for sign in (1, -1)]
            up, down = (r if not of else v[of] if of_at is None else v[of][of_at] for r, v in ends)
            slopes.append((up - down) / 2e-5)
        return np.stack(slopes, axis=-1).reshape(np.shape(slopes[0]) + np.shape(value))

    def gradients(self) -> Values:
        """δ of each quantity."""
        found: Values = {}
        for name, value in self.values.items():
            if isinstance(value, dict):
                found[f"δ{name}"] = {k: self.slope("", name, *(k if isinstance(k, tuple) else (k,))) for k in value}
            else:
                found[f"δ{name}"] = self.slope("", name)
        return found


def weights(p: Any, gates: str = "") -> Values:
    """The parameters of a cell, of each gate, drawn so that nothing is small."""
    p.flat[:] = np.random.default_rng(7).normal(size=p.flat.size)
    names = [f"{kind}{gate}" for gate in gates for kind in ("W_x", "W_h", "b_")] or ["W_x", "W_h", "b"]
    return {name: getattr(p, name) for name in [*names, "b_hn"] if np.ndim(getattr(p, name, 0))}


def gru_step(let: Callable[..., Any], v: Values, after: bool = False) -> Any:
    """One step, each quantity named; dropout's masks if there are any."""
    w = {name: let(name, value) for name, value in v.items() if name[:2] in ("W_", "b_")}
    x, h = let("x_t", v["x_t"]), let("h_t-1", v["h_t-1"])
    seen, u = (let("v_t", v["m^h_t"] * h), let("u_t", v["m^x_t"] * x)) if "m^h_t" in v else (h, x)
    r = let("r", sigmoid(let("a_r", u @ w["W_xr"] + seen @ w["W_hr"] + w["b_r"])))
    z = let("z", sigmoid(let("a_z", u @ w["W_xz"] + seen @ w["W_hz"] + w["b_z"])))
    by_q = let("term 4", seen)  # one of the four ways back to h_{t-1}
    if after:
        q = let("q", by_q @ w["W_hn"] + w["b_hn"])
        n = let("n", np.tanh(let("a_n", u @ w["W_xn"] + w["b_n"] + r * q)))
    else:
        q = let("q", r * by_q)
        n = let("n", np.tanh(let("a_n", u @ w["W_xn"] + q @ w["W_hn"] + w["b_n"])))
    return let("h_t", z * h + (1 - z) * n)


@cache
def gru(after: bool = False, rows: int | None = N) -> tuple[Values, Run]:
    """One step of a batch, or of one row: the library's numbers, and the gradients of all quantities in between."""
    p = cells.gru_init(np.random.default_rng(0), D, H, reset_after=after)
    v: Values = weights(p, "rzn")
    n = rows or 1
    x, h, dh = normal(n, D), normal(n, H, seed=1), normal(n, H, seed=2)
    new, c = cells.gru_step(x, h, p)
    dx, dh_prev, g = cells.gru_step_backward(dh, c, p)
    library = {"x_t": x, "h_t-1": h, "h_t": new, "r": c.r, "z": c.z, "n": c.n, "q": c.q}
    gradients = {"δh_t": dh, "δx_t": dx, "δh_t-1": dh_prev} | {f"δ{name}": getattr(g, name) for name in v}
    if rows is None:
        library, gradients = (
            {k: a[0] if a.ndim == 2 and len(a) == 1 else a for k, a in d.items()} for d in (library, gradients)
        )
    run = Run(lambda let: (gradients["δh_t"] * gru_step(let, v | library, after)).sum())
    values = run.values | run.gradients() | v | library | gradients
    for name in "rznq":
        values |= {f"{name}_t": values[name], f"δ{name}_t": values[f"δ{name}"]}
    more = {"term 4": values["δterm 4"], "h": values["h_t"], "x": values["x_t"], "m": range(1, n + 1)}
    return values | more, run


@page("00-the-gru-in-twenty-minutes", "04-gru-forward", "05-gru-backward", "08-three-stories", "09-gradient-highway")
@page("10-conventions", "sheet")
def _() -> Values:
    return gru()[0]


@page("04-gru-forward")
def _() -> Values:
    return {"(gru-count)": {"value": cells.gru_init(np.random.default_rng(0), D, H).size}}


def rules() -> Values:
    """The rules that chapter 5 begins with, by label."""
    u, W = normal(N, D), normal(D, H)
    dy = normal(N, H, seed=3)
    p = ops.linear_init(np.random.default_rng(0), D, H)
    p.W[:] = W
    dx, g = ops.linear_backward(dy, u, p)
    a, b, v = normal(4), normal(4, seed=1), normal(4, seed=2)

    def paths(let: Callable[..., Any]) -> Any:
        v = let("v", normal(3))
        us = [let("u^()", np.tanh(normal(2, 3, seed=k) @ v), k) for k in (1, 2)]
        return sum((u**2).sum() for u in us)

    run = Run(paths)
    each = {k: run.slope("u^()", "v", of_at=k) for k in (1, 2)}
    f = lambda a: np.tanh(a) + a**2  # noqa: E731
    linear = {"u": u, "W": W, "δy": dy, "δu": dx, "δW": g.W}
    linear |= {"m": range(1, N + 1), "i": range(1, D + 1), "j": range(1, H + 1)}
    return {
        "(eq-bwd-matrix-entries)": linear, "(eq-bwd-matrix)": linear,
        "(eq-bwd-bias)": {"δb": g.b, "δy": dy, "m": range(1, N + 1)},
        "(eq-bwd-first-order)": {
            "L": lambda v: a @ v + b @ v**2 / 2, "v": v, "δv": a + b * v, "varepsilon": normal(4, seed=5),
            "terms of order": lambda squares: b @ squares / 2, "i": range(1, 5),
        },
        "(eq-bwd-paths)": run.gradients() | {"∂u^()/∂v": each, "U": 2, "i": range(1, 4), "j": range(1, 3)},
        "(eq-bwd-slope)": {"a": normal(N, H), "f'": slope(f), "δy": dy, "δa": dy * slope(f)(normal(N, H))},
    }  # fmt: skip


@page("05-gru-backward")
def _() -> Values:
    p = cells.gru_init(np.random.default_rng(0), D, H)
    v = weights(p, "rzn")
    xs, dhs = normal(T, N, D), normal(T, N, H)

    def loss(let: Callable[..., Any]) -> Any:
        h, result = normal(N, H, seed=8), 0.0
        for t in range(1, T + 1):
            w = v | {"W_hn": let("W^()", v["W_hn"], t), "b_n": let("b^()", v["b_n"], t), "x_t": xs[t - 1], "h_t-1": h}
            h = let("h", gru_step(lambda _, value: value, w), t)
            result += (dhs[t - 1] * h).sum()
        return result

    steps = Run(loss).gradients()
    hs, _, tape = cells.gru_forward(xs, normal(N, H, seed=8), p)
    *_, g = cells.gru_backward(dhs, None, tape, p)
    f = np.poly1d([0.3, -1.2, 0.5])  # of second order, so that the dots stand for nothing
    before = cells.gru_backward(dhs[1:], None, cells.gru_forward(xs[1:], hs[0], p)[2], p)[1]
    return rules() | {
        "(eq-bwd-delta)": {"δv": g.flat, "∂L/∂v": g.flat},
        "(eq-bwd-dh)": {"δh_t": steps["δh"][1], "δh^out_t": dhs[0], "δh^next_t": before},
        "(eq-bwd-sum)": {"δW": g.W_hn, "δb": g.b_n, "δW^()": steps["δW^()"], "δb^()": steps["δb^()"]},
        "(eq-bwd-complex)": {"f": f, "f'": f.deriv(), "f''": f.deriv(2), "v": 0.7, "varepsilon": 0.1, "i": 1j},
    }


def row(after: bool = False) -> tuple[Values, Run]:
    """One row: states are vectors."""
    return gru(after, rows=None)


@page("05c-checking-gradients")
def _() -> Values:
    f = np.poly1d([0.3, -1.2, 0.5, 2.0])
    return {"(eq-bwd-central)": {"f": f, "f'": f.deriv(), "f'''": f.deriv(3), "v": 0.7, "varepsilon": 0.1}}


@page("07-subtraction", "07b-what-is-proved")
def _() -> Values:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, T, N)).astype(float)
    a[:, :2], b[:, :2] = (0, 1), (1, 0)  # the rest −2 comes up, and 1
    c, y, e = {0: np.zeros(N)}, {}, {}
    for t in range(1, T + 1):
        e[t] = a[t - 1] - b[t - 1] - c[t - 1]
        c[t], y[t] = (e[t] < 0).astype(float), e[t] % 2
    rows = {name: Rows("m", value) for name, value in {"a": a, "b": b, "c": c, "y": y, "e": e}.items()}
    hs, W_y, b_y = normal(T, N, H), normal(H), 0.3
    logits = hs @ W_y + b_y
    net = hand_set(80.0).rnn
    hand = []
    for x, borrow in itertools.product(itertools.product((0.0, 1.0), repeat=2), (0.0, 1.0)):
        h = np.array([2 * borrow - 1, 0.0, 0.0])
        hand.append(
            {"a_t": x[0], "b_t": x[1], "e_t": x[0] - x[1] - borrow, "K": 80, "h_1": h[0]}
            | {"a_n": np.array(x) @ net.W_xn + h @ net.W_hn + net.b_n}
        )
    return rows | {
        "t": range(1, T + 1), "m": range(1, N + 1), "W_y": W_y[:, None], "b_y": b_y,
        "(eq-sub-output)": {"h": hs, "s": logits[..., None]},
        "(eq-sub-bit)": {"c": Rows("m", c)}, "(eq-sub-hand)": hand,
    }  # fmt: skip


@page("09-gradient-highway")
def _() -> Values:
    values, run = row()
    J = run.slope("h_t", "h_t-1")
    M = (J - np.diag(values["z"])) / (1 - values["z"])[:, None]

    def written(z: float) -> float:
        share = 1 - z
        for _ in range(5):
            share *= z
        return share

    best = max(np.roots(np.polyder(np.poly1d([-1, 1]) * np.poly1d([1, 0, 0, 0, 0, 0]))).real)
    return values | {
        "J_t": J, "M_t": M,
        "(eq-hwy-direct)": {"z_t": None, "T": 2, "z": normal(2, H), "t": range(1, 3)},
        "(eq-hwy-write)": {"f": written, "z": 0.7, "T": 6},
        "(eq-hwy-best)": {"T": 6, "z": best, "b_z": math.log(best) - math.log1p(-best)},
    }  # fmt: skip


@page("10-conventions")
def _() -> Values:
    after = gru(after=True)[0]
    r, h, W = normal(H), normal(H, seed=1), normal(H, H)
    halves = {f"b_x{gate}": normal(H, seed=k) for k, gate in enumerate("rz")}
    halves |= {f"b_h{gate}": after[f"b_{gate}"] - halves[f"b_x{gate}"] for gate in "rz"} | {"b_xn": after["b_n"]}
    return {
        "(eq-conv-step)": after | halves,
        "(eq-conv-entries)": {
            "r": r, "h": h, "W": W, "j": range(1, H + 1), "k": range(1, H + 1), "before:": Aside(value=(r * h) @ W),
            "after:": Aside(value=r * (h @ W)),
        },
    }  # fmt: skip


@page("11-making-it-fast")
def _() -> Values:
    values = gru()[0]
    x, da = normal(2 * N, D), normal(2 * N, 3 * H)
    products = sum(2 * T * N * W.size for name, W in values.items() if name.startswith("W_"))
    return values | {
        "F": 3 * products,
        "(eq-fast-gemm)": {
            "x_t": None, "x": x.reshape(2, N, D), "X": x, "δa": da.view(Stack), "δW_x": x.T @ da, "T": 2,
        },
    }  # fmt: skip


@cache
def lstm() -> Values:
    """As `gru`, of a batch."""
    p = cells.lstm_init(np.random.default_rng(0), D, H)
    v = weights(p, "ifgo")
    x, h, c, dh, dc = normal(N, D), *(normal(N, H, seed=k) for k in range(1, 5))
    (new, c_new), k = cells.lstm_step(x, cells.LSTMState(h, c), p)
    dx, before, g = cells.lstm_step_backward(cells.LSTMState(dh, dc), k, p)
    library = {
        "x_t": x, "h_t-1": h, "c_t-1": c, "h_t": new, "c_t": c_new, "i": k.i[0], "f": k.f[0], "g": k.g, "o": k.o[0],
    }  # fmt: skip
    gradients = {"δh_t": dh, "δc^next_t": dc, "δx_t": dx, "δh^next_t-1": before.h, "δc^next_t-1": before.c}
    gradients |= {f"δ{name}": getattr(g, name) for name in v}

    def step(let: Callable[..., Any]) -> Any:
        x, h, c = (let(name, library[name]) for name in ("x_t", "h_t-1", "c_t-1"))
        a = {k: let(f"a_{k}", x @ v[f"W_x{k}"] + h @ v[f"W_h{k}"] + v[f"b_{k}"]) for k in "ifgo"}
        i, f, g, o = (let(k, (np.tanh if k == "g" else sigmoid)(a[k])) for k in "ifgo")
        c = let("c_t", f * c + i * g)
        h = let("h_t", o * np.tanh(c))
        return (gradients["δh_t"] * h).sum() + (gradients["δc^next_t"] * c).sum()

    run = Run(step)
    values = run.values | run.gradients() | v | library | gradients | {"m": range(1, N + 1)}
    return values | {f"{k}_t": values[k] for k in "ifgo"}


@page("12-lstm", "12b-lstm-backward", "12c-without-bounds")
def _() -> Values:
    batch = lstm()
    names = ("W_x", "W_h", "b_", "a_", "δW_x", "δW_h", "δb_", "δa_")
    each = [{f"{name}k": batch[f"{name}{gate}"] for name in names} for gate in "ifgo"]
    return batch | {"(eq-lstm-params)": each}


def elman_run(g: Callable[[Any], Any], xs: Any, h0: Any, v: Values, dhs: Any) -> Run:
    def program(let: Callable[..., Any]) -> Any:
        h, loss = let("h", h0, 0), 0.0
        for t in range(1, T + 1):
            h = let("h", g(let("a", xs[t - 1] @ v["W_x"] + h @ v["W_h"] + v["b"], t)), t)
            loss = loss + (dhs[t - 1] * h).sum()
        return loss

    return Run(program)


def elman(activation: str, *, last: bool = False) -> Values:
    """The library's network: a sequence, and the gradients of all in between; of a loss on the `last` state alone."""
    p = cells.elman_init(np.random.default_rng(0), D, H, activation=activation)
    v = weights(p)
    p.W_h[:] *= 0.6
    xs, h0, dhs = normal(T, N, D), normal(N, H, seed=1), normal(T, N, H, seed=2)
    if last:
        dhs[:-1] = 0
    g = {"tanh": np.tanh, "linear": lambda a: a, "relu": lambda a: np.maximum(a, 0)}[activation]
    hs, _, tape = cells.elman_forward(xs, h0, p)
    _, dh0, grads = cells.elman_backward(dhs, None, tape, p)
    run = elman_run(g, xs, h0, v, dhs)
    values = run.values | run.gradients() | v | {"x": xs, "h": dict(enumerate([h0, *hs])), "y": hs, "g": g}
    values |= {"g'": slope(g), "t": range(1, T + 1), "m": range(1, N + 1)}
    values |= {"δW_x": grads.W_x, "δW_h": grads.W_h, "δb": grads.b}
    return values | {"δh^next": {0: dh0} | {t: values["δh"][t] - dhs[t - 1] for t in range(1, T + 1)}}


@page("01-from-a-sum-to-a-state", "01b-what-a-linear-recurrence-cannot-do")
def _() -> Values:
    v = elman("linear")
    R = lambda h, x: x @ v["W_x"] + h @ v["W_h"] + v["b"]  # noqa: E731
    sums = v["h"][0] + np.concatenate([np.zeros((1, N, H)), np.cumsum(v["x"] @ v["W_x"], axis=0)])
    s = {(0, 0): 0.7, (1, 1): -0.2, (0, 1): 0.4}
    s[1, 0] = s[0, 0] + s[1, 1] - s[0, 1]
    U, V, F = (0.3, -0.2), (0.5, 0.1), 0.4
    fours = {f"s_{i}{j}": U[i] + V[j] + F for i in (0, 1) for j in (0, 1)}
    w = normal(H, 1)
    loss = lambda s, y: np.log1p(np.exp(-s if y else s))  # noqa: E731
    cases = itertools.product((0.7, -1.3), (0.0, 1.0))
    words = [{"s": s, "y": y, "L": loss(s, y), "∂L/∂s": slope(lambda s, y=y: loss(s, y))(s)} for s, y in cases]
    return v | {
        "R": R, "(eq-sum-cbow)": v | {"h": dict(enumerate(sums))},
        "(eq-sum-elman)": elman("tanh"),
        "(eq-sum-readout)": {"h_T": v["h"][T], "w": w, "beta": 9.0, "s": v["h"][T] @ w + 9.0}, "(eq-sum-loss)": words,
        "(eq-sum-error)": words,
        "(eq-sum-four)": fours | {"U_0": U[0], "U_1": U[1], "V_0": V[0], "V_1": V[1], "F": F},
        "(eq-sum-coin)": [
            {f"s_{i}{j}": size * value for (i, j), value in s.items()} | {"ell": lambda s: np.log1p(np.exp(-s))}
            for size in (1, 9)
        ],
    }  # fmt: skip


@page("00-the-gru-in-twenty-minutes")
def _() -> Values:
    return {"(eq-zero-elman)": elman("tanh") | {"h_t": None, "h_t-1": None, "x_t": None}}


@page("02-why-memory-fades")
def _() -> Values:
    v = elman("tanh")
    at_the_end = [np.zeros(H)] * (T - 1) + [normal(H, seed=3)]
    run = elman_run(np.tanh, v["x"][:, 0], v["h"][0][0], v, at_the_end)
    gradients = run.gradients()
    J = {t: run.slope("h", "h", t - 1, of_at=t) for t in range(1, T + 1)}
    single = run.values | gradients | {"J": J, "∂h_T/∂h_0": run.slope("h", "h", 0, of_at=T)}
    single["∂h/∂h"] = {t: {i: {t - 1: J[t][i - 1]} for i in range(1, H + 1)} for t in J}  # at t, i, t - 1, j
    single |= {"i": range(1, H + 1), "j": range(1, H + 1)}
    theta, adam = normal(9), {}
    optimiser = Adam(linear_init(np.random.default_rng(0), 2, 3), 0.1)
    for k in (1, 2, 3):
        before, grads = optimiser.p.flat.copy(), optimiser.p.zeros_like()
        grads.flat[:] = normal(9, seed=k)
        optimiser.step(grads)
        adam = {"theta": before, "theta←": optimiser.p.flat.copy(), "eta": 0.1, "epsilon": 1e-8}
        adam |= {"hat m": optimiser.m / (1 - 0.9**k), "hat v": optimiser.v / (1 - 0.999**k)}
    w, h_T, yes = normal(H, 1), normal(N, H, seed=1), normal(N, 1, seed=2)

    def read(let: Callable[..., Any]) -> Any:
        s = let("s", let("h_T", h_T) @ let("w", w) + 0.7)
        return ((s - yes) ** 2).mean()

    answer = Run(read)
    end = answer.values | answer.gradients() | {"w": w, "y": yes, "beta": 0.7, "N": N}
    end |= {"L": np.array([read(lambda name, value, *_: value)]), "n": range(1, N + 1)}

    def chain(let: Callable[..., Any]) -> Any:
        u = let("u", np.tanh(normal(4, H) @ let("v", normal(H))))
        return (u**2).sum()

    chained = Run(chain)
    both = {"∂u/∂v": chained.slope("u", "v"), "j": range(1, 5), "i": range(1, H + 1)}
    return v | {
        "(eq-fade-dh)": single, "(eq-fade-jacobian)": single, "(eq-fade-product)": single, "(eq-fade-bound)": single,
        "(eq-fade-clip)": [
            {"δtheta": theta, "δtheta←": theta * min(1, c / np.sqrt((theta**2).sum())), "c": c} for c in (0.5, 50.0)
        ],
        "(eq-fade-adam)": adam,
        "(eq-fade-loss)": end, "(eq-fade-out)": end, "(eq-fade-chain)": chained.gradients() | both,
    }  # fmt: skip


@page("03-gates")
def _() -> Values:
    values = gru()[0]

    W_h, rest = normal(H, H, seed=5), normal(N, H, seed=6)

    def step(let: Callable[..., Any]) -> Any:
        h = let("h_t-1", values["h_t-1"])
        z = let("z_t", sigmoid(let("a_t", rest + h @ W_h)))
        return (values["δh_t"] * (z * h + (1 - z) * let("n_t", values["n"]))).sum()

    run_z = Run(step)
    z = dict(enumerate(sigmoid(normal(4)), 0))
    n, h = dict(enumerate(normal(4, seed=1))), {0: 0.8}
    for t in range(1, T + 1):
        h[t] = z[t] * h[t - 1] + (1 - z[t]) * n[t]
    W, x, m, before = normal(3, 1), normal(N, 1), normal(N, 1, seed=1), normal(N, 1, seed=2)
    a = np.concatenate([x, m, before], axis=1) @ W + 0.3
    return values | {
        "(eq-gate-soft)": {"z": float(sigmoid(0.7)), "a": 0.7},
        "(eq-gate-slope)": {"z": float(sigmoid(0.7)), "a": 0.7},
        "(eq-gate-backward)": values | run_z.values | run_z.gradients() | {"W_h": W_h},
        "(eq-gate-three)": {"z": z, "n": n, "h": h},
        "(eq-gate-last)": {"z": 0.7, "m": 3},
        "(eq-gate-cell)": {"a_t": a, "x_t": x, "m_t": m, "h_t-1": before, "W": W, "b": 0.3},
    }  # fmt: skip


@page("13-other-memories")
def _() -> Values:
    C, alpha = 3, 0.8
    p = randomised(cells.scrn_init(np.random.default_rng(0), D, H, C, alpha=alpha), np.random.default_rng(7))
    W = {name: getattr(p, name) for name in ("W_xc", "W_xh", "W_hh", "W_ch")}
    xs, s0, dss = normal(T, N, D), normal(N, C + H), normal(T, N, C + H, seed=1)

    def program(let: Callable[..., Any]) -> Any:
        c, h, loss = s0[:, :C], let("h", s0[:, C:], 0), 0.0
        for t in range(1, T + 1):
            x = let("x", xs[t - 1], t)
            c = let("c", (1 - alpha) * let("tilde c", x @ W["W_xc"], t) + alpha * c, t)
            h = let("h", sigmoid(let("a", x @ W["W_xh"] + h @ W["W_hh"] + c @ W["W_ch"], t)), t)
            loss = loss + (dss[t - 1] * np.concatenate([c, h], axis=1)).sum()
        return loss

    run = Run(program)
    ss, _, tape = cells.scrn_forward(xs, s0, p)
    dxs, _, g = cells.scrn_backward(dss, None, tape, p)
    v = run.values | run.gradients() | W | {f"δ{name}": getattr(g, name) for name in W}
    v |= {"c": {0: s0[:, :C]} | dict(enumerate(ss[..., :C], 1)), "h": {0: s0[:, C:]} | dict(enumerate(ss[..., C:], 1))}
    v |= {"alpha": alpha, "t": range(1, T + 1), "δx": dxs}
    y = [(0.2, {"y": 1.5}), (0.3, {"y": -0.4}), (0.5, {"y": 0.7})]
    from_zero = cells.scrn_forward(xs, np.zeros_like(s0), p)[0][-1][:, :C]
    return v | {
        "(eq-other-baseline)": {"outcomes": y, "k": 0.3},
        "(eq-other-irnn)": elman("relu"),
        "(eq-other-irnn-back)": elman("relu", last=True),
        "(eq-other-linear)": {"c_T": from_zero},
    }


@page("13b-stack")
def _() -> Values:
    K, M = 4, 2
    first, values = np.array([0.7, 0.9, 0.5, 0.6]), normal(K + 1, M)
    tops, ranges = [], dict.fromkeys("ijk", range(1, K + 1))
    for s, u in ((first, 1.3), (first, 0.4), (np.array([0.2, 0.3, 0.1, 0.9]), 2.0)):
        read, _, after, c = cells.stack_step(values[None, K], np.zeros(1), np.array([u]), values[None, :K], s[None])
        tops.append(ranges | {"s": s, "u": u, "s'": after[0, :K], "v": values[:K], "rho": read[0]})
        tops[-1] |= {"left": c.left[0], "room": c.room[0, :K]}

    def program(let: Callable[..., Any]) -> Any:
        s, u = let("s", tops[0]["s"]), let("u", tops[0]["u"])
        left = [let("left", u - s[i + 1 :].sum(), i + 1) for i in range(K)]
        after = [let("s'", max(s[i] - max(left[i], 0.0), 0.0), i + 1) for i in range(K)]
        return sum(d * a for d, a in zip(normal(K, seed=3), after, strict=True))

    run = Run(program)
    back = run.values | run.gradients() | ranges
    return {f"(eq-other-{name})": tops for name in ("pop", "read", "left")} | {"(eq-other-pop-back)": back}


@page("13c-addressable-memory")
def _() -> Values:
    R, M = 5, 3
    raw, prev, memory = normal(1, M + 6), softmax(normal(1, R)), normal(1, R, M, seed=1)
    w, c = cells.ntm_address(raw, prev, memory)
    beta, z, gamma = c.beta[0][0], c.z[0][0], 1 + c.gamma[0][0]

    def program(let: Callable[..., Any]) -> Any:
        q = let("q", let("beta", beta) * let("cos", c.cosine[0]))
        content = let("hat w", softmax(q))
        gate = let("z", z)
        mixed = let("bar w", gate * let("w^prev", prev[0]) + (1 - gate) * content)
        moved = let("tilde w", sum(let("pi", c.shift[0, k + 1], k) * np.roll(mixed, k) for k in (-1, 0, 1)))
        return normal(R, seed=4) @ let("w", softmax(let("gamma", gamma) * np.log(moved)))

    run = Run(program)
    assert np.allclose(run.values["w"], w[0])
    v = run.values | {"bar w": run.values["bar w"].view(Ring)}
    erase, add = sigmoid(normal(M)), normal(M, seed=1)
    written = memory[0] * (1 - np.outer(w[0], erase)) + np.outer(w[0], add)
    cosine = lambda a, b: a @ b / (np.linalg.norm(a) * np.linalg.norm(b))  # noqa: E731
    return v | {
        "i": range(1, R + 1), "j": range(1, R + 1), "m": range(-1, 2), "k": c.key[0], "calM": memory[0], "R": R,
        "(eq-other-write)": {"calM←": written, "e": erase, "a": add}, "(eq-other-content)": {"cos": cosine},
    }  # fmt: skip


@page("14-dropout")
def _() -> Values:
    p = 0.3
    mask = [(p, {"m_i": 0.0}), (1 - p, {"m_i": 1 / (1 - p)})]
    masks: Values = {"m^h_t": normal(N, H, seed=5) ** 2, "m^x_t": normal(N, D, seed=5) ** 2}
    net = cells.gru_init(np.random.default_rng(0), D, H)
    v = weights(net, "rzn") | masks | {"x_t": normal(N, D), "h_t-1": normal(N, H, seed=1)}
    dh = normal(N, H, seed=2)
    given = layers.DropoutMasks(masks["m^x_t"], masks["m^h_t"])
    hs, _, tape = layers.dropout_forward(v["x_t"][None], v["h_t-1"], net, masks=given)
    before = layers.dropout_backward(dh[None], None, tape, net)[1]
    run = Run(lambda let: (dh * gru_step(let, v)).sum())
    step = masks | run.values | run.gradients() | {"δh_t": dh, "δh_t-1": before, "h_t": hs[0]}
    step |= {f"{name}_t": step[name] for name in "rzn"}

    masked = {"x": normal(N, D), "m": masks["m^x_t"], "y": normal(N, D) * masks["m^x_t"]}
    return step | {
        "p": p,
        "(eq-drop-mask)": [masked | {"m_i": m["m_i"], "with probability p": m["m_i"] == 0} for _, m in mask],
        "(eq-drop-gru)": step,
    }  # fmt: skip


@page("15-deep-and-bidirectional")
def _() -> Values:
    rng, L = np.random.default_rng(0), 2
    nets = {k: randomised(cells.gru_init(rng, H if k > 1 else D, H), rng) for k in range(1, L + 1)}
    xs, dhs = normal(T, 1, D), normal(T, 1, H, seed=1)

    def program(let: Callable[..., Any]) -> Any:
        h = {k: let("h^()", np.zeros((1, H))[0], k, 0) for k in nets}
        loss = 0.0
        for t in range(1, T + 1):
            below = let("h^()", xs[t - 1][0], 0, t)
            for k, net in nets.items():
                h[k] = below = let("h^()", cells.gru_step(below[None], h[k][None], net)[0][0], k, t)
            loss = loss + dhs[t - 1][0] @ below
        return loss

    run = Run(program)
    both = layers.stack(*nets.values())
    hs, _, tape = layers.stack_forward(xs, None, both)
    assert np.allclose(hs[-1, 0], run.values["h^()"][L, T])
    states, gradients = run.values["h^()"], run.gradients()["δh^()"]
    by = {  # ∂h^(l + 1)_t/∂h^(l)_t and ∂h^(l)_{t + 1}/∂h^(l)_t, of the lower layer in the middle
        "∂h^(ell)_t+1/∂h^(ell)_t": run.slope("h^()", "h^()", 1, 2, of_at=(1, 3)),
        "∂h^(ell+1)_t/∂h^(ell)_t": run.slope("h^()", "h^()", 1, 2, of_at=(2, 2)),
    }
    two = randomised(layers.bidirectional(nets[1], cells.gru_init(rng, D, H)), rng)
    hs, _, tape = layers.bidirectional_forward(xs, None, two)
    dxs = layers.bidirectional_backward(normal(T, 1, 2 * H), None, tape, two)[0]
    (_, forward), (_, backward) = two.members()
    rev = lambda a: a[::-1]  # noqa: E731
    dhs, zero = normal(T, 1, 2 * H), np.zeros((1, H))
    right = cells.gru_backward(dhs[..., :H], None, cells.gru_forward(xs, None, forward)[2], forward)[0]
    left = cells.gru_backward(rev(dhs[..., H:]), None, cells.gru_forward(rev(xs), None, backward)[2], backward)[0]
    return {
        "h^()": states, "x": xs[:, 0], "ell": range(1, L + 1), "t": range(1, T + 1),
        "GRU^()": {k: (lambda x, h, net=net: cells.gru_step(x[None], h[None], net)[0][0]) for k, net in nets.items()},
        "(eq-deep-back)": by | {"δh^()": gradients, "ell": range(1, 2), "t": range(2, 3)},
        "(eq-deep-bi)": {
            "h": hs, "x": xs, "overrightarrow h": {0: zero} | dict(enumerate(hs[..., :H], 1)),
            "overleftarrow h": dict(enumerate(hs[..., H:], 1)) | {T + 1: zero},
            "GRU_rightarrow": lambda x, h: cells.gru_step(x, h, forward)[0],
            "GRU_leftarrow": lambda x, h: cells.gru_step(x, h, backward)[0],
        },
        "(eq-deep-rev)": {
            "overleftarrow h_1:T": hs[..., H:], "x_1:T": xs, "rev": rev,
            "GRU_leftarrow": lambda xs: cells.gru_forward(xs, None, backward)[0],
        },
        "(eq-deep-bi-back)": {"rev": rev, "δx_1:T": dxs, "δx^rightarrow_1:T": right, "δx^leftarrow_1:T": left},
    }  # fmt: skip


@page("16-language-model")
def _() -> Values:
    V, T = 4, 3
    net = randomised(cells.gru_init(np.random.default_rng(0), D, H), np.random.default_rng(7))
    E, W, b, c = normal(V, D), normal(H, V), normal(V, seed=1), [2, 4, 1]
    xs = E[np.array(c) - 1]
    hs = cells.gru_forward(xs[:, None], None, net)[0]
    logits = hs[:, 0] @ W + b
    start = np.array([0.1, 0.2, 0.3, 0.4])  # what the model says before the first

    def p(*given: Any) -> Any:
        """p(c_t | before), or of a whole text."""
        if isinstance(given[0], list):
            (what,), before = given
            said = softmax(logits[len(before) - 1]) if before else start
            return said if what is None else said[what - 1]
        whole = start[given[0] - 1]
        for t in range(1, len(given)):
            whole = whole * softmax(logits[t - 1])[given[t] - 1]
        return whole

    a, y = normal(V, seed=3), 2
    s = softmax(a)
    loss, dlogits = ops.softmax_cross_entropy(a[None], [y - 1])
    text_loss = -math.log(p(*c)) / T
    scalars = {"y": y, "a": a, "s": s, "j": range(1, V + 1), "k": range(1, V + 1)}
    softmaxed = scalars | {"ell": loss, "∂ell/∂a": dlogits[0], "L": loss, "∂L/∂a": dlogits[0]}
    return {
        "T": T, "c": np.array(c), "p": p, "t": range(1, T + 1), "calL": text_loss, "nats": Aside(),
        "PP": math.exp(text_loss), "bits per character": text_loss / math.log(2),
        "(eq-lm-net)": {
            "x": xs[:, None], "E": E[:, None], "h": dict(enumerate([np.zeros((1, H)), *hs])),
            "GRU": lambda x, h: cells.gru_step(x, h, net)[0], "W": W, "b": b, "a": logits[:, None],
            "softmax": lambda a: softmax(a)[0],
        },
        "(eq-lm-softmax)": softmaxed,
    }  # fmt: skip


@page("16d-writing")
def _() -> Values:
    a, tau = normal(4, seed=3), 0.7
    tempered = softmax(a / tau)
    return {"a": a, "j": range(1, 5), "k": range(1, 5), "tau": tau, "p_tau": lambda j: tempered[j - 1]}


@page("17-encoder-decoder", "19-beam-search")
def _() -> Values:
    V, S = 4, 3
    rng = np.random.default_rng(0)
    encoder, fed = (randomised(cells.gru_init(rng, k, H), rng) for k in (D, D + H))
    source, target, u, v = normal(V, D), normal(V, D, seed=1), np.array([3, 1, 4]), {0: 1, 1: 4, 2: 2, 3: 3}
    xs = source[u - 1]
    hs = cells.gru_forward(xs[:, None], None, encoder)[0]
    c = hs[-1]
    W, b = normal(H, V), normal(V)

    ys = np.array([np.concatenate([target[v[t - 1] - 1], c[0]]) for t in (1, 2, 3)])
    states = cells.gru_forward(ys[:, None], c, fed)[0]
    letters: Values = {"y": ys, "s": dict(enumerate([c[0], *states[:, 0]]))}
    logits = np.array([letters["s"][t] @ W + b for t in (1, 2, 3)])

    def P(what: list[Any], given: list[Any]) -> Any:
        """P(v_t | v_1 …, u), or of a whole text."""
        if given[0] is None:  # dots: the step is known from the token
            return softmax(logits[next(t for t in (1, 2, 3) if v[t] == what[0]) - 1])[what[0] - 1]
        assert given[-1] is u
        if len(what) == 1:
            assert given[:-1] == [v[t] for t in range(1, len(given))]
            return softmax(logits[len(given) - 1])[what[0] - 1]
        return math.prod(softmax(logits[k])[token - 1] for k, token in enumerate(what))

    weights_of = np.array([[1, 1], [1, 0], [0, 1]]) * 1.0  # (T, N)
    many, tokens = normal(T, 2, V), np.array([[1, 3], [2, 4], [3, 1]])
    loss, dlogits = ops.softmax_cross_entropy(many, tokens - 1, weights_of)
    weighed = {"L": loss, "M": weights_of.sum(), "m": Rows("n", weights_of), "n": range(1, 3)}
    weighed |= {"a": Rows("n", many), "v": Rows("n", tokens)}
    whole = P([v[t] for t in (1, 2, 3)], [u])
    R, rho = 12, 0.1

    def code(let: Callable[..., Any]) -> Any:
        c = let("c", normal(1, H))
        s, loss = let("s", c, 0), 0.0
        for t in range(1, 4):
            y = np.concatenate([normal(1, D, seed=t), let("y^[c]", c, t)], axis=1)
            s = let("s", cells.gru_step(y, s, fed)[0], t)
            loss = loss + (s * normal(1, H, seed=t)).sum()
        return loss

    return {
        "T": 3, "S": S, "V": V, "t": range(1, 4), "v": v, "u": u, "P": P,
        "(eq-s2s-encoder)": {
            "x": xs[:, None], "E^src": source[:, None], "u": u, "h": dict(enumerate([np.zeros((1, H)), *hs])), "c": c,
            "j": range(1, S + 1), "GRU_enc": lambda x, h: cells.gru_step(x, h, encoder)[0],
        },
        "(eq-s2s-decoder)": letters
        | {
            "GRU_dec": lambda x, h: cells.gru_step(x[None], h[None], fed)[0][0], "E^tgt": target, "c": c[0],
            "W": W, "b": b, "a": logits, "k": range(1, V + 1),
        },
        "(eq-s2s-loss)": weighed,
        "(eq-s2s-dlogits)": weighed | {"δa": Rows("n", dlogits), "onehot": lambda k: np.eye(V)[k - 1]},
        "(eq-s2s-dcode)": Run(code).gradients(),
        "(eq-beam-sum)": {"P": lambda what, given: whole if what == [v] and given[0] is u else P(what, given)},
        "(eq-beam-empty)": {
            "P": lambda what, given: what[0], "a right one": (1 - rho) / R, "empty": rho, "rho": rho, "R": R,
        },
        "(eq-beam-alpha)": {
            "P": lambda what, given: whole, "v": v, "alpha": 0.6, "score": lambda v: math.log(whole) / 3**0.6,
        },
    }  # fmt: skip


@page("18-attention")
def _() -> Values:
    S, V = 4, 3
    s, hs, W, b = normal(T, 1, H), normal(S, 1, H, seed=1), normal(2 * H, V), normal(V)
    c, attended = layers.attention_forward(s, hs)
    dc = normal(T, 1, H, seed=2)
    ds, dhs = layers.attention_backward(dc, attended)

    def program(let: Callable[..., Any]) -> Any:
        state, seen = let("s", s[:, 0]), let("h", hs[:, 0])
        alpha = let("alpha", softmax(let("e", state @ let("h scored", hs[:, 0]).T)))
        return (dc[:, 0] * let("c", alpha @ seen)).sum()

    run = Run(program)
    v = run.values | run.gradients() | {"c": c[:, 0], "δc": dc[:, 0], "δs": ds[:, 0]}
    assert np.allclose(v["δh"] + v["δh scored"], dhs[:, 0])
    a = np.array([np.concatenate([s[t, 0], c[t, 0]]) @ W + b for t in range(T)])
    return v | {
        "t": range(1, T + 1), "j": range(1, S + 1), "k": range(1, S + 1), "W": W, "b": b, "a": a,
        "(eq-att-ds)": {"δh": v["δh scored"]},
    }  # fmt: skip


@page("18b-transformer-block")
def _() -> Values:
    d, m, tokens = 6, 2, 3
    x, W_Q, W_K, W_V, W_O = (normal(tokens, d), *(normal(d, d, seed=seed) for seed in range(1, 5)))
    b_Q, b_K, b_V, b_O = (normal(d, seed=seed) for seed in range(5, 9))
    mask = np.where(np.tri(tokens) == 1, 0, -np.inf)

    g, b = normal(d, seed=10), normal(d, seed=11)

    def norm(a: Any) -> Any:
        return g * (a - a.mean(axis=-1, keepdims=True)) / a.std(axis=-1, keepdims=True) + b

    Q, K, V = x @ W_Q, x @ W_K, x @ W_V
    biased = {"Q": norm(x) @ W_Q + b_Q, "K": norm(x) @ W_K + b_K, "V": norm(x) @ W_V + b_V}
    parts = {name: dict(enumerate(np.split(a, m, axis=1), 1)) for name, a in biased.items()}
    seen = {i: softmax(parts["Q"][i] @ parts["K"][i].T / math.sqrt(d / m) + mask) @ parts["V"][i] for i in (1, 2)}
    U = x + np.concatenate([*seen.values()], axis=1) @ W_O + b_O
    W_1, b_1, W_2, b_2 = normal(d, 4 * d), normal(4 * d), normal(4 * d, d), normal(d, seed=9)
    return {
        "d": d, "m": m, "X": x, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Q": Q, "K": K, "V": V,
        "(eq-self-attention)": {"M": mask, "Y": softmax(Q @ K.T / math.sqrt(d) + mask) @ V},
        "(eq-self-heads)": biased | {
            "norm": norm, "R": norm(x), "b_Q": b_Q, "b_K": b_K, "b_V": b_V,
            "x": x[1], "g": g, "b": b, "mean": np.mean, "sd": np.std,
        },
        "(eq-self-block)": parts | {
            "M": mask, "Y": seen, "W_O": W_O, "b_O": b_O, "i": range(1, m + 1), "norm": norm, "U": U, "W_1": W_1,
            "b_1": b_1, "W_2": W_2, "b_2": b_2, "Z": U + np.maximum(norm(U) @ W_1 + b_1, 0) @ W_2 + b_2,
        },
    }  # fmt: skip


@page("20-does-it-matter")
def _() -> Values:
    K, n, q = 5, 10, 2.3
    v, w = normal(n) + 3, normal(n, seed=1)
    rng, H = np.random.default_rng(0), 7  # H is not the number of blocks
    size = cells.lstm_init(rng, D, H).size + ops.linear_init(rng, H, K).size
    center, half = v.mean() - w.mean(), q * math.sqrt((v.var(ddof=1) + w.var(ddof=1)) / n)
    means = {"bar v": v.mean(), "bar w": w.mean(), "s": v.std(ddof=1), "s_v": v.std(ddof=1), "s_w": w.std(ddof=1)}
    return means | {
        "q": q, "n": n, "(eq-cmp-parameters)": {"P": size, "B": 4, "H": H, "K": K},
        "(eq-cmp-t)": {"value": v.mean() + np.array([1, -1]) * q * v.std(ddof=1) / math.sqrt(n)},
        "(eq-cmp-difference)": {"value": center + np.array([half, -half])},
    }  # fmt: skip


@page("21-gates-without-the-loop")
def _() -> Values:
    p = randomised(cells.mingru_init(np.random.default_rng(0), D, H), np.random.default_rng(7))
    v = {name: getattr(p, name) for name in ("W_z", "W_n", "b_z", "b_n")}
    x, h = normal(N, D), normal(N, H, seed=1)
    new, _ = cells.mingru_step(x, h, p)
    cell = v | {"x_t": x, "h_t-1": h, "h_t": new, "z_t": sigmoid(x @ p.W_z + p.b_z), "n_t": x @ p.W_n + p.b_n}
    z, n, dh = sigmoid(normal(T)), normal(T, seed=1), normal(T, seed=2)

    def program(let: Callable[..., Any]) -> Any:
        h, loss = let("h", 0.8, 0), 0.0
        for t in range(1, T + 1):
            h = let("h", let("z", z[t - 1], t) * h + let("w", (1 - z[t - 1]) * n[t - 1], t), t)
            loss = loss + dh[t - 1] * h
        return loss

    run = Run(program)
    scan = run.values | run.gradients() | {"n": n, "t": range(1, T + 1)}
    back = scan | {"delta": scan["δh"] | {T + 1: 0.0}, "z": scan["z"] | {T + 1: 0.0}}
    joined = {f"{name}_{t}": scan[name][t] for name in "hwz" for t in (0, 1, 2) if t in scan[name]}
    still = {t: -0.4 + 0.7**t * 1.2 for t in range(T + 1)}

    def deltanet(rule: str, bias: float) -> Values:
        S, x = normal(1, 3, H), normal(1, D, seed=4)
        d = cells.deltanet_init(np.random.default_rng(0), D, H, K=3, rule=rule)
        d.b_beta[:] = bias
        out, state, cache = cells.deltanet_step(x, cells.DeltaNetState(S), d)
        kept = {"S_t": state.memory[0], "S_t-1": S[0], "k_t": cache.k.y, "q_t": cache.q.y, "o_t": out}
        return kept | {"v_t": x @ d.W_v + d.b_v, "beta_t": cache.beta.item()}

    return {
        "(eq-scan-add)": deltanet("add", 40), "(eq-scan-delta-rule)": deltanet("delta", 0), "(eq-scan-mingru)": cell,
        "(eq-scan-linear)": scan, "(eq-scan-join)": joined,
        "(eq-scan-ones)": {"h": still, "z": 0.7, "n": -0.4, "t": range(1, T + 1)},
        "(eq-scan-delta)": back | {"∂L_t/∂h": dh},
    }  # fmt: skip


@page("21b-the-loop-solved")
def _() -> Values:
    p = randomised(cells.diaggru_init(np.random.default_rng(0), D, H), np.random.default_rng(7))
    v = {f"{a}_{g}": getattr(p, f"{a}_{g}") for a in "Wub" for g in "rzn"}
    v |= {f"u_{g}": np.tile(v[f"u_{g}"], (N, 1)) for g in "rzn"}
    x, h = normal(N, D), normal(N, H, seed=1)
    new, cache = cells.diaggru_step(x, h, p)
    cell = v | {"x_t": x, "h_t-1": h, "h_t": new, "r_t": cache.r, "z_t": cache.z, "n_t": cache.n}
    J, dh = normal(T, H, H), normal(T, 1, H, seed=2)
    deltas = {T + 1: np.zeros((1, H))}
    for t in range(T, 0, -1):
        deltas[t] = dh[t - 1] + (deltas[t + 1] @ J[t] if t < T else 0)
    back = {"delta": deltas, "J": dict(enumerate([*J, J[0]], 1)), "t": range(1, T + 1)}
    return {"(eq-loop-diagonal)": cell, "(eq-loop-back)": back | {"∂L_t/∂h": dict(enumerate(dh, 1))}}


TEXTS = {path.stem: path.read_text("utf8") for path in sorted(PROSE.glob("*.md"))}
EQUATIONS = [equation for name, text in TEXTS.items() for equation in equations.displayed(name, text)]
CALCULATED = [equation for equation in EQUATIONS if equation.label not in LISTED]


@cache
def cases_of(equation: Equation) -> list[Values]:
    """What the letters of an equation stand for, in each case."""
    values = of_page(equation.page)
    own = values.get(f"({equation.label})", {})
    cases = [COMMON | values | case for case in (own if isinstance(own, list) else [own])]
    return [{letter: value for letter, value in case.items() if value is not None} for case in cases]


def elementwise(words: equations.Words) -> Iterator[str]:
    """eq-bwd-elementwise: each row says what y is, and then what δu and δv are."""
    values = COMMON | {"u": normal(N), "v": normal(N, seed=1), "δy": normal(N, seed=2)}

    def gradients(y: str) -> Values:
        of = eval(f"lambda v: {y}", vars(equation_maths))
        return Run(lambda let: values["δy"] @ of({name: let(name, values[name]) for name in "uv"})).gradients()

    for sides, marks in equations.statements(words):
        if sides[0] == ["y"]:
            values |= gradients(equations.Reader(sides[1], values).whole())
        else:
            yield from equations.check([*sides[0], *marks, *sides[1]], values)


OWN = {"eq-bwd-elementwise": elementwise}


def complaints(equation: Equation, words: equations.Words) -> Iterator[str]:
    """What is wrong with these words, if they stood there in the place of the equation."""
    if equation.label in OWN:
        yield from OWN[equation.label](words)
    for values in [] if equation.label in OWN else cases_of(equation):
        yield from equations.check(words, values)


@pytest.mark.parametrize("equation", CALCULATED, ids=lambda equation: f"{equation.page}-{equation.label}")
def test_equation_is_true(equation: Equation) -> None:
    wrong = list(complaints(equation, equations.words_of(equation.tex)))
    advice = f"""
    If the equation is wrong, mend it. If a letter is new, or means something else here, give it its value in
    tests/test_equations.py: in a function marked @page("{equation.page}"), or for this equation alone under
    "({equation.label})" there. An equation that has moved takes its page along: add the new name to @page."""
    if wrong:
        pytest.fail("\n".join([f"{equation.page}, ({equation.label}):", *dict.fromkeys(wrong), advice]), pytrace=False)


def test_nothing_is_said_of_pages_and_equations_that_are_no_more() -> None:
    labels = {equation.label for equation in EQUATIONS}
    own = {key[1:-1] for name in PAGES for key in of_page(name) if key.startswith("(")}
    gone = (own | set(LISTED) | set(OWN)) - labels
    gone |= PAGES.keys() - TEXTS.keys()
    assert not gone, f"no page has these; take them out of tests/test_equations.py: {sorted(gone)}"


# -------------------------------------------------------------------------------------------------- in the running text

FUNCTIONS: Values = {name: value for name, value in COMMON.items() if callable(value) or name == "e"}
NO_LETTERS = {rf"\{name}" for name in [*FUNCTIONS, "frac", "cdot", "odot", "sqrt", "bmod"]} | {"e"}
NAME = re.compile(r"(\\(tilde|hat) )?(\\\w+(\{\w+\})?|\w)( ')?( [_^] (\S|\{[^{}]*\}))*( \([^()]*\))?")
CONDITIONAL = r"""
    03 1 - z = \sigma(b)
    03 (1 - z)^2 \nu^2 = z s^2
    03 z (h_{t-1} - y_t) + (1 - z) \nu \eta_t = z (e_{t-1} - s \varepsilon_t) + (1 - z) \nu \eta_t
    05 \gd{x_t} = \gd{a_r} W_{xr}^\top + \gd{a_z} W_{xz}^\top
    05 \gd{h_{t-1}} = \gd{h_t} \odot z_t + \gd{a_z} W_{hz}^\top
    05 \gd{a_z} = \gd{a_r}
    07b K \delta / 2 = 0.15 K
    09 v J_t = v + v (J_t - I)
    09 (1 - z) W_{hn} r = \frac14 W_{hn}
    10 S_{11} W_{12} = S_{12} W_{11}
    13 (d, u) = \sigma(h_t W_s + b_s)
    13 (2c - 1)^2 \ge 4c^2
    17 \log P = -11 L
    20 4 H_{\text{LSTM}}^2 = 3 H_{\text{GRU}}^2
"""  # true where the sentence says, and not of any numbers


class AnyNumbers(dict[str, Any]):
    """Every letter is a number of its own; another one with another seed."""

    seed = 0

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or bool(re.fullmatch(r"(?!outcomes|partial)[A-Za-z]+('|_.*)?", str(name)))

    def __missing__(self, name: str) -> float:
        self[name] = float(np.random.default_rng([*name.encode(), *[self.seed] * (self.seed > 0)]).uniform(0.3, 0.7))
        return self[name]

    def seeded(self, seed: int) -> AnyNumbers:
        self.seed = seed
        return self

    def get(self, name: str, default: Any = None) -> Any:  # a dict's own does not ask __contains__
        return self[name] if name in self else default  # noqa: SIM401

    def copy(self) -> AnyNumbers:
        return AnyNumbers(self).seeded(self.seed)

    def __or__(self, other: Values) -> AnyNumbers:  # type: ignore[override]
        return AnyNumbers({**self, **other}).seeded(self.seed)


INEQUAL = (r"\le", r"\ge", "<", ">")
DERIVATIVE = re.compile(r"(?:derivative of|(?<=that of)) \$([^$]+)\$ is \$([^$]+)\$")


def has_letters(side: equations.Words) -> bool:
    return bool({word for word in side if re.match(r"\\?[A-Za-z]", word)} - NO_LETTERS)


def is_named(side: equations.Words) -> bool:
    """Whether it is a letter, perhaps with indices or arguments, so that the equation may say what it stands for."""
    return (side[0] == "e" or side[0] not in NO_LETTERS) and bool(NAME.fullmatch(" ".join(side)))


def in_the_text(page: str, text: str) -> Iterator[tuple[equations.Words, list[Values]]]:
    """The equations of the running text that are calculated, and the values with one of which each has to be true.

    Those of numbers alone; of gradients and of the quantities of a step, with the page's values; and others with both
    sides composed, with these or with any numbers. Not a setting ("z = 0.7"), nor a definition ("v = ...").
    Inequalities with both sides composed have to be true of any numbers, and so has "the derivative of $A$ is $B$".
    Displayed equations without a label count as text.
    """
    listed = [words_of(line.partition(" ")[2]) for line in CONDITIONAL.split("\n    ") if line.startswith(page[:2])]
    prose = "\n".join(block.text for block in blocks(text) if not re.fullmatch(r"\$[^$]+\$", block.text))
    for of, is_ in DERIVATIVE.findall(prose):
        (letter,) = {word for word in words_of(of) if has_letters([word])}
        values = AnyNumbers(FUNCTIONS)
        code = equations.Reader(words_of(of), values).whole()
        f = eval(f"lambda v: lambda {letter}: {code.replace(f'v[{letter!r}]', letter)}", vars(equation_maths))(values)
        words = [r"\text{derivative}", "=", *words_of(is_)]
        yield words, [values | {"derivative": slope(f)(values[letter])}]
    alone = re.findall(r"^ *\$\$\n((?:(?!\$\$).)+?)\$\$$", text, re.M | re.S)
    for tex in [*re.findall(r"\$([^$]+)\$", prose), *alone]:
        for sides, marks in statements(words_of(tex.replace("{,}", ""))):
            for left, mark, right in zip(sides, marks, sides[1:], strict=False):
                words = [*left, mark, *right]
                if not left or not right or words in listed or {r"\partial", r"\int"} & {*words}:
                    continue
                of_a_step = left[0] == r"\grad" or (is_named(left) and left[1:2] == ["_"] and "t" in left[2:])
                if not has_letters(left) and not has_letters(right):
                    if re.search(r"\d", " ".join(left)) and mark in ("=", r"\approx"):
                        yield words, [COMMON]
                elif all(map(has_letters, (left, right))) and mark == "=" and not is_named(right):
                    if not of_a_step and is_named(left):
                        continue
                    yield words, [COMMON | of_page(page)] + [AnyNumbers(FUNCTIONS)] * (not of_a_step)
                elif all(map(has_letters, (left, right))) and mark in INEQUAL and not is_named(left):
                    yield from ((words, [AnyNumbers(FUNCTIONS).seeded(seed)]) for seed in range(1, 9))


def untrue(page: str, text: str) -> Iterator[str]:
    for words, cases in in_the_text(page, text):
        wrong = ["\n".join(equations.check(words, case)) for case in cases]
        if all(wrong) and any("not true" in complaint for complaint in wrong):
            yield " ".join(words) + "\n" + wrong[-1]


@pytest.mark.parametrize("name", TEXTS)
def test_equations_in_the_running_text_are_true(name: str) -> None:
    """If one holds only where its sentence says, it belongs into CONDITIONAL."""
    assert list(untrue(name, TEXTS[name])) == []


def test_an_untrue_equation_in_the_running_text_is_noticed() -> None:
    assert [*untrue("05-gru-backward", r"so $\gd{a_z} = \gd{z} \odot z_t \odot (1 + z_t)$.")]
    assert [*untrue("04-gru-forward", r"since $1 - \sigma(a) = \sigma(a)$.")]
    assert [*untrue("03-gates", r"and $h_1 = \frac12 \cdot 8 + \frac12 \cdot 4 = 7$.")]
    assert [*untrue("12-lstm", r"so $|c_t| \le \min(1, |c_0|)$.")]
    assert [*untrue("01-from-a-sum-to-a-state", r"The derivative of $\ln(1 + e^{s})$ is $1 - \sigma(s)$.")]
    assert [*untrue("sheet", "then\n\n$$\n\\gd{n} = \\gd{h_t} \\odot \\gz[_t]\n$$\n")]
    assert not [*untrue("03-gates", r"with $z = 0.7$, where $v = z h$.")]


SLIPS = {
    "+": "-", "-": "+", r"\odot": "+", r"\tanh": r"\sigma", r"\sigma": r"\tanh", r"\sum": r"\prod", "2": "3", "1": "2",
    "z": "r", "r": "z", "t": "{t-1}", r"\log": r"\exp", r"\exp": r"\log", r"\le": r"\ge", r"\ge": r"\le",
}  # fmt: skip


def test_a_slip_in_an_equation_is_noticed() -> None:
    """``pytest -s -k slip`` shows those that nobody would notice: each is the last in its equation that can be made."""
    unnoticed = []
    for equation in CALCULATED:
        words = equations.words_of(equation.tex)
        for k in [k for k, word in enumerate(words) if word in SLIPS][-1:]:
            with np.errstate(all="ignore"):
                fault = [*words[:k], *equations.words_of(SLIPS[words[k]]), *words[k + 1 :]]
                if next(complaints(equation, fault), None) is None:
                    unnoticed.append(f"{equation.page} {equation.label} {' '.join(fault)}")
    print(*unnoticed, sep="\n")
    assert len(unnoticed) < 0.1 * len(CALCULATED)
