"""What chapter 7 and its companion say beside their cells: trainings, the explorer, PyTorch."""

import inspect

import numpy as np
import pytest
from helpers import result, run_box

from experiments import subtraction
from experiments._store import load
from gru_book import results
from gru_book.models.proofs import BORROW, PAIRS_OF_BITS, SIGNS, disagreement, read_machine
from gru_book.models.reader import subtractor_init, subtractor_predict
from gru_book.tasks.subtraction import all_pairs, encode, long_borrows, random_pairs, subtract_bits
from gru_lib import gru_forward


@pytest.mark.parametrize("kind", ["four bits", "plain", "tidied"])
def test_a_net_made_anew_is_the_one_stored(kind):
    with np.load(results.path("subtraction_nets")) as nets:
        assert nets[kind].shape == (10, 401)
        np.testing.assert_allclose(subtraction.NETS[kind](3).flat, nets[kind][3], rtol=0, atol=1e-9)


def stored(kind):
    with np.load(results.path("subtraction_nets")) as nets:
        for row in nets[kind]:
            m = subtractor_init(np.random.default_rng(0), 10)
            m.flat[:] = row
            yield m


def long_run(m):
    """States and borrows on the page's pair, 2³⁸ − 1."""
    xs = encode([2**38], [1], bits=40).xs
    borrow = subtract_bits(xs[..., 0], xs[..., 1])[1][1:, :] == 1
    return gru_forward(xs, None, m.rnn)[0][:, 0], borrow


def test_units_tell_the_borrow_of_the_long_pair_in_four_of_the_eight_nets_that_err_on_it():
    _, ys = encode([2**38], [1], bits=40)
    assert (ys[:38] == 1).all()
    told = {}
    for seed, m in enumerate(stored("four bits")):
        hs, borrow = long_run(m)
        if ((hs @ m.out.W + m.out.b)[:38] <= 0).any():
            held = ((hs > 0) == borrow).all(axis=0) | ((hs < 0) == borrow).all(axis=0)
            told[seed] = {*np.flatnonzero(held)}
    assert len(told) == 8 and told[3] == {5, 7}
    assert sum(not units for units in told.values()) == 4


def longer_right(m):
    """How many of the page's 600 longer pairs come out right."""
    rng, right = np.random.default_rng(9), 0
    for draw in (random_pairs, long_borrows):
        for width in (5, 8, 16, 64, 256, 1024):
            test = draw(rng, 50, width)
            right += int(((subtractor_predict(m, test.xs) > 0.5) == test.ys).all(axis=(0, 2)).sum())
    return right


def test_rounded_a_net_may_be_right_and_as_it_is_wrong_on_longer_pairs():
    nets = [*stored("four bits")]
    machines = [read_machine(m, PAIRS_OF_BITS, SIGNS).automaton for m in nets]
    assert [k for k, machine in enumerate(machines) if disagreement(machine, BORROW) is None] == [0]
    assert longer_right(nets[0]) < 600


def test_plain_and_tidied_nets_are_trained_as_the_page_says():
    for train in (subtraction.trained_on, subtraction.tidy):
        source = inspect.getsource(train)
        assert "Adam(m, 0.02)" in source and "random_batches(rng, 64," in source
        defaults = inspect.signature(train).parameters
        assert (defaults["H"].default, defaults["steps"].default) == (10, 1000)
    assert (defaults["most"].default, defaults["decay"].default, defaults["bits"].default) == (10, 2e-3, (4, 8))


@pytest.mark.slow
def test_the_counts_of_ten_seeds_are_those_of_the_stored_nets_and_one_made_anew_is_the_stored_one():
    for kind in ("plain", "tidied"):
        wrong = [row["wrong"] for way, seed, row in load(subtraction.STORED)["counts"] if way == kind and seed < 10]
        assert wrong == [600 - longer_right(m) for m in stored(kind)]
    assert subtraction.count("tidied", 18) == result(subtraction, "counts", "tidied", 18)


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_learns_all_pairs_and_has_the_parameters_that_the_page_says():
    import torch

    torch.manual_seed(0)
    names = run_box("07-subtraction", every=all_pairs(4))
    said = names["out"](names["gru"](names["xs"])[0]) > 0
    assert (said == (names["ys"] == 1)).all()
    ours = subtractor_init(np.random.default_rng(0), 8).size
    assert sum(p.numel() for p in names["parameters"]) - ours == 24
    assert torch.nn.BCEWithLogitsLoss().reduction == "mean"


@pytest.mark.frameworks("torch", "keras")
def test_keras_expects_probabilities_by_default():
    import keras

    assert inspect.signature(keras.losses.BinaryCrossentropy).parameters["from_logits"].default is False
