"""The explorers' Python side: traits, errors, static HTML, and the host of the built book."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import ipywidgets
import nbformat.v4 as nbf
import numpy as np
import pytest
from traitlets import TraitError

from gru_lib import gru_init, gru_step
from gru_lib.widgets import EXPLORERS, GateExplorer
from gru_lib.widgets._modules import assemble, classic, styles
from gru_lib.widgets.gate import GATE

ROOT = Path(__file__).parents[1]
VARIANTS = [(convention, reset) for convention in ("keep", "write") for reset in ("before", "after")]


def random_state(seed, convention="keep", reset="before"):
    """A state of the gate explorer, drawn over its whole range."""
    rng = np.random.default_rng(seed)
    state = {"x": rng.uniform(-1, 1), "h_prev": rng.uniform(-1, 1), "convention": convention, "reset": reset}
    for key in GATE["start"]:
        if key.startswith(("W_", "b_")):
            state[key] = rng.uniform(-3, 3)
    return state


@pytest.mark.parametrize(("convention", "reset"), VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_gate_explorer_computes_what_gru_step_computes(seed, convention, reset):
    state = random_state(seed, convention, reset)
    gate = GateExplorer(**state)
    p = gru_init(np.random.default_rng(0), 1, 1, reset_after=reset == "after", convention=convention)
    for key in set(state) - {"x", "h_prev", "convention", "reset"} - ({"b_hn"} if reset == "before" else set()):
        getattr(p, key)[:] = state[key]
    h, cache = gru_step([[state["x"]]], [[state["h_prev"]]], p)
    assert [gate.r, gate.z, gate.n, gate.h] == [cache.r.item(), cache.z.item(), cache.n.item(), h.item()]


def test_defaults_already_show_something():
    gate = GateExplorer()
    assert (gate.x, gate.h_prev, gate.convention, gate.reset) == (0.5, 0.7, "keep", "before")
    assert [round(v, 3) for v in (gate.r, gate.z, gate.n, gate.h)] == [0.792, 0.589, -0.325, 0.279]


@pytest.mark.parametrize("gate_name", ["r", "z"])
@pytest.mark.parametrize("share", [0.001, 0.25, 0.99, 0.9999])
def test_setting_a_gate_moves_its_bias_and_nothing_else(gate_name, share):
    gate = GateExplorer()
    before = gate.state()
    setattr(gate, gate_name, share)
    assert getattr(gate, gate_name) == share
    bias = getattr(gate, f"b_{gate_name}")
    again = GateExplorer(**{f"b_{gate_name}": bias})
    assert getattr(again, gate_name) == pytest.approx(share, rel=1e-12)
    assert {k for k, v in gate.state().items() if v != before[k]} == {f"b_{gate_name}"}


def test_gates_follow_when_the_state_changes():
    gate = GateExplorer()
    seen = []
    gate.observe(lambda change: seen.append((change["name"], change["new"])), ["z", "h"])
    gate.h_prev = -0.4
    assert dict(seen) == {"z": gate.z, "h": gate.h}
    assert gate.z == GateExplorer(h_prev=-0.4).z


def test_one_unit_resets_differ_only_through_b_hn():
    """What the explorer says below its switch."""
    for seed in range(5):
        state = random_state(seed)
        both = [GateExplorer(**{**state, "b_hn": 0, "reset": reset}).n for reset in ("before", "after")]
        assert both[0] == pytest.approx(both[1], abs=1e-15)
        after = GateExplorer(**{**state, "reset": "after"})
        expected = np.tanh(np.arctanh(both[0]) + after.r * state["b_hn"])
        assert after.n == pytest.approx(expected, abs=1e-12)


def test_several_units_resets_differ_without_b_hn():
    rng = np.random.default_rng(0)
    before, after = gru_init(rng, 1, 2), gru_init(rng, 1, 2, reset_after=True)
    for p in (before, after):
        p.W_x[:], p.W_h[:] = 0.5, np.arange(12).reshape(2, 6) / 6
    after.b_hn[:] = 0
    x, h = [[0.5]], [[0.7, -0.3]]
    assert abs(gru_step(x, h, before)[0] - gru_step(x, h, after)[0]).max() > 1e-3


def test_linked_slider_and_explorer_follow_each_other():
    gate, slider = GateExplorer(), ipywidgets.FloatSlider(min=0.001, max=0.999, step=0.001)
    link = ipywidgets.link((gate, "z"), (slider, "value"))
    assert slider.value == gate.z
    slider.value = 0.9
    assert gate.z == 0.9
    gate.x = -0.5
    assert slider.value == gate.z != 0.9
    link.unlink()


def test_explorer_composes_in_boxes_and_interactive_output():
    gate, said = GateExplorer(), []
    out = ipywidgets.interactive_output(lambda gate: said.append(gate["h"]), {"gate": gate})
    gate.h_prev = 0.1
    assert said[-1] == gate.h
    assert ipywidgets.HBox([gate, out]).children == (gate, out)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": 3}, TraitError, r"GateExplorer: x must be a number in \[-1, 1\]; got 3\."),
        ({"x": "a"}, TraitError, r"x must be a number in \[-1, 1\]; got 'a'"),
        ({"x": float("nan")}, TraitError, "x must be a number .* got nan"),
        ({"W_xr": True}, TraitError, r"W_xr must be a number in \[-4, 4\]; got True"),
        ({"reset": "inside"}, TraitError, "reset must be one of 'before', 'after'; got 'inside'"),
        ({"lang": "fr"}, TraitError, "lang must be one of '', 'en', 'zh'; got 'fr'"),
        ({"z": 1.0}, TraitError, "z must be a number strictly between 0 and 1; got 1.0"),
        ({"z": 1 - 1e-12}, TraitError, "needs b_z = 27.6, beyond ±16"),
        ({"n": 0.5}, TypeError, "n is computed from the state and cannot be set"),
        ({"w": 0.5}, TypeError, "no argument 'w'; it takes x, h_prev, W_xr"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        GateExplorer(**arguments)


def test_refused_value_leaves_the_explorer_as_it_was():
    gate = GateExplorer()
    before = gate.value
    for name, value in [("x", 2), ("z", 1), ("reset", "x")]:
        with pytest.raises(TraitError):
            setattr(gate, name, value)
    assert gate.value == before


def test_numpy_numbers_are_numbers():
    assert GateExplorer(x=np.float32(0.25), h_prev=np.int64(1)).state()["x"] == 0.25


def test_repr_makes_the_explorer_again():
    assert repr(GateExplorer()) == "GateExplorer()"
    gate = GateExplorer(x=-0.25, z=0.99, reset="after")
    again = eval(repr(gate))
    assert again.state() == gate.state()


class _Balance(HTMLParser):
    """Fails when tags do not nest."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("lang", ["", "en", "zh"])
