"""Time the scans of chapter 21, a minGRU beside a GRU, and what lies between the two.

``python -m benchmarks.scan [PART …]`` times them in turns on one thread, prints the tables and stores them in
gru_book/results/scan.json. Times are the processor's, in ms, the best of several calls, float32. The machine was shared
with other work, so only ratios of times within a row mean something.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.language_model import K as PIECE
from experiments.language_model import N as STREAMS
from experiments.language_model import tokens
from experiments.without_loop import TEXT_UNITS, text_network
from gru_book.cells import mingru_backward, mingru_forward, mingru_init
from gru_book.models.language_model import lm_loss
from gru_book.results import FOLDER
from gru_book.scan import scan
from gru_book.tasks.text import streams
from gru_lib import Adam, gru_backward, gru_forward, gru_init
from gru_lib.train import Chunks

STORED = FOLDER / "scan.json"
METHODS = ("loop", "doubling", "chunked")
SIZES = [(T, N) for T in (1000, 4096) for N in (1, 32)]
D = H = 128


def best(runs: Sequence[Callable[[], Any]], seconds: float = 2.0) -> list[float]:
    """The least processor time of each run in ms; they take turns, at least three times and for so many seconds."""
    found = [float("inf")] * len(runs)
    for run in runs:
        run()
    begin, turns = time.perf_counter(), 0
    while turns < 3 or time.perf_counter() - begin < seconds:
        for i, run in enumerate(runs):
            start = time.process_time()
            run()
            found[i] = min(found[i], (time.process_time() - start) * 1e3)
        turns += 1
    return [float(f"{t:.3g}") for t in found]


def scan_times(T: int, N: int) -> dict[str, float]:
    """Times of the three methods, without the product before them."""
    rng = np.random.default_rng(0)
    z, w = rng.random((T, N, H)).astype(np.float32), rng.normal(size=(T, N, H)).astype(np.float32)
    return dict(zip(METHODS, best([partial(scan, z, w, method=method) for method in METHODS]), strict=True))


def layer_times(T: int, N: int) -> dict[str, list[float]]:
    """Times forward and backward of a GRU and a minGRU, and of the product that is left in the minGRU."""
    rng = np.random.default_rng(0)
    xs, dhs = rng.normal(size=(T, N, D)).astype(np.float32), rng.normal(size=(T, N, H)).astype(np.float32)
    p, q = gru_init(rng, D, H, dtype=np.float32), mingru_init(rng, D, H, dtype=np.float32)
    tapes = gru_forward(xs, None, p)[2], mingru_forward(xs, None, q)[2]
    runs = {
        "GRU": (lambda: gru_forward(xs, None, p), lambda: gru_backward(dhs, None, tapes[0], p)),
        "minGRU": (lambda: mingru_forward(xs, None, q), lambda: mingru_backward(dhs, None, tapes[1], q)),
        "x W": (lambda: xs.reshape(T * N, D) @ q.W,),
    }
    times = iter(best([run for pair in runs.values() for run in pair]))
    return {name: [next(times) for _ in pair] for name, pair in runs.items()}


def sigmoid(a: Any) -> Any:
    return 1 / (1 + np.exp(-a))


def by_row(xs: Any, W: Any, W_h: Any) -> Any:
    """Rung "GRU": the products with the input at once, all else row by row. Without W_h the other two are left out."""
    T, N, _ = xs.shape
    a, h, hs = (xs.reshape(T * N, -1) @ W).reshape(T, N, 3 * H), np.zeros((N, H), xs.dtype), np.empty_like(xs)
    for t in range(T):
        s = sigmoid(a[t, :, : 2 * H] + h @ W_h[0]) if W_h else sigmoid(a[t, :, : 2 * H])
        r, z = s[:, :H], s[:, H:]
        n = np.tanh(a[t, :, 2 * H :] + (r * h @ W_h[1] if W_h else r * h))
        h = z * h + (1 - z) * n
        hs[t] = h
    return hs


def min_by_row(xs: Any, W: Any) -> Any:
    """Rung "minGRU, row by row": no reset gate and no tanh."""
    T, N, _ = xs.shape
    a, h, hs = (xs.reshape(T * N, -1) @ W).reshape(T, N, 2 * H), np.zeros((N, H), xs.dtype), np.empty_like(xs)
    for t in range(T):
        z = sigmoid(a[t, :, :H])
        h = z * h + (1 - z) * a[t, :, H:]
        hs[t] = h
    return hs


def min_at_once(xs: Any, W: Any, method: str) -> Any:
    """Rungs "minGRU, gates at once": what is left is the scan."""
    T, N, _ = xs.shape
    a = (xs.reshape(T * N, -1) @ W).reshape(T, N, 2 * H)
    z = sigmoid(a[:, :, :H])
    return scan(z, (1 - z) * a[:, :, H:], method=method)


RUNGS = ("GRU", "no product", "minGRU, row by row", "gates at once", "chunks", "doubling")


def rung_times(T: int, N: int) -> dict[str, float]:
    """From a GRU to a minGRU one change at a time, forward, in plain NumPy."""
    rng = np.random.default_rng(0)
    xs, W = (rng.normal(size=shape).astype(np.float32) for shape in ((T, N, D), (D, 3 * H)))
    W /= 10
    W_h = [np.ascontiguousarray(rng.normal(size=(H, k)).astype(np.float32) / 10) for k in (2 * H, H)]
    two = np.ascontiguousarray(W[:, : 2 * H])
    runs = [partial(by_row, xs, W, W_h), partial(by_row, xs, W, None), partial(min_by_row, xs, two)]
    runs += [partial(min_at_once, xs, two, method) for method in ("loop", "chunked", "doubling")]
    return dict(zip(RUNGS, best(runs, 8.0), strict=True))


def text_times(N: int) -> dict[str, float]:
    """A training step of each language model of page 21b, on so many streams, of 1,024 characters in all."""
    batch = next(iter(Chunks(*streams(tokens()[0], N), STREAMS * PIECE // N)))
    runs = []
    for cell in TEXT_UNITS:
        m = text_network(np.random.default_rng(0), cell)
        optimizer = Adam(m, 1e-6)

        def step(m: Any = m, optimizer: Any = optimizer) -> None:
            optimizer.step(lm_loss(m, batch)[1])

        runs.append(step)
    return dict(zip(TEXT_UNITS, best(runs, 15.0), strict=True))


PARTS: dict[str, Callable[[], list[Any]]] = {
    "scans": lambda: [[T, N, scan_times(T, N)] for T, N in SIZES],
    "layers": lambda: [[T, N, layer_times(T, N)] for T, N in SIZES],
    "rungs": lambda: [[T, N, rung_times(T, N)] for T, N in SIZES[:2]],
    "text": lambda: [[N, text_times(N)] for N in (STREAMS, 1)],
}


def main(parts: Sequence[str]) -> None:
    """Time the parts, or all, print and store them."""
    found = json.loads(STORED.read_text("utf8"))
    with threadpool_limits(1):
        found |= {part: PARTS[part]() for part in parts or PARTS}
    for part, rows in found.items():
        print(part, *rows, sep="\n")
    lines = (f'"{part}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for part, rows in found.items())
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf8")


if __name__ == "__main__":
    main(sys.argv[1:])
