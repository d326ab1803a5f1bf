"""n-gram models: probabilities that sum to 1, counts by hand and by definition, and errors that name the argument."""

from collections import Counter

import numpy as np
import pytest

from gru_book.models.ngram import KneserNey, NGram
from gru_book.tasks.text import english


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


def test_contexts_are_counted_once_each_and_a_short_text_leaves_the_longer_ones_out():
    row = np.array([0, 1, 0, 1, 2])  # after nothing; 0, 1; (0, 1), (1, 0); (0, 1, 0), (1, 0, 1); and the whole before 2
    assert NGram(row, 5, 4).contexts == [1, 2, 2, 2, 1]
    assert NGram(row[:2], 4, 4).contexts == [1, 1]
    for text in (row[:0], row[:1], row[1:3]):
        short, fits = NGram(text, 4, 4), NGram(text, max(len(text), 1), 4)
        assert [short.probability(c, [3, 0]) for c in range(4)] == [fits.probability(c, [3, 0]) for c in range(4)]
        assert short.bits(row) == fits.bits(row)
    assert NGram(row[:0], 4, 4).bits(row) == 2


def test_bits_are_the_mean_of_minus_log2_and_a_smaller_order_is_that_model():
    m, row = model(4), np.random.default_rng(1).integers(0, 4, 50)
    p = [m.probability(c, row[:i]) for i, c in enumerate(row)]
    assert m.bits(row) == pytest.approx(-np.mean(np.log2(p)), abs=1e-12)
    assert m.bits(row, n=2) == pytest.approx(model(2).bits(row), abs=1e-12)


def test_tokens_drawn_evenly_cost_their_entropy_and_a_repeating_text_next_to_nothing():
    row = np.random.default_rng(2).integers(0, 8, 20_000)
    assert NGram(row[:15_000], 1, 8).bits(row[15_000:]) == pytest.approx(3, abs=0.01)
    assert NGram(np.tile([0, 1, 2, 3], 500), 2, 4).bits(np.tile([0, 1, 2, 3], 25)) < 0.05


