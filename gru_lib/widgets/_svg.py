"""What the still pictures share: numbers in words and the smallest pieces of SVG, as explorer.mjs has them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

__all__ = ["fixed", "num", "path", "percent", "still", "sub", "text"]

Points = Sequence[tuple[float, float]]


def _round(v: float, digits: int) -> str:
    """Round as JavaScript's toFixed does: ties away from zero."""
    rounded = str(Decimal(v).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return rounded.lstrip("-") if float(rounded) == 0 else rounded


def fixed(v: float, digits: int = 3) -> str:
    """Return v with a fixed number of decimals and a true minus sign."""
    return _round(v, digits).replace("-", "\u2212")


def percent(v: float) -> str:
    """Return a share in per cent, exact near the ends: 99.9 %, never "100 %"."""
    if v > 0.9995:
        return ">99.9\u00a0%"
    if v < 0.0005:
        return "<0.1\u00a0%"
    return f"{_round(100 * v, 1 if v > 0.99 or v < 0.01 else 0)}\u00a0%"


def num(v: float) -> str:
    """Return a coordinate: at most two decimals."""
    rounded = _round(v, 2)
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def path(cls: str, points: Points, width: float | None = None) -> str:
    """Return a polyline."""
    d = "L".join(f"{num(x)} {num(y)}" for x, y in points)
    return f'<path class="{cls}" d="M{d}"' + ("/>" if width is None else f' stroke-width="{num(width)}"/>')


def text(cls: str, x: float, y: float, anchor: str, content: str) -> str:
    """Return a line of text."""
    return f'<text class="{cls}" x="{num(x)}" y="{num(y)}" text-anchor="{anchor}">{content}</text>'


def sub(letter: str, index: str) -> str:
    """Return a letter with a subscript, inside a text."""
    return f'{letter}<tspan class="ex-sub" dy="4">{index}</tspan><tspan dy="-4">\u200b</tspan>'


def still(pictures: Mapping[str, tuple[float, float, str]], cls: str, label: str, said: str) -> str:
    """Return the drawing for a wide screen and for a narrow one, with its sentence; the style sheet shows one of them.

    Parameters
    ----------
    pictures
        By the name of the layout ("wide", "slim"): width, height and the inside of the <svg>.
    cls
        Class of the <svg>.
    label, said
        What the drawing is, and what it says with these values.
    """
    space = "" if label.endswith("。") else " "  # a Chinese full stop brings its own
    label, said = html.escape(label + space + said), html.escape(said)
    svg = "".join(
        f'<svg class="{cls} ex-only-{name}" viewBox="0 0 {num(width)} {num(height)}" role="img" '
        f'aria-label="{label}">{inside}</svg>'
        for name, (width, height, inside) in pictures.items()
    )
    return f'<figure class="ex-still">{svg}<figcaption class="ex-say">{said}</figcaption></figure>'
