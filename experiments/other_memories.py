"""Training runs of chapter 13, stored in other_memories.json. To rerun them:

``python tools/environment.py python -m experiments.other_memories [PART …]``

``net`` makes the net of the chapter's explorer, gru_book/widgets/stack-net.json. Every run has its own seed, so any of
them can be repeated alone. Stored runs are not repeated: delete those that you want to make again. float32. With
``KERNELS=own`` before it, three of the seeds, and all ten where only some of them learn to add, run with this
processor's own kernels, into other_memories_own.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._store import chosen, digits, file_for_kernels, fixed_kernels, load, make, replace, seeded
from gru_book.cells import ntm_init, scrn_init, stack_rnn_init
from gru_book.models.reader import reader_accuracy, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.adding import adding
from gru_book.tasks.strings import brackets, copy, recall, reverse
from gru_lib import (
    Adam,
    Bundle,
    bundle,
    cell_of,
    cosine_decay,
    elman_init,
    gru_init,
    linear_backward,
    linear_forward,
    linear_init,
    lstm_init,
    softmax_cross_entropy,
    train,
)
from gru_lib.cells import irnn_init

STORED = file_for_kernels("other_memories")
NET = Path(__file__).parents[1] / "gru_book" / "widgets" / "stack-net.json"
Row = dict[str, Any]
Draw = Callable[[np.random.Generator, int, int], Any]  # draw(rng, N, length)


def single(batch: Any) -> Any:
    """The batch in float32."""
    return batch._replace(xs=batch.xs.astype(np.float32), ys=batch.ys.astype(np.float32))


# ---------------------------------------------------------------------------------------------- the adding problem

UNITS = 32
CELLS: dict[str, Callable[..., Any]] = {
    "Elman": elman_init,
    "Elman, orthogonal": partial(elman_init, init="orthogonal"),
    "IRNN": irnn_init,
    "SCRN": partial(scrn_init, C=8),
    "GRU": gru_init,
    "LSTM": lstm_init,
}
SLOW = {"SCRN": 0.95, "SCRN, 0.99": 0.99}  # α, the share of the context that each step keeps


def adder(rng: np.random.Generator, cell: str, dtype: Any = np.float32) -> Bundle:
    """A cell of 32 units that reads numbers and marks, and a linear layer that reads its last output."""
    if cell in SLOW:
        rnn = scrn_init(rng, D=2, H=UNITS, C=8, alpha=SLOW[cell], dtype=dtype)
    else:
        rnn = CELLS[cell](rng, D=2, H=UNITS, dtype=dtype)
    return bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), 1, dtype=dtype))


def adder_loss(m: Bundle, batch: Any) -> tuple[Any, Bundle]:
    """The mean squared error of the answer after the last step, and its gradient."""
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(batch.xs, None, m.rnn)
    y, cache = linear_forward(hs[-1], m.out)  # (N, 1)
    error = y - batch.ys
    dhs = np.zeros_like(hs)
    dhs[-1], dout = linear_backward(2 * error / error.size, cache, m.out)
    return (error * error).mean(), bundle(rnn=cell.backward(dhs, None, tape, m.rnn)[2], out=dout)


def add(cell: str, T: int, seed: int, *, lr: float, steps: int, product: bool = False) -> Row:
    """Train on fresh rows; the error on held-out rows, every 100 steps. `product`: see `multiplied`."""
    rng = np.random.default_rng(seed)
    change = multiplied if product else lambda batch: batch
    m, test = adder(rng, cell), single(change(adding(np.random.default_rng(10_001), 500, T)))

    errors: list[float] = []

    def error(p: Bundle) -> dict[str, float]:
        y = linear_forward(cell_of(p.rnn).forward(test.xs, None, p.rnn)[0][-1], p.out)[0]
        errors.append(float(((y - test.ys) ** 2).mean()))
        return {"error": errors[-1]}

    source = (single(change(adding(rng, 32, T))) for _ in iter(int, 1))
    how: Row = {"steps": steps, "clip_norm": 1.0, "evaluate": error, "every": 100, "progress": False}
    with suppress(FloatingPointError):
        train(m, adder_loss, source, Adam(m, lr), **how)
    return {"size": m.size, "error": errors}


def multiplied(batch: Any) -> Any:
    """The same rows with the number already multiplied by its mark."""
    xs = batch.xs.copy()
    xs[:, :, 0] *= xs[:, :, 1]
    return batch._replace(xs=xs)


def rate(cell: str, lr: float, seed: int) -> Row:
    """A short training at T = 50 to choose the learning rate. The seeds are not those of the tables."""
    return add(cell, 50, 100 + seed, lr=lr, steps=1000)


def longer(cell: str, lr: float, seed: int) -> Row:
    """4,000 steps at T = 50, at each rate. A training whose loss overflows has the errors up to there."""
    return add(cell, 50, 100 + seed, lr=lr, steps=4000)


def further(cell: str, lr: float, seed: int) -> Row:
    """10,000 steps at T = 100, at each rate."""
    return add(cell, 100, 100 + seed, lr=lr, steps=10_000)


LENGTHS = (50, 100, 200, 400, 1000)


def beyond(cell: str, steps: int, seed: int) -> Row:
    """Train at T = 50, at the cell's best rate; error and largest number in the last state, at several lengths."""
    rng = np.random.default_rng(seed)
    m = adder(rng, cell)
    source = (single(adding(rng, 32, 50)) for _ in iter(int, 1))
    train(m, adder_loss, source, Adam(m, best_rate(cell)), steps=steps, clip_norm=1.0, progress=False)
    found: Row = {}
    for T in LENGTHS:
        test = single(adding(np.random.default_rng(10_001), 500, T))
        last = cell_of(m.rnn).forward(test.xs, None, m.rnn)[0][-1]
        error = ((linear_forward(last, m.out)[0] - test.ys) ** 2).mean()
        found[str(T)] = [float(error), float(np.abs(last).max())]
    return found


