"""The diagonal GRU: a GRU whose recurrent matrices are diagonal, so that a unit sees its own old state and no other's.

Chapter 21b. Given all states, its Jacobian at each step is one number a unit, and every linear recurrence of it, the
backward pass among them, is `gru_book.scan.scan`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_book.scan import scan_backward
from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_cache, check_dtype, check_instance, check_int
from gru_lib.ops import sigmoid_pair
from gru_lib.params import Params
from gru_lib.sequence import begin, begin_backward, check_rows, outputs, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = [
    "DiagGRUCache", "DiagGRUParams", "DiagGRUTape", "diaggru_backward", "diaggru_forward", "diaggru_init",
    "diaggru_step", "diaggru_step_backward",
]  # fmt: skip


class DiagGRUParams(Params):
    """Parameters of a diagonal GRU, gates in the order r, z, n. Where a GRU has a matrix W_h, there is a row u."""

    D: int
    H: int
    W: Array  # (D, 3H), side by side:
    W_r: Array
    W_z: Array
    W_n: Array
    u: Array  # (3H,), side by side: what multiplies a unit's own old state
    u_r: Array
    u_z: Array
    u_n: Array
    b: Array  # (3H,), side by side:
    b_r: Array
    b_z: Array
    b_n: Array

    def __init__(self, D: int, H: int, *, dtype: DTypeLike = np.float64, flat: Array | None = None) -> None:
        where = "diaggru_init"
        D, H, dtype = check_int(where, "D", D), check_int(where, "H", H), check_dtype(where, dtype)
        columns = {g: np.s_[..., k * H : (k + 1) * H] for k, g in enumerate("rzn")}
        parts = {f"{a}_{g}": (a, part) for a in ("W", "u", "b") for g, part in columns.items()}
        shapes = {"W": (D, 3 * H), "u": (3 * H,), "b": (3 * H,)}
        super().__init__(shapes, parts=parts, options={"D": D, "H": H}, dtype=dtype, flat=flat)


def diaggru_init(rng: np.random.Generator, D: int, H: int, *, dtype: DTypeLike = np.float64) -> DiagGRUParams:
    """Draw the parameters of a diagonal GRU: W uniform in ±1/√D, u in ±1, since a unit has one old state; b = 0.

    The arguments are as in `gru_init`.

    Examples
    --------
    >>> from gru_book.cells import diaggru_init
    >>> p = diaggru_init(np.random.default_rng(0), D=3, H=5)
    >>> p.W_r.shape, p.u_r.shape, p.b_r.shape
    ((3, 5), (5,), (5,))
    >>> p.size == 3 * (3 * 5 + 5 + 5)
    True
    """
    check_instance("diaggru_init", "rng", rng, np.random.Generator)
    p = DiagGRUParams(D, H, dtype=dtype)
    p.W[:] = rng.uniform(-1, 1, p.W.shape) / np.sqrt(p.D)
    p.u[:] = rng.uniform(-1, 1, p.u.shape)
    return p


@short_repr
class DiagGRUCache(NamedTuple):
    """What `diaggru_step_backward` needs from the step. All but x are (N, H)."""

    x: Array  # (N, D)
    h_prev: Array
    r: Array
    not_r: Array  # 1 − r, accurate when r is near 1
    z: Array
    not_z: Array
    n: Array


def diaggru_step(x: ArrayLike, h_prev: ArrayLike, p: DiagGRUParams) -> tuple[Array, DiagGRUCache]:
    """One step of a diagonal GRU.

    ::

        r = σ(x W_r + u_r ⊙ h_prev + b_r)
        z = σ(x W_z + u_z ⊙ h_prev + b_z)
        n = tanh(x W_n + u_n ⊙ r ⊙ h_prev + b_n)
        h = z ⊙ h_prev + (1 − z) ⊙ n

    Shapes as in `gru_step`. Chapter 21b; Danieli et al. (2026), arXiv:2510.21450, who let z write.

    Examples
    --------
    >>> from gru_book.cells import diaggru_init, diaggru_step
    >>> p = diaggru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # z = 0.5
    >>> p.b_n[:] = np.arctanh(0.4)  # n = 0.4
    >>> diaggru_step([[1.0]], [[0.8]], p)[0].round(6)
    array([[0.6]])
    """
    check_instance("diaggru_step", "p", p, DiagGRUParams)
    x, h_prev = check_rows("diaggru_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    (r, z), (not_r, not_z), n = _gates(_blocks(x @ p.W + p.b, p), h_prev, p.u.reshape(3, p.H))
    return z * h_prev + not_z * n, DiagGRUCache(x, h_prev, r, not_r, z, not_z, n)


def _blocks(a: Array, p: DiagGRUParams) -> Array:
    """(…, N, 3H) to (…, 3, N, H): what the inputs give to r, z and n."""
    return np.moveaxis(a.reshape(*a.shape[:-1], 3, p.H), -2, -3)


def _gates(a: Array, h_prev: Array, u: Array) -> tuple[Array, Array, Array]:
    """Return r and z, 1 − r and 1 − z, and n, of a (3, N, H)."""
    s, not_s = sigmoid_pair(a[:2] + u[:2, None] * h_prev)
    return s, not_s, np.tanh(a[2] + u[2] * (s[0] * h_prev))


def _slopes(c: DiagGRUCache, p: DiagGRUParams) -> tuple[Array, Array, Array, Array]:
    """What dh is multiplied by on its way to a_r, a_z and a_n; and the Jacobian, ∂h/∂h_prev, one number a unit."""
    to_n = c.not_z * (1 - c.n * c.n)
    to_r = to_n * p.u_n * c.h_prev * c.r * c.not_r
    to_z = (c.h_prev - c.n) * c.z * c.not_z
    return to_r, to_z, to_n, c.z + to_z * p.u_z + to_n * p.u_n * c.r + to_r * p.u_r


def diaggru_step_backward(dh: ArrayLike, cache: DiagGRUCache, p: DiagGRUParams) -> tuple[Array, Array, DiagGRUParams]:
    """Backward through `diaggru_step`.

    ::

        da_z = dh ⊙ (h_prev − n) ⊙ z ⊙ (1 − z)
        da_n = dh ⊙ (1 − z) ⊙ (1 − n²)
        da_r = da_n ⊙ u_n ⊙ h_prev ⊙ r ⊙ (1 − r)
        dx = da_r W_rᵀ + da_z W_zᵀ + da_n W_nᵀ,    dh_prev = dh ⊙ z + da_z ⊙ u_z + da_n ⊙ u_n ⊙ r + da_r ⊙ u_r
        da = [da_r, da_z, da_n],   dW = xᵀ da,   db = Σ da
        du_r = Σ da_r ⊙ h_prev,   du_z = Σ da_z ⊙ h_prev,   du_n = Σ da_n ⊙ r ⊙ h_prev

    Chapter 21b.

    Examples
    --------
    >>> from gru_book import cells
    >>> p = cells.diaggru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # z = 0.5
    >>> h, cache = cells.diaggru_step([[0.0]], [[0.8]], p)
    >>> cells.diaggru_step_backward([[1.0]], cache, p)[1]
    array([[0.5]])
    """
    where = "diaggru_step_backward"
    check_instance(where, "p", p, DiagGRUParams)
    check_cache(where, cache, DiagGRUCache, p)
    (dh,) = check_rows(where, p, N=len(cache.x), dh=(dh, "H"))
    dx, J, grads = _local(dh, cache, p, p.zeros_like(np.result_type(dh, cache.n, p.flat)))
    return dx, dh * J, grads


def _local(dh: Array, c: DiagGRUCache, p: DiagGRUParams, grads: DiagGRUParams) -> tuple[Array, Array, DiagGRUParams]:
    *to, J = _slopes(c, p)
    da_r, da_z, da_n = (rows(dh * slope) for slope in to)
    da, h = np.concatenate([da_r, da_z, da_n], axis=1), rows(c.h_prev)
    seen = np.concatenate([da_r * h, da_z * h, da_n * rows(c.r) * h], axis=1)
    grads.W[:], grads.u[:], grads.b[:] = rows(c.x).T @ da, seen.sum(axis=0), da.sum(axis=0)
    return (da @ p.W.T).reshape(c.x.shape), J, grads


@short_repr
class DiagGRUTape(NamedTuple):
    """What `diaggru_backward` needs from the forward pass. Backward may be called more than once."""

    hs: Array  # (T + 1, N, H): h_0 … h_T
    mask: Array | None  # (T, N), True where a step is real
    steps: DiagGRUCache  # of all steps, each array (T, N, …)
    made: Signature  # of the parameters


def diaggru_forward(
    xs: ArrayLike, h0: MaybeArray, p: DiagGRUParams, *, lengths: MaybeArray = None
) -> tuple[Array, Array, DiagGRUTape]:
    """Run `diaggru_step` for t = 1 … T, with one product for the inputs of all steps. As `gru_forward`.

    Examples
    --------
    >>> from gru_book.cells import diaggru_forward, diaggru_init
    >>> p = diaggru_init(np.random.default_rng(0), D=3, H=5)
    >>> xs = np.ones((4, 2, 3))
    >>> hs, h_T, tape = diaggru_forward(xs, None, p, lengths=[4, 2])
    >>> hs.shape, np.array_equal(h_T[1], hs[1, 1])
    ((4, 2, 5), True)
    """
    where = "diaggru_forward"
    check_instance(where, "p", p, DiagGRUParams)
    xs, (h0,), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"))
    xs = np.array(xs, dtype)  # what backward needs is the tape's own
    T, N, _ = xs.shape
    a, u = np.ascontiguousarray(_blocks((rows(xs) @ p.W + p.b).reshape(T, N, 3 * p.H), p)), p.u.reshape(3, p.H)
    hs, n = np.empty((T + 1, N, p.H), dtype), np.empty((T, N, p.H), dtype)
    s, not_s = np.empty((2, T, 2, N, p.H), dtype)
    hs[0] = h0
    for t in range(T):
        s[t], not_s[t], n[t] = _gates(a[t], hs[t], u)
        h = s[t, 1] * hs[t] + not_s[t, 1] * n[t]
        hs[t + 1] = h if mask is None else np.where(mask[t, :, None], h, hs[t])
    steps = DiagGRUCache(xs, hs[:-1], s[:, 0], not_s[:, 0], s[:, 1], not_s[:, 1], n)
    return outputs(hs[1:], mask), hs[-1].copy(), DiagGRUTape(hs, mask, steps, sign(where, p))


def diaggru_backward(
    dhs: MaybeArray, dh_T: MaybeArray, tape: DiagGRUTape, p: DiagGRUParams
) -> tuple[Array, Array, DiagGRUParams]:
    """`diaggru_step_backward` for t = T … 1: one linear recurrence, then all steps at once. As in `gru_backward`.

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> xs = np.ones((4, 2, 3))
    >>> p = cells.diaggru_init(np.random.default_rng(0), D=3, H=5)
    >>> hs, h_T, tape = cells.diaggru_forward(xs, None, p)
    >>> back = cells.diaggru_backward(np.ones_like(hs), None, tape, p)
    >>> loss = lambda p: cells.diaggru_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where = "diaggru_backward"
    check_tape(where, tape, DiagGRUTape, p, DiagGRUParams)
    hs, mask, steps, _ = tape
    dhs, (dh_T,), dtype = begin_backward(where, p, hs, mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    J = _slopes(steps, p)[-1]
    if mask is not None:
        J = np.where(mask[:, :, None], J, 1)  # a padded step keeps everything
    _, deltas, dh0 = scan_backward(dhs, dh_T, J, hs)
    if mask is not None:
        deltas = np.where(mask[:, :, None], deltas, 0)
    dxs, _, grads = _local(deltas, steps, p, p.zeros_like(dtype))
    return dxs, dh0, grads


register_cell(
    Cell(DiagGRUParams, diaggru_step, diaggru_step_backward, diaggru_forward, diaggru_backward, takes_h_mask=False)
)
