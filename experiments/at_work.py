"""Trainings of chapter 22, stored in at_work.json. To rerun them:

``python tools/environment.py python -m experiments.at_work [--missing] [PART …]``

With ``KERNELS=own`` before it, into at_work_own.json, all but "torch", which needs PyTorch (the extra `frameworks`).
Each net or method has the setting that its "… rates" chose on other seeds.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.models.forecasts import batches, fit, forecast, forecaster_init, ridge, rmse
from gru_book.tasks import pendulum
from gru_book.tasks.pendulum import Pendulums, errors, inputs, lag_features, pendulums, targets
from gru_lib.convert import to_torch

STORED = file_for_kernels("at_work")
SEEDS, TUNING_SEEDS = range(10), range(100, 102)
RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
ALL = "carried, mask, time"
DEGREES = ALL + ", in degrees"
NO_MASK = "carried and time"
H, TRAINING, HELD_OUT = 32, 1000, 300
SHORT, LONG = 800, 3000  # steps of training: the page's, and more of them

# What "… rates" chose; tests/test_chapter22.py looks whether it did.
RATE = 0.1
SLOWER = 0.03  # beside it where the training is longer
RIDGE = (30, 1.0)  # lags, penalty
TREES = (0.1, 300, 63, 100_000)  # learning rate, rounds, leaves, rows

Row = dict[str, Any]


# ---------------------------------------------------------------------------------------------------- the pendulum


def held_out_for(seed: int) -> Pendulums:
    """The pendulums that a run is measured on: for tuning others than for the result."""
    return pendulums(np.random.default_rng(10_001 if seed in TUNING_SEEDS else 10_002), HELD_OUT)


def given(batch: Pendulums, kind: str) -> np.ndarray:
    """What the net reads: one of INPUTS, or the carried value and the time, or all with the angle in degrees."""
    if kind == NO_MASK:
        return inputs(batch)[..., [0, 2]]
    if kind != DEGREES:
        return inputs(batch, kind)
    return inputs(batch) * np.array([180 / np.pi, 1, 1], np.float32)


def net(kind: str, rate: float, steps: int, seed: int) -> Row:
    """Train a GRU on the seed's own thousand pendulums; its errors on others."""
    rng = np.random.default_rng(seed)
    training = pendulums(rng, TRAINING)
    held_out = held_out_for(seed)
    xs = given(held_out, kind)
    m = forecaster_init(rng, xs.shape[-1], 2, H)
    begin = time.process_time()
    fit(m, batches(rng, given(training, kind), targets(training)), rate, steps)
    return errors(forecast(m, xs), held_out)._asdict() | {"seconds": time.process_time() - begin}


def linear(lags: int, penalty: float, seed: int) -> Row:
    """A ridge regression on the last readings of the same thousand pendulums."""
    training, held_out = pendulums(np.random.default_rng(seed), TRAINING), held_out_for(seed)
    A, B = (a[pendulum.WARM :].reshape(-1, a.shape[-1]) for a in (lag_features(training, lags), targets(training)))
    return errors(ridge(A, B, penalty)(lag_features(held_out, lags)), held_out)._asdict()


