"""How the last state depends on the first: ∂h_T/∂h_0, exactly, and how much of it takes the direct path.

Chapters 2 and 9. Backpropagation multiplies a gradient by the transposed Jacobian of each step. Here each step gets the
rows of the identity matrix as gradients, so the whole Jacobian comes back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gru_book.cells.cbow import CBOWParams
from gru_book.cells.scrn import SCRNCache
from gru_lib.cells.gru import GRUCache
from gru_lib.cells.lstm import LSTMCache
from gru_lib.cells.registry import State, cell_of, map_state, zero_state
from gru_lib.checks import as_array
from gru_lib.loop import leaves
from gru_lib.params import Params
from gru_lib.types import Array

__all__ = ["Jacobian", "jacobian"]


class Jacobian(NamedTuple):
    """Derivatives of the state, S numbers per sequence: h, or h and c side by side for an LSTM."""

    total: Array  # (N, S, S): [i, j] = ∂ state_T,i / ∂ state_0,j, so that dstate_0 = dstate_T @ total
    direct: Array  # (N, S): what the direct path alone contributes to the diagonal
    steps: Array  # (T, N, S, S): ∂ state_t / ∂ state_{t−1}; total is their product, the last step first


def jacobian(xs: ArrayLike, state0: State | None, p: Params) -> Jacobian:
    """Return ∂h_T/∂h_0 of a cell on given inputs, the direct path's share, and the Jacobian of each step.

    ::

        total  = (∂h_T/∂h_{T−1}) … (∂h_2/∂h_1) (∂h_1/∂h_0)
        direct = Π z_t          GRU, "keep": the path that only passes update gates (1 − z_t for "write")
        direct = Π f_t          LSTM, from cell to cell; 0 for h, which is computed afresh at every step
        direct = 0              Elman: every path goes through W_h;  α^T for an SCRN's context,  1 for CBOW

    The direct path treats the gates and the candidate as constants; the rest of `total` goes through them.

    Costs S times a forward and a backward pass. Chapter 9; Pascanu et al. (2013), arXiv:1211.5063.

    Parameters
    ----------
    xs : array (T, N, D)
    state0 : state of the cell, or None for zeros
    p : parameters of a cell: GRU, LSTM, Elman, SCRN, CBOW, or an ablated GRU, but not a stack or a bidirectional layer

    Examples
    --------
    >>> from gru_book.jacobian import jacobian
    >>> from gru_lib import gru_init
    >>> p = gru_init(np.random.default_rng(0), D=1, H=2)
    >>> p.flat[:] = 0
    >>> p.b_z[:] = np.log(3)  # z = 0.75 in every step
    >>> found = jacobian(np.ones((2, 1, 1)), None, p)
    >>> found.total.round(6), found.direct.round(6)
    (array([[[0.5625, 0.    ],
            [0.    , 0.5625]]]), array([[0.5625, 0.5625]]))
    """
    cell = cell_of(p)
    if cell.step is None or cell.step_backward is None or cell.apart:
        raise TypeError(f"jacobian: p must be the parameters of one cell; got {type(p).__name__}.")
    xs = as_array("jacobian", "xs", xs, ("T", "N", "D"), {"D": p.D})
    T, N, _ = xs.shape
    form = zero_state(p, N)
    state0 = form if state0 is None else state0
    if len(leaves(state0)) != len(leaves(form)):
        raise TypeError(f"jacobian: state0 must be {type(form).__name__}; got {type(state0).__name__}.")
    state = map_state(
        lambda a, like: as_array("jacobian", "state0", a, ("N", "H"), dict(zip("NH", like.shape, strict=True))),
        state0,
        form,
    )
    S = _flat(form).shape[1]
    state = map_state(lambda a: np.repeat(a, S, axis=0), state)  # each sequence S times, one for each row of I
    ends = np.cumsum([a.shape[1] for a in leaves(form)])[:-1]
    rows = iter(np.split(np.tile(np.eye(S, dtype=p.dtype), (N, 1)), ends, axis=1))
    eye = map_state(lambda _: next(rows), form)

    steps = np.empty((T, N, S, S), np.result_type(xs, p.flat, *leaves(state)))
    direct = np.ones((N, S), steps.dtype)
    for t in range(T):
        state, cache = cell.step(np.repeat(xs[t], S, axis=0), state, p)
        _, dstate, _ = cell.step_backward(eye, cache, p)
        steps[t] = _flat(dstate).reshape(N, S, S)
        direct *= _carry(cache, p, S)
    total = np.tile(np.eye(S, dtype=steps.dtype), (N, 1, 1))
    for step in steps:
        total = step @ total
    return Jacobian(total, direct, steps)


def _carry(cache: Any, p: Params, S: int) -> Any:
    """What a step multiplies each entry of the old state by, with gates and candidate held constant."""
    if isinstance(cache, GRUCache):
        return (cache.z if p.convention == "keep" else cache.not_z)[::S]
    if isinstance(cache, LSTMCache):
        f = cache.f[0][::S]
        return np.concatenate([0 * f, f], axis=1)
    if isinstance(cache, SCRNCache):
        return np.repeat([p.alpha, 0], [p.C, p.H])
    return 1 if isinstance(p, CBOWParams) else 0


def _flat(state: State) -> Array:
    return np.concatenate(leaves(state), axis=1)
