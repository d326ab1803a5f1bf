"""What chapter 7 and its companions say beside their cells: trainings, the explorer, PyTorch, the box of a step."""

import inspect

import numpy as np
import pytest
from helpers import ROOT, load_results, result, run_box

from experiments import explorer_nets, subtraction
from gru_book import results
from gru_book.models.proofs import BORROW, PAIRS_OF_BITS, SIGNS, Boxes, box_step, disagreement, read_machine
from gru_book.models.reader import subtractor_init, subtractor_predict
from gru_book.tasks.subtraction import all_pairs, encode, random_pairs, subtract_bits
from gru_book.widgets.subtraction import NETS, SUBTRACTION
from gru_lib import gru_forward, gru_init

TEXT = (ROOT / "book_text" / "07-subtraction.md").read_text("utf8")


# ------------------------------------------------------------------------------------------------- the stored trainings


def test_a_split_made_anew_gives_what_is_stored():
    again, stored = subtraction.split(34, 0), result(subtraction, "split", 34, 0)
    assert again["numbers"] == stored["numbers"] and again["seen"] == stored["seen"] == 1
    assert again["unseen"] == pytest.approx(stored["unseen"], abs=0.03)


def test_a_net_for_addition_made_anew_is_proved_as_stored():
    assert subtraction.addition(6) == result(subtraction, "addition", 6)


def test_of_ten_nets_for_addition_four_are_proved_and_two_more_by_a_finer_search_with_either_kernels():
    for name in ("subtraction", "subtraction_own"):
        runs = [run for *_, run in load_results(name)["addition"]]
        assert [sum(run[what] for run in runs) for what in ("rounded", "boxes", "finer")] == [8, 4, 6]


@pytest.mark.parametrize("seed", [7, 8])
def test_the_two_nets_for_addition_whose_table_is_wrong_get_hardly_a_sum_right(seed):
    assert not result(subtraction, "addition", seed)["rounded"]
    m, draw = subtraction.tidy(seed, draw=subtraction.sums), subtraction.sums(np.random.default_rng(5))
    tests = [next(draw) for _ in range(20)]
    right = [((subtractor_predict(m, xs) > 0.5) == ys).all(axis=(0, 2)) for xs, ys in tests]
    assert np.mean(right) < 0.05


def test_plain_net_4_is_right_at_every_length_when_rounded_and_wrong_on_two_minus_nothing_in_42_places_as_it_is():
    m = [*stored("plain")][4]
    assert disagreement(read_machine(m, PAIRS_OF_BITS, SIGNS).automaton, BORROW) is None
    two = encode([2], [0], bits=42)
    assert ((subtractor_predict(m, two.xs) > 0.5) != two.ys).any()


@pytest.mark.parametrize("kind", subtraction.NETS)
def test_a_net_made_anew_is_the_one_stored(kind):
    with np.load(results.path("subtraction_nets")) as nets:
        assert nets[kind].shape == (10, 401)
        np.testing.assert_allclose(subtraction.NETS[kind](3).flat, nets[kind][3], rtol=0, atol=1e-9)


def test_untrained_nets_have_a_unit_that_agrees_with_the_borrow_in_62_to_95_places_of_a_hundred():
    xs = random_pairs(np.random.default_rng(7), 200, 32).xs
    borrow, best = subtract_bits(xs[..., 0], xs[..., 1])[1][1:, :, None] == 1, []
    for seed in range(10):
        hs, _, _ = gru_forward(xs, None, subtractor_init(np.random.default_rng(seed), 10).rnn)
        agree = ((hs > 0) == borrow).mean(axis=(0, 1))
        best.append(np.maximum(agree, 1 - agree).max())
    best = np.array(best)
    assert [round(100 * share) for share in (best.min(), best.max())] == [62, 95]


def stored(kind):
    with np.load(results.path("subtraction_nets")) as nets:
        for row in nets[kind]:
            m = subtractor_init(np.random.default_rng(0), 10)
            m.flat[:] = row
            yield m


