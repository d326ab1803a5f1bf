"""The sum of the inputs, CBOW. What all cells have in common is in test_cell.py."""

import numpy as np
import pytest
from helpers import rng, same

from gru_lib.cells import cbow_forward, cbow_init

T, N = 6, 3


def test_cbow_is_blind_to_the_order_of_one_hot_inputs_to_the_last_bit():
    tokens = np.eye(5)[rng().integers(0, 5, (T, N))]
    p = cbow_init(5)
    forwards, backwards = cbow_forward(tokens, None, p)[1], cbow_forward(tokens[::-1], None, p)[1]
    same(forwards, backwards)
    same(forwards, tokens.sum(axis=0))


def test_init_names_the_wrong_argument():
    with pytest.raises(TypeError, match="cbow_init: D must be an integer"):
        cbow_init(2.0)