def test_static_html_holds_the_state_and_says_it(lang):
    gate = GateExplorer(x=-0.5, z=0.999, lang=lang, anchor="gate")
    html = gate.to_html()
    balance = _Balance()
    balance.feed(html)
    assert balance.open == []
    assert html.startswith('<div class="gru-ex gru-gate" id="gate" data-afm="gate" data-state="')
    state = json.loads(re.search('data-state="([^"]*)"', html)[1].replace("&quot;", '"'))
    assert state == gate.state()
    words = {"": "Keeps 99.9\u00a0% of the old state", "en": "Keeps", "zh": "保留旧状态的 99.9\u00a0%"}
    assert words[lang] in html
    assert html.count('role="img"') == html.count("aria-label=") == 2
    assert "{" not in re.sub('data-state="[^"]*"', "", html), "a word was left unfilled"
    assert "。 " not in html


def test_mime_bundle_is_the_same_every_time():
    """nbval compares text/html and text/plain; the widget view holds an id that changes."""
    first, second = (GateExplorer(z=0.9)._repr_mimebundle_()[0] for _ in range(2))
    view = "application/vnd.jupyter.widget-view+json"
    assert first.keys() == second.keys() == {"text/plain", "text/html", view}
    assert {**first, view: 0} == {**second, view: 0}
    assert "0x" not in first["text/plain"]


