"""Runs of chapter 9: what a bias of the update gate costs, in highway.json.

``python tools/environment.py python -m experiments.highway [--missing] [PART …] [net]``

``net`` makes the network that reads a line on the page, highway_net.npz. With ``KERNELS=own`` before it, three of the
seeds run with this processor's own kernels, into highway_own.json. Every run has its own seed. float64.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, digits, file_for_kernels, fixed_kernels, make_parts
from experiments.three_stories import single
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.memory import TASKS, Batch
from gru_lib import Adam, Bundle, clip_by_global_norm, gru_init, save

STORED = file_for_kernels("highway")
SEEDS = range(10 if fixed_kernels() else 3)
Row = dict[str, Any]

# ---------------------------------------------------------------------------------------------------- trained networks

UNITS, LENGTH, RATE = 16, 40, 0.02
READ = TASKS["last_outside"]


def fit(m: Bundle, rng: np.random.Generator, draw: Callable[..., Batch], steps: int) -> None:
    """Train `m` on fresh batches."""
    adam = Adam(m, RATE)
    for _ in range(steps):
        _, grads = reader_loss(m, draw(rng, 32, LENGTH))
        clip_by_global_norm(grads, 1.0)
        adam.step(grads)


# ---------------------------------------------------------------------------------------- a token kept, a bit flipped

BIASES = {"0": 0.0, "2": 2.0, "ln 39": np.log(39), "8": 8.0}
RATES, MOST, LEARNED = (0.003, 0.01, 0.03), 1000, 0.99


def learn(task: str, bias: str, rate: float, seed: int, *, reset_after: bool = False) -> Row:
    """Steps until 99 % of 256 answers are right, looked at every 25, `MOST` at most; and the share of other answers.

    For one seed, all that is not set is the same, batches too.
    """
    draw, D, K = TASKS[task][:3]
    rng = np.random.default_rng(seed)
    m = reader_init(np.random.default_rng(seed), D, K, UNITS, init=gru_init, dtype=np.float32, reset_after=reset_after)
    m.rnn.b_z[:] = BIASES[bias]
    adam = Adam(m, rate)
    test, others = (single(draw(np.random.default_rng(10_001 + k), 256 * (1 + k), LENGTH)) for k in (0, 1))
    for step in range(1, MOST + 1):
        _, grads = reader_loss(m, single(draw(rng, 32, LENGTH)))
        clip_by_global_norm(grads, 1.0)
        adam.step(grads)
        if step % 25 == 0 and reader_accuracy(m, test).answers >= LEARNED:
            break
    return {"steps": step, "right": reader_accuracy(m, others).answers}


# ------------------------------------------------------------------------------------------------------- reading a line


def reader(seed: int, steps: int = 300) -> Bundle:
    """A network that says, after each token, which class came last outside brackets."""
    rng = np.random.default_rng(seed)
    m = reader_init(rng, READ.D, READ.K, UNITS)
    m.rnn.b_z[:] = 2
    fit(m, rng, READ.draw, steps)
    return m


FORTY = ("0", "2", "ln 39", "8")
TRIED = tuple((bias, rate) for bias in FORTY for rate in RATES)
Part = tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]
PARTS: dict[str, Part] = {
    "keep": (partial(learn, "checksum"), TRIED, SEEDS),
    # here a large bias takes most of the steps
    "flip": (partial(learn, "parity_outside"), TRIED, SEEDS[:5]),
    "keep, reset after": (partial(learn, "checksum", reset_after=True), (("2", 0.03),), SEEDS[:5]),
    "flip, reset after": (partial(learn, "parity_outside", reset_after=True), (("2", 0.03),), SEEDS[:5]),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all and the network; with --missing, only what is not stored yet."""
    picked = chosen([name for name in arguments if name != MISSING], [*PARTS, "net"])
    parts = [name for name in picked if name != "net"]
    if parts:
        make_parts(STORED, PARTS, [*parts, *(name for name in arguments if name == MISSING)], rounding=digits(3))
    if "net" in picked and fixed_kernels():
        save(FOLDER / "highway_net.npz", reader(0))


if __name__ == "__main__":
    main(sys.argv[1:])
