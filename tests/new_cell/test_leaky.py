"""The leaky network does what its equation says."""

import numpy as np

from gru_lib.cells import leaky_init, leaky_step


def test_leaky_step_follows_the_equation():
    p = leaky_init(np.random.default_rng(0), 1, 1)
    (W_x,), (W_h,) = p.W_x[0], p.W_h[0]
    h, _ = leaky_step([[0.3]], [[0.8]], p)
    np.testing.assert_allclose(h, (0.8 + np.tanh(0.3 * W_x + 0.8 * W_h)) / 2)
