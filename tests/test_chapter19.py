"""Chapter 19: the stored comparison is complete, keeps to its protocol, and can be made again."""

import json

import numpy as np
import pytest

from experiments import comparison
from gru_lib.tasks.sunspots import TEST_FROM, VALIDATION_FROM, Series, sunspots

STORED = json.loads(comparison.STORED.read_text("utf8"))


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
    short = {"digits": comparison.tasks()["digits"]}
    short["digits"] = comparison.Task(**short["digits"].__dict__ | {"steps": 12})
    monkeypatch.setattr(comparison, "tasks", lambda: short)
    monkeypatch.setattr(comparison, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(comparison, "SEEDS", range(2))
    monkeypatch.setattr(comparison, "RATES", (0.01, 1e6))  # the second is absurd, and must not be chosen
    comparison.main([])
    row = json.loads((tmp_path / "out.json").read_text("utf8"))["digits"]
    for cell in comparison.CELLS:
        assert row[cell].keys() == STORED["digits"][cell].keys() and row[cell]["rate"] == 0.01
        assert [run["step"] <= 12 for run in row[cell]["runs"]] == [True, True]


def test_training_and_choosing_never_see_a_later_part_of_the_sunspots(monkeypatch):
    def seen():
        comparison.sunspot_arrays.cache_clear()
        comparison.sunspot_part.cache_clear()
        batch = comparison.sunspot_batch(np.random.default_rng(0))
        return batch, comparison.sunspot_part("validation")

    before, real = seen(), sunspots()
    try:
        for first, what in ((VALIDATION_FROM, (0,)), (TEST_FROM, (0, 1))):
            changed = Series(real.years, np.where(real.years < first, real.numbers, -7.0))
            monkeypatch.setattr(comparison, "sunspots", lambda changed=changed: changed)
            after = seen()
            for k in what:
                np.testing.assert_array_equal(before[k].xs, after[k].xs)
                np.testing.assert_array_equal(before[k].ys, after[k].ys)
        assert (after[1].ys != -0.07).all()
    finally:
        comparison.sunspot_arrays.cache_clear()
        comparison.sunspot_part.cache_clear()


def test_parameters_are_counted_as_the_library_has_them():
    for cell in comparison.CELLS:
        m = comparison.network(np.random.default_rng(0), cell, 3, 2, 5)
        assert m.size == comparison.count(cell, 3, 2, 5) and m.flat.dtype == np.float32


def test_a_net_that_knows_nothing_needs_the_logarithm_of_the_alphabet():
    task = comparison.tasks()["text"]
    m = comparison.network(np.random.default_rng(0), "GRU", task.D, task.K, 2)
    m.flat[:] = 0
    assert comparison.score(m, task, task.part("validation")) == pytest.approx(np.log2(task.K), rel=1e-5)


def test_parity_baseline_and_the_last_looks_on_text_are_as_the_chapter_says():
    asked = comparison.tasks()["parity"].part("test").ys
    assert round(100 * max(asked.mean(), 1 - asked.mean())) == 52
    assert round(max(run["test"] for run in STORED["parity"]["tanh"]["runs"])) == 56
    last = [run["step"] == 400 for row in STORED["text"].values() for run in row["runs"]]
    assert sum(last) > len(last) / 2
    assert STORED["sunspots"]["LSTM"]["rate"] == max(comparison.RATES)
