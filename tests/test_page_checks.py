"""The checks of the pages find what they look for, in a page of the book with faults for its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import page_checks
import pytest

from conftest import Visit

PAGE = "book/bibliography"
FIGURE = '<svg class="gru-fig" role="img" aria-label="A figure for a test" viewBox="0 0 9 9" font-size="4">{}</svg>'
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


@pytest.fixture
def plant(tmp_path: Path, built_book: Path) -> Callable[..., Path]:
    """A copy of a page, beside the rest of the book, with its heading and something else in its article:
    ``plant(html)`` is its path."""

    def make(html: str) -> Path:
        path = tmp_path / f"{PAGE}.html"
        path.parent.mkdir()
        for beside in (*built_book.iterdir(), *(built_book / "book").iterdir()):
            copy = tmp_path / beside.relative_to(built_book)
            if copy not in (path, path.parent):
                copy.symlink_to(beside)
        whole = (built_book / f"{PAGE}.html").read_text("utf8")
        article = re.compile("(<article[^>]*>.*?</h1>).*(?=</article>)", re.S)
        whole = article.sub(lambda found: f"{found[1]}</section>{html}", whole)
        path.write_text(whole, "utf8")
        return path

    return make


@pytest.fixture
def visit(
    plant: Callable[..., Path], reader: Callable[[str, int], AbstractContextManager[Visit]]
) -> Iterator[Callable[..., Visit]]:
    """Open such a page: ``visit(html)``."""
    with ExitStack() as visits:

        def open_page(html: str, *, width: int = 390) -> Visit:
            visit = visits.enter_context(reader(plant(html).as_uri(), width))
            visit.open()
            return visit

        yield open_page


def test_faults_on_a_page_are_found(visit: Callable[..., Visit]) -> None:
    """Also text that is wider than a phone only where letters are wide."""
    faint = (
        "<p style='color: #888888'>grey</p><p style='opacity: 0.9'>unknown</p><p style='color: #1B1E23'>dark</p>",
        FIGURE.format("<rect width='9' height='9' fill='#999'/><text y='5' fill='#fff'>drawn</text>"),
        "<p>words before a <a href='#' style='text-decoration: none'>link</a></p>",
    )
    maths = "<p>$z_t$</p><math><merror><mtext>\\gz[_t</mtext></merror></math>"
    tight = "<p><b id='tight' style='display: inline-block; font-size: 12px; white-space: nowrap'>A few words</b></p>"
    far = "<div style='height: 0'><div style='height: 9000px; visibility: hidden'></div></div>"
    seen = visit("".join((*faint, maths, tight, far)) + f"<img src='{PIXEL}'>")
    assert page_checks.below_the_footer(seen.page) > 1000
    assert {"$z_t$", "\\gz[_t"} <= set(page_checks.maths_not_set(seen.page))
    found = [(what, re.sub("<.*?>", "", html)) for what, html in page_checks.faint_text(seen.page, "dark", "light")]
    wanted = {"grey": "light: contrast 3", "drawn": "light: contrast 2", "dark": "dark: contrast 1"}
    wanted |= {"unknown": "light: contrast u", "link": "light: link like"}
    for word, said in wanted.items():
        assert any(word == text and what.startswith(said) for what, text in found), word
    assert "image-alt" in dict(page_checks.violations(seen.page))
    seen.page.evaluate("tight.style.paddingLeft = `${387 - tight.getBoundingClientRect().right}px`")
    assert page_checks.too_wide(seen.page) != []


def test_faults_in_a_file_are_found(plant: Callable[..., Path]) -> None:
    links = "<a href='nowhere.html'>there</a><a href='notation.html#nowhere'>there</a>"
    ids = "<p id='twice'></p><p id='twice'></p>"
    file = plant(links + ids + FIGURE.format('<path fill="#123456"/>') + f"<img src='{PIXEL}' alt='a curve'>")
    assert page_checks.broken_links(file) == ["nowhere.html", "notation.html#nowhere"]
    assert page_checks.repeated_ids(file) == ["twice"]
    assert page_checks.fixed_colours(file) == ["#123456"]
    assert page_checks.wordless_figures(file) == ["a curve", "A figure for a test"]
