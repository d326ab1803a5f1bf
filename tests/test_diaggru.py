"""The diagonal GRU. What all cells have in common is in test_cell.py."""

import numpy as np
import pytest
from helpers import randomised, rng

from gru_book.cells import diaggru_backward, diaggru_forward, diaggru_init
from gru_lib import gru_backward, gru_forward, gru_init

T, N, D, H = 7, 3, 2, 4


def twins():
    """A diagonal GRU, and a GRU whose recurrent matrices are diagonal and hold the same numbers."""
    p, q = randomised(diaggru_init(rng(), D, H), rng(1)), gru_init(rng(), D, H)
    q.W_x[:], q.b[:] = p.W, p.b
    for gate in "rzn":
        getattr(q, f"W_h{gate}")[:] = np.diag(getattr(p, f"u_{gate}"))
    return p, q


@pytest.mark.parametrize("lengths", [None, [T, 0, 4]])
def test_it_is_a_gru_whose_recurrent_matrices_are_diagonal(lengths):
    p, q = twins()
    xs, h0, dhs, dh_T = (rng(k).normal(size=s) for k, s in enumerate([(T, N, D), (N, H), (T, N, H), (N, H)]))
    hs, h_T, tape = diaggru_forward(xs, h0, p, lengths=lengths)
    theirs = gru_forward(xs, h0, q, lengths=lengths)
    np.testing.assert_allclose(hs, theirs[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(h_T, theirs[1], rtol=0, atol=1e-14)
    dxs, dh0, grads = diaggru_backward(dhs, dh_T, tape, p)
    wanted = gru_backward(dhs, dh_T, theirs[2], q)
    np.testing.assert_allclose(dxs, wanted[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(dh0, wanted[1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(grads.W, wanted[2].W_x, rtol=0, atol=1e-13)
    for gate in "rzn":
        diagonal = np.diag(getattr(wanted[2], f"W_h{gate}"))
        np.testing.assert_allclose(getattr(grads, f"u_{gate}"), diagonal, rtol=0, atol=1e-13)
