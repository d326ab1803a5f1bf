"""The stepper of chapter 5: its numbers are the library's, its equation numbers the chapter's."""

import re
from pathlib import Path

import numpy as np
import pytest
from explorers import gru_for_page, put, random_explorer, set_folds, state_in
from helpers import cells_of

from gru_book.widgets import BPTTExplorer
from gru_book.widgets.bptt import BPTT, LAST
from gru_lib import gru_backward, gru_forward, gru_init, gru_step, gru_step_backward

CHAPTER = Path(__file__).parents[1] / "book_text" / "05-gru-backward.md"
LINES = [*BPTT["forward"], *BPTT["backward"]]


def number(text):
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset_after", [False, True])
def test_javascript_gru_step_backward_equals_python(maths, reset_after, convention):
    D, H, rng = 3, 5, np.random.default_rng(0)
    p = gru_init(rng, D, H, reset_after=reset_after, convention=convention)
    p.flat[:] = rng.normal(size=p.size) * 1.5
    x, h_prev, dh = rng.normal(size=(1, D)), rng.uniform(-1, 1, (1, H)), rng.normal(size=(1, H))
    _, cache = gru_step(x, h_prev, p)
    dx, dh_prev, grads = gru_step_backward(dh, cache, p)
    q, at = gru_for_page(p), (x[0].tolist(), h_prev[0].tolist())
    got = maths("gruStepBackward", dh[0].tolist(), *at, maths("gruStep", *at, q), q)
    kept = dh * (cache.z if convention == "keep" else cache.not_z)
    # with one example, the gradient of a bias is that of the pre-activation
    by_z, by_r = (getattr(grads, f"b_{gate}") @ getattr(p, f"W_h{gate}").T for gate in "zr")
    np.testing.assert_allclose(got["terms"], [kept[0], by_z, by_r, dh_prev[0] - kept[0] - by_z - by_r], atol=1e-12)
    for name, wanted in {"dx": dx[0], "dh_prev": dh_prev[0]}.items():
        np.testing.assert_allclose(got[name], wanted, rtol=0, atol=1e-12)
    for name in got["grads"]:
        np.testing.assert_allclose(got["grads"][name], getattr(grads, name), rtol=0, atol=1e-12, err_msg=name)


def test_javascript_slopes_keep_their_digits_where_a_gate_is_nearly_shut(maths):
    p = gru_init(np.random.default_rng(0), 1, 1)
    p.b_z[:], p.b_r[:] = 40, 40
    x, h_prev, dh = np.ones((1, 1)), np.full((1, 1), 0.5), np.ones((1, 1))
    _, _, grads = gru_step_backward(dh, gru_step(x, h_prev, p)[1], p)
    q = gru_for_page(p)
    got = maths("gruStepBackward", [1], [1], [0.5], maths("gruStep", [1], [0.5], q), q)
    for name in ("b_z", "b_r"):
        np.testing.assert_allclose(got["grads"][name], getattr(grads, name), rtol=1e-9, atol=0)
        assert abs(getattr(grads, name)).min() > 0


def test_equation_numbers_are_those_of_the_chapter():
    """Sphinx numbers labelled equations in order; so does this count."""
    labels = re.findall(r"^\$\$ \(([\w-]+)\)$", CHAPTER.read_text("utf-8"), re.MULTILINE)
    numbers = {label: f"5.{i}" for i, label in enumerate(labels, start=1)}
    assert len(numbers) == len(labels) > 20
    assert set(BPTT["equations"]) == set(LINES)
    assert dict(BPTT["equations"].values()) == {label: numbers[label] for label, _ in BPTT["equations"].values()}


@pytest.fixture(scope="module")
def steps(inside):
    """The three steps of a state as the page computes them, with steps[1] the first."""
    return lambda state: inside("bptt")("run", state)


def given(state):
    """Parameters, inputs (3, 1, 1), initial state (1, 1) and gradients of the outputs (3, 1, 1) of a state."""
    p = gru_init(np.random.default_rng(0), 1, 1)
    for key, value in state.items():
        if key.startswith(("W_", "b_")):
            getattr(p, key)[:] = value
    xs, dhs = (np.array([state[f"{key}{t}"] for t in (1, 2, 3)]).reshape(3, 1, 1) for key in ("x", "out"))
    return p, xs, np.array([[state["h0"]]]), dhs


