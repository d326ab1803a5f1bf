"""Gates: a network decides, number by number, what to keep and what to replace. Chapter 3.

A gate is a vector z of the size of the memory; z ⊙ old + (1 − z) ⊙ new keeps where z is 1. Each function takes arrays
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
    """z = 1 where a > 0, else 0: each number is kept whole or replaced.

    Examples
    --------
    >>> from gru_lib.gates import hard_gate
    >>> z, cache = hard_gate([-0.1, 0.0, 3.0])
    >>> z
    array([0., 0., 1.])
    """
    a = of_shape("hard_gate", "a", a)
    return (a.real > 0).astype(a.dtype), a


def hard_gate_backward(dz: ArrayLike, cache: Array, *, straight_through: bool = False) -> Array:
    """Raise ValueError, unless `straight_through`: a step function's slope is 0 or undefined, so it teaches nothing.

    With `straight_through`, return da = dz, as if the gate were z = a. This is not the gradient of the loss (a gradient
    check says so) but an estimate that often points the right way: Bengio, Léonard & Courville (2013), arXiv:1308.3432.

    Examples
    --------
    >>> from gru_lib.gates import hard_gate, hard_gate_backward
    >>> z, cache = hard_gate([-0.1, 3.0])
    >>> hard_gate_backward([1.0, 2.0], cache, straight_through=True)
    array([1., 2.])
    """
    if not check_bool("hard_gate_backward", "straight_through", straight_through):
        raise ValueError(
            "hard_gate_backward: a hard gate has no useful gradient: its slope is 0 everywhere but at the jump, where "
            "there is none. Use soft_gate, or pass straight_through=True for an estimate that treats the gate as "
            "z = a."
        )
    cache = of_shape("hard_gate_backward", "cache", cache)
    return of_shape("hard_gate_backward", "dz", dz, cache.shape).copy()


def soft_gate(a: ArrayLike) -> tuple[Array, tuple[Array, Array]]:
    """z = σ(a), between 0 and 1: a hard gate with a slope.

    Examples
    --------
    >>> from gru_lib.gates import soft_gate
    >>> z, cache = soft_gate([-np.log(3), 0.0, np.log(3)])
    >>> z.round(6)
    array([0.25, 0.5 , 0.75])
    """
    z, not_z = sigmoid_pair(of_shape("soft_gate", "a", a))
    return z, (z, not_z)


def soft_gate_backward(dz: ArrayLike, cache: tuple[Array, Array]) -> Array:
    """da = dz ⊙ σ(a) ⊙ σ(−a).

    Examples
    --------
    >>> from gru_lib.gates import soft_gate, soft_gate_backward
    >>> z, cache = soft_gate([-np.log(3), 0.0])
    >>> soft_gate_backward([1.0, 1.0], cache).round(6)  # z (1 − z)
    array([0.1875, 0.25  ])
    """
    z, not_z = _parts("soft_gate_backward", cache, 2)
    return of_shape("soft_gate_backward", "dz", dz, z.shape) * z * not_z


def convex_update(z: ArrayLike, old: ArrayLike, new: ArrayLike) -> tuple[Array, tuple[Array, Array, Array]]:
    """h = z ⊙ old + (1 − z) ⊙ new: between old and new wherever 0 ≤ z ≤ 1.

    With a constant z this is the exponential average of everything that came as `new`.

    Examples
    --------
    >>> from gru_lib.gates import convex_update
    >>> old, new = [4.0, 4.0, 4.0], [8.0, 8.0, 8.0]
    >>> h, cache = convex_update([1.0, 0.75, 0.0], old, new)
    >>> h
    array([4., 5., 8.])
    """
    z = of_shape("convex_update", "z", z)
    old, new = (of_shape("convex_update", name, v, z.shape) for name, v in (("old", old), ("new", new)))
    return z * old + (1 - z) * new, (z, old, new)


def convex_update_backward(dh: ArrayLike, cache: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """dz = dh ⊙ (old − new),  dold = dh ⊙ z,  dnew = dh ⊙ (1 − z), returned in this order.

    Examples
    --------
    >>> from gru_lib.gates import convex_update, convex_update_backward
    >>> h, cache = convex_update(z=[0.75], old=[4.0], new=[8.0])
    >>> convex_update_backward([1.0], cache)
    (array([-4.]), array([0.75]), array([0.25]))
    """
    z, old, new = _parts("convex_update_backward", cache, 3)
    dh = of_shape("convex_update_backward", "dh", dh, z.shape)
    return dh * (old - new), dh * z, dh * (1 - z)


def _parts(where: str, cache: Sequence[Array], count: int) -> list[Array]:
    """The arrays of a cache, of one shape."""
    check_sequence(where, "cache", cache, count)
    first = of_shape(where, "cache", cache[0])
    return [of_shape(where, "cache", a, first.shape) for a in cache]
