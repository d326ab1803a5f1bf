"""Two tasks for one gate: hold a value until the next mark, and follow a value that drifts under noise. Chapter 3.

In both, the input of a step is a number and a mark, and the target is a number. `hold` wants a unit to keep, but at a
mark. `drift` wants it to write a constant small share; its marks mean nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib.checks import check_instance, check_int, check_number

__all__ = ["Batch", "drift", "drift_gain", "hold"]

Array = NDArray[Any]


class Batch(NamedTuple):
    """Inputs and targets, time first."""

    xs: Array  # (T, N, 2): the number, and the mark, 1 or 0
    ys: Array  # (T, N, 1)


def hold(rng: np.random.Generator, N: int, T: int, *, marks: float = 0.2) -> Batch:
    """Draw N sequences of T independent normal numbers; the target is the latest number that carries a mark.

    The first number always has one. `marks` is the share of steps with a mark, in [0, 1).

    Examples
    --------
    >>> from gru_book.tasks.hold import hold
    >>> xs, ys = hold(np.random.default_rng(0), N=3, T=20)
    >>> marked = xs[:, :, 1] == 1
    >>> np.array_equal(ys[marked, 0], xs[marked, 0])
    True
    >>> np.array_equal(ys[1:][~marked[1:]], ys[:-1][~marked[1:]])
    True
    """
    xs = _inputs("hold", rng, N, T, marks)
    last = np.maximum.accumulate(np.where(xs[:, :, 1] > 0, np.arange(len(xs))[:, None], 0), axis=0)
    return Batch(xs, np.take_along_axis(xs[:, :, 0], last, axis=0)[:, :, None])


def drift(
    rng: np.random.Generator, N: int, T: int, *, step: float = 0.3, noise: float = 1.0, marks: float = 0.2
) -> Batch:
    """Draw N sequences of a random walk from 0; the input is the walk under noise, the target the walk itself.

    ::

        y_t = y_{t−1} + step·ε_t,     x_t = y_t + noise·η_t,     ε, η standard normal

    `drift_gain` gives the best that an exponential average can do.

    Examples
    --------
    >>> from gru_book.tasks.hold import drift
    >>> xs, ys = drift(np.random.default_rng(0), N=1000, T=20, noise=0.5)
    >>> round(float((xs[:, :, 0] - ys[:, :, 0]).std()), 2)
    0.5
    """
    xs = _inputs("drift", rng, N, T, marks)
    step, noise = check_number("drift", "step", step, least=0), check_number("drift", "noise", noise, least=0)
    ys = step * rng.standard_normal(xs.shape[:2]).cumsum(axis=0)
    xs[:, :, 0] = ys + noise * xs[:, :, 0]
    return Batch(xs, ys[:, :, None])


def drift_gain(step: float = 0.3, noise: float = 1.0) -> float:
    """Return the share of the new input that follows `drift` with the least squared error, after many steps.

    ::

        q = (step / noise)²,     gain = (√(q² + 4q) − q) / 2

    The error's variance is then gain·noise². Muth (1960).

    Examples
    --------
    >>> from gru_book.tasks.hold import drift_gain
    >>> round(drift_gain(step=1.0, noise=1.0), 3)  # (√5 − 1) / 2
    0.618
    """
    step, noise = check_number("drift_gain", "step", step, above=0), check_number("drift_gain", "noise", noise, above=0)
    check_number("drift_gain", "step / noise", step / noise, below=1e70)
    q = (step / noise) ** 2
    return float((np.sqrt(q * q + 4 * q) - q) / 2)


def _inputs(where: str, rng: np.random.Generator, N: int, T: int, marks: float) -> Array:
    check_instance(where, "rng", rng, np.random.Generator)
    N, T = check_int(where, "N", N), check_int(where, "T", T)
    marks = check_number(where, "marks", marks, least=0, below=1)
    xs = np.empty((T, N, 2))
    xs[:, :, 0] = rng.standard_normal((T, N))
    xs[:, :, 1] = rng.random((T, N)) < marks
    xs[0, :, 1] = 1
    return xs
