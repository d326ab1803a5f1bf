"""What chapter 11 says of the ladder and of its stored times."""

import json

import numpy as np
import pytest

from benchmarks import ladder
from benchmarks.contenders import Case


@pytest.mark.parametrize("name", ladder.RUNGS)
@pytest.mark.parametrize("size", [(1, 1, 1, 1), (5, 3, 4, 6), (40, 20, 3, 5)])
def test_every_rung_is_the_same_training_step(name, size):
    xs, dhs, p = ladder.problem(size, np.float64)
    hs, dxs, grads = ladder.library(xs, dhs, p)
    found = ladder.RUNGS[name](xs, dhs, p)
    for mine, right in zip((found[0], found[1], found[2].flat), (hs, dxs, grads.flat), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-11, atol=1e-12)


def test_floor_does_the_operations_that_the_chapter_counts():
    """18 T N H (D + H), by counting those of each product in `products`."""
    for size in ladder.SIZES.values():
        T, N, D, H = size
        forward = T * N * D * 3 * H + T * N * H * 3 * H
        back = T * N * H * H + T * N * H * 2 * H
        rest = T * N * D * 3 * H + T * N * H * 3 * H + T * N * 3 * H * D
        assert 2 * (forward + back + rest) == 18 * T * N * H * (D + H) == Case(*size).flops(3)


def test_stored_times_are_of_these_rungs_and_sizes():
    stored = json.loads(ladder.STORED.read_text("utf8"))
    assert stored["sizes"] == {name: list(size) for name, size in ladder.SIZES.items()}
    for name in ladder.SIZES:
        assert list(stored["seconds"][name]) == [*ladder.RUNGS, "floor"]
        assert all(0 < ladder_time < 1 for ladder_time in stored["seconds"][name].values())


def test_memory_used_again_saves_page_faults():
    """Of a training step whose arrays are large; in processes of their own, as they are measured."""
    stored = json.loads(ladder.STORED.read_text("utf8"))["faults"]["large"]
    assert stored["memory used again"][1] < 100 < 1000 < stored["out of the loop"][0]
