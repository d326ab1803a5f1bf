"""The sunspots: parts in the order of time, and no other data under the same name."""

import numpy as np
import pytest

from gru_book.tasks import sunspots as module
from gru_book.tasks.sunspots import TEST_FROM, VALIDATION_FROM, sunspots


def test_parts_follow_each_other_and_leave_out_the_first_year_alone():
    series = sunspots()
    parts = [series.years[series.part(name)] for name in ("train", "validation", "test")]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(1701, 2009))
    assert parts[1][0] == VALIDATION_FROM and parts[2][0] == TEST_FROM


def test_the_series_is_one_object_that_nobody_can_write_to():
    assert sunspots() is sunspots()
    with pytest.raises(ValueError, match="read-only"):
        sunspots().numbers[0] = 1


def test_another_version_of_the_data_is_refused():
    years, numbers = (np.array(a) for a in sunspots())
    numbers[100] += 0.1
    with pytest.raises(RuntimeError, match=r"must have the fingerprint .* of 309 years"):
        module._checked(years, numbers)


def test_an_unknown_part_is_named():
    with pytest.raises(ValueError, match="name must be one of train, validation, test; got 'future'"):
        sunspots().part("future")
