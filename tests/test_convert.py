"""Converters: what other frameworks compute from their parameters, we compute from ours."""

import re
from itertools import chain

import numpy as np
import pytest
from helpers import refused

from gru_book import results
from gru_lib import (
    GRUParams,
    bidirectional,
    cell_of,
    convert,
    elman_init,
    gru_forward,
    gru_init,
    linear_init,
    lstm_init,
    stack,
    stack_backward,
    stack_forward,
)

CELLS = ("gru", "lstm", "rnn")


def cases(framework, *cells):
    """The stored cases of a framework: case -> {name: array}."""
    with np.load(results.path(framework), allow_pickle=False) as stored:
        found = {}
        for name in stored.files:
            case, _, array = name.partition("/")
            if case.startswith(cells):
                found.setdefault(case, {})[array] = stored[name]
    return found


def state_of(cell, h, c=None):
    return (h, c) if cell == "lstm" else h


def layer_of(directions):
    return bidirectional(*directions) if len(directions) == 2 else directions[0]


def nested(directions, states):
    """The states of the layers, as `stack` has them, from a list of one state for each layer and direction."""
    states = iter(states)
    return [(next(states), next(states)) if len(d) == 2 else next(states) for d in directions]


def flat(directions, states):
    """The inverse of `nested`."""
    return [s for d, state in zip(directions, states, strict=True) for s in (state if len(d) == 2 else [state])]


def close(mine, theirs, tolerance=1e-12):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= tolerance * max(1, np.abs(theirs).max())


def options_of(case):
    return {"activation": "relu"} if case.endswith("relu") else {}


def states_of(cell, a, h="h0", c="c0"):
    return [state_of(cell, a[h][k], a[c][k] if cell == "lstm" else None) for k in range(len(a[h]))]


# ------------------------------------------------------------------------------------------------------------ PyTorch

TORCH = cases("torch", *CELLS)


@pytest.mark.parametrize("case", TORCH)
def test_torch_forward_and_gradients_are_ours(case):
    a, cell = TORCH[case], case.partition("_")[0]
    state = {name.removeprefix("p."): v for name, v in a.items() if name.startswith("p.")}
    layers = convert.from_torch(state, cell, **options_of(case))
    p = stack(*map(layer_of, layers))
    lengths = [4, 1, 3] if case.endswith("padded") else None
    hs, last, tape = stack_forward(a["xs"], nested(layers, states_of(cell, a)), p, lengths=lengths)
    close(hs, a["hs"])
    last = flat(layers, last)
    if cell == "lstm":
        close([h for h, _ in last], a["h_T"])
        close([c for _, c in last], a["c_T"])
    else:
        close(last, a["h_T"])

    dstates = nested(layers, states_of(cell, a, "dh_T", "dc_T"))
    dxs, dstates, grads = stack_backward(a["dhs"], dstates, tape, p)
    close(dxs, a["dxs"])
    for mine, theirs in zip(flat(layers, dstates), states_of(cell, a, "dh0", "dc0"), strict=True):
        close(mine, theirs)
    for layer, directions in enumerate(layers):
        g = getattr(grads, f"layer{layer}")
        pair = [g.forward, g.backward] if len(directions) == 2 else [g]
        for g, suffix in zip(pair, ["", "_reverse"], strict=False):
            end = f"_l{layer}{suffix}"
            close(g.W_x.T, a["g.weight_ih" + end])
            close(g.W_h.T, a["g.weight_hh" + end])
            if g.bias:
                close(g.b, a["g.bias_ih" + end])
                inside = [g.b[: 2 * g.H], g.b_hn] if cell == "gru" else [g.b]
                close(np.concatenate(inside), a["g.bias_hh" + end])


