"""The translator of chapters 17 and 18, untrained: what holds for any weights."""

import numpy as np
import pytest
from helpers import check_loss

from gru_lib import lstm_init
from gru_lib.models.translator import exact_match, translate, translate_beam, translator_init, translator_loss
from gru_lib.tasks.dates import ISO, WRITTEN, encode, flip, pairs, split_days

FOUND = pairs(split_days(3)[1])


def model(seed=0, **options):
    return translator_init(np.random.default_rng(seed), 3, 4, dtype=np.float64, **options)


@pytest.mark.parametrize("feed", [True, False])
def test_gradient_matches_complex_step(feed):
    batch = encode(FOUND)
    check_loss(lambda p: translator_loss(p, batch), model(feed=feed))


def test_translating_in_parts_changes_nothing():
    p, batch = model(), encode(FOUND)
    whole = translate(p, batch, end=ISO.end, max_steps=6)
    parts = translate(p, batch, end=ISO.end, max_steps=6, rows=7)
    np.testing.assert_array_equal(whole.tokens, parts.tokens)
    np.testing.assert_allclose(whole.log_prob, parts.log_prob, rtol=1e-12)


def test_a_beam_of_one_translates_as_greedy_does():
    p, batch = model(), encode(FOUND)
    found = translate(p, batch, end=ISO.end, max_steps=6)
    for n, length in enumerate(batch.source_lengths):
        (best,) = translate_beam(p, batch.source[:length, n], width=1, end=ISO.end, max_steps=6)
        assert best.tokens == tuple(found.tokens[n, : found.lengths[n]])
        np.testing.assert_allclose(best.log_prob, found.log_prob[n], rtol=1e-12)


def test_update_gates_start_where_asked_and_other_cells_are_left_alone():
    p = model(b_z=2.0)
    assert (p.encoder.b_z == 2).all() and (p.decoder.b_z == 2).all()
    assert model(cell=lstm_init).encoder.size == lstm_init(np.random.default_rng(0), 3, 4).size


def test_it_writes_between_any_two_alphabets():
    p = translator_init(np.random.default_rng(0), 3, 4, source=ISO, target=WRITTEN)
    found = translate(p, flip(FOUND), end=WRITTEN.end, max_steps=5)
    assert found.tokens.shape == (54, 5) and np.isfinite(found.log_prob).all()


def test_exact_match_wants_every_character():
    assert exact_match(["2026-03-07", "2026-03-08"], ["2026-03-07", "2026-03-07"]).tolist() == [True, False]
    with pytest.raises(ValueError, match="said must hold as many texts as wanted, 2; got 1"):
        exact_match(["a"], ["a", "b"])
