"""Training runs of chapter 15 that take minutes, stored in deep.json. To rerun them:

``python tools/environment.py python -m experiments.deep [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into deep_own.json. Every run
has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments._store import digits, file_for_kernels, fixed_kernels, make_parts
from gru_book.tasks.ahead import QUESTIONS, TOKENS, Batch, marks
from gru_lib import (
    Adam,
    Bundle,
    bce_with_logits,
    bidirectional,
    bundle,
    cell_of,
    gru_backward,
    gru_forward,
    gru_init,
    linear_backward,
    linear_forward,
    linear_init,
    reverse,
    stack,
    train,
)

STORED = file_for_kernels("deep")
SEEDS = range(10 if fixed_kernels() else 3)
DTYPE = np.float32

T, N, UNITS, LR = 24, 32, 12, 0.01
LAYERS = ("forward", "backward", "two forward", "bidirectional", "two bidirectional")
DEPTHS = (4, 8, 16, 24)

Row = dict[str, Any]


# ------------------------------------------------------------------------------------ a task that looks ahead


def layers(name: str, rng: np.random.Generator, D: int, H: int) -> Any:
    """A layer, or several, by name. "backward" is a forward layer whose input is reversed beforehand."""
    both = lambda D: bidirectional(gru_init(rng, D, H, dtype=DTYPE), gru_init(rng, D, H, dtype=DTYPE))  # noqa: E731
    if name in ("forward", "backward", "one"):
        return gru_init(rng, D, H, dtype=DTYPE)
    if name in ("two forward", "two"):
        return stack(gru_init(rng, D, H, dtype=DTYPE), gru_init(rng, H, H, dtype=DTYPE))
    if name == "bidirectional":
        return both(D)
    return stack(both(D), both(2 * H))  # "two bidirectional"


def tag_loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
    """The mean binary cross-entropy of the asked answers, one for each letter, and its gradient."""
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(batch.xs, None, m.rnn, lengths=batch.lengths)
    logits, cache = linear_forward(hs, m.out)  # (T, N, 1)
    loss, dlogits = bce_with_logits(logits, batch.ys, batch.asked[..., None])
    dhs, dout = linear_backward(dlogits, cache, m.out)
    return loss, bundle(rnn=cell.backward(dhs, None, tape, m.rnn)[2], out=dout)


def tag_accuracy(m: Bundle, batch: Batch) -> float:
    """Share of the answers that are right."""
    hs, _, _ = cell_of(m.rnn).forward(batch.xs, None, m.rnn, lengths=batch.lengths)
    return share_right(linear_forward(hs, m.out)[0], batch)


def share_right(logits: Any, batch: Batch) -> float:
    """Share of the asked answers that match the sign of their logit."""
    return float(((logits > 0) == (batch.ys == 1))[batch.asked].mean())


def drawn(seed: Any, count: int, question: str, *, turned: bool = False) -> Batch:
    """A batch in float32; with `turned`, each sequence reversed within its length."""
    batch = marks(np.random.default_rng(seed) if isinstance(seed, int) else seed, count, T, question)
    batch = batch._replace(xs=batch.xs.astype(DTYPE))
    if turned:
        ys, asked = (reverse(a, batch.lengths) for a in (batch.ys, batch.asked[..., None]))
        batch = batch._replace(xs=reverse(batch.xs, batch.lengths), ys=ys, asked=asked[..., 0] > 0)
    return batch


def fit(
    m: Bundle, loss: Any, draw: Callable[[Any, int], Batch], accuracy: Any, seed: int, steps: int, lr: float = LR
) -> Row:
    """Train on fresh batches, test on others."""
    rng = np.random.default_rng(1000 + seed)

    def batches() -> Iterator[Batch]:
        while True:
            yield draw(rng, N)

    train(m, loss, batches(), Adam(m, lr), steps=steps, clip_norm=1.0, progress=False)
    return {"right": accuracy(m, draw(10_001, 1000))}


def ahead(question: str, name: str, seed: int, steps: int = 400) -> Row:
    """One of the three questions, for layers that read one way or both."""
    return asked_of(question, name, seed, steps)[1]


def asked_of(question: str, name: str, seed: int, steps: int) -> tuple[Bundle, Row]:
    """The trained net of `ahead`, and its result."""
    rng = np.random.default_rng(seed)
    rnn = layers(name, rng, TOKENS, UNITS)
    m = bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), 1, dtype=DTYPE))
    draw = lambda rng, count: drawn(rng, count, question, turned=name == "backward")  # noqa: E731
    return m, fit(m, tag_loss, draw, tag_accuracy, seed, steps)


def depth(count: int, residual: bool, lr: float, seed: int, steps: int = 400) -> Row:
    """The question "before", which one layer learns, for `count` layers that read forwards."""
    rng = np.random.default_rng(seed)
    rnn = stack(*(gru_init(rng, UNITS if i else TOKENS, UNITS, dtype=DTYPE) for i in range(count)), residual=residual)
    m = bundle(rnn=rnn, out=linear_init(rng, UNITS, 1, dtype=DTYPE))
    return fit(m, tag_loss, lambda rng, count: drawn(rng, count, "before"), tag_accuracy, seed, steps, lr)


# ----------------------------------------------------------------------------------------------- layers, normalised


def normalise(a: Any) -> tuple[Any, Any]:
    """Layer normalisation without parameters: each state minus its mean, over its deviation; and the cache."""
    centred = a - a.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / deviation, (centred / deviation, deviation)


def normalise_backward(dout: Any, cache: Any) -> Any:
    """The gradient of what was normalised."""
    out, deviation = cache
    along = (dout * out).mean(axis=-1, keepdims=True)
    return (dout - dout.mean(axis=-1, keepdims=True) - along * out) / deviation


def members(rnn: Any) -> list[Any]:
    """The layers of a stack, the lowest first."""
    return [layer for _, layer in rnn.members()]


def up(xs: Any, rnn: Any, lengths: Any) -> tuple[Any, list[Any]]:
    """Layer upon layer, each layer's outputs normalised."""
    tapes = []
    for layer in members(rnn):
        hs, _, tape = gru_forward(xs, None, layer, lengths=lengths)
        xs, cache = normalise(hs)
        tapes.append((tape, cache))
    return xs, tapes


