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
    """g = 1 where a > 0, else 0: each number is replaced or kept whole.

    Examples
    --------
    >>> from gru_lib.gates import hard_gate
    >>> g, cache = hard_gate([-0.1, 0.0, 3.0])
    >>> g
    array([0., 0., 1.])
    """
    a = of_shape("hard_gate", "a", a)
    return (a.real > 0).astype(a.dtype), a


def hard_gate_backward(dg: ArrayLike, cache: Array, *, straight_through: bool = False) -> Array:
    """Raise ValueError, unless `straight_through`: a step function's slope is 0 or undefined, so it teaches nothing.

    With `straight_through`, return da = dg, as if the gate were g = a. This is not the gradient of the loss (a gradient
    check says so) but an estimate that often points the right way: Bengio, Léonard & Courville (2013), arXiv:1308.3432.

    Examples
    --------
    >>> from gru_lib.gates import hard_gate, hard_gate_backward
    >>> g, cache = hard_gate([-0.1, 3.0])
    >>> hard_gate_backward([1.0, 2.0], cache, straight_through=True)
    array([1., 2.])
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
    """g = σ(a), between 0 and 1: a hard gate with a slope.

    Examples
    --------
    >>> from gru_lib.gates import soft_gate
    >>> g, cache = soft_gate([-np.log(3), 0.0, np.log(3)])
    >>> g.round(6)
    array([0.25, 0.5 , 0.75])
    """
    g, not_g = sigmoid_pair(of_shape("soft_gate", "a", a))
    return g, (g, not_g)


def soft_gate_backward(dg: ArrayLike, cache: tuple[Array, Array]) -> Array:
    """da = dg ⊙ σ(a) ⊙ σ(−a).

    Examples
    --------
    >>> from gru_lib.gates import soft_gate, soft_gate_backward
    >>> g, cache = soft_gate([-np.log(3), 0.0])
    >>> soft_gate_backward([1.0, 1.0], cache).round(6)  # g (1 − g)
    array([0.1875, 0.25  ])
    """
    g, not_g = _parts("soft_gate_backward", cache, 2)
    return of_shape("soft_gate_backward", "dg", dg, g.shape) * g * not_g


def convex_update(g: ArrayLike, new: ArrayLike, old: ArrayLike) -> tuple[Array, tuple[Array, Array, Array]]:
    """s = g ⊙ new + (1 − g) ⊙ old: between old and new wherever 0 ≤ g ≤ 1.

    With a constant g this is the exponential average of everything that came as `new`.

    Examples
    --------
    >>> from gru_lib.gates import convex_update
    >>> new, old = [8.0, 8.0, 8.0], [4.0, 4.0, 4.0]
    >>> s, cache = convex_update([0.0, 0.25, 1.0], new, old)
    >>> s
    array([4., 5., 8.])
    """
    g = of_shape("convex_update", "g", g)
    new, old = (of_shape("convex_update", name, v, g.shape) for name, v in (("new", new), ("old", old)))
    return g * new + (1 - g) * old, (g, new, old)


def convex_update_backward(ds: ArrayLike, cache: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """dg = ds ⊙ (new − old),  dnew = ds ⊙ g,  dold = ds ⊙ (1 − g), returned in this order.

    Examples
    --------
    >>> from gru_lib.gates import convex_update, convex_update_backward
    >>> s, cache = convex_update(g=[0.25], new=[8.0], old=[4.0])
    >>> convex_update_backward([1.0], cache)
    (array([4.]), array([0.25]), array([0.75]))
    """
    g, new, old = _parts("convex_update_backward", cache, 3)
    ds = of_shape("convex_update_backward", "ds", ds, g.shape)
    return ds * (new - old), ds * g, ds * (1 - g)


def _parts(where: str, cache: Sequence[Array], count: int) -> list[Array]:
    """The arrays of a cache, of one shape."""
    check_sequence(where, "cache", cache, count)
    first = of_shape(where, "cache", cache[0])
    return [of_shape(where, "cache", a, first.shape) for a in cache]
