"""Names for the types that signatures share, and how a record of arrays is shown."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Backward", "Forward", "Infer", "MaybeArray", "State", "short_repr"]

Kind = TypeVar("Kind", bound=type)

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


def short_repr(kind: Kind) -> Kind:
    """Show a record by the names and shapes of what it holds, as in GRUTape(hs (8, 2, 5), mask None, …).

    It decorates the class of a tape or a cache: a call whose result nobody has assigned fills no screen with numbers.
    """

    def show(self: Any) -> str:
        parts = (f"{name} {_brief(value)}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(parts)})"

    kind.__repr__ = show  # type: ignore[assignment]
    return kind


def _brief(value: Any) -> str:
    """An array's shape, a plain value itself, of anything else its kind."""
    if isinstance(value, np.ndarray):
        return str(value.shape)
    if isinstance(value, bool | int | float | str | None):
        return repr(value)
    if type(value) is tuple and value:
        if len(value) > 3 and len(set(map(type, value))) == 1:
            return f"{len(value)} × {type(value[0]).__name__}"
        return f"({', '.join(map(_brief, value))})"
    return str(value) if isinstance(value, np.dtype) else getattr(value, "__name__", type(value).__name__)
