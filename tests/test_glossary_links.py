"""book/_ext/glossary_links.py: which words it links, and that it leaves the others alone."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import page_checks
import pytest
from page_checks import value

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import glossary_links  # noqa: E402

CHAPTERS = sorted(p.stem for p in (ROOT / "book_text").glob("[0-9]*.md"))


def links(page: Path) -> list[tuple[str, str]]:
    """The links of a page that go to terms, as the term's anchor and the words."""
    found = page_checks.parse(page).css('article a[href^="glossary.html#term-"]')
    return [(value(a, "href").partition("#")[2], a.text()) for a in found]


def test_terms_are_those_of_the_glossary_with_the_page_that_explains_them() -> None:
    text = "```{glossary}\ngate\n  门.\n\nbeam search\n  束.\n  See [chapter 19](19-beam.ipynb).\n\na, b\n  c\n```\n"
    assert glossary_links.terms(text) == {"beam search": "19-beam", "a, b": ""}


def test_every_term_has_its_chinese_beside_it() -> None:
    entries = glossary_links.ENTRY.findall((ROOT / "book" / "glossary.md").read_text("utf8"))
    without = [names for names, text in entries if not re.match(r"  [\w ]*[\u4e00-\u9fff]", text)]
    assert len(entries) > 80
    assert without == ["Transformer"]  # the field's Chinese texts say Transformer


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_first_use_is_linked_once_and_in_running_text(built_book: Path, chapter: str) -> None:
    page = built_book / "book" / f"{chapter}.html"
    anchors = [anchor for anchor, _ in links(page)]
    assert len(anchors) == len(set(anchors))
    # A page of links is not read. Chapter 16 brings the words of language models, 16 of them; the others have fewer.
    assert len(anchors) <= (16 if chapter == "16-language-model" else 12)
    never = ":is(h1, h2, h3, code, pre, figcaption, caption, table, .admonition, .math, .gru-lede)"
    assert page_checks.parse(page).css(f'{never} a[href^="glossary.html#term-"]') == []


def test_search_index_holds_every_term_in_english_and_in_chinese(built_book: Path) -> None:
    """What stands in the glossary's text is in the index, under the term's own anchor."""
    text = (built_book / "_static" / "search_index.js").read_text("utf8")
    sections = json.loads(text.partition(" = ")[2])[glossary_links.GLOSSARY]
    stored = {section["title"]: section["text"] for section in sections}
    for names, body in glossary_links.ENTRY.findall((ROOT / "book" / "glossary.md").read_text("utf8")):
        assert all(chinese in stored[names] for chinese in re.findall(r"[\u4e00-\u9fff]+", body)), names
