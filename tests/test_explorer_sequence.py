"""Build a sequence (chapter 8): the page runs the library's nets to 1e-12, and the library's tasks judge them."""

import numpy as np
import pytest
from explorers import PHONE, WIDE, at_point, drag, state_in

from experiments import explorer_nets
from gru_book.models.hand_set import hand_set_gru
from gru_book.models.reader import reader_logits
from gru_book.widgets import SequenceExplorer
from gru_book.widgets.sequence import NETS, SEQUENCE, T
from gru_lib import gru_forward

TASKS = ("keep", "skip", "afresh")


@pytest.fixture(scope="module")
def script(inside):
    """The functions of sequence.mjs."""
    return inside("sequence")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("net", ["hand", "trained"])
@pytest.mark.parametrize("task", TASKS)
def test_javascript_runs_the_net_as_the_library_does(script, task, net, seed):
    tokens = np.random.default_rng(seed).integers(0, 3, T).tolist()
    got = script("compute", SequenceExplorer(task=task, net=net, tokens=tokens).state())
    m = explorer_nets.from_lists(NETS["nets"][task][net])
    xs = np.eye(m.rnn.D)[got["read"]][:, None]
    hs, _, tape = gru_forward(xs, None, m.rnn)
    for name, wanted in (("r", tape.gate("r")), ("z", tape.gate("z")), ("h", hs)):
        np.testing.assert_allclose([step[name] for step in got["steps"]], wanted[:, 0], rtol=0, atol=1e-12)
    bits = reader_logits(m, xs)[:, 0] > 0
    assert [step["says"] for step in got["steps"]] == (bits @ 2 ** np.arange(bits.shape[1])).tolist()


@pytest.mark.parametrize("task", TASKS)
def test_right_answers_are_those_of_the_library(script, task):
    batch = explorer_nets.TASKS[task](np.random.default_rng(0), 50, 40)
    found = script("(task, rows) => rows.map(read => answers(task, read))", task, batch.tokens.T.tolist())
    bits = batch.ys.astype(int)  # (T, N, K)
    assert found == (bits @ 2 ** np.arange(bits.shape[2])).T.tolist()


def test_breaks_are_brackets_in_turn_for_the_task_that_skips(script):
    assert script("readAs", "skip", [2, 1, 2, 0, 2, 2]) == [2, 1, 3, 0, 2, 3]
    assert script("readAs", "afresh", [2, 1, 2]) == script("readAs", "keep", [2, 1, 2]) == [2, 1, 2]


@pytest.mark.parametrize("task", TASKS)
def test_stored_measurements_are_those_of_the_stored_weights(task):
    m = explorer_nets.from_lists(NETS["nets"][task]["trained"])
    assert NETS["measured"][task] == explorer_nets.measure_reader(task, m)
    assert NETS["measured"][task] == NETS["tried"][task][NETS["seed"][task]]
    assert NETS["measured"][task]["right"] == 1 and len(NETS["tried"][task]) == 10
    assert explorer_nets.as_lists(m) == NETS["nets"][task]["trained"]


@pytest.mark.parametrize("task", TASKS)
def test_hand_set_nets_are_those_of_the_chapter(task):
    m = explorer_nets.from_lists(NETS["nets"][task]["hand"])
    assert (m.flat == explorer_nets.hand(task).flat).all()
    assert explorer_nets.measure_reader(task, m, 100) == {"right": 1, "longer": 1}
    if task != "keep":  # that has three classes in place of eight, and so a unit less
        name = {"skip": "parity_outside", "afresh": "parity_since"}[task]
        assert (m.rnn.flat == hand_set_gru(name).p.flat).all()


@pytest.mark.slow
def test_a_training_made_anew_solves_the_task():
    m = explorer_nets.reader("afresh", NETS["seed"]["afresh"])
    assert explorer_nets.measure_reader("afresh", m, 200)["right"] > 0.99


@pytest.fixture(scope="module")
def value(script):
    """A state, and what the page makes of it: read, says, right, and the arrays r, z, h, each (24, H)."""

    def value(**state):
        state = SequenceExplorer(**state).state()
        c = script("compute", state)
        columns = {name: np.array([step[name] for step in c["steps"]]) for name in ("says", "r", "z", "h")}
        return state | {"read": c["read"], "right": c["right"]} | columns | {"says": columns["says"].tolist()}

    return value


