"""Steps in a row: a network unrolled with the gradient's way back, whole and cut; attention between two networks."""

from __future__ import annotations

from collections.abc import Callable

from gru_book.drawings._canvas import Canvas, Point, indexed


class SequenceCanvas(Canvas):
    """With the pieces of a sequence."""

    def __init__(self, slim: bool, stage: int) -> None:
        self.slim = slim
        super().__init__(358 if slim else 668, 316, stage)
        self.steps = (30, 128, 226, 320) if slim else (84, 248, 412, 576)  # h_0 … h_3
        self.encoder = (24, 88, 152) if slim else (60, 180, 300)
        self.decoder = (248, 328) if slim else (460, 600)
        self.half = 18.0 if slim else 24.0  # of a state's box

    def node(self, x: float, y: float, letter: str, index: str, colour: str, height: float = 34) -> None:
        self.framed(x, y, 2 * self.half, height, colour, 4, 1.8)
        self.maths(x, y + 5, indexed(letter, index), colour, 18)

    def arrow(self, points: list[Point], way: str, colour: str, width: float = 2.2) -> None:
        """A line with a tip at its end."""
        x, y = points[-1]
        dx, dy = {"right": (5, 0), "left": (-5, 0), "up": (0, -5), "down": (0, 5)}[way]
        self.line("flow", [*points[:-1], (x - dx, y - dy)], width, colour)
        self.tip(x, y, way, colour, 5)


# ------------------------------------------------------------------------------------------------------ unrolled

LOSS, READ, STATE = 28, 88, 164
SMALL = 'style="font-size: 0.7em"'


def _states(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.steps):
        d.node(x, STATE, "h", str(k), "h")
        if k:
            d.arrow([(d.steps[k - 1] + d.half, STATE - 7), (x - d.half, STATE - 7)], "right", "h")


def _inputs(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.steps[1:], 1):
        d.arrow([(x, 218), (x, STATE + 18)], "up", "x")
        d.maths(x, 235, indexed("x", str(k)), "x", 18)


def _losses(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.steps[1:], 1):
        d.arrow([(x - 8, STATE - 17), (x - 8, READ + 16)], "up", "ink")
        d.arrow([(x - 8, READ - 15), (x - 8, LOSS + 16)], "up", "ink")
        d.node(x, READ, "s", str(k), "ink", 30)
        d.node(x, LOSS, "L", str(k), "ink", 30)
    for y, word in ((READ, "readout"), (LOSS, "loss")):
        d.word(d.steps[0] - (d.half if d.slim else 0), y + 5, word, "start" if d.slim else "middle")


def _gradient(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.steps[1:], 1):
        d.arrow([(x + 8, LOSS + 15), (x + 8, READ - 16)], "down", "g")
        d.arrow([(x + 8, READ + 15), (x + 8, STATE - 18)], "down", "g")
        if k > 1:
            d.arrow([(x - d.half, STATE + 8), (d.steps[k - 1] + d.half, STATE + 8)], "left", "g")


def _shares(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.steps[1:], 1):
        d.arrow([(x + 17, STATE + 17), (x + 17, 256)], "down", "g", 1.4)
        old = f'h<tspan dy="0.28em" {SMALL}>{k - 1}</tspan><tspan dy="-0.65em" {SMALL}>⊤</tspan>'
        index = f'<tspan dy="0.4em" {SMALL}>a</tspan><tspan dy="0.2em" style="font-size: 0.55em">{k}</tspan>'
        d.maths(x, 276, f'{old}<tspan dy="0.25em"> δ</tspan>{index}', "g", 19)
        if k > 1:
            d.maths((x + d.steps[k - 1]) / 2, 276, "+", "ink", 19)
    d.word(d.steps[2], 306, "the sum is the weights’ gradient")


# ----------------------------------------------------------------------------------------------------- truncated


def _long(d: SequenceCanvas) -> tuple[float, ...]:
    """Where h_0 … h_4 stand."""
    return (24, 100, 180, 258, 334) if d.slim else (60, 197, 334, 471, 608)


def _stream(d: SequenceCanvas) -> None:
    at, d.height = _long(d), 212
    for k, x in enumerate(at):
        d.node(x, 120, "h", str(k), "h")
        if k:
            d.arrow([(at[k - 1] + d.half, 113), (x - d.half, 113)], "right", "h")
            d.arrow([(x, 180), (x, 138)], "up", "x")
            d.maths(x, 198, indexed("x", str(k)), "x", 18)
            d.arrow([(x - 8, 103), (x - 8, 48)], "up", "ink")
            d.node(x, 32, "L", str(k), "ink", 30)


