"""The memory tasks, each against its definition told step by step."""

import numpy as np
import pytest
from helpers import refused

from gru_book.tasks import memory
from gru_book.tasks.memory import TASKS, agreement, batches, class_bits


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
def test_targets_and_where_they_count_follow_from_the_definition(name):
    task = TASKS[name]
    batch = task.draw(np.random.default_rng(0), 50, 60)
    assert batch.xs.shape == (60, 50, task.D) and batch.ys.shape == (60, 50, task.K) and len(task.symbols) == task.D
    np.testing.assert_array_equal(batch.xs, np.eye(task.D)[batch.tokens])
    assert set(np.unique(batch.tokens)) == set(range(task.D))  # every token comes
    assert batch.asked[-1].all() and (batch.asked[:-1] == (name not in ("checksum", "first_token"))).all()
    for n in range(50):
        np.testing.assert_array_equal(batch.ys[:, n], answers(name, batch.tokens[:, n]))


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


def test_a_wrong_argument_is_named():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"last_outside: filler must be >= 0 and < 0.5; got 0.6"):
        memory.last_outside(rng, 3, 4, bracket=0.5, filler=0.6)
    refused(ValueError, "agreement: distance must be at most T - 2 = 8; got 9", agreement, rng, 3, 10, distance=9)
