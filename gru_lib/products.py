"""Matrix products as the passes need them: with few columns at each step, and with the columns of many steps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from gru_lib.types import Array

__all__ = ["as_columns", "times"]

_IN_PLACE = 1_000_000  # multiplications; OpenBLAS's own limit
_LEAST = 32  # rows; below, starting a product costs as much as the copy
_FEW = 64  # columns of x; with more, only products that need no parts are faster
_NAMES = ("scipy_openblas_get_corename64_", "openblas_get_corename")  # NumPy's own OpenBLAS, and a system's


def times(W: Array, N: int) -> Callable[[Array, Array], Array]:
    """Return a function (x, out) that writes W x into `out`, for x of N columns, and returns it.

    OpenBLAS first copies both factors into an order of its own, which costs a fifth of the time if x has few columns.
    With AVX-512 it skips the copy for products of up to a million multiplications. So W is cut into slabs of rows that
    are small enough, and one `matmul` multiplies them all. If even slabs of few rows are too large, W is cut from left
    to right as well, x from top to bottom, and the parts are added. Without AVX-512 W is left whole. Chapter 11.
    """
    K, H = W.shape
    rows, parts = _cut(K, H, N) if _multiplies_in_place() else (K, 1)
    if rows == K:
        return partial(np.dot, W)
    if parts == 1:
        slabs = W.reshape(-1, rows, H)

        def in_slabs(x: Array, out: Array) -> Array:
            np.matmul(slabs, x, out=out.reshape(-1, rows, N))
            return out

        return in_slabs

    pieces = W.reshape(-1, rows, parts, H // parts).transpose(2, 0, 1, 3).copy()

    def in_parts(x: Array, out: Array) -> Array:
        np.add.reduce(np.matmul(pieces, x.reshape(parts, 1, -1, N)), axis=0, out=out.reshape(-1, rows, N))
        return out

    return in_parts


@cache
def _cut(K: int, H: int, N: int) -> tuple[int, int]:
    """Rows of a slab, the largest divisor of K that leaves it small enough, and into how many parts they are cut."""
    for parts in (1, 2, 4, 8) if N <= _FEW else (1,):
        most = _IN_PLACE * parts // max(H * N, 1)
        rows = next((n for n in range(min(most, K), _LEAST - 1, -1) if K % n == 0), K)
        if H % parts == 0 and rows < K:
            return rows, parts
    return K, 1


@cache
def _multiplies_in_place() -> bool:
    """Whether NumPy's BLAS is an OpenBLAS with AVX-512 kernels, those that skip the copy."""
    try:
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
        name = next(getattr(library, name) for name in _NAMES if hasattr(library, name))
    except (OSError, AttributeError, StopIteration):
        return False
    name.restype = ctypes.c_char_p
    return name() in (b"SkylakeX", b"Cooperlake", b"SapphireRapids")


def as_columns(memory: Array, T: int, K: int, N: int) -> tuple[Array, Array]:
    """Return two views on `memory`, flat and large enough: (T, K, N) to write into, and the same as (K, T·N)."""
    memory = memory[: T * K * N]
    if N < 8:
        memory = memory.reshape(T, N, K)
        return memory.transpose(0, 2, 1), memory.reshape(T * N, K).T
    memory = memory.reshape(K, T, N)  # N numbers that lie together stay together: half the time
    return memory.transpose(1, 0, 2), memory.reshape(K, T * N)
