"""Runs of page 21b, stored in loop_solved.json: rounds of Newton's method, and a diagonal GRU beside the GRU.

``python tools/environment.py python -m experiments.loop_solved [--missing] [PART …]``

All contenders have about as many parameters as a GRU of 16 units, and start with the same bias of z. float32. The
rounds of Newton's method that the page counts are here too, those of trained networks in float64.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, make_parts
from experiments.three_stories import fit, right
from experiments.without_loop import START, UNITS, Draw, Row, T
from gru_book.cells import DiagGRUParams, diaggru_backward, diaggru_forward, diaggru_init
from gru_book.models.reader import reader_init
from gru_book.newton import newton_forward
from gru_book.tasks.memory import Batch, last_outside, parity_since
from gru_book.tasks.text import english
from gru_book.widgets.language import trained as language_net
from gru_lib import Bundle, Cell, Params, cell_of, gru_init, register_cell, stack

STORED = file_for_kernels("loop_solved")
SEEDS = range(10)
MOST = 1000  # updates of the longest training


def cups(rng: np.random.Generator, N: int, T: int, *, count: int = 5) -> Batch:
    """Each token swaps two neighbouring cups in a row: after each, where is the one that began at the left?"""
    tokens, place = rng.integers(0, count - 1, (T, N)), np.zeros((T + 1, N), int)
    for t, left in enumerate(tokens):
        place[t + 1] = np.select([place[t] == left, place[t] == left + 1], [left + 1, left], place[t])
    return Batch(np.eye(count - 1)[tokens], np.eye(count)[place[1:]], np.ones((T, N), bool), tokens)


class OnlyCandidate(DiagGRUParams):
    """A diagonal GRU in which the candidate sees the unit's old state and the gates do not."""


class OnlyGates(DiagGRUParams):
    """A diagonal GRU in which the gates see the unit's old state and the candidate does not."""


def _without(kind: type[DiagGRUParams], blind: str) -> None:
    def backward(*arguments: Any) -> Any:
        dxs, dh0, grads = diaggru_backward(*arguments)
        for gate in blind:
            getattr(grads, f"u_{gate}")[:] = 0
        return dxs, dh0, grads

    register_cell(Cell(kind, forward=diaggru_forward, backward=backward, takes_h_mask=False))


BLIND = {"only its candidate": (OnlyCandidate, "rz"), "only its gates": (OnlyGates, "n")}
for kind, blind in BLIND.values():
    _without(kind, blind)

# name: the task, its tokens D and bits K
TASKS: dict[str, tuple[Draw, int, int]] = {
    "parity": (partial(parity_since, brk=0.0), 3, 1),
    "last_outside": (last_outside, 11, 3),
    "cups": (cups, 4, 5),
}
#: What a contender is trained on; those that learn a task do so at the first rate.
CONTENDERS = (("parity", "diagonal"), ("cups", "GRU"), ("parity", "only its candidate"))
FAILING = (("last_outside", "diagonal"), ("cups", "diagonal"), ("parity", "only its gates"))
TWO = tuple((task, "diagonal, two layers") for task in TASKS)
FROM_ZERO = tuple((task, "diagonal, from 0") for task in ("last_outside", "cups"))
RATE, LOWER = 0.03, 0.01


def layer(
    rng: np.random.Generator, D: int, H: int, *, cell: str, start: float = START, dtype: Any = np.float32
) -> Params:
    """Draw the layers of a contender. b_z begins at `start`, that of two layers and of those "from 0" at 0."""
    name, _, two = cell.partition(", two")
    if two:
        both = ((D, H), (H, H))
        return stack(*(layer(rng, d, h, cell=name, start=0.0, dtype=dtype) for d, h in both))
    name, from_zero, _ = name.partition(", from 0")
    if name == "GRU":
        p: Any = gru_init(rng, D, H, dtype=dtype)
    elif name == "diagonal":
        p = diaggru_init(rng, D, H, dtype=dtype)
    else:
        kind, blind = BLIND[name]
        p = kind(D, H, flat=diaggru_init(rng, D, H, dtype=dtype).flat, dtype=dtype)
        for gate in blind:
            getattr(p, f"u_{gate}")[:] = 0
    p.b_z[:] = 0.0 if from_zero else start
    return p