def best_rate(cell: str) -> float:
    """The rate with the lowest median error at the end of the stored trials; the lower rate breaks ties."""
    trials = [row for row in load(FOLDER / "other_memories.json")["rates"] if row[0] == cell]
    ends = {lr: np.median([row[-1]["error"][-1] for row in trials if row[1] == lr]) for lr in RATES}
    return min(RATES, key=lambda lr: ends[lr])


def addition(cell: str, T: int, seed: int) -> Row:
    """2,000 steps at the cell's best rate."""
    return add(cell, T, seed, lr=best_rate(cell), steps=2000)


#: Which entries of an IRNN's W_h training may change: none, each unit's own, those between units, all.
FREE: dict[str, Callable[[Any], Any]] = {
    "none": np.zeros_like,
    "own": lambda own: own,
    "between": lambda own: 1 - own,
    "all": np.ones_like,
}


def kept(free: str, seed: int, T: int = 50) -> Row:
    """An IRNN of whose W_h only some entries may leave the identity; how far it went, and its least own entry."""
    rng = np.random.default_rng(seed)
    m, test = adder(rng, "IRNN"), single(adding(np.random.default_rng(10_001), 500, T))
    may = FREE[free](np.eye(UNITS, dtype=np.float32))

    def loss(p: Bundle, batch: Any) -> tuple[Any, Bundle]:
        value, grads = adder_loss(p, batch)
        grads.rnn.W_h[:] *= may
        return value, grads

    source = (single(adding(rng, 32, T)) for _ in iter(int, 1))
    train(m, loss, source, Adam(m, best_rate("IRNN")), steps=2000, clip_norm=1.0, progress=False)
    away = np.linalg.norm(m.rnn.W_h - np.eye(UNITS)) / np.sqrt(UNITS)
    return {"error": float(adder_loss(m, test)[0]), "away": float(away), "least": float(np.diag(m.rnn.W_h).min())}


def slow(cell: str, product: bool, seed: int) -> Row:
    """Why the SCRN cannot add: its memory is linear in the inputs. Given the products, it only has to sum."""
    return add(cell, 100, seed, lr=best_rate("SCRN"), steps=2000, product=product)


# -------------------------------------------------------------------------------- strings, with a memory and without

STRINGS: dict[str, Draw] = {"reverse": reverse, "brackets": brackets, "copy": copy}
SIZES = {"reverse": (5, 4), "brackets": (4, 3), "copy": (7, 6)}  # of inputs and of answers
TRAINED = {"reverse": 8, "brackets": 24, "copy": 5}  # the longest strings in training; the shortest have length 1
TESTED = (1, 2, 4, 8, 16)  # multiples of that length
STEPS = {"GRU": 4000, "LSTM": 4000, "stack": 1000, "NTM": 1000}  # the baseline, which learns last, gets most


