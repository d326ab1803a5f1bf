"""Binary subtraction, least significant bit first: ai-edu's task, at any width.

At each step the network reads one bit of the minuend and one of the subtrahend and must answer with the difference's
bit. It has to remember one bit: whether a borrow is due. a ≥ b throughout, so no borrow is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import as_array, as_integers, check_instance, check_int, check_sequence, plain

__all__ = ["Batch", "all_pairs", "encode", "long_borrows", "pick", "random_batches", "random_pairs", "subtract_bits"]

Array = NDArray[Any]


class Batch(NamedTuple):
    """Inputs and targets, time first: least significant bit first."""

    xs: Array  # (T, N, 2): bit of a, bit of b
    ys: Array  # (T, N, 1): bit of a − b


def subtract_bits(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """Subtract as on paper: a and b (T, N) of 0 and 1, least significant bit first.

    Returns the bits of a − b modulo 2ᵀ, (T, N), and the borrow into each step, (T + 1, N), whose last row is left over.

    Examples
    --------
    >>> from gru_book.tasks.subtraction import subtract_bits
    >>> a, b = [[0], [1], [1]], [[1], [1], [0]]  # 6 and 3
    >>> bits, borrow = subtract_bits(a, b)
    >>> bits[:, 0], borrow[:, 0]
    (array([1, 1, 0]), array([0, 1, 1, 0]))
    """
    a, b = _zeros_and_ones("subtract_bits", "a", a), _zeros_and_ones("subtract_bits", "b", b)
    if a.shape != b.shape:
        raise ValueError(f"subtract_bits: b must have the shape of a, {a.shape}; got {b.shape}.")
    d, borrow = np.empty_like(a), np.zeros((len(a) + 1, *a.shape[1:]), np.int64)
    for t in range(len(a)):
        rest = a[t] - b[t] - borrow[t]
        d[t], borrow[t + 1] = rest % 2, rest < 0
    return d, borrow


def _zeros_and_ones(where: str, name: str, value: ArrayLike) -> Array:
    bits = plain(where, name, value)
    if bits.dtype.kind not in "biuf" or not bits.ndim or not ((bits == 0) | (bits == 1)).all():
        raise ValueError(f"{where}: {name} must hold bits (T, N), 0 and 1; got {value!r}.")
    return bits.astype(np.int64)


def encode(a: ArrayLike, b: ArrayLike, bits: int) -> Batch:
    """Turn pairs of integers a ≥ b, each (N,), at least 0 and below 2**bits, into a batch of T = bits steps.

    Examples
    --------
    >>> from gru_book.tasks.subtraction import encode
    >>> batch = encode([6], [3], bits=4)
    >>> batch.xs[:, 0].T, batch.ys[:, 0, 0]  # the lowest bit first
    (array([[0., 1., 1., 0.],
           [1., 1., 0., 0.]]), array([1., 1., 0., 0.]))
    """
    bits = check_int("encode", "bits", bits)
    for name, numbers in (("a", a), ("b", b)):  # of any size, so not as an array of 64 bits
        if any(isinstance(v, bool) or not isinstance(v, int | np.integer) for v in np.ravel(np.array(numbers, object))):
            raise TypeError(f"encode: {name} must hold integers; got {numbers!r}.")
    a, b = ([int(v) for v in np.ravel(np.array(numbers, object))] for numbers in (a, b))
    if len(a) != len(b):
        raise ValueError(f"encode: a and b must hold equally many numbers; got {len(a)} and {len(b)}.")
    for u, v in zip(a, b, strict=True):
        if not 0 <= v <= u < 2**bits:
            raise ValueError(f"encode: need 0 <= b <= a < 2**{bits}; got a = {u}, b = {v}.")
    rows = [np.array([[n >> t & 1 for n in numbers] for t in range(bits)], np.int64) for numbers in (a, b)]
    return _batch(*rows)


def all_pairs(bits: int = 4) -> Batch:
    """Every pair a ≥ b of numbers below 2**bits: 136 pairs for 4 bits, in the order (0,0), (1,0), (1,1), (2,0) …

    Examples
    --------
    >>> from gru_book.tasks.subtraction import all_pairs
    >>> all_pairs(4).xs.shape
    (4, 136, 2)
    """
    bits = check_int("all_pairs", "bits", bits)
    a, b = np.tril_indices(2**bits)
    return encode(a, b, bits)


def random_pairs(rng: np.random.Generator, N: int, bits: int) -> Batch:
    """Draw N pairs of `bits` random bits each, the larger number first.

    Examples
    --------
    >>> from gru_book.tasks.subtraction import random_pairs
    >>> batch = random_pairs(np.random.default_rng(0), N=3, bits=8)
    >>> a, b = np.moveaxis(batch.xs, 2, 0)
    >>> two = 2.0 ** np.arange(8)
    >>> np.array_equal(two @ a - two @ b, two @ batch.ys[:, :, 0])
    True
    """
    check_instance("random_pairs", "rng", rng, np.random.Generator)
    N, bits = check_int("random_pairs", "N", N), check_int("random_pairs", "bits", bits)
    a, b = rng.integers(0, 2, (2, bits, N))
    swap = subtract_bits(a, b)[1][-1] == 1  # a borrow is left where a < b
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    return _batch(a, b)


def random_batches(rng: np.random.Generator, N: int, bits: tuple[int, int]) -> Iterator[Batch]:
    """Yield batches of N random pairs forever; each batch has one width, drawn from bits[0] … bits[1].

    Examples
    --------
    >>> from gru_book.tasks.subtraction import random_batches
    >>> stream = random_batches(np.random.default_rng(0), N=4, bits=(5, 9))
    >>> 5 <= len(next(stream).xs) <= 9
    True
    """
    check_instance("random_batches", "rng", rng, np.random.Generator)
    N = check_int("random_batches", "N", N)
    check_sequence("random_batches", "bits", bits, 2)
    lowest = check_int("random_batches", "bits[0]", bits[0])
    highest = check_int("random_batches", "bits[1]", bits[1], minimum=lowest)
    while True:
        yield random_pairs(rng, N, int(rng.integers(lowest, highest + 1)))


def pick(batch: Batch, index: slice | Array | list[int]) -> Batch:
    """Return some pairs of a batch: `index` is a slice, a mask or a list of pair numbers.

    Examples
    --------
    >>> from gru_book.tasks.subtraction import all_pairs, pick
    >>> pick(all_pairs(4), [0, 5]).xs.shape
    (4, 2, 2)
    """
    check_instance("pick", "batch", batch, Batch)
    T, N, _ = as_array("pick", "batch.xs", batch.xs, ("T", "N", "2"), {"2": 2}).shape
    as_array("pick", "batch.ys", batch.ys, ("T", "N", "1"), {"T": T, "N": N, "1": 1})
    if not isinstance(index, slice):
        index = plain("pick", "index", index)
        if index.dtype == bool:
            index = as_array("pick", "index", index, ("N",), {"N": N}) > 0
        else:
            index = as_integers("pick", "index", index if index.size else index.astype(int), -N, N - 1)
    return Batch(batch.xs[:, index], batch.ys[:, index])


def long_borrows(rng: np.random.Generator, N: int, bits: int) -> Batch:
    """Draw N pairs with one long borrow each: a and b differ in two places, and equal bits between them pass it on.

    Examples
    --------
    >>> from gru_book.tasks import subtraction
    >>> rng = np.random.default_rng(0)
    >>> for draw in (subtraction.random_pairs, subtraction.long_borrows):
    ...     a, b = np.moveaxis(draw(rng, 1000, 16).xs, 2, 0)
    ...     borrow = subtraction.subtract_bits(a, b)[1][:-1]
    ...     print(round(float((borrow * (a == b)).mean()), 1))
    0.2
    0.3
    """
    check_instance("long_borrows", "rng", rng, np.random.Generator)
    N, bits = check_int("long_borrows", "N", N), check_int("long_borrows", "bits", bits, minimum=2)
    a = rng.integers(0, 2, (bits, N))
    b = a.copy()  # equal bits pass a borrow on unchanged
    start, stop = np.sort(rng.integers(0, bits, (2, N)), axis=0)
    columns = np.arange(N)
    stop = np.where(stop == start, (start + 1) % bits, stop)
    start, stop = np.minimum(start, stop), np.maximum(start, stop)
    a[start, columns], b[start, columns] = 0, 1  # a borrow begins
    a[stop, columns], b[stop, columns] = 1, 0  # and ends
    return _batch(a, b)


def _batch(a: Array, b: Array) -> Batch:
    d, _ = subtract_bits(a, b)
    return Batch(np.stack([a, b], axis=2).astype(np.float64), d[:, :, None].astype(np.float64))
