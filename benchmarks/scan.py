"""Time the scans of chapter 21, and a minGRU beside a GRU.

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

from gru_book.cells import mingru_backward, mingru_forward, mingru_init
from gru_book.results import FOLDER
from gru_book.scan import scan
from gru_lib import gru_backward, gru_forward, gru_init

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


PARTS: dict[str, Callable[[], list[Any]]] = {
    "scans": lambda: [[T, N, scan_times(T, N)] for T, N in SIZES],
    "layers": lambda: [[T, N, layer_times(T, N)] for T, N in SIZES],
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
