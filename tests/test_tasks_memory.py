"""The memory tasks, each against its definition told step by step; and the hand-set networks, which make no error."""

import numpy as np
import pytest

from gru_lib import gru_forward
from gru_lib.models.hand_set import automaton_gru, hand_set_gru, random_automaton, run_automaton
from gru_lib.tasks import memory
from gru_lib.tasks.memory import TASKS, agreement, batches, class_bits


def bits(c):
    return [c & 1, c >> 1 & 1, c >> 2 & 1]


def answers(name, tokens):
    """What is to be said after each token, by a loop over the sequence's symbols."""
    said, odd, inside, held, fresh = [], 0, False, 0, True
    for i, s in enumerate(TASKS[name].symbols[t] for t in tokens):
        if s in "<>":
            inside = s == "<"
        elif name in ("checksum", "first_token"):
            held = int(s) if i == 0 else held
        elif name == "parity_outside":
            odd ^= s == "1" and not inside
        elif name == "last_outside":
            held = int(s) if s != "." and not inside else held
        elif name == "parity_since":
            odd = 0 if s == "|" else odd ^ (s == "1")
        else:
            held, fresh = (0, True) if s == "|" else (int(s) if fresh else held, False)
        said.append([odd] if "parity" in name else bits(held))
    return said


@pytest.mark.parametrize("name", TASKS)
def test_targets_follow_from_the_definition(name):
    task = TASKS[name]
    batch = task.draw(np.random.default_rng(0), 50, 60)
    assert batch.xs.shape == (60, 50, task.D) and batch.ys.shape == (60, 50, task.K) and len(task.symbols) == task.D
    np.testing.assert_array_equal(batch.xs, np.eye(task.D)[batch.tokens])
    assert set(np.unique(batch.tokens)) == set(range(task.D))  # every token comes
    for n in range(50):
        np.testing.assert_array_equal(batch.ys[:, n], answers(name, batch.tokens[:, n]))


@pytest.mark.parametrize("name", TASKS)
def test_the_answer_counts_at_the_end_or_at_every_step(name):
    asked = TASKS[name].draw(np.random.default_rng(0), 3, 7).asked
    assert asked[-1].all() and (asked[:-1] == (name not in ("checksum", "first_token"))).all()


@pytest.mark.parametrize("name", TASKS)
def test_a_hand_set_gru_makes_no_error_in_64_streams_of_10000_steps(name):
    batch = TASKS[name].draw(np.random.default_rng(1), 64, 10_000)
    assert (hand_set_gru(name).answers(batch.xs) == batch.ys).all()


@pytest.mark.parametrize("name", TASKS)
def test_hand_set_answers_are_not_the_commonest_answer(name):
    batch = TASKS[name].draw(np.random.default_rng(1), 64, 200)
    said = hand_set_gru(name).answers(batch.xs)
    assert (said.mean(axis=(0, 1)) > 0.2).all() and (said.mean(axis=(0, 1)) < 0.8).all()


def test_agreement_means_the_latest_person_and_keeps_the_distance():
    batch = agreement(np.random.default_rng(0), 200, 15, distance=(2, 9))
    seen = set()
    for column, y in zip(batch.tokens.T, batch.ys[-1], strict=True):
        people = np.flatnonzero(column < memory.CLASSES)
        assert column[-1] == 16 and (column[:-1] < 16).all()
        assert bits(int(column[people[-1]])) == y.tolist()
        seen.add(13 - int(people[-1]))
    assert seen == set(range(2, 10))
    assert batch.asked.sum() == 200 and batch.asked[-1].all()
    assert ((batch.tokens < memory.CLASSES).sum(axis=0) > 1).any()  # some have several people


def test_class_bits_are_distinct_and_lowest_first():
    assert class_bits([1, 6]).tolist() == [[1, 0, 0], [0, 1, 1]]
    assert len({tuple(row) for row in class_bits(np.arange(8))}) == 8


def test_batches_come_in_the_lengths_asked_for_and_repeat_with_the_seed():
    source, again = (batches(np.random.default_rng(3), "parity_since", 4, (5, 8)) for _ in range(2))
    drawn = [next(source) for _ in range(40)]
    assert {len(b.xs) for b in drawn} == {5, 6, 7, 8}
    assert all((b.tokens == next(again).tokens).all() for b in drawn)
    assert len(next(batches(np.random.default_rng(3), "checksum", 4, 9)).xs) == 9


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


def test_a_wrong_argument_is_named():
    rng = np.random.default_rng(0)
    with pytest.raises(TypeError, match="checksum: rng must be a Generator; got int"):
        memory.checksum(0, 3, 4)
    with pytest.raises(ValueError, match="first_token: T must be at least 1; got 0"):
        memory.first_token(rng, 3, 0)
    with pytest.raises(ValueError, match=r"parity_outside: bracket must be >= 0 and < 1; got 1"):
        memory.parity_outside(rng, 3, 4, bracket=1)
    with pytest.raises(ValueError, match=r"last_outside: filler must be >= 0 and < 0.5; got 0.6"):
        memory.last_outside(rng, 3, 4, bracket=0.5, filler=0.6)
    with pytest.raises(ValueError, match=r"parity_since: brk must be >= 0 and < 1; got -1"):
        memory.parity_since(rng, 3, 4, brk=-1)
    with pytest.raises(ValueError, match="agreement: distance must be at most T - 2 = 8; got 9"):
        agreement(rng, 3, 10, distance=9)
    with pytest.raises(ValueError, match="batches: task must be one of 'checksum'"):
        next(batches(rng, "copy", 3, 4))
    with pytest.raises(ValueError, match="hand_set_gru: task must be one of 'checksum'"):
        hand_set_gru("copy")
    with pytest.raises(ValueError, match=r"automaton_gru: delta must have shape \(Q, S\)"):
        automaton_gru([[0, 3]])
    with pytest.raises(ValueError, match=r"run_automaton: symbols must be integers in 0..S-1 = 0..1"):
        run_automaton([[0, 0]], [[2]])
    with pytest.raises(ValueError, match=r"run_automaton: start must be in 0..Q-1 = 0..0; got 1"):
        run_automaton([[0, 0]], [[0]], start=1)
