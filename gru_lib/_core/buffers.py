"""A pool of memory for the passes over sequences.

The first touch of fresh memory costs a page fault for every 4 KiB, and large arrays go back to the system when they
die. In a training step of 35 steps, 32 sequences and 256 units this was a quarter of the time (chapter 11). So the
passes take their large arrays from `empty`: when the last view of one is gone, its memory waits for the next request
of the same size. A result that is still in use is never touched.

With few units, making arrays and views of them is a quarter of the time. A `Loan` keeps what a pass needs for itself,
arrays and views together, for the next pass of the same shape.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Loan", "empty"]

_SMALL = 1 << 16  # bytes; below, a fresh array is cheaper
_MOST = 1 << 29  # bytes that may wait
_KINDS = 64  # sizes and shapes that may wait

# What waits, by what was asked for: a number of bytes, or the arguments of a Loan. The latest request is last.
_waiting: dict[Hashable, list[Any]] = {}


def empty(shape: tuple[int, ...], dtype: np.dtype) -> NDArray[Any]:
    """Return an array like `np.empty(shape, dtype)`, on memory that was used before if there is some."""
    size = math.prod(shape) * dtype.itemsize
    if size < _SMALL:
        return np.empty(shape, dtype)
    memory = _take(size)
    if memory is None:
        memory = np.empty(size, np.uint8)
    # Every view of `flat` keeps `flat` alive (not `memory`, which is behind a memoryview): when `flat` dies, all have.
    flat = np.frombuffer(memoryview(memory), dtype)
    weakref.finalize(flat, _release, size, memory).atexit = False
    return flat.reshape(shape)


class Loan:
    """`loan.it` is ``make(*args)``, or one made earlier that is free again. It goes back when the loan is gone.

    `it.nbytes` says how large it is. No part of it may be held longer than the loan.
    """

    __slots__ = ("_key", "_release", "it")

    def __init__(self, make: Callable[..., Any], *args: Hashable) -> None:
        self._key = (make, *args)
        self._release = _release  # a name of the module may be gone when the program ends
        it = _take(self._key)
        self.it = make(*args) if it is None else it

    def __del__(self) -> None:
        if hasattr(self, "it"):  # not if `make` failed
            self._release(self._key, self.it)


def _take(key: Hashable) -> Any:
    """Take an item out of the pool, or return None."""
    some = _waiting.pop(key, None)
    if not some:
        return None
    it = some.pop()
    if some:
        _waiting[key] = some
    return it


def _release(key: Hashable, it: Any) -> None:
    """Return an item to the pool; evict the least recently requested."""
    _waiting.setdefault(key, []).append(it)
    waiting = sum(some[0].nbytes * len(some) for some in list(_waiting.values()))
    while waiting > _MOST or len(_waiting) > _KINDS:
        key = next(iter(_waiting))
        waiting -= _waiting[key].pop().nbytes
        if not _waiting[key]:
            del _waiting[key]
