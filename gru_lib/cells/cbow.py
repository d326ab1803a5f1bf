"""CBOW as a recurrent network: the state is the sum of the inputs. Chapter 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._core.checks import check_instance, check_int
from gru_lib._core.params import Params
from gru_lib._core.sequence import begin, begin_backward, check_rows, outputs
from gru_lib.cells.registry import Cell, register_cell

__all__ = [
    "CBOWParams",
    "CBOWTape",
    "cbow_backward",
    "cbow_forward",
    "cbow_init",
    "cbow_step",
    "cbow_step_backward",
]

Array = NDArray[Any]


class CBOWParams(Params):
    """No numbers, only the size D of inputs and state (H = D): what CBOW learns is the embedding of its inputs."""


def cbow_init(D: int, *, dtype: DTypeLike = np.float64) -> CBOWParams:
    """Return the (empty) parameters of CBOW as a recurrent network."""
    D = check_int("cbow_init", "D", D)
    return CBOWParams({}, options={"D": D, "H": D}, dtype=dtype)


def cbow_step(x: ArrayLike, h_prev: ArrayLike, p: CBOWParams) -> tuple[Array, None]:
    """h = h_prev + x: blind to the order of the inputs. Shapes (N, D). Nothing needs caching. Chapter 1."""
    check_instance("cbow_step", "p", p, CBOWParams)
    x, h_prev = check_rows("cbow_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    return h_prev + x, None


def cbow_step_backward(dh: ArrayLike, cache: None, p: CBOWParams) -> tuple[Array, Array, CBOWParams]:
    """dx = dh,  dh_prev = dh."""
    check_instance("cbow_step_backward", "p", p, CBOWParams)
    (dh,) = check_rows("cbow_step_backward", p, dh=(dh, "H"))
    return dh.copy(), dh.copy(), p.zeros_like(dh.dtype)


class CBOWTape(NamedTuple):
    """What `cbow_backward` needs of the forward pass."""

    h: Array  # (T + 1, N, H)
    mask: Array | None  # (T, N), True where a step is real


def cbow_forward(
    xs: ArrayLike, h0: ArrayLike | None, p: CBOWParams, *, lengths: ArrayLike | None = None
) -> tuple[Array, Array, CBOWTape]:
    """Run `cbow_step` for t = 1 … T: h_t = h_0 + x_1 + … + x_t. Arguments and results as in `gru_forward`.

    Notes
    -----
    Chapter 1. Mikolov et al. (2013), arXiv:1301.3781; as a recurrent network in Goldberg (2017), section 15.1.
    """
    check_instance("cbow_forward", "p", p, CBOWParams)
    xs, (h0,), mask, dtype = begin("cbow_forward", p, xs, lengths, h0=(h0, "H"))
    h = np.cumsum(np.concatenate([h0[None], xs]), axis=0, dtype=dtype)  # padded x are zero: the state is carried
    return outputs(h[1:], mask), h[-1].copy(), CBOWTape(h, mask)


def cbow_backward(
    dhs: ArrayLike | None, dh_T: ArrayLike | None, tape: CBOWTape, p: CBOWParams
) -> tuple[Array, Array, CBOWParams]:
    """dx_t = dh_t + … + dh_T: every input gets the gradient of every later output. As in `gru_backward`."""
    check_instance("cbow_backward", "p", p, CBOWParams)
    check_instance("cbow_backward", "tape", tape, CBOWTape)
    dhs, (dh_T,), dtype = begin_backward("cbow_backward", p, tape.h, tape.mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    dh = np.cumsum(np.concatenate([dh_T[None], dhs[::-1]]), axis=0, dtype=dtype)[::-1]
    return outputs(dh[:-1], tape.mask), dh[0].copy(), p.zeros_like(dtype)


register_cell(Cell(CBOWParams, cbow_step, cbow_step_backward, cbow_forward, cbow_backward, takes_h_mask=False))
