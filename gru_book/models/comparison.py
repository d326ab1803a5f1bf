"""tanh, GRU and LSTM on two tasks under one protocol: the networks, the tasks and one training. Chapter 20.

Every cell gets the same number of parameters, updates and sequences in a task. The learning rate falls linearly to 0; a
training is tested once, at the evaluation with its best validation score. What is tuned, the rate and the start, is
chosen by `experiments.comparison`. float32.
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
from gru_lib.cells.elman import elman_init
from gru_lib.cells.gru import gru_init
from gru_lib.cells.lstm import lstm_init
from gru_lib.cells.registry import cell_of
from gru_lib.ops import (
    bce_with_logits,
    linear_backward,
    linear_forward,
    linear_init,
    orthogonal,
    softmax_cross_entropy,
)
from gru_lib.optim import Adam, linear_decay
from gru_lib.params import Bundle, bundle
from gru_lib.train import train

__all__ = ["CELLS", "Batch", "Task", "count", "fit", "loss_and_grads", "network", "outputs", "score", "tasks", "units"]

#: The cells that are compared.
CELLS = ("tanh", "GRU", "LSTM")
EVALUATIONS = 12  # on the validation set, evenly over a training; one more at its end

Array = NDArray[Any]
Row = dict[str, Any]


class Batch(NamedTuple):
    """Sequences and targets, after every step or (with one step in `ys`) only after the last."""

    xs: Array  # (T, N, D)
    ys: Array  # (S, N) classes, or (S, N, 1) bits, for the last S steps


@dataclass(frozen=True)
class Task:
    """A task, its size and its measure."""

    D: int  # inputs of the cell
    K: int
    N: int  # sequences in a batch
    steps: int
    budget: int  # parameters; each cell gets as many units as fit
    kind: str  # "bit" or "class"
    draw: Callable[[np.random.Generator], Batch]  # a batch to train on
    part: Callable[[str], Batch]  # "validation" or "test"
    alike: bool  # whether the gated cells begin with orthogonal blocks of W_h, as tanh does, or uniform


def count(cell: str, D: int, K: int, H: int) -> int:
    """Number of parameters of a cell with H units, and its linear layer.

    Examples
    --------
    >>> from gru_book.models.comparison import count
    >>> [count(cell, D=3, K=1, H=5) for cell in ("tanh", "GRU", "LSTM")]
    [51, 141, 186]
    """
    blocks = {"tanh": 1, "GRU": 3, "LSTM": 4}[cell]
    return blocks * (D * H + H * H + H) + H * K + K


def units(cell: str, task: Task) -> int:
    """The most units that fit into the task's budget.

    Examples
    --------
    >>> from gru_book.models.comparison import tasks, units
    >>> digits = tasks()["digits"]
    >>> {cell: units(cell, digits) for cell in ("tanh", "GRU", "LSTM")}
    {'tanh': 46, 'GRU': 26, 'LSTM': 22}
    """
    H = 1
    while count(cell, task.D, task.K, H + 1) <= task.budget:
        H += 1
    return H


def network(
    rng: np.random.Generator,
    cell: str,
    D: int,
    K: int,
    H: int,
    *,
    b_z: float = 1.0,
    b_f: float = 1.0,
    alike: bool = False,
    identity: bool = False,
) -> Bundle:
    """A cell, and a linear layer on every state. With `alike` every block of W_h begins orthogonal, else uniform; with
    `identity` each is the identity matrix.

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
    for W_h in blocks if alike or identity else ():
        W_h[:] = np.eye(H) if identity else orthogonal(rng, H)
    return bundle(rnn=rnn, out=linear_init(rng, H, K, dtype=single))


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
    hs, _, tape = cell_of(m.rnn).forward(xs, None, m.rnn)
    said, cache_out = linear_forward(hs[-last:], m.out)
    return said, (hs, tape, cache_out)


def loss_and_grads(m: Bundle, batch: Batch, kind: str) -> tuple[Any, Bundle]:
    """Cross-entropy of bits or classes, and its gradient.

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
    said, (hs, tape, cache_out) = outputs(m, batch.xs, last)
    if kind == "bit":
        loss, dsaid = bce_with_logits(said, batch.ys)
    else:
        loss, dsaid = softmax_cross_entropy(said, batch.ys)
    dhs = np.zeros_like(hs)
    dhs[-last:], out = linear_backward(dsaid, cache_out, m.out)
    _, _, rnn = cell_of(m.rnn).backward(dhs, None, tape, m.rnn)
    return loss, bundle(rnn=rnn, out=out)


def score(m: Bundle, task: Task, batch: Batch) -> float:
    """The share of right answers on a batch, in %.

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
    right = (said > 0) == (batch.ys > 0.5) if task.kind == "bit" else said.argmax(axis=-1) == batch.ys
    return float(100 * right.mean())


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


def tasks() -> dict[str, Task]:
    """The tasks, by name.

    Examples
    --------
    >>> from gru_book.models.comparison import tasks
    >>> {name: task.steps for name, task in tasks().items()}
    {'parity': 800, 'digits': 1200}
    """
    return {
        "parity": Task(4, 1, 32, 800, 1100, "bit", parity_batch, parity_part, alike=False),
        "digits": Task(8, 10, 50, 1200, 3000, "class", digit_batch, digit_part, alike=True),
    }


# ---------------------------------------------------------------------------------------------------- the protocol


def fit(name: str, cell: str, rate: float, seed: int, *, steps: int | None = None, **start: Any) -> tuple[Bundle, Row]:
    """Train once and test at the best validation score; the processor time counts only the training.

    Returns the network at that point, and its results. `start` is for `network`.

    Examples
    --------
    >>> from gru_book.models.comparison import fit
    >>> m, row = fit("parity", "tanh", 0.03, seed=0, steps=12)
    >>> sorted(row)
    ['seconds', 'step', 'test', 'validation']
    """
    task = tasks()[name]
    steps = steps or task.steps
    rng = np.random.default_rng(seed)
    m = network(rng, cell, task.D, task.K, units(cell, task), **{"alike": task.alike or cell == "tanh"} | start)
    validation = task.part("validation")
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
        if value > best["score"]:
            best.update(score=value, flat=p.flat.copy(), step=taken * max(1, steps // EVALUATIONS))
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
    return m, {"validation": best["score"], "test": test, "step": min(best["step"], steps), "seconds": spent}
