"""CO2 and fertility: the numbers of the book and no others, and no average over countries among the countries."""

import numpy as np
import pytest

from gru_lib.tasks import series as module
from gru_lib.tasks.series import co2, fertility


def test_co2_is_weekly_with_gaps():
    years, ppm = co2()
    assert len(years) == len(ppm) == 2284 and np.isnan(ppm).sum() == 59
    assert np.allclose(np.diff(years), 7 / 365.25, atol=0.005) and int(years[0]) == 1958 and int(years[-1]) == 2001


def test_fertility_is_of_countries_alone_and_without_gaps():
    years, countries, births = fertility()
    assert births.shape == (52, 188) == (len(years), len(countries)) and np.isfinite(births).all()
    assert {"Japan", "Niger"} <= set(countries)
    assert not [name for name in countries if "members" in name or "small states" in name or "income" in name]


@pytest.mark.parametrize("read", [co2, fertility])
def test_a_series_is_one_object_that_nobody_can_write_to(read):
    assert read() is read()
    with pytest.raises(ValueError, match="read-only"):
        read()[-1][0] = 1


@pytest.mark.parametrize(("name", "scale"), [("co2", 10), ("fertility", 1000)])
def test_another_version_of_the_data_is_refused(name, scale):
    numbers = np.array(getattr(module, name)()[-1])
    np.testing.assert_array_equal(module._checked(name, numbers, scale), numbers)
    numbers[100 % len(numbers)] += 0.1
    with pytest.raises(RuntimeError, match=f"{name}: statsmodels' {name} must have the fingerprint .* of shape"):
        module._checked(name, numbers, scale)
