"""The reader: the page computes what the library does of the stored net, and says what is true of it."""

import gzip
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


def test_a_letter_at_which_nothing_is_written_might_as_well_not_be_there():
    for t in range(1, 10):
        word = "hebräisch"
        kept, left_out = by_the_library(word, t), by_the_library(word[: t - 1] + word[t:])
        for a, b in zip(kept[t:], left_out[t - 1 :], strict=True):
            np.testing.assert_allclose(a["p"], b["p"], rtol=0, atol=1e-12)


def test_words_to_try_were_kept_from_training_and_are_right_but_for_those_that_say_so(inside):
    found = experiment.front_words()
    language = dict(found.test)
    assert not {word for word, _ in found.train} & READER["presets"].keys()
    assert READER["right"].keys() == READER["presets"].keys() > set(READER["missed"]) == {"water"}
    for word in READER["presets"]:
        assert READER["right"][word] == NET["languages"][language[word]]
        p = by_the_library(word)[-1]["p"]
        kept = inside("reader")("telling", word)
        ends = [by_the_library(word, t)[-1]["p"] for t in range(1, len(word) + 1)]
        assert kept == 1 + np.argmax([np.abs(end - p).sum() for end in ends])
        if word in READER["missed"]:
            assert p.argmax() != language[word] and p.max() > READER["sure"], word
            continue
        assert p.argmax() == language[word] and p.max() > 0.9, word
        assert ends[kept - 1].argmax() != language[word], word


def test_the_front_page_says_what_comes_of_its_word_and_how_good_the_net_is(inside):
    intro = (Path(__file__).parents[1] / "book_text" / "intro.md").read_text("utf8")
    word = READER["start"]["word"]
    kept, german = inside("reader")("telling", word), NET["languages"].index("de")
    assert f"Press the *{word[kept - 1]}*, " in intro and ", and the answer is unsure.\n" in intro
    most = int(np.argmax([(1 - step["z"]).mean() for step in by_the_library(word)[: len(word)]]))
    assert f"Press the *{word[most]}*, where most is rewritten, and it is still German:" in intro and most + 1 != kept
    for t in range(1, len(word) + 1):
        p = by_the_library(word, t)[-1]["p"]
        assert p.max() < READER["sure"] if t == kept else p.argmax() == german and p.max() > READER["sure"]
    own, counts = NET["measured"]["8 bits"], NET["measured"]["counts"]
    assert own["words"][0] == 2760 and word not in experiment.everyday()
    assert f"{own['test']:.2f} {counts['end']:.2f}" == "0.68 0.73"


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
def test_counts_get_right_what_is_stored():
    assert experiment.as_stored(experiment.counted()) == NET["measured"]["counts"]


def test_with_its_weights_it_takes_at_most_60_kilobytes_to_send():
    assert len(gzip.compress(classic("reader").encode())) <= 60_000


# ------------------------------------------------------------------------------------------------ in the page


def sentence(page):
    return page.locator(".ex-say").text_content().replace("\u00a0", " ")


