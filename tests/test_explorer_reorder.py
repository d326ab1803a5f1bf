"""Reorder the tokens (chapter 1): three nets of the library, and words that can be put into any order."""

from itertools import permutations

import numpy as np
import pytest
from explorers import PHONE, drag, random_explorer, state_in

from gru_book.cells import cbow_forward, cbow_init
from gru_book.widgets import ReorderExplorer
from gru_book.widgets.reorder import REORDER
from gru_lib import elman_forward, elman_init

START = REORDER["start"]


@pytest.fixture(scope="module")
def differences(inside):
    """For orders and a factor, how far apart each net's two last states are, as the page computes it."""
    script = """(orders, factor) => orders.map(order => Object.fromEntries(
      Object.entries(compare({ order, factor })).map(([net, { difference }]) => [net, difference])))"""
    return lambda orders, factor=START["factor"]: inside("reorder")(script, orders, factor)


def test_last_states_are_those_of_the_librarys_nets(inside):
    shown = random_explorer("reorder", 0)
    embeddings = np.array(REORDER["embeddings"])
    xs = np.stack([embeddings, embeddings[shown.order]], axis=1)  # (T, 2, H)
    H = xs.shape[2]
    wanted = {"sum": cbow_forward(xs, None, cbow_init(H))[1]}
    for net, activation in (("linear", "linear"), ("elman", "tanh")):
        p = elman_init(np.random.default_rng(0), H, H, activation=activation, bias=False)
        p.W_x[:], p.W_h[:] = np.eye(H), shown.factor * np.eye(H)
        wanted[net] = elman_forward(xs, None, p)[1]
    for net, found in inside("reorder")("compare", shown.state()).items():
        np.testing.assert_allclose([found["original"], found["yours"]], wanted[net], rtol=0, atol=1e-12, err_msg=net)
        assert found["difference"] == pytest.approx(np.abs(wanted[net][0] - wanted[net][1]).max(), abs=1e-12)


def test_sum_is_the_same_to_the_last_bit_for_every_order_and_the_others_notice_each(differences):
    """At the factor at which chapter 1 says so."""
    found = differences([*permutations(range(5))][1:], 0.5)
    assert {each["sum"] for each in found} == {0}
    assert min(min(each["linear"], each["elman"]) for each in found) > 0.01


def test_linear_net_with_factor_one_is_the_sum(differences):
    """As chapter 1 says: at factor 1 it is blind to order, and Elman's net is not even there."""
    (at_one,), (near,) = (differences([[4, 3, 2, 1, 0]], factor) for factor in (1, 0.99))
    assert at_one["linear"] == 0 < near["linear"] and at_one["elman"] > 0.01


def test_original_order_stands_beside_what_is_said_of_the_difference(visit, differences):
    page = visit(ReorderExplorer())
    assert page.locator(".ex-was").inner_text() == "Original order: " + " ".join(REORDER["tokens"])
    (found,) = differences([START["order"]])
    assert found["sum"] == 0 < 0.1 < min(found["linear"], found["elman"]), "the default shows the point"
    said = page.locator(".ex-say").inner_text()
    assert "the four numbers of the last state are the same in the sum" in said
    assert f"differ by up to {found['linear']:.3f} in the linear net" in said
    assert f"differ by up to {found['elman']:.3f} in Elman's net" in said


def chips(page):
    return page.locator(".ex-chip").all_inner_texts()


def test_arrow_keys_move_a_word_and_the_focus_goes_with_it(visit):
    page = visit(ReorderExplorer(order=[0, 1, 2, 3, 4]))
    page.locator(".ex-chip", has_text="dogs").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert chips(page) == ["only", "bite", "old", "dogs", "men"]
    assert page.evaluate("document.activeElement.ariaLabel") == "dogs, place 4 of 5; arrow keys move it"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # at the end it stays
    assert chips(page) == ["only", "bite", "old", "men", "dogs"]
    assert state_in(page, "reorder")["order"] == [0, 2, 3, 4, 1]


def test_mouse_drags_a_word_to_another_place(visit):
    page = visit(ReorderExplorer(order=[0, 1, 2, 3, 4]))
    boxes = [chip.bounding_box() for chip in page.locator(".ex-chip").all()]
    middles = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
    drag(page, *np.linspace(middles[4], middles[0], 13).tolist())
    page.mouse.move(*middles[2], steps=4)
    assert chips(page) == ["men", "only", "dogs", "bite", "old"]
    assert page.evaluate("document.activeElement.textContent") == "men", "the focus goes with the word"
    page.locator(".ex-say", has_text="men only dogs bite old").wait_for()


def test_finger_drags_a_word(visit):
    page = visit(ReorderExplorer(order=[0, 1, 2, 3, 4]), viewport=PHONE, has_touch=True)
    boxes = [chip.bounding_box() for chip in page.locator(".ex-chip").all()]
    xs = np.linspace(boxes[0]["x"] + 10, boxes[2]["x"] + boxes[2]["width"] / 2, 8)
    drag(page, *((x, boxes[0]["y"] + 20) for x in xs.tolist()), touch=True)
    assert chips(page) == ["dogs", "bite", "only", "old", "men"]


def test_link_with_a_word_twice_changes_nothing(visit):
    page = visit(ReorderExplorer(anchor="it"), before='<p><a href="#it?order=0,0,1,2,3">twice</a></p>')
    page.locator("a", has_text="twice").click()
    assert state_in(page, "reorder")["order"] == REORDER["start"]["order"]
