"""Sigmoid, linear layer, embedding, losses."""

import mpmath
import numpy as np
import pytest
from helpers import refused

from gru_lib import (
    bce_with_logits,
    embedding_backward,
    embedding_forward,
    embedding_init,
    gradcheck,
    linear_backward,
    linear_forward,
    linear_init,
    log_softmax,
    sigmoid,
    softmax_cross_entropy,
)
from gru_lib.ops import orthogonal, sigmoid_pair, softplus


def exact_sigmoid(a):
    with mpmath.workdps(60):
        return float(1 / (1 + mpmath.exp(-mpmath.mpf(float(a)))))


@pytest.mark.parametrize("a", [-700, -88.5, -40, -1e-9, 0, 0.3, 36, 700])
def test_sigmoid_and_its_complement_keep_their_digits(a):
    s, not_s = sigmoid_pair(np.array(float(a)))
    assert s == pytest.approx(exact_sigmoid(a), rel=1e-14)
    assert not_s == pytest.approx(exact_sigmoid(-a), rel=1e-14)
    assert sigmoid(float(a)) == s


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_is_quiet_and_finite_at_any_input(dtype):
    s, not_s = sigmoid_pair(np.array([-1e4, -1e30, 1e4, 1e30], dtype))
    np.testing.assert_array_equal(s[2:], 1)
    np.testing.assert_array_equal(not_s[:2], 1)
    assert s.dtype == dtype and (s[:2] < 1e-30).all() and (not_s[2:] < 1e-30).all()


def test_sigmoid_slope_is_the_product_of_the_pair():
    a = np.linspace(-30, 30, 61)
    slope = np.imag(sigmoid(a + 1e-30j)) / 1e-30
    np.testing.assert_allclose(np.prod(sigmoid_pair(a), axis=0), slope, rtol=1e-13)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(4,), (3, 2)])
def test_linear_backward_matches_complex_step(bias, lead):
    rng = np.random.default_rng(1)
    p = linear_init(rng, 3, 2, bias=bias)
    x, dy = rng.normal(size=(*lead, 3)), rng.normal(size=(*lead, 2))
    dx, grads = linear_backward(dy, linear_forward(x, p)[1], p)
    report = gradcheck(lambda x, p: (linear_forward(x, p)[0] * dy).sum(), {"x": x, "p": p}, {"x": dx, "p": grads})
    assert report.worst < 1e-13


def test_single_precision_does_not_depend_on_the_c_library():
    """The float32 log(1 + e) of some C libraries is off by a bit in one case of ten."""
    gap = np.geomspace(1e-3, 80, 300, dtype=np.float32)
    with mpmath.workdps(60):
        right = np.array([np.float32(mpmath.log(1 + mpmath.mpf(float(e)))) for e in np.exp(-gap)])
    np.testing.assert_array_equal(-log_softmax(np.stack([0 * gap, -gap], axis=1))[:, 0], right)
    np.testing.assert_array_equal(softplus(-gap), right)
    np.testing.assert_array_equal(softplus(gap), gap + right)


@pytest.mark.parametrize(("dtype", "rel"), [(np.float32, 2.5e-7), (np.float64, 4e-16)])
def test_softplus_keeps_its_digits(dtype, rel):
    for a in np.linspace(-80, 80, 97, dtype=dtype):
        with mpmath.workdps(50):
            right = float(mpmath.log(1 + mpmath.exp(mpmath.mpf(float(a)))))
        assert softplus(a) == pytest.approx(right, rel=rel, abs=0)
    np.testing.assert_array_equal(softplus(np.array([-np.inf, np.inf], dtype)), [0, np.inf])


def test_bce_matches_the_textbook_formula():
    rng = np.random.default_rng(2)
    a, y = rng.normal(size=(5, 3)), rng.integers(0, 2, (5, 3)).astype(float)
    s = 1 / (1 + np.exp(-a))
    loss, _ = bce_with_logits(a, y)
    assert loss == pytest.approx(-(y * np.log(s) + (1 - y) * np.log(1 - s)).mean(), rel=1e-14)


def test_bce_gradient_matches_complex_step_with_weights():
    rng = np.random.default_rng(3)
    a, y, w = rng.normal(size=(4, 3)) * 3, rng.random((4, 3)), rng.random((4, 3))
    _, dlogits = bce_with_logits(a, y, w)
    report = gradcheck(lambda a: bce_with_logits(a, y, w).loss, {"a": a}, {"a": dlogits})
    assert report.worst < 1e-13


def test_bce_is_finite_for_huge_logits():
    loss, dlogits = bce_with_logits([1e300, -1e300], [0.0, 0.0])
    assert loss == pytest.approx(5e299)
    np.testing.assert_allclose(dlogits, [0.5, 0], atol=1e-300)


def test_bce_ignores_what_the_mask_hides():
    shown, _ = bce_with_logits([0.5], [1.0])
    loss, dlogits = bce_with_logits([0.5, np.nan], [1.0, 0.0], [1.0, 0.0])
    assert loss == shown and dlogits[1] == 0


