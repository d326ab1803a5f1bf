"""CBOW as a recurrent network: the state is the sum of the inputs. Chapter 1.

Mikolov et al. (2013), arXiv:1301.3781; as a recurrent network in Goldberg (2017), section 15.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_dtype, check_instance, check_int
from gru_lib.params import Params
from gru_lib.sequence import check_rows
from gru_lib.types import Array

__all__ = ["CBOWParams", "cbow_backward", "cbow_forward", "cbow_init", "cbow_step", "cbow_step_backward"]


class CBOWParams(Params):
    """No numbers, only the size D of inputs and state: what CBOW learns is the embedding of its inputs."""

    D: int
    H: int  # = D

    def __init__(self, D: int, *, dtype: DTypeLike = np.float64, flat: Array | None = None) -> None:
        D = check_int("cbow_init", "D", D)
        super().__init__({}, options={"D": D, "H": D}, dtype=check_dtype("cbow_init", dtype), flat=flat)


def cbow_init(D: int, *, dtype: DTypeLike = np.float64) -> CBOWParams:
    """Return the (empty) parameters of CBOW as a recurrent network.

    Examples
    --------
    >>> from gru_book.cells import cbow_init
    >>> p = cbow_init(3)
    >>> p.D, p.H, p.size
    (3, 3, 0)
    """
    return CBOWParams(D, dtype=dtype)


def cbow_step(x: ArrayLike, h_prev: ArrayLike, p: CBOWParams) -> tuple[Array, None]:
    """h = h_prev + x: blind to the order of the inputs. Shapes (N, D). Nothing needs caching.

    Examples
    --------
    >>> from gru_book.cells import cbow_init, cbow_step
    >>> h, cache = cbow_step([[1.0, 2.0]], [[3.0, 4.0]], cbow_init(2))
    >>> h
    array([[4., 6.]])
    """
    check_instance("cbow_step", "p", p, CBOWParams)
    x, h_prev = check_rows("cbow_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    return h_prev + x, None


def cbow_step_backward(dh: ArrayLike, cache: None, p: CBOWParams) -> tuple[Array, Array, CBOWParams]:
    """dx = dh,  dh_prev = dh.

    Examples
    --------
    >>> from gru_book.cells import cbow_init, cbow_step_backward
    >>> p = cbow_init(2)
    >>> dx, dh_prev, grads = cbow_step_backward([[1.0, 2.0]], None, p)
    >>> dx, dh_prev
    (array([[1., 2.]]), array([[1., 2.]]))
    """
    check_instance("cbow_step_backward", "p", p, CBOWParams)
    (dh,) = check_rows("cbow_step_backward", p, dh=(dh, "H"))
    return dh.copy(), dh.copy(), p.zeros_like(np.result_type(dh, p.flat))


_CELL = register_cell(Cell(CBOWParams, cbow_step, cbow_step_backward))
cbow_forward, cbow_backward = _CELL.forward, _CELL.backward
cbow_forward.__doc__ = f"""{cbow_forward.__doc__}

Examples
--------
>>> from gru_book.cells import cbow_forward, cbow_init
>>> xs = np.array([[[1.0, 0.0]], [[0.0, 2.0]], [[3.0, 0.0]]])
>>> hs, h_T, tape = cbow_forward(xs, None, cbow_init(2))
>>> hs[:, 0]
array([[1., 0.],
       [1., 2.],
       [4., 2.]])
"""
cbow_backward.__doc__ = f"""{cbow_backward.__doc__}

Examples
--------
>>> from gru_book.cells import cbow_backward, cbow_forward, cbow_init
>>> p = cbow_init(2)
>>> hs, h_T, tape = cbow_forward(np.ones((3, 1, 2)), None, p)
>>> dxs, dh0, grads = cbow_backward(None, [[1.0, -1.0]], tape, p)
>>> dxs[:, 0]  # every input counts alike, wherever it stands
array([[ 1., -1.],
       [ 1., -1.],
       [ 1., -1.]])
"""
