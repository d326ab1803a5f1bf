"""The explorers in a browser: their numbers, their controls, and the host of the built page.

Pages are opened from disk (file://), as a reader would from a USB stick. Any request elsewhere, any console error and
any exception fails the test that caused it.
"""

import numpy as np
import page_checks
import pytest

from gru_lib import gru_init, gru_step
from gru_lib.widgets import GateExplorer
from gru_lib.widgets.gate import GATE

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
EXPLORER = "[data-afm=gate]"


def get(page, key, nth=0):
    """A key of the model behind the nth explorer."""
    return page.evaluate(f"afmHost.modelOf(document.querySelectorAll('{EXPLORER}')[{nth}]).get('{key}')")


def put(page, **state):
    """Set keys of the model from outside, as Python would."""
    page.evaluate(
        f"""state => {{
      const model = afmHost.modelOf(document.querySelector('{EXPLORER}'));
      for (const [key, value] of Object.entries(state)) model.set(key, value);
    }}""",
        state,
    )


def whole_state(page):
    return {key: get(page, key) for key in GATE["start"]}


def shown(page, key):
    """A number beside a slider."""
    return float(page.locator(f"[data-value={key}]").inner_text().replace("−", "-"))


def slider(page, key):
    return page.locator(f"input[data-key={key}]")


# ---------------------------------------------------------------------------------- the numbers


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
    names = [f"W_{a}{g}" for a in "xh" for g in "rzn"] + ["b_r", "b_z", "b_n"] + ["b_hn"] * reset_after
    q = {name: getattr(p, name).tolist() for name in names}
    q |= {"reset_after": reset_after, "convention": convention}
    for i in range(N):
        got = maths("gruStep", x[i].tolist(), h_prev[i].tolist(), q)
        keep, write = (cache.z, cache.not_z) if convention == "keep" else (cache.not_z, cache.z)
        wanted = {"r": cache.r, "z": cache.z, "n": cache.n, "h": h, "keep": keep, "write": write}
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array[i], rtol=0, atol=1e-12, err_msg=name)


def test_javascript_sigmoid_is_exact_at_both_ends(maths):
    values = [-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0]
    with np.errstate(over="ignore"):
        wanted = [1 / (1 + np.exp(-a)) for a in values]
    np.testing.assert_allclose([maths("sigmoid", a) for a in values], wanted, rtol=1e-15, atol=0)


def test_javascript_logit_undoes_the_sigmoid(maths):
    for p in [0.001, 0.25, 0.5, 0.999]:
        assert maths("sigmoid", maths("logit", p)) == pytest.approx(p, rel=1e-14)


def random_explorer(seed, **more):
    rng = np.random.default_rng(seed)
    state = {key: rng.uniform(-2, 2) for key in GATE["start"] if key.startswith(("W_", "b_"))}
    state |= {"x": rng.uniform(-1, 1), "h_prev": rng.uniform(-1, 1)}
    state |= {"convention": ["keep", "write"][seed % 2], "reset": ["before", "after"][seed // 2 % 2]}
    return GateExplorer(**state, **more)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_still_picture_is_what_the_explorer_draws(visit, viewport, lang):
    """Python draws the picture that stands there without JavaScript; the two must not drift apart."""
    stills = [GateExplorer(lang=lang), *(random_explorer(seed, lang=lang) for seed in range(8))]
    page = visit(*stills, viewport=viewport)
    compare = """([nth, still]) => {
      const live = document.querySelectorAll('[data-afm]')[nth];
      const host = new DOMParser().parseFromString(still, 'text/html');
      const size = live.firstChild.classList.contains('ex-slim') ? 'slim' : 'wide';
      const one = (root, selector) => root.querySelector(selector);
      return [
        [one(host, '.ex-only-' + size).innerHTML, one(live, '.ex-cell').innerHTML],
        [one(host, '.ex-say').textContent, one(live, '.ex-say').textContent],
      ];
    }"""
    for nth, still in enumerate(stills):
        for python, javascript in page.evaluate(compare, [nth, still.to_html()]):
            assert python == javascript


# ---------------------------------------------------------------------------------- the controls


def test_mouse_drags_a_slider(visit):
    page = visit()
    box = slider(page, "x").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.75, y)  # x = 0.5 stands at three quarters
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, y, steps=8)
    page.mouse.up()
    assert get(page, "x") == pytest.approx(-0.5, abs=0.05)
    assert shown(page, "x") == pytest.approx(get(page, "x"), abs=5e-4)
    expected = GateExplorer(x=get(page, "x"))
    assert f"= −{abs(expected.n):.3f}" in page.locator(".ex-equations").inner_text().replace("\n", " ")


