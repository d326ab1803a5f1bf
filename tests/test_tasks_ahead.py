"""Three questions, back, ahead and both: the answers are those of the definition, and the past says nothing."""

import numpy as np
import pytest
from helpers import refused, rng

from gru_book.tasks import ahead
from gru_lib import reverse


def by_definition(tokens, t, question):
    """The answer at step t of one sequence, or None where it is not asked."""
    marked = [k for k, token in enumerate(tokens) if token >= ahead.LETTERS]
    before, after = [k for k in marked if k < t], [k for k in marked if k > t]
    if t in marked or tokens[t] < 0 or not before or not after:
        return None
    last, following = tokens[before[-1]], tokens[after[0]]
    return {"before": last == 4, "after": following == 4, "same": last == following}[question]


@pytest.mark.parametrize("question", ahead.QUESTIONS)
def test_answers_are_those_of_the_definition(question):
    batch = ahead.marks(rng(), 60, 12, question, share=0.35)
    for n, tokens in enumerate(batch.tokens.T.tolist()):
        for t in range(12):
            answer = by_definition(tokens, t, question)
            assert batch.asked[t, n] == (answer is not None)
            assert batch.ys[t, n, 0] == bool(answer)


def test_inputs_are_the_tokens_and_padding_is_zero():
    batch = ahead.marks(rng(), 80, 10, "same")
    assert batch.xs.shape == (10, 80, ahead.TOKENS)
    real = np.arange(10)[:, None] < batch.lengths
    assert set(batch.lengths.tolist()) == set(range(5, 11))
    np.testing.assert_array_equal(batch.tokens >= 0, real)
    np.testing.assert_array_equal(batch.xs.sum(axis=2), real)
    np.testing.assert_array_equal(batch.xs.argmax(axis=2)[real], batch.tokens[real])


@pytest.mark.parametrize("question", ["after", "same"])
def test_the_past_says_nothing_of_the_answer(question):
    """Whatever the last mark and the letter are, the answer is yes half of the time."""
    batch = ahead.marks(rng(), 8000, 16, question)
    before = ahead.marks(rng(), 8000, 16, "before")  # the same sequences
    np.testing.assert_array_equal(before.tokens, batch.tokens)
    for mark in (0, 1):
        for letter in range(ahead.LETTERS):
            chosen = batch.asked & (before.ys[..., 0] == mark) & (batch.tokens == letter)
            share, count = batch.ys[..., 0][chosen].mean(), chosen.sum()
            # answers about one and the same mark are not apart: at most 16 of them
            assert abs(share - 0.5) < 5 * 0.5 * np.sqrt(16 / count)


def test_a_sequence_turned_within_its_length_swaps_before_and_after():
    batch, other = (ahead.marks(rng(), 40, 11, question) for question in ("before", "after"))
    turned = reverse(batch.tokens[..., None], batch.lengths)[..., 0]
    back = reverse(other.ys, batch.lengths)[..., 0]
    places = list(zip(*np.nonzero(reverse(batch.asked[..., None], batch.lengths)[..., 0]), strict=True))
    for t, n in places:
        assert by_definition(turned[:, n].tolist(), t, "before") == back[t, n]
    assert len(places) > 40 and {back[t, n] for t, n in places} == {0, 1}


def test_a_sequence_has_room_for_two_marks_and_a_letter():
    refused(ValueError, "marks: T must be at least 3; got 2", ahead.marks, rng(), 3, 2, "after")
