"""Cells side by side: Elman, GRU and LSTM, one unit each, on the same 24 inputs (chapter 12)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Number, Numbers, OneOf, Whole

__all__ = ["CellsExplorer"]

CELLS = data("cells.json")  # start, presets, weights, layout and words
_START, _LIMITS = CELLS["start"], CELLS["limits"]
T = len(_START["x"])


def _number(key: str, text: str) -> Number:
    lo, hi = _LIMITS[key]
    return Number(_START[key], min=lo, max=hi, help=text).tag(sync=True)


class CellsExplorer(Explorer):
    """Three cells of one unit on the same inputs, and what each still knows of the first.

    ::

        Elman   h = tanh(2 x + w h_prev)
        GRU     z = σ(b_z − 8 m),  n = tanh(2 x),  h = z h_prev + (1 − z) n
        LSTM    f = σ(b_f − 8 m),  i = σ(b_i + 8 m),  g = tanh(2 x),  c = f c_prev + i g,  h = tanh(c) / 2

    Attributes
    ----------
    x, m : lists of 24 floats, in [-1, 1] and in [0, 1]
        Inputs: a signal, and a mark that asks the gates to write it.
    at : int in [1, 24]
        The framed step.
    w : float in [0, 1.5]
        Elman's weight from state to state.
    b_z, b_f : float in [-2, 8]
        Biases of the GRU's update gate and of the LSTM's forget gate.
    input_gate : "coupled" or "free"
        Whether b_i is −b_f or 0.
    """

    module: ClassVar[str] = "cells"

    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    x = Numbers(_START["x"], min=-1, max=1, help="inputs").tag(sync=True)
    m = Numbers(_START["m"], min=0, max=1, help="marks: write now").tag(sync=True)
    w = _number("w", "Elman's weight from state to state")
    b_z = _number("b_z", "bias of the GRU's update gate")
    b_f = _number("b_f", "bias of the LSTM's forget gate")
    input_gate = OneOf(["coupled", "free"], _START["input_gate"], help="whether b_i is -b_f or 0").tag(sync=True)
