"""The gate explorer (chapter 4): its step is gru_step's, in Python and in the page; and its own controls."""

import re

import ipywidgets
import numpy as np
import pytest
from explorers import OVERLAPS, PHONE, SETTLED, WIDE, at_point, drag, gru_for_page, layout_of, put, set_folds, state_in
from traitlets import TraitError

from gru_book.widgets import GateExplorer
from gru_book.widgets.gate import GATE
from gru_lib import gru_init, gru_step

VARIANTS = [(convention, reset) for convention in ("keep", "write") for reset in ("before", "after")]


# ------------------------------------------------------------------------------------------------ in Python


def random_state(seed, convention="keep", reset="before"):
    """A state of the gate explorer, drawn over its whole range."""
    rng = np.random.default_rng(seed)
    state = {"x": rng.uniform(-1, 1), "h_prev": rng.uniform(-1, 1), "convention": convention, "reset": reset}
    for key in GATE["start"]:
        if key.startswith(("W_", "b_")):
            state[key] = rng.uniform(-3, 3)
    return state


@pytest.mark.parametrize(("convention", "reset"), VARIANTS)
def test_explorer_and_page_compute_what_gru_step_computes(inside, convention, reset):
    for seed in range(3):
        state = random_state(seed, convention, reset)
        gate = GateExplorer(**state)
        p = gru_init(np.random.default_rng(0), 1, 1, reset_after=reset == "after", convention=convention)
        for key in set(state) - {"x", "h_prev", "convention", "reset"} - ({"b_hn"} if reset == "before" else set()):
            getattr(p, key)[:] = state[key]
        h, cache = gru_step([[state["x"]]], [[state["h_prev"]]], p)
        assert [gate.r, gate.z, gate.n, gate.h] == [cache.r.item(), cache.z.item(), cache.n.item(), h.item()]
    gate = GateExplorer(**gate.state())  # rounded, as the page has it
    found = inside("gate")("gateStep", gate.state())
    for name in "rznh":
        assert found[name] == pytest.approx(getattr(gate, name), abs=1e-12), name
    past = gate.r * (gate.h_prev * gate.W_hn + (gate.b_hn if reset == "after" else 0))
    assert found["past"] == pytest.approx(past, abs=1e-12), "what the wire from the old state brings the candidate"


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


def test_linked_slider_and_explorer_follow_each_other():
    gate, slider = GateExplorer(), ipywidgets.FloatSlider(min=0.001, max=0.999, step=0.001)
    link = ipywidgets.link((gate, "z"), (slider, "value"))
    assert slider.value == gate.z
    slider.value = 0.9
    assert gate.z == 0.9
    gate.x = -0.5
    assert slider.value == gate.z != 0.9
    link.unlink()


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"z": 1.0}, TraitError, "z must be a number strictly between 0 and 1; got 1.0"),
    ({"z": 1 - 1e-12}, TraitError, "needs b_z = 27.6, beyond ±16"),
    ({"n": 0.5}, TypeError, "n is computed from the state and cannot be set"),
    ({"w": 0.5}, TypeError, "no argument 'w'; it takes x, h_prev, W_xr"),
])  # fmt: skip
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        GateExplorer(**arguments)


def test_numpy_numbers_are_numbers():
    assert GateExplorer(x=np.float32(0.25), h_prev=np.int64(1)).state()["x"] == 0.25


# ------------------------------------------------------------------------------------------------ in the page


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset_after", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_javascript_gru_step_equals_python(maths, seed, reset_after, convention):
    D, H, N = 3, 5, 4
    rng = np.random.default_rng(seed)
    p = gru_init(rng, D, H, reset_after=reset_after, convention=convention)
    p.flat[:] = rng.normal(size=p.size) * 2
    x, h_prev = rng.normal(size=(N, D)), rng.uniform(-1, 1, size=(N, H))
    h, cache = gru_step(x, h_prev, p)
    q = gru_for_page(p)
    for i in range(N):
        got = maths("gruStep", x[i].tolist(), h_prev[i].tolist(), q)
        keep, write = (cache.z, cache.not_z) if convention == "keep" else (cache.not_z, cache.z)
        wanted = {"r": cache.r, "z": cache.z, "n": cache.n, "h": h, "keep": keep, "write": write}
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array[i], rtol=0, atol=1e-12, err_msg=name)


