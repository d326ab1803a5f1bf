"""The cells: what flows where in one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gru_book.drawings._canvas import Canvas, Point, indexed

Z, R = 0.7, 0.5  # as the gates are drawn
FORGET, INPUT, OUTPUT = 0.7, 0.6, 0.5
PREVIOUS = "t−1"


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


class CellCanvas(Canvas):
    """With the pieces of a cell."""

    def __init__(self, slim: bool, stage: int) -> None:
        self.at = SLIM if slim else WIDE
        super().__init__(self.at.width, self.at.height, stage)

    def pill(self, x: float, y: float, letter: str) -> None:
        """A gate's handle."""
        self.framed(x, y, 40, 26, letter, 13, 1.6)
        self.maths(x, y + 5, indexed(letter), letter)

    def box(self, x: float, y: float, letter: str, colour: str, word: str = "candidate") -> None:
        """The candidate."""
        self.framed(x, y, 62, 38, colour, 3, 2)
        self.maths(x, y + 6, indexed(letter), colour, 20)
        self.word(x, y - 26, word)

    def old(self, letter: str, colour: str, y: float) -> None:
        """The name of a state before the step."""
        at = self.at
        if at.wide:
            self.maths(at.left - 8, y + 4, indexed(letter, PREVIOUS), colour, 21, "end")
            self.word(at.left - 8, y + 24, "old state" if letter == "h" else "old cell", "end")
        else:
            self.maths(2, y - 17, indexed(letter, PREVIOUS), colour, 19, "start")

    def new_name(self, letter: str, colour: str, y: float) -> None:
        """The name of a state after the step."""
        at = self.at
        if at.wide:
            self.maths(at.right + 10, y + 4, indexed(letter), colour, 21, "start")
            self.word(at.right + 10, y + 24, "new state" if letter == "h" else "new cell", "start")
        else:
            self.maths(at.width - 2, y - 17, indexed(letter), colour, 19, "end")

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
        self.maths(x + 12, at.bottom - 2, indexed("x"), "x", 19, "start")
        if at.wide:
            self.word(x + 34, at.bottom - 3, "input", "start")

    def into_box(self, x: float, start: float) -> None:
        """The input's way into the candidate."""
        at = self.at
        self.flow([(x, start), (x, at.middle + 28)], "x", at.side * 0.6)
        self.tip(x, at.middle + 20, "up", "x", 6)


Part = Callable[[CellCanvas], None]


def _elman_input(d: CellCanvas) -> None:
    d.framed(d.at.n, d.at.middle, 62, 38, "edge", 3, 2)
    d.input(d.at.n)


def _elman_old(d: CellCanvas) -> None:
    at = d.at
    down = [(at.left, at.top), (at.branch, at.top), (at.branch, at.middle), (at.n - 31 - at.flow * 0.8, at.middle)]
    d.flow(down, "h", at.flow)
    d.tip(at.n - 31, at.middle, "right", "h", at.flow * 0.72)
    d.old("h", "h", at.top)


def _elman_tanh(d: CellCanvas) -> None:
    d.box(d.at.n, d.at.middle, "n", "n", "tanh: candidate")


def _elman_new(d: CellCanvas) -> None:
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


def _state(d: CellCanvas) -> None:
    at = d.at
    d.flow([(at.left, at.top), (at.z, at.top)], "h", at.flow, at.flow)
    d.flow([(at.z, at.top), (at.sum, at.top)], "h", at.flow * (Z if d.stage > 1 else 1), at.flow)
    d.leave("h", at.sum, at.top)
    d.old("h", "h", at.top)
    if at.wide:
        d.word((at.branch + at.z) / 2, at.top - at.flow / 2 - 9, "straight through")


def _keep_and_write(d: CellCanvas) -> None:
    at = d.at
    top, middle, flow, y = at.top, at.middle, at.flow, at.handle
    d.flow([(at.n + 31, middle), (at.z, middle)], "n", flow, flow)
    d.flow([(at.z, middle), (at.sum, middle), (at.sum, top + 12)], "n", flow * (1 - Z), flow)
    d.plates(at.z, top, flow * Z, "z")
    d.plates(at.z, middle, flow * (1 - Z), "z")
    d.line("flow", [(at.z, top + flow * Z / 2 + 10), (at.z, middle - flow * (1 - Z) / 2 - 10)], 1.6, "z")
    d.pill(at.z, y, "z")
    d.verb(at.z, top - flow / 2 - 19, "keep", indexed("z"), "z")
    one_less = f'<tspan style="font-style: normal">1 − </tspan>{indexed("z")}'
    d.verb(at.z, middle + flow / 2 + 28, "write", one_less, "z")
    if at.wide:
        d.word(at.z + 27, y - 7, "update gate", "start")
    d.plus(at.sum, top)
    d.box(at.n, middle, "n", "n")


def _update_gate(d: CellCanvas, kind: str) -> None:
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


