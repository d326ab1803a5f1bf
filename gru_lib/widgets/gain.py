"""Gain and length: how the norm of dh_T/dh_0 of an Elman net grows or fades with T (chapter 2)."""

from __future__ import annotations

from typing import ClassVar

from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets._modules import data
from gru_lib.widgets._traits import Number, Whole

__all__ = ["GainExplorer"]

GAIN = data("gain.json")  # start, limits, net, inputs, layout and words
_START = GAIN["start"]
T = len(GAIN["inputs"])


class GainExplorer(Explorer):
    """One Elman net of 8 units, at rest and driven by inputs, and the norm of dh_T/dh_0 for T up to 100.

    ::

        h_t = tanh(strength x_t + h_{t-1} W_h),    h_0 = 0,    spectral radius of W_h: `radius`

    W_h and the inputs x_t are drawn once (the seed stands in `gain.json`) and rounded; `radius` scales W_h.

    Attributes
    ----------
    radius : float in [0.5, 2]
        Spectral radius of W_h.
    strength : float in [0, 3]
        Factor on the inputs.
    length : int in [1, 100]
        Number of steps T.
    """

    module: ClassVar[str] = "gain"

    radius = Number(_START["radius"], min=0.5, max=2, help="spectral radius of W_h").tag(sync=True)
    strength = Number(_START["strength"], min=0, max=3, help="factor on the inputs").tag(sync=True)
    length = Whole(_START["length"], min=1, max=T, help="number of steps").tag(sync=True)
