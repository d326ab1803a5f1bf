"""Training runs of chapter 19, `gru_lib.models.comparison`: three cells on four tasks; one task with two budgets.

Results are stored in ``gru_lib/results/comparison.json``. To rerun all tasks or some:

``python tools/environment.py python -m experiments.comparison [TASK …]``

The learning rate is chosen on the validation set, from the same five and with the same two seeds; then each of ten
other seeds is tested once. Every run has its own seed, so any of them can be repeated alone.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from experiments._store import as_stored, chosen, load, replace
from gru_lib.models.comparison import CELLS, RATES, count, fit, tasks, units
from gru_lib.results import FOLDER

STORED = FOLDER / "comparison.json"
TUNING_SEEDS = (100, 101)
SEEDS = range(10)

Row = dict[str, Any]


def run(name: str, cell: str, rate: float, seed: int) -> Row:
    """Return the results of one training."""
    return fit(name, cell, rate, seed)[1]


def compare(name: str) -> Row:
    """Tune every cell on the validation set, then test it with ten seeds."""
    task, row = tasks()[name], {}
    for cell in CELLS:
        tuned = {str(rate): [run(name, cell, rate, seed)["validation"] for seed in TUNING_SEEDS] for rate in RATES}
        pick = max if task.better == "higher" else min
        rate = float(pick(tuned, key=lambda rate: float(np.mean(tuned[rate]))))
        H = units(cell, task)
        row[cell] = {
            "units": H,
            "parameters": count(cell, task.D, task.K, H),
            "tuning": tuned,
            "rate": rate,
            "runs": [run(name, cell, rate, seed) for seed in SEEDS],
        }
    return row


def main(names: list[str]) -> None:
    """Run the named tasks, or all, and store them."""
    for name in chosen(names, tasks()):
        begin = time.perf_counter()
        row = as_stored(compare(name))
        replace(STORED, json.dumps(load(STORED) | {name: row}, indent=1) + "\n")  # one table per task, so not in rows
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
