"""Training runs of chapter 13, stored in other_memories.json. To rerun them:

``python tools/environment.py python -m experiments.other_memories [PART …]``

``net`` makes the net of the chapter's explorer, gru_book/widgets/stack-net.json. Every run has its own seed, so any of
them can be repeated alone. Stored runs are not repeated: delete those that you want to make again. float32. With
``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into other_memories_own.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments._store import chosen, digits, file_for_kernels, fixed_kernels, make, replace, seeded
from gru_book.cells import NTMState, ntm_address, ntm_init, stack_rnn_init
from gru_book.models.reader import reader_accuracy, reader_loss
from gru_book.tasks.adding import adding
from gru_book.tasks.strings import copy, reverse
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
    orthogonal,
    sigmoid,
    softmax_cross_entropy,
    train,
)
from gru_lib.cells import irnn_init

STORED = file_for_kernels("other_memories")
NET = Path(__file__).parents[1] / "gru_book" / "widgets" / "stack-net.json"
Row = dict[str, Any]
Loss = Callable[[Bundle, Any], tuple[Any, Bundle]]
Draw = Callable[[np.random.Generator, int, int], Any]  # draw(rng, N, length)


def single(batch: Any) -> Any:
    """The batch in float32."""
    return batch._replace(xs=batch.xs.astype(np.float32), ys=batch.ys.astype(np.float32))


# ---------------------------------------------------------------------------------------------- the adding problem


def identity(p: Any) -> Any:
    """An Elman network that starts as a copy of its state, but for what tanh does to it."""
    p.W_h[:] = np.eye(p.H)
    return p


def turned(p: Any, rng: np.random.Generator) -> Any:
    """An Elman network whose W_h turns or mirrors, and neither shrinks nor stretches."""
    p.W_h[:] = orthogonal(rng, p.H)
    return p


def moved(p: Any, rng: np.random.Generator) -> Any:
    """An Elman network each of whose units hands its number to one unit, in random order."""
    p.W_h[:] = np.eye(p.H)[rng.permutation(p.H)]
    return p


def quiet(p: Any) -> Any:
    """A network that its inputs move ten times less."""
    p.W_x *= 0.1
    return p


UNITS = 32
CELLS: dict[str, Callable[..., Any]] = {
    "GRU": gru_init,
    "IRNN": irnn_init,  # of chapter 2
    "relu, identity": lambda rng, **how: identity(elman_init(rng, activation="relu", **how)),
    "relu, permutation": lambda rng, **how: moved(elman_init(rng, activation="relu", **how), rng),
    "relu, orthogonal": lambda rng, **how: turned(elman_init(rng, activation="relu", **how), rng),
    "relu": partial(elman_init, activation="relu"),
    "tanh, identity": lambda rng, **how: identity(elman_init(rng, **how)),
    "tanh, identity, small W_x": lambda rng, **how: quiet(identity(elman_init(rng, **how))),
    "Elman": elman_init,
    "tanh, orthogonal": lambda rng, **how: turned(elman_init(rng, **how), rng),
}


def adder(rng: np.random.Generator, cell: str, dtype: Any = np.float32) -> Bundle:
    """A cell of 32 units that reads numbers and marks, and a linear layer that reads its last output."""
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


def reach(p: Any, xs: Any, d: Any) -> float:
    """What share of a gradient's length goes from step 50 back to step 10, over the sequences `xs`."""
    cell = cell_of(p)
    tenth = cell.forward(xs[:10], None, p)[1]
    hs, _, tape = cell.forward(xs[10:], tenth, p)
    dhs = np.zeros_like(hs)
    dhs[-1] = d
    return float(np.linalg.norm(cell.backward(dhs, None, tape, p)[1]) / np.linalg.norm(d))


