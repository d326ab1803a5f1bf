"""The stack over time (chapter 13): its arithmetic is the library's, and its net says words backwards."""

import json

import numpy as np
import pytest
from explorers import PHONE, at_column, drag, state_in

from experiments.other_memories import right
from gru_book.cells import StackRNNState, stack_rnn_step, stack_step
from gru_book.tasks.strings import reverse
from gru_book.widgets import StackExplorer
from gru_book.widgets._modules import HERE
from gru_book.widgets.stack import STACK, T, trained_net

NET, BLANK = HERE / "stack-net.json", "\u00b7"


def test_javascript_stack_step_equals_the_library(maths):
    rng = np.random.default_rng(0)
    M, values, strengths = 3, np.zeros((1, 0, 3)), np.zeros((1, 0))
    for _ in range(30):
        value = rng.normal(size=(1, M))
        push, pop = rng.integers(0, 2, 2).astype(float) if rng.random() < 0.3 else rng.random(2)
        before = [value[0].tolist(), push, pop, values[0].tolist(), strengths[0].tolist()]
        found = maths("stackStep", *before)
        read, values, strengths, cache = stack_step(value, np.array([push]), np.array([pop]), values, strengths)
        for name, wanted in (("read", read), ("strengths", strengths), ("weights", cache.weights), ("values", values)):
            np.testing.assert_allclose(found[name], wanted[0], rtol=0, atol=1e-12, err_msg=name)


def test_stored_net_says_every_short_word_backwards_as_its_file_states():
    m, stored = trained_net(), json.loads(NET.read_text("utf8"))
    for L in range(1, STACK["longest"] + 1):
        batch = reverse(np.random.default_rng(10_002), 1000, L, letters=len(STACK["letters"]))
        assert right(m, batch)[1] == stored["words right, by length"][str(L)] == 1.0
    assert NET.stat().st_size < 60_000


@pytest.fixture(scope="module")
def computed(inside):
    """What the page computes of a state: the inputs, what is said, and of each step push, pop, strengths, weights."""
    return lambda **state: inside("stack")("compute", StackExplorer(**state).state())


def test_twelve_steps_by_the_net_are_the_librarys(computed):
    found, p = computed(who="net", word="bead"), trained_net().rnn
    symbols = [*STACK["letters"], BLANK]
    state = StackRNNState(np.zeros((1, p.H)), np.zeros((1, p.M)), np.zeros((1, 0, p.M)), np.zeros((1, 0)))
    for symbol, step in zip(found["inputs"], found["steps"], strict=True):
        _, state, cache = stack_rnn_step(np.eye(len(symbols))[[symbols.index(symbol)]], state, p)
        np.testing.assert_allclose([step["push"], step["pop"]], cache.gates[0][0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(step["strengths"], state.strengths[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(step["weights"], cache.stack.weights[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("word", ["face", "abcdef", "a", "", "Bead!", "hhhhhh", "abcdefgh"])
def test_net_answers_the_word_backwards(computed, word):
    found = computed(word=word, who="net")
    counted = [c for c in word.lower() if c in "abcdefgh"][:6]
    assert found["answer"] == "".join(reversed(counted)) and found["right"]
    assert found["inputs"] == counted + [BLANK] * (T - len(counted))


def test_default_says_the_word_backwards_and_frames_its_first_pop(computed):
    start = StackExplorer()
    assert {key: getattr(start, key) for key in STACK["presets"]["whole"]} == STACK["presets"]["whole"]
    assert computed()["answer"][T // 2 :] == start.word[::-1]
    assert start.at == 8 and next(k + 1 for k, pop in enumerate(start.pop) if pop) == 8
    said = '<p class="ex-say">A stack says a word backwards: last in, first out. Step 8 pops 1.00'
    assert said in start.fallback() and "the topmost 1: 1.00 e." in start.fallback()


def test_presets_show_what_the_page_says(computed):
    """Whole steps are a list, half steps never get deep, and fractions are the chapter's example."""
    assert computed(**STACK["presets"]["whole"])["answer"] == "abcdef" + "fedcba"
    assert all(sum(step["strengths"]) == 0.5 for step in computed(**STACK["presets"]["half"])["steps"])
    steps = computed(**STACK["presets"]["fractions"])["steps"][:3]
    assert [np.round(step["strengths"], 12).tolist() for step in steps] == [[0.8], [0.7, 0.5], [0.3, 0.0, 0.9]]
    assert [np.round(step["weights"], 12).tolist() for step in steps] == [[0.8], [0.5, 0.5], [0.1, 0.0, 0.9]]


def test_pointer_and_finger_set_push_and_pop_and_move_the_frame(visit):
    page = visit(StackExplorer())
    drag(page, at_column(page, STACK, 2, "push", 0.0), at_column(page, STACK, 3, "push", 0.5))
    page.mouse.click(*at_column(page, STACK, 5, "pop", 0.0))
    state = state_in(page, "stack")
    assert state["push"][1:3] == pytest.approx([1, 0.5], abs=0.051) and state["pop"][4] == pytest.approx(1, abs=0.051)
    page.mouse.click(*at_column(page, STACK, 9, "pile", 0.5))
    assert state_in(page, "stack")["at"] == 9
    page = visit(StackExplorer(), viewport=PHONE, has_touch=True)
    page.locator(".ex-rows").scroll_into_view_if_needed()
    page.touchscreen.tap(*at_column(page, STACK, 4, "pop", 0.0))
    state = state_in(page, "stack")
    assert state["pop"][3] == pytest.approx(1, abs=0.051) and state["at"] == 4


def test_typed_word_is_answered_and_a_slider_takes_the_net_over_by_hand(visit, computed):
    page = visit(StackExplorer(who="net", at=3))
    page.locator("[data-word]").fill("cab")
    page.locator(".ex-say", has_text="It answers bac: “cab” backwards.").wait_for()
    assert state_in(page, "stack")["word"] == "cab"
    by_net = [step["pop"] for step in computed(who="net", word="cab")["steps"]]
    page.locator("input[data-key=push]").focus()
    page.keyboard.press("Home")
    state = state_in(page, "stack")
    assert state["who"] == "hand" and state["push"][2] == 0
    np.testing.assert_allclose(state["pop"], by_net, atol=0.005)
    page.locator("input[data-key=at]").focus()
    page.keyboard.press("ArrowRight")
    assert state_in(page, "stack")["at"] == 4
    assert page.locator("input[data-key=at]").get_attribute("aria-valuetext") == "step 4"


def test_letters_that_are_skipped_are_struck_out_and_the_answer_names_the_word(visit):
    page = visit(StackExplorer(who="net"))
    strange = page.locator(".ex-strange")
    for typed, struck, read in (
        ("hello", ["llo"], "he"),
        ("Bad ☃ egg!", [" ☃ ", "!"], "badegg"),
        ("abcdefgh", ["gh"], "abcdef"),
    ):
        page.locator("[data-word]").fill(typed)
        assert strange.locator("s").all_text_contents() == struck
        assert strange.locator(".ex-spelt").text_content() == typed.lower()
        assert page.locator(".ex-say").text_content().endswith(f" It answers {read[::-1]}: “{read}” backwards.")
    page.locator("[data-word]").fill("xyz")
    assert page.locator(".ex-say").text_content().endswith("No letter came in, so it has nothing to answer.")
    page.locator("[data-word]").fill("bead")
    assert strange.text_content() == ""
