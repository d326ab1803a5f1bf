"""What chapter 11 says of the ladder, of its floor and of its stored times."""

import json
import os
import sys
from concurrent.futures import Future

import numpy as np
import pytest

from benchmarks import contenders, ladder
from gru_lib import results


class Counted(np.ndarray):
    """An array that counts the multiplications and additions of the products it is in."""

    done = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.product(*inputs) if ufunc is np.matmul else NotImplemented

    def __array_function__(self, function, types, arguments, options):
        if function is np.dot:
            return self.product(*arguments)
        return super().__array_function__(function, types, arguments, options)

    @staticmethod
    def product(a, b):
        Counted.done += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return np.empty((a.shape[0], b.shape[1])).view(Counted)


class CountedDraws:
    """A generator whose arrays count."""

    def normal(self, size):
        return np.zeros(size).view(Counted)


@pytest.mark.parametrize("size", [(5, 3, 4, 6), ladder.SIZES["small"]])
def test_both_floors_do_the_operations_that_the_chapter_counts(size, monkeypatch):
    T, N, D, H = size
    case = contenders.Case(*size)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: CountedDraws())
    for run in (ladder.products(size), contenders.CONTENDERS["GEMM floor"]("gru", case, "float32").train):
        monkeypatch.setattr(Counted, "done", 0)
        run()
        assert Counted.done == 18 * T * N * H * (D + H) == case.flops(3)


class AtOnce:
    """Stands for a process of its own."""

    def __init__(self, *_, **__): ...

    def __enter__(self):
        return self

    def __exit__(self, *_): ...

    def submit(self, function, *arguments):
        done = Future()
        done.set_result(function(*arguments))
        return done


def test_what_is_measured_is_stored_as_the_page_reads_it(tmp_path, monkeypatch):
    """The median of the times, the least and most page faults, for every rung and size."""
    rounds = dict.fromkeys((*ladder.RUNGS, ladder.FRESH, "floor"), 0)

    def time_one(name, size):
        rounds[name] += 1
        return [0.4, 0.1, 0.2, 0.3, 0.2, 0.1, 0.9][rounds[name] % 7], 100.0 + rounds[name] % 7

    known = results.load("ladder")
    monkeypatch.setattr(ladder, "STORED", tmp_path / "ladder.json")
    monkeypatch.setattr(ladder, "ProcessPoolExecutor", AtOnce)
    monkeypatch.setattr(ladder, "time_one", time_one)
    for clock in ("calls", "made_anew", "product"):
        found = known["product"]["own"] if clock == "product" else known[clock.replace("_", " ")]
        monkeypatch.setattr(ladder, clock, lambda found=found: found)
    ladder.main()
    found = json.loads(ladder.STORED.read_text("utf8"))
    assert found["seconds"]["large"] == dict.fromkeys(rounds, 0.2)
    assert found["faults"]["small"] == {name: [100, 106] for name in rounds}
    for part in ("sizes", "seconds", "faults"):  # what is stored is of these rungs and sizes
        assert {name: list(row) for name, row in known[part].items()} == {
            name: list(row) for name, row in found[part].items()
        }
    assert found.keys() == known.keys() and found["product"].keys() == known["product"].keys()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count page faults otherwise")
def test_memory_used_again_saves_page_faults():
    """Of a training step whose arrays are large; in processes of their own, as they are measured."""
    before = dict(os.environ)
    kept, fresh = (ladder.in_a_process(name, ladder.SIZES["large"])[1] for name in ("out of the loop", ladder.FRESH))
    assert kept < 100 < 1000 < fresh
    assert dict(os.environ) == before