def test_words_exist_in_both_languages():
    english, chinese = GATE["words"]["en"], GATE["words"]["zh"]
    assert list(english) == list(chinese)
    for key in english:
        assert set(re.findall(r"\{\w+\}", english[key])) == set(re.findall(r"\{\w+\}", chinese[key])), key


def test_assembled_module_has_no_imports_and_one_export(tmp_path):
    (tmp_path / "b.mjs").write_text("export const two = 2;\nexport function f() {}\n", "utf-8")
    (tmp_path / "c.mjs").write_text('import { two } from "./b.mjs";\nexport const four = two * two;\n', "utf-8")
    (tmp_path / "d.json").write_text('{"one": 1}', "utf-8")
    (tmp_path / "a.mjs").write_text(
        'import D from "./d.json";\nimport {\n  f, two,\n} from "./b.mjs";\nimport { four } from "./c.mjs";\n'
        "export default { f, two, four, D };\n",
        "utf-8",
    )
    assert assemble("a.mjs", tmp_path) == (
        'const D = {"one": 1};\nconst two = 2;\nfunction f() {}\nconst four = two * two;\n'
        "export default { f, two, four, D };\n"
    )


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
    for path in (ROOT / "gru_lib" / "widgets").iterdir():
        if path.suffix in {".mjs", ".css", ".json"}:
            assert not re.search(r"https?://|@import\s*[\"'u]|url\(", path.read_text("utf-8")), path.name


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_library_does_not_import_its_widgets():
    done = run_python("import sys, gru_lib; print([m for m in sys.modules if 'widgets' in m])")
    assert done.stdout.strip() == "[]", done.stderr


def test_missing_anywidget_is_explained():
    done = run_python("import sys; sys.modules['anywidget'] = None; import gru_lib.widgets")
    assert done.returncode == 1
    assert 'ImportError: gru_lib.widgets needs anywidget: pip install "gru-lib[widgets]"' in done.stderr


# ------------------------------------------------------------------------------------------------ in a built book


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """A book of two pages, one with explorers; returns its HTML folder and what Sphinx warned of."""
    source = tmp_path_factory.mktemp("book")
    gate = GateExplorer(anchor="gate")
    output = nbf.new_output("execute_result", {"text/html": gate.to_html()}, execution_count=1)
    prose = "# Page\n\n[z near 1](#gate?z=0.99) [bad key](#gate?q=3) [bad anchor](#gates?z=1)\n\n[other](other)"
    cells = [nbf.new_markdown_cell(prose), nbf.new_code_cell("gate", execution_count=1, outputs=[output])]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (source / "index.ipynb").write_text(json.dumps(nbf.new_notebook(cells=cells, metadata=kernel)), "utf-8")
    (source / "other.md").write_text("---\norphan: true\n---\n# Other\n", "utf-8")
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_nb', 'afm_host']\nnb_execution_mode = 'off'\n"
        "nb_mime_priority_overrides = [['html', 'text/html', 5]]\nexclude_patterns = ['_build']\n",
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


def test_links_to_a_state_pass_the_build_and_wrong_ones_do_not(small_book):
    target, warnings = small_book
    assert 'href="#gate?z=0.99"' in (target / "index.html").read_text("utf-8")
    assert "link to #gate sets 'q', which it does not have" in warnings
    assert "no explorer with the anchor 'gates' in this page" in warnings
    assert warnings.count("WARNING") == 2, warnings
