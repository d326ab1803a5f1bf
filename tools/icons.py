"""Draw the book's mark where an SVG will not do: favicon.ico, an icon for telephones, the card of a shared link.

``python tools/icons.py`` writes them into ``book/_static``. The drawing is that of ``book/_static/favicon.svg``: two
plates of a gate, and what comes through between them.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
INK, PAPER, MUTED = "#1B1E23", "#FBFBFA", "#5A5F69"
FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSerif.ttf"  # the same on every machine
RECT = re.compile(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"(?: opacity="([\d.]+)")?/>')


def mark(size: int, paper: str | None = None) -> Image.Image:
    """The mark, `size` pixels wide; on a plate with a margin if `paper` is a colour."""
    margin = 0 if paper is None else size // 8
    unit = (size - 2 * margin) / 32
    drawn = Image.new("RGBA", (size, size), paper or "#0000")
    for x, y, width, height, opacity in RECT.findall((STATIC / "favicon.svg").read_text("utf8")):
        left, top = margin + int(x) * unit, margin + int(y) * unit
        right, bottom = left + int(width) * unit - 1, top + int(height) * unit - 1
        layer = Image.new("RGBA", drawn.size, "#0000")
        colour = f"{INK}{round(255 * float(opacity or 1)):02X}"
        ImageDraw.Draw(layer).rectangle([left, top, right, bottom], fill=colour)
        drawn = Image.alpha_composite(drawn, layer)
    return drawn


def card() -> Image.Image:
    """What a messenger shows beside a link to the book."""
    drawn = Image.new("RGB", (1200, 630), PAPER)
    drawn.paste(side := mark(256), (100, 187), side)
    draw = ImageDraw.Draw(drawn)
    draw.multiline_text((440, 180), "The Gated\nRecurrent Unit", INK, ImageFont.truetype(FONT, 80), spacing=20)
    line = "A recurrent cell that learns what to keep"
    draw.text((444, 410), line, MUTED, ImageFont.truetype(FONT, 32))
    return drawn


def icons() -> dict[str, Image.Image]:
    """The pictures by file name."""
    return {"favicon.ico": mark(32), "apple-touch-icon.png": mark(192, PAPER).convert("RGB"), "card.png": card()}


def main() -> None:
    """Write them."""
    for name, drawn in icons().items():
        if name == "card.png":
            drawn = drawn.quantize(64)
        drawn.save(STATIC / name)


if __name__ == "__main__":
    main()
