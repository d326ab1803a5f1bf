"""One interface for all cells: what a stack, a bidirectional layer or an encoder–decoder expects of its layers.

The type of the parameters says which functions belong to them: `cell_of(p).forward(xs, state0, p)` runs any layer. A
new cell is added by one call of `register_cell`; CONTRIBUTING says what else it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.checks import as_array, check_dtype, check_instance, check_int
from gru_lib.loop import by_steps, map_state
from gru_lib.params import Bundle, Params
from gru_lib.types import Array, Backward, Forward, Infer, MaybeArray, State

__all__ = [
    "Cell", "State", "advance", "cell_of", "infer", "map_state", "reads_backwards", "register_cell", "zero_state",
]  # fmt: skip


class Cell:
    """The functions of one kind of layer: of one step, and of the sequence.

    A step is step(x, state, p) -> state, cache, and its backward step_backward(dstate, cache, p) -> dx, dstate_prev,
    grads. If the output is `apart` from the state, they are step(x, state, p) -> out, state, cache and
    step_backward(dout, dstate, cache, p). Stacks and bidirectional layers have no step. `forward` and `backward` are as
    `gru_forward` and `gru_backward`; if they are not given, the step is repeated (`gru_lib.loop`). `infer` is
    given if the cell has more to it than leaving out forward's tape.
    """

    kind: type[Params]  # class of the parameters
    step: Callable[..., Any] | None
    step_backward: Callable[..., Any] | None
    forward: Forward
    backward: Backward
    width: Callable[[Any], int]  # how many numbers an output has
    zeros: Callable[[Any, int, DTypeLike], State]  # the state that N sequences start from
    takes_h_mask: bool  # whether forward takes h_mask, for recurrent dropout; a repeated step does not
    apart: bool
    backwards: bool  # whether an output depends on later inputs, so that it cannot go step by step

    def __init__(
        self,
        kind: type[Params],
        step: Callable[..., Any] | None = None,
        step_backward: Callable[..., Any] | None = None,
        forward: Forward | None = None,
        backward: Backward | None = None,
        width: Callable[[Any], int] = lambda p: p.H,
        zeros: Callable[[Any, int, DTypeLike], State] = lambda p, N, dtype: np.zeros((N, p.H), dtype),
        takes_h_mask: bool = True,
        apart: bool = False,
        infer: Infer | None = None,
        backwards: bool = False,
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Params)):
            raise TypeError(f"Cell: kind must be a subclass of Params; got {kind!r}.")
        if forward is None and backward is None and step is not None and step_backward is not None:
            forward, backward = by_steps(kind, step, step_backward, zeros, width, apart)
            takes_h_mask = False
        if forward is None or backward is None:
            raise TypeError("Cell: give step and step_backward, or forward and backward, or all four.")
        self.kind, self.step, self.step_backward, self.forward, self.backward = (
            kind, step, step_backward, forward, backward,
        )  # fmt: skip
        self.width, self.zeros, self.takes_h_mask, self.apart = width, zeros, takes_h_mask, apart
        self.backwards, self._infer = backwards, infer

    def infer(self, xs: ArrayLike, state0: State | None, p: Any, *, lengths: MaybeArray = None) -> tuple[Array, State]:
        """Run it over sequences without a backward pass, as `gru_lib.cells.infer` does."""
        if self._infer is not None:
            return self._infer(xs, state0, p, lengths=lengths)
        hs, state, _ = self.forward(xs, state0, p, lengths=lengths)
        return hs, state


_CELLS: dict[type[Params], Cell] = {}


def check_layer(where: str, name: str, p: Any) -> Cell:
    """Return the functions of a layer, as `cell_of`; errors name the argument."""
    if type(p) not in _CELLS:
        known = ", ".join(sorted(kind.__name__ for kind in _CELLS))
        raise TypeError(f"{where}: {name} must be one of {known}; got {type(p).__name__}.")
    return _CELLS[type(p)]


def register_cell(cell: Cell) -> Cell:
    """Let `cell_of` know a kind of layer, by the class of its parameters, and return it.

    Examples
    --------
    >>> from gru_lib.cells import cell_of, gru_init, register_cell
    >>> gru = cell_of(gru_init(np.random.default_rng(0), D=3, H=5))
    >>> register_cell(gru) is gru  # as the module of each cell does
    True
    """
    check_instance("register_cell", "cell", cell, Cell)
    _CELLS[cell.kind] = cell
    return cell


def cell_of(p: Params) -> Cell:
    """Return the functions that belong to these parameters; TypeError if no cell of their kind is registered.

    Examples
    --------
    >>> from gru_lib import cell_of, lstm_forward, lstm_init
    >>> p = lstm_init(np.random.default_rng(0), D=3, H=5)
    >>> cell_of(p).forward is lstm_forward
    True
    """
    return check_layer("cell_of", "p", p)


def reads_backwards(p: Params) -> bool:
    """Whether an output of a layer, or of one in it, depends on inputs that come later.

    Examples
    --------
    >>> from gru_lib import bidirectional, gru_init
    >>> from gru_lib.cells import reads_backwards
    >>> rng = np.random.default_rng(0)
    >>> p = gru_init(rng, D=3, H=5)
    >>> reads_backwards(p), reads_backwards(bidirectional(p, p.copy()))
    (False, True)
    """
    inner = p.members() if isinstance(p, Bundle) else ()
    return cell_of(p).backwards or any(type(each) in _CELLS and reads_backwards(each) for _, each in inner)


def zero_state(p: Params, N: int, dtype: DTypeLike | None = None) -> State:
    """Return the state that N sequences start from: zeros, but for an NTM.

    Examples
    --------
    >>> from gru_lib import lstm_init, zero_state
    >>> p = lstm_init(np.random.default_rng(0), D=3, H=2)
    >>> zero_state(p, N=1)
    LSTMState(h=array([[0., 0.]]), c=array([[0., 0.]]))
    """
    N, cell = check_int("zero_state", "N", N, minimum=0), cell_of(p)
    return cell.zeros(p, N, p.dtype if dtype is None else check_dtype("zero_state", dtype))


def infer(xs: ArrayLike, state0: State | None, p: Params, *, lengths: MaybeArray = None) -> tuple[Array, State]:
    """Run any layer over sequences without a backward pass: outputs and final state, as its forward's but for rounding.

    Arguments as in `gru_forward`. Nothing else is kept, so this takes less memory and time. Chapter 11.

    Examples
    --------
    >>> from gru_lib import gru_forward, gru_init, infer
    >>> rng = np.random.default_rng(0)
    >>> p, xs = gru_init(rng, D=3, H=5), rng.normal(size=(4, 2, 3))
    >>> hs, h_T = infer(xs, None, p)
    >>> np.allclose(hs, gru_forward(xs, None, p)[0])
    True
    """
    return check_layer("infer", "p", p).infer(xs, state0, p, lengths=lengths)


def advance(x: ArrayLike, state: State | None, p: Params) -> tuple[Array, State]:
    """One step of any layer that reads forwards, a stack too: from x (N, D) and the state to output and new state.

    This is for generating: there is no backward pass.

    Examples
    --------
    >>> from gru_lib import advance, gru_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p, xs = gru_init(rng, D=3, H=5), rng.normal(size=(4, 2, 3))
    >>> state = None
    >>> for x in xs:
    ...     h, state = advance(x, state, p)
    ...
    >>> np.allclose(h, gru_forward(xs, None, p)[1])
    True
    """
    check_layer("advance", "p", p)
    if reads_backwards(p):
        raise ValueError(f"advance: p must be of a layer that reads forwards only; got {type(p).__name__}.")
    x = as_array("advance", "x", x, ("N", "D"), {"D": p.D})
    hs, state = infer(x[None], state, p)
    return hs[0], state
