"""Two series that come with statsmodels: weekly CO2 at Mauna Loa, and births per woman of the world's countries.

Nothing is downloaded; the numbers are checked against a fingerprint. Chapter 22.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib._core.optional import needs

__all__ = ["CO2", "Fertility", "co2", "fertility"]

Array = NDArray[Any]

_SHA256 = {
    "co2": "91bd1bf51b6d3cddf64a5a125bc1b0c6a980159766caa1d6fa1a79927694c756",
    "fertility": "a7ee9dea34d568288ac4f08f50d2ae64a83fef6abdb8520e1165f7b9775d3e0f",
}
#: Rows of the table that are averages over other rows.
_GROUPS = (
    "Latin America & Caribbean (all income levels)",
    "OECD members",
    "Other small states",
    "Pacific island small states",
    "Sub-Saharan Africa (IFC classification)",
)


class CO2(NamedTuple):
    """Weekly means from March 1958 to December 2001."""

    years: Array  # (2284,): the date of each week, in years
    ppm: Array  # (2284,): parts per million; NaN in the 59 weeks without a measurement


class Fertility(NamedTuple):
    """Births per woman by country, for those with a number for every year."""

    years: Array  # (52,), integers 1960 … 2011
    countries: tuple[str, ...]  # (C,)
    births: Array  # (52, C)


@cache
def co2() -> CO2:
    """Return the weekly CO2 at Mauna Loa, after checking its fingerprint.

    Raises
    ------
    ImportError
        If statsmodels is not installed.
    RuntimeError
        If its numbers are not those that the book's results were measured on.

    Notes
    -----
    Keeling & Whorf (2004), Scripps Institution of Oceanography; public domain.

    Examples
    --------
    >>> from gru_lib.tasks.series import co2
    >>> series = co2()
    >>> len(series.ppm), int(np.isnan(series.ppm).sum())
    (2284, 59)
    """
    with needs("co2", "statsmodels", "tasks"):
        from statsmodels.datasets import co2 as source
    table = source.load_pandas().data
    years = np.asarray(table.index.year) + (np.asarray(table.index.day_of_year) - 1) / 365.25
    return CO2(_fixed(years), _checked("co2", table["co2"], 10))


@cache
def fertility() -> Fertility:
    """Return births per woman of the countries whose series has no gap from 1960 to 2011, after checking it.

    Rows of the table that are averages over other rows are left out: they would tell of the countries held back.
    Raises as `co2`.

    Notes
    -----
    World Bank, World Development Indicators. Many of its yearly numbers are interpolated between counts.

    Examples
    --------
    >>> from gru_lib.tasks.series import fertility
    >>> found = fertility()
    >>> found.years[[0, -1]], "France" in found.countries
    (array([1960, 2011]), True)
    """
    with needs("fertility", "statsmodels", "tasks"):
        from statsmodels.datasets import fertility as source
    table = source.load_pandas().data
    years = np.arange(1960, 2012)
    births = np.asarray(table[[str(year) for year in years]], dtype=np.float64)
    names = [str(name) for name in table["Country Name"]]
    whole = [i for i, name in enumerate(names) if np.isfinite(births[i]).all() and name not in _GROUPS]
    return Fertility(_fixed(years), tuple(names[i] for i in whole), _checked("fertility", births[whole].T, 1000))


def _checked(name: str, numbers: ArrayLike, scale: int) -> Array:
    """The numbers, if they are those of the book: as whole numbers they have the same bytes on every machine."""
    numbers = np.ascontiguousarray(np.asarray(numbers, dtype=np.float64))
    whole = np.where(np.isfinite(numbers), np.round(scale * np.nan_to_num(numbers)), -1)
    found = hashlib.sha256(whole.astype("<i8").tobytes()).hexdigest()
    if found != _SHA256[name]:
        raise RuntimeError(
            f"{name}: statsmodels' {name} must have the fingerprint {_SHA256[name][:16]}…; got {found[:16]}… "
            f"of shape {numbers.shape}. Another version of the data gives other numbers than the book's."
        )
    return _fixed(numbers)


def _fixed(numbers: ArrayLike) -> Array:
    """An array that nobody can write to."""
    numbers = np.array(numbers)
    numbers.setflags(write=False)
    return numbers
