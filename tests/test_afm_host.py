"""The host of the built book's pages, book/_ext/afm_host.js, and the extension that brings it there, afm_host.py.

Pages are opened from disk (file://), as a reader would from a USB stick. Any request elsewhere, any console error and
any exception fails the test that caused it.
"""

import json
from pathlib import Path

import nbformat.v4 as nbf
import pytest
from builds import sphinx
from explorers import PHONE, WIDE, put, set_folds, state_in

from gru_book.widgets import GateExplorer

ROOT = Path(__file__).parents[1]
EXPLORER = "[data-afm=gate]"


def get(page, key, nth=0):
    """A key of the model behind the nth explorer."""
    return page.evaluate(f"afmHost.modelOf(document.querySelectorAll('{EXPLORER}')[{nth}]).get('{key}')")


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
    '<a href="#gate?x=9&amp;y=1&amp;reset=inside&amp;b_r=&amp;z=none&amp;preset=toString">nonsense</a></p>'
)


@pytest.mark.parametrize(("viewport", "key"), [(WIDE, ""), (PHONE, "Enter")], ids=["mouse", "keyboard"])
def test_a_link_sets_the_state_and_back_returns_to_the_line_and_to_the_state(visit, viewport, key):
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
        seen.append((state_in(page, "gate"), page.evaluate("location.hash"), page.evaluate(line)))
        link.press(key) if key else link.click()
        page.wait_for_function(f"document.querySelector('{EXPLORER}').getBoundingClientRect().top < 100")
    seen.append((state_in(page, "gate"), page.evaluate("location.hash"), page.evaluate(line)))
    assert [hash for _, hash, _ in seen] == ["", "#gate?z=0.99", "#gate?preset=restart&x=-0.5"]
    assert [round(GateExplorer(**state).z, 3) for state, *_ in seen[1:]] == [0.99, 0.001]
    put(page, {"x": 1.0})
    for move, (state, hash, top) in [("back", seen[1]), ("back", seen[0]), ("forward", seen[1]), ("forward", seen[2])]:
        page.evaluate(f"history.{move}()")
        page.wait_for_function("hash => location.hash === hash", arg=hash)
        page.wait_for_function(f"top => Math.abs({line} - top) < 2", arg=top)
        assert state_in(page, "gate") == state


def test_an_address_sets_the_state_and_of_nonsense_only_what_makes_sense(visit):
    page = visit(GateExplorer(anchor="gate"), anchor="#gate?z=0.25", before=LINKS)
    page.wait_for_function(f"afmHost.modelOf(document.querySelector('{EXPLORER}')).get('b_z') < 0")
    before = state_in(page, "gate")
    assert GateExplorer(**before).z == pytest.approx(0.25, abs=1e-12)
    page.locator("text=nonsense").click()
    assert state_in(page, "gate") == {**before, "x": 1}


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
    assert GateExplorer(**state_in(page, "gate")).state() == GateExplorer().state()


def test_failing_explorer_leaves_its_picture_and_the_others(visit, folder):
    (folder / "broken.js").write_text('afmHost.register("broken", { render() { throw new Error("broken"); } });')
    broken = '<div data-afm="broken" data-state="{}"><p>still here</p></div>'
    page = visit(broken, GateExplorer(), scripts=("afm_host.js", "broken.js", "gate.js"), expect=["broken"])
    page.wait_for_selector(f"{EXPLORER}[data-live='']")
    assert page.locator("text=still here").is_visible()
    assert page.locator("[data-afm=broken]").get_attribute("data-live") == "failed"


def test_links_to_a_state_pass_the_build_and_wrong_ones_do_not(tmp_path):
    gate = GateExplorer(anchor="gate")
    stored = {"text/html": gate._repr_mimebundle_()[0]["text/html"], "text/plain": repr(gate)}
    output = nbf.new_output("execute_result", stored, execution_count=1)
    prose = "# Page\n\n[z near 1](#gate?z=0.99) [bad key](#gate?q=3) [bad anchor](#gates?z=1)"
    cells = [nbf.new_markdown_cell(prose), nbf.new_code_cell("gate", execution_count=1, outputs=[output])]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (tmp_path / "index.ipynb").write_text(json.dumps(nbf.new_notebook(cells=cells, metadata=kernel)), "utf-8")
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_nb', 'afm_host']\nnb_execution_mode = 'off'\n"
        "nb_mime_priority_overrides = [['html', 'text/html', 5]]\nnumfig_format = {'explorer': 'Explorer %s'}\n",
        "utf-8",
    )
    done = sphinx("-q", "-n", "-E", str(tmp_path), str(tmp_path / "_build"))
    assert 'href="#gate?z=0.99"' in (tmp_path / "_build" / "index.html").read_text("utf-8")
    assert "link to #gate sets 'q', which it does not have" in done.stderr
    assert "no explorer with the anchor 'gates' in this page" in done.stderr
    assert done.stderr.count("WARNING") == 2, done.stderr
