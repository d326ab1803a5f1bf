"""Sunspots as a series: the yearly numbers from 1700 to 2008 that come with statsmodels, cut into three by time.

Nothing is downloaded. The task is to predict next year's number from all the years before.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["TEST_FROM", "VALIDATION_FROM", "Series", "sunspots"]

Array = NDArray[Any]

#: First target years of the second and the third part: 1701–1900 trains, 1901–1950 validates, the rest tests.
VALIDATION_FROM, TEST_FROM = 1901, 1951

_SHA256 = "f660a9790e83edbbfe10d969532f73fff20fca6cdfa2bf7a3eeae2e000c1a464"


class Series(NamedTuple):
    """The years and their sunspot numbers."""

    years: Array  # (309,), integers from 1700
    numbers: Array  # (309,), the mean sunspot number of each year

    def part(self, name: str) -> slice:
        """Return the targets of a part, "train", "validation" or "test", as a slice of the years."""
        bounds = {
            "train": (1, VALIDATION_FROM - 1700),
            "validation": (VALIDATION_FROM - 1700, TEST_FROM - 1700),
            "test": (TEST_FROM - 1700, len(self.years)),
        }
        if name not in bounds:
            raise ValueError(f"Series.part: name must be one of {', '.join(bounds)}; got {name!r}.")
        return slice(*bounds[name])


@cache
def sunspots() -> Series:
    """Return the yearly sunspot numbers, after checking their fingerprint.

    Raises
    ------
    ImportError
        If statsmodels is not installed.
    RuntimeError
        If its numbers are not those that the book's results were measured on.

    Notes
    -----
    Chapter 20. statsmodels names the National Geophysical Data Center of the USA as the source; public domain.

    Examples
    --------
    >>> from gru_book.tasks.sunspots import sunspots
    >>> series = sunspots()
    >>> series.years[[0, -1]], len(series.numbers)
    (array([1700, 2008]), 309)
    >>> series.years[series.part("validation")][[0, -1]]
    array([1901, 1950])
    """
    from statsmodels.datasets import sunspots as source

    table = source.load_pandas().data
    return _checked(table["YEAR"], table["SUNACTIVITY"])


def _checked(years: ArrayLike, numbers: ArrayLike) -> Series:
    """Check the numbers and make a series of them."""
    years, numbers = np.asarray(years).astype(np.int64), np.asarray(numbers, dtype=np.float64)
    tenths = np.round(10 * numbers).astype(np.int64)  # whole numbers: the same bytes on every machine
    found = hashlib.sha256(years.astype("<i8").tobytes() + tenths.astype("<i8").tobytes()).hexdigest()
    if found != _SHA256:
        raise RuntimeError(
            f"sunspots: statsmodels' sunspots must have the fingerprint {_SHA256[:16]}…; got {found[:16]}… "
            f"of {len(years)} years. Another version of the data gives other numbers than the book's."
        )
    years.setflags(write=False)
    numbers.setflags(write=False)
    return Series(years, numbers)
