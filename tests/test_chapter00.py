"""Chapter 0: what the page says of its GRU, the PyTorch code it shows, and its stored trainings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, page_says, result, results, run_box

from experiments import words as experiment
from gru_book.jacobian import jacobian
from gru_book.models.word_reader import word_reader_accuracy, word_reader_init
from gru_book.tasks.words import LETTERS, pairs_of, shared, words
from gru_lib import gru_forward, gru_init

PAGE = "00-the-gru-in-twenty-minutes"


def outputs() -> str:
    """Everything that the page prints."""
    cells = json.loads((ROOT / "book" / f"{PAGE}.ipynb").read_text("utf8"))["cells"]
    return "".join("".join(o.get("text", "")) for cell in cells for o in cell.get("outputs", []))


def own_gru() -> dict:
    """The names that the page's fifteen lines define."""
    return names_of(source for source in cells_of(PAGE) if "def my_gru_step" in source)


# -------------------------------------------------------------------------------------------------- the fifteen lines


def test_there_are_fifteen_lines_and_they_are_a_gru():
    (source,) = [source for source in cells_of(PAGE) if "def my_gru_step" in source]
    assert len([line for line in source.splitlines() if line.strip()]) == 15
    rng, names = np.random.default_rng(1), own_gru()
    p = gru_init(rng, D=3, H=4)
    p.flat[:] = rng.normal(size=p.size)  # biases too
    xs, h0 = rng.normal(size=(7, 5, 3)), rng.normal(size=(5, 4))
    np.testing.assert_allclose(names["my_gru"](xs, h0, p), gru_forward(xs, h0, p)[0], rtol=0, atol=1e-13)


def test_without_a_past_to_see_the_state_stays_as_long_as_z_keeps_it():
    rng, names = np.random.default_rng(2), own_gru()
    p = gru_init(rng, D=3, H=4)
    p.b_r[:], p.b_z[:] = -50, 50
    xs, h0 = rng.normal(size=(7, 5, 3)), rng.normal(size=(5, 4))
    np.testing.assert_allclose(names["my_gru"](xs, h0, p)[-1], h0, rtol=0, atol=1e-12)
    p.b_r[:], p.b_z[:] = -50, -50  # and then the past is gone in one step
    a, b = (names["my_gru_step"](xs[0], h, p) for h in (h0, -h0))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_an_untrained_update_gate_is_about_one_half():
    p = gru_init(np.random.default_rng(3), D=32, H=64)
    tape = gru_forward(np.random.default_rng(4).normal(size=(20, 50, 32)), None, p)[2]
    assert tape.gate("z").mean() == pytest.approx(0.5, abs=0.02)


def test_what_twenty_steps_leave_of_a_gradient():
    assert page_says(
        PAGE, "After twenty steps one millionth of what went along this line is left; with $z = 0.95$ it would be 36 %."
    )
    assert (round(0.5**20 * 1e6), round(100 * 0.95**20)) == (1, 36)
    assert page_says(PAGE, "Through the candidates comes more, in an untrained GRU over ten times as much")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        m = word_reader_init(rng, V=LETTERS.size, K=12, H=64, dtype=np.float64)
        xs = m.embed.E[rng.integers(0, LETTERS.size, (20, 1))]
        z = gru_forward(xs, None, m.rnn)[2].gate("z")
        whole, line = jacobian(xs, None, m.rnn).total[0], z[:, 0].prod(axis=0)
        assert 10 < np.linalg.norm(whole - np.diag(line)) / np.linalg.norm(line) < 100


def test_the_state_equation_in_numbers():
    assert page_says(PAGE, r"$0.75 \cdot 0.8 + 0.25 \cdot (-0.4) = 0.5$")
    names, p = own_gru(), gru_init(np.random.default_rng(0), D=1, H=1)
    p.flat[:] = 0
    p.b_z[:], p.b_n[:] = np.log(3), np.arctanh(-0.4)  # z = 0.75, n = -0.4
    assert names["my_gru_step"](np.zeros((1, 1)), np.array([[0.8]]), p)[0, 0] == pytest.approx(0.5)


# ------------------------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_prints_what_the_page_shows():
    names = run_box("00-the-gru-in-twenty-minutes", "class Reader")
    run_box("00-the-gru-in-twenty-minutes", "def torch_step", **names)


