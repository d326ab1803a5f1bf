"""Dropout: what is dropped, when, and that the backward pass knows it."""

from functools import partial

import numpy as np
import pytest
from helpers import check_layer, randomised, rng, same

from gru_book.cells import ablated_gru_init, cbow_init, scrn_init
from gru_lib import (
    LSTMState,
    bidirectional,
    cell_of,
    elman_init,
    elman_step,
    gru_init,
    lstm_init,
    lstm_step,
    stack,
    zero_state,
)
from gru_lib.layers import DropoutMasks, dropout_backward, dropout_forward, dropout_mask, dropout_masks

T, N, D, H = 4, 3, 2, 3
LAYERS = {
    "gru-before": lambda rng: gru_init(rng, D, H),
    "gru-after": lambda rng: gru_init(rng, D, H, reset_after=True, convention="write"),
    "gru-nobias": lambda rng: gru_init(rng, D, H, reset_after=True, bias=False),
    "gru-shared": lambda rng: ablated_gru_init(rng, D, H, ablation="shared"),
    "lstm": lambda rng: lstm_init(rng, D, H),
    "elman": lambda rng: elman_init(rng, D, H),
    "scrn": lambda rng: scrn_init(rng, D, H, 2),
    "bidirectional": lambda rng: bidirectional(gru_init(rng, D, H), lstm_init(rng, D, 3)),
}
KINDS = ["zaremba", "variational", "per step"]


