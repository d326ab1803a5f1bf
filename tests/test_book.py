"""The built book: every page in a browser that can reach nothing but the book, and every page as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, urlsplit

import page_checks
import pytest
import yaml
from chapter_numbers import chapter_number
from edition_cells import ARCHIVE
from explorers import ROOM
from fontTools.ttLib import TTFont
from page_checks import value
from PIL import Image
from playwright.sync_api import Browser

from benchmarks.pages import LANGUAGE_KB, MOST_KB
from conftest import ROOT, Visit

THEMES = ("light", "dark")

Reader = Callable[[str, int], AbstractContextManager[Visit]]


def toc() -> list[str]:
    """Every page the table of contents names, such as ``book/intro``."""

    def files(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (value for key, value in node.items() if key in ("root", "file"))
            for value in node.values():
                yield from files(value)
        elif isinstance(node, list):
            for value in node:
                yield from files(value)

    return list(files(yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))))


PAGES = toc()

PHONE, DESK = 390, 1280

# Every page is opened from disk, some on a desk, and made narrow afterwards. One of each kind is opened on a phone as
# well, over http: the front page, a chapter full of maths, one with three explorers, one with none, words, references.
ON_A_PHONE = [p for p in PAGES if re.search(r"intro$|/05-|/10-|/20-|glossary$|bibliography$", p)]


# What a page has on a desk and not on a phone is its frame, and that is the same around every page; explorers are drawn
# otherwise there.
EXPLORER = re.compile(r"^(?:[a-z_]+ = )?\w+Explorer\(", re.M)


def has_explorer(page: str) -> bool:
    """Whether a page's text has an explorer."""
    text = ROOT / "book_text" / f"{Path(page).name}.md"
    return text.is_file() and EXPLORER.search(text.read_text("utf8")) is not None


ON_A_DESK = [p for p in PAGES if p in ON_A_PHONE or has_explorer(p) or re.search(r"/0[15]b-|sources$|notation$", p)]


# The lists of mistakes are made by one function: of these, the longest is met.
MET = [p for p in PAGES if "mistakes-" not in p or p.endswith("mistakes-00")]


@pytest.fixture(scope="module", params=MET, ids=lambda page: f"{page}.html")
def visit(request: pytest.FixtureRequest, reader: Reader, built_book: Path) -> Iterator[Visit]:
    """A page, loaded once for all the tests of it, on a desk or on a phone."""
    width = DESK if request.param in ON_A_DESK else PHONE
    with reader((built_book / f"{request.param}.html").as_uri(), width) as visit:
        visit.open()
        visit.page.evaluate(WATCH)
        yield visit


@pytest.fixture(params=ON_A_PHONE, ids=lambda page: f"{page}.html")
def phone(request: pytest.FixtureRequest, reader: Reader, book_url: str) -> Iterator[Visit]:
    """A page loaded on a phone, over http."""
    with reader(f"{book_url}/{request.param}.html", PHONE) as visit:
        visit.open()
        yield visit


# The theme's script marks what scrolls, 300 ms after the last change of width or content. What does not need the marks
# is asked meanwhile.
WATCH = """() => { window.settled = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  let timer;
  const wait = () => { clearTimeout(timer); timer = setTimeout(done, 350); };
  new MutationObserver(wait).observe(document.getElementById("main-content"), { subtree: true, childList: true });
  wait();
}))); }"""


def look(visit: Visit, width: int, theme: str | None = None, *, settled: bool = False) -> None:
    """Take the page to a width, perhaps to a theme; if asked, wait until it has arranged itself."""
    if theme:
        visit.set_theme(theme)
    if visit.page.viewport_size != {"width": width, "height": 900}:
        visit.page.set_viewport_size({"width": width, "height": 900})
        visit.page.evaluate(WATCH)
    if settled:
        visit.page.evaluate("window.settled")


# In a browser. axe's tests thin the page.


