"""The cells as drawings of what flows where, all in one style, to be laid side by side: ``cell_drawing("gru")``.

The state is the thick line along the top: h_{t−1} comes from the left, h_t leaves on the right, x_t comes from below. A
gate is two plates; the gap between them is the gate's value, and what passes is as wide as the gap. A dotted line leads
to a gate from what it is computed from. Nothing is measured: z = 0.7 and r = 0.5 are only drawn so.

A drawing is an SVG in the light colours of `gru_lib.viz`; the book's pages put their theme's colours in their place,
and on a phone show the slim form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gru_lib._core.checks import check_choice
from gru_lib.viz import COLOURS

__all__ = ["CELLS", "STAGES", "Drawing", "cell_drawing"]

Point = tuple[float, float]

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
}

Z, R = 0.7, 0.5  # as the gates are drawn
FORGET, INPUT, OUTPUT = 0.7, 0.6, 0.5
MATH, SANS = "'STIXGeneral', serif", "'DejaVu Sans', sans-serif"
PREVIOUS = "t−1"


class Drawing(NamedTuple):
    """An SVG, which a notebook shows, and its text in words."""

    name: str
    svg: str
    alt: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({self.name})"


class _Layout(NamedTuple):
    """Where things stand: where the old state branches off, r, n, z, and the sum; how wide the channels are; how
    high z's handle stands."""

    wide: bool
    width: float
    height: float
    left: float
    right: float
    top: float
    middle: float
    bottom: float
    branch: float
    r: float
    n: float
    z: float
    sum: float
    flow: float
    side: float
    handle: float


WIDE = _Layout(True, 668, 250, 70, 592, 50, 150, 244, 112, 204, 306, 420, 546, 20, 12, 100)
SLIM = _Layout(False, 358, 252, 4, 354, 74, 166, 246, 28, 84, 158, 252, 318, 16, 10, 118)


def cell_drawing(name: str, *, upto: str | int | None = None, slim: bool = False) -> Drawing:
    """Draw a cell: one of "elman", "update" (Elman's with an update gate), "gru", "gru-after", "mingru" and "lstm".

    With `upto`, a name or a number from 1 on, it is drawn as far as that stage. What the stage adds is in its colours,
    the rest is grey, and everything stands where it stands in the whole drawing. `STAGES` says what each one adds. The
    slim form is for a phone. In a notebook, the drawing is shown if it ends a cell.

    Examples
    --------
    >>> from gru_lib.drawings import STAGES, cell_drawing
    >>> drawing = cell_drawing("update")
    >>> drawing.svg.startswith("<svg"), drawing.alt[:44]
    (True, 'The old state runs straight to the new state')
    >>> list(STAGES["gru"])
    ['state', 'keep and write', 'update gate', 'candidate']
    >>> cell_drawing("gru", upto="state").alt
    'New: The old state runs straight along the top to the new state.'
    """
    check_choice("cell_drawing", "name", name, tuple(CELLS))
    stages = tuple(_PARTS[name])
    stage = len(stages) if upto is None else _number(stages, upto)
    d = _Canvas(SLIM if slim else WIDE, stage)
    for number, part in enumerate(list(_PARTS[name].values())[:stage], 1):
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


# -------------------------------------------------------------------------------------------------------- the canvas


