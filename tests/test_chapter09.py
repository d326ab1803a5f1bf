"""What chapter 9 states as a property: the bound on an open gate, where it is exact, and the best constant gate."""

import numpy as np
import pytest

from gru_lib import elman_init, gru_forward, gru_init, jacobian, lstm_init, orthogonal

T, D, H = 20, 3, 6


def norm(a):
    return np.linalg.norm(a, 2)


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset_after", [False, True])
@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("bias", [4, 8, 12])
def test_an_open_gate_changes_no_length_by_more_than_the_bound(convention, reset_after, scale, bias):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = gru_init(rng, D, H, convention=convention, reset_after=reset_after)
        p.flat[:] = scale * rng.normal(size=p.size)
        p.b_z[:] = bias if convention == "keep" else -bias
        xs, h0 = 0.2 * rng.normal(size=(T, 1, D)), rng.uniform(-1, 1, (1, H))
        hs, _, tape = gru_forward(xs, h0, p)
        shut = (1 - tape.gate("z") if convention == "keep" else tape.gate("z")).max()
        seen = np.abs(np.concatenate([h0[None], hs[:-1]]) @ p.W_hn + p.b_hn).max() if reset_after else norm(p.W_hn)
        C = 1 + 2 * norm(p.W_hz) + norm(p.W_hn) + seen * norm(p.W_hr) / 4
        J = jacobian(xs, h0, p)
        for step in J.steps[:, 0]:
            assert norm(step - np.eye(H)) <= C * shut * (1 + 1e-9)
        stretch = np.linalg.svd(J.total[0])[1]
        assert max(0, 1 - C * shut) ** T * (1 - 1e-9) <= stretch.min()
        assert stretch.max() <= (1 + C * shut) ** T * (1 + 1e-9)


@pytest.mark.parametrize("init", [gru_init, lstm_init])
def test_without_recurrent_weights_the_direct_path_is_all(init):
    rng = np.random.default_rng(0)
    p = init(rng, D, H)
    p.W_h[:] = 0
    J = jacobian(rng.normal(size=(T, 1, D)), None, p)
    np.testing.assert_allclose(J.total[0, -H:, -H:], np.diag(J.direct[0, -H:]), rtol=1e-12, atol=0)


def test_the_best_constant_gate_is_one_minus_one_over_the_length():
    """Units with gates of all sizes read one input and keep it: which has most of it at the end?"""
    p = gru_init(np.random.default_rng(0), 1, 400)
    p.flat[:] = 0
    p.W_xn[:] = 1
    for length in (2, 10, 100, 1000):
        writes = np.arange(1, 401) / 400 * min(0.999, 10 / length)
        p.b_z[:] = np.log(1 / writes - 1)
        xs = np.zeros((length, 1, 1))
        xs[0] = 1
        best = writes[np.argmax(gru_forward(xs, None, p)[1])]
        assert best == pytest.approx(1 / length, abs=writes[0])


def test_a_bias_copied_across_conventions_is_the_worst_of_the_rows():
    sizes = {}
    for name, bias, convention in (
        ("shut", -2, "keep"),
        ("half", 0, "keep"),
        ("open", 4, "keep"),
        ("copied", 4, "write"),
    ):
        rng = np.random.default_rng(0)
        p = gru_init(rng, 8, 32, convention=convention)
        p.b_z[:] = bias
        sizes[name] = norm(jacobian(rng.normal(size=(100, 1, 8)), None, p).total[0])
    assert min(sizes, key=sizes.get) == "copied"
    assert sizes["open"] / sizes["shut"] > 1e40


@pytest.mark.parametrize(("start", "ahead"), [("uniform", "GRU"), ("orthogonal", "Elman")])
def test_which_of_a_half_open_gru_and_an_elman_net_vanishes_less_depends_on_the_weights_of_both(start, ahead):
    sizes = {"GRU": [], "Elman": []}
    for seed in range(20):
        for kind in sizes:
            rng = np.random.default_rng(seed)
            p = elman_init(rng, 8, 32, init=start) if kind == "Elman" else gru_init(rng, 8, 32)
            if kind == "GRU" and start == "orthogonal":
                p.W_hn[:] = orthogonal(rng, 32)
            sizes[kind].append(norm(jacobian(rng.normal(size=(100, 1, 8)), None, p).total[0]))
    middle = {kind: np.median(found) for kind, found in sizes.items()}
    assert max(middle, key=middle.get) == ahead
    assert max(middle.values()) / min(middle.values()) > 1e5
