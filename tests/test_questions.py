"""The page of questions: what it says of itself, and of other programs."""

import json
import os
import re
import subprocess
import sys
import warnings
from itertools import product

import nbformat
import numpy as np
import pytest
from helpers import cells_of, names_of, page_says
from test_page_lengths import before_exercises, words

from conftest import ROOT
from gru_lib import gru_forward, gru_init
from gru_lib.convert import from_keras, to_torch

TEXT = (ROOT / "book_text" / "questions.md").read_text("utf8")
QUESTIONS = re.findall(r"^### (.+)\n\n((?:.+\n)+)", TEXT, re.M)


def test_each_of_49_questions_is_answered_in_three_sentences_at_most():
    assert len(QUESTIONS) == TEXT.count("\n### ") == 49
    assert page_says("questions", "Forty-nine questions")
    assert words(before_exercises(TEXT)) <= 2500
    for question, answer in QUESTIONS:
        assert 1 <= len(answer.strip().split("\n")) <= 3, question


def test_an_answer_says_where_more_is_or_what_to_do():
    for question, answer in QUESTIONS:
        assert re.search(r"\]\(|`|\d", answer), question


@pytest.mark.slow
def test_an_exported_notebook_has_the_explorers_state_and_program(tmp_path):
    source = "from gru_book.widgets import GateExplorer\nGateExplorer()"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), tmp_path / "run.ipynb")
    export = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", "--execute", "run.ipynb"]
    subprocess.run(export, cwd=tmp_path, check=True, capture_output=True)
    page = (tmp_path / "run.html").read_text("utf8")
    state = json.loads(re.search(r'widget-state\+json">(.*?)</script>', page, re.S)[1].replace("<\\/", "</"))["state"]
    assert any("export default" in one["state"].get("_esm", "") for one in state.values())


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.frameworks("torch")
def test_pytorch_does_what_the_page_says(torch):
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4)
    both = torch.nn.GRU(4, 8, num_layers=2, bidirectional=True, batch_first=True)
    output, h_n = both(x)
    assert output.shape == (3, 5, 16) and h_n.shape == (4, 3, 8)  # batch_first leaves h_n as it is
    first = torch.nn.GRU(4, 8, bidirectional=True, batch_first=True)
    first.load_state_dict({name: value for name, value in both.state_dict().items() if "_l0" in name})
    assert torch.equal(first(x)[1], h_n[:2])
    last = torch.cat([h_n[-2], h_n[-1]], 1)
    assert torch.equal(last, torch.cat([output[:, -1, :8], output[:, 0, 8:]], 1))
    assert not torch.allclose(last, output[:, -1])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        single = torch.nn.GRU(4, 8, dropout=0.5).train()
    assert "num_layers greater than 1" in str(said[0].message) and torch.equal(single(x)[0], single(x)[0])
    assert sum(p.numel() for p in torch.nn.GRU(32, 64).parameters()) == 18_816
    h = single(x)[1]
    single(x, h)[0].sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        single(x, h)[0].sum().backward()
    h = single(x)[1].detach()
    for _ in range(2):
        single(x, h)[0].sum().backward()
    embedding, readout = torch.nn.Embedding(10, 8), torch.nn.Linear(8, 10)
    readout.weight = embedding.weight
    readout(embedding(torch.tensor([3]))).sum().backward()
    assert embedding.weight.grad.abs().sum(dim=1).count_nonzero() == 10  # from both uses


@pytest.mark.frameworks("torch")
def test_pytorch_refuses_states_and_lengths_with_the_words_of_the_page(torch):
    message = r"Expected hidden size (1, 32, 128), got [1, 64, 128]"
    assert page_says("questions", message)
    for first in (False, True):
        x = torch.randn((32, 5, 3) if first else (5, 32, 3))
        rnn = torch.nn.GRU(3, 128, batch_first=first)
        with pytest.raises(RuntimeError, match=re.escape(message)):
            rnn(x, torch.zeros(1, 64, 128))
        assert torch.equal(rnn(x)[0], rnn(x, torch.zeros(1, 32, 128))[0])
    pack, x = torch.nn.utils.rnn.pack_padded_sequence, torch.randn(5, 2, 3)
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        pack(x, [3, 5])
    for lengths in ([3, 5], torch.tensor([3, 5])):
        assert pack(x, lengths, enforce_sorted=False).batch_sizes.tolist() == [2, 2, 2, 1, 1]
    with pytest.raises(RuntimeError, match="has to be greater than 0"):
        pack(x, [0, 5], enforce_sorted=False)
    with pytest.raises(IndexError):
        pack(x, torch.tensor([[3, 5]]), enforce_sorted=False)


