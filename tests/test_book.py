"""The built book: every page in a browser that can reach nothing but the book, and every page as a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import page_checks
import pytest
import yaml
from fontTools.ttLib import TTFont

from conftest import ROOT, Visit

THEMES = ("light", "dark")

Reader = Callable[[str, int], AbstractContextManager[Visit]]


def toc() -> list[str]:
    """Every page the table of contents names, such as ``book/intro``."""

    def files(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (value for key, value in node.items() if key in ("root", "file"))
            for value in node.values():
                yield from files(value)
        elif isinstance(node, list):
            for value in node:
                yield from files(value)

    return list(files(yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))))


PAGES = toc()

PHONE, DESK = 390, 1280

# Every page is opened from disk, on a desk, and made narrow afterwards. One of each kind is opened on a phone as well,
# over http: the front page, a chapter full of maths, one with three explorers, one with none, words, references.
ON_A_PHONE = [p for p in PAGES if re.search(r"intro$|/05-|/10-|/19-|glossary$|bibliography$", p)]


@pytest.fixture(scope="module", params=PAGES, ids=lambda page: f"{page}.html")
def visit(request: pytest.FixtureRequest, reader: Reader, built_book: Path) -> Iterator[Visit]:
    """A page, loaded once for all the tests of it."""
    with reader((built_book / f"{request.param}.html").as_uri(), DESK) as visit:
        visit.open()
        yield visit


@pytest.fixture(params=ON_A_PHONE, ids=lambda page: f"{page}.html")
def phone(request: pytest.FixtureRequest, reader: Reader, book_url: str) -> Iterator[Visit]:
    """A page loaded on a phone, over http."""
    with reader(f"{book_url}/{request.param}.html", PHONE) as visit:
        visit.open()
        yield visit


# The theme's script marks what scrolls, 300 ms after the last change of width or content. What does not need the marks
# is asked meanwhile.
WATCH = """() => { window.settled = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  let timer;
  const wait = () => { clearTimeout(timer); timer = setTimeout(done, 350); };
  new MutationObserver(wait).observe(document.getElementById("main-content"), { subtree: true, childList: true });
  wait();
}))); }"""


def look(visit: Visit, width: int, theme: str = "light", *, settled: bool = False) -> None:
    """Take the page to a width and a theme; if asked, wait until it has arranged itself."""
    visit.set_theme(theme)
    if visit.page.viewport_size != {"width": width, "height": 900}:
        visit.page.set_viewport_size({"width": width, "height": 900})
        visit.page.evaluate(WATCH)
    if settled:
        visit.page.evaluate("window.settled")


# In a browser. From the figures on, the tests thin the page; the last ones leave little more than what frames it.


def test_page_loads_quietly_and_from_the_book_alone(visit: Visit) -> None:
    assert visit.foreign == []
    assert visit.complaints == []


def test_maths_is_typeset(visit: Visit) -> None:
    assert page_checks.maths_not_set(visit.page) == []


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_nothing_is_wider_than_the_screen(visit: Visit, width: int) -> None:
    look(visit, width)
    assert page_checks.too_wide(visit.page) == []


@pytest.mark.parametrize("theme", THEMES)
def test_text_in_figures_has_contrast(visit: Visit, theme: str) -> None:
    look(visit, PHONE, theme, settled=True)
    assert page_checks.faint_figure_text(visit.page) == []


def test_axe_finds_no_violation_on_a_phone(visit: Visit) -> None:
    look(visit, PHONE, settled=True)
    assert page_checks.violations(visit.page) == []


def test_text_in_the_dark_has_contrast_on_a_phone(visit: Visit) -> None:
    """Dark changes colours and nothing else."""
    look(visit, PHONE, "dark")
    assert page_checks.faint_text(visit.page) == []


def test_text_in_the_dark_has_contrast_on_a_desk(visit: Visit) -> None:
    """The sidebars, which a phone does not show, and the explorers, which draw otherwise there."""
    visit.page.evaluate(page_checks.WITHOUT_PROSE)
    look(visit, DESK, "dark")
    assert page_checks.faint_text(visit.page) == []


def test_axe_finds_no_violation_on_a_desk(visit: Visit) -> None:
    visit.page.evaluate(page_checks.WITHOUT_PROSE)
    look(visit, DESK, settled=True)
    assert page_checks.violations(visit.page) == []


def test_page_that_opens_on_a_phone_is_the_same(phone: Visit) -> None:
    """Quiet, its maths set, and no wider than the screen."""
    assert (phone.foreign, phone.complaints) == ([], [])
    assert page_checks.maths_not_set(phone.page) == []
    assert page_checks.too_wide(phone.page) == []


def test_front_page_opens_from_the_root(reader: Reader, book_url: str) -> None:
    with reader(f"{book_url}/index.html", DESK) as visit:
        visit.page.goto(visit.url)
        visit.page.wait_for_url(f"**/{PAGES[0]}.html")
        assert visit.page.locator("h1").first.inner_text()


def test_commands_to_install_are_copied_as_they_stand(reader: Reader, book_url: str) -> None:
    with reader(f"{book_url}/{PAGES[0]}.html", DESK) as visit:
        visit.open()
        visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for block in visit.page.locator("#install div.highlight, #cite div.highlight").all():
            block.hover()
            block.locator("button.copybtn").click()
            copied = visit.page.evaluate("navigator.clipboard.readText()")
            assert copied == block.locator("pre").inner_text().rstrip("\n") != ""
        assert copied.startswith("@misc{")


def test_search_finds_a_word(reader: Reader, book_url: str) -> None:
    with reader(f"{book_url}/search.html?q=bootstrap", DESK) as visit:
        visit.page.goto(visit.url)
        found = visit.page.locator("#search-results a", has_text="Does it matter")
        found.first.wait_for()
        assert visit.complaints == []


# In the files


@pytest.fixture(params=PAGES)
def file(request: pytest.FixtureRequest, built_book: Path) -> Path:
    """Each page's file in turn."""
    return built_book / f"{request.param}.html"


