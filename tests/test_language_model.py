"""The character language model: gradients, the carried state, dropout, and what it is worth in bits."""

from functools import partial

import numpy as np
import pytest
from helpers import check_loss

from gru_book.models import language_model
from gru_book.models.language_model import LMDropout, lm_bits, lm_init, lm_logits, lm_loss, lm_step
from gru_book.tasks.text import streams
from gru_lib import Adam, elman_init, gru_init, lstm_init, sample, train, zero_state
from gru_lib.train import Chunk, Chunks

V, D, H = 7, 3, 4
INITS = {"GRU": gru_init, "LSTM": lstm_init, "Elman": elman_init, "after": partial(gru_init, reset_after=True)}


def model(init=gru_init, **options):
    return lm_init(np.random.default_rng(0), V, D, H, init=init, **options)


def tokens(count=41, seed=1):
    return np.random.default_rng(seed).integers(0, V, count)


@pytest.mark.parametrize("init", INITS.values(), ids=INITS)
@pytest.mark.parametrize("kind", [None, "zaremba", "variational", "per step"])
def test_the_gradient_of_a_chunk_matches_complex_step(init, kind):
    m = model(init)
    xs, ys = streams(tokens(), 2)
    state = lm_logits(m, xs[:5])[1]

    def loss(m):
        dropout = kind and LMDropout(np.random.default_rng(3), 0.3, kind)
        return lm_loss(m, Chunk(xs[5:9], ys[5:9], state, lambda state: None), dropout)

    check_loss(loss, m)


def test_the_carried_state_makes_the_loss_of_all_chunks_that_of_the_whole():
    m = model()
    xs, ys = streams(tokens(), 2)
    pieces = iter(Chunks(xs, ys, 5))
    losses = [lm_loss(m, next(pieces))[0] for _ in range(4)]
    whole = lm_loss(m, Chunk(xs, ys, None, lambda state: None))[0]
    assert np.mean(losses) == pytest.approx(whole, rel=1e-12)
    assert lm_bits(m, tokens(), N=2, K=3) == pytest.approx(whole / np.log(2), rel=1e-12)


def test_dropout_is_drawn_anew_in_each_chunk_and_absent_in_evaluation():
    m = model()
    chunk = Chunk(*streams(tokens(), 2), None, lambda state: None)
    dropout = LMDropout(np.random.default_rng(0), 0.5, "zaremba")
    first, second = lm_loss(m, chunk, dropout)[0], lm_loss(m, chunk, dropout)[0]
    assert first != second
    assert lm_loss(m, chunk)[0] == lm_loss(m, chunk)[0]


@pytest.mark.parametrize(("kind", "shape"), [("zaremba", (6, 2, H)), ("per step", (6, 2, H)), ("variational", (2, H))])
def test_the_output_has_one_mask_for_all_steps_if_dropout_is_variational(kind, shape, monkeypatch):
    shapes = []
    monkeypatch.setattr(language_model, "dropout_mask", lambda rng, shape, *_: shapes.append(shape) or np.ones(shape))
    xs, ys = streams(tokens(), 2)
    dropout = LMDropout(np.random.default_rng(0), 0.5, kind)
    lm_loss(model(), Chunk(xs[:6], ys[:6], None, lambda state: None), dropout)
    assert shapes == [shape]


@pytest.mark.parametrize("init", INITS.values(), ids=INITS)
def test_one_step_at_a_time_gives_the_same_probabilities(init):
    m = model(init)
    row = tokens(6)
    logits, state = lm_logits(m, row[:, None])
    step, s = lm_step(m), None
    for token, a in zip(row, logits[:, 0], strict=True):
        log_probs, s = step(s, token)
        assert log_probs.shape == (V,)
        np.testing.assert_allclose(log_probs, a - np.logaddexp.reduce(a), rtol=1e-12)
    np.testing.assert_allclose(np.ravel(s), np.ravel(state), rtol=1e-12)
    assert step(zero_state(m.rnn, 3), np.array([1, 2, 3]))[0].shape == (3, V)
    assert sample(step, None, 1, np.random.default_rng(0), end=None, max_steps=9).tokens.shape == (9,)


def test_it_learns_a_text_that_repeats_to_almost_no_bits():
    row = np.tile([0, 1, 2, 0, 3, 4, 5, 6], 40)
    m = model()
    before = lm_bits(m, row)
    train(m, lm_loss, Chunks(*streams(row, 4), 10), Adam(m, 0.03), steps=150, clip_norm=1.0, progress=False)
    assert before > 2 and lm_bits(m, row) < 0.2  # each of eight streams begins in the dark


def test_dtype_in_is_dtype_out():
    m = model(dtype=np.float32)
    loss, grads = lm_loss(m, Chunk(*streams(tokens(), 2), None, lambda state: None))
    assert loss.dtype == grads.flat.dtype == np.float32
