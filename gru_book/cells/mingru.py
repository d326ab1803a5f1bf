"""The minGRU: a GRU whose gate and candidate see the input alone, so that its recurrence is linear. Chapter 21."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_book.scan import scan, scan_backward
from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_cache, check_choice, check_dtype, check_instance, check_int
from gru_lib.ops import sigmoid_pair
from gru_lib.params import Params
from gru_lib.sequence import begin, begin_backward, check_rows, outputs, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = [
    "MinGRUCache", "MinGRUParams", "MinGRUTape", "mingru_backward", "mingru_forward", "mingru_init", "mingru_step",
    "mingru_step_backward",
]  # fmt: skip


class MinGRUParams(Params):
    """Parameters of a minGRU. There is no W_h: nothing but the sum itself reads the state."""

    D: int
    H: int
    gate: str  # "sigmoid": z in (0, 1); "tanh": z in (−1, 1)
    W: Array  # (D, 2H), side by side:
    W_z: Array
    W_n: Array
    b: Array  # (2H,):
    b_z: Array
    b_n: Array

    def __init__(
        self, D: int, H: int, *, gate: str = "sigmoid", dtype: DTypeLike = np.float64, flat: Array | None = None
    ) -> None:
        where = "mingru_init"
        D, H, dtype = check_int(where, "D", D), check_int(where, "H", H), check_dtype(where, dtype)
        check_choice(where, "gate", gate, ("sigmoid", "tanh"))
        columns = {"z": np.s_[..., :H], "n": np.s_[..., H:]}
        parts = {f"{a}_{g}": (a, part) for a in ("W", "b") for g, part in columns.items()}
        shapes = {"W": (D, 2 * H), "b": (2 * H,)}
        super().__init__(shapes, parts=parts, options={"D": D, "H": H, "gate": gate}, dtype=dtype, flat=flat)


def mingru_init(
    rng: np.random.Generator, D: int, H: int, *, gate: str = "sigmoid", dtype: DTypeLike = np.float64
) -> MinGRUParams:
    """Draw the parameters of a minGRU: weights uniform in ±1/√D, b = 0.

    With `gate` "sigmoid", z is in (0, 1) as in a GRU. With "tanh", z = tanh(a_z / 2) = 2 σ(a_z) − 1 is in (−1, 1): a
    unit can change its sign at every step, which is what counting modulo 2 needs. The other arguments are as in
    `gru_init`.

    Examples
    --------
    >>> from gru_book.cells import mingru_init
    >>> p = mingru_init(np.random.default_rng(0), D=3, H=5, gate="tanh")
    >>> p.W_z.shape, p.W_n.shape, p.gate
    ((3, 5), (3, 5), 'tanh')
    >>> p.size == 2 * (3 * 5 + 5)
    True
    """
    where = "mingru_init"
    check_instance(where, "rng", rng, np.random.Generator)
    p = MinGRUParams(D, H, gate=gate, dtype=dtype)
    p.W[:] = rng.uniform(-1, 1, p.W.shape) / np.sqrt(p.D)
    return p


def _gate(a_z: Array, gate: str) -> tuple[Array, Array, Array]:
    """Return z, 1 − z and dz/da_z, each to full relative accuracy."""
    s, not_s = sigmoid_pair(a_z)
    if gate == "sigmoid":
        return s, not_s, s * not_s
    return np.tanh(a_z / 2), 2 * not_s, 2 * s * not_s


@short_repr
class MinGRUCache(NamedTuple):
    """What `mingru_step_backward` needs from the step. All but x are (N, H)."""

    x: Array  # (N, D)
    h_prev: Array
    z: Array
    write: Array  # 1 − z
    slope: Array  # dz/da_z
    n: Array


def mingru_step(x: ArrayLike, h_prev: ArrayLike, p: MinGRUParams) -> tuple[Array, MinGRUCache]:
    """One step of a minGRU.

    ::

        z = σ(x W_z + b_z)             update gate: sees x alone    (with the gate "tanh": z = 2 σ(x W_z + b_z) − 1)
        n = x W_n + b_n                candidate: sees x alone, and is not squashed
        h = z ⊙ h_prev + (1 − z) ⊙ n

    Shapes as in `gru_step`. Chapter 21; Feng et al. (2024), arXiv:2410.01201, who let z write.

    Examples
    --------
    >>> from gru_book.cells import mingru_init, mingru_step
    >>> p = mingru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # z = 0.5
    >>> p.W_n[:] = 4  # n = 4 x
    >>> h, cache = mingru_step([[1.0]], [[2.0]], p)
    >>> h
    array([[3.]])
    """
    check_instance("mingru_step", "p", p, MinGRUParams)
    x, h_prev = check_rows("mingru_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    z, write, slope = _gate(x @ p.W_z + p.b_z, p.gate)
    n = x @ p.W_n + p.b_n
    return z * h_prev + write * n, MinGRUCache(x, h_prev, z, write, slope, n)


def mingru_step_backward(dh: ArrayLike, cache: MinGRUCache, p: MinGRUParams) -> tuple[Array, Array, MinGRUParams]:
    """Backward through `mingru_step`.

    ::

        z′ = z ⊙ (1 − z)                    with the gate "tanh" (1 − z²) / 2
        da_z = dh ⊙ (h_prev − n) ⊙ z′
        da_n = dh ⊙ (1 − z)
        dx = da_z W_zᵀ + da_n W_nᵀ,         dh_prev = dh ⊙ z          the only way back
        dW_z = xᵀ da_z,  dW_n = xᵀ da_n,    db_z = Σ da_z,  db_n = Σ da_n      (over the rows)

    Chapter 21.

    Examples
    --------
    >>> from gru_book import cells
    >>> p = cells.mingru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # z = 0.5
    >>> p.W_n[:] = 4  # n = 4 x
    >>> h, cache = cells.mingru_step([[1.0]], [[2.0]], p)
    >>> dx, dh_prev, grads = cells.mingru_step_backward([[1.0]], cache, p)
    >>> dx, dh_prev, grads.b_z  # 4 (1 − z), z, and (2 − 4) z (1 − z)
    (array([[2.]]), array([[0.5]]), array([-0.5]))
    """
    check_instance("mingru_step_backward", "p", p, MinGRUParams)
    check_cache("mingru_step_backward", cache, MinGRUCache, p)
    x, h_prev, z, write, slope, n = cache
    (dh,) = check_rows("mingru_step_backward", p, N=len(x), dh=(dh, "H"))
    da = np.concatenate([dh * (h_prev - n) * slope, dh * write], axis=1)
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W[:], grads.b[:] = x.T @ da, da.sum(axis=0)
    return da @ p.W.T, dh * z, grads


@short_repr
class MinGRUTape(NamedTuple):
    """What `mingru_backward` needs from the forward pass. Backward may be called more than once."""

    xs: Array  # (T, N, D)
    mask: Array | None  # (T, N), True where a step is real
    hs: Array  # (T + 1, N, H): h_0 … h_T
    z: Array  # (T, N, H), 1 in padding; so are the next:
    write: Array  # 1 − z, 0 in padding
    slope: Array  # dz/da_z
    n: Array
    made: Signature  # of the parameters


def mingru_forward(
    xs: ArrayLike, h0: MaybeArray, p: MinGRUParams, *, lengths: MaybeArray = None, method: str = "auto"
) -> tuple[Array, Array, MinGRUTape]:
    """Run `mingru_step` for t = 1 … T: one product for all steps, then `scan`, whose `method` may be chosen.

    The other arguments and the results are as in `gru_forward`.

    Examples
    --------
    >>> from gru_book.cells import mingru_forward, mingru_init
    >>> p = mingru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # z = 0.5
    >>> p.W_n[:] = 4  # n = 4 x
    >>> hs, h_T, tape = mingru_forward([[[1.0]], [[0.0]], [[0.0]]], None, p)
    >>> hs[:, 0, 0]
    array([2. , 1. , 0.5])
    """
    where = "mingru_forward"
    check_instance(where, "p", p, MinGRUParams)
    xs, (h0,), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"))
    xs = np.array(xs, dtype)  # what backward needs is the tape's own
    T, N, _ = xs.shape
    a = (rows(xs) @ p.W + p.b).reshape(T, N, 2 * p.H)
    (z, write, slope), n = _gate(a[:, :, : p.H], p.gate), a[:, :, p.H :]
    if mask is not None:  # a padded step keeps everything
        padded = ~mask[:, :, None]
        np.copyto(z, 1, where=padded)
        np.copyto(write, 0, where=padded)
    hs = scan(z, write * n, h0, method=method)
    return outputs(hs[1:], mask), hs[-1].copy(), MinGRUTape(xs, mask, hs, z, write, slope, n, sign(where, p))


def mingru_backward(
    dhs: MaybeArray, dh_T: MaybeArray, tape: MinGRUTape, p: MinGRUParams, *, method: str = "auto"
) -> tuple[Array, Array, MinGRUParams]:
    """`mingru_step_backward` for t = T … 1, by `scan_backward`. As in `gru_backward`.

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> xs = np.ones((4, 2, 3))
    >>> p = cells.mingru_init(np.random.default_rng(0), D=3, H=5)
    >>> hs, h_T, tape = cells.mingru_forward(xs, None, p)
    >>> back = cells.mingru_backward(np.ones_like(hs), None, tape, p)
    >>> loss = lambda p: cells.mingru_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where = "mingru_backward"
    check_tape(where, tape, MinGRUTape, p, MinGRUParams)
    xs, mask, hs, z, write, slope, n, _ = tape
    dhs, (dh_T,), dtype = begin_backward(where, p, hs, mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    _, dh, dh0 = scan_backward(dhs, dh_T, z, hs, method=method)
    da = np.concatenate([dh * (hs[:-1] - n) * slope, dh * write], axis=2)
    if mask is not None:
        da *= mask[:, :, None]
    grads = p.zeros_like(dtype)
    grads.W[:], grads.b[:] = rows(xs).T @ rows(da), rows(da).sum(axis=0)
    return (rows(da) @ p.W.T).reshape(xs.shape), dh0, grads


register_cell(
    Cell(MinGRUParams, mingru_step, mingru_step_backward, mingru_forward, mingru_backward, takes_h_mask=False)
)
