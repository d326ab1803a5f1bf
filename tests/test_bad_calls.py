"""A bad call says what is wrong with it, in words of ours that name the argument, and nothing wrong passes quietly."""

import inspect
import zlib

import numpy as np
import pytest
from bad_calls import bad_calls, functions, good_call

import gru_lib as g
from gru_lib import cells, convert, layers, ops
from gru_lib._core.checks import check_number
from gru_lib.tasks import hold

SHARE = 12  # one bad call of so many
# Errors that are not ours, or name a part of the argument: what a caller's function raises (a class that takes no
# arguments), and the parts of other layouts.
KNOWN = (
    "convert.from_",
    "convert.to_source",
    "layers.dropout.dropout_forward masks",
    " a class",
    "at a dict of arrays",
)


def chosen(call):
    return zlib.crc32(call.encode()) % SHARE == 0


def test_bad_calls_get_errors_that_name_an_argument():
    count, raw = 0, []
    for name, argument, what, error, ours in bad_calls(chosen):
        count += error is not None
        if not ours and not any(known in f"{name} {argument} {what}" for known in KNOWN):
            raw.append(f"{name}({argument} = {what}): {error!r}")
    assert count > 1500
    assert raw == []


def test_the_fuzz_knows_a_good_call_of_every_function():
    assert [name for name, function in functions().items() if good_call(name, function) is None] == []


WITH_OPTIONS = ("_init", ".stack", ".train", ".beam_search", ".greedy", ".sample", ".dropout_masks")


@pytest.mark.parametrize("name", [name for name in functions() if name.endswith(WITH_OPTIONS)])
def test_a_misspelt_option_is_answered_with_the_right_one(name):
    function, call = functions()[name], good_call(name, functions()[name])
    layers = call.pop("layers", ())  # of a stack, as many as one likes
    for option, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and len(option) > 2:
            with pytest.raises(TypeError, match=rf"keyword argument '{option}s'\. Did you mean '{option}'\?$"):
                function(*layers, **{k: v for k, v in call.items() if k != option}, **{f"{option}s": 1})


def rng():
    return np.random.default_rng(0)


GRU, LSTM = g.gru_init(rng(), 2, 3), g.lstm_init(rng(), 2, 3)
AFTER = g.gru_init(rng(), 2, 3, reset_after=True)
XS = rng().normal(size=(4, 3, 2))


def both_ways(rng, D, H, dtype):
    return g.bidirectional(g.gru_init(rng, D, 2, dtype=dtype), g.gru_init(rng, D, 2, dtype=dtype))


def step(state, token):
    return np.log(np.full((*np.shape(token), 2), 0.5)), state


