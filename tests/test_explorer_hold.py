"""Hold the gate (chapter 3): its states and weights are the library's and the theorem's, and every gate can be held."""

import numpy as np
import pytest
from explorers import PHONE, at_column, drag, put, random_explorer, state_in

from gru_book.widgets import HoldExplorer
from gru_book.widgets.hold import HOLD, T


@pytest.mark.parametrize("seed", range(3))
def test_javascript_gated_states_follow_the_equation(maths, seed):
    rng = np.random.default_rng(seed)
    n, z, h0 = rng.normal(size=40), rng.random(40), rng.normal()
    h, wanted = np.array([h0]), []
    for candidate, keep in zip(n, z, strict=True):
        h = keep * h + (1 - keep) * candidate
        wanted.append(h.item())
    np.testing.assert_allclose(maths("gatedStates", n.tolist(), z.tolist(), h0), wanted, rtol=0, atol=1e-12)
    w = np.array(maths("gateWeights", z.tolist()))
    assert w.sum() == pytest.approx(1, abs=1e-12)
    assert w @ np.append(h0, n) == pytest.approx(wanted[-1], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_states_are_the_librarys_and_the_weights_give_the_framed_one(inside, seed):
    memory = random_explorer("hold", seed)
    found = inside("hold")("compute", memory.state())
    h = np.zeros(1)
    for t in range(T):
        h = memory.z[t] * h + (1 - memory.z[t]) * memory.n[t]
        assert found["h"][t] == pytest.approx(h.item(), abs=1e-12)
    assert len(found["w"]) == memory.at + 1
    assert sum(found["w"]) == pytest.approx(1, abs=1e-12)
    assert np.dot(found["w"][1:], memory.n[: memory.at]) == pytest.approx(found["h"][memory.at - 1], abs=1e-12)


def test_score_is_the_weight_of_step_5_in_the_last_state(visit, inside):
    """Whatever step is framed; and 100 says that nothing else is there."""
    page, found = visit(HoldExplorer(at=7)), {}
    for preset, gate in HOLD["presets"].items():
        z = [gate["store"] if t == HOLD["store"] else gate["else"] for t in range(1, T + 1)]
        weight = (1 - z[4]) * np.prod(z[5:])
        found[preset] = wanted = 100 if weight == 1 else min(round(100 * weight), 99)
        explorer = HoldExplorer(z=z, at=7)
        assert inside("hold")("compute", explorer.state())["score"] == wanted
        put(page, {"z": z})
        assert page.locator(".ex-score").text_content() == f"score {wanted}"
        assert f"Score: {wanted} of 100." in page.locator(".ex-say").inner_text()
        assert page.locator(".ex-say").inner_text().startswith("Done" if wanted == 100 else "Score: ")
        assert page.locator(".ex-task").inner_text().startswith("Carry the 0.90 of step 5 to step 24")
        assert "Carry the 0.90 of step 5" in explorer.fallback()
    assert found == {"latch": 100, "soft": 81, "leak": 13, "average": 1, "follow": 0}
    almost = [0.99999 if t > 5 else 0.0 for t in range(1, T + 1)]
    assert inside("hold")("compute", HoldExplorer(z=almost).state())["score"] == 99


def test_goal_is_not_reached_at_the_start_and_its_line_moves_with_the_number(visit):
    memory = HoldExplorer()
    assert HOLD["store"] == 5 and memory.n[4] == max(memory.n) == 0.9
    page = visit(memory)
    assert page.locator(".ex-score").text_content() == "score 0"
    before = page.locator(".ex-goal").get_attribute("d")
    put(page, {"n": [0.5] * T})
    assert page.locator(".ex-goal").get_attribute("d") != before


def test_pointer_pulls_gates_column_by_column(visit):
    page = visit(HoldExplorer(z=[1.0] * T))
    drag(page, *(at_column(page, HOLD, t, "z", 0.5) for t in range(8, 13)))
    page.mouse.move(*at_column(page, HOLD, 20, "z", 0.5))
    z = state_in(page, "hold")["z"]
    assert z[7:12] == pytest.approx([0.5] * 5, abs=0.03)
    assert z[:7] == [1] * 7 and z[12:] == [1] * 12
    assert state_in(page, "hold")["at"] == 24, "the frame stays where it is"
    drag(page, at_column(page, HOLD, 8, "z", 0.4), at_column(page, HOLD, 8, "z", 3))
    assert state_in(page, "hold")["z"][7] == 0, "beyond the row the gate is closed no further"


def test_finger_sets_a_candidate_and_moves_the_frame(visit):
    page = visit(HoldExplorer(), viewport=PHONE, has_touch=True)
    page.locator(".ex-rows").scroll_into_view_if_needed()
    page.touchscreen.tap(*at_column(page, HOLD, 3, "n", 0.0))
    page.touchscreen.tap(*at_column(page, HOLD, 9, "h", 0.5))
    state = state_in(page, "hold")
    assert state["n"][2] == pytest.approx(1, abs=0.05)
    assert state["at"] == 9
    assert page.locator(".ex-now").text_content().startswith("step 9")


def test_sliders_set_the_framed_step_or_all_gates(visit):
    page = visit(HoldExplorer(at=5))
    page.locator("input[data-key=z]").focus()
    page.keyboard.press("Home")
    page.locator("input[data-key=n]").focus()
    page.keyboard.press("End")
    state = state_in(page, "hold")
    assert (state["z"][4], state["n"][4]) == (0, 1)
    assert state["z"][:4] == [0.5] * 4
    page.locator("input[data-key=all]").focus()
    page.keyboard.press("End")
    assert state_in(page, "hold")["z"] == [1] * T
    page.locator("input[data-key=at]").focus()
    page.keyboard.press("ArrowLeft")
    assert state_in(page, "hold")["at"] == 4
    assert page.locator("input[data-key=at]").get_attribute("aria-valuetext") == "step 4"


def test_link_may_set_all_gates_at_once(visit):
    page = visit(HoldExplorer(anchor="hold"), before='<p><a href="#hold?z=0.9&amp;at=10">average</a></p>')
    page.locator("a", has_text="average").click()
    state = state_in(page, "hold")
    assert state["z"] == [0.9] * T
    page.locator(".ex-say", has_text=f"the last 10 steps have {100 * (1 - 0.9**10):.0f}\u00a0%").wait_for()
    put(page, {"at": T, "z": [float(t != 5) for t in range(1, T + 1)]})  # with gates of 0 and 1 the shares are exact
    page.locator(".ex-say", has_text="step 5 has 100\u00a0%, the last 10 steps have 0\u00a0%").wait_for()


def test_arrays_are_lists():
    assert HoldExplorer(z=np.full(T, 0.5)).z == [0.5] * T
