"""Dropout masks (chapter 14): the states are the library's under the masks that are drawn, and the default shows it."""

import numpy as np
import pytest
from test_explorer_family import PHONE, WIDE, random_explorer, state_in
from traitlets import TraitError

from gru_lib import gru_forward, gru_init, gru_step
from gru_lib.widgets import DropoutExplorer
from gru_lib.widgets.dropout import DROP, SCHEMES, STORED, D, H, T, memory, uniform

W = float(np.arctanh(STORED) / STORED)


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


def test_numbers_drawn_are_the_same_in_both_languages(maths):
    for seed in (0, 1, 57, 99):
        for place in (0, 1, 23, 24, 191):
            assert maths("uniform", seed, place) == uniform(seed, place)


def test_numbers_drawn_look_even():
    drawn = np.array([[uniform(seed, place) for place in range((D + H) * T)] for seed in range(100)])
    assert drawn.min() >= 0 and drawn.max() < 1
    share = np.histogram(drawn, bins=10, range=(0, 1))[0] / drawn.size
    assert np.abs(share - 0.1).max() < 5 * np.sqrt(0.09 / drawn.size)
    for pairs in (drawn[:, :-1] * drawn[:, 1:], drawn[:-1] * drawn[1:], drawn[:, :-T] * drawn[:, T:]):
        assert abs(pairs.mean() - 0.25) < 5 * np.sqrt(7 / 144 / pairs.size)


def test_without_dropout_every_unit_holds_exactly():
    for z in (0.0, 0.5, 0.999):
        for place in ("read", "state"):
            explorer = DropoutExplorer(rate=0, z=z, place=place)
            for scheme in SCHEMES:
                np.testing.assert_allclose(explorer.states(scheme), STORED, rtol=0, atol=1e-12)


def test_default_shows_three_fates():
    """The default state shows the point: all hold, the same few are lost, all are lost."""
    value = DropoutExplorer().value
    assert [value[scheme] for scheme in SCHEMES] == [6, 4, 0]
    gate = DropoutExplorer(**DROP["presets"]["gate"]).value
    assert [gate[scheme] for scheme in SCHEMES] == [6, 6, 6]
    state = DropoutExplorer(**DROP["presets"]["state"]).value
    assert [state[scheme] for scheme in SCHEMES] == [6, 0, 0]


def test_masks_are_those_of_the_scheme():
    explorer = DropoutExplorer(rate=0.5, seed=7)
    x, h = explorer.masks("zaremba")
    assert (h == 1).all() and len(set(map(tuple, x.T))) > 1
    for mask in explorer.masks("variational"):
        assert (mask == mask[:, :1]).all()
    naive_x, naive_h = explorer.masks("naive")
    np.testing.assert_array_equal(naive_x, x)
    assert set(np.unique(naive_h)) == {0, 2} and (naive_h != naive_h[:, :1]).any()


def test_a_higher_rate_drops_what_a_lower_one_dropped():
    low, high = (DropoutExplorer(rate=rate).masks("naive")[1] == 0 for rate in (0.2, 0.6))
    assert (high | ~low).all() and high.sum() > low.sum()


def test_gate_of_the_memory_is_z():
    for z in (0.0, 0.3, 0.999):
        h, _ = gru_step(np.zeros((1, 1)), np.zeros((1, H)), memory(z))
        assert (h == 0).all()
        moved, _ = gru_step(np.zeros((1, 1)), np.full((1, H), 0.5), memory(z))
        np.testing.assert_allclose(moved, z * 0.5 + (1 - z) * np.tanh(W * 0.5), rtol=1e-13)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_still_picture_is_what_the_explorer_draws(visit, viewport, lang):
    stills = [DropoutExplorer(lang=lang), *(random_explorer("dropout", seed, lang=lang) for seed in range(5))]
    page = visit(*stills, viewport=viewport)
    for nth, still in enumerate(stills):
        pairs = page.evaluate(
            """([nth, still]) => {
          const live = document.querySelectorAll('[data-afm]')[nth];
          const host = new DOMParser().parseFromString(still, 'text/html');
          const size = live.firstChild.classList.contains('ex-slim') ? 'slim' : 'wide';
          return [
            [host.querySelector('.ex-only-' + size).innerHTML, live.querySelector('.ex-blocks').innerHTML],
            [host.querySelector('.ex-say').textContent, live.querySelector('.ex-say').textContent],
          ];
        }""",
            [nth, still.to_html()],
        )
        for python, javascript in pairs:
            assert python == javascript


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
