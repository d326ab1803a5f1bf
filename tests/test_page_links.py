"""book/page_links.yml and what is made of it: why a reader goes from page to page, the map and its routes."""

from __future__ import annotations

import re
from pathlib import Path

import page_checks
import page_links
import pages
import pytest
from page_checks import value
from test_book import PAGES
from test_page_lengths import stated_minutes

LINKS = pages.settings("page_links.yml")
WHY, ROUTES = LINKS["pages"], LINKS["routes"]
NAMES = [page.rpartition("/")[2] for page in PAGES]
MAIN = [page for page in PAGES if not page_links.is_companion(page)]


@pytest.mark.parametrize("page", PAGES)
def test_foot_leads_on_deeper_and_back_and_says_why(built_book: Path, page: str) -> None:
    found = {}
    for link in page_checks.parse(built_book / f"{page}.html").css("nav a.gru-page-link"):
        label, title, why = (span.text(separator=" ", strip=True) for span in link.css("span"))
        name = value(link, "href").removesuffix(".html")
        assert title == re.sub(r"[*`]", "", pages.read(name).title)
        assert why.lower() == WHY[name]["back" if label == "Back" else "next"].lower()
        found[label] = f"book/{name}"
    at = PAGES.index(page)
    chapter = page if page in MAIN else next(p for p in reversed(PAGES[:at]) if p in MAIN)
    after = [p for p in PAGES[at + 1 :] if p in MAIN][:1]  # the next main page, never a companion
    companion = [p for p in PAGES[at + 1 : at + 2] if p not in MAIN]
    before = [chapter] if chapter != page else [p for p in PAGES[:at] if p in MAIN][-1:]
    wanted = {"Next": after, "Deeper": companion, "Back": before}
    assert found == {label: pages[0] for label, pages in wanted.items() if pages}


# ------------------------------------------------------------------------------------------- no page repeats another

RUN = 15  # words in a row
FRAME = re.compile(r"\*\*You need\*\*.*?\*\*You will be able to\*\*|By the end of this page you (?:can|know)", re.S)


def prose(name: str) -> list[str]:
    """The words of a page, without code, displayed equations, where links lead, and what every page's top has."""
    text = FRAME.sub(" ", pages.markdown(name))
    text = re.sub(r"^```(?:\w+)?\n.*?^```$|\$\$.*?\$\$", " ", text, flags=re.S | re.M)
    return re.findall(r"[\w\\']+", re.sub(r"\]\([^)]*\)", "]", text).lower())


def test_no_page_says_again_what_another_has_said() -> None:
    first: dict[tuple[str, ...], str] = {}
    for name in NAMES:
        text = prose(name)
        for run in zip(*(text[i:] for i in range(RUN)), strict=False):
            assert first.setdefault(run, name) == name, (name, first[run], " ".join(run))


# ----------------------------------------------------------------------------------------------- the map and its routes


def test_what_a_page_needs_comes_before_it_on_a_route_or_is_said_to_be_taken_on_trust() -> None:
    for name, route in ROUTES.items():
        assert route["pages"] == sorted(set(route["pages"])) and set(route["pages"]) <= set(NAMES)
        trusted, used = set(route.get("trust", [])), set()
        for i, page in enumerate(route["pages"]):
            assert any(page[:2] == other[:2] and other[2] == "-" for other in route["pages"]), "no chapter"
            used |= set(pages.read(page).needs) - set(route["pages"][:i])
        assert used == trusted, name
        assert all(f"hapter {int(page[:2])}" in route["for"] for page in trusted)


def minutes(text: str) -> int:
    """A time such as "2 hours 5 minutes"."""
    hours, rest = re.search(r"(\d+) hour", text), re.search(r"(\d+) minute", text)
    return 60 * int(hours[1] if hours else 0) + int(rest[1] if rest else 0)


def test_map_shows_the_routes_and_the_times_of_their_pages(built_book: Path) -> None:
    page = page_checks.parse(built_book / "book" / "map.html")
    drawings = [[text.text() for text in svg.css("text")] for svg in page.css("article svg.gru-fig")]
    for name, route in ROUTES.items():
        section = page.css_first(f"section#route-{name}")
        assert [value(a, "href").removesuffix(".html") for a in section.css(".gru-contents a")] == route["pages"]
        count, said = re.search(r"(\d+) pages, ([\w ]+) of reading", section.text()).groups()
        assert (int(count), minutes(said)) == (len(route["pages"]), sum(map(stated_minutes, route["pages"])))
        items = [int(re.findall(r"(\d+) minutes", li.text())[-1]) for li in section.css(".gru-contents li")]
        assert items == [stated_minutes(p) for p in route["pages"]]
        assert all(said in texts for texts in drawings)
    for texts in drawings:
        for name in (name for name in NAMES if re.match(r"\d\d", name)):  # every page, the companions too
            at = next(i for i, text in enumerate(texts) if text.endswith(f"  {pages.read(name).heading}"))
            assert texts[at + 1] == f"{stated_minutes(name)} min"
