"""The language model: the page computes and writes what the library does, and shows what the reader asks for."""

import gzip
import json
import re
import string
from urllib.parse import parse_qsl

import numpy as np
import pytest
from explorers import PHONE, at_point, drag, put, random_explorer, state_in

from conftest import ROOT
from experiments import language_model
from gru_book.models.language_model import lm_bits, lm_init, lm_logits
from gru_book.tasks.text import english
from gru_book.widgets import LanguageExplorer
from gru_book.widgets._modules import classic
from gru_book.widgets.language import LANGUAGE, NET, read_net, trained
from gru_lib import gru_backward, gru_forward, gru_step
from gru_lib.ops import log_softmax

LENGTH = LANGUAGE["limits"]["at"][1]
FATHER = LANGUAGE["presets"]["father"]

READ = """((net, tokens) => {
  const m = readLanguageNet(net);
  let h = new Float64Array(m.H);
  return tokens.map((token) => {
    const { r, z, h: now, a } = languageStep(token, h, m);
    h = now;
    return { r: [...r], z: [...z], h: [...now], a: [...a] };
  });
})"""


def test_javascript_step_equals_the_library(maths):
    tokens = english().encode(TEXTS[0]).tolist()
    m = trained()
    logits, _ = lm_logits(m, np.array(tokens)[:, None])
    h = np.zeros((1, m.rnn.H))
    for t, got in enumerate(maths(READ, NET, tokens)):
        h, cache = gru_step(m.embed.E[None, tokens[t]], h, m.rnn)
        wanted = {"r": cache.r[0], "z": cache.z[0], "h": h[0], "a": logits[t, 0]}
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array, rtol=0, atol=1e-12, err_msg=f"{name} {t}")


def tempered(a, temperature):
    """softmax(a / temperature) without the unknown character; temperature 0 is all on the largest."""
    a = np.where(np.arange(len(a)) == 0, -np.inf, a)
    if temperature == 0:
        return (np.arange(len(a)) == a.argmax()).astype(float)
    return np.exp(log_softmax(a / temperature))


@pytest.mark.parametrize("temperature", [0, 0.05, 0.7, 1, 2])
def test_javascript_temperature_is_the_softmax_and_picks_by_its_shares(maths, temperature):
    rng = np.random.default_rng(0)
    for _ in range(5):
        a = rng.normal(size=30) * 5
        p = np.array(maths("tempered", a.tolist(), temperature, 0))
        np.testing.assert_allclose(p, tempered(a, temperature), rtol=0, atol=1e-12)
        assert p[0] == 0 and p.sum() == pytest.approx(1, abs=1e-12)
        for u in rng.random(3):
            assert maths("pick", p.tolist(), u) == int((np.cumsum(p) > u).argmax())


def test_draws_are_even_and_do_not_repeat_between_seeds(maths):
    script = "(seeds, places) => seeds.map(seed => places.map(place => uniform(seed, place)))"
    u = np.array(maths(script, list(range(1, 100)), list(range(LENGTH))))
    assert u.min() >= 0 and u.max() < 1 and len(np.unique(u)) == u.size
    assert np.abs(np.histogram(u, bins=20, range=(0, 1))[0] / u.size - 0.05).max() < 0.005
    assert abs(np.corrcoef(u[:, :-1].ravel(), u[:, 1:].ravel())[0, 1]) < 0.02


WRITE = """state => {
  const run = begin(state);
  writeOn(run, 1e9);
  const shown = run.steps.map(step => step[state.show][state.unit]);
  return { given: run.typed.length, tokens: run.tokens, shown };
}"""


@pytest.fixture(scope="module")
def write(inside):
    """What the page writes on a prefix to its end, and what the unit shown held after each character."""
    return lambda **state: inside("language")(WRITE, LanguageExplorer(**state).state())


