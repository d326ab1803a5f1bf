"""The stack over time: twelve steps of a differentiable stack, by hand or by a trained net (chapter 13)."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import numpy as np

from gru_book.cells.stack_rnn import stack_rnn_init
from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Line, Numbers, OneOf, Whole
from gru_lib.ops import linear_init
from gru_lib.params import Bundle, bundle

__all__ = ["StackExplorer", "trained_net"]

STACK = data("stack.json")  # start, presets, layout and words, shared with stack.mjs
_START = STACK["start"]
T = len(_START["push"])


@cache
def trained_net() -> Bundle:
    """Return the net of the explorer, which says words backwards: `rnn`, a GRU with a stack, and `out`.

    Examples
    --------
    >>> from gru_book.widgets.stack import trained_net
    >>> m = trained_net()
    >>> m.rnn.H, m.rnn.M
    (32, 8)
    """
    stored = data("stack-net.json")  # made by experiments.other_memories
    H, M, letters, rng = stored["H"], stored["M"], len(STACK["letters"]), np.random.default_rng(0)
    m = bundle(rnn=stack_rnn_init(rng, letters + 1, H, M), out=linear_init(rng, H + M, letters))
    params = stored["params"]
    for name, values in params["controller"].items():
        getattr(m.rnn.controller, name)[:] = values
    m.rnn.act.W[:], m.rnn.act.b[:] = params["act_W"], params["act_b"]
    m.out.W[:], m.out.b[:] = params["out_W"], params["out_b"]
    return m


class StackExplorer(Explorer):
    """A word and blanks in twelve steps, pushed on a stack and popped from it, by hand or by a trained net.

    Attributes
    ----------
    word : str
        Of its letters a to h the first six count; blanks follow.
    who : "hand" or "net"
        Who sets push and pop.
    push, pop : lists of 12 floats in [0, 1]
        By hand: the strength pushed at each step, and popped before it.
    at : int in [1, 12]
        The framed step.
    """

    module: ClassVar[str] = "stack"

    word = Line(_START["word"], length=24, help="letters a to h").tag(sync=True)
    push = Numbers(_START["push"], min=0, max=1, help="strength pushed at each step").tag(sync=True)
    pop = Numbers(_START["pop"], min=0, max=1, help="strength popped at each step").tag(sync=True)
    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    who = OneOf(["hand", "net"], _START["who"], help="who sets push and pop").tag(sync=True)
