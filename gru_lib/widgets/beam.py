"""The beam as a tree: what is followed, what is cut, what wins (chapter 19)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gru_lib.decode import beam_search
from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets._modules import data
from gru_lib.widgets._traits import Number, OneOf, Whole

__all__ = ["BeamExplorer"]

BEAM = data("beam.json")  # start, limits, trees, layout and words
_START, _LIMITS = BEAM["start"], BEAM["limits"]


class BeamExplorer(Explorer):
    """A tree of at most three steps with three tokens, searched by a beam, greedily and exhaustively.

    Attributes
    ----------
    tree : "greedy", "overtaken" or "short"
        One of three fixed trees; in the last a sequence may end before three steps.
    width : int in [1, 9]
        Beginnings that the beam keeps.
    alpha : float in [0, 2]
        Length normalisation: the score is log P / length^alpha.
    value : dict
        All of these; `best`, [sequence, log P, score] of what the beam finds; `seen`, the number of nodes that it
        looked at.

    Examples
    --------
    >>> from gru_lib.widgets import BeamExplorer
    >>> BeamExplorer(tree="greedy", width=2).value["best"][0]
    'bab'
    """

    module: ClassVar[str] = "beam"

    tree = OneOf(list(BEAM["trees"]), _START["tree"], help="which of the trees").tag(sync=True)
    width = Whole(_START["width"], min=1, max=_LIMITS["width"][1], help="beginnings kept").tag(sync=True)
    alpha = Number(float(_START["alpha"]), min=0, max=_LIMITS["alpha"][1], help="length normalisation").tag(sync=True)

    def step(self, before: str | None, token: int) -> tuple[np.ndarray, str]:
        """Return the log-probabilities after a beginning, as `beam_search` and `greedy` ask for them."""
        tree = BEAM["trees"][self.tree]
        prefix = "" if before is None else before + tree["tokens"][int(token)]
        return np.log(tree["next"][prefix]), prefix

    def values(self) -> dict[str, Any]:
        """Return the state, what the beam finds, and how many nodes it looked at."""
        tree, followed = BEAM["trees"][self.tree], set()

        def step(before: str | None, token: int) -> tuple[np.ndarray, str]:
            log_probs, prefix = self.step(before, token)
            followed.add(prefix)
            return log_probs, prefix

        options = {"width": self.width, "end": tree["end"], "max_steps": BEAM["depth"], "alpha": self.alpha}
        best = beam_search(step, None, 0, **options)[0]
        text = "".join(tree["tokens"][int(k)] for k in best.tokens)
        return self.state() | {
            "best": [text, best.log_prob, best.score],
            "seen": len(followed) * len(tree["tokens"]),
        }
