"""The forecaster: its gradient, what does not count, its training; and ridge."""

import numpy as np
import pytest

from gru_book.models.forecasts import Batch, fit, forecast, forecaster_init, forecaster_loss, ridge
from gru_lib.gradcheck import gradcheck


def small(rng, N=4):
    counts = rng.random((6, N, 2)) < 0.7
    return Batch(rng.normal(size=(6, N, 3)), rng.normal(size=(6, N, 2)), counts)


def test_gradient_is_right():
    rng = np.random.default_rng(0)
    m, batch = forecaster_init(rng, 3, 2, 5).astype(np.float64), small(rng)
    loss, grads = forecaster_loss(m, batch)
    off = (forecast(m, batch.xs) - batch.ys)[batch.counts]
    assert loss == pytest.approx(np.mean(off**2))
    assert gradcheck(lambda m: forecaster_loss(m, batch)[0], m, grads).worst < 1e-13


def test_a_net_is_float32_reset_after_and_starts_with_the_bias_asked_for():
    m = forecaster_init(np.random.default_rng(0), 3, 2, 5, b_z=2.5)
    assert m.dtype == np.float32 and m.rnn.reset_after and (m.rnn.b_z == 2.5).all()
    assert forecast(m, np.zeros((4, 2, 3), np.float32)).dtype == np.float32


def test_training_lowers_the_loss():
    rng = np.random.default_rng(2)
    m, batch = forecaster_init(rng, 3, 2, 8), small(rng, 2)
    history = fit(m, [batch], 0.03, 200)
    assert history.loss[-1] < history.loss[0] / 10  # learned by heart


def test_ridge_is_least_squares_without_a_penalty_and_the_mean_with_a_large_one():
    rng = np.random.default_rng(3)
    A, y = rng.normal(size=(50, 4)) * [1, 10, 0.1, 1] + 3, rng.normal(size=50)
    X = np.column_stack([np.ones(50), A])
    np.testing.assert_allclose(ridge(A, y, 0)(A), X @ np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-6)
    np.testing.assert_allclose(ridge(A, y, 1e12)(A), y.mean(), atol=1e-6)
    standard = (A - A.mean(axis=0)) / A.std(axis=0)
    w = ridge(A, y, 7.0).weights[1:]
    np.testing.assert_allclose(standard.T @ (y - y.mean() - standard @ w), 7 * w, atol=1e-5)  # slope of the loss is 0
    with pytest.raises(ValueError, match="penalty must be"):
        ridge(A, y, -1)
