"""Matrix products as the passes need them: with few columns at each step, and with the columns of many steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from gru_lib._core.types import Array

__all__ = ["as_columns", "times"]

_IN_PLACE = 1_000_000  # multiplications; OpenBLAS's own limit
_LEAST = 32  # rows; below, starting a product costs as much as the copy


def times(W: Array, N: int) -> Callable[[Array, Array], Array]:
    """Return a function (x, out) that writes W x into `out`, for x of N columns, and returns it.

    OpenBLAS first copies both factors into an order of its own, which costs a fifth of the time if x has few columns.
    With AVX-512 it skips the copy for products of up to a million multiplications. So W is cut into slabs of rows that
    are small enough, and one `matmul` multiplies them all. Without AVX-512 nothing is gained. Chapter 11.
    """
    K, H = W.shape
    rows = _rows(K, H, N)
    if rows == K:
        return partial(np.dot, W)
    slabs = W.reshape(-1, rows, H)

    def in_slabs(x: Array, out: Array) -> Array:
        np.matmul(slabs, x, out=out.reshape(-1, rows, N))
        return out

    return in_slabs


@cache
def _rows(K: int, H: int, N: int) -> int:
    """Rows of a slab: the largest divisor of K that leaves it small enough, or K."""
    most = _IN_PLACE // max(H * N, 1)
    return next((n for n in range(min(most, K), _LEAST - 1, -1) if K % n == 0), K)


def as_columns(memory: Array, T: int, K: int, N: int) -> tuple[Array, Array]:
    """Return two views on `memory`, flat and large enough: (T, K, N) to write into, and the same as (K, T·N)."""
    memory = memory[: T * K * N]
    if N < 8:
        memory = memory.reshape(T, N, K)
        return memory.transpose(0, 2, 1), memory.reshape(T * N, K).T
    memory = memory.reshape(K, T, N)  # N numbers that lie together stay together: half the time
    return memory.transpose(1, 0, 2), memory.reshape(K, T * N)