@pytest.mark.parametrize(("key", "step"), [("x", 0.01), ("h_prev", 0.01), ("r", 0.001), ("z", 0.001)])
def test_arrow_keys_move_a_slider_by_its_step(visit, key, step):
    page = visit()
    before = shown(page, key)
    slider(page, key).focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert shown(page, key) == pytest.approx(before - 3 * step, abs=1e-9)
    assert slider(page, key).get_attribute("aria-valuetext") == f"{before - 3 * step:.3f}"


def test_gate_slider_sets_the_bias_alone(visit):
    page = visit()
    before = whole_state(page)
    slider(page, "z").focus()
    page.keyboard.press("End")
    after = whole_state(page)
    assert {key for key in after if after[key] != before[key]} == {"b_z"}
    assert GateExplorer(**after).z == pytest.approx(0.999, abs=1e-12)
    page.locator(".ex-say", has_text="Keeps 99.9\u00a0%").wait_for()


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize(
    ("name", "keep", "reset"),
    [("typical", None, None), ("copy", 0.999, None), ("overwrite", 0.001, 0.999), ("restart", 0.001, 0.001)],
)
def test_presets_set_gates_and_nothing_else(visit, name, keep, reset, convention):
    page = visit(GateExplorer(x=-0.3, W_xz=0.5, convention=convention), reduced_motion="reduce")
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
    typical = GateExplorer(x=-0.3)
    assert share == pytest.approx(typical.z if keep is None else keep, abs=1e-3)
    assert gate.r == pytest.approx(typical.r if reset is None else reset, abs=1e-3)


def test_forget_and_restart_turns_the_candidate_round(visit):
    """The default state shows the point: with the past closed off, n changes sign."""
    page = visit(reduced_motion="reduce")
    assert GateExplorer(**whole_state(page)).n < -0.3
    page.locator("[data-preset=restart]").click()
    assert round(GateExplorer(**whole_state(page)).n, 2) == 0.5


def test_start_again_restores_the_first_state(visit):
    page = visit(GateExplorer(x=0.1, z=0.3), reduced_motion="reduce")
    before = whole_state(page)
    page.locator("[data-preset=overwrite]").click()
    page.locator("input[value=write]").check()
    slider(page, "x").focus()
    page.keyboard.press("Home")
    page.locator("[data-again]").click()
    assert whole_state(page) == before


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_presets_glide_and_reduced_motion_jumps(visit, motion):
    page = visit(reduced_motion=motion)
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
    assert len(between) >= 1 if motion == "no-preference" else path == [0.589, 0.001]


def test_convention_keeps_the_weights_and_negating_restores_the_state(visit):
    page = visit(reduced_motion="reduce")
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
    candidate = page.locator(".ex-equations b.ex-n")
    before = candidate.inner_text()
    page.locator(".ex-choice label", has_text="after").click()
    assert candidate.inner_text() != before
    put(page, b_hn=0)
    assert candidate.inner_text() == before
    assert "differ only by the term" in page.locator(".ex-note").inner_text()


def test_radio_buttons_answer_the_keyboard(visit):
    page = visit()
    page.locator("input[data-choice=reset]:checked").focus()
    page.keyboard.press("ArrowRight")
    assert get(page, "reset") == "after"


def drag_handle(page, row, to, touch=False):
    """Take hold of a block on a number line and pull it to the value `to` of the axis."""
    handle = page.locator(f".ex-grab[data-row={row}]")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    lines = page.locator(".ex-lines").bounding_box()
    margin, width = (26, 350) if page.viewport_size["width"] < 560 else (62, 720)
    zoom = lines["width"] / width
    goal = lines["x"] + zoom * (margin + (to + 1) / 2 * (width - 2 * margin))
    points = [x + (goal - x) * i / 6 for i in range(7)]
    if touch:
        session = page.context.new_cdp_session(page)
        send = lambda kind, at: session.send(  # noqa: E731
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at, "y": y}] if at else []}
        )
        send("touchStart", x)
        for at in points:
            send("touchMove", at)
        send("touchEnd", None)
    else:
        page.mouse.move(x, y)
        page.mouse.down()
        for at in points:
            page.mouse.move(at, y)
        page.mouse.up()


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize(("viewport", "touch"), [(WIDE, False), (PHONE, True)], ids=["mouse", "touch"])
def test_handle_of_the_state_moves_z(visit, convention, viewport, touch):
    page = visit(GateExplorer(convention=convention), viewport=viewport, has_touch=touch)
    gate = GateExplorer(**whole_state(page))
    drag_handle(page, "z", (gate.n + gate.h_prev) / 2, touch)
    after = GateExplorer(**whole_state(page))
    assert after.z == pytest.approx(0.5, abs=0.02)
    assert (after.n, after.r) == (gate.n, gate.r)


