"""GRUs with hand-set weights: a subtractor, and one for each memory task, for chapter 8.

σ(40) and tanh(20) round to exactly 1 in float64, and σ(−40) is 4e−18, too little to change a number of size 1. So a
gate at ±40 is a switch, and a candidate at ±20 is a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_book.models.reader import subtractor_init
from gru_book.tasks.memory import CLASSES, TASKS, class_bits
from gru_lib.cells.gru import GRUParams, gru_forward, gru_init
from gru_lib.checks import check_choice, check_number
from gru_lib.params import Bundle

__all__ = ["HandSet", "hand_set", "hand_set_gru"]

Array = NDArray[Any]


def hand_set(K: float = 80.0) -> Bundle:
    """Return a subtractor (`gru_book.models.reader`) with three hand-set units. Chapter 7.

    With c the borrow and e = a − b − c in −2 … 1, the units say e ≤ −1 (this is the next borrow), e ≥ 1 and e ≤ −2,
    as +1 for yes and −1 for no. Unit 1 holds the borrow, c = (h_1 + 1)/2, and feeds all three::

        a_n = K · (b − a + h_1/2 − 1/4,   a − b − h_1/2 − 3/4,   b − a + h_1/2 − 5/4)
        b_r = K/2,  b_z = −K/2:  r and 1 − z are nearly 1
        logit = h_1 + h_2 − h_3

    The steepness K is above 0; with K = 80 float64 rounds every gate and candidate to its limit.

    Examples
    --------
    >>> from gru_book.models.hand_set import hand_set
    >>> from gru_book.models.reader import subtractor_accuracy
    >>> from gru_book.tasks.subtraction import random_pairs
    >>> batch = random_pairs(np.random.default_rng(0), N=100, bits=64)
    >>> subtractor_accuracy(hand_set(), batch).pairs
    1.0
    """
    K = check_number("hand_set", "K", K, above=0)
    rng = np.random.default_rng(0)  # everything drawn is overwritten
    m = subtractor_init(rng, 3)
    m.flat[:] = 0
    m.rnn.b_r[:], m.rnn.b_z[:] = K / 2, -K / 2
    m.rnn.W_xn[:] = K * np.array([[-1, 1, -1], [1, -1, 1]])
    m.rnn.W_hn[0] = K * np.array([0.5, -0.5, 0.5])
    m.rnn.b_n[:] = K * np.array([-0.25, -0.75, -1.25])
    m.out.W[:, 0] = 1, 1, -1
    return m


# ------------------------------------------------------------------------------------------ one for each memory task


class HandSet(NamedTuple):
    """A GRU and how to read its answers."""

    p: GRUParams
    units: int  # how many of the first units hold the answer's bits
    threshold: float  # a bit is 1 where its unit is above this

    def answers(self, xs: ArrayLike) -> Array:
        """Run from the zero state: xs (T, N, D) -> bits (T, N, K)."""
        hs, _, _ = gru_forward(xs, None, self.p)
        return hs[..., : self.units] > self.threshold


def hand_set_gru(task: str) -> HandSet:
    """Return a GRU (keep, reset before) that solves a task of `gru_book.tasks.memory.TASKS`, without error, by design.

    Chapter 8 derives the weights.

    Examples
    --------
    >>> from gru_book.models.hand_set import hand_set_gru
    >>> from gru_book.tasks.memory import parity_since
    >>> batch = parity_since(np.random.default_rng(0), N=10, T=200)
    >>> gru = hand_set_gru("parity_since")
    >>> np.array_equal(gru.answers(batch.xs), batch.ys)
    True
    """
    check_choice("hand_set_gru", "task", task, tuple(TASKS))
    return _BUILD[task]()


def _blank(task: str, H: int) -> GRUParams:
    """Every weight 0, the reset gate at 1."""
    p = gru_init(np.random.default_rng(0), TASKS[task].D, H)
    p.flat[:] = 0
    p.b_r[:] = 40
    return p


_SIGNS = 20 * (2 * class_bits(np.arange(CLASSES)) - 1)  # (8, 3): ±20


def _checksum() -> HandSet:
    p = _blank("checksum", 3)
    p.b_z[:] = 40  # keep
    p.W_xz[:CLASSES] = -80  # but write at a class
    p.W_xn[:CLASSES] = _SIGNS
    return HandSet(p, 3, 0)


def _first_token() -> HandSet:
    p = _blank("first_token", 4)
    p.b_z[:] = -40  # write
    p.W_hz[3, :3] = 80  # but keep once unit 3 is 1
    p.W_xn[:, :3] = _SIGNS
    p.b_n[3] = 20  # unit 3: has a token come?
    return HandSet(p, 3, 0)


def _parity_outside() -> HandSet:
    p = _blank("parity_outside", 2)
    p.b_z[:] = 120, 40
    p.W_xz[1, 0] = -160  # a 1 flips unit 0 …
    p.W_hz[1, 0] = 80  # … unless unit 1 says inside
    p.W_hn[0, 0], p.b_n[0] = -40, 20  # flip: 1 -> −1, and −1 or 0 -> 1
    p.W_xz[2:, 1] = -80  # a bracket writes unit 1
    p.W_xn[2, 1], p.W_xn[3, 1] = 20, -20
    return HandSet(p, 1, 0.5)


def _last_outside() -> HandSet:
    p = _blank("last_outside", 4)
    p.b_z[:] = 120, 120, 120, 40
    p.W_xz[:CLASSES, :3] = -160  # a class is written …
    p.W_hz[3, :3] = 80  # … unless unit 3 says inside
    p.W_xn[:CLASSES, :3] = _SIGNS
    p.W_xz[CLASSES : CLASSES + 2, 3] = -80
    p.W_xn[CLASSES, 3], p.W_xn[CLASSES + 1, 3] = 20, -20
    return HandSet(p, 3, 0.5)


def _parity_since() -> HandSet:
    p = _blank("parity_since", 1)
    p.b_z[:] = 40
    p.W_xz[1:] = -80  # 1 and | write
    p.W_hn[:], p.b_n[:] = -40, 20  # flip
    p.W_xr[2] = -80  # | hides the old state from the candidate …
    p.W_xn[2] = -40  # … and asks for −1
    return HandSet(p, 1, 0.5)


def _first_of_segment() -> HandSet:
    p = _blank("first_of_segment", 4)
    p.b_z[:] = -120, -120, -120, -40
    p.W_hz[3, :3] = 160  # keep once unit 3 is 1 …
    p.W_xz[CLASSES, :3] = -80  # … but write at |
    p.W_xn[:CLASSES, :3] = _SIGNS
    p.W_xn[CLASSES, :3] = -20
    p.b_n[3], p.W_xn[CLASSES, 3] = 20, -40  # unit 3: has a class come since |?
    return HandSet(p, 3, 0.5)


_BUILD: dict[str, Callable[[], HandSet]] = {
    "checksum": _checksum,
    "first_token": _first_token,
    "parity_outside": _parity_outside,
    "last_outside": _last_outside,
    "parity_since": _parity_since,
    "first_of_segment": _first_of_segment,
}
