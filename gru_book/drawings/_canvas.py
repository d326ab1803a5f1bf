"""What all drawings are made of: lines, tips, boxes and text in layers, in colour or quiet."""

from __future__ import annotations

from collections.abc import Sequence

from gru_book.viz import COLOURS

Point = tuple[float, float]
MATH, SANS = "'STIXGeneral', serif", "'DejaVu Sans', sans-serif"


class Canvas:
    """Layers, from back to front."""

    def __init__(self, width: float, height: float, stage: int) -> None:
        self.width, self.height, self.stage = width, height, stage
        self.quiet = self.fresh = False  # while an earlier stage is drawn, and while the newest of some is
        self.low = 0.0  # how far down something is drawn
        self.layers: dict[str, list[str]] = {name: [] for name in ("track", "wire", "flow", "gate", "text")}

    def tone(self, colour: str, quiet: str = "edge") -> str:
        """A colour, or what stands for it in an earlier stage."""
        return COLOURS[quiet if self.quiet and colour not in ("paper", "track") else colour]

    def svg(self, name: str, stage: int | None = None) -> str:
        """The whole file, on a light plate. `data-cell` and `data-upto` tell the book's pages which drawing it is."""
        width, height = f"{self.width:g}", f"{min(self.height, self.low + 16) if stage else self.height:g}"
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        plate = f'style="background: {COLOURS["paper"]}"'
        upto = f' data-upto="{stage}"' if stage else ""
        body = "\n".join(element for layer in self.layers.values() for element in layer)
        return f'<svg xmlns="http://www.w3.org/2000/svg" data-cell="{name}"{upto} {size} {plate}>\n{body}\n</svg>\n'

    def line(self, layer: str, points: Sequence[Point], width: float, colour: str, dashes: str = "") -> None:
        self.low = max(self.low, *(y + width / 2 for _, y in points))
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
        dx, dy = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "down": (0, 1)}[way]
        base = (x - dx * size * 1.3, y - dy * size * 1.3)
        corners = [(x, y), *((base[0] + s * dy * size, base[1] + s * dx * size) for s in (1, -1))]
        points = " ".join(f"{a:g},{b:g}" for a, b in corners)
        self.layers["gate"].append(f'<polygon points="{points}" fill="{self.tone(colour)}"/>')

    def plates(self, x: float, y: float, gap: float, colour: str, thick: float = 10, length: float = 14) -> None:
        """A gate across a channel."""
        self.low = max(self.low, y + gap / 2 + length)
        for top in (y - gap / 2 - length, y + gap / 2):
            box = f'x="{x - thick / 2:g}" y="{top:g}" width="{thick:g}" height="{length:g}" rx="1"'
            self.layers["gate"].append(f'<rect {box} fill="{self.tone(colour)}"/>')

    def framed(self, x: float, y: float, width: float, height: float, colour: str, round_: float, line: float) -> None:
        self.low = max(self.low, y + height / 2)
        box = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="{round_:g}"'
        look = f'fill="{self.tone("paper")}" stroke="{self.tone(colour)}" stroke-width="{line:g}"'
        self.layers["gate"].append(f"<rect {box} {look}/>")

    def text(self, x: float, y: float, body: str, colour: str, font: str, anchor: str = "middle") -> None:
        self.low = max(self.low, y + 4)
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

    def plus(self, x: float, y: float) -> None:
        """Where two flows are added."""
        look = f'fill="{self.tone("paper")}" stroke="{self.tone("edge")}" stroke-width="1.4"'
        self.layers["gate"].append(f'<circle cx="{x:g}" cy="{y:g}" r="10.5" {look}/>')
        for points in ([(x - 5, y), (x + 5, y)], [(x, y - 5), (x, y + 5)]):
            self.line("gate", points, 1.8, "ink")


def indexed(letter: str, index: str = "t") -> str:
    """A letter with a subscript; the last span brings the baseline back."""
    sub = f'<tspan dy="0.28em" style="font-size: 0.7em">{index}</tspan>'
    return f'{letter}{sub}<tspan dy="-0.2em">&#8203;</tspan>'