class _Canvas:
    """Layers, from back to front."""

    def __init__(self, layout: _Layout, stage: int) -> None:
        self.at, self.stage = layout, stage
        self.quiet = self.fresh = False  # while an earlier stage is drawn, and while the newest of some is
        self.layers: dict[str, list[str]] = {name: [] for name in ("track", "wire", "flow", "gate", "text")}

    def tone(self, colour: str, quiet: str = "edge") -> str:
        """A colour, or what stands for it in an earlier stage."""
        return COLOURS[quiet if self.quiet and colour not in ("paper", "track") else colour]

    def svg(self, name: str, stage: int | None = None) -> str:
        """The whole file. `data-cell` and `data-upto` tell the book's pages which drawing it is."""
        width, height = f"{self.at.width:g}", f"{self.at.height:g}"
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        upto = f' data-upto="{stage}"' if stage else ""
        body = "\n".join(element for layer in self.layers.values() for element in layer)
        return f'<svg xmlns="http://www.w3.org/2000/svg" data-cell="{name}"{upto} {size}>\n{body}\n</svg>\n'

    def line(self, layer: str, points: Sequence[Point], width: float, colour: str, dashes: str = "") -> None:
        d = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        more = f' stroke-dasharray="{dashes}"' if dashes else ""
        stroke = f'stroke="{self.tone(colour)}" stroke-width="{width:g}" stroke-linejoin="round"{more}'
        self.layers[layer].append(f'<path d="{d}" fill="none" {stroke}/>')

    def flow(self, points: Sequence[Point], colour: str, width: float, channel: float = 0) -> None:
        """What flows, in a channel that is as wide as all of it would be."""
        if channel:
            self.line("track", points, channel, "track")
        self.line("flow", points, width, colour)

    def wire(self, points: Sequence[Point], tip: str) -> None:
        """What a gate is computed from."""
        (x, y), (end, level) = points[0], points[-1]
        colour = "ink" if self.fresh else "edge"
        self.line("wire", points, 1.4, colour, "2 3")
        self.layers["gate"].append(f'<circle cx="{x:g}" cy="{y:g}" r="2.6" fill="{self.tone(colour)}"/>')
        self.tip(end, level, tip, colour, 3.5)

    def tip(self, x: float, y: float, way: str, colour: str, size: float) -> None:
        """An arrow head that ends at (x, y)."""
        dx, dy = {"right": (1, 0), "left": (-1, 0), "up": (0, -1)}[way]
        base = (x - dx * size * 1.3, y - dy * size * 1.3)
        corners = [(x, y), *((base[0] + s * dy * size, base[1] + s * dx * size) for s in (1, -1))]
        points = " ".join(f"{a:g},{b:g}" for a, b in corners)
        self.layers["gate"].append(f'<polygon points="{points}" fill="{self.tone(colour)}"/>')

    def plates(self, x: float, y: float, gap: float, colour: str, thick: float = 10, length: float = 14) -> None:
        """A gate across a channel."""
        for top in (y - gap / 2 - length, y + gap / 2):
            box = f'x="{x - thick / 2:g}" y="{top:g}" width="{thick:g}" height="{length:g}" rx="1"'
            self.layers["gate"].append(f'<rect {box} fill="{self.tone(colour)}"/>')

    def framed(self, x: float, y: float, width: float, height: float, colour: str, round_: float, line: float) -> None:
        box = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="{round_:g}"'
        look = f'fill="{self.tone("paper")}" stroke="{self.tone(colour)}" stroke-width="{line:g}"'
        self.layers["gate"].append(f"<rect {box} {look}/>")

    def text(self, x: float, y: float, body: str, colour: str, font: str, anchor: str = "middle") -> None:
        style = f"font: {font}; fill: {self.tone(colour, 'muted')}; text-anchor: {anchor}"
        self.layers["text"].append(f'<text x="{x:g}" y="{y:g}" style="{style}">{body}</text>')

    def maths(self, x: float, y: float, body: str, colour: str, size: float = 18, anchor: str = "middle") -> None:
        self.text(x, y, body, colour, f"italic {size:g}px {MATH}", anchor)

    def word(
        self, x: float, y: float, body: str, anchor: str = "middle", colour: str = "muted", size: int = 13
    ) -> None:
        self.text(x, y, body, colour, f"{size}px {SANS}", anchor)

    def verb(self, x: float, y: float, word: str, share: str, colour: str, anchor: str = "middle") -> None:
        """What a gate does, and its share: keep z."""
        tail = f"font: italic 16px {MATH}; fill: {self.tone(colour, 'muted')}"
        self.word(x, y, f'{word} <tspan style="{tail}">{share}</tspan>' if share else word, anchor, "ink", 14)

    def pill(self, x: float, y: float, letter: str) -> None:
        """A gate's handle."""
        self.framed(x, y, 40, 26, letter, 13, 1.6)
        self.maths(x, y + 5, _indexed(letter), letter)

    def box(self, x: float, y: float, letter: str, colour: str, word: str = "candidate") -> None:
        """The candidate."""
        self.framed(x, y, 62, 38, colour, 3, 2)
        self.maths(x, y + 6, _indexed(letter), colour, 20)
        self.word(x, y - 26, word)

    def plus(self, x: float, y: float) -> None:
        """Where two flows are added."""
        look = f'fill="{self.tone("paper")}" stroke="{self.tone("edge")}" stroke-width="1.4"'
        self.layers["gate"].append(f'<circle cx="{x:g}" cy="{y:g}" r="10.5" {look}/>')
        for points in ([(x - 5, y), (x + 5, y)], [(x, y - 5), (x, y + 5)]):
            self.line("gate", points, 1.8, "ink")

    def old(self, letter: str, colour: str, y: float) -> None:
        """The name of a state before the step."""
        at = self.at
        if at.wide:
            self.maths(at.left - 8, y + 4, _indexed(letter, PREVIOUS), colour, 21, "end")
            self.word(at.left - 8, y + 24, "old state" if letter == "h" else "old cell", "end")
        else:
            self.maths(2, y - 17, _indexed(letter, PREVIOUS), colour, 19, "start")

    def new_name(self, letter: str, colour: str, y: float) -> None:
        """The name of a state after the step."""
        at = self.at
        if at.wide:
            self.maths(at.right + 10, y + 4, _indexed(letter), colour, 21, "start")
            self.word(at.right + 10, y + 24, "new state" if letter == "h" else "new cell", "start")
        else:
            self.maths(at.width - 2, y - 17, _indexed(letter), colour, 19, "end")

    def leave(self, letter: str, start: float, y: float, colour: str = "h") -> None:
        """The new state, from where it is complete."""
        at = self.at
        self.flow([(start, y), (at.right - at.flow * 0.9, y)], colour, at.flow)
        self.tip(at.right, y, "right", colour, at.flow * 0.72)
        self.new_name(letter, colour, y)

    def input(self, x: float, end: float | None = None) -> None:
        """x_t from below, as far as `end` or into the box."""
        at = self.at
        if end is None:
            self.into_box(x, at.bottom)
        else:
            self.flow([(x, at.bottom), (x, end)], "x", at.side * 0.6)
        self.maths(x + 12, at.bottom - 2, _indexed("x"), "x", 19, "start")
        if at.wide:
            self.word(x + 34, at.bottom - 3, "input", "start")

    def into_box(self, x: float, start: float) -> None:
        """The input's way into the candidate."""
        at = self.at
        self.flow([(x, start), (x, at.middle + 28)], "x", at.side * 0.6)
        self.tip(x, at.middle + 20, "up", "x", 6)


