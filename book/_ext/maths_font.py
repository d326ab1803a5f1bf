"""The letters of the formulas: STIX Two Math, reduced to what the pages show, and inside a style sheet.

A page waits for its style sheets before it is painted, so the font is there. Chromium would read it when it has set
the first formula, a moment too late: lines would break anew. So a script asks for it at once. The font comes with the
npm package ``@expo-google-fonts/stix-two-math``, under the SIL Open Font License, as its table of names says.
"""

from __future__ import annotations

import logging
import re
import sys
import unicodedata
from base64 import b64encode
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

from fontTools import subset
from sphinx.application import Sphinx
from sphinx.util.display import progress_message

logging.getLogger("fontTools").setLevel(logging.WARNING)  # else it says of each table what it does with it
FONTS = Path(sys.prefix) / "node_modules" / "@expo-google-fonts"
WHOLE = FONTS / "stix-two-math" / "400Regular" / "STIXTwoMath_400Regular.ttf"  # the font with all its letters
SHEET = "gru-maths.css"
READ = """document.fonts.load('1em "STIX Two Math"');"""
RULE = """@font-face {{
  font-family: "STIX Two Math";
  src: url("data:font/woff2;base64,{}") format("woff2");
}}
"""
FORMULA = re.compile(r"<math\b.*?</math>", re.S)
DRAWN = re.compile(r"<text\b(?:(?!</text>).)*STIX Two Math.*?</text>", re.S)
HIDDEN = re.compile(r"<annotation\b.*?</annotation>", re.S)
LETTER = re.compile(r"<mi(?![^>]*mathvariant)[^>]*>([^<]|&[^;<]+;)</mi>")
# A browser shows a single letter in <mi> as the italic one, which has a code point of its own.
SLANTED = [ord("ℎ"), *range(0x1D434, 0x1D455), *range(0x1D456, 0x1D468), *range(0x1D6E2, 0x1D71C)]
ITALIC = {chr(int(unicodedata.decomposition(chr(point)).split()[1], 16)): point for point in SLANTED}


def code_points(page: str) -> set[int]:
    """The characters that the formulas of a page are drawn with, those in its figures too."""
    found = {ord(character) for drawn in DRAWN.findall(page) for character in unescape(re.sub("<[^>]*>", "", drawn))}
    for formula in FORMULA.findall(page):
        formula = HIDDEN.sub("", formula)
        found |= {ITALIC.get(letter, ord(letter)) for letter in map(unescape, LETTER.findall(formula))}
        found |= {ord(character) for character in unescape(re.sub("<[^>]*>", "", formula))}
        found |= {ord("√")} if "<msqrt" in formula or "<mroot" in formula else set()
    return found


def cut(points: set[int]) -> bytes:
    """The font with these characters, in the sizes that brackets and sums grow to, under its name and licence."""
    # ss04 has the primes that stand as superscripts. Hints are for screens whose dots one can count.
    options = subset.Options(flavor="woff2", name_IDs=["*"], layout_features=["ss04"], hinting=False)
    with subset.load_font(str(WHOLE), options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=points)
        subsetter.subset(font)
        file = BytesIO()
        subset.save_font(font, file, options)
    return file.getvalue()


@progress_message("writing the font of the formulas")
def write_sheet(app: Sphinx) -> None:
    """Write the style sheet for all pages, also those that this build left as they were."""
    points = set().union(*(code_points(page.read_text("utf8")) for page in Path(app.outdir).rglob("*.html")))
    sheet = RULE.format(b64encode(cut(points)).decode("ascii"))
    (Path(app.outdir) / "_static" / SHEET).write_text(sheet, "utf8")


def add_sheet(app: Sphinx, _pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let a page with formulas have the style sheet, and read its font before it sets the first of them."""
    if re.search("<math|STIX Two Math", context.get("body", "")):
        app.add_css_file(SHEET)
        app.add_js_file(None, body=READ)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-page-context", add_sheet)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
