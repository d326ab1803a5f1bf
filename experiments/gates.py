"""Training runs of chapter 3: an Elman net on the tasks of the single gate, stored in gates.json. To rerun them:

``python tools/environment.py python -m experiments.gates [--missing] [PART …]``

`elman` has the starts of W_h and the rates that `tuning` found best, on other seeds.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from experiments._store import make_parts
from gru_lib import (
    Adam,
    Bundle,
    bundle,
    elman_backward,
    elman_forward,
    elman_init,
    linear_backward,
    linear_forward,
    linear_init,
    train,
)
from gru_lib.results import FOLDER
from gru_lib.tasks import hold

STORED = FOLDER / "gates.json"
SEEDS = range(10)
T, N, STEPS, LONG = 20, 32, 2000, 200
TASKS = {"hold": hold.hold, "drift": hold.drift}
UNITS = (1, 4, 16)
STARTS = ("uniform", "orthogonal")
RATES = (0.003, 0.01, 0.03)
#: By task and units: the start and the rate with the smallest median error in `tuning`.
TUNED: dict[tuple[str, int], tuple[str, float]] = {}

Row = dict[str, Any]


def loss_and_grads(m: Bundle, batch: hold.Batch) -> tuple[float, Bundle]:
    """The chapter's loss: the mean squared error over the second half of the steps."""
    hs, _, tape = elman_forward(batch.xs, None, m.rnn)
    said, cache = linear_forward(hs, m.out)
    off, half = said - batch.ys, len(hs) // 2
    off[:half] = 0
    count = off[half:].size
    dhs, dout = linear_backward(2 * off / count, cache, m.out)
    _, _, drnn = elman_backward(dhs, None, tape, m.rnn)
    return float((off * off).sum() / count), bundle(rnn=drnn, out=dout)


def elman(task: str, H: int, start: str, rate: float, seed: int) -> Row:
    """The error on the chapter's test sequences, halfway and at the end, and on sequences ten times as long.

    As in the chapter, but for more steps, and with a rate that falls to 0 in the second half of them.
    """
    rng, draw = np.random.default_rng(seed), TASKS[task]
    m = bundle(rnn=elman_init(rng, 2, H, init=start), out=linear_init(rng, H, 1))
    test, long = draw(np.random.default_rng(100), 2000, T), draw(np.random.default_rng(101), 200, LONG)
    history = train(
        m,
        loss_and_grads,
        (draw(rng, N, T) for _ in range(STEPS)),
        Adam(m, rate),
        steps=STEPS,
        clip_norm=1.0,
        schedule=lambda step: rate * min(1, 2 - 2 * step / STEPS),
        evaluate=lambda m: {"error": loss_and_grads(m, test)[0]},
        every=STEPS // 2,
        progress=False,
    )
    halfway, end = history.curve("error")[1]
    return {"parameters": m.size, "halfway": halfway, "error": end, "long": loss_and_grads(m, long)[0]}


SETTINGS = tuple((task, H) for task in TASKS for H in UNITS)
PARTS = {
    "tuning": (elman, tuple((*s, start, rate) for s in SETTINGS for start in STARTS for rate in RATES), range(20, 22)),
    "elman": (elman, tuple((*s, *TUNED[s]) for s in SETTINGS if s in TUNED), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
