"""A training step of the GRU, from the equations to the library's speed, one change at a time. Chapter 11.

Every version is a whole training step of a GRU (keep, reset before the product): it takes the inputs xs (T, N, D), the
gradient of every output dhs (T, N, H) and the parameters, and returns the outputs, the gradient of the inputs and the
gradients of the parameters. All versions give the same numbers. The last one is the library.

``python -m benchmarks.ladder``, in the project's folder, times them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gru_lib.cells.gru import GRUParams, gru_backward, gru_forward, gru_init
from gru_lib.ops import sigmoid

__all__ = ["VERSIONS", "equations", "factored", "fused", "library", "problem", "together"]

Array = NDArray[Any]
Outcome = tuple[Array, Array, GRUParams]  # outputs, gradients of the inputs, gradients of the parameters


def equations(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 0: the lines of chapters 4 and 5 in two loops. 6 products per step forward, 12 backward.

    Examples
    --------
    >>> from gru_book.models.gru_versions import equations, library, problem
    >>> xs, dhs, p = problem((4, 2, 3, 5), np.float64)
    >>> (hs, dxs, grads), last = equations(xs, dhs, p), library(xs, dhs, p)
    >>> np.allclose(hs, last[0]), np.allclose(grads.flat, last[2].flat)
    (True, True)
    """
    T, N, H = dhs.shape
    dtype = xs.dtype
    r, z, n, q = (np.empty((T, N, H), dtype) for _ in range(4))
    hs = np.zeros((T + 1, N, H), dtype)
    for t in range(T):
        x, h = xs[t], hs[t]
        r[t] = sigmoid(x @ p.W_xr + h @ p.W_hr + p.b_r)
        z[t] = sigmoid(x @ p.W_xz + h @ p.W_hz + p.b_z)
        q[t] = r[t] * h
        n[t] = np.tanh(x @ p.W_xn + q[t] @ p.W_hn + p.b_n)
        hs[t + 1] = z[t] * h + (1 - z[t]) * n[t]
    dh, dxs, g = np.zeros((N, H), dtype), np.empty_like(xs), p.zeros_like()
    for t in reversed(range(T)):
        x, h = xs[t], hs[t]
        dh = dh + dhs[t]
        da_n = dh * (1 - z[t]) * (1 - n[t] ** 2)
        dq = da_n @ p.W_hn.T
        da_r = dq * h * r[t] * (1 - r[t])
        da_z = dh * (h - n[t]) * z[t] * (1 - z[t])
        for da, W_x, b in ((da_r, g.W_xr, g.b_r), (da_z, g.W_xz, g.b_z), (da_n, g.W_xn, g.b_n)):
            W_x += x.T @ da
            b += da.sum(axis=0)
        g.W_hr[:] += h.T @ da_r
        g.W_hz[:] += h.T @ da_z
        g.W_hn[:] += q[t].T @ da_n
        dxs[t] = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T
        dh = dh * z[t] + dq * r[t] + da_r @ p.W_hr.T + da_z @ p.W_hz.T
    return hs[1:], dxs, g


