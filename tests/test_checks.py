"""The checks of arguments: what each lets through, and, to the letter, what it says of the rest."""

from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from gru_lib import LSTMState, bundle, gru_init, linear_init, map_state, zero_state
from gru_lib._core import checks
from gru_lib._core.loop import check_sizes, check_state
from gru_lib._core.params import Params
from gru_lib.cells import ntm_init, stack_rnn_init
from gru_lib.cells.elman import elman_on
from gru_lib.check.oracle import draw
from gru_lib.optim import SGD, Adam

MANY = 2**31 - 1
RNG = np.random.default_rng


def refused(error, message, check, *args, **kwargs):
    """The check raises this error, in these words."""
    with pytest.raises(error) as raised:
        check(*args, **kwargs)
    assert str(raised.value) == message
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("check", "value", "wanted"),
    [
        (lambda v: checks.check_int("f", "n", v), 1, 1),
        (lambda v: checks.check_int("f", "n", v), np.int8(3), 3),
        (lambda v: checks.check_int("f", "n", v, minimum=0), 0, 0),
        (lambda v: checks.check_int("f", "n", v), MANY, MANY),
        (lambda v: checks.check_number("f", "a", v, above=0), 1e-300, 1e-300),
        (lambda v: checks.check_number("f", "a", v, least=0, below=1), 0, 0.0),
        (lambda v: checks.check_number("f", "a", v), Fraction(1, 4), 0.25),
        (lambda v: checks.check_number("f", "a", v), np.array(2), 2.0),
        (lambda v: checks.check_number("f", "a", v), np.array(2.5, np.float32), 2.5),
        (lambda v: checks.check_bool("f", "on", v), np.False_, False),
        (lambda v: checks.check_bool("f", "on", v), True, True),
        (lambda v: checks.check_choice("f", "way", v, ("a", "b")), "b", "b"),
    ],
)
def test_a_good_value_comes_back_as_python_has_it(check, value, wanted):
    found = check(value)
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize(
    ("check", "error", "message"),
    [
        (lambda: checks.check_instance("f", "p", 3, Params), TypeError, "f: p must be a Params; got int."),
        (lambda: checks.check_function("f", "g", 3), TypeError, "f: g must be a function; got int."),
        (lambda: checks.check_function("f", "g", None), TypeError, "f: g must be a function; got NoneType."),
        (lambda: checks.check_sequence("f", "s", "ab"), TypeError, "f: s must be a tuple or list; got str."),
        (lambda: checks.check_sequence("f", "s", (1,), 2), ValueError, "f: s must have 2 entries; got 1."),
        (lambda: checks.check_sequence("f", "s", [1, 2, 3], 2), ValueError, "f: s must have 2 entries; got 3."),
        (lambda: checks.check_bool("f", "on", 1), TypeError, "f: on must be True or False; got 1 (int)."),
        (lambda: checks.check_bool("f", "on", "no"), TypeError, "f: on must be True or False; got 'no' (str)."),
        (lambda: checks.check_int("f", "n", True), TypeError, "f: n must be an integer; got True (bool)."),
        (lambda: checks.check_int("f", "n", 2.0), TypeError, "f: n must be an integer; got 2.0 (float)."),
        (lambda: checks.check_int("f", "n", 0), ValueError, "f: n must be at least 1; got 0."),
        (lambda: checks.check_int("f", "n", -1, minimum=0), ValueError, "f: n must be at least 0; got -1."),
        (lambda: checks.check_int("f", "n", MANY + 1), ValueError, "f: n must be at most 2147483647; got 2147483648."),
        (lambda: checks.check_number("f", "a", True), TypeError, "f: a must be a number; got True (bool)."),
        (lambda: checks.check_number("f", "a", "1"), TypeError, "f: a must be a number; got '1' (str)."),
        (lambda: checks.check_number("f", "a", Decimal(1)), TypeError,
         "f: a must be a number; got Decimal('1') (Decimal)."),
        (lambda: checks.check_number("f", "a", np.array([1.0])), TypeError,
         "f: a must be a number; got array([1.]) (ndarray)."),
        (lambda: checks.check_number("f", "a", np.array(True)), TypeError,
         "f: a must be a number; got array(True) (ndarray)."),
        (lambda: checks.check_number("f", "a", np.nan), ValueError, "f: a must be finite; got nan."),
        (lambda: checks.check_number("f", "a", 10**400), ValueError, "f: a must be finite; got inf."),
        (lambda: checks.check_number("f", "a", 0, above=0), ValueError, "f: a must be > 0; got 0."),
        (lambda: checks.check_number("f", "a", -0.5, least=0), ValueError, "f: a must be >= 0; got -0.5."),
        (lambda: checks.check_number("f", "a", 1, above=0, below=1), ValueError, "f: a must be > 0 and < 1; got 1."),
        (lambda: checks.check_choice("f", "way", "c", ("a", "b")), ValueError,
         "f: way must be one of 'a', 'b'; got 'c'."),
        (lambda: checks.check_choice("f", "way", ["a"], ("a", "b")), ValueError,
         "f: way must be one of 'a', 'b'; got ['a']."),
        (lambda: checks.check_dtype("f", None), TypeError,
         "f: dtype must be float32, float64, complex64 or complex128; got None."),
        (lambda: checks.check_dtype("f", "no"), TypeError,
         "f: dtype must be float32, float64, complex64 or complex128; got 'no'."),
        (lambda: checks.check_dtype("f", int), TypeError,
         "f: dtype must be float32, float64, complex64 or complex128; got int64."),
    ],
)  # fmt: skip
def test_a_bad_value_is_named(check, error, message):
    refused(error, message, check)


