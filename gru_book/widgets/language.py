"""The language model: a trained GRU writes on, character by character (chapter 16)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from gru_book.models.language_model import lm_init
from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Line, Number, OneOf, Whole
from gru_lib.params import Bundle

__all__ = ["LanguageExplorer", "read_net", "trained"]

LANGUAGE = data("language.json")  # start, limits, layout, words; as language.mjs
NET = data("language-net.json")  # the trained net in 8 bits, and how it measures; made by experiments.language_model
_START = LANGUAGE["start"]
_PATTERNS = ["name", "word", "space", "stop", "column", "find"]


@cache
def trained() -> Bundle:
    """Return the trained net: a GRU of 192 units, its weights rounded to 8 bits, as `lm_init` makes it. float64.

    Examples
    --------
    >>> from gru_book.widgets.language import trained
    >>> m = trained()
    >>> m.rnn.H
    192
    """
    return read_net(NET)


def read_net(net: Mapping[str, Any]) -> Bundle:
    """Return the parameters that `experiments/language_model.py` stored.

    Examples
    --------
    >>> from gru_book.widgets.language import NET, read_net
    >>> read_net(NET).rnn.H
    192
    """
    m = lm_init(np.random.default_rng(0), net["V"], net["D"], net["H"])
    for name, array in m.items():
        stored = net["arrays"][name]
        if "data" in stored:
            whole = np.frombuffer(base64.b64decode(stored["data"]), np.int8)
            array[:] = whole.reshape(stored["shape"]) * np.array(stored["scale"])
        else:
            array[:] = stored["values"]
    return m


def _within(key: str) -> dict[str, Any]:
    return dict(zip(("min", "max"), LANGUAGE["limits"][key], strict=True))


class LanguageExplorer(Explorer):
    """A GRU trained on Genesis and Exodus in the King James Version writes on from what the reader typed.

    For any character of the text the page shows which of the characters before it made the net expect it: by leaving
    each out, or by backpropagation. Other views show how it was drawn, which units follow a pattern, and the cell of
    one unit. The weights are those that ``python -m experiments.language_model net`` made, rounded to 8 bits. A
    character is drawn from softmax(a / temperature), the draws depending on `seed` alone.

    Attributes
    ----------
    prefix : str
        What the reader typed, at most 100 characters.
    at : int in [1, 240]
        So many characters are read before the prediction that is looked at.
    view : "why", "draw", "units" or "cell"
        What is shown: which characters made the prediction; how the next was drawn; the units; the cell of `unit`.
    measure : "without" or "gradient"
        How much a prediction hangs on a character: by leaving it out, or by the length of the gradient.
    temperature : float in [0, 2]
        0 takes the likeliest character every time, 1 is the model itself.
    seed : int in [1, 99]
        Which draws.
    pattern : "name", "word", "space", "stop", "column" or "find"
        What units may follow: being in a word with a capital, in any word, or after a space; how far the last stop or
        the start of the line is back; or every place of `find`.
    find : str
        What ``pattern="find"`` looks for, at most 100 characters.
    show : "r", "z" or "h"
        What the bars under the characters are.
    unit : int in [0, 191]
        Of which unit.
    """

    module: ClassVar[str] = "language"

    prefix = Line(_START["prefix"], length=LANGUAGE["longest"], help="what the reader typed").tag(sync=True)
    at = Whole(_START["at"], **_within("at"), help="so many characters are read").tag(sync=True)
    view = OneOf(["why", "draw", "units", "cell"], _START["view"], help="what is shown").tag(sync=True)
    measure = OneOf(["without", "gradient"], _START["measure"], help="by what it is measured").tag(sync=True)
    temperature = Number(_START["temperature"], **_within("temperature"), help="temperature").tag(sync=True)
    seed = Whole(_START["seed"], **_within("seed"), help="which draws").tag(sync=True)
    pattern = OneOf(_PATTERNS, _START["pattern"], help="what units may follow").tag(sync=True)
    find = Line(_START["find"], length=LANGUAGE["longest"], help='what pattern="find" looks for').tag(sync=True)
    show = OneOf(["r", "z", "h"], _START["show"], help="what the bars are").tag(sync=True)
    unit = Whole(_START["unit"], **_within("unit"), help="of which unit").tag(sync=True)
