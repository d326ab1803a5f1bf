"""The reader: the page computes what the library does of the stored net, and says what is true of it."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from explorers import put, state_in

from experiments import words as experiment
from gru_book.results import load
from gru_book.widgets import ReaderExplorer
from gru_book.widgets._modules import classic
from gru_book.widgets.reader import READER
from gru_lib import gru_step
from gru_lib.ops import log_softmax

NET = load("words_net")
WORDS = ["hebräisch", "länsi-afrikka", "a7b", "x" * 18, ""]

READ = """(word, kept) => {
  const { letters, now } = reading(word, kept);
  const plain = now.map(({ r, z, n, h, p, write }) =>
    ({ r: [...r], z: [...z], n: [...n], h: [...h], p: [...p], write }));
  return { letters, plain };
}"""


def by_the_library(word, kept=0):
    """What gru_lib makes of a word with the stored net: after each letter gates, state and belief."""
    m = experiment.restored(NET)
    alphabet = experiment.LETTERS
    known = [alphabet.characters.index(c) if c in NET["letters"] else alphabet.start for c in word]
    h, rows = np.zeros((1, m.rnn.H)), []
    for t, token in enumerate([*known, alphabet.end], start=1):
        new, cache = gru_step(m.embed.E[token][None], h, m.rnn)
        z = np.ones_like(h) if t == kept else cache.z
        h = h if t == kept else new
        p = np.exp(log_softmax(h @ m.out.W + m.out.b))[0]
        row = {"r": cache.r[0], "z": z[0], "n": cache.n[0], "h": h[0], "p": p}
        rows.append(row | {"write": 1 - z.mean()})
    return rows


@pytest.mark.parametrize("word", WORDS)
def test_the_page_reads_as_the_library_does(inside, word):
    for kept in (0, 1, len(word) // 2 + 1, len(word) + 1):
        got = inside("reader")(READ, word, kept)
        wanted = by_the_library(word, kept)
        assert got["letters"] == list(word) and len(got["plain"]) == len(wanted)
        for t, (a, b) in enumerate(zip(got["plain"], wanted, strict=True), start=1):
            for name, value in b.items():
                np.testing.assert_allclose(a[name], value, rtol=0, atol=1e-12, err_msg=f"{word} {kept} {t} {name}")


def test_what_is_typed_is_read_in_lower_case_and_composed(inside):
    for typed, letters in (("  SZKOŁA ", "szkoła"), ("a\u0301", "á"), ("l’eau–de", "l'eau-de")):
        assert "".join(inside("reader")("lettersOf", typed)) == letters


def test_words_to_try_were_kept_from_training_are_right_and_turn_on_one_letter(inside):
    found = experiment.front_words()
    language = dict(found.test)
    assert not {word for word, _ in found.train} & READER["presets"].keys()
    assert READER["right"].keys() == READER["presets"].keys()
    for word in READER["presets"]:
        assert READER["right"][word] == NET["languages"][language[word]]
        p = by_the_library(word)[-1]["p"]
        assert p.argmax() == language[word] and p.max() > 0.9, word
        kept = inside("reader")("telling", word)
        ends = [by_the_library(word, t)[-1]["p"] for t in range(1, len(word) + 1)]
        assert kept == 1 + np.argmax([np.abs(end - p).sum() for end in ends])
        assert ends[kept - 1].argmax() != language[word], word
        if word == READER["start"]["word"]:  # the front page says what happens
            intro = (Path(__file__).parents[1] / "book_text" / "intro.md").read_text("utf8")
            said = READER["words"][NET["languages"][ends[kept - 1].argmax()]]
            assert re.search(rf"Press the \*{word[kept - 1]}\*, .* the answer is {said}\.", intro)
            assert {p.argmax() for t, p in enumerate(ends, 1) if t != kept} == {language[word]}  # "any other letter"
            measured = NET["measured"]
            assert f"{measured['8 bits']['test']:.2f} {measured['counts']['end']:.2f}" == "0.68 0.73"
            assert f"{measured['8 bits']['everyday']:.2f}" == "0.59"


def test_the_opened_cell_is_this_units_step(inside):
    word, t, unit = "séoul", 2, 52
    got = inside("reader")("([word, t, unit]) => cellOf(reading(word, 0).now[t - 1], unit)", [word, t, unit])
    before, wanted = by_the_library(word)[t - 2 : t]
    s, c = got["state"], got["cell"]
    assert s["h_prev"] == pytest.approx(before["h"][unit], abs=1e-12)
    assert [c[name] for name in "rznh"] == pytest.approx([wanted[name][unit] for name in "rznh"], abs=1e-12)
    assert np.tanh(s["x"] * s["W_xn"] + s["b_n"] + c["past"]) == pytest.approx(c["n"], abs=1e-12)


def test_two_beliefs_that_share_nothing_are_one_apart(inside):
    assert inside("reader")("apart", [1, 0, 0], [0, 0.5, 0.5]) == 1
    assert inside("reader")("apart", [0.5, 0.5], [0.25, 0.75]) == 0.25


@pytest.mark.slow
def test_the_unit_is_chosen_and_measured_as_the_page_says():
    assert experiment.as_stored(experiment.noted(experiment.restored(NET))) == NET["noted"]


def test_with_its_weights_it_takes_at_most_60_kilobytes_to_send():
    assert len(gzip.compress(classic("reader").encode())) <= 60_000


# ------------------------------------------------------------------------------------------------ in the page


def sentence(page):
    return page.locator(".ex-say").text_content().replace("\u00a0", " ")


def test_the_reader_types_presses_a_letter_and_looks_at_one(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    page.locator("input[type=text]").fill("Séoul")
    assert sentence(page) == "After “s” it says English 21 %; “é” turns it to French, 70 %. At the end: French 98 %."
    page.locator("[data-t='2']").click()
    assert state_in(page, "reader") | {"unit": 0} == {"word": "Séoul", "kept": 2, "at": 19, "unit": 0}
    assert "z = 1) the net has read “soul”: English 89 %, no longer French 98 %." in sentence(page)
    assert page.locator(".ex-ghost").count() == 2
    page.locator("[data-t='4']").hover()
    assert sentence(page).startswith("After “sou” it says ")
    assert page.locator(".ex-frame").count() == 2  # around the letter with its belief, and around its unit
    page.locator("[data-t='2']").press("Enter")
    assert state_in(page, "reader")["kept"] == 0


def test_bands_are_named_the_list_shows_their_shades_and_a_word_to_try_its_language(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    names = [one.text_content() for one in page.locator(".ex-read .ex-part").all()]
    assert {"English", "Swedish", "Finnish", "German", "others"} <= set(names)
    key = page.locator(".ex-read .ex-swatch").first.get_attribute("class")
    assert "ex-band-0" in key and page.locator(".ex-lead").text_content().startswith("German")
    assert page.locator("[data-preset='szkoła'] small").text_content() == "Polish"
    said = "unit 43 of 64", "tells whether", "sch has come"
    assert all(page.locator(".ex-read", has_text=one).count() == 1 for one in said)
    put(page, {"word": "cumpleaños"})  # there h is high without it
    assert page.locator(".ex-read", has_text="tells whether").count() == 0


def test_letters_it_never_saw_are_struck_out_and_named(visit):
    page = visit(ReaderExplorer(word="q7ñ%"), reduced_motion="reduce")
    assert page.locator(".ex-strike").count() == 2
    assert page.locator(".ex-strange").text_content().startswith("No word it learned from has 7 %:")
    put(page, {"word": "hello"})
    assert page.locator(".ex-strike").count() == 0 and page.locator(".ex-strange").text_content() == ""
    page.locator("input[type=text]").fill("x" * 18)
    assert page.locator(".ex-strange").text_content() == "It reads at most 18 letters."


def test_letters_can_be_walked_and_kept_from_the_keyboard(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    assert page.locator(".ex-keys [tabindex='0']").count() == 1
    page.locator("[data-keep]").focus()  # so that the focus comes by the keyboard
    page.locator("[data-t='1']").focus()
    for key in ("ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.t") == "2"
    page.keyboard.press("Enter")
    assert state_in(page, "reader")["kept"] == 2
    assert page.locator("[data-t='2'][aria-pressed=true][tabindex='0']").count() == 1


# Timers four times as fast, and a list of what was drawn and said, entry by entry: letters read, and the sentence.
WATCHED = """<script>{
  const timer = setTimeout;
  window.setTimeout = (call, time) => timer(call, time / 4);
  window.plates = () => document.querySelectorAll('.ex-read .ex-plates').length;
  window.seen = [];
  window.drawn = (see) => {
    const watch = new MutationObserver(() => see(watch));
    watch.observe(document.querySelector('.ex-read'), { childList: true });
  };
  const look = () => window.seen.push([window.plates(), document.querySelector('.ex-say').textContent]);
  addEventListener('DOMContentLoaded', () => { look(); window.drawn(look); });
}</script>"""


def test_it_plays_once_by_itself_and_every_sentence_is_true_of_its_drawing(visit):
    page = visit(ReaderExplorer(), before=WATCHED, reduced_motion="no-preference")
    page.wait_for_function("seen.some(([count]) => count === 0) && plates() === 10")
    page.wait_for_timeout(400)
    seen = page.evaluate("seen")
    shown = [count for count, _ in seen]
    assert [b for a, b in zip([None, *shown], shown, strict=False) if a != b] == [10, *range(11)]
    for count, text in seen:
        wanted = {0: "Type a word", 10: "After “hebräis” it says Finnish"}
        assert text.startswith(wanted.get(count, f"After “{'hebräisch'[:count]}” it says ")), (count, text)


# Types a word when the second letter is drawn. It is in the page from the beginning: a busy machine asks too late.
TYPES = """<script>addEventListener('DOMContentLoaded', () => drawn((watch) => {
  if (plates() !== 2) return;
  watch.disconnect();
  const input = document.querySelector('input[type=text]');
  input.value = 'szko';
  input.dispatchEvent(new Event('input', { bubbles: true }));
  window.typed = plates();
}))</script>"""


def test_typing_stops_the_playing(visit):
    page = visit(ReaderExplorer(), before=WATCHED + TYPES, reduced_motion="no-preference")
    page.wait_for_function("window.typed")
    assert page.evaluate("typed") == 5 and sentence(page).endswith("%.")


def test_the_belief_flows_when_a_letter_is_pressed_and_then_nothing_moves(visit):
    page = visit(ReaderExplorer(), before=WATCHED, reduced_motion="no-preference")
    page.locator("[data-t='8']").click()
    page.wait_for_timeout(600)
    assert page.evaluate("seen.splice(0).length") > 5
    page.wait_for_timeout(300)
    assert page.evaluate("seen.length") == 0


def test_the_small_print_has_the_measured_numbers(visit):
    text = visit(ReaderExplorer(), reduced_motion="reduce").locator(".ex-note").text_content().replace("\u00a0", " ")
    own, counts = NET["measured"]["8 bits"], NET["measured"]["counts"]
    found = experiment.front_words()
    beginnings = {word[:3] for word, _ in found.train}
    assert own["words"][0] == len(found.test) and not any(word[:3] in beginnings for word, _ in found.test)
    assert "English, German, French, Spanish, Swedish, Finnish, Hungarian, Polish and Turkish." in text
    assert f"as one of the {own['words'][0]:,} test words. Of these it gets {100 * own['test']:.1f} % right" in text
    assert f"four letters, {100 * counts['end']:.1f} %." in text
    row = NET["noted"]
    assert row["unit"] == READER["start"]["unit"] and f"Unit {row['unit']} was chosen on words from training" in text
    assert f"whether “{row['run']}” has come" in text and f"in {100 * row['auc']:.1f} % of such pairs." in text
    assert f"held at 0 the net still gets {100 * row['without']:.1f} % right" in text


def test_the_picture_the_slider_and_the_opened_letter_play_together(visit):
    see = """() => drawn(() => window.at.push([plates(), document.querySelector('input[data-key=at]').value,
      document.querySelector('summary').textContent]))"""
    page = visit(ReaderExplorer(), before=WATCHED, reduced_motion="no-preference")
    page.evaluate(f"window.at = []; ({see})()")
    page.wait_for_function("at.some(([count]) => count === 5) && plates() === 10")
    page.wait_for_timeout(200)
    found = page.evaluate("at")
    for count, at, name in found:
        if 0 < count < 10:
            assert (at, name) == (str(count), f"Open “{'hebräisch'[count - 1]}”: one unit there")
    assert found[-1] == [10, "10", "Open “c”: one unit there"]
