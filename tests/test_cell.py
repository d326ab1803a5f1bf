"""What every layer must do, whichever it is: the same tests for all cells, and for stacks and pairs made of them."""

import numpy as np
import pytest
from helpers import check_layer, close, leaves, refused, rng, same

from gru_book.cells import (
    ablated_gru_init,
    cbow_init,
    deltanet_init,
    diaggru_init,
    mingru_init,
    ntm_init,
    scrn_init,
    stack_rnn_init,
)
from gru_lib import (
    Cell,
    advance,
    bidirectional,
    bundle,
    cell_of,
    elman_init,
    gru_init,
    infer,
    linear_init,
    load,
    lstm_init,
    map_state,
    register_cell,
    save,
    stack,
    zero_state,
)
from gru_lib.cells import irnn_init, registry
from gru_lib.signature import _facts

T, N, D, H = 5, 3, 2, 4

CELLS = {
    "gru": lambda rng: gru_init(rng, D, H),
    "gru-nobias": lambda rng: gru_init(rng, D, H, bias=False),
    "gru-write": lambda rng: gru_init(rng, D, H, convention="write"),
    "gru-after": lambda rng: gru_init(rng, D, H, reset_after=True),
    "gru-after-write-nobias": lambda rng: gru_init(rng, D, H, reset_after=True, convention="write", bias=False),
    "gru-no-reset": lambda rng: ablated_gru_init(rng, D, H, ablation="no_reset"),
    "gru-no-update": lambda rng: ablated_gru_init(rng, D, H, ablation="no_update", convention="write"),
    "gru-shared": lambda rng: ablated_gru_init(rng, D, H, ablation="shared"),
    "gru-minimal": lambda rng: ablated_gru_init(rng, D, H, ablation="shared", convention="write", bias=False),
    "gru-shared-after": lambda rng: ablated_gru_init(rng, D, H, ablation="shared", reset_after=True),
    "lstm": lambda rng: lstm_init(rng, D, H),
    "lstm-nobias": lambda rng: lstm_init(rng, D, H, bias=False),
    "elman-tanh": lambda rng: elman_init(rng, D, H),
    "elman-relu": lambda rng: elman_init(rng, D, H, activation="relu"),
    "elman-sigmoid": lambda rng: elman_init(rng, D, H, activation="sigmoid", bias=False),
    "elman-linear": lambda rng: elman_init(rng, D, H, activation="linear"),
    "irnn": lambda rng: irnn_init(rng, D, H),
    "scrn": lambda rng: scrn_init(rng, D, H, 3, alpha=0.9),
    "cbow": lambda rng: cbow_init(D),
    "mingru": lambda rng: mingru_init(rng, D, H),
    "mingru-tanh": lambda rng: mingru_init(rng, D, H, gate="tanh"),
    "diaggru": lambda rng: diaggru_init(rng, D, H),
    "deltanet": lambda rng: deltanet_init(rng, D, H, K=3),
    "deltanet-add": lambda rng: deltanet_init(rng, D, H, K=3, rule="add"),
    "deltanet-turn": lambda rng: deltanet_init(rng, D, H, K=3, turn=True),
    "stack_rnn": lambda rng: stack_rnn_init(rng, D, H, 3),
    "ntm": lambda rng: ntm_init(rng, D, H, R=4, M=3),
}
COMPOSED = {
    "bidirectional-gru": lambda rng: bidirectional(gru_init(rng, D, H), gru_init(rng, D, H)),
    "bidirectional-mixed": lambda rng: bidirectional(lstm_init(rng, D, H), elman_init(rng, D, 3)),
    "stack-one": lambda rng: stack(scrn_init(rng, D, H, 3)),
    "stack-gru": lambda rng: stack(gru_init(rng, D, H), gru_init(rng, H, 3)),
    "stack-mixed": lambda rng: stack(lstm_init(rng, D, H), cbow_init(H), elman_init(rng, H, 3)),
    "stack-residual": lambda rng: stack(gru_init(rng, D, D), lstm_init(rng, D, H), gru_init(rng, H, H), residual=True),
    "stack-all-residual": lambda rng: stack(gru_init(rng, D, D), elman_init(rng, D, D), residual=True),
    "stack-of-stacks": lambda rng: stack(stack(gru_init(rng, D, H)), gru_init(rng, H, H), residual=True),
    "bidirectional-stacks": lambda rng: bidirectional(
        stack(gru_init(rng, D, H), gru_init(rng, H, H)), stack(gru_init(rng, D, H))
    ),
    "stack-bidirectional": lambda rng: stack(
        bidirectional(gru_init(rng, D, H), gru_init(rng, D, H)),
        bidirectional(gru_init(rng, 2 * H, H), gru_init(rng, 2 * H, H)),
        residual=True,
    ),
}
LAYERS = CELLS | COMPOSED
APART = ("stack_rnn", "ntm", "deltanet", "deltanet-add", "deltanet-turn")  # a step's output is apart from its state
cells = pytest.mark.parametrize("name", CELLS)
layers = pytest.mark.parametrize("name", LAYERS)


