"""Training runs of chapter 14 that take minutes, stored in dropout.json. To rerun them:

``python tools/environment.py python -m experiments.dropout [--missing] [PART …]``

Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments._store import make_parts
from gru_lib import (
    Adam,
    Bundle,
    bce_with_logits,
    bundle,
    elman_init,
    gru_init,
    gru_step,
    gru_step_backward,
    linear_backward,
    linear_forward,
    train,
)
from gru_lib.layers import DropoutMasks, dropout_backward, dropout_forward, dropout_mask
from gru_lib.models.language_model import LMDropout, lm_bits, lm_init, lm_loss
from gru_lib.models.reader import reader_accuracy, reader_init
from gru_lib.results import FOLDER
from gru_lib.tasks.memory import Batch, checksum
from gru_lib.tasks.text import english, streams
from gru_lib.train import Chunks

STORED = FOLDER / "dropout.json"
KINDS = ("none", "zaremba", "variational", "naive")
RATES = (0.05, 0.1, 0.25)
SEEDS = range(3)
TRAINED_ON = 40_000  # characters: few on purpose, so that a net of this size can learn them by heart
D, H, N, K = 32, 96, 16, 32
LR, STEPS, EVERY = 0.005, 1200, 150

PLACES = ("none", "sequence", "step", "state")
MEMORY_SEEDS = range(5)

Row = dict[str, Any]


def language_model(kind: str, rate: float, seed: int, steps: int = STEPS) -> Row:
    """Train a language model on the short text; bits per character over time, and on the test part at the best step."""
    text = english()
    tokens = text.encode(text.train)[:TRAINED_ON]
    validation, test = text.encode(text.validation), text.encode(text.test)
    m = lm_init(np.random.default_rng(seed), text.V, D, H, dtype=np.float32)
    dropout = None if kind == "none" else LMDropout(np.random.default_rng(1000 + seed), rate, kind)
    best, kept = np.inf, m

    def evaluate(m: Bundle) -> dict[str, float]:
        nonlocal best, kept
        bits = {"training": lm_bits(m, tokens, N=32), "validation": lm_bits(m, validation, N=32)}
        if bits["validation"] < best:
            best, kept = bits["validation"], m.copy()
        return bits

    history = train(
        m,
        partial(lm_loss, dropout=dropout),
        Chunks(*streams(tokens, N), K),
        Adam(m, LR),
        steps=steps,
        clip_norm=1.0,
        evaluate=evaluate,
        every=EVERY,
        progress=False,
    )
    return {name: history.curve(name)[1] for name in history.metrics} | {"test": lm_bits(kept, test, N=32)}


def memory(cell: str, T: int, place: str, rate: float, seed: int, steps: int = 600) -> Row:
    """Remember the first token (chapter 8) with a mask on the recurrent connection, on the state, or none."""
    rng = np.random.default_rng(seed)
    init: Any = gru_init if cell == "GRU" else partial(elman_init, init="orthogonal")
    m = reader_init(rng, 16, 3, 16, init=init)
    if cell == "GRU":
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
        steps=steps,
        clip_norm=1.0,
        evaluate=lambda m: {"right": reader_accuracy(m, test).answers},
        every=50,
        progress=False,
        stop=lambda history: history.last("right") == 1,
    )
    return {"steps": history.steps, "right": history.last("right")}


def masked_loss(m: Bundle, batch: Batch, *, rng: np.random.Generator, place: str, rate: float) -> tuple[Any, Bundle]:
    """The loss of a reader that is asked at the end, with its recurrent connection or its state masked."""
    T, count, _ = batch.xs.shape
    lead = (count,) if place == "sequence" else (T, count)
    mask = None if place == "none" else dropout_mask(rng, (*lead, m.rnn.H), rate)
    if place == "state":
        h_T, back = masked_state(batch.xs, mask, m.rnn)
    else:
        _, h_T, tape = dropout_forward(batch.xs, None, m.rnn, masks=DropoutMasks(None, mask))
    logits, cache = linear_forward(h_T, m.out)
    loss, dlogits = bce_with_logits(logits, batch.ys[-1])
    dh_T, dout = linear_backward(dlogits, cache, m.out)
    drnn = back(dh_T) if place == "state" else dropout_backward(None, dh_T, tape, m.rnn)[2]
    return loss, bundle(rnn=drnn, out=dout)


def masked_state(xs: Any, mask: Any, p: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Run a GRU whose state is masked before each step, including the part that z carries over."""
    h, caches = np.zeros((xs.shape[1], p.H)), []
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


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "none": (language_model, (("none", 0.0),), SEEDS),
    **{kind: (language_model, tuple((kind, rate) for rate in RATES), SEEDS) for kind in KINDS[1:]},
    "memory": (
        memory,
        tuple(("GRU", 50, place, rate) for place in PLACES for rate in ((0.0,) if place == "none" else (0.1, 0.3)))
        + tuple(("Elman", 20, place, rate) for place, rate in (("none", 0.0), ("sequence", 0.3), ("step", 0.3))),
        MEMORY_SEEDS,
    ),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
