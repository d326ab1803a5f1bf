"""Memory that is used again must never be memory that somebody still sees."""

import copy
import gc
import pickle

import numpy as np
import pytest

from gru_lib import gru_backward, gru_forward, gru_init
from gru_lib._core import buffers as _buffers
from gru_lib._core.buffers import Loan, empty

F8 = np.dtype(np.float64)


@pytest.fixture(autouse=True)
def nothing_waiting():
    _buffers._waiting.clear()
    gc.freeze()  # what other tests left behind need not be looked through at every gc.collect()
    yield
    gc.unfreeze()
    _buffers._waiting.clear()


def address(a):
    return a.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_last_view_is_gone():
    a = empty((100, 200), F8)
    where, view = address(a), a[3:, ::2].T
    del a
    gc.collect()
    b = empty((100, 200), F8)
    assert address(b) != where, "a view of the first array still lives"
    del view
    gc.collect()
    c = empty((200, 100), F8)
    assert address(c) == where and c.shape == (200, 100)


def test_arrays_are_writable_aligned_and_of_the_dtype_asked_for():
    for dtype in (np.float32, np.float64, np.complex128):
        for _ in range(2):
            a = empty((300, 100), np.dtype(dtype))
            a[:] = 7
            assert a.dtype == dtype and a.flags.aligned and a.flags.c_contiguous and a.flags.writeable
            del a


def test_small_arrays_are_ordinary():
    assert empty((3, 4), F8).flags.owndata


def test_what_waits_is_bounded(monkeypatch):
    monkeypatch.setattr(_buffers, "_MOST", 1_000_000)
    arrays = [empty((10_000 + i,), F8) for i in range(30)]
    assert len({address(a) for a in arrays}) == 30
    del arrays
    gc.collect()
    assert sum(m.nbytes for some in _buffers._waiting.values() for m in some) <= 1_000_000


def test_too_much_drops_what_was_asked_for_longest_ago(monkeypatch):
    monkeypatch.setattr(_buffers, "_MOST", 1_000_000)
    for size in (50_000, 60_000, 70_000):  # 400 and 480 KB fit; with 560 more, only these do
        del_me = empty((size,), F8)
        del del_me
        gc.collect()
    assert list(_buffers._waiting) == [70_000 * 8]
    del_me = empty((1_000_000,), F8)
    del del_me
    gc.collect()
    assert _buffers._waiting == {}


def test_not_more_kinds_wait_than_allowed(monkeypatch):
    monkeypatch.setattr(_buffers, "_KINDS", 3)
    for size in range(10_000, 10_006):
        del_me = empty((size,), F8)
        del del_me
        gc.collect()
    assert list(_buffers._waiting) == [size * 8 for size in (10_003, 10_004, 10_005)]


def test_a_loan_is_lent_again_when_it_is_gone_and_not_before():
    made = []

    def make(K):
        made.append(np.zeros(K))
        return made[-1]

    first, second = Loan(make, 3), Loan(make, 3)
    assert first.it is made[0] and second.it is made[1]
    del first
    assert Loan(make, 3).it is made[0] and len(made) == 2
    assert Loan(make, 4).it is made[2]


def test_nothing_waits_of_what_could_not_be_made():
    with pytest.raises(ZeroDivisionError):
        Loan(lambda: 1 / 0)
    gc.collect()
    assert _buffers._waiting == {}


@pytest.mark.parametrize("N", [3, 300])
@pytest.mark.parametrize("T", [4, 100])
def test_tapes_that_live_at_once_keep_what_they_hold(T, N):
    rng = np.random.default_rng(0)
    p = gru_init(rng, 3, 4)
    xs, dhs = rng.normal(size=(3, T, N, 3)), rng.normal(size=(T, N, 4))

    def grads(tape):
        dxs, dh0, g = gru_backward(dhs, None, tape, p)
        return dxs, dh0, g.flat

    alone = [grads(gru_forward(x, None, p)[2]) for x in xs]
    tapes = [gru_forward(x, None, p)[2] for x in xs[:2]]
    copies = [copy.deepcopy(tapes[0]), pickle.loads(pickle.dumps(tapes[1]))]
    first = grads(tapes[0])
    del tapes[0]
    tapes.append(gru_forward(xs[2], None, p)[2])  # where the first was
    for tape, expected in zip((*copies, *tapes), (*alone[:2], *alone[1:]), strict=True):
        for found, value in zip(grads(tape), expected, strict=True):
            np.testing.assert_array_equal(found, value)
    for found, value in zip(first, alone[0], strict=True):
        np.testing.assert_array_equal(found, value)
    del tapes, copies, tape
    for x, expected in zip(xs, alone, strict=True):  # nor does what was lent to a copy come back changed
        for found, value in zip(grads(gru_forward(x, None, p)[2]), expected, strict=True):
            np.testing.assert_array_equal(found, value)


def test_results_of_two_passes_share_no_memory():
    rng = np.random.default_rng(0)
    p = gru_init(rng, 8, 64)
    xs = rng.normal(size=(2, 20, 40, 8))
    first, _, tape = gru_forward(xs[0], None, p)
    kept = first.copy(), tape.gate("z")
    second, _, _ = gru_forward(xs[1], None, p)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept[0])
    np.testing.assert_array_equal(tape.gate("z"), kept[1])
