"""The map of the book: a line for each page, and a track for each route, which stops where it reads a page.

Ink only, because a colour means a quantity here; the tracks differ by their dashes and the form of their stops.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pages

DASHES = ("", "7 3", "1.5 4", "9 3 1.5 3")


class Form(NamedTuple):
    """The measures of a drawing, in pixels."""

    width: int
    row: int
    track: int  # between two tracks
    text: int  # size of a title
    unit: str  # after the minutes


WIDE = Form(736, 27, 30, 15, " min")
SLIM = Form(358, 25, 15, 13, " min")


def drawing(found: Sequence[pages.Page], routes: Mapping[str, Any], *, alt: str, slim: bool = False) -> str:
    """The map as an ``<svg>`` element; it takes its colours and letters from the page."""
    form = SLIM if slim else WIDE
    x0, left = 9, 9 + form.track * len(routes) + (4 if slim else 10)
    top = 24 * len(routes) + 22
    y = {page.name: top + form.row * i for i, page in enumerate(found)}
    height = top + form.row * len(found) - form.row // 2 + 2
    parts = []
    for page in found:
        companion = page.number[-1].isalpha()
        words = f"{page.number}  {page.heading}" if companion else page.title.replace(". ", "  ", 1)
        tone, dent = ("muted", 4 if slim else 16) if companion else ("ink", 0)
        rule = y[page.name] + form.row / 2
        parts.append(f'<path d="M{left} {rule}H{form.width}" style="stroke: var(--gru-rule)"/>')
        title = _text(left + dent, y[page.name] + 5, words, form.text - (companion and 1 + slim), tone)
        if slim and len(words) > 42:  # squeezed, so that it ends before the minutes
            title = title.replace("<text", f'<text textLength="{form.width - left - 52}" lengthAdjust="spacingAndGlyphs"')
        parts.append(title)
        parts.append(_text(form.width, y[page.name] + 5, f"{page.minutes}{form.unit}", form.text - 1, "muted", "end"))
    for i, route in enumerate(routes.values()):
        x, start = x0 + form.track * i, 14 + 24 * i
        ends = [y[name] for name in route["pages"]]
        total = sum(pages.read(name).minutes for name in route["pages"])
        parts.append(
            f'<path d="M{x + 12} {start}H{x}V{max(ends)}" fill="none" '
            f'style="stroke: var(--gru-ink); stroke-width: 2" stroke-dasharray="{DASHES[i] or "none"}"/>'
        )
        parts.append(_text(x + 18, start + 5, route["title"], form.text - slim, "ink", weight=600))
        parts.append(_text(form.width, start + 5, pages.hours(total), form.text - 1, "muted", "end"))
        parts += [_stop(i, x, end) for end in ends]
    inside = "".join(parts)
    classes = "gru-fig gru-slim" if slim else "gru-fig gru-wide"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" viewBox="0 0 {form.width} {height}" role="img" '
        f'aria-label="{html.escape(alt)}" style="max-width:{form.width}px;min-width:0">{inside}</svg>'
    )


def _stop(kind: int, x: int, y: float) -> str:
    """A circle, a square, a diamond or a triangle: one form for each route."""
    style = 'style="fill: var(--gru-paper); stroke: var(--gru-ink); stroke-width: 2"'
    if kind == 0:
        return f'<circle cx="{x}" cy="{y}" r="5.5" {style}/>'
    if kind == 1:
        return f'<rect x="{x - 5}" y="{y - 5}" width="10" height="10" {style}/>'
    if kind == 2:
        return f'<path d="M{x} {y - 7}l7 7l-7 7l-7 -7Z" {style}/>'
    return f'<polygon points="{x},{y - 7} {x + 7},{y + 5} {x - 7},{y + 5}" {style}/>'


def _text(x: float, y: float, words: str, size: int, tone: str, anchor: str = "start", weight: int = 400) -> str:
    style = f"font: {weight} {size}px var(--gru-sans); fill: var(--gru-{tone}); white-space: pre"
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" style="{style}">{html.escape(words)}</text>'
