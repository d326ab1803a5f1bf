"""Strings said backwards, copied, and recalled: each against its definition told with Python's own lists."""

import numpy as np
import pytest

from gru_book.tasks.strings import copy, recall, reverse


def test_reverse_says_the_letters_backwards_after_the_blanks_begin():
    L, K = 6, 4
    xs, ys, asked, tokens = reverse(np.random.default_rng(0), 50, L)
    assert xs.shape == (2 * L, 50, K + 1) and ys.shape == (2 * L, 50, K)
    np.testing.assert_array_equal(xs, np.eye(K + 1)[tokens])
    assert not asked[:L].any() and asked[L:].all() and not ys[:L].any()
    np.testing.assert_array_equal(ys[L:].argmax(axis=2), tokens[:L][::-1])
    assert (ys[L:].sum(axis=2) == 1).all() and (tokens[L:] == K).all()
    assert set(np.unique(tokens)) == set(range(K + 1))


def test_copy_says_the_rows_again_in_order():
    L, B = 7, 5
    xs, ys, asked, tokens = copy(np.random.default_rng(0), 50, L, bits=B)
    assert xs.shape == (2 * L, 50, B + 1) and ys.shape == (2 * L, 50, B)
    np.testing.assert_array_equal(ys[L:], xs[:L, :, :B])
    assert not ys[:L].any() and not asked[:L].any() and asked[L:].all()
    assert not xs[:L, :, B].any() and (xs[L:, :, B] == 1).all() and not xs[L:, :, :B].any()
    np.testing.assert_array_equal(xs[:L, :, :B] @ 2 ** np.arange(B), tokens[:L])
    assert (tokens[L:] == 2**B).all()
    assert abs(xs[:L, :, :B].mean() - 0.5) < 0.05


def test_recall_asks_every_key_once_and_wants_the_value_that_came_with_it():
    L, B = 6, 3
    xs, ys, asked, tokens = recall(np.random.default_rng(0), 50, L, bits=B)
    assert xs.shape == (2 * L, 50, 2 * B + 1) and ys.shape == (2 * L, 50, B)
    assert not asked[:L].any() and asked[L:].all() and not ys[:L].any()
    assert not xs[:L, :, 2 * B].any() and (xs[L:, :, 2 * B] == 1).all() and not xs[L:, :, B : 2 * B].any()
    moved = 0
    for n in range(50):
        pairs = {tuple(row[:B]): tuple(row[B : 2 * B] > 0) for row in xs[:L, n]}
        assert len(pairs) == L == len(set(tokens[:L, n])) and set(tokens[:L, n]) == set(tokens[L:, n])
        for key, value, token in zip(xs[L:, n, :B], ys[L:, n], tokens[L:, n], strict=True):
            assert pairs[tuple(key)] == tuple(value == 1)
            assert [int(c) for c in f"{token:0{B}b}"[::-1]] == list(key > 0)
        moved += list(tokens[:L, n]) != list(tokens[L:, n])
    assert moved > 40  # in another order
    with pytest.raises(ValueError, match="recall: 2 bits make only 4 different keys; got L = 5"):
        recall(np.random.default_rng(0), 1, 5, bits=2)


@pytest.mark.parametrize("task", [reverse, copy, recall])
def test_same_seed_same_strings(task):
    one, two = (task(np.random.default_rng(3), 4, 5) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