def test_what_may_be_missing_may_be_missing():
    checks.check_function("f", "g", None, optional=True)
    checks.check_function("f", "g", len)
    checks.check_sequence("f", "s", [])
    checks.check_sequence("f", "s", (1, 2), 2)


class Refuses:
    def __array__(self, *_, **__):
        raise RuntimeError("call detach first")


SIZES = {"T": 4, "N": 3, "H": 2}


@pytest.mark.parametrize(
    ("value", "axes", "error", "message"),
    [
        (np.ma.array([1.0], mask=[True]), ("H",), TypeError,
         "f: a must be an array without a mask; got a MaskedArray. Fill it, or give lengths."),
        ([[1], [2, 3]], ("N", "H"), ValueError, "f: a must be an array; got a ragged list."),
        (Refuses(), ("N", "H"), TypeError, "f: a must be an array; got Refuses: call detach first"),
        ("text", ("H",), TypeError, "f: a must hold numbers; got dtype <U4."),
        (None, ("H",), TypeError, "f: a must hold numbers; got NoneType."),
        ([None, None], ("H",), TypeError, "f: a must hold numbers; got dtype object."),
        (np.ones((3, 3)), ("N", "H"), ValueError, "f: a must have shape (N, H) = (3, 2); got (3, 3)."),
        (np.ones((2, 3)), ("N", "H"), ValueError,
         "f: a must have shape (N, H) = (3, 2); got (2, 3). Is it transposed?"),
        (np.ones((4, 2, 3)), ("T", "N", "H"), ValueError,
         "f: a must have shape (T, N, H) = (4, 3, 2); got (4, 2, 3). Is it transposed?"),
        (np.ones((5, 2, 3)), ("T", "N", "H"), ValueError,
         "f: a must have shape (T, N, H) = (4, 3, 2); got (5, 2, 3)."),
        (np.ones((2, 9)), ("K", "H"), ValueError,
         "f: a must have shape (K, H) = (K, 2); got (2, 9). Is it transposed?"),
        (np.ones(3), ("H",), ValueError, "f: a must have shape (H,) = (2,); got (3,)."),
        (np.ones((1, 2)), ("H",), ValueError, "f: a must have shape (H,) = (2,); got (1, 2)."),
        (1.0, ("K",), ValueError, "f: a must have shape (K,) = (K,); got ()."),
    ],
)  # fmt: skip
def test_what_is_no_array_of_the_shape_is_named(value, axes, error, message):
    refused(error, message, checks.as_array, "f", "a", value, axes, SIZES)


@pytest.mark.skipif(np.dtype(np.longdouble) == np.float64, reason="long doubles are doubles here")
def test_long_doubles_are_refused():
    for dtype, name in ((np.longdouble, "longdouble"), (np.clongdouble, "clongdouble")):
        message = f"f: a must be float64 or complex128 at most; got {np.dtype(dtype)}."
        refused(TypeError, message, checks.as_array, "f", "a", np.ones(2, dtype), ("H",), SIZES)
        refused(TypeError, message, checks.of_shape, "f", "a", np.ones(2, dtype))
        assert name in str(dtype)


def test_an_axis_of_no_length_is_a_number_in_the_message():
    message = "f: a must have shape (N, H) = (0, 2); got (1, 2)."
    refused(ValueError, message, checks.as_array, "f", "a", np.ones((1, 2)), ("N", "H"), {"N": 0, "H": 2})
    message = "f: a must have shape (N, H) = (0, 2); got (2, 0). Is it transposed?"
    refused(ValueError, message, checks.as_array, "f", "a", np.ones((2, 0)), ("N", "H"), {"N": 0, "H": 2})


