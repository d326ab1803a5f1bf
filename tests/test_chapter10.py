"""What chapter 10 and its companions say beside their cells: functions, frameworks' code, the theorem, the table."""

import re
from itertools import permutations

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, page_says, randomised, run_box

from gru_book import results
from gru_lib import convert, gru_init, gru_step, infer, numeric_gradient, sigmoid, stack_forward

NAME = "10-conventions"
TEXT = (ROOT / "book_text" / f"{NAME}.md").read_text("utf8")


@pytest.fixture(scope="module")
def page():
    """The names that the page's cells define, up to the interrogation."""
    wanted = ("viz.use_style()", "def swap_r_z", "def interrogate")
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
    np.testing.assert_array_equal(keras.flat, wanted.flat)
    for name, array in page["keras_to_torch"](page["torch_to_keras"](state)).items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.frameworks("torch", "keras")
def test_pytorch_and_keras_take_the_arrays_and_start_as_the_page_says(page):
    import keras
    import torch

    names = run_box("10-conventions", "load_state_dict(arrays)", **page)
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


def test_the_recipe_for_a_deep_bidirectional_net_computes_what_pytorch_did():
    with np.load(results.path("torch")) as arrays:
        a = {name.removeprefix("gru_deep/"): arrays[name] for name in arrays.files if name.startswith("gru_deep/")}
    state = {name.removeprefix("p."): array for name, array in a.items() if name.startswith("p.")}
    names = run_box("10-conventions", "infer(xs", state=state, xs=a["xs"], lengths=None)
    h0 = [(a["h0"][0], a["h0"][1]), (a["h0"][2], a["h0"][3])]
    np.testing.assert_allclose(infer(a["xs"], h0, names["net"])[0], a["hs"], atol=1e-12)
    np.testing.assert_allclose(names["hs"], stack_forward(a["xs"], None, names["net"])[0], atol=1e-14)


def test_every_box_with_keras_says_what_to_set_without_tensorflow():
    """The tests set KERAS_BACKEND (conftest.py); a reader with PyTorch alone has nobody who does."""
    boxes = [line for page in (ROOT / "book_text").glob("*.md") for line in page.read_text("utf8").splitlines()]
    found = [line for line in boxes if line.startswith("import keras")]
    assert len(found) > 8 and {line.partition("#")[2] for line in found} == {" without TensorFlow: KERAS_BACKEND=torch"}


@pytest.mark.frameworks("torch")
def test_pytorch_answers_the_interrogation_as_the_page_shows(page):
    run_box("10-conventions", "def torch_layer", **page)


@pytest.mark.frameworks("keras")
def test_keras_answers_the_interrogation_as_the_page_shows(page):
    run_box("10-conventions", "def keras_layer", **page)


@pytest.mark.frameworks("onnxruntime")
def test_onnxruntime_runs_the_file_of_the_page():
    wanted = ("viz.use_style()", "def encode(", "def as_onnx", "onnx.save")
    names = names_of(cell for cell in cells_of(NAME) if any(word in cell for word in wanted))
    names = run_box("10-conventions", "InferenceSession", **names)
    np.testing.assert_allclose(names["scores"], names["wanted"], atol=1e-4)


def test_the_program_of_the_page_says_its_shapes_and_versions():
    onnx = pytest.importorskip("onnx")
    names = names_of(
        cell for cell in cells_of(NAME) if any(w in cell for w in ("viz.use_style()", "def encode(", "def as_onnx"))
    )
    for after in (False, True):
        p = gru_init(np.random.default_rng(0), 3, 4, reset_after=after, dtype=np.float32)
        model = names["as_onnx"](p, np.ones((4, 2)), np.ones(2))
        onnx.checker.check_model(model, full_check=True)
        assert (model.ir_version, model.opset_import[0].version) == (8, 17)
        shapes = {
            v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in (*model.graph.input, *model.graph.output)
        }
        assert shapes == {"x": ["T", "N", 3], "h0": [1, "N", 4], "scores": ["T", "N", 2], "h_T": [1, "N", 4]}


# --------------------------------------------------------------------------- names of gates, in words and in the table


