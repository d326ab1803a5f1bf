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

__all__ = ["CELLS", "Drawing", "cell_drawing"]

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

Z, R = 0.7, 0.5  # as the gates are drawn
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
    """Where things stand: where the old state branches off, r, n, z, and the sum; how wide the channels are."""

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


WIDE = _Layout(True, 668, 250, 70, 592, 50, 150, 244, 112, 204, 306, 420, 546, 20, 12)
SLIM = _Layout(False, 358, 252, 4, 354, 74, 166, 246, 28, 84, 158, 252, 318, 16, 10)


def cell_drawing(name: str, *, slim: bool = False) -> Drawing:
    """Draw a cell: one of "elman", "update" (Elman's with an update gate), "gru", "gru-after", "mingru" and "lstm".

    The slim form is for a phone. In a notebook, the drawing is shown if it ends a cell.

    Examples
    --------
    >>> from gru_lib.drawings import cell_drawing
    >>> drawing = cell_drawing("update")
    >>> drawing.svg.startswith("<svg"), drawing.alt[:44]
    (True, 'The old state runs straight to the new state')
    """
    check_choice("cell_drawing", "name", name, tuple(CELLS))
    d = _Canvas(SLIM if slim else WIDE)
    _PARTS[name](d)
    return Drawing(name, d.svg(name), CELLS[name])


# -------------------------------------------------------------------------------------------------------- the canvas


class _Canvas:
    """Layers, from back to front."""

    def __init__(self, layout: _Layout) -> None:
        self.at = layout
        self.layers: dict[str, list[str]] = {name: [] for name in ("track", "wire", "flow", "gate", "text")}

    def svg(self, name: str) -> str:
        """The whole file. `data-cell` tells the book's pages which drawing it is."""
        width, height = f"{self.at.width:g}", f"{self.at.height:g}"
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        body = "\n".join(element for layer in self.layers.values() for element in layer)
        return f'<svg xmlns="http://www.w3.org/2000/svg" data-cell="{name}" {size}>\n{body}\n</svg>\n'

    def line(self, layer: str, points: Sequence[Point], width: float, colour: str, dashes: str = "") -> None:
        d = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        more = f' stroke-dasharray="{dashes}"' if dashes else ""
        stroke = f'stroke="{COLOURS[colour]}" stroke-width="{width:g}" stroke-linejoin="round"{more}'
        self.layers[layer].append(f'<path d="{d}" fill="none" {stroke}/>')

    def flow(self, points: Sequence[Point], colour: str, width: float, channel: float = 0) -> None:
        """What flows, in a channel that is as wide as all of it would be."""
        if channel:
            self.line("track", points, channel, "track")
        self.line("flow", points, width, colour)

    def wire(self, points: Sequence[Point], tip: str) -> None:
        """What a gate is computed from."""
        (x, y), (end, level) = points[0], points[-1]
        self.line("wire", points, 1.4, "edge", "2 3")
        self.layers["gate"].append(f'<circle cx="{x:g}" cy="{y:g}" r="2.6" fill="{COLOURS["edge"]}"/>')
        self.tip(end, level, tip, "edge", 3.5)

    def tip(self, x: float, y: float, way: str, colour: str, size: float) -> None:
        """An arrow head that ends at (x, y)."""
        dx, dy = {"right": (1, 0), "left": (-1, 0), "up": (0, -1)}[way]
        base = (x - dx * size * 1.3, y - dy * size * 1.3)
        corners = [(x, y), *((base[0] + s * dy * size, base[1] + s * dx * size) for s in (1, -1))]
        points = " ".join(f"{a:g},{b:g}" for a, b in corners)
        self.layers["gate"].append(f'<polygon points="{points}" fill="{COLOURS[colour]}"/>')

    def plates(self, x: float, y: float, gap: float, colour: str, thick: float = 10, length: float = 14) -> None:
        """A gate across a channel."""
        for top in (y - gap / 2 - length, y + gap / 2):
            box = f'x="{x - thick / 2:g}" y="{top:g}" width="{thick:g}" height="{length:g}" rx="1"'
            self.layers["gate"].append(f'<rect {box} fill="{COLOURS[colour]}"/>')

    def framed(self, x: float, y: float, width: float, height: float, colour: str, round_: float, line: float) -> None:
        box = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="{round_:g}"'
        look = f'fill="{COLOURS["paper"]}" stroke="{COLOURS[colour]}" stroke-width="{line:g}"'
        self.layers["gate"].append(f"<rect {box} {look}/>")

    def text(self, x: float, y: float, body: str, colour: str, font: str, anchor: str = "middle") -> None:
        style = f"font: {font}; fill: {COLOURS[colour]}; text-anchor: {anchor}"
        self.layers["text"].append(f'<text x="{x:g}" y="{y:g}" style="{style}">{body}</text>')

    def maths(self, x: float, y: float, body: str, colour: str, size: float = 18, anchor: str = "middle") -> None:
        self.text(x, y, body, colour, f"italic {size:g}px {MATH}", anchor)

    def word(
        self, x: float, y: float, body: str, anchor: str = "middle", colour: str = "muted", size: int = 13
    ) -> None:
        self.text(x, y, body, colour, f"{size}px {SANS}", anchor)

    def verb(self, x: float, y: float, word: str, share: str, colour: str, anchor: str = "middle") -> None:
        """What a gate does, and its share: keep z."""
        tail = f"font: italic 16px {MATH}; fill: {COLOURS[colour]}"
        self.word(x, y, f'{word} <tspan style="{tail}">{share}</tspan>' if share else word, anchor, "ink", 14)

    def pill(self, x: float, y: float, letter: str) -> None:
        """A gate's handle."""
        self.framed(x, y, 40, 26, letter, 13, 1.6)
        self.maths(x, y + 5, _indexed(letter), letter)

    def box(self, x: float, y: float, letter: str, colour: str) -> None:
        """The candidate."""
        self.framed(x, y, 62, 38, colour, 3, 2)
        self.maths(x, y + 6, _indexed(letter), colour, 20)
        self.word(x, y - 26, "candidate")

    def plus(self, x: float, y: float) -> None:
        """Where two flows are added."""
        look = f'fill="{COLOURS["paper"]}" stroke="{COLOURS["edge"]}" stroke-width="1.4"'
        self.layers["gate"].append(f'<circle cx="{x:g}" cy="{y:g}" r="10.5" {look}/>')
        for points in ([(x - 5, y), (x + 5, y)], [(x, y - 5), (x, y + 5)]):
            self.line("gate", points, 1.8, "ink")

    def ends(self, letter: str, colour: str, y: float) -> None:
        """The names of a state, before and after."""
        at = self.at
        if at.wide:
            self.maths(at.left - 8, y + 4, _indexed(letter, PREVIOUS), colour, 21, "end")
            self.maths(at.right + 10, y + 4, _indexed(letter), colour, 21, "start")
            what = "state" if letter == "h" else "cell"
            self.word(at.left - 8, y + 24, f"old {what}", "end")
            self.word(at.right + 10, y + 24, f"new {what}", "start")
        else:
            self.maths(2, y - 17, _indexed(letter, PREVIOUS), colour, 19, "start")
            self.maths(at.width - 2, y - 17, _indexed(letter), colour, 19, "end")

    def input(self, x: float) -> None:
        """x_t, from below into the candidate."""
        at = self.at
        self.flow([(x, at.bottom), (x, at.middle + 28)], "x", at.side * 0.6)
        self.tip(x, at.middle + 20, "up", "x", 6)
        self.maths(x + 12, at.bottom - 2, _indexed("x"), "x", 19, "start")
        if at.wide:
            self.word(x + 34, at.bottom - 3, "input", "start")


