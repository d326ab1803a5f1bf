"""Exercises on Elman's network, chapters 1 and 2: h = tanh(x W_x + h_prev W_h + b)."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterator

import numpy as np

from gru_book.check.engine import Array, Exercise, Mistake, Outputs, exercise
from gru_book.check.oracle import D, H, N, Scalar, affine, draw, each, matmul, sig, sums
from gru_lib.cells.elman import ElmanParams, elman_init

__all__ = ["elman_step", "elman_step_backward"]

# What a reader's `elman_step_backward` is given of the step: x (N, D), the others (N, H).
ElmanRecord = namedtuple("ElmanRecord", "x h_prev a h")


def _arrays() -> tuple[ElmanParams, Outputs, Array, Array, Array]:
    p, rng = draw(1990, elman_init)
    w = {"W_xa": p.W_x, "W_ha": p.W_h, "b_a": p.b}
    return p, w, rng.normal(size=(N, D)), rng.normal(size=(N, H)), rng.normal(size=(N, H))


@exercise
def elman_step() -> Exercise:
    """Check ``f(x, h_prev, p) -> h`` (a cache may follow): one step of Elman's network with tanh, chapter 1.

    Given x (N, D), h_prev (N, H) and the weights p.W_x, p.W_h and p.b; return h (N, H).
    """
    p, w, x, h_prev, _ = _arrays()

    def run(squash: Scalar = math.tanh, **change: Array) -> Outputs:
        return {"h": each(squash, affine(x, h_prev, w | change, "a"))}

    def mistakes() -> Iterator[Mistake]:
        yield "the bias b is missing.", run(b_a=0 * p.b)
        yield "W_h is transposed: h_prev W_h, not h_prev W_hᵀ.", run(W_ha=p.W_h.T)
        yield "[x, h_prev] W stands where [h_prev, x] W belongs.", run(W_xa=p.W[:D], W_ha=p.W[D:])
        yield "h_prev is missing: without h_prev W_h there is no memory.", run(W_ha=0 * p.W_h)
        yield "x is missing: add x W_x.", run(W_xa=0 * p.W_x)
        yield "there is no tanh.", run(lambda a: a)
        yield "σ stands where tanh belongs.", run(sig)
        yield "the sign is turned: tanh(a), not tanh(−a).", run(lambda a: math.tanh(-a))
        yield "relu stands where tanh belongs.", run(lambda a: max(a, 0.0))

    return Exercise({"x": x, "h_prev": h_prev, "p": p}, run(), mistakes)


@exercise
def elman_step_backward() -> Exercise:
    """Check ``f(dh, cache, p) -> dx, dh_prev, grads``: backward through one step of Elman's network, chapter 2.

    Given dh (N, H), a cache with x, h_prev, h and a = x W_x + h_prev W_h + b, and the weights p; return dx (N, D),
    dh_prev (N, H) and grads, a dict by name (W_x, W_h, b) or an ElmanParams.
    """
    p, w, x, h_prev, dh = _arrays()
    a = affine(x, h_prev, w, "a")
    h = each(math.tanh, a)

    def run(slope: Array, seen: Array = h_prev, W_hT: Array = p.W_h.T) -> Outputs:
        da = dh * slope
        out = {"dx": matmul(da, p.W_x.T), "dh_prev": matmul(da, W_hT)}
        return out | {"dW_x": matmul(x.T, da), "dW_h": matmul(seen.T, da), "db": sums(da)}

    right = run(1 - h * h)

    def mistakes() -> Iterator[Mistake]:
        yield "da lacks the slope of tanh: 1 − h².", run(np.ones_like(h))
        yield "the slope of tanh is 1 − h²; this is 1 − h.", run(1 - h)
        yield "the slope of tanh is 1 − h², with h = tanh(a); this is 1 − a².", run(1 - a * a)
        yield "the slope is taken at tanh(h): h is tanh(a) already, and its slope is 1 − h².", run(1 - np.tanh(h) ** 2)
        yield "h ⊙ (1 − h) is the slope of σ; that of tanh is 1 − h².", run(h * (1 - h))
        yield "dW_h uses h_t where h_{t−1} belongs: dW_h = h_prevᵀ da.", run(1 - h * h, seen=h)
        yield "dh_prev uses W_h where W_hᵀ belongs.", run(1 - h * h, W_hT=p.W_h)

    args = {"dh": dh, "cache": ElmanRecord(x, h_prev, a, h), "p": p}
    return Exercise(args, right, mistakes, grads=("W_x", "W_h", "b"), batch=N)
