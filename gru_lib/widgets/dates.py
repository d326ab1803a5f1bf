"""Translate a date: an encoder–decoder that runs in the page (chapter 17)."""

from __future__ import annotations

from typing import ClassVar

from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets._modules import data
from gru_lib.widgets._traits import Line, Whole

__all__ = ["DatesExplorer"]

DATES = data("dates.json")  # start, presets, layout and words
WEIGHTS = data("dates-weights.json")  # of the trained net, and how it measures; made by experiments.dates
_START, _LIMITS = DATES["start"], DATES["limits"]


class DatesExplorer(Explorer):
    """A trained encoder–decoder turns a date in six languages into its ISO form, in the page itself.

    Its weights are those that ``python -m experiments.dates weights`` made, rounded to two decimals.

    Attributes
    ----------
    text : str of at most 40 characters
        The date as it is typed; characters that the net does not know are left out.
    at : int in [1, 12]
        The framed character of the output; where the output is shorter, its last.
    unit : int in [1, 32]
        The unit of the encoder whose states are drawn.
    """

    module: ClassVar[str] = "dates"

    text = Line(_START["text"], length=DATES["longest"], help="a date as people write it").tag(sync=True)
    at = Whole(_START["at"], min=1, max=_LIMITS["at"][1], help="the framed character of the output").tag(sync=True)
    unit = Whole(_START["unit"], min=1, max=_LIMITS["unit"][1], help="the unit whose states are drawn").tag(sync=True)
