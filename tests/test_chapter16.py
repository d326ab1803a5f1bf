"""Chapter 16: what the page says of language models, and that its stored trainings can be made again."""

import inspect
import json
from functools import cache

import numpy as np
import pytest
from helpers import box, results, said

from experiments import language_model
from gru_book.models.language_model import lm_bits, lm_init, lm_loss
from gru_book.models.ngram import KneserNey, NGram, _Level
from gru_book.results import load
from gru_book.tasks.text import english, streams
from gru_book.widgets.language import trained
from gru_lib.ops import log_softmax, softmax_cross_entropy
from gru_lib.train import Chunk


@pytest.mark.parametrize("cell", language_model.UNITS)
def test_a_short_training_made_anew_comes_to_the_stored_bits(cell):
    assert language_model.short(cell, 0)["validation"] == pytest.approx(
        results("language_model", "short", cell, 0)[0]["validation"], abs=0.02
    )


FILES = ("language_model", "language_model_own")  # the second with other kernels


@cache
def validation_bits():
    """What counting makes of the validation text: the best of the simple n-grams, and Kneser–Ney."""
    text = english()
    training, validation = text.encode(text.train), text.encode(text.validation)
    simple = NGram(training, 6, text.V)
    return min(simple.bits(validation, n=n) for n in range(1, 7)), language_model.counted().bits(validation)


@pytest.mark.parametrize("file", FILES)
def test_both_networks_beat_the_simple_5_gram_and_lose_to_kneser_ney_with_every_seed(file):
    best_simple, kneser_ney = validation_bits()
    gru, elman = ([r["validation"] for r in results(file, "cells", cell)] for cell in ("GRU", "Elman"))
    assert kneser_ney + 0.09 < min(gru)
    assert max(gru) < min(elman) and max(elman) < best_simple < 2.2
    gap = np.median(elman) - np.median(gru)
    assert max(np.ptp(gru), np.ptp(elman)) < 0.03 < gap
    assert round(gap, 2) == {"language_model": 0.08, "language_model_own": 0.07}[file]
    assert said("16c-counting", "0.08 bits in validation, is larger than the spread of the seeds")


@pytest.mark.parametrize("file", FILES)
def test_with_dropout_the_gru_is_even_with_kneser_ney_and_the_mixture_ahead_of_both_with_every_seed(file):
    text = english()
    validation, test = (language_model.counted().bits(text.encode(part)) for part in (text.validation, text.test))
    rows = results(file, "longer")
    assert len(rows) == (5 if file == FILES[0] else 3)
    for row in rows:
        gain, error = row["ahead"]
        assert abs(gain) < 1.96 * error < 0.05
        assert abs(row["validation"] - validation) < 0.015
        assert row["mixed"][0] < min(row["validation"], validation) - 0.12
        assert row["mixed"][1] < min(row["test"], test) - 0.12
    saved = [min(row["validation"], validation) - row["mixed"][0] for row in rows]
    assert np.median(saved) == pytest.approx(0.13, abs=0.005)
    if file == FILES[0]:
        assert sum(row["validation"] < validation for row in rows) == 2
        assert said("16c-counting", "two seeds are ahead in validation and three behind, by at most 0.015 bits")


def test_rate_of_dropout_and_learning_rate_are_the_best_in_validation_of_those_tried():
    (chosen, *_) = (r["validation"] for r in results("language_model", "longer"))
    others = [r["validation"] for r in results("language_model", "tuning")]
    assert len(others) == 3 and chosen < min(others)
    rates = [r["validation"] for r in results("language_model", "longer rates")]
    assert len(rates) == 2 and chosen < min(rates)


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


@pytest.mark.parametrize("file", FILES)
def test_a_network_that_knows_its_text_by_heart_is_worse_than_letter_frequencies(file):
    text = english()
    unigram = NGram(text.encode(text.train), 1, text.V).bits(text.encode(text.validation))
    rows = results(file, "memorise")
    assert len(rows) == (10 if file == FILES[0] else 5)
    for row in rows:
        training, validation = row["at end"]
        assert 2**training < 1.15 and validation > unigram and 49 < 2**validation < 65.5
        assert 12 <= row["epochs"][int(np.argmin(row["validation"]))] <= 15 and 9.5 < 2 ** row["best"] < 10.5
    assert np.median([2 ** row["at end"][1] for row in rows]) == pytest.approx(56, abs=0.5)


def test_two_grus_gain_by_mixing_and_come_level_with_kneser_ney():
    (row,) = results("language_model", "pair")
    (one, _), (other, _), (counts, _) = (row[name] for name in ("one", "other", "counts"))
    gain = min(one, other) - row["two GRUs"][1]
    assert gain == pytest.approx(0.10, abs=0.005) and abs(row["two GRUs"][1] - counts) < 0.005
    halves = np.array([0.5, 0.25])
    again = language_model.mixed((halves, halves), (halves[::-1], halves[::-1]))
    assert again == pytest.approx([0.5, *2 * [-np.log2(0.375)]])
    curve = results("language_model", "cells", "GRU", 0.004, 1)[0]["validation"]
    assert other == pytest.approx(curve, abs=0.004)  # the second is the GRU of seed 1


