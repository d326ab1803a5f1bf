"""The Gated Recurrent Unit and its relatives in plain NumPy, forward and backward: the library behind the book.

Stateless functions over a parameter object. For every cell: `*_init`, `*_step` and `*_step_backward` (one step, to
read), `*_forward` and `*_backward` (the sequence, to run).
"""

from gru_lib import convert
from gru_lib._params import Bundle, Params, bundle
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
from gru_lib.ops import (
    LinearParams,
    bce_with_logits,
    linear_backward,
    linear_forward,
    linear_init,
    sigmoid,
    sigmoid_pair,
)
from gru_lib.optim import SGD, Adam, clip_by_global_norm
from gru_lib.train import History, train

__version__ = "0.1.0"

__all__ = [
    "SGD",
    "Adam",
    "Bundle",
    "GRUParams",
    "GRUTape",
    "GradReport",
    "History",
    "LinearParams",
    "Params",
    "bce_with_logits",
    "bundle",
    "clip_by_global_norm",
    "convert",
    "gradcheck",
    "gru_backward",
    "gru_forward",
    "gru_init",
    "gru_step",
    "gru_step_backward",
    "linear_backward",
    "linear_forward",
    "linear_init",
    "numeric_gradient",
    "sigmoid",
    "sigmoid_pair",
    "train",
]
