"""Gates and the convex update."""

import numpy as np
import pytest

from gru_lib import gradcheck
from gru_lib.gates import (
    convex_update,
    convex_update_backward,
    hard_gate,
    hard_gate_backward,
    soft_gate,
    soft_gate_backward,
)


def arrays(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3, 4))


def test_hard_gate_keeps_or_replaces():
    z, _ = hard_gate([-1e-300, 0.0, 1e-300, 5.0])
    np.testing.assert_array_equal(z, [0, 0, 1, 1])
    old, new = arrays(2)
    z, _ = hard_gate(arrays(1)[0])
    np.testing.assert_array_equal(convex_update(z, old, new)[0], np.where(z == 1, old, new))


def test_hard_gate_has_no_gradient_and_says_what_to_do():
    _, cache = hard_gate(arrays(1)[0])
    with pytest.raises(ValueError, match=r"no useful gradient.*soft_gate, or pass straight_through=True"):
        hard_gate_backward(np.ones((3, 4)), cache)


def test_straight_through_returns_the_gates_gradient_and_is_not_the_losses():
    a, dz = arrays(2)
    da = hard_gate_backward(dz, hard_gate(a)[1], straight_through=True)
    np.testing.assert_array_equal(da, dz)
    assert not np.shares_memory(da, dz)
    report = gradcheck(lambda a: (hard_gate(a)[0] * dz).sum(), {"a": a}, {"a": da})
    assert report.worst > 1  # the true gradient is 0


def test_soft_gate_backward_matches_complex_step():
    a, dz = arrays(2)
    da = soft_gate_backward(dz, soft_gate(a)[1])
    assert gradcheck(lambda a: (soft_gate(a)[0] * dz).sum(), {"a": a}, {"a": da}).worst < 1e-13


@pytest.mark.parametrize("a", [-700.0, -40, 40, 700])
def test_soft_gate_keeps_the_digits_of_its_slope_when_saturated(a):
    da = soft_gate_backward([1.0], soft_gate([a])[1])
    np.testing.assert_allclose(da, np.exp(-abs(a)) / (1 + np.exp(-abs(a))) ** 2, rtol=1e-13)


def test_convex_update_backward_matches_complex_step():
    z, old, new, dh = arrays(4)
    dz, dold, dnew = convex_update_backward(dh, convex_update(z, old, new)[1])
    report = gradcheck(
        lambda z, old, new: (convex_update(z, old, new)[0] * dh).sum(),
        {"z": z, "old": old, "new": new},
        {"z": dz, "old": dold, "new": dnew},
    )
    assert report.worst < 1e-13


def test_a_constant_gate_is_an_exponential_average():
    xs, h = np.random.default_rng(0).normal(size=(50, 1, 2)), np.zeros((1, 2))
    for x in xs:
        h, _ = convex_update(np.full((1, 2), 0.9), h, x)
    weights = 0.1 * 0.9 ** np.arange(50)[::-1]
    np.testing.assert_allclose(h, np.tensordot(weights, xs, 1), rtol=1e-12)


def test_gates_are_quiet_at_any_size_and_keep_the_dtype():
    for dtype in (np.float32, np.float64, np.complex128):
        a = np.array([-1e4, 0.5, 1e4], dtype)
        a.flags.writeable = False
        for gate, back in [(soft_gate, soft_gate_backward), (hard_gate, hard_gate_backward)]:
            z, cache = gate(a)
            da = back(a, cache, **({"straight_through": True} if gate is hard_gate else {}))
            assert z.dtype == da.dtype == dtype and np.isfinite(z).all() and np.isfinite(da).all()


def test_a_wrong_shape_is_named():
    z, old, new = arrays(3)
    with pytest.raises(ValueError, match=r"convex_update: old must have shape .* = \(3, 4\); got \(4, 3\)"):
        convex_update(z, old.T, new)
    with pytest.raises(ValueError, match=r"soft_gate_backward: dz must have shape .* = \(3, 4\); got \(2,\)"):
        soft_gate_backward(np.ones(2), soft_gate(z)[1])
    with pytest.raises(TypeError, match="soft_gate: a must hold numbers"):
        soft_gate(["open"])
