"""The Gated Recurrent Unit and its relatives in plain NumPy, forward and backward: the library behind the book.

Stateless functions over a parameter object. Every cell has `*_init`, `*_step` and `*_step_backward` (one step, to
read), `*_forward` and `*_backward` (the sequence, to run). The names used most are here; the others are in
`gru_lib.cells`, `gru_lib.layers` and the modules beside this file. What the chapters use besides is in `gru_book`.

Public functions check their arguments on entry and raise a TypeError or ValueError that names the argument, what it
must be and what it is. Docstrings list only other errors, and those worth knowing.
"""

from gru_lib import convert
from gru_lib.cells import (
    Cell,
    ElmanParams,
    GRUParams,
    LSTMParams,
    LSTMState,
    advance,
    cell_of,
    elman_backward,
    elman_forward,
    elman_init,
    elman_step,
    elman_step_backward,
    gru_backward,
    gru_forward,
    gru_init,
    gru_step,
    gru_step_backward,
    infer,
    lstm_backward,
    lstm_forward,
    lstm_init,
    lstm_step,
    lstm_step_backward,
    map_state,
    register_cell,
    zero_state,
)
from gru_lib.decode import beam_search, greedy, sample
from gru_lib.gradcheck import gradcheck, numeric_gradient
from gru_lib.io import load, save
from gru_lib.layers import (
    bidirectional,
    bidirectional_backward,
    bidirectional_forward,
    reverse,
    stack,
    stack_backward,
    stack_forward,
)
from gru_lib.ops import (
    bce_with_logits,
    embedding_backward,
    embedding_forward,
    embedding_init,
    linear_backward,
    linear_forward,
    linear_init,
    log_softmax,
    orthogonal,
    sigmoid,
    softmax_cross_entropy,
)
from gru_lib.optim import SGD, Adam, clip_by_global_norm, cosine_decay, linear_decay
from gru_lib.params import Bundle, Params, bundle
from gru_lib.train import train

__version__ = "0.3.0"

__all__ = [
    "SGD", "Adam", "Bundle", "Cell", "ElmanParams", "GRUParams", "LSTMParams", "LSTMState", "Params", "advance",
    "bce_with_logits", "beam_search", "bidirectional", "bidirectional_backward", "bidirectional_forward", "bundle",
    "cell_of", "clip_by_global_norm", "convert", "cosine_decay", "elman_backward", "elman_forward",
    "elman_init", "elman_step", "elman_step_backward", "embedding_backward", "embedding_forward", "embedding_init",
    "gradcheck", "greedy", "gru_backward", "gru_forward", "gru_init", "gru_step", "gru_step_backward", "infer",
    "linear_backward", "linear_decay", "linear_forward", "linear_init", "load", "log_softmax", "lstm_backward",
    "lstm_forward", "lstm_init", "lstm_step", "lstm_step_backward", "map_state", "numeric_gradient", "orthogonal",
    "register_cell", "reverse", "sample", "save", "sigmoid", "softmax_cross_entropy", "stack",
    "stack_backward", "stack_forward", "train", "zero_state",
]  # fmt: skip
