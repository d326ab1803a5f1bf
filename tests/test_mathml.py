"""The formulas of the pages: MathML that Temml makes of TeX, and the font that holds their letters."""

from __future__ import annotations

import io
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from xml.etree import ElementTree

import mathml
import maths_font
import page_repairs
import pytest
import yaml
from fontTools.ttLib import TTFont
from macros import without_macros

from conftest import ROOT, Visit

MACROS = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["sphinx"]["config"]["maths_macros"]


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """Temml does not outlive the tests."""
    yield
    mathml.stop()


def test_macro_gives_its_letter_a_class_and_leaves_the_tex_plain() -> None:
    math = ElementTree.fromstring(mathml.from_tex(without_macros(r"\gh[_{t-1}]^\top = \gd{z}", MACROS), False))
    (state,), (gradient,) = (math.findall(f".//*[@class='gru-{role}']") for role in "hg")
    assert (state.tag, state[0].text, state[2].text, gradient[0].text) == ("msubsup", "h", "⊤", "δ")
    assert [a.text for a in math.iter("annotation")] == [r"{h_{t-1}}^\top = {\delta_{z}}"]


@pytest.mark.parametrize(("tex", "spaces"), [(r"\tanh x", 1), (r"\tanh, x", 0), (r"\log \sum_i x_i", 1), (r"a\, b", 1)])
def test_name_of_a_function_has_a_space_before_its_argument_alone(tex: str, spaces: int) -> None:
    assert len(list(ElementTree.fromstring(mathml.from_tex(tex, False)).iter("mspace"))) == spaces


Reader = Callable[[str, int], AbstractContextManager[Visit]]


def test_browser_draws_every_letter_from_the_books_font(reader: Reader, built_book: Path) -> None:
    with reader((built_book / "book" / "05-gru-backward.html").as_uri(), 1280) as visit:
        visit.open()
        devtools = visit.page.context.new_cdp_session(visit.page)
        devtools.send("DOM.enable")
        devtools.send("CSS.enable")
        visit.page.evaluate("""() => {
          for (const fold of document.querySelectorAll("details.dropdown")) fold.open = true;
          const seen = new Set();
          for (const e of document.querySelectorAll("math :is(mi, mn, mo, mtext)")) {
            if (!e.checkVisibility() || !/[^\\s\\u2061]/.test(e.textContent)) continue;
            const what = `${e.tagName}${e.getAttribute("mathvariant")}${e.textContent}`;
            if (!seen.has(what)) e.dataset.asked = "";
            seen.add(what);
          }
        }""")
        root = devtools.send("DOM.getDocument")["root"]["nodeId"]
        nodes = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "[data-asked]"})["nodeIds"]
        fonts = [devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in nodes]
        devtools.detach()
        assert len(nodes) > 50
        assert {(font["familyName"], font["isCustomFont"]) for found in fonts for font in found} == {
            ("STIX Two Math", True)
        }


def test_what_is_copied_of_a_formula_is_its_tex_which_is_not_read_aloud(reader: Reader, built_book: Path) -> None:
    with reader((built_book / "book" / "notation.html").as_uri(), 1280) as visit:
        visit.open()
        copied, drawn = visit.page.evaluate("""() => ["#symbols td", "#the-cell .math"].map((place) => {
          getSelection().selectAllChildren(document.querySelector(place));
          return getSelection().toString().replace(/\\s+/g, " ").trim();
        })""")
        assert copied == "{x_t} , {x_{1:T}}"
        assert r"{h_t} &= {z_t} \odot {h_{t-1}} + (1 - {z_t}) \odot {n_t}" in drawn and "𝑡" not in drawn
        devtools = visit.page.context.new_cdp_session(visit.page)
        nodes = devtools.send("Accessibility.getFullAXTree")["nodes"]
        devtools.detach()
        said = [node["name"]["value"] for node in nodes if not node["ignored"] and "value" in node.get("name", {})]
        assert {"𝑧", "z"} & set(said) and not any("\\odot" in words for words in said)


def test_font_is_in_the_pages_that_have_formulas_with_its_licence(built_book: Path) -> None:
    sheet = (built_book / "_static" / maths_font.SHEET).read_text("utf8")
    font = TTFont(io.BytesIO(b64decode(re.search(r"base64,([^\"]+)", sheet)[1])))
    assert len(sheet) < 50_000
    assert "SIL Open Font License" in font["name"].getDebugName(13)
    assert {"parenleft", "radical"} <= set(font["MATH"].table.MathVariants.VertGlyphCoverage.glyphs)
    for path in built_book.rglob("*.html"):
        page = path.read_text("utf8")
        assert ("<math" in page) == (maths_font.SHEET in page), path
        assert maths_font.code_points(page) - {0x2061, 0xFE0E, 0x20, 0x0A} <= set(font.getBestCmap()), path


def test_a_line_breaks_neither_beside_the_marks_of_a_formula_nor_before_a_per_cent_sign() -> None:
    x = '<span class="math notranslate"><math><mi>x</mi></math></span>'
    assert page_repairs.repair(f"({x}), ({x} and {x}") == (
        f'<span class="gru-keep">({x}),</span> <span class="gru-keep">({x}</span> and {x}'
    )
    assert page_repairs.repair("84 % <code>7 % 2</code>") == "84\N{NO-BREAK SPACE}% <code>7 % 2</code>"
