"""Chapter 0: what the page says of its GRU, the PyTorch code it shows, and its stored trainings."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers import ROOT, cells_of, close, names_of, page_says, randomised, result, results, rng, run_box

from experiments import words as experiment
from gru_book.models.word_reader import word_reader_init
from gru_book.tasks.words import LETTERS, words
from gru_lib import elman_init, gru_forward, gru_init

PAGE = "00-the-gru-in-twenty-minutes"


def outputs(kind: str = "") -> str:
    """Everything that the page prints, or its tables."""
    cells = json.loads((ROOT / "book" / f"{PAGE}.ipynb").read_text("utf8"))["cells"]
    found = [o for cell in cells for o in cell.get("outputs", [])]
    return "".join("".join(o.get("data", {}).get(kind, "") if kind else o.get("text", "")) for o in found)


def test_there_are_fifteen_lines_and_they_are_a_gru():
    (source,) = [source for source in cells_of(PAGE) if "def my_gru_step" in source]
    assert len([line for line in source.splitlines() if line.strip()]) == 15
    p = randomised(gru_init(rng(), D=3, H=4), rng(1))  # biases too
    xs, h0 = rng(2).normal(size=(7, 5, 3)), rng(3).normal(size=(5, 4))
    close(names_of([source])["my_gru"](xs, h0, p), gru_forward(xs, h0, p)[0])


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
    m = word_reader_init(rng(), LETTERS.size, 12)
    assert f"GRU, {m.flat.size} parameters" in outputs() and m.flat.size + 3 * 64 == 22_316
    assert LETTERS.size == 85 and page_says(PAGE, "$3H = 192$ numbers more")


# -------------------------------------------------------------------------------------------------- what was measured


def gru_rows() -> list[dict]:
    return results(experiment, "languages", "GRU", 64)


def test_the_page_trains_the_first_of_the_ten():
    row = result(experiment, "languages", "GRU", 64, 0.01, 0)
    unit, (at, after) = row["latch"].values()
    assert f"right: {row['test']:.2f} of the test words\n" in outputs()
    assert f"unit {unit}, test: z = {at:.2f} at ä, {after:.2f} after it" in outputs()
    for held, share in zip(("no unit", "this unit", "all 64 units"), row["hold"]["held"], strict=True):
        assert re.search(rf"{held}</t[hd]>\s*<td>{share:.2f}</td>", outputs("text/html"))


def test_every_gru_beats_every_elman_network_and_counting_runs_beats_both():
    gru, elman = ([row["test"] for row in rows] for rows in (gru_rows(), results(experiment, "languages", "Elman")))
    letters, runs = (
        result(experiment, "baselines", "languages", f"{what}, regression", 0)["test"]
        for what in ("letters", "up to 3")
    )
    assert len(gru) == len(elman) == 10
    assert letters < min(elman) and max(elman) < min(gru) and max(gru) < runs


def test_an_elman_network_with_as_many_parameters_and_longer_training_is_close_to_a_gru():
    assert gru_init(rng(), 32, 64).size - 18 < elman_init(rng(), 32, 121).size < gru_init(rng(), 32, 64).size + 18
    elman, gru = (
        [row["test"] for row in results(experiment, "three times", *cell)] for cell in (("Elman", 121), ("GRU", 64))
    )
    assert len(elman) == len(gru) == 3 and 3 * experiment.STEPS == 3000
    said = f"121 units, and 3,000 updates an Elman network gets {np.mean(elman):.2f}, and the GRU {np.mean(gru):.2f}"
    assert page_says(PAGE, said)
    lead = [np.mean([row["test"] for row in rows]) for rows in (gru_rows(), results(experiment, "languages", "Elman"))]
    assert 0 < np.mean(gru) - np.mean(elman) < (lead[0] - lead[1]) / 2


def test_every_training_finds_a_unit_that_notes_an_ä_and_only_all_units_cost_the_answer():
    for row in gru_rows():
        at, after = row["latch"]["z"]
        assert at < 0.1 and after > 0.85
        none, one, everything = row["hold"]["held"]
        assert row["hold"]["words"] == 45 and none - one < 0.07 and everything < 0.6 * none
    none, _, everything = np.mean([row["hold"]["held"] for row in gru_rows()], axis=0)
    assert everything < none / 2


def test_rates_are_the_best_of_those_tried_on_the_validation_words():
    for cell in ("Elman", "GRU"):
        best = experiment.RATE[cell]
        means = {
            rate: np.mean([row["validation"] for row in results(experiment, "languages rates", cell, 64, rate)])
            for rate in experiment.RATES
        }
        assert max(means, key=means.__getitem__) == best, (cell, means)


@pytest.mark.slow
def test_a_baseline_made_anew_is_the_stored_one():
    row = experiment.as_stored(experiment.baseline("either way", "up to 3, regression", 0))
    assert row == result(experiment, "baselines", "either way", "up to 3, regression", 0)


def test_a_gru_trained_on_a_few_words_has_what_the_experiment_measures(monkeypatch):
    few = words()._replace(train=words().train[::20])
    monkeypatch.setattr(experiment, "parts", lambda: few)
    m = experiment.reader(few, 12, "GRU", 64, 0.01, 0, steps=20)
    at, after = experiment.latch(m)["z"]
    none, one, everything = experiment.hold(m)["held"]
    assert 0 < at < 1 and 0 < after < 1 and len({none, one, everything}) == 3


# ---------------------------------------------------------------------------------------- the net of the front page


def test_the_net_of_the_front_page_is_small_the_best_of_ten_and_says_what_it_can():
    net, size = json.loads(experiment.NET.read_text("utf8")), experiment.NET.stat().st_size
    validation, test = zip(*net["tried"], strict=True)
    assert size <= 30 * 1024 and len(validation) == 10 and net["seed"] == int(np.argmax(validation))
    assert max(test) - min(test) < 0.05
    m = experiment.restored(net)
    assert m.rnn.H == 64
    assert experiment.as_stored(experiment.measured(m)) == net["measured"]["8 bits"]
