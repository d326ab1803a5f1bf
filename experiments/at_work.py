"""Trainings of chapter 22, stored in at_work.json. To rerun them:

``python tools/environment.py python -m experiments.at_work [--missing] [PART …]``

With ``KERNELS=own`` before it, into at_work_own.json. Each net or method has the setting that its "… rates" chose on
other seeds.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.models.forecasts import batches, fit, forecast, forecaster_init, ridge
from gru_book.tasks import pendulum
from gru_book.tasks.pendulum import Pendulums, errors, inputs, lag_features, pendulums, targets
from gru_lib import elman_init, lstm_init

STORED = file_for_kernels("at_work")
SEEDS, TUNING_SEEDS = range(10), range(100, 102)
RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
H, TRAINING, HELD_OUT = 32, 1000, 300
SHORT, LONG = 800, 3000  # steps of training: the page's, and more of them

# What "… rates" chose; tests/test_chapter22.py looks whether it did.
RATE = 0.1
SLOWER = 0.03  # beside it where the training is longer
RIDGE = (30, 1.0)  # lags, penalty
WINDOW = (30, 128, 0.002, 40)  # lags, units of both layers, learning rate, passes
TREES = (0.1, 300, 63, 100_000)  # learning rate, rounds, leaves, rows

Row = dict[str, Any]


# ---------------------------------------------------------------------------------------------------- the pendulum


def held_out_for(seed: int) -> Pendulums:
    """The pendulums that a run is measured on: for tuning others than for the result."""
    return pendulums(np.random.default_rng(10_001 if seed in TUNING_SEEDS else 10_002), HELD_OUT)


def net(rate: float, steps: int, seed: int) -> Row:
    """Train a GRU on the seed's own thousand pendulums; its errors on others."""
    rng = np.random.default_rng(seed)
    training = pendulums(rng, TRAINING)
    held_out = held_out_for(seed)
    m = forecaster_init(rng, 3, 2, H)
    begin = time.process_time()
    fit(m, batches(rng, inputs(training), targets(training)), rate, steps)
    return errors(forecast(m, inputs(held_out)), held_out)._asdict() | {"seconds": time.process_time() - begin}


#: What else has a state, and its units: each has about as many parameters as the GRU of 32.
STATES: dict[str, tuple[Any, int]] = {
    "Elman": (partial(elman_init, init="orthogonal"), 56),
    "LSTM": (lstm_init, 28),
}

OTHERS = {"Elman": 0.01, "LSTM": 0.03}  # the rates that "others' rates" chose


def other(cell: str, rate: float, steps: int, seed: int) -> Row:
    """The same training of another cell on the same pendulums."""
    rng, (init, units) = np.random.default_rng(seed), STATES[cell]
    training, held_out = pendulums(rng, TRAINING), held_out_for(seed)
    m = forecaster_init(rng, 3, 2, units, rnn=init(rng, 3, units, dtype=np.float32))
    fit(m, batches(rng, inputs(training), targets(training)), rate, steps)
    return errors(forecast(m, inputs(held_out)), held_out)._asdict() | {"size": m.size}


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


def window_net(lags: int, units: int, rate: float, passes: int, seed: int) -> Row:
    """A plain net with two layers of `units` on the same window: some passes over the same 100,000 rows."""
    from sklearn.neural_network import MLPRegressor

    training, held_out = pendulums(np.random.default_rng(seed), TRAINING), held_out_for(seed)
    A, B = (a[pendulum.WARM :].reshape(-1, a.shape[-1]) for a in (lag_features(training, lags), targets(training)))
    mean, scale = A.mean(axis=0), A.std(axis=0) + 1e-9
    features = ((lag_features(held_out, lags) - mean) / scale).reshape(-1, A.shape[1])
    settings: Row = {"hidden_layer_sizes": (units, units), "learning_rate_init": rate, "max_iter": passes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the passes are not to the end
        m = MLPRegressor(**settings, batch_size=256, alpha=1e-5, random_state=seed).fit((A - mean) / scale, B)
    return errors(m.predict(features).reshape(*held_out.seen.shape, 2), held_out)._asdict()


def knows_the_law(how: str, seed: int) -> Row:
    """Those that learn nothing, on pendulums drawn by the seed: the last reading, and Kalman filters."""
    batch = pendulums(np.random.default_rng(20_000 + seed), HELD_OUT)
    if how == "last reading":
        said = np.stack([pendulum.carried(batch.values, batch.seen)[0]] * 2, axis=-1)
    else:
        said = pendulum.kalman_bank(batch)
    return errors(said, batch)._asdict()


PARTS: dict[str, tuple[Any, tuple[tuple[Any, ...], ...], range]] = {
    "pendulum rates": (net, tuple((rate, SHORT) for rate in RATES), TUNING_SEEDS),
    "pendulum": (net, ((RATE, SHORT),), SEEDS),
    "ridge rates": (linear, ((10, 1.0), (30, 1.0), (60, 1.0), (30, 0.01), (30, 100.0)), TUNING_SEEDS),
    "ridge": (linear, (RIDGE,), SEEDS),
    "trees rates": (trees, ((0.1, 200, 31, 40_000), (0.1, 300, 63, 40_000), (0.05, 400, 31, 40_000)), range(100, 101)),
    "trees": (trees, (TREES,), range(10)),
    "window rates": (
        window_net,
        ((30, 64, 0.002, 12), (60, 64, 0.002, 12), (30, 128, 0.002, 40), (60, 128, 0.001, 40)),
        range(100, 101),
    ),
    "window": (window_net, (WINDOW,), SEEDS),
    "law": (knows_the_law, (("last reading",), ("filters",)), SEEDS),
    "others' rates": (  # four each
        other,
        tuple((cell, rate, SHORT) for cell in STATES for rate in RATES[:4]),
        range(100, 101),
    ),
    "others": (other, tuple((cell, rate, SHORT) for cell, rate in OTHERS.items()), range(5)),
    "longer rates": (net, ((RATE, LONG), (SLOWER, LONG)), TUNING_SEEDS),
    "longer": (net, ((RATE, LONG), (SLOWER, LONG)), SEEDS),
}
if not fixed_kernels():  # five seeds of the trees, which take a minute and no matrix product
    PARTS["trees"] = (*PARTS["trees"][:2], range(5))
    PARTS = {part: runs for part, runs in PARTS.items() if not part.startswith(("others", "window"))}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
