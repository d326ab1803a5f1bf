"""Argument checks: shape, dtype and range errors, all worded alike.

Every message names the function, the argument, what it must be and what it is. Public functions check their arguments
once, on entry; inner loops do not check.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "COMMON", "as_array", "as_integers", "as_lengths", "as_tokens", "check_bool", "check_cache", "check_choice",
    "check_dtype", "check_function", "check_instance", "check_int", "check_number", "check_sequence",
    "of_shape", "plain", "suggests",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
COMMON = "fdFD"  # their characters: arrays that need no further look
_LARGEST = 2**31 - 1  # what a size or a count may be
_EXCHANGED = " Time comes first: are the axes exchanged?"


def suggests(function: F) -> F:
    """Let a misspelt keyword be answered with the right one, as Python does itself from 3.13 on, in the same words.

    It takes less than half a microsecond a call.
    """
    if sys.version_info >= (3, 13):
        return function
    known = tuple(inspect.signature(function).parameters)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            unknown = [name for name in options if name not in known]
            for name in get_close_matches(unknown[0], known, 1) if unknown else ():
                raise TypeError(f"{error}. Did you mean {name!r}?") from None
            raise

    return call  # type: ignore[return-value]


def check_instance(where: str, name: str, value: Any, kind: type) -> None:
    """Raise TypeError unless `value` is a `kind`."""
    if not isinstance(value, kind):
        hint = f" Give np.random.default_rng({value})." if kind is np.random.Generator and type(value) is int else ""
        raise TypeError(f"{where}: {name} must be a {kind.__name__}; got {type(value).__name__}.{hint}")


def check_function(where: str, name: str, value: Any, *, optional: bool = False) -> None:
    """Raise TypeError unless `value` can be called, or is None if it is `optional`."""
    if not (callable(value) or (optional and value is None)):
        raise TypeError(f"{where}: {name} must be a function; got {type(value).__name__}.")


def check_sequence(where: str, name: str, value: Any, count: int | None = None) -> None:
    """Raise TypeError or ValueError unless `value` is a tuple or list, of `count` entries if that is given."""
    if not isinstance(value, tuple | list):
        raise TypeError(f"{where}: {name} must be a tuple or list; got {type(value).__name__}.")
    if count is not None and len(value) != count:
        raise ValueError(f"{where}: {name} must have {count} entries; got {len(value)}.")


def check_bool(where: str, name: str, value: Any) -> bool:
    """Return `value` if it is True or False, or raise: text such as "False" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{where}: {name} must be True or False; got {value!r} ({type(value).__name__}).")
    return bool(value)


def check_int(where: str, name: str, value: Any, *, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{where}: {name} must be an integer; got {value!r} ({type(value).__name__}).")
    if value < minimum:
        raise ValueError(f"{where}: {name} must be at least {minimum}; got {value}.")
    if value > _LARGEST:
        raise ValueError(f"{where}: {name} must be at most {_LARGEST}; got {value}.")
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
    """Return `value` as a finite float inside the range asked for, or raise. Text is no number, nor is True."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf":
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{where}: {name} must be a number; got {value!r} ({type(value).__name__}).")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    bounds = ((">", above, operator.gt), (">=", least, operator.ge), ("<", below, operator.lt))
    asked = [(sign, bound, holds) for sign, bound, holds in bounds if bound is not None]
    if not (np.isfinite(number) and all(holds(number, bound) for _, bound, holds in asked)):
        wanted = " and ".join(f"{sign} {bound:g}" for sign, bound, _ in asked) or "finite"
        raise ValueError(f"{where}: {name} must be {wanted}; got {number:g}.")
    return number


def check_choice(where: str, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`, or raise."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{where}: {name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def check_dtype(where: str, dtype: DTypeLike) -> np.dtype:
    """Return a floating or complex dtype, or raise."""
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = None
    if dtype is None or found not in _DTYPES:
        came = repr(dtype) if found is None or dtype is None else found.name
        raise TypeError(f"{where}: dtype must be float32, float64, complex64 or complex128; got {came}.")
    return found


def plain(where: str, name: str, value: Any) -> NDArray[Any]:
    """Return `value` as an array, or raise. A masked array is refused: its mask would be lost."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{where}: {name} must be an array without a mask; got a MaskedArray. Fill it, or give lengths."
        )
    try:
        return np.asarray(value)
    except Exception as error:
        if isinstance(error, ValueError) and isinstance(value, tuple | list):
            raise ValueError(f"{where}: {name} must be an array; got a ragged list.") from None
        raise TypeError(f"{where}: {name} must be an array; got {type(value).__name__}: {error}") from None


