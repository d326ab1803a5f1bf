"""The loop over steps, with the two cells that are given by their step: what both must do, and their gradients."""

from functools import partial

import numpy as np
import pytest
from helpers import check_layer, close, randomised, rng

from gru_book.cells import ntm_init, stack_rnn_init
from gru_lib import LSTMParams, LSTMState, Params, cell_of, gru_init, lstm_init, stack
from gru_lib.loop import by_steps

T, N, D, H, M = 5, 3, 2, 3, 2


@pytest.mark.parametrize("above", [False, True], ids=["alone", "in a stack"])
@pytest.mark.parametrize("init", [stack_rnn_init, partial(ntm_init, R=4)])
def test_a_memory_from_its_first_state_matches_complex_step(init, above):
    """A stack that is empty yet, and a memory beneath another layer; all else of them is in test_cell.py."""
    p = randomised(init(rng(), D, H, M=M), rng())
    p = stack(p, gru_init(rng(), H + M, 2)) if above else p
    cell, xs = cell_of(p), rng().normal(size=(T, N, D))
    check_layer(cell.forward, cell.backward, p, xs, rng(1).normal(size=(T, N, cell.width(p))))


@pytest.mark.parametrize("lengths", [None, [5, 0, 3]], ids=["full", "padded"])
def test_a_loop_over_the_steps_of_an_lstm_is_its_fast_passes(lengths):
    """An output that is the first part of a state of two: no cell of the library leaves such a step to the loop."""
    source = rng()
    p = randomised(lstm_init(source, D, H), source)
    xs, dhs = source.normal(size=(T, N, D)), source.normal(size=(T, N, H))
    state, dstate = (LSTMState(*source.normal(size=(2, N, H))) for _ in range(2))
    of_lstm = cell_of(p)
    forward, backward = by_steps(LSTMParams, of_lstm.step, of_lstm.step_backward, of_lstm.zeros, of_lstm.width)
    assert (forward.__name__, backward.__name__) == ("lstm_forward", "lstm_backward")
    *found, tape = forward(xs, state, p, lengths=lengths)
    *wanted, tape_wanted = of_lstm.forward(xs, state, p, lengths=lengths)
    close(found, wanted)
    xs[:], state.h[:] = 9, 9  # what backward needs is the tape's own
    close(backward(dhs, dstate, tape, p), of_lstm.backward(dhs, dstate, tape_wanted, p))


class _Own(Params):
    """A cell of one's own, whose step and backward return what a test wants."""

    def __init__(self, D=2, H=3, *, dtype=np.float64, flat=None):
        super().__init__({"W": (D, H)}, options={"D": D, "H": H}, dtype=dtype, flat=flat)


def own_cell(new=None, back=None):
    def own_step(x, h, p):
        return (h + x @ p.W, x) if new is None else new(x, h)

    def own_step_backward(dh, x, p):
        grads = p.zeros_like()
        grads.W[:] = x.T @ dh
        return (dh @ p.W.T, dh, grads) if back is None else back(dh, grads)

    return by_steps(_Own, own_step, own_step_backward, lambda p, N, dtype: np.zeros((N, p.H), dtype), lambda p: p.H)


@pytest.mark.parametrize(("new", "error", "match"), [
    (lambda x, h: (h, x, x), TypeError, "it must return a state and a cache; got tuple"),
    (lambda x, h: (h[:1], x), ValueError, r"the new state must have shape \(N, H\) = \(4, 3\); got \(1, 3\)"),
    (lambda x, h: (h + 0j, x), TypeError, "it must return numbers that fit float64; got complex128"),
])  # fmt: skip
def test_what_a_step_of_ones_own_returns_is_not_broadcast(new, error, match):
    forward, _ = own_cell(new)
    with pytest.raises(error, match=f"^own_step: {match}"):
        forward(np.ones((5, 4, 2)), None, _Own())


@pytest.mark.parametrize(("back", "error", "match"), [
    (lambda dh, g: None, TypeError, "it must return dx, dstate_prev and grads; got NoneType"),
    (lambda dh, g: (dh[:, :2], dh[:1], g), ValueError, r"dstate_prev must have shape \(N, H\) = \(4, 3\); got"),
    (lambda dh, g: (dh[:, :2], dh, _Own(3, 2)), ValueError, r"grads must hold W \(2, 3\) where p does; got W \(3, 2\)"),
])  # fmt: skip
def test_what_a_backward_of_ones_own_returns_is_not_broadcast(back, error, match):
    forward, backward = own_cell(back=back)
    p = _Own()
    tape = forward(np.ones((5, 4, 2)), None, p)[2]
    with pytest.raises(error, match=f"^own_step_backward: {match}"):
        backward(np.ones((5, 4, 3)), None, tape, p)