def test_arrays_are_not_copied_and_whole_numbers_become_float64():
    for dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128):
        a = np.ones((3, 2), dtype)
        assert checks.as_array("f", "a", a, ("N", "H"), SIZES) is a
    for dtype in (bool, np.uint8, int):
        found = checks.as_array("f", "a", np.ones(2, dtype), ("H",), SIZES)
        assert found.dtype == np.float64 and found.tolist() == [1, 1]
    assert checks.as_array("f", "a", np.ones((7, 2)), ("K", "H"), SIZES).shape == (7, 2)
    assert checks.of_shape("f", "a", [[1, 2]]).shape == (1, 2)
    assert checks.of_shape("f", "a", 3).shape == ()
    message = "f: a must have shape (axis0, axis1) = (1, 2); got (1, 3)."
    refused(ValueError, message, checks.of_shape, "f", "a", np.ones((1, 3)), (1, 2))


def test_integers_lie_in_their_range_and_can_be_subtracted():
    for value in ([0, 5], np.array([0, 5], np.uint64), np.array([5], np.int8)):
        found = checks.as_integers("f", "i", value, 0, 5)
        assert found.dtype.kind == "i" and found.tolist() == list(value)
    assert checks.as_integers("f", "i", np.zeros((0, 3), int), 7, 5).shape == (0, 3)
    refused(TypeError, "f: i must hold integers; got dtype float64.", checks.as_integers, "f", "i", [1.0], 0, 5)
    refused(ValueError, "f: i must lie in 0..5; got 0..6.", checks.as_integers, "f", "i", [0, 6], 0, 5)
    refused(ValueError, "f: i must lie in 0..5; got -1..5.", checks.as_integers, "f", "i", [-1, 5], 0, 5)
    refused(ValueError, "f: i must have shape (3,); got (2,).", checks.as_integers, "f", "i", [1, 2], 0, 5, (3,))
    assert checks.as_integers("f", "i", [1, 2], 0, 5, (2,)).tolist() == [1, 2]
    assert checks.as_tokens("f", "i", [[1, 2]], 0, 5).shape == (1, 2)
    refused(ValueError, "f: i must have shape (T, N); got (2,).", checks.as_tokens, "f", "i", [1, 2], 0, 5)


def test_lengths_become_a_mask():
    wanted = [[True, False, True], [True, False, False]]
    for dtype in (int, np.uint64):
        assert checks.as_lengths("f", np.array([2, 0, 1], dtype), 2, 3).tolist() == wanted
    assert checks.as_lengths("f", np.zeros(0, int), 2, 0).shape == (2, 0)
    refused(TypeError, "f: lengths must hold integers; got dtype bool.", checks.as_lengths, "f", [True], 2, 1)
    refused(ValueError, "f: lengths must have shape (N,) = (3,); got (1,).", checks.as_lengths, "f", [1], 2, 3)
    refused(ValueError, "f: lengths must lie in 0..T = 0..2; got 0..3.", checks.as_lengths, "f", [0, 3], 2, 2)
    refused(ValueError, "f: ls must lie in 0..T = 0..2; got -1..2.", checks.as_lengths, "f", [2, -1], 2, 2, name="ls")


def test_a_cache_belongs_to_its_cell_and_sizes():
    p, cache = SimpleNamespace(D=2, H=3), (np.ones((5, 2)), np.ones((5, 3)))
    checks.check_cache("f", cache, tuple, p)
    refused(TypeError, "f: cache must be a tuple; got list.", checks.check_cache, "f", [], tuple, p)
    for D, H in ((1, 3), (2, 4)):
        message = f"f: cache must be of a step with D = {D} and H = {H}; got D = 2 and H = 3."
        refused(ValueError, message, checks.check_cache, "f", cache, tuple, SimpleNamespace(D=D, H=H))
    check_sizes("f", {"D": 2, "H": 3}, p)
    message = "f: cache must be of a step with H = 3; got 4."
    refused(ValueError, message, check_sizes, "f", {"D": 2, "H": 4}, p)


# ------------------------------------------------------------------------------------------------ states and parameters


def test_states_must_have_one_form():
    a = np.ones(2)
    message = "map_state: function must be callable, and states at least one; got "
    refused(TypeError, message + "int.", map_state, 3, a)
    refused(TypeError, message + "ufunc.", map_state, np.add)
    for other in (a, (a,)):
        message = f"map_state: states must have one form, LSTMState; got {other!r}."
        refused(TypeError, message, map_state, np.add, LSTMState(a, a), other)
    found = map_state(np.add, LSTMState(a, 2 * a), LSTMState(a, a))
    assert type(found) is LSTMState and found.c.tolist() == [3, 3]
    assert map_state(np.negative, (a, (a,)))[1][0].tolist() == [-1, -1]