@pytest.mark.parametrize("case", TORCH)
def test_torch_round_trip_keeps_every_bit_of_ours(case):
    a, cell = TORCH[case], case.partition("_")[0]
    state = {name.removeprefix("p."): v for name, v in a.items() if name.startswith("p.")}
    layers = convert.from_torch(state, cell, **options_of(case))
    back = convert.to_torch(layers)
    assert {name: v.shape for name, v in back.items()} == {name: v.shape for name, v in state.items()}
    for name in state:
        if name.startswith("weight"):
            np.testing.assert_array_equal(back[name], state[name])
        elif "_ih" in name:
            close(back[name] + back[name.replace("ih", "hh")], state[name] + state[name.replace("ih", "hh")])
    again = convert.from_torch(back, cell, **options_of(case))
    for mine, other in zip(chain(*layers), chain(*again), strict=True):
        np.testing.assert_array_equal(mine.flat, other.flat)
        assert mine.options == other.options


def test_torch_shares_no_memory_and_keeps_float32():
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True, dtype=np.float32)
    state = convert.to_torch([[p]])
    assert all(v.dtype == np.float32 and not np.shares_memory(v, p.flat) for v in state.values())
    (new,) = convert.from_torch(state, "gru")[0]
    assert new.dtype == np.float32
    state["weight_ih_l0"][:] = 9
    assert not (new.W_x == 9).any()


def test_torch_names_what_is_wrong_with_a_state():
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True)
    state = convert.to_torch([[p]])
    with pytest.raises(ValueError, match=r"bias_hh_l0 missing"):
        convert.from_torch({k: v for k, v in state.items() if k != "bias_hh_l0"}, "gru")
    refused(ValueError, r"got 'rnn\.weight_ih_l0'", convert.from_torch, {**state, "rnn.weight_ih_l0": 0}, "gru")
    refused(ValueError, "got nothing", convert.from_torch, {}, "gru")
    with pytest.raises(ValueError, match=r"weight_ih_l0 must have shape \(GH, D\) = \(9, D\); got \(2, 9\)"):
        convert.from_torch({**state, "weight_ih_l0": state["weight_ih_l0"].T}, "gru")
    with pytest.raises(ValueError, match=r"weight_hh_l0 of a gru must have shape \(3H, H\); got \(3, 9\)"):
        convert.from_torch({**state, "weight_hh_l0": state["weight_hh_l0"].T}, "gru")
    refused(ValueError, "cell must be one of 'gru', 'lstm', 'rnn'", convert.from_torch, state, "transformer")
    with pytest.raises(ValueError, match=r"weight_ih_l0_reverse, .* missing"):
        convert.from_torch({**state, "weight_ih_l1_reverse": 0}, "gru")
    with pytest.raises(ValueError, match=r"activation must be one of 'tanh', 'relu'; got 'sigmoid'"):
        convert.to_torch([[elman_init(np.random.default_rng(0), 2, 3, activation="sigmoid")]])
    refused(ValueError, r"list of one or two directions", convert.to_torch, [p])
    with pytest.raises(TypeError, match=r"must be one of GRUParams.*got LinearParams"):
        convert.to_torch([[linear_init(np.random.default_rng(0), 2, 3)]])


def test_what_a_layout_says_is_no_option():
    """An option that contradicts the layout would read the same numbers as another function."""
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True)
    state, weights, (W, R, B) = convert.to_torch([[p]]), convert.to_keras([p]), convert.to_onnx([p])
    write = r"convention must be 'keep', as in the layout; got 'write'\. Use with_convention\(p, 'write'\) afterwards"
    refused(ValueError, f"from_torch: {write}", convert.from_torch, state, "gru", convention="write")
    refused(ValueError, f"from_keras: {write}", convert.from_keras, weights, "gru", convention="write")
    with pytest.raises(ValueError, match=f"from_onnx: {write}"):
        convert.from_onnx(W, R, B, cell="gru", linear_before_reset=1, convention="write")
    with pytest.raises(ValueError, match=r"from_torch: reset_after must be True, as in the layout; got False"):
        convert.from_torch(state, "gru", reset_after=False)
    with pytest.raises(ValueError, match=r"reset_after must be False, as linear_before_reset says; got True"):
        convert.from_onnx(W, R, B, cell="gru", linear_before_reset=0, reset_after=True)
    (q,) = convert.from_torch(state, "gru", reset_after=True, convention="keep")[0]
    np.testing.assert_array_equal(q.flat, p.flat)


