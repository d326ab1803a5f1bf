"""Subtraction (chapter 7): the page runs the library's net to 1e-12, and Python's whole numbers judge it."""

import re

import numpy as np
import pytest
from explorers import PHONE, WIDE, at_point, drag, layout_of, put, state_in

from experiments import explorer_nets
from gru_book.models.hand_set import hand_set
from gru_book.models.reader import subtractor_predict
from gru_book.tasks.subtraction import encode, random_pairs, subtract_bits
from gru_book.widgets import SubtractionExplorer
from gru_book.widgets.subtraction import NETS, SUBTRACTION
from gru_lib import gru_forward

KINDS = ("four", "eight", "hand")
PRESETS = SUBTRACTION["presets"]
PAIRS = [(2**64 - 1, 1), (2**63, 1), (2**53 + 1, 2**53), (0, 0), (3, 5), (14695981039346656037, 1099511628211)]


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


@pytest.mark.parametrize("net", ["eight", "hand"])
def test_proved_nets_are_right_on_numbers_of_64_bits(computed, net):
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = (int(n) for n in rng.integers(0, 2**64, 2, dtype=np.uint64))
        found = computed(a=a, b=b, net=net)
        assert found["wrong"] == [] and found["said"] == (a - b) % 2 ** found["T"]


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
    start, right = SUBTRACTION["start"], computed()
    assert right["wrong"] == [] and right["T"] == 32 and start["net"] == "eight"
    borrow = NETS["measured"]["eight"]["borrow"]
    bits = encode([int(start["a"])], [int(start["b"])], 32).xs.astype(int)
    _, due = subtract_bits(bits[..., 0], bits[..., 1])
    up = np.sign(np.array(right["hs"])[:, borrow["unit"]]) * borrow["sign"]
    np.testing.assert_array_equal(up > 0, due[1:, 0] == 1)
    assert due[1:, 0].sum() > 16
    four = computed(net="four")
    assert four["wrong"] == list(range(14, 29))
    np.testing.assert_array_equal(np.array(four["hs"])[:, 0] > 0, due[1:, 0] == 1, "it keeps the borrow all the same")
    wide = computed(**SUBTRACTION["presets"]["wide"] | {"net": "four"})
    assert wide["said"] - wide["right"] == -(2**8)
    assert computed(a=10, b=1, net="four")["wrong"] == []


def test_marked_unit_is_the_borrow_as_often_as_is_said():
    batch = random_pairs(np.random.default_rng(3), 100, 64)
    _, due = subtract_bits(batch.xs[..., 0], batch.xs[..., 1])
    for name, row in NETS["measured"].items():
        hs, _, _ = gru_forward(batch.xs, None, explorer_nets.from_lists(NETS["nets"][name]).rnn)
        agree = ((row["borrow"]["sign"] * hs[..., row["borrow"]["unit"]] > 0) == (due[1:] == 1)).mean()
        assert agree == pytest.approx(row["borrow"]["share"], abs=0.01), name


def test_typed_numbers_are_subtracted_exactly(visit):
    page = visit(SubtractionExplorer())
    a, b = (page.locator(f"[data-number={key}]") for key in "ab")
    a.fill("18446744073709551615")
    b.fill("1")
    state = state_in(page, "subtraction")
    assert (state["a"], state["b"]) == ("18446744073709551615", "1")
    page.locator(".ex-say", has_text="= 18446744073709551614. The net says 18446744073709551614").wait_for()
    b.fill("0b11")
    assert state_in(page, "subtraction")["b"] == "3"
    assert b.input_value() == "0b11", "as it was typed, while it is being typed"
    b.fill("0xff")
    assert state_in(page, "subtraction")["b"] == "255"
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
        marks = page.locator(".ex-hatch, .ex-cross")
        assert marks.count() == (2 if wrong else 0)
        assert page.locator(".ex-error").all_text_contents() == ([f"× {wrong} wrong"] if wrong else [])
    hatched, crossed = (page.locator(f".ex-rows .{name}").bounding_box() for name in ("ex-hatch", "ex-cross"))
    place = page.locator(".ex-frame").bounding_box()["width"]
    assert hatched["width"] == pytest.approx(place, abs=3) and hatched["height"] > 30
    assert min(crossed["width"], crossed["height"]) > 8
    off = crossed["x"] + crossed["width"] / 2 - at_place(page, 9, 0)[0]
    assert abs(off) < 1, "the cross is at place 9"


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
    assert page.locator("[data-number=a]").input_value() == "10"
    drag(page, *(at_place(page, t, layout["units"] + 40) for t in (1, 4)))
    assert state_in(page, "subtraction")["at"] == 4
    told = re.sub(r"[^\w.]+", " ", page.locator(".ex-now").text_content())  # 10 - 5: place 4 has 1, 0 and a borrow
    assert told.startswith("place 4 a 1 b 0 borrow 1 difference 0 net 0.")


def test_finger_flips_a_bit(visit):
    page = visit(SubtractionExplorer(a=8, b=1), viewport=PHONE, has_touch=True)
    page.locator(".ex-rows").scroll_into_view_if_needed()
    page.touchscreen.tap(*at_place(page, 1, SUBTRACTION["layout"]["slim"]["a"] + 7))
    assert state_in(page, "subtraction")["a"] == "9"


def test_net_is_chosen_by_keyboard_and_says_where_it_comes_from(visit):
    page = visit(SubtractionExplorer())
    page.locator("input[data-choice=net]:checked").focus()
    page.keyboard.press("ArrowLeft")
    assert state_in(page, "subtraction")["net"] == "four"
    row = NETS["measured"]["four"]
    said = page.locator(".ex-origin").inner_text()
    assert "136 of the 136 pairs" in said and f"{round(1000 * row['random'])} of 1000 random" in said
    page.locator(".ex-say", has_text="wrong in").wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert state_in(page, "subtraction")["net"] == "hand"
    assert page.locator("text=unit 4").count() == 0


def test_ints_and_digits_are_taken_and_all_64_bits_kept():
    explorer = SubtractionExplorer(a=2**64 - 1, b="0007")
    assert (explorer.a, explorer.b) == (str(2**64 - 1), "7")
    explorer.a = np.uint64(2**63)
    assert explorer.value["a"] == str(2**63)
