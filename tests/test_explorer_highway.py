"""The highway (chapter 9): the curves are the library's Jacobians and direct paths."""

import numpy as np
import pytest
from explorers import at_point, gru_for_page, layout_of, random_explorer, state_in
from traitlets import TraitError

from gru_lib import gru_forward, gru_init, jacobian
from gru_lib.widgets import HighwayExplorer
from gru_lib.widgets.highway import HIGHWAY, T

H = len(HIGHWAY["weights"]["W_hr"])


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset_after", [False, True])
def test_javascript_gru_jacobian_equals_python(maths, reset_after, convention):
    D, H = 3, 5
    rng = np.random.default_rng(0)
    p = gru_init(rng, D, H, reset_after=reset_after, convention=convention)
    p.flat[:] = rng.normal(size=p.size)
    x, h_prev = rng.normal(size=(1, 1, D)), rng.uniform(-1, 1, (1, H))
    q = gru_for_page(p)
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


@pytest.fixture(scope="module")
def reach(inside):
    """The curves of a state after 100 steps, as the page computes them."""

    def reach(**state):
        curves = inside("highway")("reach", HighwayExplorer(**state).state())
        return {name: curve[T] for name, curve in curves.items()}

    return reach


@pytest.mark.parametrize("seed", range(3))
def test_curves_are_the_librarys_jacobians_and_direct_paths(inside, seed):
    highway = random_explorer("highway", seed)
    curves = inside("highway")("reach", highway.state())
    p = gru_init(np.random.default_rng(0), H, H, convention=highway.convention)
    for name, weights in HIGHWAY["weights"].items():
        getattr(p, name)[:] = weights
    p.b[:], p.b_z[:] = 0, highway.b_z
    xs = np.array(HIGHWAY["inputs"])[:, None]
    z = gru_forward(xs, None, p)[2].gate("z")
    kept = z if highway.convention == "keep" else 1 - z
    np.testing.assert_allclose(curves["kept"][1:], np.cumsum(kept.mean(axis=(1, 2))) / np.arange(1, T + 1), rtol=1e-9)
    for length in (1, highway.length, T):
        J = jacobian(xs[:length], None, p)
        assert curves["total"][length] == pytest.approx(np.linalg.norm(J.total[0], 2), rel=1e-9)
        assert curves["direct"][length] == pytest.approx(J.direct[0].max(), rel=1e-9)


def test_open_gate_carries_the_gradient_and_a_copied_bias_is_the_worst(reach):
    """The default, a bias of 0, loses the gradient; 4 keeps it; 4 under the other convention loses most."""
    zero, four, copied = reach(), reach(b_z=4), reach(b_z=4, convention="write")
    assert HIGHWAY["start"]["b_z"] == 0 and 1e-26 < zero["total"] < 1e-18
    assert zero["direct"] < 1e-5 * zero["total"], "at 0 what arrives has gone through the weights"
    assert four["total"] > 0.1 and four["direct"] > 0.5 * four["total"]
    assert copied["total"] < 1e-50


def test_radio_swaps_the_convention_and_the_pointer_moves_the_length(visit):
    page = visit(HighwayExplorer(b_z=4))
    page.locator("input[value=keep]").focus()
    page.keyboard.press("ArrowRight")
    assert state_in(page, "highway")["convention"] == "write"
    layout = layout_of(page, HIGHWAY)
    page.mouse.click(*at_point(page, ".ex-growth", layout["left"] + 0.4 * (layout["right"] - layout["left"]), 80))
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
