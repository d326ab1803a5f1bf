"""The linear recurrence in three ways, and its gradient."""

import numpy as np
import pytest
from helpers import rng

from gru_book.scan import scan, scan_backward
from gru_lib import gradcheck

METHODS = ["loop", "doubling", "chunked", "auto"]
methods = pytest.mark.parametrize("method", METHODS)
# Lengths around squares and powers of two, where the last chunk and the last round differ.
LENGTHS = [1, 2, 3, 4, 5, 15, 16, 17, 40]


def case(T, N=2, H=3):
    draw = rng()
    return draw.uniform(-1, 1, (T, N, H)), draw.normal(size=(T, N, H)), draw.normal(size=(N, H))


@methods
@pytest.mark.parametrize("T", [0, *LENGTHS])
def test_scan_is_the_recurrence(method, T):
    z, w, h0 = case(T)
    hs = scan(z, w, h0, method=method)
    assert hs.shape == (T + 1, 2, 3)
    h = h0
    np.testing.assert_array_equal(hs[0], h0)
    for t in range(T):
        h = z[t] * h + w[t]
        np.testing.assert_allclose(hs[t + 1], h, rtol=1e-13, atol=1e-14)


@methods
@pytest.mark.parametrize("T", LENGTHS)
def test_backward_matches_complex_step(method, T):
    z, w, h0 = case(T)
    dhs, dh_T = rng(1).normal(size=z.shape), rng(2).normal(size=h0.shape)

    def loss(z, w, h0):
        hs = scan(z, w, h0, method=method)
        return (hs[1:] * dhs).sum() + (hs[-1] * dh_T).sum()

    dz, dw, dh0 = scan_backward(dhs, dh_T, z, scan(z, w, h0), method=method)
    report = gradcheck(loss, {"z": z, "w": w, "h0": h0}, {"z": dz, "w": dw, "h0": dh0})
    assert report.worst < 1e-13, report


def test_over_no_steps_state_and_gradient_pass_as_they_are():
    z, w, h0 = case(0)
    dz, dw, dh0 = scan_backward(w, h0, z, scan(z, w, h0))
    assert dz.shape == dw.shape == (0, 2, 3)
    np.testing.assert_array_equal(dh0, h0)


@methods
def test_arguments_stay_as_they_are(method):
    arguments = case(20)
    before = [a.copy() for a in arguments]
    z, w, h0 = arguments
    hs = scan(z, w, h0, method=method)
    kept = hs.copy()
    scan_backward(w, h0, z, hs, method=method)
    for a, b in zip((*arguments, hs), (*before, kept), strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_start_is_a_start_from_zeros():
    z, w, h0 = case(7)
    np.testing.assert_array_equal(scan(z, w), scan(z, w, 0 * h0))
    for a, b in zip(scan_backward(w, None, z, scan(z, w)), scan_backward(w, 0 * h0, z, scan(z, w)), strict=True):
        np.testing.assert_array_equal(a, b)


@methods
def test_dtype_is_the_one_that_all_promote_to(method):
    z, w, h0 = (a.astype(np.float32) for a in case(20))
    assert scan(z, w, h0, method=method).dtype == np.float32
    assert scan(z, w, h0.astype(np.float64), method=method).dtype == np.float64
    assert scan(z, w + 0j, h0, method=method).dtype == np.complex64


@methods
@pytest.mark.parametrize("after", [1.0, 0.0])
def test_factors_whose_product_overflows_do_no_harm(method, after):
    """Where the loop stays finite, the products of its factors need not."""
    z, w, _ = case(400)
    z[:] = after
    z[20:32], w[:40] = 1e40, 0
    hs = scan(z, w, method=method)
    assert np.isfinite(hs).all()
    np.testing.assert_allclose(hs, scan(z, w, method="loop"), rtol=1e-12)
