"""Dropout masks: where three schemes drop, and what is left of a stored value (chapter 14)."""

from __future__ import annotations

from typing import Any, ClassVar

from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets._modules import data
from gru_lib.widgets._traits import Number, OneOf, Whole

__all__ = ["DropoutExplorer"]

DROP = data("dropout.json")  # start, presets, layout and words
_START = DROP["start"]


def _within(key: str) -> dict[str, Any]:
    return dict(zip(("min", "max"), DROP["limits"][key], strict=True))


class DropoutExplorer(Explorer):
    """Six units that hold a value over 24 steps, under three kinds of masks.

    ::

        read    h_t = z h_{t-1}       + (1 − z) tanh(w m_t h_{t-1})     as gru_forward(…, h_mask=m)
        state   h_t = z m_t h_{t-1}   + (1 − z) tanh(w m_t h_{t-1})

    w is such that without masks the stored value 0.8 stays where it is, whatever z is.

    Attributes
    ----------
    rate : float in [0, 0.8]
        Probability that a number is dropped.
    z : float in [0, 0.999]
        Update gate of every unit: the share that is carried over without being read.
    place : {"read", "state"}
        What the recurrent mask multiplies: what the weights read, or the whole state.
    seed : int in [0, 99]
        Which masks are drawn.
    """

    module: ClassVar[str] = "dropout"

    rate = Number(_START["rate"], **_within("rate"), help="share dropped").tag(sync=True)
    z = Number(_START["z"], **_within("z"), help="update gate of every unit").tag(sync=True)
    place = OneOf(["read", "state"], _START["place"], help="what the recurrent mask multiplies").tag(sync=True)
    seed = Whole(_START["seed"], **_within("seed"), help="which masks").tag(sync=True)
