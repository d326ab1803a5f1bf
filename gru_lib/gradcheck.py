"""Is this gradient right? Compare a hand-written gradient with one computed from the forward code alone.

- Complex step: Im f(v + i·ε) / ε, exact to rounding (ε can be 1e−30, because nothing is subtracted). Needs forward
  code that runs on complex numbers, as all of gru_lib does; abs, norm and .real drop the imaginary part, and with it
  the gradient, which a comparison with the values themselves shows unless the part is small.
- Central differences: (f(v + ε) − f(v − ε)) / 2ε, accurate to about 1e−9. Works for any forward code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gru_lib.checks import check_choice, check_function, of_shape, plain
from gru_lib.params import Params
from gru_lib.types import Array

__all__ = ["GradReport", "gradcheck", "numeric_gradient"]

Point = Params | Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """The comparison of one array."""

    name: str
    shape: tuple[int, ...]
    error: float  # largest relative error of an entry
    where: tuple[int, ...]  # its index
    given: float
    expected: float
    factor: float | None = None  # where the whole array is what is expected times one number


@dataclass(frozen=True, repr=False)
class GradReport:
    """Result of `gradcheck`: one row for each array."""

    rows: tuple[Row, ...]
    method: str

    @property
    def worst(self) -> float:
        """The largest relative error of any entry of any array."""
        return max(row.error for row in self.rows)

    def wrong(self, tolerance: float) -> list[str]:
        """Return the names of the arrays with an entry off by more than `tolerance`."""
        return [row.name for row in self.rows if not row.error <= tolerance]

    def table(self, tolerance: float) -> str:
        """Return a text table: whether each array is within `tolerance`, and if not, its worst entry.

        An array that is off by one factor, such as 1 / N of a mean, says so.
        """
        lines = []
        width = max(len(row.name) for row in self.rows)
        for row in self.rows:
            shape = "x".join(map(str, row.shape)) or "number"
            verdict = f"within {tolerance:g}"
            if not row.error <= tolerance:
                at = ", ".join(map(str, row.where))
                verdict = f"WRONG at [{at}]: {row.given:.6g}, but {self.method} says {row.expected:.6g}"
                if row.factor is not None:
                    verdict += f"; all entries are {row.factor:.6g} times what they should be"
            lines.append(f"{row.name:<{width}}  {shape:<9}  {verdict}")
        return "\n".join(lines)

    def __repr__(self) -> str:  # pytest shows it when ``assert report.worst < 1e-9`` fails, its middle cut out if long
        lines = [
            f"{row.name} {row.error:.1e} at [{', '.join(map(str, row.where))}]: {row.given:.6g}, not {row.expected:.6g}"
            for row in sorted(self.rows, key=lambda row: -row.error)
        ]
        return "\n".join([f"gradcheck ({self.method}), worst first:", *lines])

    def __str__(self) -> str:
        rows = ", ".join(f"{row.name} {row.error:.1e}" for row in self.rows)
        return f"gradcheck ({self.method}): worst relative error {self.worst:.1e} ({rows})"


def numeric_gradient(loss: Callable[..., Any], at: Point, *, method: str = "complex") -> dict[str, Array]:
    """Differentiate `loss` with respect to every number of `at`, by forward evaluations only.

    Costs two evaluations for each number (one, for "complex"), so it is for small cases only. Squire & Trapp (1998) for
    the complex step. Chapter 5.

    "complex" compares its result with the values of `loss` along a line, and raises ValueError if it has missed a part:
    abs, norm, .real and a cast to float drop the imaginary part. A part below about 1e−4 of the gradient slips through.

    Parameters
    ----------
    loss
        Returns one number. Called with `at` if that is a Params, else with its items as keyword arguments.
    at
        A Params, or a mapping from names to arrays and Params.
    method
        "complex" (step 1e−30) or "central" (step 6e−6·max(1, ``|v|``)).

    Returns
    -------
    dict
        Name -> gradient, one entry per array; an array of a Params inside a mapping has a name such as "p.W_x".

    Examples
    --------
    >>> from gru_lib import numeric_gradient
    >>> v = np.array([1.0, 2.0])
    >>> numeric_gradient(lambda v: (v**3).sum(), {"v": v})  # 3 v²
    {'v': array([ 3., 12.])}
    """
    check_choice("numeric_gradient", "method", method, ("complex", "central"))
    check_function("numeric_gradient", "loss", loss)
    point = _copy(at, np.complex128 if method == "complex" else np.float64)
    result = {}
    for name, array in _arrays("at", point):
        gradient = np.empty(array.shape, np.float64)
        for index in np.ndindex(array.shape):
            value = array[index]
            if method == "complex":
                array[index] = value + 1e-30j
                gradient[index] = np.imag(_call(loss, point)) / 1e-30
            else:
                step = 6e-6 * max(1.0, float(abs(value)))
                array[index] = value + step
                above = _call(loss, point)
                array[index] = value - step
                gradient[index] = (above - _call(loss, point)) / (2 * step)
            array[index] = value
        result[name] = gradient
    if method == "complex" and result and not _agrees(loss, at, result):
        raise ValueError(
            "numeric_gradient: the complex step does not see all of loss, whose values change otherwise than it says: "
            "abs, norm, .real or a cast drop the imaginary part (write sqrt(v * v) for abs(v)). Or loss jumps here. "
            'method="central" needs only the values.'
        )
    return result


def _agrees(loss: Callable[..., Any], at: Point, gradient: Mapping[str, Array]) -> bool:
    """Whether the values of `loss` along a line change as the gradient says; at a kink, on one side of it."""
    point, rng = _copy(at, np.float64), np.random.default_rng(0)
    arrays = _arrays("at", point)
    line = {name: rng.uniform(0.5, 1, a.shape) * rng.choice([-1, 1], a.shape) for name, a in arrays}
    parts = [np.ravel(gradient[name] * u) for name, u in line.items()]
    said = np.concatenate(parts) if parts else np.zeros(0)
    total, size = said.sum(), np.linalg.norm(said)
    start = {name: a.copy() for name, a in arrays}
    reach = sum(np.abs(gradient[name] * a).sum() for name, a in arrays)

    def value(step: float) -> float:
        for name, a in arrays:
            a[...] = start[name] + step * line[name]
        return float(np.real(_call(loss, point)))

    with np.errstate(all="ignore"):
        here = value(0)
        for step in (1e-6, 1e-8, 1e-4, 1e-9):  # one step may be too long for what is steep, or drown in rounding
            ahead, behind = (value(step) - here) / step, (here - value(-step)) / step
            noise = 1e-5 * (size + abs(total)) + (1e-14 * abs(here) + 2e-16 * reach) / step  # of loss, of the entries
            if any(not abs(slope - total) > noise for slope in (ahead, behind, (ahead + behind) / 2)):
                return True
    return False


def gradcheck(loss: Callable[..., Any], at: Point, grads: Point, *, method: str = "complex") -> GradReport:
    """Compare hand-written gradients with numerical ones, entry by entry.

    `loss`, `at` and `method` are those of `numeric_gradient`; `grads` has the names and shapes of `at`.

    The relative error of an entry is ``|given − expected| / max(|expected|, s)``, s the root mean square of the
    expected array: an entry that is tiny by cancellation is measured against the size of its neighbours.

    Examples
    --------
    >>> from gru_lib import gradcheck
    >>> v = np.array([1.0, 2.0])
    >>> right = gradcheck(lambda v: (v**3).sum(), {"v": v}, {"v": 3 * v**2})
    >>> wrong = gradcheck(lambda v: (v**3).sum(), {"v": v}, {"v": 3 * v})
    >>> right.worst < 1e-9, wrong.wrong(1e-9)
    (True, ['v'])
    """
    given = dict(_arrays("grads", grads))
    expected = numeric_gradient(loss, at, method=method)
    if given.keys() != expected.keys():
        raise ValueError(f"gradcheck: grads must have the names {sorted(expected)}; got {sorted(given)}.")
    rows = []
    for name, right in expected.items():
        mine = of_shape("gradcheck", f"grads of {name}", given[name])
        if mine.shape != right.shape:
            raise ValueError(
                f"gradcheck: in grads the gradient of {name} must have shape {right.shape}; got {mine.shape}."
            )
        scale = np.maximum(np.abs(right), max(np.sqrt(np.mean(right**2)) if right.size else 0, 1e-300))
        error = np.abs(mine - right) / scale
        error = np.where(np.isnan(error), np.inf, error)
        where = np.unravel_index(int(error.argmax()), error.shape) if error.ndim else ()
        worst, given_there, expected_there = (float(a[where]) for a in (error, mine, right))
        factor = _factor(mine, right)
        rows.append(Row(name, right.shape, worst, tuple(map(int, where)), given_there, expected_there, factor))
    return GradReport(tuple(rows), "complex step" if method == "complex" else "central differences")


def _factor(mine: Array, right: Array) -> float | None:
    """The number that `right` is to be multiplied by to give `mine`, if one does it for several entries."""
    norm = float(np.linalg.norm(right))
    if np.count_nonzero(right) < 2 or not np.isfinite(mine).all():
        return None
    factor = float((mine * right).sum()) / norm**2
    return factor if np.linalg.norm(mine - factor * right) <= 1e-6 * abs(factor) * norm else None


def _copy(at: Point, dtype: Any) -> Any:
    if isinstance(at, Params):
        return at.astype(dtype)
    if isinstance(at, Mapping):
        return {
            k: v.astype(dtype) if isinstance(v, Params) else of_shape("gradcheck", f"at[{k!r}]", v).astype(dtype)
            for k, v in at.items()
        }
    raise TypeError(f"gradcheck: at must be a Params or a mapping from names to arrays; got {type(at).__name__}.")


def _arrays(name: str, at: Point) -> list[tuple[str, Array]]:
    if isinstance(at, Params):
        return list(at.items())
    if not isinstance(at, Mapping):
        raise TypeError(f"gradcheck: {name} must be a Params or a mapping from names; got {type(at).__name__}.")
    pairs: list[tuple[str, Array]] = []
    for name, value in at.items():
        pairs += [(f"{name}.{k}", a) for k, a in value.items()] if isinstance(value, Params) else [(name, value)]
    return pairs


def _call(loss: Callable[..., Any], point: Any) -> Any:
    value = loss(point) if isinstance(point, Params) else loss(**point)
    if plain("gradcheck", "loss", value).dtype.kind not in "biufc":
        raise TypeError(f"gradcheck: loss must return one number; got {type(value).__name__}.")
    if np.ndim(value) != 0:
        raise ValueError(f"gradcheck: loss must return one number; got an array of shape {np.shape(value)}.")
    return value