def test_where_nothing_happens_the_borrow_is_held_and_one_unit_put_back_mends_every_answer():
    """The page's pair, 2³⁸ − 1, places 1 to 38, in the net of seed 3: what is put back are the values of place 4."""
    xs, ys = encode([2**38], [1], bits=40)
    borrow = subtract_bits(xs[..., 0], xs[..., 1])[1][1:, :] == 1
    assert (ys[:38] == 1).all() and borrow[:38].all() and (xs[1:38] == 0).all()
    nets = [*stored("four bits")]
    errs = {seed for seed, m in enumerate(nets) if (subtractor_predict(m, xs)[:38] < 0.5).any()}
    assert len(errs) == 8 and 3 in errs
    m, mended = nets[3], set()
    hs = gru_forward(xs, None, m.rnn)[0][:, 0]
    for unit in range(10):
        seen = hs.copy()
        seen[4:, unit] = hs[3, unit]
        if ((seen @ m.out.W + m.out.b)[:38] > 0).all():
            mended.add(unit)
    held = ((hs > 0) == borrow).all(axis=0) | ((hs < 0) == borrow).all(axis=0)
    assert mended == {8} and {*np.flatnonzero(held)} == {5, 7}
    no_unit = set()
    for seed in errs:
        hs = gru_forward(xs, None, nets[seed].rnn)[0][:, 0]
        if not (((hs > 0) == borrow).all(axis=0) | ((hs < 0) == borrow).all(axis=0)).any():
            no_unit.add(seed)
    assert len(no_unit) == 4


@pytest.mark.parametrize(("longest", "which"), [(4, "both"), (8, "decay")])
def test_nets_trained_with_one_of_the_terms_made_anew_are_right_as_often_as_stored(longest, which):
    again, stored = subtraction.terms(longest, which, 0), result(subtraction, "terms", longest, which, 0)
    assert again["right"] == stored["right"] and again["seen"] == pytest.approx(stored["seen"], abs=1e-4)


@pytest.mark.parametrize("file", ["subtraction", "subtraction_own"])
def test_without_an_error_are_as_many_of_ten_as_the_table_says_with_either_kernels(file):
    found = {}
    for longest, which, _, run in load_results(file)["terms"]:
        found.setdefault((longest, which), []).append(run["right"] == 600)
    assert {key: sum(right) for key, right in found.items()} == {(4, "both"): 8, (4, "decay"): 2, (8, "decay"): 10}
    assert {len(right) for right in found.values()} == {10}


def test_a_plain_net_without_an_error_in_the_600_pairs_is_wrong_on_all_four_bit_pairs_in_200_places():
    m, (xs, ys) = [*stored("plain")][4], all_pairs(4)
    assert subtraction.longer_right(m) == 600
    longer = [np.concatenate([part, np.zeros((196, *part.shape[1:]))]) for part in (xs, ys)]
    assert ((subtractor_predict(m, longer[0]) > 0.5) != longer[1]).any(axis=(0, 2)).all()


def test_plain_and_tidied_nets_are_trained_as_the_page_says():
    for train in (subtraction.trained_on, subtraction.tidy):
        source = inspect.getsource(train)
        assert "Adam(m, 0.02)" in source and "random_batches(rng, 64," in source
        defaults = inspect.signature(train).parameters
        assert (defaults["H"].default, defaults["steps"].default) == (10, 1000)
    assert "pull * np.clip((i / steps - 0.3) / 0.5, 0, 1)" in source
    assert (defaults["pull"].default, defaults["decay"].default) == (10, 0.002)


# -------------------------------------------------------------------------------------------------------- the explorer


def explored(preset, net, a_flip=0, b_flip=0):
    """States, probabilities, right bits and borrows of the explorer's net on a preset, and the places it gets wrong."""
    a, b = (int(SUBTRACTION["presets"][preset][name]) for name in "ab")
    a, b = a ^ a_flip, b ^ b_flip
    m, T = explorer_nets.from_lists(NETS["nets"][net]), max(4, a.bit_length(), b.bit_length())
    xs = np.array([[n >> t & 1 for n in (a, b)] for t in range(T)], float)[:, None]
    hs, ys = gru_forward(xs, None, m.rnn)[0][:, 0], subtractor_predict(m, xs)[:, 0, 0]
    d, c = (bits[:, 0] for bits in subtract_bits(xs[..., 0], xs[..., 1]))
    return hs, ys, d, c[1:], [t + 1 for t in range(T) if (ys[t] > 0.5) != d[t]]


