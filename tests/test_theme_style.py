"""The theme's style sheet without what no page can use: every page looks as it does with the whole sheet."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import theme_style

from conftest import Visit

Reader = Callable[[str, int], AbstractContextManager[Visit]]

# How one element of each kind is drawn with two sheets, and where that differs. A kind is a tag with its classes.
DIFFERENT = """async (sheets) => {
  const kinds = new Map();
  for (const e of document.querySelectorAll("body, body *")) {
    if (e.closest("math, svg, pre") && !e.matches("math, svg, pre")) continue;
    const kind = `${e.tagName}.${e.getAttribute("class")}`;
    if (!kinds.has(kind)) kinds.set(kind, e);
  }
  const looks = [], names = new Set(["content"]); // what no rule sets cannot differ
  const note = (rules) => [...rules].forEach((rule) => {
    for (const name of rule.style ?? []) names.add(name);
    note(rule.cssRules ?? []);
  });
  const plain = (value) => value.replace(/\\\\([0-9a-f]{4})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  for (const text of sheets) {
    const sheet = document.createElement("style");
    sheet.id = "swapped";
    sheet.textContent = text;
    document.querySelector("link[href*='pydata-sphinx-theme.css'], #swapped").replaceWith(sheet);
    note(sheet.sheet.cssRules);
  }
  for (const text of sheets) {
    document.querySelector("#swapped").textContent = text;
    looks.push([...kinds].flatMap(([kind, e]) => [null, "::before", "::after"].flatMap((part) => {
      const style = getComputedStyle(e, part);
      const asked = part && style.content === "none" ? ["content"] : [...names]; // what is not there is slow to ask
      return asked.map((name) => [`${kind}${part ?? ""}`, `${name}: ${plain(style.getPropertyValue(name))}`]);
    })));
  }
  const [small, whole] = looks.map((look) => new Set(look.map((entry) => entry.join("  "))));
  return { compared: small.size, different: [...small].filter((entry) => !whole.has(entry)).slice(0, 20) };
}"""
# What scripts show is shown, and nothing is on its way.
OPEN = """() => {
  const still = document.head.appendChild(document.createElement("style"));
  still.textContent = "*, ::before, ::after { transition: none !important; animation: none !important }";
  document.querySelector("#pst-search-dialog").showModal();
  document.querySelector(".dropdown-download-buttons > button")?.click();
}"""


@pytest.fixture(scope="module")
def sheets(built_book: Path) -> list[str]:
    """The sheet that the pages have, and the whole one."""
    folders = (built_book / "_static", theme_style.THEME)
    return [(folder / theme_style.STYLE).read_text("utf8") for folder in folders]


PAGE = "book/04-gru-forward"


# The two halves of the sheet, below and above its middle widths; a theme only sets colours that both have.
@pytest.mark.parametrize(("name", "width", "theme"), [("book/intro", 390, "dark"), (PAGE, 1280, "light")])
def test_pages_look_as_with_the_whole_sheet(
    reader: Reader, book_url: str, sheets: list[str], name: str, width: int, theme: str
) -> None:
    small, whole = sheets
    with reader(f"{book_url}/{name}.html", width) as visit:
        visit.open()
        visit.page.evaluate(OPEN)
        visit.set_theme(theme)
        found = visit.page.evaluate(DIFFERENT, [small, whole])
        assert found["compared"] > 10_000
        assert found["different"] == []
        if name != PAGE:  # a rule that is missing is seen
            faulty = small.replace(".fa-bars:before{", ".gone{")
            found = visit.page.evaluate(DIFFERENT, [faulty, whole])["different"]
            assert found and all("fa-bars" in entry for entry in found)


def test_the_sheet_is_small(sheets: list[str]) -> None:
    small, whole = (len(gzip.compress(sheet.encode(), 6)) for sheet in sheets)
    assert small < 25_000 < 40_000 < whole
