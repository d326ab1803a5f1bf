"""Gain and length (chapter 2): the curves of the page are the norms of the library's Jacobians."""

import numpy as np
import pytest
from explorers import PHONE, at_point, layout_of, put, random_explorer, state_in
from traitlets import TraitError

from gru_lib import elman_forward, elman_init, elman_step, jacobian
from gru_lib.widgets import GainExplorer
from gru_lib.widgets.gain import GAIN, T


@pytest.mark.parametrize("seed", range(3))
def test_javascript_elman_step_and_its_jacobian_equal_python(maths, seed):
    D, H = 3, 6
    rng = np.random.default_rng(seed)
    p = elman_init(rng, D, H)
    p.flat[:] = rng.normal(size=p.size)
    xs = rng.normal(size=(5, 1, D))
    q = {name: getattr(p, name).tolist() for name in ("W_x", "W_h", "b")}
    h, J = np.zeros((1, H)), np.eye(H).tolist()
    for x in xs:
        got = maths("elmanStep", x[0].tolist(), h[0].tolist(), q)
        h, _ = elman_step(x, h, p)
        np.testing.assert_allclose(got, h[0], rtol=0, atol=1e-12)
        J = maths("elmanJacobian", J, h[0].tolist(), q["W_h"])
    np.testing.assert_allclose(J, jacobian(xs, None, p).total[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1, 1e-150, 1e150])
def test_javascript_spectral_norm_equals_numpy(maths, scale):
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        A = rng.normal(size=(n, n)) * scale
        assert maths("spectralNorm", A.tolist()) == pytest.approx(np.linalg.norm(A, 2), rel=1e-12)
    flat = np.outer(rng.normal(size=6), rng.normal(size=6)) * scale  # rank 1
    assert maths("spectralNorm", flat.tolist()) == pytest.approx(np.linalg.norm(flat, 2), rel=1e-12)
    assert maths("spectralNorm", [[0, 0], [0, 0]]) == 0


def test_net_and_inputs_come_from_their_seed():
    rng = np.random.default_rng(GAIN["seed"])
    W = np.round(rng.normal(size=(8, 8)) / np.sqrt(8), 3)
    np.testing.assert_array_equal(GAIN["W_h"], W)
    np.testing.assert_array_equal(GAIN["inputs"], np.round(0.3 * rng.normal(size=(T, 8)), 2))
    assert GAIN["net_radius"] == pytest.approx(np.abs(np.linalg.eigvals(W)).max(), rel=1e-14)


@pytest.fixture(scope="module")
def growth(inside):
    """The curves of a state, as the page computes them, and their ends at its length."""

    def growth(**state):
        state = GainExplorer(**state).state()
        curves = inside("gain")("growth", state)
        return {name: curve[state["length"]] for name, curve in curves.items()}

    return growth


@pytest.mark.parametrize("seed", range(3))
def test_curves_are_the_norms_of_the_librarys_jacobians(inside, seed):
    gain = random_explorer("gain", seed)
    curves = inside("gain")("growth", gain.state())
    inputs, p = np.array(GAIN["inputs"])[:, None], elman_init(np.random.default_rng(0), 8, 8)
    p.W_x[:], p.W_h[:], p.b[:] = np.eye(8), gain.radius / GAIN["net_radius"] * np.array(GAIN["W_h"]), 0
    assert np.abs(np.linalg.eigvals(p.W_h)).max() == pytest.approx(gain.radius, rel=1e-12)
    for name, strength in (("rest", 0), ("driven", gain.strength)):
        J, wanted = np.eye(8), [1.0]
        for step in jacobian(strength * inputs, None, p).steps[:, 0]:
            J = step @ J
            wanted.append(np.linalg.norm(J, 2))
        np.testing.assert_allclose(np.array(curves[name], float), wanted, rtol=1e-9, err_msg=name)
    hs = elman_forward(gain.strength * inputs, None, p)[0][:, 0]
    logs = np.cumsum(np.log(((1 - hs**2) ** 2).mean(axis=1))) / np.arange(1, T + 1)
    np.testing.assert_allclose(curves["slope"], np.append(1, np.exp(logs / 2)), rtol=1e-9)


def test_default_explodes_at_rest_and_fades_when_driven(growth):
    """The default state shows the point: one radius, two fates."""
    ends = growth()
    assert GAIN["start"]["radius"] == 1.1
    assert ends["rest"] > 1e4
    assert ends["driven"] < 1e-8
    assert 1.1 * ends["slope"] < 0.9


def test_without_inputs_the_driven_net_is_the_net_at_rest(growth):
    ends = growth(strength=0, radius=0.93)
    assert ends["driven"] == pytest.approx(ends["rest"], rel=1e-12)
    assert ends["slope"] == 1


def test_pointer_in_the_drawing_moves_the_length(visit):
    page = visit(GainExplorer())
    layout = layout_of(page, GAIN)
    at = lambda t: at_point(page, ".ex-growth", layout["left"] + t / T * (layout["right"] - layout["left"]), 80)  # noqa: E731
    page.mouse.move(*at(30))
    page.mouse.down()
    page.mouse.move(*at(50))
    assert state_in(page, "gain")["length"] == 50
    page.mouse.move(*at(-20))
    page.mouse.up()
    page.mouse.move(*at(70))
    assert state_in(page, "gain")["length"] == 1


def test_finger_moves_the_length(visit):
    page = visit(GainExplorer(), viewport=PHONE, has_touch=True)
    box = page.locator(".ex-growth").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 100)
    assert 30 < state_in(page, "gain")["length"] < 60


def test_sentence_holds_the_ends_of_the_curves(visit, inside, growth):
    state = {"radius": 1.5, "strength": 3, "length": 80}
    ends = growth(**state)
    page = visit(GainExplorer())
    put(page, state)
    for v in ("rest", "driven"):
        page.locator(".ex-say", has_text=inside("gain")("size", ends[v])).wait_for()
    slope = ends["slope"]
    page.locator(".ex-say", has_text=f"1.50 × {slope:.2f} = {1.5 * slope:.2f}").wait_for()


@pytest.mark.parametrize(
    ("v", "words"),
    [(0.5, "0.50"), (31.4, "31"), (0.0042, "4.2\u00a0·\u00a010⁻³"), (9.96e17, "1.0\u00a0·\u00a010¹⁸")],
)
def test_sizes_are_written_with_two_digits(inside, v, words):
    assert inside("gain")("size", v) == words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": 0.4}, r"radius must be a number in \[0.5, 2\]; got 0.4"),
        ({"strength": -1}, r"strength must be a number in \[0, 3\]; got -1"),
        ({"length": 2.5}, "length must be a whole number; got 2.5"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        GainExplorer(**arguments)
