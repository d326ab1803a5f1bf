"""What chapter 1 and its companion page state for all nets, on random ones; stored trainings; framework code."""

import numpy as np
import pytest
from helpers import cells_of, names_of, page_says, randomised, result, results, rng, run_box

from experiments import words as experiment
from gru_book.tasks import order
from gru_book.tasks.words import LETTERS, anagrams, either_way, order_blind, pairs_of, words
from gru_lib import bce_with_logits, convert, elman_forward, elman_init

PAGE = "01-from-a-sum-to-a-state"
SEEDS = pytest.mark.parametrize("seed", range(3))


def net(seed, D=3, H=4, activation="linear"):
    source = rng(seed)
    return randomised(elman_init(source, D, H, activation=activation), source), source


@SEEDS
def test_in_a_linear_recurrence_a_letters_effect_does_not_depend_on_the_other_letters_and_in_elmans_it_does(seed):
    """Change one input in the middle: the last state moves alike whatever the others are, or does not."""
    for activation, alike in (("linear", True), ("tanh", False)):
        p, source = net(seed, activation=activation)
        xs, change = source.normal(size=(6, 8, 3)), np.zeros((6, 1, 3))
        change[2] = source.normal(size=3)
        moved = elman_forward(xs + change, None, p)[1] - elman_forward(xs, None, p)[1]
        assert (np.ptp(moved, axis=0).max() < 1e-9 * np.abs(moved).max()) == alike


@SEEDS
def test_no_linear_recurrence_answers_more_than_three_quarters_or_beats_a_coins_loss(seed):
    p, source = net(seed, D=order.TOKENS, H=6)
    every = order.all_two_orders(5)
    h_T = elman_forward(every.xs, None, p)[1]
    for _ in range(200):
        s = h_T @ source.normal(size=(6, 1)) + source.normal()
        assert ((s > 0) == (every.ys > 0)).mean() <= 0.75
        assert bce_with_logits(s, every.ys).loss >= np.log(2) - 1e-12


def test_one_halving_unit_tells_which_came_first():
    p = elman_init(rng(), order.TOKENS, 1, activation="linear")
    p.flat[:] = 0
    p.W_h[:], p.W_x[:2, 0] = 0.5, (1, -1)
    batch = order.one_order(rng(1), 300, 1000)
    np.testing.assert_array_equal(elman_forward(batch.xs, None, p)[1] < 0, batch.ys > 0)


# ------------------------------------------------------------------------------------------------- words that were read


def measured(task, name):
    """The share of right answers of a classifier."""
    return result(experiment, "baselines", task, f"{name}, regression", 0)["test"]


def test_no_order_blind_guess_gets_more_than_half_of_either_task():
    assert order_blind(anagrams().test) == 0.5  # one word of each group, whoever names the groups' languages
    assert order_blind(either_way(words()).test) == 0.5
    assert measured("either way", "letters") == 0.5


def test_hardly_any_word_begins_with_yr_and_many_end_with_land_and_none_begins_with_dnal():
    found = {word for word, _ in pairs_of()}
    assert not any(word.startswith("dnal") for word in found)
    assert sum(word.startswith("yr") for word in found) <= 2 and sum(word.endswith("land") for word in found) > 40


def test_classifiers_get_what_the_page_says():
    last, ends, runs = (
        100 * measured("either way", name) for name in ("last letter", "first and last letter", "up to 3")
    )
    assert page_says(PAGE, f"the last letter of a word, it gets {last:.0f} %")
    assert page_says(PAGE, f"sees the first and the last, it gets {ends:.0f} %")
    assert page_says(PAGE, f"it gets {runs:.0f} %, and beats")
    assert page_says(PAGE, f"counting runs of letters {runs:.0f} %")


def test_beginnings_and_endings_speak_as_the_page_says():
    data = either_way(words()).train
    back = [y for word, y in data if word.startswith("yr")]
    forth = {part: [1 - y for word, y in data if word.endswith(part)] for part in "yj"}
    assert page_says(PAGE, f"end in *y*, {100 * np.mean(forth['y']):.0f} % are written forwards")
    assert page_says(PAGE, f"end in *j*, {100 - 100 * np.mean(forth['j']):.0f} % are")
    assert page_says(PAGE, f"so are {sum(back)} of the {len(back)} training words that begin so")


def in_loop(*setting):
    """The mean share of right answers, in per cent, of three trainings in the page's loop."""
    shares = [row["test"] for row in results(experiment, "page loop", *setting)]
    assert len(shares) == 3
    return 100 * np.mean(shares)


def test_larger_steps_for_w_x_bring_what_the_page_says():
    fast, plain = (in_loop("Elman", *way) for way in ((20, 2000), (1, 2000)))
    assert page_says(PAGE, f"right about {plain:.0f} % of the test words; in three with the larger rate")
    assert page_says(PAGE, f"rate for $W_x$, about {fast:.0f} %")


@pytest.mark.slow
def test_a_training_in_the_pages_loop_made_anew_is_the_stored_one():
    setting = ("Elman", 20, 2000, 0.2, 1)
    assert experiment.as_stored(experiment.page_loop(*setting)) == result(experiment, "page loop", *setting)


def test_every_word_of_the_test_is_made_of_letters_that_the_page_numbers():
    assert len(LETTERS.characters) == 83
    assert all(c in LETTERS.characters for word, _ in either_way(words()).test for c in word)


# -------------------------------------------------------------------------------------------------------- the framework


@pytest.mark.frameworks("torch", "keras")
def test_pytorch_and_keras_make_the_layer_that_the_page_says():
    import keras
    import torch

    page = names_of(
        source
        for source in cells_of(PAGE)
        if any(part in source for part in ("import defaultdict", "D = len", "def by_length", "def draw"))
    )
    run_box("01-from-a-sum-to-a-state", "nn.RNN", **page)
    layer, rnn = keras.layers.SimpleRNN(8, return_sequences=True), torch.nn.RNN(5, 8)
    arrays = {name: a.numpy() for name, a in rnn.state_dict().items()}
    assert arrays["bias_hh_l0"].any() and not rnn.batch_first
    xs = torch.randn(7, 2, 5)
    ((p,),) = convert.from_torch(arrays, "rnn")
    np.testing.assert_allclose(elman_forward(xs.numpy(), None, p)[0], rnn(xs)[0].detach(), rtol=0, atol=1e-6)

    assert torch.nn.RNN(5, 8, batch_first=True)(torch.randn(3, 7, 5))[1].shape == (1, 3, 8)
    assert tuple(layer(np.zeros((3, 200, 5), np.float32)).shape) == (3, 200, 8)
    assert tuple(keras.layers.SimpleRNN(8)(np.zeros((3, 200, 5), np.float32)).shape) == (3, 8)
