"""Names for the types that signatures share."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Backward", "Forward", "Infer", "MaybeArray", "State"]

#: An array of NumPy, of any dtype.
Array = NDArray[Any]
#: What NumPy can make an array of; None where there is none, or where it stands for zeros.
MaybeArray = ArrayLike | None
#: A state: an array (N, H), or a tuple of states, such as LSTMState(h, c) or one state per layer.
State = Any


class Forward(Protocol):
    """forward(xs, state0, p, *, lengths=None) -> hs, state_T, tape; state0 None is the state a cell starts from."""

    def __call__(
        self, xs: ArrayLike, state0: State | None, p: Any, /, *, lengths: MaybeArray = None
    ) -> tuple[Array, State, Any]: ...


class Backward(Protocol):
    """backward(dhs, dstate_T, tape, p) -> dxs, dstate0, grads; None counts as zeros."""

    def __call__(self, dhs: MaybeArray, dstate_T: State | None, tape: Any, p: Any, /) -> tuple[Array, State, Any]: ...


class Infer(Protocol):
    """infer(xs, state0, p, *, lengths=None) -> hs, state_T: forward without a tape."""

    def __call__(
        self, xs: ArrayLike, state0: State | None, p: Any, /, *, lengths: MaybeArray = None
    ) -> tuple[Array, State]: ...