@pytest.mark.parametrize("cell", CELLS)
def test_torch_takes_the_state_of_a_single_cell(cell):
    """GRUCell, LSTMCell and RNNCell have the layer's names without _l0."""
    init = {"gru": gru_init, "lstm": lstm_init, "rnn": elman_init}[cell]
    p = init(np.random.default_rng(0), 2, 3, **({"reset_after": True} if cell == "gru" else {}))
    state = {name.removesuffix("_l0"): a for name, a in convert.to_torch([[p]]).items()}
    assert set(state) == {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}
    ((q,),) = convert.from_torch(state, cell)
    np.testing.assert_array_equal(q.flat, p.flat)


class BFloat16:
    """A tensor that NumPy cannot read until it is asked for single precision."""

    dtype, shape = "torch.bfloat16", (9, 2)

    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def float(self):
        return self.array

    def __array__(self, *_, **__):
        raise TypeError("Got unsupported ScalarType BFloat16")


def test_half_precision_is_read_as_float32():
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True, dtype=np.float32)
    p.flat[:] = p.flat.astype(np.float16)
    half = {name: a.astype(np.float16) for name, a in convert.to_torch([[p]]).items()}
    brain = {name: BFloat16(a) for name, a in convert.to_torch([[p]]).items()}
    weights, arrays = ([a.astype(np.float16) for a in made] for made in (convert.to_keras([p]), convert.to_onnx([p])))
    read = [convert.from_torch(half, "gru")[0][0], convert.from_torch(brain, "gru")[0][0]]
    read += convert.from_keras(weights, "gru") + convert.from_onnx(*arrays, cell="gru", linear_before_reset=1)
    for q in read:
        assert q.dtype == np.float32
        np.testing.assert_array_equal(q.flat, p.flat)


def test_torch_says_where_in_a_model_the_layer_is():
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True)
    state = convert.to_torch([[p]])
    model = {f"net.enc.{name}": a for name, a in state.items()} | {"net.out.weight": 0, "net.out.bias": 0}
    with pytest.raises(ValueError, match=r"ih_l0' and 5 more\. .* under 'net\.enc\.': pass that module") as e:
        convert.from_torch(model, "gru")
    assert "net.enc.bias" not in str(e.value)  # not the whole list
    two = {f"{name}.cell.{k}": a for name in ("enc", "dec") for k, a in state.items()}
    refused(ValueError, r"under 'enc\.cell\.', 'dec\.cell\.': pass that module", convert.from_torch, two, "gru")
    with pytest.raises(ValueError, match=r"projections \(proj_size\) are not supported; got 'weight_hr_l0'"):
        convert.from_torch({**state, "weight_hr_l0": 0}, "lstm")


def test_torch_says_how_a_stack_is_written():
    p = stack(gru_init(np.random.default_rng(0), 2, 3, reset_after=True))
    refused(TypeError, r"layers must be .* got StackParams\. .*p\.layer0.*forward.*backward", convert.to_torch, p)


def test_torch_refuses_reset_before_because_nothing_equals_it():
    p = gru_init(np.random.default_rng(0), 2, 3)
    refused(ValueError, r"must be reset-after.*got reset-before.*not equivalent", convert.to_torch, [[p]])


# -------------------------------------------------------------------------------------------------------------- Keras

KERAS = cases("keras", *CELLS)


