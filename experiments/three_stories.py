"""Training runs of chapter 8 that take minutes, stored in three_stories.json. To rerun them:

``python tools/environment.py python -m experiments.three_stories [--missing] [PART …]``

Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments._store import make_parts
from gru_lib import Adam, Bundle, elman_init, gru_forward, gru_init, train
from gru_lib.cells import ablated_gru_init
from gru_lib.models.reader import reader_accuracy, reader_init, reader_loss
from gru_lib.results import FOLDER
from gru_lib.tasks.memory import TASKS, Batch, agreement

STORED = FOLDER / "three_stories.json"
SEEDS = range(10)
H, N, LR = 16, 32, 0.01
SOLVED = 0.99  # a task counts as solved from this share of right answers

LENGTHS = (20, 50, 100, 200)
OPENING = {"Elman": 0.0, "Elman, orthogonal": 0.0} | {f"GRU, b_z = {b}": float(b) for b in (0, 2, 4, 6)}
CELLS = ("Elman", "GRU", "no_reset", "shared", "no_update")
STORIES = ("parity_outside", "last_outside", "parity_since", "first_of_segment")
DISTANCES = (10, 20, 40, 80)

Draw = Callable[[np.random.Generator, int], Batch]  # a task with its length: draw(rng, N)
Row = dict[str, Any]


def network(rng: np.random.Generator, cell: str, D: int, K: int, b_z: float) -> Bundle:
    """A reader with an Elman net, a GRU, or an ablated GRU, its update bias at `b_z`."""
    init: Callable[..., Any] = gru_init
    if cell.startswith("Elman"):
        init = partial(elman_init, init="orthogonal" if "orthogonal" in cell else "uniform")
    elif not cell.startswith("GRU"):
        init = partial(ablated_gru_init, ablation=cell)
    m = reader_init(rng, D, K, H, init=init, dtype=np.float32)
    if hasattr(m.rnn, "b_z"):
        m.rnn.b_z[:] = b_z
    return m


def fit(m: Bundle, rng: np.random.Generator, draw: Draw, steps: int, *, stop: bool) -> int:
    """Train `m` on fresh batches; return the number of steps. With `stop`, end once the task is solved."""
    test = single(draw(np.random.default_rng(10_001), 256))

    def source() -> Iterator[Batch]:
        while True:
            yield single(draw(rng, N))

    history = train(
        m,
        reader_loss,
        source(),
        Adam(m, LR),
        steps=steps,
        clip_norm=1.0,
        evaluate=(lambda p: {"right": reader_accuracy(p, test).answers}) if stop else None,
        every=50,
        stop=(lambda history: history.last("right") >= SOLVED) if stop else None,
        progress=False,
    )
    return history.steps


def right(m: Bundle, draw: Draw, count: int = 512) -> float:
    """Share of answers right on held-out sequences."""
    return reader_accuracy(m, single(draw(np.random.default_rng(10_002), count))).answers


def single(batch: Batch) -> Batch:
    """The batch in float32."""
    return batch._replace(xs=batch.xs.astype(np.float32), ys=batch.ys.astype(np.float32))


def task(name: str, T: int) -> Draw:
    """A task of the library, T steps long."""
    return lambda rng, count: TASKS[name].draw(rng, count, T)


def clamp(m: Bundle, gate: str, value: Any) -> Bundle:
    """Return a copy of a GRU reader with a gate held at a value: one number, or one for each unit."""
    m = m.copy()
    value = np.clip(np.broadcast_to(value, (m.rnn.H,)), 1e-9, 1 - 1e-9)
    for weights in (f"W_x{gate}", f"W_h{gate}"):
        getattr(m.rnn, weights)[:] = 0
    getattr(m.rnn, f"b_{gate}")[:] = np.log(value / (1 - value))
    return m


def opening(cell: str, T: int, seed: int) -> Row:
    """Which update bias lets a net learn to keep the first token, at length T."""
    rng, draw = np.random.default_rng(seed), task("checksum", T)
    m = network(rng, cell, 16, 3, OPENING[cell])
    steps = fit(m, rng, draw, 600, stop=True)
    return {"steps": steps, "right": right(m, draw), "longer": right(m, task("checksum", 4 * T), 128)}


def gates(cell: str, T: int, seed: int) -> Row:
    """The checksum with b_z = 4 and ablated gates."""
    rng, draw = np.random.default_rng(seed), task("checksum", T)
    m = network(rng, cell, 16, 3, 4.0)
    steps = fit(m, rng, draw, 600, stop=True)
    row = {"steps": steps, "right": right(m, draw)}
    return row | look(m, draw) if cell == "GRU" else row


def stories(name: str, cell: str, seed: int) -> Row:
    """Tokens to skip, breaks to start afresh at: T = 40, b_z = 0, without early stopping."""
    rng, draw = np.random.default_rng(seed), task(name, 40)
    m = network(rng, cell, TASKS[name].D, TASKS[name].K, 0.0)
    steps = fit(m, rng, draw, 600, stop=False)
    row = {"steps": steps, "right": right(m, draw), "longer": right(m, task(name, 400), 64)}
    return row | look(m, draw, name) if cell == "GRU" else row


def look(m: Bundle, draw: Draw, name: str = "") -> Row:
    """What the gates of a trained GRU do, and how many answers stay right when one of them is held constant."""
    batch = single(draw(np.random.default_rng(10_003), 128))
    tape = gru_forward(batch.xs, None, m.rnn)[2]
    r, z = tape.gate("r"), tape.gate("z")
    mean = {gate: tape.gate(gate).mean(axis=(0, 1)) for gate in "rz"}
    held = {"r = 1": ("r", 1), "r = mean": ("r", mean["r"]), "z = mean": ("z", mean["z"])}
    row: Row = {"held": {what: right(clamp(m, gate, value), draw) for what, (gate, value) in held.items()}}
    for gate, values in (("r", r), ("z", z)):
        row[gate] = (np.histogram(values, bins=10, range=(0, 1))[0] / values.size).round(4).tolist()
    if name in ("parity_since", "first_of_segment"):
        at_break = batch.tokens == len(TASKS[name].symbols) - 1
        row["break"] = {
            gate: [float(values[where].mean()) for where in (at_break, ~at_break)]
            + [float((values[where] < 0.1).mean()) for where in (at_break, ~at_break)]
            for gate, values in (("r", r), ("z", z))
        }
    return row


def same_alphabet(cell: str, seed: int) -> Row:
    """The first token among others of its kind: trained at 50 steps, tested at 50, 100 and 200."""
    rng, draw = np.random.default_rng(seed), task("first_token", 50)
    m = network(rng, cell, 8, 3, OPENING[cell])
    steps = fit(m, rng, draw, 1000, stop=True)
    return {"steps": steps} | {f"right at {T}": right(m, task("first_token", T)) for T in (50, 100, 200)}


def pronoun(cell: str, seed: int) -> Row:
    """Who is "he"? Trained at distances 1 to 10, tested at longer ones."""
    rng = np.random.default_rng(seed)
    m = network(rng, cell, 17, 3, OPENING.get(cell, 0.0))
    steps = fit(m, rng, lambda rng, count: agreement(rng, count, 14, distance=(1, 10)), 600, stop=False)
    away = {f"right at {d}": right(m, partial(agreement, T=d + 4, distance=d)) for d in DISTANCES}
    return {"steps": steps} | away


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...]]] = {
    "opening": (opening, tuple((cell, T) for T in LENGTHS for cell in OPENING)),
    "gates": (gates, tuple((cell, T) for T in (5, 100) for cell in CELLS[1:])),
    "stories": (stories, tuple((name, cell) for name in STORIES for cell in CELLS)),
    "same_alphabet": (same_alphabet, tuple((cell,) for cell in ("Elman", "Elman, orthogonal", "GRU, b_z = 4"))),
    "pronoun": (pronoun, tuple((cell,) for cell in ("Elman", "Elman, orthogonal", "GRU, b_z = 0", "GRU, b_z = 2"))),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, {part: (*made, SEEDS) for part, made in PARTS.items()}, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
