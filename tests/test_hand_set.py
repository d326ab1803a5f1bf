"""GRUs whose weights are set by hand make no error."""

import numpy as np
import pytest

from gru_book.models.hand_set import hand_set_gru
from gru_book.tasks.memory import TASKS


@pytest.mark.parametrize("name", TASKS)
def test_a_hand_set_gru_makes_no_error_in_16_streams_of_10000_steps(name):
    batch = TASKS[name].draw(np.random.default_rng(1), 16, 10_000)
    assert (hand_set_gru(name).answers(batch.xs) == batch.ys).all()


@pytest.mark.parametrize("name", TASKS)
def test_hand_set_answers_are_not_the_commonest_answer(name):
    batch = TASKS[name].draw(np.random.default_rng(1), 64, 200)
    said = hand_set_gru(name).answers(batch.xs)
    assert (said.mean(axis=(0, 1)) > 0.2).all() and (said.mean(axis=(0, 1)) < 0.8).all()
