"""What chapter 11 and its pages say of the ladder, of its floor, of its stored times, and of other frameworks."""

import contextlib
import inspect
import io
import itertools
import json
import re
from concurrent.futures import Future

import numpy as np
import pytest
from helpers import ROOT, box

from benchmarks import contenders, ladder
from gru_book import results

TEXT = (ROOT / "book_text" / "11-making-it-fast.md").read_text("utf8")


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
    monkeypatch.setattr(ladder, "calls", lambda: known["calls"])
    ladder.main()
    found = json.loads(ladder.STORED.read_text("utf8"))
    assert found["seconds"]["large"] == dict.fromkeys(rounds, 0.2)
    assert found["faults"]["small"] == {name: [100, 106] for name in rounds}
    for part in ("sizes", "seconds", "faults"):  # what is stored is of these rungs and sizes
        assert {name: list(row) for name, row in known[part].items()} == {
            name: list(row) for name, row in found[part].items()
        }
    assert found.keys() == known.keys()


# ------------------------------------------------------------------------------------- what the pages say in words


def ratios(name, cell="gru", what="train", dtype="float32", threads=1, kernels="own"):
    """The other's time over the library's, in the order of the tables."""
    kind = {"cell": cell, "what": what, "dtype": dtype, "threads": threads}
    found = [row["seconds"] for row in results.load(f"bench_{kernels}")["results"] if kind.items() <= row.items()]
    return [seconds[name] / seconds["gru_lib"] for seconds in found]


def test_with_one_sequence_the_small_layers_products_do_a_twentieth_of_the_operations_a_second():
    kind = {"cell": "gru", "what": "train", "dtype": "float32", "threads": 1}
    rows = [row for row in results.load("bench_own")["results"] if kind.items() <= row.items()]
    speed = {tuple(row["case"]): row["case"][1] / row["seconds"]["GEMM floor"] for row in rows}
    assert 20 < speed[4, 32, 2, 16] / speed[4, 1, 2, 16] < 25


def test_who_is_ahead_of_whom_is_as_the_pages_say():
    assert min(*ratios("torch.nn"), *ratios("torch.nn", what="forward")) > 1
    runs = itertools.product(("train", "forward"), ("float32", "float64"), (1, 2))
    both = [ratio for run in runs for ratio in ratios("torch.nn", "gru", *run)]
    assert len(both) == 56 and [round(ratio, 2) for ratio in both if ratio < 1] == [0.94]
    assert ratios("torch.nn", "gru", "forward", "float64", 2)[-1] < 1
    assert (
        round(ratios("torch.nn", kernels="haswell")[-1], 2)
        == 1.13
        == round(min(ratios("torch.nn", kernels="haswell")), 2)
    )
    jax = ratios("jax.jit scan")
    assert [k for k, ratio in enumerate(jax) if ratio < 1] == [0, 1, 4]
    assert sum(ratio < 1 for ratio in ratios("jax.jit scan", kernels="haswell")) == 6
    assert [k for k, ratio in enumerate(ratios("jax.jit scan", what="forward")) if ratio < 1] == [0, 1, 3, 4]
    onnx = ratios("onnxruntime", what="forward")
    assert [k for k, ratio in enumerate(onnx) if ratio < 1] == [0, 1, 3, 4] and 4 < 1 / min(onnx) < 5
    assert all(1.1 < ratios("plain NumPy")[k] < 1.55 for k in (2, 5, 6))
    avx2 = ratios("torch.nn", kernels="haswell")
    assert all(0.58 < 1 / avx2[k] < 0.9 for k in (2, 3, 5, 6)) and all(
        1.9 < ratios("torch.nn")[k] < 2.8 for k in (2, 3, 5, 6)
    )


def test_a_compiled_loop_is_between_the_layer_and_jax_as_the_page_says():
    small, large = (r["seconds"] for r in results.load("bench_compiled")["results"] if r["what"] == "train")
    shares = [round(t["torch.compile"] / t["torch.nn"], 1) for t in (small, large)]
    assert shares == [0.5, 0.9] and small["jax.jit scan"] < small["torch.compile"]
    assert round(large["torch.nn"] / large["gru_lib"], 1) == 1.4 and round(ratios("torch.nn")[2], 1) == 2.3


def test_without_the_backward_pass_the_lead_grows_at_three_of_the_seven():
    grows = [f > t for t, f in zip(ratios("torch.nn"), ratios("torch.nn", what="forward"), strict=True)]
    assert sum(grows) == 3 and len(grows) == 7


def test_with_older_kernels_the_large_layers_are_nearly_even():
    avx2 = ratios("torch.nn", kernels="haswell")
    assert [round(avx2[k], 1) for k in (2, 6)] == [1.4, 1.1]