@pytest.mark.parametrize("seed", range(2))
def test_the_page_writes_what_the_librarys_model_gives(write, maths, seed):
    shown = random_explorer("language", seed, prefix="And it came to pass, ", show="h")
    run = write(**shown.state())
    tokens = np.array(run["tokens"])
    logits, _ = lm_logits(trained(), tokens[:LENGTH, None])
    assert english().decode(tokens[: run["given"]]) == shown.prefix and len(tokens) == LENGTH + 1
    for t in range(run["given"] - 1, LENGTH):
        u = maths("uniform", shown.seed, t + 1 - run["given"])
        assert tokens[t + 1] == (np.cumsum(tempered(logits[t, 0], shown.temperature)) > u).argmax(), t


# ------------------------------------------------------------------------------ what made a prediction


def log_p(tokens, target):
    """The model's own log probability of a token after these, without the unknown character, by the library."""
    logits, _ = lm_logits(trained(), np.array(tokens, int)[:, None])
    return np.log(tempered(logits[-1, 0], 1)[target])


def gradients(tokens, target):
    """Of that log probability with respect to each embedded character, by the library's backward pass."""
    m = trained()
    hs, _, tape = gru_forward(m.embed.E[tokens][:, None], None, m.rnn)
    dhs = np.zeros_like(hs)
    dhs[-1, 0] = m.out.W @ ((np.arange(NET["V"]) == target) - tempered(hs[-1, 0] @ m.out.W + m.out.b, 1))
    return dhs[-1, 0], gru_backward(dhs, None, tape, m.rnn)[0][:, 0]


STEPS = """(net, tokens, dh) => {
  const m = readLanguageNet(net);
  const steps = [];
  for (const token of tokens) steps.push(languageStep(token, steps.at(-1)?.h ?? new Float64Array(m.H), m));
  return languageBackward(steps, dh, m).map((dx) => [...dx]);
}"""

TEXTS = ["In the beginning God created the heavens\nand the earth.", "LORD", "\n"]


@pytest.mark.parametrize("given", TEXTS)
def test_javascript_backpropagation_equals_the_librarys(maths, given):
    tokens = english().encode(given)
    for target in (1, 5):
        dh, dxs = gradients(tokens, target)
        got = maths(STEPS, NET, tokens.tolist(), dh.tolist())
        np.testing.assert_allclose(got, dxs, rtol=0, atol=1e-12)


def test_the_librarys_gradient_is_that_of_the_log_probability():
    m, tokens = trained(), english().encode(TEXTS[0])
    _, dxs = gradients(tokens, 5)
    place, direction = 20, np.random.default_rng(0).normal(size=NET["D"])
    moved = []
    for by in (1e-5, -1e-5):
        xs = m.embed.E[tokens][:, None].copy()
        xs[place] += by * direction
        h = gru_forward(xs, None, m.rnn)[0][-1, 0]
        moved.append(np.log(tempered(h @ m.out.W + m.out.b, 1)[5]))
    assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(dxs[place] @ direction, rel=1e-6)


ASKED = """([state, at, count]) => {
  const run = begin(state);
  writeOn(run, 1e9);
  return { tokens: run.tokens, lengths: gradientLengths(run, at), without: withoutEach(run, at, count) };
}"""


@pytest.mark.parametrize("at", [1, 3, 10, 60, LENGTH])
def test_what_a_prediction_hangs_on_is_what_the_library_says(inside, at):
    got = inside("language")(ASKED, [LanguageExplorer().state(), at, 6])
    read, target = np.array(got["tokens"][:at]), got["tokens"][at]
    np.testing.assert_allclose(got["lengths"], np.linalg.norm(gradients(read, target)[1], axis=1), rtol=0, atol=1e-12)
    assert [one["i"] for one in got["without"]] == list(range(max(0, at - 6), at))
    for one in got["without"]:
        rest = np.delete(read, one["i"])
        wanted = np.exp(log_p(rest, target)) if at > 1 else tempered(trained().out.b, 1)[target]
        assert one["p"] == pytest.approx(wanted, abs=1e-12)


