"""book/_ext/glossary_links.py: which words it links, and that it leaves the others alone."""

from __future__ import annotations

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


def test_every_entry_ends_with_the_chinese_term() -> None:
    entries = glossary_links.ENTRY.findall((ROOT / "book" / "glossary.md").read_text("utf8"))
    without = [names for names, text in entries if not re.search(r"\n  Chinese: .*[\u4e00-\u9fff].*\.\n$", text)]
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