def test_page_loads_quietly_and_from_the_book_alone(visit: Visit) -> None:
    assert visit.foreign == []
    assert visit.complaints == []


@pytest.mark.parametrize("visit", [*filter(has_explorer, PAGES)], ids=lambda page: f"{page}.html", indirect=True)
def test_page_with_an_explorer_loads_quickly(visit: Visit) -> None:
    """The bytes are held here; `python -m benchmarks.pages` measures the time until the explorer is alive."""
    most = LANGUAGE_KB if "language-model" in visit.url else MOST_KB
    assert most / 3 < page_checks.weight(visit.asked) / 1000 <= most


# From 0.1 on readers notice; a line that breaks anew is 0.02 or more.
MOST_SHIFT = 0.01


def test_lines_stay_as_the_page_loads(visit: Visit) -> None:
    assert page_checks.shift(visit.page) < MOST_SHIFT


def test_page_is_light_or_dark_before_the_themes_script_runs(browser: Browser, built_book: Path) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
    page.goto((built_book / f"{PAGES[0]}.html").as_uri())
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.evaluate("localStorage.setItem('mode', 'dark')")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    context.close()


def test_maths_is_typeset(visit: Visit) -> None:
    assert page_checks.maths_not_set(visit.page) == []


@pytest.mark.fonts
@pytest.mark.parametrize("width", [PHONE, DESK])  # the next test is on a desk
@pytest.mark.parametrize("visit", [*filter(has_explorer, PAGES)], ids=lambda page: f"{page}.html", indirect=True)
def test_room_is_kept_for_the_explorer_before_it_wakes(visit: Visit, width: int) -> None:
    """Readers notice from about two lines on."""
    look(visit, width)
    live, kept = visit.page.evaluate(ROOM)
    assert abs(live - kept) < 40


@pytest.mark.parametrize("visit", ON_A_DESK, ids=lambda page: f"{page}.html", indirect=True)
def test_nothing_is_wider_than_a_desk_or_stands_below_the_footer(visit: Visit) -> None:
    assert page_checks.below_the_footer(visit.page) <= 2
    assert page_checks.too_wide(visit.page) == []


def test_nothing_is_wider_than_a_phone_or_stands_below_the_footer(visit: Visit) -> None:
    look(visit, PHONE)
    assert page_checks.below_the_footer(visit.page) <= 2  # first: the other styles the page anew
    assert page_checks.too_wide(visit.page) == []


def test_all_text_has_contrast(visit: Visit) -> None:
    """A page of each kind in both themes; of the others, which have the same styles, every second in the dark."""
    look(visit, PHONE, settled=True)
    page = f"book/{Path(visit.url).stem}"
    themes = THEMES if page in ON_A_PHONE else [THEMES[PAGES.index(page) % 2]]
    assert page_checks.faint_text(visit.page, *themes) == []


def test_axe_finds_no_violation_on_a_phone(visit: Visit) -> None:
    look(visit, PHONE, settled=True)
    assert page_checks.violations(visit.page) == []


@pytest.mark.parametrize("visit", [*filter(has_explorer, PAGES)], ids=lambda page: f"{page}.html", indirect=True)
def test_explorer_covers_nothing(visit: Visit) -> None:
    """A broad one takes the place of the contents of the page, which come back when it has gone."""
    look(visit, DESK)
    assert page_checks.covered(visit.page) == []


# The sidebars, which a phone does not show, are the same around every page; explorers have tests of their own.
@pytest.mark.parametrize("visit", ON_A_PHONE, ids=lambda page: f"{page}.html", indirect=True)
def test_text_has_contrast_on_a_desk(visit: Visit) -> None:
    look(visit, DESK)
    assert page_checks.faint_text(visit.page, *THEMES) == []


@pytest.mark.parametrize("visit", ON_A_PHONE, ids=lambda page: f"{page}.html", indirect=True)
def test_axe_finds_no_violation_on_a_desk(visit: Visit) -> None:
    look(visit, DESK, settled=True)
    assert page_checks.violations(visit.page) == []


