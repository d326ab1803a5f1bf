"""What chapter 9 states: the bound, the best constant gate, what is stored, the frameworks' code."""

import numpy as np
import pytest
from helpers import cells_of, names_of, result, run_box

from experiments import highway
from experiments._store import load, stored_file
from gru_book.jacobian import jacobian
from gru_lib import gru_forward, gru_init, lstm_init

T, D, H = 20, 3, 6
NAME = "09-gradient-highway"


def norm(a):
    return np.linalg.norm(a, 2)


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset_after", [False, True])
@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("bias", [4, 8, 12])
def test_an_open_gate_changes_no_length_by_more_than_the_bound(convention, reset_after, scale, bias):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = gru_init(rng, D, H, convention=convention, reset_after=reset_after)
        p.flat[:] = scale * rng.normal(size=p.size)
        p.b_z[:] = bias if convention == "keep" else -bias
        xs, h0 = 0.2 * rng.normal(size=(T, 1, D)), rng.uniform(-1, 1, (1, H))
        hs, _, tape = gru_forward(xs, h0, p)
        shut = (1 - tape.gate("z") if convention == "keep" else tape.gate("z")).max()
        seen = np.abs(np.concatenate([h0[None], hs[:-1]]) @ p.W_hn + p.b_hn).max() if reset_after else norm(p.W_hn)
        C = 1 + 2 * norm(p.W_hz) + norm(p.W_hn) + seen * norm(p.W_hr) / 4
        J = jacobian(xs, h0, p)
        for step in J.steps[:, 0]:
            assert norm(step - np.eye(H)) <= C * shut * (1 + 1e-9)
        stretch = np.linalg.svd(J.total[0])[1]
        assert max(0, 1 - C * shut) ** T * (1 - 1e-9) <= stretch.min()
        assert stretch.max() <= (1 + C * shut) ** T * (1 + 1e-9)


@pytest.mark.parametrize("init", [gru_init, lstm_init])
def test_without_recurrent_weights_the_direct_path_is_all(init):
    rng = np.random.default_rng(0)
    p = init(rng, D, H)
    p.W_h[:] = 0
    J = jacobian(rng.normal(size=(T, 1, D)), None, p)
    np.testing.assert_allclose(J.total[0, -H:, -H:], np.diag(J.direct[0, -H:]), rtol=1e-12, atol=0)


def test_the_best_constant_gate_is_one_minus_one_over_the_length():
    """Units with gates of all sizes read one input and keep it: which has most of it at the end?"""
    p = gru_init(np.random.default_rng(0), 1, 400)
    p.flat[:] = 0
    p.W_xn[:] = 1
    for length in (2, 10, 100, 1000):
        writes = np.arange(1, 401) / 400 * min(0.999, 10 / length)
        p.b_z[:] = np.log(1 / writes - 1)
        xs = np.zeros((length, 1, 1))
        xs[0] = 1
        best = writes[np.argmax(gru_forward(xs, None, p)[1])]
        assert best == pytest.approx(1 / length, abs=writes[0])


def test_a_bias_copied_across_conventions_is_the_worst_of_the_rows():
    sizes = {}
    for name, bias, convention in (
        ("shut", -2, "keep"),
        ("half", 0, "keep"),
        ("open", 4, "keep"),
        ("copied", 4, "write"),
    ):
        rng = np.random.default_rng(0)
        p = gru_init(rng, 8, 32, convention=convention)
        p.b_z[:] = bias
        sizes[name] = norm(jacobian(rng.normal(size=(100, 1, 8)), None, p).total[0])
    assert min(sizes, key=sizes.get) == "copied"
    assert sizes["open"] / sizes["shut"] > 1e40


# ------------------------------------------------------------------------------------------------------ what is stored


def test_the_network_that_reads_the_line_is_made_by_the_script():
    page = names_of(cells_of(NAME)[:2])
    np.testing.assert_allclose(highway.reader(0).flat, page["trained"].flat, rtol=0, atol=1e-3)


# ------------------------------------------------------------------------------------------------ what the bias costs


def steps_of(rows, bias, rate=None):
    """Steps to learn; infinite if it did not."""
    found = [row[-1] for row in rows if row[0] == bias and rate in (None, row[1])]
    return np.array([row["steps"] if row["right"] >= 0.98 else np.inf for row in found])