@pytest.mark.parametrize("lengths", [None, [4, 0, 2]], ids=["full", "padded"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_backward_matches_complex_step(name, kind, lengths):
    source = rng(7)
    p = randomised(LAYERS[name](rng()), source)
    masks = dropout_masks(source, p, T, N, rate=0.3, kind=kind)
    xs, dhs = source.normal(size=(T, N, D)), source.normal(size=(T, N, cell_of(p).width(p)))
    check_layer(dropout_forward, dropout_backward, p, xs, dhs, masks=masks, lengths=lengths)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_what_padding_holds_changes_no_bit(name, kind):
    p, lengths = LAYERS[name](rng()), np.array([4, 0, 2])
    masks = dropout_masks(rng(), p, T, N, rate=0.5, kind=kind)
    xs, dhs = rng().normal(size=(T, N, D)), rng().normal(size=(T, N, cell_of(p).width(p)))
    pad = np.arange(T)[:, None] >= lengths
    results = []
    for rubbish in (0, np.nan, np.inf):
        xs[pad], dhs[pad] = rubbish, rubbish
        hs, _, tape = dropout_forward(xs, None, p, masks=masks, lengths=lengths)
        dxs, _, grads = dropout_backward(dhs, None, tape, p)
        results.append([hs, dxs, grads])
    for other in results[1:]:
        same(other, results[0])


@pytest.mark.parametrize("name", LAYERS)
def test_evaluation_is_the_layer_itself(name):
    p, xs = LAYERS[name](rng()), rng().normal(size=(T, N, D))
    hs, _, tape = dropout_forward(xs, None, p, masks=None)
    right, _, own = cell_of(p).forward(xs, None, p)
    same(hs, right)
    same(dropout_backward(hs, None, tape, p), cell_of(p).backward(hs, None, own, p))


def test_a_mask_is_zero_or_the_inverse_of_what_is_kept():
    mask = dropout_mask(rng(), (200, 500), 0.2)
    np.testing.assert_array_equal(np.unique(mask), [0, 1 / 0.8])
    assert abs(mask.mean() - 1) < 5 * 0.5 / np.sqrt(mask.size)  # five standard deviations
    assert dropout_mask(rng(), (3,), 0.5, np.float32).dtype == np.float32


def test_each_kind_drops_where_it_says():
    p = gru_init(rng(), D, H)
    zaremba, variational, naive = (dropout_masks(rng(), p, T, N, rate=0.5, kind=kind) for kind in KINDS)
    assert zaremba.x.shape == (T, N, D) and zaremba.h is None
    assert variational.x.shape == (N, D) and variational.h.shape == (N, H)
    assert naive.x.shape == (T, N, D) and naive.h.shape == (T, N, H)


def test_zaremba_never_touches_what_is_remembered():
    """Where z = 1 the state goes through unchanged, whatever is dropped."""
    p = gru_init(rng(), D, H)
    p.b_z[:] = 800
    masks, h0 = dropout_masks(rng(), p, T, N, rate=0.9, kind="zaremba"), rng().normal(size=(N, H))
    _, h_T, _ = dropout_forward(rng().normal(size=(T, N, D)), h0, p, masks=masks)
    np.testing.assert_array_equal(h_T, h0)


def test_recurrent_masks_are_what_a_step_sees_of_the_state():
    xs, masks = rng().normal(size=(T, N, D)), dropout_mask(rng(), (T, N, H), 0.5)
    elman, lstm = elman_init(rng(), D, H), lstm_init(rng(), D, H)
    h, state = np.zeros((N, H)), LSTMState(np.zeros((N, H)), np.zeros((N, H)))
    for t in range(T):
        h, _ = elman_step(xs[t], h * masks[t], elman)
        state, _ = lstm_step(xs[t], LSTMState(state.h * masks[t], state.c), lstm)
    given = DropoutMasks(None, masks)
    np.testing.assert_allclose(dropout_forward(xs, None, elman, masks=given)[1], h, rtol=0, atol=1e-15)
    np.testing.assert_allclose(dropout_forward(xs, None, lstm, masks=given)[1], state, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", LAYERS)
def test_masks_take_the_dtype_of_the_parameters_and_are_never_written(name):
    p = LAYERS[name](rng()).astype(np.float32)
    masks = dropout_masks(rng(), p, T, N, rate=0.5, kind="per step")
    for a in [masks.x, *(masks.h if isinstance(masks.h, tuple) else [masks.h])]:
        assert a.dtype == np.float32
        a.flags.writeable = False
    xs = rng().normal(size=(T, N, D)).astype(np.float32)
    runs = []
    for _ in range(2):
        hs, state_T, tape = dropout_forward(xs, zero_state(p, N), p, masks=masks)
        dxs, _, grads = dropout_backward(hs, state_T, tape, p)
        assert hs.dtype == dxs.dtype == grads.dtype == np.float32
        runs.append([hs, dxs, grads])
    same(*runs)


@pytest.mark.parametrize("init", [gru_init, lstm_init, elman_init, partial(scrn_init, C=2)])
def test_a_mask_takes_the_dtype_of_the_pass(init):
    """`dropout_mask` gives float64 unless told otherwise; a float32 layer stays one."""
    p = init(rng(), D, H).astype(np.float32)
    cell, xs = cell_of(p), rng().normal(size=(T, N, D)).astype(np.float32)
    results = []
    for dtype in (np.float32, np.float64):
        m = dropout_mask(rng(), (N, H), 0.5, dtype)
        hs, _, tape = cell.forward(xs, None, p, h_mask=m)
        dxs, _, grads = cell.backward(np.ones_like(hs), None, tape, p)
        assert hs.dtype == dxs.dtype == grads.dtype == np.float32
        results.append((hs, dxs, grads))
    same(*results)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_the_masks_that_backward_needs_are_the_tapes_own(name, kind):
    source = rng(7)
    p = LAYERS[name](source)
    masks = dropout_masks(source, p, T, N, rate=0.3, kind=kind)
    hs, _, tape = dropout_forward(source.normal(size=(T, N, D)), None, p, masks=masks)
    right = dropout_backward(hs, None, tape, p)
    for a in (masks.x, *(masks.h if isinstance(masks.h, tuple) else [masks.h])):
        if a is not None:
            a[:] = 9
    found = dropout_backward(hs, None, tape, p)
    np.testing.assert_array_equal(found[0], right[0])
    np.testing.assert_array_equal(found[2].flat, right[2].flat)


def test_errors_name_the_argument():
    p, xs = gru_init(rng(), D, H), np.zeros((T, N, D))
    for other in (cbow_init(D), stack(p)):
        with pytest.raises(ValueError, match="dropout_masks: p must be of a layer that takes h_mask; got"):
            dropout_masks(rng(), other, T, N, rate=0.5, kind="per step")
    with pytest.raises(
        ValueError, match=r"masks.x must have shape \(N, D\) = \(3, 2\); got \(2, 3\). Is it transposed"
    ):
        dropout_forward(xs, None, p, masks=DropoutMasks(np.ones((D, N)), None))
    with pytest.raises(ValueError, match=r"h_mask must have shape \(T, N, H\) = \(4, 3, 3\); got \(5, 3, 3\)"):
        dropout_forward(xs, None, p, masks=DropoutMasks(None, np.ones((5, N, H))))
