"""Training runs of chapter 3: the single gate and an Elman net on its tasks, stored in gates.json. To rerun them:

``python tools/environment.py python -m experiments.gates [--missing] [PART …]``

`elman` has the starts of W_h and the rates that `tuning` found best, on other seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._store import make_parts
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
from gru_lib.gates import convex_update, convex_update_backward, soft_gate, soft_gate_backward
from gru_lib.ops import LinearParams
from gru_lib.results import FOLDER
from gru_lib.tasks import hold

STORED = FOLDER / "gates.json"
SEEDS = range(10)
T, N, STEPS, LONG = 20, 32, 2000, 200
TASKS = {"hold": hold.hold, "drift": hold.drift}
UNITS = (1, 4, 16)
STARTS = ("uniform", "orthogonal")
RATES = (0.003, 0.01, 0.03, 0.1)
#: The task and the units, then the start and the rate with the smallest mean error in `tuning`.
TUNED = (
    ("hold", 1, "orthogonal", 0.01),
    ("hold", 4, "uniform", 0.03),
    ("hold", 16, "orthogonal", 0.01),
    ("drift", 1, "uniform", 0.03),
    ("drift", 4, "uniform", 0.01),
    ("drift", 16, "uniform", 0.03),
)

Row = dict[str, Any]


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


def gate_loss(p: LinearParams, batch: hold.Batch) -> tuple[Any, LinearParams]:
    """The chapter's memory cell: one soft gate, set by the number, the mark and the memory."""
    h, hs, caches = np.zeros_like(batch.xs[0, :, :1]), [], []
    for x in batch.xs:
        a, seen = linear_forward(np.concatenate([x, h], axis=1), p)
        g, bent = soft_gate(a)
        h, mixed = convex_update(g, x[:, :1], h)
        hs.append(h)
        caches.append((seen, bent, mixed))
    loss, dhs = squared(np.array(hs), batch.ys)
    grads, dh = p.zeros_like(), np.zeros_like(dhs[0])
    for dh_t, (seen, bent, mixed) in zip(dhs[::-1], caches[::-1], strict=True):
        dg, _, dh = convex_update_backward(dh + dh_t, mixed)
        dxh, step = linear_backward(soft_gate_backward(dg, bent), seen, p)
        grads.flat[:] += step.flat
        dh = dh + dxh[:, 2:]
    return loss, grads


def fit(p: Any, loss: Callable[..., Any], task: str, rate: float, rng: np.random.Generator) -> Row:
    """The error on the chapter's test sequences, halfway and at the end, and on sequences ten times as long, with a
    tenth of the marks.

    As in the chapter, but for more steps, and with a rate that falls to 0 in the second half of them.
    """
    draw = TASKS[task]
    test = draw(np.random.default_rng(100), 2000, T)
    long = draw(np.random.default_rng(101), 200, LONG, marks=0.02)
    history = train(
        p,
        loss,
        (draw(rng, N, T) for _ in range(STEPS)),
        Adam(p, rate),
        steps=STEPS,
        clip_norm=1.0,
        schedule=lambda step: rate * min(1, 2 - 2 * step / STEPS),
        evaluate=lambda p: {"error": loss(p, test)[0]},
        every=STEPS // 2,
        progress=False,
    )
    halfway, end = history.curve("error")[1]
    return {"parameters": p.size, "halfway": halfway, "error": end, "long": loss(p, long)[0]}


def elman(task: str, H: int, start: str, rate: float, seed: int) -> Row:
    """An Elman net of H units."""
    rng = np.random.default_rng(seed)
    m = bundle(rnn=elman_init(rng, 2, H, init=start), out=linear_init(rng, H, 1))
    return fit(m, elman_loss, task, rate, rng)


def gate(task: str, rate: float, seed: int) -> Row:
    """The soft gate."""
    rng = np.random.default_rng(seed)
    return fit(linear_init(rng, 3, 1), gate_loss, task, rate, rng)


TRIED = tuple((task, H, start, rate) for task in TASKS for H in UNITS for start in STARTS for rate in RATES)
PARTS = {
    "tuning": (elman, TRIED, range(20, 22)),
    "elman": (elman, TUNED, SEEDS),
    "gate": (gate, tuple((task, 0.1) for task in TASKS), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
