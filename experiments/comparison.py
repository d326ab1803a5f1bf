"""Training runs of chapter 20, `gru_book.models.comparison`: three cells on two tasks, and answers without a net.

Results are stored in ``gru_book/results/comparison.json``. To rerun all parts or some:

``python tools/environment.py python -m experiments.comparison [PART …] [--missing]``

``… rates`` are scores in validation, by start and learning rate, all with the full number of updates: of them the
settings in `CHOSEN` are the best. ``parity`` and ``digits`` are tests, with other seeds, each tested once.
``baselines`` have one setting, chosen in validation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, make_parts, stored_file
from gru_book.models.comparison import fit, tasks
from gru_book.tasks.digits import CLASSES, digits
from gru_lib.ops import LinearParams, linear_forward, linear_init

STORED = stored_file("comparison")
SEEDS, TUNING_SEEDS = range(10), range(100, 105)
#: How W_h of tanh begins, and the bias of the gate that keeps.
STARTS: dict[str, dict[str, dict[str, float]]] = {
    "tanh": {"orthogonal": {}, "identity": {"identity": True}, "uniform": {"alike": False}},
    "GRU": {"b_z = 1": {"b_z": 1.0}, "b_z = 0": {"b_z": 0.0}},
    "LSTM": {"b_f = 1": {"b_f": 1.0}, "b_f = 0": {"b_f": 0.0}},
}
GRID = (0.003, 0.01, 0.03, 0.1, 0.3)
RATES: dict[str, list[tuple[str, str, float]]] = {
    "parity": [
        (cell, start, rate)
        for cell, starts in STARTS.items()
        for start in starts
        if start not in ("b_z = 0", "b_f = 0")
        for rate in GRID
    ],
    "digits": [
        (cell, start, rate)
        for cell, starts in STARTS.items()
        for start in starts
        if start != "identity"
        for rate in GRID
    ],
}
#: The best rate of each cell and start in validation; of several, the smallest.
CHOSEN: dict[str, list[tuple[str, str, float]]] = {
    "parity": [
        ("tanh", "orthogonal", 0.1),
        ("tanh", "identity", 0.03),
        ("tanh", "uniform", 0.03),
        ("GRU", "b_z = 1", 0.03),
        ("LSTM", "b_f = 1", 0.03),
    ],
    "digits": [
        ("tanh", "orthogonal", 0.01),
        ("tanh", "uniform", 0.01),
        ("GRU", "b_z = 1", 0.03),
        ("GRU", "b_z = 0", 0.03),
        ("LSTM", "b_f = 1", 0.03),
        ("LSTM", "b_f = 0", 0.03),
    ],
}


def trained(measure: str, name: str, cell: str, start: str, rate: float, seed: int) -> float:
    """The score in validation or test of one training."""
    return fit(name, cell, rate, seed, **STARTS[cell][start])[1][measure]


# ------------------------------------------------------------------------------------------------- simple answers


def ignore_brackets(_: None, part: str) -> float:
    """Parity of all 1s so far, inside and outside brackets."""
    xs, ys = tasks()["parity"].part(part)
    return float(100 * np.mean(np.cumsum(xs[:, :, 1:2], axis=0) % 2 == ys))


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


#: By task and name: a function of a setting and a part, and the settings to choose from on the validation set.
SIMPLE: dict[tuple[str, str], tuple[Callable[[Any, str], float], Sequence[Any]]] = {
    ("parity", "ignore the brackets"): (ignore_brackets, (None,)),
    ("digits", "softmax regression"): (softmax_regression, (1e-5, 1e-4, 1e-3, 1e-2)),
    ("digits", "nearest neighbour"): (nearest_neighbour, (1, 3, 5, 7, 9)),
    ("digits", "support vectors"): (support, (0.3, 1, 3, 10, 30)),
}


def simple(name: str, what: str, _: int = 0) -> dict[str, Any]:
    """What an answer without a net has to choose is chosen on the validation set. Nothing is drawn anew."""
    answer, settings = SIMPLE[name, what]
    setting = max(settings, key=lambda setting: answer(setting, "validation"))
    return {"setting": setting, "validation": answer(setting, "validation"), "test": answer(setting, "test")}


PARTS: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "parity rates": (partial(trained, "validation", "parity"), RATES["parity"], TUNING_SEEDS),
    "digits rates": (partial(trained, "validation", "digits"), RATES["digits"], TUNING_SEEDS),
    "parity": (partial(trained, "test", "parity"), CHOSEN["parity"], SEEDS),
    "digits": (partial(trained, "test", "digits"), CHOSEN["digits"], SEEDS),
    "baselines": (simple, [*SIMPLE], range(1)),
}


if __name__ == "__main__":
    make_parts(file_for_kernels("comparison"), PARTS, sys.argv[1:])
