"""Training runs of chapter 2: what clipping and rescaling do for an Elman net, stored in fading.json. To rerun them:

``python tools/environment.py python -m experiments.fading [--missing] [PART …]``

Some of these nets magnify the last bit, so the runs of ``clipping``, ``stages`` and ``adam`` are made again as ``own``,
``own stages`` and ``own adam``, with ``KERNELS=own`` set and this processor's kernels. ``tuning`` chose the learning
rates, on other seeds.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, digits, make, seeded
from gru_lib import SGD, Adam, Bundle, clip_by_global_norm, elman_init, orthogonal
from gru_lib.models.reader import reader_accuracy, reader_init, reader_loss
from gru_lib.results import FOLDER
from gru_lib.tasks.memory import Batch

STORED = FOLDER / "fading.json"
SEEDS = range(50)
H, T, N, STEPS, FIRST = 32, 30, 32, 500, 200
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CASES = (
    ("radius 0.5", "nothing"),
    ("radius 0.5", "rescaled"),
    ("orthogonal", "nothing"),
    ("orthogonal", "clipped"),
    ("radius 3", "nothing"),
    ("radius 3", "clipped"),
)
Row = dict[str, Any]


def draw(rng: np.random.Generator, N: int) -> Batch:
    """A sign at the first step, noise at all others; which sign was it?"""
    sign = rng.integers(0, 2, N)
    xs = np.zeros((T, N, 2))
    xs[0, :, 0] = 2 * sign - 1
    xs[1:, :, 1] = 0.3 * rng.normal(size=(T - 1, N))
    ys, asked = np.zeros((T, N, 1)), np.zeros((T, N), bool)
    ys[-1, :, 0], asked[-1] = sign, True
    return Batch(xs, ys, asked, sign[None])


def net(rng: np.random.Generator, start: str) -> Bundle:
    """An Elman net that answers at the end, its W_h orthogonal or scaled to a spectral radius."""
    m = reader_init(rng, 2, 1, H, init=elman_init)
    if start == "orthogonal":
        m.rnn.W_h[:] = orthogonal(rng, H)
    else:
        W = rng.normal(size=(H, H))
        m.rnn.W_h[:] = W * float(start.split()[1]) / np.abs(np.linalg.eigvals(W)).max()
    return m


def run(start: str, treatment: str, rate: float, seed: int, *, steps: int = STEPS) -> Row:
    """Plain gradient descent on fresh batches. `right` is the mean of five tests in the last 100 steps, `halfway` of
    five in the 100 steps before the middle.
    """
    rng, test = np.random.default_rng(seed), draw(np.random.default_rng(10_000), 500)
    m = net(rng, start)
    sgd, norms, right = SGD(m, rate), [], {}
    for step in range(1, steps + 1):
        _, grads = reader_loss(m, draw(rng, N))
        norms.append(float(np.linalg.norm(grads.flat)))
        if treatment == "clipped":
            clip_by_global_norm(grads, 1.0)
        elif treatment == "rescaled" and norms[-1] > 0:
            grads.flat[:] /= norms[-1]
        sgd.step(grads)
        if step % 20 == 0 and (step - 1) % (steps // 2) >= steps // 2 - 100:
            right[step] = reader_accuracy(m, test).answers
    ends = list(right.values())
    return {
        "halfway": float(np.mean(ends[:5])),
        "right": float(np.mean(ends[5:])),
        "first": norms[0],  # norms of the gradient, before it is clipped
        "largest": max(norms),
        "norm": float(np.linalg.norm(m.rnn.W_h, 2)),
    }


def stages(first: str, length: float, seed: int) -> Row:
    """From radius 0.5, FIRST steps of a length, then STEPS clipped ones at the rate 0.3; `right` as in `run`.

    The first ones go down the gradient, or in a direction drawn anew at each step ("random"). `radius` and `norm` are
    those of W_h after them.
    """
    rng, test = np.random.default_rng(seed), draw(np.random.default_rng(10_000), 500)
    m = net(rng, "radius 0.5")
    far, near, size, right = SGD(m, length), SGD(m, 0.3), {}, []
    for step in range(1 - FIRST, STEPS + 1):
        _, grads = reader_loss(m, draw(rng, N))
        if step > 0:
            clip_by_global_norm(grads, 1.0)
            near.step(grads)
        else:
            if first == "random":
                grads.flat[:] = rng.normal(size=grads.size)
            grads.flat[:] /= np.linalg.norm(grads.flat) or 1.0  # a loss of 0 has no direction
            far.step(grads)
        if step == 0:
            W = m.rnn.W_h
            size = {"radius": float(np.abs(np.linalg.eigvals(W)).max()), "norm": float(np.linalg.norm(W, 2))}
        if step > STEPS - 100 and step % 20 == 0:
            right.append(reader_accuracy(m, test).answers)
    return {"right": float(np.mean(right)), **size}


def adam(shuffled: int, then: str, seed: int, *, steps: int = STEPS) -> Row:
    """From radius 0.5, some steps of Adam at the rate 0.01 with shuffled labels, then `steps` with true ones.

    These go on with Adam, or are clipped ones at the rate 0.3; `right` as in `run`. `radius` is W_h's before them.
    """
    rng, test = np.random.default_rng(seed), draw(np.random.default_rng(10_000), 500)
    m, right, radius = net(rng, "radius 0.5"), [], 0.0
    optimizer, near = Adam(m, 0.01), SGD(m, 0.3)
    for step in range(1 - shuffled, steps + 1):
        batch = draw(rng, N)
        if step < 1:
            batch.ys[-1] = rng.permutation(batch.ys[-1])
        if step == 1:
            radius = float(np.abs(np.linalg.eigvals(m.rnn.W_h)).max())
        _, grads = reader_loss(m, batch)
        if step < 1 or then == "Adam":
            optimizer.step(grads)
        else:
            clip_by_global_norm(grads, 1.0)
            near.step(grads)
        if step > steps - 100 and step % 20 == 0:
            right.append(reader_accuracy(m, test).answers)
    return {"right": float(np.mean(right)), "radius": radius}


#: A rate for all, and where `tuning` found a better one, that.
RUNS = (
    ("radius 0.5", "nothing", 0.3),
    ("radius 0.5", "rescaled", 3.0),
    ("orthogonal", "nothing", 0.3),
    ("orthogonal", "clipped", 0.3),
    ("radius 3", "nothing", 0.3),
    ("radius 3", "nothing", 0.001),
    ("radius 3", "clipped", 0.3),
)
FIRSTS = (("gradient", 3.0), ("random", 3.0), ("random", 1.0))
SHUFFLED = tuple((shuffled, then) for then in ("Adam", "clipped") for shuffled in (0, 60))
PARTS = {
    "tuning": (partial(run, steps=1000), tuple((*case, rate) for case in CASES for rate in RATES), range(1000, 1005)),
    "clipping": (run, RUNS, SEEDS),
    "own": (run, RUNS, SEEDS),
    "stages": (stages, FIRSTS, SEEDS),
    "own stages": (stages, FIRSTS, SEEDS),
    "adam": (adam, SHUFFLED, SEEDS),
    "own adam": (adam, SHUFFLED, SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or those of the kernels that are set, and store each run."""
    own = os.environ.get("KERNELS") == "own"
    names = chosen([name for name in arguments if name != MISSING], PARTS)
    for part in [name for name in names if name.startswith("own") == own]:
        function, settings, seeds = PARTS[part]
        make(STORED, part, function, seeded(settings, seeds), missing=MISSING in arguments, rounding=digits(3))


if __name__ == "__main__":
    main(sys.argv[1:])
