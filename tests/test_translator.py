"""The translator of chapters 17 to 19, untrained: what holds for any weights."""

import numpy as np
import pytest

from gru_book.models import translator
from gru_book.models.translator import (
    alignment,
    exact_match,
    shared_pairs,
    translate,
    translate_beam,
    translate_consensus,
    translate_exact,
    translator_init,
    translator_loss,
)
from gru_book.tasks.dates import ISO, encode, pairs, split_days
from gru_lib import gradcheck, lstm_init

FOUND = pairs(split_days(3)[1])


def model(seed=0, **options):
    return translator_init(np.random.default_rng(seed), 3, 4, dtype=np.float64, **options)


LOOKS = {"feed": False, "attend": True}
links = pytest.mark.parametrize("link", [{}, {"feed": False}, LOOKS, LOOKS | {"both_ways": True}], ids=str)


@links
def test_gradient_matches_complex_step(link, monkeypatch):
    p, batch = model(**link), encode(pairs(split_days(3)[1], np.array([0, 20, 40])))
    assert len(set(batch.source_lengths)) == 3
    grads = translator_loss(p, batch)[1]
    monkeypatch.setattr(translator, "seq2seq_backward", lambda tape, p: None)  # the steps ask only for the loss
    report = gradcheck(lambda p: translator_loss(p, batch)[0], p, grads)
    assert report.worst < 1e-12, report


@links
def test_translating_in_parts_changes_nothing(link):
    p, batch = model(**link), encode(FOUND)
    whole = translate(p, batch, end=ISO.end, max_steps=6)
    parts = translate(p, batch, end=ISO.end, max_steps=6, rows=7)
    np.testing.assert_array_equal(whole.tokens, parts.tokens)
    np.testing.assert_allclose(whole.log_prob, parts.log_prob, rtol=1e-12)


def test_exact_search_finds_what_a_beam_as_wide_as_all_beginnings_does():
    p, batch = model(), encode(FOUND)
    for n, length in enumerate(batch.source_lengths[:5]):
        source = batch.source[:length, n]
        (known, *_) = translate_beam(p, source, width=ISO.size**3, end=ISO.end, max_steps=3)
        best, calls = translate_exact(p, source, end=ISO.end, max_steps=3)
        assert best.tokens == known.tokens and calls <= 1 + ISO.size + ISO.size**2
        assert best.log_prob == pytest.approx(known.log_prob, rel=1e-12)


def test_shared_pairs_by_hand():
    assert shared_pairs("abcd", "abcd") == shared_pairs("", "") == 1
    assert shared_pairs("abcd", "xbcy") == pytest.approx(2 * 1 / 6)
    assert shared_pairs("aaa", "aa") == pytest.approx(2 * 1 / 3)
    assert shared_pairs("ab", "") == shared_pairs("ab", "cd") == 0


def test_the_consensus_is_the_sample_that_agrees_most_with_the_others():
    p = model()
    source = encode(FOUND).source[:3, 0]
    (best, texts), (again, _) = (
        translate_consensus(p, source, np.random.default_rng(0), ISO, count=20, max_steps=4) for _ in range(2)
    )
    agreement = {text: np.mean([shared_pairs(text, other) for other in texts]) for text in texts}
    assert len(texts) == 20 and len(agreement) > 5
    assert best == again and agreement[best] == max(agreement.values()) > min(agreement.values())


@links
def test_a_beam_of_one_translates_as_greedy_does(link):
    p, batch = model(**link), encode(FOUND)
    found = translate(p, batch, end=ISO.end, max_steps=6)
    for n, length in enumerate(batch.source_lengths):
        (best,) = translate_beam(p, batch.source[:length, n], width=1, end=ISO.end, max_steps=6)
        assert best.tokens == tuple(found.tokens[n, : found.lengths[n]])
        np.testing.assert_allclose(best.log_prob, found.log_prob[n], rtol=1e-12)


def test_update_gates_start_where_asked_and_other_cells_are_left_alone():
    p = model(b_z=2.0)
    assert (p.encoder.b_z == 2).all() and (p.decoder.b_z == 2).all()
    p = model(b_z=2.0, both_ways=True)
    assert (p.encoder.forward.b_z == 2).all() and (p.encoder.backward.b_z == 2).all()
    assert model(cell=lstm_init).encoder.size == lstm_init(np.random.default_rng(0), 3, 4).size


def test_exact_match_wants_every_character():
    assert exact_match(["2026-03-07", "2026-03-08"], ["2026-03-07", "2026-03-07"]).tolist() == [True, False]
    with pytest.raises(ValueError, match="said must hold as many texts as wanted, 2; got 1"):
        exact_match(["a"], ["a", "b"])


def test_an_alignment_is_a_share_of_the_real_places_for_every_token():
    p, batch = model(**LOOKS), encode(FOUND)
    weights = alignment(p, batch)
    assert weights.shape == (len(batch.target), len(FOUND.texts), len(batch.source))
    np.testing.assert_allclose(weights.sum(axis=2), 1)
    padded = np.arange(len(batch.source))[:, None] >= batch.source_lengths
    assert (weights.transpose(0, 2, 1)[:, padded] == 0).all()
