"""Memory that is used again must never be memory that somebody still sees."""

import copy
import gc
import pickle
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import gru_lib
from gru_lib import buffers as _buffers
from gru_lib import gru_backward, gru_forward, gru_init
from gru_lib.buffers import Pooled

F8 = np.dtype(np.float64)


@pytest.fixture(autouse=True)
def nothing_waiting():
    _buffers._waiting.clear()
    gc.freeze()  # what other tests left behind need not be looked through at every gc.collect()
    yield
    gc.unfreeze()
    _buffers._waiting.clear()


def pooled(size):
    """So many numbers from the pool."""
    return Pooled(np.empty, size, F8)


def test_what_waits_is_bounded(monkeypatch):
    monkeypatch.setattr(_buffers, "_MOST", 1_000_000)
    arrays = [pooled(10_000 + i) for i in range(30)]
    del arrays
    gc.collect()
    assert 900_000 < sum(chain.nbytes for chain in _buffers._waiting.values()) <= 1_000_000


def test_too_much_drops_what_was_asked_for_longest_ago(monkeypatch):
    monkeypatch.setattr(_buffers, "_MOST", 1_000_000)
    for size in (50_000, 60_000, 70_000):  # 400 and 480 KB fit; with 560 more, only these do
        del_me = pooled(size)
        del del_me
        gc.collect()
    assert [size for _, size, _ in _buffers._waiting] == [70_000]
    del_me = pooled(1_000_000)
    del del_me
    gc.collect()
    assert _buffers._waiting == {}


def test_of_the_kind_that_came_last_one_item_is_dropped_at_a_time(monkeypatch):
    monkeypatch.setattr(_buffers, "_MOST", 1_000_000)
    arrays = [pooled(50_000) for _ in range(4)]
    del arrays
    gc.collect()
    assert waiting() == {(np.empty, 50_000, F8): 2}


def test_not_more_kinds_wait_than_allowed(monkeypatch):
    monkeypatch.setattr(_buffers, "_KINDS", 3)
    for size in range(10_000, 10_006):
        del_me = pooled(size)
        del del_me
        gc.collect()
    assert [size for _, size, _ in _buffers._waiting] == [10_003, 10_004, 10_005]


def test_what_is_pooled_serves_again_when_it_is_gone_and_not_before():
    made = []

    def make(K):
        made.append(np.zeros(K))
        return made[-1]

    first, second = Pooled(make, 3), Pooled(make, 3)
    assert first.it is made[0] and second.it is made[1]
    del first
    assert Pooled(make, 3).it is made[0] and len(made) == 2
    assert Pooled(make, 4).it is made[2]


def test_nothing_waits_of_what_could_not_be_made():
    with pytest.raises(ZeroDivisionError):
        Pooled(lambda: 1 / 0)
    gc.collect()
    assert _buffers._waiting == {}


def counted():
    return sum(chain.nbytes for chain in _buffers._waiting.values())


def waiting():
    """How many items of each kind wait; their sizes must add up."""
    found = {}
    for key, chain in _buffers._waiting.items():
        items = list(chain_of(chain))
        assert chain.nbytes == sum(it.nbytes for it in items)
        found[key] = len(items)
    return found


def chain_of(chain):
    while chain is not None:
        yield chain.it
        chain = chain.before


@pytest.mark.parametrize("cell", ["gru", "lstm", "elman"])
@pytest.mark.parametrize(("T", "N", "H"), [(4, 1, 16), (64, 1, 4), (65, 2, 4), (64, 4, 16), (35, 32, 64)])
def test_what_waits_is_as_large_as_the_pool_believes(cell, T, N, H):
    """Views of short sequences are most of a small net's tape."""
    p = getattr(gru_lib, f"{cell}_init")(np.random.default_rng(0), 2, H)
    forward, backward = getattr(gru_lib, f"{cell}_forward"), getattr(gru_lib, f"{cell}_backward")
    xs = np.ones((T, N, 2))
    backward(None, None, forward(xs, None, p)[2], p)  # what is made once
    _buffers._waiting.clear()
    gc.collect()
    tracemalloc.start(1)
    try:
        before = tracemalloc.get_traced_memory()[0]
        tapes = [forward(xs, None, p)[2] for _ in range(20)]
        for tape in tapes:
            backward(None, None, tape, p)
        del tapes, tape
        gc.collect()
        really = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0 < 0.6 * counted() < really < 1.2 * counted()


def lines_of(work):
    """How many lines of the pool `work` runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        count += event == "line"
        return trace

    run_traced(trace, work)
    return count


def run_traced(trace, work):
    def enter(frame, event, arg):
        return trace if frame.f_code.co_filename == _buffers.__file__ else None

    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(None)


def test_an_interrupt_at_any_line_breaks_nothing(monkeypatch):
    """The pool may forget what waits. It never gives one thing twice, counts wrongly, or stops taking back."""
    monkeypatch.setattr(_buffers, "_MOST", 100)

    def item():
        return np.zeros(4)  # 32 bytes: three fit

    def work():
        for _ in range(3):
            _buffers._release("kind", held.pop())
        for _ in range(4):  # the last time there is none
            held.append(_buffers._take("kind"))
        _buffers._release("another", item())
        _buffers._release("another", item())  # too much: one kind is dropped

    held = [item() for _ in range(3)]
    for k in range(1, lines_of(work) + 1):
        _buffers._waiting.clear()
        held, at = [item() for _ in range(3)], 0

        def interrupt(frame, event, _, k=k):
            nonlocal at
            at += event == "line"
            if event == "line" and at == k:
                raise KeyboardInterrupt
            return interrupt

        with pytest.raises(KeyboardInterrupt):
            run_traced(interrupt, work)
        mine = [id(a) for a in held if a is not None]
        there = [id(a) for chain in _buffers._waiting.values() for a in chain_of(chain)]
        assert len({*mine, *there}) == len(mine) + len(there)
        _buffers._release("new", item())
        assert waiting()["new"] == 1 and counted() <= 100
        assert _buffers._take("new") is not None


def test_threads_share_the_pool_without_an_error_and_without_a_wrong_number(monkeypatch):
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: errors.append(error.exc_value))
    monkeypatch.setattr(_buffers, "_MOST", 2_000_000)  # so that much is dropped, too
    p = gru_init(np.random.default_rng(0), 3, 8)
    cases = {T: np.random.default_rng(T).normal(size=(T, 40, 3)) for T in (3, 20, 70)}

    def grads(xs):
        hs, _, tape = gru_forward(xs, None, p)
        return gru_backward(hs, None, tape, p)[2].flat

    right = {T: grads(xs) for T, xs in cases.items()}

    def work():
        try:
            for T in [*cases] * 60:
                np.testing.assert_array_equal(grads(cases[T]), right[T])
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert counted() <= 2_000_000 and waiting()


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
    for x, expected in zip(xs, alone, strict=True):  # nor does what a copy took come back changed
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