def speaker(rng: np.random.Generator, kind: str, task: str, *, pop: float = 0.0, dtype: Any = np.float32) -> Bundle:
    """A GRU, a GRU with a stack, or a Neural Turing Machine, and a linear layer that answers."""
    D, K = SIZES[task]
    if kind == "stack":
        rnn: Any = stack_rnn_init(rng, D, 32, 8, dtype=dtype)
        rnn.act.b[1] = pop
    elif kind == "NTM":
        rnn = ntm_init(rng, D, 32, R=32, M=8, dtype=dtype)
    elif kind == "LSTM":
        rnn = lstm_init(rng, D, 55, dtype=dtype)  # as many parameters as a GRU of 64
    else:
        rnn = gru_init(rng, D, 64, dtype=dtype)
    return bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), K, dtype=dtype))


def classes(batch: Any, K: int) -> Any:
    """The index of the letter asked for; K − 1 where there is none."""
    return np.where(batch.ys.any(axis=-1), batch.ys.argmax(axis=-1), K - 1)


def letter_loss(m: Bundle, batch: Any) -> tuple[Any, Bundle]:
    """The mean cross-entropy of the asked letters, and its gradient in every parameter."""
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(batch.xs, None, m.rnn)
    logits, cache = linear_forward(hs, m.out)  # (T, N, K)
    loss, dlogits = softmax_cross_entropy(logits, classes(batch, logits.shape[-1]), batch.asked.astype(hs.real.dtype))
    dhs, dout = linear_backward(dlogits, cache, m.out)
    return loss, bundle(rnn=cell.backward(dhs, None, tape, m.rnn)[2], out=dout)


def right(m: Bundle, batch: Any, loss: str = "softmax") -> list[float]:
    """Shares of the answers, and of whole strings, that are right."""
    if loss == "bits":
        return list(reader_accuracy(m, batch))
    logits = linear_forward(cell_of(m.rnn).forward(batch.xs, None, m.rnn)[0], m.out)[0]
    good = logits.argmax(axis=-1) == classes(batch, logits.shape[-1])
    return [float(good[batch.asked].mean()), float((good | ~batch.asked).all(axis=0).mean())]


def fit(
    m: Bundle, rng: np.random.Generator, task: str, steps: int, loss: str = "softmax", schedule: Any = None
) -> None:
    """Train on fresh strings, all of one length in a batch."""
    draw, longest = STRINGS[task], TRAINED[task]
    source = (single(draw(rng, 32, int(rng.integers(1, longest + 1)))) for _ in iter(int, 1))
    train(
        m,
        letter_loss if loss == "softmax" else reader_loss,
        source,
        Adam(m, 0.01),
        steps=steps,
        schedule=schedule,
        clip_norm=1.0,
        progress=False,
    )


def unseen(task: str, length: int, count: int = 100) -> Any:
    """Held-out strings."""
    return single(STRINGS[task](np.random.default_rng(10_002), count, length))


def strings(
    task: str, kind: str, loss: str, pop: float, seed: int, *, steps: int | None = None, schedule: Any = None
) -> Row:
    """Train on short strings, test on strings of up to 16 times the length."""
    rng = np.random.default_rng(seed)
    m = speaker(rng, kind, task, pop=pop)
    fit(m, rng, task, steps or STEPS[kind], loss, schedule)
    lengths = [k * TRAINED[task] for k in TESTED]
    return {"size": m.size} | {str(length): right(m, unseen(task, length), loss) for length in lengths}


#: What the writing head may still do when the last row has come in.
AFTERWARDS = ("all", "add", "erase", "nothing")


def held(m: Bundle, may: str) -> Bundle:
    """The same machine, whose writing head may only add, only erase, do both, or do nothing."""
    other = m.on(m.flat.copy())
    M, heads = m.rnn.M, other.rnn.heads
    if may in ("add", "nothing"):  # e = σ(−40)
        heads.W[:, -2 * M : -M], heads.b[-2 * M : -M] = 0, -40
    if may in ("erase", "nothing"):  # a = tanh(0)
        heads.W[:, -M:], heads.b[-M:] = 0, 0
    return other