@pytest.mark.parametrize("case", KERAS)
def test_keras_forward_is_ours(case):
    a, cell = KERAS[case], case.partition("_")[0]
    weights = [a[f"w{i}"] for i in range(len(a) - 2)]
    directions = convert.from_keras(weights, cell, reset_after=not case.endswith("before"))
    p = layer_of(directions)
    close(cell_of(p).forward(a["xs"], None, p)[0], a["hs"])
    back = convert.to_keras(directions)
    assert [w.shape for w in back] == [w.shape for w in weights]
    again = convert.from_keras(back, cell, reset_after=not case.endswith("before"))
    for mine, other in zip(directions, again, strict=True):
        np.testing.assert_array_equal(mine.flat, other.flat)


def test_keras_bias_says_where_the_reset_gate_acts():
    weights = [KERAS["gru"][f"w{i}"] for i in range(3)]
    with pytest.raises(ValueError, match=r"bias must have shape \(GH,\) = \(9,\); got \(2, 9\)"):
        convert.from_keras(weights, "gru", reset_after=False)
    refused(ValueError, "reset_after must be given for a GRU without biases", convert.from_keras, weights[:2], "gru")
    with pytest.raises(ValueError, match="must hold 2 or 3 arrays, or 4 or 6 if bidirectional; got 5"):
        convert.from_keras([*weights, *weights[:2]], "gru")
    with pytest.raises(TypeError, match=r"from_keras: recurrent_kernel must be an array; got list"):
        convert.from_keras([weights[0], [[1], [2, 3]], weights[2]], "gru")


# --------------------------------------------------------------------------------------------------------------- ONNX

# The recurrent node tests of the onnx package that have no counterpart here, and why.
OUT_OF_SCOPE = {"test_lstm_with_peepholes": "peephole connections (input P)"}


def onnx_cases():
    from onnx.backend.test.case import node
    from onnx.backend.test.case.node import gru, lstm, rnn  # noqa: F401  importing them fills the list below

    # The public collect_testcases() builds the tests of all operators, which takes twenty times as long.
    return {
        case.name: case for case in node._NodeTestCases if case.model.graph.node[0].op_type in ("GRU", "LSTM", "RNN")
    }


ONNX = onnx_cases()


def run_onnx(case):
    """Run a node with our cells: (its outputs by name, the node's inputs that are parameters, ours)."""
    import onnx

    node, (inputs, wanted) = case.model.graph.node[0], case.data_sets[0]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    layout, direction = attributes.pop("layout", 0), attributes.pop("direction", b"forward")
    H, lbr = attributes.pop("hidden_size"), attributes.pop("linear_before_reset", 0)
    assert not attributes, f"the test does not look at {attributes}"
    given = dict(zip([name for name in node.input if name], inputs, strict=True))
    xs, weights = given.pop("X"), {name: given.pop(name) for name in ("W", "R", "B") if name in given}
    assert not given, f"the test does not look at {list(given)}"
    cell = node.op_type.lower()
    options = {"linear_before_reset": lbr} if cell == "gru" else {}
    directions = convert.from_onnx(**weights, cell=cell, **options)
    assert directions[0].H == H
    xs = xs.swapaxes(0, 1) if layout else xs
    backwards = direction == b"reverse"
    p = layer_of(directions)
    hs, last, _ = cell_of(p).forward(xs[::-1] if backwards else xs, None, p)
    last = flat([directions], [last])
    T, N, _ = hs.shape
    Y = (hs[::-1] if backwards else hs).reshape(T, N, len(directions), H)
    Y_h = np.stack([s[0] if cell == "lstm" else s for s in last])
    found = {"Y": Y.transpose(1, 0, 2, 3) if layout else Y.transpose(0, 2, 1, 3)}
    found["Y_h"] = Y_h.transpose(1, 0, 2) if layout else Y_h
    if cell == "lstm":
        found["Y_c"] = np.stack([s[1] for s in last])
    return found, dict(zip([name for name in node.output if name], wanted, strict=True)), weights, directions


