"""Training runs of chapter 14 that take minutes, stored in dropout.json. To rerun them:

``python tools/environment.py python -m experiments.dropout [--missing] [PART …]``

Every run has its own seed, so any of them can be repeated alone. float32. With ``KERNELS=own`` before it,
all but the rates that were not chosen run with this processor's own kernels, into dropout_own.json.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.models.language_model import LMDropout, lm_bits, lm_init, lm_loss
from gru_book.models.reader import reader_accuracy, reader_init
from gru_book.tasks.memory import Batch, checksum
from gru_book.tasks.text import english, streams
from gru_lib import (
    Adam,
    Bundle,
    bce_with_logits,
    bundle,
    elman_init,
    embedding_backward,
    embedding_forward,
    gru_forward,
    gru_init,
    gru_step,
    gru_step_backward,
    linear_backward,
    linear_forward,
    sigmoid,
    softmax_cross_entropy,
    train,
)
from gru_lib.layers import DropoutMasks, dropout_backward, dropout_forward, dropout_mask
from gru_lib.train import Chunk, Chunks

STORED = file_for_kernels("dropout")
KINDS = ("none", "zaremba", "variational", "per step")
RATES = (0.05, 0.1, 0.25)
BEST = 0.1  # of each scheme; tests/test_chapter14.py looks whether it is
SEEDS = range(3)
TRAINED_ON = 40_000  # characters: few on purpose, so that a net of this size can learn them by heart
D, H, N, K = 32, 96, 16, 32
LR, STEPS, EVERY = 0.005, 1200, 150

PLACES = ("none", "sequence", "step", "state")  # and "state, one": the whole state, one mask a sequence
MEMORY_STEPS = {"GRU": 600, "Elman": 2000}
COUNT = 20  # masks at test time

Row = dict[str, Any]


def language_model(kind: str, rate: float, seed: int, steps: int = STEPS) -> Row:
    """Train a language model on the short text; bits per character over time, and on the test part at the best step."""
    return slower_or_faster(kind, rate, LR, seed, steps)


def slower_or_faster(kind: str, rate: float, lr: float, seed: int, steps: int = STEPS) -> Row:
    """`language_model` at another learning rate: does the order of the schemes stay?"""
    m = lm_init(np.random.default_rng(seed), english().V, D, H, dtype=np.float32)
    dropout = None if kind == "none" else LMDropout(np.random.default_rng(1000 + seed), rate, kind)
    return fit(m, partial(lm_loss, dropout=dropout), steps, lr)[0]


def fit(m: Bundle, loss: Any, steps: int = STEPS, lr: float = LR) -> tuple[Row, Bundle]:
    """Train on the short text; the curves, and the model as it was at its best step."""
    text = english()
    tokens = text.encode(text.train)[:TRAINED_ON]
    validation, test = text.encode(text.validation), text.encode(text.test)
    best, kept = np.inf, m

    def evaluate(m: Bundle) -> dict[str, float]:
        nonlocal best, kept
        bits = {"training": lm_bits(m, tokens, N=32), "validation": lm_bits(m, validation, N=32)}
        if bits["validation"] < best:
            best, kept = bits["validation"], m.copy()
        return bits

    history = train(
        m,
        loss,
        Chunks(*streams(tokens, N), K),
        Adam(m, lr),
        steps=steps,
        clip_norm=1.0,
        evaluate=evaluate,
        every=EVERY,
        progress=False,
    )
    row = {name: history.curve(name)[1] for name in history.metrics}
    return row | {"test": lm_bits(kept, test, N=32)}, kept


def carried(place: str, rate: float, seed: int, steps: int = STEPS) -> Row:
    """Is it the gate that makes new masks harmless in the language model? Mask what it carries too, and measure z."""
    text = english()
    m, rng = lm_init(np.random.default_rng(seed), text.V, D, H, dtype=np.float32), np.random.default_rng(1000 + seed)
    naive = partial(lm_loss, dropout=LMDropout(rng, rate, "per step"))
    row, kept = fit(m, naive if place == "products" else partial(state_masked_loss, rng=rng, rate=rate), steps)
    xs, _ = embedding_forward(streams(text.encode(text.validation), 32)[0][:500], kept.embed)
    z = gru_forward(xs, None, kept.rnn)[2].gate("z")
    units = z.mean(axis=(0, 1))
    return row | {"z": float(np.median(z)), "units": np.quantile(units, (0, 0.5, 0.9, 1)).tolist()}


def state_masked_loss(m: Bundle, chunk: Chunk, *, rng: np.random.Generator, rate: float) -> tuple[Any, Bundle]:
    """`lm_loss` with new masks, of which one falls on the whole state, as chapter 14's place "state"."""
    xs, embed_cache = embedding_forward(chunk.xs, m.embed)
    draw = partial(dropout_mask, rng, rate=rate, dtype=xs.dtype)
    x_mask, h_mask, out_mask = draw(xs.shape), draw((*xs.shape[:2], H)), draw((*xs.shape[:2], H))
    hs, back = masked_state(xs * x_mask, h_mask, m.rnn, chunk.state)
    chunk.carry(hs[-1])
    logits, out_cache = linear_forward(hs * out_mask, m.out)
    loss, dlogits = softmax_cross_entropy(logits, chunk.ys)
    dhs, dout = linear_backward(dlogits, out_cache, m.out)
    dxs, drnn = back(dhs * out_mask)
    return loss, bundle(embed=embedding_backward(dxs * x_mask, embed_cache, m.embed), rnn=drnn, out=dout)


