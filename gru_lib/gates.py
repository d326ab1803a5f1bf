"""Gates: a network decides, number by number, what to keep and what to replace. Chapter 3.

A gate is a vector g of the size of the memory; g ⊙ new + (1 − g) ⊙ old writes where g is 1. Each function takes arrays
of any one shape and returns its result and the cache that its `_backward` needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from gru_lib._core.checks import check_bool, check_sequence, of_shape
from gru_lib._core.types import Array
from gru_lib.ops import sigmoid_pair

__all__ = [
    "convex_update", "convex_update_backward", "hard_gate", "hard_gate_backward", "soft_gate", "soft_gate_backward",
]  # fmt: skip


def hard_gate(a: ArrayLike) -> tuple[Array, Array]:
    """g = 1 where a > 0, else 0: each number is replaced or kept whole."""
    a = of_shape("hard_gate", "a", a)
    return (a.real > 0).astype(a.dtype), a


def hard_gate_backward(dg: ArrayLike, cache: Array, *, straight_through: bool = False) -> Array:
    """Raise ValueError, unless `straight_through`: a step function's slope is 0 or undefined, so it teaches nothing.

    With `straight_through`, return da = dg, as if the gate were g = a. This is not the gradient of the loss (a gradient
    check says so) but an estimate that often points the right way: Bengio, Léonard & Courville (2013), arXiv:1308.3432.
    """
    if not check_bool("hard_gate_backward", "straight_through", straight_through):
        raise ValueError(
            "hard_gate_backward: a hard gate has no useful gradient: its slope is 0 everywhere but at the jump, where "
            "there is none. Use soft_gate, or pass straight_through=True for an estimate that treats the gate as "
            "g = a."
        )
    cache = of_shape("hard_gate_backward", "cache", cache)
    return of_shape("hard_gate_backward", "dg", dg, cache.shape).copy()


def soft_gate(a: ArrayLike) -> tuple[Array, tuple[Array, Array]]:
    """g = σ(a), between 0 and 1: a hard gate with a slope."""
    g, not_g = sigmoid_pair(of_shape("soft_gate", "a", a))
    return g, (g, not_g)


def soft_gate_backward(dg: ArrayLike, cache: tuple[Array, Array]) -> Array:
    """da = dg ⊙ σ(a) ⊙ σ(−a)."""
    g, not_g = _parts("soft_gate_backward", cache, 2)
    return of_shape("soft_gate_backward", "dg", dg, g.shape) * g * not_g


def convex_update(g: ArrayLike, new: ArrayLike, old: ArrayLike) -> tuple[Array, tuple[Array, Array, Array]]:
    """s = g ⊙ new + (1 − g) ⊙ old: between old and new wherever 0 ≤ g ≤ 1.

    With a constant g this is the exponential average of everything that came as `new`.
    """
    g = of_shape("convex_update", "g", g)
    new, old = (of_shape("convex_update", name, v, g.shape) for name, v in (("new", new), ("old", old)))
    return g * new + (1 - g) * old, (g, new, old)


def convex_update_backward(ds: ArrayLike, cache: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """dg = ds ⊙ (new − old),  dnew = ds ⊙ g,  dold = ds ⊙ (1 − g), returned in this order."""
    g, new, old = _parts("convex_update_backward", cache, 3)
    ds = of_shape("convex_update_backward", "ds", ds, g.shape)
    return ds * (new - old), ds * g, ds * (1 - g)


def _parts(where: str, cache: Sequence[Array], count: int) -> list[Array]:
    """The arrays of a cache, of one shape."""
    check_sequence(where, "cache", cache, count)
    first = of_shape(where, "cache", cache[0])
    return [of_shape(where, "cache", a, first.shape) for a in cache]
