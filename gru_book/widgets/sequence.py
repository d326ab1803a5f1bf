"""Build a sequence of the tokens 0, 1 and a break; the gates and states of a net that reads them (chapter 8)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import OneOf, Whole, Wholes

__all__ = ["SequenceExplorer"]

SEQUENCE = data("sequence.json")  # start, presets, layout and words
NETS = data("sequence-nets.json")  # weights, made by experiments.explorer_nets
_START = SEQUENCE["start"]
T = len(_START["tokens"])
_UNITS = max(len(nets["trained"]["b_r"]) for nets in NETS["nets"].values())


class SequenceExplorer(Explorer):
    """24 tokens of the reader's, and two GRUs that read them and answer after each.

    Attributes
    ----------
    tokens : list of 24 ints
        The tokens 0 and 1, and 2 for a break. For the task "skip" the breaks are brackets, opening and closing in turn.
    task : "keep", "skip" or "afresh"
        Which token came first? Is the number of 1s outside brackets odd? Is that since the latest break odd?
    net : "hand" or "trained"
        Both nets are drawn, side by side; this is the one whose unit is told of, and on a phone the only one drawn.
        "hand" has weights set by hand, "trained" four units trained on the task; how often it is right was measured,
        and stands in ``sequence-nets.json``.
    at : int in [1, 24]
        The framed step.
    unit : int in [1, 4]
        The unit whose numbers are said; beyond the last one, the last.
    """

    module: ClassVar[str] = "sequence"

    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    unit = Whole(_START["unit"], min=1, max=_UNITS, help="the unit whose numbers are said").tag(sync=True)
    task = OneOf(list(NETS["nets"]), _START["task"], help="what is asked").tag(sync=True)
    net = OneOf(["hand", "trained"], _START["net"], help="which net").tag(sync=True)
    tokens = Wholes(_START["tokens"], min=0, max=2, help="0, 1, or 2 for a break").tag(sync=True)