def by_place(m: Bundle, L: int, may: str, N: int = 200) -> list[float]:
    """The share of rows that are given back right, by place in the list."""
    batch, forward = unseen("copy", L, N), cell_of(m.rnn).forward
    _, state, _ = forward(batch.xs[:L], None, m.rnn)
    hs, _, _ = forward(batch.xs[L:], state, held(m, may).rnn)
    good = (linear_forward(hs, m.out)[0] > 0) == (batch.ys[L:] > 0.5)
    return [float(share) for share in good.all(axis=2).mean(axis=1)]


def roomy(m: Bundle, R: int) -> Bundle:
    """The same weights with R rows of memory: none of them has this number in its shape."""
    other = bundle(rnn=ntm_init(np.random.default_rng(0), 7, 32, R=R, M=m.rnn.M, dtype=np.float32), out=m.out)
    other.rnn.flat[:] = m.rnn.flat
    return other


def parked(m: Bundle, L: int, N: int = 100) -> list[float]:
    """While a list of L rows is given back: the writing head's share of content, and its weight on the list's rows."""
    tape = cell_of(m.rnn).forward(unseen("copy", L, N).xs, None, m.rnn)[2]
    w = np.array([step.write.w for step in tape.caches])  # (2L, N, R)
    listed = np.zeros(w.shape[1:], bool)
    np.put_along_axis(listed, w[:L].argmax(axis=2).T, True, axis=1)
    content = np.median([step.write.z[1] for step in tape.caches[L:]])
    return [float(content), float((w[L:] * listed).sum(axis=2).mean())]


def eroded(kind: str, seed: int, steps: int = STEPS["NTM"]) -> Row:
    """The machine of `strings` that copies, and what is left of a list while it is given back, by place.

    Also where its writing head is meanwhile, and how many of 32 rows are right if the memory has 32, 40 or 64.
    """
    rng = np.random.default_rng(seed)
    m = speaker(rng, kind, "copy")
    fit(m, rng, "copy", steps, "bits")
    found: Row = {may: {str(L): by_place(m, L, may) for L in (32, 40)} for may in AFTERWARDS}
    found |= {"parked": {str(L): parked(m, L) for L in (10, 20, 32)}}
    return found | {"rows": {str(R): float(np.mean(by_place(roomy(m, R), 32, "all"))) for R in (32, 40, 64)}}


def flat(steps: int, seed: int) -> Row:
    """The GRU alone says strings backwards, for twice the steps and with a rate that falls to 0.

    At a constant rate it does not settle: with seed 0, 0.01 went up and down between 76 and 92 % of the strings of 8,
    0.003 between 83 and 98 %.
    """
    return strings("reverse", "GRU", "softmax", 0.0, seed, steps=steps, schedule=cosine_decay(0.005, steps))


def places(kind: str, seed: int, steps: int = 8000) -> Row:
    """A gated cell alone, trained as for `flat` or `gated`: the share of letters said right at each place of an answer.

    The last letter read is said first. Lengths: the longest trained, one a little longer, and twice the longest.
    """
    rng = np.random.default_rng(seed)
    m = speaker(rng, kind, "reverse")
    fit(m, rng, "reverse", steps, schedule=cosine_decay(0.005, steps))
    found: Row = {}
    for L in (8, 10, 16):
        batch = unseen("reverse", L)
        logits = linear_forward(cell_of(m.rnn).forward(batch.xs, None, m.rnn)[0], m.out)[0][L:]
        good = logits.argmax(axis=-1) == classes(batch, logits.shape[-1])[L:]
        found[str(L)] = good.mean(axis=1).tolist()
        found[f"whole {L}"] = float(good.all(axis=0).mean())
    return found


def rounded(task: str, pop: float, seed: int) -> Row:
    """The net of `strings` with a stack, as trained and with every push and pop made 0 or 1."""
    rng = np.random.default_rng(seed)
    m = speaker(rng, "stack", task, pop=pop)
    fit(m, rng, task, STEPS["stack"])
    whole = m.on(m.flat.copy())
    whole.rnn.act.W[:, :2] *= 1000
    whole.rnn.act.b[:2] *= 1000
    tests = {k * TRAINED[task]: unseen(task, k * TRAINED[task]) for k in TESTED}
    return {
        name: {str(L): right(net, test) for L, test in tests.items()} for name, net in (("as is", m), ("whole", whole))
    }


def gated(task: str, kind: str, lr: float, seed: int, steps: int = 8000) -> Row:
    """A gated cell alone, for eight times the stack's steps, with a rate that falls from `lr` to 0."""
    return strings(task, kind, "softmax", 0.0, seed, steps=steps, schedule=cosine_decay(lr, steps))


