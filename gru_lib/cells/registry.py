"""One shape for all cells: what a stack, a bidirectional layer or an encoder–decoder asks of the layers it is given.

The type of the parameters says which functions belong to them: `cell_of(p).forward(xs, state0, p)` runs any layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._core.checks import check_instance, check_int
from gru_lib._core.params import Params

__all__ = ["Cell", "advance", "cell_of", "map_state", "register_cell", "zero_state"]

Array = NDArray[Any]
State = Any  # an array (N, H), or a tuple of states: LSTMState(h, c), one state per layer …


class Forward(Protocol):
    """forward(xs, state0, p, *, lengths=None) -> hs, state_T, tape; state0 None counts as zeros."""

    def __call__(
        self, xs: ArrayLike, state0: State | None, p: Any, *, lengths: ArrayLike | None = None
    ) -> tuple[Array, State, Any]: ...


class Backward(Protocol):
    """backward(dhs, dstate_T, tape, p) -> dxs, dstate0, grads; None counts as zeros."""

    def __call__(
        self, dhs: ArrayLike | None, dstate_T: State | None, tape: Any, p: Any
    ) -> tuple[Array, State, Any]: ...


def _H(p: Params) -> int:
    return p.H


@dataclass(frozen=True)
class Cell:
    """The functions of one kind of layer.

    Attributes
    ----------
    forward, backward
        The sequence, as `gru_forward` and `gru_backward`.
    step, step_backward
        One step: step(x, state, p) -> state, cache; step_backward(dstate, cache, p) -> dx, dstate_prev, grads. None
        for what is made of cells: stacks and bidirectional layers.
    width
        p -> how many numbers an output has.
    zeros
        p, N, dtype -> the state of zeros.
    takes_h_mask
        Whether forward takes h_mask, for recurrent dropout. CBOW has no product with the state to mask.
    """

    forward: Forward
    backward: Backward
    step: Callable[..., tuple[State, Any]] | None = None
    step_backward: Callable[..., tuple[Array, State, Any]] | None = None
    width: Callable[[Any], int] = _H
    zeros: Callable[[Any, int, DTypeLike], State] = lambda p, N, dtype: np.zeros((N, p.H), dtype)
    takes_h_mask: bool = True


_CELLS: dict[type[Params], Cell] = {}


def register_cell(kind: type[Params], cell: Cell) -> None:
    """Let `cell_of` know a new kind of layer, by the class of its parameters. A cell of your own joins here."""
    check_instance("register_cell", "cell", cell, Cell)
    if not (isinstance(kind, type) and issubclass(kind, Params)):
        raise TypeError(f"register_cell: kind must be a subclass of Params; got {kind!r}.")
    _CELLS[kind] = cell


def cell_of(p: Params) -> Cell:
    """Return the functions that belong to these parameters.

    Raises
    ------
    TypeError
        If no cell is registered for the class of `p`.
    """
    if type(p) not in _CELLS:
        known = ", ".join(sorted(kind.__name__ for kind in _CELLS))
        raise TypeError(f"cell_of: p must be one of {known}; got {type(p).__name__}.")
    return _CELLS[type(p)]


def zero_state(p: Params, N: int, dtype: DTypeLike | None = None) -> State:
    """Return the state of zeros of N sequences, in the form that the layer of `p` takes."""
    N = check_int("zero_state", "N", N, minimum=0)
    return cell_of(p).zeros(p, N, p.dtype if dtype is None else dtype)


def advance(x: ArrayLike, state: State | None, p: Params) -> tuple[Array, State]:
    """One step of any layer that reads forwards, a stack too: x (N, D) and the state to output and new state.

    For generating: no gradient comes back from here.
    """
    hs, state, _ = cell_of(p).forward(np.asarray(x)[None], state, p)
    return hs[0], state


def map_state(function: Callable[..., Array], *states: State) -> State:
    """Apply `function` to the arrays of states of one form, keeping the form.

    ``map_state(lambda a: a[rows], state)`` picks sequences; ``map_state(np.add, dstate, more)`` adds gradients.
    """
    first = states[0]
    if not isinstance(first, tuple):
        return function(*states)
    parts = [map_state(function, *pieces) for pieces in zip(*states, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
