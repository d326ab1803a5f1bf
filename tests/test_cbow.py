"""The sum of the inputs, CBOW. What all cells have in common is in test_cell.py."""

import numpy as np
from helpers import rng, same

from gru_book.cells import cbow_forward, cbow_init
from gru_lib import cell_of

T, N = 6, 3


def test_cbow_is_blind_to_the_order_of_one_hot_inputs_to_the_last_bit():
    tokens = np.eye(5)[rng().integers(0, 5, (T, N))]
    p = cbow_init(5)
    forwards, backwards = cbow_forward(tokens, None, p)[1], cbow_forward(tokens[::-1], None, p)[1]
    same(forwards, backwards)
    same(forwards, tokens.sum(axis=0))


def test_gradients_of_a_step_are_arrays_of_their_own():
    p, x, s = cbow_init(2), np.ones((N, 2)), np.ones((N, 2))
    cell = cell_of(p)
    dh = np.ones((N, 2))
    dx, ds, _ = cell.step_backward(dh, cell.step(x, s, p)[1], p)
    for a, b in ((dx, dh), (ds, dh), (dx, ds)):
        assert not np.shares_memory(a, b)
