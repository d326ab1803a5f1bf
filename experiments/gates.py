"""Training runs of chapter 3: what holds a number and what follows one. Stored in gates.json. To rerun:

``python tools/environment.py python -m experiments.gates [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into gates_own.json. "rates"
chooses each contender's learning rate, on other seeds and sequences; "runs" are the trainings that the page shows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._store import digits, file_for_kernels, fixed_kernels, load, make_parts
from gru_book.results import FOLDER
from gru_book.tasks import hold
from gru_lib import (
    Adam,
    Bundle,
    bundle,
    elman_backward,
    elman_forward,
    elman_init,
    linear_backward,
    linear_forward,
    linear_init,
    sigmoid,
    train,
)
from gru_lib.ops import LinearParams

STORED = file_for_kernels("gates")
SEEDS = range(10 if fixed_kernels() else 3)
T, N = 20, 32
STEPS = 2000
TASKS = {"hold": hold.hold, "drift": hold.drift}
RATES = (0.003, 0.01, 0.03, 0.1, 0.3)

Row = dict[str, Any]
Loss = Callable[..., tuple[Any, Any]]


def squared(said: Any, ys: Any) -> tuple[Any, Any]:
    """The chapter's loss, the mean squared error over the second half of the steps, and its gradient in `said`."""
    off, half = said - ys, len(ys) // 2
    off[:half] = 0
    return (off * off).sum() / off[half:].size, 2 * off / off[half:].size


def elman_loss(m: Bundle, batch: hold.Batch) -> tuple[Any, Bundle]:
    """An Elman net with a linear readout."""
    hs, _, tape = elman_forward(batch.xs, None, m.rnn)
    said, cache = linear_forward(hs, m.out)
    loss, dsaid = squared(said, batch.ys)
    dhs, dout = linear_backward(dsaid, cache, m.out)
    _, _, drnn = elman_backward(dhs, None, tape, m.rnn)
    return loss, bundle(rnn=drnn, out=dout)


def through_loss(p: LinearParams, batch: hold.Batch) -> tuple[Any, LinearParams]:
    """The chapter's unit with a hard gate, z = 1 if a = [x, m, h] W + b > 0; backward as if z = a."""
    return _gated(p, batch, lambda a: ((a.real > 0).astype(a.dtype), np.ones_like(a)))


def _gated(p: LinearParams, batch: hold.Batch, gate: Callable[..., tuple[Any, Any]]) -> tuple[Any, LinearParams]:
    """Run the unit and go back; `gate` returns z and the slope that is used for ∂z/∂a."""
    h, hs, kept = np.zeros_like(batch.xs[0, :, :1]), [], []
    for x in batch.xs:
        seen = np.concatenate([x, h], axis=1)
        z, slope = gate(seen @ p.W + p.b)
        kept.append((seen, z, slope))
        h = z * h + (1 - z) * x[:, :1]
        hs.append(h)
    loss, dhs = squared(np.array(hs), batch.ys)
    grads, dh = p.zeros_like(dhs.dtype), np.zeros_like(dhs[0])
    for dh_t, (seen, z, slope) in zip(dhs[::-1], kept[::-1], strict=True):
        dh = dh + dh_t
        da = dh * (seen[:, 2:] - seen[:, :1]) * slope
        grads.W[:] += seen.T @ da
        grads.b[:] += da.sum(axis=0)
        dh = dh * z + da @ p.W[2:].T
    return loss, grads


def reinforce_loss(rng: np.random.Generator) -> Loss:
    """z = 1 with probability σ(a); (z − σ(a)) times the loss that is still to come, less its mean over the others."""

    def function(p: LinearParams, batch: hold.Batch) -> tuple[Any, LinearParams]:
        h, hs, scores = np.zeros_like(batch.xs[0, :, :1]), [], []
        for x in batch.xs:
            seen = np.concatenate([x, h], axis=1)
            share = sigmoid(seen @ p.W + p.b)
            z = (rng.random(share.shape) < share).astype(float)
            h = z * h + (1 - z) * x[:, :1]
            hs.append(h)
            scores.append((seen, z - share))
        said = np.array(hs)
        loss, _ = squared(said, batch.ys)
        off, half, count = said - batch.ys, len(said) // 2, said.shape[1]
        off[:half] = 0
        to_come = (off * off)[::-1].cumsum(axis=0)[::-1] / half
        less = (to_come - to_come.mean(axis=1, keepdims=True)) * count / (count - 1)
        grads = p.zeros_like()
        for (seen, score), weight in zip(scores, less, strict=True):
            da = score * weight / count
            grads.W[:] += seen.T @ da
            grads.b[:] += da.sum(axis=0)
        return loss, grads

    return function


