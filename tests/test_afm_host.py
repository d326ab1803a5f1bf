"""The host of the built book's pages, book/_ext/afm_host.js, and the extension that brings it there, afm_host.py.

Pages are opened from disk (file://), as a reader would from a USB stick. Any request elsewhere, any console error and
any exception fails the test that caused it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat.v4 as nbf
import page_checks
import pytest
from explorers import PHONE, WIDE, put, set_folds, state_in

from gru_lib.widgets import GateExplorer

ROOT = Path(__file__).parents[1]
EXPLORER = "[data-afm=gate]"


def get(page, key, nth=0):
    """A key of the model behind the nth explorer."""
    return page.evaluate(f"afmHost.modelOf(document.querySelectorAll('{EXPLORER}')[{nth}]).get('{key}')")


def whole_state(page):
    return state_in(page, "gate")


def test_model_moves_the_page(visit):
    page = visit()
    put(page, {"x": -0.25, "b_z": -2.0, "reset": "after"})
    assert page.locator("input[data-key=x]").input_value() == "-0.25"
    assert page.locator("input[value=after]").is_checked()
    z = page.locator("[data-value=z]").inner_text()
    assert float(z) == pytest.approx(GateExplorer(x=-0.25, b_z=-2.0).z, abs=5e-4)


def test_page_tells_the_model_of_every_change(visit):
    page = visit()
    page.evaluate(f"""() => {{
      window.heard = [];
      afmHost.modelOf(document.querySelector('{EXPLORER}')).on('change:x', (model, v) => heard.push(v));
    }}""")
    page.locator("input[data-key=x]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("heard") == [0.51, 0.52]


def test_two_explorers_are_independent(visit):
    page = visit(GateExplorer(x=0.1), GateExplorer(x=0.9))
    page.locator("input[data-key=x]").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    set_folds(page, True)
    page.locator("input[value=write]").nth(1).check(force=True)
    assert [get(page, "x", nth) for nth in (0, 1)] == [0.1, 0.89]
    assert [get(page, "convention", nth) for nth in (0, 1)] == ["keep", "write"]
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))


LINKS = (
    '<p><a href="#gate?z=0.99">z near 1</a> <a href="#gate?preset=restart&amp;x=-0.5">restart</a> '
    '<a href="#gate?x=9&amp;y=1&amp;reset=inside&amp;b_r=&amp;z=none&amp;preset=toString">nonsense</a> '
    '<a href="#end">end</a></p>'
)


def test_link_sets_the_state_and_brings_it_into_view(visit):
    room = '<div style="height: 2000px"></div>'
    page = visit(GateExplorer(anchor="gate"), before=LINKS + room, after=room)
    page.locator("text=z near 1").focus()
    page.keyboard.press("Enter")
    gate = GateExplorer(**whole_state(page))
    assert gate.z == pytest.approx(0.99, abs=1e-12)
    page.wait_for_function(f"document.querySelector('{EXPLORER}').getBoundingClientRect().top < 100")
    assert page.url.endswith("#gate?z=0.99")
    page.locator("text=restart").first.click()
    after = GateExplorer(**whole_state(page))
    assert (after.x, round(after.z, 3), round(after.r, 3)) == (-0.5, 0.001, 0.001)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["1280", "390"])
@pytest.mark.parametrize("key", ["", "Enter"], ids=["mouse", "keyboard"])
def test_back_returns_to_the_line_and_to_the_state(visit, viewport, key):
    room = '<div style="height: 1000px"></div>'
    page = visit(
        GateExplorer(anchor="gate"),
        before=room + LINKS + room * 2,
        after=room,
        viewport=viewport,
        reduced_motion="reduce",
    )
    put(page, {"x": 0.25})
    line = "document.querySelector('main a').getBoundingClientRect().top"
    seen = []
    for text, above in (("z near 1", 300), ("restart", 200)):
        link = page.locator(f"main a >> text={text}")
        link.evaluate("(link, above) => scrollTo(0, link.offsetTop - above)", above)
        seen.append((whole_state(page), page.evaluate("location.hash"), page.evaluate(line)))
        link.press(key) if key else link.click()
        page.wait_for_function(f"document.querySelector('{EXPLORER}').getBoundingClientRect().top < 100")
    seen.append((whole_state(page), page.evaluate("location.hash"), page.evaluate(line)))
    assert [hash for _, hash, _ in seen] == ["", "#gate?z=0.99", "#gate?preset=restart&x=-0.5"]
    put(page, {"x": 1.0})
    for move, (state, hash, top) in [("back", seen[1]), ("back", seen[0]), ("forward", seen[1]), ("forward", seen[2])]:
        page.evaluate(f"history.{move}()")
        page.wait_for_function("hash => location.hash === hash", arg=hash)
        page.wait_for_function(f"top => Math.abs({line} - top) < 2", arg=top)
        assert whole_state(page) == state


@pytest.mark.parametrize("anchor", ["#%?x=1", "#%E0%A4%A?x=1", "#gate?%", "#gate?x=%"])
def test_address_that_cannot_be_read_does_nothing(visit, anchor):
    page = visit(GateExplorer(anchor="gate"), anchor=anchor, before=f'<a href="{anchor}">link</a>')
    page.locator("main a").first.click()
    page.evaluate(
        """anchor => new Promise(done => {
      location.hash = "";
      addEventListener("hashchange", () => { if (location.hash === anchor) setTimeout(done); });
      location.hash = anchor;
    })""",
        anchor,
    )
    assert GateExplorer(**whole_state(page)).state() == GateExplorer().state()


def test_link_with_nonsense_sets_only_what_makes_sense(visit):
    page = visit(GateExplorer(anchor="gate"), before=LINKS)
    before = whole_state(page)
    page.locator("text=nonsense").click()
    assert whole_state(page) == {**before, "x": 1}


def test_address_of_the_page_sets_the_state(visit):
    page = visit(GateExplorer(anchor="gate"), anchor="#gate?z=0.25")
    page.wait_for_function(f"afmHost.modelOf(document.querySelector('{EXPLORER}')).get('b_z') < 0")
    assert GateExplorer(**whole_state(page)).z == pytest.approx(0.25, abs=1e-12)


def test_ordinary_links_are_left_alone(visit):
    page = visit(GateExplorer(anchor="gate"), before=LINKS, after='<p id="end">End</p>')
    before = whole_state(page)
    page.locator("a[href='#end']").click()
    assert page.url.endswith("#end")
    assert whole_state(page) == before


def test_failing_explorer_leaves_its_picture_and_the_others(visit, folder):
    (folder / "broken.js").write_text('afmHost.register("broken", { render() { throw new Error("broken"); } });')
    broken = '<div data-afm="broken" data-state="{}"><p>still here</p></div>'
    page = visit(broken, GateExplorer(), scripts=("afm_host.js", "broken.js", "gate.js"), expect=["broken"])
    page.wait_for_selector(f"{EXPLORER}[data-live='']")
    assert page.locator("text=still here").is_visible()
    assert page.locator("[data-afm=broken]").get_attribute("data-live") == "failed"


@pytest.mark.fonts
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["1280", "390"])
def test_page_does_not_jump_when_the_explorer_wakes(visit, viewport):
    page = visit(GateExplorer(anchor="gate"), after="<p>Text below</p>" * 20, viewport=viewport, seen=True)
    shift = page.evaluate("""() => new Promise(done => {
      let sum = 0;
      new PerformanceObserver(list => list.getEntries().forEach(e => { sum += e.value; }))
        .observe({ type: 'layout-shift', buffered: true });
      setTimeout(() => done(sum), 300);
    })""")
    assert shift < 0.05
    kept = page.evaluate(f"""() => {{
      const el = document.querySelector('{EXPLORER}'), live = el.offsetHeight;
      delete el.dataset.live;
      return [live, el.offsetHeight];
    }}""")
    assert kept[1] - kept[0] < 40, kept


# ------------------------------------------------------------------------------------------ the tests' own windows


def test_a_complaint_fails_its_own_visit_and_not_the_next_one_in_that_window(visits):
    with pytest.raises(AssertionError, match="planted"), visits("first") as visit:
        window = visit()
        window.evaluate("console.error('planted')")
    with visits("second") as visit:
        assert visit() is window


def test_a_window_shows_the_next_page_as_at_first(visits):
    """As at first: the state, the address and the theme that a visit left do not reach the next one."""
    for change in ("", "window.mine = 1", "document.body.append(document.createElement('p'))", ""):
        with visits("again") as visit:
            page = visit(GateExplorer(x=0.25, anchor="gate"))
            theme, address = page.evaluate("[document.documentElement.dataset.theme, location.hash]")
            assert (get(page, "x"), theme, address, page.locator(".ex-cell").count()) == (0.25, "light", "", 1)
            put(page, {"x": 0.5})
            page.evaluate("location.hash = 'gate?x=0.75'; document.documentElement.dataset.theme = 'dark'")
            page.evaluate(change)


# ------------------------------------------------------------------------------------------------ in a built book


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """A book of two pages, one with explorers; returns its HTML folder and what Sphinx warned of."""
    source = tmp_path_factory.mktemp("book")
    gate = GateExplorer(anchor="gate")
    stored = {"text/html": gate._repr_mimebundle_()[0]["text/html"], "text/plain": repr(gate)}
    output = nbf.new_output("execute_result", stored, execution_count=1)
    prose = "# Page\n\n[z near 1](#gate?z=0.99) [bad key](#gate?q=3) [bad anchor](#gates?z=1)\n\n[other](other)"
    prose += "\n\nSee {numref}`exp-gate`."
    figure = {"name": "exp-gate", "caption": "What does $z$ *do*?\n\nMove it."}
    shown = nbf.new_code_cell("gate", execution_count=1, outputs=[output], metadata={"mystnb": {"figure": figure}})
    cells = [nbf.new_markdown_cell(prose), shown]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (source / "index.ipynb").write_text(json.dumps(nbf.new_notebook(cells=cells, metadata=kernel)), "utf-8")
    (source / "other.md").write_text("---\norphan: true\n---\n# Other\n", "utf-8")
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_nb', 'afm_host']\nnb_execution_mode = 'off'\n"
        "nb_mime_priority_overrides = [['html', 'text/html', 5]]\nexclude_patterns = ['_build']\n"
        "numfig = True\nnumfig_format = {'explorer': 'Explorer %s'}\nmyst_enable_extensions = ['dollarmath']\n",
        "utf-8",
    )
    target = source / "_build"
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-E", str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return target, done.stderr


def test_only_pages_with_explorers_load_the_host(small_book):
    target, _ = small_book
    page = (target / "index.html").read_text("utf-8")
    loaded = re.findall(r'(?:src|href)="_static/(afm/[\w.-]+)', page)
    assert sorted(loaded) == ["afm/afm_host.js", "afm/gate.css", "afm/gate.js"]
    assert page.index("afm/afm_host.js") < page.index("afm/gate.js")
    assert len(re.findall(r'<script defer="defer" src="_static/afm/', page)) == 2
    assert all((target / "_static" / file).is_file() for file in loaded)
    assert "afm" not in (target / "other.html").read_text("utf-8")


def test_page_holds_the_still_picture_that_the_notebook_does_not(small_book):
    target, _ = small_book
    page = (target / "index.html").read_text("utf-8")
    assert GateExplorer(anchor="gate").to_html() in page
    assert page.count('id="gate"') == 1


def test_explorer_of_a_cell_with_a_caption_is_a_numbered_figure(small_book):
    """Its title stands above it, with what to try, and an author's reference is to its number."""
    target, _ = small_book
    page = page_checks.parse(target / "index.html")
    figure = page.css_first("figure#exp-gate")
    title, words = figure.css("figcaption > p")
    assert title.text().startswith("Explorer 1 What does") and words.text() == "Move it."
    assert figure.attributes["aria-labelledby"] == title.attributes["id"]
    assert page.html.count(f'id="{title.attributes["id"]}"') == 1
    assert [child.tag for child in figure.iter()] == ["figcaption", "div"] and figure.css_first("[data-afm=gate]")
    assert "See Explorer 1." in page.css_first("body").text()


def test_links_to_a_state_pass_the_build_and_wrong_ones_do_not(small_book):
    target, warnings = small_book
    assert 'href="#gate?z=0.99"' in (target / "index.html").read_text("utf-8")
    assert "link to #gate sets 'q', which it does not have" in warnings
    assert "no explorer with the anchor 'gates' in this page" in warnings
    assert warnings.count("WARNING") == 2, warnings
