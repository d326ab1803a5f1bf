"""Gain and length (chapter 2): the curves are the norms of the library's Jacobians, in Python and in the page."""

import re

import numpy as np
import pytest
from test_explorer_family import PHONE, WIDE, put, random_explorer, state_in
from traitlets import TraitError

from gru_lib import elman_init, elman_step, jacobian
from gru_lib.widgets import GainExplorer
from gru_lib.widgets._decades import size
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


@pytest.mark.parametrize("seed", range(3))
def test_curves_end_at_the_norm_of_the_whole_jacobian(seed):
    gain = random_explorer("gain", seed)
    xs = np.array(GAIN["inputs"])[: gain.length, None]
    for name, strength in (("rest", 0), ("driven", gain.strength)):
        total = jacobian(strength * xs, None, gain.params()).total[0]
        assert gain.value[name] == pytest.approx(np.linalg.norm(total, 2), rel=1e-9)
    assert np.abs(np.linalg.eigvals(gain.params().W_h)).max() == pytest.approx(gain.radius, rel=1e-12)


def test_default_explodes_at_rest_and_fades_when_driven():
    """The default state shows the point: one radius, two fates."""
    value = GainExplorer().value
    assert value["radius"] == 1.1
    assert value["rest"] > 1e4
    assert value["driven"] < 1e-8
    assert value["radius"] * value["slope"] < 0.9


def test_without_inputs_the_driven_net_is_the_net_at_rest():
    value = GainExplorer(strength=0, radius=0.93).value
    assert value["driven"] == value["rest"]
    assert value["slope"] == 1


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_still_picture_is_what_the_explorer_draws(visit, viewport, lang):
    """Two singular value routines: numbers agree to a hundredth of a unit of the drawing, all else exactly."""
    stills = [GainExplorer(lang=lang), GainExplorer(strength=0, lang=lang)]
    stills += [random_explorer("gain", seed, lang=lang) for seed in range(5)]
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


def test_pointer_in_the_drawing_moves_the_length(visit):
    page = visit(GainExplorer())
    box, layout = page.locator(".ex-growth").bounding_box(), GAIN["layout"]["wide"]
    zoom = box["width"] / layout["W"]
    at = lambda t: box["x"] + zoom * (layout["left"] + t / T * (layout["right"] - layout["left"]))  # noqa: E731
    page.mouse.move(at(30), box["y"] + 80)
    page.mouse.down()
    page.mouse.move(at(50), box["y"] + 80)
    assert state_in(page, "gain")["length"] == 50
    page.mouse.move(at(-20), box["y"] + 80)
    page.mouse.up()
    page.mouse.move(at(70), box["y"] + 80)
    assert state_in(page, "gain")["length"] == 1


def test_finger_moves_the_length(visit):
    page = visit(GainExplorer(), viewport=PHONE, has_touch=True)
    box = page.locator(".ex-growth").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 100)
    assert 30 < state_in(page, "gain")["length"] < 60


def test_sentence_holds_the_numbers_of_the_library(visit):
    gain = GainExplorer(radius=1.5, strength=3, length=80)
    page = visit(GainExplorer())
    put(page, {"radius": 1.5, "strength": 3, "length": 80})
    for v in ("rest", "driven"):
        page.locator(".ex-say", has_text=size(gain.value[v])).wait_for()
    slope = gain.value["slope"]
    page.locator(".ex-say", has_text=f"1.50 × {slope:.2f} = {1.5 * slope:.2f}").wait_for()


@pytest.mark.parametrize(
    ("v", "words"),
    [(0.5, "0.50"), (31.4, "31"), (0.0042, "4.2\u00a0·\u00a010⁻³"), (9.96e17, "1.0\u00a0·\u00a010¹⁸")],
)
def test_sizes_are_written_with_two_digits(v, words):
    assert size(v) == words


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
