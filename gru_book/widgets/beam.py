"""The beam, step by step: what is kept, dropped and finished (chapter 19)."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, ClassVar

import numpy as np

from gru_book.models.translator import translate_beam, translator_init
from gru_book.tasks.dates import ISO, WRITTEN
from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Line, Number, OneOf, Whole
from gru_lib.decode import beam_search
from gru_lib.layers.seq2seq import Seq2SeqParams

__all__ = ["BeamExplorer"]

BEAM = data("beam.json")  # the tree of three letters, presets, layout and words
NET = data("beam-net.json")  # the network that writes days out; made by experiments.dates
_START, _LIMITS = BEAM["start"], BEAM["limits"]


@cache
def writer() -> Seq2SeqParams:
    """Return the network that writes days out, trained on data of which 15 % is empty: dates_cut.npz. float64.

    Its weights have 16 binary digits, so that the page stays small: they are stored as the upper three bytes of floats.
    """
    p = translator_init(np.random.default_rng(0), NET["E"], NET["H"], source=ISO, target=WRITTEN, dtype=np.float64)
    bytes_ = np.zeros((p.size, 4), np.uint8)
    bytes_[:, 1:] = np.frombuffer(base64.b64decode(NET["data"]), np.uint8).reshape(-1, 3)
    p.flat[:] = bytes_.view("<f4")[:, 0]
    return p


class BeamExplorer(Explorer):
    """Beam search through all that a network might write for a day, character by character.

    The network is the one of chapter 19, which learned from faulty data. A second tree has three letters and three
    steps, and shows a beam that ends below greedy search.

    Attributes
    ----------
    tree : "dates" or "letters"
        What is searched.
    day : str of at most 10 characters
        The day that the network reads, such as 2026-03-07; what is no digit or hyphen is left out.
    width : int in [1, 8]
        How many beginnings the beam keeps.
    alpha : float in [0, 2]
        Length normalisation: the score of a sequence is log P / length^alpha.
    step : int in [1, 36]
        The step that is looked at; beyond the last it is the last.
    value : dict
        All of these; `best`, [text, log P, score] of what the beam finds, or None if it reads nothing.

    Examples
    --------
    >>> from gru_book.widgets import BeamExplorer
    >>> BeamExplorer(width=1).value["best"][0]
    'March 7, 2026'
    """

    module: ClassVar[str] = "beam"

    tree = OneOf(["dates", "letters"], _START["tree"], help="what is searched").tag(sync=True)
    day = Line(_START["day"], length=BEAM["longest"], help="the day that is written out").tag(sync=True)
    width = Whole(_START["width"], min=1, max=_LIMITS["width"][1], help="beginnings kept").tag(sync=True)
    alpha = Number(float(_START["alpha"]), min=0, max=_LIMITS["alpha"][1], help="length normalisation").tag(sync=True)
    step = Whole(_START["step"], min=1, max=_LIMITS["step"][1], help="the step that is looked at").tag(sync=True)

    @staticmethod
    def letters(before: str | None, token: int) -> tuple[np.ndarray, str]:
        """Return what follows a beginning in the tree of three letters, as `beam_search` asks for it."""
        tokens = BEAM["letters"]["tokens"]
        text = "" if before is None else before + tokens[int(token)]
        return np.log(BEAM["letters"]["next"][text]), text

    def values(self) -> dict[str, Any]:
        """Return the state, and what the beam finds."""
        options = {"width": self.width, "alpha": self.alpha}
        read = "".join(c for c in self.day if c in ISO.characters)
        best: list[Any] | None = None
        if self.tree == "letters":
            found = beam_search(self.letters, None, 0, end=None, max_steps=BEAM["letters"]["depth"], **options)[0]
            text = "".join(BEAM["letters"]["tokens"][k] for k in found.tokens)
            best = [text, found.log_prob, found.score]
        elif read:
            source = ISO.tokens([read])[0][:, 0]
            found = translate_beam(writer(), source, end=WRITTEN.end, max_steps=_LIMITS["step"][1], **options)[0]
            best = [WRITTEN.text(found.tokens), found.log_prob, found.score]
        return self.state() | {"best": best}
