"""Chapter 20: the stored comparison is complete, keeps to its protocol, and can be made again."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from helpers import load_results

from experiments import comparison
from gru_book.models import comparison as models

STORED, OWN = load_results("comparison"), load_results("comparison_own")


TASKS, CELLS = comparison.tasks(), comparison.CELLS


def test_stored_results_hold_every_task_and_cell_with_its_seeds_and_the_simple_answers():
    assert STORED.keys() == {*TASKS, "simple", "start", "starts"}
    for name in TASKS:
        assert tuple(STORED[name]) == CELLS, name
        for row in STORED[name].values():
            assert len(row["runs"]) == (5 if name == "text" else 10)
            assert ("half" in row) == (name != "text") and len(row.get("half", range(10))) == 10
            assert {len(found) for found in row["tuning"].values()} == {2 if name == "text" else 5}


def test_simple_answers_made_anew_are_as_stored_and_chosen_on_the_validation_set():
    for name, what, answer, settings in comparison.SIMPLE:
        stored = STORED["simple"][name][what]
        assert stored["setting"] in settings
        assert answer(stored["setting"], "test") == pytest.approx(stored["test"], abs=1e-3)
        best = max if TASKS[name].better == "higher" else min
        tried = {*settings[-2:], stored["setting"]} if what in ("Kneser–Ney", "softmax regression") else settings
        assert stored["validation"] == pytest.approx(best(answer(x, "validation") for x in tried), abs=1e-3)


@pytest.mark.parametrize("name", TASKS)
def test_every_cell_has_the_same_budget_and_the_rate_that_was_best_in_validation(name):
    task = TASKS[name]
    for cell, row in STORED[name].items():
        assert 0.85 * task.budget < row["parameters"] <= task.budget
        H = models.units(cell, task)
        assert models.network(np.random.default_rng(0), cell, task.D, task.K, H, V=task.V).size == row["parameters"]
        assert {*map(float, row["tuning"])} <= {*comparison.RATES}
        assert len(row["tuning"]) in ((3, 4) if name == "text" else (5,))
        assert row["rate"] == comparison.picked(row["tuning"], task.better)


@pytest.mark.parametrize(
    ("name", "cell", "share"), [("digits", "tanh", 1), ("digits", "GRU", 2), ("sunspots", "GRU", 2)]
)
def test_a_training_made_anew_gives_what_is_stored(name, cell, share):
    """One at its full length, two of those with half the updates. An LSTM on digits would turn on the last bit."""
    stored = STORED[name][cell]
    again = models.fit(name, cell, stored["rate"], 0, steps=TASKS[name].steps // share)[1]
    assert again.keys() == stored["runs"][0].keys()
    before = stored["runs"][0]["test"] if share == 1 else stored["half"][0]
    assert again["test"] == pytest.approx(before, abs=0.7)  # rounding differs between machines


def started(b_z, rate, stored):
    """The tests of the exercise on the start: of STORED or, as rows, of OWN."""
    if stored is STORED:
        return stored["start"][str(rate)][str(b_z)]
    return [test for lr, b, _, test in stored["start"] if (lr, b) == (rate, b_z)]


def test_runs_of_the_exercise_on_the_start_are_stored_with_their_bias_and_rate():
    """At 0.03 the same comes out; at 0.1 a run turns on the last bit, so it is only among the stored ones."""
    for rate, b_z in product(comparison.START_RATES, comparison.STARTS):
        fixed, own = (started(b_z, rate, stored) for stored in (STORED, OWN))
        assert len(fixed) == len(own) == 10
        again = comparison.begun(rate, b_z, 0)
        if rate == 0.03:
            assert again == pytest.approx(fixed[0], abs=0.7)
        else:
            assert min(fixed + own) <= again <= max(fixed + own)
    table = STORED[comparison.SHORT]["GRU"]
    assert started(1, table["rate"], STORED) == [run["test"] for run in table["runs"]]


def test_a_bias_for_long_memories_costs_a_point_at_one_rate_and_at_the_other_ten_seeds_show_nothing():
    """With both sets of kernels; 2.262 is Student's quantile for ten seeds."""
    assert all(started(b_z, 0.03, STORED) == started(b_z, 0.03, OWN) for b_z in comparison.STARTS)
    for rate, stored in product(comparison.START_RATES, (STORED, OWN)):
        zero, one = (np.array(started(b_z, rate, stored)) for b_z in comparison.STARTS)
        half = 2.262 * np.sqrt((zero.var(ddof=1) + one.var(ddof=1)) / 10)
        if rate == 0.03:
            means = [scores(comparison.SHORT, cell).mean() for cell in CELLS]
            assert max(half, np.ptp(means)) < zero.mean() - one.mean() < 1.5
        else:
            assert abs(zero.mean() - one.mean()) < half


