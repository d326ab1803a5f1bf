"""Dropout masks (chapter 14): the states are the library's under the masks that are drawn, and the default shows it."""

import numpy as np
import pytest
from explorers import random_explorer, state_in
from traitlets import TraitError

from gru_lib import gru_forward, gru_init, gru_step
from gru_lib.widgets import DropoutExplorer
from gru_lib.widgets.dropout import DROP

T, H, STORED = DROP["steps"], DROP["units"], DROP["stored"]


def memory(z):
    """A GRU whose units each hold the stored value without masks: r = 1, update gate z, n = tanh(w h)."""
    p = gru_init(np.random.default_rng(0), 1, H)
    p.flat[:] = 0
    p.b_r[:] = 40  # σ(40) = 1 in float64
    p.b_z[:] = np.log(z) - np.log1p(-z) if z else -700  # σ(−700) is about 1e−304
    p.W_hn[:] = np.eye(H) * np.arctanh(STORED) / STORED
    return p


@pytest.mark.parametrize("place", ["read", "state"])
@pytest.mark.parametrize("z", [0.001, 0.5, 0.99])
def test_javascript_memory_equals_the_library(maths, place, z):
    rng = np.random.default_rng(0)
    w, h0, rate = 0.7, 0.4, 0.3
    masks = (rng.random(30) >= rate) / (1 - rate)
    p = gru_init(rng, 1, 1)
    p.flat[:] = 0
    p.b_r[:], p.b_z[:], p.W_hn[:] = 40, np.log(z / (1 - z)), w
    if place == "read":
        wanted = gru_forward(np.zeros((30, 1, 1)), [[h0]], p, h_mask=masks[:, None, None])[0].ravel()
    else:
        h, wanted = np.array([[h0]]), []
        for m in masks:
            h, _ = gru_step(np.zeros((1, 1)), h * m, p)
            wanted.append(h.item())
    np.testing.assert_allclose(maths("maskedMemory", masks.tolist(), z, w, h0, place), wanted, rtol=1e-12, atol=1e-12)


def test_numbers_drawn_look_even(maths):
    count = (DROP["inputs"] + H) * T
    script = "(seeds, places) => seeds.map(seed => places.map(place => uniform(seed, place)))"
    drawn = np.array(maths(script, list(range(100)), list(range(count))))
    assert drawn.min() >= 0 and drawn.max() < 1
    share = np.histogram(drawn, bins=10, range=(0, 1))[0] / drawn.size
    assert np.abs(share - 0.1).max() < 5 * np.sqrt(0.09 / drawn.size)
    for pairs in (drawn[:, :-1] * drawn[:, 1:], drawn[:-1] * drawn[1:], drawn[:, :-T] * drawn[:, T:]):
        assert abs(pairs.mean() - 0.25) < 5 * np.sqrt(7 / 144 / pairs.size)


@pytest.fixture(scope="module")
def computed(inside):
    """What the page computes of a state: for each scheme its masks x and h, the states, and how many units hold."""
    return lambda **state: inside("dropout")("compute", DropoutExplorer(**state).state())


@pytest.mark.parametrize("seed", range(4))
def test_states_are_the_librarys_under_the_masks_that_are_drawn(computed, seed):
    shown = random_explorer("dropout", seed)
    p = memory(shown.z)
    for scheme, found in computed(**shown.state()).items():
        masks, h, states = np.array(found["h"]).T[:, None], np.full((1, H), STORED), []
        for mask in masks:
            if shown.place == "read":
                h = gru_forward(np.zeros((1, 1, 1)), h, p, h_mask=mask[None])[1]
            else:
                h, _ = gru_step(np.zeros((1, 1)), h * mask, p)
            states.append(h[0])
        np.testing.assert_allclose(np.array(found["states"]).T, states, rtol=0, atol=1e-9, err_msg=scheme)
        assert found["holds"] == (np.abs(states[-1] / STORED - 1) < 0.5).sum()


def test_without_dropout_every_unit_holds_exactly(computed):
    for z in (0.0, 0.5, 0.999):
        for place in ("read", "state"):
            for found in computed(rate=0, z=z, place=place).values():
                np.testing.assert_allclose(found["states"], STORED, rtol=0, atol=1e-12)


def test_default_shows_three_fates(computed):
    """The default state shows the point: all hold, the same few are lost, all are lost."""
    holds = lambda **state: [found["holds"] for found in computed(**state).values()]  # noqa: E731
    assert holds() == [6, 4, 0]
    assert holds(**DROP["presets"]["gate"]) == [6, 6, 6]
    assert holds(**DROP["presets"]["state"]) == [6, 0, 0]


def test_masks_are_those_of_the_scheme(computed):
    found = computed(rate=0.5, seed=7)
    x, h, same, naive = (
        np.array(found[scheme][role])
        for scheme, role in (("zaremba", "x"), ("zaremba", "h"), ("variational", "h"), ("naive", "h"))
    )
    assert (h == 1).all() and len(set(map(tuple, x.T))) > 1
    assert (same == same[:, :1]).all() and np.ptp(found["variational"]["x"], axis=1).max() == 0
    np.testing.assert_array_equal(found["naive"]["x"], x)
    assert set(np.unique(naive)) == {0, 2} and (naive != naive[:, :1]).any()


def test_a_higher_rate_drops_what_a_lower_one_dropped(computed):
    low, high = (np.array(computed(rate=rate)["naive"]["h"]) == 0 for rate in (0.2, 0.6))
    assert (high | ~low).all() and high.sum() > low.sum()


def test_radio_moves_the_mask_to_the_state(visit):
    page = visit(DropoutExplorer(z=0.99))
    page.locator(".ex-say", has_text="6 if every step has a new one").wait_for()
    page.get_by_label("the whole state").check()
    assert state_in(page, "dropout")["place"] == "state"
    page.locator(".ex-say", has_text="0 if every step has a new one").wait_for()


def test_link_sets_rate_gate_place_and_draw(visit):
    page = visit(
        DropoutExplorer(anchor="masks"),
        before='<p><a href="#masks?rate=0.5&amp;z=0.9&amp;place=state&amp;seed=8">there</a></p>',
    )
    page.locator("a", has_text="there").click()
    assert state_in(page, "dropout") == {"rate": 0.5, "z": 0.9, "place": "state", "seed": 8}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 0.9}, r"rate must be a number in \[0, 0.8\]; got 0.9"),
        ({"z": 1}, r"z must be a number in \[0, 0.999\]; got 1"),
        ({"place": "h"}, "place must be one of 'read', 'state'; got 'h'"),
        ({"seed": 2.5}, "seed must be a whole number; got 2.5"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        DropoutExplorer(**arguments)