@pytest.mark.parametrize("seed", range(3))
def test_page_computes_what_gru_backward_computes(steps, seed):
    state = random_explorer("bptt", seed).state()
    p, xs, h0, dhs = given(state)
    hs, _, tape = gru_forward(xs, h0, p)
    dxs, dh0, _ = gru_backward(dhs, None, tape, p)
    found = steps(state)
    np.testing.assert_allclose([step["h"] for step in found[1:]], hs.ravel(), rtol=0, atol=1e-12)
    np.testing.assert_allclose([step["dx"] for step in found[1:]], dxs.ravel(), rtol=0, atol=1e-12)
    assert found[1]["dh_prev"] == pytest.approx(dh0.item(), abs=1e-12)
    for step in found[1:]:
        assert sum(step["terms"]) == pytest.approx(step["dh_prev"], abs=1e-13)


def words_of(formula):
    """A formula of the page, as Python: δ_a_z z_3 is d_a_z * z_3."""
    text = re.sub(r"<sup>(\w+)</sup>", lambda m: f"**{m[1]}" if m[1].isdigit() else m[1], formula)
    text = re.sub("</?(?:i|span)[^>]*>", "", text)
    while "<sub>" in text:
        text = re.sub(r"<sub>([^<]*)</sub>", r"_\1", text)
    text = text.replace("−", "-").replace("·", "*").replace("δ", "d").replace("σ", "sigma")
    return re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", text)


def test_every_formula_of_the_list_and_its_numbers_give_its_result(inside, steps):
    state = random_explorer("bptt", 4).state()
    lines = inside("bptt")("s => [1, 2, 3].map(t => linesOf(run(s)[t], t, s, BPTT.words))", state)
    known = {key[0].lower() + key[1:]: value for key, value in state.items() if "_" in key}
    known |= {"sigma": lambda a: 1 / (1 + np.exp(-a)), "tanh": np.tanh}
    for t, found in enumerate(lines, start=1):
        c = steps(state)[t]
        now = {f"{name}_{t}": c[name] for name in ("x", "h", "r", "z", "n", "q")} | {f"h_{t - 1}": c["h_prev"]}
        now |= {name: c[name] for name in ("a_r", "a_z", "a_n")} | {f"d_h_{t}": c["dh"], f"d_h_{t}out": c["out"]}
        now |= {"d_" + name[1:].lstrip("_"): c[name] for name in ("dz", "da_z", "dn", "da_n", "dq", "dr", "da_r")}
        now |= {f"d_h_{t}next": c["next"], f"d_x_{t}": c["dx"], f"d_h_{t - 1}": c["dh_prev"]}
        for key in LINES[:-1]:
            names, said = known | now, found[key]
            assert names[words_of(said["symbol"])] == pytest.approx(said["value"]), key
            assert eval(words_of(said["formula"]), names) == pytest.approx(said["value"], abs=1e-12), key
            assert eval(words_of(said["numbers"]), known) == pytest.approx(said["value"], abs=0.02), key


def test_a_preset_brings_its_gate_as_near_as_it_says(inside, steps):
    for name, held in BPTT["presets"].items():
        state = BPTTExplorer().state() | inside("bptt")("presetOf", held)
        for gate, end in re.findall("([rz]) near ([01])", BPTT["words"][name]):
            assert [step[gate] for step in steps(state)[1:]] == pytest.approx([int(end)] * 3, abs=0.001), name


def test_first_step_is_the_calculation_by_hand_of_the_chapter():
    (cell,) = [c for c in cells_of("05-gru-backward") if "one.W_xr[:]" in c]
    by_hand = {}
    for names, values in re.findall(r"^((?:one\.\w+\[:\](?:, )?)+) = (.*)$", cell, re.M):
        by_hand |= zip(re.findall(r"one\.(\w+)", names), map(float, values.split(", ")), strict=True)
    x, h = map(float, re.search(r"gru_step\(\[\[([\d.]+)\]\], \[\[([\d.]+)\]\], one\)", cell).groups())
    default = BPTTExplorer().state()
    assert (default["x1"], default["h0"]) == (x, h)
    assert len(by_hand) == 9
    for key, value in by_hand.items():
        assert default[key] == value, key