def test_javascript_sigmoid_is_exact_at_both_ends_and_logit_undoes_it(maths):
    values = [-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0]
    with np.errstate(over="ignore"):
        wanted = [1 / (1 + np.exp(-a)) for a in values]
    np.testing.assert_allclose([maths("sigmoid", a) for a in values], wanted, rtol=1e-15, atol=0)
    for p in (0.001, 0.25, 0.5, 0.999):
        assert maths("sigmoid", maths("logit", p)) == pytest.approx(p, rel=1e-14)


def whole_state(page):
    return state_in(page, "gate")


def slider(page, key):
    return page.locator(f"input[data-key={key}]")


def test_gate_slider_sets_the_bias_alone(visit):
    page = visit()
    before = whole_state(page)
    slider(page, "z").focus()
    page.keyboard.press("End")
    after = whole_state(page)
    assert {key for key in after if after[key] != before[key]} == {"b_z"}
    assert GateExplorer(**after).z == pytest.approx(0.999, abs=1e-12)
    page.locator(".ex-say", has_text="Keeps 99.9\u00a0%").wait_for()


PRESETS = {"typical": (None, None), "copy": (0.999, None), "overwrite": (0.001, 0.999), "restart": (0.001, 0.001)}


@pytest.mark.parametrize("convention", ["keep", "write"])
def test_presets_set_gates_and_nothing_else(visit, convention):
    page = visit(GateExplorer(x=-0.3, W_xz=0.5, convention=convention), reduced_motion="reduce")
    typical = GateExplorer(x=-0.3)
    for name, (keep, reset) in PRESETS.items():
        before = whole_state(page)
        button = page.locator(f"[data-preset={name}]")
        button.click()
        after = whole_state(page)
        gates = {"W_xr", "W_hr", "b_r", "W_xz", "W_hz", "b_z"}
        assert {key for key in after if after[key] != before[key]} <= gates
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator("[aria-pressed=true]").count() == 1
        gate = GateExplorer(**after)
        share = gate.z if convention == "keep" else 1 - gate.z
        assert share == pytest.approx(typical.z if keep is None else keep, abs=1e-3)
        assert gate.r == pytest.approx(typical.r if reset is None else reset, abs=1e-3)


