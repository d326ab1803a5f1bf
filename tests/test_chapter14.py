"""Chapter 14: what the page says of masks and memory, and that its stored trainings can be made again."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from helpers import box, check_loss, result, results, rng

from experiments import dropout
from experiments._store import load
from gru_book.models.language_model import lm_init
from gru_book.models.ngram import KneserNey
from gru_book.results import FOLDER
from gru_book.tasks.memory import checksum
from gru_book.tasks.text import english
from gru_lib import bundle, gru_forward, gru_init, linear_init
from gru_lib.layers import dropout_mask
from gru_lib.train import Chunk

FILES = ("dropout", "dropout_own")  # the second with other kernels


@pytest.mark.parametrize(
    ("what", "solves"),
    [
        (("GRU", 50, "step", 0.3, 0), True),
        (("GRU", 50, "sequence", 0.3, 0), True),
        (("Elman", 20, "none", 0.0, 0), True),
        (("Elman", 20, "step", 0.3, 0), False),
    ],
)
def test_a_memory_made_anew_solves_what_the_stored_one_solved(what, solves):
    again, stored = dropout.memory(*what), result(dropout, "memory", *what)
    assert (again["right"] >= 0.99) == (stored["right"] >= 0.99) == solves


@pytest.mark.parametrize(("kind", "rate"), [("none", 0.0), ("per step", 0.25)])
def test_a_language_model_made_anew_follows_the_stored_curve(kind, rate):
    again = dropout.language_model(kind, rate, 0, steps=dropout.EVERY)
    stored = result(dropout, kind, kind, rate, 0)
    assert again["validation"][0] == pytest.approx(stored["validation"][0], abs=0.05)
    assert again["training"][0] == pytest.approx(stored["training"][0], abs=0.05)


def test_who_solves_the_memory_task_is_stored_with_other_kernels_too_and_agrees():
    own = load(FOLDER / f"{FILES[1]}.json")["memory"]
    assert [row[:-1] for row in own] == [row[:-1] for row in load(FOLDER / f"{FILES[0]}.json")["memory"]]
    counts = Counter(tuple(row[:4]) for row in own if row[-1]["right"] >= 0.99)
    for net, T, place, rate in {tuple(row[:4]) for row in own}:
        fixed = sum(run["right"] >= 0.99 for run in results(dropout, "memory", net, T, place, rate))
        of_ten = (0 if place == "state" else 10) if net == "GRU" else {"none": 8, "sequence": 5, "step": 0}[place]
        assert counts[net, T, place, rate] == fixed == of_ten


def test_under_one_mask_on_the_whole_state_the_rate_decides_and_elman_learns_under_rare_new_masks():
    counts = Counter(tuple(row[:4]) for row in load(FOLDER / "dropout.json")["memory more"] if row[-1]["right"] >= 0.99)
    assert counts == {("GRU", 50, "state, one", 0.1): 10, ("Elman", 20, "step", 0.1): 6}
    again = dropout.memory("GRU", 50, "state, one", 0.1, 0)
    assert again["right"] == result(dropout, "memory more", "GRU", 50, "state, one", 0.1, 0)["right"] == 1


def test_what_one_mask_costs_at_test_time_shrinks_with_training():
    stopped, on = (results(dropout, part, 50, 0.3) for part in ("votes", "votes, not stopped"))
    for T in ("50", "400"):
        early, late = (np.array([run[T]["one"] for run in runs]) for runs in (stopped, on))
        assert len(late) == 10 and (late > early).all()
        assert min(run[T][way] for run in on for way in ("none", "mean")) > 0.99


def test_every_scheme_has_the_rate_that_was_best_with_three_seeds():
    for kind in dropout.KINDS[1:]:
        means = {
            rate: np.mean([min(run["validation"]) for run in results(dropout, kind, kind, rate)])
            for rate in dropout.RATES
        }
        assert min(means, key=means.get) == dropout.BEST


@pytest.mark.parametrize("file", FILES)
def test_every_scheme_helps_and_masks_on_the_recurrent_connections_help_more_with_ten_seeds(file):
    """Beyond the page's 95 % intervals, in validation and in the test; 2.262 is Student's quantile for ten seeds."""
    ends = {
        kind: np.array([
            (min(run["validation"]), run["test"])
            for part in (kind, "more")
            for run in results(file, part, kind, 0.0 if kind == "none" else dropout.BEST)
        ])
        for kind in dropout.KINDS
    }  # fmt: skip
    assert {len(runs) for runs in ends.values()} == {10}

    def ahead(kind, of):
        half = 2.262 * np.sqrt((ends[kind].var(axis=0, ddof=1) + ends[of].var(axis=0, ddof=1)) / 10)
        return ends[of].mean(axis=0) - ends[kind].mean(axis=0), half

    for kind, of in (("zaremba", "none"), ("variational", "zaremba"), ("per step", "zaremba")):
        bits, half = ahead(kind, of)
        assert (bits > half).all(), (kind, of)
        assert of == "none" or ((bits > 0.025) & (bits < 0.055)).all()
    bits, half = ahead("per step", "variational")
    assert (abs(bits) < half).all()


def test_language_models_end_alike_with_other_kernels():
    for part in ("none", "zaremba", "variational", "per step", "more", "carried"):
        settings = {tuple(row[:2]) for row in load(FOLDER / f"{FILES[1]}.json")[part]}
        assert settings, part
        for what in settings:
            fixed, own = (results(file, part, *what) for file in FILES)
            assert len(own) == (10 if part == "carried" else 7 if part == "more" else 3)
            for one, other in zip(fixed, own, strict=True):
                for measure in (lambda run: min(run["validation"]), lambda run: run["test"]):
                    assert abs(measure(other) - measure(one)) < 5e-4, part


@pytest.mark.parametrize("file", FILES)
def test_masking_the_whole_state_costs_the_language_model_nothing_and_its_gates_seldom_keep(file):
    low = {
        place: [min(run["validation"]) for run in results(file, "carried", place)] for place in ("products", "state")
    }
    assert min(low["state"]) < max(low["products"]) and min(low["products"]) < max(low["state"])  # the seeds overlap
    assert abs(np.mean(low["state"]) - np.mean(low["products"])) < 0.03
    test = {place: np.array([run["test"] for run in results(file, "carried", place)]) for place in low}
    half = 2.262 * np.sqrt(sum(v.var(ddof=1) for v in test.values()) / 10)
    assert {len(v) for v in test.values()} == {10} and test["products"].mean() - test["state"].mean() > half
    for run in results(file, "carried"):
        assert run["z"] < 0.15
    for place in ("none", "sequence", "step"):  # nets that solve the task; those whose whole state is masked do not
        for run in results(file, "memory", "GRU", 50, place):
            assert run["z"] > 0.9


@pytest.mark.parametrize("file", FILES)
def test_one_mask_at_test_time_costs_and_the_mean_of_many_is_ahead_beyond_the_trained_length(file):
    votes = results(file, "votes", 50, 0.3)
    right = {
        T: {way: np.array([run[T][way] for run in votes]) for way in ("none", "one", "mean")} for T in ("50", "400")
    }
    assert len(votes) == 10
    assert 0.83 < right["50"]["one"].mean() < 0.9 < 0.99 < right["50"]["mean"].mean() <= right["50"]["none"].mean()
    gained = right["400"]["mean"] - right["400"]["none"]
    assert gained.mean() > 2.262 * gained.std(ddof=1) / np.sqrt(10)


def test_the_order_of_the_schemes_is_the_same_at_twice_the_learning_rate():
    low = {kind: [min(run["validation"]) for run in results(dropout, "paces", kind)] for kind in dropout.KINDS}
    means = [np.mean(low[kind]) for kind in dropout.KINDS]
    assert means == sorted(means, reverse=True) and all(len(runs) == 3 for runs in low.values())
    for kind in dropout.KINDS:
        rate = 0.0 if kind == "none" else dropout.BEST
        slower = [min(run["validation"]) for run in results(dropout, kind, kind, rate)]
        assert min(low[kind]) > max(slower) or np.mean(low[kind]) > np.mean(slower) + 0.05


def test_counting_the_same_characters_is_ahead_of_every_net():
    text = english()
    counting = KneserNey(text.encode(text.train)[: dropout.TRAINED_ON], 8, text.V)
    best = min(run["test"] for kind in dropout.KINDS for run in results(dropout, "more", kind))
    assert best - counting.bits(text.encode(text.test)) > 0.3


@pytest.mark.parametrize("place", dropout.PLACES)
def test_gradient_with_a_mask_at_every_place_matches_complex_step(place):
    source = rng()
    m = bundle(rnn=gru_init(source, 16, 3), out=linear_init(source, 3, 3))
    batch = checksum(source, 4, 5)

    def loss(m):
        return dropout.masked_loss(m, batch, rng=rng(7), place=place, rate=0.4)

    check_loss(loss, m, 1e-10)


def chunk(source, V=5):
    tokens = source.integers(0, V, (7, 2))
    return Chunk(tokens[:-1], tokens[1:], None, lambda state: None)


def test_gradient_of_a_language_model_with_its_whole_state_masked_matches_complex_step(monkeypatch):
    monkeypatch.setattr(dropout, "H", 4)
    m, batch = lm_init(rng(), 5, 3, 4), chunk(rng(1))
    check_loss(lambda m: dropout.state_masked_loss(m, batch, rng=rng(7), rate=0.4), m, 1e-10)


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("z", [0.0, 0.9])
def test_moments_of_what_is_left_are_those_of_the_page(rate, z):
    """Second moments exactly, over all masks of a few steps: a GRU that reads its own masked state."""
    T, tiny = 6, 1e-9  # of a number so small tanh takes nothing off
    p = gru_init(rng(), 1, 1)
    p.flat[:] = 0
    p.b_r[:], p.W_hn[:] = 40, 1
    p.b_z[:] = np.log(z / (1 - z)) if z else -800
    kept = np.array(list(product((0.0, 1.0), repeat=T))).T[..., None]  # every mask once, (T, 2**T, 1)
    xs, h0 = np.zeros((T, 2**T, 1)), np.full((2**T, 1), tiny)
    left = gru_forward(xs, h0, p, h_mask=kept / (1 - rate))[1][:, 0] / tiny
    chance = np.where(kept, 1 - rate, rate).prod(axis=(0, 2))
    assert chance @ left == pytest.approx(1, abs=1e-12)
    variance = chance @ left**2 - 1
    assert variance == pytest.approx((1 + (1 - z) ** 2 * rate / (1 - rate)) ** T - 1, rel=1e-10)
    if z == 0:
        assert chance @ (left > 0.5) == pytest.approx((1 - rate) ** T, rel=1e-12)
        assert variance == pytest.approx((1 - rate) ** -T - 1, rel=1e-10)


def test_mean_and_variance_of_a_mask():
    mask = dropout_mask(np.random.default_rng(0), (400_000,), 0.3)
    deviation = np.sqrt(0.3 / 0.7)
    assert abs(mask.mean() - 1) < 5 * deviation / np.sqrt(mask.size)
    assert mask.var() == pytest.approx(0.3 / 0.7, rel=0.01)


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch")
def test_pytorch_drops_between_layers_alone_with_a_new_mask_at_each_step():
    import torch

    D, H, xs = 3, 4, torch.randn(50, 2, 3)
    code, _ = box("14-dropout")
    gru = eval(code.splitlines()[-2], {"torch": torch, "D": D, "H": H, "L": 2, "p": 0.5})
    with torch.no_grad():
        for name, a in gru.named_parameters():
            if name.endswith("l1"):  # the second layer writes tanh of what it is given
                a.zero_()
        gru.weight_ih_l1[2 * H :] = torch.eye(H)
        gru.bias_ih_l1[H : 2 * H] = -200
        below = torch.nn.GRU(D, H)
        below.load_state_dict({name: a for name, a in gru.state_dict().items() if name.endswith("l0")})
        hs, (h_1, _) = gru(xs)
        given, last = below(xs)
    kept = hs != 0
    assert torch.allclose(hs, torch.where(kept, torch.tanh(given / 0.5), 0), atol=1e-6)
    assert torch.allclose(h_1, last[0]) and 0.3 < kept.float().mean() < 0.7 and (kept != kept[0]).any()
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        torch.nn.GRU(D, H, num_layers=1, dropout=0.5)


@pytest.mark.frameworks("torch", "keras")
def test_keras_draws_a_mask_for_each_sequence_and_one_for_each_product_with_recurrent_dropout():
    import keras

    code, _ = box("14-dropout")
    both = eval(code.splitlines()[-1], {"keras": keras, "H": 4, "p": 0.5, "p_rec": 0.5})
    assert np.abs(keras.ops.convert_to_numpy(both(np.ones((2, 100, 4), np.float32), training=True))).max() <= 1
    masks = both.cell.get_recurrent_dropout_mask(keras.ops.ones((2, 50)))
    first, *others = map(keras.ops.convert_to_numpy, masks)
    assert len(others) == 2 and all((mask != first).any() for mask in others)

    inputs = keras.layers.GRU(4, dropout=0.5, return_sequences=True)
    inputs.build((None, None, 4))
    kernel, recurrent, bias = (np.zeros_like(a) for a in inputs.get_weights())
    kernel[:, 8:], bias[0, :4] = np.eye(4), -200  # it writes tanh of what it is given
    inputs.set_weights([kernel, recurrent, bias])
    kept = keras.ops.convert_to_numpy(inputs(np.ones((16, 9, 4), np.float32), training=True)) != 0
    assert (kept == kept[:, :1]).all() and (kept != kept[:1]).any()


@pytest.mark.frameworks("keras")
def test_the_old_lines_make_keras_own_layer_double_its_state_and_the_present_ones_do_not():
    """Six untrained layers. Keras before 3.8 as it is; from then on its cell with the old line before the step."""
    import keras

    class Old(keras.layers.GRUCell):
        def call(self, inputs, states, training=False):
            return super().call(inputs, [states[0] * self.mask], training)

    old = tuple(map(int, keras.__version__.split(".")[:2])) < (3, 8)
    for (units, D), seed in product(((32, 8), (64, 16)), range(3)):
        keras.utils.set_random_seed(seed)
        xs = np.random.default_rng(seed).normal(size=(1, 100, D)).astype(np.float32)
        cell = Old(units)
        cell.mask = dropout_mask(rng(seed), (1, units), 0.5).astype(np.float32)
        layer = keras.layers.GRU(units, recurrent_dropout=0.5, return_sequences=True)
        hs = np.abs(keras.ops.convert_to_numpy(layer(xs, training=True))[0])
        if not old:
            assert hs.max() <= 1
            hs = np.abs(keras.ops.convert_to_numpy(keras.layers.RNN(cell, return_sequences=True)(xs))[0])
        top = hs[-1].argmax()
        assert 1e26 / 10 < hs[-1, top] < 1e29 and hs[-1, top] / hs[-2, top] == pytest.approx(2, rel=1e-3)
