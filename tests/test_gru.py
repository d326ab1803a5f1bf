"""The GRU: its equations, and its gradients where digits are lost. What all cells have in common is in test_cell.py."""

import mpmath
import numpy as np
import pytest
from helpers import exact_gru_step, exactly, gru_weights, randomised, rng

from gru_lib import gru_backward, gru_forward, gru_init, gru_step, gru_step_backward

VARIANTS = [
    pytest.param({"reset_after": after, "convention": convention, "bias": bias}, id=f"{place}-{convention}-{b}")
    for after, place in [(False, "before"), (True, "after")]
    for convention in ["keep", "write"]
    for bias, b in [(True, "bias"), (False, "nobias")]
]
T, N, D, H = 5, 3, 2, 4


def params(**variant):
    return randomised(gru_init(rng(), D, H, **variant), rng())


def sequences():
    source = rng(1)
    return [source.normal(size=s) for s in [(T, N, D), (N, H), (T, N, H), (N, H)]]  # xs, h0, dhs, dh_T


def exact_options(p):
    return {"reset_after": p.reset_after, "convention": p.convention}


@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_step_follows_the_equations(variant):
    p, (xs, h0, _, _) = params(**variant), sequences()
    wanted = exact_gru_step(exactly(xs[0]), exactly(h0), gru_weights(p), **exact_options(p))
    np.testing.assert_allclose(gru_step(xs[0], h0, p)[0], wanted.astype(float), rtol=1e-13)


@pytest.mark.parametrize("after", [False, True])
def test_negating_the_update_gate_turns_keep_into_write(after):
    keep, (xs, h0, dhs, _) = params(reset_after=after), sequences()
    write = params(reset_after=after, convention="write")
    write.flat[:] = keep.flat
    for name in ("W_xz", "W_hz", "b_z"):
        getattr(write, name)[:] *= -1
    hs, _, tape = gru_forward(xs, h0, keep)
    hs_w, _, tape_w = gru_forward(xs, h0, write)
    np.testing.assert_allclose(hs, hs_w, rtol=0, atol=1e-15)
    (dxs, _, g), (dxs_w, _, g_w) = gru_backward(dhs, None, tape, keep), gru_backward(dhs, None, tape_w, write)
    np.testing.assert_allclose(dxs, dxs_w, rtol=0, atol=1e-14)
    np.testing.assert_allclose(g.W_xz, -g_w.W_xz, rtol=0, atol=1e-14)


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("a_r, a_z", [(700, -700), (-300, -40), (2, -650)])
def test_saturated_gates_keep_the_digits_of_their_gradients(convention, after, a_r, a_z):
    """One unit against 400-digit arithmetic: every gradient to 1e-11 of itself, however small."""
    p = gru_init(rng(), 1, 1, reset_after=after, convention=convention)
    p.W_x[:], p.W_h[:] = [[0.3, -0.2, 0.7]], [[0.1, 0.4, -0.6]]
    p.b_r[:], p.b_z[:], p.b_n[:] = a_r, a_z, 0.1
    if after:
        p.b_hn[:] = 0.2
    at = gru_weights(p) | {"x": exactly([[0.5]]), "h": exactly([[0.4]])}
    if not after:
        del at["b_hn"]

    def loss(v):
        return mpmath.mpf(1.3) * exact_gru_step(v["x"], v["h"], {"b_hn": 0} | v, **exact_options(p)).item()

    with mpmath.workdps(1200):
        step = mpmath.mpf(10) ** -100
        ends = {name: [loss(at | {name: at[name] + by}) for by in (step, -step)] for name in at}
        right = {name: float((up - down) / (2 * step)) for name, (up, down) in ends.items()}
    x, h_prev, dh = (np.full((1, 1), v) for v in (0.5, 0.4, 1.3))
    of_step = gru_step_backward(dh, gru_step(x, h_prev, p)[1], p)
    of_pass = gru_backward(dh[None], None, gru_forward(x[None], h_prev, p)[2], p)
    for dx, dh_prev, grads in (of_step, of_pass):
        found = {"x": dx, "h": dh_prev} | {name: getattr(grads, name) for name in at if name not in "xh"}
        for name, value in right.items():
            assert found[name].item() == pytest.approx(value, rel=1e-11, abs=0), name


def test_gate_of_the_tape_is_the_gate_of_the_step():
    p, (xs, h0, _, _) = params(), sequences()
    hs, _, tape = gru_forward(xs, h0, p)
    cache = gru_step(xs[1], hs[0], p)[1]
    for name in "rzn":
        np.testing.assert_allclose(tape.gate(name)[1], getattr(cache, name), rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="name must be one of"):
        tape.gate("h")


def test_padding_in_front_is_refused_and_what_only_looks_like_it_is_not():
    """As Keras's pad_sequences writes it by default."""
    p, lengths = gru_init(rng(), 2, 3), [2, 5, 3]
    after = rng(1).normal(size=(5, 3, 2))
    for n, length in enumerate(lengths):
        after[length:, n] = 0
    before = np.array([np.roll(after[:, n], 5 - length, axis=0) for n, length in enumerate(lengths)]).swapaxes(0, 1)
    with pytest.raises(ValueError, match="gru_forward: lengths counts from the first step, and padding stands at the"):
        gru_forward(before, None, p, lengths=lengths)
    gru_forward(after, None, p, lengths=lengths)
    rubbish, silent, still = after.copy(), before.copy(), 0 * after
    rubbish[2:, 0] = 1
    silent[4, 0] = 0  # a sequence whose last step is zero too
    for xs in (rubbish, silent, still):
        gru_forward(xs, None, p, lengths=lengths)
    begins_at_0 = np.array([[0, 1, 2.0], [0.5, 1, 2], [0.9, 1, 2], [0.7, 1, 2], [0.7, 1, 9]])[:, :, None].repeat(2, 2)
    gru_forward(begins_at_0, None, p, lengths=[4, 5, 5])
