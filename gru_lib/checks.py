"""Argument checks: shape, dtype and range errors, all worded alike.

Every message names the function, the argument, what it must be and what it is. Public functions check their arguments
once, on entry; inner loops do not check.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "as_array", "as_integers", "as_lengths", "check_bool", "check_cache", "check_choice", "check_dtype",
    "check_function", "check_instance", "check_int", "check_number", "check_sequence", "of_shape", "plain",
]  # fmt: skip

_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
_LARGEST = 2**31 - 1  # what a size or a count may be
_EXCHANGED = " Time comes first: are the axes exchanged?"


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
    if not minimum <= value <= _LARGEST:
        bound = f"least {minimum}" if value < minimum else f"most {_LARGEST}"
        raise ValueError(f"{where}: {name} must be at {bound}; got {value}.")
    return int(value)


def check_number(
    where: str, name: str, value: Any, *, above: float = -np.inf, least: float = -np.inf, below: float = np.inf
) -> float:
    """Return `value` as a finite float inside the range asked for, or raise. Text is no number, nor is True."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{where}: {name} must be a number; got {value!r} ({type(value).__name__}).")
    number = float(value)
    if not (above < number < below and number >= least):
        bounds = ((">", above), (">=", least), ("<", below))
        wanted = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if np.isfinite(bound)) or "finite"
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
        found = np.dtype("O" if dtype is None else dtype)
    except (TypeError, ValueError):
        found = np.dtype("O")
    if found not in _DTYPES:
        raise TypeError(f"{where}: dtype must be float32, float64, complex64 or complex128; got {dtype}.")
    return found


def plain(where: str, name: str, value: Any) -> NDArray[Any]:
    """Return `value` as an array, or raise."""
    try:
        return np.asarray(value)
    except Exception as error:  # whatever its own __array__ raises
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
    if not _fits(array.shape, axes, sizes):
        hint = " Is it transposed?" if _fits((*array.shape[:-2], *array.shape[:-3:-1]), axes, sizes) else ""
        if {"T", "N"} <= sizes.keys() and _fits(array.shape, axes, {**sizes, "T": sizes["N"], "N": sizes["T"]}):
            hint = _EXCHANGED
        letters, numbers = (", ".join(map(str, row)) for row in (axes, [sizes.get(axis, axis) for axis in axes]))
        comma = "," if len(axes) == 1 else ""
        wanted = f"({letters}{comma}) = ({numbers}{comma})"
        raise ValueError(f"{where}: {name} must have shape {wanted}; got {array.shape}.{hint}")
    return array


def _fits(shape: tuple[int, ...], axes: tuple[str, ...], sizes: Mapping[str, int]) -> bool:
    return len(shape) == len(axes) and shape == tuple(map(sizes.get, axes, shape))


def of_shape(where: str, name: str, value: Any, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Return `value` as a floating or complex array, of `shape` if given, or raise."""
    if type(value) is np.ndarray and value.dtype.char in "fdFD" and shape in (None, value.shape):
        return value  # as nearly always
    value = plain(where, name, value)
    axes = tuple(f"axis{i}" for i in range(value.ndim if shape is None else len(shape)))
    return as_array(where, name, value, axes, {} if shape is None else dict(zip(axes, shape, strict=True)))


def as_integers(where: str, name: str, value: Any, low: int, high: int) -> NDArray[Any]:
    """Return `value` as an array of integers from `low` to `high`, or raise."""
    array = plain(where, name, value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{where}: {name} must hold integers; got dtype {array.dtype}.")
    if array.size and (array.min() < low or array.max() > high):
        raise ValueError(f"{where}: {name} must lie in {low}..{high}; got {array.min()}..{array.max()}.")
    return array if array.dtype.kind == "i" else array.astype(np.intp)  # unsigned ones cannot be subtracted


def as_lengths(where: str, lengths: Any, T: int, N: int, *, name: str = "lengths") -> NDArray[np.bool_]:
    """Turn `lengths` (N,), each in 0..T, into a mask (T, N): True where a step is real, False where it is padding."""
    array = plain(where, name, lengths)
    if array.shape != (N,):
        hint = _EXCHANGED if array.shape == (T,) else ""
        raise ValueError(f"{where}: {name} must have shape (N,) = ({N},); got {array.shape}.{hint}")
    return np.arange(T)[:, None] < as_integers(where, name, array, 0, T)


def check_cache(where: str, cache: Any, kind: type, p: Any) -> None:
    """Raise TypeError or ValueError unless `cache` is of its kind and of a step with parameters of p's sizes D and H.

    Its first two arrays are the step's x (N, D) and h_prev (N, H). The numbers of `p` are not compared.
    """
    check_instance(where, "cache", cache, kind)
    D, H = cache[0].shape[1], cache[1].shape[1]
    if p.D != D or p.H != H:
        raise ValueError(f"{where}: cache must be of a step with D = {p.D} and H = {p.H}; got D = {D} and H = {H}.")
