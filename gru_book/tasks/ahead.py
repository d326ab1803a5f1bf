"""Three questions about the same sequences: one looks back, one looks ahead, one does both. Chapter 15.

Letters, and among them two kinds of marks, + and −. At each letter: which mark came last? Which mark comes next? Are
the two the same? All tokens are drawn independently, so what has been read says nothing about the next mark.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib.checks import check_choice, check_instance, check_int, check_number

__all__ = ["LETTERS", "QUESTIONS", "TOKENS", "Batch", "marks"]

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


def _mark_before(tokens: Array) -> Array:
    """Return the latest mark before each step, -1 where none has come."""
    latest, out = np.full(tokens.shape[1], -1), np.empty(tokens.shape, np.int64)
    for t, row in enumerate(tokens):
        out[t] = latest
        latest = np.where(row >= LETTERS, row, latest)
    return out
