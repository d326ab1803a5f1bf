"""Training runs of chapter 12 that take minutes, stored in lstm_memory.json. To rerun them:

``python tools/environment.py python -m experiments.lstm_memory [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into lstm_memory_own.json: a
page states only counts on which both agree. Every run has its own seed, so any of them can be repeated alone. float32.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from experiments.three_stories import SOLVED, Draw, Row, right, single, task
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.tasks.memory import TASKS, Batch
from gru_lib import (
    Adam,
    Bundle,
    bce_with_logits,
    bundle,
    gru_forward,
    gru_init,
    linear_backward,
    linear_forward,
    lstm_forward,
    lstm_init,
    sigmoid,
    train,
)

STORED = file_for_kernels("lstm_memory")
SEEDS = range(10 if fixed_kernels() else 3)
N, STEPS = 32, 1000

#: The biases of an LSTM for two tasks: keep the first token, and count outside brackets. Those not named are 0 but b_f.
FAR = float(np.log(39))
STARTS: dict[str, dict[str, float]] = {
    "LSTM, b_f = 0": {"b_f": 0},
    "LSTM, b_f = 1": {"b_f": 1},
    "LSTM, b_f = ln 39": {"b_f": FAR},
    "LSTM, b_f = ln 39, b_i = -ln 39": {"b_f": FAR, "b_i": -FAR},
    "LSTM, b_f = 6": {"b_f": 6},
}
RATES = (0.003, 0.01, 0.03)


UNITS = {"checksum": 20, "parity_outside": 24}


def network(rng: np.random.Generator, start: str, name: str) -> Bundle:
    """Draw a reader for a task, an LSTM with the biases of a start."""
    m = reader_init(rng, TASKS[name].D, TASKS[name].K, UNITS[name], init=lstm_init, dtype=np.float32)
    for bias, value in STARTS[start].items():
        getattr(m.rnn, bias)[:] = value
    return m


def fit(m: Bundle, rng: np.random.Generator, draw: Draw, lr: float, steps: int = STEPS) -> int:
    """Train `m` on fresh batches until the task is solved; return the number of steps."""
    test = single(draw(np.random.default_rng(10_001), 256))
    history = train(
        m,
        reader_loss,
        iter(lambda: single(draw(rng, N)), None),
        Adam(m, lr),
        steps=steps,
        clip_norm=1.0,
        evaluate=lambda p: {"right": reader_accuracy(p, test).answers},
        every=25,
        stop=lambda history: history.last("right") >= SOLVED,
        progress=False,
    )
    return history.steps


def run(name: str, T: int, start: str, lr: float, seed: int, steps: int = STEPS) -> Row:
    """One training: steps taken, and the share right on held-out sequences."""
    rng, draw = np.random.default_rng(seed), task(name, T)
    m = network(rng, start, name)
    return {"steps": fit(m, rng, draw, lr, steps), "right": right(m, draw), "size": m.size}


def keep(start: str, lr: float, seed: int) -> Row:
    """Keep the first token over forty, in a thousand steps at most."""
    return run("checksum", 40, start, lr, seed)


def rewrite(start: str, lr: float, seed: int) -> Row:
    """The parity of the 1s outside brackets, over forty tokens, in a thousand steps at most."""
    return run("parity_outside", 40, start, lr, seed)


# ----------------------------------------------------------------------------------------------- trained to count

COUNTERS: dict[str, tuple[Callable[..., Any], int]] = {
    "LSTM": (lstm_init, 10),
    "clipped": (lstm_init, 10),  # its cell may not leave [-1, 1]
    "clipped, through": (lstm_init, 10),  # the same; the gradient passes as if nothing were clipped
    "GRU": (gru_init, 12),
}
LENGTHS = (40, 200, 1000)  # tokens of the test streams


def majority(rng: np.random.Generator, count: int, T: int) -> Batch:
    """Tokens a and b; after each: have there been more a than b?"""
    tokens = rng.integers(0, 2, (T, count))
    more = np.cumsum(1 - 2 * tokens, axis=0) > 0
    asked = np.ones(tokens.shape, bool)
    return single(Batch(tokens=tokens, xs=np.eye(2)[tokens], ys=more[..., None].astype(float), asked=asked))


def start(cell: str, rng: np.random.Generator, bias: float) -> Bundle:
    """Draw a counter. LSTM 531 parameters, GRU 553; the bias is of the gate that keeps."""
    init, H = COUNTERS[cell]
    m = reader_init(rng, 2, 1, H, init=init, dtype=np.float32)
    (m.rnn.b_z if cell == "GRU" else m.rnn.b_f)[:] = bias
    return m


def counter(cell: str, lr: float, seed: int, steps: int, bias: float) -> Bundle:
    """Train on forty tokens, with a bias for the gate that keeps."""
    rng = np.random.default_rng(seed)
    m = start(cell, rng, bias)
    source = iter(lambda: majority(rng, N, 40), None)
    losses = {"clipped": clipped_loss, "clipped, through": partial(clipped_loss, through=True)}
    train(m, losses.get(cell, reader_loss), source, Adam(m, lr), steps=steps, clip_norm=1.0, progress=False)
    return m


def counting(cell: str, bias: float, seed: int, steps: int = 1500, lr: float = 0.01) -> Row:
    """The share of right answers on forty tokens, 200 and 1,000."""
    m = counter(cell, lr, seed, steps, bias)
    tests = {T: majority(np.random.default_rng(10_001), 200, T) for T in LENGTHS}
    right = {str(T): float(((logits(m, cell, test)[0] > 0) == (test.ys == 1)).mean()) for T, test in tests.items()}
    return {"size": m.size} | right


def counting_at(cell: str, lr: float, seed: int) -> Row:
    """At another rate, from a bias of 4.5."""
    return counting(cell, 4.5, seed, lr=lr)


def held(test: Batch, bound: float) -> float:
    """The share of right answers of an exact count that stops at the bound."""
    kept, right = np.zeros(test.tokens.shape[1]), []
    for step, more in zip(1 - 2 * test.tokens, test.ys[..., 0], strict=True):
        kept = np.clip(kept + step, -bound, bound)
        right.append((kept > 0) == (more == 1))
    return float(np.mean(right))


def yardstick(cell: str, seed: int, steps: int = 1500) -> Row:
    """The farthest count in all streams of one training, and an exact count that stops there, on the 1,000 tokens."""
    rng = np.random.default_rng(seed)
    start(cell, rng, 0)
    walks = (np.cumsum(1 - 2 * majority(rng, N, 40).tokens, axis=0) for _ in range(steps))
    far = max(int(np.abs(walk).max()) for walk in walks)
    return {"farthest": far, "1000": held(majority(np.random.default_rng(10_001), 200, 1000), far)}


def along(cell: str, bias: float, seed: int, steps: int = 1500) -> Row:
    """A new training, and the count that can be read from its units on a stream that goes far and comes back.

    The count is read by least squares from all cells, of a GRU from all states, fitted on streams of forty tokens.
    "at 40" is its median where the true count is 40, "read" its values after every fifth token of one stream.
    """
    m = counter(cell, 0.01, seed, steps, bias)
    tests = {T: majority(np.random.default_rng(10_002), 200, T) for T in (40, 1000)}
    weights: Any = None
    for T, test in tests.items():
        answers, units = logits(m, cell, test)
        count = np.cumsum(1 - 2 * test.tokens, axis=0)
        units = np.concatenate([units, np.ones_like(units[..., :1])], axis=2)
        if T == 40:
            weights = np.linalg.lstsq(units.reshape(-1, units.shape[2]).astype(float), count.ravel(), rcond=None)[0]
    read = units @ weights
    right = float(((answers > 0) == (test.ys == 1)).mean())
    one = read[4::5, there_and_back(count)]
    return {"1000": right, "at 40": float(np.median(read[count == 40])), "read": [round(float(x), 2) for x in one]}


def there_and_back(count: Any) -> int:
    """The stream on which the count goes farthest before it is 0 for the last time."""
    last = [np.flatnonzero(walk == 0)[-1] if (walk == 0).any() else 0 for walk in count.T]
    return int(np.argmax([np.abs(walk[: end + 1]).max() for walk, end in zip(count.T, last, strict=True)]))


# --------------------------------------------------------------- an LSTM whose cell may not leave [-bound, bound]


def clipped(xs: Any, p: Any, bound: float = 1) -> tuple[Any, Any, list[Any]]:
    """Run an LSTM whose cell is clipped to the bound at every step; h, the clipped cell, and what backward needs."""
    h = c = np.zeros((xs.shape[1], p.H), xs.dtype)
    hs, cs, caches = [], [], []
    for x in xs:
        a = x @ p.W_x + h @ p.W_h + p.b
        a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
        i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
        new = f * c + i * g
        inside = np.abs(new.real) <= bound
        new = np.where(inside, new, np.sign(new.real) * bound)
        caches.append((x, h, c, i, f, g, o, np.tanh(new), inside))
        h, c = o * np.tanh(new), new
        hs.append(h)
        cs.append(c)
    return np.stack(hs), np.stack(cs), caches


def clipped_loss(m: Bundle, batch: Batch, bound: float = 1, *, through: bool = False) -> tuple[Any, Bundle]:
    """The loss of `reader_loss` when every answer counts; where the cell was clipped no gradient passes, or all."""
    hs, _, caches = clipped(batch.xs, m.rnn, bound)
    answers, out_cache = linear_forward(hs, m.out)
    loss, danswers = bce_with_logits(answers, batch.ys)
    dhs, dout = linear_backward(danswers, out_cache, m.out)
    grads, dh, dc = m.rnn.zeros_like(), np.zeros_like(hs[0]), np.zeros_like(hs[0])
    for dread, (x, h, c, i, f, g, o, tanh_c, inside) in zip(dhs[::-1], caches[::-1], strict=True):
        dh = dh + dread
        dc = (inside | through) * (dc + dh * o * (1 - tanh_c**2))
        parts = dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g**2), dh * tanh_c * o * (1 - o)
        da = np.concatenate(parts, axis=1)
        grads.W_x += x.T @ da
        grads.W_h += h.T @ da
        grads.b += da.sum(axis=0)
        dh, dc = da @ m.rnn.W_h.T, dc * f
    return loss, bundle(rnn=grads, out=dout)


def logits(m: Bundle, cell: str, test: Batch) -> tuple[Any, Any]:
    """The answers of a trained counter before the sigmoid, and the values of its cells, or without them its units."""
    if cell.startswith("clipped"):
        hs, cs, _ = clipped(test.xs, m.rnn)
    elif cell == "LSTM":
        hs, _, tape = lstm_forward(test.xs, None, m.rnn)
        cs = tape.gate("c")
    else:
        hs, *_ = gru_forward(test.xs, None, m.rnn)
        cs = hs
    return linear_forward(hs, m.out)[0], cs


BIASES = (1, 3, 4.5, 6, 8, 12)
# At 24 a gate is 1 in float32.
GRIDS = {"LSTM": (*BIASES, 24), "clipped": (*BIASES, 24), "clipped, through": (24,), "GRU": BIASES}
BOTH = tuple((start, lr) for start in STARTS for lr in RATES)
PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "keep": (keep, BOTH, SEEDS),
    "rewrite": (rewrite, BOTH, SEEDS[:5]),
    "counting": (counting, tuple((cell, b) for cell in GRIDS for b in GRIDS[cell]), SEEDS[:5]),
    "counting, lower rate": (counting_at, (("GRU", 0.003),), SEEDS[:5]),
    "counting, yardsticks": (yardstick, (("LSTM",),), SEEDS[:5]),
    "counting, along": (along, (("LSTM", 24), ("clipped", 24), ("GRU", 4.5)), range(10, 15)),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
