"""What Elman's network and the SCRN share: activation functions, and the loop over steps of h = g(a + h_prev W_h)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gru_lib.ops import sigmoid, sigmoid_pair

__all__ = ["activate", "derivative", "run", "run_backward"]

Array = NDArray[Any]


def run(a: Array, h0: Array, W_h: Array, activation: str, mask: Array | None, h_mask: Array | None) -> Array:
    """Add h_{t−1} W_h to a_t, which holds the input's part, and return h_0 … h_T."""
    h = np.empty((len(a) + 1, *a.shape[1:]), a.dtype)
    h[0] = h0
    for t in range(len(a)):
        a[t] += (h[t] if h_mask is None else h[t] * h_mask[t]) @ W_h
        h[t + 1] = activate(activation, a[t])
        if mask is not None:
            np.copyto(h[t + 1], h[t], where=~mask[t][:, None])
    return h


def run_backward(
    dhs: Array, dh: Array, a: Array, h: Array, W_h: Array, activation: str, mask: Array | None, h_mask: Array | None
) -> tuple[Array, Array]:
    """Return da of all steps and dh_0."""
    da = np.empty(a.shape, dh.dtype)
    slope = derivative(activation, a, h[1:])
    if mask is not None:
        slope = np.where(mask[:, :, None], slope, 0)
    for t in reversed(range(len(a))):
        dh = dh + dhs[t]
        da[t] = dh * slope[t]
        dh_prev = da[t] @ W_h.T
        if h_mask is not None:
            dh_prev *= h_mask[t]
        dh = dh_prev if mask is None else np.where(mask[t][:, None], dh_prev, dh)
    return da, dh


def activate(activation: str, a: Array) -> Array:
    if activation == "tanh":
        return np.tanh(a)
    if activation == "relu":
        return np.where(a.real > 0, a, 0)
    return sigmoid(a) if activation == "sigmoid" else a


def derivative(activation: str, a: Array, h: Array) -> Array:
    """g′(a), given h = g(a)."""
    if activation == "tanh":
        return 1 - h * h
    if activation == "relu":
        return (a.real > 0).astype(a.dtype)
    if activation == "sigmoid":
        s, not_s = sigmoid_pair(a)
        return s * not_s
    return np.ones_like(a)
