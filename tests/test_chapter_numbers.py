"""Chapters and their companion pages are numbered as their files are."""

from __future__ import annotations

import sys
from pathlib import Path

import page_checks
import pytest
from bs4 import BeautifulSoup

from conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from chapter_numbers import chapter_number
from page_repairs import point_titles


@pytest.mark.parametrize(
    ("docname", "number"), [("book/04-gru", 4), ("book/04b-bounds", "4b"), ("book/00-twenty", 0), ("book/intro", None)]
)
def test_the_file_name_says_the_number(docname: str, number: int | str | None) -> None:
    assert chapter_number(docname) == number


@pytest.mark.parametrize("page", sorted(path.stem for path in (ROOT / "book_text").glob("[0-9]*.md")))
def test_title_and_equations_have_the_number_of_their_page(built_book: Path, page: str) -> None:
    article, number = page_checks.parse(built_book / "book" / f"{page}.html").css_first("article"), chapter_number(page)
    assert article.css_first("h1").text().startswith(f"{number}. ")
    equations = [e.text().rstrip("#") for e in article.css(".eqno")]
    assert equations == [f"({number}.{i})" for i in range(1, len(equations) + 1)]


@pytest.mark.parametrize("number", ["4.1", "5b.12"])
def test_a_solution_names_its_exercise_by_the_whole_number(number: str) -> None:
    title = f'<p class="admonition-title">Solution to<a href="#ex">Exercise {number} (A step (easy))</a></p>'
    page = BeautifulSoup(f'<div class="solution">{title}</div>', "html.parser")
    point_titles(page)
    assert page.get_text() == f"Solution to Exercise {number}"
