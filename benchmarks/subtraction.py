"""Time from fresh weights to all 136 pairs of 4-bit numbers subtracted without an error (chapter 7's task).

The whole table is one batch; H = 16, Adam at 0.1, float32; the loop checks after each step whether all are right.
"""

from __future__ import annotations

import time

import numpy as np

from gru_book.models.reader import subtractor_accuracy, subtractor_init, subtractor_loss
from gru_book.tasks.subtraction import Batch, all_pairs
from gru_lib import Adam

SEEDS, MOST = range(20), 400


def to_perfect(seed: int) -> tuple[int, float]:
    """Steps and processor seconds until every answer is right; MOST steps if that never happens."""
    pairs = Batch(*(a.astype(np.float32) for a in all_pairs(4)))
    m = subtractor_init(np.random.default_rng(seed), 16, dtype=np.float32)
    optimizer = Adam(m, 0.1)
    start = time.process_time()
    for step in range(1, MOST + 1):
        loss, grads = subtractor_loss(m, pairs)
        optimizer.step(grads)
        # Only a small loss is worth checking: one wrong bit alone adds at least log 2 / 544.
        if loss < 0.1 and subtractor_accuracy(m, pairs).pairs == 1:
            return step, time.process_time() - start
    return MOST, time.process_time() - start


def measure() -> dict[str, float]:
    """Print and return medians over the seeds."""
    to_perfect(0)
    runs = [to_perfect(seed) for seed in SEEDS]
    steps, seconds = (float(np.median(column)) for column in zip(*runs, strict=True))
    print(f"\nSubtraction, all 136 pairs right: median of {len(SEEDS)} seeds {steps:.0f} steps, {seconds * 1e3:.0f} ms")
    return {"steps": steps, "seconds": seconds}


if __name__ == "__main__":
    measure()
