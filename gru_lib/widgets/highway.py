"""The highway: how far the gradient of a GRU reaches, by the bias of its update gate (chapter 9)."""

from __future__ import annotations

from typing import ClassVar

from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets._modules import data
from gru_lib.widgets._traits import Number, OneOf, Whole

__all__ = ["HighwayExplorer"]

HIGHWAY = data("highway.json")  # start, limits, net, inputs, layout and words
_START, _LIMITS = HIGHWAY["start"], HIGHWAY["limits"]
T = len(HIGHWAY["inputs"])


class HighwayExplorer(Explorer):
    """One GRU of 5 units, driven by inputs, and the norm of dh_T/dh_0 for T up to 100.

    The weights and the inputs are drawn once (the seed stands in `highway.json`) and rounded. All biases are zero but
    that of the update gate. The direct path is the product of the shares kept, its largest entry.

    Attributes
    ----------
    b_z : float in [-4, 8]
        Bias of the update gate, the same for all units.
    length : int in [1, 100]
        Number of steps T.
    convention : "keep" or "write"
        Whether z is the share of the old state that is kept, or the share of the candidate that is written.
    """

    module: ClassVar[str] = "highway"

    b_z = Number(_START["b_z"], min=_LIMITS["b_z"][0], max=_LIMITS["b_z"][1], help="bias of the gate").tag(sync=True)
    length = Whole(_START["length"], min=1, max=T, help="number of steps").tag(sync=True)
    convention = OneOf(["keep", "write"], _START["convention"]).tag(sync=True)
