"""The pendulum: its law, its gaps, what a net is given, and filters that know the law."""

import numpy as np
import pytest

from gru_book.tasks import pendulum
from gru_book.tasks.pendulum import carried, errors, inputs, kalman, kalman_bank, lag_features, pendulums, targets

AHEAD, DT, NOISE, WARM = pendulum.AHEAD, pendulum.DT, pendulum.NOISE, pendulum.WARM


@pytest.fixture(scope="module")
def batch():
    return pendulums(np.random.default_rng(0), 40)


def test_angles_follow_the_law_from_rest(batch):
    """Two hundred midpoint steps between two readings in place of two of Runge and Kutta's."""
    theta, omega, dt = batch.angles[0].copy(), np.zeros(40), DT / 200
    assert (abs(theta) >= 1).all() and (abs(theta) <= 2.8).all()
    for angle in batch.angles[:40]:
        np.testing.assert_allclose(angle, theta, atol=1e-3)
        for _ in range(200):
            half = omega + dt / 2 * (-9.81 / batch.length * np.sin(theta) - batch.damping * omega)
            middle = theta + dt / 2 * omega
            theta = theta + dt * half
            omega = omega + dt * (-9.81 / batch.length * np.sin(middle) - batch.damping * half)


def test_noise_and_missing_readings_are_as_many_as_the_page_says():
    b = pendulums(np.random.default_rng(1), 1000)
    assert 1 - b.seen.mean() == pytest.approx(0.445, abs=0.01)
    off = (b.values - b.angles[: len(b.seen)])[b.seen]
    assert off.std() == pytest.approx(NOISE, rel=0.02) and abs(off.mean()) < 0.001
    assert b.seen[0].all() and (np.isnan(b.values) == ~b.seen).all()


def test_carried_is_what_a_loop_over_the_readings_gives(batch):
    last, since = carried(batch.values, batch.seen)
    for n in range(5):
        v, k = 0.0, 0
        for t in range(len(last)):
            v, k = (batch.values[t, n], 0) if batch.seen[t, n] else (v, k + 1)
            assert (last[t, n], since[t, n]) == (v, k)
    last, since = carried([[np.nan], [np.nan], [3.0]], [[False], [False], [True]])
    np.testing.assert_array_equal([last[:, 0], since[:, 0]], [[0, 0, 3], [1, 2, 0]])


def test_what_a_net_is_given_has_no_nan_and_nothing_of_the_future(batch):
    xs, (last, since) = inputs(batch), carried(batch.values, batch.seen)
    assert xs.dtype == np.float32 and np.isfinite(xs).all()
    np.testing.assert_array_equal(xs, np.stack([last, batch.seen, since / 5], axis=-1).astype(np.float32))
    later = batch._replace(values=batch.values.copy(), seen=batch.seen.copy())
    later.values[60:], later.seen[60:] = 9.0, True
    np.testing.assert_array_equal(inputs(later)[:60], xs[:60])
    np.testing.assert_array_equal(lag_features(later, 30)[:60], lag_features(batch, 30)[:60])


def test_lag_features_are_the_last_readings_in_order(batch):
    features, (last, since) = lag_features(batch, 3), carried(batch.values, batch.seen)
    wanted = np.stack([*(last[50 - k] for k in range(3)), *(batch.seen[50 - k] for k in range(3)), since[50]], axis=-1)
    np.testing.assert_array_equal(features[50], wanted)
    np.testing.assert_array_equal(features[0, :, :3], np.stack([last[0]] * 3, axis=-1))
    assert features.shape == (*batch.seen.shape, 7) and not features[0, :, 4:6].any()


def test_targets_are_now_and_one_second_later_and_errors_are_theirs(batch):
    ys = targets(batch)
    np.testing.assert_array_equal(ys[:-AHEAD, :, 1], ys[AHEAD:, :, 0])
    assert errors(ys, batch) == (0, 0, 0)
    wrong = ys + np.where(batch.seen, 0.0, 0.5)[..., None] * [1, 0]
    found = errors(wrong, batch)
    assert found.unseen == pytest.approx(0.5) and found.ahead == 0
    assert found.now == pytest.approx(0.5 * (~batch.seen[WARM:]).mean() ** 0.5)


def test_a_filter_that_is_told_the_length_is_near_the_truth_and_one_told_another_is_not(batch):
    right, score = kalman(batch, batch.length, batch.damping)
    assert errors(right, batch).now < 0.02
    wrong, worse = kalman(batch, 1.3 * batch.length, batch.damping)
    assert errors(wrong, batch).now > 0.2 and (worse[-1] < score[-1]).all()


def test_filters_that_are_not_told_find_the_length(batch):
    found = errors(kalman_bank(batch), batch)
    assert errors(kalman(batch, batch.length, batch.damping)[0], batch).ahead < found.ahead < 0.15
    assert errors(kalman(batch, np.full(40, 1.0), np.full(40, 0.1))[0], batch).ahead > 0.5
