"""What chapter 9 states: the best constant gate, what is stored, the frameworks' code."""

import numpy as np
import pytest
from helpers import cells_of, names_of, result, run_box

from experiments import highway
from experiments._store import load, stored_file
from gru_lib import gru_forward, gru_init

NAME = "09-gradient-highway"


def test_the_best_constant_gate_is_one_minus_one_over_the_length():
    """Units with gates of all sizes read one input and keep it: which has most of it at the end?"""
    p = gru_init(np.random.default_rng(0), 1, 400)
    p.flat[:], p.W_xn[:] = 0, 1
    for length in (2, 10, 100, 1000):
        writes = np.arange(1, 401) / 400 * min(0.999, 10 / length)
        p.b_z[:] = np.log(1 / writes - 1)
        best = writes[np.argmax(gru_forward(np.eye(length)[:, :1, None], None, p)[1])]
        assert best == pytest.approx(1 / length, abs=writes[0])


def test_the_network_that_reads_the_line_is_made_by_the_script():
    page = names_of(cells_of(NAME)[:2])
    np.testing.assert_allclose(highway.reader(0).flat, page["trained"].flat, rtol=0, atol=1e-3)


def test_what_the_page_counts_of_the_trainings_is_what_is_stored():
    stored = load(highway.STORED)
    keep, flip = stored["keep"], stored["flip"]
    after = [stored["keep, reset after"], stored["flip, reset after"]]

    def learned(rows, *what):
        return sum(row[-1]["right"] >= 0.98 for row in rows if row[: len(what)] == list(what))

    assert [learned(keep, "0", rate) for rate in highway.RATES] == [0, 0, 9]
    for bias in ("2", "ln 39", "8"):
        assert learned(keep, bias) == 30
    assert [learned(flip, bias) for bias in highway.FORTY] == [15, 11, 7, 0]
    assert [learned(flip, "2", rate) for rate in highway.RATES] == [1, 5, 5]
    assert [learned(rows) for rows in after] == [len(rows) for rows in after] == [5, 5]


@pytest.mark.parametrize("rate", highway.RATES[1:])
def test_with_other_kernels_too_a_larger_bias_flips_later_or_never(rate):
    rows = load(stored_file("highway_own"))["flip"]
    found = [[row for *what, _, row in rows if what == [bias, rate]] for bias in highway.FORTY]
    steps = [np.median([row["steps"] if row["right"] >= 0.97 else np.inf for row in rows]) for rows in found]
    assert steps == sorted(steps) and steps[-1] == np.inf


@pytest.mark.parametrize(
    ("part", "what", "off"), [("keep, reset after", ("2", 0.03, 1), 25), ("flip", ("0", 0.03, 0), 75)]
)
def test_a_training_made_anew_learns_as_the_stored_one_did(part, what, off):
    again, stored = highway.PARTS[part][0](*what), result(highway, part, *what)
    assert again["right"] > 0.98 < stored["right"] and again["steps"] == pytest.approx(stored["steps"], abs=off)


@pytest.mark.frameworks("torch")
def test_the_bias_that_the_page_sets_in_pytorch_is_the_update_gate_s_and_brings_a_gradient_back():
    import torch

    torch.manual_seed(0)
    gru, H = run_box("09-gradient-highway", "torch.nn.GRU")["gru"], 32
    bias = (gru.bias_ih_l0 + gru.bias_hh_l0).detach()
    assert (bias[H : 2 * H] == 2).all() and not (bias[:H] == 2).any() and not (bias[2 * H :] == 2).any()

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
    np.testing.assert_allclose(bias.sum(axis=0)[:H], 2, rtol=1e-6)
    assert (bias.sum(axis=0)[H:] == 0).all()
    assert keras.layers.LSTM(3).unit_forget_bias and not hasattr(keras.layers.GRU(3), "unit_forget_bias")