def test_the_bits_of_a_table_are_read_in_eight_rows_which_costs_a_little():
    text = english()
    net, test = trained().astype(np.float32), text.encode(text.test)
    assert lm_bits(net, test) - lm_bits(net, test, N=1) == pytest.approx(0.0023, abs=0.0005)
    kneser_ney = language_model.counted().bits(test)
    for row in (*results("language_model", "longer"), *results("language_model", "tuning")):
        assert 0 < row["ahead"][0] - (kneser_ney - row["test"]) < 0.0035


def test_counting_contexts_does_most_of_what_kneser_ney_gains():
    """Bits of validation for n = 12, with the discount 0.75, one estimated for each order, or three."""
    text = english()
    row, model = text.encode(text.validation), language_model.counted()
    strings = model._strings

    def levels(counts, discount):
        def level(k, a):
            n1, n2 = ((a == count).sum() for count in (1, 2))
            taken = np.where(a > 0, discount or n1 / (n1 + 2 * n2), 0.0)
            return _Level(a - taken, strings.by_context(k, taken), strings.by_context(k, a))

        return [level(k, a) for k, a in enumerate(counts, 1)]

    def bits(below, highest):
        return -np.log2(strings.interpolate(row, [*below[:11], highest[11]])).mean()

    for discount, occurrences, contexts in ((0.75, 2.57, 2.00), (None, 2.63, 1.91)):
        counted, before = levels(strings.counts, discount), levels(strings.before, discount)
        assert bits(counted, counted) == pytest.approx(occurrences, abs=0.006)
        assert bits(before, counted) == pytest.approx(contexts, abs=0.006)
    assert bits(model._occurrences, model._occurrences) == pytest.approx(2.32, abs=0.005)
    assert bits(model._contexts, model._occurrences) == pytest.approx(1.88, abs=0.005)


def more_bits(every, kind):
    """What a cut every few characters costs after each epoch, a row for each seed that was trained."""
    curves = {seed: result["curve"] for *what, seed, result in load("language_model")["cells"] if what[0] == "GRU"}
    cuts = load("language_model")["trained"] + load("language_model")["trained more"]
    rows = [row for row in cuts if row[:2] == [every, kind]]
    return np.array([np.subtract(row[-1]["curve"], curves[row[2]]) for row in rows])


def test_a_cut_gradient_costs_some_hundredths_of_a_bit_at_the_end_and_a_cut_state_ten_times_that():
    four, sixteen, zero = (more_bits(*setting) for setting in ((4, "carried"), (16, "carried"), (4, "zero")))
    assert len(four) >= 3
    assert four[:, -1].min() > 0.035 and four[:, -1].max() < 0.075 and abs(four[:, 0]).max() < 0.05
    assert four[:, -1].mean() == pytest.approx(0.05, abs=0.005)
    assert sixteen[:, -1].min() > 0.005 and sixteen[:, -1].max() < 0.03
    assert zero[:, -1] == pytest.approx(0.47, abs=0.01) and zero[:, 0].min() > 0.2
    rows = results("language_model", "trained more", 4, "zero")
    assert min(row["as trained"] - row["validation"] for row in rows) > 0.35  # and more as it was trained


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


def test_what_holding_units_costs_comes_out_again_and_the_named_units_stand_out():
    (stored,) = results("language_model", "held")
    again = language_model.held([[38], [85]], rows=16, length=1000)
    for row, unit in zip(again, (38, 85), strict=True):
        for name, bits in row.items():
            assert bits == pytest.approx(stored["units"][name][unit], abs=0.002)
    marks = np.array(stored["units"]["closing mark"])
    assert (np.argsort(-marks)[:3] + 1).tolist() == [39, 20, 86]
    assert np.sort(marks)[-4] < 0.155 and max(stored["of triples"]["closing mark"]) < 0.155
    (triple,) = language_model.held([stored["triples"][0]])
    assert triple == pytest.approx({name: found[0] for name, found in stored["of triples"].items()}, abs=0.002)
    assert len(stored["triples"]) == 20
    ends = np.argsort(-np.array(stored["units"]["line end"])) + 1
    assert ends[:5].tolist() == [10, 89, 46, 143, 149]


def test_what_lies_further_back_is_worth_most_beside_zeros_and_least_beside_the_mean_state():
    read = {start: row for start, _, row in load("language_model")["context"]}
    for start in read:
        again = language_model.context(start, 0, lengths=(4,))
        assert again["predictions"] == read[start]["predictions"] == 5470
        assert again["bits"]["4"] == pytest.approx(read[start]["bits"]["4"], abs=0.002)
    (zero, half), (other, one), (mean, its_half) = (read[start]["saved"]["64"] for start in ("zero", "other", "mean"))
    assert zero - half > other + one > other - one > mean + its_half and mean - its_half > 0
    assert abs(read["zero"]["bits"]["carried"] - read["mean"]["bits"]["64"]) < 0.005


