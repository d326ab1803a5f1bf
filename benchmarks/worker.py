"""A process that holds one contender and times it on request.

Started by `python -m benchmarks` with the threads and the kernels in its environment. Reads one line of JSON from
standard input for each request and answers with one on standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import contenders
from benchmarks.contenders import Case


def main() -> None:
    """Answer "open", "build", "time" and "memory" until the input ends."""
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        match request["do"]:
            case "open":
                answer = _open(request["contender"], request["threads"])
            case "build":
                run = _build(request)
                if run is not None:
                    run()  # touch the memory once
                answer = {"ready": run is not None}
            case "time":
                answer = _time(run, request["seconds"])
            case "memory":
                answer = {"bytes": _memory(request)}
        print(json.dumps(answer), flush=True)


def _open(name: str, threads: int) -> dict[str, str]:
    contenders.THREADS = threads
    try:
        if name.startswith("torch"):
            import torch

            torch.set_num_threads(threads)
        return {"version": contenders.version(name)}
    except ImportError as missing:
        return {"missing": missing.name or str(missing)}


def _build(row: dict[str, Any]) -> Any:
    made = contenders.CONTENDERS[row["contender"]](row["cell"], Case(*row["case"]), row["dtype"])
    return getattr(made, row["what"])


def _time(run: Any, seconds: float) -> dict[str, float]:
    """Run for about `seconds`; the best wall time and the best CPU time of a call.

    They are means over blocks of calls of about 5 ms: the CPU time of one short call may be wrong by a tenth.
    """
    start = time.perf_counter()
    run()
    calls = max(1, int(0.005 / (time.perf_counter() - start)))
    wall, cpu, spent = float("inf"), float("inf"), 0.0
    while spent < seconds:
        w, c = time.perf_counter(), time.process_time()
        for _ in range(calls):
            run()
        c, w = time.process_time() - c, time.perf_counter() - w
        wall, cpu, spent = min(wall, w / calls), min(cpu, c / calls), spent + w
    return {"wall": wall, "cpu": cpu}


def _memory(row: dict[str, Any]) -> int | None:
    """Peak memory of three calls, above what the process held before the first.

    Use a process that has not run this case: otherwise memory that a framework keeps for its next call is already there
    and would not count. A tiny case runs first, for everything that is loaded and set up only once.
    """
    tiny = _build(row | {"case": [2, 2, 3, 4]})
    run = _build(row)
    if run is None or tiny is None:
        return None
    tiny()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: reset the high-water mark
    except OSError:
        return None
    before = _status("VmRSS")
    for _ in range(3):
        run()
    return max(_status("VmHWM") - before, 0)


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


if __name__ == "__main__":
    sys.stdout = os.fdopen(os.dup(1), "w")  # for the answers; what a framework prints goes to standard error
    os.dup2(2, 1)
    main()