def case(name, dtype=np.float64, N=N, T=T):
    """A cell with random parameters, its inputs and state, and gradients of outputs and final state."""
    rng = np.random.default_rng(3)
    p = LAYERS[name](rng).astype(dtype)
    p.flat[:] = rng.normal(size=p.size) * (0.5 if name in APART else 1)
    xs, dhs = (rng.normal(size=(T, N, k)).astype(dtype) for k in (p.D, cell_of(p).width(p)))
    forward = cell_of(p).forward
    if name in APART:  # not every array is a state: addresses sum to 1, strengths are positive
        state0 = forward(rng.normal(size=(2, N, p.D)).astype(dtype), None, p)[1]
    else:
        state0 = map_state(lambda a: rng.normal(size=a.shape).astype(dtype), zero_state(p, N))
    state_T = forward(xs, state0, p)[1]  # a stack has grown
    return p, xs, state0, dhs, map_state(lambda a: rng.normal(size=a.shape).astype(dtype), state_T)


def take_step(x, state, p):
    """The output, the state and the cache of a step, and a function that goes back through it."""
    cell = cell_of(p)
    *out, new, cache = cell.step(x, state, p)

    def back(dout, dstate):
        return cell.step_backward(*((dout,) if cell.apart else ()), dstate, cache, p)

    return (out[0] if cell.apart else leaves(new)[0]), new, back


def run(p, xs, state0, dhs, dstate_T, lengths=None):
    """Forward and backward; everything that comes out."""
    cell = cell_of(p)
    hs, state_T, tape = cell.forward(xs, state0, p, lengths=lengths)
    dxs, dstate0, grads = cell.backward(dhs, dstate_T, tape, p)
    return [hs, *leaves(state_T), dxs, *leaves(dstate0), grads.flat]


@layers
@pytest.mark.parametrize("lengths", [None, [5, 0, 2]], ids=["full", "padded"])
def test_backward_matches_complex_step(name, lengths):
    p, xs, state0, dhs, dstate_T = case(name)
    check_layer(cell_of(p).forward, cell_of(p).backward, p, xs, dhs, state0, dstate_T, lengths=lengths)


@cells
def test_step_backward_matches_complex_step(name):
    p, xs, state0, dhs, _ = case(name)
    dout, source = dhs[0] if name in APART else 0 * dhs[0], rng(4)
    dstate = map_state(lambda a: source.normal(size=a.shape), take_step(xs[0], state0, p)[1])
    check_layer(take_step, lambda dout, dstate, back, p: back(dout, dstate), p, xs[0], dout, state0, dstate)


@cells
def test_forward_is_step_repeated(name):
    p, xs, state, _, _ = case(name)
    cell = cell_of(p)
    hs, state_T, _ = cell.forward(xs, state, p)
    for t in range(T):
        out, state, _ = take_step(xs[t], state, p)
        close(hs[t], out, rtol=1e-13, atol=1e-14)
    close(state_T, state, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in LAYERS if "bidirectional" not in name])
def test_advance_goes_on_from_any_state(name):
    p, xs, state, _, _ = case(name)
    hs, state_T, _ = cell_of(p).forward(xs, state, p)
    for t in range(T):
        y, state = advance(xs[t], state, p)
        close(y, hs[t], rtol=1e-13, atol=1e-14)
    close(state, state_T, rtol=1e-13, atol=1e-14)


@layers
@pytest.mark.parametrize("lengths", [None, [5, 0, 2]])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_infer_is_forward_without_a_tape(name, steps, lengths):
    p, xs, state0, _, _ = case(name)
    xs, lengths = xs[:steps].copy(), None if lengths is None else np.minimum(lengths, steps)
    if lengths is not None:
        xs[np.arange(steps)[:, None] >= lengths] = np.nan
    before = xs.copy(), map_state(np.copy, state0)
    for state in (state0, None):
        hs, state_T = infer(xs, state, p, lengths=lengths)
        close((hs, state_T), cell_of(p).forward(xs, state, p, lengths=lengths)[:2], rtol=1e-13, atol=1e-14)
        for a in leaves(state_T):  # what is done to the outputs does not reach the state
            assert not np.shares_memory(a, hs)
    same((xs, state0), before)