def fused(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 1: the gates side by side. 3 products per step forward instead of 6, 6 backward instead of 12.

    Examples
    --------
    >>> from gru_book.models.gru_versions import fused, library, problem
    >>> xs, dhs, p = problem((4, 2, 3, 5), np.float64)
    >>> (hs, dxs, grads), last = fused(xs, dhs, p), library(xs, dhs, p)
    >>> np.allclose(hs, last[0]), np.allclose(grads.flat, last[2].flat)
    (True, True)
    """
    T, N, H = dhs.shape
    dtype = xs.dtype
    W_x, W_hrz, W_hn = p.W_x, p.W_h[:, : 2 * H], p.W_hn
    rz, n, q = (np.empty((T, N, k * H), dtype) for k in (2, 1, 1))
    hs, da = np.zeros((T + 1, N, H), dtype), np.empty((N, 3 * H), dtype)
    for t in range(T):
        a = xs[t] @ W_x + p.b
        rz[t] = sigmoid(a[:, : 2 * H] + hs[t] @ W_hrz)
        r, z = rz[t, :, :H], rz[t, :, H:]
        q[t] = r * hs[t]
        n[t] = np.tanh(a[:, 2 * H :] + q[t] @ W_hn)
        hs[t + 1] = z * hs[t] + (1 - z) * n[t]
    dh, dxs, g = np.zeros((N, H), dtype), np.empty_like(xs), p.zeros_like()
    for t in reversed(range(T)):
        dh = dh + dhs[t]
        r, z = rz[t, :, :H], rz[t, :, H:]
        da[:, 2 * H :] = dh * (1 - z) * (1 - n[t] ** 2)
        dq = da[:, 2 * H :] @ W_hn.T
        da[:, :H] = dq * hs[t] * r * (1 - r)
        da[:, H : 2 * H] = dh * (hs[t] - n[t]) * z * (1 - z)
        g.W_x[:] += xs[t].T @ da
        g.W_h[:, : 2 * H] += hs[t].T @ da[:, : 2 * H]
        g.W_hn[:] += q[t].T @ da[:, 2 * H :]
        g.b[:] += da.sum(axis=0)
        dxs[t] = da @ W_x.T
        dh = dh * z + dq * r + da[:, : 2 * H] @ W_hrz.T
    return hs[1:], dxs, g


def _forward(xs: Array, p: GRUParams) -> tuple[Array, Array, Array, Array]:
    """r and z side by side, n, q = r h, and the states, of which the first is before the first step."""
    (T, N, D), H = xs.shape, p.H
    W_hrz, W_hn = p.W_h[:, : 2 * H], p.W_hn
    rz = np.empty((T, N, 2 * H), xs.dtype)
    n = np.empty((T, N, H), xs.dtype)
    q = np.empty((T, N, H), xs.dtype)
    hs = np.zeros((T + 1, N, H), xs.dtype)  # hs[t] is before xs[t]
    a = xs.reshape(T * N, D) @ p.W_x + p.b  # one product
    a = a.reshape(T, N, 3 * H)
    for t in range(T):
        rz[t] = sigmoid(a[t, :, : 2 * H] + hs[t] @ W_hrz)
        r, z = rz[t, :, :H], rz[t, :, H:]
        q[t] = r * hs[t]
        n[t] = np.tanh(a[t, :, 2 * H :] + q[t] @ W_hn)
        hs[t + 1] = z * hs[t] + (1 - z) * n[t]
    return rz, n, q, hs


def together(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 2: the inputs' product and the gradients leave the loop.

    Examples
    --------
    >>> from gru_book.models.gru_versions import library, problem, together
    >>> xs, dhs, p = problem((4, 2, 3, 5), np.float64)
    >>> (hs, dxs, grads), last = together(xs, dhs, p), library(xs, dhs, p)
    >>> np.allclose(hs, last[0]), np.allclose(grads.flat, last[2].flat)
    (True, True)
    """
    T, N, H = dhs.shape
    W_hrz, W_hn = p.W_h[:, : 2 * H], p.W_hn
    rz, n, q, hs = _forward(xs, p)

    # Backward.
    da = np.empty((T, N, 3 * H), xs.dtype)
    dh = np.zeros((N, H), xs.dtype)
    for t in reversed(range(T)):
        dh = dh + dhs[t]
        r, z = rz[t, :, :H], rz[t, :, H:]
        da[t, :, 2 * H :] = dh * (1 - z) * (1 - n[t] ** 2)
        dq = da[t, :, 2 * H :] @ W_hn.T
        da[t, :, :H] = dq * hs[t] * r * (1 - r)
        da[t, :, H : 2 * H] = dh * (hs[t] - n[t]) * z * (1 - z)
        dh = dh * z + dq * r + da[t, :, : 2 * H] @ W_hrz.T

    # After the loop.
    return hs[1:], *_sums(xs, hs, q, da, p)


def _sums(xs: Array, hs: Array, q: Array, da: Array, p: GRUParams) -> tuple[Array, GRUParams]:
    """The gradients of the inputs and of the parameters, all time steps at once."""
    H = p.H
    # Time steps and sequences one below another.
    X, Q, h_rows, da_rows = (m.reshape(-1, m.shape[2]) for m in (xs, q, hs[:-1], da))
    g = p.zeros_like()
    g.W_x[:] = X.T @ da_rows
    g.W_h[:, : 2 * H] = h_rows.T @ da_rows[:, : 2 * H]
    g.W_hn[:] = Q.T @ da_rows[:, 2 * H :]
    g.b[:] = da_rows.sum(axis=0)
    dxs = (da_rows @ p.W_x.T).reshape(xs.shape)
    return dxs, g


def factored(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 3: factors first. What multiplies dh and dq on the way back is computed for all steps at once.

    Examples
    --------
    >>> from gru_book.models.gru_versions import factored, library, problem
    >>> xs, dhs, p = problem((4, 2, 3, 5), np.float64)
    >>> (hs, dxs, grads), last = factored(xs, dhs, p), library(xs, dhs, p)
    >>> np.allclose(hs, last[0]), np.allclose(grads.flat, last[2].flat)
    (True, True)
    """
    T, N, H = dhs.shape
    W_hrz, W_hn = p.W_h[:, : 2 * H], p.W_hn
    rz, n, q, hs = _forward(xs, p)

    # Factors first.
    r, z, h_prev = rz[:, :, :H], rz[:, :, H:], hs[:-1]
    to_r = h_prev * r * (1 - r)
    to_z = (h_prev - n) * z * (1 - z)
    to_n = (1 - z) * (1 - n**2)
    da = np.empty((T, N, 3 * H), xs.dtype)
    dh = np.zeros((N, H), xs.dtype)
    for t in reversed(range(T)):
        dh = dh + dhs[t]
        da[t, :, 2 * H :] = dh * to_n[t]
        dq = da[t, :, 2 * H :] @ W_hn.T
        da[t, :, :H] = dq * to_r[t]
        da[t, :, H : 2 * H] = dh * to_z[t]
        dh = dh * z[t] + dq * r[t] + da[t, :, : 2 * H] @ W_hrz.T

    # After the last loop.
    return hs[1:], *_sums(xs, hs, q, da, p)


def library(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 4: `gru_forward` and `gru_backward`: the batch as the last axis, factors for a span of steps at once.

    Examples
    --------
    >>> from gru_book.models.gru_versions import library, problem
    >>> xs, dhs, p = problem((4, 2, 3, 5))
    >>> hs, dxs, grads = library(xs, dhs, p)
    >>> hs.shape, dxs.shape, grads.size == p.size
    ((4, 2, 5), (4, 2, 3), True)
    """
    hs, _, tape = gru_forward(xs, None, p)
    dxs, _, g = gru_backward(dhs, None, tape, p)
    return hs, dxs, g


#: The versions in order, by what changes.
VERSIONS: dict[str, Callable[[Array, Array, GRUParams], Outcome]] = {
    "the equations, step by step": equations,
    "gates side by side": fused,
    "out of the loop": together,
    "factors first": factored,
    "the library": library,
}


def problem(size: tuple[int, int, int, int], dtype: Any = np.float32) -> tuple[Array, Array, GRUParams]:
    """Inputs, gradients of the outputs and parameters, from one seed.

    Examples
    --------
    >>> from gru_book.models.gru_versions import problem
    >>> xs, dhs, p = problem((4, 2, 3, 5))  # T, N, D, H
    >>> xs.shape, dhs.shape, p.H
    ((4, 2, 3), (4, 2, 5), 5)
    """
    T, N, D, H = size
    rng = np.random.default_rng(0)
    p = gru_init(rng, D, H, dtype=dtype)
    p.b[:] = rng.normal(0, 0.5, 3 * H)
    return rng.normal(size=(T, N, D)).astype(dtype), rng.normal(size=(T, N, H)).astype(dtype), p