# ------------------------------------------------------------------------------ patterns and units


def holds(name, s):
    """What is true of each character, in a second hand."""
    named, stop, column, found = False, 0, 0, []
    for i, c in enumerate(s):
        column = 0 if c == "\n" else column + 1
        stop = 0 if c in ".:;?!" else stop + 1
        named = c.isalpha() and (named or c.isupper())
        before = s[i - 1] if i else "x"
        found.append(
            {
                "name": named,
                "stop": stop,
                "word": c.isalnum() or c == "_",
                "space": before.isspace() and not c.isspace(),
                "column": column,
            }[name]
        )
    return [int(v) for v in found]


SAMPLE = "And the LORD. So he\n\n  saw: f_g? Yea\nno Man's" + "".join(f" x{sign}" for sign in string.punctuation)


@pytest.mark.parametrize("name", ["name", "word", "space", "stop", "column"])
def test_a_pattern_holds_where_it_should(inside, name):
    got = inside("text-units")("patternOver", name, list(SAMPLE), "")
    assert got == holds(name, SAMPLE) and len(set(got)) > 1


def test_what_is_marked_is_found_at_every_place(inside):
    find = inside("text-units")
    assert find("patternOver", "find", list("ananas an"), "an") == [1, 1, 1, 1, 0, 0, 0, 1, 1]
    assert find("patternOver", "find", list("aaa"), "aa") == [1, 1, 1]
    assert find("patternOver", "find", list("abc"), "") == [0, 0, 0]


def test_units_are_ranked_by_their_correlation_and_chance_is_measured(inside):
    rng = np.random.default_rng(0)
    states, pattern = rng.normal(size=(40, 7)), (rng.random(40) > 0.6).astype(float)
    r, chance = inside("text-units")(
        """(states, pattern) => {
      const columns = columnsFrom(states);
      return [correlations(columns, pattern), byChance(columns, pattern)];
    }""",
        states.tolist(),
        pattern.tolist(),
    )

    def wanted(f):
        return np.corrcoef(states.T, f)[-1, :-1]

    np.testing.assert_allclose(r, wanted(pattern), rtol=0, atol=1e-12)
    moved = [np.abs(wanted(np.roll(pattern, -round((k + 1) * 40 / 12 + 1e-9)))).max() for k in range(11)]
    assert chance == pytest.approx(np.median(moved), abs=1e-12)
    got = inside("language")("(states, pattern) => ranking(states, pattern).order", states.tolist(), pattern.tolist())
    assert got == np.argsort(-wanted(pattern)).tolist()
    best = inside("language")("(s, f) => bestOf(ranking(s, f))", states.tolist(), pattern.tolist())
    assert best == np.argsort(-np.abs(wanted(pattern)))[: len(best)].tolist() and wanted(pattern).min() < 0
    nothing = inside("text-units")("(s) => correlations(columnsFrom(s), s.map(() => 1))", states.tolist())
    assert nothing == [0] * 7


def test_the_opened_cell_is_the_units_step(inside):
    m, tokens = trained(), english().encode(FATHER["prefix"])
    hs, _, _ = gru_forward(m.embed.E[tokens][:, None], None, m.rnn)
    h, cache = gru_step(m.embed.E[tokens[-1]][None], hs[-2], m.rnn)
    got = inside("language")(
        """(unit) => {
      const run = begin({ ...START, ...PRESETS.father });
      writeOn(run, 1e9);
      const step = { ...run.steps[32], token: run.tokens[32], h_prev: run.steps[31].h };
      return unitCell(theNet(), step, unit, GATE.start);
    }""",
        109,
    )
    s, c = got["state"], got["cell"]
    for name, value in {"r": cache.r, "z": cache.z, "n": cache.n, "h": h}.items():
        assert c[name] == pytest.approx(value[0, 109], abs=1e-12), name
    assert s["h_prev"] == pytest.approx(hs[-2, 0, 109], abs=1e-12)
    assert np.tanh(s["x"] * s["W_xn"] + s["b_n"] + c["past"]) == pytest.approx(c["n"], abs=1e-12)