def down(dhs: Any, tapes: list[Any], rnn: Any) -> tuple[Any, list[Any]]:
    """The gradients of the inputs, and of each layer's parameters."""
    grads = []
    for layer, (tape, cache) in zip(reversed(members(rnn)), reversed(tapes), strict=True):
        dhs, _, found = gru_backward(normalise_backward(dhs, cache), None, tape, layer)
        grads.append(found)
    return dhs, grads[::-1]


def normalised(count: int, lr: float, seed: int, steps: int = 400) -> Row:
    """`depth` for a plain stack whose layers' outputs are normalised; the same weights before training."""
    rng = np.random.default_rng(seed)
    rnn = stack(*(gru_init(rng, UNITS if i else TOKENS, UNITS, dtype=DTYPE) for i in range(count)))
    m = bundle(rnn=rnn, out=linear_init(rng, UNITS, 1, dtype=DTYPE))

    def loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
        hs, tapes = up(batch.xs, m.rnn, batch.lengths)
        logits, cache = linear_forward(hs, m.out)
        value, dlogits = bce_with_logits(logits, batch.ys, batch.asked[..., None])
        dhs, dout = linear_backward(dlogits, cache, m.out)
        return value, bundle(rnn=stack(*down(dhs, tapes, m.rnn)[1]), out=dout)

    def accuracy(m: Bundle, batch: Batch) -> float:
        return share_right(linear_forward(up(batch.xs, m.rnn, batch.lengths)[0], m.out)[0], batch)

    return fit(m, loss, lambda rng, count: drawn(rng, count, "before"), accuracy, seed, steps, lr)


Part = tuple[Callable[..., Any], tuple[tuple[Any, ...], ...], range]
PARTS: dict[str, Part] = {
    "ahead": (ahead, tuple((question, name) for question in QUESTIONS for name in LAYERS), SEEDS),
    "depth": (
        depth,
        tuple((count, residual, lr) for count in DEPTHS for residual in (False, True) for lr in (0.003, 0.01)),
        range(5 if fixed_kernels() else 2),
    ),
    "depth, normalised": (normalised, tuple((count, lr) for count in (16, 24) for lr in (0.003, 0.01)), range(3)),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments, rounding=digits(4))


if __name__ == "__main__":
    main(sys.argv[1:])