def unit_loss(m: Bundle, batch: hold.Batch) -> tuple[Any, Bundle]:
    """One gated unit that has to make its candidate and its answer itself: n = [x, m] V + c, answer u h + d."""
    h, hs, kept = np.zeros_like(batch.xs[0, :, :1]), [], []
    for x in batch.xs:
        seen = np.concatenate([x, h], axis=1)
        z = sigmoid(seen @ m.gate.W + m.gate.b)
        n = x @ m.candidate.W + m.candidate.b
        kept.append((seen, z, n))
        h = z * h + (1 - z) * n
        hs.append(h)
    said, cache = linear_forward(np.array(hs), m.out)
    loss, dsaid = squared(said, batch.ys)
    dhs, dout = linear_backward(dsaid, cache, m.out)
    dgate, dcandidate = m.gate.zeros_like(dhs.dtype), m.candidate.zeros_like(dhs.dtype)
    dh = np.zeros_like(dhs[0])
    for dh_t, (seen, z, n) in zip(dhs[::-1], kept[::-1], strict=True):
        dh = dh + dh_t
        da = dh * (seen[:, 2:] - n) * z * (1 - z)
        dn = dh * (1 - z)
        dgate.W[:] += seen.T @ da
        dgate.b[:] += da.sum(axis=0)
        dcandidate.W[:] += seen[:, :2].T @ dn
        dcandidate.b[:] += dn.sum(axis=0)
        dh = dh * z + da @ m.gate.W[2:].T
    return loss, bundle(gate=dgate, candidate=dcandidate, out=dout)


def fit(p: Any, loss: Loss, task: str, rate: float, rng: np.random.Generator) -> Any:
    """Train `p` by Adam, with a rate that falls to 0 in the second half of the steps."""
    train(
        p,
        loss,
        (TASKS[task](rng, N, T) for _ in range(STEPS)),
        Adam(p, rate),
        steps=STEPS,
        clip_norm=1.0,
        schedule=lambda step: rate * min(1, 2 - 2 * step / STEPS),
        progress=False,
    )
    return p


def _cell(rng: np.random.Generator) -> LinearParams:
    return linear_init(rng, 3, 1)


def _unit(rng: np.random.Generator) -> Bundle:
    return bundle(gate=linear_init(rng, 3, 1), candidate=linear_init(rng, 2, 1), out=linear_init(rng, 1, 1))


def _elman(H: int, activation: str) -> Callable[[np.random.Generator], Bundle]:
    """An Elman net of H units with a linear readout, its weights uniform in ±1/√H at the start."""
    return lambda rng: bundle(rnn=elman_init(rng, 2, H, activation=activation), out=linear_init(rng, H, 1))


#: How each contender starts, the loss that it is trained with, and the one that it is tested with. Tosses of a coin
#: have a generator of their own, so that all contenders of one kind start alike and see the same sequences.
Contender = tuple[Callable[[np.random.Generator], Any], Callable[[np.random.Generator], Loss], Loss]
CONTENDERS: dict[str, Contender] = {
    "linear recurrence": (_elman(1, "linear"), lambda _: elman_loss, elman_loss),
    "Elman, 1 unit": (_elman(1, "tanh"), lambda _: elman_loss, elman_loss),
    "gated unit": (_unit, lambda _: unit_loss, unit_loss),
    "Elman, 4 relu units": (_elman(4, "relu"), lambda _: elman_loss, elman_loss),
    "straight-through": (_cell, lambda _: through_loss, through_loss),
    "REINFORCE": (_cell, reinforce_loss, through_loss),
}


def trained(task: str, name: str, rate: float, seed: int) -> Any:
    """A contender, trained."""
    start, loss, _ = CONTENDERS[name]
    rng = np.random.default_rng(seed)
    return fit(start(rng), loss(np.random.default_rng([seed, 1])), task, rate, rng)


def rates(task: str, name: str, rate: float, seed: int) -> float:
    """The error on sequences that are used for nothing else."""
    return CONTENDERS[name][2](trained(task, name, rate, seed), TASKS[task](np.random.default_rng(102), 2000, T))[0]


def best_rate(task: str, name: str) -> float:
    """The rate with the smallest mean error."""
    found: dict[float, list[float]] = {}
    for *what, rate, _, error in load(FOLDER / "gates.json")["rates"]:
        if what == [task, name]:
            found.setdefault(rate, []).append(error)
    return min(found, key=lambda rate: np.mean(found[rate]))


def run(task: str, name: str, seed: int) -> Row:
    """A contender, trained with the best rate."""
    rate = best_rate(task, name)
    return {"rate": rate} | errors(trained(task, name, rate, seed), CONTENDERS[name][2], task)


def errors(p: Any, loss: Loss, task: str) -> Row:
    """The number of parameters, and the error on test sequences."""
    return {"parameters": p.size, "error": loss(p, TASKS[task](np.random.default_rng(100), 2000, T))[0]}


HARD = ("straight-through", "REINFORCE")  # on hold alone
EACH = tuple((task, name) for name in CONTENDERS for task in TASKS if task == "hold" or name not in HARD)
Part = tuple[Callable[..., Any], tuple[tuple[Any, ...], ...], range]
ONCE: dict[str, Part] = {
    "rates": (rates, tuple((*what, rate) for what in EACH for rate in RATES), range(20, 22)),
}
PARTS: dict[str, Part] = (ONCE if fixed_kernels() else {}) | {
    "runs": (run, EACH, SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments, rounding=digits(3))


if __name__ == "__main__":
    main(sys.argv[1:])
