"""The network that answers with bits: its gradient, and what its accuracy counts."""

import numpy as np
import pytest
from helpers import check_loss, randomised, rng

from gru_lib import elman_init, gru_init, lstm_init
from gru_lib.cells import ablated_gru_init
from gru_lib.models.reader import reader_accuracy, reader_init, reader_loss
from gru_lib.tasks.memory import TASKS, Batch


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


def test_reader_takes_a_gru_with_a_gate_less():
    m = reader_init(np.random.default_rng(0), 3, 1, 4, init=ablated_gru_init, ablation="shared")
    batch = TASKS["parity_since"].draw(np.random.default_rng(0), 5, 6)
    check_loss(lambda p: reader_loss(p, batch), m)