# ------------------------------------------------------------------------------ the net and the page


def test_the_net_is_worth_what_it_says_it_is():
    text = english()
    assert NET["vocabulary"] == text.vocabulary
    bits = lm_bits(trained().astype(np.float32), text.encode(text.validation))
    assert bits == pytest.approx(NET["bits"]["8 bits"], abs=0.002)
    assert abs(NET["bits"]["8 bits"] - NET["bits"]["float32"]) < 0.005


def test_a_page_with_the_net_stays_light():
    assert len(gzip.compress(classic("language").encode())) < 200_000


def test_rounding_keeps_every_weight_within_half_a_step():
    W = np.random.default_rng(0).normal(size=(20, 7)) * np.arange(1, 8)
    stored = language_model.rounded(W)
    net = {"V": 20, "D": 7, "H": 1, "arrays": {}}
    shapes = {name: a.shape for name, a in lm_init(np.random.default_rng(0), 20, 7, 1).items()}
    net["arrays"] = {n: {"shape": list(s), "values": np.zeros(s).tolist()} for n, s in shapes.items()}
    net["arrays"]["embed.E"] = json.loads(json.dumps(stored))
    assert (np.abs(read_net(net).embed.E - W) <= 0.5001 * np.array(stored["scale"])).all()


def all_drawn(page, nth=0):
    """Wait until the nth explorer has written to its end."""
    page.wait_for_function(
        "([nth, n]) => Number(document.querySelectorAll('.ex-lines')[nth].dataset.written) === n",
        arg=[nth, LENGTH],
        timeout=20_000,
    )


def sentence(page):
    return page.locator(".ex-say").text_content().replace("\u00a0", " ")


def place(page, character, view="why"):
    """Where a character of the text's first row stands on the page."""
    layout = LANGUAGE["layout"]["wide"]
    top = layout["text"][view]["top"]
    return at_point(page, ".ex-lines", layout["left"] + (character - 0.5) * layout["step"], top - 4)


def test_the_reader_types_and_the_model_writes_on(visit, write):
    page = visit(LanguageExplorer())
    page.locator("[data-text=prefix]").fill("And it came ")
    all_drawn(page)
    state = state_in(page, "language")
    assert (state["prefix"], state["at"]) == ("And it came ", 12), "what was typed is what is framed"
    assert sentence(page).startswith("After “And it came ” the net gives ")
    shown = page.evaluate("[...document.querySelectorAll('.ex-char.ex-given')].map(t => t.textContent).join('')")
    assert shown.replace("\u00a0", " ") == "And it came "
    whole = page.evaluate("[...document.querySelectorAll('.ex-lines .ex-char')].map(t => t.textContent).join('')")
    whole = whole.replace("\u00a0", " ")
    text = english().decode(np.array(write(prefix="And it came ")["tokens"])).replace("\n", "↵")
    assert len(whole) > 150 and text.startswith(whole)


def test_the_slider_ends_where_the_text_does(visit):
    page = visit(LanguageExplorer(**FATHER))
    all_drawn(page)
    slider = page.locator("input[data-key=at]")
    last = int(slider.get_attribute("max"))
    slider.focus()
    page.keyboard.press("End")
    end = sentence(page)
    page.keyboard.press("ArrowLeft")
    assert last < 240 and sentence(page) != end


def test_a_line_break_is_typed_as_an_arrow(visit):
    page = visit(LanguageExplorer())
    page.locator("[data-text=prefix]").fill("Note:↵↵")
    assert state_in(page, "language")["prefix"] == "Note:\n\n"
    put(page, {"prefix": "a\nb"})
    assert page.locator("[data-text=prefix]").input_value() == "a↵b"


