"""Chapters and their companion pages are numbered as their files are."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bs4 import BeautifulSoup

from conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from chapter_numbers import chapter_number, is_chapter
from page_repairs import point_titles

PAGES = {
    "intro": "# Front\n",
    "00-zero": "# Zero\n\n$$a$$ (eq-zero)\n",
    "05-five": "# Five\n\n$$b$$ (eq-five)\n\n## A part\n\n{eq}`eq-more`\n",
    "05b-more": "# More\n\n## Part\n\n$$c$$ (eq-more)\n\n$$d$$ (eq-last)\n\n{eq}`eq-five`\n",
    "07-seven": "# Seven\n\n$$e$$ (eq-seven)\n",
}
TOC = """\
format: jb-book
root: intro
parts:
  - caption: One
    numbered: 1
    chapters:
      - file: 00-zero
      - file: 05-five
        sections:
          - file: 05b-more
  - caption: Two
    numbered: 1
    chapters:
      - file: 07-seven
"""
CONF = """\
import sys
sys.path.insert(0, {path!r})
extensions = ["myst_parser", "sphinx_external_toc", "sphinx_multitoc_numbering", "chapter_numbers"]
use_multitoc_numbering = False
myst_enable_extensions = ["dollarmath", "amsmath"]
math_number_all = False
numfig = True
math_numfig = True
external_toc_path = "_toc.yml"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BeautifulSoup]:
    """The pages of a book with a chapter 0, a companion, and a gap."""
    source = tmp_path_factory.mktemp("numbers")
    for name, text in PAGES.items():
        (source / f"{name}.md").write_text(text, "utf8")
    (source / "_toc.yml").write_text(TOC, "utf8")
    (source / "conf.py").write_text(CONF.format(path=str(ROOT / "book" / "_ext")), "utf8")
    command = [sys.executable, "-m", "sphinx", "-q", "-n", str(source), str(source / "_build")]
    for more in ("", "\nA later sentence.\n"):  # the second build begins with the numbers of the first
        (source / "00-zero.md").write_text(PAGES["00-zero"] + more, "utf8")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return {
        name: BeautifulSoup((source / "_build" / f"{name}.html").read_text("utf8"), "html.parser") for name in PAGES
    }


@pytest.mark.parametrize(
    ("docname", "number"),
    [("book/04-gru", 4), ("book/04b-bounds", "4b"), ("book/00-twenty", 0), ("12-lstm", 12), ("book/intro", None)],
)
def test_the_file_name_says_the_number(docname: str, number: int | str | None) -> None:
    assert chapter_number(docname) == number
    assert is_chapter(docname) == (number is not None)


@pytest.mark.parametrize(
    ("page", "title", "equations"),
    [
        ("00-zero", "0. Zero", ["(0.1)"]),
        ("05-five", "5. Five", ["(5.1)"]),
        ("05b-more", "5b. More", ["(5b.1)", "(5b.2)"]),
        ("07-seven", "7. Seven", ["(7.1)"]),
    ],
)
def test_titles_and_equations_have_the_number_of_their_page(
    built: dict[str, BeautifulSoup], page: str, title: str, equations: list[str]
) -> None:
    heading = built[page].select_one("h1")
    assert heading is not None
    assert " ".join(heading.get_text().replace("¶", "").split()) == title
    assert [e.get_text().rstrip("¶") for e in built[page].select(".eqno")] == equations


def test_sections_of_a_companion_have_no_number(built: dict[str, BeautifulSoup]) -> None:
    assert [h.get_text().rstrip("¶") for h in built["05b-more"].select("h2")] == ["Part"]


def test_references_say_the_number(built: dict[str, BeautifulSoup]) -> None:
    assert "(5b.1)" in built["05-five"].select_one("section section p").get_text()
    assert "(5.1)" in built["05b-more"].get_text()


@pytest.mark.parametrize("number", ["4.1", "5b.12"])
def test_a_solution_names_its_exercise_by_the_whole_number(number: str) -> None:
    title = f'<p class="admonition-title">Solution to<a href="#ex">Exercise {number} (A step (easy))</a></p>'
    page = BeautifulSoup(f'<div class="solution">{title}</div>', "html.parser")
    point_titles(page)
    assert page.get_text() == f"Solution to Exercise {number}"