def test_the_reader_types_presses_a_letter_and_looks_at_one(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    page.locator("input[type=text]").fill("Séoul")
    assert sentence(page) == "Unsure after “s”; “é” turns it to French, 98 % at the end."
    page.get_by_text("Press “é”: the answer turns to English.").wait_for()  # it is looked for when nobody types
    page.locator("[data-t='2']").click()
    assert state_in(page, "reader") | {"unit": 0} == {"word": "Séoul", "kept": 2, "at": 19, "unit": 0}
    assert sentence(page) == "As if it had read “soul”: English 89 %, no longer French."
    assert page.locator(".ex-press-this").text_content() == "Press “é” again, and it is read."
    assert page.locator(".ex-ghost").count() == 2
    page.locator("[data-t='4']").hover()
    assert sentence(page).startswith("After “sou” it is unsure: ")
    assert page.locator(".ex-frame").count() == 1  # around the letter with its belief
    page.locator("[data-t='2']").press("Enter")
    assert state_in(page, "reader")["kept"] == 0


def test_bands_are_named_the_list_shows_their_shades_and_a_word_to_try_its_language(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    names = [one.text_content() for one in page.locator(".ex-read .ex-part").all()]
    assert {"English", "Swedish", "Finnish", "German", "others"} <= set(names)
    key = page.locator(".ex-read .ex-swatch").first.get_attribute("class")
    assert "ex-band-0" in key and page.locator(".ex-lead").text_content().startswith("German")
    assert page.locator("[data-preset='szkoła'] small").text_content() == "Polish"
    assert page.locator("[data-preset='water'] small").text_content() == "English, guessed wrong"


def test_letters_look_pressable_and_the_one_that_most_turns_more_so(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    assert page.locator(".ex-press").count() == page.locator(".ex-keys button").count() == 10
    letter, edge = (page.locator(one).bounding_box() for one in ("[data-t='8']", ".ex-most"))
    assert abs(letter["x"] + letter["width"] / 2 - edge["x"] - edge["width"] / 2) < 1
    assert page.locator(".ex-press-this").text_content() == "Press “c”: the answer turns unsure."
    page.locator("[data-t='8']").click()
    assert page.locator(".ex-pressed").count() == 1 and page.locator(".ex-most").count() == 0
    assert sentence(page) == "As if it had read “hebräish”: unsure, Swedish 44 %, Finnish 35 %."


def test_below_one_half_it_is_unsure_wherever_that_is_said(visit):
    page = visit(ReaderExplorer(), reduced_motion="reduce")
    page.locator("[data-t='7']").hover()
    assert sentence(page) == "After “hebräis” it is unsure: Finnish 44 %, German 34 %."
    put(page, {"word": "kinder"})
    assert sentence(page).startswith("At the end of the word it is unsure: German 24 %, ")


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
  window.bars = () => document.querySelectorAll('.ex-read .ex-written').length;
  window.seen = [];
  window.drawn = (see) => {
    const watch = new MutationObserver(() => see(watch));
    watch.observe(document.querySelector('.ex-read'), { childList: true });
  };
  const look = () => window.seen.push([window.bars(), document.querySelector('.ex-say').textContent]);
  addEventListener('DOMContentLoaded', () => { look(); window.drawn(look); });
}</script>"""


def test_it_plays_once_by_itself_and_every_sentence_is_true_of_its_drawing(visit):
    page = visit(ReaderExplorer(), before=WATCHED, reduced_motion="no-preference")
    page.wait_for_function("seen.some(([count]) => count === 0) && bars() === 10")
    page.wait_for_timeout(400)
    seen = page.evaluate("seen")
    shown = [count for count, _ in seen]
    assert [b for a, b in zip([None, *shown], shown, strict=False) if a != b] == [10, *range(11)]
    for count, text in seen:
        wanted = {0: "Type a word", 10: "Unsure after “hebräis”; “c” turns it to German"}
        assert text.startswith(wanted.get(count, f"After “{'hebräisch'[:count]}” it ")), (count, text)


# Types a word when the second letter is drawn. It is in the page from the beginning: a busy machine asks too late.
TYPES = """<script>addEventListener('DOMContentLoaded', () => drawn((watch) => {
  if (bars() !== 2) return;
  watch.disconnect();
  const input = document.querySelector('input[type=text]');
  input.value = 'szko';
  input.dispatchEvent(new Event('input', { bubbles: true }));
  window.typed = bars();
}))</script>"""


def test_typing_stops_the_playing(visit):
    page = visit(ReaderExplorer(), before=WATCHED + TYPES, reduced_motion="no-preference")
    page.wait_for_function("window.typed")
    assert page.evaluate("typed") == 5 and sentence(page).endswith(" % at the end.")


def test_the_belief_flows_when_a_letter_is_pressed_and_then_nothing_moves(visit):
    page = visit(ReaderExplorer(), before=WATCHED, reduced_motion="no-preference")
    page.locator("[data-t='8']").click()
    page.wait_for_timeout(600)
    assert page.evaluate("seen.splice(0).length") > 5
    page.wait_for_timeout(300)
    assert page.evaluate("seen.length") == 0


def test_the_fold_says_how_good_it_is(visit):
    fold = visit(ReaderExplorer(), reduced_motion="reduce").locator("details").last
    text, table = (fold.locator(one).text_content().replace("\u00a0", " ") for one in (".ex-note", "table"))
    own, counts = NET["measured"]["8 bits"], NET["measured"]["counts"]
    found = experiment.front_words()
    beginnings, common = {word[:3] for word, _ in found.train}, set(experiment.everyday())
    assert not any(word[:3] in beginnings for word, _ in found.test)
    assert own["words"] == [len(found.test), len([pair for pair in found.test if pair in common])]
    assert "English, German, French, Spanish, Swedish, Finnish, Hungarian, Polish and Turkish." in text
    for shares in ((own["test"], own["everyday"]), (counts["end"], counts["everyday"])):
        assert "".join(f"{100 * v:.1f} %" for v in shares) in table
    assert f"{own['words'][0]:,} test wordsthe {own['words'][1]} everyday words among them" in table


def test_the_picture_the_slider_and_the_opened_letter_play_together(visit):
    see = """() => drawn(() => window.at.push([bars(), document.querySelector('input[data-key=at]').value,
      document.querySelector('summary').textContent]))"""
    page = visit(ReaderExplorer(), before=WATCHED, reduced_motion="no-preference")
    page.evaluate(f"window.at = []; ({see})()")
    page.wait_for_function("at.some(([count]) => count === 5) && bars() === 10")
    page.wait_for_timeout(200)
    found = page.evaluate("at")
    for count, at, name in found:
        if 0 < count < 10:
            assert (at, name) == (str(count), f"Open “{'hebräisch'[count - 1]}”: one unit there")
    assert found[-1] == [10, "10", "Open “c”: one unit there"]
