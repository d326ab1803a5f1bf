"""The base of every explorer: a live widget in Jupyter that also describes itself as static HTML."""

from __future__ import annotations

import html
import json
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from traitlets import Dict, Enum, Float, TraitError, TraitType, Unicode

from gru_lib.widgets._modules import assemble, styles

try:
    import anywidget
except ImportError as error:
    raise ImportError('gru_lib.widgets needs anywidget: pip install "gru-lib[widgets]"') from error

__all__ = ["Explorer", "Line", "Natural", "Number", "Numbers", "OneOf", "Permutation", "Whole", "Wholes"]


class Number(Float):
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


class Numbers(TraitType):
    """A trait for a list of `length` real numbers between `min` and `max`; arrays and tuples are taken as well."""

    def __init__(self, default: list[float], *, min: float, max: float, **kwargs: Any) -> None:
        self.length, self.min, self.max = len(default), min, max
        super().__init__(list(default), **kwargs)

    def validate(self, obj: Any, value: Any) -> list[float]:
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

    def validate(self, obj: Any, value: Any) -> list[int]:
        """Return `value` as a list of ints, or raise TraitError."""
        numbers = super().validate(obj, value)
        if any(number != int(number) for number in numbers):
            raise TraitError(f"{type(obj).__name__}: {self.name} must be whole numbers; got {value!r}.")
        return [int(number) for number in numbers]


class Permutation(TraitType):
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


class Natural(TraitType):
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


class OneOf(Enum):
    """A trait for one of a few words, with an error that lists them."""

    def error(self, obj: Any, value: Any, error: Exception | None = None, info: str | None = None) -> None:
        """Raise TraitError in the library's words."""
        words = ", ".join(repr(word) for word in self.values)
        raise TraitError(f"{type(obj).__name__}: {self.name} must be one of {words}; got {value!r}.")


class Line(Unicode):
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


class Explorer(anywidget.AnyWidget):
    """An explorer of the book. Live in a notebook, it also works in a built page, where no kernel runs.

    A subclass names its ES module (`module`, the stem of the `.mjs` beside this file), declares its state as traits
    tagged ``sync=True``, and draws that state in `fallback`, for pages without JavaScript.

    Parameters
    ----------
    anchor
        The element's `id` in the built page, so that a link in the prose can set the state:
        ``[z near 1](#gate?z=0.99)`` reaches the explorer with ``anchor="gate"``.
    **state
        Values for the traits.

    Raises
    ------
    TypeError
        For a name that is not part of the state.
    traitlets.TraitError
        For a value out of range.
    """

    module: ClassVar[str] = ""

    lang = OneOf(["", "en", "zh"], "", help="language of the words; empty: that of the page").tag(sync=True)
    anchor = Unicode("", help="id of the element in the built page")
    value = Dict(read_only=True, help="the state and what follows from it; ipywidgets.interactive_output reads it")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Read the module and its styles once, when the class is made."""
        if "module" in vars(cls):  # not in the class that traitlets derives when a trait is added
            cls._esm = assemble(f"{cls.module}.mjs")
            cls._css = styles(cls.module, tokens=True)
        super().__init_subclass__(**kwargs)

    def __init__(self, **state: Any) -> None:
        for name in state:
            if not self.has_trait(name):
                raise TypeError(f"{type(self).__name__}: no argument {name!r}; it takes {', '.join(self._names())}.")
        super().__init__(**state)
        self.observe(self._tell, self.keys_of_state())
        self._tell()

    @classmethod
    def _names(cls, **metadata: Any) -> list[str]:
        """The traits that the explorers declare (not those of ipywidgets), the subclass's first."""
        traits = {name: trait for name, trait in cls.class_traits(**metadata).items() if not trait.read_only}
        declared = [name for base in cls.__mro__ if issubclass(base, Explorer) for name in vars(base)]
        return [name for name in declared if name in traits and not name.startswith("_")]

    @classmethod
    def keys_of_state(cls) -> list[str]:
        """Return the names of the traits that are shared with the page, in order."""
        return cls._names(sync=True)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values; numbers to twelve digits, so that it prints alike everywhere."""
        values = {name: getattr(self, name) for name in self.keys_of_state()}

        def short(v: Any) -> Any:
            if isinstance(v, list):
                return [short(one) for one in v]
            return float(f"{v:.12g}") if isinstance(v, float) else v

        return {name: short(value) for name, value in values.items()}

    def values(self) -> dict[str, Any]:
        """Return the state and what is computed from it."""
        return self.state()

    def _tell(self, _change: Any = None) -> None:
        self.set_trait("value", self.values())

    def fallback(self) -> str:
        """Return HTML that says the same without JavaScript."""
        raise NotImplementedError

    def to_html(self) -> str:
        """Return the element that the host of the built page brings to life, with the static picture inside."""
        anchor = f' id="{html.escape(self.anchor)}"' if self.anchor else ""
        data = html.escape(json.dumps(self.state(), ensure_ascii=False))
        return (
            f'<div class="gru-ex gru-{self.module}"{anchor} data-afm="{self.module}" data-state="{data}">'
            f"{self.fallback()}</div>"
        )

    def __repr__(self) -> str:
        """Name what differs from the defaults: no address, so that it prints alike every time."""
        default = {name: trait.default_value for name, trait in self.class_traits(sync=True).items()}
        shown = [f"{name}={value!r}" for name, value in self.state().items() if value != default[name]]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": self.to_html()}, metadata
