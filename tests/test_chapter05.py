"""What chapter 5 says beside its cells: which code line belongs to which equation, and where each mistake shows."""

import inspect
import re

import numpy as np
import pytest
from helpers import cells_of

from gru_lib import gradcheck, gru_forward, gru_init, gru_step, gru_step_backward

T, N, D, H = 4, 3, 2, 4


def test_every_line_of_the_table_of_code_is_in_the_library():
    table = "\n".join(cells_of("05-gru-backward", "markdown")).split(":name: tab-bwd-code")[1].split("```")[0]
    quoted = [code.removesuffix(" + …") for code in re.findall(r"`([^`{}]+ = [^`]+)`", table)]
    source = inspect.getsource(gru_step_backward)
    assigned = re.sub(r"g\.(\w+)\[:\], g\.\w+\[:\](?:, g\.\w+\[:\])? = ([^,]+),.*", r"g.\1[:] = \2", source)
    assert len(quoted) == 12
    for code in quoted:
        assert code in source or code in assigned, code


# ------------------------------------------------------------------------------------------- the table of pitfalls

ALL = {"xs", "h0", "p.W_x", "p.W_h", "p.b"}


def backward(dhs, dh_T, caches, p, mistake):
    """Backpropagation through time with one of the mistakes of the table."""
    dh, dxs, grads = dh_T, np.empty((T, N, D)), p.zeros_like()
    if mistake == "dh_T forgotten":
        dh = np.zeros_like(dh_T)
    for t in reversed(range(T)):
        dh = dhs[t] if mistake == "outputs only" else dhs[t] + dh
        dxs[t], dh_prev, g = gru_step_backward(dh, caches[t], p)
        _, h_prev, r, not_r, z, not_z, n, _ = caches[t]
        da_z = dh * (h_prev - n) * z * not_z
        da_n = dh * not_z * (1 - n * n)
        da_r = (da_n @ p.W_hn.T) * h_prev * r * not_r
        h = z * h_prev + not_z * n
        if mistake == "bias mean":
            g.b[:] /= N
        elif mistake == "no transpose":
            dh_prev = dh_prev - da_z @ p.W_hz.T + da_z @ p.W_hz
        elif mistake == "h for h_prev":
            g.W_hr[:], g.W_hz[:], g.W_hn[:] = h.T @ da_r, h.T @ da_z, (r * h).T @ da_n
        elif mistake == "h_prev for q":
            g.W_hn[:] = h_prev.T @ da_n
        grads.flat[:] = g.flat if mistake == "overwritten" else grads.flat + g.flat
        dh = dh_prev
    if mistake == "mean of a mean":
        dxs, dh = dxs / N, dh / N
        grads.flat[:] /= N
    return dxs, dh, grads


def run(mistake, seed=0, last_state=True):
    rng = np.random.default_rng(seed)
    p = gru_init(rng, D, H)
    p.flat[:] = rng.normal(0, 0.8, p.size)
    xs, h0, dhs = rng.normal(size=(T, N, D)), rng.uniform(-1, 1, (N, H)), rng.normal(size=(T, N, H))
    dh_T = rng.normal(size=(N, H)) if last_state else np.zeros((N, H))

    def loss(xs, h0, p):
        hs, h_T, _ = gru_forward(xs, h0, p)
        return (dhs * hs).sum() + (dh_T * h_T).sum()

    h, caches = h0, []
    for x in xs:
        h, cache = gru_step(x, h, p)
        caches.append(cache)
    dxs, dh0, grads = backward(dhs, dh_T, caches, p, mistake)
    report = gradcheck(loss, {"xs": xs, "h0": h0, "p": p}, {"xs": dxs, "h0": dh0, "p": grads})
    return report, (xs, h0, p, loss), (dxs, dh0, grads)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("mistake", "wrong"),
    [
        (None, set()),
        ("bias mean", {"p.b"}),
        ("no transpose", ALL),
        ("h for h_prev", {"p.W_h"}),
        ("h_prev for q", {"p.W_h"}),
        ("outputs only", ALL),
        ("dh_T forgotten", ALL),
        ("overwritten", {"p.W_x", "p.W_h", "p.b"}),
        ("mean of a mean", ALL),
    ],
)
def test_each_pitfall_shows_where_the_table_says(mistake, wrong, seed):
    report, _, _ = run(mistake, seed)
    assert set(report.wrong(1e-3 if wrong else 1e-12)) == wrong


def test_taking_h_prev_for_q_spoils_the_columns_of_n_only():
    right, wrong = run(None)[2][2], run("h_prev for q")[2][2]
    assert np.array_equal(right.W_hr, wrong.W_hr) and np.array_equal(right.W_hz, wrong.W_hz)
    assert np.abs(right.W_hn - wrong.W_hn).max() > 1e-3


def test_reading_outputs_only_leaves_the_last_input_right_when_dh_T_is_zero():
    right, wrong = run(None, last_state=False)[2][0], run("outputs only", last_state=False)[2][0]
    np.testing.assert_array_equal(right[-1], wrong[-1])
    assert all(np.abs(right[t] - wrong[t]).max() > 1e-3 for t in range(T - 1))


def test_dividing_twice_is_off_by_the_factor_N():
    right, wrong = run(None)[2][2], run("mean of a mean")[2][2]
    np.testing.assert_allclose(wrong.flat * N, right.flat, rtol=1e-14)
