"""Training runs of chapter 2: plain steps and clipped ones over eight learning rates, stored in fading.json.

``python tools/environment.py python -m experiments.fading [--missing]``
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from experiments._store import digits, make_parts
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.memory import Batch
from gru_lib import SGD, Bundle, clip_by_global_norm, elman_init

STORED = FOLDER / "fading.json"
SEEDS = range(10)
H, T, N, STEPS = 32, 30, 32, 500
RADIUS = 3.0
TREATMENTS = ("nothing", "clipped")
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def draw(rng: np.random.Generator, N: int) -> Batch:
    """A sign at the first step, noise at all others; which sign was it?"""
    sign = rng.integers(0, 2, N)
    xs = np.zeros((T, N, 2))
    xs[0, :, 0] = 2 * sign - 1
    xs[1:, :, 1] = 0.3 * rng.normal(size=(T - 1, N))
    ys, asked = np.zeros((T, N, 1)), np.zeros((T, N), bool)
    ys[-1, :, 0], asked[-1] = sign, True
    return Batch(xs, ys, asked, sign[None])


def net(rng: np.random.Generator, radius: float) -> Bundle:
    """An Elman net that answers at the end, its W_h normal and scaled to a spectral radius."""
    m = reader_init(rng, 2, 1, H, init=elman_init)
    W = rng.normal(size=(H, H))
    m.rnn.W_h[:] = W * radius / np.abs(np.linalg.eigvals(W)).max()
    return m


def run(radius: float, treatment: str, rate: float, seed: int, *, steps: int = STEPS) -> dict[str, Any]:
    """Train on fresh batches; `right` is the mean of five tests in the last 100 steps.

    Plain gradient descent, of gradients as they are or clipped to norm 1.
    """
    rng, test = np.random.default_rng(seed), draw(np.random.default_rng(10_000), 500)
    m = net(rng, radius)
    optimizer = SGD(m, rate)
    norms, right = [], []
    for step in range(1, steps + 1):
        _, grads = reader_loss(m, draw(rng, N))
        norms.append(float(np.linalg.norm(grads.flat)))
        if treatment == "clipped":
            clip_by_global_norm(grads, 1.0)
        optimizer.step(grads)
        if step > steps - 100 and step % 20 == 0:
            right.append(reader_accuracy(m, test).answers)
    return {"right": float(np.mean(right)), "first": norms[0], "largest": max(norms)}


PARTS = {"rates": (run, tuple(product((RADIUS,), TREATMENTS, RATES)), SEEDS)}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments, rounding=digits(3))


if __name__ == "__main__":
    main(sys.argv[1:])
