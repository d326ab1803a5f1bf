"""Differentiable stack and Neural Turing Machine: what they do, and their gradients."""

import numpy as np
import pytest

from gru_lib import (
    Adam,
    bundle,
    cell_of,
    gradcheck,
    gru_init,
    linear_backward,
    linear_forward,
    linear_init,
    softmax_cross_entropy,
    stack,
    stack_backward,
    stack_forward,
    train,
)
from gru_lib.cells import (
    NTMState,
    StackRNNState,
    ntm_address,
    ntm_backward,
    ntm_forward,
    ntm_init,
    ntm_step,
    stack_rnn_backward,
    stack_rnn_forward,
    stack_rnn_init,
    stack_rnn_step,
    stack_step,
)

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


def setting(kind, dtype=np.float64, seed=0):
    """Parameters, inputs, a starting state (a stack that already has two entries), and gradients from outside."""
    rng = np.random.default_rng(seed)
    init, forward, _, _ = KINDS[kind]
    p = init(rng, dtype=dtype)
    p.flat[:] = rng.normal(size=p.size)
    xs, dhs = rng.normal(size=(T, N, D)), rng.normal(size=(T, N, H + M))
    if kind == "stack":
        values, strengths = rng.normal(size=(N, 2, M)), rng.random((N, 2))
        state = StackRNNState(rng.normal(size=(N, H)), rng.normal(size=(N, M)), values, strengths)
    else:
        w = rng.dirichlet(np.ones(R), (2, N))
        state = NTMState(rng.normal(size=(N, M)), *w, rng.normal(size=(N, R, M)))
    xs, dhs, state = xs.astype(dtype), dhs.astype(dtype), type(state)(*(a.astype(dtype) for a in state))
    last = forward(xs, state, p)[1]
    dstate = type(state)(*(rng.normal(size=a.shape).astype(dtype) for a in last))
    return p, xs, state, dhs, dstate


# ------------------------------------------------------------------------------------------------------- both of them


@pytest.mark.parametrize("lengths", [None, [5, 0, 3]], ids=["full", "padded"])
@kinds
def test_memory_backward_matches_complex_step(kind, lengths):
    p, xs, state, dhs, dstate = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    _, _, tape = forward(xs, state, p, lengths=lengths)
    dxs, dstate0, grads = backward(dhs, dstate, tape, p)

    def loss(xs, p, **parts):
        hs, last, _ = forward(xs, type(state)(**parts), p, lengths=lengths)
        return (hs * dhs).sum() + sum((a * b).sum() for a, b in zip(last, dstate, strict=True))

    at = {"xs": xs, "p": p, **state._asdict()}
    report = gradcheck(loss, at, {"xs": dxs, "p": grads, **dstate0._asdict()})
    assert report.worst <= 1e-13, report


@kinds
def test_memory_from_its_first_state_matches_complex_step(kind):
    p, xs, _, dhs, _ = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    dxs, _, grads = backward(dhs, None, forward(xs, None, p)[2], p)
    report = gradcheck(lambda xs, p: (forward(xs, None, p)[0] * dhs).sum(), {"xs": xs, "p": p}, {"xs": dxs, "p": grads})
    assert report.worst <= 1e-13, report