@pytest.mark.fonts
def test_page_that_opens_on_a_phone_is_the_same(phone: Visit) -> None:
    """Quiet, its maths set, its lines stay, and no wider than the screen."""
    assert (phone.foreign, phone.complaints) == ([], [])
    assert page_checks.shift(phone.page) < MOST_SHIFT
    assert page_checks.maths_not_set(phone.page) == []
    assert page_checks.too_wide(phone.page) == []


def test_front_page_opens_from_the_root(reader: Reader, book_url: str) -> None:
    with reader(f"{book_url}/index.html", DESK) as visit:
        visit.page.goto(visit.url)
        visit.page.wait_for_url(f"**/{PAGES[0]}.html")
        assert visit.page.locator("h1").first.inner_text()


def results(visit: Visit, query: str) -> list[str]:
    """The titles of the pages that a search finds, the best one first."""
    visit.page.goto(f"{visit.url}?q={quote(query)}")
    visit.page.locator("#search-results [role=status]").wait_for()
    return visit.page.locator("#search-results h2:visible").all_inner_texts()


@pytest.fixture
def search(request: pytest.FixtureRequest, reader: Reader, built_book: Path, book_url: str) -> Iterator[Visit]:
    """The page of results, from disk; from a server where a test asks for it."""
    served = getattr(request, "param", "file") == "http"
    url = f"{book_url}/search.html" if served else (built_book / "search.html").as_uri()
    with reader(url, DESK) as visit:
        yield visit
        assert (visit.foreign, visit.complaints) == ([], [])


FOUND = [
    ("reset gate", "4. The GRU, forward", "10. Conventions: a Rosetta stone"),
    ("Reset  Gates", "4. The GRU, forward", "Glossary"),
    ("更新门", "Glossary", "Glossary"),
    ("bootstrap", "Glossary", "How the experiments are run"),
    ("gru_step_backward", "API: cells", "5. The GRU, backward"),
    ("keras", "10. Conventions: a Rosetta stone", "API: training, gradients and the rest"),
    ("bias init", "9. The highway and its price", "API: cells"),
    ("gradient check", "5c. Checking a gradient", "Glossary"),
    ("GRU vs LSTM", "12. LSTM, and what the GRU left out", "12c. An unbounded cell"),
]


def test_search_finds_what_a_reader_looks_for(search: Visit) -> None:
    for query, first, among in FOUND:
        found = results(search, query)
        assert (query, found[0]) == (query, first) and among in found
    for query in ("tokamak", "gate tokamak", "tokamak.b(", "<tokamak>", "(*", "控门"):
        assert results(search, query) == []
        assert search.page.locator("#search-results").inner_text() == f"No page has “{query}”."


def test_search_shows_the_text_that_it_found(search: Visit) -> None:
    results(search, "reset gate")
    excerpts = search.page.locator("#search-results li p").all_inner_texts()
    assert all(len(text) < 260 for text in excerpts)
    assert not any("Toggle" in text or "Skip to" in text for text in excerpts)  # the page's frame
    marks = {text.lower() for text in search.page.locator("#search-results mark").all_inner_texts()}
    assert {"reset", "gate"} <= marks
    search.page.locator("#search-results li a").nth(1).click()
    search.page.wait_for_url("**/book/*")
    section = urlsplit(search.page.url).fragment
    assert section
    search.page.locator(f"[id='{section}']").wait_for()


def test_search_takes_a_chinese_query_as_one_string(search: Visit) -> None:
    """Its characters stand in many terms, some of them all in one: 更新门."""
    query = "门控"
    results(search, query)
    assert set(search.page.locator("#search-results mark").all_inner_texts()) == {query}
    sections = search.page.locator("#search-results li").all_inner_texts()
    assert sections and all(query in text for text in sections)


