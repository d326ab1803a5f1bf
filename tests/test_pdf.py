"""The book as one PDF: pages in order, numbered, in light colours, with bookmarks and links that stay inside."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pdf
import pytest
from playwright.sync_api import Browser
from pypdf import PdfReader

PAGE = """<!doctype html><html data-theme="dark">
<head><style>@page {{ margin: 20mm 22mm }} [data-theme=dark] {{ color: #f00 }}</style></head>
<article><h1>{title}<a href="#top">#</a></h1>{body}</article></html>"""
LONG = '<p style="break-before: page" id="far">far away</p>'


@pytest.fixture(scope="module")
def printed(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    """Two pages that refer to each other; the first has two sheets."""
    html = tmp_path_factory.mktemp("html")
    bodies = {
        "one": f'<a href="#own">own</a> <a href="two.html#end">next</a>{LONG}<p id="own">',
        "two": '<a href="one.html#far">back</a> <a href="https://example.org/">out</a> <p id="end">end</p>',
    }
    for name, body in bodies.items():
        (html / f"{name}.html").write_text(PAGE.format(title=f"Title <i>{name}</i>", body=body), "utf8")
    file = BytesIO()
    pdf.book(browser, html, [("", ["one"]), ("A part", ["two"])]).write(file)
    return PdfReader(file)


def test_sheets_are_in_order_numbered_in_light_colours_and_have_bookmarks(printed: PdfReader) -> None:
    texts = [sheet.extract_text().split() for sheet in printed.pages]
    assert [re.match(r"\d+", text[0])[0] for text in texts] == ["1", "2", "3"]
    assert "far" in texts[1] and "Title one" in " ".join(texts[1]) and "end" in texts[2]
    one, part, (two,) = printed.outline
    assert [item.title for item in (one, part, two)] == ["Title one", "A part", "Title two"]
    assert [printed.get_destination_page_number(item) for item in (one, part, two)] == [0, 2, 2]
    assert b"1 0 0 rg" not in printed.pages[0].get_contents().get_data()


def test_links_between_pages_stay_inside_and_no_path_of_the_machine_is_told(printed: PdfReader) -> None:
    inside, outside = set(), []
    for n, sheet in enumerate(printed.pages):
        for link in (annotation.get_object() for annotation in sheet.get("/Annots", ())):
            if "/Dest" in link:
                place = printed.named_destinations[link["/Dest"]]
                inside.add((n, printed.get_destination_page_number(place)))
            else:
                outside.append(link["/A"]["/URI"])
    assert outside == ["https://example.org/"]
    assert {(0, 1), (0, 2), (2, 1)} <= inside  # own, next, back


# Blocks that would scroll on a screen, and on paper are cut off.
CUT = """() => [...document.querySelectorAll('article :is(pre, table, div, figure)')]
    .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 2)
    .filter(e => getComputedStyle(e).overflowX !== 'visible')
    .map(e => `${e.tagName}.${e.className}: ${e.scrollWidth} of ${e.clientWidth}`)"""


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
    assert not any(solution.is_visible() for solution in window.locator(".solution:not([open])").all())
    window.close()
    assert found == [[], []]
