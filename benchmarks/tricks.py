"""What each trick of the library's GRU buys by itself: ``python -m benchmarks.tricks``.

Each trick is undone alone, in a copy of `gru_lib` in which a few lines of `cells/gru.py` or `passes.py` are replaced by
the plain ones. Every copy runs in a process of its own, float32, one thread; they take turns, and a number is the least
time of a training step over that of the library as it is: 1.10 means that the trick saves a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SIZES = {
    "4x32x2x16": (4, 32, 2, 16),
    "35x32x28x256": (35, 32, 28, 256),
    "100x20x100x100": (100, 20, 100, 100),
    "50x4x64x128": (50, 4, 64, 128),
    "1000x1x64x128": (1000, 1, 64, 128),
    "35x1024x28x256": (35, 1024, 28, 256),
    "100x64x256x512": (100, 64, 256, 512),
}
GRU, PASSES = "cells/gru.py", "passes.py"
TRICKS: dict[str, list[tuple[str, str, str]]] = {
    "as it is": [],
    "contiguous blocks of W_h": [
        (GRU, "p.W_h[:, : 2 * H].T.copy(), p.W_hn.T.copy(),", "p.W_h[:, : 2 * H].T, p.W_hn.T,"),
        (GRU, "p.W_h[:, : 2 * H].copy(), p.W_hn.copy()", "p.W_h[:, : 2 * H], p.W_hn"),
    ],
    "one product for r and z": [
        (
            GRU,
            "a_rz += np.dot(W_rz, seen)",
            "a_rz[:H] += np.dot(W_rz[:H], seen); a_rz[H:] += np.dot(W_rz[H:], seen)",
        ),
        (
            GRU,
            "dseen = np.dot(W_back, da_rz)",
            "dseen = np.dot(W_back[:, :H], da_rz[:H]) + np.dot(W_back[:, H:], da_rz[H:])",
        ),
    ],
    "all inputs in one product": [
        (
            PASSES,
            "return x, np.matmul(W.T, batch_last(x)).astype(dtype, copy=False)",
            "return x, np.stack([np.dot(W.T, x_t.T) for x_t in x]).astype(dtype, copy=False)",
        ),
    ],
    "σ of two gates without new arrays": [
        (GRU, "sigmoids(a_rz, rz)", "s = 1 / (1 + np.exp(-np.maximum(a_rz, -80))); rz[:] = s; a_rz[:] = 1 - s"),
    ],
    "one exponential for two gates": [
        (GRU, "sigmoids(a_rz, rz)", "sigmoids(a_rz[:H], rz[:H]); sigmoids(a_rz[H:], rz[H:])"),
    ],
    "out= for products and tanh": [
        (GRU, "np.multiply(r, seen, out=q)", "q[:] = r * seen"),
        (GRU, "np.tanh(n, out=n)", "n[:] = np.tanh(n)"),
        (GRU, "np.multiply(keep, h_prev, out=h)\n        h += write * n", "h[:] = keep * h_prev + write * n"),
        (GRU, "np.multiply(dh, of_dh, out=da_zn)", "da_zn[:] = dh * of_dh"),
        (GRU, "np.multiply(dq, of_dq, out=da_r)", "da_r[:] = dq * of_dq"),
    ],
    "spans on the way back": [
        (PASSES, "length = max(1, max(_ROWS, _NUMBERS // H) // max(N, 1))", "length = max(T, 1)"),
    ],
    "factors and sums by span, not by step": [
        (PASSES, "length = max(1, max(_ROWS, _NUMBERS // H) // max(N, 1))", "length = 1"),
    ],
}


def copy(folder: Path, edits: list[tuple[str, str, str]]) -> Path:
    """Copy `gru_lib` into `folder` and replace the lines; each must be there once."""
    shutil.copytree(ROOT / "gru_lib", folder / "gru_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in edits:
        file = folder / "gru_lib" / name
        text = file.read_text("utf8")
        if text.count(old) != 1:
            raise SystemExit(f"tricks: {name} has {text.count(old)} times, not once: {old}")
        file.write_text(text.replace(old, new), "utf8")
    return folder


def work() -> None:
    """Answer each size with the least seconds of a step; in a process whose path leads to a copy."""
    from gru_lib import gru_backward, gru_forward, gru_init

    for line in sys.stdin:
        T, N, D, H = json.loads(line)
        rng = np.random.default_rng(0)
        xs, dhs = (rng.normal(size=(T, N, k)).astype(np.float32) for k in (D, H))
        p = gru_init(rng, D, H, dtype=np.float32)
        best, stop = float("inf"), time.perf_counter() + 0.3
        calls = 0
        while calls < 3 or time.perf_counter() < stop:
            start = time.process_time()
            for _ in range(20 if T * N * H < 10**4 else 1):
                hs, _, tape = gru_forward(xs, None, p)
                gru_backward(dhs, None, tape, p)
            best = min(best, time.process_time() - start)
            calls += 1
        print(best, hs.sum(), flush=True)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tricks", description=__doc__.split("\n\n")[0])
    parser.add_argument("--turns", type=int, default=12, help="slices of time that each copy gets")
    parser.add_argument("--kernels", default="", help="OPENBLAS_CORETYPE, such as Haswell; default: NumPy's own pick")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)  # one of the processes
    a = parser.parse_args()
    if a.work:
        return work()
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if a.kernels:
        environment["OPENBLAS_CORETYPE"] = a.kernels
    with tempfile.TemporaryDirectory() as folder:
        workers = {}
        for k, (name, edits) in enumerate(TRICKS.items()):
            there = copy(Path(folder) / str(k), edits)
            workers[name] = subprocess.Popen(
                [sys.executable, __file__, "--work"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=there,
                env=environment | {"PYTHONPATH": str(there)},
            )
        print("| trick |", " | ".join(SIZES), "|\n|---|" + "--:|" * len(SIZES))
        best = {name: dict.fromkeys(SIZES, float("inf")) for name in TRICKS}
        for label, size in SIZES.items():
            for turn in range(a.turns):
                print(f"  {label}, turn {turn + 1} of {a.turns}", file=sys.stderr, end="\r", flush=True)
                for name, worker in workers.items():
                    assert worker.stdin is not None and worker.stdout is not None
                    print(json.dumps(size), file=worker.stdin, flush=True)
                    best[name][label] = min(best[name][label], float(worker.stdout.readline().split()[0]))
        ours = best.pop("as it is")
        for name, seconds in best.items():
            print(f"| {name} |", " | ".join(f"{seconds[s] / ours[s]:.2f}" for s in SIZES), "|")
        for worker in workers.values():
            worker.communicate()


if __name__ == "__main__":
    main()
