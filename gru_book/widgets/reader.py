"""The reader: a trained GRU reads what the visitor types and says which language it is (front page)."""

from __future__ import annotations

from typing import Any, ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Line, Whole

__all__ = ["ReaderExplorer"]

READER = data("reader.json")  # start, limits, layout, words; as reader.mjs
_START = READER["start"]


def _within(key: str) -> dict[str, Any]:
    return dict(zip(("min", "max"), READER["limits"][key], strict=True))


class ReaderExplorer(Explorer):
    """A GRU trained on the words of nine languages reads a word letter by letter, and then a mark for its end.

    The net is that of ``gru_book/results/words_net.json``, which ``python -m experiments.words net`` made.

    Attributes
    ----------
    word : str
        What the reader typed, at most 18 characters.
    kept : int in [0, 19]
        The letter, counted from 1, at which every unit keeps its state (z = 1); 0 if none. The last is the end mark.
    at : int in [1, 19]
        The letter that is looked at; what lies beyond the word's letters is its end.
    unit : int in [0, 63]
        The unit whose cell is drawn.
    """

    module: ClassVar[str] = "reader"

    word = Line(_START["word"], length=READER["longest"], help="what the reader typed").tag(sync=True)
    kept = Whole(_START["kept"], **_within("kept"), help="letter at which everything is kept; 0: none").tag(sync=True)
    at = Whole(_START["at"], **_within("at"), help="the letter that is looked at").tag(sync=True)
    unit = Whole(_START["unit"], **_within("unit"), help="the unit whose cell is drawn").tag(sync=True)