QUIET = {  # what was accepted, each with a wrong result, or crashed somewhere inside
    "text for a rate": (lambda: layers.dropout_mask(rng(), (2, 3), "0.5"), "rate must be a number; got '0.5'"),
    "text for a rate of masks": (
        lambda: layers.dropout_masks(rng(), GRU, 4, 3, rate="0.5", kind="per step"), "rate must be a number; got '0.5'"
    ),
    "True for a rate": (lambda: layers.dropout_mask(rng(), (2, 3), True), "rate must be a number; got True"),
    "a mask of integers": (lambda: layers.dropout_mask(rng(), (2, 3), 0.5, int), "dtype must be float32, .* got int64"),
    "text for bias": (lambda: g.gru_init(rng(), 2, 3, bias="False"), "bias must be True or False; got 'False'"),
    "text for reset_after": (lambda: g.gru_init(rng(), 2, 3, reset_after="no"), "reset_after must be True or False"),
    "text for the LSTM's bias": (lambda: g.lstm_init(rng(), 2, 3, bias="False"), "bias must be True or False"),
    "text for Elman's bias": (lambda: g.elman_init(rng(), 2, 3, bias="False"), "bias must be True or False"),
    "text for a linear layer's bias": (lambda: g.linear_init(rng(), 2, 3, bias="no"), "bias must be True or False"),
    "text for an ablated GRU's bias": (
        lambda: cells.ablated_gru_init(rng(), 2, 3, ablation="shared", bias="no"), "bias must be True or False"
    ),
    "text for residual": (lambda: g.stack(g.gru_init(rng(), 3, 3), residual="False"), "residual must be True or False"),
    "text for feed": (lambda: layers.seq2seq_init(rng(), 3, 4, 2, 3, start=3, feed="no"), "feed must be True or False"),
    "sigmoid of None": (lambda: g.sigmoid(None), "sigmoid: a must hold numbers; got NoneType"),
    "sigmoid of text": (lambda: g.sigmoid("1"), "sigmoid: a must hold numbers; got dtype <U1"),
    "sigmoid_pair of integers in text": (lambda: ops.sigmoid_pair(["1"]), "sigmoid_pair: a must hold numbers"),
    "a masked array": (
        lambda: g.gru_forward(np.ma.masked_array(XS, mask=XS > 0), None, GRU), "xs must be an array without a mask"
    ),
    "masked lengths": (
        lambda: g.gru_forward(XS, None, GRU, lengths=np.ma.masked_array([1, 2, 3])), "lengths must be an array without"
    ),
    "long doubles": (
        lambda: g.gru_forward(XS.astype(np.longdouble), None, GRU), "xs must be float64 or complex128 at most"
    ),
    "complex long doubles": (lambda: g.sigmoid(np.ones(2, np.clongdouble)), "a must be float64 or complex128 at most"),
    "an end that no token is": (
        lambda: g.beam_search(step, None, 0, width=2, end=2, max_steps=3), "end must be a token, in 0..1; got 2"
    ),
    "an end that no token is, greedy": (
        lambda: g.greedy(step, None, [0, 1], end=2, max_steps=3), "greedy: end must be a token, in 0..1; got 2"
    ),
    "a decoder that reads backwards": (
        lambda: layers.seq2seq_init(rng(), 3, 4, 2, 4, start=3, feed=False, attend=True, carry=False, cell=both_ways),
        "cell must make a decoder that reads forwards; got BidirectionalParams",
    ),
    "a stacked decoder that reads backwards": (
        lambda: layers.seq2seq_init(
            rng(), 3, 4, 2, 4, start=3, feed=False, carry=True, cell=lambda *a, dtype: g.stack(both_ways(*a, dtype))
        ),
        "cell must make a decoder that reads forwards; got StackParams",
    ),
    "advance backwards": (
        lambda: g.advance(XS[0], None, both_ways(rng(), 2, 3, np.float64)), "advance: p must be of a layer that reads"
    ),
    "directions that reset otherwise, to ONNX": (
        lambda: convert.to_onnx([GRU, AFTER]), "to_onnx: directions must have one kind"
    ),
    "directions that reset otherwise, to Keras": (
        lambda: convert.to_keras([GRU, AFTER]), "to_keras: directions must have one kind"
    ),
    "activations, to ONNX": (
        lambda: convert.to_onnx([g.elman_init(rng(), 2, 3, activation=a) for a in ("tanh", "relu")]),
        "directions must have one kind",
    ),
    "dtypes, to Keras": (lambda: convert.to_keras([GRU, GRU.astype(np.float32)]), "directions must have one kind"),
    "layers of two kinds, to PyTorch": (
        lambda: convert.to_torch([[AFTER], [g.lstm_init(rng(), 3, 3)]]), "to_torch: layers must have one kind, one H"
    ),
    "layers of two sizes, to PyTorch": (
        lambda: convert.to_torch([[LSTM], [g.lstm_init(rng(), 3, 4)]]), "to_torch: layers must have one kind, one H"
    ),
    "layers with and without bias, to PyTorch": (
        lambda: convert.to_torch([[LSTM], [g.lstm_init(rng(), 3, 3, bias=False)]]), "layers must have one kind, one H"
    ),
    "layers that do not fit, to PyTorch": (
        lambda: convert.to_torch([[LSTM], [LSTM]]), r"to_torch: layers\[1\] must have D = 3; got 2"
    ),
    "one and two directions, to PyTorch": (
        lambda: convert.to_torch([[LSTM], [g.lstm_init(rng(), 3, 3)] * 2]), "one count of directions"
    ),
    "a state of another NTM": (
        lambda: cells.ntm_step(XS[0], g.zero_state(cells.ntm_init(rng(), 2, 3, R=5, M=2), 3), NTM),
        r"ntm_step: state.w_read must have shape .* = \(3, 4\); got \(3, 5\)",
    ),
    "a cache of another size": (
        lambda: g.gru_step_backward(
            np.ones((1, 3)), g.gru_step([[0.0, 0, 0]], np.zeros((1, 3)), g.gru_init(rng(), 3, 3))[1], GRU
        ),
        "gru_step_backward: cache must be of a step with D = 2 and H = 3; got D = 3 and H = 3",
    ),
    "a cache of another stack": (
        lambda: cells.stack_rnn_step_backward(
            np.ones((3, 5)), *cells.stack_rnn_step(XS[0], g.zero_state(STACK, 3), STACK)[1:],
            cells.stack_rnn_init(rng(), 2, 4, 2),
        ),
        "stack_rnn_step_backward: cache must be of a step with H = 4; got 3",
    ),
    "a huge size": (lambda: g.gru_init(rng(), 1 << 40, 3), "gru_init: D must be at most 2147483647; got 1099511627776"),
    "a step far too large for its noise": (lambda: hold.drift_gain(1e200), "step / noise must be < 1e\\+70"),
}  # fmt: skip
NTM, STACK = cells.ntm_init(rng(), 2, 3, R=4, M=2), cells.stack_rnn_init(rng(), 2, 3, 2)


@pytest.mark.parametrize("what", QUIET)
def test_what_was_accepted_in_silence_is_refused(what):
    call, message = QUIET[what]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int32])
def test_lengths_of_any_integers_are_the_same_lengths(dtype):
    lengths = [4, 0, 2]
    np.testing.assert_array_equal(g.reverse(XS, np.array(lengths, dtype)), g.reverse(XS, lengths))
    p = both_ways(rng(), 2, 3, np.float64)
    runs = []
    for given in (lengths, np.array(lengths, dtype)):
        hs, _, tape = g.bidirectional_forward(XS, None, p, lengths=given)
        runs.append([hs, *g.bidirectional_backward(hs, None, tape, p)[2].items()])
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    for (_, a), (_, b) in zip(runs[0][1:], runs[1][1:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_numbers_of_any_type_are_numbers():
    for value in (1, 1.0, np.float32(1), np.int8(1), np.array(1.0)):
        assert check_number("f", "x", value) == 1
    for value in ("1", b"1", None, True, np.True_, 1j, [1], np.ones(1)):
        with pytest.raises(TypeError, match="f: x must be a number; got"):
            check_number("f", "x", value)
    with pytest.raises(ValueError, match="f: x must be finite; got inf"):
        check_number("f", "x", 10**400)