STRUCK = "[...document.querySelectorAll('.ex-lines .ex-strike')].map(p => p.getAttribute('d')).join('')"


def test_what_cannot_be_used_is_said_beside_the_field(visit):
    page = visit(LanguageExplorer())
    for typed, words, struck in (
        ("Jürgen é", "The net met no “ü”, “é” in training: struck out,", 4),
        ("", "With nothing typed, it begins after a new line.", 0),
        ("x" * 100, "It reads at most 100 characters of yours.", 0),
        ("In the", "", 0),
    ):
        page.locator("[data-text=prefix]").fill(typed)
        all_drawn(page)
        said = page.locator(".ex-typed .ex-strange").text_content()
        assert said.startswith(words) and bool(words) == bool(said)
        assert page.evaluate(STRUCK).count("M") == struck, "once large and once in the text"


def test_pointer_looks_at_a_character_and_a_press_or_a_drag_asks_why_it_came(visit):
    page = visit(LanguageExplorer(**FATHER))
    all_drawn(page)
    start, asked = sentence(page), lambda: state_in(page, "language")["at"]
    page.mouse.move(*place(page, 4))
    assert sentence(page).startswith("After “The” the net gives “r” ") and asked() == 33
    page.mouse.move(5, 5)
    assert sentence(page) == start, "it goes again"
    page.mouse.click(*place(page, 5))
    assert sentence(page).startswith("After “Ther” the net gives “e” ") and asked() == 4
    page.mouse.click(*place(page, 1))
    assert asked() == 4, "of the first character there is nothing to ask"
    lens = LANGUAGE["layout"]["wide"]["lens"]
    third = LANGUAGE["layout"]["wide"]["left"] + (lens["count"] - 4 + 2.5) * lens["step"]
    page.mouse.click(*at_point(page, ".ex-lines", third, lens["floor"] + 15))
    assert asked() == 2, "so does a large letter"
    drag(page, *(place(page, character) for character in (3, 5, 8)))
    assert asked() == 7 and state_in(page, "language")["pattern"] == "column"
    page.locator("[data-choice=view][value=cell]").check()
    page.mouse.click(*place(page, 5, "cell"))
    assert sentence(page).startswith("Unit 109 at “e”: n = tanh(") and asked() == 5, "it opens the cell that read it"
    assert page.locator(".ex-cell .ex-tap").count() == 3


def test_a_finger_asks_too(visit):
    page = visit(LanguageExplorer(**FATHER), viewport=PHONE, has_touch=True)
    all_drawn(page)
    layout = LANGUAGE["layout"]["slim"]
    page.locator(".ex-lines").scroll_into_view_if_needed()
    at = layout["left"] + 4.5 * layout["step"], layout["text"]["why"]["top"] - 4
    page.touchscreen.tap(*at_point(page, ".ex-lines", *at))
    assert state_in(page, "language")["at"] == 4
    assert page.locator(".ex-why").first.text_content() == "Why “e”?"


OF_VIEW = """() => [...document.querySelectorAll('[data-afm] :is(input, svg)')]
  .filter(e => e.checkVisibility() && !e.matches('[data-text=prefix]'))
  .map(e => e.dataset.key ?? e.dataset.choice ?? e.dataset.text ?? e.classList[0])"""


def test_a_view_shows_what_belongs_to_it_and_no_more(visit):
    page = visit(LanguageExplorer())
    for view, more in (
        ("why", ["measure"]),
        ("draw", ["temperature", "seed"]),
        ("units", ["ex-rows", "find", "unit", "show"]),
        ("cell", ["ex-cell", "unit"]),
    ):
        put(page, {"view": view})
        all_drawn(page)
        assert set(page.evaluate(OF_VIEW)) == {"ex-lines", "view", "at", *more}
        assert bool(page.locator(".ex-lines .ex-own").count()) == (view == "draw"), "the draw's share is outlined"


