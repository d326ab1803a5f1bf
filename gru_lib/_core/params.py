"""Parameters: one flat array, and named views on it.

All parameters of a cell live in one contiguous array `p.flat`. The fused matrices (`p.W_x`) and the matrices of each
gate (`p.W_xr`) are views on it, so writing into `p.W_xr` changes `p.W_x`. The norm of all gradients is
`np.linalg.norm(g.flat)`, and a step of gradient descent is `p.flat -= lr * g.flat`. Each view is made once, those of a
gate when they are first asked for, since gradients are often read through `flat` alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gru_lib._core.checks import check_dtype, check_instance

__all__ = ["Bundle", "Params", "bundle", "check_grads", "draw_gates", "gate_layout"]

Shapes = Mapping[str, tuple[int, ...]]
Parts = Mapping[str, tuple[str, Any]]
P = TypeVar("P", bound="Params")


class _Recipe(NamedTuple):
    """What all parameters of the same kind and size share."""

    shapes: Shapes
    parts: Parts
    options: Mapping[str, Any]
    sizes: Mapping[str, int]  # the options that are a size, by their letter: D, H …
    size: int  # numbers in all
    places: tuple[tuple[str, slice, tuple[int, ...]], ...]  # name, where it lies in `flat`, shape


def _recipe(shapes: Shapes, parts: Parts, options: Mapping[str, Any]) -> _Recipe:
    places, start = [], 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        places.append((name, slice(start, stop), shape))
        start = stop
    return _Recipe(dict(shapes), dict(parts), dict(options), _sizes(options), start, tuple(places))


def _named(where: str, name: str, value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a mapping from names, or raise."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{where}: {name} must be a dict whose keys are names; got {value!r:.60}.")
    return value


def _check_flat(where: str, flat: Any) -> None:
    check_instance(where, "flat", flat, np.ndarray)
    check_dtype(f"{where}: flat", flat.dtype)


def _sizes(options: Mapping[str, Any]) -> dict[str, int]:
    return {key: value for key, value in options.items() if len(key) == 1}


class Params:
    """Named arrays that share one flat buffer.

    Arrays are assigned in place (``p.b_z[:] = 2``). ``p.b_z = ...`` would cut the name off from the buffer, so it
    raises AttributeError. A kind is a subclass whose constructor takes its options, `dtype` and `flat`, as in
    ``GRUParams(D, H, bias=False)``: with these `load` makes it anew.

    Parameters
    ----------
    shapes
        Name and shape of each array, in the order in which they lie in `flat`.
    parts
        Further names for pieces of those arrays: name -> (array, index), such as ``("W_x", np.s_[:, :H])``.
    options
        Plain values that belong to the parameters (sizes, conventions). Read as attributes.
    dtype
        float32, float64, complex64 or complex128.
    flat
        The buffer to lay the views on; a new one filled with zeros if it is None.

    Examples
    --------
    >>> from gru_lib import Params
    >>> p = Params({"W": (2, 3), "b": (3,)})
    >>> p.b[:] = 1
    >>> p.flat
    array([0., 0., 0., 0., 0., 0., 1., 1., 1.])
    """

    flat: NDArray[Any]  # (size,): everything; write into it freely

    def __init__(
        self,
        shapes: Shapes,
        *,
        parts: Parts | None = None,
        options: Mapping[str, Any] | None = None,
        dtype: DTypeLike = np.float64,
        flat: NDArray[Any] | None = None,
    ) -> None:
        where = type(self).__name__
        shapes, parts, options = (
            _named(where, name, {} if value is None and name != "shapes" else value)
            for name, value in (("shapes", shapes), ("parts", parts), ("options", options))
        )
        for name, shape in shapes.items():
            if not isinstance(shape, tuple) or any(type(n) is bool or not isinstance(n, Integral) for n in shape):
                raise TypeError(f"{where}: shapes must be tuples of integers; {name} has {shape!r}.")
            if any(n < 0 for n in shape):
                raise ValueError(f"{where}: shapes must hold sizes of at least 0; {name} has {shape!r}.")
        recipe = _recipe(shapes, parts, options)
        if flat is None:
            flat = np.zeros(recipe.size, check_dtype(where, dtype))
        _check_flat(where, flat)
        self._lay(flat, recipe)

    def _lay(self, flat: NDArray[Any], recipe: _Recipe) -> None:
        if flat.shape != (recipe.size,) or not flat.flags.c_contiguous:
            wanted = f"contiguous with shape ({recipe.size},)"
            raise ValueError(f"{type(self).__name__}: flat must be {wanted}; got {flat.shape}.")
        made = self.__dict__
        made["flat"], made["_recipe"] = flat, recipe
        made.update(recipe.options)
        for name, where, shape in recipe.places:
            made[name] = flat[where].reshape(shape)

    def __getattr__(self, name: str) -> Any:  # only reached when `name` is not there, or not yet
        recipe = self.__dict__.get("_recipe")
        if recipe and name in recipe.parts:
            whole, index = recipe.parts[name]
            self.__dict__[name] = self.__dict__[whole][index]
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self._names())}.")

    def __dir__(self) -> list[str]:  # for completion: those that have not been asked for yet, too
        return [*object.__dir__(self), *self._names()]

    def __setattr__(self, name: str, value: Any) -> None:
        if value is self.__dict__.get(name, self):  # p.flat -= x changes the array, then assigns it to its own name
            return
        if "_recipe" in self.__dict__ and name in self.__dict__["_recipe"].options:
            raise AttributeError(f"{type(self).__name__}.{name} is fixed when the parameters are made.")
        raise AttributeError(f"assign in place: p.{name}[...] = value. A new array would not share p.flat.")

    def _names(self) -> list[str]:
        parts = self.__dict__["_recipe"].parts if "_recipe" in self.__dict__ else ()
        return [name for name in dict.fromkeys((*self.__dict__, *parts)) if not name.startswith("_")]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of every array."""
        return self.flat.dtype

    @property
    def size(self) -> int:
        """How many numbers there are in all."""
        return self.flat.size

    @property
    def options(self) -> dict[str, Any]:
        """The plain values: sizes and conventions."""
        return dict(self.__dict__["_recipe"].options)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The options that are a size, by their letter: D, H …"""
        return self.__dict__["_recipe"].sizes

    def items(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield (name, array) for each array, in the order in which they lie in `flat`."""
        return ((name, self.__dict__[name]) for name in self.__dict__["_recipe"].shapes)

    def on(self, flat: NDArray[Any]) -> Self:
        """Return the same names and shapes laid on another flat array. Nothing is copied."""
        new = type(self).__new__(type(self))
        new._lay(flat, self.__dict__["_recipe"])
        return new

    def zeros_like(self, dtype: DTypeLike | None = None) -> Self:
        """Return the same names and shapes, filled with zeros: where gradients go."""
        return self.on(np.zeros(self.size, self.dtype if dtype is None else check_dtype("zeros_like", dtype)))

    def copy(self) -> Self:
        """Return a copy that shares no memory."""
        return self.on(self.flat.copy())

    def astype(self, dtype: DTypeLike) -> Self:
        """Return a copy of another dtype."""
        return self.on(self.flat.astype(check_dtype("astype", dtype)))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> tuple[NDArray[Any], _Recipe]:
        return self.flat, self.__dict__["_recipe"]

    def __setstate__(self, state: tuple[NDArray[Any], _Recipe]) -> None:
        self._lay(*state)

    def __repr__(self) -> str:
        options = "".join(f", {k}={v!r}" for k, v in self.options.items() if len(k) > 1)
        return f"{type(self).__name__}({self._shown()}; {self.size} numbers, {self.dtype}{options})"

    def _shown(self) -> str:
        return ", ".join(f"{name} {a.shape}" for name, a in self.items())


