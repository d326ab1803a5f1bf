"""Repair what the theme's templates get wrong, in the finished pages.

Each repair is one function on the parsed page, and its docstring says why. They run on the pages that this build wrote.
Listings, formulas and drawings are left out of the parsing, which would take most of its time on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from content_policy import state_policy
from sphinx.application import Sphinx

HERE = Path(__file__).parent
UNUSED = re.compile(r"(?:^|/)(fontawesome|searchtools|language_data|searchindex|doctools|sphinx_highlight)\.js")


def mend_scripts(page: BeautifulSoup) -> None:
    """A page loads what it needs, and is read before that runs.

    Font Awesome's script is 1.5 MB, and the theme's style sheet and font draw the same icons. Sphinx's search has an
    index of 51 KB for search as you type, which is off; the book's own is on the page of results. Of Sphinx's other two
    one marks words that its search found, by a link that is a script, and one is for keys that are off. Settings in the
    page are for pages of other versions and again for search as you type. What is left waits, but for what stands in
    the page and sets the theme before it is painted.
    """
    for script in page.find_all("script"):
        source = str(script.get("src", ""))
        if UNUSED.search(source) or (not source and (script.string or "").startswith("DOCUMENTATION_OPTIONS.")):
            script.decompose()
        elif source and script.find_parent("head"):
            script["defer"] = ""
    for link in page.head.find_all("link", rel="preload", href=UNUSED):
        link.decompose()
    if page.find(id="search-results") is not None:
        for name in ("search_index", "minisearch", "search"):
            page.head.append(page.new_tag("script", attrs={"src": f"_static/{name}.js", "defer": ""}))


def choose_theme(page: BeautifulSoup) -> None:
    """A page is light or dark from its first paint on. For a reader who has not chosen, the theme's own script asks the
    system when all others have run, which would flash in the dark and style the whole page a second time."""
    for script in page.select("head > script[data-cfasync]"):
        asked = """matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light\""""
        chosen = """{ light: "light", dark: "dark" }[localStorage.getItem("mode")]"""
        before = str(script.string)
        script.string = before.replace("""localStorage.getItem("theme") || "auto\"""", f"{chosen} ?? ({asked})")
        assert script.string != before


def drop_handlers(page: BeautifulSoup) -> None:
    """A content security policy forbids handlers in attributes. frame.js has that of the button for paper; a
    browser has its own way to a full screen."""
    for button in page.find_all("button", onclick=True):
        if button["onclick"] == "window.print()":
            del button["onclick"]
        else:
            button.decompose()


def leave_tooltips_to_the_browser(page: BeautifulSoup) -> None:
    """The theme's own stay where a button was touched, or has the focus again."""
    for button in page.select("[data-bs-toggle=tooltip]"):
        del button["data-bs-toggle"], button["data-bs-placement"]


def name_search_button_by_its_text(page: BeautifulSoup) -> None:
    """A control's name must contain its visible text (label-content-name-mismatch)."""
    for button in page.select("button.search-button-field[aria-label]"):
        del button["aria-label"]


def make_sidebar_a_landmark(page: BeautifulSoup) -> None:
    """The sidebar's logo and search are outside every landmark (region)."""
    for sidebar in page.select("#pst-primary-sidebar"):
        sidebar["role"] = "navigation"
        sidebar["aria-label"] = "Book"


def name_toggles_by_their_text(page: BeautifulSoup) -> None:
    """As for the search button: a folded cell's summary has visible text. In the sidebar it has an arrow only."""
    for summary in page.select("summary[aria-label]"):
        del summary["aria-label"]
    for toggle in page.select("li > a + details > summary:has(> .toctree-toggle)"):
        chapter = toggle.find_parent("li").find("a").get_text(" ", strip=True)
        toggle["aria-label"] = f"Pages of {chapter}"


def make_citations_a_list(page: BeautifulSoup) -> None:
    """``doc-biblioentry`` is deprecated, and a list item needs a list around it (aria-required-parent)."""
    for entry in page.select('div.citation[role="doc-biblioentry"]'):
        entry["role"] = "listitem"


def drop_repeated_ids(page: BeautifulSoup) -> None:
    """sphinx-proof and sphinx-exercise give every box on a page the same id, and nothing points to it."""
    for box in page.find_all(id=["proof", "proof-content", "exercise-content", "solution-content"]):
        del box["id"]


def drop_box_styles(page: BeautifulSoup) -> None:
    """sphinx-proof and sphinx-exercise colour their boxes, but gru-book.css draws them."""
    for link in page.select('link[href*="proof.css"], link[href*="exercise.css"]'):
        link.decompose()


def make_arguments_no_list(page: BeautifulSoup) -> None:
    """Sphinx sets the arguments of a long signature as a definition list without terms (definition-list)."""
    for element in page.select("dt.sig dl"):
        for argument in element.find_all("dd"):
            argument.name = "span"
        element.name = "span"
        element["class"] = "gru-arguments"