def _indexed(letter: str, index: str = "t") -> str:
    """A letter with a subscript; the last span brings the baseline back."""
    sub = f'<tspan dy="0.28em" style="font-size: 0.7em">{index}</tspan>'
    return f'{letter}{sub}<tspan dy="-0.2em">&#8203;</tspan>'


# --------------------------------------------------------------------------------------------------------- the cells


def _elman(d: _Canvas) -> None:
    at = d.at
    top, middle, flow = at.top, at.middle, at.flow
    d.line("track", [(at.branch, top), (at.sum, top)], flow, "track", "2 7")
    down = [(at.left, top), (at.branch, top), (at.branch, middle), (at.n - 31 - flow * 0.8, middle)]
    d.flow(down, "h", flow)
    d.tip(at.n - 31, middle, "right", "h", flow * 0.72)
    d.flow([(at.n + 31, middle), (at.sum, middle), (at.sum, top)], "n", flow)
    d.word((at.branch + at.sum) / 2, top - 16, "no way past the candidate")
    d.word((at.n + 31 + at.sum) / 2 + 2, middle + 26, "all is rewritten")
    _finish(d, from_sum=at.sum - flow / 2)


def _gated(d: _Canvas, kind: str) -> None:
    at = d.at
    top, middle, flow = at.top, at.middle, at.flow
    d.flow([(at.left, top), (at.z, top)], "h", flow, flow)
    d.flow([(at.z, top), (at.sum, top)], "h", flow * Z, flow)
    d.flow([(at.n + 31, middle), (at.z, middle)], "n", flow, flow)
    d.flow([(at.z, middle), (at.sum, middle), (at.sum, top + 12)], "n", flow * (1 - Z), flow)
    if kind != "mingru":
        _side_channel(d, kind)
    _update_gate(d, kind)
    d.plus(at.sum, top)
    _finish(d, from_sum=at.sum)


def _side_channel(d: _Canvas, kind: str) -> None:
    """From the old state to the candidate, past the reset gate if there is one."""
    at = d.at
    middle, side, begin = at.middle, at.side, at.n - 37
    after = kind == "gru-after"
    if kind == "update":
        d.flow([(at.branch, at.top), (at.branch, middle), (begin, middle)], "h", side, side)
    else:
        role = "edge" if after else "h"  # after the product it is no longer a state
        d.flow([(at.branch, at.top), (at.branch, middle), (at.r, middle)], "h", side, side)
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
    d.tip(at.n - 31, middle, "right", "edge" if after else "h", side * 0.75)