def test_handle_of_the_reset_moves_r(visit):
    page = visit()
    drag_handle(page, "r", 0.35)
    assert GateExplorer(**whole_state(page)).r == pytest.approx(0.5, abs=0.02)
    drag_handle(page, "r", -0.9)  # beyond zero: the gate closes, no further
    assert GateExplorer(**whole_state(page)).r == pytest.approx(0.001, abs=1e-9)


def test_pointer_beside_a_handle_moves_nothing(visit):
    page = visit()
    before = whole_state(page)
    lines = page.locator(".ex-lines").bounding_box()
    page.mouse.move(lines["x"] + 80, lines["y"] + 50)
    page.mouse.down()
    page.mouse.move(lines["x"] + 300, lines["y"] + 50)
    page.mouse.up()
    assert whole_state(page) == before


def test_drag_redraws_in_the_next_frame(visit):
    page, steps = visit(), 60
    moved = page.evaluate(
        """async steps => {
      const input = document.querySelector('input[data-key=z]'), seen = new Set();
      for (let i = 0; i < steps; i++) {
        input.value = 0.2 + 0.01 * i;
        input.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise(requestAnimationFrame);
        seen.add(document.querySelector('.ex-equations b.ex-h').textContent);
      }
      return seen.size;
    }""",
        steps,
    )
    assert moved > steps / 2, "the page did not follow"


# ---------------------------------------------------------------------------------- the model and the host


def test_model_moves_the_page(visit):
    page = visit()
    put(page, x=-0.25, b_z=-2.0, reset="after")
    assert slider(page, "x").input_value() == "-0.25"
    assert page.locator("input[value=after]").is_checked()
    assert shown(page, "z") == pytest.approx(GateExplorer(x=-0.25, b_z=-2.0).z, abs=5e-4)


def test_page_tells_the_model_of_every_change(visit):
    page = visit()
    page.evaluate(f"""() => {{
      window.heard = [];
      afmHost.modelOf(document.querySelector('{EXPLORER}')).on('change:x', (model, v) => heard.push(v));
    }}""")
    slider(page, "x").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("heard") == [0.51, 0.52]


def test_two_explorers_are_independent(visit):
    page = visit(GateExplorer(x=0.1), GateExplorer(x=0.9))
    page.locator("input[data-key=x]").nth(1).focus()
    page.keyboard.press("ArrowLeft")
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
    page = visit(GateExplorer(anchor="gate"), before=LINKS + '<div style="height: 2000px"></div>')
    page.locator("text=z near 1").focus()
    page.keyboard.press("Enter")
    gate = GateExplorer(**whole_state(page))
    assert gate.z == pytest.approx(0.99, abs=1e-12)
    page.wait_for_function(f"document.querySelector('{EXPLORER}').getBoundingClientRect().top < 100")
    assert page.url.endswith("#gate?z=0.99")
    page.locator("text=restart").first.click()
    after = GateExplorer(**whole_state(page))
    assert (after.x, round(after.z, 3), round(after.r, 3)) == (-0.5, 0.001, 0.001)


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


def test_clean_up_lets_go_of_everything(visit, folder):
    (folder / "catch.js").write_text(
        "window.afmHost = { register: (name, explorer) => { window.caught = explorer; } };"
    )
    page = visit(scripts=("catch.js", "gate.js"), expect=["nothing"])
    left = page.evaluate("""() => {
      const ears = [], el = document.body.appendChild(document.createElement('div'));
      const model = {
        get: () => undefined, set() {}, save_changes() {},
        on: (event, ear) => ears.push([event, ear]),
        off: (event, ear) => ears.splice(ears.findIndex(e => e[0] === event && e[1] === ear), 1),
      };
      const stop = caught.render({ model, el });
      const during = [ears.length, el.childElementCount];
      el.querySelector('[data-preset=copy]').click();
      stop();
      return [during, [ears.length, el.childElementCount]];
    }""")
    assert left[0][0] == len(GATE["start"]) and left[0][1] > 5
    assert left[1] == [0, 0]


