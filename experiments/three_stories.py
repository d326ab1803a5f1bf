"""Training runs of chapter 8 that take minutes, stored in three_stories.json. To rerun them:

``python tools/environment.py python -m experiments.three_stories [--missing] [PART …]``

With ``KERNELS=own`` before it, three of the seeds run with this processor's own kernels, into three_stories_own.json: a
page states only counts on which both agree. Every run has its own seed, so any of them can be repeated alone. float32.
"stories" trains each contender at the learning rate that "stories rates" chose on other seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._store import file_for_kernels, fixed_kernels, make_parts
from gru_book.cells import ablated_gru_init
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.memory import TASKS, Batch, agreement
from gru_lib import Adam, Bundle, elman_init, sigmoid, train

STORED = file_for_kernels("three_stories")
SEEDS, TUNING_SEEDS = range(10 if fixed_kernels() else 3), range(100, 102)
H, N = 16, 32
RATES = (0.003, 0.01, 0.03)
SOLVED = 0.99  # training may stop, and a task counts as learned, once this share of 256 test answers is right

Draw = Callable[[np.random.Generator, int], Batch]  # a task with its length: draw(rng, N)
Row = dict[str, Any]


def network(rng: np.random.Generator, cell: str, D: int, K: int) -> Bundle:
    """Draw a reader with a GRU that lacks a gate, or an Elman net; all biases are 0.

    "orthogonal" is W_h of the Elman net. "shared" is r = z; "minimal" is the minimal gated unit, r = 1 − z with z the
    share that is kept.
    """
    init: Callable[..., Any]
    if cell == "Elman, orthogonal":
        init = partial(elman_init, init="orthogonal")
    elif cell == "minimal":
        init = partial(ablated_gru_init, ablation="shared", convention="write")
    else:
        init = partial(ablated_gru_init, ablation=cell)
    return reader_init(rng, D, K, H, init=init, dtype=np.float32)


def fit(
    m: Bundle,
    rng: np.random.Generator,
    draw: Draw,
    lr: float,
    most: int,
    *,
    least: int = 0,
    every: int = 50,
    loss: Any = reader_loss,
) -> Row:
    """Train `m` on fresh batches until the task is solved, for at least and at most so many steps.

    Returns whether it was, the steps until it was first, looked at each `every`, and the best share right at any check.
    """
    test = single(draw(np.random.default_rng(10_001), 256))

    def source() -> Iterator[Batch]:
        while True:
            yield single(draw(rng, N))

    history = train(
        m,
        loss,
        source(),
        Adam(m, lr),
        steps=most,
        clip_norm=1.0,
        evaluate=lambda p: {"right": reader_accuracy(p, test).answers},
        every=every,
        stop=lambda history: history.steps >= least and max(history.curve("right")[1]) >= SOLVED,
        progress=False,
    )
    steps, shares = history.curve("right")
    solved = [k for k, share in zip(steps, shares, strict=True) if share >= SOLVED]
    return {"solved": bool(solved), "steps": solved[0] if solved else history.steps, "best": max(shares)}


def right(m: Bundle, draw: Draw, count: int = 512) -> float:
    """Share of answers right on held-out sequences."""
    return reader_accuracy(m, single(draw(np.random.default_rng(10_002), count))).answers


def single(batch: Batch) -> Batch:
    """The batch in float32."""
    return batch._replace(xs=batch.xs.astype(np.float32), ys=batch.ys.astype(np.float32))


def task(name: str, T: int) -> Draw:
    """A task of the library, T steps long."""
    return lambda rng, count: TASKS[name].draw(rng, count, T)


def stories(name: str, cell: str, lr: float, seed: int) -> Row:
    """Tokens to skip: T = 40, until it is solved."""
    rng = np.random.default_rng(seed)
    m = network(rng, cell, TASKS[name].D, TASKS[name].K)
    return fit(m, rng, task(name, 40), lr, 4000)


def keeps_names(b_z: float, steps: int, seed: int) -> Row:
    """A net that learns names as the page's does, from a bias: right answers with a term left out at the fillers."""
    rng = np.random.default_rng(seed)
    m = reader_init(rng, 17, 3, H)
    m.rnn.b_z[:] = b_z
    batches = (agreement(rng, N, 14, distance=(1, 10)) for _ in range(steps))
    train(m, reader_loss, batches, Adam(m, 0.01), steps=steps, clip_norm=1.0, progress=False)
    return names_right(m)


