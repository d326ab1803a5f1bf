"""Reach: how the norm of dh_T/dh_0 grows or fades with T, in an Elman net and in a GRU (chapter 2)."""

from __future__ import annotations

from typing import ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Number, OneOf, Whole

__all__ = ["ReachExplorer"]

REACH = data("reach.json")  # start, limits, the two nets, layout and words
_START, _LIMITS = REACH["start"], REACH["limits"]
T = len(REACH["elman"]["inputs"])


def _number(key: str, of: type[Number], what: str) -> Number:
    low, high = _LIMITS[key]
    return of(_START[key], min=low, max=high, help=what).tag(sync=True)


class ReachExplorer(Explorer):
    """One Elman net of 8 units or one GRU of 5, driven by inputs, and the norm of dh_T/dh_0 for T up to 100.

    ::

        Elman: h_t = tanh(strength x_t + h_{t-1} W_h),    h_0 = 0,    spectral radius of W_h: `radius`

    Weights and inputs are drawn once (the seeds stand in `reach.json`) and rounded. `radius` scales W_h of the Elman
    net, which is drawn at rest too. All biases of the GRU are zero but that of the update gate. Its direct path is
    the product of the shares kept, its largest entry.

    Attributes
    ----------
    net : "elman" or "gru"
        Which of the two is shown.
    radius : float in [0.5, 2]
        Elman: spectral radius of W_h.
    strength : float in [0, 3]
        Elman: factor on the inputs.
    b_z : float in [-4, 8]
        GRU: bias of the update gate, the same for all units.
    convention : "keep" or "write"
        GRU: whether z is the share of the old state that is kept, or the share of the candidate that is written.
    length : int in [1, 100]
        Number of steps T.
    """

    module: ClassVar[str] = "reach"

    net = OneOf(["elman", "gru"], _START["net"]).tag(sync=True)
    radius = _number("radius", Number, "spectral radius of W_h")
    strength = _number("strength", Number, "factor on the inputs")
    b_z = _number("b_z", Number, "bias of the update gate")
    convention = OneOf(["keep", "write"], _START["convention"]).tag(sync=True)
    length = _number("length", Whole, "number of steps")
