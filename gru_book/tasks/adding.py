"""Numbers in a long row, of which one or two are marked: which was it (chapter 2), what is their sum (chapter 13)?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib.checks import check_instance, check_int

__all__ = ["BASELINE", "ONE_BASELINE", "Batch", "adding", "marked"]

Array = NDArray[Any]

#: The mean squared error of answering 1 always: the variance of a sum of two numbers uniform in [0, 1), 2 · 1/12.
BASELINE = 1 / 6
#: The same of answering ½ always to one number: 1/12.
ONE_BASELINE = 1 / 12


class Batch(NamedTuple):
    """Inputs and targets, time first."""

    xs: Array  # (T, N, 2): the number, and 1 where it is marked
    ys: Array  # (N, 1): the sum of the marked numbers
    places: Array  # (1 or 2, N): the steps that are marked, counted from 0


def adding(rng: np.random.Generator, N: int, T: int) -> Batch:
    """Draw N rows of T numbers uniform in [0, 1), with one mark in the first T // 2 steps and one in the rest.

    Chapter 13. Hochreiter & Schmidhuber (1997), with numbers in [−1, 1]; Le, Jaitly & Hinton (2015), arXiv:1504.00941,
    as here.

    Examples
    --------
    >>> from gru_book.tasks.adding import adding
    >>> batch = adding(np.random.default_rng(0), N=2, T=6)
    >>> values, marks = np.moveaxis(batch.xs, 2, 0)
    >>> marks.sum(axis=0)
    array([2., 2.])
    >>> np.allclose((values * marks).sum(axis=0), batch.ys[:, 0])
    True
    """
    check_instance("adding", "rng", rng, np.random.Generator)
    N, T = check_int("adding", "N", N), check_int("adding", "T", T, minimum=2)
    numbers = rng.random((T, N))
    return _row(numbers, np.stack([rng.integers(0, T // 2, N), rng.integers(T // 2, T, N)]))


def marked(rng: np.random.Generator, N: int, T: int) -> Batch:
    """Draw N rows of T numbers uniform in [0, 1), with one mark in the first T // 2 steps. Chapter 2.

    Examples
    --------
    >>> from gru_book.tasks.adding import marked
    >>> batch = marked(np.random.default_rng(0), N=2, T=50)
    >>> batch.xs.shape, batch.ys.shape, bool(batch.places.max() < 25)
    ((50, 2, 2), (2, 1), True)
    """
    check_instance("marked", "rng", rng, np.random.Generator)
    N, T = check_int("marked", "N", N), check_int("marked", "T", T, minimum=2)
    return _row(rng.random((T, N)), rng.integers(0, T // 2, (1, N)))


def _row(numbers: Array, places: Array) -> Batch:
    T, N = numbers.shape
    marks = np.zeros((T, N))
    marks[places, np.arange(N)] = 1
    return Batch(np.stack([numbers, marks], axis=-1), (numbers * marks).sum(axis=0)[:, None], places)
