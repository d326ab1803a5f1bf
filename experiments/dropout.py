"""Training runs of chapter 14, stored in dropout.json. To rerun them:

``python tools/environment.py python -m experiments.dropout [--missing] [PART …]``

Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from experiments._store import make_parts, stored_file
from gru_book.models.language_model import LMDropout, lm_bits, lm_init, lm_loss
from gru_book.results import FOLDER
from gru_book.tasks.text import english, streams
from gru_lib import (
    Adam,
    Bundle,
    bundle,
    embedding_backward,
    embedding_forward,
    gru_step,
    gru_step_backward,
    linear_backward,
    linear_forward,
    softmax_cross_entropy,
    train,
)
from gru_lib.layers import dropout_mask
from gru_lib.train import Chunk, Chunks

STORED = stored_file("dropout")
Row = dict[str, Any]


# ------------------------------------------------------------------------------------------- a text learned by heart

SCHEMES = ("none", "zaremba", "variational", "zoneout", "weight drop")
RATES, TUNING_SEED = (0.1, 0.3, 0.5, 0.7), 100
EMBEDDED, UNITS, CHARACTERS, UPDATES = 16, 48, 10_000, 1600


@cache
def texts() -> tuple[Any, ...]:
    """The first characters of chapter 16's three texts, as tokens: training, validation and test."""
    text = english()
    return tuple(text.encode(part)[:CHARACTERS] for part in (text.train, text.validation, text.test))


def regularise(scheme: str, rate: float, seed: int, lr: float = 0.01) -> Row:
    """Train a small language model on little text with masks of one kind, and ask it without.

    Bits per character on the training text and on validation, every 50 updates; and on the test text, of the network
    that was best on validation.
    """
    rng, masks = np.random.default_rng(seed), np.random.default_rng(1000 + seed)
    m = lm_init(rng, english().V, EMBEDDED, UNITS, dtype=np.float32)
    training, validation, test = texts()
    bits = partial(zoned_bits, rate=rate) if scheme == "zoneout" else lm_bits
    best: dict[str, Any] = {"bits": np.inf}

    def look(m: Bundle) -> dict[str, float]:
        found = {"training": bits(m, training), "validation": bits(m, validation)}
        if found["validation"] < best["bits"]:
            best.update(bits=found["validation"], flat=m.flat.copy())
        return found

    loss = partial(LOSSES[scheme], rng=masks, rate=rate)
    chunks = Chunks(*streams(training, 16), 40)
    history = train(m, loss, chunks, Adam(m, lr), steps=UPDATES, clip_norm=1.0, evaluate=look, every=50, progress=False)
    m.flat[:] = best["flat"]
    curves = {part: history.curve(part)[1] for part in ("training", "validation")}
    return curves | {"test": bits(m, test)}


def library_loss(m: Bundle, chunk: Chunk, *, rng: np.random.Generator, rate: float, kind: str) -> tuple[Any, Bundle]:
    """Masks of the library's kinds, on the layer and on its output."""
    return lm_loss(m, chunk, LMDropout(rng, rate, kind) if rate else None)


def weight_drop_loss(m: Bundle, chunk: Chunk, *, rng: np.random.Generator, rate: float) -> tuple[Any, Bundle]:
    """One mask on the weights from state to state, new in every chunk (weight drop: DropConnect on W_h)."""
    dropped, mask = m.copy(), dropout_mask(rng, m.rnn.W_h.shape, rate).astype(m.dtype)
    dropped.rnn.W_h *= mask
    loss, grads = lm_loss(dropped, chunk)
    grads.rnn.W_h *= mask
    return loss, grads


def zoneout_loss(m: Bundle, chunk: Chunk, *, rng: np.random.Generator, rate: float) -> tuple[Any, Bundle]:
    """Zoneout: at each step some units simply stay as they were, h_t = d ⊙ h_{t−1} + (1 − d) ⊙ step(x_t, h_{t−1})."""
    xs, embed_cache = embedding_forward(chunk.xs, m.embed)
    stays = (rng.random((*chunk.xs.shape, m.rnn.H)) < rate).astype(m.dtype)
    h = np.zeros((xs.shape[1], m.rnn.H), m.dtype) if chunk.state is None else chunk.state
    hs, caches = [], []
    for x, d in zip(xs, stays, strict=True):
        new, cache = gru_step(x, h, m.rnn)
        h = d * h + (1 - d) * new
        hs.append(h)
        caches.append(cache)
    chunk.carry(h)
    logits, out_cache = linear_forward(np.stack(hs), m.out)
    loss, dlogits = softmax_cross_entropy(logits, chunk.ys)
    dhs, dout = linear_backward(dlogits, out_cache, m.out)
    dh, drnn, dxs = np.zeros_like(h), m.rnn.zeros_like(), np.zeros_like(xs)
    for t in reversed(range(len(xs))):
        dh = dh + dhs[t]
        dxs[t], back, grads = gru_step_backward((1 - stays[t]) * dh, caches[t], m.rnn)
        dh = stays[t] * dh + back
        drnn.flat[:] += grads.flat
    return loss, bundle(embed=embedding_backward(dxs, embed_cache, m.embed), rnn=drnn, out=dout)


def zoned_bits(m: Bundle, tokens: Any, rate: float) -> float:
    """`lm_bits` under zoneout: when it is asked, every unit stays by the share `rate` of its old value."""
    xs, ys = streams(tokens, 8)
    inputs, _ = embedding_forward(xs, m.embed)
    h, hs = np.zeros((8, m.rnn.H), m.dtype), []
    for x in inputs:
        h = rate * h + (1 - rate) * gru_step(x, h, m.rnn)[0]
        hs.append(h)
    return float(softmax_cross_entropy(linear_forward(np.stack(hs), m.out)[0], ys).loss / np.log(2))


LOSSES: dict[str, Callable[..., tuple[Any, Bundle]]] = {
    "none": partial(library_loss, kind="zaremba"),
    "zaremba": partial(library_loss, kind="zaremba"),
    "variational": partial(library_loss, kind="variational"),
    "zoneout": zoneout_loss,
    "weight drop": weight_drop_loss,
}


def at_best_rate(scheme: str, seed: int) -> Row:
    """`regularise` at the rate that was best on validation with the tuning seed, which is stored with it."""
    tried = json.loads((FOLDER / "dropout.json").read_text("utf8"))["text rates"]
    lowest = {rate: min(row["validation"]) for name, rate, _, row in tried if name == scheme}
    rate = min(lowest, key=lambda rate: lowest[rate]) if lowest else 0.0
    return {"rate": rate} | regularise(scheme, rate, seed)


def slower(lr: float, seed: int) -> Row:
    """`regularise` without masks, at a lower rate of learning."""
    return regularise("none", 0.0, seed, lr=lr)


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "text rates": (
        regularise,
        tuple((scheme, rate) for scheme in SCHEMES[1:] for rate in RATES),
        range(TUNING_SEED, TUNING_SEED + 1),
    ),
    "text": (at_best_rate, tuple((scheme,) for scheme in SCHEMES), range(5)),
    "text, slower": (slower, ((0.001,),), range(5)),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
