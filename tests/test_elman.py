"""The Elman network. What all cells have in common is in test_cell.py."""

import mpmath
import numpy as np
import pytest
from helpers import close, randomised, rng

from gru_lib import elman_backward, elman_forward, elman_init, elman_step, elman_step_backward
from gru_lib.cells import irnn_init

T, N, D, H = 6, 3, 2, 4
ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda a: max(a, 0.0),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "linear": lambda a: a,
}


def elman(**options):
    return randomised(elman_init(rng(), D, H, **options), rng())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_elman_step_follows_the_equation(activation, bias):
    p, x, h_prev = elman(activation=activation, bias=bias), rng().normal(size=(N, D)), rng().normal(size=(N, H))
    a = x @ p.W_x + h_prev @ p.W_h + (p.b if bias else 0)
    close(elman_step(x, h_prev, p)[0], np.vectorize(ACTIVATIONS[activation])(a), rtol=1e-13, atol=0)


def test_split_and_concatenated_weights_share_their_memory():
    p = elman()
    np.testing.assert_array_equal(p.W, np.concatenate([p.W_h, p.W_x]))
    p.W[H, 0] = 5
    assert p.W_x[0, 0] == 5


def test_orthogonal_weights_keep_the_length_of_the_gradient():
    p = elman_init(rng(), D, H, activation="linear", init="orthogonal")
    dh_T = rng().normal(size=(N, H))
    _, dh0, _ = elman_backward(None, dh_T, elman_forward(np.zeros((500, N, D)), None, p)[2], p)
    np.testing.assert_allclose(np.linalg.norm(dh0, axis=1), np.linalg.norm(dh_T, axis=1), rtol=1e-12)


def test_irnn_starts_as_the_identity():
    p = irnn_init(rng(), D, H)
    h0, dh_T = np.abs(rng().normal(size=(2, N, H)))
    _, h_T, tape = elman_forward(np.zeros((1000, N, D)), h0, p)
    np.testing.assert_array_equal(h_T, h0)
    np.testing.assert_array_equal(elman_backward(None, dh_T, tape, p)[1], dh_T)
    assert 0.0003 < p.W_x.std() < 0.003
    np.testing.assert_array_equal(irnn_init(rng(), D, H, std=0).W_x, 0)


@pytest.mark.parametrize("a", [700, -700, 40, -40])
def test_a_saturated_sigmoid_keeps_the_digits_of_its_gradient(a):
    p = elman_init(rng(), 1, 1, activation="sigmoid")
    p.W[:], p.b[:] = 0.25, a  # x and h add exactly 0.25
    x = h = np.full((1, 1), 0.5)
    with mpmath.workdps(50):
        e = mpmath.exp(-(mpmath.mpf(a) + 0.25))
        slope = float(e / (1 + e) ** 2)
    step = elman_step_backward(np.ones((1, 1)), elman_step(x, h, p)[1], p)
    whole = elman_backward(None, np.ones((1, 1)), elman_forward(x[None], h, p)[2], p)
    for dx, dh, grads in [step, whole]:
        assert grads.b.item() == pytest.approx(slope, rel=1e-11, abs=0)
        for array, factor in [(dx, 0.25), (dh, 0.25), (grads.W_x, 0.5), (grads.W_h, 0.5)]:
            assert array.item() == pytest.approx(slope * factor, rel=1e-11, abs=0)
