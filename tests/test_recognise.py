"""`convert.recognise` on arrays and runs as other programs write them, and on ones that nobody writes."""

from itertools import permutations, product

import numpy as np
import onnx
import pytest
from helpers import refused
from onnx.reference import ReferenceEvaluator

from gru_book import results
from gru_lib import convert, gru_forward
from gru_lib.convert import recognise

T, N, D, H = 5, 3, 2, 4


def sig(a):
    return 1 / (1 + np.exp(-a))


def run(step, h, xs):
    """The states of a cell, h = step(h, x) at each step."""
    hs = []
    for x in xs:
        h = step(h, x)
        hs.append(np.asarray(h))
    return np.array(hs)


class Net:
    """A GRU from its formulas, which share nothing with the library: weights by gate, and a run of it."""

    def __init__(self, seed=0, D=D, H=H, *, reset="before", write=False, gate=sig, shift=0, second=True, start=True):
        rng = np.random.default_rng(seed)
        self.W, self.R = ({g: rng.normal(size=(n, H)) for g in "rzn"} for n in (D, H))
        self.b, self.c = ({g: rng.normal(size=H) for g in "rzn"} for _ in range(2))
        self.c = self.c if second else {g: np.zeros(H) for g in "rzn"}
        self.xs = rng.normal(size=(T, N, D))
        self.h0 = rng.uniform(-1, 1, (N, H)) if start else None

        def step(h, x):
            a = {g: x @ self.W[g] + self.b[g] for g in "rzn"}
            r, z = (gate(a[g] + h @ self.R[g] + self.c[g] + shift * (g == "z")) for g in "rz")
            n = {
                "before": a["n"] + (r * h) @ self.R["n"] + self.c["n"],
                "after": a["n"] + r * (h @ self.R["n"] + self.c["n"]),
                "whole": r * (a["n"] + h @ self.R["n"] + self.c["n"]),
            }[reset]
            keep = 1 - z if write else z
            return keep * h + (1 - keep) * np.tanh(n)

        self.hs = run(step, np.zeros((N, H)) if self.h0 is None else self.h0, self.xs)

    def side(self, name, order, axis=1):
        """The matrices of the gates side by side."""
        return np.concatenate([getattr(self, name)[g] for g in order], axis=axis)

    def row(self, name, order):
        return np.concatenate([getattr(self, name)[g] for g in order])

    def found(self, arrays):
        return recognise(arrays, self.xs, self.hs, h0=self.h0)


def computes(reading, net):
    """The parameters of a reading give the recorded states."""
    hs = gru_forward(net.xs, net.h0, reading.p)[0]
    return np.abs(hs - net.hs).max() < 1e-12


def pytorch(n):
    return {
        "weight_ih_l0": n.side("W", "rzn").T,
        "weight_hh_l0": n.side("R", "rzn").T,
        "bias_ih_l0": n.row("b", "rzn"),
        "bias_hh_l0": n.row("c", "rzn"),
    }


def keras(n):
    return [n.side("W", "zrn"), n.side("R", "zrn"), np.stack([n.row("b", "zrn"), n.row("c", "zrn")])]


def keras_before(n):
    return [n.side("W", "zrn"), n.side("R", "zrn"), n.row("b", "zrn")]


def onnx_node(n):
    B = np.append(n.row("b", "zrn"), n.row("c", "zrn"))
    return {"W": n.side("W", "zrn").T[None], "R": n.side("R", "zrn").T[None], "B": B[None]}


def flax_nnx(n):
    return {
        "dense_i": {"kernel": n.side("W", "rzn"), "bias": n.row("b", "rzn")},
        "dense_h": {"kernel": n.side("R", "rzn")},
    }


def flax_linen(n):
    """As its dictionary is sorted; only hn has a second bias."""
    made = {"hn": {"bias": n.c["n"], "kernel": n.R["n"]}, "hr": {"kernel": n.R["r"]}, "hz": {"kernel": n.R["z"]}}
    return made | {f"i{g}": {"bias": n.b[g] + (n.c[g] if g != "n" else 0), "kernel": n.W[g]} for g in "nrz"}


