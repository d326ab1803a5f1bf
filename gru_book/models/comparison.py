"""tanh, GRU and LSTM on four tasks under one protocol: the networks, the tasks and one training. Chapter 20.

Every cell gets the same number of parameters, updates and sequences in a task. The learning rate is chosen from `RATES`
on the validation set and falls linearly to 0; a training is tested once, at the evaluation with its best validation
score. A gate that keeps begins with a bias of 1. tanh begins with an orthogonal W_h; on digits and text every block of
the others does too, on the other tasks theirs are uniform. float32.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_book.tasks.digits import as_sequence, digits
from gru_book.tasks.memory import parity_outside
from gru_book.tasks.sunspots import sunspots
from gru_book.tasks.text import english
from gru_lib.cells.elman import elman_init
from gru_lib.cells.gru import gru_init
from gru_lib.cells.lstm import lstm_init
from gru_lib.cells.registry import cell_of
from gru_lib.ops import (
    bce_with_logits,
    embedding_backward,
    embedding_forward,
    embedding_init,
    linear_backward,
    linear_forward,
    linear_init,
    orthogonal,
    softmax_cross_entropy,
)
from gru_lib.optim import Adam, linear_decay
from gru_lib.params import Bundle, bundle
from gru_lib.train import train

__all__ = [
    "CELLS", "RATES", "SCALE", "Batch", "Task", "count", "fit", "loss_and_grads", "network", "outputs", "score",
    "sunspot_part", "tasks", "units",
]  # fmt: skip

#: The cells that are compared.
CELLS = ("tanh", "GRU", "LSTM")
#: The learning rates of which each cell gets the best on the validation set.
RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
EVALUATIONS = 12  # on the validation set, evenly over a training; one more at its end

Array = NDArray[Any]
Row = dict[str, Any]


class Batch(NamedTuple):
    """Sequences and targets, after every step or (with one step in `ys`) only after the last."""

    xs: Array  # (T, N, D), or (T, N) tokens of a task with an embedding
    ys: Array  # (S, N) classes, or (S, N, 1) bits or numbers, for the last S steps


@dataclass(frozen=True)
class Task:
    """A task, its size and its measure."""

    D: int  # inputs of the cell
    K: int
    N: int  # sequences in a batch
    steps: int
    budget: int  # parameters; each cell gets as many units as fit
    kind: str  # "bit", "class" or "number"
    measure: str
    better: str  # "higher" or "lower"
    draw: Callable[[np.random.Generator], Batch]  # a batch to train on
    part: Callable[[str], Batch]  # "validation" or "test"
    V: int = 0  # tokens, if they are read through an embedding with D numbers for each
    alike: bool = False  # whether all cells begin with orthogonal blocks of W_h, or tanh alone


def count(cell: str, D: int, K: int, H: int, V: int = 0) -> int:
    """Number of parameters of a cell with H units, its linear layer, and an embedding of V tokens.

    Examples
    --------
    >>> from gru_book.models.comparison import count
    >>> [count(cell, D=3, K=1, H=5) for cell in ("tanh", "GRU", "LSTM")]
    [51, 141, 186]
    """
    blocks = {"tanh": 1, "GRU": 3, "LSTM": 4}[cell]
    return blocks * (D * H + H * H + H) + H * K + K + V * D


def units(cell: str, task: Task) -> int:
    """The most units that fit into the task's budget.

    Examples
    --------
    >>> from gru_book.models.comparison import count, tasks, units
    >>> task = tasks()["sunspots"]
    >>> H = units("GRU", task)
    >>> count("GRU", 1, 1, H) <= task.budget < count("GRU", 1, 1, H + 1)
    True
    """
    H = 1
    while count(cell, task.D, task.K, H + 1, task.V) <= task.budget:
        H += 1
    return H


def network(
    rng: np.random.Generator,
    cell: str,
    D: int,
    K: int,
    H: int,
    *,
    V: int = 0,
    b_z: float = 1.0,
    b_f: float = 1.0,
    alike: bool = False,
) -> Bundle:
    """A cell, a linear layer on every state, and for V tokens an embedding.

    The W_h of tanh begins orthogonal; with `alike` every block of a GRU's or an LSTM's does too, else it is uniform.

    Examples
    --------
    >>> from gru_book.models.comparison import network
    >>> m = network(np.random.default_rng(0), "GRU", D=3, K=1, H=5)
    >>> m.rnn.b_z, m.out.W.shape
    (array([1., 1., 1., 1., 1.], dtype=float32), (5, 1))
    """
    single = np.float32
    rnn: Any
    if cell == "tanh":
        rnn = elman_init(rng, D, H, dtype=single)
        blocks = [rnn.W_h]
    elif cell == "LSTM":
        rnn = lstm_init(rng, D, H, forget_bias=b_f, dtype=single)
        blocks = [rnn.W_hf, rnn.W_hi, rnn.W_hg, rnn.W_ho]
    else:
        rnn = gru_init(rng, D, H, dtype=single)
        rnn.b_z[:] = b_z
        blocks = [rnn.W_hr, rnn.W_hz, rnn.W_hn]
    for W_h in blocks if alike or cell == "tanh" else ():
        W_h[:] = orthogonal(rng, H)
    parts = {"rnn": rnn, "out": linear_init(rng, H, K, dtype=single)}
    return bundle(**parts | ({"embedding": embedding_init(rng, V, D, dtype=single)} if V else {}))


def outputs(m: Bundle, xs: Array, last: int) -> tuple[Array, Any]:
    """The linear layer's outputs of the `last` steps, (last, N, K), and what the backward pass needs.

    Examples
    --------
    >>> from gru_book.models.comparison import network, outputs
    >>> m = network(np.random.default_rng(0), "GRU", D=3, K=1, H=5)
    >>> said, cache = outputs(m, np.ones((4, 2, 3), np.float32), last=1)
    >>> said.shape
    (1, 2, 1)
    """
    cache_in = None
    if xs.ndim == 2:
        xs, cache_in = embedding_forward(xs, m.embedding)
    hs, _, tape = cell_of(m.rnn).forward(xs, None, m.rnn)
    said, cache_out = linear_forward(hs[-last:], m.out)
    return said, (hs, tape, cache_out, cache_in)


def loss_and_grads(m: Bundle, batch: Batch, kind: str) -> tuple[Any, Bundle]:
    """Cross-entropy of bits or classes, or half the mean squared error of a number, and its gradient.

    Examples
    --------
    >>> from gru_book.models.comparison import Batch, loss_and_grads
    >>> from gru_book.models.comparison import network
    >>> m = network(np.random.default_rng(0), "GRU", D=3, K=2, H=5)
    >>> m.flat[:] = 0  # two classes, both alike
    >>> batch = Batch(np.ones((4, 2, 3), np.float32), np.array([[0, 1]]))
    >>> loss, grads = loss_and_grads(m, batch, "class")
    >>> bool(np.isclose(loss, np.log(2)))
    True
    """
    last = len(batch.ys)
    said, (hs, tape, cache_out, cache_in) = outputs(m, batch.xs, last)
    if kind == "bit":
        loss, dsaid = bce_with_logits(said, batch.ys)
    elif kind == "class":
        loss, dsaid = softmax_cross_entropy(said, batch.ys)
    else:
        off = said - batch.ys
        loss, dsaid = 0.5 * np.mean(off * off), off / off.size
    dhs = np.zeros_like(hs)
    dhs[-last:], out = linear_backward(dsaid, cache_out, m.out)
    dxs, _, rnn = cell_of(m.rnn).backward(dhs, None, tape, m.rnn)
    if cache_in is None:
        return loss, bundle(rnn=rnn, out=out)
    return loss, bundle(rnn=rnn, out=out, embedding=embedding_backward(dxs, cache_in, m.embedding))


def score(m: Bundle, task: Task, batch: Batch) -> float:
    """The task's measure of a network on a batch.

    Examples
    --------
    >>> from gru_book.models.comparison import network, score, tasks
    >>> task = tasks()["parity"]
    >>> m = network(np.random.default_rng(0), "GRU", task.D, task.K, H=5)
    >>> m.flat[:] = 0  # it never says "odd"
    >>> round(score(m, task, task.part("validation")))
    53
    """
    said, _ = outputs(m, batch.xs, len(batch.ys))
    if task.measure == "% right":
        right = (said > 0) == (batch.ys > 0.5) if task.kind == "bit" else said.argmax(axis=-1) == batch.ys
        return float(100 * right.mean())
    if task.measure == "bits per character":
        return float(softmax_cross_entropy(said, batch.ys)[0] / np.log(2))
    return float(SCALE * np.sqrt(np.mean((said - batch.ys) ** 2)))  # root mean square error, in sunspots


# ------------------------------------------------------------------------------------------------------- the tasks


def parity_batch(rng: np.random.Generator, N: int = 32) -> Batch:
    """Sequences of 0 1 < >, 40 steps: is the number of 1s outside < > odd? Asked after every step."""
    batch = parity_outside(rng, N, 40)
    return Batch(batch.xs.astype(np.float32), batch.ys.astype(np.float32))


@cache
def parity_part(name: str) -> Batch:
    return parity_batch(np.random.default_rng({"validation": 10_001, "test": 10_002}[name]), 500)


@cache
def digit_part(name: str) -> Batch:
    part = getattr(digits(), name)
    return Batch(as_sequence(part.images, "row").astype(np.float32), part.labels[None])


def digit_batch(rng: np.random.Generator) -> Batch:
    xs, ys = digit_part("train")
    chosen = rng.integers(0, xs.shape[1], 50)
    return Batch(xs[:, chosen], ys[:, chosen])


@cache
def encoded(name: str) -> Array:
    """A part of the text as tokens."""
    text = english()
    return np.asarray(text.encode(getattr(text, name)))


def windows(name: str, starts: Array, T: int) -> Batch:
    """T characters from each start, and the next ones; the first fifth is read without asking for answers."""
    tokens = encoded(name)
    at = starts + np.arange(T + 1)[:, None]
    return Batch(tokens[at[:-1]], tokens[at[1:]][T // 5 :])


def text_batch(rng: np.random.Generator) -> Batch:
    return windows("train", rng.integers(0, len(english().train) - 50, 32), 50)


@cache
def text_part(name: str) -> Batch:
    """The part in pieces of 100 characters, every other one."""
    return windows(name, np.arange(0, len(getattr(english(), name)) - 101, 200), 100)


#: Sunspots in one unit of the net's input and output.
SCALE = 100.0
WARM = 20  # years at the start of a training window whose answers do not count


@cache
def sunspot_arrays() -> tuple[Array, Array]:
    """Inputs and targets for the whole series as one sequence: (308, 1, 1)."""
    numbers = (sunspots().numbers / SCALE).astype(np.float32)
    return numbers[:-1, None, None], numbers[1:, None, None]


def sunspot_batch(rng: np.random.Generator) -> Batch:
    """Windows of 80 years from the training years."""
    xs, ys = sunspot_arrays()
    end = sunspots().part("train").stop - 1  # inputs whose target belongs to the training years
    at = rng.integers(0, end - 80 + 1, 16) + np.arange(80)[:, None]
    return Batch(xs[at, 0], ys[at, 0][WARM:])


@cache
def sunspot_part(name: str) -> Batch:
    """One year ahead, each from all the years before it: a part's targets, read from 1700 on.

    Examples
    --------
    >>> from gru_book.models.comparison import sunspot_part
    >>> batch = sunspot_part("validation")
    >>> batch.xs.shape, batch.ys.shape
    ((250, 1, 1), (50, 1, 1))
    """
    xs, ys = sunspot_arrays()
    part = sunspots().part(name)
    first, stop = part.start - 1, part.stop - 1  # the target of input i is year i + 1
    return Batch(xs[:stop], ys[first:stop])


def tasks() -> dict[str, Task]:
    """The tasks, by name. One of them twice, with another budget.

    Examples
    --------
    >>> from gru_book.models.comparison import tasks
    >>> list(tasks())
    ['parity', 'digits', 'digits, 400 updates', 'text', 'sunspots']
    >>> tasks()["text"].measure
    'bits per character'
    """
    V = english().V
    return {
        "parity": Task(4, 1, 32, 1600, 1100, "bit", "% right", "higher", parity_batch, parity_part),
        "digits": Task(8, 10, 50, 2400, 3000, "class", "% right", "higher", digit_batch, digit_part, alike=True),
        "digits, 400 updates": Task(8, 10, 50, 400, 3000, "class", "% right", "higher", digit_batch, digit_part),
        "text": Task(32, V, 32, 1600, 38_700, "class", "bits per character", "lower", text_batch, text_part, V, True),
        "sunspots": Task(1, 1, 16, 800, 520, "number", "sunspots", "lower", sunspot_batch, sunspot_part),
    }


# ---------------------------------------------------------------------------------------------------- the protocol


def fit(name: str, cell: str, rate: float, seed: int, *, steps: int | None = None, **start: Any) -> tuple[Bundle, Row]:
    """Train once and test at the best validation score; the processor time counts only the training.

    Returns the network at that point, and its results. `start` is for `network`.

    Examples
    --------
    >>> from gru_book.models.comparison import fit
    >>> m, row = fit("sunspots", "tanh", 0.03, seed=0, steps=12)
    >>> sorted(row)
    ['seconds', 'step', 'test', 'validation']
    """
    task = tasks()[name]
    steps = steps or task.steps
    rng = np.random.default_rng(seed)
    m = network(rng, cell, task.D, task.K, units(cell, task), V=task.V, **{"alike": task.alike} | start)
    validation = task.part("validation")
    sign = 1 if task.better == "higher" else -1
    best: dict[str, Any] = {"score": -np.inf, "flat": m.flat.copy(), "step": 0}
    spent = 0.0

    def source() -> Iterator[Batch]:
        while True:
            yield task.draw(rng)

    def timed(p: Bundle, batch: Batch) -> tuple[Any, Bundle]:
        nonlocal spent
        begin = time.process_time()
        result = loss_and_grads(p, batch, task.kind)
        spent += time.process_time() - begin
        return result

    taken = 0

    def evaluate(p: Bundle) -> dict[str, float]:
        nonlocal taken
        taken += 1
        value = score(p, task, validation)
        if sign * value > best["score"]:
            best.update(score=sign * value, flat=p.flat.copy(), step=taken * max(1, steps // EVALUATIONS))
        return {"validation": value}

    with contextlib.suppress(FloatingPointError):  # the rate was too high: the best network before that counts
        train(
            m,
            timed,
            source(),
            Adam(m, rate),
            steps=steps,
            schedule=linear_decay(rate, steps),
            clip_norm=1.0,
            evaluate=evaluate,
            every=max(1, steps // EVALUATIONS),
            progress=False,
        )
    m.flat[:] = best["flat"]
    test = score(m, task, task.part("test"))
    return m, {"validation": sign * best["score"], "test": test, "step": min(best["step"], steps), "seconds": spent}