# ------------------------------------------------------------------------------------------------- recall by content

PAIRS = 6  # the most in training
RECALL_STEPS = {"GRU": 4000, "as drawn": 4000, "biased": 600}


def rememberer(rng: np.random.Generator, kind: str, dtype: Any = np.float32) -> Bundle:
    """A GRU of 64 units, or an NTM whose rows hold 16 numbers and whose heads begin as `kind` says.

    "biased": the reading head begins with content (β near 5, 1 − z = σ(3)) and stays there; the writing head begins
    with the row after the last.
    """
    M = 16
    if kind == "GRU":
        rnn: Any = gru_init(rng, 9, 64, dtype=dtype)
    else:
        rnn = ntm_init(rng, 9, 32, R=32, M=M, dtype=dtype)
        writing, reading = rnn.heads.b[: M + 6], rnn.heads.b[M + 6 : 2 * (M + 6)]
        if kind == "biased":
            writing[M + 1], writing[M + 2 : M + 5] = -3, (-2, -2, 2)
            reading[M], reading[M + 1], reading[M + 2 : M + 5] = 5, 3, (-2, 2, -2)
    return bundle(rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), 4, dtype=dtype))


def recalled(kind: str, lr: float, seed: int, *, steps: int | None = None) -> Row:
    """Train on 1 to 6 pairs, test on up to 16; and where an NTM's reading head looks when 6 keys are asked."""
    rng = np.random.default_rng(seed)
    m = rememberer(rng, kind)

    source = (single(recall(rng, 32, int(rng.integers(1, PAIRS + 1)))) for _ in iter(int, 1))
    how: Row = {"steps": steps or RECALL_STEPS[kind], "clip_norm": 1.0, "progress": False}
    train(m, reader_loss, source, Adam(m, lr), **how)
    tests = {L: single(recall(np.random.default_rng(10_002), 200, L)) for L in (PAIRS, 12, 16)}
    found: Row = {"size": m.size} | {str(L): float(reader_accuracy(m, batch).answers) for L, batch in tests.items()}
    return found if kind == "GRU" else found | looks(m, tests[PAIRS])


def looks(m: Bundle, batch: Any) -> Row:
    """When a key is asked: the reading head's median share of content, 1 − z, and its weight on the pair's row."""
    tape = cell_of(m.rnn).forward(batch.xs, None, m.rnn)[2]
    L = len(tape.caches) // 2
    rows = np.array([step.write.w.argmax(axis=1) for step in tape.caches[:L]])  # (L, N)
    came = (batch.tokens[:L, None] == batch.tokens[None, L:]).argmax(axis=0)  # (L, N): when the asked key came
    weights = np.array([step.read.w for step in tape.caches[L:]])  # (L, N, R)
    there = np.take_along_axis(weights, np.take_along_axis(rows, came, axis=0)[..., None], axis=2)
    return {"g": float(np.median([step.read.z[1] for step in tape.caches[L:]])), "there": float(there.mean())}


def recalled_later(kind: str, lr: float, seed: int, steps: int) -> Row:
    """More steps for a net that had not found its rows."""
    return recalled(kind, lr, seed, steps=steps)


#: Bias of the pop, and seed, where 1,000 steps did not find the stack.
MISSED = ((0.0, 2), (0.0, 3), (0.0, 9), (-1.0, 7))


def later(pop: float, seed: int, steps: int) -> Row:
    """As many steps as the GRU has, for a net that had not found its stack."""
    return strings("reverse", "stack", "softmax", pop, seed, steps=steps)


def net(seed: int = 0, digits: int = 3) -> Row:
    """Train the explorer's net on eight letters, round its weights, and measure it."""
    rng, task = np.random.default_rng(seed), partial(reverse, letters=8)
    rnn = stack_rnn_init(rng, 9, 32, 8, dtype=np.float32)
    m = bundle(rnn=rnn, out=linear_init(rng, 40, 8, dtype=np.float32))
    source = (single(task(rng, 32, int(rng.integers(1, 9)))) for _ in iter(int, 1))
    train(m, letter_loss, source, Adam(m, 0.01), steps=1000, clip_norm=1.0, progress=False)
    m = m.astype(np.float64)
    m.flat[:] = m.flat.round(digits)
    words = {str(L): right(m, task(np.random.default_rng(10_002), 1000, L))[1] for L in range(1, 9)}
    controller, act = m.rnn.controller, m.rnn.act
    names = [f"{kind}{gate}" for kind in ("W_x", "W_h", "b_") for gate in "rzn"]
    params: Row = {"controller": {name: getattr(controller, name) for name in names}}
    params |= {"act_W": act.W, "act_b": act.b, "out_W": m.out.W, "out_b": m.out.b}
    origin = "python tools/environment.py python -m experiments.other_memories net"
    made = {"origin": origin, "seed": seed, "digits": digits, "words right, by length": words}
    return made | {"H": 32, "M": 8, "params": params}


