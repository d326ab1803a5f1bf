"""The forecaster: its gradient, what does not count, its training; ridge; and the two real series as tasks."""

import numpy as np
import pytest

from gru_lib.gradcheck import gradcheck
from gru_lib.models import forecasts
from gru_lib.models.forecasts import (
    Batch,
    fertility_split,
    fit,
    forecast,
    forecaster_init,
    forecaster_loss,
    iterated_ar,
    ridge,
    rmse,
    weeks,
)
from gru_lib.tasks.series import co2, fertility


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


def test_answers_that_do_not_count_change_nothing():
    rng = np.random.default_rng(1)
    m, batch = forecaster_init(rng, 3, 2, 5), small(rng)
    other = batch._replace(ys=np.where(batch.counts, batch.ys, 99))
    (loss, grads), (again, grads_again) = forecaster_loss(m, batch), forecaster_loss(m, other)
    assert loss == again
    np.testing.assert_array_equal(grads.flat, grads_again.flat)


def test_a_net_is_float32_reset_after_and_starts_with_the_bias_asked_for():
    m = forecaster_init(np.random.default_rng(0), 3, 2, 5, b_z=2.5)
    assert m.dtype == np.float32 and m.rnn.reset_after and (m.rnn.b_z == 2.5).all()
    assert forecast(m, np.zeros((4, 2, 3), np.float32)).dtype == np.float32


def test_training_lowers_the_loss_and_ends_at_the_best_look():
    rng = np.random.default_rng(2)
    m, batch, held_out = forecaster_init(rng, 3, 2, 8), small(rng, 2), small(rng, 2)
    history = fit(m, [batch], 0.03, 200, validation=held_out, every=10)
    assert history.loss[-1] < history.loss[0] / 10  # learned by heart
    curve = history.curve("validation")[1]
    assert curve[-1] > min(curve)  # so the last is not the best
    assert forecaster_loss(m, held_out)[0] == pytest.approx(min(curve), rel=1e-5)


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


@pytest.mark.parametrize("split", [-1, 5])
def test_there_are_five_splits(split):
    with pytest.raises(ValueError, match="split must be at"):
        fertility_split(split)


def test_weeks_are_asked_before_they_come_and_parts_do_not_overlap():
    task, (years, ppm) = weeks(), co2()
    for k, ahead in enumerate(forecasts.HORIZONS):
        train, validation, test = (np.flatnonzero(part[:, k]) for part in task.parts.values())
        assert max(years[train + ahead]) < 1985.1 and min(years[validation]) >= 1985
        assert max(years[validation + ahead]) < 1992.1 and min(years[test]) >= 1992
        np.testing.assert_array_equal(task.ys[test, k], ppm[test + ahead])
    assert list(task.parts) == ["train", "validation", "test"]


def test_what_is_known_in_a_week_does_not_depend_on_later_ones(monkeypatch):
    before, (years, ppm) = weeks(), co2()
    later = ppm.copy()
    later[1500:] += 7
    monkeypatch.setattr(forecasts, "co2", lambda: (years, later))
    after = weeks.__wrapped__()
    for name in ("last", "naive", "lags", "xs"):
        np.testing.assert_array_equal(getattr(after, name)[:1500], getattr(before, name)[:1500])
        assert not np.array_equal(getattr(after, name), getattr(before, name))


def test_autoregression_forecasts_what_its_own_recurrence_says():
    task, said = weeks(), iterated_ar(3)
    changes = np.diff(task.last, prepend=task.last[0])
    first = int(np.flatnonzero(task.parts["train"].any(axis=1))[-1])
    A = np.array([[1, *changes[t - 3 : t]] for t in range(3, first)])
    w = np.linalg.solve(A.T @ A, A.T @ changes[3:first])
    past, level = list(changes[1998:2001]), task.last[2000]
    for ahead in range(1, 27):
        past.append(w @ [1, *past[-3:]])
        level += past[-1]
        if ahead in forecasts.HORIZONS:
            assert said[2000, forecasts.HORIZONS.index(ahead)] == pytest.approx(level, abs=1e-6)


def test_every_country_is_tested_once_and_never_trained_on_in_that_split():
    tested = []
    for split in range(5):
        train, validation, test = fertility_split(split)
        columns = [{tuple(c) for c in part.births.T} for part in (train, validation, test)]
        assert not (columns[0] & columns[1] or columns[0] & columns[2] or columns[1] & columns[2])
        tested += columns[2]
        assert not (train.train & train.test).any() and train.train.any() and test.test.any()
    assert sorted(tested) == sorted(tuple(c) for c in fertility().births.T)


def test_countries_are_asked_for_what_came_and_trained_up_to_1996():
    train, _, _ = fertility_split(0)
    years = fertility().years
    for k, ahead in enumerate(forecasts.YEARS_AHEAD):
        t, c = np.argwhere(train.test[..., k])[-1]
        assert train.ys[t, c, k] == train.births[t + ahead, c] - train.births[t, c]
        assert years[np.flatnonzero(train.train[..., k].any(axis=1))[-1]] + ahead == 1996
        assert years[np.flatnonzero(train.test[..., k].any(axis=1))[0]] == 1997
    assert rmse([3, -4]) == pytest.approx(12.5**0.5)
