"""Time gru_lib beside other frameworks, and print ratios; then measure the pages of the built book.

Every contender runs in a process of its own with the same threads and kernels. They take turns, a slice of time each,
so that other load on the machine hits all of them. The time is the best mean over calls in a row, of about 5 ms: the
processor's with one thread, the clock's with more. A ratio is another's time over gru_lib's: above 1, ours is faster.
Peak memory is that of the first calls in a fresh process, above what it held before.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import report, subtraction
from benchmarks.contenders import CONTENDERS, Case
from gru_book.results import FOLDER

OTHERS = [
    Case(4, 32, 2, 16),
    Case(35, 32, 28, 256),
    Case(50, 16, 40, 128),
    Case(100, 20, 100, 100),
    Case(1000, 1, 64, 128),
]
SIZES = {
    "gru": [
        Case(4, 1, 2, 16),
        Case(4, 32, 2, 16),
        Case(35, 32, 28, 256),
        Case(100, 20, 100, 100),
        Case(1000, 1, 64, 128),
        Case(35, 1024, 28, 256),
        Case(100, 64, 256, 512),
    ],
    "lstm": OTHERS,
    "elman": OTHERS,
}
WEIGHED = ("gru_lib", "gru_lib, reset before", "torch.nn", "torch loop", "jax.jit scan", "plain NumPy")  # peak memory
ROOT = Path(__file__).resolve().parents[1]
OUT = Path(__file__).parent / "out"


class Worker:
    """A process for one contender."""

    def __init__(self, contender: str, threads: int, kernels: str) -> None:
        self.contender = contender
        env = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        if threads == 1:  # jax has no such variable
            env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        if kernels:
            env["OPENBLAS_CORETYPE"] = kernels
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
            cwd=ROOT,
        )
        self.state = self.ask("open", threads=threads)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, "contender": self.contender, **request}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: the process of {self.contender} ended without an answer to {do} {request}.")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Field:
    """All contenders, each in its process, with the same threads and kernels."""

    def __init__(self, names: list[str], threads: int, kernels: str) -> None:
        self.threads, self.kernels = threads, kernels
        workers = {name: Worker(name, threads, kernels) for name in names}
        self.missing = {name: w.state["missing"] for name, w in workers.items() if "missing" in w.state}
        for name in self.missing:
            workers.pop(name).close()
        self.workers = workers
        self.versions = {name: w.state["version"] for name, w in workers.items()}

    def time(self, row: dict[str, Any], turns: int, slice_: float) -> dict[str, float]:
        """Best seconds of one call, by contender."""
        ready = [name for name, w in self.workers.items() if w.ask("build", **row)["ready"]]
        clock = "cpu" if self.threads == 1 else "wall"
        best = dict.fromkeys(ready, float("inf"))
        for _ in range(turns):
            for name in ready:
                best[name] = min(best[name], self.workers[name].ask("time", seconds=slice_)[clock])
        return best

    def memory(self, row: dict[str, Any]) -> dict[str, int | None]:
        """Peak bytes of the first calls, by contender, each in a fresh process."""
        found = {}
        for name in self.workers:
            if name in WEIGHED:
                fresh = Worker(name, self.threads, self.kernels)
                found[name] = fresh.ask("memory", **row)["bytes"]
                fresh.close()
        return found

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers.values():
            worker.close()


def side_by_side(a: argparse.Namespace) -> dict[str, Any]:
    """Measure, print along the way, and return everything."""
    sizes = [Case(*map(int, s.split("x"))) for s in a.sizes] if a.sizes else None
    names = ["gru_lib", *(n for n in a.only if n != "gru_lib")]
    results, versions = [], {}
    for threads in a.threads:
        field = Field(names, threads, a.kernels)
        if not versions:
            for name, module in field.missing.items():
                print(f"{name} is left out: {module} is not installed (pip install -e '.[frameworks]').")
        versions |= field.versions
        for cell, dtype, what in [(c, d, w) for c in a.cells for d in a.dtypes for w in a.what]:
            rows = []
            for case in sizes or SIZES[cell]:
                print(f"  {cell} {case} {dtype} {what}, {threads} thread(s) ...", file=sys.stderr, flush=True)
                row = {"cell": cell, "case": [case.T, case.N, case.D, case.H], "dtype": dtype, "what": what}
                seconds = field.time(row, a.turns, a.slice)
                held = field.memory(row) if what == "train" and threads == 1 and a.memory else {}
                rows.append(row | {"threads": threads, "seconds": seconds, "bytes": held})
            noun = "training step" if what == "train" else "forward pass"
            print(f"\n{cell}, {noun}, {dtype}, {threads} thread{'s' * (threads > 1)}, {field.versions['gru_lib']}")
            print("Time over gru_lib's (above 1: gru_lib is faster)")
            print(report.ratios(rows))
            if any(v is not None for r in rows for v in r["bytes"].values()):
                print("Peak memory, MB")
                print(report.memory(rows))
            sys.stdout.flush()
            results += rows
        field.close()
    return {"versions": versions, "results": results}


def machine() -> str:
    """The processor's name, family and model, and the number of its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        info = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        name = f"{info['model name']} (family {info['cpu family']}, model {info['model']})"
    except (OSError, KeyError):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def main() -> None:
    """Parse the command line, measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="both dtypes, one and two threads, forward too")
    parser.add_argument("--cells", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--sizes", nargs="+", metavar="TxNxDxH", help="in place of the usual ones")
    parser.add_argument("--dtypes", nargs="+", choices=["float32", "float64"], default=["float32"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--what", nargs="+", choices=["train", "forward"], default=["train"])
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--kernels", default="", help="OPENBLAS_CORETYPE, such as Haswell; default: NumPy's own pick")
    parser.add_argument("--turns", type=int, default=5, help="slices of time that each contender gets")
    parser.add_argument("--slice", type=float, default=0.15, help="seconds of a slice")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="leave out peak memory")
    parser.add_argument("--pages", action=argparse.BooleanOptionalAction, help="measure only the built pages, or not")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for bench.json and bench.svg")
    parser.add_argument("--store", action="store_true", help="write bench.json to gru_book/results")
    a = parser.parse_args()
    if a.all:
        a.dtypes, a.threads, a.what = ["float32", "float64"], [1, 2], ["train", "forward"]

    found: dict[str, Any] = {"machine": machine(), "date": datetime.date.today().isoformat()}
    if not a.pages:
        found |= side_by_side(a)
        found["subtraction"] = subtraction.measure()
    if a.pages is not False:
        from benchmarks import pages

        found["pages"] = pages.measure()
    a.out.mkdir(parents=True, exist_ok=True)
    file = FOLDER / "bench.json" if a.store else a.out / ("pages.json" if a.pages else "bench.json")
    file.write_text(json.dumps(found, indent=1) + "\n")
    drawn = not a.pages and report.plot(found["results"], a.out / "bench.svg")
    print(f"\nWritten: {file}" + (f", {a.out / 'bench.svg'}" if drawn else ""))


if __name__ == "__main__":
    main()
