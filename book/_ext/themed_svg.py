"""Put SVG figures into the page itself, so that they follow its light or dark colours.

A figure is drawn once, in the light colours of ``gru_book.viz``. In an HTML build each such picture becomes an inline
``<svg role="img">`` whose colours are the page's own variables. Other builders keep the picture as drawn. A drawing of
``gru_book.drawings`` comes in both its forms; the style sheet shows the slim one on a phone.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from maths_font import ITALIC
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from gru_book.drawings import cell_drawing
from gru_book.viz import COLOURS

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
MATPLOTLIB = "https://matplotlib.org/"  # in the metadata of every file it writes
PHONE = 400  # pixels: a figure as narrow as that was drawn to fit a phone
CELL = re.compile(r'^<svg [^>]*data-cell="([\w-]+)"(?: data-upto="(\d+)")?', re.M)  # a drawing says which it is
SCROLL = '<div class="gru-scroll" role="group" aria-label="Figure" tabindex="0">{}</div>'  # on a phone, others scroll


class InlineThemedSvg(SphinxPostTransform):
    """Replace image nodes that hold one of matplotlib's SVGs by the themed SVG itself."""

    default_priority = 6  # after myst-nb has chosen which output to show (4), before images are collected
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Inline every matplotlib SVG of the document."""
        shown: Counter[str] = Counter()  # a page may show one picture twice
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.env.srcdir) / image["uri"]
            if path.suffix != ".svg" or not path.is_file():
                continue
            source = path.read_text("utf8")
            cell = CELL.search(source)
            if MATPLOTLIB not in source[:2000] and cell is None:
                continue
            prefix = "f" + hashlib.sha256(source.encode()).hexdigest()[:8]
            shown[prefix] += 1
            prefix += f"-{shown[prefix]}" if shown[prefix] > 1 else ""
            alt, classes = image.get("alt", ""), image.get("classes", [])
            if cell:
                svg = themed(source, alt=alt, prefix=prefix, classes=[*classes, "gru-wide"])
                slim = cell_drawing(cell[1], upto=int(cell[2]) if cell[2] else None, slim=True).svg
                svg += themed(slim, alt=alt, prefix=f"{prefix}s", classes=[*classes, "gru-slim"])
            else:
                svg = SCROLL.format(themed(source, alt=alt, prefix=prefix, classes=classes))
            image.replace_self(nodes.raw("", svg, format="html"))


def themed(svg: str, *, alt: str, prefix: str, classes: Iterable[str] = ()) -> str:
    """Turn an SVG file of matplotlib or `gru_book.drawings` into an element that follows the page it is on.

    Colours of `COLOURS` become ``var(--gru-…, light value)``, text takes the page's fonts, and what only a
    separate file needs (metadata, title, style sheet) goes. `prefix` stands before every id, so that no two figures on
    a page share one.
    """
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg)
    unwanted = {f"{{{SVG}}}{name}" for name in ("metadata", "title", "style")}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in unwanted or (child.tag == f"{{{SVG}}}defs" and len(child) == 0):
                parent.remove(child)
    for element in root.iter():
        element.tail = element.tail if element.tail and element.tail.strip() else None
        target = element.attrib.pop(f"{{{XLINK}}}href", None)
        if target is not None:
            element.set("href", target)
        for name, value in element.attrib.items():
            element.set(name, _follow_page(name, value, prefix))
    letters(root)
    # matplotlib counts in points (1/72 inch), the page in pixels (1/96 inch).
    width = float(root.get("viewBox", "0 0 0 0").split()[2]) * (96 / 72 if root.get("width", "").endswith("pt") else 1)
    for name in ("width", "height", "version", "data-cell", "data-upto"):
        root.attrib.pop(name, None)
    root.set("class", " ".join(["gru-fig", *classes]))
    # gru-book.css lets a figure scroll on a phone rather than shrink, unless it was drawn for that width.
    root.set("style", f"max-width:{width:.0f}px" + (";min-width:0" if width <= PHONE else ""))
    root.set("role", "img")
    root.set("aria-label", alt)
    return ElementTree.tostring(root, encoding="unicode")


def letters(element: ElementTree.Element, sloping: bool = False) -> None:
    """Draw formulas with the letters of the page's formulas, whose sloping ones have code points of their own."""
    style = element.get("style", "")
    if "--gru-math" in style:
        sloping = "italic" in style
        style = re.sub(r"font-style: italic;? ?", "", style).replace("italic ", "")
        element.set("style", style.replace("var(--gru-math)", "'STIX Two Math', var(--gru-math)"))
    elif "--gru-sans" in style:
        sloping = False
    if sloping and element.text:
        element.text = "".join(chr(ITALIC.get(letter, ord(letter))) for letter in element.text)
    for child in element:
        letters(child, sloping)
        if sloping and child.tail:
            child.tail = "".join(chr(ITALIC.get(letter, ord(letter))) for letter in child.tail)


def _follow_page(name: str, value: str, prefix: str) -> str:
    """Adapt one attribute of an SVG: a prefix for an id or a reference to one, the page's colours and fonts."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        return value.replace("#", f"#{prefix}-", 1)
    value = re.sub(r"url\(#", f"url(#{prefix}-", value)
    if name in ("style", "fill", "stroke"):
        value = re.sub(r"#[0-9a-fA-F]{6}\b", _variable, value)
        value = re.sub(r"'STIXGeneral'|'STIXNonUnicode'", "var(--gru-math)", value)
        value = re.sub(r"'DejaVu Sans'", "var(--gru-sans)", value)
    return value


def _variable(match: re.Match[str]) -> str:
    colour = match[0].upper()
    for role, light in COLOURS.items():
        if light == colour:
            return f"var(--gru-{role}, {colour})"
    return match[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_post_transform(InlineThemedSvg)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