def _candidate(d: CellCanvas, kind: str) -> None:
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
            d.maths(x, middle + 4, indexed("W", "hn"), "ink", 15)
        d.plates(at.r, middle, side * R, "r", 9, 12)
        y = middle + (54 if at.wide else 46)
        d.line("flow", [(at.r, y - 13), (at.r, middle + side * R / 2 + 10)], 1.6, "r")
        d.pill(at.r, y, "r")
        d.verb(at.r, middle - side / 2 - 16, "see", indexed("r"), "r")
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


def _lstm(d: CellCanvas) -> _Lstm:
    if d.at.wide:
        return _Lstm(d.at.top + 24, d.at.middle + 4, 172, 266, 340, 404, 474)
    return _Lstm(d.at.top, d.at.middle, 86, 164, 212, 250, 294)


def _lstm_cell(d: CellCanvas) -> None:
    at, flow, to = d.at, d.at.flow, _lstm(d)
    d.flow([(at.left, to.top), (to.i, to.top)], "lstm-c", flow, flow)
    d.flow([(to.i, to.top), (to.plus, to.top)], "lstm-c", flow * (FORGET if d.stage > 1 else 1), flow)
    d.leave("c", to.plus, to.top, "lstm-c")
    d.old("c", "lstm-c", to.top)


def _lstm_gates(d: CellCanvas) -> None:
    flow, to = d.at.flow, _lstm(d)
    d.flow([(to.n + 31, to.middle), (to.i, to.middle)], "lstm-g", flow, flow)
    d.flow([(to.i, to.middle), (to.plus, to.middle), (to.plus, to.top + 12)], "lstm-g", flow * INPUT, flow)
    _lstm_gate(d, "f", "keep", "forget gate", to.i, to.top, flow * FORGET, -1)
    _lstm_gate(d, "i", "write", "input gate", to.i, to.middle, flow * INPUT, 1)
    d.plus(to.plus, to.top)
    d.box(to.n, to.middle, "g", "lstm-g")


def _lstm_gate(d: CellCanvas, letter: str, verb: str, full: str, x: float, y: float, gap: float, toward: int) -> None:
    colour, handle = f"lstm-{letter}", y + 46 * toward
    d.plates(x, y, gap, colour)
    d.line("flow", [(x, handle), (x, y + toward * (gap / 2 + 10))], 1.6, colour)
    d.framed(x, handle, 40, 26, colour, 13, 1.6)
    d.maths(x, handle + 5, indexed(letter), colour)
    d.word(x + 27, handle + 5, verb, "start", "ink", 14)
    reads = f'<tspan fill="{d.tone("x", "muted")}">x</tspan>, <tspan fill="{d.tone("h", "muted")}">h</tspan>'
    d.maths(x - 34, handle + 4.5, reads, "muted", 15, "end")
    d.line("wire", [(x - 31, handle), (x - 24, handle)], 1.4, "edge")
    d.tip(x - 21, handle, "right", "edge", 3.5)
    if d.at.wide:
        d.word(x + 66, handle + 5, full, "start")


def _lstm_candidate(d: CellCanvas) -> None:
    at, to = d.at, _lstm(d)
    d.flow([(at.left, to.middle), (to.n - 37, to.middle)], "h", at.side)
    d.tip(to.n - 31, to.middle, "right", "h", at.side * 0.75)
    d.input(to.n)
    d.old("h", "h", to.middle)
    if d.fresh:
        d.box(to.n, to.middle, "g", "lstm-g")


def _lstm_output(d: CellCanvas) -> None:
    at, side, to = d.at, d.at.side, _lstm(d)
    start = to.top + at.flow / 2
    d.flow([(to.tanh, start), (to.tanh, to.middle), (to.o, to.middle)], "lstm-c", side, side)
    d.flow([(to.o, to.middle), (at.right - 9, to.middle)], "h", side * OUTPUT, side)
    d.tip(at.right, to.middle, "right", "h", side * 0.8)
    _lstm_gate(d, "o", "show", "output gate", to.o, to.middle, side * OUTPUT, 1)
    d.framed(to.tanh, (to.top + to.middle) / 2, 40, 24, "edge", 12, 1.4)
    d.word(to.tanh, (to.top + to.middle) / 2 + 4.5, "tanh")
    d.new_name("h", "h", to.middle)


#: Of each cell, the stages in order, with what draws them.
PARTS: dict[str, dict[str, Part]] = {
    "elman": {"input": _elman_input, "old state": _elman_old, "tanh": _elman_tanh, "new state": _elman_new},
    "update": _gated("update"),
    "gru": _gated("gru"),
    "gru-after": _gated("gru-after"),
    "mingru": _gated("mingru"),
    "lstm": {"cell": _lstm_cell, "forget and input": _lstm_gates, "candidate": _lstm_candidate, "output": _lstm_output},
}
