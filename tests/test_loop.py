"""The loop over steps, with the two cells that are given by their step: what both must do, and their gradients."""

import numpy as np
import pytest
from helpers import check_layer, close, leaves, randomised, rng, same

from gru_book.cells import (
    NTMState,
    StackRNNState,
    ntm_backward,
    ntm_forward,
    ntm_init,
    ntm_step,
    stack_rnn_backward,
    stack_rnn_forward,
    stack_rnn_init,
    stack_rnn_step,
)
from gru_lib import (
    LSTMParams,
    LSTMState,
    Params,
    cell_of,
    gru_init,
    lstm_init,
    map_state,
    stack,
    stack_backward,
    stack_forward,
)
from gru_lib.loop import by_steps

T, N, D, H, M, R = 5, 3, 2, 3, 2, 4
KINDS = {
    "stack": (
        lambda rng, **o: stack_rnn_init(rng, D, H, M, **o),
        stack_rnn_forward,
        stack_rnn_backward,
        stack_rnn_step,
    ),
    "ntm": (lambda rng, **o: ntm_init(rng, D, H, R=R, M=M, **o), ntm_forward, ntm_backward, ntm_step),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def setting(kind, dtype=np.float64):
    """Parameters, inputs, a starting state (a stack that already has two entries), and gradients from outside."""
    source = rng()
    init, forward, _, _ = KINDS[kind]
    p = randomised(init(source, dtype=dtype), source)
    xs, dhs = source.normal(size=(T, N, D)), source.normal(size=(T, N, H + M))
    if kind == "stack":
        values, strengths = source.normal(size=(N, 2, M)), source.random((N, 2))
        state = StackRNNState(source.normal(size=(N, H)), source.normal(size=(N, M)), values, strengths)
    else:
        w = source.dirichlet(np.ones(R), (2, N))
        state = NTMState(source.normal(size=(N, M)), *w, source.normal(size=(N, R, M)))
    xs, dhs, state = xs.astype(dtype), dhs.astype(dtype), map_state(lambda a: a.astype(dtype), state)
    last = forward(xs, state, p)[1]
    return p, xs, state, dhs, map_state(lambda a: source.normal(size=a.shape).astype(dtype), last)


@pytest.mark.parametrize("lengths", [None, [5, 0, 3]], ids=["full", "padded"])
@kinds
def test_memory_backward_matches_complex_step(kind, lengths):
    p, xs, state, dhs, dstate = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    check_layer(forward, backward, p, xs, dhs, state, dstate, lengths=lengths)


@kinds
def test_memory_from_its_first_state_matches_complex_step(kind):
    p, xs, _, dhs, _ = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    check_layer(forward, backward, p, xs, dhs)


@kinds
def test_the_sequence_is_its_steps_and_may_be_cut_anywhere(kind):
    p, xs, state, _, _ = setting(kind)
    _, forward, _, step = KINDS[kind]
    hs, last, _ = forward(xs, state, p)
    s = state
    for t in range(T):
        out, s, _ = step(xs[t], s, p)
        same(out, hs[t])
    first, middle, _ = forward(xs[:2], state, p)
    second, end, _ = forward(xs[2:], middle, p)
    same(np.concatenate([first, second]), hs)
    same(s, last)
    same(end, last)


@kinds
def test_a_padded_sequence_is_the_sequence_alone_whatever_the_padding_holds(kind):
    p, xs, state, dhs, dstate = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    lengths = [5, 0, 3]
    results = []
    for junk in (0.0, np.nan, np.inf, 1e300):
        x, d = xs.copy(), dhs.copy()
        for n, length in enumerate(lengths):
            x[length:, n], d[length:, n] = junk, junk
        hs, last, tape = forward(x, state, p, lengths=lengths)
        dxs, dstate0, grads = backward(d, dstate, tape, p)
        results.append([hs, dxs, grads, last, dstate0])
        for n, length in enumerate(lengths):
            assert not hs[length:, n].any() and not dxs[length:, n].any()
            one = np.s_[n : n + 1]
            alone, _, _ = forward(xs[:length, one], map_state(lambda a, one=one: a[one], state), p)
            np.testing.assert_allclose(hs[:length, one], alone, atol=1e-14)
    for other in results[1:]:
        same(other, results[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@kinds
def test_dtype_in_is_dtype_out_and_nothing_is_written_to(kind, dtype):
    p, xs, state, dhs, dstate = setting(kind, np.float32 if dtype == np.float32 else np.float64)
    _, forward, backward, _ = KINDS[kind]
    p, xs, dhs = p.astype(dtype), xs.astype(dtype), dhs.astype(dtype)
    state, dstate = (map_state(lambda a: a.astype(dtype), s) for s in (state, dstate))
    for array in leaves([p, xs, dhs, state, dstate]):
        array.flags.writeable = False
    hs, last, tape = forward(xs, state, p, lengths=[5, 2, 0])
    first, again = backward(dhs, dstate, tape, p), backward(dhs, dstate, tape, p)
    same(again, first)
    for array in leaves([hs, last, first]):
        assert array.dtype == dtype


@kinds
def test_huge_inputs_give_no_warning(kind):
    p, xs, state, dhs, dstate = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    hs, _, tape = forward(1e4 * xs, state, p)
    for array in leaves([hs, backward(dhs, dstate, tape, p)]):
        assert np.isfinite(array).all()


@kinds
def test_a_memory_is_a_layer_like_any_other(kind):
    source = rng()
    p = stack(KINDS[kind][0](source), gru_init(source, H + M, 2))
    assert cell_of(p.layer0).width(p.layer0) == H + M
    xs, dhs = source.normal(size=(3, 2, D)), source.normal(size=(3, 2, 2))
    check_layer(stack_forward, stack_backward, p, xs, dhs)


@kinds
def test_wrong_arguments_are_named(kind):
    p, xs, state, dhs, dstate = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    name = forward.__name__
    tape = forward(xs, state, p)[2]
    with pytest.raises(ValueError, match=rf"{name}: xs must have shape \(T, N, D\) = \(T, N, 2\); got \(5, 2, 3\)"):
        forward(xs.swapaxes(1, 2), state, p)
    with pytest.raises(ValueError, match=rf"{name}: state0.read must have shape .*\(3, 2\); got \(2, 2\)"):
        forward(xs, state._replace(read=state.read[:2]), p)
    with pytest.raises(TypeError, match=rf"{name}: state0 must be a .*State; got ndarray"):
        forward(xs, state[0], p)
    with pytest.raises(ValueError, match=r"dhs must have shape \(T, N, K\) = \(5, 3, 5\); got \(4, 3, 5\)"):
        backward(dhs[1:], dstate, tape, p)
    with pytest.raises(TypeError, match="tape must be a StepsTape"):
        backward(dhs, dstate, None, p)
    with pytest.raises(TypeError, match=r"p must be a (StackRNN|NTM)Params; got GRUParams"):
        forward(xs, state, gru_init(rng(), D, H))


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
    (lambda x, h: h, TypeError, "it must return a state and a cache; got ndarray"),
    (lambda x, h: (h, x, x), TypeError, "it must return a state and a cache; got tuple"),
    (lambda x, h: (h[:, :1], x), ValueError, r"the new state must have shape \(N, H\) = \(4, 3\); got \(4, 1\)"),
    (lambda x, h: (h[:1], x), ValueError, r"the new state must have shape \(N, H\) = \(4, 3\); got \(1, 3\)"),
    (lambda x, h: ("h", x), TypeError, "the new state must hold numbers"),
    (lambda x, h: (h + 0j, x), TypeError, "it must return numbers that fit float64; got complex128"),
])  # fmt: skip
def test_what_a_step_of_ones_own_returns_is_not_broadcast(new, error, match):
    forward, _ = own_cell(new)
    with pytest.raises(error, match=f"^own_step: {match}"):
        forward(np.ones((5, 4, 2)), None, _Own())


@pytest.mark.parametrize(("back", "error", "match"), [
    (lambda dh, g: None, TypeError, "it must return dx, dstate_prev and grads; got NoneType"),
    (lambda dh, g: (dh[:, :1], dh, g), ValueError, r"dx must have shape \(N, D\) = \(4, 2\); got \(4, 1\)"),
    (lambda dh, g: (dh[:, :2], dh[:1], g), ValueError, r"dstate_prev must have shape \(N, H\) = \(4, 3\); got"),
    (lambda dh, g: (dh[:, :2], dh, g.W), TypeError, "grads must be a Params; got ndarray"),
    (lambda dh, g: (dh[:, :2], dh, _Own(3, 2)), ValueError, r"grads must hold W \(2, 3\) where p does; got W \(3, 2\)"),
])  # fmt: skip
def test_what_a_backward_of_ones_own_returns_is_not_broadcast(back, error, match):
    forward, backward = own_cell(back=back)
    p = _Own()
    tape = forward(np.ones((5, 4, 2)), None, p)[2]
    with pytest.raises(error, match=f"^own_step_backward: {match}"):
        backward(np.ones((5, 4, 3)), None, tape, p)