def one_matrix(n, order):
    return {"kernel": np.concatenate([n.side("W", order), n.side("R", order)]), "bias": n.row("b", order)}


def tensorflow_1(n):
    made = {f"gates/{k}": a for k, a in one_matrix(n, "rz").items()}
    return made | {f"candidate/{k}": a for k, a in one_matrix(n, "n").items()}


def dreamer_torch(n):
    return {"weight": one_matrix(n, "rnz")["kernel"].T, "bias": n.row("b", "rnz")}


def cudnn(n):
    """CuDNNGRU: each block is the C order of W x, put into the shape of x W."""
    kernel = np.concatenate([np.ascontiguousarray(n.W[g].T).reshape(n.W[g].shape) for g in "zrn"], axis=1)
    recurrent = np.concatenate([n.R[g].T for g in "zrn"], axis=1)
    return [kernel, recurrent, np.append(n.row("b", "zrn"), n.row("c", "zrn"))]


def equinox(n):
    b = n.row("b", "rzn") + np.concatenate([n.c["r"], n.c["z"], np.zeros(len(n.c["n"]))])
    return {"weight_ih": n.side("W", "rzn").T, "weight_hh": n.side("R", "rzn").T, "bias": b, "bias_n": n.c["n"]}


def d2l(n):
    made = {}
    for g, name in zip("zrn", "zrh", strict=True):
        made |= {f"W_x{name}": n.W[g], f"W_h{name}": n.R[g], f"b_{name}": n.b[g]}
    return made


def ng(n):
    made = {f"W_x{g}": n.W[g].T for g in "rzn"} | {f"W_a{g}": n.R[g].T for g in "rzn"}
    return made | {f"b_{g}": n.b[g][:, None] for g in "rzn"}


def haiku(n):
    return {"w_i": n.side("W", "zrn"), "w_h": n.side("R", "zrn"), "b": n.row("b", "zrn")}


def ai_edu(n):
    return {"W": n.side("R", "zrn", 0), "U": n.side("W", "zrn", 0)}