@pytest.mark.parametrize("shape", [(), (5,), (4, 3)])
def test_embedding_is_a_product_with_one_hot_rows(shape):
    rng = np.random.default_rng(0)
    p, tokens = embedding_init(rng, 6, 2), rng.integers(0, 6, shape)
    x, cache = embedding_forward(tokens, p)
    np.testing.assert_array_equal(x, np.eye(6)[tokens] @ p.E)
    dx = rng.normal(size=x.shape)
    grads = embedding_backward(dx, cache, p)
    report = gradcheck(lambda p: (embedding_forward(tokens, p)[0] * dx).sum(), p, grads)
    assert report.worst < 1e-13, report


def test_cross_entropy_matches_the_textbook_formula():
    rng = np.random.default_rng(2)
    a, y, w = rng.normal(size=(5, 3, 4)), rng.integers(0, 4, (5, 3)), rng.random((5, 3))
    s = np.exp(a) / np.exp(a).sum(axis=-1, keepdims=True)
    each = -np.log(np.take_along_axis(s, y[..., None], axis=-1))[..., 0]
    assert softmax_cross_entropy(a, y).loss == pytest.approx(each.mean(), rel=1e-14)
    assert softmax_cross_entropy(a, y, w).loss == pytest.approx((w * each).sum() / w.sum(), rel=1e-14)


def test_cross_entropy_gradient_matches_complex_step_with_weights():
    rng = np.random.default_rng(3)
    a, y, w = rng.normal(size=(4, 3, 5)) * 3, rng.integers(0, 5, (4, 3)), rng.random((4, 3))
    _, dlogits = softmax_cross_entropy(a, y, w)
    report = gradcheck(lambda a: softmax_cross_entropy(a, y, w).loss, {"a": a}, {"a": dlogits})
    assert report.worst < 1e-13


def test_cross_entropy_is_finite_for_huge_logits():
    a = [[1e300, -1e300, 0.0], [1e300, -1e300, 0.0], [1e300, 1e300, -1e300]]
    loss, dlogits = softmax_cross_entropy(a, [1, 0, 0], [1.0, 1.0, 2.0])
    assert loss == pytest.approx(5e299, rel=1e-15)
    np.testing.assert_allclose(dlogits, [[0.25, -0.25, 0], [0, 0, 0], [-0.25, 0.25, 0]], rtol=0, atol=1e-16)


@pytest.mark.parametrize("gap", [3, 40, 300, 700])
def test_cross_entropy_of_a_nearly_certain_class_keeps_its_digits(gap):
    loss, dlogits = softmax_cross_entropy([gap, 0.0, -1.0], 0)
    with mpmath.workdps(400):
        others = mpmath.exp(-gap) + mpmath.exp(-gap - 1)
        right, slope = float(mpmath.log(1 + others)), float(others / (1 + others))
    assert loss == pytest.approx(right, rel=1e-13, abs=0)
    assert dlogits[0] == pytest.approx(-slope, rel=1e-13, abs=0)


def test_cross_entropy_ignores_what_the_mask_hides():
    shown = softmax_cross_entropy([[0.5, 1.0]], [1])
    loss, dlogits = softmax_cross_entropy([[0.5, 1.0], [np.nan, np.inf]], [1, -1], [1.0, 0.0])
    assert loss == shown.loss
    np.testing.assert_array_equal(dlogits, [shown.dlogits[0], [0, 0]])


def test_log_softmax_sums_to_one_and_allows_forbidden_classes():
    a = np.random.default_rng(1).normal(size=(4, 5)) * 10
    np.testing.assert_allclose(np.exp(log_softmax(a)).sum(axis=-1), 1, rtol=1e-14)
    np.testing.assert_array_equal(log_softmax([0.0, -np.inf]), [0, -np.inf])
    np.testing.assert_array_equal(log_softmax([[3.0], [-1e300]]), 0)
    with pytest.raises(ValueError, match=r"log_softmax: a must have at least one class; got shape \(2, 0\)"):
        log_softmax(np.ones((2, 0)))
    refused(ValueError, r"log_softmax: a must have shape \(K,\) = \(K,\); got \(\)", log_softmax, 1.0)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: bce_with_logits([0.0], [2.0]), r"targets must lie in \[0, 1\]"),
    (lambda: bce_with_logits([0.0, 0.0], [1.0, 1.0], [2.0, -1.0]), "weights must be at least 0; got -1"),
    (lambda: bce_with_logits([0.0], [1.0], [0.0]), "at least one weight"),
    (lambda: softmax_cross_entropy([[0.0, 1.0]], [2]), r"targets must lie in 0\.\.1; got 2\.\.2"),
    (lambda: embedding_forward([-1, 6], embedding_init(np.random.default_rng(0), 6, 2)), r"tokens must lie in 0\.\.5;"),
])  # fmt: skip
def test_what_lies_outside_its_range_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_orthogonal_matrices_are_drawn_evenly():
    """Without the signs of R, the first entry of Q would have one sign nearly always."""
    draws = np.array([orthogonal(np.random.default_rng(seed), 4) for seed in range(400)])
    np.testing.assert_allclose(draws @ draws.transpose(0, 2, 1), np.broadcast_to(np.eye(4), draws.shape), atol=1e-12)
    assert (abs((draws > 0).mean(axis=0) - 0.5) < 0.1).all()  # four standard errors