def point_titles(page: BeautifulSoup) -> None:
    """``Exercise 4.1 (A step (easy))`` becomes ``Exercise 4.1 · A step (easy)``; a solution names the number. As a link
    it would open another solution: sphinx-togglebutton takes a press there for one on the title that it met last."""
    for number in page.select(".admonition-title > .caption-number"):
        rest = "".join(node.get_text() for node in number.next_siblings)
        if re.fullmatch(r"\s*\(.*\)\s*", rest, re.S):
            first, last = number.next_sibling, list(number.next_siblings)[-1]
            first.replace_with(re.sub(r"^\s*\(", "· ", str(first)))
            last = list(number.next_siblings)[-1]
            last.replace_with(re.sub(r"\)\s*$", "", str(last)))
    for link in page.select(".solution > .admonition-title > a"):
        number = re.match(r"\s*(Exercise \d[\w.]*)", link.get_text())
        if number:
            link.replace_with(f" {number[1]}")


def slant_proof(page: BeautifulSoup) -> None:
    """A proof begins with the plain word ``Proof.``, which is a label."""
    for paragraph in page.select("div.proof:not(:has(> .admonition-title)) > p:first-child"):
        if str(first := paragraph.contents[0]).startswith("Proof. "):
            first.replace_with(str(first).removeprefix("Proof."))
            label = page.new_tag("em")
            label.string = "Proof."
            paragraph.insert(0, label)


def link_exercises(page: BeautifulSoup) -> None:
    """An exercise has a link to itself, as a heading has."""
    for title in page.select("div.exercise[id] > .admonition-title"):
        href = f"#{title.parent['id']}"
        link = page.new_tag("a", attrs={"class": "headerlink", "href": href, "title": "Link to this exercise"})
        link.string = "#"
        title.append(link)


def keep_room_beside(page: BeautifulSoup) -> None:
    """The page's contents stand beside the article and come after it, so that a browser which has not read that far
    would set the article too wide, and then move its lines."""
    if (contents := page.select_one(".bd-content > .bd-sidebar-secondary")) is not None:
        contents.parent["class"] = [*contents.parent["class"], "gru-beside"]


def draw_mark(page: BeautifulSoup) -> None:
    """The book's mark above its title: the favicon's drawing, in ink."""
    for title in page.select(".navbar-brand > .logo__title"):
        mark = BeautifulSoup((HERE.parent / "_static" / "favicon.svg").read_text("utf8"), "html.parser").svg
        mark.style.decompose()
        mark["class"], mark["aria-hidden"] = "gru-mark", "true"
        title.insert_before(mark)


REPAIRS: tuple[Callable[[BeautifulSoup], None], ...] = (
    mend_scripts, choose_theme, drop_handlers, leave_tooltips_to_the_browser, name_search_button_by_its_text,
    make_sidebar_a_landmark, name_toggles_by_their_text, make_citations_a_list, drop_repeated_ids, drop_box_styles,
    make_arguments_no_list, point_titles, slant_proof, link_exercises, keep_room_beside, draw_mark,
)  # fmt: skip


def note_page(app: Sphinx, pagename: str, *_: Any) -> None:
    """Remember that this build writes the page."""
    if app.builder.format == "html":
        written(app).add(pagename)


def without_contents(html: str) -> tuple[str, list[str]]:
    """A page with marks in place of what its listings, formulas and drawings hold, and that."""
    contents: list[str] = []

    def cut(match: re.Match[str]) -> str:
        contents.append(match[3])
        return f"{match[1]}<!--content-->{match[4]}"

    return re.sub(r"(<(pre|math|svg)\b[^>]*>)(.*?)(</\2>)", cut, html, flags=re.S), contents


def with_contents(html: str, contents: list[str]) -> str:
    """The page with that back in its places."""
    whole = iter(contents)
    return re.sub("<!--content-->", lambda _: next(whole), html)


def repair_pages(app: Sphinx) -> None:
    """Run every repair on every page this build wrote."""
    for pagename in sorted(written(app)):
        path = Path(app.builder.get_outfilename(pagename))  # type: ignore[attr-defined]
        html, contents = without_contents(path.read_text("utf8"))
        page = BeautifulSoup(html, "html.parser")
        for repair in REPAIRS:
            repair(page)
        state_policy(page, app.config.gru_served)
        path.write_text(with_contents(str(page), contents), "utf8")


def written(app: Sphinx) -> set[str]:
    """The pages that this build wrote. If there are none, what is made of all pages is as it was."""
    pages: set[str] = app.__dict__.setdefault("_gru_pages_written", set())
    return pages


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension. Pages are noted in the main process only, so writing is not parallel."""
    app.setup_extension("content_policy")
    app.connect("html-page-context", note_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
