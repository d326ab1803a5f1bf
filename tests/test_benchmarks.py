"""What is timed side by side must be the same computation."""

import json
import sys

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import subtraction
from benchmarks.contenders import CONTENDERS, Case

CASE = Case(5, 3, 4, 6)
TORCH, JAX, ONNX = (pytest.mark.frameworks(name) for name in ("torch", "jax", "onnxruntime"))


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        *(pytest.param("torch.nn", cell, marks=TORCH) for cell in ("gru", "lstm", "elman")),
        *(pytest.param("onnxruntime", cell, marks=ONNX) for cell in ("gru", "lstm", "elman")),
        pytest.param("torch loop", "gru", marks=TORCH),
        pytest.param("torch.compile", "gru", marks=TORCH),
        pytest.param("jax.jit scan", "gru", marks=JAX),
        ("plain NumPy", "gru"),
    ],
)
def test_contenders_compute_the_same_numbers(name, cell):
    other = CONTENDERS[name](cell, CASE, "float32")
    ours = CONTENDERS["gru_lib"](cell, CASE, "float32")
    np.testing.assert_allclose(np.asarray(other.forward()), ours.forward(), atol=1e-6)
    if other.train is not None:
        for mine, theirs in zip(ours.train(), other.train(), strict=True):
            theirs = theirs.detach().numpy() if hasattr(theirs, "detach") else np.asarray(theirs)
            np.testing.assert_allclose(theirs, mine, atol=1e-5)


def test_the_floor_does_the_products_of_the_layer():
    assert CASE.flops(3) == 3 * 2 * 5 * 3 * 18 * 10
    hs, dx, dxs = CONTENDERS["GEMM floor"]("gru", CASE, "float64").train()
    assert hs.shape == (6, 18) and dx.shape == (4, 18) and dxs.shape == (15, 4)


def test_subtraction_is_timed_until_every_answer_is_right():
    steps, seconds = subtraction.to_perfect(3)
    assert 10 < steps < subtraction.MOST and seconds > 0


def test_times_are_stored_where_chapter_11_reads_them(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "FOLDER", tmp_path)
    monkeypatch.setattr(bench, "side_by_side", lambda _: {"results": [1.5]})
    monkeypatch.setattr(subtraction, "measure", dict)
    monkeypatch.setattr(bench.report, "plot", lambda *_: False)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--no-pages", "--store", "own", "--out", str(tmp_path / "out")])
    bench.main()
    assert json.loads((tmp_path / "bench_own.json").read_text("utf8"))["results"] == [1.5]
    assert list((tmp_path / "out").iterdir()) == []
