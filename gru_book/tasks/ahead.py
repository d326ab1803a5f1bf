"""Three questions about the same sequences: one looks back, one looks ahead, one does both. Chapter 15.

Letters, and among them two kinds of marks, + and −. At each letter: which mark came last? Which mark comes next? Are
the two the same? All tokens are drawn independently, so what has been read says nothing about the next mark.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import as_array, check_choice, check_instance, check_int, check_number

__all__ = ["LETTERS", "QUESTIONS", "TOKENS", "Batch", "delayed", "marks", "next_mark"]

Array = NDArray[Any]

#: How many letters there are, 0 … 3; the marks + and − are the tokens after them.
LETTERS = 4
#: How many tokens there are: the size D of a one-hot input.
TOKENS = LETTERS + 2
#: What can be asked at a letter.
QUESTIONS = ("before", "after", "same")


class Batch(NamedTuple):
    """Inputs and targets, time first. Steps beyond a sequence's length are padding, all zero."""

    xs: Array  # (T, N, TOKENS): one-hot rows
    ys: Array  # (T, N, 1): 1.0 or 0.0
    asked: Array  # (T, N): True where the answer counts
    lengths: Array  # (N,): real steps of each sequence
    tokens: Array  # (T, N): integers below TOKENS; -1 where padded


def marks(rng: np.random.Generator, N: int, T: int, question: str, *, share: float = 0.2) -> Batch:
    """Draw N sequences of T/2 to T tokens, and a question that is asked at each letter between two marks.

    Parameters
    ----------
    N, T
        Number of sequences; the largest number of steps, at least 3.
    question
        "before": is the last mark before the letter a +?  "after": is the next one after it?  "same": are they equal?
        The letters asked are the same for all three.
    share
        Share of the tokens that are marks, in (0, 1).

    Examples
    --------
    >>> from gru_book.tasks.ahead import marks
    >>> batch = marks(np.random.default_rng(0), 1, 16, "after", share=0.4)
    >>> "".join("abcd+-."[token] for token in batch.tokens[:, 0])
    '-+-bdddbcd+d-c-.'
    >>> said = np.where(batch.asked, batch.ys[:, :, 0], 2)[:, 0]
    >>> "".join("-+."[int(y)] for y in said)
    '...+++++++.-.-..'
    """
    where = "marks"
    check_instance(where, "rng", rng, np.random.Generator)
    N, T = check_int(where, "N", N), check_int(where, "T", T, minimum=3)
    check_choice(where, "question", question, QUESTIONS)
    share = check_number(where, "share", share, above=0, below=1)
    lengths = rng.integers(-(-T // 2), T + 1, N)
    tokens = np.where(
        rng.random((T, N)) < share, rng.integers(LETTERS, TOKENS, (T, N)), rng.integers(0, LETTERS, (T, N))
    )
    tokens[np.arange(T)[:, None] >= lengths] = -1
    last, following = _mark_before(tokens), _mark_before(tokens[::-1])[::-1]
    letters = (tokens >= 0) & (tokens < LETTERS)
    asked = letters & (last >= 0) & (following >= 0)
    answer = {"before": last == LETTERS, "after": following == LETTERS, "same": last == following}[question]
    xs = np.eye(TOKENS)[tokens] * (tokens >= 0)[..., None]
    return Batch(xs, (answer & asked)[..., None].astype(np.float64), asked, lengths, tokens)


def next_mark(tokens: ArrayLike) -> Array:
    """Return how many steps away the next mark is, for each step of tokens (T, N); T if there is none.

    Examples
    --------
    >>> from gru_book.tasks.ahead import next_mark
    >>> next_mark([[0], [3], [4], [1]])[:, 0]  # a d + b
    array([2, 1, 4, 4])
    """
    tokens = as_array("next_mark", "tokens", tokens, ("T", "N"), {})
    T, N = tokens.shape
    away, out = np.full(N, T), np.empty((T, N), np.int64)
    for t in reversed(range(T)):
        out[t] = away
        away = np.where(tokens[t] >= LETTERS, 1, np.minimum(away + 1, T))
    return out


def delayed(batch: Batch, d: int) -> Batch:
    """Ask every question d steps later: the answer about step t is due at step t + d. T grows by d zeros.

    Examples
    --------
    >>> from gru_book.tasks.ahead import delayed, marks
    >>> batch = marks(np.random.default_rng(0), N=3, T=12, question="after")
    >>> later = delayed(batch, 2)
    >>> np.array_equal(later.ys[2:], batch.ys), len(batch.xs), len(later.xs)
    (True, 12, 14)
    """
    d = check_int("delayed", "d", d, minimum=0)
    check_instance("delayed", "batch", batch, Batch)
    T, N, _ = as_array("delayed", "batch.xs", batch.xs, ("T", "N", "K"), {}).shape
    for name, axes in {"ys": ("T", "N", "1"), "asked": ("T", "N"), "tokens": ("T", "N"), "lengths": ("N",)}.items():
        as_array("delayed", f"batch.{name}", getattr(batch, name), axes, {"T": T, "N": N, "1": 1})

    def shift(a: Array, before: int) -> Array:
        return np.pad(a, [(before, d - before)] + [(0, 0)] * (a.ndim - 1))

    tokens = np.concatenate([batch.tokens, np.full((d, batch.tokens.shape[1]), -1)])
    return Batch(shift(batch.xs, 0), shift(batch.ys, d), shift(batch.asked, d), batch.lengths + d, tokens)


def _mark_before(tokens: Array) -> Array:
    """Return the latest mark before each step, -1 where none has come."""
    latest, out = np.full(tokens.shape[1], -1), np.empty(tokens.shape, np.int64)
    for t, row in enumerate(tokens):
        out[t] = latest
        latest = np.where(row >= LETTERS, row, latest)
    return out