@layers
def test_padding_carries_the_state_and_outputs_zero(name):
    p, xs, state0, _, _ = case(name)
    cell = cell_of(p)
    hs, state_T, _ = cell.forward(xs, state0, p, lengths=[5, 0, 2])
    np.testing.assert_array_equal(hs[:, 1], 0)
    np.testing.assert_array_equal(hs[2:, 2], 0)
    for row, length in enumerate([5, 0, 2]):
        one = np.s_[row : row + 1]
        part, end, _ = cell.forward(xs[:length, one], map_state(lambda a, one=one: a[one], state0), p)
        np.testing.assert_allclose(hs[:length, one], part, rtol=1e-13, atol=1e-14)
        for a, b in zip(leaves(state_T), leaves(end), strict=True):
            grown = a[one][:, b.shape[1] :]  # a stack has an entry of strength 0 for a padded step
            np.testing.assert_allclose(a[one][:, : b.shape[1]], b, rtol=1e-13, atol=1e-14)
            assert grown.size == 0 or (name == "stack_rnn" and not state_T.strengths[one, b.shape[1] :].any())


@layers
@pytest.mark.parametrize("rubbish", [np.nan, np.inf, -1e300])
def test_what_padding_holds_changes_no_bit(name, rubbish):
    p, xs, state0, dhs, dstate_T = case(name)
    lengths = np.array([5, 0, 2])
    pad = np.arange(T)[:, None] >= lengths
    clean = run(p, xs, state0, dhs, dstate_T, lengths)
    xs, dhs = xs.copy(), dhs.copy()
    xs[pad], dhs[pad] = rubbish, rubbish
    same(run(p, xs, state0, dhs, dstate_T, lengths), clean)
    np.testing.assert_array_equal(clean[1 + len(leaves(state0))][pad], 0)  # dxs


@layers
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dtype_in_is_dtype_out(name, dtype):
    p, xs, state0, dhs, dstate_T = case(name, dtype)
    out = [*run(p, xs, None, None, None, [5, 0, 2]), *run(p, xs, state0, dhs, dstate_T)]
    out += leaves(infer(xs, state0, p)) + leaves(infer(xs, None, p)) + leaves(zero_state(p, N))
    if name in CELLS:
        out0, state, back = take_step(xs[0], state0, p)
        dx, dstate, g = back(dhs[0], map_state(np.ones_like, state))
        out += [out0, *leaves(state), dx, *leaves(dstate), g.flat]
    for array in out:
        assert array.dtype == dtype


@layers
def test_inputs_may_be_read_only_and_a_second_call_gives_the_same_bits(name):
    p, xs, state0, dhs, dstate_T = case(name)
    for array in (p.flat, xs, dhs, *leaves(state0), *leaves(dstate_T)):
        array.flags.writeable = False
    same(*(run(p, xs, state0, dhs, dstate_T, [5, 1, 3]) for _ in range(2)))
    cell = cell_of(p)
    tape = cell.forward(xs, state0, p)[2]
    same(*(cell.backward(dhs, dstate_T, tape, p) for _ in range(2)))  # backward leaves the tape as it was
    if name in CELLS:
        _, state, back = take_step(xs[0], state0, p)
        back(dhs[0], map_state(np.ones_like, state))


@layers
def test_results_are_arrays_of_their_own(name):
    """Writing into a result must not reach the arguments, or another result."""
    p, xs, state0, dhs, dstate_T = case(name)
    cell = cell_of(p)
    before = xs.copy(), map_state(np.copy, state0)
    hs, state_T, tape = cell.forward(xs, state0, p)
    dxs, dstate0, grads = cell.backward(dhs, dstate_T, tape, p)
    kept = map_state(np.copy, state_T)
    hs[:], dxs[:] = 7, 7
    for a in leaves(dstate0):
        a[:] = 7
    same((xs, state0, state_T), (*before, kept))
    same(cell.backward(dhs, dstate_T, tape, p)[2], grads)
    if name in CELLS:
        _, state, back = take_step(xs[0], state0, p)
        dstate = map_state(np.ones_like, state)
        right = back(dhs[0], dstate)[2].flat
        if name not in APART:  # the caches of these two hold the state's own arrays
            for a in leaves(state):
                a[:] = 7
        np.testing.assert_array_equal(back(dhs[0], dstate)[2].flat, right)


