"""Check an answer to an exercise, and name the mistake: ``from gru_lib import check``, then ``check.gru_step(f)``.

Each check runs a function of yours on random numbers and returns a `Result`: ``.ok``, and a ``.message`` that a
notebook shows when the call is the last line of a cell. An answer that is wrong, unfinished or crashes never raises.

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
"""

from gru_lib.check.elman import elman_step, elman_step_backward
from gru_lib.check.engine import Result
from gru_lib.check.gru import gru_backward, gru_forward, gru_step, gru_step_backward
from gru_lib.check.losses import bce, sigmoid, softmax_cross_entropy
from gru_lib.check.lstm import lstm_step, lstm_step_backward
from gru_lib.check.optimisers import adam, clip

__all__ = [
    "Result", "adam", "bce", "clip", "elman_step", "elman_step_backward", "gru_backward", "gru_forward", "gru_step",
    "gru_step_backward", "lstm_step", "lstm_step_backward", "sigmoid", "softmax_cross_entropy",
]  # fmt: skip
