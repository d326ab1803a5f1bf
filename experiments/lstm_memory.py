"""Training runs of chapter 12 that take minutes, stored in lstm_memory.json. To rerun them:

``python tools/environment.py python -m experiments.lstm_memory [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into lstm_memory_own.json: a
page states only counts on which both agree. Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from experiments.three_stories import SOLVED, Draw, Row, right, single, task
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.tasks.memory import TASKS, Batch
from gru_lib import Adam, Bundle, gru_init, lstm_init, train

STORED = file_for_kernels("lstm_memory")
SEEDS = range(10 if fixed_kernels() else 3)
N, STEPS = 32, 1000

#: The biases of an LSTM for two tasks: keep the first token, and count outside brackets. Those not named are 0 but b_f.
FAR = float(np.log(39))
STARTS: dict[str, dict[str, float]] = {
    "LSTM, b_f = 0": {"b_f": 0},
    "LSTM, b_f = 1": {"b_f": 1},
    "LSTM, b_f = ln 39": {"b_f": FAR},
    "LSTM, b_f = ln 39, b_i = -ln 39": {"b_f": FAR, "b_i": -FAR},
    "LSTM, b_f = 6": {"b_f": 6},
}
RATES = (0.003, 0.01, 0.03)


UNITS = {"checksum": 20, "parity_outside": 24}


def network(rng: np.random.Generator, start: str, name: str) -> Bundle:
    """Draw a reader for a task, an LSTM with the biases of a start."""
    m = reader_init(rng, TASKS[name].D, TASKS[name].K, UNITS[name], init=lstm_init, dtype=np.float32)
    for bias, value in STARTS[start].items():
        getattr(m.rnn, bias)[:] = value
    return m


def fit(m: Bundle, rng: np.random.Generator, draw: Draw, lr: float, steps: int = STEPS) -> int:
    """Train `m` on fresh batches until the task is solved; return the number of steps."""
    test = single(draw(np.random.default_rng(10_001), 256))
    history = train(
        m,
        reader_loss,
        iter(lambda: single(draw(rng, N)), None),
        Adam(m, lr),
        steps=steps,
        clip_norm=1.0,
        evaluate=lambda p: {"right": reader_accuracy(p, test).answers},
        every=25,
        stop=lambda history: history.last("right") >= SOLVED,
        progress=False,
    )
    return history.steps


def run(name: str, T: int, start: str, lr: float, seed: int, steps: int = STEPS) -> Row:
    """One training: steps taken, and the share right on held-out sequences."""
    rng, draw = np.random.default_rng(seed), task(name, T)
    m = network(rng, start, name)
    return {"steps": fit(m, rng, draw, lr, steps), "right": right(m, draw), "size": m.size}


def keep(start: str, lr: float, seed: int) -> Row:
    """Keep the first token over forty, in a thousand steps at most."""
    return run("checksum", 40, start, lr, seed)


def rewrite(start: str, lr: float, seed: int) -> Row:
    """The parity of the 1s outside brackets, over forty tokens, in a thousand steps at most."""
    return run("parity_outside", 40, start, lr, seed)


# ----------------------------------------------------------------------------------------------- trained to count

COUNTERS = {"LSTM": (lstm_init, 10, "b_f"), "GRU": (gru_init, 12, "b_z")}  # 531 and 553 parameters


def majority(rng: np.random.Generator, count: int, T: int) -> Batch:
    """Tokens a and b; after each: have there been more a than b?"""
    tokens = rng.integers(0, 2, (T, count))
    more = np.cumsum(1 - 2 * tokens, axis=0) > 0
    asked = np.ones(tokens.shape, bool)
    return single(Batch(tokens=tokens, xs=np.eye(2)[tokens], ys=more[..., None].astype(float), asked=asked))


def counting(cell: str, lr: float, seed: int, steps: int = 1500, bias: float = 3) -> Row:
    """Train on forty tokens, with a bias that keeps; the share of right answers on as many, 200 and 1,000."""
    rng, (init, H, name) = np.random.default_rng(seed), COUNTERS[cell]
    m = reader_init(rng, 2, 1, H, init=init, dtype=np.float32)
    getattr(m.rnn, name)[:] = bias
    source = iter(lambda: majority(rng, N, 40), None)
    train(m, reader_loss, source, Adam(m, lr), steps=steps, clip_norm=1.0, progress=False)
    tests = {T: majority(np.random.default_rng(10_001), 200, T) for T in (40, 200, 1000)}
    return {"size": m.size} | {str(T): reader_accuracy(m, test).answers for T, test in tests.items()}


def counting_from(cell: str, bias: float, seed: int) -> Row:
    """The same from another bias."""
    return counting(cell, 0.01, seed, bias=bias)


def counting_at(cell: str, lr: float, seed: int) -> Row:
    """From the best of these biases, at another rate."""
    return counting(cell, lr, seed, bias=BEST[cell])


BEST = {"LSTM": 8.0, "GRU": 4.5}
BOTH = tuple((start, lr) for start in STARTS for lr in RATES)
PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "keep": (keep, BOTH, SEEDS),
    "rewrite": (rewrite, BOTH, SEEDS[:5]),
    "counting": (counting, tuple((cell, 0.01) for cell in COUNTERS), SEEDS),
    "counting, other biases": (counting_from, tuple((cell, b) for cell in COUNTERS for b in (1, 4.5, 6, 8)), SEEDS[:5]),
    "counting, other rates": (counting_at, tuple((cell, lr) for cell in COUNTERS for lr in (0.003, 0.03)), SEEDS[:5]),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