def names_right(m: Bundle) -> Row:
    """Share of names right as trained, and with 0 in the place of a term at the fillers after the last name.

    "held": with z there at its mean, unit by unit; "mean": with the term's mean in its place; "z = 1": with z at 1.
    "z" is the mean of z.
    """
    test = agreement(np.random.default_rng(5), 1024, 24, distance=(1, 20))

    def said(**instead: Any) -> tuple[float, NDArray[Any]]:
        h, means = last_state(m, test, **instead)
        return float(((h @ m.out.W + m.out.b > 0) == (test.ys[-1] > 0)).all(axis=1).mean()), means

    whole, (z, *means) = said()
    free = dict(zip(("kept", "written"), means, strict=True))
    held, (_, *terms) = said(z=z)
    row = {"as trained": whole, "z": float(z.mean()), "held": held}
    for term, mean in zip(("kept", "written"), terms, strict=True):
        row[term], (moved, *_) = said(**{term: 0.0})
        row |= {f"z, {term}": float(moved.mean()), f"{term}, held": said(z=z, **{term: 0.0})[0]}
        row[f"{term}, held, mean"] = said(z=z, **{term: mean})[0]
        row[f"{term}, mean"] = said(**{term: free[term]})[0]
    return row | {"z = 1": said(z=1.0)[0], "z = 0": said(z=0.0)[0]}


def after_name(batch: Batch) -> NDArray[np.bool_]:
    """Where the fillers between the last name and the end are, (T, N)."""
    names = batch.tokens < 8
    return (np.cumsum(names[::-1], axis=0)[::-1] == 0) & (batch.tokens < 16)


def last_state(m: Bundle, batch: Batch, **instead: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The state at the end, (N, H), and the means of z, kept z h and written (1 − z) n at the fillers after the name.

    z=, kept= and written= stand in their places there.
    """
    p, h, seen = m.rnn, np.zeros((batch.xs.shape[1], H)), []
    for x, here in zip(batch.xs, after_name(batch), strict=True):
        r = sigmoid(x @ p.W_xr + h @ p.W_hr + p.b_r)
        z = sigmoid(x @ p.W_xz + h @ p.W_hz + p.b_z)
        z = np.where(here[:, None], instead.get("z", z), z)
        kept, written = z * h, (1 - z) * np.tanh(x @ p.W_xn + (r * h) @ p.W_hn + p.b_n)
        seen.append(np.array([z, kept, written])[:, here])
        h = np.where(here[:, None], instead.get("kept", kept), kept)
        h = h + np.where(here[:, None], instead.get("written", written), written)
    return h, np.concatenate(seen, axis=1).mean(axis=1)


def best_rate(rows: Iterable[list[Any]], *what: Any) -> float:
    """The rate with the best mean share in the rows of a tuning, to 0.01; fewest steps break ties."""
    found: dict[float, list[tuple[float, float]]] = {}
    for *setting, lr, _, row in rows:
        if setting == list(what):
            found.setdefault(lr, []).append((row["best"], -row["steps"]))

    def merit(lr: float) -> tuple[float, float]:
        share, speed = np.mean(found[lr], axis=0)
        return round(share, 2), speed

    return max(found, key=merit)


def tuned(part: str, run: Callable[..., Row]) -> Callable[..., Row]:
    """A run at the rate that the tuning of the part chose, on seeds of its own and with the fixed kernels."""

    def at_best_rate(*what: Any) -> Row:
        *setting, seed = what
        rows = json.loads((FOLDER / "three_stories.json").read_text("utf8"))[f"{part} rates"]
        lr = best_rate(rows, *setting)
        return {"lr": lr} | run(*setting, lr, seed)

    return at_best_rate


def each_rate(*settings: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple((*setting, lr) for setting in settings for lr in RATES)


Part = tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]
SKIP = ("no_reset", "shared", "minimal", "no_update", "Elman, orthogonal")
TOLD = tuple(("parity_outside", cell) for cell in SKIP)
TUNING: dict[str, Part] = {
    "stories rates": (stories, each_rate(*TOLD), TUNING_SEEDS),
}
PARTS: dict[str, Part] = (TUNING if fixed_kernels() else {}) | {
    "stories": (tuned("stories", stories), TOLD, SEEDS),
    "names": (keeps_names, ((0, 2400), (2, 2400), (6, 7200)), SEEDS),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store each run; with --missing, only what is not stored yet."""
    make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
