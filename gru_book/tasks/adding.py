"""Numbers in a long row, of which one or two are marked: which was it (chapter 2), what is their sum (chapter 13)?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib.checks import check_choice, check_instance, check_int

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


def adding(rng: np.random.Generator, N: int, T: int, marks: str = "halves") -> Batch:
    """Draw N rows of T numbers uniform in [0, 1), two of them marked. Chapter 13.

    With ``marks="halves"`` there is a mark in the first T // 2 steps and one in the rest, so the second may lie near
    the end. With ``marks="early"`` they stand where Hochreiter & Schmidhuber (1997) have them, and both are far from
    the end: one in the first ten steps, the other at another of the first T // 2 − 1. Their numbers are in [−1, 1],
    and their sequences differ in length; numbers in [0, 1) are those of Le, Jaitly & Hinton (2015), arXiv:1504.00941.

    Examples
    --------
    >>> from gru_book.tasks.adding import adding
    >>> batch = adding(np.random.default_rng(0), N=2, T=6)
    >>> values, marks = np.moveaxis(batch.xs, 2, 0)
    >>> marks.sum(axis=0)
    array([2., 2.])
    >>> np.allclose((values * marks).sum(axis=0), batch.ys[:, 0])
    True
    >>> early = adding(np.random.default_rng(0), N=100, T=50, marks="early")
    >>> bool(early.places.max() < 24)
    True
    """
    check_instance("adding", "rng", rng, np.random.Generator)
    N, T = check_int("adding", "N", N), check_int("adding", "T", T, minimum=2)
    check_choice("adding", "marks", marks, ("halves", "early"))
    numbers = rng.random((T, N))
    if marks == "halves":
        return _row(numbers, np.stack([rng.integers(0, T // 2, N), rng.integers(T // 2, T, N)]))
    T = check_int('adding with marks="early"', "T", T, minimum=6)
    first = rng.integers(0, min(10, T // 2 - 1), N)
    second = rng.integers(0, T // 2 - 2, N)
    return _row(numbers, np.stack([first, second + (second >= first)]))


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