@kinds
def test_the_sequence_is_its_steps_and_may_be_cut_anywhere(kind):
    p, xs, state, _, _ = setting(kind)
    _, forward, _, step = KINDS[kind]
    hs, last, _ = forward(xs, state, p)
    s = state
    for t in range(T):
        out, s, _ = step(xs[t], s, p)
        np.testing.assert_array_equal(out, hs[t])
    first, middle, _ = forward(xs[:2], state, p)
    second, end, _ = forward(xs[2:], middle, p)
    np.testing.assert_array_equal(np.concatenate([first, second]), hs)
    for a, b, c in zip(last, s, end, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


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
        results.append([hs, dxs, grads.flat, *last, *dstate0])
        for n, length in enumerate(lengths):
            assert not hs[length:, n].any() and not dxs[length:, n].any()
            alone, _, _ = forward(xs[:length, n : n + 1], type(state)(*(a[n : n + 1] for a in state)), p)
            np.testing.assert_allclose(hs[:length, n : n + 1], alone, atol=1e-14)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@kinds
def test_dtype_in_is_dtype_out_and_nothing_is_written_to(kind, dtype):
    p, xs, state, dhs, dstate = setting(kind, np.float32 if dtype == np.float32 else np.float64)
    _, forward, backward, _ = KINDS[kind]
    p, xs, dhs = p.astype(dtype), xs.astype(dtype), dhs.astype(dtype)
    state, dstate = (type(s)(*(a.astype(dtype) for a in s)) for s in (state, dstate))
    for array in (p.flat, xs, dhs, *state, *dstate):
        array.flags.writeable = False
    hs, last, tape = forward(xs, state, p, lengths=[5, 2, 0])
    first, again = backward(dhs, dstate, tape, p), backward(dhs, dstate, tape, p)
    np.testing.assert_array_equal(first[2].flat, again[2].flat)
    for array in (hs, *last, first[0], *first[1], first[2].flat):
        assert array.dtype == dtype


@kinds
def test_huge_inputs_give_no_warning(kind):
    p, xs, state, dhs, dstate = setting(kind)
    _, forward, backward, _ = KINDS[kind]
    hs, _, tape = forward(1e4 * xs, state, p)
    dxs, _, grads = backward(dhs, dstate, tape, p)
    assert np.isfinite(hs).all() and np.isfinite(dxs).all() and np.isfinite(grads.flat).all()


@kinds
def test_a_memory_is_a_layer_like_any_other(kind):
    rng = np.random.default_rng(0)
    p = stack(KINDS[kind][0](rng), gru_init(rng, H + M, 2))
    assert cell_of(p.layer0).width(p.layer0) == H + M
    xs, dhs = rng.normal(size=(3, 2, D)), rng.normal(size=(3, 2, 2))
    dxs, _, grads = stack_backward(dhs, None, stack_forward(xs, None, p)[2], p)
    report = gradcheck(
        lambda xs, p: (stack_forward(xs, None, p)[0] * dhs).sum(), {"xs": xs, "p": p}, {"xs": dxs, "p": grads}
    )
    assert report.worst <= 1e-13, report


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
        forward(xs, state, gru_init(np.random.default_rng(0), D, H))


# ----------------------------------------------------------------------------------------------------------- the stack


def empty(M=1):
    return np.zeros((1, 0, M)), np.zeros((1, 0))


def test_the_example_of_grefenstette_and_others():
    """Figure 1 of the paper, worked by hand: push .8; pop .1, push .5; pop .9, push .9."""
    v1, v2, v3 = np.eye(3)[:, None]
    values, strengths = empty(3)
    read, values, strengths, _ = stack_step(v1, np.array([0.8]), np.array([0.0]), values, strengths)
    np.testing.assert_allclose(read, 0.8 * v1)
    read, values, strengths, _ = stack_step(v2, np.array([0.5]), np.array([0.1]), values, strengths)
    np.testing.assert_allclose(strengths, [[0.7, 0.5]])
    np.testing.assert_allclose(read, 0.5 * v2 + 0.5 * v1)
    read, values, strengths, _ = stack_step(v3, np.array([0.9]), np.array([0.9]), values, strengths)
    np.testing.assert_allclose(strengths, [[0.3, 0, 0.9]], atol=1e-15)
    np.testing.assert_allclose(read, 0.9 * v3 + 0.1 * v1)


@pytest.mark.parametrize("seed", range(5))
def test_with_whole_strengths_it_is_a_list(seed):
    """Pushes and pops of strength 0 and 1 do what a Python list does; an empty stack reads zero."""
    rng = np.random.default_rng(seed)
    plain, (values, strengths) = [], empty()
    for _ in range(40):
        push, pop, value = int(rng.integers(2)), int(rng.integers(2)), rng.normal()
        if pop and plain:
            plain.pop()
        if push:
            plain.append(value)
        given = np.array([[value]]), np.array([float(push)]), np.array([float(pop)])
        read, values, strengths, _ = stack_step(*given, values, strengths)
        assert read[0, 0] == (plain[-1] if plain else 0)


def test_strengths_stay_between_0_and_1_and_a_read_weighs_at_most_1():
    rng = np.random.default_rng(0)
    values, strengths = np.zeros((50, 0, 1)), np.zeros((50, 0))
    for _ in range(30):
        push, pop = rng.random((2, 50))
        read, values, strengths, cache = stack_step(np.ones((50, 1)), push, pop, values, strengths)
        assert (strengths >= 0).all() and (strengths <= 1).all()
        total = np.minimum(strengths.sum(axis=1), 1)
        np.testing.assert_allclose(read[:, 0], total, atol=1e-12)
        np.testing.assert_allclose(cache.weights.sum(axis=1), total, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_gru_learns_to_reverse_with_its_stack(seed):
    """Strings of 1 to 3 of four letters; by chance a string of 3 comes out right once in 64."""
    rng = np.random.default_rng(seed)
    m = bundle(rnn=stack_rnn_init(rng, 5, 32, 8), out=linear_init(rng, 40, 4))

    def batch(L, N=16):
        letters = rng.integers(0, 4, (L, N))
        xs = np.zeros((2 * L, N, 5))  # the letters, then blanks
        xs[:L][*np.indices((L, N)), letters] = 1
        xs[L:, :, 4] = 1
        ys, weights = np.zeros((2 * L, N), int), np.zeros((2 * L, N))
        ys[L:], weights[L:] = letters[::-1], 1
        return xs, ys, weights

    def loss_and_grads(m, batch):
        xs, ys, weights = batch
        hs, _, tape = stack_rnn_forward(xs, None, m.rnn)
        logits, cache = linear_forward(hs, m.out)
        loss, dlogits = softmax_cross_entropy(logits, ys, weights)
        dhs, g_out = linear_backward(dlogits, cache, m.out)
        return loss, bundle(rnn=stack_rnn_backward(dhs, None, tape, m.rnn)[2], out=g_out)

    batches = (batch(int(rng.integers(1, 4))) for _ in iter(int, 1))
    train(m, loss_and_grads, batches, Adam(m, 0.01), steps=300, clip_norm=1.0, progress=False)
    xs, ys, weights = batch(3, 200)
    found = linear_forward(stack_rnn_forward(xs, None, m.rnn)[0], m.out)[0].argmax(axis=-1)
    assert ((found == ys) | (weights == 0)).all(axis=0).mean() >= 0.9


# ------------------------------------------------------------------------------------------------------------- the NTM


def head(key, *, beta=50.0, g=50.0, shift=0, gamma=-50.0):
    """The raw numbers of a head: by default, by content alone, no shift, no sharpening."""
    s = np.full(3, -50.0)
    s[shift + 1] = 50.0
    return np.concatenate([np.arctanh(key), [beta, g], s, [gamma]])[None]


def test_by_content_it_finds_the_row_that_points_the_same_way():
    memory = np.random.default_rng(0).normal(size=(1, 6, 3))
    for row in range(6):
        key = 0.5 * memory[0, row] / np.abs(memory[0, row]).max()
        w, _ = ntm_address(head(key), np.full((1, 6), 1 / 6), memory)
        assert w.argmax() == row
        np.testing.assert_allclose(w.sum(), 1)


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_by_place_it_moves_by_one_row_around_the_ring(shift):
    memory = np.random.default_rng(0).normal(size=(1, 6, 3))
    for row in (0, 2, 5):
        w, _ = ntm_address(head(np.zeros(3), g=-50.0, shift=shift), np.eye(6)[row : row + 1], memory)
        np.testing.assert_allclose(w, np.eye(6)[(row + shift) % 6][None], atol=1e-10)


def test_gamma_sharpens():
    memory, before = np.ones((1, 4, 2)), np.array([[0.5, 0.3, 0.1, 0.1]])
    blunt, _ = ntm_address(head(np.zeros(2), g=-50.0), before, memory)
    sharp, _ = ntm_address(head(np.zeros(2), g=-50.0, gamma=3.0), before, memory)
    power = 1 + np.log1p(np.exp(3.0))
    np.testing.assert_allclose(blunt, before, atol=1e-10)
    np.testing.assert_allclose(sharp, before**power / (before**power).sum(), rtol=1e-8)


def test_what_is_written_is_read_back():
    """Heads set by hand: write at row t, read the same row, at every step."""
    rng = np.random.default_rng(0)
    p = ntm_init(rng, 3, 3, R=6, M=3)
    p.flat[:] = 0
    p.controller.W[:3] = 0.5 * np.eye(3)  # h = tanh(x / 2)
    b = p.heads.b
    for start in (0, 9):  # write head, read head: by place, shifted by one row
        b[start + 3 : start + 9] = [0, -60, -60, -60, 60, -60]
    b[18:21] = 60  # erase all
    p.heads.W[:, 21:] = 2 * np.eye(3)  # add tanh(2 h)
    xs = rng.normal(size=(4, 1, 3))
    hs, last, _ = ntm_forward(xs, None, p)
    written = np.tanh(2 * np.tanh(xs / 2))
    np.testing.assert_allclose(hs[:, :, 3:], written, atol=1e-9)
    np.testing.assert_allclose(last.memory[0, 1:5], written[:, 0], atol=1e-9)