def test_bars_are_of_the_measure_that_is_asked_for(inside):
    got = inside("language")(
        """(state) => {
      const run = begin(state);
      writeOn(run, 1e9);
      const all = { p: 0.6, without: [{ i: 1, p: 0.3 }, { i: 2, p: 0.9 }], lengths: [1, 4, 2] };
      return [weights(all, { measure: 'without' }, 3), weights(all, { measure: 'gradient' }, 3),
        weights({ p: 0.2, without: [{ i: 0, p: 0.6 }] }, { measure: 'without' }, 1)];
    }""",
        LanguageExplorer().state(),
    )
    np.testing.assert_allclose(got[0], [0, 0.5, 0.5], atol=1e-12, err_msg="a full bar is all of the probability")
    np.testing.assert_allclose(got[1], [0.25, 1, 0.5], atol=1e-12)
    np.testing.assert_allclose(got[2], [1], atol=1e-12, err_msg="or what it grows by, if that is more")


def test_sentence_says_what_the_library_finds(visit):
    page = visit(LanguageExplorer(**FATHER))
    all_drawn(page)
    tokens, a = english().encode(FATHER["prefix"]), english().encode("a")[0]
    p, without_f, without_h = (np.exp(log_p(np.delete(tokens, drop), a)) for drop in ([], [32], [28]))
    assert np.linalg.norm(gradients(tokens, a)[1], axis=1).argmax() == 32
    begun = f"After “… man leave his f” the net gives “a” {100 * p:.0f} %."
    assert sentence(page) == f"{begun} What matters most is “h” 5 back: without it, {100 * without_h:.1f} %."
    page.locator("[data-choice=measure][value=gradient]").check()
    longest = f"The gradient is longest at “f”; with that left out it would be {100 * without_f:.0f} %."
    assert sentence(page) == f"{begun} {longest}"
    page.locator("[data-choice=view][value=draw]").check()
    logits = lm_logits(trained(), tokens[:, None])[0][-1, 0]
    assert sentence(page) == f"{begun} At temperature 0.60 the draw gives it {100 * tempered(logits, 0.6)[a]:.0f} %."


def test_a_misleading_gradient_is_one_and_is_called_so(inside, visit):
    state = LanguageExplorer().state() | LANGUAGE["presets"]["misled"]
    got = inside("language")(ASKED, [state, state["at"], 18])
    p = np.exp(log_p(got["tokens"][: state["at"]], got["tokens"][state["at"]]))
    most = int(np.argmax(got["lengths"]))
    left = {one["i"]: one["p"] for one in got["without"]}
    assert state["prefix"][most] == "f" and abs(left[most] - p) < 0.05 and min(left.values()) < 0.0005
    page = visit(LanguageExplorer(**LANGUAGE["presets"]["misled"]))
    all_drawn(page)
    wanted = f"yet leaving out “e” changes more: to <0.1 %, against {100 * left[most]:.0f} % without “f”."
    assert sentence(page).endswith(f"The gradient is longest at “f”, {wanted}")


def test_to_drag_over_the_text_marks_every_such_place_and_takes_its_best_unit(visit):
    page = visit(LanguageExplorer(**FATHER, view="units"))
    all_drawn(page)
    drag(page, *(place(page, character, "units") for character in (1, 2, 3)))
    page.wait_for_function("document.querySelector('.ex-say').textContent.includes('every “The”')")
    state = state_in(page, "language")
    assert (state["pattern"], state["find"]) == ("find", "The")
    assert page.locator("[data-text=find]").input_value() == "The"
    assert page.locator(f".ex-best [data-unit='{state['unit']}'][aria-pressed=true]").count() == 1
    page.locator("[data-text=find]").fill("zzz")
    assert page.locator(".ex-find .ex-strange").text_content() == "There is no “zzz” in the text above."
    assert page.locator(".ex-best button").count() == 0
    assert sentence(page).startswith("every “zzz”: holds of every character here or of none")


