"""Training runs of chapter 2, stored in marked.json: one number of T is marked, and has to be said at the end.

``python tools/environment.py python -m experiments.marked [--missing] [PART …]``

``tuning`` runs every net at three rates, on two seeds of its own; ``error`` runs each at its best rate for that length,
`BEST`; ``small inputs`` starts the orthogonal net with a tenth of its W_x; ``gradient`` follows the first 1,000 steps.
A run takes STEPS batches of fresh rows, at one rate that falls to zero in the last fifth, and ends before that once it
errs by less than DONE. float32.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from experiments._store import digits, make_parts
from experiments.other_memories import adder, adder_loss, single
from gru_book.jacobian import jacobian
from gru_book.results import FOLDER
from gru_book.tasks.adding import marked
from gru_lib import Adam, cell_of, linear_forward, train

STORED = FOLDER / "marked.json"
NETS = ("Elman", "Elman, orthogonal", "IRNN", "GRU")
LENGTHS = (10, 20, 50)
RATES = (0.001, 0.003, 0.01)
SEEDS = range(10)
STEPS, N, DONE = 8000, 32, 1e-5


def learn(net: str, T: int, rate: float, seed: int, *, steps: int = STEPS, inputs: float = 1) -> dict[str, Any]:
    """Train with Adam and clipping; the mean squared error on 1,000 rows, every 200 steps.

    `inputs` is what W_x is multiplied by at the start.
    """
    rng, test = np.random.default_rng(seed), single(marked(np.random.default_rng(10_002), 1000, T))
    m = adder(rng, net)
    m.rnn.W_x[:] *= inputs

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


def small_inputs(net: str, seed: int) -> dict[str, Any]:
    """Fifty numbers, with a tenth of the usual W_x, at the rate of the IRNN, which starts with a small one too."""
    return learn(net, 50, BEST["IRNN", 50], seed, inputs=0.1)


def follow(net: str, seed: int, *, T: int = 50, steps: int = 1000) -> dict[str, Any]:
    """Train at the best rate for T; every 50 steps the error, and the median norm of ∂h_T/∂h_0 on eight rows."""
    rng, rate = np.random.default_rng(seed), BEST[net, T]
    m, xs = adder(rng, net), marked(np.random.default_rng(10_003), 8, T).xs
    test = single(marked(np.random.default_rng(10_002), 1000, T))
    found: dict[str, Any] = {"norms": [], "errors": []}

    def look(p: Any) -> dict[str, float]:
        total = jacobian(xs, None, p.rnn.astype(np.float64)).total
        found["norms"].append(float(np.median(np.linalg.norm(total, 2, axis=(1, 2)))))
        y = linear_forward(cell_of(p.rnn).forward(test.xs, None, p.rnn)[0][-1], p.out)[0]
        found["errors"].append(float(((y - test.ys) ** 2).mean()))
        return {}

    look(m)
    source = (single(marked(rng, N, T)) for _ in iter(int, 1))
    train(m, adder_loss, source, Adam(m, rate), steps=steps, clip_norm=1.0, evaluate=look, every=50, progress=False)
    return found


#: The best rate of `tuning`, by net and length.
BEST = {
    (net, T): rate
    for net, rates in {
        "Elman": (0.01, 0.001, 0.01),
        "Elman, orthogonal": (0.01, 0.003, 0.003),
        "IRNN": (0.003, 0.001, 0.001),
        "GRU": (0.01, 0.01, 0.01),
    }.items()
    for T, rate in zip(LENGTHS, rates, strict=True)
}
PARTS = {
    "tuning": (learn, tuple(product(NETS, LENGTHS, RATES)), (100, 101)),
    "gradient": (follow, tuple((net,) for net in NETS), range(5)),
    "error": (learn, tuple((net, T, rate) for (net, T), rate in BEST.items()), SEEDS),
    "small inputs": (small_inputs, (("Elman, orthogonal",),), range(6)),
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
