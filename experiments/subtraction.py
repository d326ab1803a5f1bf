"""Training runs that would triple the time of chapter 7, stored in subtraction.json. To rerun them:

``python tools/environment.py python -m experiments.subtraction [--missing] [PART …]``

``nets`` makes the thirty networks that the chapter tests and proves, subtraction_nets.npz. With ``KERNELS=own`` before
it, the other parts run with this processor's own kernels, into subtraction_own.json. Every run has its own seed, so any
of them can be repeated alone. float64, in which both kernels lead to the same digits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, file_for_kernels, fixed_kernels, make_parts
from gru_book.models.proofs import (
    BORROW,
    PAIRS_OF_BITS,
    SIGNS,
    Automaton,
    boxes_hold,
    disagreement,
    find_boxes,
    read_machine,
)
from gru_book.models.reader import subtractor_accuracy, subtractor_init, subtractor_loss, subtractor_predict
from gru_book.results import FOLDER
from gru_book.tasks.subtraction import Batch, all_pairs, long_borrows, pick, random_batches, random_pairs
from gru_lib import Adam, Bundle, train

STORED = file_for_kernels("subtraction")
SEEDS = range(10)
SIZES = (34, 68)
Row = dict[str, Any]


def split(size: int, seed: int) -> Row:
    """Train on some of the pairs, test on the others: 400 full-batch steps, Adam at 0.02."""
    every, order = all_pairs(4), np.random.default_rng(1000 + seed).permutation(136)
    seen, unseen = pick(every, order[:size]), pick(every, order[size:])
    m = subtractor_init(np.random.default_rng(seed), 8)
    train(m, subtractor_loss, [seen], Adam(m, 0.02), steps=400, progress=False)
    return {
        "numbers": m.size,
        "seen": subtractor_accuracy(m, seen).pairs,
        "unseen": subtractor_accuracy(m, unseen).pairs,
    }


def trained_on(bits: tuple[int, int], seed: int, *, H: int = 10, steps: int = 1000) -> Bundle:
    """Train on random pairs that have from so many to so many bits."""
    rng = np.random.default_rng(seed)
    m = subtractor_init(rng, H)
    train(m, subtractor_loss, random_batches(rng, 64, bits), Adam(m, 0.02), steps=steps, progress=False)
    return m


def longer_right(m: Bundle) -> int:
    """How many of the chapter's 600 longer pairs come out right."""
    rng, right = np.random.default_rng(9), 0
    for draw in (random_pairs, long_borrows):
        for width in (5, 8, 16, 64, 256, 1024):
            test = draw(rng, 50, width)
            right += int(((subtractor_predict(m, test.xs) > 0.5) == test.ys).all(axis=(0, 2)).sum())
    return right


def tidy(
    seed: int,
    *,
    H: int = 10,
    steps: int = 1000,
    pull: float = 10,
    decay: float = 2e-3,
    draw: Callable[[np.random.Generator], Iterator[Batch]] = lambda rng: random_batches(rng, 64, (4, 8)),
) -> Bundle:
    """Train on pairs of 4 to 8 bits with the two terms that tidy the state."""
    rng = np.random.default_rng(seed)
    m = subtractor_init(rng, H)

    def loss(m: Bundle, numbered: tuple[int, Batch]) -> tuple[Any, Bundle]:
        i, batch = numbered
        commit = pull * np.clip((i / steps - 0.3) / 0.5, 0, 1)
        return subtractor_loss(m, batch, commit=commit, decay=decay)

    train(m, loss, enumerate(draw(rng)), Adam(m, 0.02), steps=steps, progress=False)
    return m


def terms(longest: int, which: str, seed: int) -> Row:
    """Train on four bits to the longest, with weight decay alone or with both terms; test as the chapter does."""
    pull = {"decay": 0, "both": 10}[which]
    m = tidy(seed, pull=pull, draw=lambda rng: random_batches(rng, 64, (4, longest)))
    return {"seen": subtractor_accuracy(m, all_pairs(4)).pairs, "right": longer_right(m)}


#: Addition as an automaton: a state for each carry, a column for each pair of bits.
CARRY = Automaton(np.array([[0, 0, 0, 1], [0, 1, 1, 1]]), BORROW.bit)


def sums(rng: np.random.Generator, N: int = 64) -> Iterator[Batch]:
    """Yield batches of sums of 4 to 8 bits; the carry out of the last place is dropped."""
    while True:
        symbols = rng.integers(0, 4, (int(rng.integers(4, 9)), N))
        state, bits = np.zeros(N, int), []
        for symbol in symbols:
            bits.append(CARRY.bit[state, symbol])
            state = CARRY.next[state, symbol]
        yield Batch(PAIRS_OF_BITS[symbols], np.array(bits, float)[:, :, None])


def addition(seed: int) -> Row:
    """Train on sums as `tidy` does on differences; prove the net right for every length, rounded and as it is."""
    m = tidy(seed, draw=sums)
    machine = read_machine(m, PAIRS_OF_BITS, SIGNS)
    assert machine is not None
    rounded = disagreement(machine.automaton, CARRY) is None

    def proved(**how: Any) -> bool:
        boxes = find_boxes(m, PAIRS_OF_BITS, machine.automaton, **how) if rounded else None
        return boxes is not None and boxes_hold(m, PAIRS_OF_BITS, machine.automaton, boxes)

    return {
        "states": len(machine.states),
        "rounded": rounded,
        "boxes": proved(),
        "finer": any(proved(widen=widen, rounds=1000) for widen in (0.0, 0.01)),
    }


NETS: dict[str, Callable[[int], Bundle]] = {
    "four bits": lambda seed: trained_on((4, 4), seed),
    "plain": lambda seed: trained_on((4, 8), seed),
    "tidied": tidy,
}


def nets() -> None:
    """Store the parameters of ten seeds of each kind, a row for each seed."""
    rows = {kind: np.array([made(seed).flat for seed in SEEDS]) for kind, made in NETS.items()}
    np.savez(FOLDER / "subtraction_nets.npz", **rows)


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...]]] = {
    "addition": (addition, ((),)),
    "split": (split, tuple((size,) for size in SIZES)),
    "terms": (terms, ((4, "both"), (4, "decay"), (8, "decay"))),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    picked = chosen([name for name in arguments if name != MISSING], [*PARTS, "nets"] if fixed_kernels() else PARTS)
    parts = {part: (*PARTS[part], SEEDS) for part in picked if part in PARTS}
    make_parts(STORED, parts, [MISSING] if MISSING in arguments else [])
    if "nets" in picked:
        nets()


if __name__ == "__main__":
    main(sys.argv[1:])
