"""Training runs of chapter 15 that take minutes, stored in deep.json. To rerun them:

``python tools/environment.py python -m experiments.deep [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, of the parts "hidden…" all,
into deep_own.json. Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
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
    elman_init,
    gru_backward,
    gru_forward,
    gru_init,
    linear_backward,
    linear_forward,
    linear_init,
    reverse,
    sigmoid,
    stack,
    train,
)
from gru_lib.tasks.ahead import LETTERS, QUESTIONS, TOKENS, Batch, delayed, marks, next_mark
from gru_lib.tasks.ahead import _mark_before as mark_before

STORED = file_for_kernels("deep")
SEEDS = range(10 if fixed_kernels() else 3)
DTYPE = np.float32

T, N, UNITS, LR = 24, 32, 12, 0.01
LAYERS = ("forward", "backward", "two forward", "bidirectional", "two bidirectional")
REVERSALS = ("within the length", "array, lengths kept", "array, no lengths")
DELAYS = (0, 1, 2, 4, 8)
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
    return asked_of(question, name, seed, steps)[1]


def asked_of(question: str, name: str, seed: int, steps: int) -> tuple[Bundle, Row]:
    """The trained net of `ahead`, and its result."""
    rng = np.random.default_rng(seed)
    rnn = layers(name, rng, TOKENS, UNITS)
    m = bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), 1, dtype=DTYPE))
    draw = lambda rng, count: drawn(rng, count, question, turned=name == "backward")  # noqa: E731
    return m, fit(m, tag_loss, draw, tag_accuracy, seed, steps)


def hidden(units: int, lr: float, seed: int, steps: int = 2000, larger: float = 1) -> Row:
    """The question "same" for one bidirectional layer with a hidden layer of tanh units before the answer.

    The weights of the hidden layer are `larger` times as large before training.
    """
    rng = np.random.default_rng(seed)
    rnn = layers("bidirectional", rng, TOKENS, UNITS)
    meet, out = linear_init(rng, 2 * UNITS, units, dtype=DTYPE), linear_init(rng, units, 1, dtype=DTYPE)
    meet.W *= larger
    m = bundle(rnn=rnn, meet=meet, out=out)
    return fit(m, hidden_loss, lambda rng, count: drawn(rng, count, "same"), hidden_accuracy, seed, steps, lr)


def hidden_larger(units: int, lr: float, seed: int) -> Row:
    """`hidden` with four times as large weights, half of its steps; and what `held` finds of the same net untrained."""
    untrained = layers("bidirectional", np.random.default_rng(seed), TOKENS, UNITS)
    return hidden(units, lr, seed, steps=1000, larger=4) | {"held": held(untrained)}


def held(rnn: Any) -> list[float]:
    """Can a line read off the states of a bidirectional layer, at the letters asked, the previous and the next mark?

    Each off the half that has read it, fitted by least squares on 1,000 sequences; the shares right on 1,000 others.
    """
    shares = []
    for question, half in (("before", slice(None, UNITS)), ("after", slice(UNITS, None))):
        (X, y), (X_new, y_new) = (at_letters(rnn, drawn(10_000 + k, 1000, question), half) for k in (2, 3))
        line = np.linalg.lstsq(X, 2.0 * y - 1, rcond=None)[0]
        shares.append(float(((X_new @ line > 0) == y_new).mean()))
    return shares


def at_letters(rnn: Any, batch: Batch, half: slice) -> tuple[Any, Any]:
    """One half's states at the letters asked, with a 1 beside them; and the right answers."""
    hs = cell_of(rnn).forward(batch.xs, None, rnn, lengths=batch.lengths)[0][..., half][batch.asked]
    return np.column_stack([hs, np.ones(len(hs))]), batch.ys[..., 0][batch.asked] == 1


