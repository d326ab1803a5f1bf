"""Subtraction (chapter 7): the page runs the library's net to 1e-12, and Python's whole numbers judge it."""

import re

import numpy as np
import pytest
from explorers import PHONE, WIDE, at_point, drag, layout_of, put, state_in

from experiments import explorer_nets
from gru_book.models.hand_set import hand_set
from gru_book.models.reader import subtractor_predict
from gru_book.tasks.subtraction import encode, subtract_bits
from gru_book.widgets import SubtractionExplorer
from gru_book.widgets.subtraction import NETS, SUBTRACTION
from gru_lib import gru_forward

KINDS = ("four", "eight", "hand")
PRESETS = SUBTRACTION["presets"]
PAIRS = [(2**64 - 1, 1), (2**53 + 1, 2**53), (0, 0), (3, 5), (14695981039346656037, 1099511628211)]


COMPUTE = """s => {
  const { T, hs, ys, wrong, said, right } = compute(s);
  return { T, hs, ys, wrong, said: String(said), right: String(valueOf(right)) };
}"""


@pytest.fixture(scope="module")
def computed(inside):
    """What the page computes of a state: the states hs, the probabilities ys, and the two numbers."""

    def computed(**state):
        found = inside("subtraction")(COMPUTE, SubtractionExplorer(**state).state())
        return found | {"said": int(found["said"]), "right": int(found["right"])}

    return computed