def network(rng: np.random.Generator, cell: str, D: int, K: int, H: int | None = None) -> Bundle:
    """Draw a reader as large as the GRU of `UNITS` units, or of H units."""

    def size(cell: str, H: int) -> int:
        return reader_init(np.random.default_rng(0), D, K, H, init=partial(layer, cell=cell)).size

    if H is None:
        H, most = 4, size("GRU", UNITS)
        while size(cell, H + 1) <= most:
            H += 1
    return reader_init(rng, D, K, H, init=partial(layer, cell=cell))


def trained(name: str, cell: str, lr: float, seed: int, H: int | None = None) -> tuple[Bundle, Row]:
    """Train until the task is solved, for at most `MOST` updates, two layers twice as many; and how it went."""
    draw, D, K = TASKS[name]
    rng = np.random.default_rng(seed)
    m = network(rng, cell, D, K, H)
    most = 2 * MOST if "two layers" in cell else MOST
    row = fit(m, rng, lambda rng, count: draw(rng, count, T), lr, most)
    return m, row | {"parameters": m.size}


def tasks(name: str, cell: str, lr: float, seed: int) -> Row:
    """How a training went, and the share of answers right."""
    m, row = trained(name, cell, lr, seed)
    return row | {"right": right(m, lambda rng, count: TASKS[name][0](rng, count, T))}


# ------------------------------------------------------------------------------------------------- rounds of Newton

#: Characters; whether guesses are cut; what is used of each Jacobian.
LANGUAGE = (
    *((128, cut, "all") for cut in (False, True)),
    *((4096, True, used) for used in ("all", "diagonal")),
    (512, True, "all"),
)
COUNTED = 800  # bits


def rounds_of(xs: Any, h0: Any, p: Params, *, tol: float = 1e-12, **options: Any) -> Row:
    """The rounds until no step is missed by more than `tol`, and whether they sufficed."""
    tape = newton_forward(xs, h0, p, strict=False, tol=tol, **options)[2]
    return {"rounds": tape.rounds, "converged": tape.converged}


def language(length: int, cut: bool, used: str, seed: int) -> Row:
    """Chapter 16's trained net reads the first characters of its validation text."""
    net = language_net()
    xs = net.embed.E[english().encode(english().validation)[:length]][:, None]
    return rounds_of(xs, None, net.rnn, cut=cut, diagonal=used == "diagonal")


def counters(seed: int) -> Row:
    """Rounds to 1e-6, from the guess 0, of a GRU trained on parity, on bits without a break."""
    rng = np.random.default_rng(seed)
    m = reader_init(rng, 3, 1, UNITS, dtype=np.float32)
    m.rnn.b_z[:] = START
    row = fit(m, rng, lambda rng, count: parity_since(rng, count, T), RATE, MOST)
    return counted(m, row)


def diagonal_counters(seed: int) -> Row:
    """The same of the diagonal GRU that "learned" trains on parity."""
    return counted(*trained("parity", "diagonal", RATE, seed))


def counted(m: Bundle, row: Row) -> Row:
    """Whether it was solved, and Newton's rounds of its recurrent part."""
    p, batch = m.rnn.astype(np.float64), parity_since(np.random.default_rng(5), 1, COUNTED, brk=0.0)
    even = cell_of(p).infer(np.eye(3)[[[2]]], None, p)[1]  # what a break leaves
    return {"solved": row["solved"]} | rounds_of(batch.xs, even, p, tol=1e-6)


def at(rate: float, settings: tuple[tuple[str, str], ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple((*what, rate) for what in settings)


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "counters": (counters, ((),), SEEDS),
    "diagonal counters": (diagonal_counters, ((),), SEEDS),
    "learned": (tasks, at(RATE, CONTENDERS), SEEDS),
    "failed": (tasks, at(RATE, FAILING), SEEDS),
    "two layers": (tasks, at(RATE, TWO), SEEDS),
    "failed, lower rate": (tasks, at(LOWER, FAILING[:2]), SEEDS[:3]),
    "failed, from 0": (tasks, at(RATE, FROM_ZERO), SEEDS[:3]),
    "language": (language, LANGUAGE, SEEDS[:1]),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
