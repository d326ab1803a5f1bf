"""The tasks for one gate: what the targets are, and what the best average can do."""

import numpy as np
import pytest

from gru_book.tasks.hold import drift, drift_gain, hold


def average(xs, gain):
    """The exponential average that writes the share `gain` of each number, from 0."""
    h, hs = np.zeros(xs.shape[1]), []
    for x in xs[:, :, 0]:
        h = h + gain * (x - h)
        hs.append(h)
    return np.array(hs)


def test_the_target_of_hold_is_the_latest_marked_number():
    batch = hold(np.random.default_rng(0), 50, 30)
    assert batch.xs.shape == (30, 50, 2) and batch.ys.shape == (30, 50, 1)
    for column in range(50):
        latest = None
        for (number, mark), y in zip(batch.xs[:, column], batch.ys[:, column, 0], strict=True):
            latest = number if mark else latest
            assert y == latest


@pytest.mark.parametrize("draw", [hold, drift])
def test_marks_are_zero_or_one_as_often_as_asked_and_the_first_step_has_one(draw):
    marks = draw(np.random.default_rng(1), 400, 101, marks=0.3).xs[:, :, 1]
    assert set(np.unique(marks)) == {0.0, 1.0} and (marks[0] == 1).all()
    assert abs(marks[1:].mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 40_000)  # five standard deviations


def test_drift_walks_by_its_step_and_is_seen_under_its_noise():
    batch = drift(np.random.default_rng(2), 2000, 50, step=0.5, noise=2.0)
    ys = batch.ys[:, :, 0]
    assert np.diff(ys, axis=0).std() == pytest.approx(0.5, rel=0.02)
    assert ys[-1].std() == pytest.approx(0.5 * np.sqrt(50), rel=0.08)
    assert (batch.xs[:, :, 0] - ys).std() == pytest.approx(2.0, rel=0.02)
    np.testing.assert_array_equal(drift(np.random.default_rng(2), 5, 9, step=0).ys, 0)


@pytest.mark.parametrize(("step", "noise"), [(0.3, 1.0), (1.0, 1.0), (0.2, 3.0)])
def test_no_other_gain_follows_the_drift_better_and_the_error_is_as_stated(step, noise):
    gain = drift_gain(step, noise)
    batch = drift(np.random.default_rng(3), 3000, 400, step=step, noise=noise)

    def error(share):
        return ((average(batch.xs, share) - batch.ys[:, :, 0])[200:] ** 2).mean()

    assert error(gain) == pytest.approx(gain * noise**2, rel=0.02)
    assert error(gain) < min(error(0.8 * gain), error(1.2 * gain))


def test_the_gain_solves_its_equation():
    """gain² = q (1 − gain): what the derivation of the chapter ends in."""
    for step in (0.01, 0.3, 1.0, 10.0):
        gain = drift_gain(step)
        assert gain**2 == pytest.approx(step**2 * (1 - gain), rel=1e-6) and 0 < gain < 1
