"""Chapter 19: the stored comparison is complete, keeps to its protocol, and can be made again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import comparison
from gru_lib import results
from gru_lib.models import comparison as models

STORED = results.load("comparison")


def test_stored_results_hold_every_task_and_cell_with_ten_seeds():
    assert STORED.keys() == comparison.tasks().keys()
    for name, row in STORED.items():
        assert tuple(row) == comparison.CELLS, name
        assert all(len(row[cell]["runs"]) == len(comparison.SEEDS) for cell in row)


@pytest.mark.parametrize("name", STORED)
def test_every_cell_has_the_same_budget_and_the_rate_that_was_best_in_validation(name):
    task = comparison.tasks()[name]
    for cell, row in STORED[name].items():
        assert 0.85 * task.budget < row["parameters"] <= task.budget
        H = models.units(cell, task)
        assert models.network(np.random.default_rng(0), cell, task.D, task.K, H).size == row["parameters"]
        tuned = {float(rate): np.mean(v) for rate, v in row["tuning"].items()}
        assert tuple(tuned) == comparison.RATES, cell
        assert row["rate"] == (max if task.better == "higher" else min)(tuned, key=tuned.get)


@pytest.mark.parametrize(("name", "cell"), [("digits", "tanh"), ("digits", "LSTM"), ("sunspots", "GRU")])
def test_a_training_made_anew_gives_what_is_stored(name, cell):
    stored = STORED[name][cell]
    again = comparison.run(name, cell, stored["rate"], 0)
    assert again.keys() == stored["runs"][0].keys()
    assert again["test"] == pytest.approx(stored["runs"][0]["test"], abs=0.7)  # rounding differs between machines


def test_a_shortened_comparison_is_stored_like_the_long_one(tmp_path, monkeypatch):
    short = {"digits": replace(comparison.tasks()["digits"], steps=12)}
    for module in ("experiments", "gru_lib.models"):
        monkeypatch.setattr(f"{module}.comparison.tasks", lambda: short)
    monkeypatch.setattr(comparison, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(comparison, "SEEDS", range(2))
    monkeypatch.setattr(comparison, "RATES", (0.01, 1e6))  # the second is absurd, and must not be chosen
    comparison.main([])
    row = json.loads((tmp_path / "out.json").read_text("utf8"))["digits"]
    for cell in comparison.CELLS:
        assert row[cell].keys() == STORED["digits"][cell].keys() and row[cell]["rate"] == 0.01
        assert [run["step"] <= 12 for run in row[cell]["runs"]] == [True, True]


def test_parity_baseline_and_the_last_looks_on_text_are_as_the_chapter_says():
    asked = comparison.tasks()["parity"].part("test").ys
    assert round(100 * max(asked.mean(), 1 - asked.mean())) == 52
    assert round(max(run["test"] for run in STORED["parity"]["tanh"]["runs"])) == 56
    last = [run["step"] == 400 for row in STORED["text"].values() for run in row["runs"]]
    assert sum(last) > len(last) / 2
    assert STORED["sunspots"]["LSTM"]["rate"] == max(comparison.RATES)
