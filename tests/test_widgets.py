"""What the package of explorers holds to: modules without imports, static HTML, a missing anywidget."""

import json
import re
from pathlib import Path

import pytest

from gru_book.widgets import EXPLORERS, GateExplorer
from gru_book.widgets._modules import HERE, assemble, classic, styles

ROOT = Path(__file__).parents[1]


def test_static_html_holds_the_state_and_the_picture():
    gate = GateExplorer(anchor="gate")
    html = gate.to_html()
    assert html.startswith('<div class="gru-ex gru-gate" id="gate" data-afm="gate" data-state="')
    state = json.loads(re.search('data-state="([^"]*)"', html)[1].replace("&quot;", '"'))
    assert state == gate.state()
    assert "Keeps 59\u00a0% of the old state" in html
    assert html.count('role="img"') == html.count("aria-label=") == 2
    assert "{" not in re.sub('data-state="[^"]*"', "", html), "a word was left unfilled"


def test_picture_of_a_state_that_is_not_stored_says_so():
    words = "This picture shows the explorer as it starts, not as it is set here. Keeps 59"
    assert f'<p class="ex-say">{words}' in GateExplorer(x=-0.5).fallback()
    assert words not in GateExplorer().fallback()


def test_stored_picture_of_a_state_is_its_own(tmp_path, monkeypatch):
    gate = GateExplorer(x=-0.5)
    (tmp_path / gate.preview()).write_text("<p>\nits own\n</p>", "utf-8")
    monkeypatch.setattr("gru_book.widgets._explorer.PREVIEWS", tmp_path)
    assert gate.fallback() == "<p>its own</p>"
    assert "needs JavaScript" in GateExplorer(x=0.5001).fallback(), "no picture was ever drawn"
    assert len({"gate.html", gate.preview(), GateExplorer(z=0.9).preview()}) == 3
    assert GateExplorer().preview() == "gate.html"


def test_mime_bundle_is_the_same_every_time():
    """nbval compares text/html and text/plain; the widget view holds an id that changes."""
    first, second = (GateExplorer(z=0.9)._repr_mimebundle_()[0] for _ in range(2))
    view = "application/vnd.jupyter.widget-view+json"
    assert first.keys() == second.keys() == {"text/plain", "text/html", view}
    assert {**first, view: 0} == {**second, view: 0}
    assert "0x" not in first["text/plain"]


def test_notebook_stores_name_state_and_anchor_and_no_drawing():
    gate = GateExplorer(z=0.9, anchor='a"b')
    stored = gate._repr_mimebundle_()[0]["text/html"]
    assert "<svg" not in stored and len(stored) < 1000
    for text in (stored, gate.to_html()):
        again = GateExplorer.from_html(f"<p>before</p>{text}")
        assert isinstance(again, GateExplorer) and (again.state(), again.anchor) == (gate.state(), 'a"b')
    assert GateExplorer.from_html("<p>no explorer</p>") is None


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_explorer_is_one_module(name):
    text = assemble(f"{name}.mjs")
    assert re.findall("^(?:import|export) .*", text, re.MULTILINE) == [
        re.search("^export default .*", text, re.MULTILINE)[0]
    ]
    assert text.rstrip().endswith("};")
    assert "export" not in re.sub("//.*", "", classic(name))
    assert EXPLORERS[name]._esm == text
    assert "--gru-paper" in styles(name, tokens=True)


def test_explorer_sources_ask_no_other_host():
    for path in (ROOT / "gru_book" / "widgets").iterdir():
        if path.suffix in {".mjs", ".css", ".json"}:
            assert not re.search(r"https?://|@import\s*[\"'u]|url\(", path.read_text("utf-8")), path.name


STORED = sorted(path.name for path in HERE.glob("*.json") if re.search("-(nets?|weights)[.]json$", path.name))


@pytest.mark.parametrize("file", STORED)
def test_stored_nets_say_which_script_made_them(file):
    origin = json.loads((HERE / file).read_text("utf-8"))["origin"]
    module = re.fullmatch(r"python tools/environment\.py python -m experiments\.(\w+)( \w+)?", origin)
    assert module, origin
    text = (ROOT / "experiments" / f"{module[1]}.py").read_text("utf-8")
    assert file in text.replace("{name}", file.partition("-")[0]), "the script that is named writes another file"