def test_what_the_page_counts_of_the_trainings_is_what_is_stored():
    keep, flip, echo, far = (load(highway.STORED)[part] for part in ("keep", "flip", "echo", "keep, 100 tokens"))

    def learned(rows, *what):
        return np.isfinite(steps_of(rows, *what)).sum()

    assert [learned(keep, "0", rate) for rate in highway.RATES] == [0, 0, 9]
    for bias in ("2", "ln 39", "spread"):
        assert learned(keep, bias) == 30
    assert learned(flip, "0") == 15
    assert [learned(flip, "ln 39", rate) for rate in highway.RATES] == [0, 3, 4]
    assert [learned(flip, "2", rate) for rate in highway.RATES] == [1, 5, 5]
    assert [learned(rows, "spread", 0.03) for rows in (keep, flip)] == [10, 5]
    assert [learned(echo, bias) for bias in highway.BIASES[40]] == [15] * 4
    assert [learned(far, bias) for bias in ("2", "ln 99", "spread")] == [4, 5, 5]


def test_over_100_tokens_the_rule_s_bias_learns_to_keep_in_half_of_the_steps():
    rows = load(highway.STORED)["keep, 100 tokens"]
    plain, rule = (np.median(steps_of(rows, bias)) for bias in ("2", "ln 99"))
    assert plain > 2 * rule


@pytest.mark.parametrize("file", ["highway", "highway_own"])
@pytest.mark.parametrize("rate", highway.RATES[1:])
def test_to_flip_a_large_bias_hurts_and_smaller_ones_pay_a_part_of_the_price(file, rate):
    rows = load(stored_file(file))["flip"]
    none, two, spread, large = (np.median(steps_of(rows, bias, rate)) for bias in ("0", "2", "spread", "ln 39"))
    assert none < min(two, spread) <= max(two, spread) < large and large > 3 * none


@pytest.mark.parametrize("file", ["highway", "highway_own"])
@pytest.mark.parametrize("rate", highway.RATES)
def test_to_echo_the_large_bias_takes_twice_the_steps_at_most(file, rate):
    rows = load(stored_file(file))["echo"]
    none, large = (np.median(steps_of(rows, bias, rate)) for bias in ("0", "ln 39"))
    assert none < large <= 2 * none


def test_the_token_to_echo_is_the_one_before():
    batch = highway.echo(np.random.default_rng(0), 3, 6)
    assert (batch.ys[1:] @ [1, 2, 4] == batch.tokens[:-1]).all() and not batch.asked[0].any() and batch.asked[1:].all()


def test_with_the_reset_after_the_biases_learn_as_well():
    stored = load(highway.STORED)
    for part, biases in highway.AFTER.items():
        rows = stored[f"{part}, reset after"]
        assert len(rows) == 5 * len(biases) and all(row["right"] >= 0.98 for *_, row in rows)
    what = ("ln 39", 0.03, 1)
    again = highway.PARTS["keep, reset after"][0](*what)
    assert again["steps"] == pytest.approx(result(highway, "keep, reset after", *what)["steps"], abs=25)


def test_a_training_made_anew_learns_to_flip_from_the_bias_that_did():
    what = ("0", 0.03, 0)
    again, stored = highway.PARTS["flip"][0](*what), result(highway, "flip", *what)
    assert again["right"] > 0.98 < stored["right"] and again["steps"] == pytest.approx(stored["steps"], abs=75)


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch")
def test_the_bias_that_the_page_sets_in_pytorch_is_the_update_gate_s_and_brings_a_gradient_back():
    import torch

    torch.manual_seed(0)
    gru, H = run_box("09-gradient-highway", "torch.nn.GRU")["gru"], 32
    bias = (gru.bias_ih_l0 + gru.bias_hh_l0).detach()
    assert (bias[H : 2 * H] == 4.6).all() and abs(np.log(99) - 4.6) < 0.01
    assert not (bias[:H] == 4.6).any() and not (bias[2 * H :] == 4.6).any()

    def reach(gru):
        xs = torch.randn(100, 1, 8, requires_grad=True)
        gru(xs)[1].sum().backward()
        sizes = xs.grad.norm(dim=2)[:, 0]
        return sizes[0] / sizes[-1]

    assert reach(torch.nn.GRU(8, H)) < 1e-15 and reach(gru) > 1e-8


# Keras 3.15 on torch asks numpy for an array in a way that numpy 2.5 is to forbid.
@pytest.mark.frameworks("keras")
def test_the_bias_that_the_page_sets_in_keras_is_the_same():
    import keras

    layer, H = run_box("09-gradient-highway", "keras.layers")["layer"], 32
    _, _, bias = layer.get_weights()
    np.testing.assert_allclose(bias.sum(axis=0)[:H], 4.6, rtol=1e-6)
    assert (bias.sum(axis=0)[H:] == 0).all()
    assert keras.layers.LSTM(3).unit_forget_bias and not hasattr(keras.layers.GRU(3), "unit_forget_bias")
