"""The order tasks: what a sequence holds, and that the tokens alone say nothing."""

from collections import Counter

import numpy as np
import pytest
from helpers import refused

from gru_book.tasks import order

DRAW = {2: order.one_order, 4: order.two_orders}
EVERY = {2: order.all_one_order, 4: order.all_two_orders}


def label(tokens, marked):
    """The class of one sequence, from its definition."""
    at = [list(tokens).index(token) for token in range(marked)]
    first = at[0] < at[1]
    return first if marked == 2 else first == (at[2] < at[3])


@pytest.mark.parametrize("marked", [2, 4])
def test_each_sequence_has_one_of_each_marked_token_and_the_label_of_their_order(marked):
    batch = DRAW[marked](np.random.default_rng(0), 200, 7)
    assert batch.xs.shape == (7, 200, order.TOKENS) and batch.ys.shape == (200, 1) and batch.tokens.shape == (7, 200)
    np.testing.assert_array_equal(batch.xs, np.eye(order.TOKENS)[batch.tokens])
    for tokens, y in zip(batch.tokens.T, batch.ys[:, 0], strict=True):
        counts = Counter(tokens.tolist())
        assert all(counts[token] == (token < marked) for token in range(4))
        assert y == label(tokens, marked)


@pytest.mark.parametrize(("marked", "T", "count"), [(2, 4, 12 * 16), (4, 5, 120 * 4)])
def test_every_sequence_comes_once_and_what_is_drawn_is_among_them(marked, T, count):
    every = EVERY[marked](T)
    columns = {tuple(column) for column in every.tokens.T.tolist()}
    assert len(columns) == every.tokens.shape[1] == count
    drawn = DRAW[marked](np.random.default_rng(1), 20 * count, T)
    assert {tuple(column) for column in drawn.tokens.T.tolist()} == columns
    assert [label(tokens, marked) for tokens in every.tokens.T] == (every.ys[:, 0] == 1).tolist()


@pytest.mark.parametrize("marked", [2, 4])
def test_both_classes_hold_the_same_tokens_equally_often(marked):
    every = EVERY[marked](5)
    bags, yes = np.sort(every.tokens.T), every.ys[:, 0] > 0
    np.testing.assert_array_equal(*(bags[which][np.lexsort(bags[which].T)] for which in (yes, ~yes)))


def test_places_are_drawn_evenly():
    tokens = order.two_orders(np.random.default_rng(2), 20_000, 5).tokens
    share = np.stack([(tokens == token).mean(axis=1) for token in range(4)])
    assert np.abs(share - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 20_000)  # five standard deviations


def test_a_wrong_argument_is_named():
    rng = np.random.default_rng(0)
    refused(ValueError, "one_order: T must be at least 2; got 1", order.one_order, rng, 3, 1)
    refused(ValueError, "two_orders: T must be at least 4; got 3", order.two_orders, rng, 3, 3)
    refused(ValueError, "all_two_orders: T must be at least 4; got 3", order.all_two_orders, 3)