@pytest.mark.frameworks("torch")
def test_without_dropout_training_mode_changes_no_number_and_tf32_is_allowed(torch):
    rnn, x = torch.nn.GRU(4, 8, num_layers=2), torch.randn(5, 3, 4)
    assert torch.equal(rnn.train()(x)[0], rnn.eval()(x)[0])
    assert torch.backends.cudnn.allow_tf32 is True
    assert "no-op" in rnn.flatten_parameters.__doc__


@pytest.mark.frameworks("torch")
def test_a_column_against_a_row_is_fitted_by_the_mean(torch):
    torch.manual_seed(0)
    x = torch.randn(128, 10, 1)
    y = x[:, :, 0].sum(dim=1)

    def spread(squeezed):
        torch.manual_seed(1)
        rnn, readout = torch.nn.GRU(1, 16, batch_first=True), torch.nn.Linear(16, 1)
        adam = torch.optim.Adam([*rnn.parameters(), *readout.parameters()], lr=0.01)
        for _ in range(400):
            adam.zero_grad()
            prediction = readout(rnn(x)[1][-1])
            torch.nn.functional.mse_loss(prediction.squeeze(-1) if squeezed else prediction, y).backward()
            adam.step()
        return prediction.detach().std().item()

    with pytest.warns(UserWarning, match="different to the input size"):
        assert spread(False) < 0.01
    assert spread(True) > 2


@pytest.mark.filterwarnings("ignore")  # of what is deprecated
@pytest.mark.frameworks("torch")
def test_dynamic_quantization_moves_the_states_by_less_than_the_page_says(torch):
    assert page_says(
        "questions", "`torch.ao.quantization.quantize_dynamic(model, {nn.GRU, nn.Linear}, dtype=torch.qint8)`"
    )
    for seed, (D, H) in product(range(3), ((3, 64), (4, 16), (16, 64))):
        torch.manual_seed(seed)
        net = torch.nn.ModuleDict({"rnn": torch.nn.GRU(D, H), "out": torch.nn.Linear(H, 2)})
        x = torch.randn(500, 4, D)
        with pytest.warns(DeprecationWarning, match="deprecated"):
            small = torch.ao.quantization.quantize_dynamic(net, {torch.nn.GRU, torch.nn.Linear}, dtype=torch.qint8)
        assert 1e-4 < float((small["rnn"](x)[0] - net["rnn"](x)[0]).abs().max()) < 0.02


@pytest.mark.frameworks("torch")
def test_adamw_decays_a_bias_whose_gradient_is_0_and_skips_one_without(torch):
    decayed, skipped = (torch.nn.Parameter(torch.tensor([4.6])) for _ in range(2))
    decayed.grad = torch.zeros(1)
    adamw = torch.optim.AdamW([decayed, skipped])
    for _ in range(2000):
        adamw.step()
    assert decayed.item() == pytest.approx(
        4.6 * (1 - 0.001 * 0.01) ** 2000, rel=1e-3
    ) and skipped.item() == pytest.approx(4.6)


@pytest.mark.frameworks("torch", "keras")
def test_a_keras_layer_moved_to_pytorch_gives_the_same_states(torch):
    import keras

    layer, gru = keras.layers.GRU(8, return_sequences=True), torch.nn.GRU(4, 8, batch_first=True)
    xs = np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32)
    layer(xs)
    layer.set_weights([w + 0.1 for w in layer.get_weights()])
    wanted = np.asarray(layer(xs).detach())
    names = {"to_torch": to_torch, "from_keras": from_keras, "layer": layer, "torch": torch}
    asked = r"^`(state = to_torch.*?)` in this library, and `load_state_dict\((.*?)\)`"
    line, load = re.search(asked, TEXT, re.M).groups()
    exec(line, names)
    gru.load_state_dict(eval(load, names))
    assert np.abs(gru(torch.as_tensor(xs))[0].detach().numpy() - wanted).max() < 1e-6


