"""The checks of arguments: what each lets through, and what it says of the rest."""

import re
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from gru_book.cells import ntm_init, stack_rnn_init
from gru_book.check.oracle import draw
from gru_lib import LSTMState, bundle, checks, gru_init, linear_init, map_state, zero_state
from gru_lib.cells.elman import elman_on
from gru_lib.loop import check_state
from gru_lib.optim import SGD, Adam
from gru_lib.params import Params

MANY = 2**31 - 1
SIZES = {"T": 4, "N": 3, "H": 2}
A = np.ones(2)
P = gru_init(np.random.default_rng(0), 2, 3)
NTM = zero_state(ntm_init(np.random.default_rng(0), 2, 4, R=4, M=3), 5)


def integer(value, **more):
    return checks.check_int("f", "n", value, **more)


def number(value, **more):
    return checks.check_number("f", "a", value, **more)


def array(value, *axes):
    return checks.as_array("f", "a", value, axes, SIZES)


def integers(value):
    return checks.as_integers("f", "i", value, 0, 5)


def lengths(value, T=2, N=3):
    return checks.as_lengths("f", value, T, N)


@pytest.mark.parametrize(("found", "wanted"), [
    (lambda: integer(np.int8(3)), 3),
    (lambda: integer(0, minimum=0), 0),
    (lambda: integer(MANY), MANY),
    (lambda: number(1e-300, above=0), 1e-300),
    (lambda: number(0, least=0, below=1), 0.0),
    (lambda: number(Fraction(1, 4)), 0.25),
    (lambda: checks.check_bool("f", "on", np.False_), False),
    (lambda: checks.check_choice("f", "way", "b", ("a", "b")), "b"),
    (lambda: array(np.ones(2, np.uint8), "H").tolist(), [1.0, 1.0]),
    (lambda: integers(np.array([0, 5], np.uint64)).dtype.kind, "i"),
    (lambda: lengths(np.array([2, 0, 1], np.uint64)).tolist(), [[True, False, True], [True, False, False]]),
    (lambda: map_state(np.add, LSTMState(A, 2 * A), LSTMState(A, A)).c.tolist(), [3.0, 3.0]),
    (lambda: checks.check_function("f", "g", None, optional=True), None),
])  # fmt: skip
def test_a_good_value_comes_back_as_python_has_it(found, wanted):
    found = found()
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_an_array_is_not_copied(dtype):
    a = np.ones((3, 2), dtype)
    assert array(a, "N", "H") is a