def early(
    cell: str, lr: float, seed: int, steps: int = 4000, every: int = 100, traces: bool = False, done: float = 0.0
) -> Row:
    """Train on fresh sequences of 50 with both marks early; the error on 500 held-out ones, every so many steps.

    With `traces` also the reach at each test, after the one before training; it draws nothing from what the training
    draws from. It ends before its last step at an error below `done`. A training whose loss overflows has the errors up
    to there.
    """
    rng = np.random.default_rng(100 + seed)
    m, test = adder(rng, cell), single(adding(np.random.default_rng(10_001), 500, 50, "early"))

    measure = np.random.default_rng(10_003)
    xs = single(adding(measure, 100, 50, "early")).xs
    d = measure.normal(size=(100, UNITS)).astype(np.float32)
    errors: list[float] = []
    far = [reach(m.rnn, xs, d)]

    def error(p: Bundle) -> dict[str, float]:
        y = linear_forward(cell_of(p.rnn).forward(test.xs, None, p.rnn)[0][-1], p.out)[0]
        errors.append(float(((y - test.ys) ** 2).mean()))
        if traces:
            far.append(reach(p.rnn, xs, d))
        return {"error": errors[-1]}

    source = (single(adding(rng, 32, 50, "early")) for _ in iter(int, 1))
    how: Row = {"steps": steps, "clip_norm": 1.0, "evaluate": error, "every": every, "progress": False}
    with suppress(FloatingPointError):
        train(m, adder_loss, source, Adam(m, lr), stop=lambda _: errors[-1] < done, **how)
    return {"size": m.size, "error": errors} | ({"reach": far} if traces else {})


def traced(cell: str, lr: float, seed: int) -> Row:
    """A training's first 600 steps, with its reach, every 25."""
    return early(cell, lr, seed, 600, 25, traces=True)


def until_learned(cell: str, lr: float, seed: int) -> Row:
    """A training with its reach, every 25 steps, up to the first error below 0.05."""
    return early(cell, lr, seed, every=25, traces=True, done=0.05)


def followed(cell: str, lr: float, seed: int) -> Row:
    """A training of 4,000 steps, with its reach, every 100."""
    return early(cell, lr, seed, traces=True)


# -------------------------------------------------------------------------------- strings, with a memory and without

STRINGS: dict[str, Draw] = {"reverse": reverse, "copy": copy}
SIZES = {"reverse": (5, 4), "copy": (7, 6)}  # of inputs and of answers
TRAINED = {"reverse": 8, "copy": 5}  # the longest strings in training; the shortest have length 1
TESTED = {"reverse": (8, 16, 32), "copy": (5, 6, 8, 10, 12, 16, 20, 24, 28, 30, 32)}
STEPS = {"GRU": 4000, "NTM": 500}  # the baseline, which learns last, gets most


def speaker(rng: np.random.Generator, kind: str, task: str, *, dtype: Any = np.float32) -> Bundle:
    """A GRU, a GRU with a stack, or a Neural Turing Machine, and a linear layer that answers."""
    D, K = SIZES[task]
    if kind == "stack":
        rnn: Any = stack_rnn_init(rng, D, 32, 8, dtype=dtype)
    elif kind == "NTM":
        rnn = ntm_init(rng, D, 32, R=32, M=8, dtype=dtype)
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


LOSSES: dict[str, Loss] = {"softmax": letter_loss, "bits": reader_loss}