# A clock that moves by 20 ms with every frame asked for, however long this machine takes for one.
BY_FRAMES = """<script>{
  const frame = requestAnimationFrame;
  let now = 0;
  performance.now = () => now;
  window.requestAnimationFrame = (draw) => frame(() => draw((now += 20)));
}</script>"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_presets_glide_and_reduced_motion_jumps(visit, motion):
    page = visit(before=BY_FRAMES, reduced_motion=motion)
    path = page.evaluate("""async () => {
      const z = document.querySelector('[data-value=z]'), path = [z.textContent];
      document.querySelector('[data-preset=overwrite]').click();
      for (path.push(z.textContent); path.at(-1) !== '0.001'; path.push(z.textContent)) {
        await new Promise(requestAnimationFrame);
      }
      return path.map(Number);
    }""")
    assert (path[0], path[-1]) == (0.589, 0.001)
    assert path == sorted(path, reverse=True)
    between = [v for v in path if 0.001 < v < 0.589]
    assert len(between) > 5 if motion == "no-preference" else path == [0.589, 0.001]


def test_convention_keeps_the_weights_and_negating_restores_the_state(visit):
    page = visit(reduced_motion="reduce")
    set_folds(page, True)
    state = page.locator(".ex-equations b.ex-h")
    before, weights = state.inner_text(), whole_state(page)
    page.locator("input[value=write]").check()
    assert whole_state(page) == {**weights, "convention": "write"}
    assert state.inner_text() != before
    assert page.locator(".ex-tag").all_text_contents() == ["keep 1 − z 0.411", "write z"]
    page.locator("[data-flip]").click()
    assert state.inner_text() == before


def test_reset_switch_differs_only_through_b_hn(visit):
    page = visit()
    set_folds(page, True)
    candidate = page.locator(".ex-equations b.ex-n")
    before = candidate.inner_text()
    page.locator(".ex-choice label", has_text="after").click()
    assert candidate.inner_text() != before
    put(page, {"b_hn": 0})
    assert candidate.inner_text() == before
    assert "differ only by the term" in page.locator(".ex-note[data-only=step]").inner_text()


def drag_handle(page, row, to, touch=False):
    """Take hold of a block on a number line and pull it to the value `to` of the axis."""
    handle = page.locator(f".ex-grab[data-row={row}]")
    handle.scroll_into_view_if_needed()
    box, width = handle.bounding_box(), layout_of(page, GATE)["W"]
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    margin = 26 if width < 560 else 62
    goal, _ = at_point(page, ".ex-lines", margin + (to + 1) / 2 * (width - 2 * margin), 0)
    drag(page, *((x + (goal - x) * i / 6, y) for i in range(7)), touch=touch)


@pytest.mark.parametrize(("convention", "viewport", "touch"), [("keep", WIDE, False), ("write", PHONE, True)])
def test_handles_move_z_and_r(visit, convention, viewport, touch):
    page = visit(GateExplorer(convention=convention), viewport=viewport, has_touch=touch)
    set_folds(page, True)
    gate = GateExplorer(**whole_state(page))
    drag_handle(page, "z", (gate.n + gate.h_prev) / 2, touch)
    after = GateExplorer(**whole_state(page))
    assert after.z == pytest.approx(0.5, abs=0.02) and (after.n, after.r) == (gate.n, gate.r)
    for to, r, within in ((0.35, 0.5, 0.02), (-0.9, 0.001, 1e-9)):  # beyond zero: the gate closes, no further
        drag_handle(page, "r", to, touch)
        assert GateExplorer(**whole_state(page)).r == pytest.approx(r, abs=within)


@pytest.mark.parametrize(
    ("drawing", "x", "y", "dx", "dy"), [(".ex-lines", 80, 50, 220, 0), (".ex-cell", 240, 64, 0, 20)]
)
def test_pointer_beside_a_handle_or_a_plate_moves_nothing(visit, drawing, x, y, dx, dy):
    page = visit()
    set_folds(page, True)
    page.locator(drawing).scroll_into_view_if_needed()
    before = whole_state(page)
    drag(page, at_point(page, drawing, x, y), at_point(page, drawing, x + dx, y + dy))
    assert whole_state(page) == before


def knob(page, share, side, cell=0):
    """The outer end of a plate on the page; side 0 is the upper one."""
    box = page.locator(f"[data-share={share}] .ex-hold").nth(2 * cell + side).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + (4 if side == 0 else box["height"] - 4)


def pull(page, start, by, touch):
    """Press on the page and go so many units of the drawing down, with the mouse or a finger."""
    x, y = start
    zoom = page.locator(".ex-cell").evaluate("e => e.getBoundingClientRect().width / e.viewBox.baseVal.width")
    drag(page, *((x, y + by * zoom * i / 3) for i in range(4)), touch=touch)


@pytest.mark.parametrize(("convention", "viewport", "touch"), [("keep", WIDE, False), ("write", PHONE, True)])
def test_plates_are_pulled_apart_and_pushed_together(visit, convention, viewport, touch):
    """Outwards opens the gate, by either plate, and a finger on a plate does not scroll the page."""
    page = visit(GateExplorer(convention=convention, z=0.5, r=0.5), viewport=viewport, has_touch=touch)
    page.locator(".ex-cell").scroll_into_view_if_needed()
    before, scrolled = whole_state(page), page.evaluate("scrollY")
    for share in ("keep", "write", "r"):
        for side, by, wanted in ((0, -8, 0.75), (1, -16, 0.25), (1, 40, 0.999), (0, 80, 0.001)):
            pull(page, knob(page, share, side), by, touch)
            after = whole_state(page)
            gate = GateExplorer(**after)
            found = {"r": gate.r, "keep": gate.z if convention == "keep" else 1 - gate.z}
            found["write"] = 1 - found["keep"]
            assert found[share] == pytest.approx(wanted, abs=0.012)
            assert {key for key in after if after[key] != before[key]} <= {"b_r" if share == "r" else "b_z"}
        put(page, before)
    assert page.evaluate("scrollY") == scrolled


def test_what_the_gates_read_is_shown_with_the_equations(visit):
    page = visit()
    lines = page.locator(".ex-cell .ex-ctl")
    assert lines.count() == 2, "from each gate to its plates"
    page.locator("summary").first.click()
    page.wait_for_function("document.querySelectorAll('.ex-cell .ex-ctl').length === 6")


# ------------------------------------------------------------------------------------------------ both resets


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "slim"])
def test_both_places_of_the_reset_are_drawn_with_their_own_numbers(visit, viewport):
    state = {"x": -0.4, "h_prev": 0.6, "b_hn": -1.2}
    page = visit(GateExplorer(**state, view="resets"), viewport=viewport)
    cells = page.locator(".ex-cell > g")
    assert page.locator(".ex-which").all_text_contents() == ["reset before the weight", "reset after the weight"]
    told = []
    for i, reset in enumerate(("before", "after")):
        gate = GateExplorer(**state, reset=reset)
        told += [f"{gate.n:.3f}".replace("-", "−"), f"{gate.h:.3f}".replace("-", "−")]
        numbers = cells.nth(i).locator(".ex-num").all_text_contents()
        assert {f"{v:.3f}".replace("-", "−") for v in (gate.r, gate.z, gate.n, gate.h)} <= set(numbers)
    assert len(set(told)) == 4
    said = page.locator(".ex-say").inner_text()
    assert [said.index(number) for number in told] == sorted(said.index(number) for number in told)
    gate = GateExplorer(**state)
    assert f"adds {gate.r:.3f} × −1.200 = −{gate.r * 1.2:.3f}" in said


def test_without_a_bias_inside_both_resets_agree_in_one_unit(visit):
    page = visit(GateExplorer(view="resets", b_hn=0))
    assert "one unit cannot tell them apart" in page.locator(".ex-say").inner_text()
    assert len(set(page.locator(".ex-cell > g > .ex-out .ex-num").all_text_contents())) == 1


def test_plates_of_either_reset_move_the_one_gate(visit):
    page = visit(GateExplorer(view="resets", r=0.5))
    pull(page, knob(page, "r", 0, cell=1), -8, touch=False)
    assert GateExplorer(**whole_state(page)).r == pytest.approx(0.75, abs=0.012)


def test_each_view_shows_its_own_controls(visit):
    page = visit(GateExplorer())
    set_folds(page, True)
    parts = [page.locator(of).first for of in ("[id$='-main-b_hn']", "[data-choice=reset]", ".ex-lines")]
    assert [part.is_visible() for part in parts] == [False, True, True]
    put(page, {"view": "resets"})
    assert [part.is_visible() for part in parts] == [True, False, False]


@pytest.mark.fonts
def test_words_in_the_drawing_do_not_overlap(visit):
    """Texts of the cell, in every arrangement of the two switches and at both widths; and of both resets."""
    options = [{"convention": convention, "reset": reset} for convention, reset in VARIANTS] + [{"view": "resets"}]
    cells = [GateExplorer(x=-0.5, h_prev=-0.9, **each) for each in options]
    for viewport in (WIDE, PHONE):
        assert visit(*cells, viewport=viewport).evaluate(OVERLAPS) == []


# Whether no equation runs off, whether they are folded, and whether they would run off if they were not.
FOLDED = """() => {
  const box = document.querySelector('.ex-equations'), { classList } = box.closest('.gru-gate');
  const off = () => box.scrollWidth > box.clientWidth;
  const [whole, folded] = [!off(), classList.contains('ex-two-lines')];
  classList.remove('ex-two-lines');
  const needed = off();
  classList.toggle('ex-two-lines', folded);
  return [whole, folded, needed];
}"""


@pytest.mark.fonts
def test_equations_are_whole_at_every_width(visit):
    """They fold onto two lines where one is too narrow, or too wide for the numbers, and unfold again."""
    page = visit(GateExplorer(x=-1, h_prev=-1, reset="after"))
    set_folds(page, True)
    folds = []
    for width in (1280, 720, 640, 580, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(SETTLED)
        whole, folded, needed = page.evaluate(FOLDED)
        assert (whole, folded) == (True, needed), width
        folds.append(folded)
    assert (folds[0], folds[4], folds[5]) == (False, True, False)


def test_what_is_kept_and_written_adds_up_to_a_hundred_as_printed(visit):
    page = visit()
    for z in (0.185, 0.335, 0.415, 0.815):  # halves of a per cent, which both round up
        slider(page, "z").fill(str(z))
        keep, write = re.findall(r"(\d+)\s%", page.locator(".ex-say").inner_text())[:2]
        assert int(keep) + int(write) == 100
