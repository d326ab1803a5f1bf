"""The Neural Turing Machine: where it reads and writes. Its gradients are in test_loop.py."""

import numpy as np
import pytest

from gru_book.cells import ntm_address, ntm_address_backward, ntm_forward, ntm_init
from gru_lib import gradcheck


def head(key, *, beta=50.0, g=50.0, shift=0, gamma=-50.0):
    """The raw numbers of a head: by default, by content alone, no shift, no sharpening."""
    s = np.full(3, -50.0)
    s[shift + 1] = 50.0
    return np.concatenate([np.arctanh(key), [beta, g], s, [gamma]])[None]


@pytest.mark.parametrize("row", [0, 2, 5])
def test_by_content_it_finds_the_row_that_points_the_same_way_and_by_place_it_moves_around_the_ring(row):
    memory, place = np.random.default_rng(0).normal(size=(1, 6, 3)), np.eye(6)
    found = ntm_address(head(0.5 * memory[0, row] / np.abs(memory[0, row]).max()), np.full((1, 6), 1 / 6), memory)[0]
    assert found.argmax() == row
    np.testing.assert_allclose(found.sum(), 1)
    for shift in (-1, 0, 1):
        w, _ = ntm_address(head(np.zeros(3), g=-50.0, shift=shift), place[[row]], memory)
        np.testing.assert_allclose(w, place[[(row + shift) % 6]], atol=1e-10)


@pytest.mark.parametrize("zero", ["row", "key"])
def test_zeros_have_the_cosine_0_and_a_gradient_that_is_right(zero):
    """They have no direction: 0 / 0 is kept away by a small number under the roots."""
    rng = np.random.default_rng(0)
    raw, before = head(np.array([0.4, -0.2, 0.3]), beta=2.0, g=1.0), np.eye(4)[[3]]
    memory, dw = rng.normal(size=(1, 4, 3)), rng.normal(size=4)
    raw[0, 5:] = 0  # every shift, and some sharpening
    if zero == "row":
        memory[0, 1] = 0
    else:
        raw[0, :3] = 0
    w, cache = ntm_address(raw, before, memory)
    assert np.isfinite(w).all() and not cache.cosine[0, [1] if zero == "row" else slice(None)].any()
    draw, dbefore, dmemory = ntm_address_backward(dw[None], cache)
    report = gradcheck(
        lambda raw, before, memory: (ntm_address(raw, before, memory)[0] * dw).sum(),
        {"raw": raw, "before": before, "memory": memory},
        {"raw": draw, "before": dbefore, "memory": dmemory},
    )
    assert report.worst < 1e-9


def test_gamma_sharpens():
    memory, before = np.ones((1, 4, 2)), np.array([[0.5, 0.3, 0.1, 0.1]])
    blunt, _ = ntm_address(head(np.zeros(2), g=-50.0), before, memory)
    sharp, _ = ntm_address(head(np.zeros(2), g=-50.0, gamma=3.0), before, memory)
    power = 1 + np.log1p(np.exp(3.0))
    np.testing.assert_allclose(blunt, before, atol=1e-10)
    np.testing.assert_allclose(sharp, before**power / (before**power).sum(), rtol=1e-8)


def test_what_is_written_is_read_back():
    """Heads set by hand: write at row t, read the same row, at every step."""
    rng = np.random.default_rng(0)
    p = ntm_init(rng, 3, 3, R=6, M=3)
    p.flat[:] = 0
    p.controller.W[:3] = 0.5 * np.eye(3)  # h = tanh(x / 2)
    b = p.heads.b
    for start in (0, 9):  # write head, read head: by place, shifted by one row
        b[start + 3 : start + 9] = [0, -60, -60, -60, 60, -60]
    b[18:21] = 60  # erase all
    p.heads.W[:, 21:] = 2 * np.eye(3)  # add tanh(2 h)
    xs = rng.normal(size=(4, 1, 3))
    hs, last, _ = ntm_forward(xs, None, p)
    written = np.tanh(2 * np.tanh(xs / 2))
    np.testing.assert_allclose(hs[:, :, 3:], written, atol=1e-9)
    np.testing.assert_allclose(last.memory[0, 1:5], written[:, 0], atol=1e-9)
