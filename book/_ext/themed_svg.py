"""Put SVG figures into the page itself, so that they follow its light or dark colours.

A figure is drawn once, in the light colours of ``gru_lib.viz``. In an HTML build each such picture becomes an inline
``<svg role="img">`` whose colours are the page's own variables. Other builders keep the picture as drawn.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from gru_lib.viz import themed

MATPLOTLIB = "https://matplotlib.org/"  # in the metadata of every file it writes
HERO = "gru-hero"  # the drawing on the front page shrinks with the screen
SCROLL = '<div class="gru-scroll" role="group" aria-label="Figure" tabindex="0">{}</div>'  # on a phone, others scroll


class InlineThemedSvg(SphinxPostTransform):
    """Replace image nodes that hold one of matplotlib's SVGs by the themed SVG itself."""

    default_priority = 6  # after myst-nb has chosen which output to show (4), before images are collected
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Inline every matplotlib SVG of the document."""
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.env.srcdir) / image["uri"]
            if path.suffix != ".svg" or not path.is_file():
                continue
            source = path.read_text("utf8")
            if MATPLOTLIB not in source[:2000]:
                continue
            prefix = "f" + hashlib.sha256(source.encode()).hexdigest()[:8]
            classes = image.get("classes", [])
            svg = themed(source, alt=image.get("alt", ""), prefix=prefix, classes=classes)
            if HERO not in classes:
                svg = SCROLL.format(svg)
            image.replace_self(nodes.raw("", svg, format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_post_transform(InlineThemedSvg)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