def test_search_forgives_a_letter(search: Visit) -> None:
    found = results(search, "vanishng gradient")
    assert found[0] == "2. Why memory fades"
    said = f"No page has “vanishng gradient”. {len(found)} pages have something like it."
    assert search.page.locator("#search-results [role=status]").inner_text() == said
    assert "vanishing" in search.page.locator("#search-results mark").all_inner_texts()


@pytest.mark.parametrize("search", ["file", "http"], indirect=True)
def test_search_shows_results_as_one_types(search: Visit) -> None:
    """The address follows, so that Back from a result comes to what was found; the arrow goes down to the results."""
    search.page.goto(search.url)
    field, first = search.page.locator("main input[name=q]"), search.page.locator("#search-results h2 a").first
    assert search.page.locator("#search-results").inner_text() == ""
    for typed, page in (("drop", "14. "), ("out", "14. "), (" copying", "16d. ")):
        field.press_sequentially(typed)
        search.page.wait_for_url(f"{search.url}?q={field.input_value().replace(' ', '+')}")
        assert first.inner_text().startswith(page)
        count = search.page.locator("#search-results h2").count()
        assert f"{count} pages have “{field.input_value()}”." == search.page.get_by_role("status").inner_text()
    field.press("ArrowDown")
    assert first.evaluate("link => link === document.activeElement")
    search.page.keyboard.press("Enter")
    search.page.wait_for_url("**/book/16d*")
    search.page.go_back()
    assert field.input_value() == "dropout copying"
    assert first.inner_text().startswith("16d. ")
    field.fill("")
    search.page.wait_for_url(search.url)
    assert search.page.locator("#search-results").inner_text() == ""


@pytest.mark.parametrize(("width", "theme"), [(DESK, "light"), (PHONE, "dark")])
def test_search_page_is_in_order(search: Visit, width: int, theme: str) -> None:
    results(search, "重置门")
    look(search, width, theme)
    assert page_checks.too_wide(search.page) == []
    assert page_checks.axe(search.page) == []


def shadows(visit: Visit, what: str) -> list[bool]:
    """Whether the left and the right edge of the first such block are darker, or lighter, than its middle."""
    block = visit.page.locator(what).first
    block.evaluate("e => e.scrollIntoView({ block: 'end' })")
    image = Image.open(BytesIO(block.screenshot())).convert("RGB")
    left, middle, right = (image.getpixel((x, image.height - 5)) for x in (2, image.width // 2, image.width - 3))
    return [left != middle, right != middle]


@pytest.mark.parametrize(
    ("page", "what", "theme"),
    [
        ("04-gru-forward", ".cell_input pre:visible", "light"),
        ("17-encoder-decoder", ".cell_output pre", "dark"),
        ("04-gru-forward", ".gru-scroll", "dark"),
        ("05b-other-conventions", "#tab-bwd-torch .pst-scrollable-table-container", "light"),
    ],
)
def test_what_scrolls_has_a_shadow_where_it_hides_something(
    reader: Reader, built_book: Path, page: str, what: str, theme: str
) -> None:
    with reader((built_book / f"book/{page}.html").as_uri(), PHONE) as visit:
        visit.open()
        visit.set_theme(theme)
        assert shadows(visit, what) == [False, True]
        visit.page.locator(what).first.evaluate("e => e.scrollBy(12, 0)")
        assert shadows(visit, what)[0]
        visit.page.locator(what).first.evaluate("e => e.scrollBy(1000, 0)")
        assert shadows(visit, what) == [True, False]
        look(visit, DESK)
        assert shadows(visit, what) == [False, False]
        visit.page.emulate_media(media="print")
        assert visit.page.locator(what).first.evaluate("e => getComputedStyle(e).backgroundImage") == "none"
        visit.page.emulate_media(media="null")


# What a reader prints: A4 has 166 mm between the margins.
SHEET = {"width": 627, "height": 900}


@pytest.mark.fonts
def test_paper_is_white_to_the_edge_and_its_text_stays_on_it(reader: Reader, built_book: Path) -> None:
    with reader((built_book / "book/04-gru-forward.html").as_uri(), DESK) as visit:
        visit.open()
        visit.set_theme("dark")
        visit.page.emulate_media(media="print")
        visit.page.set_viewport_size(SHEET)
        style = "const s = getComputedStyle(document.documentElement); [s.backgroundColor, s.colorScheme]"
        assert visit.page.evaluate(style) == ["rgb(255, 255, 255)", "light"]
        text = visit.page.locator(".bd-article section > p, .bd-article [data-afm]").all()
        sides = [box for e in text if (box := e.bounding_box())]
        assert len(sides) > 3
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= SHEET["width"] for box in sides)
        labels = visit.page.locator("#gate svg text").evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect()).map((box) => [box.left, box.right])"
        )
        assert len(labels) > 10
        assert all(left >= 0 and right <= SHEET["width"] for left, right in labels)
        equations = visit.page.locator("#gate .ex-equations")
        assert equations.evaluate("e => e.scrollWidth <= e.clientWidth")
        over = """e => { const all = [];
          for (; e; e = e.parentElement) all.push(getComputedStyle(e).overflowX);
          return all; }"""
        assert set(equations.evaluate(over)) == {"visible"}
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        solutions = visit.page.locator(".solution.admonition")  # stay closed
        assert solutions.count() == visit.page.locator(".solution.admonition.toggle-hidden").count() > 3
        assert not any(e.is_visible() for e in visit.page.locator(".solution.admonition > section").all())
        visit.page.emulate_media(media="null")


