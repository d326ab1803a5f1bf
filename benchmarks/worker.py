"""A process that holds one contender and times it when told to.

Started by `python -m benchmarks` with the threads and the kernels in its environment. Reads a line of JSON from
standard input for each request, answers with one on standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import contenders


def main() -> None:
    """Build the contender that the first line names, then answer "time" and "memory" until the input ends."""
    request = json.loads(sys.stdin.readline())
    threads = contenders.THREADS = request["threads"]
    answer, run = _build(request, threads)
    _say(answer)
    for line in sys.stdin:
        request = json.loads(line)
        _say(_time(run, request["seconds"]) if request["do"] == "time" else {"bytes": _memory(run)})


def _build(request: dict[str, Any], threads: int) -> tuple[dict[str, Any], Any]:
    case = contenders.Case(*request["case"])
    try:
        if request["contender"].startswith("torch"):
            import torch

            torch.set_num_threads(threads)
        made = contenders.CONTENDERS[request["contender"]](request["cell"], case, request["dtype"])
    except ImportError as missing:
        return {"missing": missing.name or str(missing)}, None
    run = getattr(made, request["what"])
    if run is None:
        return {"absent": True}, None
    run()  # compile, and touch the memory once
    return {"ready": True, "blas": _blas()}, run


def _blas() -> str:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown (threadpoolctl is not installed)"
    for library in threadpool_info():
        if library["user_api"] == "blas" and "numpy" in library["filepath"]:
            return f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip()
    return "unknown"


def _time(run: Any, seconds: float) -> dict[str, float]:
    """Run for about `seconds`; the best wall time and the best CPU time of one call."""
    wall, cpu, spent = float("inf"), float("inf"), 0.0
    while spent < seconds:
        w, c = time.perf_counter(), time.process_time()
        run()
        c, w = time.process_time() - c, time.perf_counter() - w
        wall, cpu, spent = min(wall, w), min(cpu, c), spent + w
    return {"wall": wall, "cpu": cpu}


def _memory(run: Any) -> int | None:
    """Peak memory of one call above what the process holds before it, from Linux's high-water mark."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    before = _status("VmRSS")
    run()
    return max(_status("VmHWM") - before, 0)


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.stdout = os.fdopen(os.dup(1), "w")  # answers go here; whatever a framework prints goes to standard error
    os.dup2(2, 1)
    main()
