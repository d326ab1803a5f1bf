"""The Gated Recurrent Unit and its relatives in plain NumPy, forward and backward: the library behind the book.

Stateless functions over a parameter object. For every cell: `*_init`, `*_step` and `*_step_backward` (one step, to
read), `*_forward` and `*_backward` (the sequence, to run).
"""

from gru_lib import convert
from gru_lib._params import Bundle, Params, bundle
from gru_lib.cell import Cell, cell_of, map_state, register_cell, zero_state
from gru_lib.gradcheck import GradReport, gradcheck, numeric_gradient
from gru_lib.gru import (
    GRUParams,
    GRUTape,
    gru_backward,
    gru_forward,
    gru_init,
    gru_step,
    gru_step_backward,
)
from gru_lib.io import load, save
from gru_lib.lstm import (
    LSTMParams,
    LSTMState,
    LSTMTape,
    lstm_backward,
    lstm_forward,
    lstm_init,
    lstm_step,
    lstm_step_backward,
)
from gru_lib.ops import (
    LinearParams,
    bce_with_logits,
    linear_backward,
    linear_forward,
    linear_init,
    orthogonal,
    sigmoid,
    sigmoid_pair,
)
from gru_lib.optim import SGD, Adam, clip_by_global_norm
from gru_lib.rnn import (
    CBOWParams,
    ElmanParams,
    SCRNParams,
    cbow_backward,
    cbow_forward,
    cbow_init,
    cbow_step,
    cbow_step_backward,
    elman_backward,
    elman_forward,
    elman_init,
    elman_step,
    elman_step_backward,
    elman_step_concatenated,
    elman_step_concatenated_backward,
    irnn_init,
    scrn_backward,
    scrn_forward,
    scrn_init,
    scrn_step,
    scrn_step_backward,
)
from gru_lib.train import History, train

__version__ = "0.1.0"

__all__ = [
    "SGD",
    "Adam",
    "Bundle",
    "CBOWParams",
    "Cell",
    "ElmanParams",
    "GRUParams",
    "GRUTape",
    "GradReport",
    "History",
    "LSTMParams",
    "LSTMState",
    "LSTMTape",
    "LinearParams",
    "Params",
    "SCRNParams",
    "bce_with_logits",
    "bundle",
    "cbow_backward",
    "cbow_forward",
    "cbow_init",
    "cbow_step",
    "cbow_step_backward",
    "cell_of",
    "clip_by_global_norm",
    "convert",
    "elman_backward",
    "elman_forward",
    "elman_init",
    "elman_step",
    "elman_step_backward",
    "elman_step_concatenated",
    "elman_step_concatenated_backward",
    "gradcheck",
    "gru_backward",
    "gru_forward",
    "gru_init",
    "gru_step",
    "gru_step_backward",
    "irnn_init",
    "linear_backward",
    "linear_forward",
    "linear_init",
    "load",
    "lstm_backward",
    "lstm_forward",
    "lstm_init",
    "lstm_step",
    "lstm_step_backward",
    "map_state",
    "numeric_gradient",
    "orthogonal",
    "register_cell",
    "save",
    "scrn_backward",
    "scrn_forward",
    "scrn_init",
    "scrn_step",
    "scrn_step_backward",
    "sigmoid",
    "sigmoid_pair",
    "train",
    "zero_state",
]