def test_at_400_updates_no_start_makes_a_difference_to_tanh_that_is_larger_than_chance():
    short = {(row["cell"], row["alike"], row.get("b_z")): np.array(row["tests"]) for row in STORED["starts"]}
    assert len(short) == len(comparison.OTHER_STARTS) == 7
    tanh, same, other = (short[key] for key in (("tanh", True, None), ("GRU", True, 1), ("GRU", False, 0)))
    assert same.mean() < tanh.mean() < other.mean()
    for v in short.values():
        assert abs(v.mean() - tanh.mean()) <= 2.262 * np.sqrt((v.var(ddof=1) + tanh.var(ddof=1)) / 10)


def test_other_kernels_give_the_same_conclusions_with_ten_seeds_on_parity_and_three_elsewhere():
    assert OWN.keys() == {"parity", "digits, 400 updates", "sunspots", "start"}
    own = {n: {cell: [row[2] for row in OWN[n] if row[0] == cell] for cell in CELLS} for n in OWN if n != "start"}
    for name, by_cell in own.items():
        assert {len(tests) for tests in by_cell.values()} == {10 if name == "parity" else 3}
    assert max(own["parity"]["tanh"]) < STORED["simple"]["parity"]["ignore the brackets"]["test"]
    assert min(own["parity"]["GRU"] + own["parity"]["LSTM"]) > 99
    for name in (comparison.SHORT, "sunspots"):
        for cell, tests in own[name].items():
            assert scores(name, cell).min() <= np.mean(tests) <= scores(name, cell).max(), (name, cell)