def test_exercise_has_a_link_to_itself(file: Path) -> None:
    exercises = page_checks.parse(file).css("div.exercise.admonition")
    text = ROOT / "book_text" / f"{file.stem}.md"
    assert len(exercises) == (text.read_text("utf8").count("```{exercise}") if text.is_file() else 0)
    for exercise in exercises:
        link = exercise.css_first(".admonition-title > a.headerlink")
        assert link is not None
        assert link.attributes["href"] == f"#{exercise.id}"


def test_wrong_address_shows_a_page_of_the_book(reader: Reader, book_url: str, built_book: Path) -> None:
    page = (built_book / "404.html").read_text("utf8")
    root = re.search(r'data-content_root="([^"]*)"', page)[1]  # of the site, such as /gru-book/
    with reader(f"{book_url}{root}book/a/b/gone.html", DESK) as visit:
        visit.page.route(f"**{root}**", lambda route: route.continue_(url=route.request.url.replace(root, "/", 1)))
        visit.page.route("**/gone.html", lambda route: route.fulfill(body=page, content_type="text/html"))
        visit.page.goto(visit.url)
        assert visit.page.locator("article h1").inner_text() == "There is no such page"
        assert page_checks.axe(visit.page) == []
        assert visit.complaints == []
        visit.page.get_by_role("link", name="front page").click()
        visit.page.wait_for_url(f"**/{PAGES[0]}.html")
        visit.page.unroute_all()


# In the files


@pytest.fixture(params=PAGES)
def file(request: pytest.FixtureRequest, built_book: Path) -> Path:
    """Each page's file in turn."""
    return built_book / f"{request.param}.html"


def test_pages_are_those_of_the_table_of_contents(built_book: Path) -> None:
    assert page_checks.built_pages(built_book) == set(PAGES), "`make book` builds it anew"


def test_the_menu_lists_every_page_but_those_below_the_common_mistakes(built_book: Path) -> None:
    links = page_checks.parse(built_book / "book/mistakes-04.html").css("nav.bd-docs-nav a")
    listed = [f"book/{value(a, 'href').removesuffix('.html')}" for a in links if value(a, "href") != "#"]
    assert listed == [page for page in PAGES[1:] if "mistakes-" not in page]


