"""The checks of the pages find what they look for: each gets a page of the book with one fault for its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import page_checks
import pytest

from conftest import Visit

PAGE = "book/bibliography"
FIGURE = '<svg class="gru-fig" role="img" aria-label="A figure for this test alone" viewBox="0 0 9 9">{}</svg>'
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="

Plant = Callable[[str], Path]
Open = Callable[..., Visit]
Reader = Callable[[str, int], AbstractContextManager[Visit]]


@pytest.fixture
def plant(tmp_path: Path, built_book: Path) -> Plant:
    """A copy of a page with its heading and something else in its article: ``plant(html)`` is its path."""

    def make(html: str) -> Path:
        path = tmp_path / f"{PAGE}.html"
        path.parent.mkdir()
        for beside in (*built_book.iterdir(), *(built_book / "book").iterdir()):
            copy = tmp_path / beside.relative_to(built_book)
            if copy not in (path, path.parent):
                copy.symlink_to(beside)
        whole = (built_book / f"{PAGE}.html").read_text("utf8")
        before, after = re.fullmatch("(.*<article[^>]*>.*?</h1>).*(</article>.*)", whole, re.S).groups()
        path.write_text(f"{before}</section>{html}{after}", "utf8")
        return path

    return make


@pytest.fixture
def visit(plant: Plant, reader: Reader) -> Iterator[Open]:
    """Open such a page, on a phone: ``visit(html)``."""
    with ExitStack() as visits:

        def open_page(html: str) -> Visit:
            visit = visits.enter_context(reader(plant(html).as_uri(), 390))
            visit.open()
            return visit

        yield open_page


def test_page_without_a_fault_passes_every_check(visit: Open, plant: Plant, tmp_path: Path) -> None:
    seen = visit("")
    path = tmp_path / f"{PAGE}.html"
    assert (seen.foreign, seen.complaints) == ([], [])
    assert page_checks.maths_not_set(seen.page) == []
    assert page_checks.too_wide(seen.page) == []
    assert page_checks.faint_figure_text(seen.page) == []
    assert page_checks.violations(seen.page) == []
    assert page_checks.faint_text(seen.page) == []
    for check in (
        page_checks.broken_links,
        page_checks.wordless_figures,
        page_checks.fixed_colours,
        page_checks.repeated_ids,
    ):
        assert check(path) == []


def test_window_that_was_used_before_has_kept_nothing(reader: Reader, built_book: Path) -> None:
    url = (built_book / f"{PAGE}.html").as_uri()
    with reader(url, 390) as first:
        first.open()
        first.page.evaluate("localStorage.kept = sessionStorage.kept = 'kept'; console.error('a word')")
        first.page.set_viewport_size({"width": 1280, "height": 900})
    with reader(url, 390) as second:
        second.open()
        assert second.page is first.page
        kept = second.page.evaluate("[localStorage.kept ?? null, sessionStorage.kept ?? null, innerWidth]")
    assert (kept, first.complaints, second.complaints) == ([None, None, 390], ["error: a word"], [])


def test_request_to_another_host_is_noted_and_blocked(visit: Open, book_url: str) -> None:
    """A picture that is there, but not in the book as this page has it, from disk."""
    url = f"{book_url}/_static/minus.png"
    seen = visit(f'<img alt="" id="foreign" src="{url}">')
    assert seen.foreign == [url]
    assert seen.page.evaluate("document.getElementById('foreign').naturalWidth") == 0


def test_complaints_of_a_page_are_noted(visit: Open) -> None:
    faults = {
        "<script>console.error('an error')</script>": "error: an error",
        "<script>console.warn('a warning')</script>": "warning: a warning",
        "<script>throw new Error('an exception')</script>": "uncaught: an exception",
        "<img alt='' src='missing.png'>": "failed: ",
    }
    complaints = visit("".join(faults)).complaints
    for said in faults.values():
        assert any(complaint.startswith(said) for complaint in complaints), said


@pytest.mark.parametrize("tex", [r"\frac{1}", r"\nosuchmacro{z}", r"\gz[_t"])
def test_faulty_maths_is_found(visit: Open, tex: str) -> None:
    assert page_checks.maths_not_set(visit(rf'<span class="math">\({tex}\)</span>').page) != []


def test_maths_that_nothing_sets_is_found(visit: Open) -> None:
    assert page_checks.maths_not_set(visit(r"<p class='tex2jax_ignore'>so \(x = 1\)</p>").page) == [r"\(x = 1\)"]


def test_wide_element_is_found(visit: Open) -> None:
    assert page_checks.too_wide(visit("<div style='width: 500px'>wide</div>").page) != []


def test_element_that_fits_with_narrow_letters_alone_is_found(visit: Open) -> None:
    """A line that may not break, 13 px from the edge of the screen."""
    style = "display: inline-block; font-size: 12px; white-space: nowrap"
    line = f"<span id='tight' style='{style}'>check.every_step_backward(my_step_backward)</span>"
    fill = "tight.style.paddingRight = `${360 - tight.getBoundingClientRect().width}px`"
    seen = visit(f"<p>{line}</p><script>{fill}</script>")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
    assert page_checks.too_wide(seen.page) != []


def test_faint_text_in_a_figure_is_found(visit: Open) -> None:
    seen = visit(FIGURE.format('<text fill="#777777">word</text>'))
    seen.set_theme("light")
    assert [text for text, _ in page_checks.faint_figure_text(seen.page)] == ["word"]


def test_axe_violations_are_found(visit: Open) -> None:
    faults = {
        "image-alt": f"<img src='{PIXEL}'>",
        "color-contrast": "<p style='color: #AAAAAA'>word</p>",
        "button-name": "<button></button>",
        "empty-table-header": "<table><tr><th></th><td>1</td></tr></table>",
        "link-in-text-block": "<p>words before a <span role='link' tabindex='0' style='color: #333333'>link</span></p>",
    }
    seen = visit("".join(faults.values()))
    seen.set_theme("light")
    assert {name for name, _ in page_checks.violations(seen.page)} == set(faults)


def test_what_axe_read_before_is_left_out_and_nothing_else(visit: Open) -> None:
    """Explorers and buttons stay; figures were read at the other width."""
    image = f"<img src='{PIXEL}'>"
    seen = visit(f"<figure>{image}</figure><button></button><div data-afm='none'><p>{image}</p></div>")
    seen.set_theme("light")
    seen.page.evaluate(page_checks.WITHOUT_PROSE)
    found = {name: len(nodes) for name, nodes in page_checks.violations(seen.page)}
    assert (found["image-alt"], found["button-name"]) == (1, 1)


def test_of_text_that_looks_alike_one_piece_is_left(visit: Open) -> None:
    """What looks otherwise in one theme alone, or is nested or positioned, stays."""
    seen = visit(
        "<style>[data-theme='dark'] .odd { color: #333333 }</style>"
        "<p>first</p><p>alike</p><p class='odd'>odd</p><p class='odd'>odd alike</p>"
        "<ul><li><p>alike</p></li><li><p style='font-size: 9px'>small</p></li></ul>"
        "<p style='position: absolute'>positioned</p><div style='background: #eeeeee'><p>on grey</p></div>"
    )
    seen.set_theme("light")
    assert page_checks.faint_text(seen.page) == []
    left = seen.page.evaluate("[...document.querySelectorAll('article p')].map((p) => p.textContent)")
    assert left == ["first", "odd", "small", "positioned", "on grey"]
    seen.set_theme("dark")
    assert [name for name, _ in page_checks.faint_text(seen.page)] == ["color-contrast"]


def test_text_that_is_faint_in_the_dark_is_found(visit: Open) -> None:
    seen = visit("<p style='color: #1B1E23'>word</p>")
    seen.set_theme("light")
    assert page_checks.faint_text(seen.page) == []
    seen.set_theme("dark")
    assert page_checks.faint_text(seen.page) != []


@pytest.mark.parametrize("href", ["nowhere.html", "#nowhere", "notation.html#nowhere", "../nowhere"])
def test_broken_link_is_found(plant: Plant, href: str) -> None:
    assert page_checks.broken_links(plant(f"<a href='{href}'>there</a>")) == [href]


@pytest.mark.parametrize("alt", ["", "alt='a curve'", "alt='../_images/0123456789abcdef0123.png'"])
def test_picture_without_words_is_found(plant: Plant, alt: str) -> None:
    assert len(page_checks.wordless_figures(plant(f"<img src='{PIXEL}' {alt}>"))) == 1


@pytest.mark.parametrize(
    ("html", "found"),
    [(FIGURE.format('<path fill="#123456"/>'), "#123456"), ("<img src='figure.svg'>", "figure.svg")],
)
def test_colour_that_does_not_follow_the_page_is_found(plant: Plant, html: str, found: str) -> None:
    assert page_checks.fixed_colours(plant(html)) == [found]


def test_repeated_id_is_found(plant: Plant) -> None:
    assert page_checks.repeated_ids(plant("<p id='twice'></p><p id='twice'></p>")) == ["twice"]


def test_page_that_no_contents_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    for name in ("index", "search", "book/intro", "book/left-over"):
        (tmp_path / f"{name}.html").touch()
    assert page_checks.built_pages(tmp_path) == {"book/intro", "book/left-over"}
