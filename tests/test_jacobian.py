"""The Jacobian of the last state in the first, against complex steps and closed forms."""

import numpy as np
import pytest
from helpers import randomised, rng

from gru_book.cells import ablated_gru_init, cbow_init, scrn_init
from gru_book.jacobian import jacobian
from gru_lib import (
    LSTMState,
    cell_of,
    elman_forward,
    elman_init,
    gru_forward,
    gru_init,
    lstm_forward,
    lstm_init,
    map_state,
    stack,
    zero_state,
)

T, N, D, H = 5, 2, 2, 3
CELLS = {
    f"gru-{'after' if after else 'before'}-{convention}": (
        lambda rng, o={"reset_after": after, "convention": convention}: gru_init(rng, D, H, **o)
    )
    for after in (False, True)
    for convention in ("keep", "write")
} | {
    "gru-no-update": lambda rng: ablated_gru_init(rng, D, H, ablation="no_update"),
    "lstm": lambda rng: lstm_init(rng, D, H),
    "elman": lambda rng: elman_init(rng, D, H),
    "scrn": lambda rng: scrn_init(rng, D, H, 2),
    "cbow": lambda rng: cbow_init(D),
}


def flat(state):
    return np.concatenate(state if isinstance(state, tuple) else [state], axis=1)


def shaped(p, vector):
    """A flat state in the form that the cell of p takes."""
    widths = [a.shape[1] for a in (lambda s: s if isinstance(s, tuple) else [s])(zero_state(p, 0))]
    parts = iter(np.split(vector, np.cumsum(widths)[:-1], axis=1))
    return map_state(lambda _: next(parts), zero_state(p, len(vector)))


@pytest.mark.parametrize("name", CELLS)
def test_total_matches_complex_step(name):
    p, xs = randomised(CELLS[name](rng()), rng()), rng().normal(size=(T, N, D))
    S = flat(zero_state(p, N)).shape[1]
    start = rng().normal(size=(N, S))
    J = jacobian(xs, shaped(p, start), p)
    assert J.total.shape == (N, S, S) and J.steps.shape == (T, N, S, S) and J.direct.shape == (N, S)
    for j in range(S):
        moved = start + 1e-30j * np.eye(S)[j]
        _, end, _ = cell_of(p).forward(xs, shaped(p, moved), p)
        column = flat(end).imag / 1e-30
        np.testing.assert_allclose(J.total[:, :, j], column, rtol=1e-13, atol=1e-13 * np.abs(J.total).max())


def test_elman_steps_are_the_slope_times_the_recurrent_weights():
    p, xs = elman_init(rng(), D, H), rng().normal(size=(T, N, D))
    J = jacobian(xs, None, p)
    np.testing.assert_allclose(J.steps, (1 - elman_forward(xs, None, p)[0] ** 2)[..., None] * p.W_h.T, rtol=1e-13)
    np.testing.assert_array_equal(J.direct, 0)


@pytest.mark.parametrize("convention", ["keep", "write"])
def test_direct_is_all_there_is_without_recurrent_weights(convention):
    p, xs = gru_init(rng(), D, H, convention=convention), rng().normal(size=(T, N, D))
    p.W_h[:] = 0
    J = jacobian(xs, rng().normal(size=(N, H)), p)
    np.testing.assert_allclose(J.total, J.direct[:, :, None] * np.eye(H), rtol=1e-13)
    z = gru_forward(xs, None, p)[2].gate("z")
    np.testing.assert_allclose(J.direct, np.prod(z if convention == "keep" else 1 - z, axis=0), rtol=1e-12)


def test_direct_is_the_product_of_what_keeps():
    p, xs = lstm_init(rng(), D, H), rng().normal(size=(T, N, D))
    direct = jacobian(xs, None, p).direct
    np.testing.assert_array_equal(direct[:, :H], 0)
    np.testing.assert_allclose(direct[:, H:], lstm_forward(xs, None, p)[2].gate("f").prod(axis=0), rtol=1e-13)
    np.testing.assert_array_equal(jacobian(xs, None, cbow_init(D)).direct, 1)
    scrn = jacobian(xs, None, scrn_init(rng(), D, H, 2, alpha=0.9)).direct[0]
    np.testing.assert_allclose(scrn, [0.9**T, 0.9**T, 0, 0, 0], rtol=1e-14)


@pytest.mark.parametrize(("steps", "bias"), [(0, 0), (500, 800)])
def test_no_step_and_a_gate_that_only_keeps_give_the_identity(steps, bias):
    p = gru_init(rng(), D, H)
    p.b_z[:] = bias
    J = jacobian(rng().normal(size=(steps, N, D)), rng().normal(size=(N, H)), p)
    assert (J.direct == 1).all() and J.steps.shape == (steps, N, H, H)
    np.testing.assert_array_equal(J.total, np.broadcast_to(np.eye(H), (N, H, H)))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_dtype_in_is_dtype_out(dtype):
    J = jacobian(np.ones((T, N, D), dtype), None, lstm_init(rng(), D, H, dtype=dtype))
    assert J.total.dtype == J.direct.dtype == J.steps.dtype == dtype


def test_errors_name_the_argument():
    p, xs = gru_init(rng(), D, H), np.zeros((T, N, D))
    with pytest.raises(TypeError, match="jacobian: p must be the parameters of one cell; got StackParams"):
        jacobian(xs, None, stack(p))
    with pytest.raises(TypeError, match="jacobian: state0 must be LSTMState; got ndarray"):
        jacobian(xs, np.zeros((N, H)), lstm_init(rng(), D, H))
    jacobian(xs, LSTMState(np.zeros((N, H)), np.zeros((N, H))), lstm_init(rng(), D, H))
