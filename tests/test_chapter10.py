"""What chapter 10 and its companions say beside their cells: functions, frameworks' code, the theorem, the table."""

from itertools import permutations

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, randomised, run_box

from gru_lib import convert, gru_init, gru_step, numeric_gradient, sigmoid

NAME = "10-conventions"
TEXT = (ROOT / "book_text" / f"{NAME}.md").read_text("utf8")


@pytest.fixture(scope="module")
def page():
    """The names that the page's cells define, up to the interrogation."""
    wanted = ("viz.use_style()", "def swap_r_z", "def torch_to_onnx", "def onnx_layer", "def interrogate")
    return names_of(cell for cell in cells_of(NAME) if any(word in cell for word in wanted))


# ---------------------------------------------------------------------------------------------------- moving weights


@pytest.fixture
def state():
    """The arrays of a PyTorch GRU, every number another."""
    shapes = {"weight_ih_l0": (12, 3), "weight_hh_l0": (12, 4), "bias_ih_l0": (12,), "bias_hh_l0": (12,)}
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def test_the_functions_of_the_page_are_the_converters_of_the_library(page, state):
    ((wanted,),) = convert.from_torch(state, "gru")
    (keras,) = convert.from_keras(page["torch_to_keras"](state), "gru")
    (onnx,) = convert.from_onnx(*page["torch_to_onnx"](state), cell="gru", linear_before_reset=1)
    np.testing.assert_array_equal(keras.flat, wanted.flat)
    np.testing.assert_array_equal(onnx.flat, wanted.flat)
    for name, array in page["keras_to_torch"](page["torch_to_keras"](state)).items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.frameworks("torch", "keras")
def test_pytorch_and_keras_take_the_arrays_and_start_as_the_page_says(page):
    import keras
    import torch

    names = run_box("10-conventions", "import keras", **page)
    gru, layer, xs = names["gru"], names["layer"], page["xs"]
    with torch.no_grad():
        pytorch, keras_gru = gru(torch.tensor(xs))[0], layer(np.moveaxis(xs, 0, 1))
    np.testing.assert_allclose(np.moveaxis(keras_gru.numpy(), 1, 0), pytorch.numpy(), atol=1e-6)
    fresh = torch.nn.GRU(5, 100)
    assert all(0.095 < p.abs().max() <= 0.1 and abs(p.mean()) < 0.02 for p in fresh.parameters())
    config = keras.layers.GRU(3).get_config()
    assert config["reset_after"] and not config["return_sequences"]
    fresh = keras.layers.GRU(3)
    fresh.build((None, None, 2))
    np.testing.assert_array_equal(fresh.get_weights()[2], np.zeros((2, 9)))


@pytest.mark.frameworks("torch")
def test_pytorch_answers_the_interrogation_as_the_page_shows(page):
    run_box("10-conventions", "def torch_layer", **page)


# ------------------------------------------------------------------------------------------------------- the theorem


def of_the_proof(reset_after):
    p = gru_init(np.random.default_rng(0), 1, 2, reset_after=reset_after)
    p.flat[:] = 0
    p.W_xr[:] = [1, -1]
    p.W_xn[:] = [1, 2]
    p.W_hn[:] = 1
    return p


@pytest.mark.parametrize("reset_after", [False, True])
def test_from_zero_the_grus_of_the_proof_fill_an_area_in_two_steps(reset_after):
    p = of_the_proof(reset_after)

    def second(x, k):
        h = np.zeros((1, 2))
        for x_t in x:
            h, _ = gru_step(x_t.reshape(1, 1), h, p)
        return h[0, k]

    rows = [numeric_gradient(lambda x, k=k: second(x, k), {"x": np.zeros(2)})["x"] for k in range(2)]
    np.testing.assert_allclose(np.transpose(rows), [[5 / 8, 7 / 8], [1 / 2, 1]], rtol=1e-12)
    p.W_xn[:] = 0  # with no input to the candidate they stay at 0 for ever, and prove nothing
    assert second(np.array([0.7, -0.4]), 0) == second(np.array([0.7, -0.4]), 1) == 0


def seen(p, x):
    """S[j, k], the derivative of the pre-activation of candidate k in h_j at h = 0."""
    S, p = np.empty((2, 2)), p.copy()
    p.W_xn[:] = 0  # not in S; with it tanh would cost digits
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


def test_the_interrogation_does_not_see_another_function_of_the_gates(page):
    def layer(x, W, R, b, b_hidden, h0):
        a, q = np.split(x @ W.T + b, 3, axis=1), np.split(h0 @ R.T + b_hidden, 3, axis=1)
        r, z = (np.clip(0.2 * (a[k] + q[k]) + 0.5, 0, 1) for k in (0, 1))
        return z * h0 + (1 - z) * np.tanh(a[2] + r * q[2])

    assert tuple(page["interrogate"](layer).values()) == LAYERS["PyTorch"][1]
