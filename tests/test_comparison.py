"""Chapter 20's networks and tasks: what is counted, and what a training may see."""

import numpy as np
import pytest

from gru_book.models import comparison
from gru_book.tasks.sunspots import TEST_FROM, VALIDATION_FROM, Series, sunspots


def test_training_and_choosing_never_see_a_later_part_of_the_sunspots(monkeypatch):
    def seen():
        comparison.sunspot_arrays.cache_clear()
        comparison.sunspot_part.cache_clear()
        batch = comparison.sunspot_batch(np.random.default_rng(0))
        return batch, comparison.sunspot_part("validation")

    before, real = seen(), sunspots()
    try:
        for first, what in ((VALIDATION_FROM, (0,)), (TEST_FROM, (0, 1))):
            changed = Series(real.years, np.where(real.years < first, real.numbers, -7.0))
            monkeypatch.setattr(comparison, "sunspots", lambda changed=changed: changed)
            after = seen()
            for k in what:
                np.testing.assert_array_equal(before[k].xs, after[k].xs)
                np.testing.assert_array_equal(before[k].ys, after[k].ys)
        assert (after[1].ys != -0.07).all()
    finally:
        comparison.sunspot_arrays.cache_clear()
        comparison.sunspot_part.cache_clear()


def test_parameters_are_counted_as_the_library_has_them():
    for cell in comparison.CELLS:
        m = comparison.network(np.random.default_rng(0), cell, 3, 2, 5)
        assert m.size == comparison.count(cell, 3, 2, 5) and m.flat.dtype == np.float32


def test_a_net_that_knows_nothing_needs_the_logarithm_of_the_alphabet():
    task = comparison.tasks()["text"]
    m = comparison.network(np.random.default_rng(0), "GRU", task.D, task.K, 2, V=task.V)
    m.flat[:] = 0
    assert comparison.score(m, task, task.part("validation")) == pytest.approx(np.log2(task.K), rel=1e-5)