@pytest.mark.frameworks("torch")
def test_float32_in_two_programs_differs_by_as_much_as_the_page_says(torch):
    p = gru_init(np.random.default_rng(0), 8, 64, reset_after=True, dtype=np.float32)
    xs = np.random.default_rng(1).normal(size=(100, 4, 8)).astype(np.float32)
    theirs = torch.nn.GRU(8, 64)
    theirs.load_state_dict({name: torch.tensor(a) for name, a in to_torch([[p]]).items()})
    off = float(np.abs(theirs(torch.tensor(xs))[0].detach().numpy() - gru_forward(xs, None, p)[0]).max())
    assert 1e-8 < off < 1e-6


@pytest.mark.frameworks("keras")
def test_keras_does_what_the_page_says():
    keras = pytest.importorskip("keras")

    def run(layer, x):
        return keras.ops.convert_to_numpy(layer(x))

    x = np.random.default_rng(0).normal(size=(2, 6, 3)).astype(np.float32)
    backwards = keras.layers.GRU(4, return_sequences=True, go_backwards=True)
    forwards = keras.layers.GRU(4, return_sequences=True)
    states = run(backwards, x)
    forwards.build(x.shape)
    forwards.set_weights(backwards.get_weights())
    assert np.array_equal(states, run(forwards, x[:, ::-1]))
    stateful = keras.layers.GRU(4, return_sequences=True, stateful=True)
    stateful.build((2, 3, 3))
    stateful.set_weights(backwards.get_weights())
    halves = np.concatenate([run(stateful, x[:, :3]), run(stateful, x[:, 3:])], axis=1)
    assert np.allclose(halves, run(forwards, x), atol=1e-6)
    stateful.reset_state()
    assert np.allclose(run(stateful, x[:, :3]), halves[:, :3], atol=1e-6)
    whole = forwards.get_weights()[1]
    assert np.allclose(whole @ whole.T, np.eye(4), atol=1e-5)
    assert not any(np.allclose(block @ block.T, np.eye(4), atol=0.1) for block in np.split(whole, 3, axis=1))
    assert keras.utils.pad_sequences([[1], [2, 3]]).tolist() == [[0, 1], [2, 3]]


