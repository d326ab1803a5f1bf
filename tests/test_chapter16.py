"""Chapter 16: what the page says of language models, and that its stored trainings can be made again."""

import json

import numpy as np
import pytest
from helpers import box, cells_of, result, results, run_box

from experiments import language_model
from gru_book.models.language_model import lm_bits, lm_init, lm_loss
from gru_book.models.ngram import KneserNey, NGram
from gru_book.tasks.text import english, streams
from gru_lib import bundle, gru_backward, gru_forward, ops, sample
from gru_lib.ops import softmax_cross_entropy
from gru_lib.train import Chunk

FILES = ("language_model", "language_model_own")  # the second with other kernels


def test_the_loss_that_the_page_shows_is_the_librarys():
    cell = next(cell for cell in cells_of("16-language-model") if "def my_loss" in cell)
    names = vars(ops) | {"gru_forward": gru_forward, "gru_backward": gru_backward, "bundle": bundle}
    exec(cell, names)
    m, tokens = lm_init(np.random.default_rng(0), V=6, D=3, H=4), np.random.default_rng(1).integers(0, 6, 41)
    chunk = Chunk(*streams(tokens, 2), None, lambda state: None)
    (ours, grads), (loss, wanted) = names["my_loss"](m, chunk), lm_loss(m, chunk)
    assert ours == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(grads.flat, wanted.flat, atol=1e-12)


def test_who_learns_on_pays_for_each_piece_before_learning_from_it():
    m, tokens = lm_init(np.random.default_rng(0), V=6, D=3, H=4), np.random.default_rng(1).integers(0, 6, 150)
    before, reads_on = m.copy(), language_model.reads_on
    assert reads_on(m, tokens, 0) == pytest.approx(lm_bits(m, tokens, N=1), rel=1e-6)
    assert reads_on(m, tokens[:65], 0.3) == pytest.approx(lm_bits(m, tokens[:65], N=1), rel=1e-6)
    assert reads_on(m, np.arange(150) % 2, 0.3) < lm_bits(m, np.arange(150) % 2, N=1) - 0.1
    np.testing.assert_array_equal(m.flat, before.flat)


def test_three_networks_gain_less_by_learning_on_than_counting_and_at_a_rate_between_others():
    counting = result(language_model, "counting", 12, 256, 0)
    runs = results(language_model, "adapting", 0, 8)
    assert len(runs) == 3
    for run in runs:
        tried = dict(zip(language_model.ON, run["validation"], strict=True))
        assert min(tried, key=tried.__getitem__) == run["rate"] and run["rate"] not in (min(tried), max(tried))
        assert 0.03 < run["frozen"] - run["adapting"] < counting["frozen"] - counting["adapting"] - 0.03
        assert counting["adapting"] + 0.05 < run["adapting"]


def test_counts_that_are_never_made_anew_are_frozen_and_others_were_ahead_of_them():
    stored, never = result(language_model, "counting", 12, 256, 0), language_model.counting(12, 40_000, 0)
    assert never["adapting"] == never["frozen"] == pytest.approx(stored["frozen"], abs=1e-4)
    seldom = language_model.counting(12, 18_000, 0)["adapting"]
    assert stored["adapting"] + 0.02 < seldom < stored["frozen"] - 0.02


@pytest.mark.slow
def test_a_short_training_made_anew_comes_to_the_stored_bits():
    again, stored = language_model.short(0), result(language_model, "short", 0)
    assert again["validation"] == pytest.approx(stored["validation"], abs=0.02)


@pytest.mark.parametrize("file", FILES)
def test_the_network_beats_the_simple_5_gram_and_loses_to_kneser_ney_with_every_seed(file):
    text = english()
    training, validation = text.encode(text.train), text.encode(text.validation)
    ends = [run["curve"][-1] for run in results(file, "cells", language_model.BEST)]
    assert len(ends) == (5 if file == FILES[0] else 3)
    assert KneserNey(training, 12, text.V).bits(validation) + 0.02 < min(ends)
    assert max(ends) < NGram(training, 5, text.V).bits(validation)


