"""A leaky network: the state moves a share of the way to what Elman's network would make of it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_cache, check_instance, check_int
from gru_lib.params import Params
from gru_lib.sequence import check_rows
from gru_lib.types import Array, short_repr

__all__ = ["LeakyParams", "leaky_backward", "leaky_forward", "leaky_init", "leaky_step", "leaky_step_backward"]


class LeakyParams(Params):
    """W_x (D, H), W_h (H, H), b (H,), and the sizes D and H."""

    W_x: Array
    W_h: Array
    b: Array
    D: int
    H: int

    def __init__(self, D: int, H: int, *, dtype: DTypeLike = np.float64, flat: Array | None = None) -> None:
        """Lay them on `flat`, or on new numbers: `load` makes parameters from their options."""
        D, H = check_int("leaky_init", "D", D), check_int("leaky_init", "H", H)
        shapes = {"W_x": (D, H), "W_h": (H, H), "b": (H,)}
        super().__init__(shapes, options={"D": D, "H": H}, dtype=dtype, flat=flat)


def leaky_init(rng: np.random.Generator, D: int, H: int, *, dtype: DTypeLike = np.float64) -> LeakyParams:
    """Draw the parameters: weights uniform in ±1/√H, b = 0."""
    check_instance("leaky_init", "rng", rng, np.random.Generator)
    p = LeakyParams(D, H, dtype=dtype)
    p.W_x[:], p.W_h[:] = (rng.uniform(-1, 1, W.shape) / np.sqrt(H) for W in (p.W_x, p.W_h))
    return p


@short_repr
class LeakyCache(NamedTuple):
    """What `leaky_step_backward` needs of the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H)
    n: Array  # (N, H)


def leaky_step(x: ArrayLike, h_prev: ArrayLike, p: LeakyParams) -> tuple[Array, LeakyCache]:
    """n = tanh(x W_x + h_prev W_h + b),  h = (h_prev + n) / 2."""
    check_instance("leaky_step", "p", p, LeakyParams)
    x, h_prev = check_rows("leaky_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    n = np.tanh(x @ p.W_x + h_prev @ p.W_h + p.b)
    return (h_prev + n) / 2, LeakyCache(x, h_prev, n)


def leaky_step_backward(dh: ArrayLike, cache: LeakyCache, p: LeakyParams) -> tuple[Array, Array, LeakyParams]:
    """da = dh/2 ⊙ (1 − n²),  dx = da W_xᵀ,  dh_prev = dh/2 + da W_hᵀ."""
    check_instance("leaky_step_backward", "p", p, LeakyParams)
    check_cache("leaky_step_backward", cache, LeakyCache, p)
    x, h_prev, n = cache
    (dh,) = check_rows("leaky_step_backward", p, N=len(x), dh=(dh, "H"))
    da = dh / 2 * (1 - n * n)
    grads = p.zeros_like(da.dtype)
    grads.W_x[:], grads.W_h[:], grads.b[:] = x.T @ da, h_prev.T @ da, da.sum(axis=0)
    return da @ p.W_x.T, dh / 2 + da @ p.W_h.T, grads


_CELL = register_cell(Cell(LeakyParams, leaky_step, leaky_step_backward))
leaky_forward, leaky_backward = _CELL.forward, _CELL.backward