ONE = {"second": False}
LAYOUTS = {
    "PyTorch": (pytorch, {"reset": "after"}),
    "Keras, reset after": (keras, {"reset": "after"}),
    "Keras, reset before": (keras_before, ONE),
    "ONNX, linear_before_reset=0": (onnx_node, {}),
    "ONNX, linear_before_reset=1": (onnx_node, {"reset": "after"}),
    "CuDNNGRU": (cudnn, {"reset": "after"}),
    "Flax NNX, or gru_lib with reset_after=True": (flax_nnx, {"reset": "after", **ONE}),
    "Flax Linen": (flax_linen, {"reset": "after"}),
    "TensorFlow 1, GRUCell": (tensorflow_1, ONE),
    "Dreamer": (dreamer_torch, {"reset": "whole", "write": True, "shift": -1, **ONE}),
    "PyTorch ": (equinox, {"reset": "after"}),  # Equinox: the same layout with four biases
    "D2L": (d2l, ONE),
    "an array for each gate, W x, keeps, reset before": (ng, ONE),
    "Haiku": (haiku, {"write": True, **ONE}),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(("size", "start"), [((2, 4), True), ((2, 4), False), ((3, 3), True), ((1, 5), False)])
def test_every_layout_is_recognised_alone_and_computes_the_record(name, size, start):
    write, options = LAYOUTS[name]
    net = Net(0, *size, start=start, **options)
    arrays = write(net)
    (reading,) = net.found(arrays)
    if size == (2, 4):  # with D = 1 or D = H two layouts may be the same numbers
        assert reading.name == name.strip()
    assert reading.error < 1e-12 and reading.apart == ""
    if options.get("reset") == "whole":
        assert reading.p is None and "whole pre-activation" in reading.why
    else:
        assert reading.why == "" and computes(reading, net)


def test_it_says_what_each_array_was_taken_for():
    net = Net(**LAYOUTS["TensorFlow 1, GRUCell"][1])
    assert net.found(tensorflow_1(net))[0].taken == {
        "gates/kernel": "W_x and W_h of r z: [x; h] W",
        "gates/bias": "biases of r z",
        "candidate/kernel": "W_x and W_h of n: [x; h] W",
        "candidate/bias": "biases of n",
    }
    net = Net(reset="after")
    assert net.found(cudnn(net))[0].taken == {
        "arrays[0]": "W_x of z r n: blocks in Fortran order",
        "arrays[1]": "W_h of z r n: W h",
        "arrays[2]": "biases of z r n z r n",
    }
    assert net.found(flax_linen(net))[0].taken["iz/kernel"] == "W_x of z: x W"


ALL = list(product(permutations("rzn"), (False, True), ("before", "after", "whole"), (False, True)))


@pytest.mark.parametrize(("order", "write", "reset", "turned"), ALL)
def test_each_of_the_72_conventions_is_told_from_the_others(order, write, reset, turned):
    net = Net(1, write=write, reset=reset)
    arrays = {"a": net.side("W", order), "c": np.stack([net.row("b", order), net.row("c", order)])}
    arrays["d"] = np.concatenate([net.R[g].T if turned else net.R[g] for g in order], axis=1)
    (reading,) = net.found(arrays)
    says = reading.says
    assert (says["order"], says["reset"]) == ("".join(order), reset)
    assert (says["convention"], says["h"]) == ("write" if write else "keep", "W x" if turned else "x W")
    assert says["place"] == ("the second" if reset == "after" else "neither")


@pytest.mark.parametrize("slope", [1 / 5, 1 / 6])
@pytest.mark.parametrize("reset", ["before", "after"])
def test_a_hard_sigmoid_is_recognised_and_the_library_has_none(slope, reset):
    net = Net(reset=reset, gate=lambda a: np.clip(slope * a + 0.5, 0, 1))
    (reading,) = net.found(keras(net))
    assert f"hard σ, clip(a/{1 / slope:.0f} + ½)" in reading.name and reading.p is None and "hard σ" in reading.why


def test_the_other_bias_inside_r_is_told():
    net = Net(reset="after")
    net.b, net.c = net.c, net.b  # the arrays come in the other order than the run's
    (reading,) = net.found(keras(net))
    assert reading.name.endswith("the first bias of n inside r") and computes(reading, net)


@pytest.mark.parametrize("layout", [pytorch, keras])
def test_a_second_bias_that_is_added_outside_r_takes_no_known_name(layout):
    """Core ML's GRU, of an arrays' form that PyTorch and Keras have."""
    net = Net(reset="after", second=False)
    net.b, net.c = ({g: share * b for g, b in net.b.items()} for share in (2, -1))
    (reading,) = net.found(layout(net))
    assert reading.name.endswith("reset after, both biases of n outside r") and computes(reading, net)


# ----------------------------------------------------------------------------------- what the programs themselves wrote


def stored(file, case):
    with np.load(results.path(file)) as arrays:
        return {name.removeprefix(f"{case}/"): arrays[name] for name in arrays.files if name.startswith(f"{case}/")}


@pytest.mark.parametrize("case", ["gru", "gru_no_bias"])
def test_what_pytorch_wrote(case):
    a = stored("torch", case)
    state = {name.removeprefix("p."): array for name, array in a.items() if name.startswith("p.")}
    (reading,) = recognise(state, a["xs"], a["hs"], h0=a["h0"][0])
    ((p,),) = convert.from_torch(state, "gru")
    assert reading.name == "PyTorch"
    np.testing.assert_array_equal(reading.p.flat, p.flat)


@pytest.mark.parametrize(("case", "name"), [("gru", "after"), ("gru_before", "before"), ("gru_no_bias", "after")])
def test_what_keras_wrote(case, name):
    a = stored("keras", case)
    weights = [a[f"w{i}"] for i in range(len(a) - 2)]
    (reading,) = recognise(weights, a["xs"], a["hs"])
    (p,) = convert.from_keras(weights, "gru", reset_after=name == "after")
    assert reading.name == f"Keras, reset {name}"
    np.testing.assert_array_equal(reading.p.flat, p.flat)


@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_an_onnx_node_computes(flag, dtype):
    net = Net()
    arrays = {name: a.astype(dtype) for name, a in onnx_node(net).items()}
    node = onnx.helper.make_node("GRU", ["X", *"WRB", "", "h"], ["Y"], hidden_size=H, linear_before_reset=flag)
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ends = [onnx.helper.make_tensor_value_info(name, kind, None) for name in ("X", *"WRB", "h", "Y")]
    graph = onnx.helper.make_graph([node], "gru", ends[:-1], ends[-1:])
    given = arrays | {"X": net.xs.astype(dtype), "h": net.h0[None].astype(dtype)}
    (Y,) = ReferenceEvaluator(onnx.helper.make_model(graph)).run(None, given)
    (reading,) = recognise(arrays, given["X"], Y[:, 0], h0=net.h0)
    assert reading.name == f"ONNX, linear_before_reset={flag}" and reading.p.dtype == dtype
    assert reading.error < (1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.frameworks("flax")
def test_what_flax_writes():
    import jax
    from flax import linen, nnx

    xs, h = np.random.default_rng(0).normal(size=(T, N, D)).astype(np.float32), np.zeros((N, H), np.float32)
    cell = nnx.GRUCell(D, H, rngs=nnx.Rngs(0))
    arrays = {f"{k}/kernel": np.asarray(getattr(cell, k).kernel[...]) for k in ("dense_i", "dense_h")}
    hs = run(lambda h, x: cell(h, x)[0], h, xs)
    assert recognise(arrays, xs, hs)[0].name.startswith("Flax NNX")
    cell = linen.GRUCell(H)
    given = cell.init(jax.random.key(0), h, xs[0])
    given["params"]["hn"]["bias"] = np.linspace(-1, 1, H, dtype=np.float32)
    hs = run(lambda h, x: cell.apply(given, h, x)[0], h, xs)
    assert [each.name for each in recognise(given["params"], xs, hs)] == ["Flax Linen"]


@pytest.mark.frameworks("equinox", "haiku", "jax", "mlx")
def test_what_equinox_haiku_and_mlx_write():
    import equinox
    import haiku
    import jax
    import mlx.core
    import mlx.nn

    xs = np.random.default_rng(0).normal(size=(T, N, D)).astype(np.float32)
    cell = equinox.nn.GRUCell(D, H, key=jax.random.key(0))
    hs = run(lambda h, x: jax.vmap(cell)(x, h), np.zeros((N, H), np.float32), xs)
    arrays = {name: np.asarray(getattr(cell, name)) for name in ("weight_ih", "weight_hh", "bias", "bias_n")}
    assert [each.name for each in recognise(arrays, xs, hs)] == ["PyTorch"]

    def states(xs):
        cell = haiku.GRU(H)
        h, hs = cell.initial_state(N), []
        for x in xs:
            _, h = cell(x, h)
            hs.append(h)
        return jax.numpy.stack(hs)

    init, apply = haiku.transform(states)
    p = jax.tree.map(lambda a: np.asarray(a) + np.linspace(-1, 1, a.size).reshape(a.shape), init(jax.random.key(0), xs))
    assert [each.name for each in recognise(p["gru"], xs, np.asarray(apply(p, None, xs)))] == ["Haiku"]

    layer = mlx.nn.GRU(D, H)
    hs = np.array(layer(mlx.core.array(xs.swapaxes(0, 1)))).swapaxes(0, 1)
    arrays = {name: np.array(a) for name, a in layer.parameters().items()}
    assert [each.name for each in recognise(arrays, xs, hs)] == ["PyTorch"]


@pytest.mark.frameworks("torch")
def test_what_a_dreamer_cell_writes():
    """The cell of DreamerV2 in PyTorch, without its layer norm."""
    import torch

    torch.manual_seed(0)
    layer, xs = torch.nn.Linear(D + H, 3 * H).double(), torch.randn(T, N, D).double()

    def step(h, x):
        reset, cand, update = torch.chunk(layer(torch.cat([x, h], -1)), 3, -1)
        update = torch.sigmoid(update - 1)
        return (update * torch.tanh(torch.sigmoid(reset) * cand) + (1 - update) * h).detach()

    arrays = {name: a.numpy() for name, a in layer.state_dict().items()}
    (reading,) = recognise(arrays, xs.numpy(), run(step, torch.zeros(N, H).double(), xs))
    assert reading.name == "Dreamer" and reading.p is None and reading.error < 1e-14


@pytest.mark.frameworks("tensorflow", "tf_keras")
def test_what_tensorflow_1_writes_and_what_keras_makes_of_cudnn_arrays():
    import tensorflow as tf
    from tf_keras.src.layers.rnn.legacy_cells import GRUCell
    from tf_keras.src.saving.legacy.hdf5_format import _convert_rnn_weights

    xs = np.random.default_rng(0).normal(size=(T, N, D))
    with pytest.warns(UserWarning, match="deprecated"):
        cell = GRUCell(H)
    hs = run(lambda h, x: cell(tf.constant(x), h)[0], tf.zeros((N, H), tf.float64), xs)
    arrays = {v.name: v.numpy() for v in cell.variables}
    assert [each.name for each in recognise(arrays, xs, hs)] == ["TensorFlow 1, GRUCell"]

    x, h_prev = xs[0], np.tanh(xs[1] @ np.ones((D, H)))  # GRUBlockCell, made of the arrays of that cell
    by_shape = {a.shape: np.float32(a) for a in cell.get_weights()}
    arrays = {"w_ru": (D + H, 2 * H), "b_ru": (2 * H,), "w_c": (D + H, H), "b_c": (H,)}
    given = {name: by_shape[shape] for name, shape in arrays.items()}
    block = tf.raw_ops.GRUBlockCell(x=np.float32(x), h_prev=np.float32(h_prev), **given)
    np.testing.assert_allclose(block.h, cell(tf.constant(x), tf.constant(h_prev))[0], atol=1e-6)

    class GRU:  # what the conversion asks of a layer
        units, reset_after, use_bias = H, True, True

    net = Net(reset="after")
    for mine, theirs in zip(keras(net), _convert_rnn_weights(GRU(), cudnn(net)), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-15)


# ------------------------------------------------------------------------------------------ several agree


def test_where_a_record_does_not_tell_several_are_returned_with_what_would():
    net = Net(reset="after")
    arrays = pytorch(net)
    arrays["bias_ih_l0"][:H] = 1000  # r is 1
    hs = gru_forward(net.xs, net.h0, convert.from_torch(arrays, "gru")[0][0])[0]
    found = recognise(arrays, net.xs, hs, h0=net.h0)
    assert {each.says["reset"] for each in found} == {"before", "after", "whole"} and found[0].error < 1e-14
    assert all("in which r is neither 0 nor 1" in each.apart for each in found)
    net.hs = hs
    assert all(computes(each, net) for each in found if each.p is not None)

    equal = Net(reset="after", start=False)
    arrays = pytorch(equal) | {"bias_hh_l0": np.zeros(3 * H)}
    hs = gru_forward(equal.xs, None, convert.from_torch(arrays, "gru")[0][0])[0]
    assert [each.name for each in recognise(arrays, equal.xs, hs)] == ["PyTorch"]  # a second bias of 0 is nowhere


def test_one_step_from_a_state_of_zeros_is_refused_and_from_another_it_is_enough():
    net = Net(reset="after")
    with pytest.raises(ValueError, match="one step from a state of 0, which shows nothing of r"):
        recognise(pytorch(net), net.xs[:1], net.hs[:1])
    assert [each.name for each in recognise(pytorch(net), net.xs[:1], net.hs[:1], h0=net.h0)] == ["PyTorch"]


# ------------------------------------------------------------------------------------------ none agrees


def test_if_none_agrees_the_nearest_is_named_with_its_step():
    net = Net(reset="after")
    hs = net.hs.copy()
    hs[3:] += 0.2
    with pytest.raises(ValueError, match=r"nearest, PyTorch, is off by 0\.\d+; it parts from hs at step 3 \(counted"):
        recognise(pytorch(net), net.xs, hs, h0=net.h0)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"no reading of arrays agrees with hs\. The nearest, .* at step 0"):
        recognise(pytorch(net), net.xs, rng.normal(size=hs.shape), h0=net.h0)


def single(hs):
    return hs.astype(np.float32).astype(np.float64)


SPOILT = {
    "batch first": (lambda n: (n.xs.swapaxes(0, 1), n.hs.swapaxes(0, 1)), r"PyTorch does if xs and hs have the batch"),
    "backwards": (lambda n: (n.xs[::-1], n.hs[::-1]), r"does if the record was run backwards: give xs\[::-1\] and hs"),
    "go_backwards": (lambda n: (n.xs[::-1], n.hs), r"outputs are not turned round again: give xs\[::-1\]\."),
    "padding": (lambda n: (n.xs, n.hs * (np.arange(T)[:, None] < [5, 2, 3])[:, :, None]), "is it padding"),
    "float16": (lambda n: (n.xs, n.hs.astype(np.float16)), "hs must be float32 or float64; float16 is too coarse"),
    "NaN": (lambda n: (n.xs, np.where(n.hs > 0, n.hs, np.nan)), r"hs must hold finite numbers; got NaN or infinity at"),
    "one sequence": (lambda n: (n.xs[:, 0], n.hs[:, 0]), r"For one sequence, xs\[:, None\]"),
    "other lengths": (lambda n: (n.xs[:3], n.hs), r"hs must have shape \(T, N, H\)"),
    "rounded products": (lambda n: (n.xs, single(n.hs + 1e-3 * np.sin(n.hs))), "TF32"),
    "a wrong number": (lambda n: (n.xs, n.hs + 1e-3 * np.sin(n.hs)), r"parts from hs at step \d+[^R]*$"),
    "both directions": (lambda n: (n.xs, np.concatenate([n.hs, n.hs], axis=2)), "does hs have both directions"),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_record_of_another_form_gets_a_clear_word(spoilt):
    record, words = SPOILT[spoilt]
    net = Net(reset="after", start=False)
    refused(ValueError, words, recognise, pytorch(net), *record(net))


@pytest.mark.parametrize("end", ["_l1", "_l0_reverse"])
def test_two_layers_or_two_directions_are_told_by_their_names_and_one_of_them_is_read(end):
    net = Net(reset="after", start=False)
    one = pytorch(net)
    more = {name.replace("_l0", end): a for name, a in one.items()}
    with pytest.raises(ValueError, match=rf"one layer in one direction; got names that end in _l0, {end}\. Give the"):
        recognise(one | more, net.xs, np.concatenate([net.hs, net.hs], axis=2))
    with pytest.raises(ValueError, match="one layer in one direction"):
        recognise(one | more, net.xs, net.hs)
    assert [each.name for each in recognise(more, net.xs, net.hs)] == ["PyTorch"]


def test_a_state_that_the_record_begins_from_is_asked_for():
    net = Net(reset="after")
    refused(ValueError, r"All later steps agree: give the h0 of the record", recognise, pytorch(net), net.xs, net.hs)


def test_arrays_that_are_no_gru_are_named():
    net = Net(reset="after")
    arrays = pytorch(net)
    for error, words, given in (
        (ValueError, r"three gates' weights from D = 2 inputs and H = 4 units", {**arrays, "weight_hh_l0": np.ones(4)}),
        (ValueError, r"is it an LSTM", {"W": np.ones((16, 2)), "R": np.ones((16, 4))}),
        (ValueError, r"got nothing", {}),
        (TypeError, r"arrays must be a dict or a list of arrays; got ndarray", arrays["weight_ih_l0"]),
        (TypeError, r"bias_ih_l0 must hold real numbers; got dtype object", {**arrays, "bias_ih_l0": None}),
        (ValueError, r"bias_ih_l0 must be finite", {**arrays, "bias_ih_l0": np.full(12, np.nan)}),
    ):
        refused(error, words, net.found, given)


def test_arrays_in_half_precision_are_exact_and_p_is_float32():
    net = Net(reset="after")
    half = {name: a.astype(np.float16) for name, a in pytorch(net).items()}
    ((p,),) = convert.from_torch(half, "gru")
    hs = gru_forward(net.xs.astype(np.float32), net.h0.astype(np.float32), p)[0]
    (reading,) = recognise(half, net.xs.astype(np.float32), hs, h0=net.h0)
    assert reading.name == "PyTorch" and reading.p.dtype == np.float32
    np.testing.assert_array_equal(reading.p.flat, p.flat)