def test_on_the_long_pair_both_nets_hold_the_borrow_and_one_answers_wrong():
    hs, _, _, c, wrong = explored("long", "eight")
    assert wrong == [] and ((hs[:, 0] < 0) == c).all()  # unit 1, upside down
    assert c[27] == 1 and c[28] == 0
    hs, _, d, c, wrong = explored("long", "four")
    assert len(c) == 32 and ((hs[:, 0] > 0) == c).all()
    assert wrong == list(range(14, 29)) and (d[13:28] == 1).all()
    m = explorer_nets.from_lists(NETS["nets"]["four"])
    short, out = gru_forward(all_pairs(4).xs, None, m.rnn)[0], m.out
    xs = all_pairs(4).xs
    passed = (subtract_bits(xs[..., 0], xs[..., 1])[1][:-1] == 1) & (xs[..., 0] == xs[..., 1])
    for unit in range(m.rnn.H):  # units 3 and 4 are off; with either at its mean where four bits borrow, all is right
        off = (hs[13:28, unit] > short[passed, unit].max()) | (hs[13:28, unit] < short[passed, unit].min())
        back = hs[13:28].copy()
        back[:, unit] = short[passed, unit].mean()
        mended = (back @ out.W[:, 0] + out.b > 0).all()
        assert (off.all() and mended) == (unit in (2, 3)), (unit, off, mended)


def test_on_64_bits_one_bit_is_wrong_and_almost_any_flip_below_mends_it():
    _, ys, d, _, wrong = explored("wide", "four")
    assert wrong == [9] and d[8] == 1 and round(float(ys[8]), 2) == 0.38
    flips = [{which: 1 << t} for t in range(8) for which in ("a_flip", "b_flip")]
    mended = sum(explored("wide", "four", **flip)[-1] == [] for flip in flips)
    assert mended >= 0.8 * len(flips)


@pytest.mark.parametrize("net", ["four", "eight", "hand"])
def test_below_zero_every_net_of_the_explorer_says_fourteen(net):
    _, ys, _, c, wrong = explored("below", net)
    assert sum(1 << t for t in range(4) if ys[t] > 0.5) == 14 == 3 - 5 + 2**4
    assert wrong == [] and c[3] == 1


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_learns_all_pairs_and_has_the_parameters_that_the_page_says():
    import torch

    torch.manual_seed(0)
    names = run_box("07-subtraction", every=all_pairs(4))
    said = names["out"](names["gru"](names["xs"])[0]) > 0
    assert (said == (names["ys"] == 1)).all()
    ours = subtractor_init(np.random.default_rng(0), 8).size
    assert sum(p.numel() for p in names["parameters"]) - ours == 24
    defaults = inspect.signature(torch.optim.Adam).parameters
    assert defaults["lr"].default == 0.001
    assert torch.nn.BCEWithLogitsLoss().reduction == "mean"


@pytest.mark.frameworks("torch", "keras")
def test_keras_expects_probabilities_by_default():
    import keras

    assert inspect.signature(keras.losses.BinaryCrossentropy).parameters["from_logits"].default is False


# --------------------------------------------------------------------------------------------------------------- boxes


def test_the_box_of_the_prediction_stays_between_minus_one_and_one():
    """h and n anywhere in [−1, 1], z in [0.2, 0.6]: the new value too, and not up to 1.4."""
    p = gru_init(np.random.default_rng(0), 1, 1)
    p.flat[:] = 0
    z = np.array([0.2, 0.6])
    ends = np.log(z / (1 - z))
    p.W_hz[:], p.b_z[:] = (ends[1] - ends[0]) / 2, ends.mean()
    p.W_hn[:], p.b_r[:] = 80, 40  # n is anywhere in [−1, 1]
    lo, hi = box_step(np.zeros((1, 1)), Boxes(np.array([[-1.0]]), np.array([[1.0]])), p)
    assert lo[0, 0] == pytest.approx(-1, abs=1e-9) and hi[0, 0] == pytest.approx(1, abs=1e-9)
