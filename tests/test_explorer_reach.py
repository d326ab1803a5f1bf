"""Reach (chapters 2 and 9): the curves are the library's Jacobians and direct paths, on an axis that fits them."""

import numpy as np
import pytest
from explorers import PHONE, at_point, drag, gru_for_page, layout_of, state_in

from gru_book.jacobian import jacobian
from gru_book.widgets import ReachExplorer
from gru_book.widgets.reach import REACH, T
from gru_lib import elman_forward, elman_init, gru_forward, gru_init

ELMAN, GRU = REACH["elman"], REACH["gru"]
H = len(GRU["weights"]["W_hr"])

# Every preset, and corners of the ranges in which no state is chaotic: there the last bits would decide.
STATES = [
    *REACH["presets"].values(),
    {"net": "elman", "radius": 2, "strength": 3},
    {"net": "elman", "radius": 0.5, "strength": 0},
    {"net": "gru", "b_z": 8, "convention": "keep"},
    {"net": "gru", "b_z": -4, "convention": "write"},
]


@pytest.fixture(scope="module")
def reach(inside):
    """The curves of a state, as the page computes them."""
    return lambda **state: inside("reach")("reach", ReachExplorer(**state).state())


def same(got, wanted, what=None):
    np.testing.assert_allclose(np.array(got, float), wanted, rtol=1e-12, err_msg=str(what))


def norms(steps):
    """Of the products of 0, 1, … of these Jacobians."""
    J, found = np.eye(steps.shape[-1]), [1.0]
    for step in steps:
        J = step @ J
        found.append(np.linalg.norm(J, 2))
    return found


def elman_net(radius):
    p = elman_init(np.random.default_rng(0), 8, 8)
    p.W_x[:], p.W_h[:], p.b[:] = np.eye(8), radius / ELMAN["radius"] * np.array(ELMAN["W_h"]), 0
    return p