@pytest.mark.parametrize("file", FILES)
def test_clipping_gains_some_elman_nets_much_and_others_nothing(file):
    bits = {
        (cell, limit): np.array([run["validation"] for run in results(file, "clip", cell, limit)])
        for cell in language_model.UNITS
        for limit in ("1", "none")
    }
    assert {len(v) for v in bits.values()} == {10}
    gain = bits["Elman", "none"] - bits["Elman", "1"]
    medians = np.median(bits["Elman", "none"]) - np.median(bits["Elman", "1"])
    assert medians == pytest.approx(0.06 if file == FILES[0] else 0.05, abs=0.005)
    same = 4
    assert set(np.argsort(abs(gain))[:same]) == {2, 4, 6, 9} and np.argsort(gain)[-2:].tolist() == [5, 7]
    assert abs(np.sort(gain)[:same]).max() < 0.02 < 0.04 < np.sort(gain)[same]
    assert np.sort(gain)[-2:].round(1).tolist() == [0.2, 0.4]
    one, none = bits["GRU", "1"], bits["GRU", "none"]
    assert one.min() < none.max() and none.min() < one.max()


def test_other_kernels_move_no_network_by_more_than_some_hundredths():
    fixed, own = (load(file) for file in FILES)
    both = ("validation", "test")
    for part, keys, seeds in (("cells", both, 3), ("longer", both, 3)):
        before = {tuple(what): run for *what, run in fixed[part]}
        assert {what[-1] for *what, _ in own[part]} == set(range(seeds))
        for *what, again in own[part]:
            most = 0.03 if what[0] == "Elman" else 0.01
            assert max(abs(before[tuple(what)][key] - again[key]) for key in keys) < most, what


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
    assert sizes == {"GRU": 152_550, "Elman": 164_866}


def test_the_longest_string_that_validation_shares_is_the_sentence_the_page_names():
    text = english()
    shared = (
        '" may only occur syntactically nested in a "for" or "while"\n'
        "loop, but not nested in a function or class definition"
    )
    assert len(shared) == 114
    assert '"continue' + shared in text.train and '"break' + shared in text.validation


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_of_the_page_trains_and_what_is_said_of_it_holds():
    import torch

    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    V, tokens = 7, torch.arange(3 * 40 + 1) % 7
    xs, ys = tokens[:-1].reshape(3, 40).T, tokens[1:].reshape(3, 40).T

    def epoch(code):
        embed, gru, out = nn.Embedding(V, 4), nn.GRU(4, 8), nn.Linear(8, V)
        parameters = [p for layer in (embed, gru, out) for p in layer.parameters()]
        losses = []

        class Pieces:
            def __iter__(self):
                for _ in range(30):
                    for start in range(0, 40, 10):
                        yield xs[start : start + 10], ys[start : start + 10]

        class Loss:
            @staticmethod
            def cross_entropy(logits, targets):
                loss = F.cross_entropy(logits, targets)
                ours = softmax_cross_entropy(logits.detach().double().numpy(), targets.numpy()).loss  # a mean, in nats
                assert float(loss.detach()) == pytest.approx(float(ours), rel=1e-5)
                losses.append(float(ours))
                return loss

        optimiser = torch.optim.Adam(parameters, lr=0.02)
        names = {"nn": nn, "F": Loss, "embed": embed, "gru": gru, "out": out}
        exec(code, names | {"parameters": parameters, "optimiser": optimiser, "pieces": Pieces()})
        return losses

    code, _ = box("16-language-model")
    code = code.replace("import torch.nn.functional as F\n", "")  # `Loss` stands for it
    losses = epoch(code)
    assert losses[-1] < 0.1 < losses[0]
    with pytest.raises(RuntimeError, match="second time"):
        epoch(code.replace("h = h.detach()", "pass"))


@pytest.mark.frameworks("torch", "keras")
def test_what_the_page_says_of_keras_holds():
    import keras

    xs = np.random.default_rng(0).normal(size=(2, 6, 3)).astype(np.float32)
    layer = keras.layers.GRU(4, return_sequences=True, stateful=True)
    layer.build((2, None, 3))

    def run(part):
        return keras.ops.convert_to_numpy(layer(part))

    whole = run(xs)
    layer.reset_state()
    first, second = run(xs[:, :3]), run(xs[:, 3:])
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, rtol=0, atol=1e-6)
    layer.reset_state()
    assert np.abs(run(xs[:, 3:]) - second).max() > 1e-3
    assert inspect.signature(keras.losses.SparseCategoricalCrossentropy).parameters["from_logits"].default is False
