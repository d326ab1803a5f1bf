"""The tasks for one gate: what the targets are, and what the best average can do."""

import numpy as np
import pytest

from gru_book.tasks.hold import drift, drift_gain, hold


def test_the_target_of_hold_is_the_latest_marked_number():
    xs, ys = hold(np.random.default_rng(0), 50, 30)
    assert xs.shape == (30, 50, 2) and ys.shape == (30, 50, 1)
    latest = np.zeros(50)
    for x, y in zip(xs, ys, strict=True):
        latest = np.where(x[:, 1] == 1, x[:, 0], latest)
        assert (y[:, 0] == latest).all()


@pytest.mark.parametrize("draw", [hold, drift])
def test_marks_are_zero_or_one_as_often_as_asked_and_the_first_step_has_one(draw):
    marks = draw(np.random.default_rng(1), 400, 101, marks=0.3).xs[:, :, 1]
    assert set(np.unique(marks)) == {0.0, 1.0} and (marks[0] == 1).all()
    assert abs(marks[1:].mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 40_000)  # five standard deviations


def test_drift_walks_by_its_step_and_is_seen_under_its_noise():
    xs, ys = drift(np.random.default_rng(2), 2000, 50, step=0.5, noise=2.0)
    assert np.diff(ys, axis=0).std() == pytest.approx(0.5, rel=0.02)
    assert ys[-1].std() == pytest.approx(0.5 * np.sqrt(50), rel=0.08)  # from 0, each step apart from the others
    assert (xs[:, :, :1] - ys).std() == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize(("step", "noise"), [(0.3, 1.0), (0.2, 3.0)])
def test_no_other_gain_follows_the_drift_better_and_the_error_is_as_stated(step, noise):
    gain, errors = drift_gain(step, noise), []
    xs, ys = drift(np.random.default_rng(3), 3000, 400, step=step, noise=noise)
    for share in (gain, 0.8 * gain, 1.2 * gain):
        h, off = np.zeros((3000, 1)), []
        for x, y in zip(xs, ys, strict=True):
            h = h + share * (x[:, :1] - h)
            off.append(((h - y) ** 2).mean())
        errors.append(np.mean(off[200:]))
    assert errors[0] == pytest.approx(gain * noise**2, rel=0.02) and errors[0] < min(errors[1:])
