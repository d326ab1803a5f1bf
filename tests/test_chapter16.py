"""Chapter 16: what the page says of language models, and that its stored trainings can be made again."""

import json

import numpy as np
import pytest
from helpers import box, results

from experiments import language_model
from gru_book.models.language_model import lm_init, lm_loss
from gru_book.models.ngram import KneserNey, NGram
from gru_book.tasks.text import english, streams
from gru_lib.ops import log_softmax, softmax_cross_entropy
from gru_lib.train import Chunk


@pytest.mark.parametrize("cell", language_model.UNITS)
@pytest.mark.slow
def test_a_short_training_made_anew_comes_to_the_stored_bits(cell):
    assert language_model.short(cell, 0)["validation"] == pytest.approx(
        results("language_model", "short", cell, 0)[0]["validation"], abs=0.02
    )


FILES = ("language_model", "language_model_own")  # the second with other kernels


@pytest.mark.parametrize("file", FILES)
def test_both_networks_beat_the_simple_5_gram_and_lose_to_kneser_ney_with_every_seed(file):
    text = english()
    training, validation = text.encode(text.train), text.encode(text.validation)
    simple = NGram(training, 6, text.V)
    best_simple = min(simple.bits(validation, n=n) for n in range(1, 7))
    gru, elman = ([r["validation"] for r in results(file, "cells", cell)] for cell in ("GRU", "Elman"))
    assert len(gru) == len(elman) == (5 if file == FILES[0] else 3)
    assert language_model.counted().bits(validation) + 0.02 < min(gru)
    assert max(gru) < min(elman) - 0.03 and max(elman) < best_simple < 2.2


def test_the_learning_rate_is_the_best_in_validation_of_those_tried():
    for cell in language_model.UNITS:
        (chosen,) = results("language_model", "cells", cell, language_model.BEST, 0)
        others = [r["validation"] for r in results("language_model", "rates", cell)]
        assert len(others) == 2 and chosen["validation"] < min(others)


def test_the_mixture_is_tuned_on_validation_and_a_stopped_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    short = tuple(row[:3000] for row in language_model.tokens())
    monkeypatch.setattr(language_model, "tokens", lambda: short)
    monkeypatch.setattr(language_model, "counted", lambda: KneserNey(short[0], 5, english().V))
    monkeypatch.setattr(language_model, "CHECKPOINTS", tmp_path / "some")
    row = language_model.longer(0.2, 4, 0)
    assert row["epochs"] == [2, 4] and len(row["curve"]) == 2 and not list((tmp_path / "some").iterdir())
    counted = KneserNey(short[0], 5, english().V)
    assert row["mixed"][0] <= min(row["validation"] + 0.05, counted.bits(short[1]))
    assert row["ahead"][0] == pytest.approx(counted.bits(short[2]) - row["test"], abs=0.1)

    def stops(m, tokens):
        if len(asked) == 1:
            raise KeyboardInterrupt
        asked.append(1)
        return 9.0

    asked: list[int] = []
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(language_model, "lm_bits", stops)
        language_model.longer(0.2, 4, 0)
    again = language_model.longer(0.2, 4, 0)
    assert again["curve"][0] == 9.0  # from the checkpoint
    assert again | {"curve": 0} == row | {"curve": 0}


def test_with_dropout_the_gru_cannot_be_told_from_counting_and_their_mixture_is_ahead_of_both():
    text = english()
    counts = [language_model.counted().bits(text.encode(part)) for part in (text.validation, text.test)]
    rows = results("language_model", "longer")
    assert len(rows) == 3
    for row in rows:
        assert row["validation"] < counts[0] - 0.03 and abs(row["test"] - counts[1]) < 0.03
        for part, count, mixture in zip(("validation", "test"), counts, row["mixed"], strict=True):
            assert mixture < min(row[part], count) - 0.1
    ahead, errors = np.array([row["ahead"] for row in rows]).T
    assert abs(ahead.mean()) < min(4.303 * ahead.std(ddof=1) / 3**0.5, 1.96 * errors.min())  # Student's, three seeds


def test_a_cut_gradient_costs_some_hundredths_of_a_bit_at_the_end_and_a_cut_state_more():
    uncut = np.array([row["curve"] for row in results("language_model", "cells", "GRU")[:3]])
    four, zero = (
        np.array([row["curve"] for row in results("language_model", "trained", 4, kind)]) - uncut
        for kind in ("carried", "zero")
    )
    assert 0.03 < four[:, -1].min() < four[:, -1].max() < 0.075 and abs(four[:, 0]).max() < 0.035
    assert zero.min() > 0.2 and zero[:, -1].min() > 0.37


