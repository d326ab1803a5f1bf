"""The subtraction task's data, and the network of chapter 7."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from gru_lib import Adam, elman_init, gradcheck, gru_init, lstm_init, train
from gru_lib.models.hand_set import hand_set
from gru_lib.models.reader import subtractor_accuracy, subtractor_init, subtractor_loss, subtractor_predict
from gru_lib.tasks.subtraction import (
    Batch,
    all_pairs,
    encode,
    hard_pairs,
    pick,
    random_batches,
    random_pairs,
    subtract_bits,
)


def numbers(batch: Batch) -> tuple[list[int], list[int], list[int]]:
    """Read a batch back as integers a, b and difference, apart from the code that wrote it."""
    rows = np.concatenate([batch.xs, batch.ys], axis=2).astype(int)  # (T, N, 3)
    return tuple([int("".join(map(str, rows[::-1, i, k])), 2) for i in range(rows.shape[1])] for k in range(3))


@pytest.mark.parametrize("bits", [1, 2, 4, 6])
def test_all_pairs_holds_every_pair_once_with_its_difference(bits: int) -> None:
    a, b, d = numbers(all_pairs(bits))
    assert sorted(zip(a, b, strict=True)) == [(u, v) for u in range(2**bits) for v in range(u + 1)]
    assert d == [u - v for u, v in zip(a, b, strict=True)]


def test_there_are_136_pairs_of_four_bits() -> None:
    assert all_pairs().xs.shape == (4, 136, 2)
    assert all_pairs().ys.shape == (4, 136, 1)


@pytest.mark.parametrize("draw", [random_pairs, hard_pairs])
@pytest.mark.parametrize("bits", [2, 8, 64, 200])
def test_drawn_pairs_are_ordered_and_their_difference_is_right(draw, bits: int) -> None:
    batch = draw(np.random.default_rng(bits), 50, bits)
    assert batch.xs.shape == (bits, 50, 2)
    for a, b, d in zip(*numbers(batch), strict=True):
        assert d == a - b >= 0


def test_hard_pairs_have_one_long_borrow_chain() -> None:
    batch = hard_pairs(np.random.default_rng(0), 400, 90)
    a, b = batch.xs[..., 0], batch.xs[..., 1]
    assert ((a != b).sum(axis=0) == 2).all()  # where the chain begins, and where it ends
    _, borrow = subtract_bits(a, b)
    chain = borrow.sum(axis=0)
    assert chain.min() >= 1
    assert 25 < chain.mean() < 35  # the distance of two random places: a third of the width


def test_subtract_bits_leaves_a_borrow_exactly_where_a_is_smaller() -> None:
    a, b = (v.ravel() for v in np.meshgrid(np.arange(16), np.arange(16)))
    bits = [np.array([n >> t & 1 for t in range(4)]) for n in (a, b)]
    d, borrow = subtract_bits(*bits)
    assert (d == np.array([(a - b) % 16 >> t & 1 for t in range(4)])).all()
    assert (borrow[-1] == (a < b)).all()
    assert (borrow[0] == 0).all()


def test_random_batches_have_every_width_asked_for_and_no_other() -> None:
    widths = {len(b.xs) for b in islice(random_batches(np.random.default_rng(0), 2, (4, 8)), 100)}
    assert widths == {4, 5, 6, 7, 8}


def test_pick_takes_the_pairs_asked_for() -> None:
    batch = all_pairs()
    few = pick(batch, [3, 100])
    assert (few.xs == batch.xs[:, [3, 100]]).all()
    assert (few.ys == batch.ys[:, [3, 100]]).all()
    assert pick(batch, np.arange(136) < 10).xs.shape == (4, 10, 2)


@pytest.mark.parametrize(
    ("a", "b", "bits", "message"),
    [
        ([3], [5], 4, "0 <= b <= a"),
        ([16], [5], 4, "0 <= b <= a"),
        ([3], [-1], 4, "0 <= b <= a"),
        ([3, 4], [1], 4, "equally many"),
        ([3], [1], 0, "bits must be at least 1"),
    ],
)
def test_encode_refuses_what_does_not_fit(a, b, bits, message) -> None:
    with pytest.raises(ValueError, match=message):
        encode(a, b, bits)


def test_random_batches_refuses_a_range_that_runs_down() -> None:
    with pytest.raises(ValueError, match=r"bits\[1\] must be at least 8"):
        next(random_batches(np.random.default_rng(0), 2, (8, 4)))


@pytest.mark.parametrize("init", [gru_init, elman_init, lstm_init])
def test_subtractor_gradients_match_complex_step(init) -> None:
    rng = np.random.default_rng(0)
    m = subtractor_init(rng, 3, init=init)
    m.flat[:] = rng.normal(0, 0.7, m.size)
    batch = random_pairs(rng, 5, 4)
    for options in ({}, {"commit": 3.0, "decay": 0.1}):
        _, grads = subtractor_loss(m, batch, **options)
        report = gradcheck(lambda p, options=options: subtractor_loss(p, batch, **options)[0], m, grads)
        assert report.worst < 1e-12, str(report)


def test_subtractor_loss_is_log_2_when_the_network_knows_nothing() -> None:
    m = subtractor_init(np.random.default_rng(0), 4)
    m.flat[:] = 0
    assert subtractor_loss(m, all_pairs())[0] == pytest.approx(np.log(2), abs=1e-14)
    assert (subtractor_predict(m, all_pairs().xs) == 0.5).all()


def test_subtractor_without_bias_has_none() -> None:
    m = subtractor_init(np.random.default_rng(0), 4, bias=False, convention="write")
    assert m.size == 3 * 4 * (2 + 4) + 4
    assert (m.rnn.convention, m.rnn.bias, m.out.bias) == ("write", False, False)


@pytest.mark.parametrize("seed", range(3))
def test_subtractor_learns_every_four_bit_pair(seed: int) -> None:
    m = subtractor_init(np.random.default_rng(seed), 8)
    batch = all_pairs()
    assert subtractor_accuracy(m, batch).pairs < 0.5
    train(m, subtractor_loss, [batch], Adam(m, 0.05), steps=600)
    assert subtractor_accuracy(m, batch) == (1, 1)


def test_subtractor_accuracy_counts_bits_and_whole_pairs() -> None:
    batch = encode([14, 12, 10], [8, 0, 1], 4)  # differences 6, 12, 9
    m = subtractor_init(np.random.default_rng(0), 2)
    m.flat[:] = 0
    m.out.b[:] = 1  # says 1111 always: 2 of 4 bits each
    assert subtractor_accuracy(m, batch) == (0.5, 0)


@pytest.mark.parametrize("K", [10, 20, 80])
def test_hand_set_subtractor_makes_no_error_at_1024_bits(K: float) -> None:
    rng = np.random.default_rng(0)
    for draw in (random_pairs, hard_pairs):
        assert subtractor_accuracy(hand_set(K), draw(rng, 32, 1024)) == (1, 1)


def test_hand_set_subtractor_keeps_the_borrow_in_its_first_unit() -> None:
    from gru_lib import gru_forward

    batch = random_pairs(np.random.default_rng(0), 64, 50)
    hs, _, _ = gru_forward(batch.xs, None, hand_set().rnn)
    _, borrow = subtract_bits(batch.xs[..., 0], batch.xs[..., 1])
    x = batch.xs[..., 0] - batch.xs[..., 1] - borrow[:-1]
    for unit, claim in enumerate((x <= -1, x >= 1, x <= -2)):
        assert ((hs[..., unit] > 0) == claim).all()
    assert ((hs[..., 0] > 0) == (borrow[1:] == 1)).all()


def test_hand_set_refuses_a_steepness_that_is_not_positive() -> None:
    with pytest.raises(ValueError, match="K must be > 0"):
        hand_set(0)