Part = Callable[[_Canvas], None]


def _indexed(letter: str, index: str = "t") -> str:
    """A letter with a subscript; the last span brings the baseline back."""
    sub = f'<tspan dy="0.28em" style="font-size: 0.7em">{index}</tspan>'
    return f'{letter}{sub}<tspan dy="-0.2em">&#8203;</tspan>'


# --------------------------------------------------------------------------------------------------------- the cells


def _elman_input(d: _Canvas) -> None:
    d.framed(d.at.n, d.at.middle, 62, 38, "edge", 3, 2)
    d.input(d.at.n)


def _elman_old(d: _Canvas) -> None:
    at = d.at
    down = [(at.left, at.top), (at.branch, at.top), (at.branch, at.middle), (at.n - 31 - at.flow * 0.8, at.middle)]
    d.flow(down, "h", at.flow)
    d.tip(at.n - 31, at.middle, "right", "h", at.flow * 0.72)
    d.old("h", "h", at.top)


def _elman_tanh(d: _Canvas) -> None:
    d.box(d.at.n, d.at.middle, "n", "n", "tanh: candidate")


def _elman_new(d: _Canvas) -> None:
    at = d.at
    d.line("track", [(at.branch + at.flow / 2, at.top), (at.sum, at.top)], at.flow, "track", "2 7")
    d.flow([(at.n + 31, at.middle), (at.sum, at.middle), (at.sum, at.top)], "n", at.flow)
    d.word((at.branch + at.sum) / 2, at.top - 16, "no way past the candidate")
    d.word((at.n + 31 + at.sum) / 2 + 2, at.middle + 26, "all is rewritten")
    d.leave("h", at.sum - at.flow / 2, at.top)


def _gated(kind: str) -> dict[str, Part]:
    """The stages of a cell with an update gate."""
    return {
        "state": _state,
        "keep and write": _keep_and_write,
        "update gate": lambda d: _update_gate(d, kind),
        "candidate": lambda d: _candidate(d, kind),
    }


