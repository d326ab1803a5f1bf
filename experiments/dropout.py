"""Training runs of chapter 14, stored in dropout.json. To rerun them:

``python tools/environment.py python -m experiments.dropout [--missing] [PART …]``

Every run has its own seed, so any of them can be repeated alone. float32. With ``KERNELS=own`` before it, all but
"state, one" runs with this processor's own kernels, into dropout_own.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.models.reader import reader_accuracy, reader_init
from gru_book.tasks.memory import Batch, checksum
from gru_lib import (
    Adam,
    Bundle,
    bce_with_logits,
    bundle,
    gru_step,
    gru_step_backward,
    linear_backward,
    linear_forward,
    train,
)
from gru_lib.layers import DropoutMasks, dropout_backward, dropout_forward, dropout_mask

STORED = file_for_kernels("dropout")
PLACES = ("none", "sequence", "step", "state, one", "state")  # the last two: the whole state, one mask or new ones
T, STEPS = 50, 600  # of a sequence, and of the longest training

Row = dict[str, Any]


def memory(place: str, rate: float, seed: int) -> Row:
    """A GRU learns to remember the first token (chapter 8) with masks on the products, on the whole state, or none.

    "right" is the share of answers without masks; the training ends as soon as that is 1.
    """
    rng = np.random.default_rng(seed)
    m = reader_init(rng, 16, 3, 16)
    m.rnn.b_z[:] = 4
    masks, test = np.random.default_rng(1000 + seed), checksum(np.random.default_rng(10_001), 512, T)

    def batches() -> Iterator[Batch]:
        while True:
            yield checksum(rng, 32, T)

    history = train(
        m,
        partial(masked_loss, rng=masks, place=place, rate=rate),
        batches(),
        Adam(m, 0.01),
        steps=STEPS,
        clip_norm=1.0,
        evaluate=lambda m: {"right": reader_accuracy(m, test).answers},
        every=50,
        progress=False,
        stop=lambda history: history.last("right") == 1,
    )
    return {"steps": history.steps, "right": history.last("right")}


def masked(xs: Any, p: Any, rng: np.random.Generator, place: str, rate: float) -> tuple[Any, Callable[[Any], Any]]:
    """Run a GRU with new masks in one of the PLACES; its last state, and the gradient of its parameters from that."""
    steps, count, _ = xs.shape
    lead = (count,) if place in ("sequence", "state, one") else (steps, count)
    mask = None if place == "none" else dropout_mask(rng, (*lead, p.H), rate)
    if place.startswith("state"):
        mask = np.broadcast_to(mask, (steps, count, p.H))
        return masked_state(xs, mask, p)
    _, h_T, tape = dropout_forward(xs, None, p, masks=DropoutMasks(None, mask))
    return h_T, lambda dh_T: dropout_backward(None, dh_T, tape, p)[2]


def masked_loss(m: Bundle, batch: Batch, *, rng: np.random.Generator, place: str, rate: float) -> tuple[Any, Bundle]:
    """The loss of a reader that is asked at the end, with its recurrent connection or its state masked."""
    h_T, back = masked(batch.xs, m.rnn, rng, place, rate)
    logits, cache = linear_forward(h_T, m.out)
    loss, dlogits = bce_with_logits(logits, batch.ys[-1])
    dh_T, dout = linear_backward(dlogits, cache, m.out)
    return loss, bundle(rnn=back(dh_T), out=dout)


def masked_state(xs: Any, mask: Any, p: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Run a GRU whose state is masked before each step, including the part that z carries over.

    The last state, and a function from its gradient to that of the parameters.
    """
    h, caches = np.zeros((xs.shape[1], p.H), xs.dtype), []
    for x, mask_t in zip(xs, mask, strict=True):
        h, cache = gru_step(x, h * mask_t, p)
        caches.append(cache)

    def back(dh: Any) -> Any:
        grads = p.zeros_like()
        for cache, mask_t in zip(reversed(caches), mask[::-1], strict=True):
            _, dh, g = gru_step_backward(dh, cache, p)
            dh = dh * mask_t
            grads.flat[:] += g.flat
        return grads

    return h, back


SETTINGS = tuple((place, rate) for place in PLACES for rate in ((0.0,) if place == "none" else (0.1, 0.3)))
PARTS = {"memory": (memory, SETTINGS, range(10))}
if not fixed_kernels():
    PARTS = {"memory": (memory, tuple(what for what in SETTINGS if what[0] != "state, one"), range(10))}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
