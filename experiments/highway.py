"""Runs of chapter 9: what a trained network's gradients take, and what a bias costs, in highway.json.

``python tools/environment.py python -m experiments.highway [--missing] [PART …] [net]``

``net`` makes the network that reads a line on the page, highway_net.npz. With ``KERNELS=own`` before it, three of the
seeds run with this processor's own kernels, into highway_own.json. Every run has its own seed. float64.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, digits, file_for_kernels, fixed_kernels, make_parts
from experiments.three_stories import single
from gru_book.jacobian import jacobian
from gru_book.models.reader import reader_accuracy, reader_init, reader_loss
from gru_book.results import FOLDER
from gru_book.tasks.memory import TASKS, Batch
from gru_lib import Adam, Bundle, clip_by_global_norm, gru_forward, gru_init, save
from gru_lib.ops import orthogonal

STORED = file_for_kernels("highway")
SEEDS = range(10 if fixed_kernels() else 3)
Row = dict[str, Any]

# ---------------------------------------------------------------------------------------------------- trained networks

UNITS, LENGTH, RATE = 16, 40, 0.02
READ = TASKS["last_outside"]


def fit(m: Bundle, rng: np.random.Generator, draw: Callable[..., Batch], steps: int) -> None:
    """Train `m` on fresh batches."""
    adam = Adam(m, RATE)
    for _ in range(steps):
        _, grads = reader_loss(m, draw(rng, 32, LENGTH))
        clip_by_global_norm(grads, 1.0)
        adam.step(grads)


# ------------------------------------------------------------------------------------- one task kept, one rewritten

STARTS = {
    40: (("0", "library"), ("2", "library"), ("ln 39", "library"), ("spread", "library"), ("0", "orthogonal")),
    100: (("2", "library"), ("ln 99", "library"), ("spread", "library")),
}
RATES, MOST, LEARNED = (0.003, 0.01, 0.03), 1000, 0.99


def contender(
    rng: np.random.Generator,
    D: int,
    K: int,
    bias: str,
    start: str,
    seed: int,
    *,
    length: int = LENGTH,
    reset_after: bool = False,
) -> Bundle:
    """A reader whose b_z is 0, 2, ln(T − 1), or ln U(1, T − 1) drawn for each unit.

    "orthogonal": W_hn starts orthogonal and b_r at 4, so that the candidate sees the old state without changing its
    length. What this draws comes from another generator: for one seed, all that is not set is the same, batches too.
    """
    m = reader_init(rng, D, K, UNITS, init=gru_init, dtype=np.float32, reset_after=reset_after)
    own = np.random.default_rng(1000 + seed)
    widths = own.uniform(1, length - 1, UNITS)
    most = np.log(length - 1)
    m.rnn.b_z[:] = {"0": 0, "2": 2, f"ln {length - 1}": most, "spread": np.log(widths)}[bias]
    if start == "orthogonal":
        m.rnn.W_hn[:] = orthogonal(own, UNITS)
        m.rnn.b_r[:] = 4
    return m


def learn(
    task: str, bias: str, start: str, rate: float, seed: int, *, length: int = LENGTH, reset_after: bool = False
) -> Row:
    """Steps until 99 % of 256 answers are right, looked at every 25, 1,000 at most; and the share of other answers."""
    draw, D, K, _ = TASKS[task]
    rng = np.random.default_rng(seed)
    m = contender(np.random.default_rng(seed), D, K, bias, start, seed, length=length, reset_after=reset_after)
    adam = Adam(m, rate)
    test, others = (single(draw(np.random.default_rng(10_001 + k), 256 * (1 + k), length)) for k in (0, 1))
    for step in range(1, MOST + 1):
        _, grads = reader_loss(m, single(draw(rng, 32, length)))
        clip_by_global_norm(grads, 1.0)
        adam.step(grads)
        if step % 25 == 0 and reader_accuracy(m, test).answers >= LEARNED:
            break
    return {"steps": step, "right": reader_accuracy(m, others).answers}


# ------------------------------------------------------------------------------------------------------- reading a line

LINE = "..3..<6.1.4>..<.0..5>..."
INSIDE, DOTS = (6, 7, 8, 9, 10, 15, 16, 17, 18, 19), (3, 4, 12, 13, 21, 22, 23)  # tokens in brackets; dots after the 3


def reader(seed: int, steps: int = 300) -> Bundle:
    """A network that says, after each token, which class came last outside brackets."""
    rng = np.random.default_rng(seed)
    m = reader_init(rng, READ.D, READ.K, UNITS)
    m.rnn.b_z[:] = 2
    fit(m, rng, READ.draw, steps)
    return m


def look_back(m: Bundle) -> Row:
    """What a reader's last state owes to LINE, token by token.

    "norm": ‖∂h_T/∂h_t‖ for t = 0 … T; "z": the mean update gate; "moved": how far h_T moves if a dot stands in place of
    the token. "cut": ‖∂h_T/∂h_3‖ as it is, and with ∂h_t/∂h_{t−1} = diag(z) + the rest cut to diag(z), or to the rest,
    at the tokens in brackets, or at the dots outside.
    """
    tokens = np.array([READ.symbols.index(symbol) for symbol in LINE])
    xs = np.eye(READ.D)[tokens[:, None]]
    steps = jacobian(xs, None, m.rnn).steps[:, 0]
    z = gru_forward(xs, None, m.rnn)[2].gate("z")[:, 0]
    highway = z[:, :, None] * np.eye(UNITS)

    def norms(steps: Any) -> list[float]:
        back = [np.eye(UNITS)]
        for step in steps[::-1]:
            back.append(back[-1] @ step)
        return [float(np.linalg.norm(found, 2)) for found in back[::-1]]

    cut = {"whole": norms(steps)[3]}
    for place, where in (("inside", INSIDE), ("dots", DOTS)):
        for left, kept in (("highway", highway), ("detours", steps - highway)):
            changed = steps.copy()
            changed[list(where)] = kept[list(where)]
            cut[f"{left} alone, {place}"] = norms(changed)[3]
    other = np.repeat(tokens[:, None], len(tokens), axis=1)
    np.fill_diagonal(other, READ.symbols.index("."))
    ends = [gru_forward(np.eye(READ.D)[read], None, m.rnn)[1] for read in (tokens[:, None], other)]
    moved = np.linalg.norm(ends[1] - ends[0], axis=1)
    return {"norm": norms(steps), "z": z.mean(axis=1).tolist(), "moved": moved.tolist(), "cut": cut}


def line(seed: int) -> Row:
    """One trained reader: its share of right answers on other lines, and what it looks back at in LINE."""
    m = reader(seed)
    test = READ.draw(np.random.default_rng(9), 256, LENGTH)
    return {"right": reader_accuracy(m, test).answers} | look_back(m)


TRIED = tuple((*start, rate) for start in STARTS[40] for rate in RATES)
FAR = tuple((*start, 0.01) for start in STARTS[100])
AFTER = {"keep": ("2", "ln 39", "spread"), "rewrite": ("0", "2", "spread")}  # at the rate 0.03
PARTS: dict[str, tuple[Callable[..., Row], tuple[tuple[Any, ...], ...], range]] = {
    "line": (line, ((),), SEEDS),
    "keep": (partial(learn, "checksum"), TRIED, SEEDS),
    "rewrite": (partial(learn, "parity_outside"), TRIED, SEEDS[:5]),  # most take all the steps
    "keep, 100 tokens": (partial(learn, "checksum", length=100), FAR, SEEDS[:5]),
    "keep, reset after": (
        partial(learn, "checksum", reset_after=True),
        tuple((bias, "library", 0.03) for bias in AFTER["keep"]),
        SEEDS[:5],
    ),
    "rewrite, reset after": (
        partial(learn, "parity_outside", reset_after=True),
        tuple((bias, "library", 0.03) for bias in AFTER["rewrite"]),
        SEEDS[:5],
    ),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all and the network; with --missing, only what is not stored yet."""
    picked = chosen([name for name in arguments if name != MISSING], [*PARTS, "net"])
    parts = [name for name in picked if name != "net"]
    if parts:
        make_parts(STORED, PARTS, [*parts, *(name for name in arguments if name == MISSING)], rounding=digits(3))
    if "net" in picked and fixed_kernels():
        save(FOLDER / "highway_net.npz", reader(0))


if __name__ == "__main__":
    main(sys.argv[1:])
