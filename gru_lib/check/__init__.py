"""Check an answer to an exercise, and name the mistake: ``from gru_lib import check``."""

from gru_lib.check.engine import (
    Result,
    adam,
    bce,
    clip,
    elman_step,
    elman_step_backward,
    gru_backward,
    gru_forward,
    gru_step,
    gru_step_backward,
    lstm_step,
    lstm_step_backward,
    sigmoid,
    softmax_cross_entropy,
)

__all__ = [
    "Result",
    "adam",
    "bce",
    "clip",
    "elman_step",
    "elman_step_backward",
    "gru_backward",
    "gru_forward",
    "gru_step",
    "gru_step_backward",
    "lstm_step",
    "lstm_step_backward",
    "sigmoid",
    "softmax_cross_entropy",
]