@layers
def test_a_tape_and_a_cache_are_shown_by_shapes(name):
    p, xs, state0, _, _ = case(name)
    cell = cell_of(p)
    shown = [cell.forward(xs, state0, p)[2]]
    if name in CELLS:
        shown.append(cell.step(xs[0], state0, p)[-1])
    for record in shown[: 0 if name == "cbow" else None]:  # whose backward needs nothing
        assert repr(record).startswith(f"{type(record).__name__}({record._fields[0]} "), repr(record)
        assert "array" not in repr(record) and len(repr(record)) < 300


@layers
@pytest.mark.parametrize("lengths", [None, [5, 0, 2]], ids=["full", "padded"])
def test_what_backward_needs_is_the_tapes_own(name, lengths):
    """The rule of CONTRIBUTING: who refills every buffer that a pass took or gave changes no gradient."""
    p, xs, state0, dhs, dstate_T = case(name)
    cell, masks = cell_of(p), {}
    if cell.takes_h_mask and "bidirectional" not in name:
        masks = {"h_mask": np.random.default_rng(5).normal(size=(N, p.H))}
    lengths = None if lengths is None else np.array(lengths)
    hs, state_T, tape = cell.forward(xs, state0, p, lengths=lengths, **masks)
    right = [a.copy() for a in leaves(cell.backward(dhs, dstate_T, tape, p))]
    given = [xs, hs, *leaves(state0), *leaves(state_T), *masks.values(), *([] if lengths is None else [lengths])]
    for array in given:
        array[:] = 1
    same(cell.backward(dhs, dstate_T, tape, p), right)


@layers
def test_backward_refuses_parameters_that_changed_or_are_anothers(name):
    p, xs, state0, dhs, dstate_T = case(name)
    cell = cell_of(p)
    tape = cell.forward(xs, state0, p)[2]
    cell.backward(dhs, dstate_T, tape, p.copy())  # the same numbers are the same parameters
    with pytest.raises(ValueError, match=r"_backward: p must have dtype = 'float64' as when \w+ made .* 'float32'"):
        cell.backward(dhs, dstate_T, tape, p.astype(np.float32))
    for i in range(p.size):
        other = p.copy()
        other.flat[i] = np.nextafter(other.flat[i], 9)
        with pytest.raises(ValueError, match=r"_backward: p must hold the same numbers as when \w+_forward made"):
            cell.backward(dhs, dstate_T, tape, other)


