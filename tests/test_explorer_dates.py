"""Translate a date (chapters 17 and 18): the page computes what the library does, with weights that were measured."""

import gzip

import numpy as np
import pytest
from explorers import at_point, state_in

from gru_book.models.translator import alignment, exact_match, translate, translator_init
from gru_book.tasks.dates import ISO, WRITTEN, Batch, encode, pairs, split_days
from gru_book.widgets import DatesExplorer
from gru_book.widgets._modules import assemble, classic
from gru_book.widgets.dates import ATTENTION, DATES, WEIGHTS
from gru_lib import gru_forward
from gru_lib.decode import greedy
from gru_lib.layers import bidirectional_forward, seq2seq_encode, seq2seq_forward, seq2seq_step
from gru_lib.layers.seq2seq import seq2seq_backward

FED = translator_init(np.random.default_rng(0), WEIGHTS["E"], WEIGHTS["H"], dtype=float)
LOOKS = {"feed": False, "attend": True, "both_ways": True}
LOOKING = translator_init(np.random.default_rng(0), ATTENTION["E"], ATTENTION["H"], dtype=float, **LOOKS)
FED.flat[:], LOOKING.flat[:] = WEIGHTS["flat"], ATTENTION["flat"]
TEXTS = [*DATES["presets"].values(), "7", "miércoles, 30 de septiembre de 2026"]


@pytest.fixture(scope="module")
def loaded(browser):
    """A page that holds search.mjs and both nets."""
    page = browser.new_page()
    page.add_script_tag(content=assemble("search.mjs"))
    for name, stored in (("fed", WEIGHTS), ("looking", ATTENTION)):
        sizes = {"V_source": WRITTEN.size, "V_target": ISO.size, "E": stored["E"], "H": stored["H"]}
        sizes["attend"] = name == "looking"
        page.evaluate(f"([flat, sizes]) => {{ window.{name} = seq2seqFrom(flat, sizes); }}", [stored["flat"], sizes])
    yield page
    page.close()


STEPS = """([name, source, tokens]) => {
  const p = window[name], reading = seq2seqRead(source, p);
  let state = seq2seqStart(reading);
  const found = { states: reading.map(steps => steps.map(({ h }) => h)), rows: [], hs: [], weights: [] };
  for (const token of tokens) {
    const [row, after] = seq2seqStep(p)(state, token);
    found.rows.push(row); found.hs.push(after.h); found.weights.push(after.weights);
    state = after;
  }
  return found;
}"""