def test_every_page_with_an_explorer_is_looked_at_on_a_desk(built_book: Path) -> None:
    drawn = {page for page in PAGES if "data-afm=" in (built_book / f"{page}.html").read_text("utf8")}
    assert len(drawn) > 10 and drawn <= set(ON_A_DESK)
    assert len(ON_A_DESK) < len(PAGES) / 2


def test_every_page_has_a_policy_that_lets_nothing_else_run(built_book: Path) -> None:
    pages = [page for page in built_book.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > len(PAGES)
    assert {page.name: found for page in pages if (found := page_checks.lax(page.read_text("utf8")))} == {}


@pytest.mark.fonts
@pytest.mark.parametrize(("width", "height"), [(1366, 768), (PHONE, 844)])
def test_front_pages_first_screen_has_the_doors_and_the_answer(
    reader: Reader, built_book: Path, width: int, height: int
) -> None:
    """Ways to start, and the explorer's whole drawing of the belief, fit on a screen so high."""
    with reader((built_book / f"{PAGES[0]}.html").as_uri(), width) as visit:
        visit.page.goto(visit.url)
        visit.page.locator(".gru-reader[data-live] .ex-band").first.wait_for()
        doors = visit.page.locator(".gru-doors a")
        assert [door.get_attribute("href") for door in doors.all()] == [
            "00-the-gru-in-twenty-minutes.html",
            "01-from-a-sum-to-a-state.html",
            "10-conventions.html",
        ]
        for seen in [*doors.all(), *visit.page.locator(".ex-read .ex-band").all()]:
            box = seen.bounding_box()
            assert box is not None and box["y"] > 0 and box["y"] + box["height"] < height


def test_the_download_button_gives_the_edition(file: Path) -> None:
    hrefs = {value(a, "href") for a in page_checks.parse(file).css(".dropdown-download-buttons a[href]")}
    own = f"{file.stem}.ipynb" if file.stem[0].isdigit() else ARCHIVE
    assert hrefs == {f"../notebooks/{own}"}
    assert (file.parent / hrefs.pop()).is_file()


def test_links_inside_the_book_lead_somewhere(file: Path) -> None:
    assert page_checks.broken_links(file) == []


def test_page_describes_itself_and_has_icons(file: Path) -> None:
    page = page_checks.parse(file)
    description = page.css_first('meta[name="description"]')
    assert description is not None
    assert 40 < len(value(description, "content")) <= 202
    icons = {value(i, "href").rpartition("/")[2] for i in page.css('link[rel~="icon"], link[rel="apple-touch-icon"]')}
    assert icons == {"favicon.ico", "favicon.svg", "apple-touch-icon.png"}
    assert page.css_first(".navbar-brand svg.gru-mark[aria-hidden=true]") is not None


def test_pages_describe_themselves_each_in_its_own_words(built_book: Path) -> None:
    heads = [page_checks.parse(built_book / f"{page}.html").css_first('meta[name="description"]') for page in PAGES]
    assert len({value(head, "content") for head in heads if head is not None}) == len(PAGES)


def test_figures_say_what_they_show(file: Path) -> None:
    assert page_checks.wordless_figures(file) == []


def test_explorers_of_chapters_are_numbered_figures_that_ask_a_question(built_book: Path) -> None:
    """The front page's explorer stands under its headline."""
    for name in PAGES:
        page = page_checks.parse(built_book / f"{name}.html")
        figures = page.css("figure.gru-explorer")
        assert len(figures) == len(page.css("[data-afm]")) or name == "book/intro"
        for count, figure in enumerate(figures, 1):
            title, words = (line.text() for line in figure.css("figcaption > p"))
            assert re.fullmatch(rf"Explorer {chapter_number(name)}\.{count} [A-Z].*\?", title), title
            assert words.endswith("."), words


def test_figures_follow_the_page(file: Path) -> None:
    assert page_checks.fixed_colours(file) == []


def test_ids_are_unique(file: Path) -> None:
    assert page_checks.repeated_ids(file) == []


def test_search_index_is_loaded_where_a_search_runs_alone(built_book: Path) -> None:
    scripts = {page: page.read_text("utf8") for page in built_book.rglob("*.html")}
    for name in ("search_index.js", "minisearch.js"):
        assert {page.stem for page, text in scripts.items() if name in text} == {"search"}
    library = (built_book / "_static" / "minisearch.js").read_text("utf8")
    assert "Permission is hereby granted" in library and "sourceMappingURL" not in library
    assert not any("searchtools.js" in text or "searchindex.js" in text for text in scripts.values())


# TeX that was left in a text: names of macros that are no words of the book, groups, backslashes.
TEX = re.compile(
    r"(?<![.\w])(?:(?:approx|big[lr]|binom|bmod|cdots?|[dt]?frac|ell|g[dhrxz]|infty|[lr]angle|odot|oplus|pm|prod|sqrt|tilde)"
    r"(?![a-z])|math(?:rm|bb|cal)|operatorname|overline|text(?=[a-z])(?!s\b|book)|var(?:epsilon|phi))|[_^]\{|\\|\0"
)


def test_a_table_of_results_has_a_number_and_is_the_same_in_the_edition(built_book: Path) -> None:
    page = page_checks.parse(built_book / "book" / "00-the-gru-in-twenty-minutes.html")
    (table,) = page.css("figure#tab-zero-reset")
    assert table.css_first(".caption-number").text() == "Table 0.2 "
    assert [th.text() for th in table.css("th[scope=col]")] == ["reset gate", "mean", "lowest", "highest"]
    edition = json.loads((built_book / "notebooks" / "00-the-gru-in-twenty-minutes.ipynb").read_text("utf8"))
    cells = ["".join(cell["source"]) for cell in edition["cells"]]
    (at,) = (i for i, text in enumerate(cells) if "**Table 0.2.** **What becomes of the ten networks" in text)
    html = "".join(edition["cells"][at - 1]["outputs"][0]["data"]["text/html"])
    assert html.startswith("<style>") and "<td>0.71</td>" in html


def test_search_index_holds_the_words_of_every_page(built_book: Path) -> None:
    text = (built_book / "_static" / "search_index.js").read_text("utf8")
    index = json.loads(text.removeprefix("window.gruSearchIndex = "))
    assert set(index) == set(PAGES)
    assert {page for page, sections in index.items() if not sections} == {p for p in PAGES if "mistakes-" in p}
    for page, sections in index.items():
        anchors = page_checks.ids(built_book / f"{page}.html")
        assert {s["anchor"] for s in sections} - {""} <= set(anchors), page
        text = " ".join(s["title"] + " " + s["text"] for s in sections)
        assert not TEX.findall(text), page
    chapter = next(s for s in index["book/04-gru-forward"] if s["title"].startswith("The reset gate"))
    assert "r_t" in chapter["text"]
    for page, formula in {"01-from-a-sum-to-a-state": "±1/√H", "glossary": "e^(cross-entropy) = 2^bits"}.items():
        assert any(formula in s["text"] for s in index[f"book/{page}"])


def test_icon_font_holds_every_icon_of_the_pages_and_little_else(built_book: Path) -> None:
    font = TTFont(built_book / "_static/vendor/fontawesome/webfonts/fa-solid-900.woff2")
    style = (built_book / "_static/styles/pydata-sphinx-theme.css").read_text("utf8")
    pages = [page.read_text("utf8") for page in built_book.rglob("*.html")]
    icons = {name for page in pages for name in re.findall(r"\bfa-[a-z-]+", page)}
    for name in icons:
        if point := re.search(rf'\.{name}:+before[^{{}}]*{{content:"\\([0-9a-f]+)"', style):
            assert int(point[1], 16) in font.getBestCmap(), f"{name} would be an empty box"
    assert "fa-bars" in icons
    assert len(font.getBestCmap()) < 50  # of 1,400
    assert len(re.findall(r"\.fa-[a-z0-9-]+:before", style)) < 100  # rules of the style sheet, of 1,900