def trees(rate: float, rounds: int, leaves: int, rows: int, seed: int, lags: int = 30) -> Row:
    """Gradient boosting on 30 lags, from some rows of the same thousand pendulums, or all 100,000."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(seed)
    training, held_out = pendulums(rng, TRAINING), held_out_for(seed)
    A, B = (a[pendulum.WARM :].reshape(-1, a.shape[-1]) for a in (lag_features(training, lags), targets(training)))
    chosen, features = rng.choice(len(A), rows, replace=False), lag_features(held_out, lags)
    settings: Row = {"learning_rate": rate, "max_iter": rounds, "max_leaf_nodes": leaves, "early_stopping": False}
    said = [
        HistGradientBoostingRegressor(**settings, random_state=0)
        .fit(A[chosen], B[chosen, k])
        .predict(features.reshape(-1, features.shape[-1]))
        for k in range(2)
    ]
    return errors(np.stack(said, axis=-1).reshape(*held_out.seen.shape, 2), held_out)._asdict()


WHY = ("one length", "no gaps", "one length, no gaps")


def made_easier(what: str, rng: np.random.Generator, N: int) -> Pendulums:
    """Pendulums that all have nearly the same length, or of which no reading is lost, or both."""
    if "one length" in what:
        many = pendulums(rng, 40 * N)
        chosen = np.flatnonzero(abs(many.length - 1) < 0.02)[:N]
        assert len(chosen) == N
        batch = Pendulums(*(a[..., chosen] for a in many))
    else:
        batch = pendulums(rng, N)
    if "no gaps" in what:
        read = batch.angles[: len(batch.values)] + pendulum.NOISE * rng.normal(size=batch.values.shape)
        batch = batch._replace(values=read, seen=np.ones_like(batch.seen))
    return batch


def easier(method: str, what: str, seed: int) -> Row:
    """The error in one second of a method on easier pendulums, its setting that of the hard ones."""
    rng = np.random.default_rng(seed)
    training, held_out = made_easier(what, rng, TRAINING), made_easier(what, np.random.default_rng(10_002), HELD_OUT)
    if method == "ridge":
        A, B = (
            a[pendulum.WARM :].reshape(-1, a.shape[-1]) for a in (lag_features(training, RIDGE[0]), targets(training))
        )
        said = ridge(A, B, RIDGE[1])(lag_features(held_out, RIDGE[0]))
    else:
        m = forecaster_init(rng, 3, 2, H)
        fit(m, batches(rng, inputs(training), targets(training)), RATE, SHORT)
        said = forecast(m, inputs(held_out))
    return {"ahead": rmse((said - targets(held_out))[pendulum.WARM :, :, 1])}


def window_net(lags: int, seed: int) -> Row:
    """A plain net with two layers of 64 on the same window, untuned: twelve passes over the same 100,000 rows."""
    from sklearn.neural_network import MLPRegressor

    training, held_out = pendulums(np.random.default_rng(seed), TRAINING), held_out_for(seed)
    A, B = (a[pendulum.WARM :].reshape(-1, a.shape[-1]) for a in (lag_features(training, lags), targets(training)))
    mean, scale = A.mean(axis=0), A.std(axis=0) + 1e-9
    features = ((lag_features(held_out, lags) - mean) / scale).reshape(-1, A.shape[1])
    settings: Row = {"hidden_layer_sizes": (64, 64), "learning_rate_init": 0.002, "batch_size": 256, "alpha": 1e-5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that twelve passes are not to the end
        m = MLPRegressor(**settings, max_iter=12, random_state=seed).fit((A - mean) / scale, B)
    return errors(m.predict(features).reshape(*held_out.seen.shape, 2), held_out)._asdict()


def knows_the_law(how: str, seed: int) -> Row:
    """Those that learn nothing, on pendulums drawn by the seed: the last reading, and Kalman filters."""
    batch = pendulums(np.random.default_rng(20_000 + seed), HELD_OUT)
    if how == "last reading":
        said = np.stack([pendulum.carried(batch.values, batch.seen)[0]] * 2, axis=-1)
    elif how == "filter, told the length":
        said = pendulum.kalman(batch, batch.length, batch.damping)[0]
    else:
        said = pendulum.kalman_bank(batch)
    return errors(said, batch)._asdict()


def beside_torch(biases: str, steps: int, seed: int) -> Row:
    """The same weights and batches in PyTorch and here: both losses at steps 1, 10 and 100.

    "two": r and z have two biases each, as PyTorch makes them. "one": the second stays 0, as here.
    """
    import torch

    from experiments.pendulum_torch import Forecaster
    from experiments.pendulum_torch import fit as torch_fit

    rng = np.random.default_rng(seed)
    training = pendulums(rng, TRAINING)
    m = forecaster_init(rng, 3, 2, H)
    theirs = Forecaster(3, 2, H)
    theirs.rnn.load_state_dict({name: torch.from_numpy(a) for name, a in to_torch([[m.rnn]]).items()})
    with torch.no_grad():
        theirs.out.weight[:], theirs.out.bias[:] = torch.from_numpy(m.out.W.T.copy()), torch.from_numpy(m.out.b.copy())
    if biases == "one":
        keep = torch.arange(3 * H) >= 2 * H
        theirs.rnn.bias_hh_l0.register_hook(lambda g: g * keep)
    state = rng.bit_generator.state
    xs, ys = inputs(training), targets(training)
    ours = fit(m, batches(rng, xs, ys), RATE, steps).loss
    rng.bit_generator.state = state
    drawn = ((torch.from_numpy(b.xs), torch.from_numpy(b.ys)) for b in batches(rng, xs, ys))
    losses = torch_fit(theirs, drawn, RATE, steps)
    looks = [k for k in (1, 10, 100) if k <= steps]
    return {
        "ours": [f"{ours[k - 1]:.9g}" for k in looks],  # as text: numbers are stored with four decimals
        "theirs": [f"{losses[k - 1]:.9g}" for k in looks],
    }


PARTS: dict[str, tuple[Any, tuple[tuple[Any, ...], ...], range]] = {
    "pendulum rates": (net, tuple((ALL, rate, SHORT) for rate in RATES), TUNING_SEEDS),
    "pendulum": (net, ((ALL, RATE, SHORT),), SEEDS),
    "ridge rates": (linear, ((10, 1.0), (30, 1.0), (60, 1.0), (30, 0.01), (30, 100.0)), TUNING_SEEDS),
    "ridge": (linear, (RIDGE,), SEEDS),
    "trees rates": (trees, ((0.1, 200, 31, 40_000), (0.1, 300, 63, 40_000), (0.05, 400, 31, 40_000)), range(100, 101)),
    "trees": (trees, (TREES,), range(10)),
    "window": (window_net, ((RIDGE[0],),), SEEDS),
    "easier": (easier, tuple((method, what) for what in WHY for method in ("ridge", "GRU")), range(3)),
    "law": (knows_the_law, tuple((how,) for how in ("last reading", "filters", "filter, told the length")), SEEDS),
    "torch": (beside_torch, (("one", 100), ("two", 100)), range(3)),
    "pendulum inputs": (net, tuple((kind, RATE, SHORT) for kind in (*pendulum.INPUTS[:-1], DEGREES)), SEEDS),
    "no mask": (net, ((NO_MASK, RATE, SHORT),), range(5)),
    "degrees, slower": (net, ((DEGREES, RATE / 10, SHORT),), range(5)),
    "window, longer": (window_net, ((2 * RIDGE[0],),), range(3)),
    "longer": (net, ((ALL, RATE, LONG), (ALL, SLOWER, LONG)), SEEDS),
}
if not fixed_kernels():  # five seeds of the trees, which take a minute and no matrix product; PyTorch has its own
    PARTS["trees"] = (*PARTS["trees"][:2], range(5))
    del PARTS["torch"]


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