def test_pages_are_those_of_the_table_of_contents(built_book: Path) -> None:
    assert page_checks.built_pages(built_book) == set(PAGES), "`make book` builds it anew"


def test_front_page_lists_every_chapter(built_book: Path) -> None:
    listed = {a["href"] for a in page_checks.parse(built_book / f"{PAGES[0]}.html").select(".gru-contents a")}
    chapters = {f"{Path(p).name}.html" for p in PAGES if re.match(r"\d\d-", Path(p).name)}
    assert listed == chapters


def test_links_inside_the_book_lead_somewhere(file: Path) -> None:
    assert page_checks.broken_links(file) == []


def test_figures_say_what_they_show(file: Path) -> None:
    assert page_checks.wordless_figures(file) == []


def test_figures_follow_the_page(file: Path) -> None:
    assert page_checks.fixed_colours(file) == []


def test_ids_are_unique(file: Path) -> None:
    assert page_checks.repeated_ids(file) == []


def test_footer_states_both_licences(built_book: Path) -> None:
    footer = page_checks.parse(built_book / f"{PAGES[0]}.html").select_one("footer.bd-footer-content")
    assert footer is not None
    for part in ("© Copyright 2026", "MIT licence", "CC BY 4.0"):
        assert part in footer.get_text()


def test_search_index_is_loaded_where_a_search_runs_alone(built_book: Path) -> None:
    loading = {page.stem for page in built_book.rglob("*.html") if "searchindex.js" in page.read_text("utf8")}
    assert loading == {"search"}


def test_icon_font_holds_every_icon_of_the_pages_and_little_else(built_book: Path) -> None:
    font = TTFont(built_book / "_static/vendor/fontawesome/webfonts/fa-solid-900.woff2")
    style = (built_book / "_static/styles/pydata-sphinx-theme.css").read_text("utf8")
    pages = [page.read_text("utf8") for page in built_book.rglob("*.html")]
    icons = {name for page in pages for name in re.findall(r"\bfa-[a-z-]+", page)}
    for name in icons:
        if point := re.search(rf'\.{name}:+before[^{{}}]*{{content:"\\([0-9a-f]+)"', style):
            assert int(point[1], 16) in font.getBestCmap(), f"{name} would be an empty box"
    assert "fa-bars" in icons
    assert len(font.getBestCmap()) < 50  # of 1,400
    assert len(re.findall(r"\.fa-[a-z0-9-]+:before", style)) < 100  # rules of the style sheet, of 1,900
