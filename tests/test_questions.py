"""The page of questions: what it says of itself, and of other programs."""

import json
import re
import subprocess
import sys
import warnings

import nbformat
import numpy as np
import pytest

from conftest import ROOT
from gru_lib import gru_forward, gru_init
from gru_lib.convert import to_torch

TEXT = (ROOT / "book_text" / "questions.md").read_text("utf8")
QUESTIONS = re.findall(r"^### (.+)\n\n((?:.+\n)+)", TEXT, re.M)


def test_forty_questions_are_answered_in_three_sentences_at_most():
    assert len(QUESTIONS) == TEXT.count("\n### ") == 40
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
