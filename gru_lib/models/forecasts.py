"""Forecasting with a GRU, with a ridge regression, and the two real series that they are compared on. Chapter 22.

`m = forecaster_init(rng, D, K, H)` is a bundle of the GRU `m.rnn` and the linear layer `m.out`: after each step it says
K numbers. float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib._core.checks import check_int, check_number
from gru_lib._core.params import Bundle, bundle
from gru_lib.cells.gru import gru_backward, gru_forward, gru_init
from gru_lib.cells.registry import infer
from gru_lib.ops import linear_backward, linear_forward, linear_init
from gru_lib.optim import Adam, linear_decay
from gru_lib.tasks.pendulum import carried
from gru_lib.tasks.series import co2, fertility
from gru_lib.train import History, train

__all__ = [
    "Batch", "Countries", "Ridge", "Weeks", "batches", "fertility_split", "fit", "forecast", "forecaster_init",
    "forecaster_loss", "iterated_ar", "ridge", "rmse", "weeks",
]  # fmt: skip

Array = NDArray[Any]


class Batch(NamedTuple):
    """Inputs, and the numbers to be said after each step."""

    xs: Array  # (T, N, D)
    ys: Array  # (T, N, K); anything but NaN where it does not count
    counts: Array  # (T, N, K): True where the answer counts


def forecaster_init(rng: np.random.Generator, D: int, K: int, H: int, *, b_z: float = 1.0) -> Bundle:
    """Draw a GRU of H units with D inputs, reset-after as PyTorch has it, and a linear layer with K outputs.

    Examples
    --------
    >>> from gru_lib.models.forecasts import forecaster_init
    >>> m = forecaster_init(np.random.default_rng(0), D=3, K=2, H=5)
    >>> m.rnn.reset_after, m.rnn.b_z, m.out.W.shape
    (True, array([1., 1., 1., 1., 1.], dtype=float32), (5, 2))
    """
    rnn = gru_init(rng, D, H, reset_after=True, dtype=np.float32)
    rnn.b_z[:] = b_z
    return bundle(rnn=rnn, out=linear_init(rng, H, K, dtype=np.float32))


def forecast(m: Bundle, xs: ArrayLike) -> Array:
    """Return what the net says after each step: (T, N, K) for xs (T, N, D).

    Examples
    --------
    >>> from gru_lib.models.forecasts import forecast, forecaster_init
    >>> m = forecaster_init(np.random.default_rng(0), D=3, K=2, H=5)
    >>> m.out.W[:], m.out.b[:] = 0, [3, 4]
    >>> forecast(m, np.ones((4, 1, 3)))[-1]
    array([[3., 4.]])
    """
    return linear_forward(infer(xs, None, m.rnn)[0], m.out)[0]


def forecaster_loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
    """Mean squared error where an answer counts, and its gradient.

    Examples
    --------
    >>> from gru_lib.models import forecasts
    >>> rng, xs = np.random.default_rng(0), np.ones((2, 1, 3), np.float32)
    >>> m = forecasts.forecaster_init(rng, D=3, K=1, H=5)
    >>> m.out.flat[:] = 0
    >>> ys = np.array([[[2.0]], [[1000.0]]], np.float32)
    >>> batch = forecasts.Batch(xs, ys, counts=ys < 100)  # the 2 alone
    >>> loss, grads = forecasts.forecaster_loss(m, batch)
    >>> round(float(loss), 6)
    4.0
    """
    hs, _, tape = gru_forward(batch.xs, None, m.rnn)
    said, cache = linear_forward(hs, m.out)
    off = (said - batch.ys) * batch.counts
    count = np.count_nonzero(batch.counts)
    dhs, dout = linear_backward(2 / count * off, cache, m.out)
    _, _, drnn = gru_backward(dhs, None, tape, m.rnn)
    return (off**2).sum() / count, bundle(rnn=drnn, out=dout)


def batches(rng: np.random.Generator, xs: Array, ys: Array, N: int = 32) -> Iterator[Batch]:
    """Draw N of the sequences at a time, without end; all their answers count.

    Examples
    --------
    >>> from gru_lib.models.forecasts import batches
    >>> xs, ys = np.ones((4, 100, 3)), np.ones((4, 100, 1))  # 100 sequences
    >>> batch = next(batches(np.random.default_rng(0), xs, ys, N=8))
    >>> batch.xs.shape, bool(batch.counts.all())
    ((4, 8, 3), True)
    """
    counts = np.ones((len(xs), N, ys.shape[2]), bool)
    while True:
        chosen = rng.choice(xs.shape[1], N, replace=False)
        yield Batch(xs[:, chosen], ys[:, chosen], counts)


def fit(
    m: Bundle, batches: Iterable[Batch], rate: float, steps: int, *, validation: Batch | None = None, every: int = 50
) -> History:
    """Train `m` with Adam, the rate falling in a straight line to 0, the gradient clipped to norm 1.

    With `validation` the loss on it is taken every `every` steps, and `m` ends as it was when that was lowest.

    Examples
    --------
    >>> from gru_lib.models.forecasts import batches, fit, forecaster_init
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 100, 3), np.float32)
    >>> m = forecaster_init(rng, D=3, K=1, H=5)
    >>> stream = batches(rng, xs, xs[:, :, :1])
    >>> history = fit(m, stream, rate=0.03, steps=100)
    >>> history.loss[-1] < 0.01 * history.loss[0]
    True
    """
    best, kept = np.inf, m.flat.copy()

    def evaluate(m: Bundle) -> dict[str, float]:
        nonlocal best, kept
        assert validation is not None
        off = (forecast(m, validation.xs) - validation.ys)[validation.counts]
        value = float(np.mean(off**2))
        if value < best:
            best, kept = value, m.flat.copy()
        return {"validation": value}

    history = train(
        m,
        forecaster_loss,
        batches,
        Adam(m, rate),
        steps=steps,
        clip_norm=1.0,
        schedule=linear_decay(rate, steps),
        evaluate=None if validation is None else evaluate,
        every=every,
        progress=False,
    )
    if validation is not None:
        m.flat[:] = kept
    return history


class Ridge(NamedTuple):
    """A linear function of standardised features."""

    mean: Array
    scale: Array
    weights: Array  # the constant first

    def __call__(self, features: ArrayLike) -> Array:
        """Return its value for features (…, F)."""
        return self.weights[0] + (np.asarray(features) - self.mean) / self.scale @ self.weights[1:]


def ridge(features: ArrayLike, ys: ArrayLike, penalty: float) -> Ridge:
    """Fit numbers, (n,) or (n, K), by a linear function of features (n, F): least squares + penalty · ‖weights‖².

    The constant has no penalty.

    Examples
    --------
    >>> from gru_lib.models.forecasts import ridge
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> line = ridge(x, [1.0, 3.0, 5.0], penalty=0.0)
    >>> line([[10.0]]).round(6)  # 2 x + 1
    array([21.])
    """
    penalty = check_number("ridge", "penalty", penalty, least=0)
    features, ys = np.asarray(features, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    A, middle = (features - mean) / scale, ys.mean(axis=0)
    weights = np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T @ (ys - middle))
    return Ridge(mean, scale, np.concatenate([np.asarray(middle)[None], weights]))


def rmse(off: ArrayLike) -> float:
    """Return the root mean square.

    Examples
    --------
    >>> from gru_lib.models.forecasts import rmse
    >>> rmse([3.0, -3.0, 3.0])
    3.0
    """
    return float(np.sqrt(np.mean(np.square(off))))


# ------------------------------------------------------------------------------------------------------------- CO2


class Weeks(NamedTuple):
    """Weekly CO2 as a task: in each week, the level 4, 13 and 26 weeks later."""

    last: Array  # (T,): the latest measurement
    ys: Array  # (T, 3): what came; NaN where nothing was measured
    naive: Array  # (T, 3): the level of a year before, and what was gained in the last year on top
    lags: Array  # (T, 65): changes from up to 59 weeks ago, the season, mask and time; for a regression
    xs: Array  # (T, 9): the same knowledge for a net, which remembers: one week's changes, the season, mask and time
    parts: dict[str, Array]  # "train", "validation", "test": (T, 3), True where the answer belongs to it


#: How many weeks ahead, and the years at which validation and test begin.
HORIZONS = (4, 13, 26)
BORDERS = (1985.0, 1992.0)


@cache
def weeks() -> Weeks:
    """Return the task. Targets before 1985 train; questions from 1985 on and targets before 1992 validate.

    Examples
    --------
    >>> from gru_lib.models.forecasts import weeks
    >>> found = weeks()
    >>> found.xs.shape, found.ys.shape
    ((2284, 9), (2284, 3))
    """
    years, ppm = co2()
    T, seen = len(ppm), np.isfinite(ppm)
    last, since = (a[:, 0] for a in carried(ppm[:, None], seen[:, None]))

    def ago(k: int) -> Array:
        return np.concatenate([np.repeat(last[:1], k), last[: T - k]])

    ys = np.full((T, 3), np.nan)
    for k, ahead in enumerate(HORIZONS):
        ys[: T - ahead, k] = ppm[ahead:]
    naive = np.stack([ago(52 - ahead) + last - ago(52) for ahead in HORIZONS], axis=1)
    angle = 2 * np.pi * years
    season = [np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
    lags = np.stack([*(last - ago(k) for k in range(1, 60)), *season, seen, since], axis=1)
    changes = [(last - ago(52) - 1.3) / 0.6, (last - ago(1)) / 0.5, (ago(1) - ago(53) - 1.3) / 0.6]
    xs = np.stack([*changes, seen, since / 5, *season], axis=1).astype(np.float32)
    known = np.isfinite(ys)
    known[:60] = False
    asked, due = years[:, None], years[:, None] + np.array(HORIZONS) / 52.18
    parts = {
        "train": known & (due < BORDERS[0]),
        "validation": known & (asked >= BORDERS[0]) & (due < BORDERS[1]),
        "test": known & (asked >= BORDERS[1]),
    }
    return Weeks(last, ys, naive, lags, xs, parts)


def iterated_ar(order: int) -> Array:
    """Return the forecasts (T, 3) of an autoregression of weekly changes, fitted on the training years.

    Examples
    --------
    >>> from gru_lib.models.forecasts import iterated_ar, rmse, weeks
    >>> found, test = weeks(), weeks().parts["test"]
    >>> off, naive = iterated_ar(60) - found.ys, found.naive - found.ys
    >>> rmse(off[test]) < rmse(naive[test])
    True
    """
    order = check_int("iterated_ar", "order", order)
    task = weeks()
    changes = np.diff(task.last, prepend=task.last[0])
    rows = np.lib.stride_tricks.sliding_window_view(changes, order)[:-1]  # the changes before each of changes[order:]
    first = int(np.flatnonzero(task.parts["train"].any(axis=1))[-1])
    A = np.column_stack([np.ones(first - order), rows[: first - order]])
    constant, *weights = np.linalg.lstsq(A, changes[order:first], rcond=None)[0]
    said = np.full((len(changes), 3), np.nan)
    window, total = np.lib.stride_tricks.sliding_window_view(changes, order), 0.0
    for ahead in range(1, max(HORIZONS) + 1):
        new = constant + window @ np.array(weights)
        window, total = np.column_stack([window[:, 1:], new]), total + new
        if ahead in HORIZONS:
            said[order - 1 :, HORIZONS.index(ahead)] = task.last[order - 1 :] + total
    return said


# ------------------------------------------------------------------------------------------------------- fertility


class Countries(NamedTuple):
    """Some countries as a task: in each year, how far births per woman will have moved 1, 5 and 10 years later."""

    births: Array  # (T, C)
    ys: Array  # (T, C, 3); 0 where the answer lies beyond the data
    lags: Array  # (T, C, 12): the level, the last year's change, and the changes from up to ten years ago
    xs: Array  # (T, C, 2): the level and the last year's change, for a net
    train: Array  # (T, C, 3): True for answers due by 1996
    test: Array  # (T, C, 3): True for questions from 1997 on


#: How many years ahead, the first year in which a test question is asked, and what one unit of the net's answers is.
YEARS_AHEAD = (1, 5, 10)
TEST_FROM = 1997
UNITS = np.array([0.1, 0.4, 0.8])


def fertility_split(split: int) -> tuple[Countries, Countries, Countries]:
    """Return countries to train, validate and test on. A fifth is tested, the next validates; `split` is 0 to 4.

    Examples
    --------
    >>> from gru_lib.models.forecasts import fertility_split
    >>> train, validation, test = fertility_split(0)
    >>> train.births.shape, validation.births.shape, test.births.shape
    ((52, 112), (52, 38), (52, 38))
    """
    split = check_int("fertility_split", "split", split, minimum=0)
    if split > 4:
        raise ValueError(f"fertility_split: split must be at most 4; got {split}.")
    order = np.random.default_rng(0).permutation(len(fertility().countries))
    fifths = np.array_split(order, 5)
    test, validation = fifths[split], fifths[(split + 1) % 5]
    train = np.setdiff1d(order, [*test, *validation])
    return _countries(train), _countries(validation), _countries(test)


def _countries(chosen: Array) -> Countries:
    data = fertility()
    births, years = data.births[:, chosen], data.years
    T = len(births)
    ys, known = np.zeros((*births.shape, 3)), np.zeros((*births.shape, 3), bool)
    for k, ahead in enumerate(YEARS_AHEAD):
        ys[: T - ahead, :, k] = births[ahead:] - births[: T - ahead]
        known[10 : T - ahead, :, k] = True  # ten years to look first

    def ago(k: int) -> Array:
        return np.concatenate([np.repeat(births[:1], k, axis=0), births[: T - k]])

    change = births - ago(1)
    lags = np.stack([births, change, *(births - ago(k) for k in range(1, 11))], axis=-1)
    xs = np.stack([(births - 4) / 2, 8 * change], axis=-1).astype(np.float32)
    due = years[:, None, None] + np.array(YEARS_AHEAD)
    return Countries(births, ys, lags, xs, known & (due < TEST_FROM), known & (years >= TEST_FROM)[:, None, None])
