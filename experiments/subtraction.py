"""Training runs that would double the time of chapter 7, stored in subtraction.json. To rerun them:

``python tools/environment.py python -m experiments.subtraction [--missing] [PART …]``

Every run has its own seed, so any of them can be repeated alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments._store import make_parts
from gru_lib import SGD, Adam, elman_init, gru_init, lstm_init, train
from gru_lib.models.reader import subtractor_accuracy, subtractor_init, subtractor_loss, subtractor_predict
from gru_lib.results import FOLDER
from gru_lib.tasks.subtraction import Batch, all_pairs, pick

STORED = FOLDER / "subtraction.json"
SEEDS = range(10)
EPOCHS = 90
SIZES = (34, 68)
CELLS: dict[str, tuple[Callable[..., Any], int]] = {
    "Elman": (elman_init, 15),
    "GRU": (gru_init, 8),
    "LSTM": (lstm_init, 7),
}

Row = dict[str, Any]


def aiedu(seed: int, *, epochs: int = EPOCHS) -> Row:
    """ai-edu's setting: four units, no bias, write, one pair at a time, gradient descent at 0.1, stop at 100 %."""
    rng, every = np.random.default_rng(seed), all_pairs(4)

    def one_at_a_time() -> Iterator[Batch]:
        while True:
            for i in rng.permutation(136):
                yield pick(every, [i])

    m = subtractor_init(rng, 4, bias=False, convention="write")
    history = train(
        m,
        subtractor_loss,
        one_at_a_time(),
        SGD(m, 0.1),
        steps=136 * epochs,
        evaluate=lambda m: {"pairs": subtractor_accuracy(m, every).pairs},
        every=136,
        stop=lambda history: history.last("pairs") == 1,
        progress=False,
    )
    said = subtractor_predict(m, every.xs)
    wrong = ((said > 0.5) != (every.ys == 1)).any(axis=(0, 2))
    a, b = np.tril_indices(16)  # the numbers, in the order of all_pairs
    return {
        "right": [round(136 * value) for value in history.curve("pairs")[1]],  # after each epoch
        "wrong": [f"{u} - {v}" for u, v in zip(a[wrong].tolist(), b[wrong].tolist(), strict=True)],
        "0 - 0": said[:, 0, 0].tolist(),
    }


def split(size: int, cell: str, seed: int) -> Row:
    """Train on some of the pairs, test on the others: 400 full-batch steps, Adam at 0.02."""
    every, order = all_pairs(4), np.random.default_rng(1000 + seed).permutation(136)
    seen, unseen = pick(every, order[:size]), pick(every, order[size:])
    init, H = CELLS[cell]
    m = subtractor_init(np.random.default_rng(seed), H, init=init)
    train(m, subtractor_loss, [seen], Adam(m, 0.02), steps=400, progress=False)
    return {
        "numbers": m.size,
        "seen": subtractor_accuracy(m, seen).pairs,
        "unseen": subtractor_accuracy(m, unseen).pairs,
    }


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...]]] = {
    "aiedu": (aiedu, ((),)),
    "split": (split, tuple((size, cell) for size in SIZES for cell in CELLS)),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, {part: (*made, SEEDS) for part, made in PARTS.items()}, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