@pytest.mark.frameworks("torch")
def test_a_training_in_pytorch_ends_in_the_same_bits(torch):
    def trained():
        torch.manual_seed(0)
        rnn, xs = torch.nn.GRU(4, 8), torch.randn(12, 3, 4)
        adam = torch.optim.Adam(rnn.parameters(), lr=0.01)
        for _ in range(20):
            adam.zero_grad()
            rnn(xs)[0].square().sum().backward()
            adam.step()
        return [p.detach().clone() for p in rnn.parameters()]

    assert all(torch.equal(*pair) for pair in zip(trained(), trained(), strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.frameworks("torch")
def test_torch_compile_leaves_the_layer_and_compiles_a_loop_for_each_length(torch):
    import torch._dynamo.testing

    rnn, cell, xs = torch.nn.GRU(4, 8), torch.nn.GRUCell(4, 8), torch.randn(12, 3, 4)

    def loop(xs):
        h, hs = xs.new_zeros(xs.shape[1], 8), []
        for x in xs:
            h = cell(x, h)
            hs.append(h)
        return torch.stack(hs)

    torch._dynamo.reset()
    count = torch._dynamo.testing.CompileCounter()
    assert torch.equal(torch.compile(rnn, backend=count)(xs)[0], rnn(xs)[0]) and count.frame_count == 0
    assert torch._dynamo.config.allow_rnn is False
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        assert torch.equal(torch.compile(rnn, backend=count)(xs)[0], rnn(xs)[0]) and count.frame_count == 1
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(rnn, backend=count, fullgraph=True)(xs)
    torch._dynamo.reset()
    count = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(loop, backend=count)
    for k, T in enumerate((12, 10, 7)):
        assert torch.equal(compiled(xs[:T]), loop(xs[:T])) and count.frame_count == k + 1
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore")  # of the exporter, of what it is made with
@pytest.mark.frameworks("torch", "onnxscript", "onnxruntime")
def test_an_onnx_file_takes_other_lengths_where_the_page_says(torch, tmp_path, monkeypatch):
    import onnx
    import onnxruntime

    monkeypatch.chdir(tmp_path)
    rnn, xs, other = torch.nn.GRU(4, 8).eval(), torch.randn(12, 3, 4), torch.randn(7, 5, 4)

    def axes(model):
        dims = onnx.load(model).graph.input[0].type.tensor_type.shape.dim
        return [d.dim_param or d.dim_value for d in dims]

    def run(model, xs):
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return session.run(None, {session.get_inputs()[0].name: xs.numpy()})[0].reshape(*xs.shape[:2], 8)

    T, N = (torch.export.Dim(name) for name in "TN")
    torch.onnx.export(rnn, (xs,), "new.onnx", dynamic_shapes=({0: T, 1: N},), verbose=False)
    np.testing.assert_allclose(run("new.onnx", xs), rnn(xs)[0].detach(), atol=1e-6)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run("new.onnx", other)
    options = {"input_names": ["x"], "dynamic_axes": {"x": {0: "T", 1: "N"}}}
    for said in ('`input_names=["x"]`', '`dynamic_axes={"x": {0: "T", 1: "N"}}`'):
        assert page_says("questions", said)
    torch.onnx.export(rnn, (xs,), "old.onnx", dynamo=False, **options)
    assert axes("old.onnx") == ["T", "N", 4]
    for given in (xs, other):
        np.testing.assert_allclose(run("old.onnx", given), rnn(given)[0].detach(), atol=1e-6)
    wanted = ("viz.use_style()", "(theirs,) =", "print(again.name)", "make_model")
    page = names_of(cell for cell in cells_of("10-conventions") if any(word in cell for word in wanted))
    onnx.save(page["model"], "own.onnx")
    hs = gru_forward(other.numpy(), None, page["p"])[0]
    np.testing.assert_allclose(run("own.onnx", other), hs, atol=1e-6)


TFLITE = """
import sys

import keras
import numpy as np
import tensorflow as tf

xs = np.random.default_rng(0).normal(size=(1, 12, 4)).astype(np.float32)


def apart(length, batch, **options):
    keras.utils.set_random_seed(0)
    layer = keras.layers.GRU(8, return_sequences=True, bias_initializer="uniform", **options)
    net = keras.Sequential([keras.Input((length, 4), batch_size=batch), layer])
    lite = tf.lite.Interpreter(model_content=tf.lite.TFLiteConverter.from_keras_model(net).convert())
    (there,), (back,), worst = lite.get_input_details(), lite.get_output_details(), 0.0
    for given in (xs, xs[:, :7])[: 1 + (length is None)]:
        lite.resize_tensor_input(there["index"], given.shape)
        lite.allocate_tensors()
        lite.set_tensor(there["index"], given)
        lite.invoke()
        worst = max(worst, np.abs(lite.get_tensor(back["index"]) - np.array(net(given))).max())
    return worst


for options in ({}, {"reset_after": False}):
    assert apart(None, 1, **options) < 1e-6
assert apart(12, None, unroll=True) < 1e-6
try:
    apart(12, None)
except Exception as error:
    assert "TensorListReserve" in str(error), error
else:
    sys.exit("a free batch is converted")
"""


@pytest.mark.frameworks("tensorflow", "keras")
def test_keras_in_tflite_gives_the_same_states_if_the_batch_is_said():
    """In a process of its own, for Keras has TensorFlow behind it there."""
    env = os.environ | {"KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run([sys.executable, "-c", TFLITE], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
