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

from gru_lib.cells.gru import GRUParams, gru_backward, gru_forward, gru_init, gru_step, gru_step_backward
from gru_lib.ops import sigmoid, sigmoid_pair

__all__ = ["VERSIONS", "equations", "fused", "library", "problem", "together"]

Array = NDArray[Any]
Outcome = tuple[Array, Array, GRUParams]  # outputs, gradients of the inputs, gradients of the parameters


def equations(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 0: the step of chapter 4 and the backward step of chapter 5, in a loop.

    Examples
    --------
    >>> from gru_book.models.gru_versions import equations, library, problem
    >>> xs, dhs, p = problem((4, 2, 3, 5), np.float64)
    >>> (hs, dxs, grads), last = equations(xs, dhs, p), library(xs, dhs, p)
    >>> np.allclose(hs, last[0]), np.allclose(grads.flat, last[2].flat)
    (True, True)
    """
    h, hs, caches = np.zeros_like(dhs[0]), [], []
    for x in xs:
        h, cache = gru_step(x, h, p)
        hs.append(h)
        caches.append(cache)
    dh, dxs, total = np.zeros_like(h), [], p.zeros_like()
    for dh_out, cache in zip(dhs[::-1], caches[::-1], strict=True):
        dx, dh, grads = gru_step_backward(dh + dh_out, cache, p)
        dxs.append(dx)
        total.flat += grads.flat
    return np.stack(hs), np.stack(dxs[::-1]), total


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
    H, h, hs, caches = p.H, np.zeros_like(dhs[0]), [], []
    for x in xs:
        a = x @ p.W_x + p.b
        s, not_s = sigmoid_pair(a[:, : 2 * H] + h @ p.W_h[:, : 2 * H])
        r, z = s[:, :H], s[:, H:]
        q = r * h
        n = np.tanh(a[:, 2 * H :] + q @ p.W_hn)
        caches.append((x, h, s, not_s, n, q))
        h = z * h + not_s[:, H:] * n
        hs.append(h)
    dh, dxs, g = np.zeros_like(h), [], p.zeros_like()
    for dh_out, (x, h_prev, s, not_s, n, q) in zip(dhs[::-1], caches[::-1], strict=True):
        dh = dh + dh_out
        da, dq = _to_gates(dh, h_prev, s, not_s, n, p)
        g.W_x[:] += x.T @ da
        g.W_h[:, : 2 * H] += h_prev.T @ da[:, : 2 * H]
        g.W_hn[:] += q.T @ da[:, 2 * H :]
        g.b[:] += da.sum(axis=0)
        dxs.append(da @ p.W_x.T)
        dh = dh * s[:, H:] + dq * s[:, :H] + da[:, : 2 * H] @ p.W_h[:, : 2 * H].T
    return np.stack(hs), np.stack(dxs[::-1]), g


def _to_gates(dh: Array, h_prev: Array, s: Array, not_s: Array, n: Array, p: GRUParams) -> tuple[Array, Array]:
    """Return (da_r, da_z, da_n) side by side, and dq: the first half of chapter 5's backward step."""
    H = p.H
    da_n = dh * not_s[:, H:] * (1 - n * n)
    dq = da_n @ p.W_hn.T
    slope = s * not_s
    return np.concatenate((dq * h_prev * slope[:, :H], dh * (h_prev - n) * slope[:, H:], da_n), axis=1), dq


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
    (T, N, H), dtype = dhs.shape, xs.dtype
    W_x, W_hrz, W_hn = p.W_x, p.W_h[:, : 2 * H], p.W_hn
    rz, n, q = (np.empty((T, N, k * H), dtype) for k in (2, 1, 1))
    hs, da = np.zeros((T + 1, N, H), dtype), np.empty((T, N, 3 * H), dtype)

    # Forward.
    a = xs @ W_x + p.b  # all steps at once
    for t in range(T):
        rz[t] = sigmoid(a[t, :, : 2 * H] + hs[t] @ W_hrz)
        r, z = rz[t, :, :H], rz[t, :, H:]
        q[t] = r * hs[t]
        n[t] = np.tanh(a[t, :, 2 * H :] + q[t] @ W_hn)
        hs[t + 1] = z * hs[t] + (1 - z) * n[t]

    # Backward.
    dh = np.zeros((N, H), dtype)
    for t in reversed(range(T)):
        dh = dh + dhs[t]
        r, z = rz[t, :, :H], rz[t, :, H:]
        da[t, :, 2 * H :] = dh * (1 - z) * (1 - n[t] ** 2)
        dq = da[t, :, 2 * H :] @ W_hn.T
        da[t, :, :H] = dq * hs[t] * r * (1 - r)
        da[t, :, H : 2 * H] = dh * (hs[t] - n[t]) * z * (1 - z)
        dh = dh * z + dq * r + da[t, :, : 2 * H] @ W_hrz.T

    # After the loop, all steps at once.
    X, Q, h_prev, flat = (m.reshape(T * N, -1) for m in (xs, q, hs[:-1], da))
    g = p.zeros_like()
    g.W_x[:] = X.T @ flat
    g.W_h[:, : 2 * H] = h_prev.T @ flat[:, : 2 * H]
    g.W_hn[:] = Q.T @ flat[:, 2 * H :]
    g.b[:] = flat.sum(axis=0)
    dxs = (flat @ W_x.T).reshape(xs.shape)
    return hs[1:], dxs, g


def library(xs: Array, dhs: Array, p: GRUParams) -> Outcome:
    """Version 3: `gru_forward` and `gru_backward`: the batch as the last axis, and factors for a span of steps at once.

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
