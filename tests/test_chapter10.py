"""What chapter 10 says beside its cells: the theorem's two GRUs, and the rows of its table that can be run."""

from itertools import permutations

import numpy as np
import pytest
from helpers import cells_of, names_of, randomised

from gru_lib import convert, gru_init, gru_step, numeric_gradient, sigmoid


@pytest.fixture(scope="module")
def page():
    """The names that the page's cells define, up to the interrogation."""
    wanted = ("viz.use_style()", "def onnx_layer", "def interrogate")
    return names_of(cell for cell in cells_of("10-conventions") if any(word in cell for word in wanted))


# ------------------------------------------------------------------------------------------------------- the theorem


def of_the_proof(reset_after):
    p = gru_init(np.random.default_rng(0), 1, 2, reset_after=reset_after)
    p.flat[:] = 0
    p.W_xr[:] = [1, -1]
    p.W_hn[:] = 1
    return p


def seen(p, x):
    """S[j, k], the derivative of the pre-activation of candidate k in h_j at h = 0."""
    S = np.empty((2, 2))
    for k in range(2):

        def a_n(h, k=k):
            _, cache = gru_step(np.array([[x]]), h, p)
            return np.arctanh(cache.n[0, k])

        S[:, k] = numeric_gradient(a_n, {"h": np.zeros((1, 2))})["h"][0]
    return S


@pytest.mark.parametrize("x", [-3.0, 0.0, 2.0])
def test_the_two_grus_of_the_proof_see_the_state_as_it_says(x):
    z = gru_step([[x]], np.zeros((1, 2)), of_the_proof(False))[1].z
    np.testing.assert_array_equal(z, 0.5)
    up, down = sigmoid(x), sigmoid(-x)
    np.testing.assert_allclose(seen(of_the_proof(False), x), [[up, up], [down, down]], rtol=1e-12)
    np.testing.assert_allclose(seen(of_the_proof(True), x), [[up, down], [up, down]], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_what_no_weights_change_is_what_the_proof_uses(seed):
    rng = np.random.default_rng(seed)
    before, after = (gru_init(rng, 1, 2, reset_after=after) for after in (False, True))
    for p in (before, after):
        p.flat[:] = rng.normal(size=p.size)
        p.W_xn[:], p.b_n[:] = 0, 0
    ratios = [S[0, 0] / S[0, 1] for S in (seen(before, x) for x in (-2.0, 0.5, 3.0))]
    np.testing.assert_allclose(ratios, before.W_hn[0, 0] / before.W_hn[0, 1], rtol=1e-11)
    end = -np.sign(after.W_xr[0, 0])  # where the gate of unit 1 shuts
    S = [np.abs(seen(after, x)[:, 0]).max() for x in (end * 5, end * 50, end * 500)]
    assert S[0] > S[1] > S[2] and S[2] < 1e-3 * S[0]


def test_the_two_coincide_exactly_where_connected_units_have_equal_gates():
    source = np.random.default_rng(0)
    for _ in range(50):
        before, after = (gru_init(source, 2, 4, reset_after=after) for after in (False, True))
        randomised(before, source)
        before.W_xr[:], before.W_hr[:] = 0, 0
        kinds = source.integers(0, 2, 4)
        before.b_r[:] = np.array([-1.4, 2.2])[kinds]  # gates of 0.2 and 0.9
        connected = kinds[:, None] == kinds
        x, h_prev, W_hn = source.normal(size=(1, 2)), source.normal(size=(1, 4)), before.W_hn.copy()
        for W, equal in ((W_hn * connected, True), (W_hn, connected.all())):
            before.W_hn[:] = W
            after.W_x[:], after.W_h[:], after.b[:] = before.W_x, before.W_h, before.b
            difference = np.abs(gru_step(x, h_prev, before)[0] - gru_step(x, h_prev, after)[0]).max()
            assert difference < 1e-14 if equal else difference > 1e-6


# --------------------------------------------------------------------------------------------------- the interrogation


def read_with(reader):
    """A layer for `interrogate` that runs on what a converter made of the arrays."""

    def layer(x, W, R, b, b_hidden, h0):
        return gru_step(x, h0, reader(W, R, b, b_hidden))[0]

    return layer


LAYERS = {
    "PyTorch": (
        lambda W, R, b, c: convert.from_torch(
            {"weight_ih_l0": W, "weight_hh_l0": R, "bias_ih_l0": b, "bias_hh_l0": c}, "gru"
        )[0][0],
        ("r z n", "keep", "W h", "after", "inside r"),
    ),
    "Keras": (
        lambda W, R, b, c: convert.from_keras([W.T, R.T, np.stack([b, c])], "gru")[0],
        ("z r n", "keep", "W h", "after", "inside r"),
    ),
    "Keras before": (
        lambda W, R, b, c: convert.from_keras([W.T, R.T, b + c], "gru", reset_after=False)[0],
        ("z r n", "keep", "W h", "before", "outside r"),
    ),
    "ONNX": (
        lambda W, R, b, c: convert.from_onnx(W[None], R[None], np.append(b, c)[None], cell="gru")[0],
        ("z r n", "keep", "W h", "before", "outside r"),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_interrogation_finds_what_the_table_says(page, name):
    reader, wanted = LAYERS[name]
    assert tuple(page["interrogate"](read_with(reader)).values()) == wanted


@pytest.mark.parametrize("order", list(permutations("rzn")))
def test_the_interrogation_names_every_order(page, order):
    def reader(W, R, b, c):
        p = gru_init(np.random.default_rng(0), 1, 2, reset_after=True)
        for k, gate in enumerate(order):
            rows = slice(2 * k, 2 * k + 2)
            getattr(p, f"W_h{gate}")[:] = R[rows].T
            getattr(p, f"b_{gate}")[:] = b[rows]
        p.W_x[:] = 0
        return p

    assert page["interrogate"](read_with(reader))["order"] == " ".join(order)
