"""Hold the gate: a memory of one number over 24 steps, every gate in the reader's hand (chapter 3)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Numbers, Whole

__all__ = ["HoldExplorer"]

HOLD = data("hold.json")  # start, presets, layout and words, shared with hold.mjs
_START = HOLD["start"]
T = len(_START["n"])


class HoldExplorer(Explorer):
    """One memory, 24 steps, the gate of each step set by hand.

    ::

        h_t = z_t h_{t-1} + (1 − z_t) n_t,    h_0 = 0

    The goal is to bring the candidate of step 5 to step 24; the score is its share of the last state, in per cent.

    Attributes
    ----------
    n : list of 24 floats in [-1, 1]
        Candidates.
    z : list of 24 floats in [0, 1]
        Share of the old state that each step keeps.
    at : int in [1, 24]
        The framed step; the lowest row shows what each candidate weighs in its state.
    """

    module: ClassVar[str] = "hold"

    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    n = Numbers(_START["n"], min=-1, max=1, help="candidates").tag(sync=True)
    z = Numbers(_START["z"], min=0, max=1, help="share kept at each step").tag(sync=True)
