"""Exercises on the LSTM, chapter 12: c = f ⊙ c_prev + i ⊙ g and h = o ⊙ tanh(c)."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gru_book.check import oracle
from gru_book.check.engine import Array, Exercise, Fault, Mistake, Outputs, exercise, several
from gru_book.check.oracle import D, H, N, Scalar, affine, draw, each, matmul, sig, weights
from gru_lib.cells.lstm import LSTMState, lstm_init

__all__ = ["lstm_step", "lstm_step_backward"]

# What a reader's `lstm_step_backward` is given of the step: x (N, D), the others (N, H).
LSTMRecord = namedtuple("LSTMRecord", "x h_prev c_prev i f g o c")


def _step(x: Array, h_prev: Array, c_prev: Array, w: Mapping[str, Array], **use: Scalar) -> Outputs:
    """i, f, g, o, c, tanh(c) and h of one step. `use` puts other functions in the place of σ and tanh."""
    s = {k: each(use.get(k, math.tanh if k == "g" else sig), affine(x, h_prev, w, k)) for k in "ifgo"}
    c = s["f"] * c_prev + s["i"] * s["g"]
    tanh_c = each(use.get("tanh_c", math.tanh), c)
    return {**s, "c": c, "tanh_c": tanh_c, "h": s["o"] * tanh_c}


@exercise
def lstm_step() -> Exercise:
    """Check ``f(x, (h_prev, c_prev), p) -> (h, c)`` (a cache may follow): one step of an LSTM, chapter 12.

    Given x (N, D), state_prev, the pair h_prev and c_prev (N, H), and the weights p; return the pair h (N, H), c
    (N, H).
    """
    p, rng = draw(1997, lstm_init)
    x, h_prev, c_prev = (rng.normal(size=(N, k)) for k in (D, H, H))
    w = weights(p, "ifgo")

    def run(change: Mapping[str, Array] | None = None, **use: Scalar) -> Outputs:
        s = _step(x, h_prev, c_prev, {**w, **(change or {})}, **use)
        return {"h": s["h"], "c": s["c"]}

    def swap(s: str, t: str) -> Outputs:
        return run({a + u: w[a + v] for a in ("W_x", "W_h", "b_") for u, v in ((s, t), (t, s))})

    right = run()

    def mistakes() -> Iterator[Mistake]:
        yield "h and c have changed places in what is returned: (h, c).", {"h": right["c"], "c": right["h"]}
        yield "i and f have changed places: c = f ⊙ c_prev + i ⊙ g.", swap("i", "f")
        yield "i and o have changed places.", swap("i", "o")
        yield "f and o have changed places.", swap("f", "o")
        yield "the forget gate is missing: c = f ⊙ c_prev + i ⊙ g.", run(f=lambda a: 1.0)
        yield "the input gate is missing: c = f ⊙ c_prev + i ⊙ g.", run(i=lambda a: 1.0)
        yield "the output gate is missing: h = o ⊙ tanh(c).", run(o=lambda a: 1.0)
        yield "h lacks a tanh: h = o ⊙ tanh(c).", run(tanh_c=lambda a: a)
        yield "σ stands at the candidate g where tanh belongs.", run(g=sig)
        yield "tanh stands at the gates where σ belongs.", run(i=math.tanh, f=math.tanh, o=math.tanh)
        yield "the forget bias is added again: b_f holds it already.", run({"b_f": w["b_f"] + 1})
        yield from ((message, run(change)) for message, change in oracle.slips(w, "ifgo"))

    def flatten(raw: Any) -> Any:
        return raw[0] if isinstance(raw, tuple | list) and raw and isinstance(raw[0], tuple) else raw

    return Exercise({"x": x, "state_prev": LSTMState(h_prev, c_prev), "p": p}, right, mistakes, flatten=flatten)


LEFT_OUT = {
    "later": "the dc that comes in is not used: add it to what comes from h.",
    "out": "what h sends to c is missing: dc + dh ⊙ o ⊙ (1 − tanh²(c)).",
    "o": "dc lacks the factor o: h = o ⊙ tanh(c).",
    "slope c": "dc lacks the slope of tanh at c: 1 − tanh²(c).",
    "c for c_prev": "da_f uses c_t where c_{t−1} belongs: c = f ⊙ c_prev + i ⊙ g.",
    "c for tanh c": "da_o uses c where tanh(c) belongs: h = o ⊙ tanh(c).",
    "f for g": "da_i uses f where g belongs: c = f ⊙ c_prev + i ⊙ g.",
    "slope": "the gates lack the slope of σ: i ⊙ (1 − i), and f and o alike.",
    "slope g": "da_g lacks the slope of tanh: 1 − g².",
    "again": "the slopes of the gates are taken at σ(i), σ(f) and σ(o): the gates are squashed already, so they are "
    "i ⊙ (1 − i), and f and o alike.",
    "again g": "da_g takes the slope at tanh(g): g is tanh(a_g) already, and its slope is 1 − g².",
    "f": "dc_prev lacks the factor f: c = f ⊙ c_prev + i ⊙ g.",
    "dc before": "dc_prev is made of the dc that came in; take the sum with what comes from h.",
    "W_h T": "dh_prev uses W_h where W_hᵀ belongs.",
}


@exercise
def lstm_step_backward() -> Exercise:
    """Check ``f((dh, dc), cache, p) -> dx, (dh_prev, dc_prev), grads``: backward through one step, chapter 12.

    Given dstate, the pair dh and dc (N, H), of which the step after this one hands back dc, the cache
    (x, h_prev, c_prev, i, f, g, o, c), and the weights p; return dx (N, D), the pair dh_prev, dc_prev (N, H), and
    grads, a dict by name (W_xi … b_o) or an LSTMParams.
    """
    p, rng = draw(2000, lstm_init)
    x, h_prev, c_prev, dh, dc = (rng.normal(size=(N, k)) for k in (D, H, H, H, H))
    w = weights(p, "ifgo")
    s = _step(x, h_prev, c_prev, w)
    i, f, g, o, c, tanh_c = (s[k] for k in ("i", "f", "g", "o", "c", "tanh_c"))

    def back(leave: str = "") -> tuple[Outputs, dict[str, Outputs]]:
        """Return the gradients, and the terms of dx and dh_prev. `leave` is a key of LEFT_OUT."""

        def factor(name: str, value: Array) -> Array:
            return np.ones_like(value) if name == leave else value

        def slope(a: Array) -> Array:
            a = each(sig, a) if leave == "again" else a
            return factor("slope", a * (1 - a))

        from_h = dh * factor("o", o) * factor("slope c", 1 - tanh_c * tanh_c)
        dc_all = (0 if leave == "later" else dc) + (0 if leave == "out" else from_h)
        da = {
            "i": dc_all * (f if leave == "f for g" else g) * slope(i),
            "f": dc_all * (c if leave == "c for c_prev" else c_prev) * slope(f),
            "g": dc_all * i * factor("slope g", 1 - (each(math.tanh, g) if leave == "again g" else g) ** 2),
            "o": dh * (c if leave == "c for tanh c" else tanh_c) * slope(o),
        }
        W_hT = {k: w[f"W_h{k}"] if leave == "W_h T" else w[f"W_h{k}"].T for k in "ifgo"}
        terms = {
            "dx": {f"da_{k} W_x{k}ᵀ": matmul(a, w[f"W_x{k}"].T) for k, a in da.items()},
            "dh_prev": {f"da_{k} W_h{k}ᵀ": matmul(a, W_hT[k]) for k, a in da.items()},
        }
        dc_prev = dc * f if leave == "dc before" else dc_all * factor("f", f)
        return oracle.total(terms) | {"dc_prev": dc_prev} | oracle.weight_grads(x, h_prev, da), terms

    right, terms = back()

    def mistakes() -> Iterator[Mistake]:
        return ((message, back(leave)[0]) for leave, message in LEFT_OUT.items())

    def flatten(raw: Any) -> Any:
        raw = several(raw, "dx", "(dh_prev, dc_prev)", "grads")
        as_array = isinstance(raw[1], np.ndarray) and raw[1].ndim == 3
        if not (as_array or isinstance(raw[1], tuple | list)) or len(raw[1]) < 2:
            raise Fault("the second thing returned must be the pair (dh_prev, dc_prev).")
        return (raw[0], *raw[1][:2], raw[2])

    args = {"dstate": LSTMState(dh, dc), "cache": LSTMRecord(x, h_prev, c_prev, i, f, g, o, c), "p": p}
    names = tuple(a + k for a in ("W_x", "W_h", "b_") for k in "ifgo")
    return Exercise(args, right, mistakes, grads=names, terms=terms, batch=N, flatten=flatten)
