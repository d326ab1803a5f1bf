"""n-gram models: probabilities that sum to 1, counts by hand, and errors that name the argument."""

import numpy as np
import pytest

from gru_lib.models.ngram import NGram


def model(n=3, V=5, count=200, seed=0, **options):
    return NGram(np.random.default_rng(seed).integers(0, V - 1, count), n, V, **options)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_probabilities_of_every_context_sum_to_one(n):
    m = model(n)
    for context in ([], [0], [1, 2], [3, 3, 3], [4, 4], [0, 1, 4]):  # 4 never occurs
        p = [m.probability(c, context) for c in range(5)]
        assert min(p) > 0
        assert sum(p) == pytest.approx(1, abs=1e-12)


def test_a_bigram_by_hand():
    m = NGram([0, 1, 0, 1, 0, 0], 2, 3, discount=0.5)
    unigram = [(4 - 0.5 + 0.5 * 2 / 3) / 6, (2 - 0.5 + 0.5 * 2 / 3) / 6, (0.5 * 2 / 3) / 6]
    assert [m.probability(c, []) for c in range(3)] == pytest.approx(unigram, abs=1e-15)
    after_0 = [(1 - 0.5 + 0.5 * 2 * unigram[0]) / 3, (2 - 0.5 + 0.5 * 2 * unigram[1]) / 3, 0.5 * 2 * unigram[2] / 3]
    assert [m.probability(c, [1, 0]) for c in range(3)] == pytest.approx(after_0, abs=1e-15)


def test_bits_are_the_mean_of_minus_log2_and_a_smaller_order_is_that_model():
    m, row = model(4), np.random.default_rng(1).integers(0, 4, 50)
    p = [m.probability(c, row[:i]) for i, c in enumerate(row)]
    assert m.bits(row) == pytest.approx(-np.mean(np.log2(p)), abs=1e-12)
    assert m.bits(row, n=2) == pytest.approx(model(2).bits(row), abs=1e-12)


def test_tokens_drawn_evenly_cost_their_entropy_and_a_repeating_text_next_to_nothing():
    row = np.random.default_rng(2).integers(0, 8, 20_000)
    assert NGram(row[:15_000], 1, 8).bits(row[15_000:]) == pytest.approx(3, abs=0.01)
    assert NGram(np.tile([0, 1, 2, 3], 500), 2, 4).bits(np.tile([0, 1, 2, 3], 25)) < 0.05


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: NGram([0, 1], 0, 2), ValueError, "NGram: n must be at least 1; got 0"),
        (lambda: NGram([0, 2], 1, 2), ValueError, r"NGram: tokens must lie in 0\.\.1; got 0\.\.2"),
        (lambda: NGram([0.5], 1, 2), TypeError, "NGram: tokens must be a row of integers; got float64"),
        (lambda: NGram([0, 1], 1, 2, discount=1), ValueError, "NGram: discount must be > 0 and < 1; got 1"),
        (lambda: NGram([0, 1], 1, 2).bits([0], n=2), ValueError, r"NGram\.bits: n must be at most 1"),
    ],
)
def test_a_wrong_argument_is_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
