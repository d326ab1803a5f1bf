"""The reader's editions as a browser shows them."""

from __future__ import annotations

import editions
import nbformat
import stills
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
    notebooks = (nbformat.read(path, as_version=4) for path in BOOK.glob("[0-9]*.ipynb"))
    return [picture(explorer) for notebook in notebooks for explorer in stills.shown(notebook)]


def test_the_picture_of_an_explorer_shows_all_its_words(browser: Browser) -> None:
    drawn = pictures()
    assert len(drawn) >= len(EXPLORERS)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    clipped = []
    for still in drawn:
        page.set_content(f"<style>body {{ margin: 0 }}</style>{still}")
        clipped += page.evaluate(CLIPPED)
    page.close()
    assert clipped == []
