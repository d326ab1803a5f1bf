"""What chapter 1 and its companion page state for all nets, on random ones; stored trainings; framework code."""

from itertools import permutations

import numpy as np
import pytest
from helpers import cells_of, names_of, page_says, result, results, run_box

from experiments import words as experiment
from experiments._store import load
from gru_book.cells import cbow_forward, cbow_init
from gru_book.models.word_reader import word_reader_init
from gru_book.tasks import order
from gru_book.tasks.words import LETTERS, anagrams, either_way, order_blind, pairs_of, stem, words
from gru_lib import bce_with_logits, convert, elman_backward, elman_forward, elman_init, elman_step, sigmoid

PAGE = "01-from-a-sum-to-a-state"
SEEDS = range(5)


def net(seed, D=3, H=4, activation="linear"):
    rng = np.random.default_rng(seed)
    p = elman_init(rng, D, H, activation=activation)
    p.flat[:] = rng.normal(size=p.size)
    return p, rng


def all_orders(rows):
    """Every order of the rows (T, D), as sequences (T, T!, D)."""
    return rows[np.array(list(permutations(range(len(rows))))).T]


@pytest.mark.parametrize("seed", SEEDS)
def test_exchanging_two_inputs_of_a_linear_recurrence_moves_the_state_as_derived(seed):
    p, rng = net(seed)
    h, (x, y) = rng.normal(size=(2, 4)), rng.normal(size=(2, 2, 3))
    one_way = elman_step(y, elman_step(x, h, p)[0], p)[0]
    other_way = elman_step(x, elman_step(y, h, p)[0], p)[0]
    np.testing.assert_allclose(one_way - other_way, (x - y) @ p.W_x @ (p.W_h - np.eye(4)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_an_input_adds_to_a_linear_recurrence_has_a_power_of_the_matrix_for_each_step_since(seed):
    p, rng = net(seed)
    T, h0, xs = 6, rng.normal(size=(1, 4)), rng.normal(size=(6, 1, 3))
    power = np.linalg.matrix_power
    h_T = h0 @ power(p.W_h, T) + sum((x @ p.W_x + p.b) @ power(p.W_h, T - t) for t, x in enumerate(xs, 1))
    np.testing.assert_allclose(elman_forward(xs, h0, p)[1], h_T, rtol=1e-9, atol=1e-12)
    p.W_h[:], p.b[:] = np.eye(4), 0  # and without powers it is a sum
    summed = cbow_forward(xs @ p.W_x, None, cbow_init(4))[1]
    np.testing.assert_allclose(elman_forward(xs, None, p)[1], summed, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_linear_recurrence_whose_matrix_leaves_its_inputs_alone_is_blind_to_order(seed):
    """W_x (W_h − I) = 0 with W_h ≠ I: W_h moves only what is orthogonal to the rows of W_x."""
    p, rng = net(seed, D=2)
    Q = np.linalg.qr(p.W_x.T)[0]  # (4, 2): an orthonormal base of the rows of W_x
    p.W_h[:] = np.eye(4) + (np.eye(4) - Q @ Q.T) @ rng.normal(size=(4, 4))
    assert np.abs(p.W_h - np.eye(4)).max() > 0.1
    h_T = elman_forward(all_orders(rng.normal(size=(5, 2))), np.ones((120, 4)), p)[1]
    assert np.ptp(h_T, axis=0).max() < 1e-9 * np.abs(h_T).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_in_a_linear_recurrence_a_letters_effect_does_not_depend_on_the_other_letters_and_in_elmans_it_does(seed):
    """Change one input in the middle: the last state moves alike whatever the others are, or does not."""
    for activation, alike in (("linear", True), ("tanh", False)):
        p, rng = net(seed, activation=activation)
        xs, change = rng.normal(size=(6, 8, 3)), np.zeros((6, 1, 3))
        change[2] = rng.normal(size=3)
        moved = elman_forward(xs + change, None, p)[1] - elman_forward(xs, None, p)[1]
        assert (np.ptp(moved, axis=0).max() < 1e-9 * np.abs(moved).max()) == alike


@pytest.mark.parametrize("seed", SEEDS)
def test_readout_and_loss_have_the_gradients_that_the_page_derives(seed):
    p, rng = net(seed, activation="tanh")
    N, xs, y = 5, rng.normal(size=(6, 5, 3)), rng.integers(0, 2, (5, 1))
    w, beta = rng.normal(size=(4, 1)), rng.normal(size=1)

    def loss():
        s = elman_forward(xs, None, p)[1] @ w + beta
        return np.mean(np.logaddexp(0, np.where(y == 1, -s, s)))

    _, h_T, tape = elman_forward(xs, None, p)
    d_s = (sigmoid(h_T @ w + beta) - y) / N
    grads = elman_backward(None, d_s @ w.T, tape, p)[2]
    found = {"w": h_T.T @ d_s, "beta": d_s.sum(axis=0), "W_x": grads.W_x, "W_h": grads.W_h, "b": grads.b}
    for name, array in {"w": w, "beta": beta, "W_x": p.W_x, "W_h": p.W_h, "b": p.b}.items():
        wanted = np.zeros_like(array)
        for i in np.ndindex(array.shape):
            kept, array[i] = array[i], array[i] + 1e-6
            above = loss()
            array[i] = kept - 1e-6
            wanted[i], array[i] = (above - loss()) / 2e-6, kept
        np.testing.assert_allclose(found[name], wanted, rtol=0, atol=1e-8, err_msg=name)


def test_relu_with_unit_matrix_is_blind_to_order_when_nothing_is_negative_and_only_then():
    p, rng = net(0, D=5, H=8, activation="relu")
    p.W_h[:], p.b[:] = np.eye(8), 0
    xs = all_orders(np.eye(5))
    p.W_x[:] = np.abs(np.round(p.W_x * 2**20) / 2**20)
    assert (np.ptp(elman_forward(xs, None, p)[1], axis=0) == 0).all()
    p.W_x[:] = np.round(rng.normal(size=p.W_x.shape) * 2**20) / 2**20
    assert np.ptp(elman_forward(xs, None, p)[1], axis=0).max() > 0.1


@pytest.mark.parametrize("seed", range(30))
def test_no_linear_recurrence_answers_more_than_three_quarters_or_beats_a_coins_loss(seed):
    p, rng = net(seed, D=order.TOKENS, H=6)
    every = order.all_two_orders(5)
    h_T = elman_forward(every.xs, None, p)[1]
    for _ in range(20):
        s = h_T @ rng.normal(size=(6, 1)) + rng.normal()
        assert ((s > 0) == (every.ys > 0)).mean() <= 0.75
        assert bce_with_logits(s, every.ys).loss >= np.log(2) - 1e-12


@pytest.mark.parametrize("every", [order.all_one_order(5), order.all_two_orders(5)], ids=["one", "two"])
def test_a_sum_answers_exactly_half(every):
    rng = np.random.default_rng(0)
    E, w = rng.normal(size=(order.TOKENS, 6)), rng.normal(size=(6, 10))
    s = cbow_forward(every.xs @ E, None, cbow_init(6))[1] @ w
    assert (((s > 0) == (every.ys > 0)).mean(axis=0) == 0.5).all()


@pytest.mark.parametrize("T", [5, 30, 1000])
def test_one_halving_unit_tells_which_came_first(T):
    p = elman_init(np.random.default_rng(0), order.TOKENS, 1, activation="linear")
    p.flat[:] = 0
    p.W_h[:], p.W_x[:2, 0] = 0.5, (1, -1)
    batch = order.one_order(np.random.default_rng(1), 300, T)
    np.testing.assert_array_equal(elman_forward(batch.xs, None, p)[1] < 0, batch.ys > 0)


@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_without_anything_carried_over_only_the_last_input_counts(activation):
    p, rng = net(0, activation=activation)
    p.W_h[:] = 0
    rows = rng.normal(size=(5, 3))
    h_T = elman_forward(all_orders(rows), None, p)[1]
    last = elman_forward(rows[None], None, p)[1]  # five sequences of one step
    np.testing.assert_allclose(np.unique(h_T.round(12), axis=0), np.unique(last.round(12), axis=0), rtol=0, atol=1e-11)


# ------------------------------------------------------------------------------------------------- words that were read


RUNS = ("up to 3, regression", "up to 4, regression")


def measured(task, name):
    """The shares of right answers, of ten trainings of a network or of the one of a classifier."""
    part = "orders" if name in experiment.INIT else "baselines"
    return [row["test"] for row in results(experiment, part, task, name)]


def test_no_order_blind_guess_gets_more_than_half_of_either_task():
    assert order_blind(anagrams().test) == 0.5  # one word of each group, whoever names the groups' languages
    assert order_blind(either_way(words()).test) == 0.5
    assert measured("either way", "letters, regression") == [0.5]


def test_hardly_any_word_begins_with_yr_and_many_end_with_land_and_none_begins_with_dnal():
    found = {word for word, _ in pairs_of()}
    assert not any(word.startswith("dnal") for word in found)
    assert sum(word.startswith("yr") for word in found) <= 2 and sum(word.endswith("land") for word in found) > 40


def test_words_that_begin_alike_are_all_in_training_or_all_in_the_test():
    for found in (anagrams(), words()):
        assert not {stem(word) for word, _ in found.train} & {stem(word) for word, _ in found.test}


def test_without_its_tanh_an_elman_network_gets_less_with_every_seed_and_counting_runs_gets_more_than_with_it():
    """The two networks differ in tanh alone: size, words, training and the rates tried are the same."""
    for task in ("anagrams", "either way"):
        linear, elman = measured(task, "linear"), measured(task, "Elman")
        assert len(linear) == len(elman) == 10 and max(linear) < min(elman)
        assert max(elman) < min(measured(task, name)[0] for name in RUNS)
    tried = {(row[0], row[2]) for row in load(experiment.STORED)["languages rates"]}
    assert tried == {(cell, rate) for cell in ("linear", "Elman", "GRU") for rate in experiment.RATES}
    linear, elman = (100 * np.mean(measured("either way", name)) for name in ("linear", "Elman"))
    assert (round(linear), round(elman)) == (80, 91)
    assert page_says(PAGE, "counting runs of letters 93 %")
    assert page_says(PAGE, "an Elman network gets 91 %, and a linear recurrence 80 %")
    assert page_says(PAGE, "Elman networks of as many units get 91 %, and linear recurrences 80 %")
    assert {round(100 * measured("either way", name)[0]) for name in RUNS} == {93}


def test_chapter_0_begins_a_letters_row_about_six_times_as_large_as_the_page():
    def size(a):
        return np.sqrt((a * a).mean())

    seeds = [np.random.default_rng(seed) for seed in range(10)]
    readers = [word_reader_init(seed, LETTERS.size, 2, init=elman_init, dtype=np.float64) for seed in seeds]
    row = np.mean([size(m.embed.E @ m.rnn.W_x) for m in readers])
    ours = np.mean([size(elman_init(seed, 83, 64, init="orthogonal").W_x) for seed in seeds])
    assert 5.4 < row / ours < 6.5 and round(ours, 2) == 0.07


def test_a_network_that_is_asked_after_every_letter_is_right_more_often_half_way_and_less_often_at_the_end():
    late, early = (
        {part: [row[part] for row in results(experiment, "asked", every)] for part in ("half", "test")}
        for every in (False, True)
    )
    assert len(late["half"]) == len(early["half"]) == 3
    assert max(late["half"]) < min(early["half"]) and max(early["test"]) < min(late["test"])
    half, end = ([round(100 * np.mean(rows[part])) for rows in (late, early)] for part in ("half", "test"))
    assert page_says(PAGE, f"three networks trained in our loop are right in {half[0]} % of the cases")
    assert page_says(PAGE, f"and trained alike otherwise, are right in {half[1]} %")
    assert page_says(PAGE, f"these three get {end[1]} % on average, where those asked at the end get {end[0]} %")


def looped(activation, times):
    """Right answers in per cent, of five trainings in the page's loop at half its rate."""
    found = [100 * share["test"] for share in results(experiment, "loop start", activation, times)]
    assert len(found) == 5
    return np.array(found)


def test_in_the_pages_loop_a_larger_start_of_the_inputs_helps_with_tanh_and_not_without():
    ends = {(a, k): looped(a, k) for a in ("linear", "tanh") for k in (1, 6)}
    assert ends["tanh", 1].max() < ends["tanh", 6].min() and ends["linear", 6].max() < ends["tanh", 1].min()
    mean = {case: share.mean() for case, share in ends.items()}
    assert abs(mean["linear", 6] - mean["linear", 1]) < 0.3 and round(mean["tanh", 6] - mean["tanh", 1]) == 5
    small, large = (mean["tanh", k] - mean["linear", k] for k in (1, 6))
    assert page_says(PAGE, f"is worth {small:.1f} points from the small start, and {large:.1f} from the larger")


@pytest.mark.slow
def test_a_training_in_the_pages_loop_made_anew_is_the_stored_one():
    again = experiment.loop_start("tanh", 6, 0)
    assert again["test"] == pytest.approx(result(experiment, "loop start", "tanh", 6, 0)["test"], abs=0.01)


def test_the_last_letter_and_the_first_and_the_last_get_what_the_page_says():
    last, ends = (measured("either way", f"{name}, regression")[0] for name in ("last letter", "first and last letter"))
    assert page_says(PAGE, f"{100 * last:.1f} %, one that sees the first and the last {100 * ends:.1f} %")
    assert page_says(PAGE, f"gets {100 * measured('either way', RUNS[0])[0]:.1f} %")


def test_a_fading_machine_counts_a_letter_less_the_longer_ago_it_came():
    found = experiment.fading(0.5).fit_transform(["abba", "b"]).toarray()
    np.testing.assert_array_equal(found, [[1 + 1 / 8, 1 / 2 + 1 / 4], [0, 1]])
    np.testing.assert_array_equal(experiment.fading(0.0).fit_transform(["abba", "b"]).toarray(), [[1, 0], [0, 1]])


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

    assert tuple(layer(np.zeros((3, 200, 5), np.float32)).shape) == (3, 200, 8)
    assert tuple(keras.layers.SimpleRNN(8)(np.zeros((3, 200, 5), np.float32)).shape) == (3, 8)
