"""All steps at once: the states and gradients are the loop's, and so they would be, later, with a wrong Jacobian.

So the Jacobian is tested by itself, and by the number of rounds.
"""

import warnings

import numpy as np
import pytest
from helpers import close, randomised, refused, rng, same

import gru_book.newton as module
from gru_book.cells import ablated_gru_init, deltanet_init, diaggru_init, mingru_init
from gru_book.jacobian import jacobian
from gru_book.newton import linear, newton_backward, newton_forward, step_jacobian
from gru_lib import cell_of, elman_init, gru_backward, gru_forward, gru_init, lstm_init, stack

D, H = 3, 5
CELLS = {
    "gru": lambda: gru_init(rng(), D, H),
    "after, write": lambda: gru_init(rng(), D, H, reset_after=True, convention="write"),
    "no bias": lambda: gru_init(rng(), D, H, bias=False),
    "diagonal": lambda: diaggru_init(rng(), D, H),
    "elman": lambda: elman_init(rng(), D, H),
    "mingru": lambda: mingru_init(rng(), D, H),
    "ablated": lambda: ablated_gru_init(rng(), D, H, ablation="no_reset"),
}
cells = pytest.mark.parametrize("name", CELLS)


def case(name, T=30, N=2, scale=0.7):
    p = randomised(CELLS[name](), rng(1), scale)
    return p, rng(2).normal(size=(T, N, D)), rng(3).normal(size=(N, H))


@cells
def test_a_steps_jacobian_is_the_one_that_backward_gives(name):
    p, xs, h0 = case(name, T=1)
    f, J = step_jacobian(xs[0], h0, p)
    close(f, cell_of(p).step(xs[0], h0, p)[0])
    right = jacobian(xs, h0, p).steps[0]
    if name == "diagonal":
        J = J[:, :, None] * np.eye(H)
    assert abs(right - right.swapaxes(1, 2)).max() > 0.01 or name in ("diagonal", "mingru")
    np.testing.assert_allclose(J, right, rtol=0, atol=1e-14)


@cells
@pytest.mark.parametrize("options", [{}, {"doubling": True}, {"diagonal": True}, {"lengths": [30, 11]}], ids=str)
def test_states_and_gradients_are_those_of_the_loop(name, options):
    p, xs, h0 = case(name)
    lengths = {k: v for k, v in options.items() if k == "lengths"}
    hs, h_T, tape = newton_forward(xs, h0, p, **options)
    theirs = cell_of(p).forward(xs, h0, p, **lengths)
    assert tape.converged and tape.missed[-1] < 1e-13
    close((hs, h_T), theirs[:2], atol=1e-12)
    dhs, dh_T = rng(4).normal(size=hs.shape), rng(5).normal(size=h0.shape)
    ours = newton_backward(dhs, dh_T, tape, p, doubling=options.get("doubling", False))
    close(ours, cell_of(p).backward(dhs, dh_T, theirs[2], p), atol=1e-11)


@pytest.mark.parametrize(("T", "H"), [(1, 4), (2, 16), (31, 1), (256, 64)])
def test_an_untrained_gru_of_any_size_is_solved_in_five_rounds(T, H):
    p, xs = gru_init(rng(H), 4, H), rng(1).normal(size=(T, 1, 4))
    hs, _, tape = newton_forward(xs, None, p)
    assert tape.rounds <= min(T, 5)
    close(hs, gru_forward(xs, None, p)[0], atol=1e-12)


@pytest.mark.parametrize(("T", "H"), [(8192, 16)])
def test_a_long_sequence_takes_no_more_rounds_than_a_short_one(T, H):
    p, xs = gru_init(rng(H), 4, H), rng(1).normal(size=(T, 1, 4))
    hs, _, tape = newton_forward(xs, None, p)
    theirs = gru_forward(xs, None, p)
    assert tape.rounds <= 5
    close(hs, theirs[0], atol=1e-12)
    ours, wanted = (back[2].flat for back in (newton_backward(hs, None, tape, p), gru_backward(hs, None, theirs[2], p)))
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-12 * abs(wanted).max())


SPOILED = {
    "right": lambda J: J,
    "transposed": lambda J: J.swapaxes(2, 3),
    "zero": lambda J: 0 * J,
    "random": lambda J: rng(9).normal(size=J.shape) / 10,
}


@pytest.mark.parametrize("kind", SPOILED)
def test_after_k_rounds_the_first_k_states_are_right_whatever_the_slopes_are(kind, monkeypatch):
    p, xs, h0 = case("gru", T=20)
    wanted = gru_forward(xs, h0, p)[0]
    true = module._steps
    monkeypatch.setattr(module, "_steps", lambda *args: (lambda f, J: (f, SPOILED[kind](J)))(*true(*args)))
    for k in (1, 2, 7, 19):
        close(newton_forward(xs, h0, p, most=k, strict=False)[0][:k], wanted[:k], atol=1e-14)
    hs, _, tape = newton_forward(xs, h0, p)  # T + 1 rounds always suffice
    close(hs, wanted, atol=1e-14)
    assert tape.rounds == {"right": 6}.get(kind, tape.rounds) and (tape.rounds > 12 or kind == "right")


