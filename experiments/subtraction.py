"""The forty networks of chapter 7 and page 7b, stored in subtraction_nets.npz. To train them again:

``python tools/environment.py python -m experiments.subtraction``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gru_book.models.reader import subtractor_init, subtractor_loss
from gru_book.results import FOLDER
from gru_book.tasks.subtraction import Batch, random_batches
from gru_lib import Adam, Bundle, train

SEEDS = range(10)


def trained_on(bits: tuple[int, int], seed: int, *, H: int = 10, steps: int = 1000) -> Bundle:
    """Train on random pairs that have from so many to so many bits."""
    rng = np.random.default_rng(seed)
    m = subtractor_init(rng, H)
    train(m, subtractor_loss, random_batches(rng, 64, bits), Adam(m, 0.02), steps=steps, progress=False)
    return m


def tidy(seed: int, *, H: int = 10, steps: int = 1000) -> Bundle:
    """Train on pairs of 4 to 8 bits with the two terms that tidy the state."""
    rng = np.random.default_rng(seed)
    m = subtractor_init(rng, H)

    def loss(m: Bundle, numbered: tuple[int, Batch]) -> tuple[Any, Bundle]:
        i, batch = numbered
        commit = 10 * np.clip((i / steps - 0.3) / 0.5, 0, 1)
        return subtractor_loss(m, batch, commit=commit, decay=2e-3)

    train(m, loss, enumerate(random_batches(rng, 64, (4, 8))), Adam(m, 0.02), steps=steps, progress=False)
    return m


NETS: dict[str, Callable[[int], Bundle]] = {
    "four bits": lambda seed: trained_on((4, 4), seed),
    "four bits, 3,000 steps": lambda seed: trained_on((4, 4), seed, steps=3000),
    "plain": lambda seed: trained_on((4, 8), seed),
    "tidied": tidy,
}


def nets() -> None:
    """Store the parameters of ten seeds of each kind, a row for each seed."""
    rows = {kind: np.array([made(seed).flat for seed in SEEDS]) for kind, made in NETS.items()}
    np.savez(FOLDER / "subtraction_nets.npz", **rows)


if __name__ == "__main__":
    nets()
