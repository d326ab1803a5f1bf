"""book/ways.yml and what is made of it: why a reader goes from page to page, the map and its routes."""

from __future__ import annotations

import re
from pathlib import Path

import page_checks
import pages
import pytest
import ways
from page_checks import value
from test_book import PAGES as EVERY
from test_page_lengths import stated
from test_teaching import minutes

PAGES = [page for page in EVERY if not page.startswith("book/mistakes-")]  # those are for few, and no way leads there
WAYS = pages.settings("ways.yml")
WHY, ROUTES = WAYS["pages"], WAYS["routes"]
NAMES = [page.rpartition("/")[2] for page in PAGES]
MAIN = [page for page in PAGES if not ways.is_companion(page)]


def foot(built_book: Path, page: str) -> dict[str, tuple[str, str, str]]:
    """The links at a page's foot: by their label, the page they lead to, its title, and why."""
    found = {}
    for link in page_checks.parse(built_book / f"{page}.html").css("footer a.gru-way"):
        label, title, why = (span.text(separator=" ", strip=True) for span in link.css("span"))
        found[label] = (value(link, "href").removesuffix(".html"), title, why)
    return found


def test_every_page_has_its_words_and_none_is_left_over() -> None:
    assert set(WHY) == set(NAMES)
    for name, why in WHY.items():
        wanted = {"next"} if ways.is_companion(name) else {"next", "back"}
        wanted -= {"next"} if name == NAMES[0] else set()
        wanted -= {"back"} if name == NAMES[-1] else set()
        assert set(why) == wanted, name


@pytest.mark.parametrize("page", PAGES)
def test_foot_leads_on_deeper_and_back_and_says_why(built_book: Path, page: str) -> None:
    found = foot(built_book, page)
    at = PAGES.index(page)
    chapter = page if page in MAIN else next(p for p in reversed(PAGES[:at]) if p in MAIN)
    after = [p for p in PAGES[at + 1 :] if p in MAIN][:1]  # the next main page, never a companion
    companion = [p for p in PAGES[at + 1 : at + 2] if p not in MAIN]
    before = [chapter] if chapter != page else [p for p in PAGES[:at] if p in MAIN][-1:]
    wanted = {"Next": after, "Deeper": companion, "Back": before}
    assert {label: [f"book/{found[label][0]}"] if label in found else [] for label in wanted} == wanted
    for label, (name, title, why) in found.items():
        assert title == re.sub(r"[*`]", "", pages.read(name).title)
        assert why.lower() == WHY[name]["back" if label == "Back" else "next"].lower()
        assert why[0].isupper()


# ------------------------------------------------------------------------------------------- no page repeats another

RUN = 15  # words in a row
FRAME = re.compile(r"\*\*You need\*\*.*?\*\*You will be able to\*\*|By the end of this page you (?:can|know)", re.S)


def prose(name: str) -> list[str]:
    """The words of a page, without code, displayed equations, where links lead, and what every page's top has."""
    text = FRAME.sub(" ", pages.markdown(name))
    text = re.sub(r"^```(?:\w+)?\n.*?^```$|\$\$.*?\$\$", " ", text, flags=re.S | re.M)
    return re.findall(r"[\w\\']+", re.sub(r"\]\([^)]*\)", "]", text).lower())


def repeated(texts: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    """Runs of words that stand on two pages: the later page, the earlier one, and the words."""
    first: dict[tuple[str, ...], str] = {}
    found: dict[tuple[str, str], str] = {}
    for name, text in texts.items():
        for i in range(len(text) - RUN + 1):
            run = tuple(text[i : i + RUN])
            if first.setdefault(run, name) != name:
                found.setdefault((name, first[run]), " ".join(run))
    return [(*pair, words) for pair, words in found.items()]


def test_no_page_says_again_what_another_has_said() -> None:
    assert repeated({name: prose(name) for name in NAMES}) == []


def test_a_repeated_sentence_is_found() -> None:
    texts = {name: prose(name) for name in NAMES[:3]}
    sentence = texts[NAMES[2]][300 : 300 + RUN]
    texts[NAMES[1]] += sentence
    assert repeated(texts) == [(NAMES[2], NAMES[1], " ".join(sentence))]


# ----------------------------------------------------------------------------------------------- the map and its routes


def test_routes_name_pages_of_the_book_in_its_order() -> None:
    assert list(ROUTES) == ["intuition", "gradients", "using", "sequences"]
    for route in ROUTES.values():
        assert route["pages"] == sorted(set(route["pages"]))
        assert set(route["pages"]) <= set(NAMES)
        chapters = {name[:2] for name in route["pages"] if name[2] == "-"}
        assert {name[:2] for name in route["pages"]} == chapters, "a companion without its chapter"


def test_what_a_page_needs_comes_before_it_on_a_route_or_is_said_to_be_taken_on_trust() -> None:
    for name, route in ROUTES.items():
        trusted, used = set(route.get("trust", [])), set()
        for i, page in enumerate(route["pages"]):
            missing = set(pages.read(page).needs) - set(route["pages"][:i])
            assert missing <= trusted, (name, page)
            used |= missing
        assert used == trusted, name
        assert all(f"hapter {int(page[:2])}" in route["for"] for page in trusted)


def test_map_shows_the_routes_and_the_times_of_their_pages(built_book: Path) -> None:
    page = page_checks.parse(built_book / "book" / "map.html")
    wide, slim = page.css("article svg.gru-fig")
    for name, route in ROUTES.items():
        section = page.css_first(f"section#route-{name}")
        assert section is not None
        listed = [value(a, "href").removesuffix(".html") for a in section.css(".gru-contents a")]
        assert listed == route["pages"]
        total = sum(map(stated, route["pages"]))
        count, said = re.search(r"(\d+) pages, ([\w ]+) of reading", section.text()).groups()  # type: ignore[union-attr]
        assert (int(count), minutes(said)) == (len(listed), total)
        items = [int(re.findall(r"(\d+) minutes", li.text())[-1]) for li in section.css(".gru-contents li")]
        assert items == [stated(p) for p in route["pages"]]
        for svg in (wide, slim):
            assert said in [text.text() for text in svg.css("text")]
    for svg in (wide, slim):
        rows = [text.text() for text in svg.css("text")]
        for name in (name for name in NAMES if re.match(r"\d\d", name)):  # every page, the companions too
            at = next(i for i, row in enumerate(rows) if row.endswith(f"  {pages.read(name).heading}"))
            assert rows[at + 1] == f"{stated(name)} min"
        assert all(route["title"] in value(svg, "aria-label") for route in ROUTES.values())


def test_front_page_leads_to_the_map(built_book: Path) -> None:
    links = {value(a, "href") for a in page_checks.parse(built_book / "book/intro.html").css("article a[href]")}
    assert {"map.html", "instructors.html"} <= links
