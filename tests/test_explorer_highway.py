"""The highway (chapter 9): the curves are the library's Jacobians and direct paths, in Python and in the page."""

import re

import numpy as np
import pytest
from test_explorer_family import PHONE, WIDE, random_explorer, state_in
from traitlets import TraitError

from gru_lib import gru_init, jacobian
from gru_lib.widgets import HighwayExplorer
from gru_lib.widgets.highway import HIGHWAY, H, T


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset_after", [False, True])
def test_javascript_gru_jacobian_equals_python(maths, reset_after, convention):
    D, H = 3, 5
    rng = np.random.default_rng(0)
    p = gru_init(rng, D, H, reset_after=reset_after, convention=convention)
    p.flat[:] = rng.normal(size=p.size)
    x, h_prev = rng.normal(size=(1, 1, D)), rng.uniform(-1, 1, (1, H))
    names = [f"W_{a}{g}" for a in "xh" for g in "rzn"] + ["b_r", "b_z", "b_n"] + ["b_hn"] * reset_after
    q = {name: getattr(p, name).tolist() for name in names}
    q |= {"reset_after": reset_after, "convention": convention}
    c = maths("gruStep", x[0, 0].tolist(), h_prev[0].tolist(), q)
    J = maths("gruJacobian", x[0, 0].tolist(), h_prev[0].tolist(), c, q)
    np.testing.assert_allclose(J, jacobian(x, h_prev, p).total[0], rtol=0, atol=1e-12)
    product = maths("matmul", J, J)
    np.testing.assert_allclose(product, np.array(J) @ J, rtol=0, atol=1e-12)


def test_net_and_inputs_come_from_their_seed():
    rng = np.random.default_rng(HIGHWAY["seed"])
    p = gru_init(rng, H, H)
    for name, weights in HIGHWAY["weights"].items():
        np.testing.assert_array_equal(weights, np.round(getattr(p, name), 2))
    np.testing.assert_array_equal(HIGHWAY["inputs"], np.round(rng.normal(size=(T, H)), 2))


@pytest.mark.parametrize("seed", range(3))
def test_curves_end_at_the_whole_jacobian_and_the_direct_path(seed):
    highway = random_explorer("highway", seed)
    J = jacobian(np.array(HIGHWAY["inputs"])[: highway.length, None], None, highway.params())
    assert highway.value["total"] == pytest.approx(np.linalg.norm(J.total[0], 2), rel=1e-9)
    assert highway.value["direct"] == pytest.approx(J.direct[0].max(), rel=1e-12)


def test_open_gate_carries_the_gradient_and_a_copied_bias_is_the_worst():
    """The default, a bias of 0, loses the gradient; 4 keeps it; 4 under the other convention loses most."""
    zero, four = HighwayExplorer().value, HighwayExplorer(b_z=4).value
    copied = HighwayExplorer(b_z=4, convention="write").value
    assert zero["b_z"] == 0 and 1e-26 < zero["total"] < 1e-18
    assert zero["direct"] < 1e-5 * zero["total"], "at 0 what arrives has gone through the weights"
    assert four["total"] > 0.1 and four["direct"] > 0.5 * four["total"]
    assert copied["total"] < 1e-50


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_still_picture_is_what_the_explorer_draws(visit, viewport, lang):
    """Two singular value routines: numbers agree to a hundredth of a unit of the drawing, all else exactly."""
    stills = [HighwayExplorer(lang=lang), HighwayExplorer(b_z=4, convention="write", lang=lang)]
    stills += [random_explorer("highway", seed, lang=lang) for seed in range(4)]
    page = visit(*stills, viewport=viewport)
    for nth, still in enumerate(stills):
        (python, javascript), said = page.evaluate(
            """([nth, still]) => {
          const live = document.querySelectorAll('[data-afm]')[nth];
          const host = new DOMParser().parseFromString(still, 'text/html');
          const size = live.firstChild.classList.contains('ex-slim') ? 'slim' : 'wide';
          return [
            [host.querySelector('.ex-only-' + size).innerHTML, live.querySelector('.ex-growth').innerHTML],
            [host.querySelector('.ex-say').textContent, live.querySelector('.ex-say').textContent],
          ];
        }""",
            [nth, still.to_html()],
        )
        assert said[0] == said[1]
        number = r"-?\d+(?:\.\d+)?"
        assert re.sub(number, "#", python) == re.sub(number, "#", javascript)
        wanted, got = ([float(v) for v in re.findall(number, text)] for text in (python, javascript))
        np.testing.assert_allclose(got, wanted, rtol=0, atol=0.0101)


def test_radio_swaps_the_convention_and_the_pointer_moves_the_length(visit):
    page = visit(HighwayExplorer(b_z=4))
    page.locator("input[value=keep]").focus()
    page.keyboard.press("ArrowRight")
    assert state_in(page, "highway")["convention"] == "write"
    box, layout = page.locator(".ex-growth").bounding_box(), HIGHWAY["layout"]["wide"]
    zoom = box["width"] / layout["W"]
    x = box["x"] + zoom * (layout["left"] + 0.4 * (layout["right"] - layout["left"]))
    page.mouse.move(x, box["y"] + 80)
    page.mouse.down()
    page.mouse.up()
    assert state_in(page, "highway")["length"] == 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"b_z": 9}, r"b_z must be a number in \[-4, 8\]; got 9"),
        ({"convention": "both"}, "convention must be one of 'keep', 'write'; got 'both'"),
        ({"length": 101}, r"length must be a number in \[1, 100\]; got 101"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        HighwayExplorer(**arguments)
