"""Check an answer to an exercise, and name the mistake: ``from gru_lib import check``, then ``check.gru_step(f)``.

A check runs a function of yours on random numbers, or looks at numbers that you have worked out, as in
``check.gate_hand(h, w)``: it is named after the exercise, here ``ex-gate-hand``. It returns a `Result`: ``.ok``, and a
``.message`` that a notebook shows when the call is the last line of a cell. An answer that is wrong, unfinished or
crashes never raises.

To add an exercise, write a function that returns an `Exercise` in the module of its family, or in a new one, and import
it below. The decorator makes the check of that name from it::

    @exercise
    def square() -> Exercise:
        '''Check ``f(x) -> y``: every number squared.'''
        x = np.random.default_rng(1).normal(size=(3, 2))

        def mistakes() -> Iterator[Mistake]:
            yield "that is 2x; x² is wanted.", {"y": 2 * x}

        return Exercise({"x": x}, {"y": each(lambda v: v**2, x)}, mistakes)

It states the arguments and the right outputs, by name, and for each mistake a message and the outputs it leads to, all
computed from the equations with the loops in `oracle`. Then add a right answer and some wrong ones to its tests; every
mistake that is listed here is tested already. The other options of an `Exercise` are in `engine`.

An exercise that asks for numbers is a function in `by_hand` under ``@values``: the right ones by name, and for each
slip which value it concerns, what it is then, and a message.
"""

from gru_lib.check.by_hand import (
    beam_hand,
    beam_tip,
    cmp_units,
    conv_advice,
    drop_half,
    drop_jensen,
    drop_lstm,
    fade_border,
    fade_sigmoid,
    fade_turn,
    fast_batch,
    fast_budget,
    gate_drift,
    gate_hand,
    gate_long,
    gate_quiet,
    gru_half_life,
    gru_second,
    hwy_e,
    lm_start,
    lm_units,
    lstm_count,
    mem_bias,
    other_alpha,
    other_pile,
    other_sharp,
    s2s_mean,
    sub_add,
    sub_msb,
    sub_steep,
    sum_number,
    sum_shortest,
)
from gru_lib.check.elman import elman_step, elman_step_backward
from gru_lib.check.engine import Result
from gru_lib.check.forms import bwd_jacobian, conv_columns, conv_constant
from gru_lib.check.gru import gru_backward, gru_forward, gru_step, gru_step_backward
from gru_lib.check.layers import deep_causal, deep_reverse, deep_size, drop_candidate
from gru_lib.check.losses import bce, sigmoid, softmax_cross_entropy
from gru_lib.check.lstm import lstm_step, lstm_step_backward
from gru_lib.check.optimisers import adam, clip, gate_cold
from gru_lib.check.sequences import beam_safe, lm_mixture, lm_temperature, s2s_softmax

__all__ = [
    "Result", "adam", "bce", "beam_hand", "beam_safe", "beam_tip", "bwd_jacobian", "clip", "cmp_units", "conv_advice",
    "conv_columns", "conv_constant", "deep_causal", "deep_reverse", "deep_size", "drop_candidate", "drop_half",
    "drop_jensen", "drop_lstm", "elman_step", "elman_step_backward", "fade_border", "fade_sigmoid", "fade_turn",
    "fast_batch", "fast_budget", "gate_cold", "gate_drift", "gate_hand", "gate_long", "gate_quiet", "gru_backward",
    "gru_forward", "gru_half_life", "gru_second", "gru_step", "gru_step_backward", "hwy_e", "lm_mixture", "lm_start",
    "lm_temperature", "lm_units", "lstm_count", "lstm_step", "lstm_step_backward", "mem_bias", "other_alpha",
    "other_pile", "other_sharp", "s2s_mean", "s2s_softmax", "sigmoid", "softmax_cross_entropy", "sub_add", "sub_msb",
    "sub_steep", "sum_number", "sum_shortest",
]  # fmt: skip
