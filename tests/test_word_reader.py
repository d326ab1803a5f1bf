"""The reader of words: its loss, its gradient, and what padding and dropout may not change."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import check_loss, close, randomised, refused, rng

from gru_book.models.word_reader import (
    word_reader_accuracy,
    word_reader_forward,
    word_reader_init,
    word_reader_loss,
    word_reader_z,
)
from gru_book.tasks.words import LETTERS, encode, words
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


def alone(m, word):
    """What a reader makes of one word: its scores (T, K) and the tape."""
    found = word_reader_forward(m, *encode([(word, 0)])[:2])
    return found.scores[:, 0], found.tape


def test_loss_is_the_weighted_mean_over_the_letters():
    m, total, count = reader(), 0.0, 0.0
    for word, k in PAIRS:
        weights = np.append(np.ones(len(word)), 3.0)  # the end is a letter too
        total, count = total - weights @ log_softmax(alone(m, word)[0])[:, k], count + weights.sum()
    close(word_reader_loss(m, encode(PAIRS), last=3.0)[0], total / count)


@pytest.mark.parametrize("after", [None, 1, 2])
def test_accuracy_is_that_of_the_scores_at_the_end_or_after_some_letters(after):
    m = reader()
    said = [(word, alone(m, word)[0][after - 1 if after else -1].argmax()) for word, _ in words().test[::100]]
    assert word_reader_accuracy(m, said, after) == 1


def test_dropout_is_for_training_and_the_same_masks_give_the_same_loss():
    m, batch = reader(), encode(PAIRS)
    dropped = [word_reader_loss(m, batch, drop=0.5, rng=rng(seed))[0] for seed in (0, 0, 1)]
    assert dropped[0] == dropped[1] != dropped[2] and word_reader_loss(m, batch)[0] not in dropped


def test_a_reader_is_float32_unless_asked():
    m = word_reader_init(rng(), LETTERS.size, 12)
    assert m.flat.dtype == np.float32 and word_reader_loss(m, encode(PAIRS))[1].flat.dtype == np.float32


def test_z_at_and_after_a_run_of_letters_is_a_mean_over_words_that_hold_it():
    m, pairs = reader(), [("batat", 0), ("tatra", 1), ("xyz", 2)]
    places = {"batat": ([2, 4], [3, 5]), "tatra": ([2], [3, 4, 5])}  # where "at" ends, and what follows, the end too
    zs = {word: alone(m, word)[1].gate("z")[:, 0] for word in places}
    for part, found in enumerate(word_reader_z(m, pairs, "at")):
        close(found, np.concatenate([zs[word][places[word][part]] for word in zs]).mean(axis=0), atol=1e-12)


def test_a_run_of_letters_that_no_word_holds_is_named():
    told = "word_reader_z: pairs must hold a word with run = 'q'; got none"
    refused(ValueError, told, word_reader_z, reader(), [("abc", 0)], "q")
