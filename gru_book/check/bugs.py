"""Exercises on gradient checks, chapter 6: along a direction, and of a wrong GRU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gru_book.check.engine import Array, Exercise, Fault, Function, Mistake, Outputs, exercise
from gru_book.check.oracle import affine, each, matmul, sig, weight_grads, weights
from gru_lib.cells.gru import gru_init

__all__ = ["bug_consistent", "bug_direction"]

N, H = 3, 4
NAMES = (*(f"W_{a}{gate}" for a in "xh" for gate in "rzn"), "b_r", "b_z", "b_n")


@exercise
def bug_direction() -> Exercise:
    """Check ``f(loss, p, u) -> number``: the derivative of `loss(p)` along u, by the complex step, chapter 6.

    Given a function loss(p), p (K,) and a direction u (K,); return a number.
    """
    rng = np.random.default_rng(6)
    A, p, u = rng.normal(size=(5, 7)), rng.normal(size=7), rng.normal(size=7)

    def loss(p: Array) -> Any:
        return np.tanh(A @ p).sum()

    slope = A.T @ (1 - np.tanh(A @ p) ** 2)  # of the loss
    length = np.sqrt(sum(v * v for v in u))

    def mistakes() -> Iterator[Mistake]:
        for message, value in (
            ("the imaginary part is not divided by ε.", 0 * slope[0]),
            ("that is the loss itself; its change is in the imaginary part.", loss(p)),
            ("u is divided by its length; it is to be taken as it is.", slope @ u / length),
            ("u is not used: that is the sum of all entries of the gradient.", slope.sum()),
            ("that is the sum over u in size; the signs of u count.", slope @ np.abs(u)),
            ("that is the length of the gradient.", np.sqrt(slope @ slope)),
        ):
            yield message, {"derivative": np.array(value)}

    def then(f: Function) -> None:
        given = []

        def watched(p: Array) -> Any:
            given.append(np.iscomplexobj(p))
            return loss(p)

        f(watched, p.copy(), u.copy())
        if not any(given):
            raise Fault("that is a difference of two losses; step along 1j u, and divide .imag by ε.")

    return Exercise({"loss": loss, "p": p, "u": u}, {"derivative": np.array(slope @ u)}, mistakes, then=then)


@exercise
def bug_consistent() -> Exercise:
    """Check ``f(dh, cache, p) -> dx, dh_prev, grads`` of a candidate that resets after the product, chapter 6.

    Given dh (N, H), the cache (x, h_prev, r, 1 - r, z, 1 - z, n, q) with q = r ⊙ h_prev, where n is made from
    r ⊙ (h_prev W_hn), and the weights p, D = H; return dx (N, H), dh_prev (N, H) and grads, a dict by name or a
    GRUParams.
    """
    rng = np.random.default_rng(1)
    p = gru_init(rng, H, H)
    p.flat[:] = rng.normal(size=p.size)
    w = weights(p, "rzn")
    x, h_prev, dh = rng.normal(size=(3, N, H))
    r, z = each(sig, affine(x, h_prev, w, "r")), each(sig, affine(x, h_prev, w, "z"))
    u = matmul(h_prev, w["W_hn"])
    n = np.tanh(matmul(x, w["W_xn"]) + w["b_n"] + r * u)
    da_n = dh * (1 - z) * (1 - n * n)
    before = matmul(da_n, w["W_hn"].T)  # as if the reset gate acted before the product

    def run(dr: Array, last: Array, left: Array, du: Array) -> Outputs:
        da = {"r": dr * r * (1 - r), "z": dh * (h_prev - n) * z * (1 - z), "n": da_n}
        back = dh * z + matmul(da["z"], w["W_hz"].T) + matmul(da["r"], w["W_hr"].T) + last
        out = {"dx": sum(matmul(a, w[f"W_x{gate}"].T) for gate, a in da.items()), "dh_prev": back}
        grads = weight_grads(x, h_prev, da) | {"dW_hn": matmul(left.T, du)}
        return out | {f"d{name}": grads[f"d{name}"] for name in NAMES}

    du = da_n * r
    last = matmul(du, w["W_hn"].T)

    def mistakes() -> Iterator[Mistake]:
        message = "that is the backward pass of the reset before the product; here r multiplies h_prev W_hn."
        yield message, run(before * h_prev, before * r, r * h_prev, da_n)
        message = "dr is that of the reset before the product; here r multiplies h_prev W_hn."
        yield message, run(before * h_prev, last, h_prev, du)
        yield "dr is r times too small: dr = da_n ⊙ (h_prev W_hn).", run(du * u, last, h_prev, du)
        message = "the last term of dh_prev: r stands after the product now, so r multiplies da_n before W_hnᵀ does."
        yield message, run(da_n * u, before * r, h_prev, du)
        message = "the last term of dh_prev lacks r: what goes into W_hnᵀ is da_n ⊙ r."
        yield message, run(da_n * u, before, h_prev, du)
        yield "dW_hn lacks r: it is h_prevᵀ (da_n ⊙ r).", run(da_n * u, last, h_prev, da_n)
        message = "dW_hn is that of the reset before the product; here it is h_prevᵀ (da_n ⊙ r)."
        yield message, run(da_n * u, last, r * h_prev, da_n)
        yield "dW_hn has r twice: it is h_prevᵀ (da_n ⊙ r).", run(da_n * u, last, r * h_prev, du)

    args = {"dh": dh, "cache": (x, h_prev, r, 1 - r, z, 1 - z, n, r * h_prev), "p": p}
    return Exercise(args, run(da_n * u, last, h_prev, du), mistakes, grads=NAMES, batch=N)
