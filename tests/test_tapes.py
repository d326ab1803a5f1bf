"""Tapes that live at once, copies of them, and threads: nobody's memory is anybody else's."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers import leaves, same

from gru_lib import gru_backward, gru_forward, gru_init


def test_threads_use_one_net_at_once_without_a_wrong_number():
    p = gru_init(np.random.default_rng(0), 3, 8)
    cases = {T: np.random.default_rng(T).normal(size=(T, 40, 3)) for T in (3, 20, 70)}

    def grads(xs):
        hs, _, tape = gru_forward(xs, None, p)
        return gru_backward(hs, None, tape, p)[2].flat

    right = {T: grads(xs) for T, xs in cases.items()}
    with ThreadPoolExecutor(4) as threads:
        for T, found in threads.map(lambda T: (T, grads(cases[T])), [*cases] * 20):
            np.testing.assert_array_equal(found, right[T])


@pytest.mark.parametrize("N", [3, 300])
@pytest.mark.parametrize("T", [4, 100])
def test_tapes_that_live_at_once_keep_what_they_hold(T, N):
    rng = np.random.default_rng(0)
    p = gru_init(rng, 3, 4)
    xs, dhs = rng.normal(size=(3, T, N, 3)), rng.normal(size=(T, N, 4))

    alone = [leaves(gru_backward(dhs, None, gru_forward(x, None, p)[2], p)) for x in xs]
    tapes = [gru_forward(x, None, p)[2] for x in xs]
    copies = [copy.deepcopy(tapes[0]), pickle.loads(pickle.dumps(tapes[1]))]
    for tape, expected in zip((*copies, *tapes), (*alone[:2], *alone), strict=True):
        same(gru_backward(dhs, None, tape, p), expected)