def test_a_cut_within_the_piece_changes_the_gradient_alone():
    m = lm_init(np.random.default_rng(0), 5, 3, 4)
    xs, ys = streams(np.random.default_rng(1).integers(0, 5, 41), 2)
    ends, losses = [], []
    for loss in (lm_loss, *map(language_model.cut_every, (20, 4, 3))):
        losses.append(loss(m, Chunk(xs, ys, np.full((2, 4), 0.5), ends.append)))
    for end, (nats, grads) in zip(ends, losses, strict=True):
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-15)
        assert nats == pytest.approx(losses[0][0], abs=1e-14)
        assert np.abs(grads.out.flat - losses[0][1].out.flat).max() < 1e-14  # the readout is within a step
    whole, same, four, three = (grads.flat for _, grads in losses)
    np.testing.assert_array_equal(whole, same)
    assert min(np.abs(four - whole).max(), np.abs(three - whole).max()) > 1e-4
    zero = language_model.cut_every(4, "zero")(m, Chunk(xs, ys, np.full((2, 4), 0.5), ends.append))
    parts = [lm_loss(m, Chunk(xs[i : i + 4], ys[i : i + 4], None, ends.append)) for i in range(0, 20, 4)]
    assert zero[0] == pytest.approx(np.mean([nats for nats, _ in parts]))
    np.testing.assert_allclose(zero[1].flat, np.mean([g.flat for _, g in parts], axis=0), rtol=0, atol=1e-15)


@pytest.mark.slow
def test_what_holding_units_costs_comes_out_again_and_one_unit_stands_out():
    (stored,) = results("language_model", "held")
    again = language_model.held([[109], [72]], rows=16, length=1000)
    for row, unit in zip(again, (109, 72), strict=True):
        for name, bits in row.items():
            assert bits == pytest.approx(stored["units"][name][unit], abs=0.002)
    first, second = np.argsort(-np.array(stored["units"]["line end"]))[:2]
    assert (first, second) == (109, 72)


def test_entropy_rises_with_temperature_by_a_variance():
    """dS/dβ = −β Var(a), by central differences."""
    a = np.random.default_rng(0).normal(size=20)

    def entropy(beta):
        log_p = log_softmax(beta * a)
        return -(np.exp(log_p) * log_p).sum()

    for beta in (0.3, 1.0, 4.0):
        p = np.exp(log_softmax(beta * a))
        variance = (p * a * a).sum() - (p * a).sum() ** 2
        slope = (entropy(beta + 1e-5) - entropy(beta - 1e-5)) / 2e-5
        assert slope == pytest.approx(-beta * variance, rel=1e-6)


def test_results_are_stored_as_they_were_computed_and_merged(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model, "STORED", tmp_path / "out.json")
    parts = {"one": (lambda name, seed: {"bits": seed / 3}, (("a",), ("b",)), range(2))}
    monkeypatch.setattr(language_model, "PARTS", parts)
    language_model.main(["one", "1"])
    assert json.loads((tmp_path / "out.json").read_text("utf8")) == {
        "one": [["a", 1, {"bits": 0.3333}], ["b", 1, {"bits": 0.3333}]]
    }
    language_model.main(["one"])
    rows = json.loads((tmp_path / "out.json").read_text("utf8"))["one"]
    assert [row[:2] for row in rows] == [["a", 0], ["b", 0], ["a", 1], ["b", 1]]


def test_the_networks_have_as_many_parameters_as_the_page_says():
    sizes = {cell: language_model.network(np.random.default_rng(0), cell).size for cell in language_model.UNITS}
    assert sizes == {"GRU": 143_325, "Elman": 149_573}


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_of_the_page_trains_and_what_is_said_of_it_holds():
    import torch

    torch.manual_seed(0)
    tokens, cross_entropy = torch.arange(3 * 40 + 1) % 7, torch.nn.functional.cross_entropy

    def train(code):
        losses = []

        class Loss:
            @staticmethod
            def cross_entropy(logits, targets):
                loss = cross_entropy(logits, targets)
                ours = softmax_cross_entropy(logits.detach().double().numpy(), targets.numpy()).loss  # a mean, in nats
                assert float(loss.detach()) == pytest.approx(float(ours), rel=1e-5)
                losses.append(float(ours))
                return loss

        names = {"F": Loss, "tokens": tokens, "V": 7, "D": 4, "H": 8, "N": 3, "K": 10, "epochs": 100}
        exec(code, names)
        wanted = streams(tokens.numpy(), 3)
        np.testing.assert_array_equal(names["xs"].numpy(), wanted.xs)
        np.testing.assert_array_equal(names["ys"].numpy(), wanted.ys)
        return losses

    code, _ = box("16-language-model")
    code = code.replace("import torch.nn.functional as F\n", "")  # `Loss` stands for it
    losses = train(code)
    assert len(losses) == 400 and losses[-1] < 0.1 < losses[0]
    with pytest.raises(RuntimeError, match="second time"):
        train(code.replace("h = h.detach()", "pass"))