def _update_gate(d: _Canvas, kind: str) -> None:
    at = d.at
    top, middle, flow = at.top, at.middle, at.flow
    y = top + (50 if at.wide else 44)
    d.plates(at.z, top, flow * Z, "z")
    d.plates(at.z, middle, flow * (1 - Z), "z")
    d.line("flow", [(at.z, top + flow * Z / 2 + 10), (at.z, middle - flow * (1 - Z) / 2 - 10)], 1.6, "z")
    d.pill(at.z, y, "z")
    d.verb(at.z, top - flow / 2 - 19, "keep", _indexed("z"), "z")
    one_less = f'<tspan style="font-style: normal">1 − </tspan>{_indexed("z")}'
    d.verb(at.z, middle + flow / 2 + 28, "write", one_less, "z")
    if at.wide:
        d.word((at.branch + at.z) / 2, top - flow / 2 - 9, "straight through")
        d.word(at.z + 27, y - 7, "update gate", "start")
    if kind != "mingru":
        d.wire([(at.branch, y), (at.z - 21, y)], "right")
    turn, low = (at.z + 102, at.middle + 74) if at.wide else (at.z + 51, at.middle + 62)
    d.wire([(at.n, low), (turn, low), (turn, y), (at.z + 21, y)], "left")


def _finish(d: _Canvas, from_sum: float) -> None:
    """The new state, the candidate, the input and the names."""
    at = d.at
    d.flow([(from_sum, at.top), (at.right - at.flow * 0.9, at.top)], "h", at.flow)
    d.tip(at.right, at.top, "right", "h", at.flow * 0.72)
    d.box(at.n, at.middle, "n", "n")
    d.input(at.n)
    d.ends("h", "h", at.top)


def _lstm(d: _Canvas) -> None:
    at = d.at
    top, middle, flow, side = at.top + (24 if at.wide else 0), at.middle + (4 if at.wide else 0), at.flow, at.side
    n, i, plus, tanh, o = (172, 266, 340, 404, 474) if at.wide else (86, 164, 212, 250, 294)
    f_open, i_open, o_open, away = 0.7, 0.6, 0.5, 46
    d.flow([(at.left, top), (i, top)], "lstm-c", flow, flow)
    d.flow([(i, top), (plus, top)], "lstm-c", flow * f_open, flow)
    d.flow([(plus, top), (at.right - flow * 0.9, top)], "lstm-c", flow)
    d.tip(at.right, top, "right", "lstm-c", flow * 0.72)
    d.flow([(at.left, middle), (n - 37, middle)], "h", side)
    d.tip(n - 31, middle, "right", "h", side * 0.75)
    d.flow([(n + 31, middle), (i, middle)], "lstm-g", flow, flow)
    d.flow([(i, middle), (plus, middle), (plus, top + 12)], "lstm-g", flow * i_open, flow)
    d.flow([(tanh, top), (tanh, middle), (o, middle)], "lstm-c", side, side)
    d.flow([(o, middle), (at.right - 9, middle)], "h", side * o_open, side)
    d.tip(at.right, middle, "right", "h", side * 0.8)
    for letter, verb, x, y, gap, handle in (
        ("f", "keep", i, top, flow * f_open, top - away),
        ("i", "write", i, middle, flow * i_open, middle + away),
        ("o", "show", o, middle, side * o_open, middle + away),
    ):
        colour = f"lstm-{letter}"
        d.plates(x, y, gap, colour)
        toward = -1 if handle < y else 1
        d.line("flow", [(x, handle), (x, y + toward * (gap / 2 + 10))], 1.6, colour)
        d.framed(x, handle, 40, 26, colour, 13, 1.6)
        d.maths(x, handle + 5, _indexed(letter), colour)
        d.word(x + 27, handle + 5, verb, "start", "ink", 14)
        reads = f'<tspan fill="{COLOURS["x"]}">x</tspan>, <tspan fill="{COLOURS["h"]}">h</tspan>'
        d.maths(x - 34, handle + 4.5, reads, "muted", 15, "end")
        d.line("wire", [(x - 31, handle), (x - 24, handle)], 1.4, "edge")
        d.tip(x - 21, handle, "right", "edge", 3.5)
        if at.wide:
            full = {"f": "forget gate", "i": "input gate", "o": "output gate"}[letter]
            d.word(x + 66, handle + 5, full, "start")
    d.framed(tanh, (top + middle) / 2, 40, 24, "edge", 12, 1.4)
    d.word(tanh, (top + middle) / 2 + 4.5, "tanh")
    d.plus(plus, top)
    d.box(n, middle, "g", "lstm-g")
    d.input(n)
    d.ends("c", "lstm-c", top)
    d.ends("h", "h", middle)


_PARTS: dict[str, Callable[[_Canvas], None]] = {
    "elman": _elman,
    "update": lambda d: _gated(d, "update"),
    "gru": lambda d: _gated(d, "gru"),
    "gru-after": lambda d: _gated(d, "gru-after"),
    "mingru": lambda d: _gated(d, "mingru"),
    "lstm": _lstm,
}
