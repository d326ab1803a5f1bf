"""Chapters and their companion pages are numbered as their files are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import page_checks
import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from chapter_numbers import chapter_number


@pytest.mark.parametrize("page", sorted(path.stem for path in (ROOT / "book_text").glob("[0-9]*.md")))
def test_title_and_equations_have_the_number_of_their_page(built_book: Path, page: str) -> None:
    article, number = page_checks.parse(built_book / "book" / f"{page}.html").css_first("article"), chapter_number(page)
    assert article.css_first("h1").text().startswith(f"{number}. ")
    for title in article.css(".solution > .admonition-title"):
        assert re.search(rf"Exercise {number}\.\d+$", title.text().strip()), title.text()
    equations = [e.text().rstrip("#") for e in article.css(".eqno")]
    assert equations == [f"({number}.{i})" for i in range(1, len(equations) + 1)]
