"""Optimisers and clipping, against arithmetic done by hand."""

import numpy as np
import pytest

from gru_lib import SGD, Adam, clip_by_global_norm, linear_init


def point(values=(1.0, -2.0)):
    p = linear_init(np.random.default_rng(0), 2, 1, bias=False)
    p.flat[:] = values
    return p


def test_sgd_steps_against_the_gradient():
    p, g = point(), point((0.5, 4.0))
    SGD(p, lr=0.1).step(g)
    np.testing.assert_allclose(p.flat, [0.95, -2.4], rtol=1e-15)
    np.testing.assert_array_equal(g.flat, [0.5, 4.0])


def test_adam_matches_the_paper_over_three_steps():
    p, opt = point(), Adam(start := point(), lr=0.01)
    m = v = np.zeros(2)
    x = p.flat.copy()
    for k in range(1, 4):
        g = np.array([0.5 * k, -1.0 / k])
        opt.step(point(g))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        x = x - 0.01 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    np.testing.assert_allclose(start.flat, x, rtol=1e-14)


def test_adams_first_step_has_the_length_of_the_learning_rate():
    p = point()
    Adam(p, lr=0.1).step(point((1e-3, -1e3)))
    np.testing.assert_allclose(p.flat, [0.9, -1.9], rtol=1e-4)


def test_clipping_scales_the_whole_gradient_only_when_it_is_too_long():
    g = point((3.0, 4.0))
    assert clip_by_global_norm(g, 10.0) == 5.0
    np.testing.assert_array_equal(g.flat, [3, 4])
    assert clip_by_global_norm(g, 1.0) == 5.0
    np.testing.assert_allclose(g.flat, [0.6, 0.8], rtol=1e-15)


def test_clipping_reports_a_norm_that_is_not_finite():
    g = point((np.inf, 1.0))
    assert clip_by_global_norm(g, 1.0) == np.inf
    assert g.flat[1] == 1


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="Adam: lr must be > 0; got -1"):
        Adam(point(), lr=-1)
    with pytest.raises(ValueError, match="betas must be >= 0 and < 1; got 1"):
        Adam(point(), betas=(0.9, 1.0))
    with pytest.raises(TypeError, match="SGD: p must be a Params; got ndarray"):
        SGD(np.zeros(2), 0.1)
    with pytest.raises(TypeError, match="lr must be a number; got 'fast'"):
        SGD(point(), "fast")
    with pytest.raises(ValueError, match="grads must hold as many numbers as p, 2; got 3"):
        SGD(point(), 0.1).step(linear_init(np.random.default_rng(0), 3, 1, bias=False))
    with pytest.raises(ValueError, match="max_norm must be > 0"):
        clip_by_global_norm(point(), 0)
