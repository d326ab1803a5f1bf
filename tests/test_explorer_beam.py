"""The beam, step by step (chapter 19): the search of the page is the library's, on the network of the chapter."""

import gzip
import itertools
import re

import numpy as np
import pytest
from explorers import state_in

from experiments import dates
from gru_book import results
from gru_book.models.translator import translate_beam
from gru_book.tasks.dates import ISO, WRITTEN
from gru_book.widgets import BeamExplorer
from gru_book.widgets._modules import classic
from gru_book.widgets.beam import BEAM, NET, writer
from gru_lib.decode import beam_search, greedy
from gru_lib.io import load
from gru_lib.layers import seq2seq_encode, seq2seq_step
from gru_lib.ops import log_softmax

SEARCH = """(states, steps) => states.map(s => {
  const c = search(s.tree === "letters" ? lettersTree() : datesTree(legible(s.day)), s.width, s.alpha);
  const said = (one) => one && { ...one, state: null, text: textOf(one.tokens, c.tree) };
  const moments = steps && c.moments.map(({ live, fell, lost, done }) =>
    ({ live: live.map(said), fell: fell.map(said), lost: said(lost) ?? null, done: done.map(said) }));
  return { moments, found: c.found.map(said), greedy: said(c.greedy) };
})"""


@pytest.fixture(scope="module")
def found(inside):
    """What the page finds in each of these states, and every step of it, which is much to bring here."""
    return lambda *states, steps=True: inside("beam")(
        SEARCH, [BeamExplorer(**state).state() for state in states], steps
    )


# ------------------------------------------------------------------------------ what the library has, the page has


def test_network_is_the_chapters_with_three_bytes_a_weight():
    stored = load(results.path("dates_cut"))
    np.testing.assert_allclose(writer().flat, stored.flat.astype(np.float64), rtol=2.0**-16, atol=0)
    assert dates.compactly(stored) == NET, "python tools/environment.py python -m experiments.dates models"
    assert (NET["source"], NET["target"]) == (ISO.characters, WRITTEN.characters)


def test_page_is_small():
    assert len(gzip.compress(classic("beam").encode())) < 100_000