def test_brackets_hold_the_count_of_the_hand_set_net(value):
    """Inside the brackets the hand-set net keeps its count, whatever is read; a 1 outside turns it round."""
    found = value(task="skip", at=10)
    read = found["read"]
    assert found["says"] == found["right"]
    inside = slice(read.index(2), read.index(3))
    assert read[found["at"] - 1] == 1 and inside.start < found["at"] - 1 < inside.stop
    assert {z[0] for z in found["z"][inside]} == {1} and len({h[0] for h in found["h"][inside]}) == 1
    outside = range(inside.stop + 1, read.index(2, inside.stop))
    assert [found["z"][t][0] < 1e-15 for t in outside] == [read[t] == 1 for t in outside]


def test_default_shows_the_point(value):
    """The break shuts both gates of the hand-set net: the state starts afresh. A trained net has its own way."""
    hand = value()
    assert (hand["task"], hand["net"], hand["at"]) == ("afresh", "hand", 11)
    now = hand["at"] - 1
    assert hand["tokens"][now] == 2 and hand["says"] == hand["right"]
    np.testing.assert_allclose([hand["r"][now], hand["z"][now]], 0, rtol=0, atol=1e-15)
    assert hand["h"][now - 1 : now + 1].tolist() == [[1], [-1]]
    trained = value(net="trained")
    assert trained["says"] == trained["right"] and trained["r"][now].min() < 0.5 < trained["r"][now].max()


def test_trained_net_keeps_by_renewal_in_three_units(value):
    """Low z, and a candidate that sees the old state: r near 1."""
    found = value(task="keep", net="trained", tokens=SEQUENCE["presets"]["quiet"])
    r, z, h = (found[name][4:] for name in "rzh")
    by_renewal = [0, 1, 3]
    assert z[:, by_renewal].max() < 0.2 and r[:, by_renewal].min() > 0.9 and np.abs(h[:, by_renewal]).min() > 0.9


@pytest.mark.parametrize("net", ["hand", "trained"])
@pytest.mark.parametrize("task", TASKS)
def test_presets_are_answered_right_but_for_a_rare_one(value, task, net):
    """Seventeen 0s in a row is rare in training: the net trained to start afresh lets go of the 1."""
    for name, tokens in SEQUENCE["presets"].items():
        found = value(task=task, net=net, tokens=tokens)
        wrong = [t for t in range(1, T + 1) if found["says"][t - 1] != found["right"][t - 1]]
        rare = (name, task, net) == ("quiet", "afresh", "trained")
        assert wrong == (list(range(18, T + 1)) if rare else [])


L = SEQUENCE["layout"]
TRAINED = L["W"] + L["apart"]  # where the second net begins


def at_step(page, t, y, begins=0):
    """A point in column t of a net's drawing, y in its own units."""
    return at_point(page, ".ex-rows", begins + L["left"] + (t - 0.5) * L["column"], y)


def test_press_changes_a_token_and_a_drag_paints_it(visit):
    page = visit(SequenceExplorer(tokens=[0] * T, task="skip"))
    for token in (1, 2, 0):
        page.mouse.click(*at_step(page, 5, 36))
        assert state_in(page, "sequence")["tokens"][4] == token
    drag(page, *(at_step(page, t, 36) for t in (8, 9, 10, 11)))
    page.mouse.move(*at_step(page, 20, 36))
    state = state_in(page, "sequence")
    assert [t + 1 for t, token in enumerate(state["tokens"]) if token == 1] == [8, 9, 10, 11]
    assert state["at"] == 11


def test_press_in_a_unit_frames_the_step_and_picks_the_unit(visit):
    page = visit(SequenceExplorer())
    page.mouse.click(*at_step(page, 7, L["units"] + 2 * L["pitch"] + 30, TRAINED))
    state = state_in(page, "sequence")
    assert (state["at"], state["unit"], state["net"]) == (7, 3, "trained")
    assert page.locator(".ex-picked").text_content() == "unit 3"
    assert "At step 7 it reads 1: in the trained net, unit 3 keeps" in page.locator(".ex-say").inner_text()
    page.mouse.click(*at_step(page, 7, L["units"] + 2 * L["pitch"] + 30))
    assert state_in(page, "sequence") == state, "the net set by hand has no third unit"
    page.mouse.click(*at_step(page, 5, 36, TRAINED))
    assert state_in(page, "sequence")["tokens"][4] == 1, "both read the same tokens"


