"""The reader of words: its loss, its gradient, and what padding and dropout may not change."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import check_loss, close, randomised, rng

from gru_book.models.word_reader import (
    word_reader_accuracy,
    word_reader_forward,
    word_reader_init,
    word_reader_loss,
    word_reader_z,
)
from gru_book.tasks.words import LETTERS, encode
from gru_lib import elman_init, gru_init
from gru_lib.ops import log_softmax

PAIRS = [("itävalta", 0), ("ab", 2), ("österreich", 1)]


def reader(init=gru_init):
    return randomised(word_reader_init(rng(), LETTERS.size, 3, D=4, H=5, init=init, dtype=np.float64), rng(1), 0.5)


@pytest.mark.parametrize("init", [gru_init, elman_init])
@pytest.mark.parametrize("drop", [0.0, 0.4])
def test_gradient_is_the_one_that_complex_steps_find(init, drop):
    batch = encode(PAIRS)
    check_loss(lambda m: word_reader_loss(m, batch, drop=drop, rng=rng(3)), reader(init))


@pytest.mark.parametrize("last", [1.0, 5.0])
def test_loss_is_the_weighted_mean_over_the_letters(last):
    m, total, count = reader(), 0.0, 0.0
    for word, k in PAIRS:
        batch = encode([(word, k)])
        scores = log_softmax(word_reader_forward(m, batch.tokens, batch.lengths).scores[:, 0])
        weights = np.append(np.ones(len(word)), last)  # the end is a letter too
        total, count = total - weights @ scores[:, k], count + weights.sum()
    close(word_reader_loss(m, encode(PAIRS), last=last)[0], total / count)


def test_accuracy_is_that_of_the_scores_at_the_end_or_after_some_letters():
    m = reader()
    for after in (None, 1, 2):
        right = []
        for word, k in PAIRS:
            batch = encode([(word, k)])
            scores = word_reader_forward(m, batch.tokens, batch.lengths).scores[:, 0]
            right.append(scores[len(word) if after is None else after - 1].argmax() == k)
        assert word_reader_accuracy(m, PAIRS, after) == np.mean(right)


def test_dropout_is_for_training_and_the_same_masks_give_the_same_loss():
    m, batch = reader(), encode(PAIRS)
    plain = word_reader_loss(m, batch)[0]
    dropped = [word_reader_loss(m, batch, drop=0.5, rng=rng(seed))[0] for seed in (0, 0, 1)]
    assert dropped[0] == dropped[1] != dropped[2]
    assert plain not in dropped


def test_a_reader_is_float32_unless_asked():
    m = word_reader_init(rng(), LETTERS.size, 12)
    assert m.flat.dtype == np.float32 and word_reader_loss(m, encode(PAIRS))[1].flat.dtype == np.float32


def test_z_at_and_after_a_run_of_letters_is_a_mean_over_words_that_hold_it():
    m, pairs = reader(), [("batat", 0), ("tatra", 1), ("xyz", 2)]
    places = {"batat": ([2, 4], [3, 5]), "tatra": ([2], [3, 4, 5])}  # where "at" ends, and what follows, the end too
    zs = {}
    for word in places:
        batch = encode([(word, 0)])
        zs[word] = word_reader_forward(m, batch.tokens, batch.lengths).tape.gate("z")[:, 0]
    for part, found in zip((0, 1), word_reader_z(m, pairs, "at"), strict=True):
        close(found, np.concatenate([zs[word][places[word][part]] for word in zs]).mean(axis=0), atol=1e-12)


def test_a_run_of_letters_that_no_word_holds_is_named():
    with pytest.raises(ValueError, match="word_reader_z: pairs must hold a word with run = 'q'; got none"):
        word_reader_z(reader(), [("abc", 0)], "q")
