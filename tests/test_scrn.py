"""The structurally constrained network. What all cells have in common is in test_cell.py."""

import numpy as np
from helpers import rng

from gru_book.cells import scrn_init, scrn_step

N, D, H = 3, 2, 4


def test_scrn_step_follows_the_equations():
    p = scrn_init(rng(), D, H, 3, alpha=0.8)
    x, s_prev = rng().normal(size=(N, D)), rng().normal(size=(N, 3 + H))
    s, _ = scrn_step(x, s_prev, p)
    c = 0.2 * (x @ p.W_xc) + 0.8 * s_prev[:, :3]
    np.testing.assert_allclose(s[:, :3], c, rtol=0, atol=1e-15)
    h = 1 / (1 + np.exp(-(x @ p.W_xh + s_prev[:, 3:] @ p.W_hh + c @ p.W_ch)))
    np.testing.assert_allclose(s[:, 3:], h, rtol=0, atol=1e-15)