def test_javascript_network_equals_python(inside):
    """Log-probabilities after any beginning."""
    for day, given in (("2026-03-07", [WRITTEN.start, 9, 20]), ("7", [WRITTEN.start, WRITTEN.end, 0])):
        state = seq2seq_encode(ISO.tokens([day])[0], writer())
        got = inside("beam")(
            """(day, given) => {
              const tree = datesTree(day);
              let [row, state] = [[], tree.first];
              return given.map((token) => { [row, state] = tree.step(state, token); return row; });
            }""",
            day,
            given,
        )
        for row, token in zip(got, given, strict=True):
            wanted, state = seq2seq_step(writer())(state, np.array([token]))
            np.testing.assert_allclose(row, wanted[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("day", ["2026-03-07", "2044-11-14", "2038-07-26", "7"])
def test_page_finds_what_the_library_finds(found, day):
    states = [{"day": day, "width": width, "alpha": alpha} for width in (1, 3, 8) for alpha in (0.0, 0.7, 2.0)]
    source = ISO.tokens([day])[0][:, 0]
    (one,) = translate_beam(writer(), source, width=1, end=WRITTEN.end, max_steps=36)
    for state, got in zip(states, found(*states, steps=False), strict=True):
        options = {"width": state["width"], "alpha": state["alpha"], "end": WRITTEN.end, "max_steps": 36}
        wanted = translate_beam(writer(), source, **options)
        assert [one["tokens"] for one in got["found"]] == [list(one.tokens) for one in wanted]
        for key, name in (("logProb", "log_prob"), ("score", "score")):
            np.testing.assert_allclose(
                [one[key] for one in got["found"]], [getattr(one, name) for one in wanted], rtol=0, atol=1e-12
            )
        assert got["greedy"]["tokens"] == list(one.tokens)
        if state in states[::4]:  # each width and each alpha once: this searches once more
            best = BeamExplorer(**state).value["best"]
            assert best[0] == got["found"][0]["text"]
            np.testing.assert_allclose(best[1:], [got["found"][0][key] for key in ("logProb", "score")], atol=1e-12)


def test_letters_are_found_as_the_library_finds_them_and_the_widest_beam_finds_the_best_of_all(found):
    states = [{"tree": "letters", "width": width, "alpha": alpha} for width in (1, 2, 3, 8) for alpha in (0.0, 1.0)]
    table = BEAM["letters"]["next"]
    assert all(np.isclose(sum(p), 1, rtol=0, atol=1e-12) and min(p) > 0 for p in table.values())
    for state, got in zip(states, found(*states), strict=True):
        text, *numbers = BeamExplorer(**state).value["best"]
        assert got["found"][0]["text"] == text
        np.testing.assert_allclose([got["found"][0]["logProb"], got["found"][0]["score"]], numbers, rtol=1e-12)
        by_greedy = greedy(BeamExplorer.letters, None, 0, end=None, max_steps=3)
        assert got["greedy"]["logProb"] == pytest.approx(float(by_greedy.log_prob), rel=1e-12)
        if (state["width"], state["alpha"]) == (8, 0.0):
            every = {
                a + b + c: np.log(table[""]["abc".index(a)] * table[a]["abc".index(b)] * table[a + b]["abc".index(c)])
                for a, b, c in itertools.product("abc", repeat=3)
            }
            assert (text, numbers[0]) == (max(every, key=every.get), pytest.approx(max(every.values()), rel=1e-12))


def test_javascript_log_softmax_equals_python(inside):
    rng = np.random.default_rng(0)
    for a in (*rng.normal(0, 3, (5, 7)), np.array([800.0, 0.0, -800.0]), np.array([40.0, 0.0, 0.0]), np.zeros(4)):
        got = inside("search")("logSoftmax", a.tolist())
        np.testing.assert_allclose(got, log_softmax(a), rtol=1e-14, atol=1e-12)


TREE = """(table, options) => {
  const seen = [];
  const found = beamSearch((state, token) => {
    const past = state === null ? '' : state + token;
    return [table[past], past];
  }, null, 0, { ...options, watch: ({ live, done }) => seen.push([live.length, done.length]) });
  return { found, seen };
}"""


def random_table(rng, V, depth):
    """Log-probabilities after every prefix of fewer than `depth` tokens, as text."""
    prefixes = ["".join(map(str, p)) for n in range(depth) for p in itertools.product(range(V), repeat=n)]
    return {prefix: log_softmax(rng.normal(0, 1.5, V)).tolist() for prefix in prefixes}


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("end", [None, 2])
def test_javascript_beam_equals_python(inside, end, alpha):
    rng = np.random.default_rng(7)
    for width in (1, 2, 3, 5, 40):
        table = random_table(rng, 3, 4)

        def step(state, token, table=table):
            past = "" if state is None else state + str(int(token))
            return np.array(table[past]), past

        wanted = beam_search(step, None, 0, width=width, end=end, max_steps=4, alpha=alpha)
        options = {"width": width, "end": end, "maxSteps": 4, "alpha": alpha}
        told = inside("search")(TREE, table, options)
        got = told["found"]
        assert [tuple(one["tokens"]) for one in got] == [one.tokens for one in wanted]
        assert [one["ended"] for one in got] == [one.ended for one in wanted]
        assert told["seen"][0][1] <= 1 and told["seen"][-1][1] == len(got), "each step as it was then"
        for key, name in (("logProb", "log_prob"), ("score", "score")):
            np.testing.assert_allclose(
                [one[key] for one in got], [getattr(one, name) for one in wanted], rtol=1e-13, atol=1e-12
            )


# ------------------------------------------------------------------------------ every step, and the points


def test_every_step_keeps_the_likeliest_and_drops_the_rest(found):
    """What is kept grew from what was kept before; what is dropped is less likely than all that is kept."""
    states = [{"width": width, "alpha": alpha} for width in (1, 3, 8) for alpha in (0.0, 1.0)]
    for state, got in zip(states, found(*states), strict=True):
        before = [[]]
        for t, moment in enumerate(got["moments"], 1):
            live, fell, done = moment["live"], moment["fell"], moment["done"]
            for one in (*live, *fell):
                assert len(one["tokens"]) == t and one["tokens"][:-1] in before
            kept = [one["logProb"] for one in live]
            assert kept == sorted(kept, reverse=True) and len(live) <= state["width"] and len(fell) == BEAM["fallen"]
            assert all(one["logProb"] <= min(kept) for one in fell if one["tokens"][-1] != WRITTEN.end)
            assert not [one for one in fell if one in live]
            path = got["greedy"]["tokens"][:t]
            lost = moment["lost"]
            assert (lost is None) == (path[:-1] not in before or path in [one["tokens"] for one in (*live, *done)])
            assert lost is None or lost["tokens"] == path
            before = [one["tokens"] for one in live]
        assert got["moments"][-1]["done"] == got["found"]


def test_presets_show_their_points(found):
    """At a width of 3 the beam beats greedy search, at 4 the empty text wins, the mean prefers a long one; and with
    the letters greedy search's beginning is dropped, and the beam ends below it."""
    one, three, four, mean, loses, wider = found(
        *({k: v for k, v in BEAM["presets"][name].items() if k != "step"} for name in BEAM["presets"]),
        BEAM["presets"]["loses"] | {"width": 3},
    )
    assert one["found"][0]["tokens"] == one["greedy"]["tokens"]
    assert three["found"][0]["text"] == "7 mars 2026" and three["found"][0]["logProb"] > three["greedy"]["logProb"]
    assert "" in [fell["text"] for fell in three["moments"][0]["fell"]], "at the first step the empty text is dropped"
    assert four["found"][0]["text"] == "" and four["moments"][0]["done"][0]["text"] == ""
    assert len(mean["found"][0]["text"]) > 20 and mean["found"][0]["logProb"] < one["found"][0]["logProb"]
    assert loses["found"][0]["logProb"] < loses["greedy"]["logProb"] - 0.5
    assert loses["moments"][1]["lost"]["text"] == "aa" and BEAM["presets"]["loses"]["step"] == 2
    assert wider["found"][0]["text"] == wider["greedy"]["text"]
    lengths = [(len(moment["live"]), len(moment["done"])) for moment in loses["moments"]]
    assert lengths == [(2, 0), (2, 0), (0, 2)], "each step as it was then; three letters are a text"


def test_chapter_19_says_what_the_first_step_holds(found):
    (four,) = found({"width": 4})
    first = sorted([*four["moments"][0]["live"], *four["moments"][0]["done"]], key=lambda one: -one["logProb"])
    assert [one["text"] for one in first[:4]] == ["M", "m", "7", ""]
    assert f"{np.exp(first[3]['logProb']):.2f}" == "0.11"
    assert f"{np.exp(first[0]['logProb']):.2f}" == "0.20"
    assert max(one["logProb"] for one in four["found"] if one["text"]) < first[3]["logProb"]


# ------------------------------------------------------------------------------ the page


@pytest.mark.parametrize(("day", "said"), [
    ("2026-03-07", ""),
    ("2026-02-31", "“2026-02-31” is no day of the calendar, and still the network writes."),
    ("1850-03-07", "It learned the years 1950 to 2049 and never saw 1850."),
    ("7x", "The network reads digits and hyphens: “x” is left out. “7” is no day of the calendar, and still the "
     "network writes."),
    ("", "Type a day, such as 2026-03-07."),
])  # fmt: skip
def test_what_the_network_cannot_use_is_said(inside, day, said):
    assert inside("beam")("day => complaint(day, BEAM.words)", day) == said


def test_what_cannot_be_read_stands_beside_the_field_and_the_rest_is_searched(visit):
    page = visit(BeamExplorer(step=36))
    field = page.get_by_label("A day; the network writes it out, letter by letter")
    field.fill("2026x03-07")
    assert "“x” is left out" in page.locator(".ex-strange").inner_text()
    assert "A beam of 4 ends" in page.locator(".ex-say").inner_text()
    field.fill("")
    assert page.locator(".ex-say").inner_text() == "There is no day to write out yet."
    assert BeamExplorer(day="xyz").value["best"] is None
    field.fill("2044-11-14")
    assert state_in(page, "beam")["day"] == "2044-11-14" and page.locator(".ex-strange").inner_text() == ""
    page.locator("label", has_text=re.compile("^a toy tree$")).click()
    assert not field.is_visible()


def test_steps_go_forth_and_back_and_stop_at_the_ends(visit):
    page = visit(BeamExplorer(step=1))
    walk, back, forth = page.locator("[data-key=step]"), page.locator("[data-by='-1']"), page.locator("[data-by='1']")
    back.click()
    assert walk.input_value() == "1"
    forth.click()
    assert state_in(page, "beam")["step"] == 2 and "step 2 of 14" in page.locator("svg").inner_html()
    walk.press("End")
    forth.click()
    assert walk.input_value() == walk.get_attribute("max") == "14"
    assert "ends after 14 steps" in page.locator(".ex-say").inner_text()
    page = visit(BeamExplorer(tree="letters", width=2, step=30))  # beyond the last
    assert page.locator("[data-key=step]").input_value() == "3"
    assert "less likely than greedy search's “aaa”" in page.locator(".ex-say").inner_text()


@pytest.mark.parametrize("alpha", [0, 1])
def test_a_score_is_shown_only_where_it_differs_from_log_p(visit, alpha):
    page = visit(BeamExplorer(width=4, step=36, alpha=alpha))
    finished = page.locator("svg .ex-part.ex-done").all_text_contents()
    assert len(finished) == 4
    assert [bool(re.search(r"\u2212\d", text)) for text in finished] == [alpha > 0] * 4
    for place in (page.locator("svg"), page.locator(".ex-say")):
        assert ("score" in place.inner_html()) == (alpha > 0)


def test_a_text_that_is_dropped_with_its_end_says_so(visit):
    """It was a beginning one step before, and was kept."""
    page = visit(BeamExplorer(width=3, step=13))
    assert "March 7, 2021" in page.locator("svg .ex-text.ex-go").nth(1).text_content().replace("\u00a0", " ")
    page.locator("[data-by='1']").click()
    texts = [text.replace("\u00a0", " ") for text in page.locator("svg .ex-text.ex-fall").all_text_contents()]
    assert texts[0] == "March 7, 2021 · end" and not any("end" in text for text in texts[1:])


def test_bars_are_as_long_as_the_probabilities(visit, found):
    page = visit(BeamExplorer(width=3, step=4))
    (got,) = found({"width": 3})
    moment = got["moments"][3]
    p = np.exp([one["logProb"] for one in (*moment["live"], *moment["fell"])])
    wide = [float(one.get_attribute("width")) for one in page.locator("svg .ex-chance").all()]
    (left, right), _ = BEAM["layout"]["wide"]["columns"]
    np.testing.assert_allclose(wide, (right - left - BEAM["layout"]["wide"]["text"]) * p / p.max(), atol=0.006)
