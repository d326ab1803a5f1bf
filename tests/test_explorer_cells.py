"""Cells side by side (chapter 12): the states are the library's, and what they know of the first input is counted."""

import numpy as np
import pytest
from explorers import PHONE, at_point, drag, layout_of, put, random_explorer, set_folds, state_in

from gru_book.widgets import CellsExplorer
from gru_book.widgets.cells import CELLS, T
from gru_lib import LSTMState, elman_forward, elman_init, gru_forward, gru_init, lstm_forward, lstm_init, lstm_step

STATES = ("elman", "gru", "c", "lstm")


def test_javascript_lstm_step_equals_python(maths):
    rng = np.random.default_rng(0)
    p = lstm_init(rng, 3, 5)
    p.flat[:] = rng.normal(size=p.size) * 2
    x, h, c = rng.normal(size=3), rng.uniform(-1, 1, 5), rng.normal(size=5) * 2
    state, cache = lstm_step(x[None], LSTMState(h[None], c[None]), p)
    q = {name: getattr(p, name).tolist() for name in (a + g for a in ("W_x", "W_h", "b_") for g in "ifgo")}
    got = maths("lstmStep", x.tolist(), {"h": h.tolist(), "c": c.tolist()}, q)
    wanted = {"i": cache.i[0], "f": cache.f[0], "g": cache.g, "o": cache.o[0], "c": state.c, "h": state.h}
    assert got.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(got[name], array[0], rtol=0, atol=1e-12, err_msg=name)


def test_javascript_lstm_gates_saturate_without_overflow(maths):
    p = {f"W_{a}{g}": [[0]] for a in "xh" for g in "ifgo"} | {"b_i": [-800], "b_f": [800], "b_g": [800], "b_o": [-800]}
    got = maths("lstmStep", [1], {"h": [0], "c": [0.25]}, p)
    assert got == {"i": [0], "f": [1], "g": [1], "o": [0], "c": [0.25], "h": [0]}


def params(shown):
    """The three cells of a state, in the library's arrays; what `cells.json` does not name is 0."""
    inits = {"elman": elman_init, "gru": gru_init, "lstm": lstm_init}
    cells = {name: init(np.random.default_rng(0), 2, 1) for name, init in inits.items()}
    for name, p in cells.items():
        p.flat[:] = 0
        for weights, value in CELLS["weights"][name].items():
            getattr(p, weights)[:] = value
    cells["elman"].W_h[:], cells["gru"].b_z[:], cells["lstm"].b_f[:] = shown.w, shown.b_z, shown.b_f
    cells["lstm"].b_i[:] = -shown.b_f if shown.input_gate == "coupled" else 0
    return cells


@pytest.fixture(scope="module")
def computed(inside):
    """The states and gates of all steps as the page computes them, and each state's gaps between the two ways."""

    def computed(shown):
        found = inside("cells")("compute", shown.state())
        gaps = {name: np.abs(np.subtract(found["here"][name], found["there"][name])) for name in STATES}
        return found, gaps

    return computed


@pytest.mark.parametrize("seed", range(2))
def test_states_and_gates_are_those_of_the_library(computed, seed):
    shown = random_explorer("cells", seed)
    cells, (found, _) = params(shown), computed(shown)
    for way, sign in (("here", 1), ("there", -1)):
        xs = np.column_stack([[sign * shown.x[0], *shown.x[1:]], shown.m])[:, None]
        h, _, gru = gru_forward(xs, None, cells["gru"])
        hs, _, lstm = lstm_forward(xs, None, cells["lstm"])
        wanted = {"elman": elman_forward(xs, None, cells["elman"])[0], "gru": h, "lstm": hs, "z": gru.gate("z")}
        wanted |= {name: lstm.gate(name) for name in "cfi"}
        assert found[way].keys() == wanted.keys()
        for name, array in wanted.items():
            np.testing.assert_allclose(found[way][name], array[:, 0, 0], rtol=0, atol=1e-12, err_msg=name)


def test_presets_show_what_the_page_says(computed):
    """How many steps each still knows the first input for; with the third preset c tells, and its output hardly."""
    start = CellsExplorer()
    assert start.at == T and start.x[0] == 1 and start.m[0] == 1
    gaps = {name: computed(CellsExplorer(**CELLS["presets"][name]))[1] for name in CELLS["presets"]}
    known = {preset: {name: int((gap >= 0.2).sum()) for name, gap in found.items()} for preset, found in gaps.items()}
    assert known["open"] == {"elman": 4, "gru": 24, "c": 24, "lstm": 24}
    assert (known["fresh"]["gru"], known["fresh"]["c"]) == (4, 8)
    assert gaps["pile"]["c"][-1] > 1.2 and gaps["pile"]["lstm"][-1] < 0.2
    assert computed(CellsExplorer(**CELLS["presets"]["pile"]))[0]["here"]["c"][-1] < -1, "what came later lies on top"