def test_forty_epochs_beat_kneser_ney_in_validation_and_on_the_test_text_two_of_three_do():
    text, runs = english(), results(language_model, "longer", language_model.MASKED, language_model.LONG)
    careful = KneserNey(text.encode(text.train), 12, text.V)
    assert len(runs) == 3
    assert max(run["curve"][-1] for run in runs) < careful.bits(text.encode(text.validation)) - 0.04
    best, second, last = sorted(run["test"] - result(language_model, "counting", 12, 256, 0)["frozen"] for run in runs)
    assert best < second < -0.015 and abs(last) < 0.001


def test_the_learning_rate_is_the_best_in_validation_of_those_tried():
    chosen = result(language_model, "cells", language_model.BEST, 0)
    others = [run["curve"][-1] for run in results(language_model, "rates")]
    assert len(others) == 2 and chosen["curve"][-1] < min(others)


def test_a_stopped_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model, "CHECKPOINTS", tmp_path / "some")
    short = tuple(row[:3000] for row in language_model.tokens())
    monkeypatch.setattr(language_model, "tokens", lambda: short)
    row = language_model.longer(0.2, 4, 0)
    assert len(row["curve"]) == 2 and not list((tmp_path / "some").iterdir())
    bits = iter([9.0])
    with monkeypatch.context() as patch, pytest.raises(StopIteration):
        patch.setattr(language_model, "lm_bits", lambda m, tokens: next(bits))  # at the second there is none
        language_model.longer(0.2, 4, 0)
    again = language_model.longer(0.2, 4, 0)
    assert again == row | {"curve": [9.0, row["curve"][1]]}  # from the checkpoint


@pytest.mark.slow
def test_what_holding_units_costs_comes_out_again_and_one_unit_stands_out():
    stored = result(language_model, "held", 0)["line end"]
    assert language_model.held([109, 72]) == pytest.approx([stored[109], stored[72]], abs=0.002)
    assert np.argsort(stored)[::-1][:2].tolist() == [109, 72]


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


def test_the_network_has_as_many_parameters_as_the_page_says():
    assert language_model.network(0).size == 143_325


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


@pytest.mark.frameworks("torch")
def test_the_pytorch_draw_is_ours_and_keeps_the_likeliest_whatever_the_nucleus():
    import torch

    torch.manual_seed(0)
    draw = run_box("16d-writing")["draw"]
    p, N = np.array([0.1, 0.6, 0.3]), 20_000
    logits = torch.tensor(np.log(p)).expand(N, 3)
    step, start = (lambda state, token: (np.tile(np.log(p), (N, 1)), state)), np.zeros(N, int)
    for how, left in (({"top_p": 0.85}, [0, 2 / 3, 1 / 3]), ({"temperature": 0.5, "top_p": 0.7}, [0, 1, 0])):
        ours = sample(step, None, start, np.random.default_rng(0), end=None, max_steps=1, **{"temperature": 1.0} | how)
        for drawn in (draw(logits, **how).numpy(), ours.tokens[:, 0]):
            np.testing.assert_allclose(np.bincount(drawn, minlength=3) / N, left, atol=0.015)
    for dtype in (torch.float32, torch.float64):  # 0.9 is reached by two
        assert set(draw(logits.to(dtype), top_p=0.9).tolist()) == {1, 2}
    many = torch.linspace(0, 12, 100_000).expand(2, -1)
    torch.manual_seed(0)
    drawn = draw(many, top_p=1.0)
    torch.manual_seed(0)
    p, tokens = torch.softmax(many, -1).sort(descending=True)
    assert torch.equal(drawn, tokens.gather(-1, torch.multinomial(p, 1))[:, 0])  # at 1 nothing is forbidden
    code, _ = box("16d-writing")
    names: dict = {}
    exec(code.replace("before >= top_p", "p.cumsum(-1) >= top_p"), names)
    assert set(names["draw"](logits, top_p=0.85).tolist()) == {1}
    assert set(draw(logits, top_p=0.0).tolist()) == {1}  # the likeliest stays