def test_a_pattern_takes_its_best_unit_and_a_row_of_the_strip_shows_another(visit):
    page = visit(LanguageExplorer(view="units", unit=1))
    all_drawn(page)
    page.locator("[data-pattern=name]").click()
    best = state_in(page, "language")["unit"]
    assert page.locator(".ex-best button").first.text_content().startswith(f"unit {best}: ")
    strip = LANGUAGE["layout"]["wide"]["heat"]
    page.locator(".ex-rows").scroll_into_view_if_needed()
    page.mouse.click(*at_point(page, ".ex-rows", 100, strip["all"] + 100.5 * strip["row"]))
    assert state_in(page, "language")["unit"] != best
    page.mouse.click(*at_point(page, ".ex-rows", 100, strip["top"] + strip["pitch"] + 5))
    second = page.locator(".ex-best button").nth(1)
    assert second.get_attribute("aria-pressed") == "true"
    assert state_in(page, "language")["unit"] == int(second.get_attribute("data-unit"))


PIXEL = """([x, y]) => { // by a copy: Chromium complains of a canvas that is read twice
  const copy = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
  copy.drawImage(document.querySelector('canvas'), -x, -y);
  return [...copy.getImageData(0, 0, 1, 1).data];
}"""


def test_the_strip_shows_the_states_and_follows_the_theme(visit, inside):
    page = visit(LanguageExplorer(**FATHER, view="units"))
    all_drawn(page)
    strip = LANGUAGE["layout"]["wide"]["heat"]
    unit = int(page.locator(".ex-best button").first.get_attribute("data-unit"))
    h, read = inside("language")(
        """unit => {
      const run = begin({ ...START, ...PRESETS.father });
      writeOn(run, 1e9);
      return [run.steps.map(({ h }) => h[unit]), roomFor(run, LANGUAGE.layout.wide)];
    }""",
        unit,
    )
    i, j = int(np.argmax(h[:read])), int(np.argmin(h[:read]))
    at = [2 * (k + 0.5) * strip["W"] / read for k in (i, j)]
    pixels = [page.evaluate(PIXEL, [int(x), 2 * strip["top"] + 10]) for x in at]
    assert h[i] > 0.3 and h[j] < -0.3
    for (r, _, b, alpha), k in zip(pixels, (i, j), strict=True):
        assert alpha == pytest.approx(255 * abs(h[k]), abs=2)
        assert (b - r > 90) == (h[k] > 0), "blue above 0, grey below"
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    dark = [page.evaluate(PIXEL, [int(x), 2 * strip["top"] + 10]) for x in at]
    assert all(a[:3] != b[:3] and a[3] == b[3] for a, b in zip(pixels, dark, strict=True))


def test_default_shows_a_unit_that_follows_the_line(write):
    prefix = "\nAnd God said, Let there be light: and there was light.\nAnd God saw the light"
    h = np.array(write(prefix=prefix)["shown"][: len(prefix)])
    column = np.array([i - prefix.rindex("\n", 0, i + 1) for i in range(len(prefix))])
    assert np.corrcoef(h, column)[0, 1] > 0.9


def test_chapter_16_links_to_presets_that_there_are():
    page = (ROOT / "book_text" / "16-language-model.md").read_text("utf-8")
    links = [dict(parse_qsl(query)) for query in re.findall(r"\(#language\?([^)]*)\)", page)]
    assert links and {link["preset"] for link in links} <= set(LANGUAGE["presets"])


def test_chapter_16_names_the_unit_that_follows_the_line(visit):
    page = visit(LanguageExplorer(**FATHER, view="units"))
    for preset in ("father", "line"):
        page.locator(f"[data-preset={preset}]").click()
        all_drawn(page)
        page.wait_for_function("document.querySelector('.ex-best button').dataset.unit === '109'")
