"""The built book, in a browser that can reach nothing but the book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Browser

from conftest import ROOT, Visit, watch

WIDTHS = (1280, 390)
THEMES = ("light", "dark")


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


@pytest.fixture(scope="module", params=[(page, width) for page in PAGES for width in WIDTHS], ids=str)
def visit(request: pytest.FixtureRequest, browser: Browser, book_url: str) -> Iterator[Visit]:
    """A page at a width, loaded once for all the tests of it."""
    page, width = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    visit = watch(context, f"{book_url}/{page}.html")
    visit.open()
    yield visit
    context.close()


# What the finished page is


def test_page_loads_quietly_and_from_the_book_alone(visit: Visit) -> None:
    assert visit.foreign == []
    assert visit.complaints == []


def test_maths_is_typeset(visit: Visit) -> None:
    written = visit.page.locator(".bd-article .math").count()
    assert visit.page.locator(".bd-article .math mjx-container").count() == written
    assert visit.page.locator(".bd-article mjx-container > mjx-assistive-mml > math").count() == written
    assert visit.page.locator("mjx-merror, [data-mjx-error]").all_inner_texts() == []
    assert "\\(" not in visit.page.locator(".bd-article").inner_text()


def test_nothing_is_wider_than_the_screen(visit: Visit) -> None:
    size = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert size[0] <= size[1]


# A chapter's drawn maths and coloured code are 20,000 nodes, which axe reads for ten seconds. What it reads instead:
# the MathML that MathJax adds for assistive technology, and two code blocks. Their colours are roles, ink and muted,
# whose contrast tests/test_viz.py computes.
LIGHTEN = """
document.querySelectorAll("mjx-container > mjx-math").forEach((drawn) => drawn.remove());
[...document.querySelectorAll(".highlight pre")].slice(2).forEach((pre) => (pre.textContent = pre.textContent));
"""


def violations(visit: Visit, **options: object) -> list[object]:
    visit.page.evaluate(LIGHTEN)
    found = Axe().run(visit.page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found]


def test_axe_finds_no_violation(visit: Visit) -> None:
    visit.set_theme("light")
    assert violations(visit) == []


def test_axe_finds_no_violation_in_the_dark(visit: Visit) -> None:
    """Dark changes colours and nothing else, so only contrast is read again."""
    visit.set_theme("dark")
    assert violations(visit, runOnly=["color-contrast"]) == []


READ_FIGURES = """() => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => {
    const part = rgb(colour).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const contrast = (colour) => {
    const [a, b] = [light(colour), paper].sort((p, q) => q - p);
    return (a + 0.05) / (b + 0.05);
  };
  return [...document.querySelectorAll("svg.gru-fig text")]
    .filter((text) => text.textContent.trim())
    .map((text) => [text.textContent.trim(), contrast(getComputedStyle(text).fill)]);
}"""


@pytest.mark.parametrize("theme", THEMES)
def test_text_in_figures_has_contrast(visit: Visit, theme: str) -> None:
    visit.set_theme(theme)
    assert [pair for pair in visit.page.evaluate(READ_FIGURES) if pair[1] < 4.5] == []


@pytest.mark.parametrize("page", PAGES)
def test_page_works_from_disk(page: str, browser: Browser, built_book: Path) -> None:
    context = browser.new_context()
    visit = watch(context, (built_book / f"{page}.html").as_uri())
    visit.open()
    assert visit.foreign == []
    assert visit.complaints == []
    assert visit.page.locator(".math mjx-container").count() == visit.page.locator(".math").count()
    context.close()


def test_front_page_opens_from_the_root(browser: Browser, book_url: str) -> None:
    context = browser.new_context()
    visit = watch(context, f"{book_url}/index.html")
    visit.page.goto(visit.url)
    visit.page.wait_for_url(f"**/{PAGES[0]}.html")
    assert visit.page.locator("h1").first.inner_text()
    context.close()


# What stands in its files


@cache
def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf8"), "html.parser")


@cache
def ids(path: Path) -> Counter[str]:
    return Counter(str(e["id"]) for e in parse(path).select("[id]"))


def read(built_book: Path, page: str) -> BeautifulSoup:
    return parse(built_book / f"{page}.html")


def test_pages_are_those_of_the_table_of_contents(built_book: Path) -> None:
    built = {str(p.relative_to(built_book).with_suffix("")) for p in built_book.rglob("*.html")}
    assert {p for p in built - {"index", "search"} if not p.startswith("_static/")} == set(PAGES), "make clean?"


def test_front_page_lists_every_chapter(built_book: Path) -> None:
    listed = {a["href"] for a in read(built_book, PAGES[0]).select(".gru-contents a")}
    chapters = {f"{Path(p).name}.html" for p in PAGES if re.match(r"\d\d-", Path(p).name)}
    assert listed == chapters


@pytest.mark.parametrize("page", PAGES)
def test_links_inside_the_book_lead_somewhere(page: str, built_book: Path) -> None:
    here = built_book / f"{page}.html"
    broken = []
    for link in read(built_book, page).select("a[href]"):
        url = urlsplit(str(link["href"]))
        if url.scheme or url.netloc:
            continue
        target = (here.parent / unquote(url.path)).resolve() if url.path else here
        anchor = url.fragment.partition("?")[0]  # `#gate?z=0.9` sets an explorer's state
        if not target.is_file() or (anchor and target.suffix == ".html" and unquote(anchor) not in ids(target)):
            broken.append(str(link["href"]))
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_figures_say_what_they_show(page: str, built_book: Path) -> None:
    article = read(built_book, page).select_one("article")
    assert article is not None
    texts = [str(img.get("alt", "")) for img in article.select("img")]
    texts += [str(svg.get("aria-label", "")) for svg in article.select("svg.gru-fig")]
    assert [t for t in texts if len(t) < 20 or re.search(r"[0-9a-f]{16}|_images", t)] == []


@pytest.mark.parametrize("page", PAGES)
def test_figures_follow_the_page(page: str, built_book: Path) -> None:
    """Every colour of a figure is one of the page's variables, and no figure stayed a picture of its own."""
    soup = read(built_book, page)
    assert soup.select('article img[src$=".svg"]') == []
    for figure in soup.select("svg.gru-fig"):
        text = re.sub(r"var\(--gru-[a-z]+, #[0-9A-F]{6}\)", "", str(figure))
        assert re.findall(r"#[0-9a-fA-F]{6}\b", text) == []


@pytest.mark.parametrize("page", PAGES)
def test_ids_are_unique(page: str, built_book: Path) -> None:
    assert [name for name, count in ids(built_book / f"{page}.html").items() if count > 1] == []


def test_footer_states_both_licences(built_book: Path) -> None:
    footer = read(built_book, PAGES[0]).select_one("footer.bd-footer-content")
    assert footer is not None
    for part in ("© Copyright 2026", "MIT licence", "CC BY 4.0"):
        assert part in footer.get_text()
