"""Chapter 0: what the page says of its GRU, the PyTorch code it shows, and its stored trainings."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, page_says, result, results, run_box

from experiments import words as experiment
from gru_book.models.word_reader import word_reader_accuracy, word_reader_init
from gru_book.tasks.words import LETTERS, words
from gru_lib import elman_init, gru_forward, gru_init

PAGE = "00-the-gru-in-twenty-minutes"


def outputs(kind: str = "") -> str:
    """Everything that the page prints, or its tables."""
    cells = json.loads((ROOT / "book" / f"{PAGE}.ipynb").read_text("utf8"))["cells"]
    found = [o for cell in cells for o in cell.get("outputs", [])]
    return "".join("".join(o.get("data", {}).get(kind, "") if kind else o.get("text", "")) for o in found)


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


def test_the_state_equation_in_numbers():
    assert page_says(PAGE, r"$0.75 \cdot 0.8 + 0.25 \cdot (-0.4) = 0.5$")
    names, p = own_gru(), gru_init(np.random.default_rng(0), D=1, H=1)
    p.flat[:] = 0
    p.b_z[:], p.b_n[:] = np.log(3), np.arctanh(-0.4)  # z = 0.75, n = -0.4
    assert names["my_gru_step"](np.zeros((1, 1)), np.array([[0.8]]), p)[0, 0] == pytest.approx(0.5)


# ------------------------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_prints_what_the_page_shows():
    run_box("00-the-gru-in-twenty-minutes", "class Reader")


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
    assert LETTERS.size == 85 and page_says(PAGE, "$3H = 192$ numbers more")


# -------------------------------------------------------------------------------------------------- what was measured


def gru_rows() -> list[dict]:
    return results(experiment, "languages", "GRU", 64)


def test_the_page_trains_the_first_of_the_ten():
    row = result(experiment, "languages", "GRU", 64, 0.01, 0)
    assert f"right: {row['test']:.2f} of the test words\n" in outputs()
    latch = row["latches"]["ä"]
    z = [f"{value:.2f}" for value in latch["z"]]
    assert f"unit {latch['unit']}, test: z = {z[0]} at ä, {z[1]} after it" in outputs()
    none, one, _, everything = row["hold"]["held"]
    for held, share in {"no unit": none, "this unit": one, "all 64 units": everything}.items():
        assert re.search(rf"{held}</t[hd]>\s*<td>{share:.2f}</td>", outputs("text/html"))


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


def test_only_all_units_together_cost_what_the_letter_tells():
    for row in gru_rows():
        none, one, _, everything = row["hold"]["held"]
        assert row["hold"]["words"] == 45 and none - one < 0.07 and everything < 0.6 * none
    none, _, _, everything = np.mean([row["hold"]["held"] for row in gru_rows()], axis=0)
    assert everything < none / 2


def test_twice_the_units_close_about_half_of_the_gap_to_counting_runs():
    large = [row["test"] for row in results(experiment, "larger", "GRU", 128)]
    small = np.mean([row["test"] for row in gru_rows()])
    (runs,) = results(experiment, "baselines", "languages", "up to 3, regression")
    assert len(large) == 10 and max(large) < runs["test"]
    assert 0.4 < (np.mean(large) - small) / (runs["test"] - small) < 0.6


def test_an_elman_network_with_as_many_parameters_stays_below_every_gru():
    elman, wanted = results(experiment, "as many parameters", "Elman", 121), 66
    assert [round(100 * row["test"]) for row in elman] == [wanted] * 3
    assert max(row["test"] for row in elman) < min(row["test"] for row in gru_rows())
    sizes = [init(np.random.default_rng(0), 32, H).flat.size for init, H in ((elman_init, 121), (gru_init, 64))]
    assert sizes == [18_634, 18_624]


@pytest.mark.slow
def test_counting_stays_ahead_on_the_words_that_end_in_no_word_of_the_training():
    whole = {word for word, _ in words().train if len(word) >= 5}
    others = [pair for pair in words().test if not any(pair[0][i:] in whole for i in range(1, len(pair[0]) - 4))]
    assert len(words().test) - len(others) == 316
    counting = experiment.BASELINES["up to 3, regression"]().fit(*zip(*words().train, strict=True))
    assert round(counting.score(*zip(*others, strict=True)), 2) == 0.74


def test_rates_are_the_best_of_those_tried_on_the_validation_words():
    for cell in ("linear", "Elman", "GRU"):
        best = experiment.RATE[cell]
        means = {
            rate: np.mean([row["validation"] for row in results(experiment, "languages rates", cell, 64, rate)])
            for rate in experiment.RATES
        }
        assert max(means, key=means.__getitem__) == best, (cell, means)


@pytest.mark.parametrize(
    ("task", "name"),
    [("languages", "up to 3, Bayes"), ("either way", "letters, regression"), ("either way", "up to 3, regression")],
)
@pytest.mark.slow
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
