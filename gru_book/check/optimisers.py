"""Exercises on the steps of training: clipping, chapter 2, and Adam."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from gru_book.check.engine import Array, Exercise, Mistake, Outputs, exercise

__all__ = ["adam", "clip"]


@exercise
def adam() -> Exercise:
    """Check ``f(p, g, m, v, k, lr, beta1, beta2, eps) -> p, m, v``: step number k (from 1) of Adam, on arrays.

    Given p, g, m and v (K,), and the numbers k, lr, beta1, beta2 and eps; return p (K,), m (K,) and v (K,).
    """
    rng = np.random.default_rng(2015)
    p, g, m = (rng.normal(size=5) for _ in range(3))
    v, k, lr, b1, b2, eps = rng.random(5), 3, 0.1, 0.9, 0.99, 1e-2

    def step(
        k1: float = k, k2: float = k, *, b1: float = b1, b2: float = b2, sign: int = -1, power: int = 2, form: str = ""
    ) -> Outputs:
        m1, v1 = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**power
        m_hat, v_hat = m1 / (1 - b1**k1), np.maximum(v1 / (1 - b2**k2), 0)
        below = {"": np.sqrt(v_hat) + eps, "inside": np.sqrt(v_hat + eps), "no root": v_hat + eps}[form]
        return {"p": p + sign * lr * m_hat / below, "m": m1, "v": v1}

    right = step()

    def mistakes() -> Iterator[Mistake]:
        never = 1e9  # so late a step that the correction is 1
        yield "the bias correction is missing: m̂ = m / (1 − β1ᵏ), v̂ = v / (1 − β2ᵏ).", step(never, never)
        yield "m̂ is not corrected: m / (1 − β1ᵏ).", step(k1=never)
        yield "v̂ is not corrected: v / (1 − β2ᵏ).", step(k2=never)
        yield "the bias correction uses k − 1: k counts this step.", step(k - 1, k - 1)
        yield "the bias correction uses k + 1: k counts this step already.", step(k + 1, k + 1)
        yield "the bias correction uses 1 − β where 1 − βᵏ belongs.", step(1, 1)
        corrected = {**right, "m": right["m"] / (1 - b1**k), "v": right["v"] / (1 - b2**k)}
        yield "m and v are returned corrected: keep the raw averages, correct only for the step.", corrected
        yield "β1 and β2 have changed places.", step(b1=b2, b2=b1)
        yield "β and 1 − β have changed places.", step(b1=1 - b1, b2=1 - b2)
        yield "the step goes up the gradient: p − lr · …", step(sign=1)
        yield "eps stands inside the root: √v̂ + eps.", step(form="inside")
        yield "the root is missing: √v̂ + eps.", step(form="no root")
        yield "v averages g; it must average g².", step(power=1)

    args = {"p": p, "g": g, "m": m, "v": v, "k": k, "lr": lr, "beta1": b1, "beta2": b2, "eps": eps}
    return Exercise(args, right, mistakes)


@exercise
def clip() -> Exercise:
    """Check ``f(grads, max_norm) -> list``: scale a list of arrays so that their norm together is at most max_norm.

    Given a list of arrays and a number; return a list of new arrays.
    """
    rng = np.random.default_rng(2013)
    grads = [rng.normal(size=shape) for shape in ((3, 2), 4, (2, 2))]
    top = 0.5
    squares = sum(float(v) ** 2 for g in grads for v in g.ravel())
    norm = math.sqrt(squares)

    def every(change: Callable[[Array], Array]) -> Outputs:
        return {f"grads[{i}]": change(g) for i, g in enumerate(grads)}

    def mistakes() -> Iterator[Mistake]:
        message = "each array is clipped by its own norm; the norm of all together is meant."
        yield message, every(lambda g: g * min(1, top / math.sqrt((g * g).sum())))
        yield "the root is missing: the norm is √(Σ g²).", every(lambda g: g * min(1, top / squares))
        message = "that clips every value; here the whole gradient is scaled, so that its direction stays."
        yield message, every(lambda g: np.clip(g, -top, top))
        absolute = sum(float(np.abs(g).sum()) for g in grads)
        yield "the norm is Σ|g|; √(Σ g²) is meant.", every(lambda g: g * top / absolute)
        mean = math.sqrt(squares / sum(g.size for g in grads))
        yield "the norm is a root of the mean; √(Σ g²) is meant.", every(lambda g: g * min(1, top / mean))
        yield "nothing is clipped.", every(lambda g: g)
        yield "the gradient is scaled to norm 1; norm max_norm is wanted.", every(lambda g: g / norm)
        yield "the factor is turned over: max_norm / norm.", every(lambda g: g * norm / top)

    message = "a gradient whose norm is below max_norm must stay as it is: scale by min(1, max_norm / norm)."
    small, zeros = {"grads": grads, "max_norm": 2 * norm}, every(np.zeros_like)
    nothing = {"grads": list(zeros.values()), "max_norm": top}
    also = [(small, every(lambda g: g), message)]
    also.append((nothing, zeros, "a gradient of zeros must stay zeros: norm 0 divides by 0."))
    return Exercise({"grads": grads, "max_norm": top}, every(lambda g: g * top / norm), mistakes, also=also)
