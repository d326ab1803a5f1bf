"""Chapter 10's two resets in training, stored in resets.json. To rerun them:

``python tools/environment.py python -m experiments.resets [--missing] [PART …]``

"near": how near a GRU with one reset comes to one with the other, or with the same, by training.
"""

from __future__ import annotations

import sys

import numpy as np

from experiments._store import FOLDER, make_parts
from gru_lib import Adam, GRUParams, cosine_decay, gru_backward, gru_forward, gru_init

STORED = FOLDER / "resets.json"
SEEDS = range(10)
RESETS = ("before", "after")
UNITS = (2,)
STEPS, N, T = 2000, 32, 8


def teacher(reset: str) -> GRUParams:
    """The GRU of the theorem: r_1 = σ(x), r_2 = σ(−x), z = ½."""
    p = gru_init(np.random.default_rng(0), 1, 2, reset_after=reset == "after")
    p.flat[:] = 0
    p.W_xr[:], p.W_xn[:], p.W_hn[:] = [1, -1], [1, 2], 1
    return p


def near(of: str, by: str, units: int, seed: int) -> dict[str, float]:
    """The error that is left, as a share of the states' size, on new sequences; the first two units are compared."""
    rng, wanted = np.random.default_rng(seed), teacher(of)
    p = gru_init(rng, 1, units, reset_after=by == "after")
    optimizer, rate = Adam(p, 0.03), cosine_decay(0.03, STEPS)
    for step in range(STEPS):
        xs = 2 * rng.normal(size=(T, N, 1))
        hs, _, tape = gru_forward(xs, None, p)
        off = np.zeros_like(hs)
        off[..., :2] = hs[..., :2] - gru_forward(xs, None, wanted)[0]
        optimizer.lr = rate(step)
        optimizer.step(gru_backward(off / N, None, tape, p)[2])
    xs = 2 * np.random.default_rng(10_001).normal(size=(T, 1000, 1))
    right = gru_forward(xs, None, wanted)[0]
    off = gru_forward(xs, None, p)[0][..., :2] - right
    return {"error": float(np.sqrt((off**2).mean() / (right**2).mean()))}


PARTS = {
    "near": (near, tuple((of, by, H) for of in RESETS for by in RESETS for H in UNITS), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