@pytest.mark.parametrize("name", [n for n in ONNX if n not in OUT_OF_SCOPE])
def test_onnx_node_test_passes_through_the_converter(name):
    case = ONNX[name]
    found, wanted, weights, directions = run_onnx(case)
    for output, theirs in wanted.items():
        assert found[output].dtype == theirs.dtype
        np.testing.assert_allclose(found[output], theirs, rtol=case.rtol, atol=case.atol)
        close(found[output], theirs, 1e-6)  # the package's own tolerance is loose
    W, R, B = convert.to_onnx(directions)
    np.testing.assert_array_equal(W, weights["W"])
    np.testing.assert_array_equal(R, weights["R"])
    assert (B is None) == ("B" not in weights)


def test_onnx_has_eighteen_recurrent_node_tests_and_one_is_out_of_scope():
    assert len(ONNX) == 18
    assert set(OUT_OF_SCOPE) <= set(ONNX)
    assert "P" in ONNX["test_lstm_with_peepholes"].model.graph.node[0].input


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("convention", ["keep", "write"])
def test_onnx_round_trip_computes_the_same(after, convention):
    rng = np.random.default_rng(0)
    p = gru_init(rng, 2, 3, reset_after=after, convention=convention)
    p.flat[:] = rng.normal(size=p.size)
    xs = rng.normal(size=(4, 2, 2))
    (new,) = convert.from_onnx(*convert.to_onnx([p]), cell="gru", linear_before_reset=int(after))
    assert new.convention == "keep" and new.reset_after == after
    close(gru_forward(xs, None, new)[0], gru_forward(xs, None, p)[0], 1e-15)


@pytest.mark.parametrize(("cell", "order"), [("gru", "zrn"), ("lstm", "iofg")])
def test_onnx_stacks_the_gates_in_the_order_of_its_specification(cell, order):
    """GRU: z, r, h; LSTM: i, o, f, c."""
    blocks = np.repeat(np.arange(1.0, len(order) + 1), 3)[None, :, None]
    W, R, B = np.tile(blocks, 2), np.tile(-blocks, 3), np.concatenate([blocks, 0 * blocks], axis=1)[..., 0]
    (p,) = convert.from_onnx(W, R, B, cell=cell, **({"linear_before_reset": 0} if cell == "gru" else {}))
    for k, gate in enumerate(order, 1):
        assert (getattr(p, f"W_x{gate}") == k).all() and (getattr(p, f"W_h{gate}") == -k).all()
        assert (getattr(p, f"b_{gate}") == k).all()


def test_onnx_names_what_is_wrong():
    W, R, B = convert.to_onnx([gru_init(np.random.default_rng(0), 2, 3)])
    refused(ValueError, r"R must have shape \(dirs, GH, H\).*got \(9, 3\)", convert.from_onnx, W, R[0], cell="gru")
    with pytest.raises(ValueError, match=r"W must have shape \(dirs, GH, D\) = \(1, 9, D\); got \(1, 2, 9\)"):
        convert.from_onnx(W.swapaxes(1, 2), R, cell="gru", linear_before_reset=0)
    refused(ValueError, r"B must have shape .*\(1, 18\); got \(1, 9\)", convert.from_onnx, W, R, B[:, :9], cell="gru")


@pytest.mark.parametrize("bias", [False, True])
def test_onnx_asks_every_gru_for_the_flag_and_nothing_else(bias):
    """W, R and B do not tell the resets apart, even where n's second bias is 0 or there is none."""
    p = gru_init(np.random.default_rng(0), 2, 3, reset_after=True, bias=bias)
    arrays = convert.to_onnx([p])
    with pytest.raises(ValueError, match=r"linear_before_reset must be given for a GRU: the node's attribute, or 0"):
        convert.from_onnx(*arrays, cell="gru")
    (after,), (before,) = (convert.from_onnx(*arrays, cell="gru", linear_before_reset=flag) for flag in (1, 0))
    assert after.reset_after and not before.reset_after
    np.testing.assert_array_equal(after.flat, p.flat)
    for init, cell in ((lstm_init, "lstm"), (elman_init, "rnn")):
        (q,) = convert.from_onnx(*convert.to_onnx([init(np.random.default_rng(0), 2, 3)]), cell=cell)
        assert q.H == 3


