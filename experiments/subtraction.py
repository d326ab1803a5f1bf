"""The networks of chapter 7 and page 7b: thirty in subtraction_nets.npz, and counts of more in subtraction.json.

``python tools/environment.py python -m experiments.subtraction [--missing] [counts] [nets]``
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, make_parts, stored_file
from gru_book.models.proofs import BORROW, PAIRS_OF_BITS, SIGNS, boxes_hold, disagreement, find_boxes, read_machine
from gru_book.models.reader import subtractor_accuracy, subtractor_init, subtractor_loss
from gru_book.results import FOLDER
from gru_book.tasks.subtraction import Batch, all_pairs, long_borrows, random_batches, random_pairs
from gru_lib import Adam, Bundle, train

SEEDS = range(10)
Row = dict[str, Any]


def trained_on(bits: tuple[int, int], seed: int, *, H: int = 10, steps: int = 1000) -> Bundle:
    """Train on random pairs that have from so many to so many bits."""
    rng = np.random.default_rng(seed)
    m = subtractor_init(rng, H)
    train(m, subtractor_loss, random_batches(rng, 64, bits), Adam(m, 0.02), steps=steps, progress=False)
    return m


def tidy(
    seed: int,
    *,
    H: int = 10,
    steps: int = 1000,
    bits: tuple[int, int] = (4, 8),
    most: float = 10,
    decay: float = 2e-3,
) -> Bundle:
    """Train with the two terms that tidy the state."""
    rng = np.random.default_rng(seed)
    m = subtractor_init(rng, H)

    def loss(m: Bundle, numbered: tuple[int, Batch]) -> tuple[Any, Bundle]:
        i, batch = numbered
        commit = most * np.clip((i / steps - 0.3) / 0.5, 0, 1)
        return subtractor_loss(m, batch, commit=commit, decay=decay)

    train(m, loss, enumerate(random_batches(rng, 64, bits)), Adam(m, 0.02), steps=steps, progress=False)
    return m


NETS: dict[str, Callable[[int], Bundle]] = {
    "four bits": lambda seed: trained_on((4, 4), seed),
    "plain": lambda seed: trained_on((4, 8), seed),
    "tidied": tidy,
}


def nets() -> None:
    """Store the parameters of ten seeds of each kind, a row for each seed."""
    rows = {kind: np.array([made(seed).flat for seed in SEEDS]) for kind, made in NETS.items()}
    np.savez(FOLDER / "subtraction_nets.npz", **rows)


# -------------------------------------------------------------------------------------- with both terms, one and none

STORED = stored_file("subtraction")
WAYS: dict[str, dict[str, Any]] = {
    "plain": {"most": 0, "decay": 0},
    "tidied": {},
    "only pulled": {"decay": 0},
    "only decayed": {"most": 0},
    "tidied, on four bits": {"bits": (4, 4)},
    "only pulled, on four bits": {"bits": (4, 4), "decay": 0},
    "only decayed, on four bits": {"bits": (4, 4), "most": 0},
    "plain, on four bits, long": {"bits": (4, 4), "most": 0, "decay": 0, "steps": 4000},
}
LENGTHS = (5, 8, 16, 64, 256, 1024)


def longer() -> list[Batch]:
    """600 pairs: 50 random ones of each length, and 50 with a long borrow."""
    rng = np.random.default_rng(9)
    return [draw(rng, 50, width) for draw in (random_pairs, long_borrows) for width in LENGTHS]


def proved(m: Bundle) -> bool:
    """Whether boxes prove that a network subtracts at every length, nothing rounded."""
    machine = read_machine(m, PAIRS_OF_BITS, SIGNS)
    if machine is None or disagreement(machine.automaton, BORROW) is not None:
        return False
    boxes = find_boxes(m, PAIRS_OF_BITS, machine.automaton)
    return boxes is not None and boxes_hold(m, PAIRS_OF_BITS, machine.automaton, boxes)


def count(way: str, seed: int) -> Row:
    """Train in one of the ways: right on all pairs of four bits? how many of 600 longer ones are wrong? proved?"""
    m = tidy(seed, **WAYS[way])
    wrong = sum(round(50 * (1 - subtractor_accuracy(m, test).pairs)) for test in longer())
    return {"known": subtractor_accuracy(m, all_pairs(4)).pairs == 1, "wrong": wrong, "proved": proved(m)}


PARTS = {"counts": (count, tuple((way,) for way in WAYS), range(20))}


def main(arguments: list[str]) -> None:
    """Make the counts, the networks, or both; with --missing, only the counts that are not stored yet."""
    picked = chosen([name for name in arguments if name != MISSING], [*PARTS, "nets"])
    if "counts" in picked:
        make_parts(STORED, PARTS, ["counts", *(name for name in arguments if name == MISSING)])
    if "nets" in picked:
        nets()


if __name__ == "__main__":
    main(sys.argv[1:])