def check_grads(where: str, grads: Any, p: Params) -> None:
    """Raise unless gradients are laid out as `p`: the same names and shapes in the same order."""
    check_instance(where, "grads", grads, Params)
    wanted, found = ([(name, a.shape) for name, a in one.items()] for one in (p, grads))
    if wanted != found:
        pairs = zip_longest(wanted, found, fillvalue=("nothing", ""))
        (name, shape), (other, came) = next(pair for pair in pairs if pair[0] != pair[1])
        raise ValueError(f"{where}: grads must hold {name} {shape} where p does; got {other} {came}.")


def gate_layout(slabs: Mapping[str, int], options: Mapping[str, Any], more: Shapes | None = None) -> dict[str, Any]:
    """What `Params` takes for a gated cell: W_x (D, G·H), W_h (H, G·H), b (G·H,) with bias, and `more`.

    `slabs` says which of the G slabs of H columns belongs to a gate: with "r" at 0, p.W_xr, p.W_hr and p.b_r are the
    first H columns. The options hold D, H and bias. Without bias every b is 0.0.
    """
    H, G, bias = options["H"], max(slabs.values()) + 1, options["bias"]
    shapes: dict[str, tuple[int, ...]] = {"W_x": (options["D"], G * H), "W_h": (H, G * H)}
    names = {"W_x": "W_x", "W_h": "W_h"}
    if bias:
        shapes["b"], names["b_"] = (G * H,), "b"
    else:
        options = {**options, **dict.fromkeys(("b", *(f"b_{gate}" for gate in slabs)), 0.0)}
    columns = {gate: np.s_[..., k * H : (k + 1) * H] for gate, k in slabs.items()}
    parts = {name + gate: (whole, where) for name, whole in names.items() for gate, where in columns.items()}
    return {"shapes": {**shapes, **(more or {})}, "parts": parts, "options": options}


