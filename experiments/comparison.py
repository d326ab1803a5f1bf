"""Training runs of chapter 20, `gru_book.models.comparison`: three cells on four tasks; one task with two budgets.

Results are stored in ``gru_book/results/comparison.json``. To rerun all tasks or some:

``python tools/environment.py python -m experiments.comparison [TASK …]``

The learning rate is chosen on the validation set, from the same five, with the same five seeds and half the updates;
then each of ten other seeds is tested once. On text, whose runs are the longest, it is chosen with two seeds and all
the updates, from 0.003, 0.01 and 0.03 and the next beyond if the best is at an end of these; five other seeds are
tested. Where several rates tie, the smallest is taken. The seeds are trained with half the updates as well, but for
text: that shows whether the full number was enough. Every run has its own seed, so any of them can be repeated alone.
``simple`` are the answers without a net, ``start`` the runs of the chapter's exercise on b_z, ``starts`` the cells at
400 updates with other starts, each tuned anew.

With ``KERNELS=own`` before it, three of the seeds, all ten on parity, are tested at the stored rates with this
processor's own kernels, and all of ``start``; they go into ``comparison_own.json``, row by row.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from experiments._store import as_stored, chosen, fixed_kernels, load, make_parts, replace, stored_file
from gru_book.models.comparison import CELLS, RATES, count, encoded, fit, tasks, units
from gru_book.models.ngram import KneserNey
from gru_book.tasks.digits import CLASSES, digits
from gru_book.tasks.sunspots import sunspots
from gru_book.tasks.text import english
from gru_lib.ops import LinearParams, linear_forward, linear_init

STORED, OWN = stored_file("comparison"), stored_file("comparison_own")
TUNING_SEEDS = range(100, 105)
SEEDS = range(10)
SHORT = "digits, 400 updates"  # the task of `start`
START_RATES, STARTS = (0.03, 0.1), (0, 1)  # its rates, and its biases of the update gate
OTHER_STARTS = (  # cell, orthogonal or uniform blocks of W_h, b_z
    ("tanh", True, None), ("GRU", False, 1), ("GRU", True, 1), ("GRU", False, 0), ("GRU", True, 0),
    ("LSTM", False, None), ("LSTM", True, None),
)  # fmt: skip

Row = dict[str, Any]


def picked(tuned: Mapping[str, Sequence[float]], better: str) -> float:
    """The rate with the best mean of the tuning seeds; of several, the smallest."""
    means = {float(rate): float(np.mean(found)) for rate, found in tuned.items()}
    return (max if better == "higher" else min)(means, key=lambda rate: means[rate])


def tuned(name: str, cell: str) -> dict[str, list[float]]:
    """The scores in validation of the tuning seeds, by rate."""
    task, text = tasks()[name], name == "text"
    seeds, steps = (TUNING_SEEDS[:2], task.steps) if text else (TUNING_SEEDS, task.steps // 2)

    def at(rate: float) -> list[float]:
        return [fit(name, cell, rate, seed, steps=steps)[1]["validation"] for seed in seeds]

    found = {str(rate): at(rate) for rate in (RATES[:3] if text else RATES)}
    if text and (beyond := {0.003: 0.001, 0.03: 0.1}.get(picked(found, task.better))):
        found[str(beyond)] = at(beyond)
    return dict(sorted(found.items()))


def compare(name: str) -> Row:
    """Tune every cell on the validation set, then test it."""
    task, row = tasks()[name], {}
    for cell in CELLS:
        scores = tuned(name, cell)
        rate, H = picked(scores, task.better), units(cell, task)
        row[cell] = {
            "units": H,
            "parameters": count(cell, task.D, task.K, H, task.V),
            "tuning": scores,
            "rate": rate,
            "runs": [fit(name, cell, rate, seed)[1] for seed in (SEEDS[:5] if name == "text" else SEEDS)],
        }
        if name != "text":
            row[cell]["half"] = [fit(name, cell, rate, seed, steps=task.steps // 2)[1]["test"] for seed in SEEDS]
        print(f"{name}, {cell}", flush=True)
    return row


def other_kernels(name: str) -> Callable[[str, int], float]:
    """The test of a cell at its stored rate."""
    return lambda cell, seed: fit(name, cell, load(STORED)[name][cell]["rate"], seed)[1]["test"]


def begun(rate: float, b_z: float, seed: int) -> float:
    """The test of a GRU that begins with a bias of the update gate."""
    return fit(SHORT, "GRU", rate, seed, b_z=b_z)[1]["test"]


def start() -> Row:
    """GRUs that begin with another bias of the update gate, at two rates: tests by rate and bias."""
    return {str(rate): {str(b_z): [begun(rate, b_z, seed) for seed in SEEDS] for b_z in STARTS} for rate in START_RATES}


def starts() -> list[Row]:
    """The cells of `SHORT` with other starts, each tuned anew: where a gate's bias begins, and W_h of the gated cells
    uniform or orthogonal."""
    found, half = [], tasks()[SHORT].steps // 2
    for cell, alike, b_z in OTHER_STARTS:
        begin: Row = {"alike": alike} if b_z is None else {"alike": alike, "b_z": b_z}
        scores = {
            str(rate): [fit(SHORT, cell, rate, seed, steps=half, **begin)[1]["validation"] for seed in TUNING_SEEDS]
            for rate in RATES
        }
        rate = picked(scores, "higher")
        tests = [fit(SHORT, cell, rate, seed, **begin)[1]["test"] for seed in SEEDS]
        found.append({"cell": cell, **begin, "rate": rate, "tests": tests})
    return found


# ------------------------------------------------------------------------------------------------- simple answers


def ignore_brackets(_: None, part: str) -> float:
    """Parity of all 1s so far, inside and outside brackets."""
    xs, ys = tasks()["parity"].part(part)
    return float(100 * np.mean(np.cumsum(xs[:, :, 1:2], axis=0) % 2 == ys))


def states_of(table: Any, tokens: Any) -> Any:
    """The states of a machine that begins in state 0: (T, N) for tokens (T, N)."""
    state, found = np.zeros(tokens.shape[1], int), np.empty(tokens.shape, int)
    for t, row in enumerate(tokens):
        state = table[state, row]
        found[t] = state
    return found


@cache
def machine(S: int, seed: int = 0, tries: int = 5000) -> tuple[Any, Any]:
    """A machine of S states: the next state for each state and token, and what each state answers.

    Found on 64 sequences: from a random table, change one entry at a time, keep what gives more right answers, and
    begin anew where no change does. It is told nothing of brackets.
    """
    rng = np.random.default_rng(seed)
    tokens, bits = ([], [])
    for xs, ys in (tasks()["parity"].draw(rng) for _ in range(2)):
        tokens.append(xs.argmax(axis=-1))
        bits.append(ys[..., 0] > 0.5)
    tokens, bits = np.concatenate(tokens, axis=1), np.concatenate(bits, axis=1)

    def answers(table: Any) -> tuple[Any, float]:
        states = states_of(table, tokens).ravel()
        ones, all_ = np.bincount(states, bits.ravel(), S), np.bincount(states, minlength=S)
        return 2 * ones > all_, np.maximum(ones, all_ - ones).sum() / bits.size

    best, used = (0.0, None, None), 0
    while used < tries and best[0] < 1:
        table = rng.integers(0, S, (S, 4))
        (says, right), better = answers(table), True
        while better and used < tries:
            better = False
            for k in rng.permutation(S * 4 * S):
                entry, to = divmod(int(k), S)
                before, used = table.flat[entry], used + 1
                table.flat[entry] = to
                said, got = answers(table)
                if got > right:
                    says, right, better = said, got, True
                else:
                    table.flat[entry] = before
        if right > best[0]:
            best = right, table.copy(), says
    return best[1], best[2]


def few_states(S: int, part: str) -> float:
    """Parity by a machine of S states."""
    table, says = machine(S)
    xs, ys = tasks()["parity"].part(part)
    return float(100 * np.mean(says[states_of(table, xs.argmax(axis=-1))] == (ys[..., 0] > 0.5)))


def pixels(part: str) -> tuple[Any, Any]:
    """Pictures as rows of 64 pixels, and their digits."""
    images, labels = getattr(digits(), part)
    return images.reshape(-1, 64), labels


@cache
def support_vectors(C: float) -> Any:
    """A support vector machine with a Gaussian kernel, on the pixels."""
    from sklearn.svm import SVC

    return SVC(C=C, gamma="scale").fit(*pixels("train"))


def support(C: float, part: str) -> float:
    rows, right = pixels(part)
    return float(100 * np.mean(support_vectors(C).predict(rows) == right))


def nearest_neighbour(k: int, part: str) -> float:
    """The commonest digit among the k nearest training pictures."""
    (rows, right), (known, labels) = pixels(part), pixels("train")
    apart = (known**2).sum(axis=1) - 2 * rows @ known.T
    near = labels[np.argsort(apart, axis=1, kind="stable")[:, :k]]
    votes = (near[:, :, None] == np.arange(CLASSES)).sum(axis=1)
    return float(100 * np.mean(votes.argmax(axis=1) == right))


@cache
def softmax_weights(penalty: float) -> LinearParams:
    """Softmax regression on the pixels, with a penalty on the squared weights. `gru_lib.ops` would want the gradient of
    the pixels too, for more than half of the time."""
    (rows, labels), p = pixels("train"), linear_init(np.random.default_rng(0), 64, CLASSES)
    p.flat[:] = 0
    pictures, right = rows.T.copy(), np.eye(CLASSES)[:, labels]  # a column each: sums over ten rows are the faster
    g, velocity = p.copy(), np.zeros_like(p.flat)
    for _ in range(3000):
        said = p.W.T @ pictures + p.b[:, None]
        said -= said.max(axis=0)
        np.exp(said, out=said)
        said /= said.sum(axis=0)
        said -= right
        said /= len(rows)
        g.W[:], g.b[:] = pictures @ said.T + penalty * p.W, said.sum(axis=1)
        velocity = 0.9 * velocity + g.flat
        p.flat -= velocity
    return p


def softmax_regression(penalty: float, part: str) -> float:
    rows, right = pixels(part)
    said, _ = linear_forward(rows, softmax_weights(penalty))
    return float(100 * np.mean(said.argmax(axis=1) == right))


@cache
def kneser_ney() -> KneserNey:
    """Counts of the training text."""
    return KneserNey(encoded("train"), max(ORDERS), english().V)


def text_by_counts(n: int, part: str) -> float:
    """Bits per character of Kneser–Ney, asked for the same characters as the nets, each piece on its own."""
    tokens, model = encoded(part), kneser_ney()
    pieces = [tokens[start : start + 101] for start in range(0, len(tokens) - 101, 200)]  # as `text_part` cuts them
    return float(np.mean([-np.log2(model.probabilities(piece, n=n)[21:]) for piece in pieces]))


def line(p: int, part: str) -> float:
    """Root mean squared error of a weighted sum of the last p years and a constant, fitted to the training years."""
    series = sunspots()

    def lagged(part: str) -> tuple[Any, Any]:
        where = series.part(part)
        at = np.arange(max(p, where.start), where.stop)
        lags = [np.ones(len(at)), *(series.numbers[at - k] for k in range(1, p + 1))]
        return np.stack(lags, axis=1), series.numbers[at]

    rows, numbers = lagged(part)
    return float(np.sqrt(np.mean((rows @ np.linalg.lstsq(*lagged("train"), rcond=None)[0] - numbers) ** 2)))


ORDERS = range(2, 13)
#: Task, name, function of a setting and a part, and the settings to choose from on the validation set.
SIMPLE: tuple[tuple[str, str, Callable[[Any, str], float], Sequence[Any]], ...] = (
    ("parity", "ignore the brackets", ignore_brackets, (None,)),
    ("parity", "a machine of few states", few_states, (2, 3, 4)),
    ("digits", "softmax regression", softmax_regression, (1e-5, 1e-4, 1e-3, 1e-2)),
    ("digits", "nearest neighbour", nearest_neighbour, (1, 3, 5, 7, 9)),
    ("digits", "support vectors", support, (0.3, 1, 3, 10, 30)),
    ("text", "Kneser–Ney", text_by_counts, ORDERS),
    ("sunspots", "a line", line, range(1, 21)),
)


def simple() -> Row:
    """The strongest simple answers we know. What they leave to choose is chosen on the validation set."""
    found: Row = {}
    for name, what, answer, settings in SIMPLE:
        pick = max if tasks()[name].better == "higher" else min
        setting = pick(settings, key=lambda setting, answer=answer: answer(setting, "validation"))
        row = {"setting": setting, "validation": answer(setting, "validation"), "test": answer(setting, "test")}
        found.setdefault(name, {})[what] = row
    return found


def main(names: list[str]) -> None:
    """Run the named tasks and parts, or all, and store them."""
    if not fixed_kernels():
        seeds = {name: SEEDS if name == "parity" else SEEDS[:3] for name in tasks()}
        parts: dict[str, Any] = {
            name: (other_kernels(name), [(cell,) for cell in CELLS], seeds[name]) for name in tasks()
        }
        parts["start"] = (begun, list(product(START_RATES, STARTS)), SEEDS)
        make_parts(OWN, parts, names)
        return
    others = {"simple": simple, "start": start, "starts": starts}
    for name in chosen(names or [*tasks(), *others], [*tasks(), *others]):
        begin = time.perf_counter()
        row = as_stored(others.get(name, partial(compare, name))())
        text = json.dumps(load(STORED) | {name: row}, indent=1)  # one table per task, so not in rows
        text = re.sub(r"\[[^][{}]*\]", lambda numbers: " ".join(numbers[0].split()), text)
        replace(STORED, text + "\n")
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