def habits(count, V, seed):
    """Tokens that depend on the last two, drawn with very different frequencies."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(V, 0.25), size=(V, V))
    row = [0, 0]
    while len(row) < count:
        row.append(int(rng.choice(V, p=p[row[-2], row[-1]])))
    return row


def kneser_ney(row, n, V, c, context):
    """p(c | context) as Chen & Goodman (1999) define it: every count anew, from the list of all strings."""

    def a(string):
        """The count that order len(string) uses."""
        k, places = len(string), [i for i in range(len(row)) if tuple(row[i : i + len(string)]) == string]
        return len(places) if k == n else len({row[i - 1] for i in places if i > 0})

    def discounts(k):
        counts = Counter(a(string) for string in {tuple(row[i : i + k]) for i in range(len(row) - k + 1)})
        n1, n2, n3, n4 = (counts[i] for i in (1, 2, 3, 4))
        if 0 in (n1, n2, n3):
            return 0, 0.5, 1, 1.5
        Y = n1 / (n1 + 2 * n2)
        D = 1 - 2 * Y * n2 / n1, 2 - 3 * Y * n3 / n2, 3 - 4 * Y * n4 / n3
        return 0, *(d if d >= 0 else count / 2 for count, d in enumerate(D, 1))

    p = 1 / V
    for k in range(1, min(n, len(context) + 1) + 1):
        u, D = tuple(context[len(context) - k + 1 :]), discounts(k)
        after = [a((*u, w)) for w in range(V)]
        if not sum(after):
            break
        spare = sum(D[min(count, 3)] for count in after)
        p = (after[c] - D[min(after[c], 3)] + spare * p) / sum(after)
    return p


@pytest.mark.parametrize(("n", "count", "V"), [(1, 60, 5), (2, 200, 5), (3, 300, 4), (4, 300, 4), (3, 3, 3)])
def test_kneser_ney_is_what_its_definition_says(n, count, V):
    row = habits(count, V - 1, seed=1)  # the last token never occurs
    m = KneserNey(row, n, V)
    contexts = [(), (0,), (V - 1,), *map(tuple, np.random.default_rng(2).integers(0, V, (8, n + 1))), tuple(row[-n:])]
    for context in contexts:
        p = [m.probability(c, context) for c in range(V)]
        assert p == pytest.approx([kneser_ney(row, n, V, c, context) for c in range(V)], abs=1e-12)
        assert min(p) > 0 and sum(p) == pytest.approx(1, abs=1e-12)


def test_a_discount_below_0_is_replaced():
    row = np.repeat(np.arange(8), [1, 2, 3, 4, 4, 4, 4, 4])  # n_1 = n_2 = n_3 = 1, n_4 = 5: D_3 = 3 − 4/3 · 5
    p = [KneserNey(row, 1, 8).probability(c, []) for c in range(8)]
    D = np.array([1 - 2 / 3, 2 - 3 / 3, *[1.5] * 6])
    np.testing.assert_allclose(p, (np.bincount(row) - D + D.sum() / 8) / len(row), rtol=1e-12)


def test_kneser_ney_gives_a_token_that_follows_one_other_only_what_one_context_is_worth():
    """Its "Francisco": 2 occurs as often as 1, but always after 3; where nothing is known, 1 is likelier."""
    row = [3, 2, 0, 1, 3, 2, 4, 1, 3, 2, 5, 1, 3, 2, 6, 1] * 3
    m = KneserNey(row, 2, 8)
    assert row.count(1) == row.count(2)
    assert m.probability(1, [7]) > 2 * m.probability(2, [7])
    assert m.probability(2, [3]) > (12 - 1.5) / 12  # 3 is followed by nothing else, 12 times


def test_kneser_ney_of_a_text_is_that_of_each_token_and_a_smaller_order_is_that_model():
    row, new = habits(400, 5, seed=3), habits(50, 5, seed=4)
    m = KneserNey(row, 4, 6)
    p = [m.probability(c, new[:i]) for i, c in enumerate(new)]
    np.testing.assert_allclose(m.probabilities(new), p, rtol=1e-12)
    assert m.bits(new) == pytest.approx(-np.mean(np.log2(p)), abs=1e-12)
    for n in (1, 2, 3):
        np.testing.assert_allclose(m.probabilities(new, n=n), KneserNey(row, n, 6).probabilities(new), rtol=1e-12)


def test_kneser_ney_is_far_ahead_of_one_discount_on_english():
    text = english()
    training, validation = text.encode(text.train), text.encode(text.validation)
    better = KneserNey(training, 8, text.V)
    bits = {n: better.bits(validation, n=n) for n in (5, 8)}
    assert bits == pytest.approx({5: 1.889, 8: 1.792}, abs=6e-4)
    assert NGram(training, 5, text.V).bits(validation) - bits[5] > 0.2


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: NGram([0, 1], 0, 2), ValueError, "NGram: n must be at least 1; got 0"),
    (lambda: NGram([0, 2], 1, 2), ValueError, r"NGram: tokens must lie in 0\.\.1; got 0\.\.2"),
    (lambda: NGram([0.5], 1, 2), TypeError, "NGram: tokens must be a row of integers; got float64"),
    (lambda: NGram([0, 1], 1, 2, discount=1), ValueError, "NGram: discount must be > 0 and < 1; got 1"),
    (lambda: NGram([0, 1], 1, 2).bits([0], n=2), ValueError, r"NGram\.bits: n must be at most 1"),
    (lambda: NGram([0, 1], 1, 2).bits([2]), ValueError, r"NGram\.bits: tokens must lie in 0\.\.1; got 2\.\.2"),
    (lambda: NGram([0, 1], 1, 2).probabilities([0], n=2), ValueError, r"NGram\.probabilities: n must be at most 1"),
    (lambda: KneserNey([0, 1], 0, 2), ValueError, "KneserNey: n must be at least 1; got 0"),
    (lambda: KneserNey([0, 2], 1, 2), ValueError, r"KneserNey: tokens must lie in 0\.\.1; got 0\.\.2"),
    (lambda: KneserNey([0, 1], 3, 2), ValueError, "KneserNey: tokens must be at least n = 3; got 2"),
    (lambda: KneserNey([0, 1], 1, 2).bits([0], n=2), ValueError, "n must be at most 1, what was counted; got 2"),
])  # fmt: skip
def test_a_wrong_argument_is_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