def draw_gates(p: P, rng: np.random.Generator) -> P:
    """Draw the weights of a gated cell, W_x and W_h, uniform in ±1/√H, and return it."""
    for W in (p.W_x, p.W_h):
        W[:] = rng.uniform(-1, 1, W.shape) / np.sqrt(p.H)
    return p


class Bundle(Params):
    """Several parameter objects on one flat array: ``m = bundle(rnn=..., out=...)``, then ``m.rnn``, ``m.out``.

    `options` are plain values that belong to the whole, as in Params.
    """

    def __init__(
        self, members: Mapping[str, Params], flat: NDArray[Any] | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        members, options = _named("bundle", "members", members), _named("bundle", "options", options or {})
        if not members:
            raise ValueError("bundle: expected at least one member, such as rnn=gru_init(rng, D, H).")
        if taken := _TAKEN.intersection((*members, *options)):
            raise ValueError(f"bundle: {min(taken)!r} means something else already; give it another name.")
        for name, member in members.items():
            if not isinstance(member, Params):
                raise TypeError(f"bundle: {name} must be a Params; got {type(member).__name__}.")
        if flat is None:
            flat = np.concatenate([member.flat for member in members.values()])
        _check_flat("bundle", flat)
        made: dict[str, Any] = {"flat": flat, **options}
        start = 0
        for name, member in members.items():
            made[name] = member.on(flat[start : start + member.size])
            start += member.size
        if flat.shape != (start,):
            raise ValueError(f"bundle: flat must have shape ({start},); got {flat.shape}.")
        self.__dict__.update(made)
        self.__dict__["_members"] = tuple(members)
        self.__dict__["_options"] = dict(options)

    @property
    def options(self) -> dict[str, Any]:
        """The plain values of the whole; the members have their own."""
        return dict(self.__dict__["_options"])

    @property
    def sizes(self) -> Mapping[str, int]:
        """Those of the whole that are a size, by their letter."""
        return _sizes(self.options)

    def members(self) -> Iterator[tuple[str, Params]]:
        """Yield (name, parameters) for each member."""
        return ((name, self.__dict__[name]) for name in self.__dict__["_members"])

    def items(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield ("member.name", array) for each array of each member."""
        return ((f"{outer}.{name}", a) for outer, member in self.members() for name, a in member.items())

    def _shown(self) -> str:
        return ", ".join(f"{name} {type(member).__name__}" for name, member in self.members())

    def on(self, flat: NDArray[Any]) -> Self:
        """Return the same members laid on another flat array. Nothing is copied."""
        return type(self)(dict(self.members()), flat, self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.members()), self.flat, self.options)


_TAKEN = frozenset((*dir(Bundle), "flat", "_members", "_options"))  # names that no member or option may have


def bundle(**members: Params) -> Bundle:
    """Join parameter objects on one new flat array, into which their values are copied.

    ``m = bundle(rnn=gru_init(rng, D, H), out=linear_init(rng, H, 1))`` has everything in ``m.flat``; ``m.rnn`` and
    ``m.out`` are parameter objects on pieces of it.

    Examples
    --------
    >>> from gru_lib import bundle, gru_init, linear_init
    >>> rng = np.random.default_rng(0)
    >>> m = bundle(rnn=gru_init(rng, D=3, H=5), out=linear_init(rng, 5, 1))
    >>> m.flat[:] = 0
    >>> bool(m.out.W.any()), m.size == m.rnn.size + m.out.size
    (False, True)
    """
    return Bundle(members)
