"""A pendulum of unknown length, seen through noise and with gaps: where is it now, and where in one second? Chapter 22.

The law is θ″ = −(9.81 / length) sin θ − damping · θ′. Each pendulum is released at rest, and an instrument reads its
angle ten times a second, with noise. Single readings get lost, and whole stretches of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import as_array, check_instance, check_int, check_number, check_sequence, plain

__all__ = [
    "AHEAD", "DT", "NOISE", "RMSE", "WARM", "Pendulums", "carried", "errors", "inputs", "kalman",
    "kalman_bank", "lag_features", "pendulums", "targets",
]  # fmt: skip

Array = NDArray[Any]

#: Seconds between two readings, and the standard deviation of their noise in radians.
DT, NOISE = 0.1, 0.05
#: Steps from now to the second question, one second.
AHEAD = 10
#: Steps at the start of a series whose answers do not count in `errors`: two seconds to look.
WARM = 20

_LENGTH, _DAMPING, _RELEASE = (0.5, 1.5), (0.02, 0.2), (1.0, 2.8)  # metres, 1 / s, radians
_JITTER = 1e-6  # variance that a filter adds to angle and speed at each step, for what linearising leaves out
_LOST, _GAP, _GAP_STEPS = 0.2, 0.04, (5, 21)  # share of single losses; probability that a gap begins; its length


class Pendulums(NamedTuple):
    """Readings of N pendulums over T steps, and what was behind them."""

    values: Array  # (T, N): the readings, NaN where one is missing
    seen: Array  # (T, N): True where there is a reading
    angles: Array  # (T + AHEAD, N): the true angles, without noise
    length: Array  # (N,)
    damping: Array  # (N,)


class RMSE(NamedTuple):
    """Root mean squared errors in radians, from step WARM on."""

    now: float
    unseen: float  # now, at the steps without a reading
    ahead: float  # in one second


def pendulums(rng: np.random.Generator, N: int, T: int = 120) -> Pendulums:
    """Draw N pendulums and read each T times. About 45 % of the readings are missing; the first never is.

    Examples
    --------
    >>> from gru_book.tasks.pendulum import pendulums
    >>> batch = pendulums(np.random.default_rng(0), N=3, T=50)
    >>> batch.values.shape, bool(batch.seen[0].all())
    ((50, 3), True)
    >>> np.array_equal(np.isnan(batch.values), ~batch.seen)
    True
    """
    check_instance("pendulums", "rng", rng, np.random.Generator)
    N, T = check_int("pendulums", "N", N), check_int("pendulums", "T", T)
    length, damping = rng.uniform(*_LENGTH, N), rng.uniform(*_DAMPING, N)
    theta, omega = rng.uniform(*_RELEASE, N) * rng.choice([-1, 1], N), np.zeros(N)
    angles = np.empty((T + AHEAD, N))
    for t in range(T + AHEAD):
        angles[t] = theta
        theta, omega = _move(theta, omega, length, damping)
    seen, left = rng.random((T, N)) >= _LOST, np.zeros(N, np.int64)  # left: steps until the present gap ends
    for t in range(WARM // 4, T):
        begins = (rng.random(N) < _GAP) & (left == 0)
        left[begins] = rng.integers(*_GAP_STEPS, np.count_nonzero(begins))
        seen[t, left > 0] = False
        left = np.maximum(left - 1, 0)
    seen[0] = True
    values = np.where(seen, angles[:T] + NOISE * rng.normal(size=(T, N)), np.nan)
    return Pendulums(values, seen, angles, length, damping)


def carried(values: ArrayLike, seen: ArrayLike) -> tuple[Array, Array]:
    """Return the last reading at each step and how many steps ago it came.

    Both are (T, N). Before the first reading the value is 0, and the steps
    count from the start of the series.

    Examples
    --------
    >>> from gru_book.tasks.pendulum import carried
    >>> values = np.array([[5.0], [np.nan], [np.nan], [7.0]])
    >>> last, ago = carried(values, ~np.isnan(values))
    >>> last[:, 0], ago[:, 0]
    (array([5., 5., 5., 7.]), array([0., 1., 2., 0.]))
    """
    values = as_array("carried", "values", values, ("T", "N"), {})
    seen = plain("carried", "seen", seen)
    if seen.shape != values.shape or seen.dtype.kind not in "b":
        raise ValueError(
            f"carried: seen must be True and False, of shape {values.shape}; got {seen.dtype} {seen.shape}."
        )
    last, since = np.empty(values.shape), np.empty(values.shape)
    v, k = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for t, (value, there) in enumerate(zip(values, seen, strict=True)):
        v, k = np.where(there, value, v), np.where(there, 0, k + 1)
        last[t], since[t] = v, k
    return last, since


def inputs(batch: Pendulums) -> Array:
    """Return what the net reads, (T, N, 3) in float32: the carried reading, the mask, and the time in half seconds.

    Examples
    --------
    >>> from gru_book.tasks.pendulum import inputs, pendulums
    >>> batch = pendulums(np.random.default_rng(0), N=3, T=50)
    >>> inputs(batch).shape
    (50, 3, 3)
    """
    _check("inputs", batch)
    last, since = carried(batch.values, batch.seen)
    return np.stack([last, batch.seen, since / 5], axis=-1).astype(np.float32)


def targets(batch: Pendulums) -> Array:
    """Return the true angle now and in one second: (T, N, 2) in float32.

    Examples
    --------
    >>> from gru_book.tasks.pendulum import AHEAD, pendulums, targets
    >>> batch = pendulums(np.random.default_rng(0), N=3, T=50)
    >>> np.allclose(targets(batch)[:, :, 1], batch.angles[AHEAD:])
    True
    """
    _check("targets", batch)
    T = len(batch.seen)
    return np.stack([batch.angles[:T], batch.angles[AHEAD : T + AHEAD]], axis=-1).astype(np.float32)


def errors(said: ArrayLike, batch: Pendulums) -> RMSE:
    """Return the errors of answers (T, N, 2).

    Examples
    --------
    >>> from gru_book.tasks.pendulum import errors, pendulums, targets
    >>> batch = pendulums(np.random.default_rng(0), N=3, T=50)
    >>> off = errors(targets(batch) + 0.1, batch)
    >>> round(float(off.now), 3), round(float(off.ahead), 3)
    (0.1, 0.1)
    """
    _check("errors", batch)
    said = as_array(
        "errors", "said", said, ("T", "N", "2"), dict(zip(("T", "N", "2"), (*batch.seen.shape, 2), strict=True))
    )
    square = (said[WARM:] - targets(batch)[WARM:]) ** 2
    missing = ~batch.seen[WARM:]
    means = square[..., 0].mean(), square[..., 0][missing].mean(), square[..., 1].mean()
    return RMSE(*(float(np.sqrt(mean)) for mean in means))


def lag_features(batch: Pendulums, lags: int) -> Array:
    """Return the last `lags` carried readings, their masks, and the time since the last reading: (T, N, 2 lags + 1).

    What lies before the series is its first reading, marked as missing.

    Examples
    --------
    >>> from gru_book.tasks.pendulum import lag_features, pendulums
    >>> batch = pendulums(np.random.default_rng(0), N=3, T=50)
    >>> lag_features(batch, lags=4).shape  # 4 readings, 4 masks, the time
    (50, 3, 9)
    """
    lags = check_int("lag_features", "lags", lags)
    _check("lag_features", batch)
    last, since = carried(batch.values, batch.seen)
    T, before = len(last), lags - 1
    last = np.concatenate([np.repeat(last[:1], before, axis=0), last])
    seen = np.concatenate([np.zeros((before, last.shape[1])), batch.seen])
    parts = [a[before - k : before - k + T] for a in (last, seen) for k in range(lags)]
    return np.stack([*parts, since], axis=-1)


# ------------------------------------------------------------------------------------------- those who know the law


def kalman(
    batch: Pendulums, length: ArrayLike, damping: ArrayLike, *, spread: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array]:
    """Follow each pendulum with an extended Kalman filter that is told a length and a damping, (N,) each.

    It knows the law, the noise, and that every pendulum starts at rest. Between readings it moves its estimate by the
    law; each reading corrects angle and speed by how uncertain they are, and length and damping too, if `spread` says
    that these have a standard deviation.

    Returns the angle now and in one second, (T, N, 2), and the logarithm of the probability density that the filter
    gave to all readings so far, (T, N).

    Examples
    --------
    >>> from gru_book.tasks.pendulum import NOISE, errors, kalman, pendulums
    >>> batch = pendulums(np.random.default_rng(0), N=20)
    >>> said, log_density = kalman(batch, batch.length, batch.damping)
    >>> errors(said, batch).now < NOISE  # closer than the instrument
    True
    """
    _check("kalman", batch, {})
    T, N = batch.seen.shape
    length = as_array("kalman", "length", length, ("N",), {"N": N})
    damping = as_array("kalman", "damping", damping, ("N",), {"N": N})
    check_sequence("kalman", "spread", spread, 2)
    spread = check_number("kalman", "spread", spread[0], least=0), check_number("kalman", "spread", spread[1], least=0)
    x = np.stack([batch.values[0], np.zeros(N), length, damping])
    P = np.zeros((4, 4, N))  # the covariance of the estimate x: angle, speed, length, damping
    P[range(4), range(4)] = np.array([NOISE**2, _JITTER, spread[0] ** 2, spread[1] ** 2])[:, None]
    said, score, total = np.empty((T, N, 2)), np.zeros((T, N)), np.zeros(N)
    for t in range(T):
        if t:
            x, P = _predict(x, P)
            seen, variance = batch.seen[t], P[0, 0] + NOISE**2
            off = np.where(seen, batch.values[t] - x[0], 0)
            gain = np.where(seen, P[:, 0] / variance, 0)
            x, P = x + gain * off, P - gain[:, None] * P[0]
            x[2] = np.clip(x[2], *_LENGTH)
            total = total - np.where(seen, 0.5 * (off * off / variance + np.log(2 * np.pi * variance)), 0)
        score[t], said[t, :, 0] = total, x[0]
        theta, omega = x[:2]
        for _ in range(AHEAD):
            theta, omega = _move(theta, omega, *x[2:])
        said[t, :, 1] = theta
    return said, score


def kalman_bank(batch: Pendulums, filters: int = 16) -> Array:
    """Follow each pendulum with filters that do not know its length and damping; (T, N, 2) as from `kalman`.

    Each begins with its own part of the lengths. The answer is the mean of theirs, weighed by how probable each makes
    the readings so far (Bayes' rule).

    Examples
    --------
    >>> from gru_book.tasks import pendulum
    >>> batch = pendulum.pendulums(np.random.default_rng(0), N=20)
    >>> said = pendulum.kalman_bank(batch)
    >>> pendulum.errors(said, batch).now < pendulum.NOISE
    True
    """
    filters = check_int("kalman_bank", "filters", filters)
    _check("kalman_bank", batch)
    T, N = batch.seen.shape
    width = (_LENGTH[1] - _LENGTH[0]) / filters
    length = np.repeat(_LENGTH[0] + width * (np.arange(filters) + 0.5), N)
    spread = width / 12**0.5, (_DAMPING[1] - _DAMPING[0]) / 12**0.5  # the standard deviation of a uniform draw
    many = batch._replace(values=np.tile(batch.values, filters), seen=np.tile(batch.seen, filters))
    said, score = kalman(many, length, np.full(filters * N, sum(_DAMPING) / 2), spread=spread)
    score = score.reshape(T, filters, N)
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    return np.einsum("tfn,tfnk->tnk", weights / weights.sum(axis=1, keepdims=True), said.reshape(T, filters, N, 2))


def _move(theta: Array, omega: Array, length: Array, damping: Array) -> tuple[Array, Array]:
    """Angle and speed one reading later: two steps of the classical Runge–Kutta method."""
    dt = DT / 2

    def slope(theta: Array, omega: Array) -> tuple[Array, Array]:
        return omega, -9.81 / length * np.sin(theta) - damping * omega

    for _ in range(2):
        a1, b1 = slope(theta, omega)
        a2, b2 = slope(theta + dt / 2 * a1, omega + dt / 2 * b1)
        a3, b3 = slope(theta + dt / 2 * a2, omega + dt / 2 * b2)
        a4, b4 = slope(theta + dt * a3, omega + dt * b3)
        theta, omega = theta + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4), omega + dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    return theta, omega


def _predict(x: Array, P: Array) -> tuple[Array, Array]:
    """The estimate (4, N) and its covariance (4, 4, N) one reading later."""
    eps = 1e-5
    new = np.stack([*_move(*x), *x[2:]])
    J = np.stack([(np.stack([*_move(*y), *y[2:]]) - new) / eps for y in x + eps * np.eye(4)[:, :, None]], axis=1)
    P = np.einsum("ijn,jkn,lkn->iln", J, P, J, optimize=True)
    P[:2, :2] += _JITTER * np.eye(2)[..., None]
    return new, P


_TRUTH = {"angles": ("T + AHEAD", "N"), "length": ("N",), "damping": ("N",)}


def _check(where: str, batch: Any, more: dict[str, tuple[str, ...]] = _TRUTH) -> None:
    """Check that a batch is one of pendulums, with readings of one T and N, and the arrays named in `more`."""
    check_instance(where, "batch", batch, Pendulums)
    T, N = as_array(where, "batch.values", batch.values, ("T", "N"), {}).shape
    sizes = {"T": T, "N": N, "T + AHEAD": T + AHEAD}
    for name, axes in {"seen": ("T", "N"), **more}.items():
        as_array(where, f"batch.{name}", getattr(batch, name), axes, sizes)
    if batch.seen.dtype != bool:
        raise TypeError(f"{where}: batch.seen must be True and False; got {batch.seen.dtype}.")
