"""The built book as one PDF: ``python tools/pdf.py FILE``.

The browser prints every page of ``_build/html`` in the order of ``_toc.yml``. The prints are joined into one file, with
bookmarks, page numbers, and links that lead from page to page inside it.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from html import escape, unescape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import browser
import yaml
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NullObject

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"

# Paper has no use for "Show code", and has margins of its own.
STYLE = """
    details.hide:not([open]) { display: none }
    .gru-ex svg { overflow: visible }
    .ex-equations { zoom: 0.9 }
"""
LIGHT = "document.documentElement.dataset.mode = document.documentElement.dataset.theme = 'light'"
# An output of up to 108 characters a line keeps its columns, in letters as small as it needs: the style sheet's fit 89.
FIT = """document.querySelectorAll('.cell_output pre').forEach(pre => {
    const longest = Math.max(...pre.textContent.split('\\n').map(line => line.length));
    const size = parseFloat(getComputedStyle(pre).fontSize);
    if (longest > 89 && longest <= 108) pre.style.fontSize = `${size * 89 / longest}px`;
})"""
# The browser notes the place of an element if the same page links to it. For links from elsewhere, so do these.
PLACES = """ids => document.querySelector('article').append(...ids.map(id => {
    const link = document.createElement('a');
    link.href = '#' + id;
    link.textContent = '\\u00a0';
    link.style.cssText = 'position: absolute; bottom: 0; left: 0; font-size: 1px; text-decoration: none';
    return link;
}))"""
TITLE = "document.querySelector('article h1').innerText.replace(/#$/, '').trim()"

# A page of numbers, laid over the printed ones. A4, as they are.
NUMBERS = """<style>
@page {{ size: A4; margin: 0 }}
body {{ margin: 0 }}
p {{ box-sizing: border-box; height: 297mm; margin: 0; padding: 283mm 22mm 0; break-after: page; overflow: hidden;
    font: 8.5pt "Liberation Sans", Arial, sans-serif; color: #444; display: flex; justify-content: space-between }}
p:last-child {{ break-after: auto }}
</style>{}"""


def contents(root: Path = ROOT) -> list[tuple[str, list[str]]]:
    """The parts of ``_toc.yml`` with their pages, the front page first: ``[("", ["book/intro"]), …]``."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf8"))
    return [("", [toc["root"]])] + [(p["caption"], [c["file"] for c in p["chapters"]]) for p in toc["parts"]]


class Printed:
    """A page of the book, printed, and the place of it and its elements in the whole."""

    def __init__(self, title: str, pdf: bytes) -> None:
        self.title = title
        self.reader = PdfReader(BytesIO(pdf))
        self.first = 0  # index of its first sheet in the whole

    def place(self, name: str) -> tuple[int, float | None]:
        """The sheet of the whole on which an element stands, and its height there; the first for one that is not."""
        found = self.reader.named_destinations.get(f"/{name}") or self.reader.named_destinations.get(name)
        number = None if found is None else self.reader.get_destination_page_number(found)
        return (self.first, None) if found is None or number is None else (self.first + number, found.top)


def sheet(chromium: Browser) -> Page:
    """A window as wide as the paper between its margins, in print: explorers measure where they stand.

    Its dots are as small as a printer's: letters are sized by their x-height, which a browser rounds to whole dots.
    """
    paper = {"width": 627, "height": 971}
    page = chromium.new_page(viewport=paper, device_scale_factor=4, reduced_motion="reduce", color_scheme="light")
    page.emulate_media(media="print")
    return page


def lay_out(page: Page, address: str) -> None:
    """Load a page, and wait until all of it stands where it will be printed."""
    page.goto(address)
    page.evaluate(LIGHT)
    page.add_style_tag(content=STYLE)
    page.evaluate(FIT)
    page.evaluate("document.fonts.ready.then(() => true)")