def memory(cell: str, T: int, place: str, rate: float, seed: int, steps: int | None = None) -> Row:
    """Remember the first token (chapter 8) with a mask on the recurrent connection, on the state, or none.

    "masked" is the share right with masks drawn as in training, "z" the median of the update gate after training.
    """
    m, masks, found = trained_memory(cell, T, place, rate, seed, steps)
    test = checksum(np.random.default_rng(10_001), 512, T)
    h_T, _ = masked(test.xs, m.rnn, masks, place, rate)
    said = linear_forward(h_T, m.out)[0] > 0
    found["masked"] = float((said == (test.ys[-1] == 1)).all(axis=1).mean())
    if cell == "GRU":
        found["z"] = float(np.median(gru_forward(test.xs, None, m.rnn)[2].gate("z")))
    return found


def trained_memory(
    cell: str, T: int, place: str, rate: float, seed: int, steps: int | None = None, *, stop: bool = True
) -> tuple[Bundle, np.random.Generator, Row]:
    """The net of `memory`, the source of its masks, and how many steps it took to be how often right.

    With `stop` the training ends as soon as all answers without masks are right.
    """
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
        steps=steps or MEMORY_STEPS[cell],
        clip_norm=1.0,
        evaluate=lambda m: {"right": reader_accuracy(m, test).answers},
        every=50,
        progress=False,
        stop=lambda history: stop and history.last("right") == 1,
    )
    return m, masks, {"steps": history.steps, "right": history.last("right")}


def votes(T: int, rate: float, seed: int, *, stop: bool = True) -> Row:
    """A GRU trained with one mask a sequence over T steps; right without masks, with one, and by the mean of COUNT."""
    m, rng, _ = trained_memory("GRU", T, "sequence", rate, seed, stop=stop)
    found: Row = {}
    for length in (T, 8 * T):
        test = checksum(np.random.default_rng(10_002), 512, length)
        true = test.ys[-1] == 1
        drawn = [masked(test.xs, m.rnn, rng, "sequence", rate)[0] for _ in range(COUNT)]
        said = np.array([sigmoid(linear_forward(h_T, m.out)[0]) for h_T in drawn])
        found[str(length)] = {
            "none": reader_accuracy(m, test).answers,
            "one": float(((said > 0.5) == true).all(axis=-1).mean()),
            "mean": float(((said.mean(axis=0) > 0.5) == true).all(axis=-1).mean()),
        }
    return found