@pytest.mark.parametrize("task", TASKS)
def test_both_nets_stand_side_by_side_with_the_task_above(visit, value, task):
    tokens = SEQUENCE["presets"]["quiet"]
    page = visit(SequenceExplorer(task=task, tokens=tokens))
    asked = page.locator(".ex-task").inner_text()
    assert asked.startswith("At every step: ") and asked.endswith("?") and "&" not in asked
    titles, right = page.locator(".ex-net").all_text_contents(), []
    for net in ("hand", "trained"):
        found = value(task=task, net=net, tokens=tokens)
        right.append(sum(a == b for a, b in zip(found["says"], found["right"], strict=True)))
    assert titles == [f"set by hand: right in {right[0]} of {T}", f"trained: right in {right[1]} of {T}"]
    said = page.locator(".ex-say").inner_text()
    assert said.startswith(f"The net set by hand is right in {right[0]} of {T} steps, the trained one in {right[1]}.")
    assert (right[1] < T) == (page.locator(".ex-cross").count() == 1) == (task == "afresh")


def test_phone_shows_the_net_that_is_told_of(visit):
    page = visit(SequenceExplorer(), viewport=PHONE)
    assert page.locator(".ex-net").all_text_contents() == ["set by hand: right in 24 of 24"]
    page.locator(".ex-choice label", has_text="trained").click()
    assert page.locator(".ex-net").all_text_contents() == ["trained: right in 24 of 24"]
    page.set_viewport_size(WIDE)
    page.wait_for_function("document.querySelectorAll('.ex-net').length === 2")
    assert not page.locator(".ex-choice", has_text="trained").is_visible(), "where both are drawn nothing is chosen"
    page.set_viewport_size(PHONE)  # the window is used again


def test_finger_changes_a_token_and_the_buttons_set_it(visit):
    page = visit(SequenceExplorer(tokens=[0] * T), viewport=PHONE, has_touch=True)
    page.locator(".ex-rows").scroll_into_view_if_needed()
    page.touchscreen.tap(*at_step(page, 3, 36))
    assert state_in(page, "sequence")["tokens"][:4] == [0, 0, 1, 0]
    page.locator("[data-token='2']").tap()
    state = state_in(page, "sequence")
    assert state["tokens"][:4] == [0, 0, 2, 0] and state["at"] == 3
    assert page.locator("[data-token='2']").get_attribute("aria-pressed") == "true"


def test_keyboard_builds_a_sequence(visit):
    page = visit(SequenceExplorer(task="skip", tokens=[0] * T, at=1, net="trained"))
    page.locator("input[data-key=at]").focus()
    for key in ("Space", "ArrowRight", "Space", "Space", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    state = state_in(page, "sequence")
    assert state["tokens"][:3] == [1, 2, 0]
    assert (state["at"], state["unit"]) == (2, 2)
    walked = []
    for key in ["ArrowUp"] * 4 + ["ArrowDown"] * 6:  # the net set by hand has two units, the trained one four
        page.keyboard.press(key)
        walked.append("{net} {unit}".format(**state_in(page, "sequence")))
    down = [f"hand {i}" for i in (1, 2)] + [f"trained {i}" for i in (1, 2, 3, 4)]
    assert walked == [*down[2::-1], down[0], *down[1:], down[-1]]


def test_task_and_net_keep_the_tokens(visit):
    page = visit(SequenceExplorer(task="skip"), viewport=PHONE)
    before = state_in(page, "sequence")["tokens"]
    page.locator("input[data-choice=task]:checked").focus()
    page.keyboard.press("ArrowRight")
    page.locator("input[data-choice=net]:checked").focus()
    page.keyboard.press("ArrowRight")
    state = state_in(page, "sequence")
    assert (state["task"], state["net"], state["tokens"]) == ("afresh", "trained", before)
    assert NETS["measured"]["afresh"]["longer"] == 1
    assert "100\u00a0% are right throughout" in page.locator(".ex-origin").text_content()


def test_steps_answered_wrong_are_marked(script):
    """No preset is answered wrong, so two right answers are turned round here."""
    drawn = script(
        """s => {
      const words = SEQUENCE.words, c = compute(s);
      c.right = c.right.map((answer, t) => (t === 4 || t === 9 ? 1 - answer : answer));
      c.wrong = [5, 10];
      return [drawNet(s, compute(s), 1, words), drawNet(s, c, 1, words), sentence(s, c, words)];
    }""",
        SequenceExplorer(task="afresh", at=5).state(),
    )
    for mark in ("ex-hatch", "ex-cross"):
        assert mark not in drawn[0] and drawn[1].count(mark) == 1
    assert drawn[1].split('class="ex-cross" d="')[1].split('"')[0].count("M") == 2 * 2, "a cross for each"
    assert "right in 22 of 24" in drawn[1] and "where odd is right" in drawn[2]
