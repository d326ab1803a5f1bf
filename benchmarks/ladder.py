"""Time the rungs of chapter 11, `gru_book.models.gru_rungs`.

``python -m benchmarks.ladder`` times them in turns, prints the table and stores it in gru_book/results/ladder.json.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from gru_book.models.gru_rungs import RUNGS, problem
from gru_book.results import FOLDER

SPAWN = multiprocessing.get_context("spawn")
STORED = FOLDER / "ladder.json"
FRESH = "out of the loop, fresh memory"
# What makes glibc give back the memory that a program frees, as it does until a large array has been freed: importing
# the library sees to that (`gru_lib/passes.py`), unless these say otherwise.
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
SIZES = {"small": (4, 32, 2, 16), "middle": (100, 20, 100, 100), "large": (35, 32, 28, 256)}


def products(size: tuple[int, int, int, int]) -> Callable[[], Any]:
    """The floor: only the matrix products of a training step, in the shapes of the last rung."""
    T, N, D, H = size
    rng = np.random.default_rng(0)
    W_x, W_h, W_hn, h, a = (
        rng.normal(size=s).astype(np.float32) for s in ((3 * H, D), (2 * H, H), (H, H), (H, N), (2 * H, N))
    )
    Wt_h = W_h.T.copy()
    x_rows, h_rows, a_rows = (rng.normal(size=(T * N, k)).astype(np.float32) for k in (D, H, 3 * H))
    out_2, out_1 = np.empty_like(a), np.empty_like(h)

    def run() -> Any:
        x_rows @ W_x.T
        for _ in range(T):
            np.dot(W_h, h, out=out_2)
            np.dot(W_hn, h, out=out_1)
        for _ in range(T):
            np.dot(W_hn, h, out=out_1)
            np.dot(Wt_h, a, out=out_1)
        return x_rows.T @ a_rows, h_rows.T @ a_rows[:, : 2 * H], h_rows.T @ a_rows[:, 2 * H :], a_rows @ W_x

    return run


def time_one(name: str, size: tuple[int, int, int, int]) -> tuple[float, float]:
    """Best processor time in seconds of one training step, and its page faults. Run it in a process of its own."""
    import resource  # Linux and macOS

    xs, dhs, p = problem(size)
    run: Callable[[], Any] = (
        products(size) if name == "floor" else partial(RUNGS[name.partition(", fresh")[0]], xs, dhs, p)
    )
    best, calls, spent = float("inf"), 0, 0.0
    for _ in range(3):
        run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    while calls < 5 or spent < 0.4:
        start = time.process_time()
        run()
        took = time.process_time() - start
        calls, spent, best = calls + 1, spent + took, min(best, took)
    return best, (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / calls


def in_a_process(name: str, size: tuple[int, int, int, int]) -> tuple[float, float]:
    """`time_one` in a fresh process, whose memory is kept but for `FRESH`."""
    with environment(GIVE_BACK if name == FRESH else {}), ProcessPoolExecutor(1, mp_context=SPAWN) as home:
        return home.submit(time_one, name, size).result()


@contextmanager
def environment(more: dict[str, str]) -> Iterator[None]:
    """These variables, for the processes started meanwhile."""
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def measure(size: tuple[int, int, int, int], rounds: int = 7) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Seconds of a training step, and the fewest and most page faults, by rung and for the floor.

    How much memory the allocator keeps differs from process to process, and one rung's leftovers affect the next. So in
    each round every rung, in turn, gets a fresh process; the time is the median over the rounds of the best in each.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in (*RUNGS, FRESH, "floor")}
    for _ in range(rounds):
        for name, runs in found.items():
            runs.append(in_a_process(name, size))
    seconds = {name: float(np.median([took for took, _ in runs])) for name, runs in found.items()}
    return seconds, {n: [round(pick(f for _, f in runs)) for pick in (min, max)] for n, runs in found.items()}


def calls(H: int = 16, N: int = 32) -> dict[str, float]:
    """Best seconds of one NumPy call on the arrays of a small layer."""
    rng = np.random.default_rng(0)
    W, h, out = (rng.normal(size=s).astype(np.float32) for s in ((H, H), (H, N), (H, N)))
    one = np.array(1, np.float32)
    timed = {
        "np.empty((16, 32))": lambda: np.empty((H, N)),
        "h[2:5]": lambda: h[2:5],
        "W @ h": lambda: W @ h,
        "np.dot(W, h, out=out)": lambda: np.dot(W, h, out=out),
        "h * out": lambda: h * out,
        "np.multiply(h, out, out=out)": lambda: np.multiply(h, out, out=out),
        "np.add(h, 1, out=out)": lambda: np.add(h, 1, out=out),
        "np.add(h, one, out=out)": lambda: np.add(h, one, out=out),
        "np.exp(h, out=out)": lambda: np.exp(h, out=out),
    }
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(60):
        for name, call in timed.items():
            h[:] = out[:] = 1
            start = time.process_time()
            for _ in range(1000):
                call()
            best[name] = min(best[name], (time.process_time() - start) / 1000)
    return best


def main() -> None:
    """Measure all sizes, print and store."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise SystemExit("ladder: set OPENBLAS_NUM_THREADS=1, so that processor time is the time of one thread.")
    from benchmarks.contenders import version

    found: dict[str, Any] = {"numpy": version("gru_lib"), "sizes": SIZES, "seconds": {}, "faults": {}}
    print(found["numpy"])
    for name, size in SIZES.items():
        seconds, faults = measure(size)
        found["seconds"][name], found["faults"][name] = seconds, faults
        print(f"\n{name}: T x N x D x H = {'x'.join(map(str, size))}")
        for rung, took in seconds.items():
            gain = seconds["the equations, step by step"] / took
            least, most = faults[rung]
            print(f"  {rung:30s}{took * 1e3:10.3f} ms{gain:8.2f}x{least:8d} to {most} page faults", flush=True)
    found["calls"] = calls()
    print("\nMicroseconds of a call:", {name: round(took * 1e6, 2) for name, took in found["calls"].items()})
    STORED.write_text(json.dumps(found, indent=1) + "\n", "utf8")


if __name__ == "__main__":
    main()