def test_every_line_shows_its_value_and_its_number(visit):
    """Walk all 57 lines: the list marks one line, with the number of its equation and the library's value."""
    explorer = random_explorer("bptt", 7)
    page = visit(explorer)
    set_folds(page, True)
    s = explorer.state()
    p, xs, h, dhs = given(s)
    caches, next_dh = [], 0.0
    for x in xs:
        h, cache = gru_step(x, h, p)
        caches.append((cache, h.item()))
    for t in (3, 2, 1):
        cache, state = caches[t - 1]
        _, h_prev, r, not_r, z, not_z, n, q = (array.item() for array in cache)
        dh = dhs[t - 1].item() + next_dh
        dx, dh_prev, grads = gru_step_backward([[dh]], cache, p)
        next_dh = dh_prev.item()
        wanted = {
            "ar": np.log(r / not_r), "r": r, "az": np.log(z / not_z), "z": z, "q": q,
            "an": np.arctanh(n), "n": n, "h": state,
            "dh": dh, "dz": dh * (h_prev - n), "daz": grads.b_z.item(), "dn": dh * not_z, "dan": grads.b_n.item(),
            "dq": grads.b_n.item() * s["W_hn"], "dr": grads.b_n.item() * s["W_hn"] * h_prev,
            "dar": grads.b_r.item(), "dx": dx.item(), "dhprev": dh_prev.item(),
        }  # fmt: skip
        for key in LINES:
            put(page, {"at": BPTTExplorer.line(key, t)})
            row = page.locator("[aria-current=step]")
            assert row.count() == 1
            assert row.locator(".ex-eq").inner_text() == f"({BPTT['equations'][key][1]})"
            assert f"({BPTT['equations'][key][1]})" in page.locator(".ex-where").inner_text()
            marked = page.locator(".ex-graph path.ex-now:not(.ex-head), .ex-graph path.ex-back:not(.ex-head)").count()
            assert marked == len(BPTT["edges"][key]), key
            if key in wanted:
                shown = number(row.locator(".ex-result b").inner_text())
                assert shown == pytest.approx(wanted[key], abs=6e-4), (key, t)


def test_four_terms_stand_beside_their_arrows(visit, steps):
    """The point of the chapter: four ways back, and their sum."""
    explorer = BPTTExplorer(at=BPTTExplorer.line("dhprev", 3))
    page = visit(explorer)
    last = steps(explorer.state())[3]
    terms, total = last["terms"], last["dh_prev"]
    beside = [t.replace("−", "-").split(": ") for t in page.locator(".ex-note-g").all_text_contents()]
    assert [(int(i), float(v)) for i, v in beside] == [(i + 1, round(v, 3)) for i, v in enumerate(terms)]
    assert f"{total:.3f}" in page.locator(".ex-say").inner_text()
    in_strip = [number(text) for text in page.locator(".ex-strip .ex-part.ex-g").all_text_contents()]
    assert in_strip == [round(v, 3) for v in terms]


def test_parameters_add_up_over_the_steps(visit):
    page = visit(BPTTExplorer(at=LAST))
    set_folds(page, True)
    p, xs, h0, dhs = given(BPTTExplorer().state())
    _, _, tape = gru_forward(xs, h0, p)
    _, _, grads = gru_backward(dhs, None, tape, p)
    rows = [row.split() for row in page.locator(".ex-gradients tbody tr").all_inner_texts()]
    total = [number(row[-1]) for row in rows]
    names = ["W_xr", "W_hr", "b_r", "W_xz", "W_hz", "b_z", "W_xn", "W_hn", "b_n"]
    np.testing.assert_allclose(total, [getattr(grads, name).item() for name in names], atol=6e-4)


def test_buttons_and_rows_move_the_line_and_at_either_end_lead_to_the_other(visit):
    page = visit(BPTTExplorer())
    set_folds(page, True)
    back, following = page.locator("[data-move='-1']"), page.locator("[data-move='1']")
    following.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert state_in(page, "bptt")["at"] == 2
    page.locator("[data-line=q]").focus()
    page.keyboard.press("Enter")
    assert state_in(page, "bptt")["at"] == BPTTExplorer.line("q", 1)
    assert page.evaluate("document.activeElement.dataset.line") == "q", "the focus must stay"
    put(page, {"at": 0})
    assert (back.inner_text(), following.inner_text()) == ("To the end", "Next")
    back.click()
    assert (back.inner_text(), following.inner_text()) == ("Back", "To the start")
    assert state_in(page, "bptt")["at"] == LAST
    following.click()
    assert state_in(page, "bptt")["at"] == 0


