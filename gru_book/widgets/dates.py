"""Translate a date: two encoder–decoders that run in the page, and what of the input they used (chapters 17, 18)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Line, Whole

__all__ = ["DatesExplorer"]

DATES = data("dates.json")  # start, presets, layout and words
# Of the trained nets, and how they measure: the one without attention is made by experiments.dates, the other by
# experiments.attention.
WEIGHTS, ATTENTION = data("dates-weights.json"), data("dates-looking-weights.json")
_START, _LIMITS = DATES["start"], DATES["limits"]


class DatesExplorer(Explorer):
    """Two trained encoder–decoders turn a date in six languages into its ISO form, in the page itself.

    For each character of the answers the page shows which characters of the input it used: for the net with attention
    by its weights, for the one without by the gradient of the character's log-probability. The weights are those that
    ``python -m experiments.dates weights`` and ``python -m experiments.attention model`` made, rounded to two decimals.

    Attributes
    ----------
    text : str of at most 40 characters
        The date as it is typed; characters that the nets do not know are struck out and left out.
    at : int in [1, 12]
        The framed character of the answers; where an answer is shorter, its last.
    """

    module: ClassVar[str] = "dates"

    text = Line(_START["text"], length=DATES["longest"], help="a date as people write it").tag(sync=True)
    at = Whole(_START["at"], min=1, max=_LIMITS["at"][1], help="the framed character of the answers").tag(sync=True)
