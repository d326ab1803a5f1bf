"""Reduce the theme's style sheet to the rules that the pages can use, and its icon font to the icons that they show.

The theme's sheet is Bootstrap's and Font Awesome's with its own, and pages use little of it. A selector can match
nothing if it asks for a class or an id that stands in no page and in no script. So a rule goes when that is so of each
of its selectors; all else stays as it is, in its order.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import pydata_sphinx_theme
import tinycss2
from fontTools import subset
from search_index import INDEX
from sphinx.application import Sphinx

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
FONT = Path("vendor/fontawesome/webfonts/fa-solid-900.woff2")
STYLE = Path("styles/pydata-sphinx-theme.css")
WORD = re.compile(r"[\w-]+")
SCRIPT = re.compile(r"<script[^>]*>([^<].*?)</script>", re.S)
SOURCE = re.compile(r'<script[^>]* src="([^":?]+)')
MADE = re.compile(r"[\w-]+-(?=[\"'`$])")  # the beginning of a name that a script puts together: `bs-${name}`
NESTED = {"media", "supports", "layer", "container"}
RULE = re.compile(r"(\.fa-[^{}]*:{1,2}before)\{content:\"(?:\\([0-9a-f]{1,5}) ?|(.))\"\}", re.S)
CODE = re.compile(r"\\(f[0-9a-f]{3})|([\uf000-\uf8ff])")


# ---------------------------------------------------------------------------------------------------- the style sheet


class Used:
    """The names that may stand in a class or an id: all words of the pages and of the scripts that they load."""

    def __init__(self, pages: Iterable[str], scripts: Iterable[str]) -> None:
        pages = list(pages)
        scripts = [*scripts, *(script for page in pages for script in SCRIPT.findall(page))]
        self.words = {word for text in (*pages, *scripts) for word in WORD.findall(text)}
        self.made = tuple({begun for script in scripts for begun in MADE.findall(script)})

    def __contains__(self, name: str) -> bool:
        return name in self.words or name.startswith(self.made) or not WORD.fullmatch(name)


def loaded(page: Path) -> set[Path]:
    """The scripts of the book that a page loads; the search's index is none."""
    found = {(page.parent / source).resolve() for source in SOURCE.findall(page.read_text("utf-8"))}
    return {path for path in found if path.is_file() and path.name != INDEX}


def named(selector: list[Any]) -> Iterator[str]:
    """The classes and ids that an element must have or be in; not those in brackets, as of ``:not(.a)``."""
    for before, token in zip([None, *selector], selector, strict=False):
        if token.type == "hash" or (token.type == "ident" and before is not None and before == "."):
            yield token.value


def selectors(prelude: list[Any]) -> Iterator[list[Any]]:
    """The selectors of a rule, which commas part."""
    selector: list[Any] = []
    for token in prelude:
        if token == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def without_unused(style: str, used: Container[str]) -> str:
    """The style sheet without what can match nothing."""
    kept = "".join(_kept(tinycss2.parse_stylesheet(style, skip_comments=True, skip_whitespace=True), used))
    # Icons as the escapes that they were: who reads the sheet need not guess how it is encoded.
    return re.sub(r'([^\0-\x7f])("?)', lambda icon: f"\\{ord(icon[1]):x}{icon[2] or ' '}", kept)


def _kept(rules: list[Any], used: Container[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            kept = [s for s in selectors(rule.prelude) if all(name in used for name in named(s))]
            if kept:
                head = ",".join(tinycss2.serialize(s).strip() for s in kept)
                yield f"{head}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED and rule.content is not None:
            within = "".join(_kept(tinycss2.parse_rule_list(rule.content, True, True), used))
            if within:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{within}}}"
        else:
            yield rule.serialize()


# ----------------------------------------------------------------------------------------------------------- the icons


def icons(styles: str) -> set[int]:
    """The code points of all icons in style sheets."""
    found = {int(code, 16) if code else ord(character) for _, code, character in RULE.findall(styles)}
    rest = RULE.sub("", styles)
    return found | {int(code, 16) if code else ord(character) for code, character in CODE.findall(rest)}


def write_subset(source: Path, points: set[int], target: Path) -> None:
    """Write the icons `points` of the font `source`, under its name and licence."""
    options = subset.Options(flavor="woff2", name_IDs=["*"], layout_features=[], notdef_outline=True)
    with subset.load_font(str(source), options) as font:
        cut = subset.Subsetter(options)
        cut.populate(unicodes=points)
        cut.subset(font)
        subset.save_font(font, str(target), options)


def shrink(app: Sphinx) -> None:
    """Replace the font and the style sheet in the finished book."""
    out = Path(app.outdir)
    pages = list(out.rglob("*.html"))
    scripts = set().union(*map(loaded, pages))
    used = Used(*([path.read_text("utf-8") for path in paths] for paths in (pages, scripts)))
    style = without_unused((THEME / STYLE).read_text("utf-8"), used)
    (out / "_static" / STYLE).write_text(style, "utf-8")
    points = icons("".join(path.read_text("utf-8") for path in out.rglob("*.css")))
    write_subset(THEME / FONT, points, out / "_static" / FONT)