def _cut(d: SequenceCanvas) -> None:
    at = _long(d)
    x = (at[2] + at[3]) / 2
    d.line("flow", [(x, 30), (x, 100)], 1.6, "ink", "5 4")
    d.line("flow", [(x, 140), (x, 204)], 1.6, "ink", "5 4")
    d.word(x, 18, "cut", "middle", "ink")


def _two_back(d: SequenceCanvas) -> None:
    at = _long(d)
    for k, x in enumerate(at[1:], 1):
        d.arrow([(x + 8, 47), (x + 8, 102)], "down", "g")
        if k in (2, 4):
            d.arrow([(x - d.half, 128), (at[k - 1] + d.half, 128)], "left", "g")


# ----------------------------------------------------------------------------------------------------- attention

MEAN, SCORE, ROW = 74, 146, 216
SHARES = (0.2, 0.6, 0.2)  # as the weights are drawn


def _reading(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.encoder, 1):
        d.node(x, ROW, "h", str(k), "h")
        if k > 1:
            d.arrow([(d.encoder[k - 2] + d.half, ROW), (x - d.half, ROW)], "right", "h")
        d.arrow([(x, 268), (x, ROW + 18)], "up", "x")
        d.maths(x, 284, indexed("x", str(k)), "x", 18)
    d.word(d.encoder[1], 308, "encoder")


def _handing_over(d: SequenceCanvas) -> None:
    d.arrow([(d.encoder[-1] + d.half, ROW), (d.decoder[0] - d.half, ROW)], "right", "h", 5)


def _writing(d: SequenceCanvas) -> None:
    first, second = d.decoder
    d.arrow([(first + d.half, ROW), (second - d.half, ROW)], "right", "h")
    for k, x in enumerate(d.decoder, 1):
        d.node(x, ROW, "s", str(k), "h")
        d.arrow([(x, ROW - 17), (x, 36)], "up", "ink")
        d.maths(x, 26, indexed("y", str(k)), "ink", 18)
        d.arrow([(x, 268), (x, ROW + 18)], "up", "x")
    d.word(first, 284, "start")
    d.maths(second, 284, indexed("y", "1"), "x", 18)
    d.word((first + second) / 2, 308, "decoder")


def _query(d: SequenceCanvas) -> None:
    x = d.decoder[0] - 10
    d.arrow([(x, ROW - 17), (x, SCORE), (d.encoder[0] + d.half, SCORE)], "left", "ink")
    d.word((d.encoder[-1] + d.half + x) / 2, SCORE + 18, "query", "middle", "ink")


def _scores(d: SequenceCanvas) -> None:
    for k, x in enumerate(d.encoder, 1):
        d.arrow([(x, ROW - 17), (x, SCORE + 15)], "up", "h", 1.6)
        d.node(x, SCORE, "e", f"1{k}", "ink", 28)


def _weights(d: SequenceCanvas) -> None:
    for k, (x, share) in enumerate(zip(d.encoder, SHARES, strict=True), 1):
        d.line("flow", [(x, SCORE - 14), (x, MEAN)], 20 * share, "h")
        d.maths(x + 9, SCORE - 34, indexed("α", f"1{k}"), "ink", 17, "start")


def _context(d: SequenceCanvas) -> None:
    x = (d.encoder[-1] + d.decoder[0]) / 2
    d.line("flow", [(d.encoder[0] - 2, MEAN), (d.encoder[1], MEAN)], 20 * SHARES[0], "h")
    d.line("flow", [(d.encoder[1] - 6, MEAN), (d.encoder[2], MEAN)], 20 * sum(SHARES[:2]), "h")
    d.line("flow", [(d.encoder[2] - 2, MEAN), (x, MEAN)], 20, "h")
    d.arrow([(x, MEAN), (d.decoder[0] - 1, MEAN)], "right", "h")
    d.node(x, MEAN, "c", "1", "h")
    d.word(x, MEAN - 26, "context")


#: Of each sequence, the stages in order, with what draws them.
PARTS: dict[str, dict[str, Callable[[SequenceCanvas], None]]] = {
    "unrolled": {
        "states": _states,
        "inputs": _inputs,
        "losses": _losses,
        "gradient": _gradient,
        "shares": _shares,
    },
    "truncated": {"stream": _stream, "cut": _cut, "gradient": _two_back},
    "attention": {
        "reading": _reading,
        "handing over": _handing_over,
        "writing": _writing,
        "query": _query,
        "scores": _scores,
        "weights": _weights,
        "context": _context,
    },
}