def table(name):
    """The rows of a list-table, each as its cells."""
    body = TEXT[TEXT.index(f":name: {name}") :].split("```")[0]
    return [[cell.strip() for cell in re.split(r"\n  - ", row)] for row in re.split(r"\n\* - ", body)[1:]]


MADE = {
    "PyTorch ✓": "PyTorch",
    "Keras (default) ✓": "Keras",
    "Keras, `reset_after=False` ✓": "Keras before",
    "ONNX (default) ✓": "ONNX",
    "ONNX, `linear_before_reset=1` ✓": "ONNX after",
}


@pytest.mark.parametrize("row", MADE)
def test_a_row_of_the_table_is_what_the_converter_computes(page, row):
    """z, the reset, the count of biases, the order of the gates and the shape, of each program that we compared."""
    (cells,) = [cells for cells in table("tab-conv-who") if cells[0] == row]
    order, z, _, reset, _ = page["interrogate"](read_with(LAYERS[MADE[row]][0])).values()
    assert cells[1:3] + cells[4:5] == [f"{z}s", reset, order]
    p = gru_init(np.random.default_rng(0), 5, 7, reset_after=reset == "after")
    if row.startswith("PyTorch"):
        W, *_, b_x, b_h = convert.to_torch([[p]]).values()
        biases = np.concatenate([b_x, b_h])
    elif row.startswith("Keras"):
        W, _, biases = convert.to_keras([p])
    else:
        W, biases = (a[0] for a in convert.to_onnx([p])[::2])
    assert (str(np.size(biases) // 7), W.shape) == (cells[3], {"$(3H, D)$": (21, 5), "$(D, 3H)$": (5, 21)}[cells[5]])


def test_the_rows_of_this_book_and_of_two_texts_are_what_the_library_does():
    rows = {cells[0].split(" {cite")[0].split(",")[0]: cells[1:] for cells in table("tab-conv-who")}
    p = gru_init(np.random.default_rng(0), 5, 7)
    assert (p.convention, p.reset_after, p.b.shape, p.W_x.shape) == ("keep", False, (21,), (5, 21))
    np.testing.assert_array_equal(p.W_x, np.concatenate([p.W_xr, p.W_xz, p.W_xn], axis=1))
    assert rows["this book"] == ["keeps", "before", "3", "r z n", "$(D, 3H)$"]
    write = gru_init(np.random.default_rng(0), 5, 7, convention="write", bias=False)
    U = convert.to_source(write, "ai-edu")["U"]
    np.testing.assert_array_equal(U, np.concatenate([write.W_xz, write.W_xr, write.W_xn]))
    assert rows["ai-edu"] == ["writes", "before", "0", "z r n", "$(3D, H)$"]


def test_each_block_does_in_the_six_runs_what_the_table_of_runs_says():
    """Run 1 to 3: which gate leaves which state, in words of the table."""
    runs = table("tab-conv-runs")
    assert (
        runs[1][2]
        == "$h = h_0$: the block is $z$, kept; $h = 0$: $z$, written; $h = h_0 / 2$: $r$; $h = h_0 / 2 + \\frac12$: $n$"
    )
    h0 = np.array([[0.5, -0.25]])
    for convention in ("keep", "write"):
        says = {"z": h0 if convention == "keep" else 0 * h0, "r": h0 / 2, "n": h0 / 2 + 0.5}
        for gate, wanted in says.items():
            p = gru_init(np.random.default_rng(0), 1, 2, reset_after=True, convention=convention)
            p.flat[:] = 0
            getattr(p, f"b_{gate}")[:] = 40
            np.testing.assert_allclose(gru_step(np.zeros((1, 1)), h0, p)[0], wanted, atol=1e-9)


@pytest.mark.parametrize(
    ("phrase", "gates"),
    [
        ("Keras puts $z$ first, transposes the matrices", "zrn"),
        ("Nine rows are three blocks, for r, z and n", "rzn"),
    ],
)
def test_a_sentence_names_the_gates_in_the_order_of_the_arrays(phrase, gates):
    assert page_says(NAME, phrase)
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True)
    p.flat[:] = np.arange(p.size)
    blocks = [getattr(p, f"W_x{gate}") for gate in gates]
    if gates[0] == "z":
        np.testing.assert_array_equal(convert.to_keras([p])[0], np.concatenate(blocks, axis=1))
    else:
        np.testing.assert_array_equal(convert.to_torch([[p]])["weight_ih_l0"], np.concatenate([b.T for b in blocks]))


def test_negating_the_three_arrays_that_the_page_names_and_no_others_turns_keep_into_write():
    assert page_says(NAME, "negate $W_{xz}$, $W_{hz}$ and $b_z$")
    keep = gru_init(np.random.default_rng(0), 2, 3)
    keep.flat[:] = np.random.default_rng(1).normal(size=keep.size)
    x, h = np.ones((1, 2)), np.full((1, 3), 0.4)
    for gate in "rzn":
        write = gru_init(np.random.default_rng(0), 2, 3, convention="write")
        write.flat[:] = keep.flat
        for array in (f"W_x{gate}", f"W_h{gate}", f"b_{gate}"):
            getattr(write, array)[:] *= -1
        same = np.allclose(gru_step(x, h, write)[0], gru_step(x, h, keep)[0], rtol=0, atol=1e-14)
        assert same == (gate == "z")


@pytest.mark.parametrize("gate", "rzn")
def test_only_the_candidate_needs_its_second_bias(gate):
    """The page: in r and z only the sum matters; the candidate's stands inside r."""
    both = {"weight_ih_l0": (12, 3), "weight_hh_l0": (12, 4), "bias_ih_l0": (12,), "bias_hh_l0": (12,)}
    rng = np.random.default_rng(0)
    state = {name: rng.normal(size=shape) for name, shape in both.items()}
    moved = {name: array.copy() for name, array in state.items()}
    rows = slice(4 * "rzn".index(gate), 4 * "rzn".index(gate) + 4)
    moved["bias_ih_l0"][rows] -= 1
    moved["bias_hh_l0"][rows] += 1
    (one,), (two,) = (convert.from_torch(s, "gru")[0] for s in (state, moved))
    x, h = rng.normal(size=(5, 3)), rng.uniform(-1, 1, (5, 4))
    off = np.abs(gru_step(x, h, one)[0] - gru_step(x, h, two)[0]).max()
    assert off > 0.05 if gate == "n" else off < 1e-14


# ------------------------------------------------------------------------------------------ rounding, in a trained net


def test_rounding_grows_and_a_mistake_is_there_at_once():
    """What the page says of five steps and of two hundred; the conclusion holds with other kernels too."""
    names = names_of(
        cell
        for cell in cells_of(NAME)
        if any(w in cell for w in ("viz.use_style()", "def encode(", "def as_onnx", "onnx.save", "def misread"))
    )
    f, tf, wrong = names["apart"].values()
    assert f[:5].max() < 1e-5 and wrong[:5].min() > 0.4 and wrong[:, :].min() > 0.4
    assert np.median(f[4]) < np.median(f[29]) < np.median(f[199]) and f[199].max() > 1.5
    assert 5e-4 < np.median(tf[0]) < 2e-3 and 5e-3 < np.median(tf[29]) < 2e-2


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
        lambda W, R, b, c: convert.from_onnx(
            W[None], R[None], np.append(b, c)[None], cell="gru", linear_before_reset=0
        )[0],
        ("z r n", "keep", "W h", "before", "outside r"),
    ),
    "ONNX after": (
        lambda W, R, b, c: convert.from_onnx(
            W[None], R[None], np.append(b, c)[None], cell="gru", linear_before_reset=1
        )[0],
        ("z r n", "keep", "W h", "after", "inside r"),
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


def test_where_a_framework_resets_and_where_the_second_bias_of_the_candidate_is_kept():
    """What two sentences of the page say: before or after the product."""
    assert page_says(NAME, "Both reset after the product, both keep, both store six biases.")
    assert page_says(NAME, "and, if it resets after, `b_hn`")
    for reset_after in (False, True):
        assert bool(np.ndim(gru_init(np.random.default_rng(0), 2, 3, reset_after=reset_after).b_hn)) == reset_after
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True)
    (layer,) = convert.from_keras(convert.to_keras([p]), "gru")
    ((other,),) = convert.from_torch(convert.to_torch([[p]]), "gru")
    assert all(q.reset_after and q.convention == "keep" for q in (layer, other))
