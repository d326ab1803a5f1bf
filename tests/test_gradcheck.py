"""The gradient check must find what is wrong, and only that."""

import numpy as np
import pytest
from helpers import refused

from gru_lib import gradcheck, linear_init, numeric_gradient


def cube(x):
    return (x**3).sum()


X = np.array([[0.5, -2.0], [1.5, 3.0]])


@pytest.mark.parametrize("method, tolerance", [("complex", 1e-15), ("central", 1e-8)])
def test_right_gradients_pass(method, tolerance):
    assert gradcheck(cube, {"x": X}, {"x": 3 * X**2}, method=method).worst < tolerance


def test_one_wrong_entry_is_found_and_named_the_worst_array_first():
    right, wrong = 3 * X**2, 3 * X**2
    wrong[1, 0] += 0.01
    report = gradcheck(lambda a, x: cube(a) + cube(x), {"a": X, "x": X}, {"a": right, "x": wrong})
    assert report.wrong(1e-6) == ["x"] and report.rows[1].where == (1, 0)
    assert "x  2x2" in report.table(1e-6) and "WRONG at [1, 0]: 6.76, but complex step says 6.75" in report.table(1e-6)
    assert "within 0.1" in report.table(0.1) and "worst relative error" in str(report)
    title, x, a = repr(report).splitlines()
    assert title == "gradcheck (complex step), worst first:"
    assert x == "x 6.6e-04 at [1, 0]: 6.76, not 6.75" and a.startswith("a ")
    wrong[0, 0] = np.nan
    assert gradcheck(cube, {"x": X}, {"x": wrong}).wrong(1.0) == ["x"]


def test_error_is_relative_to_the_entry_or_to_the_root_mean_square_of_all():
    for found, error in (([3.5, 4.0], 0.5 / np.sqrt(12.5)), ([3.0, 4.5], 0.125)):
        report = gradcheck(lambda x: 3 * x[0] + 4 * x[1], {"x": X[0]}, {"x": np.array(found)})
        assert report.worst == pytest.approx(error, rel=1e-12)
        assert report.wrong(report.worst) == [] and report.wrong(0.999 * report.worst) == ["x"]


def test_parameters_are_checked_under_their_names_and_the_point_is_left_as_it_was():
    p = linear_init(np.random.default_rng(0), 2, 2)
    grads, before, x = p.zeros_like(), p.flat.copy(), X.copy()
    grads.W[:], grads.b[:] = 2 * p.W, 1
    report = gradcheck(lambda p: (p.W**2).sum() + p.b.sum(), p, grads)
    assert [row.name for row in report.rows] == ["W", "b"] and report.worst < 1e-15
    x.flags.writeable = False
    assert list(numeric_gradient(lambda p, x: (p.W @ x).sum(), {"p": p, "x": x})) == ["p.W", "p.b", "x"]
    assert (x == X).all() and (p.flat == before).all()


def test_errors_say_what_is_wrong():
    refused(ValueError, r"grads must have the names \['x'\]; got \['y'\]", gradcheck, cube, {"x": X}, {"y": X})
    refused(ValueError, r"gradient of x must have shape \(2, 2\); got \(2,\)", gradcheck, cube, {"x": X}, {"x": X[0]})
    with pytest.raises(ValueError, match=r"loss must return one number; got an array of shape \(2, 2\)"):
        gradcheck(lambda x: x, {"x": X}, {"x": X})
    with pytest.raises(TypeError, match="gradcheck: loss must return one number; got str"):
        gradcheck(lambda x: "a number", {"x": X}, {"x": X})
    refused(TypeError, "numeric_gradient: loss must be a function; got int", gradcheck, 3, {"x": X}, {"x": X})
    with pytest.raises(ValueError, match="method must be one of 'complex', 'central'"):
        gradcheck(cube, {"x": X}, {"x": X}, method="forward")
    refused(TypeError, "grads must be a Params or a mapping", gradcheck, cube, {"x": X}, X)
    refused(TypeError, "at must be a Params or a mapping", gradcheck, cube, X, {"x": X})


def test_an_array_that_is_off_by_one_factor_says_so():
    right = 3 * X**2
    for factor in (1 / 3, -1, 4):
        table = gradcheck(cube, {"x": X}, {"x": factor * right}).table(1e-9)
        assert table.endswith(f"; all entries are {factor:.6g} times what they should be")
    other = right.copy()
    other[0, 0] *= 2
    for wrong in (other, right.T, np.full_like(right, np.nan)):
        assert "all entries" not in gradcheck(cube, {"x": X}, {"x": wrong}).table(1e-9)
    one = gradcheck(lambda x: x[0] ** 2, {"x": np.array([3.0])}, {"x": np.array([3.0])})
    assert "all entries" not in one.table(1e-9)  # of a single entry everything is a multiple


@pytest.mark.parametrize("loss", [
    lambda x: np.abs(x).sum(),
    lambda x: np.linalg.norm(x),
    lambda x: (x.real**2).sum(),
    lambda x: (x * x.conj()).real.sum(),
    lambda x: (x**3).sum() + np.abs(x[0, 0]),
    lambda x: (x**2).sum() + 0.01 * np.abs(x).sum(),
    lambda x: (x**2).sum() + 0.001 * np.abs(x).sum(),
])  # fmt: skip
def test_a_loss_that_the_complex_step_does_not_see_is_refused(loss):
    refused(ValueError, "the complex step does not see all of loss", numeric_gradient, loss, {"x": X})
    numeric_gradient(loss, {"x": X}, method="central")


@pytest.mark.parametrize("loss", [
    lambda x: np.sqrt(x * x).sum(),
    lambda x: np.where(x.real > 0, x, 0).sum(),
    lambda x: np.tanh(1e4 * (x - 0.5)).sum(),
    lambda x: 1e9 + x.sum(),
    lambda x: 0 * x.sum(),
    lambda x: np.exp(100 * x).sum(),
])  # fmt: skip
def test_a_loss_that_is_steep_large_flat_or_bent_is_not(loss):
    """At a kink the complex step has one of the two slopes."""
    numeric_gradient(loss, {"x": X})
    numeric_gradient(loss, {"x": np.full(3, 0.5)})
    numeric_gradient(lambda x: np.where(x.real > 0, x, 0).sum(), {"x": np.zeros(3)})
    numeric_gradient(loss, {"x": np.full(3, -1e8)})


def test_a_part_that_is_small_beside_the_rest_slips_through():
    report = gradcheck(lambda x: (x**2).sum() + 1e-6 * np.abs(x).sum(), {"x": X}, {"x": 2 * X})
    assert report.worst < 1e-15