def masked(xs: Any, p: Any, rng: np.random.Generator, place: str, rate: float) -> tuple[Any, Callable[[Any], Any]]:
    """Run a cell with new masks in one of the PLACES; its last state, and the gradient of its parameters from that."""
    T, count, _ = xs.shape
    lead = (count,) if place in ("sequence", "state, one") else (T, count)
    mask = None if place == "none" else dropout_mask(rng, (*lead, p.H), rate)
    if place.startswith("state"):
        mask = np.broadcast_to(mask, (T, count, p.H))
        hs, back = masked_state(xs, mask, p)
        return hs[-1], lambda dh_T: back(np.concatenate([np.zeros((T - 1, *dh_T.shape)), dh_T[None]]))[1]
    _, h_T, tape = dropout_forward(xs, None, p, masks=DropoutMasks(None, mask))
    return h_T, lambda dh_T: dropout_backward(None, dh_T, tape, p)[2]


def masked_loss(m: Bundle, batch: Batch, *, rng: np.random.Generator, place: str, rate: float) -> tuple[Any, Bundle]:
    """The loss of a reader that is asked at the end, with its recurrent connection or its state masked."""
    h_T, back = masked(batch.xs, m.rnn, rng, place, rate)
    logits, cache = linear_forward(h_T, m.out)
    loss, dlogits = bce_with_logits(logits, batch.ys[-1])
    dh_T, dout = linear_backward(dlogits, cache, m.out)
    return loss, bundle(rnn=back(dh_T), out=dout)


def masked_state(xs: Any, mask: Any, p: Any, h0: Any = None) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    """Run a GRU whose state is masked before each step, including the part that z carries over.

    The states after each step, and a function from their gradients to those of the inputs and the parameters.
    """
    h, hs, caches = np.zeros((xs.shape[1], p.H), xs.dtype) if h0 is None else h0, [], []
    for x, mask_t in zip(xs, mask, strict=True):
        h, cache = gru_step(x, h * mask_t, p)
        hs.append(h)
        caches.append(cache)

    def back(dhs: Any) -> tuple[Any, Any]:
        grads, dh, dxs = p.zeros_like(), np.zeros_like(dhs[0]), []
        for d, cache, mask_t in zip(dhs[::-1], reversed(caches), mask[::-1], strict=True):
            dx, dh, g = gru_step_backward(d + dh, cache, p)
            dh = dh * mask_t
            dxs.append(dx)
            grads.flat[:] += g.flat
        return np.stack(dxs[::-1]), grads

    return np.stack(hs), back


PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "none": (language_model, (("none", 0.0),), SEEDS),
    **{kind: (language_model, tuple((kind, rate) for rate in RATES), SEEDS) for kind in KINDS[1:]},
    "more": (language_model, (("none", 0.0), *((kind, BEST) for kind in KINDS[1:])), range(3, 10)),
    "memory": (
        memory,
        tuple(("GRU", 50, place, rate) for place in PLACES for rate in ((0.0,) if place == "none" else (0.1, 0.3)))
        + tuple(("Elman", 20, place, rate) for place, rate in (("none", 0.0), ("sequence", 0.3), ("step", 0.3))),
        range(10),
    ),
    "memory more": (
        memory,
        (("GRU", 50, "state, one", 0.1), ("GRU", 50, "state, one", 0.3), ("Elman", 20, "step", 0.1)),
        range(10),
    ),
    "carried": (carried, (("products", 0.1), ("state", 0.1)), range(10)),
    "votes": (votes, ((50, 0.3),), range(10)),
    "votes, not stopped": (partial(votes, stop=False), ((50, 0.3),), range(10)),
    "paces": (
        slower_or_faster,
        tuple((kind, 0.0 if kind == "none" else BEST, lr) for kind in KINDS for lr in (0.01,)),
        range(3),
    ),
}
if not fixed_kernels():  # no rate that is not chosen
    PARTS |= {kind: (language_model, ((kind, BEST),), SEEDS) for kind in KINDS[1:]}
    del PARTS["paces"]


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
