"""Chapter 20: the stored comparison keeps to its protocol, can be made again, and says what the page says."""

import numpy as np
import pytest
from helpers import load_results, run_box
from scipy.stats import t, ttest_ind

from experiments import comparison
from gru_book.models import comparison as models

STORED = load_results("comparison")
TASKS, CELLS = models.tasks(), models.CELLS


def scores(part, *setting):
    return np.array([row[-1] for row in STORED[part] if row[: len(setting)] == [*setting]])


def simple(task, what):
    return next(row[-1] for row in STORED["baselines"] if row[:2] == [task, what])


@pytest.mark.slow
def test_simple_answers_made_anew_are_as_stored_and_chosen_on_the_validation_set():
    for (name, what), (answer, settings) in comparison.SIMPLE.items():
        stored = simple(name, what)
        assert stored["setting"] in settings
        assert answer(stored["setting"], "test") == pytest.approx(stored["test"], abs=1e-3)
        tried = {*settings[-2:], stored["setting"]} if what == "softmax regression" else settings
        assert stored["validation"] == pytest.approx(max(answer(x, "validation") for x in tried), abs=1e-3)


@pytest.mark.parametrize("name", TASKS)
def test_every_cell_has_the_same_budget_and_the_rate_that_was_best_in_validation_inside_the_grid(name):
    task = TASKS[name]
    for cell, start, rate in comparison.CHOSEN[name]:
        H = models.units(cell, task)
        size = models.network(np.random.default_rng(0), cell, task.D, task.K, H).size
        assert size == models.count(cell, task.D, task.K, H)
        assert 0.9 * task.budget < size <= task.budget
        means = {tried: scores(f"{name} rates", cell, start, tried).mean() for tried in comparison.GRID}
        assert rate == max(means, key=lambda tried: means[tried])
        assert min(means) < rate < max(means)


@pytest.mark.parametrize("setting", comparison.CHOSEN["digits"])
@pytest.mark.slow
def test_a_training_made_anew_gives_what_is_stored(setting):
    again = comparison.trained("test", "digits", *setting, 0)
    assert again == pytest.approx(scores("digits", *setting, 0)[0], abs=0.7)  # rounding differs between machines


def test_gates_start_as_they_are_called():
    made = {(cell, start): models.network(np.random.default_rng(0), cell, 8, 10, 5, **{"alike": True} | begin).rnn
            for cell, starts in comparison.STARTS.items() for start, begin in starts.items()}  # fmt: skip
    for (_, start), rnn in made.items():
        name, _, bias = start.partition(" = ")
        assert not bias or (getattr(rnn, name) == float(bias)).all()
    W_h = {start: rnn.W_h for (cell, start), rnn in made.items() if cell == "tanh"}
    apart = {start: np.abs(W @ W.T - np.eye(5)).max() for start, W in W_h.items()}
    assert (W_h["identity"] == np.eye(5)).all() and np.abs(W_h["uniform"]).max() <= 5**-0.5
    assert apart["orthogonal"] < 1e-5 < 0.1 < apart["uniform"]


def test_every_gated_net_counts_and_no_tanh_net_is_as_good_as_the_rule_that_ignores_brackets():
    rule = simple("parity", "ignore the brackets")
    assert scores("parity", "tanh").max() < rule["test"]
    assert min(scores("parity", cell).min() for cell in CELLS[1:]) > 99
    assert scores("parity rates", "tanh").max() < 58 < rule["validation"]


def test_two_bits_are_enough_for_parity():
    xs, ys = TASKS["parity"].part("test")
    for tokens, wanted in zip(xs.argmax(axis=2).T[:50], ys[..., 0].T, strict=False):
        counts, odd, said = True, False, []
        for token in tokens:  # 0 1 < >
            odd ^= counts and token == 1
            counts = {2: False, 3: True}.get(token, counts)
            said.append(odd)
        assert said == wanted.astype(bool).tolist()


def test_support_vectors_are_ahead_of_the_mean_of_every_network_on_digits():
    means = [scores("digits", *row[:2]).mean() for row in STORED["digits"]]
    assert max(means) < simple("digits", "support vectors")["test"]


def test_on_digits_the_rate_decides_who_is_ahead():
    at = {cell: [scores("digits rates", cell, start, r).mean() for r in comparison.GRID]
          for cell, start in (("tanh", "orthogonal"), ("GRU", "b_z = 1"))}  # fmt: skip
    assert np.subtract(at["tanh"], at["GRU"])[:2].min() > 0.5 and at["tanh"][0] - at["GRU"][0] > 3
    assert [round(x) for x in at["tanh"]] == [96, 97, 97, 45, 13]
    assert [round(x) for x in at["GRU"]] == [93, 96, 97, 95, 80]
    assert abs(at["tanh"][2] - at["GRU"][2]) < 0.3  # even at 0.03


def test_the_intervals_of_a_difference_are_welchs_and_only_one_of_the_lstms_starts_has_0_in_it():
    gru, q = scores("digits", "GRU", "b_z = 0"), {}
    for cell, start, clear in (("tanh", "uniform", True), ("LSTM", "b_f = 1", True), ("LSTM", "b_f = 0", False)):
        other = scores("digits", cell, start)
        found = ttest_ind(gru, other, equal_var=False)
        q[start] = t.ppf(0.975, found.df)
        assert (found.confidence_interval().low > 0) == clear
    assert round(q["uniform"], 2) == 2.10 and max(q.values()) == pytest.approx(2.14, abs=5e-3)
    assert t.ppf(0.975, 9) == pytest.approx(2.26, abs=3e-3) and t.ppf(0.975, 18) == pytest.approx(2.10, abs=2e-3)
    assert pytest.approx(1.5, abs=0.05) == 100 * 2 * (0.97 * 0.03 / 500) ** 0.5  # the choice of 500 pictures


@pytest.mark.frameworks("torch", "keras")
def test_the_frameworks_start_as_the_page_says():
    import keras
    import torch

    for name, G in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        m = getattr(torch.nn, name)(16, 64)
        assert sum(p.numel() for p in m.parameters()) == G * 64 * (16 + 64 + 2)
        assert all(0.1 < p.abs().max() <= 1 / 8 and abs(p.mean()) < 0.05 for p in m.parameters())
        whole = torch.nn.init.orthogonal_(m.weight_hh_l0.detach().clone()).numpy()
        for block in np.split(whole, G):
            assert (np.linalg.svd(block)[1].min() > 0.9) == (name == "RNN")
    gru = run_box("20-does-it-matter")["gru"]
    for block in gru.weight_hh_l0.detach().numpy().reshape(3, 26, 26):
        np.testing.assert_allclose(block @ block.T, np.eye(26), atol=1e-5)
    biases = gru.bias_ih_l0.detach().numpy() + gru.bias_hh_l0.detach().numpy()
    np.testing.assert_array_equal(biases.reshape(3, 26), np.repeat([[0], [1], [0]], 26, axis=1))
    for name in ("SimpleRNN", "GRU", "LSTM"):
        layer = getattr(keras.layers, name)(64)
        layer.build((None, None, 16))
        _, W_h, _ = layer.get_weights()
        np.testing.assert_allclose(W_h @ W_h.T, np.eye(64), atol=1e-5)
        for block in np.split(W_h, W_h.shape[1] // 64, axis=1):
            assert (np.linalg.svd(block)[1].min() > 0.9) == (name == "SimpleRNN")
