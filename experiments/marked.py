"""Training runs of chapter 2, stored in marked.json: one number of T is marked, and has to be said at the end.

``python tools/environment.py python -m experiments.marked [--missing] [PART …]``

``tuning`` runs each net at three rates, on two seeds of its own; ``error`` runs those of `BEST`, each at its best rate
for that length; ``wider rates`` tries two more for the net that none of the three taught. An IRNN is relu from the
identity.
A run takes STEPS batches of fresh rows, at one rate that falls to zero in the last fifth, and ends before that once it
errs by less than DONE. float32.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from experiments._store import digits, make_parts
from experiments.other_memories import adder, adder_loss, single
from gru_book.results import FOLDER
from gru_book.tasks.adding import marked
from gru_lib import Adam, cell_of, linear_forward, train

STORED = FOLDER / "marked.json"
CASES = (("Elman", 20), ("Elman", 50), ("GRU", 50), ("IRNN", 50))
RATES = (0.001, 0.003, 0.01)
WIDER = (0.0003, 0.03)
SEEDS = range(10)
STEPS, N, DONE = 8000, 32, 1e-5


def learn(net: str, T: int, rate: float, seed: int, *, steps: int = STEPS) -> dict[str, Any]:
    """Train with Adam and clipping; the mean squared error on 1,000 rows, every 200 steps."""
    rng, test = np.random.default_rng(seed), single(marked(np.random.default_rng(10_002), 1000, T))
    m = adder(rng, net)

    def error(p: Any) -> dict[str, float]:
        y = linear_forward(cell_of(p.rnn).forward(test.xs, None, p.rnn)[0][-1], p.out)[0]
        return {"error": float(((y - test.ys) ** 2).mean())}

    history = train(
        m,
        adder_loss,
        (single(marked(rng, N, T)) for _ in iter(int, 1)),
        Adam(m, rate),
        steps=steps,
        schedule=lambda i: rate * min(1.0, 5 * (1 - i / steps)),
        clip_norm=1.0,
        evaluate=error,
        every=200,
        stop=lambda history: history.last("error") < DONE,
        progress=False,
    )
    return {"steps": history.steps, "errors": history.curve("error")[1]}


#: The best rate of `tuning`, by net and length.
BEST = dict(zip(CASES, (0.001, 0.01, 0.01, 0.001), strict=True))
PARTS = {
    "tuning": (learn, tuple((*case, rate) for case in CASES for rate in RATES), (100, 101)),
    "error": (learn, tuple((*case, rate) for case, rate in BEST.items()), SEEDS),
    "wider rates": (learn, tuple(("Elman", 50, rate) for rate in WIDER), (100, 101)),
}


def best_rate(net: str, T: int, stored: dict[str, Any]) -> float:
    """The rate whose two runs of tuning err least on average, after their logarithm."""
    ends: dict[float, list[float]] = {}
    for n, t, rate, _, row in stored["tuning"]:
        if (n, t) == (net, T):
            ends.setdefault(rate, []).append(np.log(row["errors"][-1]))
    return min(ends, key=lambda rate: float(np.mean(ends[rate])))


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments, rounding=digits(3))


if __name__ == "__main__":
    main(sys.argv[1:])
