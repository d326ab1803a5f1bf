"""Translate a date (chapter 17): the page computes what the library does, with weights that were measured."""

import numpy as np
import pytest
from explorers import at_point, state_in
from traitlets import TraitError

from gru_lib import gru_forward
from gru_lib.decode import greedy
from gru_lib.layers import seq2seq_encode, seq2seq_step
from gru_lib.models.translator import exact_match, translate, translator_init
from gru_lib.tasks.dates import ISO, WRITTEN, encode, pairs, split_days
from gru_lib.widgets import DatesExplorer
from gru_lib.widgets._modules import assemble, classic
from gru_lib.widgets.dates import DATES, WEIGHTS

NET = translator_init(
    np.random.default_rng(0), WEIGHTS["E"], WEIGHTS["H"], source=WRITTEN, target=ISO, feed=True, dtype=float
)
NET.flat[:] = WEIGHTS["flat"]


@pytest.fixture(scope="module")
def loaded(browser):
    """A page that holds search.mjs and the weights."""
    page = browser.new_page()
    page.add_script_tag(content=assemble("search.mjs"))
    sizes = {"V_source": WRITTEN.size, "V_target": ISO.size, "E": WEIGHTS["E"], "H": WEIGHTS["H"]}
    page.evaluate("([flat, sizes]) => { window.net = seq2seqFrom(flat, sizes); }", [WEIGHTS["flat"], sizes])
    yield page
    page.close()


@pytest.mark.parametrize("text", [*DATES["presets"].values(), "7", " "])
def test_javascript_encoder_and_decoder_equal_python(loaded, text):
    source = WRITTEN.tokens([text], reverse=True)[0]
    state = seq2seq_encode(source, NET)
    states = loaded.evaluate("tokens => seq2seqStates(tokens, net)", source[:, 0].tolist())
    wanted = gru_forward(NET.source.E[source], None, NET.encoder)[0]
    np.testing.assert_allclose(states, wanted[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(states[-1], state[0][0], rtol=0, atol=1e-12)
    for token in (ISO.start, 3, 0):
        wanted, after = seq2seq_step(NET)(state, np.array([token]))
        got, new = loaded.evaluate(
            "([h, c, token]) => seq2seqStep(net)([h, c], token)", [state[0][0].tolist(), state[1][0].tolist(), token]
        )
        np.testing.assert_allclose(got, wanted[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(new[0], after[0][0], rtol=0, atol=1e-12)
        state = after


def test_weights_are_for_the_alphabets_of_the_task():
    assert (WEIGHTS["written"], WEIGHTS["iso"]) == (WRITTEN.characters, ISO.characters)


def test_stated_accuracy_is_that_of_the_rounded_weights():
    found = pairs(split_days(seed=1)[1])
    said = translate(NET, encode(found), end=ISO.end, max_steps=12)
    right = exact_match([ISO.text(tokens) for tokens in said.tokens], found.iso)
    assert right.mean() == pytest.approx(WEIGHTS["exact"], abs=1e-4) and right.mean() >= 0.999


def test_weights_are_rounded_and_small():
    assert all(round(w, WEIGHTS["digits"]) == w for w in WEIGHTS["flat"])
    import gzip

    assert len(gzip.compress(classic("dates").encode())) < 60_000


TRANSLATE = """text => {
  const { tokens, logProb, states, read } = translateText(text);
  return { tokens, logProb, states, read: read.join("") };
}"""


@pytest.mark.parametrize("name", DATES["presets"])
def test_presets_of_the_six_languages_come_out_right(inside, name):
    found = inside("dates")(TRANSLATE, DATES["presets"][name])
    assert (ISO.text(found["tokens"]) == "2026-03-07") == (name != "other")
    state = seq2seq_encode(WRITTEN.tokens([found["read"]], reverse=True)[0], NET)
    said = greedy(seq2seq_step(NET), state, ISO.start, end=ISO.end, max_steps=12)
    assert found["tokens"] == said.tokens.tolist()
    assert found["logProb"] == pytest.approx(float(said.log_prob), rel=1e-9)


def test_what_the_net_cannot_read_is_left_out(inside):
    assert inside("dates")(TRANSLATE, "7 Ω ma\u0301rz <b>")["read"] == "7  márz b"
    assert inside("dates")(TRANSLATE, "")["read"] == " "


def test_typing_translates_at_once(visit):
    page = visit(DatesExplorer(anchor="it"))
    field = page.get_by_label("A date, as people write it")
    field.fill("")
    field.press_sequentially("25. Dezember 1987")
    page.locator(".ex-say", has_text="writes 1987-12-25").wait_for()
    assert state_in(page, "dates")["text"] == "25. Dezember 1987"
    assert page.evaluate("document.activeElement.value") == "25. Dezember 1987"


def test_what_is_typed_is_never_read_as_html(visit):
    page = visit(DatesExplorer())
    page.get_by_label("A date, as people write it").fill("<img src=x onerror=alert(1)> 7.3.2026"[:40])
    page.locator(".ex-say", has_text="img src").wait_for()
    assert page.locator("[data-afm] img").count() == 0


def test_click_frames_a_unit_and_a_character(visit):
    page = visit(DatesExplorer())
    L = DATES["layout"]["wide"]
    page.mouse.click(*at_point(page, ".ex-rows", L["left"] + 10.5 * L["span"] / 32, L["hand"]["mid"]))
    page.mouse.click(*at_point(page, ".ex-rows", L["left"] + 3.5 * L["span"] / 12, L["write"]["tank"] + 5))
    state = state_in(page, "dates")
    assert (state["unit"], state["at"]) == (11, 4)


def test_link_sets_a_text(visit):
    page = visit(DatesExplorer(anchor="it"), before='<p><a href="#it?text=7%20mars%201999&amp;at=3">link</a></p>')
    page.locator("text=link").first.click()
    page.locator(".ex-say", has_text="writes 1999-03-07").wait_for()
    assert state_in(page, "dates")["at"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": 7}, "text must be a text of at most 40 characters; got 7"),
        ({"text": "7" * 41}, "text must be a text of at most 40 characters"),
        ({"unit": 33}, r"unit must be a number in \[1, 32\]; got 33"),
        ({"at": 1.5}, "at must be a whole number; got 1.5"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        DatesExplorer(**arguments)
