"""book/_ext/glossary_links.py: which words it links, and that it leaves the others alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import page_checks
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import glossary_links  # noqa: E402

CHAPTERS = sorted(p.stem for p in (ROOT / "book_text").glob("[0-9]*.md"))


def links(page: Path) -> list[tuple[str, str]]:
    """The links of a page that go to terms, as the term's anchor and the words."""
    found = page_checks.parse(page).select('article a[href^="glossary.html#term-"]')
    return [(str(a["href"]).partition("#")[2], a.get_text()) for a in found]


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
    assert len(anchors) <= 10, "a page of links is not read"
    inside = ":is(h1, h2, h3, code, pre, figcaption, caption, table, .admonition, .math, .gru-lede)"
    assert page_checks.parse(page).select(f'{inside} a[href^="glossary.html#term-"]') == []


def test_link_stands_at_the_first_use_and_never_where_the_term_is_explained(built_book: Path) -> None:
    assert ("term-half-life", "half-life") in links(built_book / "book" / "04-gru-forward.html")
    page = page_checks.parse(built_book / "book" / "04-gru-forward.html")
    first = next(p for p in page.select("article section > p:not(.gru-lede)") if re.search("half-li", p.get_text()))
    assert first.select_one('a[href="glossary.html#term-half-life"]') is not None
    assert "term-beam-search" not in dict(links(built_book / "book" / "19-beam-search.html"))
    assert all(
        words.lower().rstrip("s") not in glossary_links.EVERYDAY
        for c in CHAPTERS
        for _, words in links(built_book / "book" / f"{c}.html")
    )
