"""The network that answers with bits: its gradient, and what its accuracy counts."""

import numpy as np
import pytest
from helpers import check_loss, randomised, rng

from gru_book.models.hand_set import hand_set
from gru_book.models.reader import (
    reader_accuracy,
    reader_init,
    reader_loss,
    subtractor_accuracy,
    subtractor_init,
    subtractor_loss,
    subtractor_predict,
)
from gru_book.tasks.memory import TASKS, Batch
from gru_book.tasks.subtraction import all_pairs, encode, random_pairs, subtract_bits
from gru_lib import Adam, elman_init, gru_forward, gru_init, lstm_init, train


@pytest.mark.parametrize("init", [gru_init, elman_init, lstm_init])
@pytest.mark.parametrize("task", ["checksum", "parity_outside"])  # asked at the end; asked at every step
def test_reader_gradient_matches_the_complex_step(init, task):
    source = rng()
    m = randomised(reader_init(source, TASKS[task].D, TASKS[task].K, 3, init=init), source, 0.7)
    batch = TASKS[task].draw(source, 4, 6)
    check_loss(lambda p: reader_loss(p, batch), m)


def test_answers_that_are_not_asked_do_not_count():
    rng = np.random.default_rng(0)
    m = reader_init(rng, 16, 3, 4)
    batch = TASKS["checksum"].draw(rng, 5, 7)
    other = batch._replace(ys=batch.ys.copy())
    other.ys[:-1] = 1 - other.ys[:-1]
    assert reader_loss(m, batch)[0] == reader_loss(m, other)[0]
    some = batch._replace(asked=np.arange(7)[:, None] % 2 == np.zeros((1, 5)))
    np.testing.assert_allclose(reader_loss(m, some)[0], np.mean([step_loss(m, batch, t) for t in (0, 2, 4, 6)]))


def step_loss(m, batch, t):
    asked = np.zeros_like(batch.asked)
    asked[t] = True
    return reader_loss(m, batch._replace(asked=asked))[0]


def test_accuracy_counts_whole_answers_and_whole_sequences():
    m = reader_init(np.random.default_rng(0), 2, 2, 3)
    m.flat[:] = 0
    m.out.b[:] = 1, -1  # always says 1 0
    ys = np.array([[[1, 0], [1, 0]], [[1, 0], [1, 1]], [[0, 0], [1, 0]]], float)  # (T, N, K) = (3, 2, 2)
    batch = Batch(np.zeros((3, 2, 2)), ys, np.array([[True] * 2, [True] * 2, [False, True]]), np.zeros((3, 2), int))
    assert reader_accuracy(m, batch) == (4 / 5, 1 / 2)


# ------------------------------------------------------------------------------------------------- the subtractor


@pytest.mark.parametrize("init", [gru_init, elman_init, lstm_init])
def test_subtractor_gradients_match_complex_step(init) -> None:
    source = rng()
    m = randomised(subtractor_init(source, 3, init=init), source, 0.7)
    batch = random_pairs(source, 5, 4)
    for options in ({}, {"commit": 3.0, "decay": 0.1}):
        check_loss(lambda p, options=options: subtractor_loss(p, batch, **options), m)


def test_subtractor_loss_is_log_2_when_the_network_knows_nothing() -> None:
    m = subtractor_init(np.random.default_rng(0), 4)
    m.flat[:] = 0
    assert subtractor_loss(m, all_pairs())[0] == pytest.approx(np.log(2), abs=1e-14)
    assert (subtractor_predict(m, all_pairs().xs) == 0.5).all()


def test_subtractor_learns_every_four_bit_pair() -> None:
    m = subtractor_init(np.random.default_rng(0), 8)
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


def test_hand_set_subtractor_keeps_the_borrow_in_its_first_unit() -> None:
    batch = random_pairs(np.random.default_rng(0), 64, 50)
    hs, _, _ = gru_forward(batch.xs, None, hand_set().rnn)
    _, borrow = subtract_bits(batch.xs[..., 0], batch.xs[..., 1])
    x = batch.xs[..., 0] - batch.xs[..., 1] - borrow[:-1]
    for unit, claim in enumerate((x <= -1, x >= 1, x <= -2)):
        assert ((hs[..., unit] > 0) == claim).all()
    assert ((hs[..., 0] > 0) == (borrow[1:] == 1)).all()
