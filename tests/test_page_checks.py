"""The checks of the pages find what they look for: each gets a page of the book with one fault for its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import page_checks
import pytest

from conftest import Visit

PAGE = "book/bibliography"
FIGURE = '<svg class="gru-fig" role="img" aria-label="A figure for a test" viewBox="0 0 9 9" font-size="4">{}</svg>'
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


@pytest.fixture
def plant(tmp_path: Path, built_book: Path) -> Callable[..., Path]:
    """A copy of a page, beside the rest of the book, with its heading and something else in its article:
    ``plant(html)`` is its path. With ``free`` it has no content security policy, which would stop some faults."""

    def make(html: str, *, free: bool = False) -> Path:
        path = tmp_path / f"{PAGE}.html"
        path.parent.mkdir()
        for beside in (*built_book.iterdir(), *(built_book / "book").iterdir()):
            copy = tmp_path / beside.relative_to(built_book)
            if copy not in (path, path.parent):
                copy.symlink_to(beside)
        whole = (built_book / f"{PAGE}.html").read_text("utf8")
        article = re.compile("(<article[^>]*>.*?</h1>).*(?=</article>)", re.S)
        whole = article.sub(lambda found: f"{found[1]}</section>{html}", whole)
        path.write_text(page_checks.POLICY.sub("<head>", whole) if free else whole, "utf8")
        return path

    return make


@pytest.fixture
def visit(
    plant: Callable[..., Path], reader: Callable[[str, int], AbstractContextManager[Visit]]
) -> Iterator[Callable[..., Visit]]:
    """Open such a page: ``visit(html)``."""
    with ExitStack() as visits:

        def open_page(html: str, *, width: int = 390, **how: bool) -> Visit:
            visit = visits.enter_context(reader(plant(html, **how).as_uri(), width))
            visit.open()
            return visit

        yield open_page


def light(page: Any) -> list[str]:
    """What of the text is faint in the light, roughly how much."""
    return [what[:17] for what, _ in page_checks.faint_text(page, "light")]


def test_page_without_a_fault_passes_every_check(visit: Callable[..., Visit], tmp_path: Path) -> None:
    seen, file = visit(""), tmp_path / f"{PAGE}.html"
    assert (seen.foreign, seen.complaints) == ([], [])
    for look in (page_checks.maths_not_set, page_checks.too_wide, light, page_checks.violations):
        assert look(seen.page) == []
    for read in (
        page_checks.broken_links,
        page_checks.wordless_figures,
        page_checks.fixed_colours,
        page_checks.repeated_ids,
    ):
        assert read(file) == []


def test_request_to_another_host_is_noted_and_blocked(visit: Callable[..., Visit], book_url: str) -> None:
    """A picture of this machine by another name, which Chromium would find."""
    url = f"{book_url.replace('127.0.0.1', 'book.localhost')}/_static/minus.png"
    seen = visit(f'<img alt="" id="foreign" src="{url}">', free=True)
    assert seen.foreign == [url]
    assert seen.page.evaluate("document.getElementById('foreign').naturalWidth") == 0


def test_complaints_of_a_page_are_noted(visit: Callable[..., Visit]) -> None:
    faults = {
        "<script>console.warn('a warning')</script>": "warning: a warning",
        "<script>throw new Error('an exception')</script>": "uncaught: an exception",
        "<img alt='' src='missing.png'>": "failed: ",
    }
    complaints = visit("".join(faults), free=True).complaints
    for said in faults.values():
        assert any(complaint.startswith(said) for complaint in complaints), said


def test_injected_script_does_not_run(visit: Callable[..., Visit]) -> None:
    faults = "<script>document.title = 'injected'</script>"
    faults += """<img src="" alt="nothing" onerror="document.title = 'injected'">"""
    seen = visit(faults)
    assert seen.page.title() != "injected"
    assert sum("Content Security Policy" in complaint for complaint in seen.complaints) >= 2


@pytest.mark.parametrize(
    ("look", "html", "found"),
    [
        (page_checks.maths_not_set, "<p>$z_t$</p>", "$z_t$"),
        (page_checks.maths_not_set, "<math><merror><mtext>\\gz[_t</mtext></merror></math>", "\\gz[_t"),
        (light, "<p style='color: #888888'>word</p>", "light: contrast 3"),
        (light, FIGURE.format("<rect width='9' height='9' fill='#999'/><text y='5' fill='#fff'>w</text>"),
         "light: contrast 2"),
        (light, "<p style='color: #888888'><math><mi>x</mi></math></p>", "light: contrast 3"),
        (light, "<div hidden><p style='color: rgb(0 0 0 / 0.4)'>half</p></div>", "light: contrast 2"),
        (light, "<p style='opacity: 0.9'>words</p>", "light: contrast u"),
        (light, "<p>words before a <a href='#' style='text-decoration: none'>link</a></p>", "light: link like "),
        (page_checks.violations, f"<img src='{PIXEL}'>", "image-alt"),
    ],
)  # fmt: skip
def test_fault_on_a_page_is_found(visit: Callable[..., Visit], look: Any, html: str, found: str) -> None:
    seen = visit(html)
    seen.set_theme("light")
    assert {each if isinstance(each, str) else each[0] for each in look(seen.page)} == {found}


@pytest.mark.parametrize("edge", [387, 500])
def test_element_that_is_too_wide_with_wide_letters_is_found(visit: Callable[..., Visit], edge: int) -> None:
    """Even if it fits, 3 px from the edge of the screen, with those of this machine."""
    seen = visit(
        "<p id='tight' style='display: inline-block; font-size: 12px; white-space: nowrap'>A line of words.</p>"
    )
    seen.page.evaluate("edge => { tight.style.paddingLeft = `${edge - tight.getBoundingClientRect().right}px` }", edge)
    assert page_checks.too_wide(seen.page) != []


def test_text_that_is_faint_in_the_dark_alone_is_found(visit: Callable[..., Visit]) -> None:
    seen = visit("<p style='color: #1B1E23'>word</p>")
    ((what, _),) = page_checks.faint_text(seen.page, "dark", "light")
    assert what.startswith("dark: contrast 1.")


def test_large_text_may_be_fainter(visit: Callable[..., Visit]) -> None:
    assert light(visit("<p style='color: #888888; font-size: 24px'>large</p>").page) == []


def test_page_that_goes_on_below_its_footer_is_found(visit: Callable[..., Visit]) -> None:
    far = "<div style='height: 0'><div style='height: 9000px; visibility: hidden'></div></div>"
    assert page_checks.below_the_footer(visit(far).page) > 1000


def test_lines_that_move_as_the_page_loads_are_found(visit: Callable[..., Visit]) -> None:
    late = "<div id='late'></div><p>A line of text that moves.</p>"
    push = "requestAnimationFrame(() => requestAnimationFrame(() => { late.style.height = '300px'; }))"
    seen = visit(f"{late}<script>addEventListener('load', () => {push})</script>", free=True)
    seen.page.wait_for_function("late.style.height")
    seen.page.wait_for_timeout(100)
    assert page_checks.shift(seen.page) > 0.01


def test_weight_counts_each_file_once_and_gzipped(tmp_path: Path) -> None:
    (tmp_path / "a b.js").write_text("a" * 100_000)
    url = (tmp_path / "a b.js").as_uri()
    assert 100 < page_checks.weight([url, url, "data:,aaa"]) < 500


def test_explorer_on_a_sidebar_is_found(visit: Callable[..., Visit]) -> None:
    explorer = "<div data-afm='it' id='it' style='height: 300px; margin-left: -100px'>explorer</div>"
    (found,) = page_checks.covered(visit(explorer, width=1366).page)
    assert found.startswith("it on bd-sidebar-primary")


@pytest.mark.parametrize(
    ("read", "html", "found"),
    [
        (page_checks.broken_links, "<a href='nowhere.html'>there</a>", "nowhere.html"),
        (page_checks.broken_links, "<a href='notation.html#nowhere'>there</a>", "notation.html#nowhere"),
        (page_checks.wordless_figures, f"<img src='{PIXEL}' alt='a curve'>", "a curve"),
        (page_checks.fixed_colours, FIGURE.format('<path fill="#123456"/>'), "#123456"),
        (page_checks.repeated_ids, "<p id='twice'></p><p id='twice'></p>", "twice"),
    ],
)
def test_fault_in_a_file_is_found(plant: Callable[..., Path], read: Any, html: str, found: str) -> None:
    assert read(plant(html)) == [found]


def test_page_that_no_contents_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    for name in ("index", "search", "book/intro", "book/left-over"):
        (tmp_path / f"{name}.html").touch()
    assert page_checks.built_pages(tmp_path) == {"book/intro", "book/left-over"}


GOOD = f"default-src 'none'; script-src 'self' 'sha256-{'A' * 43}='; style-src 'unsafe-inline'; base-uri 'none'"
HEAD = (
    f'<head>\n<meta charset="utf-8"/><meta content="{GOOD}" http-equiv="Content-Security-Policy"/>\n<script></script>'
)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("", "", []),
        ("script-src 'self'", "script-src https:", ["https:", "script-src https:"]),
        ("style-src 'unsafe-inline'", "img-src 'unsafe-inline'", ["img-src"]),
        ("default-src 'none'", "default-src *", ["default-src", "default-src *"]),
        ('<meta charset="utf-8"/>', "<script></script>", ["no policy before all else"]),
        ("<script></script>", '<b onclick="f()">x</b>', ['<b onclick="f()">']),
    ],
)
def test_lax_policy_is_found(old: str, new: str, wrong: list[str]) -> None:
    found = page_checks.lax(HEAD.replace(old, new, 1))
    assert len(found) == len(wrong) and all(map(str.startswith, found, wrong))
