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
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.tasks.memory import TASKS
from gru_lib import Adam, Bundle, bundle, clip_by_global_norm, elman_init, gru_init, lstm_init, train
from gru_lib.cells.registry import cell_of
from gru_lib.ops import linear_backward, linear_forward, orthogonal

STORED = file_for_kernels("lstm_memory")
SEEDS = range(10 if fixed_kernels() else 3)
N, STEPS, LONGER, LR = 32, 600, 1000, 0.01

#: How a cell is initialised, for two tasks: keep the first token, and count outside brackets. Biases not set are 0; as
#: chapter 9 does with a GRU.
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
    cell, biases = (TWO_TASKS | RESIZED)[start]
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
    """Keep the first token for T steps, in 600 steps of training at most."""
    return run("checksum", T, start, lr, seed)


def keep(start: str, lr: float, seed: int) -> Row:
    """Keep the first token over forty, in a thousand steps at most."""
    return run("checksum", 40, start, lr, seed, LONGER)


def rewrite(start: str, lr: float, seed: int) -> Row:
    """The parity of the 1s outside brackets, over forty tokens, in a thousand steps at most."""
    return run("parity_outside", 40, start, lr, seed, LONGER)


# ------------------------------------------------------------------------------------- what the output gate is for

NOTES, NOTE_STEPS, NOTE_TRAINING = 3, 12, 1500
#: Cells, and their units: an LSTM with a unit for each note; without its output gate, as many units and, at least, as
#: many parameters; a GRU with as many parameters; and the first two with room.
SHOWN = (("LSTM", 3), ("LSTM, o = 1", 3), ("LSTM, o = 1", 4), ("GRU", 4), ("LSTM", 5), ("LSTM, o = 1", 6))
NOTE_RATES = (0.03, 0.1)


def notes(rng: np.random.Generator, count: int) -> tuple[Any, Any, Any, Any]:
    """Write a number to one of three notes, or ask for one: say that note at once, and 0 where nothing is asked.

    xs (T, N, 7): which note is written, which is asked for, the number; ys (T, N, 1); asked (T, N), -1 where nothing
    is; and what the notes hold, (T, N, 3).
    """
    T, K, n = NOTE_STEPS, NOTES, np.arange(count)
    act, which = rng.random((T, count)), rng.integers(0, K, (T, count))
    number = rng.uniform(-0.8, 0.8, (T, count))
    writes, asks = act < 0.4, act > 0.6
    xs, ys = np.zeros((T, count, 2 * K + 1), np.float32), np.zeros((T, count, 1), np.float32)
    held = np.zeros((T, count, K))
    now = np.zeros((count, K))
    for t in range(T):
        w, a, k = writes[t], asks[t], which[t]
        now[n[w], k[w]] = number[t, w]
        xs[t, n[w], k[w]], xs[t, n[w], 2 * K] = 1, number[t, w]
        xs[t, n[a], K + k[a]], ys[t, n[a], 0] = 1, now[n[a], k[a]]
        held[t] = now
    return xs, ys, np.where(asks, which, -1), held


def show(cell: str, H: int, lr: float, seed: int) -> Row:
    """Train on notes, at a rate that falls to 0: the mean squared error as a share of the mean square of the answers.

    All start with b_f = 1 and b_i = -1, or b_z = 1. "o = 1": b_o = 40, no weights, and no gradient for these. Of an
    LSTM with its gate also the mean o when a note is asked for, of the unit that holds it and of the others.
    """
    rng, D = np.random.default_rng(seed), 2 * NOTES + 1
    m = reader_init(rng, D, 1, H, init=gru_init if cell == "GRU" else lstm_init, dtype=np.float32)
    fixed = cell == "LSTM, o = 1"
    if cell == "GRU":
        m.rnn.b_z[:] = 1
    else:
        m.rnn.b_f[:], m.rnn.b_i[:] = 1, -1
    if fixed:
        m.rnn.W_xo[:], m.rnn.W_ho[:], m.rnn.b_o[:] = 0, 0, 40
    run, adam = cell_of(m.rnn), Adam(m, lr)
    for step in range(NOTE_TRAINING):
        adam.lr = lr * (1 - step / NOTE_TRAINING)
        xs, ys, _, _ = notes(rng, N)
        hs, _, tape = run.forward(xs, None, m.rnn)
        said, cache = linear_forward(hs, m.out)
        dhs, dout = linear_backward(2 / said.size * (said - ys), cache, m.out)
        grads = bundle(rnn=run.backward(dhs, None, tape, m.rnn)[2], out=dout)
        if fixed:
            grads.rnn.W_xo[:], grads.rnn.W_ho[:], grads.rnn.b_o[:] = 0, 0, 0
        clip_by_global_norm(grads, 1.0)
        adam.step(grads)
    xs, ys, asked, held = notes(np.random.default_rng(10_002), 1000)
    hs, _, tape = run.forward(xs, None, m.rnn)
    off = linear_forward(hs, m.out)[0] - ys
    row: Row = {"size": m.size - (H * (D + H + 1) if fixed else 0), "left": float((off**2).mean() / (ys**2).mean())}
    if cell == "LSTM":
        c, o = tape.gate("c"), tape.gate("o")
        fits = np.corrcoef(c.reshape(-1, H).T, held.reshape(-1, NOTES).T)[:H, H:]
        holder = np.abs(fits).argmax(axis=0)[asked]  # (T, N): the unit of the note that is asked for
        own = np.arange(H) == holder[..., None]
        there = asked[..., None] >= 0
        row |= {"o of the asked": float(o[own & there].mean()), "o of others": float(o[~own & there].mean())}
    return row


Settings = tuple[tuple[Any, ...], ...]
PARTS: dict[str, tuple[Callable[..., Row], Settings, range]] = {
    f"T = {T}": (opening, ((T, "LSTM, b_f = 1", LR),), SEEDS) for T in (10, 20)
}
BOTH = tuple((start, lr) for start in TWO_TASKS for lr in RATES)
PARTS["resized"] = keep, tuple((start, LR) for start in RESIZED), SEEDS
PARTS |= {"keep": (keep, BOTH, SEEDS), "rewrite": (rewrite, BOTH, SEEDS[:5])}


PARTS["notes"] = show, tuple((*cell, lr) for cell in SHOWN for lr in NOTE_RATES), SEEDS


def main(arguments: list[str]) -> None:
    """Run the named parts, or all; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