def print_pages(chromium: Browser, html: Path, pages: list[str]) -> dict[str, Printed]:
    """Print pages of the built book, each by the address it has there."""
    files = [html / f"{page}.html" for page in pages]
    wanted: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for link in re.findall(r'<a [^>]*href="([^"]+#[^"]+)"', file.read_text("utf8")):
            address, fragment = urldefrag(urljoin(file.as_uri(), unescape(link)))
            wanted[address].add(unquote(fragment))
    page = sheet(chromium)
    printed = {}
    for address in (file.as_uri() for file in files):
        lay_out(page, address)
        page.evaluate(PLACES, sorted(wanted[address]))
        printed[address] = Printed(page.evaluate(TITLE), page.pdf(format="A4", prefer_css_page_size=True))
    page.close()
    return printed


def numbers(chromium: Browser, printed: list[Printed]) -> PdfReader:
    """As many sheets as the whole has, each with nothing on it but its chapter and number."""
    sheets = [(one.title if k else "") for one in printed for k in range(len(one.reader.pages))]
    rows = (f"<p><span>{escape(title)}</span><span>{n}</span></p>" for n, title in enumerate(sheets, start=1))
    page = chromium.new_page()
    page.set_content(NUMBERS.format("".join(rows)))
    return PdfReader(BytesIO(page.pdf(prefer_css_page_size=True)))


def target(link: DictionaryObject, here: Printed, printed: dict[str, Printed]) -> tuple[int, float | None] | None:
    """Where in the whole a link leads; None if out of it."""
    action: dict[str, Any] = link.get("/A", {})
    named = link.get("/Dest", action.get("/D"))
    if isinstance(named, str):
        return here.place(named.removeprefix("/"))
    address, fragment = urldefrag(str(action.get("/URI", "")))
    return printed[address].place(unquote(fragment)) if address in printed else None


def join(printed: dict[str, Printed], over: PdfReader) -> PdfWriter:
    """One file of all, with the numbers laid over and the links between the pages inside."""
    whole = PdfWriter()
    for one in printed.values():
        one.first = len(whole.pages)
        for sheet in one.reader.pages:
            whole.add_page(sheet)
    for sheet, number in zip(whole.pages, over.pages, strict=True):
        sheet.merge_page(number)
        sheet.compress_content_streams()
    for one in printed.values():
        for sheet in whole.pages[one.first : one.first + len(one.reader.pages)]:
            for annotation in sheet.get("/Annots", ()):
                link = annotation.get_object()
                found = target(link, one, printed)
                if found is not None:
                    at, top = found
                    for old in ("/A", "/Dest", "/PA"):
                        link.pop(old, None)
                    height = NullObject() if top is None else FloatObject(top)
                    where = [whole.pages[at].indirect_reference, NameObject("/XYZ"), NullObject(), height, NullObject()]
                    link[NameObject("/Dest")] = ArrayObject(where)
    return whole


def book(chromium: Browser, html: Path, parts: list[tuple[str, list[str]]]) -> PdfWriter:
    """The pages of the parts as one file with bookmarks."""
    printed = print_pages(chromium, html, [page for _, pages in parts for page in pages])
    whole = join(printed, numbers(chromium, list(printed.values())))
    for caption, pages in parts:
        these = [printed[(html / f"{page}.html").as_uri()] for page in pages]
        above = whole.add_outline_item(title=caption, page_number=these[0].first) if caption else None
        for one in these:
            whole.add_outline_item(title=one.title, page_number=one.first, parent=above)
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    whole.add_metadata({"/Title": config["title"], "/Author": config["author"]})
    whole.compress_identical_objects()
    return whole


def main(file: Path) -> None:
    """Print the built book into a file."""
    path = browser.find()
    if path is None:
        sys.exit(browser.ADVICE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(browser.ARGUMENTS))
        whole = book(chromium, HTML, contents())
        chromium.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    whole.write(file)
    print(f"{file}: {len(whole.pages)} pages, {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/pdf.py FILE")
    main(Path(sys.argv[1]))