@pytest.mark.frameworks("torch")
def test_what_the_page_says_of_nn_gru_holds():
    import torch

    rnn = torch.nn.GRU(3, 4)
    assert rnn.bias_hh_l0.shape == (12,) and not rnn.batch_first
    xs, h0 = torch.randn(7, 2, 3), torch.randn(1, 2, 4)
    xs[4:, 1] = 0  # padding
    packed = torch.nn.utils.rnn.pack_padded_sequence(xs, [7, 4])
    assert not torch.allclose(rnn(xs, h0)[1], rnn(packed, h0)[1])
    with torch.no_grad():
        rnn.bias_ih_l0[4:8] = 60.0  # the second block is z
    assert torch.allclose(rnn(xs, h0)[1], h0)  # and it keeps


def test_parameters_are_as_many_as_the_page_says():
    m = word_reader_init(np.random.default_rng(0), LETTERS.size, 12)
    assert f"GRU, {m.flat.size} parameters" in outputs() and m.flat.size + 3 * 64 == 22_316
    assert LETTERS.size == 85 and page_says(PAGE, "in all $3H = 192$ parameters more")


# -------------------------------------------------------------------------------------------------- what was measured


def gru_rows() -> list[dict]:
    return results(experiment, "languages", "GRU", 64)


def test_the_page_trains_the_first_of_the_ten():
    row = result(experiment, "languages", "GRU", 64, 0.01, 0)
    assert f"parameters: {row['test']:.2f} of the test words\n" in outputs()
    latch = row["latches"]["ä"]
    z = [f"{value:.2f}" for value in latch["z"]]
    assert f"unit {latch['unit']}, test: z = {z[0]} at ä, {z[1]} after it" in outputs()
    parts = zip(("none", "one unit", "16 by gate", "all 64"), row["hold"]["held"], strict=True)
    assert "ours, 45 words, computed here: " + ", ".join(f"{name} {share:.2f}" for name, share in parts) in outputs()


def test_a_gru_beats_elmans_network_with_every_seed_and_counting_beats_both():
    gru, elman = ([r["test"] for r in rows] for rows in (gru_rows(), results(experiment, "languages", "Elman")))
    letters, *runs = (
        result(experiment, "baselines", "languages", f"{what}, regression", 0)["test"]
        for what in ("letters", "up to 3", "up to 4")
    )
    assert len(gru) == len(elman) == 10
    assert max(elman) < min(gru) and letters < min(elman) and max(gru) < min(runs)


def test_every_training_finds_a_unit_that_writes_at_a_letter_and_keeps_after_it():
    for letter in experiment.LATCHES:
        for row in gru_rows():
            at, after = row["latches"][letter]["z"]
            assert at < 0.1 and after > 0.85
    assert len({row["latches"]["ä"]["unit"] for row in gru_rows()}) == 10  # another one each time


def test_any_sixteen_units_cost_half_of_what_the_chosen_cost_and_all_are_the_word_without_its_letter():
    held = np.array([row["hold"]["held"] for row in gru_rows()])
    controls = results(experiment, "controls", "GRU", 64)
    at_random = np.array([np.mean(row["random"]) for row in controls])
    none, _, chosen, everything = held.T
    assert {row["hold"]["words"] for row in gru_rows()} == {45}
    assert len(controls) == 10 and all(len(row["random"]) == 10 for row in controls)
    assert 0.4 < np.mean(none - at_random) / np.mean(none - chosen) < 0.6
    np.testing.assert_allclose(everything, [row["struck"] for row in controls], rtol=0, atol=1e-4)


@pytest.mark.parametrize("file", ["words", "words_own"])
def test_sixteen_units_chosen_by_effect_cost_nearly_as_much_as_all_and_the_others_together_little(file):
    for row, found in zip(results(file, "languages", "GRU"), results(file, "effect"), strict=True):
        none, _, by_gate, everything = row["hold"]["held"]
        _, chosen, others = found["held"]
        assert none - chosen > 0.6 * (none - everything) and none - others < 0.25 * (none - everything)
        assert chosen < by_gate - 0.05  # on test words; they were chosen on training words


def test_how_much_of_the_past_a_candidate_sees_matters_more_than_that_it_changes():
    """With other kernels as well."""
    for rows in (results(experiment, "controls"), results("words_own", "controls")):
        for row in rows:
            assert max(row["r"]["one"], row["r"]["zero"]) + 0.04 < row["r"]["mean"] < 0.705