def test_javascript_cells_and_their_jacobians_equal_python(maths):
    D, n, rng = 3, 5, np.random.default_rng(0)
    xs, p = rng.normal(size=(5, 1, D)), elman_init(rng, D, n)
    p.flat[:] = rng.normal(size=p.size)
    q = {name: getattr(p, name).tolist() for name in ("W_x", "W_h", "b")}
    h, J = [0] * n, np.eye(n).tolist()
    for x, wanted in zip(xs, elman_forward(xs, None, p)[0][:, 0], strict=True):
        h = maths("elmanStep", x[0].tolist(), h, q)
        np.testing.assert_allclose(h, wanted, rtol=0, atol=1e-12)
        J = maths("elmanJacobian", J, h, q["W_h"])
    np.testing.assert_allclose(J, jacobian(xs, None, p).total[0], rtol=0, atol=1e-12)
    for convention in ("keep", "write"):
        for reset_after in (False, True):
            p = gru_init(rng, D, n, reset_after=reset_after, convention=convention)
            p.flat[:] = rng.normal(size=p.size)
            x, h_prev, q = xs[:1], rng.uniform(-1, 1, (1, n)), gru_for_page(p)
            c = maths("gruStep", x[0, 0].tolist(), h_prev[0].tolist(), q)
            J = maths("gruJacobian", x[0, 0].tolist(), h_prev[0].tolist(), c, q)
            np.testing.assert_allclose(J, jacobian(x, h_prev, p).total[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(maths("matmul", J, J), np.array(J) @ J, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1, 1e-150, 1e150])
def test_javascript_spectral_norm_equals_numpy(maths, scale):
    rng = np.random.default_rng(0)
    for A in (*(rng.normal(size=(n, n)) for n in (1, 2, 5, 8)), np.outer(rng.normal(size=6), rng.normal(size=6))):
        assert maths("spectralNorm", (scale * A).tolist()) == pytest.approx(np.linalg.norm(scale * A, 2), rel=1e-12)
    assert maths("spectralNorm", [[0, 0], [0, 0]]) == 0


def test_nets_and_inputs_come_from_their_seeds():
    rng = np.random.default_rng(ELMAN["seed"])
    W = np.round(rng.normal(size=(8, 8)) / np.sqrt(8), 3)
    np.testing.assert_array_equal(ELMAN["W_h"], W)
    np.testing.assert_array_equal(ELMAN["inputs"], np.round(0.3 * rng.normal(size=(T, 8)), 2))
    assert ELMAN["radius"] == pytest.approx(np.abs(np.linalg.eigvals(W)).max(), rel=1e-14)
    rng = np.random.default_rng(GRU["seed"])
    p = gru_init(rng, H, H)
    for name, weights in GRU["weights"].items():
        np.testing.assert_array_equal(weights, np.round(getattr(p, name), 2))
    np.testing.assert_array_equal(GRU["inputs"], np.round(rng.normal(size=(T, H)), 2))


@pytest.mark.parametrize("state", STATES, ids=str)
def test_curves_are_the_librarys(reach, state):
    found = reach(**state)
    if state["net"] == "elman":
        xs, p = state["strength"] * np.array(ELMAN["inputs"])[:, None], elman_net(state["radius"])
        hs = elman_forward(xs, None, p)[0][:, 0]
        logs = np.cumsum(np.log(((1 - hs**2) ** 2).mean(axis=1))) / np.arange(1, T + 1)
        beside, mean = norms(jacobian(0 * xs, None, p).steps[:, 0]), np.exp(logs / 2)
    else:
        p = gru_init(np.random.default_rng(0), H, H, convention=state["convention"])
        for name, weights in GRU["weights"].items():
            getattr(p, name)[:] = weights
        p.b[:], p.b_z[:] = 0, state["b_z"]
        xs = np.array(GRU["inputs"])[:, None]
        z = gru_forward(xs, None, p)[2].gate("z")[:, 0]
        kept = z if state["convention"] == "keep" else 1 - z
        beside = [1, *np.cumprod(kept, axis=0).max(axis=1)]
        mean = np.cumsum(kept.mean(axis=1)) / np.arange(1, T + 1)
        same(found["beside"][T], jacobian(xs, None, p).direct[0].max(), "direct")
    same(found["whole"], norms(jacobian(xs, None, p).steps[:, 0]), "whole")
    same(found["beside"], beside, "beside")
    same(found["mean"][1:], mean, "mean")


def test_an_elman_net_explodes_at_rest_and_fades_when_driven(reach):
    """The default state shows the point: one radius, two fates."""
    found = reach()
    assert (REACH["start"]["net"], REACH["start"]["radius"]) == ("elman", 1.1)
    assert found["beside"][T] > 1e4 and found["whole"][T] < 1e-6
    assert 1.1 * found["mean"][T] < 0.9


def test_a_gru_s_bias_of_4_forgets_where_z_writes_and_of_minus_4_keeps(reach):
    def ends(b_z, **more):
        found = reach(net="gru", b_z=b_z, **more)
        return found["whole"][T], found["beside"][T]

    copied, kept = ends(4, convention="write"), ends(-4, convention="write")
    assert max(copied) < 1e-50 and 0.1 < min(kept) < max(kept) < 0.3 and ends(4) == pytest.approx(kept, rel=0.5)


def test_the_axis_fits_the_curves(inside, reach):
    for state in ({"net": "gru", "b_z": -4, "convention": "keep"}, *STATES):
        found = reach(**state)
        values = np.maximum(np.array([*found["whole"], *found["beside"]], float), 10.0 ** REACH["deepest"])
        axis = inside("reach")("axisOf", values.tolist())
        assert (
            axis["low"] <= np.log10(values).min()
            and axis["high"] - axis["step"] < np.log10(values.max()) <= axis["high"]
        )
        assert 0 in range(axis["low"], axis["high"] + 1, axis["step"])


def test_sizes_are_written_with_two_digits(inside):
    said = [inside("reach")("size", v) for v in (0.5, 31.4, 0.0042, 9.96e17)]
    assert said == ["0.50", "31", "4.2\u00a0·\u00a010⁻³", "1.0\u00a0·\u00a010¹⁸"]


def test_switch_shows_the_net_and_what_sets_it(visit, inside, reach):
    """And the sentence holds the ends of its curves."""
    page = visit(ReachExplorer(length=80))
    keys = ("radius", "strength", "b_z", "length")
    shown = lambda: [key for key in keys if page.locator(f"[data-key={key}]").is_visible()]  # noqa: E731
    assert shown() == ["radius", "strength", "length"]
    page.locator("input[value=elman]").focus()
    page.keyboard.press("ArrowRight")
    assert state_in(page, "reach")["net"] == "gru"
    assert shown() == ["b_z", "length"]
    visible = [button.get_attribute("data-preset") for button in page.locator("[data-preset]:visible").all()]
    assert visible == [name for name, preset in REACH["presets"].items() if preset["net"] == "gru"]
    found, said = reach(net="gru"), page.locator(".ex-say").inner_text()
    for curve in ("whole", "beside"):
        assert inside("reach")("size", found[curve][80]) in said
    page.locator("input[value=write]").check()
    assert state_in(page, "reach")["convention"] == "write"
    page.locator("input[value=elman]").check()
    found, said = reach(), page.locator(".ex-say").inner_text()
    assert f"1.10 × {found['mean'][80]:.3f} = {1.1 * found['mean'][80]:.2f}" in said


def test_pointer_and_finger_move_the_length(visit):
    page = visit(ReachExplorer(), viewport=PHONE, has_touch=True)
    layout = layout_of(page, REACH)
    at = lambda t: at_point(page, ".ex-growth", layout["left"] + t / T * (layout["right"] - layout["left"]), 80)  # noqa: E731
    for end, length in ((50, 50), (-5, 1)):
        drag(page, at(30), at(end))
        assert state_in(page, "reach")["length"] == length
    page.touchscreen.tap(*at(45))
    assert state_in(page, "reach")["length"] == 45