def test_coupled_lstm_cell_is_the_gru_state(computed):
    """f = 1 − i = z, and with no weights from the state the candidates agree: c of the one is h of the other."""
    shown = random_explorer("cells", 0)
    shown.b_f, shown.input_gate = shown.b_z, "coupled"
    found = computed(shown)[0]["here"]
    np.testing.assert_allclose(found["c"], found["gru"], rtol=0, atol=1e-14)


def test_a_gate_is_called_by_what_it_does(computed):
    """While nothing comes in, a state shrinks by the gate that keeps; the other one writes."""
    quiet = CellsExplorer(x=[1.0] + [0.0] * (T - 1), b_z=1, b_f=2, input_gate="free")
    found = computed(quiet)[0]["here"]
    for state, gates in {"gru": "z", "c": "fi"}.items():
        for gate in gates:
            keeps = np.allclose(found[gate][1:], np.divide(found[state][1:], found[state][:-1]))
            assert CELLS["words"][gate].split()[1] == ("keeps" if keeps else "writes"), gate


def test_strips_show_the_gaps_and_nothing_else(visit, computed):
    """A bar is as high as the gap of its step; what is below a hundredth of the scale is not drawn."""
    shown = random_explorer("cells", 0)
    page = visit(shown)
    bars = page.evaluate("""() => [...document.querySelectorAll('.ex-gaps :is(rect.ex-fill-h, rect.ex-fill-a)')]
      .map(bar => Number(bar.getAttribute('height')))""")
    gaps = np.concatenate([*computed(shown)[1].values()]) * layout_of(page, CELLS)["gaps"]["high"]
    np.testing.assert_allclose(sorted(bars), sorted(gaps[gaps > 0.25]), atol=0.006)


@pytest.mark.parametrize("preset", CELLS["presets"])
def test_each_strip_says_how_long_its_cell_knows(visit, computed, preset):
    """To the last step with a gap above 0.2."""
    shown = CellsExplorer(**CELLS["presets"][preset])
    gaps = computed(shown)[1]

    def verdict(name):
        last = max(np.flatnonzero(gaps[name] > 0.2) + 1, default=0)
        return "to the end" if last == T else f"to step {last}" if last else "nothing"

    words = visit(shown).locator(".ex-gaps text").all_text_contents()
    assert words[words.index("Elman") + 1] == f"knows {verdict('elman')}"
    assert words[words.index("GRU") + 1] == f"knows {verdict('gru')}"
    lstm = words.index("LSTM")
    assert words[lstm + 1 : lstm + 3] == [f"c {verdict('c')}", f"h {verdict('lstm')}"]


def at_column(page, t, row):
    """The place on the page of column t in a row of the drawing."""
    layout = layout_of(page, CELLS)
    place = layout["gaps"]["rows"][row]
    x, y = layout["left"] + (t - 0.5) * layout["column"], place["y"] + place.get("high", 0) / 2 - 8 * (row in STATES)
    return at_point(page, ".ex-gaps", x, y)


def test_pointer_and_finger_make_pulses_and_marks_and_moves_the_frame(visit):
    page = visit(CellsExplorer())
    pulses = []
    for _ in range(3):
        page.mouse.click(*at_column(page, 3, "x"))
        pulses.append(state_in(page, "cells")["x"][2])
    assert pulses == [1, -1, 0]
    page.mouse.click(*at_column(page, 9, "m"))
    state = state_in(page, "cells")
    assert state["m"] == [float(t in (1, 9)) for t in range(1, T + 1)] and state["at"] == 9
    drag(page, at_column(page, 5, "gru"), at_column(page, 12, "gru"))
    page.mouse.move(*at_column(page, 20, "gru"))
    assert state_in(page, "cells")["at"] == 12
    page = visit(CellsExplorer(), viewport=PHONE, has_touch=True)
    page.locator(".ex-gaps").scroll_into_view_if_needed()
    page.touchscreen.tap(*at_column(page, 6, "x"))
    assert state_in(page, "cells")["x"][5] == 1


def test_states_are_shown_when_asked_for_and_sliders_set_the_framed_step(visit):
    page = visit(CellsExplorer(at=2))
    page.locator("summary", has_text="States and gates").click()
    assert page.locator(".ex-states .ex-tick").count() == 4 * T
    set_folds(page, True)
    page.locator("input[data-key=x]").focus()
    page.keyboard.press("Home")
    page.locator("input[data-key=m]").focus()
    page.keyboard.press("End")
    state = state_in(page, "cells")
    assert state["x"][:2] == [1, -1] and state["m"][:3] == [1, 1, 0]


def test_sentence_says_when_nothing_is_left_to_tell(visit):
    page = visit(CellsExplorer())
    page.mouse.click(*at_column(page, 5, "m"))
    put(page, {"at": T})
    page.locator(".ex-say", has_text="no cell can still tell").wait_for()
    put(page, {"x": [0] * T})
    page.locator(".ex-say", has_text="The first input is 0").wait_for()
