"""The linear recurrence h_t = z_t ⊙ h_{t−1} + w_t over a whole sequence: three ways to compute it, and its gradient.

Chapter 21. Where z and w do not depend on h, one step needs no product with a matrix, and steps can be put together:
first z₁, w₁ and then z₂, w₂ is the same as z₂ z₁ and z₂ w₁ + w₂ at once. Arrays are (T, N, H), products elementwise.
"""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike

from gru_lib.checks import as_array, check_choice
from gru_lib.types import Array, MaybeArray

__all__ = ["scan", "scan_backward"]

# Chunks pay where one step is too short for the call that computes it; they cost a second pass over the numbers, so
# with many units the loop is ahead. The limits were measured on one core.
_FEW, _LONG = 256, 200


def scan(z: ArrayLike, w: ArrayLike, h0: MaybeArray = None, *, method: str = "auto") -> Array:
    """Return h_0 … h_T, (T + 1, N, H), for h_t = z_t ⊙ h_{t−1} + w_t.

    z and w are (T, N, H); h0 (N, H) is zeros if it is not given. With ``|z|`` ≤ 1, as a gate is, the methods differ in
    the last digits alone. Factors above 1 can overflow once they are multiplied with each other, where the loop stays
    finite: where that gives inf or NaN, all methods return what the loop gives.

    - "loop": one step after the other. T steps, each over N·H numbers.
    - "doubling": log₂ T rounds, each over everything; after round i, row t holds the last 2^i steps in one (Kogge &
      Stone 1973). For processors with as many lanes as there are numbers.
    - "chunked": about √T chunks, whose steps run side by side; then the chunks one after the other. 2 √T short calls.
    - "auto": "chunked" for long sequences of few numbers, else "loop".

    Raises TypeError or ValueError, naming the argument, if an array is not one of numbers or has another shape.

    Examples
    --------
    >>> from gru_book.scan import scan
    >>> z = np.full((3, 1, 1), 0.5)  # T = 3, N = H = 1
    >>> w = np.array([8.0, 0.0, 1.0]).reshape(3, 1, 1)
    >>> scan(z, w)[:, 0, 0]
    array([0., 8., 4., 3.])
    """
    z = as_array("scan", "z", z, ("T", "N", "H"), {})
    T, N, H = z.shape
    sizes = {"T": T, "N": N, "H": H}
    w = as_array("scan", "w", w, ("T", "N", "H"), sizes)
    check_choice("scan", "method", method, ("auto", *_METHODS))
    start = np.zeros((), z.dtype) if h0 is None else as_array("scan", "h0", h0, ("N", "H"), sizes)
    hs = np.empty((T + 1, N, H), np.result_type(z, w, start))
    hs[0], hs[1:] = start, w
    if method == "auto":
        method = "chunked" if N * H <= _FEW and T >= _LONG else "loop"
    if hs.size > hs[0].size:  # else there is nothing to do
        with np.errstate(over="ignore", invalid="ignore") if method != "loop" else nullcontext():
            _METHODS[method](z, hs)
        if method != "loop" and not np.isfinite(hs).all():
            hs[0], hs[1:] = start, w
            _loop(z, hs)
    return hs


def _loop(z: Array, hs: Array) -> None:
    """hs holds h_0 and then w; put h_t in the place of w_t."""
    part = np.empty(hs.shape[1:], hs.dtype)
    for z_t, h_prev, h in zip(z, hs[:-1], hs[1:], strict=True):
        h += np.multiply(z_t, h_prev, out=part)


def _doubling(z: Array, hs: Array) -> None:
    z, h, span = z.copy(), hs[1:], 1
    h[0] += z[0] * hs[0]
    while span < len(z):
        h[span:] += z[span:] * h[:-span]
        z[span:] = z[span:] * z[:-span]
        span *= 2


def _chunked(z: Array, hs: Array) -> None:
    T, N, H = z.shape
    L = math.isqrt(T)  # steps in a chunk
    C = T // L
    of_chunks, h = z[: C * L].reshape(C, L, N, H), hs[1 : C * L + 1].reshape(C, L, N, H)
    kept = of_chunks.copy()  # z_t ⋯ z_s from the chunk's first step s to t
    for t in range(1, L):
        h[:, t] += of_chunks[:, t] * h[:, t - 1]
        kept[:, t] *= kept[:, t - 1]
    h[0] += kept[0] * hs[0]
    for c in range(1, C):
        h[c] += kept[c] * h[c - 1, -1]
    _loop(z[C * L :], hs[C * L :])  # fewer than 2 L + 1 steps are left


_METHODS = {"loop": _loop, "doubling": _doubling, "chunked": _chunked}


def scan_backward(
    dhs: ArrayLike, dh_T: MaybeArray, z: ArrayLike, hs: ArrayLike, *, method: str = "auto"
) -> tuple[Array, Array, Array]:
    """Backward through `scan`: from the gradients of h_1 … h_T to those of z, w and h_0.

    ::

        δ_T = dh_T + dhs_T,      δ_t = dhs_t + z_{t+1} ⊙ δ_{t+1}      the same recurrence, from the end
        dw_t = δ_t,              dz_t = δ_t ⊙ h_{t−1},                dh_0 = z_1 ⊙ δ_1

    dhs and z are (T, N, H), hs is what `scan` returned, (T + 1, N, H). dh_T is the gradient that reaches h_T from
    beyond the sequence, zeros if it is not given. Returns dz, dw and dh0. Chapter 21.

    Examples
    --------
    >>> from gru_book.scan import scan, scan_backward
    >>> z = np.full((3, 1, 1), 0.5)  # T = 3, N = H = 1
    >>> hs = scan(z, np.array([8.0, 0.0, 1.0]).reshape(3, 1, 1))
    >>> dz, dw, dh0 = scan_backward(np.zeros((3, 1, 1)), [[1.0]], z, hs)
    >>> dw[:, 0, 0], dz[:, 0, 0], dh0
    (array([0.25, 0.5 , 1.  ]), array([0., 4., 4.]), array([[0.125]]))
    """
    where = "scan_backward"
    z = as_array(where, "z", z, ("T", "N", "H"), {})
    T, N, H = z.shape
    sizes = {"T": T, "N": N, "H": H, "T + 1": T + 1}
    dhs = as_array(where, "dhs", dhs, ("T", "N", "H"), sizes)
    hs = as_array(where, "hs", hs, ("T + 1", "N", "H"), sizes)
    if dh_T is not None:
        dh_T = as_array(where, "dh_T", dh_T, ("N", "H"), sizes)
    later = np.ones_like(z)  # z_{t+1}; after the last step stands dh_T as it is
    later[1:] = z[:0:-1]
    deltas = scan(later, dhs[::-1], dh_T, method=method)  # dh_T, δ_T … δ_1
    dw = deltas[:0:-1]
    dh0 = z[0] * dw[0] if T else deltas[0]
    return dw * hs[:-1], dw, dh0
