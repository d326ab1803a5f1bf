"""Predictions: what an author may write, and what a reader does with them, on a small book and in the built one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page
from sphinx.application import Sphinx

from conftest import ROOT, Visit

TYPED = """\
# A page

```{predict} How often?
:label: pre-half
:answer: 50 %
:within: 2
It sees every word twice.
---
Right about *one of the two*.
```

```{predict} What is gone?
:label: pre-gone
- all
- [x] nearly *x*
---
It keeps.
```

```{predict} What does it do?
:label: pre-word
:answer: fade | vanish
---
It fades.
```

[Back](#pre-half), {ref}`pre-gone`.
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A book of this one page."""
    folder, warnings = tmp_path_factory.mktemp("book"), io.StringIO()
    (folder / "index.md").write_text(TYPED, "utf8")
    settings = {"extensions": ["myst_parser", "predict"]}
    Sphinx(folder, None, folder / "out", folder / "trees", "html", settings, None, warnings).build()
    assert warnings.getvalue() == ""
    return (folder / "out" / "index.html").as_uri()


@pytest.fixture
def page(reader: Callable[[str, int], AbstractContextManager[Visit]], url: str) -> Iterator[Page]:
    """The page, from disk."""
    with reader(url, 390) as visit:
        visit.open()
        yield visit.page
        assert visit.complaints == visit.foreign == []


def verdict(page: Page, name: str) -> str:
    return page.locator(f"#{name} [role=status]").inner_text()


def test_a_number_or_a_word_is_compared_as_people_write_it(page: Page) -> None:
    page.locator("#pre-word input").fill("Vanish.")
    page.keyboard.press("Enter")
    assert verdict(page, "pre-word") == "Yes: fade."
    for typed, said in {
        "50,0%": "Yes: 50 %.",
        "1/2": "Yes: 50 %.",
        "48.5 %": "Yes, near: you said 48.5 %; it is 50 %.",
        "44": "You said 44 %; it is 50 %.",
        "many": "That is not a number: write it in digits, such as 0.5.",
        "": "Type an answer first.",
    }.items():
        page.reload()
        page.locator("#pre-half input").fill(typed)
        page.keyboard.press("Enter")
        assert verdict(page, "pre-half") == said


def test_a_reader_commits_by_keyboard_reads_why_and_can_be_asked_again(page: Page) -> None:
    why, button = page.get_by_text("It keeps."), page.locator("#pre-gone button")
    assert not why.is_visible()
    button.press("Enter")
    assert verdict(page, "pre-gone") == "Choose one first."
    page.locator("#pre-gone input").first.focus()
    page.keyboard.press("Space")
    assert not why.is_visible()
    page.keyboard.press("Enter")
    assert verdict(page, "pre-gone").startswith("You said “all”; right is “nearly")
    assert why.is_visible()
    assert button.evaluate("e => e === document.activeElement")
    page.keyboard.press("Enter")
    assert verdict(page, "pre-gone") == ""
    assert not why.is_visible()
    assert page.evaluate("localStorage.getItem('gru-predict-pre-gone')") is None


@pytest.mark.parametrize("storage", [True, False])
def test_an_answer_is_kept_on_the_machine_and_without_storage_given_all_the_same(
    browser: Browser, url: str, storage: bool
) -> None:
    page = browser.new_page()
    if not storage:
        page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })")
    page.goto(url)
    page.locator("#pre-half input").fill("50")
    page.keyboard.press("Enter")
    if storage:
        page.reload()
    assert verdict(page, "pre-half") == "Yes: 50 %."
    assert page.get_by_text("Right about").is_visible()
    page.close()


def test_without_javascript_the_answer_is_in_a_closed_fold(browser: Browser, url: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(url)
    assert page.locator("button").filter(visible=True).count() == 0
    assert not page.get_by_text("It keeps.").is_visible()
    page.locator("#pre-gone summary").click()
    assert page.get_by_text("It keeps.").is_visible()
    page.close()


def test_the_search_does_not_give_an_answer_away_and_the_notebook_folds_it(built_book: Path) -> None:
    given = "It keeps nine tenths of −0.6"
    assert given in (ROOT / "book_text" / "04-gru-forward.md").read_text("utf8")
    assert given not in (built_book / "_static" / "search_index.js").read_text("utf8")
    cells = nbformat.read(built_book / "notebooks" / "04-gru-forward.ipynb", as_version=4).cells
    (cell,) = (cell.source for cell in cells if given in cell.source)
    assert given in cell.partition("<details><summary>Answer</summary>")[2].partition("</details>")[0]