def taught(units: int, lr: float, seed: int, steps: int = 400) -> Row:
    """`hidden`, but first each half learns its own mark: the forward one "before", the backward one "after".

    With its three times 400 steps it sees fewer batches than `hidden`.
    """
    rng = np.random.default_rng(1_000 + seed)
    halves = (asked_of("before", "forward", seed, steps), asked_of("after", "backward", seed, steps))
    meet, out = linear_init(rng, 2 * UNITS, units, dtype=DTYPE), linear_init(rng, units, 1, dtype=DTYPE)
    m = bundle(rnn=bidirectional(*(half.rnn for half, _ in halves)), meet=meet, out=out)
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

    "probe" and "untrained" are what `probe` finds in the lower layer after and before training; the rest is from
    `exchanged`.
    """
    m, before, found = trained_relay(units, seed, steps)
    return found | {"probe": probe(m.rnn), "untrained": before} | exchanged(m)


def trained_relay(units: int, seed: int, steps: int) -> tuple[Bundle, float, Row]:
    """The net of `relay`, what `probe` found before training, and its result."""
    rng = np.random.default_rng(seed)
    rnn, back = layers("one", rng, TOKENS, units), layers("one", rng, units, units)
    m = bundle(rnn=rnn, back=back, out=linear_init(rng, units, 1, dtype=DTYPE))
    before = probe(m.rnn)
    found = fit(m, relay_loss, lambda rng, count: drawn(rng, count, "same"), relay_accuracy, seed, steps)
    return m, before, found


def relay_letters(units: int, seed: int, steps: int = 400) -> Row:
    """Where a relay compares: shares of the answers d letters before the next mark that change, by d.

    "own": if the lower layer's states at all letters with that d are exchanged for those of the same letter after the
    other last mark; "nearer": at all letters with a smaller d; the controls after a last mark that is the same.
    """
    m, _, found = trained_relay(units, seed, steps)
    batch, rng = drawn(10_004, 1000, "same"), np.random.default_rng(0)
    hs, tokens = gru_forward(batch.xs, None, m.rnn, lengths=batch.lengths)[0], batch.tokens
    last, away = mark_before(tokens), next_mark(tokens)
    letter = (last >= 0) & (tokens >= 0) & (tokens < LETTERS)
    said = upper_logits(m, hs, batch)[0][..., 0] > 0

    def changed(where: Any, other: bool, asked: Any) -> float:
        given = hs.copy()
        for token in range(LETTERS):
            for mark in (LETTERS, LETTERS + 1):
                here = where & (tokens == token) & (last == mark)
                wanted = 2 * LETTERS + 1 - mark if other else mark
                there = np.argwhere(letter & (tokens == token) & (last == wanted))
                given[here] = hs[tuple(there[rng.choice(len(there), here.sum())].T)]
        return float((said != (upper_logits(m, given, batch)[0][..., 0] > 0))[asked].mean())

    for d in (1, 2, 4, 6):
        asked = batch.asked & (away == d)
        for name, where in (("own", letter & (away == d)), ("nearer", letter & (away < d))):
            if where.any():
                found[f"{name} {d}"] = [changed(where, other, asked) for other in (True, False)]
    return found


def above(kind: str, seed: int) -> Row:
    """The question "same" for a bidirectional layer with an "elman" layer on it, or "gated" units without a state."""
    rng = np.random.default_rng(seed)
    rnn = layers("bidirectional", rng, TOKENS, UNITS)
    draw = lambda rng, count: drawn(rng, count, "same")  # noqa: E731
    if kind == "elman":
        rnn = stack(rnn, elman_init(rng, 2 * UNITS, UNITS, dtype=DTYPE))
        m = bundle(rnn=rnn, out=linear_init(rng, UNITS, 1, dtype=DTYPE))
        return fit(m, tag_loss, draw, tag_accuracy, seed, 400)
    meet, gate = (linear_init(rng, 2 * UNITS, UNITS, dtype=DTYPE) for _ in range(2))
    m = bundle(rnn=rnn, meet=meet, gate=gate, out=linear_init(rng, UNITS, 1, dtype=DTYPE))
    return fit(m, gated_loss, draw, lambda m, b: share_right(gated_logits(m, b)[0], b), seed, 1000, 0.03)


def gated_logits(m: Bundle, batch: Batch) -> tuple[Any, Any]:
    """`hidden_logits` with sigma(.) * tanh(.) in the place of tanh(.)."""
    hs, _, tape = cell_of(m.rnn).forward(batch.xs, None, m.rnn, lengths=batch.lengths)
    (a, meet), (b, gate) = linear_forward(hs, m.meet), linear_forward(hs, m.gate)
    u, s = np.tanh(a), sigmoid(b)
    logits, out = linear_forward(s * u, m.out)
    return logits, (tape, meet, gate, u, s, out)


def gated_loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
    """`hidden_loss` of `gated_logits`."""
    logits, (tape, meet, gate, u, s, out) = gated_logits(m, batch)
    loss, dlogits = bce_with_logits(logits, batch.ys, batch.asked[..., None])
    dv, dout = linear_backward(dlogits, out, m.out)
    dhs, dmeet = linear_backward(dv * s * (1 - u * u), meet, m.meet)
    more, dgate = linear_backward(dv * u * s * (1 - s), gate, m.gate)
    drnn = cell_of(m.rnn).backward(dhs + more, None, tape, m.rnn)[2]
    return loss, bundle(rnn=drnn, meet=dmeet, gate=dgate, out=dout)


def probe(p: Any) -> float:
    """Can a line read off the states of a forward layer, at each mark, whether it equals the mark before it?

    Fitted by least squares on 1,000 sequences; the share right on 1,000 others.
    """
    (X, y), (X_new, y_new) = (at_marks(p, drawn(10_000 + k, 1000, "same")) for k in (2, 3))
    line = np.linalg.lstsq(X, 2.0 * y - 1, rcond=None)[0]
    return float(((X_new @ line > 0) == y_new).mean())


def exchanged(m: Bundle) -> dict[str, float]:
    """Share of a relay's answers that change if states of the lower layer are exchanged for others, place by place.

    "compared": at each mark the state of another mark, of the same kind, + or −, that compares otherwise with the mark
    before it. "mark": of the other kind, that compares alike. "letter": at each letter the state of the same letter
    after the other mark. "marks alike" and "letters alike", the controls: of a place that is the same in this.
    """
    batch, rng = drawn(10_004, 1000, "same"), np.random.default_rng(0)
    hs, tokens = gru_forward(batch.xs, None, m.rnn, lengths=batch.lengths)[0], batch.tokens
    same, last = kinds(tokens), mark_before(tokens)
    at_mark, at_letter = same >= 0, (last >= 0) & (tokens >= 0) & (tokens < LETTERS)
    plus, minus = LETTERS, LETTERS + 1
    said = upper_logits(m, hs, batch)[0] > 0

    def changed(where: Any, key: Any, wanted: Any) -> float:
        given = hs.copy()
        for k in np.unique(key[where]):
            here = where & (key == k)
            there = np.argwhere(where & (key == wanted(k)))
            given[here] = hs[tuple(there[rng.choice(len(there), here.sum())].T)]
        return float((said != (upper_logits(m, given, batch)[0] > 0))[batch.asked].mean())

    marks_key, letters_key = 2 * tokens + same, 10 * tokens + last
    return {
        "compared": changed(at_mark, marks_key, lambda k: k ^ 1),
        "mark": changed(at_mark, marks_key, lambda k: 2 * (plus + minus - k // 2) + k % 2),
        "letter": changed(at_letter, letters_key, lambda k: k - k % 10 + plus + minus - k % 10),
        "marks alike": changed(at_mark, marks_key, lambda k: k),
        "letters alike": changed(at_letter, letters_key, lambda k: k),
    }


def kinds(tokens: Any) -> Any:
    """At each mark whether it equals the mark before it, 1 or 0; -1 where there is no mark, or none before."""
    last = mark_before(tokens)
    return np.where((tokens >= LETTERS) & (last >= 0), tokens == last, -1)


def at_marks(p: Any, batch: Batch) -> tuple[Any, Any]:
    """The states at every mark but the first of a sequence, with a 1 beside them; and whether it equals the last."""
    hs, same = gru_forward(batch.xs, None, p, lengths=batch.lengths)[0], kinds(batch.tokens)
    states = hs[same >= 0]
    return np.column_stack([states, np.ones(len(states))]), same[same >= 0] == 1


def relay_logits(m: Bundle, batch: Batch) -> tuple[Any, Any]:
    """The logits, (T, N, 1), and what `relay_loss` needs for its way back."""
    hs, _, tape = gru_forward(batch.xs, None, m.rnn, lengths=batch.lengths)
    logits, above = upper_logits(m, hs, batch)
    return logits, (tape, *above)


def upper_logits(m: Bundle, hs: Any, batch: Batch) -> tuple[Any, Any]:
    """The logits of a relay of what its lower layer put out."""
    back, _, tape_back = gru_forward(reverse(hs, batch.lengths), None, m.back, lengths=batch.lengths)
    logits, out = linear_forward(reverse(back, batch.lengths), m.out)
    return logits, (tape_back, out)


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


def depth(count: int, residual: bool, lr: float, seed: int, steps: int = 400, larger: float = 1) -> Row:
    """The question "before", which one layer learns, for `count` layers that read forwards.

    The candidates' input weights of all but the lowest are `larger` times as large before training.
    """
    rng = np.random.default_rng(seed)
    rnn = stack(*(gru_init(rng, UNITS if i else TOKENS, UNITS, dtype=DTYPE) for i in range(count)), residual=residual)
    for layer in (getattr(rnn, f"layer{k}") for k in range(1, count)):
        layer.W_xn *= larger
    m = bundle(rnn=rnn, out=linear_init(rng, UNITS, 1, dtype=DTYPE))
    return fit(m, tag_loss, lambda rng, count: drawn(rng, count, "before"), tag_accuracy, seed, steps, lr)


Part = tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]
TUNING: dict[str, Part] = {"hidden rates": (hidden, ((12, 0.003), (12, 0.01), (48, 0.01)), range(3))}
PARTS: dict[str, Part] = (TUNING if fixed_kernels() else {}) | {
    "ahead": (ahead, tuple((question, name) for question in QUESTIONS for name in LAYERS), SEEDS),
    "hidden": (hidden, ((12, 0.03), (12, 0.1)), range(10)),
    "hidden, wider": (hidden, ((48, 0.03), (48, 0.1)), range(10)),
    "hidden, larger": (hidden_larger, tuple((units, lr) for units in (12, 48) for lr in (0.03, 0.1)), range(10)),
    "taught": (taught, ((12, 0.01), (12, 0.03)), range(10)),
    "relay": (relay, ((UNITS,),), SEEDS),
    "relay, letters": (relay_letters, ((UNITS,),), SEEDS),
    "above": (above, (("elman",), ("gated",)), SEEDS),
    "delay": (delay, tuple((d,) for d in DELAYS), SEEDS),
    "reversal": (reversal, tuple((how,) for how in REVERSALS), SEEDS),
    "depth": (
        depth,
        tuple((count, residual, lr) for count in DEPTHS for residual in (False, True) for lr in (0.003, 0.01)),
        range(5 if fixed_kernels() else 2),
    ),
    "depth, larger": (partial(depth, larger=3), ((24, False, 0.003),), range(5 if fixed_kernels() else 2)),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
