"""Training runs of chapter 15 that take minutes, stored in deep.json. To rerun them:

``python tools/environment.py python -m experiments.deep [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, of "hidden" all, into
deep_own.json. Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_lib import (
    Adam,
    Bundle,
    bce_with_logits,
    bidirectional,
    bundle,
    cell_of,
    cosine_decay,
    gru_backward,
    gru_forward,
    gru_init,
    linear_backward,
    linear_forward,
    linear_init,
    reverse,
    softmax_cross_entropy,
    stack,
    train,
)
from gru_lib.layers import BidirectionalParams
from gru_lib.tasks.ahead import LETTERS, QUESTIONS, TOKENS, Batch, delayed, marks
from gru_lib.tasks.digits import CLASSES, as_sequence, digits

STORED = file_for_kernels("deep")
SEEDS = range(10 if fixed_kernels() else 3)
DTYPE = np.float32

T, N, UNITS, LR = 24, 32, 12, 0.01
LAYERS = ("forward", "backward", "two forward", "bidirectional", "two bidirectional")
REVERSALS = ("within the length", "array, lengths kept", "array, no lengths")
DELAYS = (0, 1, 2, 4, 8)

#: Units of each layer, so that all three have about as many parameters (`tests/test_chapter15.py` counts them).
WIDTHS = {"row": {"one": 64, "two": 38, "bidirectional": 44}, "pixel": {"one": 48, "two": 28, "bidirectional": 33}}
BIAS, EPOCHS, BATCH = {"row": 0.0, "pixel": 2.0}, {"row": 30, "pixel": 40}, 50

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


def drawn(seed: Any, count: int, question: str, *, turned: bool = False, d: int = 0) -> Batch:
    """A batch in float32; with `turned`, each sequence reversed within its length."""
    batch = marks(np.random.default_rng(seed) if isinstance(seed, int) else seed, count, T, question)
    batch = delayed(batch, d)
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
    rng = np.random.default_rng(seed)
    rnn = layers(name, rng, TOKENS, UNITS)
    m = bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), 1, dtype=DTYPE))
    draw = lambda rng, count: drawn(rng, count, question, turned=name == "backward")  # noqa: E731
    return fit(m, tag_loss, draw, tag_accuracy, seed, steps)


def hidden(units: int, lr: float, seed: int, steps: int = 2000) -> Row:
    """The question "same" for one bidirectional layer with a hidden layer of tanh units before the answer."""
    rng = np.random.default_rng(seed)
    rnn = layers("bidirectional", rng, TOKENS, UNITS)
    meet, out = linear_init(rng, 2 * UNITS, units, dtype=DTYPE), linear_init(rng, units, 1, dtype=DTYPE)
    m = bundle(rnn=rnn, meet=meet, out=out)
    return fit(m, hidden_loss, lambda rng, count: drawn(rng, count, "same"), hidden_accuracy, seed, steps, lr)


def hidden_logits(m: Bundle, batch: Batch) -> tuple[Any, Any]:
    """The logits, (T, N, 1), and what `hidden_loss` needs for its way back."""
    hs, _, tape = cell_of(m.rnn).forward(batch.xs, None, m.rnn, lengths=batch.lengths)
    a, meet = linear_forward(hs, m.meet)
    u = np.tanh(a)
    logits, out = linear_forward(u, m.out)
    return logits, (tape, meet, u, out)


def hidden_loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
    """`tag_loss` with a hidden layer."""
    logits, (tape, meet, u, out) = hidden_logits(m, batch)
    loss, dlogits = bce_with_logits(logits, batch.ys, batch.asked[..., None])
    du, dout = linear_backward(dlogits, out, m.out)
    dhs, dmeet = linear_backward(du * (1 - u * u), meet, m.meet)
    return loss, bundle(rnn=cell_of(m.rnn).backward(dhs, None, tape, m.rnn)[2], meet=dmeet, out=dout)


def hidden_accuracy(m: Bundle, batch: Batch) -> float:
    """Share of the answers that are right."""
    return share_right(hidden_logits(m, batch)[0], batch)


def relay(units: int, seed: int, steps: int = 400) -> Row:
    """The question "same" for a layer that reads forwards and, on top of it, one that reads backwards.

    "probe" and "untrained" are what `probe` finds in the lower layer after and before training.
    """
    rng = np.random.default_rng(seed)
    rnn, back = layers("one", rng, TOKENS, units), layers("one", rng, units, units)
    m = bundle(rnn=rnn, back=back, out=linear_init(rng, units, 1, dtype=DTYPE))
    before = probe(m.rnn)
    found = fit(m, relay_loss, lambda rng, count: drawn(rng, count, "same"), relay_accuracy, seed, steps)
    return found | {"probe": probe(m.rnn), "untrained": before}


def probe(p: Any) -> float:
    """Can a line read off the states of a forward layer, at each mark, whether it equals the mark before it?

    Fitted by least squares on 1,000 sequences; the share right on 1,000 others.
    """
    (X, y), (X_new, y_new) = (at_marks(p, drawn(10_000 + k, 1000, "same")) for k in (2, 3))
    line = np.linalg.lstsq(X, 2.0 * y - 1, rcond=None)[0]
    return float(((X_new @ line > 0) == y_new).mean())


def at_marks(p: Any, batch: Batch) -> tuple[Any, Any]:
    """The states at every mark but the first of a sequence, with a 1 beside them; and whether it equals the last."""
    hs, tokens = gru_forward(batch.xs, None, p, lengths=batch.lengths)[0], batch.tokens
    last, rows = np.full(tokens.shape[1], -1), []
    for h, token in zip(hs, tokens, strict=True):
        mark = token >= LETTERS
        rows.append((h[mark & (last >= 0)], (token == last)[mark & (last >= 0)]))
        last = np.where(mark, token, last)
    states, same = (np.concatenate(part) for part in zip(*rows, strict=True))
    return np.column_stack([states, np.ones(len(states))]), same


def relay_logits(m: Bundle, batch: Batch) -> tuple[Any, Any]:
    """The logits, (T, N, 1), and what `relay_loss` needs for its way back."""
    hs, _, tape = gru_forward(batch.xs, None, m.rnn, lengths=batch.lengths)
    back, _, tape_back = gru_forward(reverse(hs, batch.lengths), None, m.back, lengths=batch.lengths)
    logits, out = linear_forward(reverse(back, batch.lengths), m.out)
    return logits, (tape, tape_back, out)


def relay_loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
    """`tag_loss` of the two layers."""
    logits, (tape, tape_back, out) = relay_logits(m, batch)
    loss, dlogits = bce_with_logits(logits, batch.ys, batch.asked[..., None])
    dread, dout = linear_backward(dlogits, out, m.out)
    dhs, _, dback = gru_backward(reverse(dread, batch.lengths), None, tape_back, m.back)
    return loss, bundle(rnn=gru_backward(reverse(dhs, batch.lengths), None, tape, m.rnn)[2], back=dback, out=dout)


def relay_accuracy(m: Bundle, batch: Batch) -> float:
    """Share of the answers that are right."""
    return share_right(relay_logits(m, batch)[0], batch)


def delay(d: int, seed: int, steps: int = 600) -> Row:
    """The question "after" for one forward layer that may answer d steps later."""
    rng = np.random.default_rng(seed)
    m = bundle(rnn=layers("forward", rng, TOKENS, 32), out=linear_init(rng, 32, 1, dtype=DTYPE))
    return fit(m, tag_loss, lambda rng, count: drawn(rng, count, "after", d=d), tag_accuracy, seed, steps)


def reversal(how: str, seed: int, steps: int = 400) -> Row:
    """The question "after" for a bidirectional layer whose backward half gets its input reversed rightly or wrongly."""
    rng = np.random.default_rng(seed)
    m = bundle(rnn=layers("bidirectional", rng, TOKENS, UNITS), out=linear_init(rng, 2 * UNITS, 1, dtype=DTYPE))

    def turn(a: Any, lengths: Any) -> Any:
        return reverse(a, lengths) if how == "within the length" else a[::-1]

    def run(m: Bundle, batch: Batch) -> Any:
        hs, _, tape = gru_forward(batch.xs, None, m.rnn.forward, lengths=batch.lengths)
        kept = None if how == "array, no lengths" else batch.lengths
        back, _, tape_b = gru_forward(turn(batch.xs, batch.lengths), None, m.rnn.backward, lengths=kept)
        logits, cache = linear_forward(np.concatenate([hs, turn(back, batch.lengths)], axis=2), m.out)
        return logits, cache, tape, tape_b

    def loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
        logits, cache, tape, tape_b = run(m, batch)
        value, dlogits = bce_with_logits(logits, batch.ys, batch.asked[..., None])
        dhs, dout = linear_backward(dlogits, cache, m.out)
        grads = gru_backward(dhs[..., :UNITS], None, tape, m.rnn.forward)[2]
        grads_b = gru_backward(turn(dhs[..., UNITS:], batch.lengths), None, tape_b, m.rnn.backward)[2]
        return value, bundle(rnn=bidirectional(grads, grads_b), out=dout)

    def accuracy(m: Bundle, batch: Batch) -> float:
        return share_right(run(m, batch)[0], batch)

    return fit(m, loss, lambda rng, count: drawn(rng, count, "after"), accuracy, seed, steps)


# --------------------------------------------------------------------------------------------------- digits


def read(hs: Any, p: Any) -> Any:
    """The outputs that have seen the whole image: the last one, and of a backward layer the first."""
    if not isinstance(p, BidirectionalParams):
        return hs[-1]
    H = p.forward.H
    return np.concatenate([hs[-1, :, :H], hs[0, :, H:]], axis=1)


def read_backward(d: Any, shape: tuple[int, ...], p: Any) -> Any:
    """Backward through `read`: zero everywhere else."""
    dhs = np.zeros(shape, d.dtype)
    if not isinstance(p, BidirectionalParams):
        dhs[-1] = d
    else:
        H = p.forward.H
        dhs[-1, :, :H], dhs[0, :, H:] = d[:, :H], d[:, H:]
    return dhs


def digit_loss(m: Bundle, batch: tuple[Any, Any]) -> tuple[Any, Bundle]:
    """The mean cross-entropy of the class, and its gradient."""
    (xs, labels), cell = batch, cell_of(m.rnn)
    hs, _, tape = cell.forward(xs, None, m.rnn)
    logits, cache = linear_forward(read(hs, m.rnn), m.out)  # (N, 10)
    loss, dlogits = softmax_cross_entropy(logits, labels)
    dend, dout = linear_backward(dlogits, cache, m.out)
    return loss, bundle(rnn=cell.backward(read_backward(dend, hs.shape, m.rnn), None, tape, m.rnn)[2], out=dout)


def digit_accuracy(m: Bundle, xs: Any, labels: Any) -> float:
    """Share of the images classified correctly."""
    logits = linear_forward(read(cell_of(m.rnn).forward(xs, None, m.rnn)[0], m.rnn), m.out)[0]
    return float((logits.argmax(axis=1) == labels).mean())


def classifier(name: str, by: str, rng: np.random.Generator) -> Bundle:
    """Layers whose widths give each about as many parameters, with every update bias from `BIAS`."""
    rnn = layers(name, rng, 8 if by == "row" else 1, WIDTHS[by][name])
    for layer in (rnn,) if name == "one" else (member for _, member in rnn.members()):
        layer.b_z[:] = BIAS[by]
    return bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), CLASSES, dtype=DTYPE))


def digit(by: str, name: str, seed: int, epochs: int | None = None) -> Row:
    """Train on the digits with a learning rate that decays to zero; accuracy on all three parts."""
    parts = digits()
    data = {part: as_sequence(getattr(parts, part).images, by).astype(DTYPE) for part in parts._fields}
    m, rng = classifier(name, by, np.random.default_rng(seed)), np.random.default_rng(1000 + seed)
    count = len(parts.train.labels)
    steps = (epochs or EPOCHS[by]) * count // BATCH

    def batches() -> Iterator[tuple[Any, Any]]:
        while True:
            for rows in rng.permutation(count).reshape(-1, BATCH):
                yield data["train"][:, rows], parts.train.labels[rows]

    train(
        m,
        digit_loss,
        batches(),
        Adam(m, LR),
        steps=steps,
        schedule=cosine_decay(LR, steps),
        clip_norm=1.0,
        progress=False,
    )
    return {part: digit_accuracy(m, data[part], getattr(parts, part).labels) for part in parts._fields}


Part = tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]
TUNING: dict[str, Part] = {"hidden rates": (hidden, ((12, 0.003), (12, 0.01), (48, 0.01)), range(3))}
PARTS: dict[str, Part] = (TUNING if fixed_kernels() else {}) | {
    "ahead": (ahead, tuple((question, name) for question in QUESTIONS for name in LAYERS), SEEDS),
    "hidden": (hidden, ((12, 0.03), (12, 0.1)), range(10)),
    "relay": (relay, ((UNITS,),), SEEDS),
    "delay": (delay, tuple((d,) for d in DELAYS), SEEDS),
    "reversal": (reversal, tuple((how,) for how in REVERSALS), SEEDS),
    "row": (digit, tuple(("row", name) for name in WIDTHS["row"]), SEEDS),
    "pixel": (digit, tuple(("pixel", name) for name in WIDTHS["pixel"]), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