def fit(
    m: Bundle, rng: np.random.Generator, task: str, steps: int, loss: Loss = letter_loss, schedule: Any = None
) -> None:
    """Train on fresh strings, all of one length in a batch."""
    draw, longest = STRINGS[task], TRAINED[task]
    source = (single(draw(rng, 32, int(rng.integers(1, longest + 1)))) for _ in iter(int, 1))
    train(
        m,
        loss,
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


def by_length(m: Bundle, task: str, loss: str = "softmax") -> Row:
    """What is right of unseen strings of each length."""
    return {str(length): right(m, unseen(task, length), loss) for length in TESTED[task]}


def strings(task: str, kind: str, loss: str, seed: int, *, steps: int | None = None, schedule: Any = None) -> Row:
    """Train on short strings, test on longer ones too."""
    rng = np.random.default_rng(seed)
    m = speaker(rng, kind, task)
    fit(m, rng, task, steps or STEPS[kind], LOSSES[loss], schedule)
    return {"size": m.size} | by_length(m, task, loss)


def flat(steps: int, seed: int, kind: str = "GRU") -> Row:
    """The GRU alone says strings backwards, with a rate that falls to 0.

    At a constant rate it does not settle: with seed 0, 0.01 went up and down between 76 and 92 % of the strings of 8,
    0.003 between 83 and 98 %.
    """
    return strings("reverse", kind, "softmax", seed, steps=steps, schedule=cosine_decay(0.005, steps))


def flat_stack(steps: int, seed: int) -> Row:
    """A GRU with a stack, the same way."""
    return flat(steps, seed, "stack")


def forget(p: Any) -> None:
    """Set to 0 what lets the state of a stack's controller depend on the state before: W_h, W_xz, and then z."""
    for name in ("W_hr", "W_hz", "W_hn", "W_xz", "b_z"):
        getattr(p, name)[:] = 0


def forgetful_loss(m: Bundle, batch: Any) -> tuple[Any, Bundle]:
    """`letter_loss` whose gradient leaves those weights as they are."""
    loss, grads = letter_loss(m, batch)
    forget(grads.rnn.controller)
    return loss, grads


def flat_forgetful(steps: int, seed: int) -> Row:
    """A stack alone, the same way: its controller sees the input and the last read, and has no state of its own."""
    rng = np.random.default_rng(seed)
    m = speaker(rng, "stack", "reverse")
    forget(m.rnn.controller)
    m.rnn.controller.b_z[:] = -40  # z = 0: the state is the candidate
    fit(m, rng, "reverse", steps, forgetful_loss, cosine_decay(0.005, steps))
    return {"size": m.size} | by_length(m, "reverse")


def by_place(m: Bundle) -> None:
    """Hold z at 1 in both heads of an NTM, by a bias of 1 - z that no gradient moves: they can only walk."""
    for head in (0, m.rnn.M + 6):
        m.rnn.heads.b[head + m.rnn.M + 1] = -40


class Run(NamedTuple):
    """What `copying` finds at each step."""

    logits: Any  # (T, N, K)
    w_write: Any  # (T, N, R)
    w_read: Any
    z_write: Any  # (T, N): the share that the writing head keeps


MAY: dict[str, Callable[[Any], Any]] = {  # which rows may be written, by whether they have been read (N, R)
    "all": np.ones_like,
    "none": np.zeros_like,
    "read": lambda read: read,
    "unread": lambda read: ~read,
}


def copying(m: Bundle, batch: Any, may: str = "all") -> Run:
    """An NTM at work, step by step: while the items come it writes as it will, while it answers in some rows only.

    A row has been read if it comes no later than the reading head's heaviest row of the step before, which is right
    for a head that goes on row by row from row 0.
    """
    T, N, _ = batch.xs.shape
    p, state, found = m.rnn, cell_of(m.rnn).zeros(m.rnn, N, m.rnn.dtype), []
    for t, x in enumerate(batch.xs):
        h = np.tanh(linear_forward(np.concatenate([x, state.read], axis=1), p.controller)[0])
        raw = linear_forward(h, p.heads)[0]
        at_write, at_read, erase, add = np.split(raw, np.cumsum([p.M + 6, p.M + 6, p.M]), axis=1)
        w_write, write = ntm_address(at_write, state.w_write, state.memory)
        read_before = np.arange(p.R) <= state.w_read.argmax(axis=1)[:, None]
        here = (w_write * (MAY[may](read_before) if t >= T // 2 else 1))[:, :, None]
        memory = state.memory * (1 - here * sigmoid(erase)[:, None]) + here * np.tanh(add)[:, None]
        w_read, _ = ntm_address(at_read, state.w_read, memory)
        state = NTMState((w_read[:, :, None] * memory).sum(axis=1), w_read, w_write, memory)
        logits = linear_forward(np.concatenate([h, state.read], axis=1), m.out)[0]
        found.append((logits, w_write, w_read, write.z[0]))
    return Run(*map(np.array, zip(*found, strict=True)))


def right_copying(m: Bundle, length: int, may: str) -> list[float]:
    """Shares of the items, and of whole lists, that are right."""
    batch = unseen("copy", length)
    good = ((copying(m, batch, may).logits > 0) == (batch.ys == 1)).all(axis=2)[length:]
    return [float(good.mean()), float(good.all(axis=0).mean())]


def heads(m: Bundle, length: int = 32) -> Row:
    """Of lists that fill the memory: how the heads walk, and on which rows the writing head stands.

    While the items come, the share of steps at which its heaviest row is the next; while it answers, the mean z of the
    writing head. Of lists of 5, the share of its weight then on rows never written.
    """
    run, steps = copying(m, unseen("copy", length)), np.arange(length)
    short = copying(m, unseen("copy", 5)).w_write[5:, :, 5:]
    return {
        "walk": float((run.w_write[:length].argmax(axis=2) == steps[:, None]).mean()),
        "z": float(run.z_write[length:].mean()),
        "on free, 5": float(short.sum(axis=2).mean()),
    }


def copier(z: str, seed: int) -> Bundle:
    """An NTM whose z is held at 1, or learned, from near one half, with 32 rows or with 5, learns to copy."""
    rng = np.random.default_rng(seed)
    m = speaker(rng, "NTM", "copy")
    if z == "held":
        by_place(m)
    if z == "learned, 5 rows":
        m = with_rows(m, 5)
    fit(m, rng, "copy", STEPS["NTM"], reader_loss)
    return with_rows(m, 32)


def with_rows(m: Bundle, R: int) -> Bundle:
    """The same NTM with R rows: no parameter's size depends on how many there are."""
    rnn = ntm_init(np.random.default_rng(0), m.rnn.D, m.rnn.H, R=R, M=m.rnn.M, dtype=m.rnn.dtype)
    rnn.flat[:] = m.rnn.flat
    return bundle(rnn=rnn, out=m.out)


def copied(z: str, seed: int) -> Row:
    """The shares right at several lengths.

    Where z is learned, also those if with no more training nothing is written while it answers, or only in rows that
    have been read, or only in the others; and what its heads do.
    """
    m = copier(z, seed)
    made = {"size": m.size} | by_length(m, "copy", "bits")
    if z != "learned":
        return made
    for may in ("none", "read", "unread"):
        made[f"writes: {may}"] = {str(length): right_copying(m, length, may) for length in TESTED["copy"]}
    return made | heads(m)


def trace(seed: int, length: int = 32) -> Row:
    """Both heads on one list, where z is learned: [step, row, weight] of each weight above 0.05."""
    run = copying(copier("learned", seed), unseen("copy", length))
    return {
        name: [[int(t), int(row), float(w[t, 0, row])] for t, row in np.argwhere(w[:, 0] > 0.05)]
        for name, w in (("written", run.w_write), ("read", run.w_read))
    }


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


STARTS = tuple(cell for cell in CELLS if cell not in ("IRNN", "tanh, identity, small W_x"))
RATES = (0.003, 0.001)
SHOWN = (("GRU", 0.003), ("relu, orthogonal", 0.001), ("relu, orthogonal", 0.003), ("tanh, identity", 0.001))
OTHERS = (
    ("relu, identity", 0.003),
    ("relu, identity", 0.001),
    ("relu, permutation", 0.003),
    ("relu, permutation", 0.001),
    ("GRU", 0.001),
    ("relu", 0.001),
    ("tanh, orthogonal", 0.001),
)
PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], Any]] = {
    "early": (early, tuple((cell, lr) for cell in STARTS for lr in RATES), range(5)),
    "early, five more": (early, (("relu, orthogonal", 0.003),), range(5, 10)),
    "reach": (traced, SHOWN, range(5)),
    "reach, until learned": (until_learned, OTHERS, range(5)),
    "reach, five more": (until_learned, (("relu, orthogonal", 0.003),), range(5, 10)),
    "reach, small W_x": (followed, (("tanh, identity, small W_x", 0.0003),), range(5)),
    "strings": (strings, (("copy", "GRU", "bits"),), range(6)),
    "flat": (flat, ((8000,),), range(1, 11)),
    "flat, stack": (flat_stack, ((2000,),), range(1, 11)),
    "flat, forgetful": (flat_forgetful, ((2000,),), range(1, 6)),
    "copy, z": (copied, (("held",), ("learned",), ("learned, 5 rows",)), range(6)),
    "copy, heads": (trace, ((),), range(1)),
}
if not fixed_kernels():
    PARTS = {part: (run, what, seeds[:3]) for part, (run, what, seeds) in PARTS.items()}


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
