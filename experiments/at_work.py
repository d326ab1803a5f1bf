"""Trainings of chapter 22, stored in at_work.json. To rerun them:

``python tools/environment.py python -m experiments.at_work [--missing] [PART …]``

With ``KERNELS=own`` before it, into at_work_own.json. Each net or method has the setting that its "… rates" chose on
other seeds.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.cells import mingru_init
from gru_book.models.forecasts import batches, fit, forecast, forecaster_init
from gru_book.tasks import pendulum
from gru_book.tasks.pendulum import Pendulums, errors, inputs, lag_features, pendulums, targets
from gru_lib import elman_init, lstm_init, stack
from gru_lib.layers.stack import StackParams

STORED = file_for_kernels("at_work")
SEEDS, TUNING_SEEDS = range(10), range(100, 101)
TRAINING, HELD_OUT = 1000, 300
STEPS = 3000  # of training


def two_layers(rng: np.random.Generator, D: int, H: int, **options: Any) -> StackParams:
    """A minGRU on a minGRU."""
    return stack(mingru_init(rng, D, H, **options), mingru_init(rng, H, H, **options))


#: What has a state, and its units: each net has about as many parameters as the GRU of 32.
STATES: dict[str, tuple[Any, int]] = {
    "GRU": (None, 32),
    "LSTM": (lstm_init, 28),
    "Elman": (partial(elman_init, init="orthogonal"), 56),
    "minGRU": (mingru_init, 355),
    "minGRU, two layers": (two_layers, 39),
}
TRIED = {  # learning rates
    "GRU": (0.01, 0.03, 0.1), "LSTM": (0.01, 0.03, 0.1), "Elman": (0.003, 0.01, 0.03), "minGRU": (0.003, 0.01, 0.03),
    "minGRU, two layers": (0.003, 0.01, 0.03),
}  # fmt: skip

# What "rates" and "window rates" chose; tests/test_chapter22.py looks whether they did.
RATES = {"GRU": 0.03, "LSTM": 0.03, "Elman": 0.01}
WINDOW = (30, 128, 0.002, 40)  # lags, units of both layers, learning rate, passes

Row = dict[str, Any]


# ---------------------------------------------------------------------------------------------------- the pendulum


def held_out_for(seed: int) -> Pendulums:
    """The pendulums that a run is measured on: for tuning others than for the result."""
    return pendulums(np.random.default_rng(10_001 if seed in TUNING_SEEDS else 10_002), HELD_OUT)


def net(cell: str, rate: float, steps: int, seed: int) -> Row:
    """Train a net with a state on the seed's own thousand pendulums; its errors on others."""
    rng, (init, units) = np.random.default_rng(seed), STATES[cell]
    training, held_out = pendulums(rng, TRAINING), held_out_for(seed)
    m = forecaster_init(rng, 3, 2, units, rnn=init and init(rng, 3, units, dtype=np.float32))
    fit(m, batches(rng, inputs(training), targets(training)), rate, steps)
    return errors(forecast(m, inputs(held_out)), held_out)._asdict() | {"size": m.size}


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
    "rates": (net, tuple((cell, rate, STEPS) for cell, rates in TRIED.items() for rate in rates), TUNING_SEEDS),
    "GRU": (net, (("GRU", RATES["GRU"], STEPS),), SEEDS),
    "others": (net, tuple((cell, RATES[cell], STEPS) for cell in ("LSTM", "Elman")), range(5)),
    "window rates": (
        window_net,
        ((30, 64, 0.002, 12), (60, 64, 0.002, 12), (30, 128, 0.002, 40), (60, 128, 0.001, 40)),
        TUNING_SEEDS,
    ),
    "window": (window_net, (WINDOW,), SEEDS),
    "law": (knows_the_law, (("last reading",), ("filters",)), SEEDS),
}
if not fixed_kernels():
    PARTS = {part: PARTS[part] for part in ("GRU", "law")}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
