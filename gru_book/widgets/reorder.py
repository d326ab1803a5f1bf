"""Reorder the tokens: which of three nets notices the order of its inputs (chapter 1)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Number, Permutation

__all__ = ["ReorderExplorer"]

REORDER = data("reorder.json")  # tokens, embeddings, layout and words
_START = REORDER["start"]


class ReorderExplorer(Explorer):
    """Five words in two orders, and the last states of three nets: a sum, a linear recurrence, Elman's net.

    ::

        sum          h_t = x_t + h_{t-1}
        linear       h_t = x_t + factor h_{t-1}
        Elman        h_t = tanh(x_t + factor h_{t-1})

    The embeddings x_t are multiples of 1/8, so the sum is exact in floating-point numbers.

    Attributes
    ----------
    order : list of int
        The five words in their new order, each of 0 … 4 once.
    factor : float in [0, 1.25]
        W_h is the identity matrix times this, in the linear and in Elman's net.
    """

    module: ClassVar[str] = "reorder"

    order = Permutation(_START["order"], help="the words in their new order").tag(sync=True)
    factor = Number(_START["factor"], min=0, max=REORDER["limits"]["factor"][1], help="factor between the steps").tag(
        sync=True
    )