# ------------------------------------------------------------------------------------------- what docstrings tell to do


def told(function, begins):
    """The pieces of code in the sentence of a docstring that begins so."""
    text = " ".join(function.__doc__.split())
    return re.findall(r"``([^`]+)``", text[text.index(begins) :].partition(". ")[0])


def test_a_reverse_node_of_onnx_is_run_as_the_docstring_says():
    import onnx
    from onnx.reference import ReferenceEvaluator

    rng = np.random.default_rng(0)
    p = gru_init(rng, 2, 3, reset_after=True)
    p.flat[:] = rng.normal(size=p.size)
    xs, (W, R, B) = rng.normal(size=(4, 5, 2)), convert.to_onnx([p])
    options = {"hidden_size": 3, "linear_before_reset": 1, "direction": "reverse"}
    node = onnx.helper.make_node("GRU", ["X", "W", "R", "B"], ["Y"], **options)
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in "XWRBY"]
    graph = onnx.helper.make_graph([node], "gru", ends[:4], ends[4:])
    (Y,) = ReferenceEvaluator(onnx.helper.make_model(graph)).run(None, {"X": xs, "W": W, "R": R, "B": B})
    _, inputs = told(convert.from_onnx, "``p`` is run on")[:2]
    (outputs,) = told(convert.from_onnx, "outputs are Y as")
    (q,) = convert.from_onnx(W, R, B, cell="gru", linear_before_reset=1)
    hs = gru_forward(eval(inputs, {"xs": xs}), None, q)[0]
    close(eval(outputs, {"hs": hs}), Y[:, 0])


