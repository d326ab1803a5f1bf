"""Remake torch.npz and keras.npz in gru_book/results: what PyTorch and Keras compute in float64. And export.npz.

Stored is what torch 2.13.0 and keras 3.15.1 computed, of the group `frameworks`. From the project's root:

    python tests/make_torch_reference.py

export.npz has what `torch.onnx.export` of torch 2.13.0 wrote with onnxscript 0.7.0, and what onnxruntime 1.32.0 made
from it; ``python tests/make_torch_reference.py export``, with that onnxscript.
"""

import os
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras.src.backend.common import dtypes

from gru_book.results import FOLDER

# Keras multiplies float64 matrices in float32 on every backend but TensorFlow. Here it shall not.
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"

T, N, D, H = 4, 3, 2, 3
TORCH = {
    "gru": (torch.nn.GRU, {}),
    "gru_no_bias": (torch.nn.GRU, {"bias": False}),
    "gru_padded": (torch.nn.GRU, {"bidirectional": True}),
    "gru_deep": (torch.nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "lstm": (torch.nn.LSTM, {}),
    "lstm_deep": (torch.nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    "rnn_tanh": (torch.nn.RNN, {}),
    "rnn_relu": (torch.nn.RNN, {"nonlinearity": "relu"}),
}
LENGTHS = [4, 1, 3]


def from_torch(kind, options, padded):
    """Outputs, and the gradients of sum(hs * dhs) + sum(h_T * dh_T), of one module with all its arrays drawn."""
    net = kind(D, H, **options).double()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    states = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    is_lstm = kind is torch.nn.LSTM
    xs = torch.randn(T, N, D, dtype=torch.float64, requires_grad=True)
    h0 = torch.randn(states, N, H, dtype=torch.float64, requires_grad=True)
    c0 = torch.randn(states, N, H, dtype=torch.float64, requires_grad=True)
    inputs = torch.nn.utils.rnn.pack_padded_sequence(xs, LENGTHS, enforce_sorted=False) if padded else xs
    hs, last = net(inputs, (h0, c0) if is_lstm else h0)
    if padded:
        hs, _ = torch.nn.utils.rnn.pad_packed_sequence(hs, total_length=T)
    h_T, c_T = last if is_lstm else (last, None)
    dhs, dh_T, dc_T = torch.randn_like(hs), torch.randn_like(h_T), torch.randn_like(h_T)
    loss = (hs * dhs).sum() + (h_T * dh_T).sum() + ((c_T * dc_T).sum() if is_lstm else 0)
    loss.backward()
    found = {"xs": xs, "h0": h0, "hs": hs, "h_T": h_T, "dhs": dhs, "dh_T": dh_T, "dxs": xs.grad, "dh0": h0.grad}
    if is_lstm:
        found |= {"c0": c0, "c_T": c_T, "dc_T": dc_T, "dc0": c0.grad}
    found |= {f"p.{name}": parameter for name, parameter in net.named_parameters()}
    found |= {f"g.{name}": parameter.grad for name, parameter in net.named_parameters()}
    return {name: value.detach().numpy() for name, value in found.items()}


def from_keras(layer, rng):
    """Outputs of one Keras layer with all its arrays drawn."""
    xs = rng.standard_normal((T, N, D))
    layer.build((N, T, D))
    weights = [0.5 * rng.standard_normal(w.shape) for w in layer.get_weights()]
    layer.set_weights(weights)
    hs = layer(xs.transpose(1, 0, 2)).detach().numpy().transpose(1, 0, 2)
    return {"xs": xs, "hs": hs} | {f"w{i}": w for i, w in enumerate(weights)}


def exported():
    """The file of chapter 10's first page: its arrays and attribute, the inputs, and both programs' outputs."""
    import onnx
    import onnxruntime

    torch.manual_seed(0)
    gru, xs = torch.nn.GRU(4, 8), torch.randn(12, 3, 4)
    file = os.path.join(tempfile.mkdtemp(), "gru.onnx")
    torch.onnx.export(gru, (xs,), file)
    model = onnx.load(file)
    (node,) = [node for node in model.graph.node if node.op_type == "GRU"]
    held = {a.name: onnx.numpy_helper.to_array(a) for a in model.graph.initializer}
    flags = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    arrays = dict(zip("WRB", (held[name] for name in node.input[1:4]), strict=True))
    arrays["linear_before_reset"] = np.array(flags.get("linear_before_reset", 0))
    arrays |= {"xs": xs.numpy(), "pytorch": gru(xs)[0].detach().numpy()}
    arrays["onnxruntime"] = session.run(None, {session.get_inputs()[0].name: xs.numpy()})[0].reshape(12, 3, 8)
    np.savez_compressed(FOLDER / "export.npz", **arrays)
    print("linear_before_reset", arrays["linear_before_reset"])
    print("largest difference", np.abs(arrays["pytorch"] - arrays["onnxruntime"]).max())


def main():
    torch.manual_seed(0)
    keras.backend.set_floatx("float64")
    rng = np.random.default_rng(0)
    layers = keras.layers
    found = {
        "gru": layers.GRU(H, return_sequences=True),
        "gru_before": layers.GRU(H, return_sequences=True, reset_after=False),
        "gru_no_bias": layers.GRU(H, return_sequences=True, use_bias=False),
        "gru_bidirectional": layers.Bidirectional(layers.GRU(H, return_sequences=True)),
        "lstm": layers.LSTM(H, return_sequences=True),
        "rnn": layers.SimpleRNN(H, return_sequences=True),
    }
    for file, cases in (
        ("torch.npz", {case: from_torch(*spec, case == "gru_padded") for case, spec in TORCH.items()}),
        ("keras.npz", {case: from_keras(layer, rng) for case, layer in found.items()}),
    ):
        arrays = {f"{case}/{name}": a for case, named in cases.items() for name, a in named.items()}
        np.savez_compressed(FOLDER / file, **arrays)
        print(file, (FOLDER / file).stat().st_size, "bytes")


if __name__ == "__main__":
    exported() if sys.argv[1:] == ["export"] else main()
