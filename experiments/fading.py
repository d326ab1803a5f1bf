"""Training runs of chapter 2: what clipping and rescaling do for an Elman net, stored in fading.json. To rerun them:

``python tools/environment.py python -m experiments.fading [--missing] [PART …]``

Some of these nets magnify the last bit, so every run of ``clipping`` is made with the kernels of the first AVX2
processors and again, with ``KERNELS=own`` set, with those of this one. ``tuning`` chose the learning rates, on other
seeds.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, digits, make, seeded
from gru_lib import SGD, Bundle, clip_by_global_norm, elman_init, orthogonal
from gru_lib.models.reader import reader_accuracy, reader_init, reader_loss
from gru_lib.results import FOLDER
from gru_lib.tasks.memory import Batch

STORED = FOLDER / "fading.json"
SEEDS = range(50)
H, T, N, STEPS = 32, 30, 32, 1000
RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
CASES = (
    ("radius 0.5", "nothing"),
    ("radius 0.5", "rescaled"),
    ("orthogonal", "nothing"),
    ("orthogonal", "clipped"),
    ("radius 3", "nothing"),
    ("radius 3", "clipped"),
)
KERNELS = ("avx2", "own")

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


def run(start: str, treatment: str, rate: float, seed: int) -> Row:
    """Plain gradient descent on fresh batches. `right` is the mean of the last five tests, `halfway` of five before."""
    rng, test = np.random.default_rng(seed), draw(np.random.default_rng(10_000), 500)
    m = net(rng, start)
    sgd, norms, right = SGD(m, rate), [], {}
    for step in range(1, STEPS + 1):
        _, grads = reader_loss(m, draw(rng, N))
        norms.append(float(np.linalg.norm(grads.flat)))
        if treatment == "clipped":
            clip_by_global_norm(grads, 1.0)
        elif treatment == "rescaled" and norms[-1] > 0:
            grads.flat[:] /= norms[-1]
        sgd.step(grads)
        if step % 20 == 0 and (step - 1) % (STEPS // 2) >= STEPS // 2 - 100:
            right[step] = reader_accuracy(m, test).answers
    ends = list(right.values())
    return {
        "halfway": float(np.mean(ends[:5])),
        "right": float(np.mean(ends[5:])),
        "first": norms[0],  # norms of the gradient, before it is clipped
        "largest": max(norms),
        "norm": float(np.linalg.norm(m.rnn.W_h, 2)),
    }


def on(kernels: str, start: str, treatment: str, rate: float, seed: int) -> Row:
    """A run; the kernels are those of the process."""
    return run(start, treatment, rate, seed)


#: The rates that `tuning` chose: the most right answers, and of equals the smallest rate.
TUNED: dict[tuple[str, str], float] = {}

PARTS = {
    "tuning": (run, tuple((*case, rate) for case in CASES for rate in RATES), range(1000, 1005)),
    "clipping": (on, tuple((k, *case, TUNED.get(case, 0.1)) for k in KERNELS for case in CASES), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; of `clipping`, the runs with the kernels that are set."""
    kernels = os.environ.get("KERNELS") or "avx2"
    for part in chosen([name for name in arguments if name != MISSING], PARTS):
        function, settings, seeds = PARTS[part]
        wanted = seeded(settings, seeds)
        picked = [what for what in wanted if part != "clipping" or what[0] == kernels]
        make(STORED, part, function, wanted, picked, missing=MISSING in arguments, rounding=digits(3))


if __name__ == "__main__":
    main(sys.argv[1:])
