"""Training runs of chapter 3: the single gate and an Elman net on its tasks, stored in gates.json. To rerun them:

``python tools/environment.py python -m experiments.gates [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into gates_own.json. "cells"
are the chapter's own trainings. "tuning" chooses an Elman net's start of W_h and rate for the longer ones, on another
seed and other sequences; the gate has the chapter's rate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import digits, file_for_kernels, fixed_kernels, load, make_parts
from gru_lib import (
    Adam,
    Bundle,
    bundle,
    elman_backward,
    elman_forward,
    elman_init,
    linear_backward,
    linear_forward,
    linear_init,
    train,
)
from gru_lib.gates import (
    convex_update,
    convex_update_backward,
    hard_gate,
    hard_gate_backward,
    soft_gate,
    soft_gate_backward,
)
from gru_lib.ops import LinearParams
from gru_lib.results import FOLDER
from gru_lib.tasks import hold

STORED = file_for_kernels("gates")
SEEDS = range(10 if fixed_kernels() else 3)
T, N, LONG = 20, 32, 200
STEPS = (2000, 8000)  # tuned after the most
GATE_RATE = 0.1
TASKS = {"hold": hold.hold, "drift": hold.drift}
UNITS = (1, 4, 16)
STARTS = ("uniform", "orthogonal")
RATES = (0.003, 0.01, 0.03, 0.1)

WAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "constant": (soft_gate, soft_gate_backward),
    "hard, straight-through": (hard_gate, partial(hard_gate_backward, straight_through=True)),
    "soft": (soft_gate, soft_gate_backward),
}

Row = dict[str, Any]
Loss = Callable[..., tuple[Any, Any]]


def squared(said: Any, ys: Any) -> tuple[Any, Any]:
    """The chapter's loss, the mean squared error over the second half of the steps, and its gradient in `said`."""
    off, half = said - ys, len(ys) // 2
    off[:half] = 0
    return (off * off).sum() / off[half:].size, 2 * off / off[half:].size


def elman_loss(m: Bundle, batch: hold.Batch) -> tuple[Any, Bundle]:
    """An Elman net with a linear readout."""
    hs, _, tape = elman_forward(batch.xs, None, m.rnn)
    said, cache = linear_forward(hs, m.out)
    loss, dsaid = squared(said, batch.ys)
    dhs, dout = linear_backward(dsaid, cache, m.out)
    _, _, drnn = elman_backward(dhs, None, tape, m.rnn)
    return loss, bundle(rnn=drnn, out=dout)


def cell_loss(way: str) -> Loss:
    """The loss of the chapter's memory cell: one gate, set by the number, the mark and the memory."""
    gate, gate_backward = WAYS[way]

    def function(p: LinearParams, batch: hold.Batch) -> tuple[Any, LinearParams]:
        h, hs, caches = np.zeros_like(batch.xs[0, :, :1]), [], []
        for x in batch.xs:
            a, seen = linear_forward(np.concatenate([x, h], axis=1), p)
            g, bent = gate(a)
            h, mixed = convex_update(g, x[:, :1], h)
            hs.append(h)
            caches.append((seen, bent, mixed))
        loss, dhs = squared(np.array(hs), batch.ys)
        grads, dh = p.zeros_like(), np.zeros_like(dhs[0])
        for dh_t, (seen, bent, mixed) in zip(dhs[::-1], caches[::-1], strict=True):
            dg, _, dh = convex_update_backward(dh + dh_t, mixed)
            dxh, step = linear_backward(gate_backward(dg, bent), seen, p)
            grads.flat[:] += step.flat
            dh = dh + dxh[:, 2:]
        if way == "constant":
            grads.W[:] = 0
        return loss, grads

    return function


gate_loss = cell_loss("soft")


