"""Stacks of layers. What all layers have in common is in test_cell.py."""

import numpy as np
import pytest
from helpers import check_layer, refused, rng, same

from gru_lib import (
    bidirectional,
    gru_forward,
    gru_init,
    lstm_forward,
    lstm_init,
    stack,
    stack_backward,
    stack_forward,
)
from gru_lib.layers import dropout_masks

T, N, D, H = 3, 3, 2, 3


def test_a_stack_is_one_layer_after_the_other():
    p, xs = stack(gru_init(rng(), D, H), lstm_init(rng(), H, 5)), rng().normal(size=(T, N, D))
    hs, (h, state), _ = stack_forward(xs, None, p, lengths=[3, 0, 2])
    below, h_T, _ = gru_forward(xs, None, p.layer0, lengths=[3, 0, 2])
    above, state_T, _ = lstm_forward(below, None, p.layer1, lengths=[3, 0, 2])
    same((hs, h, state), (above, h_T, state_T))


def test_residual_connections_go_around_layers_that_keep_the_size():
    p, xs = stack(gru_init(rng(), D, H), gru_init(rng(), H, H), residual=True), rng().normal(size=(T, N, D))
    below, _, _ = gru_forward(xs, None, p.layer0)  # 2 numbers in, 3 out: no way around
    above, _, _ = gru_forward(below, None, p.layer1)
    np.testing.assert_array_equal(stack_forward(xs, None, p)[0], above + below)


def test_twenty_residual_layers_still_pass_a_gradient():
    """Without residual connections the gradient fades on its way down; with them it does not."""
    layers = [gru_init(rng(), H, H) for _ in range(20)]
    size = {}
    for residual in (False, True):
        p, xs, dhs = stack(*layers, residual=residual), rng().normal(size=(T, N, H)), rng().normal(size=(T, N, H))
        dxs, _, _ = stack_backward(dhs, None, stack_forward(xs, None, p)[2], p)
        size[residual] = np.linalg.norm(dxs) / np.linalg.norm(dhs)
    assert size[False] < 1e-3 < 1 < size[True]


def test_masks_drop_on_the_way_into_each_layer_and_their_gradients_match_complex_step():
    p = stack(gru_init(rng(), D, H), lstm_init(rng(), H, H), residual=True)
    xs, dhs, lengths = rng().normal(size=(T, N, D)), rng().normal(size=(T, N, H)), [3, 0, 2]
    for kind in ("zaremba", "variational", "per step"):
        draw = rng()
        masks = [dropout_masks(draw, layer, T, N, rate=0.4, kind=kind) for _, layer in p.members()]
        check_layer(stack_forward, stack_backward, p, xs, dhs, masks=masks, lengths=lengths)
    some = [None, masks[1]]
    below, _, _ = gru_forward(xs, None, p.layer0)
    above, _, _ = lstm_forward(below * masks[1].x, None, p.layer1, h_mask=masks[1].h)
    np.testing.assert_array_equal(stack_forward(xs, None, p, masks=some)[0], above + below)


def test_layers_that_do_not_fit_and_states_of_another_form_are_named():
    p, xs = stack(gru_init(rng(), D, H), gru_init(rng(), H, H)), np.zeros((T, N, D))
    with pytest.raises(ValueError, match="stack: layer 1 must have the input size D = 3, as layer 0 puts out; got 2"):
        stack(gru_init(rng(), D, H), gru_init(rng(), D, H))
    refused(TypeError, r"got a list of 1\. Write d\[0\] for one", stack, [gru_init(rng(), D, H)])
    refused(ValueError, r"Write \(state0\[0\], state0\[1\]\)", stack_forward, xs, np.zeros((2, 3, H)), p)
    deep = stack(bidirectional(gru_init(rng(), D, H), gru_init(rng(), D, H)))
    refused(ValueError, r"Write \(\(state0\[0\], state0\[1\]\)\)", stack_forward, xs, np.zeros((2, 3, H)), deep)
    refused(ValueError, "masks must have one entry for each of 2", stack_forward, xs, None, p, masks=np.ones(2))
