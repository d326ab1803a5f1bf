"""The traits of an explorer's state: what may be set, and an error that says what was expected."""

from __future__ import annotations

from numbers import Real
from typing import Any, NoReturn

import numpy as np
from traitlets import Enum, Float, TraitError, TraitType, Unicode

__all__ = ["Line", "Natural", "Number", "Numbers", "OneOf", "Permutation", "Whole", "Wholes"]


class Number(Float[Any, Any]):
    """A trait for a real number between `min` and `max`, with an error that says what was expected."""

    def validate(self, obj: Any, value: Any) -> float:
        """Return `value` as a float, or raise TraitError."""
        number = float(value) if isinstance(value, Real | np.floating | np.integer) else np.nan
        if isinstance(value, bool) or not self.min <= number <= self.max:  # NaN fails too
            raise TraitError(
                f"{type(obj).__name__}: {self.name} must be a number in [{self.min:g}, {self.max:g}]; got {value!r}."
            )
        return number


class Whole(Number):
    """A trait for a whole number between `min` and `max`."""

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an int, or raise TraitError."""
        number = super().validate(obj, value)
        if number != int(number):
            raise TraitError(f"{type(obj).__name__}: {self.name} must be a whole number; got {value!r}.")
        return int(number)


class Numbers(TraitType[Any, Any]):
    """A trait for a list of `length` real numbers between `min` and `max`; arrays and tuples are taken as well."""

    def __init__(self, default: list[float], *, min: float, max: float, **kwargs: Any) -> None:
        self.length, self.min, self.max = len(default), min, max
        super().__init__(list(default), **kwargs)

    def validate(self, obj: Any, value: Any) -> list[Any]:
        """Return `value` as a list of floats, or raise TraitError."""
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (self.length,) or not ((numbers >= self.min) & (numbers <= self.max)).all():
            raise TraitError(
                f"{type(obj).__name__}: {self.name} must be {self.length} numbers in [{self.min:g}, {self.max:g}]; "
                f"got {value!r}."
            )
        return numbers.tolist()


class Wholes(Numbers):
    """A trait for a list of `length` whole numbers between `min` and `max`."""

    def validate(self, obj: Any, value: Any) -> list[Any]:
        """Return `value` as a list of ints, or raise TraitError."""
        numbers = super().validate(obj, value)
        if any(number != int(number) for number in numbers):
            raise TraitError(f"{type(obj).__name__}: {self.name} must be whole numbers; got {value!r}.")
        return [int(number) for number in numbers]


class Permutation(TraitType[Any, Any]):
    """A trait for an order of `length` things: each of 0 … length − 1 once."""

    def __init__(self, default: list[int], **kwargs: Any) -> None:
        self.length = len(default)
        super().__init__(list(default), **kwargs)

    def validate(self, obj: Any, value: Any) -> list[int]:
        """Return `value` as a list of ints, or raise TraitError."""
        try:
            order = [int(v) for v in value]
        except (TypeError, ValueError):
            order = []
        if sorted(order) != list(range(self.length)):
            raise TraitError(
                f"{type(obj).__name__}: {self.name} must hold each of 0 … {self.length - 1} once; got {value!r}."
            )
        return order


class Natural(TraitType[Any, Any]):
    """A trait for a whole number of at most `bits` bits, kept as decimal digits; ints and digits are taken."""

    def __init__(self, default: str, *, bits: int, **kwargs: Any) -> None:
        self.bits = bits
        super().__init__(default, **kwargs)

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value` as decimal digits, or raise TraitError."""
        digits = str(value) if isinstance(value, str | int | np.integer) and not isinstance(value, bool) else ""
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 100 and int(digits) < 2**self.bits):
            raise TraitError(
                f"{type(obj).__name__}: {self.name} must be a whole number in [0, 2**{self.bits}), "
                f"as an int or as decimal digits; got {value!r}."
            )
        return str(int(digits))


class OneOf(Enum[Any]):
    """A trait for one of a few words, with an error that lists them."""

    def error(self, obj: Any, value: Any, error: Exception | None = None, info: str | None = None) -> NoReturn:
        """Raise TraitError in the library's words."""
        words = ", ".join(repr(word) for word in self.values or ())
        raise TraitError(f"{type(obj).__name__}: {self.name} must be one of {words}; got {value!r}.")


class Line(Unicode[Any, Any]):
    """A trait for a text of at most `length` characters; a reader may type anything."""

    def __init__(self, default: str, *, length: int, **kwargs: Any) -> None:
        self.length = length
        super().__init__(default, **kwargs)

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value`, or raise TraitError."""
        if not isinstance(value, str) or len(value) > self.length:
            raise TraitError(
                f"{type(obj).__name__}: {self.name} must be a text of at most {self.length} characters; got {value!r}."
            )
        return value
