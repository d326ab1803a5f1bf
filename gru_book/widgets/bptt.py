"""The stepper: one unit of a GRU, forward and backward over three steps, line by line (chapter 5)."""

from __future__ import annotations

from typing import Any, ClassVar

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Number, Whole

__all__ = ["BPTTExplorer"]

BPTT = data("bptt.json")  # start, limits, lines, layout and words
_START, _LIMITS = BPTT["start"], BPTT["limits"]
T = 3
LAST = T * (len(BPTT["forward"]) + len(BPTT["backward"])) - 1


def _number(key: str) -> Any:
    limit = _LIMITS[key.rstrip("0123456789").partition("_")[0]]
    return Number(_START[key], min=-limit, max=limit, help=f"{key}, in [-{limit}, {limit}]").tag(sync=True)


class BPTTExplorer(Explorer):
    """Backpropagation through time, by hand: D = H = 1, T = 3, convention "keep", reset "before".

    The forward pass is eight lines for each step, the backward pass eleven, from step 3 to step 1. `at` is the line
    at hand, counted from 0. Gradients come from the outputs: `out3 = 1` and the others 0 is the loss L = h_3.

    Attributes
    ----------
    at : int in [0, 56]
        The line; `line("dhprev", 2)` gives its number.
    x1, x2, x3, h0 : float in [-1, 1]
        Inputs and initial state.
    out1, out2, out3 : float in [-1, 1]
        Gradient from the output at each step.
    W_xr, W_hr, W_xz, W_hz, W_xn, W_hn : float in [-4, 4]
        Weights.
    b_r, b_z, b_n : float in [-8, 8]
        Biases.

    Examples
    --------
    >>> from gru_book.widgets import BPTTExplorer
    >>> BPTTExplorer(at=BPTTExplorer.line("dhprev", 3)).at
    33
    """

    module: ClassVar[str] = "bptt"

    at = Whole(_START["at"], min=0, max=LAST, help=f"number of the line, in [0, {LAST}]").tag(sync=True)
    x1 = _number("x1")
    x2 = _number("x2")
    x3 = _number("x3")
    h0 = _number("h0")
    out1 = _number("out1")
    out2 = _number("out2")
    out3 = _number("out3")
    W_xr = _number("W_xr")
    W_hr = _number("W_hr")
    b_r = _number("b_r")
    W_xz = _number("W_xz")
    W_hz = _number("W_hz")
    b_z = _number("b_z")
    W_xn = _number("W_xn")
    W_hn = _number("W_hn")
    b_n = _number("b_n")

    @staticmethod
    def line(name: str, step: int) -> int:
        """Return the number of a line: `name` as in chapter 5's code ("az", "dn", "dhprev" …), `step` 1 to 3.

        Raises
        ------
        ValueError
            For a name or a step that is not there.
        """
        forward, backward = BPTT["forward"], BPTT["backward"]
        if name not in (*forward, *backward) or step not in range(1, T + 1):
            raise ValueError(
                f"BPTTExplorer.line: name must be one of {', '.join([*forward, *backward])} and step 1, 2 or 3; "
                f"got {name!r}, {step!r}."
            )
        if name in forward:
            return (step - 1) * len(forward) + forward.index(name)
        return T * len(forward) + (T - step) * len(backward) + backward.index(name)
