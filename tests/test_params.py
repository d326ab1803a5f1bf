"""Parameters on one flat buffer."""

import copy
import pickle

import numpy as np
import pytest
from helpers import refused, rng

from gru_lib import Bundle, Params, bidirectional, bundle, gru_init, linear_init, stack


def test_gate_views_share_the_flat_buffer():
    p = gru_init(rng(0), 2, 3)
    p.b_z[:] = 7
    p.W_hn[0, 1] = 9
    assert (p.b[3:6] == 7).all() and p.W_h[0, 7] == 9 and p.flat[p.W_x.size + 7] == 9
    assert all(np.shares_memory(a, p.flat) for _, a in p.items())


def test_arrays_cover_the_buffer_once():
    p = gru_init(rng(0), 2, 3, reset_after=True)
    p.flat[:] = np.arange(p.size)
    assert sorted(np.concatenate([a.ravel() for _, a in p.items()])) == list(range(p.size))
    assert [name for name, _ in p.items()] == ["W_x", "W_h", "b", "b_hn"]


def test_rebinding_a_name_is_refused():
    p = gru_init(rng(0), 2, 3)
    with pytest.raises(AttributeError, match=r"GRUParams.b_z cannot be assigned; .* in place: p.b_z\[...\] = value"):
        p.b_z = np.zeros(3)
    p.flat -= p.flat
    p.b_z += 1
    assert p.flat.sum() == 3, "in-place arithmetic is no rebinding"
    with pytest.raises(AttributeError, match=r"GRUParams\.H cannot be assigned"):
        p.H = 5


GRU = gru_init(rng(0), 2, 3, convention="write")


@pytest.mark.parametrize("p", [GRU, bidirectional(GRU, GRU.copy()), stack(GRU, gru_init(rng(1), 3, 3), residual=True)])
def test_copies_share_nothing_and_keep_everything(p):
    for q in (p.copy(), copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p)), p.astype(np.float64)):
        np.testing.assert_array_equal(q.flat, p.flat)
        assert type(q) is type(p) and q.options == p.options and not np.shares_memory(q.flat, p.flat)
        assert all(np.shares_memory(a, q.flat) for _, a in q.items())
    assert [a.dtype for _, a in p.astype(np.float32).items()] == [np.float32] * len(list(p.items()))
    assert not p.zeros_like().flat.any() and p.zeros_like().options == p.options
    assert p.astype(np.float32).zeros_like().flat.dtype == np.float32


def test_bundle_puts_members_on_one_buffer():
    rnn, out = gru_init(rng(0), 2, 3), linear_init(rng(1), 3, 1)
    m = bundle(rnn=rnn, out=out)
    assert isinstance(m, Bundle) and m.size == rnn.size + out.size
    np.testing.assert_array_equal(m.rnn.W_x, rnn.W_x)
    m.flat[:] = 1
    assert m.rnn.W_hn[0, 0] == 1 and m.out.b[0] == 1
    assert rnn.W_x[0, 0] != 1, "the parts given are copied"
    assert [name for name, _ in m.items()] == ["rnn.W_x", "rnn.W_h", "rnn.b", "out.W", "out.b"]
    for q in (m.copy(), m.zeros_like(), m.astype(np.complex128), pickle.loads(pickle.dumps(m))):
        assert q.rnn.reset_after is False and np.shares_memory(q.out.W, q.flat)


@pytest.mark.parametrize(("bad", "match"), [
    ({"shapes": {"W": 3}}, "shapes must be tuples of sizes; W has 3"),
    ({"parts": 3}, "parts must be a dict"), ({"options": [1]}, "options must be a dict"),
    ({"flat": [1, 2]}, "flat must be a ndarray; got list"),
    ({"flat": np.zeros(2, int)}, "flat: dtype must be float32, .*; got int64"),
])  # fmt: skip
def test_parameters_are_made_of_names_and_shapes(bad, match):
    refused((TypeError, ValueError), f"^Params: {match}", Params, **{"shapes": {"W": (2,)}, **bad})


def test_one_object_is_no_two_members():
    """As copies they would no longer be tied."""
    p = gru_init(np.random.default_rng(0), 2, 3)
    whole = bundle(rnn=p, again=p.copy())
    for members in ({"a": p, "b": p}, {"a": whole, "b": whole.rnn}, {"a": whole.rnn, "b": whole.rnn}):
        refused(ValueError, "bundle: a and b hold the same numbers", bundle, **members)
    refused(ValueError, "forward and backward hold the same numbers", bidirectional, p, p)
    assert bundle(a=whole.rnn, b=whole.again).size == 2 * p.size
    assert whole.on(np.zeros(whole.size)).size == whole.size