def test_a_shortened_comparison_is_stored_like_the_long_one(tmp_path, monkeypatch):
    short = {"digits": replace(comparison.tasks()["digits"], steps=60)}
    for module in ("experiments", "gru_book.models"):
        monkeypatch.setattr(f"{module}.comparison.tasks", lambda: short)
    monkeypatch.setattr(comparison, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(comparison, "fixed_kernels", lambda: True)  # with KERNELS=own, too
    monkeypatch.setattr(comparison, "SEEDS", range(2))
    monkeypatch.setattr(comparison, "TUNING_SEEDS", range(100, 103))
    monkeypatch.setattr(comparison, "RATES", (0.01, 1e6))  # the second is absurd, and must not be chosen
    comparison.main(["digits"])
    row = json.loads((tmp_path / "out.json").read_text("utf8"))["digits"]
    for cell in CELLS:
        assert row[cell].keys() == STORED["digits"][cell].keys() and row[cell]["rate"] == 0.01
        assert [run["step"] <= 60 for run in row[cell]["runs"]] == [True, True]


def scores(task, cell):
    return np.array([run["test"] for run in STORED[task][cell]["runs"]])


def test_every_gated_net_counts_and_no_tanh_net_is_as_good_as_the_rule_that_ignores_brackets():
    assert scores("parity", "tanh").max() < STORED["simple"]["parity"]["ignore the brackets"]["test"]
    assert min(scores("parity", "GRU").min(), scores("parity", "LSTM").min()) > 99


def test_a_table_of_four_states_found_by_trying_changes_is_right_on_parity_and_one_of_three_is_not():
    for seed in range(5):
        table, says = comparison.machine(4, seed, 20_000)
        xs, ys = TASKS["parity"].part("test")
        said = says[comparison.states_of(table, xs.argmax(axis=-1))]
        assert np.array_equal(said, ys[..., 0] > 0.5), seed
    assert comparison.few_states(3, "test") < 80


def test_support_vectors_are_ahead_of_all_thirty_networks_on_digits_and_counts_of_all_on_text():
    digits, text = STORED["simple"]["digits"], STORED["simple"]["text"]
    for cell in CELLS:
        assert scores("digits", cell).max() < digits["support vectors"]["test"]
        assert scores("text", cell).min() > text["Kneser–Ney"]["test"] + 0.16


def interval(task, cell):
    """The table's 95 % interval; 2.262 is Student's quantile for ten seeds."""
    v = scores(task, cell)
    half = 2.262 * v.std(ddof=1) / np.sqrt(10)
    assert len(v) == 10
    return v.mean() - half, v.mean() + half


def test_no_interval_of_a_cell_excludes_the_line_on_sunspots():
    for cell in CELLS:
        low, high = interval("sunspots", cell)
        assert low < STORED["simple"]["sunspots"]["a line"]["test"] < high, cell


def test_twice_as_many_seeds_see_a_difference_in_four_of_five_attempts():
    from scipy.stats import norm, t

    for times, seen in ((1, 0.5), (2, 0.8), (3.3, 0.95), (4.6, 0.99)):
        assert norm.cdf(2 * times**0.5 - 2) == pytest.approx(seen, abs=0.005)
    for n, (one, eight) in {10: (2.262, 3.547), 5: (2.776, 5.261)}.items():
        assert t.ppf(0.975, n - 1) == pytest.approx(one, abs=6e-4)
        assert t.ppf(1 - 0.025 / 8, n - 1) == pytest.approx(eight, abs=2e-3)


def test_no_rate_of_the_table_is_at_the_edge_of_its_grid():
    for name in TASKS:
        for row in STORED[name].values():
            rates = [*map(float, row["tuning"])]
            assert min(rates) < row["rate"] < max(rates), name


def test_twice_the_updates_change_little_but_make_the_sunspots_worse():
    for name, least in (("parity", 0.2), ("digits", 0.5)):
        for cell, row in STORED[name].items():
            assert abs(scores(name, cell).mean() - np.mean(row["half"])) < least, (name, cell)
    for cell, row in STORED["sunspots"].items():
        assert 0.5 < scores("sunspots", cell).mean() - np.mean(row["half"]) < 1.25, cell


def test_on_text_the_gru_is_even_with_tanh_and_a_little_ahead_of_the_lstm():
    """5.261 is Student's quantile for five seeds and eight questions."""
    tanh, gru, lstm = (scores("text", cell) for cell in CELLS)
    assert abs(tanh.mean() - gru.mean()) < 0.005
    half = 5.261 * np.sqrt((gru.var(ddof=1) + lstm.var(ddof=1)) / 5)
    assert half < lstm.mean() - gru.mean() == pytest.approx(0.04, abs=0.005)  # bits: less is better


def test_only_on_parity_is_a_difference_beyond_doubt():
    for name in ("parity", "digits", "sunspots"):
        for other in ("tanh", "LSTM"):
            v, w = scores(name, "GRU"), scores(name, other)
            half = 3.547 * np.sqrt((v.var(ddof=1) + w.var(ddof=1)) / 10)
            assert (abs(v.mean() - w.mean()) > half) == ((name, other) == ("parity", "tanh")), (name, other)


@pytest.mark.frameworks("torch", "keras")
def test_the_frameworks_start_as_the_page_says():
    import keras
    import torch

    for name, G in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        m = getattr(torch.nn, name)(16, 64)
        assert sum(p.numel() for p in m.parameters()) == G * 64 * (16 + 64 + 2)
        assert all(0.1 < p.abs().max() <= 1 / 8 and abs(p.mean()) < 0.05 for p in m.parameters())
    for name, bias in (("SimpleRNN", 0), ("GRU", 0), ("LSTM", np.repeat([0, 1, 0, 0], 64))):
        layer = getattr(keras.layers, name)(64)
        layer.build((None, None, 16))
        _, W_h, b = layer.get_weights()
        np.testing.assert_allclose(W_h @ W_h.T, np.eye(64), atol=1e-5)
        for block in np.split(W_h, W_h.shape[1] // 64, axis=1):
            assert (np.linalg.svd(block)[1].min() > 0.9) == (name == "SimpleRNN")
        np.testing.assert_array_equal(b, np.broadcast_to(bias, b.shape))
