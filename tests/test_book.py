"""The built book: every page in a browser that can reach nothing but the book, and every page as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import page_checks
import pages
import pytest
import yaml
from chapter_numbers import chapter_number
from explorers import ROOM
from matplotlib.image import imread
from page_checks import value
from playwright.sync_api import Browser
from reader_cells import ARCHIVE

from benchmarks.pages import LANGUAGE_KB, MOST_KB
from conftest import ROOT, Visit
from gru_book.viz import COLOURS

THEMES = ("light", "dark")

Reader = Callable[[str, int], AbstractContextManager[Visit]]


PAGES = re.findall(r"(?:root|file): (book/\S+)", (ROOT / "_toc.yml").read_text("utf8"))
TEXTS = {f"book/{path.stem}": path.read_text("utf8") for path in (ROOT / "book_text").glob("*.md")}
WITH_EXPLORER = [p for p in PAGES if re.search(r"^(?:[a-z_]+ = )?\w+Explorer\(", TEXTS.get(p, ""), re.M)]

PHONE, DESK = 390, 1280

# Every page is opened from disk, on a phone, or on a desk and made narrow afterwards. One of each kind: the front page,
# a chapter full of maths, one with three explorers, one with none, words, references. What a page has on a desk and not
# on a phone is its frame, and that is the same around every page; explorers are drawn otherwise there.
OF_EACH_KIND = [p for p in PAGES if re.search(r"intro$|/05-|/10-|/20-|glossary$|bibliography$", p)]
ON_A_DESK = [p for p in PAGES if p in OF_EACH_KIND + WITH_EXPLORER or re.search(r"/01b-|/05c-|notation$", p)]


def met(pages: list[str]) -> pytest.MarkDecorator:
    """A test of these pages alone."""
    return pytest.mark.parametrize("visit", pages, ids=lambda page: f"{page}.html", indirect=True)


@pytest.fixture(scope="module", params=PAGES, ids=lambda page: f"{page}.html")
def visit(request: pytest.FixtureRequest, reader: Reader, built_book: Path) -> Iterator[Visit]:
    """A page, loaded once for all the tests of it, on a desk or on a phone."""
    width = DESK if request.param in ON_A_DESK else PHONE
    with reader((built_book / f"{request.param}.html").as_uri(), width) as visit:
        visit.open()
        yield visit


def look(visit: Visit, width: int, theme: str | None = None) -> None:
    """Take the page to a width, perhaps to a theme, and wait until it has arranged itself."""
    if theme:
        visit.set_theme(theme)
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


# In a browser. axe's tests thin the page.

# From 0.1 on readers notice; a line that breaks anew is 0.02 or more.
MOST_SHIFT = 0.01


def test_page_loads_quietly_from_the_book_alone_and_its_lines_stay(visit: Visit) -> None:
    assert (visit.foreign, visit.complaints) == ([], [])
    assert page_checks.shift(visit.page) < MOST_SHIFT
    assert page_checks.maths_not_set(visit.page) == []


def test_page_is_light_or_dark_before_the_frames_script_runs(browser: Browser, built_book: Path) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.route("**/frame.js*", lambda route: route.abort())
    page.goto((built_book / f"{PAGES[0]}.html").as_uri())
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.add_init_script("localStorage.setItem('mode', 'dark')")  # written by the page itself, it may come too late
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    context.close()


def test_figure_is_saved_as_a_png_in_light_colours(browser: Browser, built_book: Path, tmp_path: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto((built_book / "book/03-gates.html").as_uri())
    figure = page.locator("#fig-gate-rewritten")
    figure.hover()
    with page.expect_download() as saved:
        figure.get_by_role("button", name="PNG").click()
    assert saved.value.suggested_filename == "fig-gate-rewritten.png"
    saved.value.save_as(tmp_path / "saved.png")
    drawn = (imread(tmp_path / "saved.png") * 255).round().astype(int)
    (*_, width, height) = map(float, str(figure.locator("svg").get_attribute("viewBox")).split())
    assert drawn.shape == (int(4 * height), int(4 * width), 4)
    assert (drawn == (255, 255, 255, 255)).all(axis=2).mean() > 0.5
    assert (drawn[..., :3] == tuple(bytes.fromhex(COLOURS["h"][1:]))).all(axis=2).sum() > 1000
    page.close()


@met(WITH_EXPLORER)
def test_page_with_an_explorer_loads_quickly(visit: Visit) -> None:
    """The bytes are held here; `python -m benchmarks.pages` measures the time until the explorer is alive."""
    assert page_checks.weight(visit.asked) / 1000 <= (LANGUAGE_KB if "language-model" in visit.url else MOST_KB)


@pytest.mark.fonts
@pytest.mark.parametrize("width", [PHONE, DESK])  # the next test is on a desk
@met(WITH_EXPLORER)
def test_room_is_kept_for_the_explorer_before_it_wakes(visit: Visit, width: int) -> None:
    """Readers notice from about two lines on."""
    look(visit, width)
    live, kept = visit.page.evaluate(ROOM)
    assert abs(live - kept) < 40


@met(ON_A_DESK)
def test_page_is_in_order_on_a_desk(visit: Visit) -> None:
    """Nothing is wider than the screen or below the footer, and on a page of each kind all text has contrast."""
    look(visit, DESK)
    assert page_checks.below_the_footer(visit.page) <= 2
    assert page_checks.too_wide(visit.page) == []
    if f"book/{Path(visit.url).stem}" in OF_EACH_KIND:
        assert page_checks.faint_text(visit.page, *THEMES) == []


def test_nothing_is_wider_than_a_phone_or_stands_below_the_footer(visit: Visit) -> None:
    look(visit, PHONE)
    assert page_checks.below_the_footer(visit.page) <= 2  # first: the other styles the page anew
    assert page_checks.too_wide(visit.page) == []


def test_all_text_has_contrast(visit: Visit) -> None:
    """A page of each kind in both themes; of the others, which have the same styles, every second in the dark."""
    look(visit, PHONE)
    page = f"book/{Path(visit.url).stem}"
    themes = THEMES if page in OF_EACH_KIND else [THEMES[PAGES.index(page) % 2]]
    assert page_checks.faint_text(visit.page, *themes) == []


def test_axe_finds_no_violation_on_a_phone(visit: Visit) -> None:
    look(visit, PHONE)
    assert page_checks.violations(visit.page) == []


@met(WITH_EXPLORER)
def test_explorer_covers_nothing(visit: Visit) -> None:
    """A broad one takes the place of the contents of the page, which come back when it has gone."""
    look(visit, DESK)
    assert page_checks.covered(visit.page) == []


# The sidebars, which a phone does not show, are the same around every page; explorers have tests of their own.
@met(OF_EACH_KIND)
def test_axe_finds_no_violation_on_a_desk(visit: Visit) -> None:
    look(visit, DESK)
    assert page_checks.violations(visit.page) == []


def test_front_page_opens_from_the_root(reader: Reader, book_url: str) -> None:
    with reader(f"{book_url}/index.html", DESK) as visit:
        visit.page.goto(visit.url)
        visit.page.wait_for_url(f"**/{PAGES[0]}.html")
        assert visit.page.locator("h1").first.inner_text()


@pytest.fixture
def search(request: pytest.FixtureRequest, reader: Reader, built_book: Path, book_url: str) -> Iterator[Visit]:
    """The page of results, from disk or from a server; what it finds is the same there."""
    place = book_url if getattr(request, "param", "") == "http" else built_book.as_uri()
    with reader(f"{place}/search.html", DESK) as visit:
        visit.page.goto(f"{visit.url}?q=reset+gate")
        visit.page.locator("#search-results h2").first.wait_for()
        yield visit
        assert (visit.foreign, visit.complaints) == ([], [])


ASKED = """(queries) => queries.map((query) => {
  const field = document.querySelector("main input[name=q]"), found = document.querySelector("#search-results");
  field.value = query;
  field.form.requestSubmit();
  return [[...found.querySelectorAll("h2")].map((e) => e.textContent), found.textContent];
})"""


def results(visit: Visit, queries: list[str]) -> dict[str, tuple[list[str], str]]:
    """For each query the titles of the pages that are found, the best one first, and all that is shown."""
    return dict(zip(queries, visit.page.evaluate(ASKED, queries), strict=True))


FOUND = [
    ("reset gate", "4. The GRU, forward", "10. Conventions: a Rosetta stone"),
    ("Reset  Gates", "4. The GRU, forward", "Glossary"),
    ("更新门", "Glossary", "Glossary"),
    ("bootstrap", "Glossary", "How the experiments are run"),
    ("gru_step_backward", "API: cells", "5. The GRU, backward"),
    ("keras", "Questions people ask", "10. Conventions: a Rosetta stone"),
    ("bias init", "9. The highway and its price", "API: cells"),
    ("gradient check", "5c. Checking a gradient", "Glossary"),
    ("GRU vs LSTM", "12. LSTM, and what the GRU left out", "12c. An unbounded cell"),
    ("vanishng gradient", "2. Why memory fades", "2. Why memory fades"),
]
#: What people type, by the page that must be among the first three: a chapter, or the questions.
TYPED = {
    "questions": [
        "gru slower on gpu than cpu", "gpu slow", "dropout num_layers greater than 1", "determinism",
        "loss not decreasing", "quantize gru", "int8 quantization accuracy", "8 bit", "slightly different results",
        "variable length sequences", "shape mismatch", "keras to pytorch gru weights", "contiguous chunk",
        "expected hidden size", "batch_first", "bidirectional forecasting", "Core ML", "CoreML", "CuDNNGRU",
        "deterministic", "dynamic_axes", "dynamic axes onnx", "enforce_sorted", "go_backwards",
        "hidden state initialization", "how many parameters", "learning rate too high", "loss does not go down",
        "pack_padded_sequence", "pad_sequences", "quantization", "reproducibility", "return_sequences", "stateful",
        "TensorFlow.js", "TFLite", "torch.compile", "weight decay", "weight tying", "VS Code",
    ],
    "19": ["beam search length normalization", "greedy decoding"],
    "05c": ["central differences", "finite differences"],
    "02": ["clip_grad_norm_", "gradient descent momentum", "optimizer", "optimiser"],
    "10": ["CuDNNLSTM", "how do I convert a Keras GRU to PyTorch", "linear_before_reset", "reset_after", "tensorflow"],
    "16": ["detach hidden state", "truncated backpropagation through time"],
    "12": ["difference between GRU and LSTM"],
    "18": ["dot product attention"],
    "18b": ["transformer vs gru"],
    "17": ["exposure bias", "ignore_index", "sequence to sequence", "teacher forcing"],
    "15": ["layer normalization", "num_layers", "residual connections"],
    "21": ["mamba"],
    "08": ["minimal gated unit"],
    "checklist": ["nan loss"],
    "14": ["overfitting", "zoneout"],
    "16d": ["text generation"],
    "22": ["time series forecasting", "streaming inference"],
    "11": ["vectorize", "why is my gru slow on gpu", "cudnn kernel criteria"],
    "instructors": ["teaching"],
    "09": ["weight initialization"],
}  # fmt: skip


def test_search_finds_what_a_reader_looks_for(search: Visit) -> None:
    first_link = search.page.locator("#search-results li a").nth(1)
    assert page_checks.axe(search.page) == []
    look(search, PHONE)
    assert page_checks.too_wide(search.page) == []
    first_link.click()
    search.page.wait_for_url("**/book/*")
    search.page.locator(f"[id='{urlsplit(search.page.url).fragment}']").wait_for()
    search.page.go_back()
    first_link.wait_for()
    found = results(search, [query for query, *_ in FOUND])
    for query, first, among in FOUND:
        assert (query, found[query][0][0]) == (query, first) and among in found[query][0]
    for query, found_none in results(search, ["tokamak", "tokamak.b(", "<tokamak>", "控门"]).items():
        assert found_none == [[], f"No page has “{query}”."]


def test_search_finds_what_people_type(search: Visit) -> None:
    """Names of code and of other programs, American spelling, and words that the pages do not use."""
    titles = {name: pages.read(name).title for name in (page.rpartition("/")[2] for page in PAGES)}
    found, missed = results(search, [query for queries in TYPED.values() for query in queries]), {}
    for wanted, queries in TYPED.items():
        (title,) = (title for name, title in titles.items() if name == wanted or name.startswith(f"{wanted}-"))
        title = title.replace("*", "").partition(". ")[2] or title
        missed |= {query: wanted for query in queries if not any(one.endswith(title) for one in found[query][0][:3])}
    assert missed == {}


def test_words_that_people_type_stand_with_pages_that_there_are(built_book: Path) -> None:
    words = yaml.safe_load((ROOT / "book" / "search_words.yml").read_text("utf8"))
    assert set(words) <= {page.rpartition("/")[2] for page in PAGES}
    every = [word.lower() for some in words.values() for word in some]
    assert len(every) < 90


@pytest.mark.parametrize("search", ["http"], indirect=True)
def test_search_shows_results_as_one_types(search: Visit) -> None:
    """The address follows, so that Back from a result comes to what was found; the arrow goes down to the results."""
    search.page.goto(search.url)
    field, first = search.page.locator("main input[name=q]"), search.page.locator("#search-results h2 a").first
    for typed, page in (("temperature", "16"), (" copying", "16d. ")):
        field.press_sequentially(typed)
        search.page.wait_for_url(f"{search.url}?q={field.input_value().replace(' ', '+')}")
        assert first.inner_text().startswith(page)
    field.press("ArrowDown")
    search.page.keyboard.press("Enter")
    search.page.wait_for_url("**/book/16d*")
    search.page.go_back()
    assert field.input_value() == "temperature copying" and first.inner_text().startswith("16d. ")


@pytest.mark.fonts
def test_paper_is_white_to_the_edge_and_its_text_stays_on_it(reader: Reader, built_book: Path) -> None:
    """A4 has 166 mm between the margins."""
    with reader((built_book / "book/04-gru-forward.html").as_uri(), DESK) as visit:
        visit.open()
        visit.set_theme("dark")
        visit.page.emulate_media(media="print")
        visit.page.set_viewport_size({"width": 627, "height": 900})
        style = "const s = getComputedStyle(document.documentElement); [s.backgroundColor, s.colorScheme]"
        assert visit.page.evaluate(style) == ["rgb(255, 255, 255)", "light"]
        seen = visit.page.locator("section > p, [data-afm], #gate svg text, #gate .ex-equations")
        sides = seen.evaluate_all("""all => all.filter((e) => e.checkVisibility()).map((e) => {
          const { left, right } = e.getBoundingClientRect();
          return [left, e.matches("svg *") ? right : Math.max(right, left + e.scrollWidth)];
        })""")
        assert len(sides) > 20 and all(left >= 0 and right <= 627 for left, right in sides)
        assert not any(e.is_visible() for e in visit.page.locator(".solution.admonition > section").all())
        visit.page.emulate_media(media="null")


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


def test_a_title_names_its_page_and_the_book_and_neither_twice(built_book: Path) -> None:
    pages = [page.read_text("utf8") for page in built_book.rglob("*.html") if "_static" not in page.parts]
    parts = [re.search("<title>(.*?)</title>", page, re.S)[1].split(" — ") for page in pages]
    assert [each for each in parts if "The Gated Recurrent Unit" not in each or len(set(each)) < len(each)] == []


def test_nothing_is_loaded_from_elsewhere(built_book: Path) -> None:
    files = [file for suffix in ("html", "css") for file in built_book.rglob(f"*.{suffix}")]
    assert len(files) > len(PAGES)
    assert {file.name: found for file in files if (found := page_checks.foreign(file.read_text("utf8")))} == {}


def test_the_download_button_gives_the_notebook(file: Path) -> None:
    hrefs = {value(a, "href") for a in page_checks.parse(file).css(".gru-download a[href]")}
    own = f"{file.stem}.ipynb" if file.stem[0].isdigit() else ARCHIVE
    assert hrefs == {f"../notebooks/{own}"}
    assert (file.parent / hrefs.pop()).is_file()


def test_file_is_in_order(file: Path) -> None:
    """Links lead somewhere, figures say what they show in the colours of the page, and it describes itself."""
    assert page_checks.broken_links(file) == []
    assert page_checks.wordless_figures(file) == []
    assert page_checks.fixed_colours(file) == []
    assert page_checks.repeated_ids(file) == []
    description = page_checks.parse(file).css_first('meta[name="description"]')
    assert description is not None and 40 < len(value(description, "content")) <= 202


@pytest.mark.fonts
@pytest.mark.parametrize(("width", "height"), [(1366, 768), (PHONE, 844)])
def test_front_pages_first_screen_has_the_doors_and_the_answer(
    reader: Reader, built_book: Path, width: int, height: int
) -> None:
    """Ways to start, and the explorer's whole drawing of the belief, its key apart, fit on a screen so high."""
    with reader((built_book / f"{PAGES[0]}.html").as_uri(), width) as visit:
        visit.open()
        visit.page.locator(".gru-reader[data-live] .ex-band").first.wait_for()
        seen = [e.bounding_box() for e in visit.page.locator(".gru-doors a, .ex-read .ex-band:not(.ex-swatch)").all()]
        assert len(seen) > 3 and all(box and 0 < box["y"] < height - box["height"] for box in seen)


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