class Refuses:
    def __array__(self, *_, **__):
        raise RuntimeError("call detach first")


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: checks.check_instance("f", "p", 3, Params), TypeError, "f: p must be a Params; got int."),
    (lambda: gru_init(0, 2, 3), TypeError, "rng must be a Generator; got int. Give np.random.default_rng(0)."),
    (lambda: checks.check_function("f", "g", None), TypeError, "f: g must be a function; got NoneType."),
    (lambda: checks.check_sequence("f", "s", "ab"), TypeError, "f: s must be a tuple or list; got str."),
    (lambda: checks.check_sequence("f", "s", (1,), 2), ValueError, "f: s must have 2 entries; got 1."),
    (lambda: checks.check_bool("f", "on", "no"), TypeError, "f: on must be True or False; got 'no' (str)."),
    (lambda: integer(True), TypeError, "f: n must be an integer; got True (bool)."),
    (lambda: integer(2.0), TypeError, "f: n must be an integer; got 2.0 (float)."),
    (lambda: integer(-1, minimum=0), ValueError, "f: n must be at least 0; got -1."),
    (lambda: integer(MANY + 1), ValueError, "f: n must be at most 2147483647; got 2147483648."),
    (lambda: number("1"), TypeError, "f: a must be a number; got '1' (str)."),
    (lambda: number(Decimal(1)), TypeError, "f: a must be a number; got Decimal('1') (Decimal)."),
    (lambda: number(np.array([1.0])), TypeError, "f: a must be a number; got array([1.]) (ndarray)."),
    (lambda: number(0, above=0), ValueError, "f: a must be > 0; got 0."),
    (lambda: number(-0.5, least=0), ValueError, "f: a must be >= 0; got -0.5."),
    (lambda: number(1, above=0, below=1), ValueError, "f: a must be > 0 and < 1; got 1."),
    (lambda: checks.check_choice("f", "way", ["a"], ("a",)), ValueError, "f: way must be one of 'a'; got ['a']."),
    (lambda: checks.check_dtype("f", int), TypeError, "f: dtype must be float32, float64, .* got <class 'int'>."),
    (lambda: array([[1], [2, 3]], "N", "H"), TypeError, "f: a must be an array; got list: "),
    (lambda: array(Refuses(), "N", "H"), TypeError, "f: a must be an array; got Refuses: call detach first"),
    (lambda: array("text", "H"), TypeError, "f: a must hold numbers; got dtype <U4."),
    (lambda: array(None, "H"), TypeError, "f: a must hold numbers; got NoneType."),
    (lambda: array(np.ones((3, 3)), "N", "H"), ValueError, "f: a must have shape (N, H) = (3, 2); got (3, 3)."),
    (lambda: array(np.ones((2, 3)), "N", "H"), ValueError, "= (3, 2); got (2, 3). Is it transposed?"),
    (lambda: array(np.ones((2, 9)), "K", "H"), ValueError, "= (K, 2); got (2, 9). Is it transposed?"),
    (lambda: array(np.ones((4, 2)), "N", "H"), ValueError, "(4, 2). Time comes first: are the axes exchanged?"),
    (lambda: array(np.ones((3, 4, 2)), "T", "N", "H"), ValueError, "(3, 4, 2). Time comes first: are the axes"),
    (lambda: array(np.ones(4), "N", "H"), ValueError, "f: a must have shape (N, H) = (3, 2); got (4,)."),
    (lambda: array(1.0, "K"), ValueError, "f: a must have shape (K,) = (K,); got ()."),
    (lambda: integers([1.0]), TypeError, "f: i must hold integers; got dtype float64."),
    (lambda: integers([-1, 6]), ValueError, "f: i must lie in 0..5; got -1..6."),
    (lambda: lengths([True], N=1), TypeError, "f: lengths must hold integers; got dtype bool."),
    (lambda: lengths([1]), ValueError, "f: lengths must have shape (N,) = (3,); got (1,)."),
    (lambda: lengths([1, 1]), ValueError, "= (3,); got (2,). Time comes first: are the axes exchanged?"),
    (lambda: lengths([0, 3], N=2), ValueError, "f: lengths must lie in 0..2; got 0..3."),
    (lambda: checks.check_cache("f", [], tuple, P), TypeError, "f: cache must be a tuple; got list."),
    (
        lambda: checks.check_cache("f", (np.ones((5, 2)), np.ones((5, 4))), tuple, SimpleNamespace(D=2, H=3)),
        ValueError, "f: cache must be of a step with D = 2 and H = 3; got D = 2 and H = 4.",
    ),
    (lambda: map_state(np.add), TypeError, "states at least one; got ufunc."),
    (lambda: map_state(np.add, LSTMState(A, A), A), TypeError, "map_state: states must have one form, LSTMState"),
    (lambda: check_state("f", "s", A, NTM), TypeError, f"f: s must be a {type(NTM).__name__}; got ndarray."),
    (lambda: check_state("f", "s", NTM._replace(memory=A), NTM), ValueError, "f: s.memory must have shape"),
    (lambda: P.on(np.zeros(2 * P.size)[::2]), ValueError, f"flat must be contiguous with shape ({P.size},)"),
    (lambda: bundle(a=3), TypeError, "bundle: a must be a Params; got int."),
    (lambda: bundle(), ValueError, "bundle: expected at least one member"),
    (lambda: elman_on(np.ones((3, 3)), "tanh"), ValueError, "elman_on: W must have more rows than columns"),
])  # fmt: skip
def test_a_bad_value_is_named(call, error, message):
    with pytest.raises(error, match=re.escape(message).replace(r"\.\*", ".*")):
        call()


def test_a_stack_may_have_grown_but_all_of_it():
    like = zero_state(stack_rnn_init(np.random.default_rng(0), 2, 4, 3), 5)
    grown = type(like)(*(np.ones((a.shape[0], 7, *a.shape[2:])) if a.shape[1:2] == (0,) else a for a in like))
    assert check_state("f", "s", grown, like) == grown
    name = [name for name, a in zip(like._fields, like, strict=True) if a.shape[1:2] == (0,)][1]
    with pytest.raises(ValueError, match=rf"f: s\.{name} must have shape .*5, 7.*; got \(5, 6"):
        check_state("f", "s", grown._replace(**{name: getattr(grown, name)[:, :6]}), like)


@pytest.mark.parametrize(("made", "change", "message"), [
    (SGD, {"lr": -1}, "lr must be >= 0; got -1."),
    (SGD, {"momentum": 1.0}, "momentum must be >= 0 and < 1; got 1."),
    (Adam, {"betas": (0.9, 1.0)}, "betas must be >= 0 and < 1; got 1."),
    (Adam, {"eps": 0.0}, "eps must be > 0; got 0."),
    (Adam, {"k": -1}, "k must be at least 0; got -1."),
])  # fmt: skip
def test_an_optimiser_resumes_from_a_state_it_could_be_in(made, change, message):
    p, _ = draw(0, lambda rng, D, H: linear_init(rng, 3, 2))
    one = made(p, 0.1)
    before = {name: np.copy(value) for name, value in one.state_dict().items()}
    with pytest.raises(ValueError, match=f"{made.__name__}.load_state_dict: {message}"):
        one.load_state_dict(one.state_dict() | change)
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