def as_array(where: str, name: str, value: Any, axes: tuple[str, ...], sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return `value` as a floating or complex array whose shape is `axes`; `sizes` gives the axes that are known.

    Integers become float64, so that a list of tokens' one-hot rows just works. Nothing is copied otherwise. If T and N
    are both known, a shape that fits with the two exchanged is asked about.
    """
    array = plain(where, name, value)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fc":
        came = f"dtype {array.dtype}" if array.ndim or array.dtype.kind != "O" else type(array.item()).__name__
        raise TypeError(f"{where}: {name} must hold numbers; got {came}.")
    if array.dtype.char in "gG":  # no function here computes in it, and not every pass would even run
        raise TypeError(f"{where}: {name} must be float64 or complex128 at most; got {array.dtype}.")
    if array.ndim != len(axes) or array.shape != tuple(map(sizes.get, axes, array.shape)):
        known = tuple(sizes.get(axis, -1) for axis in axes)
        letters = "".join(f"{axis}, " for axis in axes).removesuffix(", " if len(axes) > 1 else " ")
        numbers = ", ".join(str(k) if k >= 0 else axis for axis, k in zip(axes, known, strict=True))
        numbers += "," if len(axes) == 1 else ""
        flipped = array.ndim == len(axes) > 1 and all(
            k < 0 or k == s for k, s in zip(known, (*array.shape[:-2], *array.shape[:-3:-1]), strict=True)
        )
        hint = " Is it transposed?" if flipped else ""
        if array.ndim == len(axes) and {"T", "N"} <= sizes.keys():
            batch_first = {**sizes, "T": sizes["N"], "N": sizes["T"]}
            hint = _EXCHANGED if array.shape == tuple(map(batch_first.get, axes, array.shape)) else hint
        raise ValueError(f"{where}: {name} must have shape ({letters}) = ({numbers}); got {array.shape}.{hint}")
    return array


def of_shape(where: str, name: str, value: Any, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Check that `value` is a floating or complex array, of `shape` if given, and return it."""
    if type(value) is np.ndarray and value.dtype.char in COMMON and (shape is None or value.shape == shape):
        return value  # as nearly always
    value = plain(where, name, value)
    axes = tuple(f"axis{i}" for i in range(value.ndim if shape is None else len(shape)))
    return as_array(where, name, value, axes, {} if shape is None else dict(zip(axes, shape, strict=True)))


def as_integers(
    where: str, name: str, value: Any, low: int, high: int, shape: tuple[int, ...] | None = None
) -> NDArray[Any]:
    """Return `value` as an array of integers from `low` to `high`, of the shape if it is given, or raise."""
    array = plain(where, name, value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: {name} must hold integers; got dtype {array.dtype}.")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{where}: {name} must have shape {shape}; got {array.shape}.")
    if array.size and (array.min() < low or array.max() > high):
        raise ValueError(f"{where}: {name} must lie in {low}..{high}; got {array.min()}..{array.max()}.")
    return array if array.dtype.kind == "i" else array.astype(np.intp)  # unsigned ones cannot be subtracted


def as_tokens(where: str, name: str, value: Any, low: int, high: int) -> NDArray[Any]:
    """Return tokens (T, N) from `low` to `high`, or raise."""
    tokens = as_integers(where, name, value, low, high)
    if tokens.ndim != 2:
        raise ValueError(f"{where}: {name} must have shape (T, N); got {tokens.shape}.")
    return tokens


def as_lengths(where: str, lengths: Any, T: int, N: int, *, name: str = "lengths") -> NDArray[np.bool_]:
    """Turn `lengths` (N,), each in 0..T, into a mask (T, N): True where a step is real, False where it is padding."""
    array = plain(where, name, lengths)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: {name} must hold integers; got dtype {array.dtype}.")
    if array.shape != (N,):
        hint = _EXCHANGED if array.shape == (T,) else ""
        raise ValueError(f"{where}: {name} must have shape (N,) = ({N},); got {array.shape}.{hint}")
    if array.size and (array.min() < 0 or array.max() > T):
        raise ValueError(f"{where}: {name} must lie in 0..T = 0..{T}; got {array.min()}..{array.max()}.")
    return np.arange(T)[:, None] < array


def check_cache(where: str, cache: Any, kind: type, p: Any) -> None:
    """Raise TypeError or ValueError unless `cache` is of its kind and of a step with parameters of p's sizes D and H.

    Its first two arrays are the step's x (N, D) and h_prev (N, H). The numbers of `p` are not compared.
    """
    if not isinstance(cache, kind):
        raise TypeError(f"{where}: cache must be a {kind.__name__}; got {type(cache).__name__}.")
    D, H = cache[0].shape[1], cache[1].shape[1]  # type: ignore[index]
    if p.D != D or p.H != H:
        raise ValueError(f"{where}: cache must be of a step with D = {p.D} and H = {p.H}; got D = {D} and H = {H}.")