def cells(task: str, way: str, N: int, steps: int, seed: int) -> list[float]:
    """Train a cell as in the chapter. Returns its four parameters."""
    rng = np.random.default_rng(seed)
    p = linear_init(rng, 3, 1)
    if way == "constant":
        p.W[:] = 0
    batches = (TASKS[task](rng, N, T) for _ in range(steps))
    train(p, cell_loss(way), batches, Adam(p, GATE_RATE), steps=steps, clip_norm=1.0, progress=False)
    return p.flat.tolist()


def fit(p: Any, loss: Loss, task: str, rate: float, steps: int, rng: np.random.Generator) -> Any:
    """Train `p` as in the chapter, but for more steps, and with a rate that falls to 0 in the second half of them."""
    train(
        p,
        loss,
        (TASKS[task](rng, N, T) for _ in range(steps)),
        Adam(p, rate),
        steps=steps,
        clip_norm=1.0,
        schedule=lambda step: rate * min(1, 2 - 2 * step / steps),
        progress=False,
    )
    return p


def elman(task: str, H: int, start: str, rate: float, steps: int, seed: int) -> Bundle:
    """An Elman net of H units, trained."""
    rng = np.random.default_rng(seed)
    m = bundle(rnn=elman_init(rng, 2, H, init=start), out=linear_init(rng, H, 1))
    return fit(m, elman_loss, task, rate, steps, rng)


def tuning(task: str, H: int, start: str, rate: float, seed: int) -> float:
    """The error after the most steps, on sequences that are used for nothing else."""
    m = elman(task, H, start, rate, max(STEPS), seed)
    return elman_loss(m, TASKS[task](np.random.default_rng(102), 2000, T))[0]


def best(task: str, H: int) -> tuple[str, float]:
    """The start and the rate with the smallest mean error in the tuning."""
    found: dict[tuple[str, float], list[float]] = {}
    for *net, start, rate, _, error in load(FOLDER / "gates.json")["tuning"]:
        if net == [task, H]:
            found.setdefault((start, rate), []).append(error)
    return min(found, key=lambda setting: np.mean(found[setting]))


def tuned(task: str, H: int, steps: int, seed: int) -> Row:
    """An Elman net from the best start and with the best rate."""
    start, rate = best(task, H)
    return {"start": start, "rate": rate} | errors(elman(task, H, start, rate, steps, seed), elman_loss, task)


def gate(task: str, steps: int, seed: int) -> Row:
    """The soft gate."""
    rng = np.random.default_rng(seed)
    return errors(fit(linear_init(rng, 3, 1), gate_loss, task, GATE_RATE, steps, rng), gate_loss, task)


def errors(p: Any, loss: Loss, task: str) -> Row:
    """The error on the chapter's test sequences, and on ones ten times as long, with a tenth of the marks."""
    test = TASKS[task](np.random.default_rng(100), 2000, T)
    long = TASKS[task](np.random.default_rng(101), 200, LONG, marks=0.02)
    return {"parameters": p.size, "error": loss(p, test)[0], "long": loss(p, long)[0]}


NETS = tuple((task, H) for task in TASKS for H in UNITS)
#: One unit and the gate get the fewer steps only.
RUNS = tuple((*net, steps) for net in NETS for steps in STEPS if net[1] > 1 or steps == STEPS[0])
TRIED = tuple((*net, start, rate) for net in NETS for start in STARTS for rate in RATES)
CELLS = (
    *((task, way, N, 150) for task in TASKS for way in WAYS),
    *(("hold", way, 16, 200) for way in ("hard, straight-through", "soft")),
)
Part = tuple[Callable[..., Any], tuple[tuple[Any, ...], ...], range]
TUNING: dict[str, Part] = {"tuning": (tuning, TRIED, range(20, 21))}
PARTS: dict[str, Part] = (TUNING if fixed_kernels() else {}) | {
    "cells": (cells, CELLS, SEEDS),
    "elman": (tuned, RUNS, SEEDS),
    "gate": (gate, tuple((task, STEPS[0]) for task in TASKS), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments, rounding=digits(3))


if __name__ == "__main__":
    main(sys.argv[1:])
