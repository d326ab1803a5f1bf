"""Memory for the sequence passes, used again.

The first touch of fresh memory costs a page fault for every 4 KiB. In a training step of 35 steps, 32 sequences and 256
units that was about a quarter of the time (chapter 11 measures it), because large arrays go back to the system when
they die and come back new. So the passes take their large arrays from here: when the last view of one is gone, its
memory waits for the next request of the same size. A result that somebody still holds is never touched.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["empty"]

_SMALL = 1 << 16  # bytes; below, a fresh array is cheaper
_MOST = 1 << 29  # bytes that may wait

_waiting: dict[int, list[NDArray[np.uint8]]] = {}  # by size; the size that was asked for last stands last


def empty(shape: tuple[int, ...], dtype: np.dtype) -> NDArray[Any]:
    """Return an array like `np.empty(shape, dtype)`, on memory that was used before if there is some."""
    size = math.prod(shape) * dtype.itemsize
    if size < _SMALL:
        return np.empty(shape, dtype)
    some = _waiting.pop(size, [])
    memory = some.pop() if some else np.empty(size, np.uint8)
    if some:
        _waiting[size] = some
    # Every view of `flat` keeps `flat` alive (not `memory`, which is behind a memoryview): when `flat` dies, all have.
    flat = np.frombuffer(memoryview(memory), dtype)
    weakref.finalize(flat, _release, memory).atexit = False
    return flat.reshape(shape)


def _release(memory: NDArray[np.uint8]) -> None:
    """Let memory wait, and give back to the system what nobody has asked for longest if too much waits."""
    _waiting.setdefault(memory.size, []).append(memory)
    waiting = sum(size * len(some) for size, some in _waiting.items())
    while waiting > _MOST:
        size = next(iter(_waiting))
        _waiting[size].pop()
        waiting -= size
        if not _waiting[size]:
            del _waiting[size]
