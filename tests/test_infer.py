"""What `infer` keeps, and who uses it. That it is forward's: test_cell.py; where a sequence is cut: test_spans.py."""

import tracemalloc

import numpy as np
import pytest
from helpers import rng
from test_spans import CUT, D, H, T

from gru_book.models.language_model import lm_bits, lm_init, lm_step
from gru_lib import Cell, cell_of, gru_init, infer, lstm_init, register_cell
from gru_lib.cells import registry
from gru_lib.layers import seq2seq_encode, seq2seq_init, seq2seq_step


@pytest.mark.parametrize("name", CUT)
def test_infer_takes_little_more_than_its_outputs(name):
    """Memory does not grow with the steps but for the outputs; that of forward does, by several states a step."""
    p, N = CUT[name](rng()).astype(np.float32), 16

    def peak(run, steps):
        xs = np.zeros((steps, N, D), np.float32)
        tracemalloc.start()
        run(xs, None, p)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found / xs.itemsize / N / H  # in states

    grown = {run: (peak(run, 150) - peak(run, 50)) / 100 for run in (infer, cell_of(p).forward)}
    assert grown[infer] < 1.1
    assert grown[cell_of(p).forward] > 3


@pytest.fixture
def no_forward(monkeypatch):
    """GRUs and LSTMs whose forward pass would keep what backward needs raise instead."""

    def refuse(*_, **__):
        raise AssertionError("forward was called where nothing will be differentiated")

    for p in (gru_init(rng(), 2, 3), lstm_init(rng(), 2, 3)):
        cell = cell_of(p)
        monkeypatch.setitem(
            registry._CELLS,
            type(p),
            Cell(cell.kind, cell.step, cell.step_backward, refuse, cell.backward, zeros=cell.zeros, infer=cell.infer),
        )


@pytest.mark.usefixtures("no_forward")
@pytest.mark.parametrize("init", [gru_init, lstm_init])
def test_reading_and_writing_text_keep_nothing(init):
    m = lm_init(rng(), 5, 3, 4, init=init)
    assert lm_bits(m, np.arange(40) % 5, N=2) > 0
    log_probs, state = lm_step(m)(None, np.array([1, 2]))
    assert lm_step(m)(state, np.array([3, 4]))[0].shape == log_probs.shape == (2, 5)
    p = seq2seq_init(rng(), 5, 5, 3, 4, start=0, cell=init)
    assert seq2seq_step(p)(seq2seq_encode(np.ones((3, 2), int), p), np.zeros(2, int))[0].shape == (2, 5)
    with pytest.raises(AssertionError, match="nothing will be differentiated"):  # so the refusal works
        cell_of(m.rnn).forward(np.zeros((1, 1, 3)), None, m.rnn)


def test_a_cell_without_an_infer_of_its_own_runs_its_forward(monkeypatch):
    p, xs = gru_init(rng(), D, 3), rng().normal(size=(T, 2, D))
    own = cell_of(p)
    monkeypatch.setitem(registry._CELLS, type(p), own)
    register_cell(Cell(own.kind, own.step, own.step_backward, own.forward, own.backward))
    hs, h_T, _ = own.forward(xs, None, p)
    found, end = infer(xs, None, p)
    np.testing.assert_array_equal(found, hs)
    np.testing.assert_array_equal(end, h_T)
