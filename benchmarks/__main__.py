"""Time gru_lib beside other frameworks, and print ratios.

Every contender runs in a process of its own with the same threads and kernels. They take turns, a slice of time each,
so that whatever else the machine does hits all alike. Time is the best of all calls: the processor time of the call
with one thread, the wall time with more. A ratio is another's time over gru_lib's: above 1, gru_lib is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.contenders import CONTENDERS, Case

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
    "lstm": [Case(4, 32, 2, 16), Case(35, 32, 28, 256)],
    "elman": [Case(4, 32, 2, 16), Case(35, 32, 28, 256)],
}
OUT = Path(__file__).parent / "out"


class Worker:
    """A process with one contender in it."""

    def __init__(self, request: dict[str, Any], kernels: str) -> None:
        threads = str(request["threads"])
        env = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        if threads == "1":  # jax has no such variable
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
            cwd=Path(__file__).parents[1],
        )
        self.state = self.ask(request)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: the process of {request} ended without an answer.")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(row: dict[str, Any], names: list[str], kernels: str, turns: int, slice_: float) -> dict[str, Any]:
    """Time all contenders on one row (cell, case, dtype, threads, what) in turns."""
    workers, left_out = {}, {}
    for name in names:
        worker = Worker({**row, "contender": name}, kernels)
        if "missing" in worker.state:
            left_out[name] = worker.state["missing"]
        if "ready" in worker.state:
            workers[name] = worker
        else:
            worker.close()
    clock = "cpu" if row["threads"] == 1 else "wall"
    seconds = dict.fromkeys(workers, float("inf"))
    for _ in range(turns):
        for name, worker in workers.items():
            seconds[name] = min(seconds[name], worker.ask({"do": "time", "seconds": slice_})[clock])
    memory = {name: worker.ask({"do": "memory"})["bytes"] for name, worker in workers.items()}
    blas = workers["gru_lib"].state["blas"]
    for worker in workers.values():
        worker.close()
    return {**row, "seconds": seconds, "bytes": memory, "missing": left_out, "blas": blas, "clock": clock}


def table(results: list[dict[str, Any]]) -> str:
    """Lay out ratios to gru_lib, one line a row."""
    names = [n for n in CONTENDERS if n != "gru_lib" and any(n in r["seconds"] for r in results)]
    lines = ["TxNxDxH".ljust(16) + "gru_lib ms".rjust(12) + "".join(n.rjust(max(len(n), 8) + 2) for n in names)]
    for r in results:
        ours = r["seconds"]["gru_lib"]
        line = str(Case(*r["case"])).ljust(16) + f"{ours * 1e3:12.3f}"
        for n in names:
            cell = f"{r['seconds'][n] / ours:.2f}" if n in r["seconds"] else "–"
            line += cell.rjust(max(len(n), 8) + 2)
        lines.append(line)
    return "\n".join(lines)


def memory_table(results: list[dict[str, Any]]) -> str:
    """Lay out peak memory of one call, in MB."""
    names = [n for n in CONTENDERS if any(r["bytes"].get(n) is not None for r in results)]
    lines = ["TxNxDxH".ljust(16) + "".join(n.rjust(max(len(n), 8) + 2) for n in names)]
    for r in results:
        line = str(Case(*r["case"])).ljust(16)
        for n in names:
            known = r["bytes"].get(n)
            line += ("–" if known is None else f"{known / 1e6:.1f}").rjust(max(len(n), 8) + 2)
        lines.append(line)
    return "\n".join(lines)


def plot(results: list[dict[str, Any]], path: Path) -> bool:
    """Draw the ratios as points on a logarithmic axis. False if matplotlib is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return False
    names = [n for n in CONTENDERS if n != "gru_lib" and any(n in r["seconds"] for r in results)]
    figure, ax = plt.subplots(figsize=(8, 1 + 0.5 * len(results)), layout="constrained")
    for name, marker in zip(names, "osD^vPX", strict=False):
        rows = [i for i, r in enumerate(results) if name in r["seconds"]]
        ratios = [results[i]["seconds"][name] / results[i]["seconds"]["gru_lib"] for i in rows]
        ax.plot(ratios, rows, marker, label=name, ms=5)
    ax.axvline(1, color="black", lw=0.8)
    labels = [f"{r['cell']} {Case(*r['case'])} {r['dtype']} {r['what']}, {r['threads']} thr." for r in results]
    ax.set(xscale="log", yticks=range(len(results)), yticklabels=labels, xlabel="time over gru_lib's")
    ax.invert_yaxis()
    ax.legend(fontsize=8)
    figure.savefig(path)
    return True


def main() -> None:
    """Parse the command line, measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("--cells", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--sizes", nargs="+", metavar="TxNxDxH", help="in place of the usual ones")
    parser.add_argument("--dtypes", nargs="+", choices=["float32", "float64"], default=["float32"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--what", nargs="+", choices=["train", "forward"], default=["train", "forward"])
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--kernels", default="", help="OPENBLAS_CORETYPE, such as Haswell; default: NumPy's own pick")
    parser.add_argument("--turns", type=int, default=6, help="slices of time that each contender gets")
    parser.add_argument("--slice", type=float, default=0.25, help="seconds of a slice")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for bench.json and bench.svg")
    a = parser.parse_args()

    sizes = [Case(*map(int, s.split("x"))) for s in a.sizes] if a.sizes else None
    names = ["gru_lib", *(n for n in a.only if n != "gru_lib")]
    groups = [(c, d, t, w) for c in a.cells for d in a.dtypes for t in a.threads for w in a.what]
    results: list[dict[str, Any]] = []
    told: set[str] = set()
    for cell, dtype, threads, what in groups:
        rows = []
        for case in sizes or SIZES[cell]:
            print(f"  {cell} {case} {dtype} {what} ...", file=sys.stderr, flush=True)
            row = {
                "cell": cell,
                "case": [case.T, case.N, case.D, case.H],
                "dtype": dtype,
                "threads": threads,
                "what": what,
            }
            rows.append(measure(row, names, a.kernels, a.turns, a.slice))
            for name, module in rows[-1]["missing"].items():
                if name not in told:
                    print(f"{name} is left out: {module} is not installed (pip install -e '.[bench]').")
                    told.add(name)
        noun = "training step" if what == "train" else "forward pass"
        print(f"\n{cell}, {noun}, {dtype}, {threads} thread{'s' * (threads > 1)}, {rows[0]['blas']}")
        print("Time over gru_lib's (above 1: gru_lib is faster)")
        print(table(rows))
        if any(v is not None for r in rows for v in r["bytes"].values()):
            print("Peak memory of a call, MB")
            print(memory_table(rows))
        results += rows

    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "bench.json").write_text(json.dumps({"machine": platform.processor(), "results": results}, indent=1))
    drawn = plot(results, a.out / "bench.svg")
    print(f"\nWritten: {a.out / 'bench.json'}" + (f", {a.out / 'bench.svg'}" if drawn else ""))


if __name__ == "__main__":
    main()
