"""Names for what signatures speak of."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Backward", "Forward", "State"]

Array = NDArray[Any]
State = Any  # an array (N, H), or a tuple of states: LSTMState(h, c), one state per layer …


class Forward(Protocol):
    """forward(xs, state0, p, *, lengths=None) -> hs, state_T, tape; state0 None is the state a cell starts from."""

    def __call__(
        self, xs: ArrayLike, state0: State | None, p: Any, /, *, lengths: ArrayLike | None = None
    ) -> tuple[Array, State, Any]: ...


class Backward(Protocol):
    """backward(dhs, dstate_T, tape, p) -> dxs, dstate0, grads; None counts as zeros."""

    def __call__(
        self, dhs: ArrayLike | None, dstate_T: State | None, tape: Any, p: Any, /
    ) -> tuple[Array, State, Any]: ...
