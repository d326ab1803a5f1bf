"""The LSTM. What all cells have in common is in test_cell.py."""

import mpmath
import numpy as np
import pytest
from helpers import close, randomised, rng

from gru_lib import LSTMState, lstm_backward, lstm_forward, lstm_init, lstm_step, lstm_step_backward

T, N, D, H = 5, 3, 2, 4


@pytest.mark.parametrize("bias", [True, False])
def test_lstm_step_follows_the_equations(bias):
    p = randomised(lstm_init(rng(), D, H, bias=bias), rng())
    x, h_prev, c_prev = rng().normal(size=(N, D)), rng().normal(size=(N, H)), rng().normal(size=(N, H))
    state, _ = lstm_step(x, LSTMState(h_prev, c_prev), p)
    i, f, g, o = np.split(x @ p.W_x + h_prev @ p.W_h + (p.b if bias else 0), 4, axis=1)
    c = c_prev / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    close(state, (np.tanh(c) / (1 + np.exp(-o)), c), rtol=1e-13, atol=0)


def test_forget_bias_is_one_unless_asked_otherwise():
    p = lstm_init(rng(), D, H)
    np.testing.assert_array_equal(p.b, np.repeat([0, 1, 0, 0], H))
    assert lstm_init(rng(), D, H, forget_bias=-2).b_f[0] == -2
    bare = lstm_init(rng(), D, H, bias=False)
    assert bare.b_f == 0 and bare.size == 4 * H * (D + H)


def test_open_forget_gate_carries_the_cell_any_length():
    p = lstm_init(rng(), D, H, forget_bias=800)
    p.b_i[:] = -800
    c0, dc = rng().normal(size=(2, N, H))
    _, state, tape = lstm_forward(rng().normal(size=(2000, N, D)), LSTMState(None, c0), p)
    np.testing.assert_array_equal(state.c, c0)
    _, dstate, _ = lstm_backward(None, LSTMState(None, dc), tape, p)
    np.testing.assert_allclose(dstate.c, dc, rtol=1e-13)


@pytest.mark.parametrize("a_i, a_f, a_o", [(700, -700, 700), (-700, 700, -650), (40, -40, 30), (-300, 36, 2)])
def test_saturated_gates_keep_the_digits_of_their_gradients(a_i, a_f, a_o):
    """One unit against 1200-digit arithmetic: every gradient to 1e-11 of itself, however small."""
    p = lstm_init(rng(), 1, 1)
    p.W_x[:], p.W_h[:] = [[0.3, -0.2, 0.7, 0.5]], [[0.1, 0.4, -0.6, -0.3]]
    p.b[:] = a_i, a_f, 0.1, a_o
    at = {f"{a}_{k}": float(getattr(p, f"{a}_{k}").item()) for a in "b" for k in "ifgo"}
    at |= {f"W_{a}{k}": float(getattr(p, f"W_{a}{k}").item()) for a in "xh" for k in "ifgo"}
    at |= {"x": 0.5, "h": 0.4, "c": -0.8}
    dh, dc = 1.3, 0.6

    def loss(v):
        def sig(a):
            return 1 / (1 + mpmath.exp(-a))

        i, f, g, o = (v["x"] * v[f"W_x{k}"] + v["h"] * v[f"W_h{k}"] + v[f"b_{k}"] for k in "ifgo")
        c = sig(f) * v["c"] + sig(i) * mpmath.tanh(g)
        return mpmath.mpf(dh) * sig(o) * mpmath.tanh(c) + mpmath.mpf(dc) * c

    with mpmath.workdps(1200):
        point, step = {k: mpmath.mpf(a) for k, a in at.items()}, mpmath.mpf(10) ** -100
        right = {
            k: float((loss(point | {k: point[k] + step}) - loss(point | {k: point[k] - step})) / (2 * step))
            for k in point
        }
    x, h, c, dh, dc = (np.full((1, 1), v) for v in (at["x"], at["h"], at["c"], dh, dc))
    state, dstate = LSTMState(h, c), LSTMState(dh, dc)
    step = lstm_step_backward(dstate, lstm_step(x, state, p)[1], p)
    whole = lstm_backward(None, dstate, lstm_forward(x[None], state, p)[2], p)
    for dx, dprev, grads in [step, whole]:
        got = {"x": dx, "h": dprev.h, "c": dprev.c} | {k: getattr(grads, k) for k in at if k not in "xhc"}
        for name, value in right.items():
            assert got[name].item() == pytest.approx(value, rel=1e-11, abs=0), name


def test_halves_of_the_state_may_be_missing():
    p, xs, h = lstm_init(rng(), D, H), rng().normal(size=(T, N, D)), rng().normal(size=(N, H))
    zero = np.zeros((N, H))
    for half, full in [(LSTMState(h, None), LSTMState(h, zero)), ((None, h), LSTMState(zero, h))]:
        a, b = lstm_forward(xs, half, p), lstm_forward(xs, full, p)
        np.testing.assert_array_equal(a[0], b[0])
        da, db = lstm_backward(None, half, a[2], p), lstm_backward(None, full, b[2], p)
        np.testing.assert_array_equal(da[2].flat, db[2].flat)


def test_tape_shows_the_gates_of_every_step():
    p, xs = lstm_init(rng(), D, H), rng().normal(size=(T, N, D))
    hs, _, tape = lstm_forward(xs, None, p)
    state = LSTMState(np.zeros((N, H)), np.zeros((N, H)))
    for t in range(T):
        state, cache = lstm_step(xs[t], state, p)
        for name, value in {"i": cache.i[0], "f": cache.f[0], "g": cache.g, "o": cache.o[0], "c": state.c}.items():
            np.testing.assert_allclose(tape.gate(name)[t], value, rtol=0, atol=1e-14)
    np.testing.assert_allclose(tape.gate("o") * np.tanh(tape.gate("c")), hs, rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match=r"LSTMTape.gate: name must be one of .*; got 'z'"):
        tape.gate("z")
