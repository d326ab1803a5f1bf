"""Training runs of chapter 8 that take minutes, stored in three_stories.json. To rerun them:

``python tools/environment.py python -m experiments.three_stories [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into three_stories_own.json: a
page states only counts on which both agree. Every run has its own seed, so any of them can be repeated alone. float32.
"gates" and "stories" train each contender at the learning rate that their "… rates" chose on other seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.cells import ablated_gru_init
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.memory import TASKS, Batch, agreement
from gru_lib import Adam, Bundle, elman_init, gru_forward, gru_init, gru_step, sigmoid, train
from gru_lib.ops import orthogonal

STORED = file_for_kernels("three_stories")
SEEDS, TUNING_SEEDS = range(10 if fixed_kernels() else 3), range(100, 102)
H, N = 16, 32
RATES = (0.003, 0.01, 0.03)
SOLVED = 0.99  # training may stop, and a task counts as learned, once this share of 256 test answers is right

CELLS = ("GRU", "no_reset", "shared", "no_update", "Elman, orthogonal")
KEEPERS = ("GRU", "no_reset", "shared", "no_update, orthogonal", "Elman, orthogonal")
STORIES = ("parity_outside", "last_outside", "parity_since", "first_of_segment")
SPEAKERS = ("Elman, orthogonal", "GRU, b_z = 0", "GRU, b_z = 2")
DISTANCES = (10, 20, 40, 80)

Draw = Callable[[np.random.Generator, int], Batch]  # a task with its length: draw(rng, N)
Row = dict[str, Any]


def network(rng: np.random.Generator, cell: str, D: int, K: int, b_z: float = 0.0) -> Bundle:
    """Draw a reader with an Elman net, a GRU, or an ablated GRU; its update bias is `b_z`, or the one in the name.

    "orthogonal" is said of what meets the old state in the candidate: W_h of an Elman net, W_hn of a GRU. Where that is
    all that can keep, without an update gate, the reset gate starts at b_r = 4 and lets it through.
    """
    name, _, start = cell.partition(", ")
    init: Callable[..., Any] = gru_init
    if name == "Elman":
        init = partial(elman_init, init=start or "uniform")
    elif name != "GRU":
        init = partial(ablated_gru_init, ablation=name)
    m = reader_init(rng, D, K, H, init=init, dtype=np.float32)
    if start.startswith("b_z = "):
        b_z = float(start.removeprefix("b_z = "))
    if hasattr(m.rnn, "b_z"):
        m.rnn.b_z[:] = b_z
    if start == "orthogonal" and name != "Elman":
        m.rnn.W_hn[:] = orthogonal(rng, H)
    if cell == "no_update, orthogonal":
        m.rnn.b_r[:] = 4
    return m


def fit(m: Bundle, rng: np.random.Generator, draw: Draw, lr: float, most: int, *, least: int = 0) -> Row:
    """Train `m` on fresh batches until the task is solved, for at least and at most so many steps.

    Returns whether it was, the steps until it was first, looked at every 50, and the best share right at any check.
    """
    test = single(draw(np.random.default_rng(10_001), 256))

    def source() -> Iterator[Batch]:
        while True:
            yield single(draw(rng, N))

    history = train(
        m,
        reader_loss,
        source(),
        Adam(m, lr),
        steps=most,
        clip_norm=1.0,
        evaluate=lambda p: {"right": reader_accuracy(p, test).answers},
        every=50,
        stop=lambda history: history.steps >= least and max(history.curve("right")[1]) >= SOLVED,
        progress=False,
    )
    steps, shares = history.curve("right")
    solved = [k for k, share in zip(steps, shares, strict=True) if share >= SOLVED]
    return {"solved": bool(solved), "steps": solved[0] if solved else history.steps, "best": max(shares)}


def right(m: Bundle, draw: Draw, count: int = 512) -> float:
    """Share of answers right on held-out sequences."""
    return reader_accuracy(m, single(draw(np.random.default_rng(10_002), count))).answers


def single(batch: Batch) -> Batch:
    """The batch in float32."""
    return batch._replace(xs=batch.xs.astype(np.float32), ys=batch.ys.astype(np.float32))


def task(name: str, T: int) -> Draw:
    """A task of the library, T steps long."""
    return lambda rng, count: TASKS[name].draw(rng, count, T)


def ablated(cell: str, T: int, lr: float, seed: int) -> tuple[Bundle, Row]:
    """The checksum with b_z = 4 and ablated gates: the trained network, and how the training went."""
    rng = np.random.default_rng(seed)
    m = network(rng, cell, 16, 3, 4.0)
    return m, fit(m, rng, task("checksum", T), lr, 1000)


def gates(cell: str, T: int, lr: float, seed: int) -> Row:
    """`ablated`, and what the network can do."""
    m, row = ablated(cell, T, lr, seed)
    return row | {"right": right(m, task("checksum", T))}


def told(name: str, cell: str, lr: float, seed: int) -> tuple[Bundle, Row]:
    """Tokens to skip, breaks to start afresh at: T = 40, b_z = 0, 600 steps or more, until it is solved."""
    rng = np.random.default_rng(seed)
    m = network(rng, cell, TASKS[name].D, TASKS[name].K)
    return m, fit(m, rng, task(name, 40), lr, 4000, least=600)


def stories(name: str, cell: str, lr: float, seed: int) -> Row:
    """`told`, what the network can do, and what its gates do."""
    m, row = told(name, cell, lr, seed)
    row |= {"right": right(m, task(name, 40))}
    return row | look(m, name) if cell == "GRU" else row


def only_training(run: Callable[..., tuple[Bundle, Row]]) -> Callable[..., Row]:
    return lambda *what: run(*what)[1]


def look(m: Bundle, name: str) -> Row:
    """What the gates of a trained GRU do: how many are near 0 or 1, and what they do at a break."""
    batch = single(task(name, 40)(np.random.default_rng(10_003), 128))
    _, _, tape = gru_forward(batch.xs, None, m.rnn)
    row: Row = {}
    for gate in "rz":
        values = tape.gate(gate)
        row[gate] = (np.histogram(values, bins=10, range=(0, 1))[0] / values.size).round(4).tolist()
    if name in ("parity_since", "first_of_segment"):
        row |= at_break(m, name, batch.tokens, tape)
    return row


def at_break(m: Bundle, name: str, tokens: np.ndarray, tape: Any) -> Row:
    """The mean gates of each unit by what is read, and how much of a difference of two old states passes a break.

    "passed": each state meets the next sequence's, both read the same token, and their distance is taken before and
    after. It is told for the break, and for the other tokens together.
    """
    last = len(TASKS[name].symbols) - 1
    after = np.concatenate([np.zeros_like(tokens[:1]), tokens[:-1]]) == last
    kinds = {"|": tokens == last}
    if name == "parity_since":
        kinds |= {"0": tokens == 0, "1": tokens == 1}
    else:
        kinds |= {"first": (tokens != last) & after, "later": (tokens != last) & ~after}
    units = {
        gate: {
            kind: [float(unit) for unit in tape.gate(gate)[where].mean(axis=0).round(2)]
            for kind, where in kinds.items()
        }
        for gate in "rz"
    }
    old = tape.hs[10:-1].reshape(-1, H)  # (steps · sequences, H): states that have read something
    pairs, passed = (old, np.roll(old, 1, axis=0)), []
    for token in range(last + 1):
        x = np.eye(last + 1, dtype=old.dtype)[np.full(len(old), token)]
        new = [gru_step(x, h, m.rnn)[0] for h in pairs]
        passed.append(np.abs(new[0] - new[1]).mean() / np.abs(pairs[0] - pairs[1]).mean())
    return {"units": units, "passed": [float(passed[last]), float(np.mean(passed[:last]))]}


def cut(name: str, cell: str, lr: float, seed: int) -> Row:
    """`told` (GRU), and who must read the break: the share of right answers if some of its parts read something else.

    At every break the candidate, both gates, or nobody reads the mean of the other tokens instead: all answers, and
    those at breaks. Then the same with each other token in its place, in their order.
    """
    m, _ = told(name, cell, lr, seed)
    p, batch = m.rnn, single(task(name, 40)(np.random.default_rng(5), 400))
    last = TASKS[name].D - 1
    at_break = batch.tokens == last

    def shares(what: str, instead: np.ndarray) -> list[float]:
        h, right = np.zeros((400, p.H), np.float32), np.zeros(batch.tokens.shape, bool)
        for t, x in enumerate(batch.xs):
            other = np.where(at_break[t][:, None], instead, x)
            of_gates, of_n = (other if what == "gates" else x), (other if what == "candidate" else x)
            r = sigmoid(of_gates @ p.W_xr + h @ p.W_hr + p.b_r)
            z = sigmoid(of_gates @ p.W_xz + h @ p.W_hz + p.b_z)
            h = z * h + (1 - z) * np.tanh(of_n @ p.W_xn + (r * h) @ p.W_hn + p.b_n)
            right[t] = (((h @ m.out.W + m.out.b) > 0) == (batch.ys[t] > 0)).all(axis=1)
        return [float(right.mean()), float(right[at_break].mean())]

    tokens = np.eye(last + 1)[:last]
    rows: Row = {what: shares(what, tokens.mean(axis=0)) for what in ("nothing", "candidate", "gates")}
    return rows | {f"{what}, token": [shares(what, x) for x in tokens] for what in ("candidate", "gates")}


def pronoun(cell: str, lr: float, seed: int) -> Row:
    """Who is "he"? Trained at distances 1 to 10, tested at longer ones."""
    rng = np.random.default_rng(seed)
    m = network(rng, cell, 17, 3)
    row = fit(m, rng, lambda rng, count: agreement(rng, count, 14, distance=(1, 10)), lr, 2000, least=600)
    return row | {f"right at {d}": right(m, partial(agreement, T=d + 4, distance=d)) for d in DISTANCES}


def best_rate(rows: Iterable[list[Any]], *what: Any) -> float:
    """The rate with the best mean share in the rows of a tuning, to 0.01; fewest steps break ties."""
    found: dict[float, list[tuple[float, float]]] = {}
    for *setting, lr, _, row in rows:
        if setting == list(what):
            found.setdefault(lr, []).append((row["best"], -row["steps"]))

    def merit(lr: float) -> tuple[float, float]:
        share, speed = np.mean(found[lr], axis=0)
        return round(share, 2), speed

    return max(found, key=merit)


def tuned(part: str, run: Callable[..., Row]) -> Callable[..., Row]:
    """A run at the rate that the tuning of the part chose, on seeds of its own and with the fixed kernels."""

    def at_best_rate(*what: Any) -> Row:
        *setting, seed = what
        rows = json.loads((FOLDER / "three_stories.json").read_text("utf8"))[f"{part} rates"]
        lr = best_rate(rows, *setting[:-1], min(50, setting[-1])) if part == "gates" else best_rate(rows, *setting)
        return {"lr": lr} | run(*setting, lr, seed)

    return at_best_rate


def each_rate(*settings: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple((*setting, lr) for setting in settings for lr in RATES)


Part = tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]
ABLATED = (*((cell, T) for T in (5, 50) for cell in KEEPERS), ("GRU", 100), ("no_update, orthogonal", 100))
OTHER_STARTS = (("parity_outside", "no_update, orthogonal"), ("parity_outside", "Elman"))
TOLD = (*((name, cell) for name in STORIES for cell in CELLS), *OTHER_STARTS)
TUNING: dict[str, Part] = {
    "gates rates": (only_training(ablated), each_rate(*(what for what in ABLATED if what[-1] <= 50)), TUNING_SEEDS),
    "stories rates": (only_training(told), each_rate(*TOLD), TUNING_SEEDS),
}
PARTS: dict[str, Part] = (TUNING if fixed_kernels() else {}) | {
    "stories": (tuned("stories", stories), TOLD, SEEDS),
    "at the break": (tuned("stories", cut), (("parity_since", "GRU"), ("first_of_segment", "GRU")), SEEDS),
    "gates": (tuned("gates", gates), ABLATED, SEEDS),
    "pronoun": (pronoun, tuple((cell, lr) for cell in SPEAKERS for lr in RATES[1:]), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