def test_more_steps_help_the_elman_networks_more_and_more_units_the_grus():
    def gained(cell, H, steps):
        before = [row["test"] for row in results(experiment, "languages", cell, 64)]
        after = [row["test"] for row in results(experiment, "longer or larger", cell, H, steps)]
        assert len(before) == len(after) == 10
        return np.mean(after) - np.mean(before)

    assert gained("Elman", 64, 4000) > 0.02 > 0.015 > gained("GRU", 64, 4000)
    assert gained("GRU", 128, 1000) > 0.015 > 0.012 > gained("Elman", 128, 1000)
    (runs,) = results(experiment, "baselines", "languages", "up to 3, regression")
    gap = runs["test"] - np.mean([row["test"] for row in gru_rows()])
    assert 0.4 < gained("GRU", 128, 1000) / gap < 0.6


def test_grus_trained_with_a_reset_gate_of_one_are_nearly_as_good():
    open_gate = np.mean([row["test"] for row in results(experiment, "longer or larger", "GRU, r = 1")])
    assert round(100 * open_gate) == 70 and np.mean([row["test"] for row in gru_rows()]) - open_gate < 0.01


def test_rates_are_the_best_of_those_tried_on_the_validation_words():
    for cell in ("linear", "Elman", "GRU"):
        best = experiment.RATE[cell]
        means = {
            rate: np.mean([row["validation"] for row in results(experiment, "languages rates", cell, 64, rate)])
            for rate in experiment.RATES
        }
        assert max(means, key=means.__getitem__) == best, (cell, means)


def test_the_share_of_words_that_nobody_could_tell_is_the_one_printed():
    assert f"{shared(pairs_of()):.0%} of all entries are words of another language too" in outputs()


@pytest.mark.parametrize(
    ("task", "name"),
    [("languages", "up to 3, Bayes"), ("either way", "letters, regression"), ("either way", "up to 3, regression")],
)
def test_a_baseline_made_anew_is_the_stored_one(task, name):
    row = experiment.baseline(task, name, 0)
    assert experiment.as_stored(row) == result(experiment, "baselines", task, name, 0)


def test_a_gru_trained_for_a_few_steps_already_has_what_the_experiment_measures():
    m = experiment.reader(words(), 12, "GRU", 64, 0.01, 0, steps=60)
    untrained = word_reader_init(np.random.default_rng(0), LETTERS.size, 12)
    assert word_reader_accuracy(m, words().test[::3]) > 0.25
    row = experiment.latch(m, untrained, "ä", few=200)
    assert row["z"][0] < row["z"][1] and 0.5 <= row["auc"] <= 1 and 0.5 <= row["untrained"] <= 1
    held = experiment.hold(m)["held"]
    assert held[0] != held[3]
    assert experiment.with_reset(m, words().test[:200], 0.0) != experiment.with_reset(m, words().test[:200], 1.0)


def test_the_auc_is_the_share_of_pairs_in_the_right_order():
    rng = np.random.default_rng(5)
    high, low = rng.integers(0, 9, 30), rng.integers(0, 7, 20)
    pairs = (high[:, None] > low).mean() + (high[:, None] == low).mean() / 2
    assert experiment.auc(high, low) == pytest.approx(pairs)


# ---------------------------------------------------------------------------------------- the net of the front page


@pytest.fixture(scope="module")
def net() -> dict:
    return json.loads(experiment.NET.read_text("utf8"))


def test_the_net_of_the_front_page_is_small_and_says_what_it_can(net):
    assert experiment.NET.stat().st_size <= 30 * 1024
    m = experiment.restored(net)
    assert m.rnn.H == 64
    assert experiment.as_stored(experiment.measured(m)) == net["measured"]["8 bits"]


def test_it_is_the_best_of_ten_on_the_words_kept_for_choosing(net):
    validation = [tried[0] for tried in net["tried"]]
    assert len(validation) == 10 and net["seed"] == int(np.argmax(validation))
    test = [tried[1] for tried in net["tried"]]
    assert max(test) - min(test) < 0.05


def test_hello_is_english_and_was_learned(net):
    found = experiment.front_words()
    assert ("hello", net["languages"].index("en")) in found.train
    for word, language in (("hello", "en"), ("house", "en"), ("itävalta", "fi"), ("szkoła", "pl")):
        assert word_reader_accuracy(experiment.restored(net), [(word, net["languages"].index(language))]) == 1


def test_its_named_units_remember_unseen_words_better_than_untrained_ones(net):
    m, test = experiment.restored(net), experiment.front_words().test
    assert len(net["units"]) >= 5
    for row in net["units"]:
        found = experiment.remembers(m, test, row["run"], [row["unit"]])[0]
        assert (found if row["sign"] > 0 else 1 - found) == pytest.approx(row["auc"], abs=1e-4)
        assert row["auc"] > max(0.85, row["untrained"])