@pytest.mark.parametrize("net", KINDS)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_javascript_runs_the_net_as_the_library_does(computed, net, a, b):
    got, T = computed(a=a, b=b, net=net), max(4, a.bit_length(), b.bit_length())
    m = explorer_nets.from_lists(NETS["nets"][net])
    xs = np.array([[n >> t & 1 for n in (a, b)] for t in range(T)], float)[:, None]
    ys = subtractor_predict(m, xs)[:, 0, 0]
    np.testing.assert_allclose(got["hs"], gru_forward(xs, None, m.rnn)[0][:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(got["ys"], ys, rtol=0, atol=1e-12)
    says = [int(y > 0.5) for y in ys]
    assert got["T"] == T and got["right"] == (a - b) % 2**T
    assert got["said"] == sum(bit << t for t, bit in enumerate(says))
    assert got["wrong"] == [t + 1 for t in range(T) if says[t] != got["right"] >> t & 1]


def test_stored_measurements_are_those_of_the_stored_weights():
    for name, weights in NETS["nets"].items():
        m = explorer_nets.from_lists(weights)
        assert NETS["measured"][name] == explorer_nets.measure_subtractor(m) | {"borrow": explorer_nets.borrow_unit(m)}
        assert explorer_nets.as_lists(m) == weights
    assert (explorer_nets.from_lists(NETS["nets"]["hand"]).flat == hand_set(20).flat).all()
    for name in ("four", "eight"):
        flat = explorer_nets.from_lists(NETS["nets"][name]).flat
        np.testing.assert_array_equal(flat, np.round(flat, 3))
    for name, seed in NETS["seed"].items():
        assert len(NETS["tried"][name]) == 10
        row = NETS["tried"][name][seed]
        assert {key: NETS["measured"][name][key] for key in row} == row


@pytest.mark.slow
@pytest.mark.parametrize("make", [explorer_nets.four_bits, explorer_nets.tidied])
def test_a_training_made_anew_does_what_the_stored_one_does(make):
    name = {"four_bits": "four", "tidied": "eight"}[make.__name__]
    found = explorer_nets.measure_subtractor(make(NETS["seed"][name]), 200)
    assert found["four"] == 1
    assert (found["proved"], found["random"] == 1) == ((False, False) if name == "four" else (True, True))


def test_default_shows_the_point(computed):
    """The tidied net passes a borrow over twelve zeros in one unit; the one trained on four bits goes wrong there."""
    start, right, four, hand = SUBTRACTION["start"], computed(), computed(net="four"), computed(net="hand")
    assert right["wrong"] == hand["wrong"] == [] and right["T"] == 32 and start["net"] == "eight"
    borrow = NETS["measured"]["eight"]["borrow"]
    bits = encode([int(start["a"])], [int(start["b"])], 32).xs.astype(int)
    due = subtract_bits(bits[..., 0], bits[..., 1])[1][1:, 0] == 1
    np.testing.assert_array_equal(np.array(right["hs"])[:, borrow["unit"]] * borrow["sign"] > 0, due)
    assert four["wrong"] == list(range(14, 29))
    np.testing.assert_array_equal(np.array(four["hs"])[:, 0] > 0, due, "it keeps the borrow all the same")
    pairs = {name: (int(preset["a"]), int(preset["b"])) for name, preset in PRESETS.items()}
    assert [name for name, (a, b) in pairs.items() if a < b] == ["below"]
    assert max(pairs["four"]) < 2**4 and pairs["wide"][0] >= 2**63
    wide = computed(**SUBTRACTION["presets"]["wide"] | {"net": "four"})
    assert wide["said"] - wide["right"] == -(2**8)


def test_typed_numbers_are_subtracted_exactly(visit):
    page = visit(SubtractionExplorer())
    a, b = (page.locator(f"[data-number={key}]") for key in "ab")
    a.fill("18446744073709551615")
    b.fill("1")
    page.locator(".ex-say", has_text="= 18446744073709551614. The net says 18446744073709551614").wait_for()
    for typed, meant in (("0b11", "3"), ("0xff", "255")):
        b.fill(typed)
        assert state_in(page, "subtraction")["b"] == meant and b.input_value() == typed, "as typed, while it is"
    a.focus()
    assert b.input_value() == "255"


def test_what_is_no_such_number_changes_nothing(visit):
    page = visit(SubtractionExplorer())
    before, a = state_in(page, "subtraction"), page.locator("[data-number=a]")
    for text in ("18446744073709551616", "-1", "1.5", "two", "", "0b12", "1e3"):
        a.fill(text)
        assert a.get_attribute("aria-invalid") == "true", text
        assert state_in(page, "subtraction") == before, text
        said = page.locator(".ex-strange").first.text_content()
        assert (f"“{text}”" if text else "empty") in said and said.endswith(f"a stays {before['a']}."), text
        page.locator(f"[aria-live]:text-is('{said}')").wait_for(state="attached")
        page.locator("[data-number=b]").focus()
        assert (a.input_value(), a.get_attribute("aria-invalid")) == (before["a"], None), text


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_errors_are_hatched_and_crossed_however_narrow_the_places(visit, viewport):
    page = visit(SubtractionExplorer(), viewport=viewport)
    for state, wrong in (({"net": "four"}, 15), ({"net": "eight"}, 0), (PRESETS["wide"] | {"net": "four"}, 1)):
        put(page, state)
        assert page.locator(".ex-hatch, .ex-cross").count() == (2 if wrong else 0)
        assert page.locator(".ex-error").all_text_contents() == ([f"× {wrong} wrong"] if wrong else [])
    hatched, crossed = (page.locator(f".ex-rows .{name}").bounding_box() for name in ("ex-hatch", "ex-cross"))
    assert hatched["width"] == pytest.approx(page.locator(".ex-frame").bounding_box()["width"], abs=3)
    assert min(crossed["width"], crossed["height"]) > 8, "seen however narrow"
    assert abs(crossed["x"] + crossed["width"] / 2 - at_place(page, 9, 0)[0]) < 1, "the cross is at place 9"


def at_place(page, t, y):
    """A point in column t of the drawing, y in its own units."""
    layout = layout_of(page, SUBTRACTION)
    column = min(layout["most"], layout["room"] / int(page.locator("[data-key=at]").get_attribute("max")))
    return at_point(page, ".ex-rows", layout["left"] + (t - 0.5) * column, y)


def test_pointer_flips_a_bit_and_moves_the_frame(visit):
    page = visit(SubtractionExplorer(a=8, b=1))
    layout = SUBTRACTION["layout"]["wide"]
    page.mouse.click(*at_place(page, 2, layout["a"] + 7))
    page.mouse.click(*at_place(page, 3, layout["b"] + 7))
    state = state_in(page, "subtraction")
    assert (state["a"], state["b"], state["at"]) == ("10", "5", 3)
    drag(page, *(at_place(page, t, layout["units"] + 40) for t in (1, 4)))
    assert state_in(page, "subtraction")["at"] == 4
    told = re.sub(r"[^\w.]+", " ", page.locator(".ex-now").text_content())  # 10 - 5: place 4 has 1, 0 and a borrow
    assert told.startswith("place 4 a 1 b 0 borrow 1 difference 0 net 0.")


def test_net_is_chosen_by_keyboard_and_says_where_it_comes_from(visit):
    page = visit(SubtractionExplorer())
    page.locator("input[data-choice=net]:checked").focus()
    page.keyboard.press("ArrowLeft")
    assert state_in(page, "subtraction")["net"] == "four"
    said = page.locator(".ex-origin").inner_text()
    assert "136 of the 136 pairs" in said
    assert f"{round(1000 * NETS['measured']['four']['random'])} of 1000 random" in said
    page.locator(".ex-say", has_text="wrong in").wait_for()


def test_ints_and_digits_are_taken_and_all_64_bits_kept():
    explorer = SubtractionExplorer(a=2**64 - 1, b="0007")
    assert (explorer.a, explorer.b) == (str(2**64 - 1), "7")
    explorer.a = np.uint64(2**63)
    assert explorer.value["a"] == str(2**63)
