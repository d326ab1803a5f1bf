"""Training runs of chapter 12 that take minutes, stored in lstm_memory.json. To rerun them:

``python tools/environment.py python -m experiments.lstm_memory [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into lstm_memory_own.json: a
page states only counts on which both agree. Every run has its own seed, so any of them can be repeated alone. float32.
Cells are compared at equal numbers of parameters: `sizes` picks the units.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from experiments.three_stories import SOLVED, Draw, Row, right, single, task
from gru_lib import Adam, Bundle, elman_init, gru_init, lstm_init, train
from gru_lib.models.reader import reader_accuracy, reader_init, reader_loss
from gru_lib.ops import orthogonal
from gru_lib.tasks.memory import TASKS

STORED = file_for_kernels("lstm_memory")
SEEDS = range(10 if fixed_kernels() else 3)
N, STEPS, LONGER, LR = 32, 600, 1000, 0.01

#: How a cell is initialised: the biases that are set; the others are 0.
STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "LSTM, b_f = 0": ("LSTM", {"b_f": 0}),
    "LSTM, b_f = 1": ("LSTM", {"b_f": 1}),
    "LSTM, b_f = 2": ("LSTM", {"b_f": 2}),
    "LSTM, b_f = 4": ("LSTM", {"b_f": 4}),
    "LSTM, b_f = 2, b_i = -2": ("LSTM", {"b_f": 2, "b_i": -2}),
    "LSTM, b_f = 4, b_i = -4": ("LSTM", {"b_f": 4, "b_i": -4}),
    "LSTM, b_f = 1, b_o = 4": ("LSTM", {"b_f": 1, "b_o": 4}),
    "GRU, b_z = 0": ("GRU", {"b_z": 0}),
    "GRU, b_z = 2": ("GRU", {"b_z": 2}),
    "GRU, b_z = 4": ("GRU", {"b_z": 4}),
    "Elman, orthogonal": ("Elman", {}),
}
#: The same with an orthogonal matrix where the candidate meets the old state, as the Elman net's W_h.
ORTHOGONAL = {
    "LSTM, b_f = 1, orthogonal": ("LSTM", {"b_f": 1}),
    "LSTM, b_f = 4, b_i = -4, orthogonal": ("LSTM", {"b_f": 4, "b_i": -4}),
    "GRU, b_z = 0, orthogonal": ("GRU", {"b_z": 0}),
    "GRU, b_z = 4, orthogonal": ("GRU", {"b_z": 4}),
}
#: The two tasks: keep the first token, and count outside brackets. As chapter 9 does with a GRU.
FAR = float(np.log(39))
TWO_TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "LSTM, b_f = 0": ("LSTM", {"b_f": 0}),
    "LSTM, b_f = 1": ("LSTM", {"b_f": 1}),
    "LSTM, Keras": ("LSTM", {"b_f": 1}),
    "LSTM, b_f = 1, orthogonal": ("LSTM", {"b_f": 1}),
    "LSTM, b_f = 1, b_o = 4": ("LSTM", {"b_f": 1, "b_o": 4}),
    "LSTM, b_f = 1, b_o = 4, orthogonal": ("LSTM", {"b_f": 1, "b_o": 4}),
    "LSTM, b_f = ln 39": ("LSTM", {"b_f": FAR}),
    "LSTM, b_f = ln 39, b_i = -ln 39": ("LSTM", {"b_f": FAR, "b_i": -FAR}),
    "LSTM, spread": ("LSTM", {}),
    "GRU, b_z = 0": ("GRU", {"b_z": 0}),
    "GRU, b_z = ln 39": ("GRU", {"b_z": FAR}),
    "GRU, b_r = 4, orthogonal": ("GRU", {"b_r": 4}),
    "Elman, orthogonal": ("Elman", {}),
}
#: Whether it is that the matrix is orthogonal, or how large it is: the drawn one made as large, and that made as small;
#: and Keras's start with an orthogonal matrix of its own in that block.
RESIZED: dict[str, tuple[str, dict[str, Any]]] = {
    "LSTM, b_f = 1, larger": ("LSTM", {"b_f": 1}),
    "LSTM, b_f = 1, smaller, orthogonal": ("LSTM", {"b_f": 1}),
    "LSTM, Keras, orthogonal": ("LSTM", {"b_f": 1}),
}
LENGTHS = (10, 20, 40)
RATES = (0.003, 0.01, 0.03)


def size(cell: str, H: int, D: int, K: int) -> int:
    """Number of parameters of a reader: the cell's and the output layer's."""
    blocks = {"Elman": 1, "GRU": 3, "LSTM": 4}[cell]
    return blocks * (D * H + H * H + H) + K * (H + 1)


def sizes(D: int, K: int) -> dict[str, int]:
    """Units of each cell: a GRU of 24 to 28 units, and the LSTM and Elman net closest to its number of parameters."""

    def nearest(cell: str, wanted: int) -> int:
        return min(range(10, 80), key=lambda H: abs(size(cell, H, D, K) - wanted))

    def off(H: int) -> int:
        return abs(size("LSTM", nearest("LSTM", size("GRU", H, D, K)), D, K) - size("GRU", H, D, K))

    H = min(range(24, 29), key=off)
    return {"GRU": H} | {cell: nearest(cell, size("GRU", H, D, K)) for cell in ("LSTM", "Elman")}


def network(rng: np.random.Generator, start: str, D: int, K: int) -> Bundle:
    """Draw a reader with the cell and the biases of a start, as large as `sizes` says."""
    cell, biases = (STARTS | ORTHOGONAL | TWO_TASKS | RESIZED)[start]
    init = {"GRU": gru_init, "LSTM": lstm_init, "Elman": partial(elman_init, init="orthogonal")}[cell]
    m = reader_init(rng, D, K, sizes(D, K)[cell], init=init, dtype=np.float32)
    for name, value in biases.items():
        getattr(m.rnn, name)[:] = value
    if start.startswith("LSTM, Keras"):
        as_keras(rng, m.rnn)
    if cell != "Elman" and start.endswith("orthogonal"):
        W = m.rnn.W_hn if cell == "GRU" else m.rnn.W_hg
        W[:] = orthogonal(rng, m.rnn.H) / (np.sqrt(3) if "smaller" in start else 1)
    if "larger" in start:
        m.rnn.W_hg[:] *= np.sqrt(3)  # uniform in ±1/√H, it has a third of an orthogonal matrix's mean square
    if start == "LSTM, spread":  # chrono: for each unit a distance up to T
        m.rnn.b_f[:] = np.log(rng.uniform(1, 39, m.rnn.H))
        m.rnn.b_i[:] = -m.rnn.b_f
    return m


def as_keras(rng: np.random.Generator, p: Any) -> None:
    """Keras's weights: all of W_h, (H, 4H), has orthonormal rows, and W_x is Glorot's."""
    p.W_h[:] = orthogonal(rng, 4 * p.H)[: p.H]
    limit = np.sqrt(6 / (p.D + 4 * p.H))
    p.W_x[:] = rng.uniform(-limit, limit, p.W_x.shape)


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
    m = network(rng, start, TASKS[name].D, TASKS[name].K)
    return {"steps": fit(m, rng, draw, lr, steps), "right": right(m, draw), "size": m.size}


def opening(T: int, start: str, lr: float, seed: int) -> Row:
    """Which initialisation lets a cell learn to keep the first token for T steps."""
    return run("checksum", T, start, lr, seed)


def keep(start: str, lr: float, seed: int) -> Row:
    """Keep the first token over forty, in a thousand steps at most."""
    return run("checksum", 40, start, lr, seed, LONGER)


def rewrite(start: str, lr: float, seed: int) -> Row:
    """The parity of the 1s outside brackets, over forty tokens, in a thousand steps at most."""
    return run("parity_outside", 40, start, lr, seed, LONGER)


Settings = tuple[tuple[Any, ...], ...]
PARTS: dict[str, tuple[Callable[..., Row], Settings, range]] = {
    f"T = {T}": (opening, tuple((T, start, LR) for start in STARTS), SEEDS) for T in LENGTHS
}
PARTS["rates"] = opening, tuple((40, start, lr) for lr in RATES if lr != LR for start in STARTS), SEEDS
PARTS["orthogonal"] = opening, tuple((40, start, lr) for lr in RATES for start in ORTHOGONAL), SEEDS
BOTH = tuple((start, lr) for start in TWO_TASKS for lr in RATES)
PARTS["resized"] = keep, tuple((start, LR) for start in RESIZED), SEEDS
PARTS |= {"keep": (keep, BOTH, SEEDS), "rewrite": (rewrite, BOTH, SEEDS[:5])}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
