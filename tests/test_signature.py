"""A tape knows the parameters it was made with: what the fingerprint sees of many numbers. The rest: test_cell.py."""

import copy
import pickle

import numpy as np
import pytest

from gru_lib import Adam, Params, gru_backward, gru_forward, gru_init
from gru_lib._core import signature
from gru_lib._core.signature import check_signature, sign


def many(dtype=np.float64, D=30, H=60):
    """Parameters of more bytes than are compared one by one."""
    p = gru_init(np.random.default_rng(0), D, H, dtype=dtype)
    assert p.flat.nbytes > signature._WHOLE
    return p


def passes(p, made):
    try:
        check_signature("test", made, p)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_a_change_of_any_one_of_many_numbers_is_seen(dtype):
    p = many(dtype)
    made = sign("test", p)
    for i in range(p.size):
        kept = p.flat[i]
        p.flat[i] = kept * 1.0000003 + 1e-30
        assert not passes(p, made), i
        p.flat[i] = kept
    assert passes(p, made)


@pytest.mark.parametrize("change", ["Adam", "another net", "signs", "W_h alone", "gates exchanged"])
def test_what_goes_wrong_in_practice_is_seen(change):
    p = many()
    made = sign("test", p)
    if change == "Adam":
        Adam(p, 1e-9).step(p.copy())
    elif change == "another net":
        p.flat[:] = gru_init(np.random.default_rng(1), 30, 60).flat
    elif change == "signs":  # the integers' sum stays: an even number of them turns
        p.flat[:] *= -1
    elif change == "W_h alone":
        p.W_h[:] *= 0.5
    else:  # the sum stays
        p.W_h[:, :60], p.W_h[:, 60:120] = p.W_hz.copy(), p.W_hr.copy()
    assert not passes(p, made)


def test_a_parameter_that_is_nan_is_the_same_parameter():
    for p in (many(), gru_init(np.random.default_rng(0), 2, 3)):
        p.b[:] = np.nan
        assert passes(p, sign("test", p))


def test_a_copied_tape_goes_with_copied_parameters():
    p = many()
    xs = np.random.default_rng(0).normal(size=(40, 2, 30))
    hs, _, tape = gru_forward(xs, None, p)
    right = gru_backward(hs, None, tape, p)[2].flat
    for other in (copy.deepcopy((tape, p)), pickle.loads(pickle.dumps((tape, p)))):
        np.testing.assert_array_equal(gru_backward(hs, None, *other)[2].flat, right)


def test_parameters_made_afresh_are_compared_by_what_they_are():
    """Those of one init share their form; these do not, and the names of parts are no part of it."""
    shapes, options = {"W": (2, 3)}, {"D": 2, "K": 3}
    p, same = (Params(shapes, parts=parts, options=options) for parts in ({}, {"W_1": ("W", np.s_[:1])}))
    made = sign("test", p)
    assert passes(same, made)
    with pytest.raises(ValueError, match=r"test: p must have the shape of W = \(2, 3\) as when .*; got \(3, 2\)"):
        check_signature("test", made, Params({"W": (3, 2)}, options=options))
    with pytest.raises(ValueError, match=r"test: p must have K = 3 as when test made the tape; got None"):
        check_signature("test", made, Params(shapes, options={"D": 2}))
