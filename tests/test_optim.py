"""Optimisers, clipping and schedules, against arithmetic done by hand."""

import numpy as np
import pytest
from helpers import refused

from gru_lib import (
    SGD,
    Adam,
    bundle,
    clip_by_global_norm,
    cosine_decay,
    gru_init,
    linear_decay,
    linear_init,
)


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


def test_clipping_scales_the_whole_gradient_only_when_it_is_too_long():
    g = point((3.0, 4.0))
    assert clip_by_global_norm(g, 10.0) == 5.0
    np.testing.assert_array_equal(g.flat, [3, 4])
    assert clip_by_global_norm(g, 1.0) == 5.0
    np.testing.assert_allclose(g.flat, [0.6, 0.8], rtol=1e-15)
    assert clip_by_global_norm(point((np.inf, 1.0)), 1.0) == np.inf


def test_schedules_have_the_values_they_promise():
    assert [linear_decay(1.0, 4)(k) for k in range(6)] == [1, 0.75, 0.5, 0.25, 0, 0]
    assert [linear_decay(1.0, 4, last=0.5)(k) for k in (0, 2, 4, 9)] == [1, 0.75, 0.5, 0.5]
    np.testing.assert_allclose(
        [cosine_decay(2.0, 4)(k) for k in (0, 1, 2, 4, 7)], [2, 1 + 0.5**0.5, 1, 0, 0], atol=1e-15
    )
    for decay in (linear_decay, cosine_decay):
        np.testing.assert_allclose([decay(2.0, 4, last=0.5)(k) for k in (0, 2, 4, 9)], [2, 1.25, 0.5, 0.5], atol=1e-15)


def test_momentum_follows_its_equations():
    p = linear_init(np.random.default_rng(0), 2, 1)
    opt, w, v = SGD(p, 0.1, momentum=0.9), p.flat.copy(), 0
    rng = np.random.default_rng(1)
    for _ in range(5):
        g = p.zeros_like()
        g.flat[:] = rng.normal(size=g.size)
        before = g.flat.copy()
        opt.step(g)
        v = 0.9 * v + before
        w = w - 0.1 * v
        np.testing.assert_allclose(p.flat, w, rtol=1e-15)
        np.testing.assert_array_equal(g.flat, before)
    refused(ValueError, "momentum must be >= 0 and < 1; got 1", SGD, p, 0.1, momentum=1)


def test_an_optimizer_refuses_the_state_of_another():
    p, q = linear_init(np.random.default_rng(0), 2, 1), linear_init(np.random.default_rng(0), 3, 1)
    with pytest.raises(ValueError, match=r"Adam\.load_state_dict: state must be of this kind and size, m, v, k"):
        Adam(p).load_state_dict(SGD(p, 0.1).state_dict())
    with pytest.raises(ValueError, match="of this kind and size"):
        Adam(p).load_state_dict(Adam(q).state_dict())


def test_adam_has_the_defaults_of_its_paper_and_refuses_other_betas():
    adam = Adam(point())
    assert (adam.lr, adam.betas, adam.eps) == (1e-3, (0.9, 0.999), 1e-8)
    refused(ValueError, r"^Adam: betas must have 2 entries; got 1\.$", Adam, point(), betas=(0.9,))
    refused(ValueError, "betas must be >= 0 and < 1; got 1", Adam, point(), betas=(0.9, 1.0))


@pytest.mark.parametrize("optimizer", [SGD, Adam])
def test_gradients_laid_out_otherwise_are_refused(optimizer):
    """As many numbers under other names, or in another order, would train the wrong arrays."""
    rng = np.random.default_rng(0)
    rnn, out = gru_init(rng, 2, 3), linear_init(rng, 3, 1)
    p = bundle(rnn=rnn, out=out)
    before = p.flat.copy()
    swapped = bundle(out=out.zeros_like(), rnn=rnn.zeros_like())
    with pytest.raises(ValueError, match=r"step: grads must hold rnn\.W_x \(2, 9\) where p does; got out\.W \(3, 1\)"):
        optimizer(p, lr=0.1).step(swapped)
    turned = linear_init(rng, 1, 3, bias=False)
    with pytest.raises(ValueError, match=r"step: grads must hold W \(3, 1\) where p does; got W \(1, 3\)"):
        optimizer(linear_init(rng, 3, 1, bias=False), lr=0.1).step(turned)
    np.testing.assert_array_equal(p.flat, before)
