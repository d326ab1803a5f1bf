"""Memory for the sequence passes, used again.

The first touch of fresh memory costs a page fault for every 4 KiB. In a training step of 35 steps, 32 sequences and 256
units that was about a quarter of the time (chapter 11 measures it), because large arrays go back to the system when
they die and come back new. So the passes take their large arrays from here, with `empty`: when the last view of one is
gone, its memory waits for the next request of the same size. A result that somebody still holds is never touched.

What a pass needs for itself alone is kept whole, with the views on it, by a `Loan`: with few units, making arrays and
views of them was about a quarter of a training step (chapter 11 measures this too).
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

# What waits, by what was asked for: a number of bytes, or all that a Loan was given. What was asked for last, last.
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
    """`loan.it` is ``make(*args)``, or one that was made before; it can be lent again when the loan is gone.

    `it` says in `nbytes` how large it is, and nobody may hold a part of it longer than the loan.
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
    """Return something that waits under this key, or None."""
    some = _waiting.pop(key, None)
    if not some:
        return None
    it = some.pop()
    if some:
        _waiting[key] = some
    return it


def _release(key: Hashable, it: Any) -> None:
    """Let it wait, and drop what nobody has asked for longest if too much waits."""
    _waiting.setdefault(key, []).append(it)
    waiting = sum(some[0].nbytes * len(some) for some in list(_waiting.values()))
    while waiting > _MOST or len(_waiting) > _KINDS:
        key = next(iter(_waiting))
        waiting -= _waiting[key].pop().nbytes
        if not _waiting[key]:
            del _waiting[key]