def _state(d: _Canvas) -> None:
    at = d.at
    d.flow([(at.left, at.top), (at.z, at.top)], "h", at.flow, at.flow)
    d.flow([(at.z, at.top), (at.sum, at.top)], "h", at.flow * (Z if d.stage > 1 else 1), at.flow)
    d.leave("h", at.sum, at.top)
    d.old("h", "h", at.top)
    if at.wide:
        d.word((at.branch + at.z) / 2, at.top - at.flow / 2 - 9, "straight through")


def _keep_and_write(d: _Canvas) -> None:
    at = d.at
    top, middle, flow, y = at.top, at.middle, at.flow, at.handle
    d.flow([(at.n + 31, middle), (at.z, middle)], "n", flow, flow)
    d.flow([(at.z, middle), (at.sum, middle), (at.sum, top + 12)], "n", flow * (1 - Z), flow)
    d.plates(at.z, top, flow * Z, "z")
    d.plates(at.z, middle, flow * (1 - Z), "z")
    d.line("flow", [(at.z, top + flow * Z / 2 + 10), (at.z, middle - flow * (1 - Z) / 2 - 10)], 1.6, "z")
    d.pill(at.z, y, "z")
    d.verb(at.z, top - flow / 2 - 19, "keep", _indexed("z"), "z")
    one_less = f'<tspan style="font-style: normal">1 − </tspan>{_indexed("z")}'
    d.verb(at.z, middle + flow / 2 + 28, "write", one_less, "z")
    if at.wide:
        d.word(at.z + 27, y - 7, "update gate", "start")
    d.plus(at.sum, top)
    d.box(at.n, middle, "n", "n")


def _update_gate(d: _Canvas, kind: str) -> None:
    """What z is computed from."""
    at = d.at
    y, low = at.handle, at.bottom - 20
    if kind != "mingru":
        d.flow([(at.branch, at.top + at.flow / 2), (at.branch, y)], "h", at.side, at.side)
        d.wire([(at.branch, y), (at.z - 21, y)], "right")
    d.input(at.n, low)
    turn = at.z + (102 if at.wide else 51)
    d.wire([(at.n, low), (turn, low), (turn, y), (at.z + 21, y)], "left")
    if d.fresh:  # what the stage is about
        d.pill(at.z, y, "z")


def _candidate(d: _Canvas, kind: str) -> None:
    """What the candidate sees: the input, and the old state past the reset gate if there is one."""
    at = d.at
    middle, side, begin = at.middle, at.side, at.n - 37
    d.into_box(at.n, at.bottom - 20)
    if d.fresh:
        d.box(at.n, middle, "n", "n")
    if kind == "mingru":
        return
    after = kind == "gru-after"
    role = "edge" if after else "h"  # after the product it is no longer a state
    corner: list[Point] = [(at.branch, at.handle), (at.branch, middle)]
    if kind == "update":
        d.flow([*corner, (begin, middle)], "h", side, side)
    else:
        d.flow([*corner, (at.r, middle)], "h", side, side)
        d.flow([(at.r, middle), (begin, middle)], role, side * R, side)
        if after:
            x = (at.branch + at.r) / 2
            d.flow([(x, middle), (at.r, middle)], role, side)
            d.framed(x, middle, 46 if at.wide else 36, 24, "edge", 2, 1.4)
            d.maths(x, middle + 4, _indexed("W", "hn"), "ink", 15)
        d.plates(at.r, middle, side * R, "r", 9, 12)
        y = middle + (54 if at.wide else 46)
        d.line("flow", [(at.r, y - 13), (at.r, middle + side * R / 2 + 10)], 1.6, "r")
        d.pill(at.r, y, "r")
        d.verb(at.r, middle - side / 2 - 16, "see", _indexed("r"), "r")
        if at.wide:
            d.word(at.r, y + 28, "reset gate")
        d.wire([(at.branch, middle), (at.branch, y), (at.r - 21, y)], "right")
        d.wire([(at.n, y), (at.r + 21, y)], "left")
    d.tip(at.n - 31, middle, "right", role, side * 0.75)


class _Lstm(NamedTuple):
    """Where an LSTM's parts stand."""

    top: float
    middle: float
    n: float
    i: float
    plus: float
    tanh: float
    o: float


