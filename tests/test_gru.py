"""The GRU: forward and backward, every variant."""

import mpmath
import numpy as np
import pytest

from gru_lib import gradcheck, gru_backward, gru_forward, gru_init, gru_step, gru_step_backward

VARIANTS = [
    pytest.param({"reset_after": after, "convention": convention, "bias": bias}, id=f"{place}-{convention}-{b}")
    for after, place in [(False, "before"), (True, "after")]
    for convention in ["keep", "write"]
    for bias, b in [(True, "bias"), (False, "nobias")]
]
T, N, D, H = 5, 3, 2, 4


def params(seed=0, dtype=np.float64, **variant):
    rng = np.random.default_rng(seed)
    p = gru_init(rng, D, H, dtype=dtype, **variant)
    p.flat[:] = rng.normal(size=p.size)
    return p


def sequences(seed=1, dtype=np.float64, T=T, N=N):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s).astype(dtype) for s in [(T, N, D), (N, H), (T, N, H), (N, H)]]  # xs, h0, dhs, dh_T


def loss_of(dhs, dh_T, lengths=None):
    """A loss whose gradients in hs and h_T are dhs and dh_T."""

    def loss(xs, h0, p):
        hs, h_T, _ = gru_forward(xs, h0, p, lengths=lengths)
        return (hs * dhs).sum() + (h_T * dh_T).sum()

    return loss


