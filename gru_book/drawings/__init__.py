"""Drawings of what flows where, all in one style: the cells, to be laid side by side, and steps in a row.

In ``cell_drawing("gru")`` the state is the thick line along the top: h_{t−1} comes from the left, h_t leaves on the
right, x_t comes from below. A gate is two plates; the gap between them is the gate's value, and what passes is as wide
as the gap. A dotted line leads to a gate from what it is computed from. Nothing is measured: z = 0.7 and r = 0.5 are
only drawn so.

A drawing grows: ``upto`` names the stage at which it stops. It is an SVG in the light colours of `gru_book.viz`, on
a plate of its own; the book's pages put their theme's colours in their place, and on a phone show the slim form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gru_book.drawings import _cells, _sequences
from gru_lib.checks import check_choice

__all__ = ["CELLS", "STAGES", "Drawing", "cell_drawing"]

#: What can be drawn, and what each drawing shows in words.
CELLS = {
    "elman": "The old state turns down into the candidate, and the candidate alone becomes the new state.",
    "update": "The old state runs straight to the new state past a gate that keeps z of it; the candidate joins it "
    "past a second gate on the same handle, which writes 1 − z.",
    "gru": "The old state runs straight to the new state. On one handle, the update gate z keeps a share of it and "
    "writes the share 1 − z of the candidate. The reset gate r stands on the side channel from the old state to the "
    "candidate. Dotted lines lead from the input and the old state to both gates.",
    "gru-after": "As the GRU, but the old state is multiplied by its matrix before it comes to the reset gate.",
    "mingru": "As the GRU, but z and the candidate are computed from the input alone: only the line at the top carries "
    "the past.",
    "lstm": "A cell state c runs along the top through a forget gate f; the candidate g joins it through an input gate "
    "i; the new state h is a view of c through an output gate o.",
    "unrolled": "Three steps of one network in a row, with an input below each and a readout and a loss above. The "
    "gradient runs from each loss down and from each state back to the one before; each step gives a share.",
    "truncated": "Four steps of one network in a row, with an input below each and a loss above. Between the second "
    "and the third step is a cut: the state crosses it, the gradient does not.",
    "attention": "An encoder reads three inputs and hands its last state to a decoder, which writes two outputs. The "
    "decoder's first state is compared with each state of the encoder; the scores become weights, and the weighted "
    "mean, the context, joins the decoder's state on its way to the output.",
}

_KEEP = "One handle moves two gates: it keeps a share z of the old state and writes the share 1 − z of the candidate n."
_LINE = "The old state runs straight along the top to the new state."
_SOURCES = "Dotted lines lead from the input and the old state to the update gate z."

#: What each stage adds, in words.
STAGES = {
    "elman": {
        "input": "The input comes from below into an empty box.",
        "old state": "The old state turns down into the same box.",
        "tanh": "In the box, tanh makes the candidate n of the two.",
        "new state": "The candidate alone becomes the new state; no way leads past it.",
    },
    "update": {
        "state": _LINE,
        "keep and write": _KEEP,
        "update gate": _SOURCES,
        "candidate": "The candidate sees the input and the old state.",
    },
    "gru": {
        "state": _LINE,
        "keep and write": _KEEP,
        "update gate": _SOURCES,
        "candidate": "The candidate sees the input, and the old state through the reset gate r; dotted lines lead from "
        "both to r.",
    },
    "gru-after": {
        "state": _LINE,
        "keep and write": _KEEP,
        "update gate": _SOURCES,
        "candidate": "The candidate sees the input, and the old state times its matrix through the reset gate r.",
    },
    "mingru": {
        "state": _LINE,
        "keep and write": _KEEP,
        "update gate": "A dotted line leads from the input to the update gate z.",
        "candidate": "The candidate sees the input alone.",
    },
    "lstm": {
        "cell": "The old cell state c runs straight along the top to the new one.",
        "forget and input": "The forget gate f keeps a share of the cell state, and the input gate i writes a "
        "share of the candidate g.",
        "candidate": "The candidate sees the input and the old state h.",
        "output": "From the cell state, tanh and the output gate o make the new state h.",
    },
    "unrolled": {
        "states": "Three steps lead from the state h_0 to h_1, h_2 and h_3.",
        "inputs": "At each step an input comes from below.",
        "losses": "Above each of the three states stand its readout s and its loss L.",
        "gradient": "The gradient runs from each loss down to its state, and from each state back to the one before.",
        "shares": "Below each step stands its share of the weights' gradient: the old state, transposed, times the "
        "gradient of the step's sum. The three shares are added.",
    },
    "truncated": {
        "stream": "Four steps lead from the state h_0 to h_4, with an input below each and a loss above.",
        "cut": "Between the second and the third step a line is drawn, which the state's arrow crosses.",
        "gradient": "The gradient runs from each loss down to its state, from h_4 back to h_3, and from h_2 to h_1.",
    },
    "attention": {
        "reading": "An encoder reads three inputs, one a step, into the states h_1, h_2 and h_3.",
        "handing over": "The encoder's last state is handed to the right.",
        "writing": "There it starts a decoder with states s_1 and s_2, which write y_1 and y_2; what was written "
        "is the next input.",
        "query": "From s_1, the query, a line runs back over all states of the encoder.",
        "scores": "The query meets each of the encoder's states in a score e.",
        "weights": "From each score rises a line as thick as its weight α.",
        "context": "The weighted states add up to the context c_1, which joins s_1 on its way to y_1.",
    },
}

_PARTS: dict[str, dict[str, Any]] = {**_cells.PARTS, **_sequences.PARTS}


class Drawing(NamedTuple):
    """An SVG, which a notebook shows, and its text in words."""

    name: str
    svg: str
    alt: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({self.name})"


def cell_drawing(name: str, *, upto: str | int | None = None, slim: bool = False) -> Drawing:
    """Draw a cell: one of "elman", "update" (Elman's with an update gate), "gru", "gru-after", "mingru" and "lstm".

    Or draw a sequence: "unrolled" (three steps, and the gradient's way back), "truncated" (four steps, cut after two)
    or "attention" (an encoder and a decoder).

    With `upto`, a name or a number from 1 on, it is drawn as far as that stage. What the stage adds is in its colours,
    the rest is grey, and everything stands where it stands in the whole drawing, which goes on below. `STAGES` says
    what each one adds. The slim form is for a phone. In a notebook, the drawing is shown if it ends a cell.

    Examples
    --------
    >>> from gru_book.drawings import STAGES, cell_drawing
    >>> drawing = cell_drawing("update")
    >>> drawing.svg.startswith("<svg"), drawing.alt[:44]
    (True, 'The old state runs straight to the new state')
    >>> list(STAGES["gru"])
    ['state', 'keep and write', 'update gate', 'candidate']
    >>> cell_drawing("gru", upto="state").alt
    'New: The old state runs straight along the top to the new state.'
    """
    check_choice("cell_drawing", "name", name, tuple(CELLS))
    parts: dict[str, Callable[[Any], None]] = _PARTS[name]
    stages = tuple(parts)
    stage = len(stages) if upto is None else _number(stages, upto)
    d = (_cells.CellCanvas if name in _cells.PARTS else _sequences.SequenceCanvas)(slim, stage)
    for number, part in enumerate(list(parts.values())[:stage], 1):
        d.fresh = upto is not None and number == stage
        d.quiet = upto is not None and not d.fresh
        part(d)
    if upto is None:
        return Drawing(name, d.svg(name), CELLS[name])
    *before, last = list(STAGES[name].values())[:stage]
    return Drawing(f"{name}, upto={stages[stage - 1]!r}", d.svg(name, stage), " ".join([*before, f"New: {last}"]))


def _number(stages: Sequence[str], upto: str | int) -> int:
    """A stage's number, from its number or its name."""
    if upto in stages:
        return stages.index(str(upto)) + 1
    if isinstance(upto, int) and not isinstance(upto, bool) and 1 <= upto <= len(stages):
        return upto
    known = ", ".join(f"{name!r} ({number})" for number, name in enumerate(stages, 1))
    raise ValueError(f"cell_drawing: upto must be one of {known}; got {upto!r}.")