def test_a_linear_network_is_solved_in_one_round():
    p, xs, h0 = case("mingru", T=100)
    assert newton_forward(xs, h0, p)[2].rounds == 1


@pytest.mark.parametrize("ndim", [3, 4])
def test_doubling_is_the_loop_of_matrices_that_do_not_commute(ndim):
    T, N = 13, 2
    J = rng().normal(size=(T, N, H, H)[:ndim]) / 2
    w, d0 = rng(1).normal(size=(T, N, H)), rng(2).normal(size=(N, H))
    d = d0
    for t in range(T):
        d = (J[t] * d if ndim == 3 else np.einsum("nij,nj->ni", J[t], d)) + w[t]
    kept = J.copy(), w.copy()
    for doubling in (False, True):
        np.testing.assert_allclose(linear(J, w, d0, doubling=doubling)[-1], d, rtol=0, atol=1e-12)
    same((J, w), kept)


def test_no_steps_pass_state_and_gradient_as_they_are():
    p, xs, h0 = case("gru", T=0)
    hs, h_T, tape = newton_forward(xs, h0, p)
    assert tape.converged and tape.rounds == 0 and hs.shape == (0, 2, H)
    dxs, dh0, grads = newton_backward(None, h0, tape, p)
    same((h_T, dh0), (h0, h0))
    assert dxs.shape == (0, 2, D) and not grads.flat.any()


def test_steps_in_pieces_are_the_same_steps(monkeypatch):
    p, xs, h0 = case("gru")
    whole = newton_forward(xs, h0, p, lengths=[30, 9])
    back = newton_backward(whole[0], h0, whole[2], p)
    monkeypatch.setattr(module, "_PIECE", 4 * 2 * H * H)  # four steps
    parts = newton_forward(xs, h0, p, lengths=[30, 9])
    close(parts[:2], whole[:2], atol=1e-14)
    assert parts[2].rounds == whole[2].rounds
    close(newton_backward(parts[0], h0, parts[2], p), back, atol=1e-13)


def test_earlier_states_are_a_start():
    p, xs, h0 = case("gru", T=200)
    hs = newton_forward(xs, h0, p)[0]
    assert newton_forward(xs, h0, p, start=hs)[2].rounds == 0
    p.flat[:] += 1e-4 * rng(6).normal(size=p.size)
    assert newton_forward(xs, h0, p, start=hs)[2].rounds < newton_forward(xs, h0, p)[2].rounds


def test_what_padding_holds_changes_no_bit():
    p, xs, h0 = case("gru")
    found = newton_forward(xs, h0, p, lengths=[30, 9])
    xs[9:, 1] = np.nan
    again = newton_forward(xs, h0, p, lengths=[30, 9])
    same(again[:2], found[:2])
    dhs = np.ones_like(found[0])
    same(newton_backward(dhs, None, again[2], p), newton_backward(dhs, None, found[2], p))


def test_nan_is_no_solution_and_too_few_rounds_are_said():
    p, xs, h0 = case("gru")
    xs[4, 0, 0] = np.nan
    refused(ValueError, "newton_forward: not solved after 0 rounds", newton_forward, xs, h0, p)
    p, xs, h0 = case("gru")
    refused(ValueError, "not solved after 2 rounds; the worst step is missed by", newton_forward, xs, h0, p, most=2)
    assert not newton_forward(xs, h0, p, most=2, strict=False)[2].converged


def test_a_network_that_expands_stays_finite_and_is_solved_within_its_steps():
    p, xs, h0 = case("gru", T=150)
    p.W_h[:] *= 50
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hs, _, tape = newton_forward(xs, h0, p)
    assert abs(hs).max() <= max(1, abs(h0).max()) and tape.rounds > 20
    close(hs[:20], gru_forward(xs, h0, p)[0][:20], atol=1e-9)


def test_float32_stays_float32_and_ends():
    p, xs = gru_init(rng(), D, H, dtype=np.float32), rng(1).normal(size=(300, 2, D)).astype(np.float32)
    hs, h_T, tape = newton_forward(xs, None, p)
    assert hs.dtype == h_T.dtype == np.float32 and tape.rounds <= 5
    close(hs, gru_forward(xs, None, p)[0], atol=1e-5)
    back = newton_backward(hs, None, tape, p)
    assert back[0].dtype == back[1].dtype == back[2].flat.dtype == np.float32


def test_cells_without_a_single_state_are_refused():
    xs = np.zeros((4, 1, D))
    for p in (lstm_init(rng(), D, H), deltanet_init(rng(), D, H), stack(gru_init(rng(), D, H))):
        with pytest.raises(TypeError, match="p must be of one cell whose state is an array"):
            newton_forward(xs, None, p)
    with pytest.raises(TypeError, match="must be real"):
        newton_forward(xs + 0j, None, gru_init(rng(), D, H))