# ---------------------------------------------------------------------------------- how it looks and reads


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["1280", "390"])
def test_axe_finds_nothing(visit, viewport):
    """In the light, of everything; in the dark, of the colours, as nothing else differs there."""
    page = visit(GateExplorer(), random_explorer(2), viewport=viewport, reduced_motion="reduce")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    # preload would fetch the style sheet by script, which file:// forbids; only the orientation rule needs it
    assert page_checks.axe(page, preload=False) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page_checks.axe(page, preload=False, runOnly=["color-contrast", "link-in-text-block"]) == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_is_wider_than_a_phone(visit, lang):
    page = visit(GateExplorer(h_prev=-0.9, lang=lang), random_explorer(3, lang=lang), viewport=PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    wide = page.evaluate("""() => [...document.querySelectorAll('main *')]
      .filter(e => !e.closest('svg') && e.getBoundingClientRect().right > innerWidth + 0.5)
      .map(e => e.outerHTML.slice(0, 80))""")
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(("viewport", "least"), [(WIDE, 32), (PHONE, 40)], ids=["1280", "390"])
def test_targets_are_large_enough(visit, viewport, least):
    page = visit(viewport=viewport)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    small = page.evaluate(
        """least => [...document.querySelectorAll('button, summary, input')]
      .filter(e => e.getBoundingClientRect().height < least).map(e => e.outerHTML.slice(0, 80))""",
        least,
    )
    assert small == []


def test_words_in_the_drawing_do_not_overlap(visit):
    """Texts of the cell, in every arrangement of the two switches and at both widths."""
    overlaps = """() => {
      const found = [];
      for (const svg of document.querySelectorAll('svg.ex-cell')) {
        const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
        texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
          const dx = Math.min(p.right, q.right) - Math.max(p.left, q.left);
          const dy = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
          if (dx > 1 && dy > 5) found.push([a, b, dx, dy]); // line boxes are taller than the letters
        }));
      }
      return found;
    }"""
    cells = [
        GateExplorer(x=-0.5, h_prev=-0.9, convention=convention, reset=reset)
        for convention in ("keep", "write")
        for reset in ("before", "after")
    ]
    for viewport in (WIDE, PHONE):
        assert visit(*cells, viewport=viewport).evaluate(overlaps) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["1280", "390"])
def test_without_javascript_a_picture_says_the_same(visit, viewport, dark):
    page = visit(GateExplorer(x=-0.5, z=0.99), viewport=viewport, dark=dark, java_script_enabled=False)
    pictures = [svg for svg in page.locator("svg").all() if svg.is_visible()]
    assert len(pictures) == 1
    assert pictures[0].get_attribute("role") == "img"
    assert "Keeps 99\u00a0%" in pictures[0].get_attribute("aria-label")
    assert "Keeps 99\u00a0%" in page.locator("figcaption").inner_text()
    assert pictures[0].bounding_box()["width"] > 340
    assert page.locator(EXPLORER).bounding_box()["height"] < 480, "room kept for what will not come"


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["1280", "390"])
def test_page_does_not_jump_when_the_explorer_wakes(visit, viewport):
    page = visit(after="<p>Text below</p>" * 20, viewport=viewport)
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


def test_screen_readers_hear_the_sentence_once_it_rests(visit):
    page = visit()
    assert page.locator(".ex-say").get_attribute("aria-live") == "polite"
    during = page.evaluate("""() => {
      const input = document.querySelector('input[data-key=h_prev]'), say = document.querySelector('.ex-say');
      const before = say.textContent;
      input.value = 0.69;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      return [before, say.textContent];
    }""")
    assert during[0] == during[1], "a moving value must not be read out"
    page.locator(".ex-say", has_text=f"The state goes from 0.690 to {GateExplorer(h_prev=0.69).h:.3f}.").wait_for()
    assert page.locator("output").count() == 0, "every output would speak at every change"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_words_are_those_of_the_page(visit, lang):
    page = visit(lang=lang)
    words = GATE["words"][lang]
    assert words["overwrite"] in page.locator(".ex-presets").inner_text()
    assert page.locator(f"{EXPLORER} > div").get_attribute("aria-label") == words["title"]
    text = page.locator("main").inner_text()
    assert "undefined" not in text and "NaN" not in text and "{" not in text


def test_print_keeps_the_picture_and_drops_the_controls(visit):
    page = visit()
    page.emulate_media(media="print")
    for kept in (".ex-cell", ".ex-say", ".ex-lines", ".ex-equations"):
        assert page.locator(kept).is_visible(), kept
    for gone in (".ex-presets", ".ex-main", ".ex-switches", "details"):
        assert not page.locator(gone).is_visible(), gone


# ---------------------------------------------------------------------------------- the tests' own windows


def test_a_complaint_fails_its_own_visit_and_not_the_next_one_in_that_window(visits):
    with pytest.raises(AssertionError, match="planted"), visits("first") as visit:
        window = visit()
        window.evaluate("console.error('planted')")
    with visits("second") as visit:
        assert visit() is window
