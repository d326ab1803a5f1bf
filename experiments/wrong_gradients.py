"""Training with wrong gradients, chapter 5; results in wrong_gradients.json. To rerun them:

``python tools/environment.py python -m experiments.wrong_gradients [--missing] [PART …]``

Its one part is `through time`: the right gradient, and one that no step hands to the step before. With ``KERNELS=own``
before it, three of the seeds run with this processor's own kernels; they go into wrong_gradients_own.json. Every run
has its own seed, so any of them can be repeated alone. float64.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.tasks.subtraction import all_pairs
from gru_lib import (
    Adam,
    Bundle,
    Params,
    bce_with_logits,
    bundle,
    gru_init,
    gru_step,
    gru_step_backward,
    linear_init,
)
from gru_lib.cells.gru import GRUCache
from gru_lib.ops import linear_backward, linear_forward

STORED = file_for_kernels("wrong_gradients")
KINDS = ("right", "none")
SEEDS = range(20 if fixed_kernels() else 3)
STEPS, EVERY, H = 1000, 100, 8

Array = NDArray[np.float64]
Forward = Callable[[Array, Array, Params], tuple[Array, Any]]  # xs, h0, p -> hs, caches
Backward = Callable[[Array, Any, Params], Params]  # dhs, caches, p -> gradients


def learn(m: Bundle, xs: Array, forward: Forward, backward: Backward, lr: float, steps: int) -> list[int]:
    """Train on all 136 subtractions of 4 bits; how many come out right, after every 100 steps."""
    ys, h0 = all_pairs(4).ys, np.zeros((xs.shape[1], H))
    adam, counts = Adam(m, lr=lr), []
    for step in range(steps + 1):
        hs, caches = forward(xs, h0, m.rnn)
        logits, out_cache = linear_forward(hs, m.out)
        if step and step % EVERY == 0:
            counts.append(int(((logits > 0) == (ys > 0)).all(axis=(0, 2)).sum()))
        _, dlogits = bce_with_logits(logits, ys)
        grads = m.zeros_like()
        dhs, out_grads = linear_backward(dlogits, out_cache, m.out)
        grads.out.flat[:] = out_grads.flat
        grads.rnn.flat[:] = backward(dhs, caches, m.rnn).flat
        adam.step(grads)
    return counts


def forward_steps(xs: Array, h: Array, p: Params) -> tuple[Array, list[GRUCache]]:
    """All states, and the cache of each step."""
    hs, caches = [], []
    for x in xs:
        h, cache = gru_step(x, h, p)
        hs.append(h)
        caches.append(cache)
    return np.array(hs), caches


def backward_through(kind: str, dhs: Array, caches: list[GRUCache], p: Params) -> Params:
    """The parameters' gradients: right, or with none of the gradient handed to the step before."""
    dh, grads = np.zeros_like(dhs[0]), p.zeros_like()
    for dh_out, cache in zip(dhs[::-1], caches[::-1], strict=True):
        _, dh, g = gru_step_backward(dh_out + dh, cache, p)
        grads.flat[:] += g.flat
        if kind == "none":
            dh = np.zeros_like(dh)
    return grads


def train_through(kind: str, seed: int, steps: int = STEPS) -> list[int]:
    """Train a GRU whose gradient goes through time, or does not."""
    rng = np.random.default_rng(seed)
    m = bundle(rnn=gru_init(rng, 2, H), out=linear_init(rng, H, 1))
    return learn(m, all_pairs(4).xs, forward_steps, functools.partial(backward_through, kind), 0.02, steps)


PARTS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]], Iterable[int]]] = {
    "through time": (train_through, [(kind,) for kind in KINDS], SEEDS),
}


def main(arguments: list[str]) -> None:
    """Make the parts named, or all; with --missing, only the runs that are not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