def test_the_ladder_s_times_are_up_to_a_quarter_longer_than_the_benchmark_s():
    rungs = results.load("ladder")
    best = {tuple(r["case"]): r["seconds"]["gru_lib, reset before"] for r in results.load("bench_own")["results"]
            if (r["cell"], r["what"], r["dtype"], r["threads"]) == ("gru", "train", "float32", 1)}  # fmt: skip
    longer = [
        rungs["seconds"][name]["factors first, in place"] / best[tuple(size)]
        for name, size in rungs["sizes"].items()
        if tuple(size) in best
    ]
    assert len(longer) == 3 and all(0.9 < ratio < 1.27 for ratio in longer)


def test_the_lstm_is_where_the_library_loses_to_pytorch():
    def seconds(cell, name):
        (row,) = [
            r["seconds"][name]
            for r in results.load("bench_own")["results"]
            if (r["cell"], r["case"], r["what"], r["dtype"], r["threads"])
            == (cell, [35, 32, 28, 256], "train", "float32", 1)
        ]
        return row

    lstm = seconds("lstm", "torch.nn")
    assert lstm < seconds("lstm", "gru_lib")
    assert 0.95 < lstm / seconds("lstm", "GEMM floor") < 1.05
    assert 0.45 < lstm / seconds("gru", "torch.nn") < 0.55
    assert [k for k, ratio in enumerate(ratios("torch.nn", "lstm")) if ratio > 1] == [0]
    near = [ratios("GEMM floor", cell) for cell in ("gru", "lstm")]
    assert all(abs(near[0][k] - near[1][j]) < 0.05 for k, j in ((2, 1), (3, 3), (4, 4)))


def test_the_ladder_gained_what_the_page_says():
    found = results.load("ladder")
    seconds, faults = found["seconds"], found["faults"]["large"]
    rate = {n: 18 * T * N * H * (D + H) / seconds[n]["floor"] for n, (T, N, D, H) in found["sizes"].items()}
    assert all(3.9 < rate[name] / rate["small"] < 4.5 for name in ("middle", "large"))
    assert 2 < seconds["large"]["the equations, step by step"] / seconds["large"]["floor"] < 2.5
    assert seconds["middle"]["batch last"] > seconds["middle"]["out of the loop"]
    for name in ("middle", "large"):
        assert 1.55 < seconds[name][ladder.FRESH] / seconds[name]["out of the loop"] < 1.65
    assert seconds["large"][ladder.FRESH] > seconds["large"]["the equations, step by step"]
    assert max(faults["the equations, step by step"]) <= 1 < 1000 < min(faults[ladder.FRESH])
    assert 0.05e-6 < min(found["calls"].values()) < max(found["calls"].values()) < 1e-6
    assert all(times["factors first, in place"] < times["batch last"] for times in seconds.values())


# ------------------------------------------------------------------------------------------------- other frameworks


@pytest.fixture
def torch():
    import torch

    threads = torch.get_num_threads()
    yield torch
    torch.set_num_threads(threads)


@pytest.mark.frameworks("torch")
def test_the_code_for_pytorch_runs(torch):
    code, _ = box("11-making-it-fast")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<page>", "exec"), {})
    assert re.search(r"\d (ms|us)\n", printed.getvalue())
    from torch.utils.benchmark import Timer

    assert inspect.signature(Timer).parameters["num_threads"].default == 1


def operations(torch, run):
    """How often each operation of PyTorch runs, and what the run returns."""
    with torch.profiler.profile() as profile:
        out = run()
    return {event.key: event.count for event in profile.key_averages()}, out


@pytest.mark.frameworks("torch")
def test_the_build_of_pytorch_names_its_blas(torch):
    assert re.search(r"BLAS_INFO=\w+", torch.__config__.show())


@pytest.mark.frameworks("torch")
def test_pytorch_has_climbed_the_rungs_that_the_page_says(torch):
    T, xs = 10, torch.randn(10, 32, 28)
    gru, lstm = torch.nn.GRU(28, 64), torch.nn.LSTM(28, 64)
    assert gru.weight_ih_l0.shape == (3 * 64, 28)  # gates side by side
    done, (hs, _) = operations(torch, lambda: gru(xs))
    assert done["aten::addmm"] == T + 1  # the inputs' product is one for all steps
    done, _ = operations(torch, lambda: hs.sum().backward())
    assert done["aten::mm"] == (T - 1) + T + 1  # back to h_1 … h_9, of W_h at each step, of W_x once
    done, _ = operations(torch, lambda: lstm(xs))
    whole = torch.backends.mkldnn.is_available()  # oneDNN, which PyTorch for a Mac lacks
    assert done.get("aten::mkldnn_rnn_layer", 0) == whole and ("aten::addmm" not in done) == whole


@pytest.mark.frameworks("torch", "keras")
def test_the_defaults_of_keras_are_those_that_the_page_names():
    import keras

    defaults = inspect.signature(keras.layers.GRU).parameters
    named = re.findall(r"`(\w+)=([^`]+)`", TEXT[TEXT.index("Keras takes it unless") : TEXT.index("## Summary")])
    assert len(named) == 6
    for name, value in named:
        assert repr(defaults[name].default) == value.replace('"', "'")