def _lstm(d: _Canvas) -> _Lstm:
    if d.at.wide:
        return _Lstm(d.at.top + 24, d.at.middle + 4, 172, 266, 340, 404, 474)
    return _Lstm(d.at.top, d.at.middle, 86, 164, 212, 250, 294)


def _lstm_cell(d: _Canvas) -> None:
    at, flow, to = d.at, d.at.flow, _lstm(d)
    d.flow([(at.left, to.top), (to.i, to.top)], "lstm-c", flow, flow)
    d.flow([(to.i, to.top), (to.plus, to.top)], "lstm-c", flow * (FORGET if d.stage > 1 else 1), flow)
    d.leave("c", to.plus, to.top, "lstm-c")
    d.old("c", "lstm-c", to.top)


def _lstm_gates(d: _Canvas) -> None:
    flow, to = d.at.flow, _lstm(d)
    d.flow([(to.n + 31, to.middle), (to.i, to.middle)], "lstm-g", flow, flow)
    d.flow([(to.i, to.middle), (to.plus, to.middle), (to.plus, to.top + 12)], "lstm-g", flow * INPUT, flow)
    _lstm_gate(d, "f", "keep", "forget gate", to.i, to.top, flow * FORGET, -1)
    _lstm_gate(d, "i", "write", "input gate", to.i, to.middle, flow * INPUT, 1)
    d.plus(to.plus, to.top)
    d.box(to.n, to.middle, "g", "lstm-g")


def _lstm_gate(d: _Canvas, letter: str, verb: str, full: str, x: float, y: float, gap: float, toward: int) -> None:
    colour, handle = f"lstm-{letter}", y + 46 * toward
    d.plates(x, y, gap, colour)
    d.line("flow", [(x, handle), (x, y + toward * (gap / 2 + 10))], 1.6, colour)
    d.framed(x, handle, 40, 26, colour, 13, 1.6)
    d.maths(x, handle + 5, _indexed(letter), colour)
    d.word(x + 27, handle + 5, verb, "start", "ink", 14)
    reads = f'<tspan fill="{d.tone("x", "muted")}">x</tspan>, <tspan fill="{d.tone("h", "muted")}">h</tspan>'
    d.maths(x - 34, handle + 4.5, reads, "muted", 15, "end")
    d.line("wire", [(x - 31, handle), (x - 24, handle)], 1.4, "edge")
    d.tip(x - 21, handle, "right", "edge", 3.5)
    if d.at.wide:
        d.word(x + 66, handle + 5, full, "start")


def _lstm_candidate(d: _Canvas) -> None:
    at, to = d.at, _lstm(d)
    d.flow([(at.left, to.middle), (to.n - 37, to.middle)], "h", at.side)
    d.tip(to.n - 31, to.middle, "right", "h", at.side * 0.75)
    d.input(to.n)
    d.old("h", "h", to.middle)
    if d.fresh:
        d.box(to.n, to.middle, "g", "lstm-g")


def _lstm_output(d: _Canvas) -> None:
    at, side, to = d.at, d.at.side, _lstm(d)
    start = to.top + at.flow / 2
    d.flow([(to.tanh, start), (to.tanh, to.middle), (to.o, to.middle)], "lstm-c", side, side)
    d.flow([(to.o, to.middle), (at.right - 9, to.middle)], "h", side * OUTPUT, side)
    d.tip(at.right, to.middle, "right", "h", side * 0.8)
    _lstm_gate(d, "o", "show", "output gate", to.o, to.middle, side * OUTPUT, 1)
    d.framed(to.tanh, (to.top + to.middle) / 2, 40, 24, "edge", 12, 1.4)
    d.word(to.tanh, (to.top + to.middle) / 2 + 4.5, "tanh")
    d.new_name("h", "h", to.middle)


#: Of each drawing, the stages in order, with what draws them.
_PARTS: dict[str, dict[str, Part]] = {
    "elman": {"input": _elman_input, "old state": _elman_old, "tanh": _elman_tanh, "new state": _elman_new},
    "update": _gated("update"),
    "gru": _gated("gru"),
    "gru-after": _gated("gru-after"),
    "mingru": _gated("mingru"),
    "lstm": {"cell": _lstm_cell, "forget and input": _lstm_gates, "candidate": _lstm_candidate, "output": _lstm_output},
}
