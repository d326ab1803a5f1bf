"""Subtraction: a small net subtracts two numbers of up to 64 bits, bit by bit (chapter 7)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Natural, OneOf, Whole

__all__ = ["SubtractionExplorer"]

SUBTRACTION = data("subtraction.json")  # start, presets, layout and words
NETS = data("subtraction-nets.json")  # weights, made by experiments.explorer_nets
_START = SUBTRACTION["start"]
MOST = 64


class SubtractionExplorer(Explorer):
    """Two numbers and a GRU that says their difference: it reads a bit of each a step, the least significant first.

    Attributes
    ----------
    a, b : str
        Whole numbers below 2**64, in decimal digits: a page's numbers are floats. Set them to an int or to digits.
    net : "four", "eight" or "hand"
        Trained on pairs of four bits; on pairs of four to eight bits, with a tidy state; weights set by hand. How
        often each is right was measured, and stands in ``subtraction-nets.json``.
    at : int in [1, 64]
        The framed place; beyond the last one, the last.
    """

    module: ClassVar[str] = "subtraction"

    a = Natural(_START["a"], bits=MOST, help="minuend, in decimal digits").tag(sync=True)
    b = Natural(_START["b"], bits=MOST, help="subtrahend, in decimal digits").tag(sync=True)
    net = OneOf(list(NETS["nets"]), _START["net"], help="which net").tag(sync=True)
    at = Whole(_START["at"], min=1, max=MOST, help="the framed place").tag(sync=True)