RATES = (0.001, 0.003, 0.01)
NEVER = ("Elman", "Elman, orthogonal", "SCRN")
WIDE = tuple((cell, lr) for cell in NEVER for lr in (0.0003, *RATES, 0.03, 0.1, 0.3))
#: Of WIDE, where some seeds learn to add.
SOME = (
    *(("Elman", lr) for lr in (0.001, 0.003)),
    *(("Elman, orthogonal", lr) for lr in (0.001, 0.003)),
    *(("SCRN", lr) for lr in (0.03, 0.1)),
)
PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], Any]] = {
    "rates": (rate, tuple((cell, lr) for cell in CELLS for lr in RATES), range(2)),
    "longer": (longer, WIDE, range(10)),
    "longer, IRNN": (longer, tuple(("IRNN", lr) for lr in dict.fromkeys(lr for _, lr in WIDE)), range(10)),
    "further": (further, (("IRNN", 0.003),), range(5)),
    "beyond": (beyond, (("IRNN", 4000), ("GRU", 2000), ("LSTM", 2000)), range(4)),
    "adding": (addition, tuple((cell, T) for T in (50, 100) for cell in CELLS), range(10)),
    "kept": (kept, tuple((free,) for free in FREE), range(10)),
    "slow": (slow, tuple((cell, given) for cell in SLOW for given in (False, True)), range(10)),
    "strings": (
        strings,
        (
            ("reverse", "stack", "softmax", 0.0),
            ("reverse", "stack", "softmax", -1.0),
            ("copy", "GRU", "bits", 0.0),
            ("copy", "NTM", "bits", 0.0),
            ("brackets", "GRU", "softmax", 0.0),
            ("brackets", "stack", "softmax", 0.0),
        ),
        range(10),
    ),
    "gated": (gated, (("reverse", "LSTM", 0.005),), range(3)),
    "strings, LSTM": (strings, (("brackets", "LSTM", "softmax", 0.0),), range(4)),
    "rounded": (rounded, (("reverse", -1.0),), range(10)),
    "places": (places, (("GRU",),), range(1, 11)),
    "eroded": (eroded, (("NTM",),), range(10)),
    "later": (later, MISSED, (STEPS["GRU"],)),
    "flat": (flat, ((8000,),), range(1, 11)),
    "recall": (
        recalled,
        (("GRU", 0.01), ("biased", 0.003)),
        range(10),
    ),
    "recall as drawn": (recalled, (("as drawn", 0.003),), range(5)),
    "recall later": (recalled_later, (("biased", 0.003, 0),), (2000,)),
}
if not fixed_kernels():
    PARTS = {part: (run, what, seeds[:3]) for part, (run, what, seeds) in PARTS.items()}
    # the other seeds of those whose count is neither none nor all
    PARTS["longer, more seeds"] = (longer, SOME, range(3, 10))
    PARTS["adding, more seeds"] = (addition, (("IRNN", 50), ("IRNN", 100)), range(3, 10))
    del PARTS["recall later"]  # more steps for a net that missed something
    PARTS["later"] = (later, tuple(what for what in MISSED if what[1] < 3), (STEPS["GRU"],))


def main(parts: list[str]) -> None:
    """Make the runs of the named parts, or all, that are not stored yet, and store each as soon as it is done."""
    for part in chosen(parts, [*PARTS, "net"] if fixed_kernels() else PARTS):
        if part == "net":
            made = json.dumps(net(), default=lambda array: array.tolist(), separators=(",", ":"))
            replace(NET, made + "\n")
            continue
        run, settings, seeds = PARTS[part]
        make(STORED, part, run, seeded(settings, seeds), missing=True, rounding=digits(4))


if __name__ == "__main__":
    main(sys.argv[1:])
