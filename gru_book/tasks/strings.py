"""Strings for networks with external memory: reverse or copy one, recall pairs. Chapters 13 and 21.

The batches are those of `gru_book.tasks.memory`, for `reader_loss` and `reader_accuracy`. The answer at a step is a row
of bits; `asked` says where it counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gru_book.tasks.memory import Batch
from gru_lib.checks import check_instance, check_int

__all__ = ["copy", "recall", "reverse"]

Array = NDArray[Any]


def reverse(rng: np.random.Generator, N: int, L: int, *, letters: int = 4) -> Batch:
    """Say N strings backwards: L letters come, then L blanks, at each of which one letter is due.

    `letters` is the size K of the alphabet: tokens 0 … K − 1; the blank is token K. xs (2L, N, K + 1); ys (2L, N, K)
    one-hot, zero where nothing is asked; asked in the second half.

    Grefenstette et al. (2015), arXiv:1506.02516, with an alphabet of 128.

    Examples
    --------
    >>> from gru_book.tasks.strings import reverse
    >>> batch = reverse(np.random.default_rng(0), N=1, L=3)
    >>> said = batch.ys[3:, 0].argmax(axis=1)
    >>> np.array_equal(said, batch.tokens[:3, 0][::-1])
    True
    """
    N, L = _check("reverse", rng, N, L)
    K = check_int("reverse", "letters", letters)
    said = rng.integers(0, K, (L, N))
    tokens = np.concatenate([said, np.full((L, N), K)])
    ys = np.zeros((2 * L, N, K))
    ys[L:] = np.eye(K)[said[::-1]]
    return Batch(np.eye(K + 1)[tokens], ys, _second_half(L, N), tokens)


def copy(rng: np.random.Generator, N: int, L: int, *, bits: int = 6) -> Batch:
    """Say rows of bits again, in order: L rows come, each of `bits` fair coins, then L blanks.

    With B = `bits` in 1..30: xs (2L, N, B + 1), the last input 1 at a blank; ys (2L, N, B); asked in the second half.
    tokens (2L, N) are the rows read as binary numbers, the lowest bit first, and 2^B at a blank.

    Graves et al. (2014), arXiv:1410.5401, section 4.1, with 8 bits and one more blank.

    Examples
    --------
    >>> from gru_book.tasks.strings import copy
    >>> batch = copy(np.random.default_rng(0), N=2, L=3)
    >>> np.array_equal(batch.ys[3:], batch.xs[:3, :, :-1])
    True
    """
    N, L = _check("copy", rng, N, L)
    B = check_int("copy", "bits", bits)
    if B > 30:
        raise ValueError(f"copy: bits must be at most 30; got {B}.")
    rows = rng.integers(0, 2, (L, N, B)).astype(np.float64)
    xs, ys = np.zeros((2 * L, N, B + 1)), np.zeros((2 * L, N, B))
    xs[:L, :, :B], xs[L:, :, B], ys[L:] = rows, 1, rows
    tokens = np.full((2 * L, N), 1 << B)
    tokens[:L] = rows @ (1 << np.arange(B))
    return Batch(xs, ys, _second_half(L, N), tokens)


def recall(rng: np.random.Generator, N: int, L: int, *, bits: int = 4) -> Batch:
    """Recall by content: L pairs of a key and a value come, then the L keys again in another order; name their values.

    Keys and values have B = `bits` bits each, as ±1, and the keys of a sequence differ, so L is at most 2^B. xs
    (2L, N, 2B + 1): key, value, and 1 where a key is asked, with zeros for its value. ys (2L, N, B); asked in the
    second half. tokens (2L, N) are the keys as integers.

    Graves et al. (2014), arXiv:1410.5401, section 4.3, with pairs in place of a chain of items.

    Examples
    --------
    >>> from gru_book.tasks.strings import recall
    >>> batch = recall(np.random.default_rng(0), N=1, L=3)
    >>> first, asked = batch.tokens[:3, 0], batch.tokens[3:, 0]
    >>> place = int((first == asked[0]).argmax())
    >>> np.array_equal(batch.ys[3, 0], (batch.xs[place, 0, 4:8] + 1) / 2)
    True
    """
    N, L = _check("recall", rng, N, L)
    B = check_int("recall", "bits", bits)
    if 2**B < L:
        raise ValueError(f"recall: {B} bits make only {2**B} different keys; got L = {L}.")
    keys = rng.permuted(np.tile(np.arange(2**B), (N, 1)), axis=1)[:, :L].T
    values = rng.integers(0, 2**B, (L, N))
    order = rng.permuted(np.tile(np.arange(L), (N, 1)), axis=1).T
    tokens = np.concatenate([keys, np.take_along_axis(keys, order, axis=0)])
    xs, ys = np.zeros((2 * L, N, 2 * B + 1)), np.zeros((2 * L, N, B))
    xs[:, :, :B] = 2 * _bits(tokens, B) - 1
    xs[:L, :, B : 2 * B], xs[L:, :, 2 * B] = 2 * _bits(values, B) - 1, 1
    ys[L:] = _bits(np.take_along_axis(values, order, axis=0), B)
    return Batch(xs, ys, _second_half(L, N), tokens)


def _bits(numbers: Array, B: int) -> Array:
    """The lowest B bits, the lowest first: (…) -> (…, B)."""
    return (numbers[..., None] >> np.arange(B) & 1).astype(np.float64)


def _check(where: str, rng: Any, N: Any, L: Any) -> tuple[int, int]:
    check_instance(where, "rng", rng, np.random.Generator)
    return check_int(where, "N", N), check_int(where, "L", L)


def _second_half(L: int, N: int) -> Array:
    asked = np.zeros((2 * L, N), bool)
    asked[L:] = True
    return asked
