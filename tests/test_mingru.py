"""The minGRU. What all cells have in common is in test_cell.py."""

import numpy as np
import pytest
from helpers import rng

from gru_book.cells import mingru_backward, mingru_forward, mingru_init, mingru_step
from gru_lib import gradcheck

N, D, H = 3, 2, 4
gates = pytest.mark.parametrize("gate", ["sigmoid", "tanh"])


@gates
def test_step_follows_the_equations(gate):
    p = mingru_init(rng(), D, H, gate=gate)
    p.b[:] = rng(1).normal(size=2 * H)
    x, h_prev = rng(2).normal(size=(N, D)), rng(3).normal(size=(N, H))
    h, _ = mingru_step(x, h_prev, p)
    z = 1 / (1 + np.exp(-(x @ p.W[:, :H] + p.b[:H])))
    if gate == "tanh":
        z = 2 * z - 1
    n = x @ p.W[:, H:] + p.b[H:]
    np.testing.assert_allclose(h, z * h_prev + (1 - z) * n, rtol=0, atol=1e-15)


@gates
@pytest.mark.parametrize("method", ["loop", "doubling", "chunked"])
@pytest.mark.parametrize("T", [7, 40])
@pytest.mark.parametrize("padded", [False, True])
def test_gradients_by_every_scan(gate, method, T, padded):
    p = mingru_init(rng(), D, H, gate=gate)
    p.flat[:] = rng(1).normal(size=p.size)
    xs, h0, dhs = rng(2).normal(size=(T, N, D)), rng(3).normal(size=(N, H)), rng(4).normal(size=(T, N, H))
    lengths = [T, 0, T // 2] if padded else None

    def loss(xs, h0, p):
        hs, h_T, _ = mingru_forward(xs, h0, p, lengths=lengths, method=method)
        return (hs * dhs).sum() + (h_T * dhs[0]).sum()

    tape = mingru_forward(xs, h0, p, lengths=lengths, method=method)[2]
    dxs, dh0, grads = mingru_backward(dhs, dhs[0], tape, p, method=method)
    report = gradcheck(loss, {"xs": xs, "h0": h0, "p": p}, {"xs": dxs, "h0": dh0, "p": grads})
    assert report.worst < 1e-13, report


def test_nothing_in_the_gate_or_the_candidate_sees_the_state():
    """The state enters once, multiplied by z: two starts differ after T steps by their difference times all z."""
    p, xs = mingru_init(rng(), D, H), rng(1).normal(size=(6, N, D))
    a, b = rng(2).normal(size=(2, N, H))
    (_, a_T, tape), (_, b_T, _) = (mingru_forward(xs, h0, p) for h0 in (a, b))
    np.testing.assert_allclose(a_T - b_T, np.prod(tape.z, axis=0) * (a - b), rtol=1e-12)


def test_a_unit_with_a_factor_of_minus_one_counts_modulo_two():
    """z = −1 where the input is 1, else 1; h = ½ ± ½: parity, without an error over any length."""
    p = mingru_init(rng(), 2, 1, gate="tanh")
    p.W_z[:, 0], p.W_n[:], p.b[:] = [80, -80], 0.5, 0
    bits = rng(1).integers(0, 2, (20_000, 2))
    hs, _, _ = mingru_forward(np.eye(2)[bits], None, p)
    np.testing.assert_allclose(hs[:, :, 0], np.cumsum(bits, axis=0) % 2, rtol=0, atol=1e-12)
