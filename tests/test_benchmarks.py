"""What is timed side by side must be the same computation."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import parts, subtraction
from benchmarks.contenders import CONTENDERS, Case

CASE = Case(5, 3, 4, 6)


@pytest.mark.parametrize("name", ["torch.nn", "torch loop", "jax.jit scan", "onnxruntime", "plain NumPy"])
@pytest.mark.parametrize("cell", ["gru", "lstm", "elman"])
def test_contenders_compute_the_same_numbers(name, cell):
    """With the frameworks that are installed; plain NumPy always is."""
    try:
        other = CONTENDERS[name](cell, CASE, "float32")
    except ImportError as missing:
        pytest.skip(f"{missing.name} is in the bench extra and not installed")
    ours = CONTENDERS["gru_lib"](cell, CASE, "float32")
    if other.forward is not None:
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


def test_no_test_of_the_library_needs_the_book_or_a_browser():
    """Else it would fail where `test library` runs alone: on other systems, and with the oldest NumPy."""
    files = [p for p in Path(__file__).parent.glob("test_*.py") if parts.part(f"tests/{p.name}") in parts.LIBRARY]
    assert len(files) > 40
    for file in files:
        tests = re.findall(r"^def test_\w+\((.*)\)", file.read_text("utf8"), re.M)
        asked = {name for given in tests for name in re.findall(r"\w+", given)}
        assert not asked & {"built_book", "book_url", "browser", "visit", "visits", "inside", "maths"}, file


@pytest.mark.parametrize(
    ("test", "part"),
    [
        ("tests/test_gru.py::test_shapes", "library"),
        ("book/03-gates.ipynb::Cell 0", "notebooks"),
        ("tests/test_notebooks.py::test_twins[book/03-gates]", "notebooks"),
        ("tests/test_prose_numbers.py::test_every_measured_number_has_a_source[03-gates]", "notebooks"),
        ("tests/test_book.py::test_maths_is_typeset[book/intro.html]", "pages of the book"),
        ("tests/test_explorer_beam.py::test_keys", "explorers"),
        ("tests/test_afm_host.py::test_keys", "explorers"),
        ("tests/test_widgets.py::test_keys", "explorers"),
        ("tests/test_chapter03.py::test_claim", "chapters"),
        ("tests/test_project.py::test_lock", "project"),
        ("tests/test_types.py::test_checker", "project"),
    ],
)
def test_part_of_a_test_is_known_by_its_file(test, part):
    assert parts.part(test) == part


def test_times_by_part_are_those_of_setup_call_and_teardown(tmp_path, monkeypatch):
    """Stored and shown again, the longest part first."""
    monkeypatch.setattr(parts, "LAST", tmp_path / "times.json")
    assert "no whole run yet" in parts.last()[0]
    tests = {"tests/test_lstm.py::test_a": 1.0, "tests/test_gru.py::test_b": 2.0, "book/intro.ipynb::Cell 0": 20.0}
    whens = {"setup": 1, "call": 5, "teardown": 1}
    reports = [SimpleNamespace(nodeid=t, when=w, duration=s * k) for t, s in tests.items() for w, k in whens.items()]
    run = {"parts": parts.by_part(reports), "wall": 99.6, "processes": 2}
    assert run["parts"] == {"library": {"tests": 2, "seconds": 21}, "notebooks": {"tests": 1, "seconds": 140}}
    parts.LAST.write_text(json.dumps(run), "utf8")
    said = [line.split() for line in parts.last()[1:]]
    assert said[0] == ["notebooks", "1", "tests", "140", "s"] and said[1] == ["library", "2", "tests", "21", "s"]
    assert "2 processes 100 s" in parts.last()[3]
