"""The convention switch: one GRU written in the layout of seven programs and texts, beside our own (chapter 10)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets._modules import data
from gru_lib.widgets._traits import OneOf, Whole

__all__ = ["ConventionExplorer"]

CONVENTION = data("convention.json")  # start, weights, layouts, places and words
_START = CONVENTION["start"]
D, H = np.shape(CONVENTION["weights"]["W_xr"])


class ConventionExplorer(Explorer):
    """One GRU, D = 3 and H = 2, in eight layouts; one of its numbers is marked in each of them.

    Attributes
    ----------
    gate : "r", "z" or "n"
        Which part of the GRU.
    part : "W_x", "W_h" or "b"
        Which of its arrays.
    row, column : int
        Which number, from 0; a row that the array does not have is its last one. For `b` of the candidate, reset
        after, row 1 is `b_hn`.
    reset : "before" or "after"
        Where this GRU resets. It is a choice of the model.
    convention : "keep" or "write"
        How our own layout writes it. The GRU is the same.
    """

    module: ClassVar[str] = "convention"

    gate = OneOf(["r", "z", "n"], _START["gate"], help="which part of the GRU").tag(sync=True)
    part = OneOf(["W_x", "W_h", "b"], _START["part"], help="which of its arrays").tag(sync=True)
    row = Whole(_START["row"], min=0, max=D - 1, help="row of the marked number").tag(sync=True)
    column = Whole(_START["column"], min=0, max=H - 1, help="column of the marked number").tag(sync=True)
    reset = OneOf(["before", "after"], _START["reset"], help="where this GRU resets").tag(sync=True)
    convention = OneOf(["keep", "write"], _START["convention"], help="how our layout writes it").tag(sync=True)
