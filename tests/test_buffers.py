"""Memory that is used again must never be memory that somebody still sees."""

import gc

import numpy as np
import pytest

from gru_lib import _buffers, gru_forward, gru_init
from gru_lib._buffers import empty

F8 = np.dtype(np.float64)


@pytest.fixture(autouse=True)
def nothing_waiting():
    _buffers._waiting.clear()
    yield
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
