"""Time the scans of chapter 21, and a minGRU beside a GRU.

``python -m benchmarks.scan`` times them in turns on one thread, prints the tables and stores them in
gru_lib/results/scan.json. Times are the best of several calls, in ms, float32.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gru_lib import gru_backward, gru_forward, gru_init
from gru_lib.cells import mingru_backward, mingru_forward, mingru_init
from gru_lib.results import FOLDER
from gru_lib.scan import scan

STORED = FOLDER / "scan.json"
METHODS = ("loop", "doubling", "chunked")
SIZES = [(T, N) for T in (1000, 4096) for N in (1, 32)]
D = H = 128


def best(runs: Sequence[Callable[[], Any]], seconds: float = 2.0) -> list[float]:
    """The least time of each run in ms; they take turns, at least three times and for so many seconds."""
    found = [float("inf")] * len(runs)
    for run in runs:
        run()
    begin, turns = time.perf_counter(), 0
    while turns < 3 or time.perf_counter() - begin < seconds:
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            found[i] = min(found[i], (time.perf_counter() - start) * 1e3)
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


PARTS = {"scans": scan_times, "layers": layer_times}


def main() -> None:
    """Time everything, print it and store it."""
    with threadpool_limits(1):
        found = {part: [[T, N, run(T, N)] for T, N in SIZES] for part, run in PARTS.items()}
    for part, rows in found.items():
        print(part, *rows, sep="\n")
    lines = (f'"{part}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for part, rows in found.items())
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf8")


if __name__ == "__main__":
    main()
