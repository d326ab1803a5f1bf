"""A pool of memory for the passes over sequences.

The first touch of fresh memory costs a page fault for every 4 KiB, and large arrays go back to the system when they
die. In a training step of 35 steps, 32 sequences and 256 units this was a quarter of the time (chapter 11); with few
units, making arrays and views of them takes as much. So a pass takes what it needs for itself, arrays and views
together, as `Pooled`: when that is gone, they wait for the next pass of the same shape. Results are ordinary arrays.

At most 512 MiB wait, in at most 64 kinds. Memory comes back in whatever thread and at whatever moment its last user
dies, between any two lines of this file too. So there is no lock and no count to keep: what waits of a kind is a chain
of tuples, put into the dictionary and taken out of it whole, each by one call. Who has taken a chain out is its only
owner. An interrupt, or another thread, between taking one out and putting one in can make the pool forget a chain,
which frees it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["Pooled"]

Item = TypeVar("Item")

_MOST = 1 << 29  # bytes that may wait
_KINDS = 64  # sizes and shapes that may wait


class _Chain(NamedTuple):
    """What waits of one kind: an item, and those that came before it."""

    it: Any
    before: Any  # _Chain, or None
    nbytes: int  # of all


# What waits, by the arguments of their Pooled. The kind used last is last.
_waiting: dict[Hashable, _Chain] = {}


class Pooled(Generic[Item]):
    """`pooled.it` is ``make(*args)``, or one made earlier that is free again; when `pooled` is gone, so it is again.

    `it.nbytes` says how large it is. No part of it may be held longer than `pooled`.
    """

    __slots__ = ("_key", "_release", "it")

    def __init__(self, make: Callable[..., Item], *args: Hashable) -> None:
        self._key = (make, *args)
        self._release = _release  # a name of the module may be gone when the program ends
        it = _take(self._key)
        self.it: Item = make(*args) if it is None else it

    def __del__(self) -> None:
        if hasattr(self, "it"):  # not if `make` failed
            self._release(self._key, self.it)


def _take(key: Hashable) -> Any:
    """Take an item out of the pool, or return None."""
    chain = _waiting.pop(key, None)
    if chain is None:
        return None
    if chain.before is not None:
        _waiting[key] = chain.before
    return chain.it


def _release(key: Hashable, it: Any) -> None:
    """Return an item to the pool; while too much waits, drop the kind that was used longest ago."""
    before = _waiting.pop(key, None)
    _waiting[key] = _Chain(it, before, it.nbytes + (0 if before is None else before.nbytes))
    while True:
        kinds = list(_waiting)
        chains = [chain for chain in map(_waiting.get, kinds) if chain is not None]  # None: another thread was here
        if len(kinds) <= _KINDS and sum(chain.nbytes for chain in chains) <= _MOST:
            return
        dropped = _waiting.pop(kinds[0], None)
        if dropped is not None and dropped.before is not None and kinds[0] == key:
            _waiting[key] = dropped.before  # of the item's own kind only the item
