"""Forecasting with a GRU and with a ridge regression. Chapter 22.

`m = forecaster_init(rng, D, K, H)` is a bundle of the GRU `m.rnn` and the linear layer `m.out`: after each step it says
K numbers. float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import cell_of, infer
from gru_lib.checks import check_number
from gru_lib.ops import linear_backward, linear_forward, linear_init
from gru_lib.optim import Adam, linear_decay
from gru_lib.params import Bundle, bundle
from gru_lib.train import History, train

__all__ = ["Batch", "Ridge", "batches", "fit", "forecast", "forecaster_init", "forecaster_loss", "ridge", "rmse"]

Array = NDArray[Any]


class Batch(NamedTuple):
    """Inputs, and the numbers to be said after each step."""

    xs: Array  # (T, N, D)
    ys: Array  # (T, N, K); anything but NaN where it does not count
    counts: Array  # (T, N, K): True where the answer counts


def forecaster_init(rng: np.random.Generator, D: int, K: int, H: int, *, b_z: float = 1.0, rnn: Any = None) -> Bundle:
    """Draw a GRU of H units with D inputs, reset-after as PyTorch has it, and a linear layer with K outputs.

    Another cell of H units may be given as `rnn`.

    Examples
    --------
    >>> from gru_book.models.forecasts import forecaster_init
    >>> m = forecaster_init(np.random.default_rng(0), D=3, K=2, H=5)
    >>> m.rnn.reset_after, m.rnn.b_z, m.out.W.shape
    (True, array([1., 1., 1., 1., 1.], dtype=float32), (5, 2))
    """
    if rnn is None:
        rnn = gru_init(rng, D, H, reset_after=True, dtype=np.float32)
        rnn.b_z[:] = b_z
    return bundle(rnn=rnn, out=linear_init(rng, H, K, dtype=np.float32))


def forecast(m: Bundle, xs: ArrayLike) -> Array:
    """Return what the net says after each step: (T, N, K) for xs (T, N, D).

    Examples
    --------
    >>> from gru_book.models.forecasts import forecast, forecaster_init
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
    >>> from gru_book.models import forecasts
    >>> rng, xs = np.random.default_rng(0), np.ones((2, 1, 3), np.float32)
    >>> m = forecasts.forecaster_init(rng, D=3, K=1, H=5)
    >>> m.out.flat[:] = 0
    >>> ys = np.array([[[2.0]], [[1000.0]]], np.float32)
    >>> batch = forecasts.Batch(xs, ys, counts=ys < 100)  # the 2 alone
    >>> loss, grads = forecasts.forecaster_loss(m, batch)
    >>> round(float(loss), 6)
    4.0
    """
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(batch.xs, None, m.rnn)
    said, cache = linear_forward(hs, m.out)
    off = (said - batch.ys) * batch.counts
    count = np.count_nonzero(batch.counts)
    dhs, dout = linear_backward(2 / count * off, cache, m.out)
    _, _, drnn = cell.backward(dhs, None, tape, m.rnn)
    return (off**2).sum() / count, bundle(rnn=drnn, out=dout)


def batches(rng: np.random.Generator, xs: Array, ys: Array, N: int = 32) -> Iterator[Batch]:
    """Draw N of the sequences at a time, without end; all their answers count.

    Examples
    --------
    >>> from gru_book.models.forecasts import batches
    >>> xs, ys = np.ones((4, 100, 3)), np.ones((4, 100, 1))  # 100 sequences
    >>> batch = next(batches(np.random.default_rng(0), xs, ys, N=8))
    >>> batch.xs.shape, bool(batch.counts.all())
    ((4, 8, 3), True)
    """
    counts = np.ones((len(xs), N, ys.shape[2]), bool)
    while True:
        chosen = rng.choice(xs.shape[1], N, replace=False)
        yield Batch(xs[:, chosen], ys[:, chosen], counts)


def fit(m: Bundle, batches: Iterable[Batch], rate: float, steps: int) -> History:
    """Train `m` with Adam, the rate falling in a straight line to 0, the gradient clipped to norm 1.

    Examples
    --------
    >>> from gru_book.models.forecasts import batches, fit, forecaster_init
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 100, 3), np.float32)
    >>> m = forecaster_init(rng, D=3, K=1, H=5)
    >>> stream = batches(rng, xs, xs[:, :, :1])
    >>> history = fit(m, stream, rate=0.03, steps=100)
    >>> history.loss[-1] < 0.01 * history.loss[0]
    True
    """
    schedule = linear_decay(rate, steps)
    return train(
        m, forecaster_loss, batches, Adam(m, rate), steps=steps, clip_norm=1.0, schedule=schedule, progress=False
    )


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
    >>> from gru_book.models.forecasts import ridge
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
    >>> from gru_book.models.forecasts import rmse
    >>> rmse([3.0, -3.0, 3.0])
    3.0
    """
    return float(np.sqrt(np.mean(np.square(off))))
