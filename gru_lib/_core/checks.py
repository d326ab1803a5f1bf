"""Argument checks: shape, dtype and range errors, all worded alike.

Every message names the function, the argument, what it must be and what it is. Public functions check their arguments
once, on entry; inner loops do not check.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["as_array", "as_lengths", "check_choice", "check_dtype", "check_instance", "check_int", "check_number"]

_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


def check_instance(where: str, name: str, value: Any, kind: type) -> None:
    """Raise TypeError unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{where}: {name} must be a {kind.__name__}; got {type(value).__name__}.")


def check_int(where: str, name: str, value: Any, *, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{where}: {name} must be an integer; got {value!r} ({type(value).__name__}).")
    if value < minimum:
        raise ValueError(f"{where}: {name} must be at least {minimum}; got {value}.")
    return int(value)


def check_number(
    where: str,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a finite float inside the range asked for, or raise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{where}: {name} must be a number; got {value!r} ({type(value).__name__}).") from None
    bounds = ((">", above, operator.gt), (">=", least, operator.ge), ("<", below, operator.lt))
    asked = [(sign, bound, holds) for sign, bound, holds in bounds if bound is not None]
    if not (np.isfinite(number) and all(holds(number, bound) for _, bound, holds in asked)):
        wanted = " and ".join(f"{sign} {bound:g}" for sign, bound, _ in asked) or "finite"
        raise ValueError(f"{where}: {name} must be {wanted}; got {number:g}.")
    return number


def check_choice(where: str, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`, or raise."""
    if value not in choices:
        raise ValueError(f"{where}: {name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def check_dtype(where: str, dtype: DTypeLike) -> np.dtype:
    """Return a floating or complex dtype, or raise."""
    dtype = np.dtype(dtype)
    if dtype not in _DTYPES:
        raise TypeError(f"{where}: dtype must be float32, float64, complex64 or complex128; got {dtype.name}.")
    return dtype


def as_array(where: str, name: str, value: Any, axes: tuple[str, ...], sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return `value` as a floating or complex array whose shape is `axes`; `sizes` gives the axes that are known.

    Integers become float64, so that a list of tokens' one-hot rows just works. Nothing is copied otherwise.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{where}: {name} must be an array of shape ({', '.join(axes)}); got a ragged list.") from None
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise TypeError(f"{where}: {name} must hold numbers; got dtype {array.dtype}.")
    if array.ndim != len(axes) or array.shape != tuple(map(sizes.get, axes, array.shape)):
        known = tuple(sizes.get(axis, -1) for axis in axes)
        letters = "".join(f"{axis}, " for axis in axes).removesuffix(", " if len(axes) > 1 else " ")
        numbers = ", ".join(str(k) if k >= 0 else axis for axis, k in zip(axes, known, strict=True))
        numbers += "," if len(axes) == 1 else ""
        flipped = array.ndim == len(axes) > 1 and all(
            k < 0 or k == s for k, s in zip(known, (*array.shape[:-2], *array.shape[:-3:-1]), strict=True)
        )
        hint = " Is it transposed?" if flipped else ""
        raise ValueError(f"{where}: {name} must have shape ({letters}) = ({numbers}); got {array.shape}.{hint}")
    return array


def as_lengths(where: str, lengths: Any, T: int, N: int) -> NDArray[np.bool_]:
    """Turn `lengths` (N,), each in 0..T, into a mask (T, N): True where a step is real, False where it is padding."""
    array = np.asarray(lengths)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: lengths must hold integers; got dtype {array.dtype}.")
    if array.shape != (N,):
        raise ValueError(f"{where}: lengths must have shape (N,) = ({N},); got {array.shape}.")
    if array.size and (array.min() < 0 or array.max() > T):
        raise ValueError(f"{where}: lengths must lie in 0..T = 0..{T}; got {array.min()}..{array.max()}.")
    return np.arange(T)[:, None] < array