OTHERS = {  # parameters whose tapes are of one class, and what the error names
    "size": ("gru", lambda rng: gru_init(rng, D, H + 1), "H = 4 as when gru_forward made the tape; got 5"),
    "option": ("gru", lambda rng: gru_init(rng, D, H, reset_after=True), "reset_after = False .* got True"),
    "kind": ("gru-shared", lambda rng: gru_init(rng, D, H), "kind = 'AblatedGRUParams' .* got 'GRUParams'"),
    "member": (
        "stack_rnn", lambda rng: stack_rnn_init(rng, D, H, 3, convention="write"), "controller.convention = 'keep' .*"
    ),
    "residual": (
        "stack-all-residual", lambda rng: stack(gru_init(rng, D, D), elman_init(rng, D, D)), "residual = True .* False"
    ),
    "layers": (
        "stack-gru", lambda rng: stack(gru_init(rng, D, H), elman_init(rng, H, 3)), "layer1.kind = 'GRUParams'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_backward_refuses_a_tape_that_was_made_otherwise(what):
    name, make, message = OTHERS[what]
    p, xs, state0, dhs, dstate_T = case(name)
    other = make(np.random.default_rng(3))
    with pytest.raises(ValueError, match=rf"_backward: p must have {message}"):
        cell_of(other).backward(dhs, dstate_T, cell_of(p).forward(xs, state0, p)[2], other)


@layers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_inputs_stay_finite_without_a_warning(name, dtype):
    p, xs, state0, dhs, dstate_T = case(name, dtype)
    for array in run(p, xs * dtype(1e4), state0, dhs, dstate_T, [5, 0, 2]):
        assert np.isfinite(array).all()


@layers
def test_no_steps_and_no_sequences_are_fine(name):
    p, _, state0, _, _ = case(name)
    cell, dstate_T = cell_of(p), map_state(lambda a: a + 1, state0)
    hs, state_T, tape = cell.forward(np.zeros((0, N, p.D)), state0, p)
    dxs, dstate0, grads = cell.backward(hs, dstate_T, tape, p)
    assert hs.shape == (0, N, cell.width(p)) and dxs.shape == (0, N, p.D)
    same((state_T, dstate0), (state0, dstate_T))
    assert not grads.flat.any()
    same(infer(np.zeros((0, N, p.D)), state0, p), (hs, state0))
    for array in run(p, np.zeros((T, 0, p.D)), None, None, None)[:-1]:
        assert array.size == 0


@layers
def test_missing_gradients_and_states_count_as_zero(name):
    p, xs, state0, dhs, dstate_T = case(name)
    start = zero_state(p, N)
    zero = map_state(np.zeros_like, cell_of(p).forward(xs, start, p)[1])
    for given, full in [
        ((state0, None, dstate_T), (state0, 0 * dhs, dstate_T)),
        ((None, dhs, None), (start, dhs, zero)),
    ]:
        same(run(p, xs, *given), run(p, xs, *full))


@layers
@pytest.mark.parametrize("file", ["p.npz", "p.safetensors"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saved_parameters_are_loaded_without_being_described(tmp_path, name, file, dtype):
    m = bundle(cell=case(name, dtype)[0], out=linear_init(np.random.default_rng(0), 1, 1, dtype=dtype))
    save(tmp_path / file, m)
    q = load(tmp_path / file)
    assert type(q.cell) is type(m.cell) and _facts(q) == _facts(m)
    np.testing.assert_array_equal(q.flat, m.flat)


@layers
def test_layers_live_in_a_bundle_on_one_flat_array(name):
    p, xs, state0, _, _ = case(name)
    m = bundle(cell=p, out=linear_init(np.random.default_rng(0), cell_of(p).width(p), 1))
    same(cell_of(m.cell).forward(xs, state0, m.cell)[0], cell_of(p).forward(xs, state0, p)[0])


def test_cell_of_refuses_what_it_does_not_know():
    linear = linear_init(np.random.default_rng(0), 2, 2)
    refused(TypeError, r"cell_of: p must be one of .*GRUParams.*; got LinearParams", cell_of, linear)
    refused(TypeError, "Cell: kind must be a subclass of Params; got <class 'int'>", Cell, int)
    refused(TypeError, "register_cell: cell must be a Cell; got dict", register_cell, {})


def test_every_registered_layer_is_in_this_suite():
    rng = np.random.default_rng(0)
    of_experiments = {kind for kind in registry._CELLS if kind.__module__.startswith("experiments.")}
    assert set(registry._CELLS) - of_experiments == {type(make(rng)) for make in LAYERS.values()}


@layers
def test_parameters_are_float64_unless_told_and_all_but_an_ntm_begin_at_zero(name):
    p = LAYERS[name](np.random.default_rng(0))
    assert p.dtype == np.float64
    state = leaves(zero_state(p, N))
    assert all(a.dtype == np.float64 and len(a) == N for a in state)
    assert name == "ntm" or not any(a.any() for a in state)


@pytest.mark.parametrize(("init", "arrays", "bound"), [
    (gru_init, ("W_x", "W_h"), 1 / 10),
    (lstm_init, ("W_x", "W_h"), 1 / 10),
    (elman_init, ("W",), 1 / 10),
    (lambda rng, D, H: ablated_gru_init(rng, D, H, ablation="shared"), ("W_x", "W_h"), 1 / 10),
    (lambda rng, D, H: scrn_init(rng, D, H, 20), ("flat",), 1 / 10),
    (mingru_init, ("W",), 1 / 5),
    (diaggru_init, ("W",), 1 / 5),
    (deltanet_init, ("W",), 1 / 5),
    (linear_init, ("W",), 1 / 5),
])  # fmt: skip
def test_weights_are_drawn_evenly_between_their_bounds_and_biases_are_zero(init, arrays, bound):
    p = init(np.random.default_rng(0), 25, 100)
    for name in arrays:
        W = getattr(p, name)
        assert -bound <= W.min() < -0.99 * bound and 0.99 * bound < W.max() <= bound
        assert abs(W.mean()) < 0.05 * bound and abs(W.std() - bound / np.sqrt(3)) < 0.02 * bound
    for name, a in p.items():
        if name.startswith("b"):
            np.testing.assert_array_equal(np.unique(a), [0, 1] if init is lstm_init else [0])


def test_a_cell_needs_both_passes_or_both_steps():
    gru = cell_of(gru_init(np.random.default_rng(0), D, H))
    for given in ("forward", "backward", "step", "step_backward"):
        with pytest.raises(TypeError, match="Cell: give step and step_backward, or forward and backward"):
            Cell(gru.kind, **{given: getattr(gru, given)})
