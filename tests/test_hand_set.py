"""GRUs whose weights are set by hand: they make no error, and any finite automaton becomes one."""

import numpy as np
import pytest

from gru_book.models.hand_set import automaton_gru, hand_set_gru, random_automaton, run_automaton
from gru_book.tasks.memory import TASKS
from gru_lib import gru_forward


@pytest.mark.parametrize("name", TASKS)
def test_a_hand_set_gru_makes_no_error_in_16_streams_of_10000_steps(name):
    batch = TASKS[name].draw(np.random.default_rng(1), 16, 10_000)
    assert (hand_set_gru(name).answers(batch.xs) == batch.ys).all()


@pytest.mark.parametrize("name", TASKS)
def test_hand_set_answers_are_not_the_commonest_answer(name):
    batch = TASKS[name].draw(np.random.default_rng(1), 64, 200)
    said = hand_set_gru(name).answers(batch.xs)
    assert (said.mean(axis=(0, 1)) > 0.2).all() and (said.mean(axis=(0, 1)) < 0.8).all()


@pytest.mark.parametrize("seed", range(20))
def test_any_automaton_runs_as_a_gru(seed):
    rng = np.random.default_rng(seed)
    Q, S = int(rng.integers(1, 8)), int(rng.integers(1, 5))
    delta, start = random_automaton(rng, Q, S), int(rng.integers(Q))
    symbols = rng.integers(0, S, (500, 16))
    p, h0 = automaton_gru(delta, start)
    hs, _, _ = gru_forward(np.eye(S)[symbols], np.tile(h0, (16, 1)), p)
    code = 2 * np.repeat(np.eye(Q), S, axis=1) - 1
    np.testing.assert_array_equal(hs, code[run_automaton(delta, symbols, start)])  # exactly ±1


def test_run_automaton_follows_the_table():
    assert run_automaton([[1, 0], [2, 1], [0, 2]], [[0], [1], [0], [0]])[:, 0].tolist() == [1, 1, 2, 0]