# Timers fifty times as fast; and what is drawn, said and heard while it plays.
QUICK = "<script>{ const wait = setTimeout; window.setTimeout = (then, ms) => wait(then, ms / 50); }</script>"
WATCH = """() => {
  window.lines = [];
  window.spoken = 0;
  const model = afmHost.modelOf(document.querySelector('[data-afm]'));
  const seen = document.querySelector('.ex-say');
  model.on('change:at', () => queueMicrotask(() => lines.push([model.get('at'), seen.textContent])));
  new MutationObserver(() => { window.spoken += 1; })
    .observe(document.querySelector('.ex-heard'), { childList: true, characterData: true, subtree: true });
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_plays_to_the_end_once_asked_and_then_again(visit, motion):
    """Every line; or, for a reader who asked for less motion, the results alone: states, and gradients of states."""
    page = visit(BPTTExplorer(), before=QUICK, reduced_motion=motion)
    page.wait_for_timeout(100)
    assert state_in(page, "bptt")["at"] == 0, "it plays unasked"
    page.evaluate(WATCH)
    play = page.locator("[data-play]")
    assert play.inner_text() == "Play"
    play.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("last => lines.at(-1)?.[0] === last", arg=LAST)
    results = [BPTTExplorer.line("h", t) for t in (1, 2, 3)] + [BPTTExplorer.line("dhprev", t) for t in (3, 2, 1)]
    played, said = zip(*page.evaluate("lines"), strict=True)
    assert list(played) == (list(range(1, LAST + 1)) if motion == "no-preference" else [*results, LAST])
    assert len(set(said)) == len(said), "the sentence lags behind"
    page.wait_for_timeout(60)
    assert page.evaluate("spoken") == 1, "heard is the end alone"
    assert page.evaluate("document.activeElement.textContent") == play.inner_text() == "Play again"
    page.evaluate("lines.length = 0")
    play.click()
    page.wait_for_function("lines.length > 1")
    assert page.evaluate("lines[0][0]") == (0 if motion == "no-preference" else results[0])


def test_any_other_control_stops_the_playing(visit):
    page = visit(BPTTExplorer(), reduced_motion="reduce", timezone_id="UTC")  # a window of its own, for it keeps
    page.clock.install()  # this clock: the pauses between two lines last as long as the test says
    play, at = page.locator("[data-play]"), lambda: state_in(page, "bptt")["at"]
    for other in ("[data-play]", "[data-move='1']", "[data-preset=open]", "[data-key=at]"):
        play.click()
        assert play.inner_text() == "Pause"
        page.locator(other).press("ArrowRight") if "key" in other else page.locator(other).click()
        assert play.inner_text() == "Play on", other
        stopped = at()
        page.clock.run_for(5000)
        assert at() == stopped, other
    play.click()
    begun = at()
    page.clock.run_for(5000)
    assert at() > begun > stopped, "a clock that stands still would prove nothing"


def test_number_of_the_line_leads_to_the_equation_of_the_page(visit):
    page = visit(BPTTExplorer(), after='<div id="equation-eq-bwd-dhprev">equation</div>')
    put(page, {"at": BPTTExplorer.line("dhprev", 3)})
    set_folds(page, True)
    page.locator(".ex-where a").click()
    assert page.url.endswith("#equation-eq-bwd-dhprev")
    put(page, {"at": 0})
    assert page.locator(".ex-where a").count() == 0


def test_paper_shows_the_end_where_nothing_has_played(visit):
    page = visit(BPTTExplorer())
    bars = page.locator(".ex-strip .ex-bar")
    assert bars.count() == 0
    page.emulate_media(media="print")
    page.wait_for_function("document.querySelectorAll('.ex-strip .ex-bar').length === 12")
    assert page.locator(".ex-say").inner_text().startswith("From step 3 back to the start")
    page.emulate_media(media="screen")
    page.wait_for_function("document.querySelectorAll('.ex-strip .ex-bar').length === 0")
    put(page, {"at": BPTTExplorer.line("dhprev", 2)})
    assert bars.count() == 8, "what is not computed yet is not shown"


def test_unknown_line_is_named():
    with pytest.raises(ValueError, match=r"name must be one of ar, r, .* step 1, 2 or 3; got 'dw', 2"):
        BPTTExplorer.line("dw", 2)


def test_lines_are_counted_alike_in_python_and_in_the_page(inside):
    places = inside("bptt")("ats => ats.map(place)", list(range(LAST + 1)))
    for key in LINES:
        for t in (1, 2, 3):
            at = BPTTExplorer.line(key, t)
            assert (places[at]["key"], places[at]["t"]) == (key, t)
            assert inside("bptt")("lineNumber", key, t) == at
    assert BPTTExplorer().at == 0, "it begins at the beginning"
