"""The book as one PDF: pages in order, numbered, in light colours, with bookmarks and links that stay inside."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pdf
import pytest
from playwright.sync_api import Browser
from pypdf import PdfReader
from pypdf.generic import Destination

PAGE = """<!doctype html><html data-theme="dark">
<style>@page {{ margin: 20mm 22mm }} [data-theme=dark] {{ color: #f00 }}</style>
<article><h1>{title}<a href="#top">#</a></h1>{body}</article></html>"""
LONG = "<p style='break-before: page' id='far'>far away</p>"


@pytest.fixture(scope="module")
def printed(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    """Two pages that refer to each other; the first has two sheets."""
    html = tmp_path_factory.mktemp("html")
    bodies = {
        "one": f"<a href='#own'>own</a> <a href=\"two.html#end\">next</a>{LONG}<p id='own'>",
        "two": "<a href=\"one.html#far\">back</a> <a href='https://example.org/'>out</a> <p id='end'>end</p>",
    }
    for name, body in bodies.items():
        (html / f"{name}.html").write_text(PAGE.format(title=f"Title <i>{name}</i>", body=body), "utf8")
    file = BytesIO()
    pdf.book(browser, html, [("", ["one"]), ("A part", ["two"])]).write(file)
    return PdfReader(file)


def test_sheets_are_in_order_and_numbered_with_their_chapter(printed: PdfReader) -> None:
    texts = [sheet.extract_text().split() for sheet in printed.pages]
    assert [text[-1] for text in texts] == ["1", "2", "3"]
    assert "far" in texts[1] and " ".join(texts[1]).endswith("Title one 2") and "end" in texts[2]


def test_bookmarks_lead_to_parts_and_pages(printed: PdfReader) -> None:
    def told(items: list) -> list:
        return [
            (item.title, printed.get_destination_page_number(item)) if isinstance(item, Destination) else told(item)
            for item in items
        ]

    assert told(printed.outline) == [("Title one", 0), ("A part", 2), [("Title two", 2)]]


def test_links_between_pages_stay_inside_and_no_path_of_the_machine_is_told(printed: PdfReader) -> None:
    inside, outside = set(), []
    for n, sheet in enumerate(printed.pages):
        for link in (annotation.get_object() for annotation in sheet.get("/Annots", ())):
            if "/Dest" in link:
                inside.add((n, printed.get_page_number(link["/Dest"][0].get_object())))
            else:
                outside.append(link["/A"]["/URI"])
    assert outside == ["https://example.org/"]
    assert {(0, 1), (0, 2), (2, 1)} <= inside  # own, next, back


def test_colours_are_light(printed: PdfReader) -> None:
    assert b"1 0 0 rg" not in printed.pages[0].get_contents().get_data()


# Blocks that would scroll on a screen, and on paper are cut off.
CUT = """() => [...document.querySelectorAll('article :is(pre, table, div, figure)')]
    .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 2)
    .filter(e => getComputedStyle(e).overflowX !== 'visible')
    .map(e => `${e.tagName}.${e.className}: ${e.scrollWidth} of ${e.clientWidth}`)"""


# How large the letters of a formula with a subscript and of that subscript are.
SCRIPTS = """() => [...document.querySelectorAll('article :is(semantics, semantics > mrow) > msub')]
    .map(e => [...e.children].map(letter => parseFloat(getComputedStyle(letter).fontSize)))"""


def test_a_printed_page_has_small_subscripts_and_no_title_of_a_closed_solution(
    browser: Browser, built_book: Path
) -> None:
    window = pdf.sheet(browser)
    pdf.lay_out(window, (built_book / "book" / "01-from-a-sum-to-a-state.html").as_uri())
    sizes = window.evaluate(SCRIPTS)
    assert len(sizes) > 50
    assert all(0.65 < script / base < 0.8 for base, script in sizes)
    solutions = window.locator(".solution.toggle-hidden").all()
    assert len(solutions) > 3 and not any(solution.is_visible() for solution in solutions)
    window.close()


# The rows of numbers that take more lines than they have: of an explorer's list, and of what a cell printed.
WRAPPED = """() => [
    ...[...document.querySelectorAll('.ex-list .ex-numbers')].map(row => [row, 1]),
    ...[...document.querySelectorAll('.cell_output pre')]
        .map(pre => [pre, pre.textContent.trimEnd().split('\\n').length])
].filter(([e, lines]) => {
    const {paddingTop, paddingBottom, lineHeight} = getComputedStyle(e);
    const height = e.clientHeight || e.getBoundingClientRect().height;
    return height - parseFloat(paddingTop) - parseFloat(paddingBottom) > (lines + 0.9) * parseFloat(lineHeight);
}).map(([e]) => e.textContent.slice(0, 80))"""


@pytest.mark.parametrize("page", ["05-gru-backward", "08-three-stories", "10-conventions"])
def test_nothing_is_cut_off_and_columns_of_numbers_keep_their_lines(
    browser: Browser, built_book: Path, page: str
) -> None:
    window = pdf.sheet(browser)
    pdf.lay_out(window, (built_book / "book" / f"{page}.html").as_uri())
    found = [window.evaluate(CUT), window.evaluate(WRAPPED)]
    window.close()
    assert found == [[], []]


def test_the_book_has_every_page_of_its_contents() -> None:
    pages = [page for _, pages in pdf.contents() for page in pages]
    assert pages[0] == "book/intro" and len(pages) >= 23 and "book/glossary" in pages
    assert all(list(Path(pdf.ROOT).glob(f"{page}.*")) for page in pages)
