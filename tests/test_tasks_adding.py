"""The adding problem against its definition, and its baseline."""

import numpy as np
import pytest
from helpers import refused

from gru_book.tasks.adding import BASELINE, ONE_BASELINE, adding, marked


@pytest.mark.parametrize("T", [2, 5, 50])
def test_the_target_is_the_sum_of_the_two_marked_numbers(T):
    xs, ys, places = adding(np.random.default_rng(0), 200, T)
    assert xs.shape == (T, 200, 2) and ys.shape == (200, 1)
    for n in range(200):
        first, second = np.flatnonzero(xs[:, n, 1])
        assert first < T // 2 <= second and (first, second) == tuple(places[:, n])
        assert ys[n, 0] == xs[first, n, 0] + xs[second, n, 0]
    assert set(np.unique(xs[:, :, 1])) <= {0, 1} and (xs[:, :, 0] >= 0).all() and (xs[:, :, 0] < 1).all()
    assert set(places.ravel()) == set(range(T))  # every step is marked now and then


@pytest.mark.parametrize("T", [6, 20, 50])
def test_early_marks_stand_where_the_original_task_has_them(T):
    xs, ys, places = adding(np.random.default_rng(0), 2000, T, marks="early")
    first, second = places
    assert (first != second).all() and set(first) == set(range(min(10, T // 2 - 1)))
    assert set(second) == set(range(T // 2 - 1))
    np.testing.assert_array_equal(xs[:, :, 1].sum(axis=0), 2)
    np.testing.assert_array_equal(ys[:, 0], (xs[..., 0] * xs[..., 1]).sum(axis=0))


@pytest.mark.parametrize(("marks", "T"), [("halves", 4), ("early", 50)])
def test_answering_1_errs_by_a_sixth(marks, T):
    ys = adding(np.random.default_rng(1), 200_000 if T == 4 else 50_000, T, marks).ys
    assert abs(((ys - 1) ** 2).mean() - BASELINE) < 0.002  # four standard errors
    assert abs(ys.mean() - 1) < 0.004


def test_wrong_arguments_are_named():
    rng = np.random.default_rng(0)
    refused(ValueError, "adding: T must be at least 2; got 1", adding, rng, 3, 1)
    refused(ValueError, 'adding with marks="early": T must be at least 6; got 5', adding, rng, 3, 5, "early")
    refused(ValueError, "adding: marks must be", adding, rng, 3, 50, "late")


def test_the_one_marked_number_stands_in_the_first_half_and_is_the_target():
    xs, ys, places = marked(np.random.default_rng(0), 200, 9)
    assert xs.shape == (9, 200, 2) and ys.shape == (200, 1) and places.shape == (1, 200)
    for n in range(200):
        (step,) = np.flatnonzero(xs[:, n, 1])
        assert step == places[0, n] and ys[n, 0] == xs[step, n, 0]
    assert set(places.ravel()) == set(range(4))
    refused(ValueError, "marked: T must be at least 2; got 1", marked, np.random.default_rng(0), 3, 1)


def test_answering_a_half_errs_by_a_twelfth():
    ys = marked(np.random.default_rng(1), 200_000, 4).ys
    assert abs(((ys - 0.5) ** 2).mean() - ONE_BASELINE) < 0.001
