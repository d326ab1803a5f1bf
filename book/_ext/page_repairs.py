"""Repair what Sphinx and its extensions write into the text of a page, before it is put into the frame."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

TITLE = r'<p class="admonition-title">'
BOX = re.compile(r'<div class="(?=[^"]*\bdropdown\b)(?=[^"]*\badmonition\b)[^"]*"[^>]*>\s*' + TITLE)
MATHS = r'(<span class="math [^>]*><math\b(?:(?!</math>).)*</math></span>)'

REPAIRS = [
    # A control's name must contain its visible text (label-content-name-mismatch).
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    # The role is deprecated, and stands in a list (aria-required-parent).
    (r'role="doc-biblioentry"', 'role="listitem"'),
    # sphinx-proof and sphinx-exercise give every box on a page the same id, and nothing points to it.
    (r' id="(?:proof|proof-content|exercise-content|solution-content)"', ""),
    # ``Exercise 4.1 (A step (easy))`` becomes ``Exercise 4.1 · A step (easy)``; a solution names the number alone.
    (rf'({TITLE}<span class="caption-number">[^<]*</span>)\s*\((.*?)\)\s*</p>', r"\1· \2</p>"),
    (rf"({TITLE}Solution to)\s*<a [^>]*>\s*(?:<[^>]*>)*(Exercise \d[\w.]*\w)(?:(?!</p>).)*</p>", r"\1 \2</p>"),
    # An exercise has a link to itself, as a heading has.
    (
        rf'(<div class="exercise admonition" id="([^"]+)">\s*{TITLE}.*?)</p>',
        r'\1<a class="headerlink" href="#\2" title="Link to this exercise">#</a></p>',
    ),
    # A line does not begin with the comma or the full stop after a formula, nor end with the bracket before it.
    (rf"([(“]*){MATHS}([.,;:!?)”’]+)", r'<span class="gru-keep">\1\2\3</span>'),
    (rf'(?<!gru-keep">)([(“]+){MATHS}', r'<span class="gru-keep">\1\2</span>'),
    # A proof begins with the plain word ``Proof.``, which is a label.
    (r'(<div class="proof admonition"[^>]*>\s*(?:<section[^>]*>\s*)?<p>)Proof\. ', r"\1<em>Proof.</em> "),
]  # fmt: skip
CODE_OR_PERCENT = re.compile(r"<(pre|code)\b.*?</\1>|(?<=\d) (?=%)", re.S)
COMPILED = [(re.compile(pattern, re.S), new) for pattern, new in REPAIRS]


def repair(body: str) -> str:
    """Return the text of a page, repaired."""
    for pattern, new in COMPILED:
        body = pattern.sub(new, body)
    body = CODE_OR_PERCENT.sub(lambda found: "\N{NO-BREAK SPACE}" if found[0] == " " else found[0], body)
    return fold(re.sub(r'<dt class="sig .*?</dt>', lambda signature: arguments(signature[0]), body, flags=re.S))


def arguments(signature: str) -> str:
    """Sphinx sets those of a long signature as a definition list without terms (definition-list)."""
    signature = re.sub(r"<dl[^>]*>", '<span class="gru-arguments">', signature).replace("<dd>", "<span>")
    return re.sub("</d[ld]>", "</span>", signature)


def fold(body: str) -> str:
    """Boxes of the class `dropdown` as what a browser folds by itself."""
    for box in reversed(list(BOX.finditer(body))):
        deep, end = 1, box.end()
        while deep:
            tag = re.compile(r"<(/?)div\b").search(body, end)
            assert tag
            deep, end = deep + (-1 if tag[1] else 1), tag.end()
        opened = box[0].replace("<div", "<details", 1).replace("<p ", "<summary ")
        inside = body[box.end() : end - len("</div")].replace("</p>", "</summary>", 1)
        body = f"{body[: box.start()]}{opened}{inside}</details{body[end:]}"
    return body


def visit_table(writer: HTML5Translator, node: nodes.table) -> None:
    """A table that is too wide for the page scrolls."""
    writer.body.append('<div class="gru-scroll">')
    HTML5Translator.visit_table(writer, node)


def depart_table(writer: HTML5Translator, node: nodes.table) -> None:
    """The end of both."""
    HTML5Translator.depart_table(writer, node)
    writer.body.append("</div>\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_node(nodes.table, override=True, html=(visit_table, depart_table))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
