"""Check an answer to an exercise, and name the mistake: ``from gru_book import check``, then ``check.gru_step(f)``.

A check runs a function of yours on random numbers, or looks at numbers that you have worked out, as in
``check.gate_hand(my_h, my_w)``: it is named after the exercise, here ``ex-gate-hand``. It returns a `Result`: ``.ok``,
and a ``.message`` that a notebook shows when the call is the last line of a cell. ``.blank`` says that there is no
answer yet, only the three dots. An answer that is wrong, unfinished or crashes never raises.

>>> from gru_book import check
>>> from gru_lib import ops
>>> check.sigmoid(ops.sigmoid).ok, check.sigmoid(np.tanh).ok
(True, False)

To add an exercise, write a function that returns an `Exercise` in the module of its family, and add its name to the
module's `__all__`. The decorator makes the check of that name from it::

    @exercise
    def square() -> Exercise:
        '''Check ``f(x) -> y``: every number squared.

        Given x (N, D); return y (N, D).
        '''
        x = np.random.default_rng(1).normal(size=(3, 2))

        def mistakes() -> Iterator[Mistake]:
            yield "that is 2x; x² is wanted.", {"y": 2 * x}

        return Exercise({"x": x}, {"y": each(lambda v: v**2, x)}, mistakes)

It states the arguments and the right outputs, by name, and for each mistake a message and the outputs it leads to, all
computed from the equations with the loops in `oracle`. The docstring's second paragraph says what is given and what is
to be returned; the answer cell of the reader's notebook begins with it. Then add a right answer and some wrong ones to
its tests; every mistake that is listed here is tested already. The other options of an `Exercise` are in `engine`.

An exercise that asks for numbers is a generator under ``@values`` in `by_hand`, above its last line: first come the
right ones, by the names that the reader gives them, with a sentence for a right answer, then for each slip the value it
concerns, what that is then, and a message. One that asks for the weights of a network is in `machines`: what the
network answers is compared, not its weights.
"""

from gru_book.check.bugs import *
from gru_book.check.by_hand import *
from gru_book.check.elman import *
from gru_book.check.engine import EXERCISES, Result
from gru_book.check.forms import *
from gru_book.check.gru import *
from gru_book.check.layers import *
from gru_book.check.losses import *
from gru_book.check.lstm import *
from gru_book.check.machines import *
from gru_book.check.optimisers import *
from gru_book.check.scans import *
from gru_book.check.sequences import *
from gru_book.check.series import *
from gru_book.check.values import VALUES

__all__ = ["Result", *EXERCISES, *VALUES]