@pytest.mark.parametrize("text", TEXTS)
def test_javascript_encoder_and_decoder_equal_python(loaded, text):
    """Of both nets: the encoders' states, and after any tokens the decoder's state and its log-probabilities."""
    given = [ISO.start, 3, 0, ISO.end, 7]
    for name, p in (("fed", FED), ("looking", LOOKING)):
        source = WRITTEN.tokens([text], reverse=name == "fed")[0]
        got = loaded.evaluate(STEPS, [name, source[:, 0].tolist(), given])
        x = p.source.E[source]
        if name == "fed":
            np.testing.assert_allclose(got["states"][0], gru_forward(x, None, p.encoder)[0][:, 0], rtol=0, atol=1e-12)
        else:
            wanted, _, _ = bidirectional_forward(x, None, p.encoder)
            both = np.concatenate([got["states"][0], got["states"][1][::-1]], axis=1)
            np.testing.assert_allclose(both, wanted[:, 0], rtol=0, atol=1e-12)
        state = seq2seq_encode(source, p)
        for t, token in enumerate(given):
            row, state = seq2seq_step(p)(state, np.array([token]))
            np.testing.assert_allclose(got["rows"][t], row[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(got["hs"][t], state[0][0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("text", TEXTS)
def test_weights_of_the_page_are_those_of_the_library(inside, text):
    found = inside("dates")("text => translateText(text).answers[1]", text)
    one = Batch(*WRITTEN.tokens([text]), np.array(found["tokens"])[:, None], np.array([len(found["tokens"])]))
    np.testing.assert_allclose(found["used"], alignment(LOOKING, one)[:, 0], rtol=0, atol=1e-12)


def pulls(source, target, net=FED):
    """The gradient of the last target token's log-probability by the embedding of each source token, by the library.

    A net whose source alphabet has a token of its own for each place: the gradient of its embeddings is the one by
    place. The loss is a mean over the tokens, so the last token's part is a difference of two.
    """
    S, p = len(source), net.astype(float)
    p.source.E[:S] = net.source.E[source[:, 0]]

    def summed(tokens):
        if not len(tokens):
            return 0.0
        _, tape = seq2seq_forward(np.arange(S)[:, None], tokens, p)
        return -len(tokens) * seq2seq_backward(tape, p).source.E[:S]

    return summed(target) - summed(target[:-1])


@pytest.mark.parametrize("text", TEXTS)
def test_gradient_of_the_page_is_that_of_the_library(loaded, inside, text):
    """Vectors to 1e-12, and the shares that are drawn of their lengths."""
    source = WRITTEN.tokens([text], reverse=True)[0]
    found = inside("dates")("text => translateText(text).answers[0]", text)
    target = np.array(found["tokens"])[:, None]
    for t in (1, 4, len(target)):
        wanted = pulls(source, target[:t])
        got = loaded.evaluate(
            """([source, tokens]) => {
              const reading = seq2seqRead(source, fed);
              let [row, state, states] = [[], seq2seqStart(reading), []];
              [12, ...tokens].slice(0, -1).forEach((token) => {
                [row, state] = seq2seqStep(fed)(state, token);
                states.push(state);
              });
              return seq2seqPulls(reading, states, row, tokens.at(-1), fed).map((d) => [...d]);
            }""",
            [source[:, 0].tolist(), target[:t, 0].tolist()],
        )
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)
        lengths = np.linalg.norm(wanted, axis=1)[::-1]
        np.testing.assert_allclose(found["used"][t - 1], lengths / lengths.sum(), rtol=1e-6, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("stored", [WEIGHTS, ATTENTION], ids=["fed", "looking"])
def test_stated_accuracy_is_that_of_the_rounded_weights(inside, stored):
    """On every pair of the test days, and as the page says it."""
    p, reverse = (FED, True) if stored is WEIGHTS else (LOOKING, False)
    found = pairs(split_days(seed=1)[1])
    said = translate(p, encode(found, reverse=reverse), end=ISO.end, max_steps=12)
    wrong = int((~exact_match([ISO.text(tokens) for tokens in said.tokens], found.iso)).sum())
    assert stored["exact"] == pytest.approx(1 - wrong / len(found.texts), abs=1e-9) and wrong < 100
    print_ = inside("dates")("() => smallPrint(DATES.words)")
    assert f"Of {len(found.texts):,} texts" in print_
    steps = "4,000" if stored is WEIGHTS else "1,000"
    assert f"({p.size:,} numbers, " in print_ and f"{steps} steps) " in print_
    assert f"gets {wrong} wrong" in print_ if stored is WEIGHTS else print_.endswith(f"steps) {wrong}.")


def test_weights_are_rounded_and_small_and_for_the_alphabets_of_the_task():
    assert (WEIGHTS["written"], WEIGHTS["iso"], ISO.start) == (WRITTEN.characters, ISO.characters, 12)
    for stored in (WEIGHTS, ATTENTION):
        assert all(round(w, stored["digits"]) == w for w in stored["flat"])
    assert len(gzip.compress(classic("dates").encode())) < 60_000


TRANSLATE = """text => {
  const { typed, known, answers } = translateText(text);
  return { answers, read: typed.filter((_, i) => known[i]).join("") };
}"""


@pytest.mark.parametrize("name", DATES["presets"])
def test_presets_of_the_six_languages_come_out_right(inside, name):
    found = inside("dates")(TRANSLATE, DATES["presets"][name])
    for answer, p, reverse in zip(found["answers"], (FED, LOOKING), (True, False), strict=True):
        assert name == "other" or ISO.text(answer["tokens"]) == "2026-03-07"
        state = seq2seq_encode(WRITTEN.tokens([found["read"]], reverse=reverse)[0], p)
        said = greedy(seq2seq_step(p), state, ISO.start, end=ISO.end, max_steps=12)
        assert answer["tokens"] == said.tokens.tolist()
        assert answer["logProb"] == pytest.approx(float(said.log_prob), rel=1e-9)
        np.testing.assert_allclose(np.sum(answer["used"], axis=1), 1, rtol=1e-12)


def test_what_the_nets_cannot_read_is_left_out(inside):
    assert inside("dates")(TRANSLATE, "7 Ω ma\u0301rz <b>")["read"] == "7  márz b"
    assert inside("dates")(TRANSLATE, " Ω ")["answers"] == []


COMPLAINT = "text => complaint(translateText(text), DATES.words)"


@pytest.mark.parametrize(("text", "said"), [
    ("7 mars 2026", ""),
    ("Ω 7 mars 2026?", "No date they learned from has “Ω”, “?”: struck out and left out."),
    ("7 mars", "Without a year of four digits it is no date, and still they write one."),
    ("7 mars 1850", "They learned the years 1950 to 2049 and never saw 1850."),
    ("7 mars 1950", ""),
    ("ΩΩ", "No date they learned from has “Ω”: struck out and left out. Type a date, such as 7 mars 2026."),
    ("", "Type a date, such as 7 mars 2026."),
    ("7 mars 2026" + 29 * " ", "There is room for 40 characters."),
])  # fmt: skip
def test_what_they_cannot_use_is_said(inside, text, said):
    assert inside("dates")(COMPLAINT, text) == said


def test_what_they_cannot_use_stands_beside_the_field_and_the_rest_stays(visit):
    page = visit(DatesExplorer())
    field = page.get_by_label("Type a date, in any of the six languages")
    field.fill("7 Ω mars 2026")
    assert "has “Ω”" in page.locator(".ex-strange").inner_text()
    assert page.locator(".ex-strike").count() == 2, "struck out in both"
    assert "both write 2026-03-07" in page.locator(".ex-say").inner_text()
    assert field.get_attribute("aria-describedby") == page.locator(".ex-strange").get_attribute("id")
    assert field.get_attribute("aria-invalid") == "true"
    field.fill("")
    assert "nothing to read" in page.locator(".ex-say").inner_text()
    assert page.locator("svg .ex-wrote").count() == 0


def test_typing_translates_at_once(visit):
    page = visit(DatesExplorer(anchor="it"))
    field = page.get_by_label("Type a date, in any of the six languages")
    field.fill("")
    field.press_sequentially("25. Dezember 1987")
    page.locator(".ex-say", has_text="both write 1987-12-25").wait_for()
    assert state_in(page, "dates")["text"] == "25. Dezember 1987"
    assert page.evaluate("document.activeElement.value") == "25. Dezember 1987"


def test_what_is_typed_is_never_read_as_html(visit):
    page = visit(DatesExplorer())
    page.get_by_label("Type a date, in any of the six languages").fill("<img src=x onerror=alert(1)> 7.3.2026"[:40])
    page.locator(".ex-say", has_text="img src").wait_for()
    assert page.locator("[data-afm] img").count() == 0


@pytest.mark.parametrize("layout", ["wide", "slim"])
def test_press_frames_a_character_of_either_answer(visit, layout):
    page = visit(DatesExplorer(), viewport={"width": 1280 if layout == "wide" else 390, "height": 1300})
    L = DATES["layout"][layout]
    for (x, y), at in zip(L["panels"], (4, 11), strict=True):
        page.mouse.click(*at_point(page, ".ex-rows", x + 150, y + L["top"] + (at - 0.5) * L["row"]))
        assert state_in(page, "dates")["at"] == at
        framed = page.locator(".ex-frame").all()
        assert len(framed) == 2 and {float(one.get_attribute("height")) for one in framed} == {L["row"]}


def test_where_the_answers_differ_is_underlined(visit):
    assert visit(DatesExplorer()).locator(".ex-differs").count() == 0
    page = visit(DatesExplorer(text="March 7, 1850"))
    said = page.locator(".ex-say").inner_text()
    assert "without attention writes 1950-03-07, the one with attention 1850-03-07" in said
    assert page.locator(".ex-differs").count() == 2, "the second digit, in each"


def test_the_slider_ends_where_the_longer_answer_ends(visit, inside):
    walk = visit(DatesExplorer()).locator("input[data-key=at]")
    answers = inside("dates")("text => translateText(text).answers", DATES["start"]["text"])
    assert int(walk.get_attribute("max")) == max(len(answer["tokens"]) for answer in answers) < DATES["limits"]["at"][1]
