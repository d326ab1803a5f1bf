"""The reader's editions as a browser shows them."""

from __future__ import annotations

import editions
import nbformat
from edition_cells import picture
from playwright.sync_api import Browser

from gru_lib.widgets import EXPLORERS

BOOK = editions.ROOT / "book"

# The words of a drawing that stick out of its sheet, which is clipped there.
CLIPPED = """() => {
    const sheet = document.querySelector('svg').getBoundingClientRect();
    return [...document.querySelectorAll('svg text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.width && (box.left < sheet.left || box.right > sheet.right
            || box.top < sheet.top || box.bottom > sheet.bottom);
    }).map(text => text.textContent);
}"""


def pictures() -> list[str]:
    """The still pictures of the explorers of all chapters."""
    cells = [cell for path in BOOK.glob("[0-9]*.ipynb") for cell in nbformat.read(path, as_version=4).cells]
    shown = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", [])]
    return [picture(element) for element in shown if "data-afm=" in element]


def test_the_picture_of_an_explorer_shows_all_its_words(browser: Browser) -> None:
    stills = pictures()
    assert len(stills) >= len(EXPLORERS)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    clipped = []
    for still in stills:
        page.set_content(f"<style>body {{ margin: 0 }}</style>{still}")
        clipped += page.evaluate(CLIPPED)
    page.close()
    assert clipped == []
