"""Training runs of chapter 21, stored in without_loop.json: gates that see the input alone, beside the GRU.

``python tools/environment.py python -m experiments.without_loop [--missing] [PART …]``

With ``KERNELS=own`` before it, three seeds of "tasks", all ten of what some of them solve, and one of "recall" and of
"told" have this processor's own kernels, and go into without_loop_own.json. "tasks" trains every contender at the
learning rate that "tasks rates" chose for it, on other seeds; "recall" at that of "recall rates". All contenders of
"tasks" have about as many parameters as its GRU. float32.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from experiments.three_stories import best_rate, each_rate, fit, right, single
from gru_book.cells import deltanet_init, mingru_init
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.memory import Batch, checksum, last_outside, parity_outside, parity_since
from gru_book.tasks.strings import recall
from gru_lib import Adam, Bundle, Params, bundle, cell_of, gru_init, linear_init, stack, train

STORED = file_for_kernels("without_loop")
SEEDS, TUNING_SEEDS = range(10), range(100, 101)
T, MOST = 40, 2000  # steps of a sequence; of the longest training
UNITS = 16  # of the GRU; the others get about as many parameters
START = 2.0  # bias of z, of every contender
RATES = (0.003, 0.01, 0.03)

# name: gate and layers; a GRU has its own
CELLS = {
    "GRU": ("", 1),
    "minGRU": ("sigmoid", 1),
    "minGRU, two layers": ("sigmoid", 2),
    "minGRU, z in (−1, 1)": ("tanh", 1),
    "minGRU, z in (−1, 1), two layers": ("tanh", 2),
}
Draw = Callable[[np.random.Generator, int, int], Batch]  # draw(rng, N, T)
# name: the task, its tokens D and bits K
TASKS: dict[str, tuple[Draw, int, int]] = {
    "checksum": (checksum, 16, 3),
    "parity": (partial(parity_since, brk=0.0), 3, 1),
    "parity_outside": (parity_outside, 4, 1),
    "last_outside": (last_outside, 11, 3),
}

Row = dict[str, Any]


def layers(rng: np.random.Generator, D: int, H: int, *, cell: str, dtype: Any = np.float32) -> Params:
    """Draw the layers of a contender, every z starting from the same bias."""
    gate, count = CELLS[cell]
    if not gate:
        p: Any = gru_init(rng, D, H, dtype=dtype)
        p.b_z[:] = START
        return p
    stacked = [mingru_init(rng, D if k == 0 else H, H, gate=gate, dtype=dtype) for k in range(count)]
    for layer in stacked:
        layer.b_z[:] = START
    return stacked[0] if count == 1 else stack(*stacked)


def network(rng: np.random.Generator, cell: str, D: int, K: int) -> Bundle:
    """Draw a reader as large as the GRU of `UNITS` units: the most units with which it is no larger."""

    def size(cell: str, H: int) -> int:
        return reader_init(np.random.default_rng(0), D, K, H, init=partial(layers, cell=cell)).size

    H, most = UNITS, size("GRU", UNITS)
    while size(cell, H + 1) <= most:
        H += 1
    return reader_init(rng, D, K, H, init=partial(layers, cell=cell))


def trained(name: str, cell: str, lr: float, seed: int) -> tuple[Bundle, Row]:
    """Train until the task is solved, for 600 to 2,000 steps; the network, and how it went."""
    draw, D, K = TASKS[name]
    rng = np.random.default_rng(seed)
    m = network(rng, cell, D, K)
    row = fit(m, rng, lambda rng, count: draw(rng, count, T), lr, MOST, least=600)
    return m, row | {"parameters": m.size}


def rates(name: str, cell: str, lr: float, seed: int) -> Row:
    """How a training went: to choose the learning rate by."""
    return trained(name, cell, lr, seed)[1]


def tasks(name: str, cell: str, seed: int) -> Row:
    """A training at the chosen rate, and the share of answers right."""
    lr = best_rate(_fixed("tasks rates"), name, cell)
    m, row = trained(name, cell, lr, seed)
    draw = TASKS[name][0]
    return {"lr": lr} | row | {"right": right(m, lambda rng, count: draw(rng, count, T))}


#: A single layer that is told at each step whether it is inside a bracket, or a bit that says nothing.
TOLD = tuple(
    (name, cell, bit)
    for name, cell in (("last_outside", "minGRU"), ("parity_outside", "minGRU, z in (−1, 1)"))
    for bit in ("inside",)
)
SAME = tuple((name, cell, "random") for name, cell, _ in TOLD)


def told(name: str, cell: str, bit: str, seed: int) -> Row:
    """`tasks` with one more input: whether a bracket is open, or a random bit in its place."""
    plain, D, K = TASKS[name]

    def draw(rng: np.random.Generator, N: int, T: int) -> Batch:
        batch = plain(rng, N, T)
        opened, closed = (np.where(batch.tokens == mark, np.arange(T)[:, None], -1) for mark in MARKS[name])
        inside = np.maximum.accumulate(opened) > np.maximum.accumulate(closed)
        more = inside if bit == "inside" else rng.integers(0, 2, inside.shape)
        return batch._replace(xs=np.concatenate([batch.xs, more[..., None]], axis=2))

    rng = np.random.default_rng(seed)
    m = network(rng, cell, D + 1, K)
    lr = best_rate(_fixed("tasks rates"), name, cell)
    row = fit(m, rng, lambda rng, count: draw(rng, count, T), lr, MOST, least=600)
    return {"lr": lr} | row | {"right": right(m, lambda rng, count: draw(rng, count, T))}


MARKS = {"last_outside": (8, 9), "parity_outside": (2, 3)}  # the tokens that open and close


def _fixed(part: str) -> list[Any]:
    return json.loads((FOLDER / "without_loop.json").read_text("utf8"))[part]


# ------------------------------------------------------------------------------------------------- recall by content

#: Rows of the matrix, of 4 numbers each, and the rule; or units, of which a GRU's 64 are as many numbers as 16 rows.
MEMORIES = {
    "GRU": (64, ""),
    "GRU, 128 units": (128, ""),
    "DeltaNet": (16, "delta"),
    "linear attention": (16, "add"),
    "linear attention, 8 rows": (8, "add"),
}
PAIRS, RECALL_STEPS = 6, 4000  # the most pairs in training, and its steps, as for the GRU of chapter 13
RECALL_RATES = (0.003, 0.01, 0.03, 0.1)
LISTS = (PAIRS, 16)  # the first is the longest of training


def twice(rng: np.random.Generator, N: int, L: int) -> Any:
    """Recall in which each key comes twice before it is asked for, with two values; the second counts."""
    first, again = recall(rng, N, L), rng.permuted(np.tile(np.arange(L), (N, 1)), axis=1).T[..., None]
    B = first.ys.shape[-1]
    second = np.take_along_axis(first.xs[:L], again, axis=0)
    second[..., B : 2 * B] = 2 * rng.integers(0, 2, (L, N, B)) - 1
    place = np.take_along_axis(first.tokens[:L], again[..., 0], axis=0)[:, None] == first.tokens[None, L:]
    values = np.take_along_axis(second[..., B : 2 * B], place.argmax(axis=0)[..., None], axis=0)
    ys = np.concatenate([np.zeros((2 * L, N, B)), (values + 1) / 2])
    asked = np.concatenate([np.zeros((L, N), bool), first.asked])
    tokens = np.concatenate([first.tokens[:L], np.take_along_axis(first.tokens[:L], again[..., 0], axis=0)])
    tokens = np.concatenate([tokens, first.tokens[L:]])
    return first._replace(xs=np.concatenate([first.xs[:L], second, first.xs[L:]]), ys=ys, asked=asked, tokens=tokens)


def pairs(task: str, rng: np.random.Generator, N: int, L: int) -> Any:
    """A batch of `recall`, or with each key given twice."""
    return single((twice if task == "twice" else recall)(rng, N, L))


def remember(task: str, cell: str, lr: float, seed: int) -> Row:
    """Train on 1 to 6 pairs for as many steps as the GRU of chapter 13, and test on up to 16."""
    rng, (K, rule) = np.random.default_rng(seed), MEMORIES[cell]
    rnn: Any = gru_init(rng, 9, K, dtype=np.float32)
    if rule:
        rnn = deltanet_init(rng, 9, 4, K=K, rule=rule, dtype=np.float32)
    m = bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), 4, dtype=np.float32))
    source = (pairs(task, rng, 32, int(rng.integers(1, PAIRS + 1))) for _ in iter(int, 1))
    train(m, reader_loss, source, Adam(m, lr), steps=RECALL_STEPS, clip_norm=1.0, progress=False)
    test = {L: pairs(task, np.random.default_rng(10_002), 200, L) for L in LISTS}
    return {"size": m.size} | {str(L): float(reader_accuracy(m, batch).answers) for L, batch in test.items()}


def remember_tuned(task: str, cell: str, seed: int) -> Row:
    """`remember` at the rate that was best with another seed on lists as in training; the lower rate breaks ties."""
    rows = [row for row in _fixed("recall rates") if row[:2] == [task, cell]]
    lr = max(rows, key=lambda row: (round(row[-1][str(PAIRS)], 2), -row[2]))[2]
    return {"lr": lr} | remember(task, cell, lr, seed)


MATRICES = ("GRU", "DeltaNet", "linear attention")
RECALLS = tuple((task, cell) for task in ("recall", "twice") for cell in MATRICES)
CONTROLS = tuple(("recall", cell) for cell in MEMORIES if cell not in MATRICES)
SETTINGS = tuple((name, cell) for name in TASKS for cell in CELLS)
#: Those that some seeds solve.
LEARNED = tuple(
    (name, cell)
    for name, cells in {
        "checksum": tuple(CELLS),
        "parity": ("GRU", "minGRU, z in (−1, 1)", "minGRU, z in (−1, 1), two layers"),
        "parity_outside": ("GRU", "minGRU, z in (−1, 1), two layers"),
        "last_outside": ("GRU", "minGRU, two layers", "minGRU, z in (−1, 1), two layers"),
    }.items()
    for cell in cells
)
Part = tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]
TUNING: dict[str, Part] = {
    "tasks rates": (rates, each_rate(*SETTINGS), TUNING_SEEDS),
    "recall rates": (remember, tuple((*what, lr) for what in RECALLS + CONTROLS for lr in RECALL_RATES), TUNING_SEEDS),
}
PARTS: dict[str, Part] = {
    "tasks": (tasks, SETTINGS, SEEDS),
    "recall": (remember_tuned, RECALLS, SEEDS[:5]),
    "recall, more seeds": (remember_tuned, tuple(("recall", cell) for cell in MATRICES[1:]), SEEDS[5:]),
    "recall controls": (remember_tuned, CONTROLS, SEEDS[:5]),
    "told": (told, TOLD, SEEDS),
    "told nothing": (told, SAME, SEEDS[:3]),
}
if fixed_kernels():
    PARTS = TUNING | PARTS
else:
    PARTS["tasks"] = (tasks, SETTINGS, SEEDS[:3])
    PARTS["tasks, more seeds"] = (tasks, LEARNED, SEEDS[3:])
    PARTS["recall"] = (remember_tuned, RECALLS, SEEDS[:1])
    PARTS["told"] = (told, TOLD, SEEDS[:1])
    for only_fixed in ("told nothing", "recall, more seeds", "recall controls"):
        del PARTS[only_fixed]


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