def test_a_table_of_results_has_a_number_and_is_the_same_in_the_notebook(built_book: Path) -> None:
    name = "00-the-gru-in-twenty-minutes"
    (table,) = page_checks.parse(built_book / "book" / f"{name}.html").css("figure#tab-zero-rivals")
    number = table.css_first(".caption-number").text().strip()
    assert re.fullmatch(r"Table 0\.\d", number)
    notebook = (built_book / "notebooks" / f"{name}.ipynb").read_text("utf8")
    words = table.css_first(".caption-text strong").text()
    assert f"**{number}.** **{words}**" in notebook and "<td>0.71</td>" in notebook


# TeX that was left in a text: names of macros, groups, backslashes.
TEX = re.compile(r"(?<![.\w])(?:[dt]?frac|odot|math(?:rm|bb|cal)|operatorname|g[dhrxz])(?![a-z])|[_^]\{|\\|\0")


def test_an_old_address_leads_to_where_its_page_went(built_book: Path) -> None:
    moved = {old: new for old, new in pages.settings("redirects.yml").items() if f"book/{old}" not in PAGES}
    assert len(moved) > 30
    for old, new in moved.items():
        stub = page_checks.parse(built_book / "book" / f"{old}.html")
        (there,) = {
            value(stub.css_first("link[rel=canonical]"), "href"),
            value(stub.css_first("meta[http-equiv=refresh]"), "content").removeprefix("0; url="),
            value(stub.css_first("a"), "href"),
        }
        page, _, anchor = there.partition("#")
        assert old[:2] == new[:2] or not old[:2].isdigit(), f"{old} leads to another chapter, {new}"
        assert there.replace(".html", "") == new and f"book/{page.removesuffix('.html')}" in PAGES, old
        assert not anchor or anchor in page_checks.ids(built_book / "book" / page), old


def test_search_index_holds_the_words_of_every_page(built_book: Path) -> None:
    text = (built_book / "_static" / "search_index.js").read_text("utf8")
    index = json.loads(text.removeprefix("window.gruSearchIndex = "))
    assert {page for page, sections in index.items() if sections} == set(PAGES)
    for page, sections in index.items():
        assert {s["anchor"] for s in sections} - {""} <= set(page_checks.ids(built_book / f"{page}.html")), page
        assert not TEX.findall(" ".join(s["title"] + " " + s["text"] for s in sections)), page
    assert any("±1/√H" in section["text"] for section in index["book/02-why-memory-fades"])