@pytest.mark.frameworks("keras")
def test_a_layer_of_keras_that_goes_backwards_is_run_as_the_docstring_says():
    import keras

    xs = np.random.default_rng(0).normal(size=(4, 5, 2))
    layer = keras.layers.GRU(3, return_sequences=True, go_backwards=True)
    theirs = np.moveaxis(keras.ops.convert_to_numpy(layer(np.moveaxis(xs, 0, 1))), 1, 0)
    option, inputs = told(convert.from_keras, "A layer with")
    assert option == "go_backwards=True"
    (p,) = convert.from_keras(layer.get_weights(), "gru")
    close(gru_forward(eval(inputs, {"xs": xs}), None, p)[0], theirs, 1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_arrays_of_cudnn_layers_are_read_as_what_they_are(cell):
    """Each block holds the numbers of W x in C order, in the shape of x W; the bias is flat."""
    rng = np.random.default_rng(0)
    p = gru_init(rng, 2, 3, reset_after=True) if cell == "gru" else lstm_init(rng, 2, 3)
    p.flat[:] = rng.normal(size=p.size)
    kernel, recurrent, bias = convert.to_keras([p])
    G = bias.size // 3 // (2 if cell == "gru" else 1)
    made = []
    for W in (kernel, recurrent):
        made.append(np.hstack([np.ascontiguousarray(k.T).reshape(k.shape) for k in np.split(W, G, axis=1)]))
    flat = bias.ravel() if cell == "gru" else np.concatenate([bias - 1, np.ones(len(bias))])
    (q,) = convert.from_keras([*made, flat], cell)
    np.testing.assert_allclose(q.flat, p.flat, rtol=0, atol=1e-15)
    refused(ValueError, r"bias must have shape", convert.from_keras, [*made, flat[:-1]], cell)


# ---------------------------------------------------------------------------------------------------------- the texts


def sig(a):
    return 1 / (1 + np.exp(-a))


def test_ai_edu_reads_as_its_equations():
    """Equations (1) to (4) of ai-edu 20.3, from stacked W and U."""
    rng = np.random.default_rng(3)
    N, D, H = 4, 2, 3
    W, U, x, h = (rng.normal(size=s) for s in [(3 * H, H), (3 * D, H), (N, D), (N, H)])

    z = sig(h @ W[:H] + x @ U[:D])
    r = sig(h @ W[H : 2 * H] + x @ U[D : 2 * D])
    n = np.tanh((r * h) @ W[2 * H :] + x @ U[2 * D :])
    p = convert.from_source({"W": W, "U": U}, "ai-edu")
    assert (p.convention, p.reset_after, p.bias) == ("write", False, False)
    close(gru_forward(x[None], h, p)[1], (1 - z) * h + z * n)


def test_ng_reads_as_its_equations_with_column_vectors():
    rng = np.random.default_rng(4)
    D, H = 2, 3
    names = {f"W_x{g}": (H, D) for g in "rza"} | {f"W_a{g}": (H, H) for g in "rza"} | {f"b_{g}": (H, 1) for g in "rza"}
    v = {name: rng.normal(size=shape) for name, shape in names.items()}
    x, a = rng.normal(size=(D, 1)), rng.normal(size=(H, 1))

    r = sig(v["W_xr"] @ x + v["W_ar"] @ a + v["b_r"])
    z = sig(v["W_xz"] @ x + v["W_az"] @ a + v["b_z"])
    n = np.tanh(v["W_xa"] @ x + v["W_aa"] @ (r * a) + v["b_a"])
    p = convert.from_source(v, "ng")
    close(gru_forward(x.T[None], a.T, p)[1], (z * a + (1 - z) * n).T)


def test_goldberg_reads_as_its_equations_with_the_misprints_corrected():
    rng = np.random.default_rng(5)
    D, H = 2, 3
    v = {f"W^x{g}": rng.normal(size=(D, H)) for g in "rzs"} | {f"W^s{g}": rng.normal(size=(H, H)) for g in "rzg"}
    x, s = rng.normal(size=(4, D)), rng.normal(size=(4, H))

    z, r = (sig(x @ v[f"W^x{g}"] + s @ v[f"W^s{g}"]) for g in "zr")
    n = np.tanh(x @ v["W^xs"] + (r * s) @ v["W^sg"])
    close(gru_forward(x[None], s, convert.from_source(v, "goldberg"))[1], (1 - z) * s + z * n)


SOURCES = [pair for pair in convert._SOURCES if pair[1]]


@pytest.mark.parametrize(("source", "cell"), SOURCES)
def test_source_round_trip_keeps_every_bit(source, cell):
    rng = np.random.default_rng(0)
    p = convert._INIT[cell][1](rng, 2, 3, bias=bool(convert._SOURCES[source, cell].b))
    p.flat[:] = rng.normal(size=p.size)
    arrays = convert.to_source(p, source)
    again = convert.to_source(convert.from_source(arrays, source, cell), source)
    assert arrays.keys() == again.keys()
    for name in arrays:
        np.testing.assert_array_equal(arrays[name], again[name])
    xs = rng.normal(size=(4, 2, 2))
    new = convert.from_source(arrays, source, cell)
    close(cell_of(new).forward(xs, None, new)[0], cell_of(p).forward(xs, None, p)[0], 1e-15)


def test_source_names_what_is_wrong():
    rng = np.random.default_rng(0)
    p = gru_init(rng, 2, 3)
    d2l = convert.to_source(p, "d2l")
    with pytest.raises(ValueError, match=r"arrays must have the names W_xr.*; got W_xz"):
        convert.from_source({"W_xz": d2l["W_xz"]}, "d2l")
    with pytest.raises(ValueError, match=r"W_xz must have shape \(D, H\) = \(2, 3\); got \(3, 2\). Is it transposed"):
        convert.from_source({**d2l, "W_xz": d2l["W_xz"].T}, "d2l")
    refused(ValueError, "source must be one of 'ai-edu', 'd2l'", convert.from_source, {}, "wikipedia")
    refused(ValueError, "cell of 'ai-edu' must be one of 'gru'; got 'lstm'", convert.from_source, {}, "ai-edu", "lstm")
    with pytest.raises(ValueError, match=r"W must have shape \(3H, H\); got \(4, 3\)"):
        convert.from_source({"W": np.ones((4, 3)), "U": np.ones((6, 3))}, "ai-edu")
    p.b_z[:] = 1
    refused(ValueError, "must have no biases, or zeros, for 'ai-edu'", convert.to_source, p, "ai-edu")
    with pytest.raises(ValueError, match=r"must be reset-before.*got reset-after.*not equivalent"):
        convert.to_source(gru_init(rng, 2, 3, reset_after=True), "d2l")


# --------------------------------------------------------------------------------------------------------- conventions


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_conventions_are_one_function_and_going_back_keeps_every_bit(after, bias):
    rng = np.random.default_rng(0)
    p = gru_init(rng, 2, 3, reset_after=after, bias=bias)
    p.flat[:] = rng.normal(size=p.size)
    before = p.flat.copy()
    q = convert.with_convention(p, "write")
    assert isinstance(q, GRUParams) and q.convention == "write"
    xs = rng.normal(size=(6, 4, 2))
    close(gru_forward(xs, None, q)[0], gru_forward(xs, None, p)[0], 1e-15)
    np.testing.assert_array_equal(convert.with_convention(q, "keep").flat, before)
    np.testing.assert_array_equal(p.flat, before)
    same = convert.with_convention(p, "keep")
    assert not np.shares_memory(same.flat, p.flat)


# ------------------------------------------------------------------------------------------------- number by number


def row_values(layout, p):
    """The arrays of a layout, by the name they have there."""
    if layout == "torch":
        return convert.to_torch([[p]])
    if layout == "keras":
        return dict(zip(("kernel", "recurrent_kernel", "bias"), convert.to_keras([p]), strict=True))
    if layout == "onnx":
        return dict(zip("WRB", convert.to_onnx([p]), strict=True))
    return convert.to_source(p, layout)


@pytest.mark.parametrize(
    ("layout", "reset_after"),
    [("torch", True), *((name, after) for name in ("keras", "onnx") for after in (False, True))]
    + [(name, False) for name in ("ai-edu", "d2l", "goldberg", "ng")],
)
def test_name_of_says_where_every_number_came_from(layout, reset_after):
    """The number at each place is the one that is named, sign included; a second bias, which is 0, names the sum."""
    D, H = 3, 2
    bias = layout not in ("ai-edu", "goldberg")
    p = gru_init(np.random.default_rng(0), D, H, reset_after=reset_after, bias=bias)
    p.flat[:] = np.random.default_rng(1).normal(size=p.flat.size)
    named = set()
    for array, numbers in row_values(layout, p).items():
        for index in np.ndindex(numbers.shape):
            said = convert.name_of(layout, array, index, D=D, H=H, reset_after=reset_after)
            sign, name, place = re.fullmatch(r"(-?)(\w+)\[([\d, ]+)\]", said).groups()
            ours = getattr(p, name)[tuple(map(int, place.split(", ")))]
            assert numbers[index] in ((-ours if sign else ours), 0.0)
            if numbers[index]:
                named.add((name, place))
    assert len(named) == p.flat.size


def test_name_of_refuses_what_is_not_there():
    sizes = {"D": 3, "H": 2}
    refused(ValueError, r"layout must be one of 'torch'.*got 'mxnet'", convert.name_of, "mxnet", "W", (0, 0), **sizes)
    with pytest.raises(ValueError, match=r"array must be one of 'weight_ih_l0'.*got 'kernel'"):
        convert.name_of("torch", "kernel", (0, 0), **sizes)
    for index in [(6, 0), (0,), (-1, 0)]:
        with pytest.raises(ValueError, match=r"index must be a place in weight_ih_l0, which has shape \(6, 3\)"):
            convert.name_of("torch", "weight_ih_l0", index, **sizes)