def test_a_state_has_the_form_and_the_sizes_of_its_cell():
    p = ntm_init(RNG(0), 2, 4, R=4, M=3)
    like = zero_state(p, 5)
    kind = type(like).__name__
    refused(TypeError, f"f: s must be a {kind}; got tuple.", check_state, "f", "s", (), like)
    refused(TypeError, f"f: s must be a {kind}; got ndarray.", check_state, "f", "s", np.ones(3), like)
    assert all(a is b for a, b in zip(check_state("f", "s", like, like), like, strict=True))
    wrong = like._replace(**{like._fields[-1]: np.ones((5, 9))})
    message = f"f: s.{like._fields[-1]} must have shape (axis0, axis1, axis2) = {np.shape(like[-1])}; got (5, 9)."
    refused(ValueError, message, check_state, "f", "s", wrong, like)
    refused(ValueError, "f: s must have shape (N, H) = (5, 2); got (5, 3).",
            check_state, "f", "s", np.ones((5, 3)), np.ones((5, 2)))  # fmt: skip


def test_a_stack_may_have_grown_but_all_of_it():
    like = zero_state(stack_rnn_init(RNG(0), 2, 4, 3), 5)
    grown = type(like)(*(np.ones((a.shape[0], 7, *a.shape[2:])) if a.shape[1:2] == (0,) else a for a in like))
    assert check_state("f", "s", grown, like) == grown
    growing = [name for name, a in zip(like._fields, like, strict=True) if a.shape[1:2] == (0,)]
    assert len(growing) == 2
    shorter = grown._replace(**{growing[1]: getattr(grown, growing[1])[:, :6]})
    with pytest.raises(ValueError, match=rf"f: s\.{growing[1]} must have shape .*5, 7.*; got \(5, 6"):
        check_state("f", "s", shorter, like)
    with pytest.raises(ValueError, match=rf"f: s\.{growing[0]} must have shape"):
        check_state("f", "s", grown, like, grown=True)


def test_parameters_are_laid_on_a_buffer_of_their_size():
    p = gru_init(RNG(0), 2, 3)
    for flat in (np.zeros(p.size + 1), np.zeros(2 * p.size)[::2]):
        message = f"GRUParams: flat must be contiguous with shape ({p.size},); got {flat.shape}."
        refused(ValueError, message, p.on, flat)
    both = bundle(a=p, b=linear_init(RNG(0), 3, 1))
    message = f"bundle: flat must have shape ({both.size},); got ({both.size + 1},)."
    refused(ValueError, message, both.on, np.zeros(both.size + 1))
    refused(TypeError, "bundle: a must be a Params; got int.", bundle, a=3)
    refused(ValueError, "bundle: expected at least one member, such as rnn=gru_init(rng, D, H).", bundle)
    message = "elman_on: W must have more rows than columns, H + D and H; got shape (3, 3)."
    refused(ValueError, message, elman_on, np.ones((3, 3)), "tanh")


@pytest.mark.parametrize(
    ("made", "change", "error", "message"),
    [
        (SGD, {"lr": -1}, ValueError, "lr must be >= 0; got -1."),
        (SGD, {"lr": 0}, None, ""),
        (SGD, {"momentum": 1.0}, ValueError, "momentum must be >= 0 and < 1; got 1."),
        (SGD, {"momentum": 0.0}, None, ""),
        (Adam, {"betas": (0.9, 1.0)}, ValueError, "betas must be >= 0 and < 1; got 1."),
        (Adam, {"betas": (0.5, 0.25)}, None, ""),
        (Adam, {"eps": 0.0}, ValueError, "eps must be > 0; got 0."),
        (Adam, {"k": -1}, ValueError, "k must be at least 0; got -1."),
        (Adam, {"k": 0}, None, ""),
        (Adam, {"m": ["a"] * 8}, TypeError, "m must hold numbers; got dtype <U1."),
    ],
)  # fmt: skip
def test_an_optimiser_resumes_from_a_state_it_could_be_in(made, change, error, message):
    p, _ = draw(0, lambda rng, D, H: linear_init(rng, 3, 2))
    one = made(p, 0.1, momentum=0.5) if made is SGD else made(p, 0.1)
    before = one.state_dict()
    before = {name: np.copy(value) for name, value in before.items()}
    state = one.state_dict() | change
    if error is not None:
        refused(error, f"{made.__name__}.load_state_dict: {message}", one.load_state_dict, state)
        state = before
    else:
        one.load_state_dict(state)
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(value, state[name])