@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_step_follows_the_equations(variant):
    """One number at a time, straight from the four equations."""
    p, (xs, h0, _, _) = params(**variant), sequences()
    x, h = xs[0], gru_step(xs[0], h0, p)[0]
    b, b_hn = (p.b, p.b_hn) if p.bias else (np.zeros(3 * H), 0)
    b_hn = np.broadcast_to(b_hn, H)
    for row in range(N):

        def dot(v, W, j):
            return sum(v[i] * W[i, j] for i in range(len(v)))

        def sig(a):
            return 1 / (1 + np.exp(-a))

        r = [sig(dot(x[row], p.W_xr, j) + dot(h0[row], p.W_hr, j) + b[j]) for j in range(H)]
        z = [sig(dot(x[row], p.W_xz, j) + dot(h0[row], p.W_hz, j) + b[H + j]) for j in range(H)]
        for j in range(H):
            if p.reset_after:
                past = r[j] * (dot(h0[row], p.W_hn, j) + b_hn[j])
            else:
                past = dot([r[i] * h0[row, i] for i in range(H)], p.W_hn, j)
            n = np.tanh(dot(x[row], p.W_xn, j) + past + b[2 * H + j])
            keep = z[j] if p.convention == "keep" else 1 - z[j]
            assert h[row, j] == pytest.approx(keep * h0[row, j] + (1 - keep) * n, rel=1e-13)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_forward_is_gru_step_repeated(variant):
    p, (xs, h, _, _) = params(**variant), sequences()
    hs, h_T, _ = gru_forward(xs, h, p)
    for t in range(T):
        h, _ = gru_step(xs[t], h, p)
        np.testing.assert_allclose(hs[t], h, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(h_T, hs[-1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_backward_is_gru_step_backward_repeated(variant):
    p, (xs, h0, dhs, dh_T) = params(**variant), sequences()
    dxs, dh0, grads = gru_backward(dhs, dh_T, gru_forward(xs, h0, p)[2], p)
    caches, h = [], h0
    for t in range(T):
        h, cache = gru_step(xs[t], h, p)
        caches.append(cache)
    dh, total = dh_T, p.zeros_like()
    for t in reversed(range(T)):
        dx, dh, g = gru_step_backward(dh + dhs[t], caches[t], p)
        total.flat[:] += g.flat
        np.testing.assert_allclose(dxs[t], dx, rtol=0, atol=1e-13)
    np.testing.assert_allclose(dh0, dh, rtol=0, atol=1e-13)
    np.testing.assert_allclose(grads.flat, total.flat, rtol=0, atol=1e-13)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_step_backward_matches_complex_step(variant):
    p, (xs, h0, dhs, _) = params(**variant), sequences()
    dx, dh_prev, grads = gru_step_backward(dhs[0], gru_step(xs[0], h0, p)[1], p)
    report = gradcheck(
        lambda x, h_prev, p: (gru_step(x, h_prev, p)[0] * dhs[0]).sum(),
        {"x": xs[0], "h_prev": h0, "p": p},
        {"x": dx, "h_prev": dh_prev, "p": grads},
    )
    assert report.worst < 1e-13, report


@pytest.mark.parametrize("lengths", [None, [5, 0, 2]], ids=["full", "padded"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_backward_matches_complex_step(variant, lengths):
    p, (xs, h0, dhs, dh_T) = params(**variant), sequences()
    dxs, dh0, grads = gru_backward(dhs, dh_T, gru_forward(xs, h0, p, lengths=lengths)[2], p)
    report = gradcheck(loss_of(dhs, dh_T, lengths), {"xs": xs, "h0": h0, "p": p}, {"xs": dxs, "h0": dh0, "p": grads})
    assert report.worst < 1e-13, report


@pytest.mark.parametrize("variant", VARIANTS)
def test_gru_backward_matches_central_differences(variant):
    p, (xs, h0, dhs, dh_T) = params(**variant), sequences()
    dxs, dh0, grads = gru_backward(dhs, dh_T, gru_forward(xs, h0, p)[2], p)
    report = gradcheck(
        loss_of(dhs, dh_T),
        {"xs": xs, "h0": h0, "p": p},
        {"xs": dxs, "h0": dh0, "p": grads},
        method="central",
    )
    assert report.worst < 1e-7, report


@pytest.mark.parametrize("per_step", [False, True], ids=["per-sequence", "per-step"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_recurrent_dropout_masks_what_the_gates_see(variant, per_step):
    """The recurrent products see h_mask ⊙ h_prev, z carries h_prev itself; gradients by complex step."""
    p, (xs, h0, dhs, dh_T) = params(**variant), sequences()
    m = np.random.default_rng(9).integers(0, 2, (T, N, H) if per_step else (N, H)) * 2.0
    lengths = [5, 0, 2]
    hs, _, tape = gru_forward(xs, h0, p, lengths=lengths, h_mask=m)
    seen = (m[0] if per_step else m) * h0
    h1, c = gru_step(xs[0], seen, p)
    keep = c.z if p.convention == "keep" else c.not_z
    np.testing.assert_allclose(hs[0, 0], (h1 + keep * (h0 - seen))[0], rtol=0, atol=1e-14)

    def loss(xs, h0, p):
        hs, h_T, _ = gru_forward(xs, h0, p, lengths=lengths, h_mask=m)
        return (hs * dhs).sum() + (h_T * dh_T).sum()

    dxs, dh0, grads = gru_backward(dhs, dh_T, tape, p)
    report = gradcheck(loss, {"xs": xs, "h0": h0, "p": p}, {"xs": dxs, "h0": dh0, "p": grads})
    assert report.worst < 1e-13, report


@pytest.mark.parametrize("variant", VARIANTS)
def test_padding_carries_the_state_and_outputs_zero(variant):
    p, (xs, h0, _, _) = params(**variant), sequences()
    hs, h_T, _ = gru_forward(xs, h0, p, lengths=[5, 0, 2])
    full, _, _ = gru_forward(xs, h0, p)
    np.testing.assert_array_equal(hs[:, 0], full[:, 0])
    np.testing.assert_array_equal(hs[:, 1], 0)
    np.testing.assert_array_equal(hs[2:, 2], 0)
    np.testing.assert_array_equal(hs[:2, 2], full[:2, 2])
    np.testing.assert_array_equal(h_T, [full[-1, 0], h0[1], full[1, 2]])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rubbish", [np.nan, np.inf, -1e300])
def test_what_padding_holds_changes_no_bit(variant, rubbish):
    p, (xs, h0, dhs, dh_T) = params(**variant), sequences()
    lengths = np.array([5, 0, 2])
    pad = np.arange(T)[:, None] >= lengths

    def run(xs, dhs):
        hs, h_T, tape = gru_forward(xs, h0, p, lengths=lengths)
        dxs, dh0, grads = gru_backward(dhs, dh_T, tape, p)
        return [hs, h_T, dxs, dh0, grads.flat]

    clean = run(xs, dhs)
    xs, dhs = xs.copy(), dhs.copy()
    xs[pad], dhs[pad] = rubbish, rubbish
    for a, b in zip(clean, run(xs, dhs), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(clean[2][pad], 0)


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


def test_the_two_reset_placements_differ():
    before, (xs, h0, _, _) = params(bias=False), sequences()
    after = params(bias=False, reset_after=True)
    after.flat[:] = before.flat
    assert np.abs(gru_forward(xs, h0, before)[0] - gru_forward(xs, h0, after)[0]).max() > 0.01


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dtype_in_is_dtype_out(variant, dtype):
    p, (xs, h0, dhs, dh_T) = params(dtype=dtype, **variant), sequences(dtype=dtype)
    h, cache = gru_step(xs[0], h0, p)
    dx, dh, g = gru_step_backward(dhs[0], cache, p)
    hs, h_T, tape = gru_forward(xs, h0, p)
    dxs, dh0, grads = gru_backward(dhs, dh_T, tape, p)
    for array in (h, dx, dh, g.flat, hs, h_T, dxs, dh0, grads.flat, gru_forward(xs, None, p)[0]):
        assert array.dtype == dtype


@pytest.mark.parametrize("variant", VARIANTS)
def test_inputs_may_be_read_only_and_a_second_call_gives_the_same_bits(variant):
    p, arrays = params(**variant), sequences()
    for array in (*arrays, p.flat):
        array.flags.writeable = False
    xs, h0, dhs, dh_T = arrays

    def run():
        hs, h_T, tape = gru_forward(xs, h0, p, lengths=[5, 1, 3])
        first = gru_backward(dhs, dh_T, tape, p)
        second = gru_backward(dhs, dh_T, tape, p)  # backward leaves the tape as it was
        np.testing.assert_array_equal(first[2].flat, second[2].flat)
        return [hs, h_T, *first[:2], first[2].flat]

    for a, b in zip(run(), run(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", VARIANTS)
def test_huge_inputs_stay_finite_without_a_warning(variant, dtype):
    p, (xs, h0, dhs, dh_T) = params(dtype=dtype, **variant), sequences(dtype=dtype)
    hs, _, tape = gru_forward(xs * dtype(1e4), h0, p)
    dxs, dh0, grads = gru_backward(dhs, dh_T, tape, p)
    dx, dh, g = gru_step_backward(dhs[0], gru_step(xs[0] * dtype(1e4), h0, p)[1], p)
    for array in (hs, dxs, dh0, grads.flat, dx, dh, g.flat):
        assert np.isfinite(array).all()


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("a_r, a_z", [(700, -700), (-700, 700), (40, 40), (-300, -40), (2, -650)])
def test_saturated_gates_keep_the_digits_of_their_gradients(convention, after, a_r, a_z):
    """One unit against 400-digit arithmetic: every gradient to 1e-11 of itself, however small."""
    p = gru_init(np.random.default_rng(0), 1, 1, reset_after=after, convention=convention)
    p.W_x[:], p.W_h[:] = [[0.3, -0.2, 0.7]], [[0.1, 0.4, -0.6]]
    p.b_r[:], p.b_z[:], p.b_n[:] = a_r, a_z, 0.1
    if after:
        p.b_hn[:] = 0.2
    x, h_prev, dh = 0.5, 0.4, 1.3

    def exact(names):
        mp = mpmath
        v = {k: mp.mpf(float(a)) for k, a in names.items()}

        def loss(**over):
            u = v | over
            sig = lambda a: 1 / (1 + mp.exp(-a))  # noqa: E731
            r = sig(u["x"] * u["W_xr"] + u["h"] * u["W_hr"] + u["b_r"])
            z = sig(u["x"] * u["W_xz"] + u["h"] * u["W_hz"] + u["b_z"])
            past = r * (u["h"] * u["W_hn"] + u["b_hn"]) if after else r * u["h"] * u["W_hn"]
            n = mp.tanh(u["x"] * u["W_xn"] + past + u["b_n"])
            keep, write = (z, 1 - z) if convention == "keep" else (1 - z, z)
            return mp.mpf(dh) * (keep * u["h"] + write * n)

        step = mp.mpf(10) ** -100
        return {k: (loss(**{k: v[k] + step}) - loss(**{k: v[k] - step})) / (2 * step) for k in v}

    names = {k: getattr(p, k).item() for k in ("W_xr", "W_xz", "W_xn", "W_hr", "W_hz", "W_hn", "b_r", "b_z", "b_n")}
    names |= {"b_hn": p.b_hn.item() if after else 0.0, "x": x, "h": h_prev}
    with mpmath.workdps(1200):
        right = {k: float(g) for k, g in exact(names).items()}
    row = np.array([[x]]), np.array([[h_prev]]), np.array([[dh]])
    dx, dh_prev, g = gru_step_backward(row[2], gru_step(row[0], row[1], p)[1], p)
    dxs, dh0, g_seq = gru_backward(row[2][None], None, gru_forward(row[0][None], row[1], p)[2], p)
    for dx_, dh_, grads in [(dx, dh_prev, g), (dxs, dh0, g_seq)]:
        assert dx_.item() == pytest.approx(right["x"], rel=1e-11)
        assert dh_.item() == pytest.approx(right["h"], rel=1e-11)
        for name in names.keys() - {"x", "h", "b_hn"}:
            assert getattr(grads, name).item() == pytest.approx(right[name], rel=1e-11, abs=0), name
        if after:
            assert grads.b_hn.item() == pytest.approx(right["b_hn"], rel=1e-11, abs=0)


def test_zero_steps_give_back_the_initial_state():
    p, (_, h0, _, dh_T) = params(), sequences()
    hs, h_T, tape = gru_forward(np.zeros((0, N, D)), h0, p)
    dxs, dh0, grads = gru_backward(hs, dh_T, tape, p)
    assert hs.shape == (0, N, H) and dxs.shape == (0, N, D)
    np.testing.assert_array_equal(h_T, h0)
    np.testing.assert_array_equal(dh0, dh_T)
    np.testing.assert_array_equal(grads.flat, 0)


def test_no_sequences_give_empty_results():
    p = params()
    hs, h_T, tape = gru_forward(np.zeros((T, 0, D)), None, p)
    dxs, dh0, grads = gru_backward(hs, h_T, tape, p)
    assert hs.shape == (T, 0, H) and dxs.shape == (T, 0, D) and dh0.shape == (0, H)
    np.testing.assert_array_equal(grads.flat, 0)


def test_missing_gradients_count_as_zero():
    p, (xs, h0, dhs, dh_T) = params(), sequences()
    tape = gru_forward(xs, h0, p)[2]
    for given, full in [((None, dh_T), (0 * dhs, dh_T)), ((dhs, None), (dhs, 0 * dh_T))]:
        np.testing.assert_array_equal(gru_backward(*given, tape, p)[2].flat, gru_backward(*full, tape, p)[2].flat)


def test_errors_name_the_argument_what_was_expected_and_what_came():
    p, (xs, h0, dhs, _) = params(), sequences()
    tape = gru_forward(xs, h0, p)[2]
    with pytest.raises(ValueError, match=r"gru_step: h_prev must have shape \(N, H\) = \(3, 4\); got \(4, 3\)\. Is it"):
        gru_step(xs[0], h0.T, p)
    with pytest.raises(ValueError, match=r"gru_step: x must have shape \(N, D\) = \(N, 2\); got \(3, 9\)"):
        gru_step(np.zeros((3, 9)), h0, p)
    with pytest.raises(TypeError, match="gru_step: p must be a GRUParams; got dict"):
        gru_step(xs[0], h0, {})
    with pytest.raises(ValueError, match=r"gru_forward: xs must have shape \(T, N, D\)"):
        gru_forward(xs[0], h0, p)
    with pytest.raises(ValueError, match=r"gru_forward: h0 must have shape \(N, H\) = \(3, 4\); got \(3, 5\)"):
        gru_forward(xs, np.zeros((3, 5)), p)
    with pytest.raises(ValueError, match=r"lengths must lie in 0..5; got 1..6"):
        gru_forward(xs, h0, p, lengths=[1, 6, 2])
    with pytest.raises(ValueError, match=r"lengths must have shape \(N,\) = \(3,\); got \(2,\)"):
        gru_forward(xs, h0, p, lengths=[1, 2])
    with pytest.raises(TypeError, match="lengths must hold integers; got dtype float64"):
        gru_forward(xs, h0, p, lengths=[1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="gru_forward: xs must hold numbers"):
        gru_forward([[["a", "b"]]], None, p)
    with pytest.raises(ValueError, match=r"gru_backward: dhs must have shape \(T, N, H\) = \(5, 3, 4\)"):
        gru_backward(dhs[1:], None, tape, p)
    with pytest.raises(TypeError, match="gru_backward: tape must be a GRUTape; got tuple"):
        gru_backward(dhs, None, (), p)
    with pytest.raises(ValueError, match="convention must be one of 'keep', 'write'; got 'torch'"):
        gru_init(np.random.default_rng(0), 2, 3, convention="torch")
    with pytest.raises(ValueError, match="gru_init: H must be at least 1; got 0"):
        gru_init(np.random.default_rng(0), 2, 0)
    with pytest.raises(TypeError, match=r"gru_init: D must be an integer; got 2\.5"):
        gru_init(np.random.default_rng(0), 2.5, 3)
    with pytest.raises(TypeError, match="dtype must be float32, float64"):
        gru_init(np.random.default_rng(0), 2, 3, dtype=int)


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
    p, lengths = gru_init(np.random.default_rng(0), 2, 3), [2, 5, 3]
    after = np.random.default_rng(1).normal(size=(5, 3, 2))
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
