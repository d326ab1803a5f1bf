"""Parameters: one flat array, and named views on it.

All parameters of a cell live in one contiguous array `p.flat`. The fused matrices (`p.W_x`) and the matrices of each
gate (`p.W_xr`) are views on it, so writing into `p.W_xr` changes `p.W_x`. The norm of all gradients is
`np.linalg.norm(g.flat)`, and a step of gradient descent is `p.flat -= lr * g.flat`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gru_lib.checks import check_dtype, check_instance

__all__ = ["Bundle", "Params", "bundle", "check_grads", "draw_gates", "gate_layout"]

Shapes = Mapping[str, tuple[int, ...]]
Parts = Mapping[str, tuple[str, Any]]
P = TypeVar("P", bound="Params")


def _check_flat(where: str, flat: Any) -> None:
    check_instance(where, "flat", flat, np.ndarray)
    check_dtype(f"{where}: flat", flat.dtype)


def _sizes(options: Mapping[str, Any]) -> dict[str, Any]:
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
    sizes: dict[str, int]  # the options that are a size, by their letter: D, H …

    def __init__(
        self,
        shapes: Shapes,
        *,
        parts: Parts | None = None,
        options: Mapping[str, Any] | None = None,
        dtype: DTypeLike = np.float64,
        flat: NDArray[Any] | None = None,
    ) -> None:
        where, parts, options = type(self).__name__, parts or {}, options or {}
        for name, value in (("shapes", shapes), ("parts", parts), ("options", options)):
            check_instance(where, name, value, dict)
        for name, shape in shapes.items():
            if not isinstance(shape, tuple) or not all(isinstance(n, int | np.integer) and n >= 0 for n in shape):
                raise ValueError(f"{where}: shapes must be tuples of sizes; {name} has {shape!r}.")
        if flat is None:
            flat = np.zeros(sum(map(math.prod, shapes.values())), check_dtype(where, dtype))
        _check_flat(where, flat)
        self._lay(flat, dict(shapes), dict(parts), dict(options))

    def _lay(self, flat: NDArray[Any], *layout: Any) -> None:
        """Make the views. Parameters that are made from each other share their layout, which nobody changes."""
        shapes, parts, options = layout
        size = sum(map(math.prod, shapes.values()))
        if flat.shape != (size,) or not flat.flags.c_contiguous:
            raise ValueError(f"{type(self).__name__}: flat must be contiguous with shape ({size},); got {flat.shape}.")
        made, start = self.__dict__, 0
        made.update(options, flat=flat, sizes=_sizes(options), _layout=layout)
        for name, shape in shapes.items():
            stop = start + math.prod(shape)
            made[name] = flat[start:stop].reshape(shape)
            start = stop
        for name, (whole, index) in parts.items():
            made[name] = made[whole][index]

    if TYPE_CHECKING:  # the names are known when they are made

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        if value is not self.__dict__.get(name, self):  # p.flat -= x assigns the array to its own name
            where = f"{type(self).__name__}.{name}"
            raise AttributeError(f"{where} cannot be assigned; an array is filled in place: p.{name}[...] = value.")

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
        return dict(self._layout[2])

    def items(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield (name, array) for each array, in the order in which they lie in `flat`."""
        return ((name, self.__dict__[name]) for name in self._layout[0])

    def on(self, flat: NDArray[Any]) -> Self:
        """Return the same names and shapes laid on another flat array. Nothing is copied."""
        new = type(self).__new__(type(self))
        new._lay(flat, *self._layout)
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

    __copy__ = copy

    def __getstate__(self) -> tuple[Any, ...]:
        return self.flat, *self._layout

    def __setstate__(self, state: tuple[Any, ...]) -> None:
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
        options = options or {}
        check_instance("bundle", "members", members, dict)
        check_instance("bundle", "options", options, dict)
        if not members:
            raise ValueError("bundle: expected at least one member, such as rnn=gru_init(rng, D, H).")
        if taken := _TAKEN.intersection((*members, *options)):
            raise ValueError(f"bundle: {min(taken)!r} means something else already; give it another name.")
        for name, member in members.items():
            check_instance("bundle", name, member, Params)
        if flat is None:
            _check_apart(members)
            flat = np.concatenate([member.flat for member in members.values()])
        _check_flat("bundle", flat)
        made: dict[str, Any] = {"flat": flat, "sizes": _sizes(options), **options}
        made |= {"_members": tuple(members), "_options": dict(options)}
        start = 0
        for name, member in members.items():
            made[name] = member.on(flat[start : start + member.size])
            start += member.size
        if flat.shape != (start,):
            raise ValueError(f"bundle: flat must have shape ({start},); got {flat.shape}.")
        self.__dict__.update(made)

    @property
    def options(self) -> dict[str, Any]:
        """The plain values of the whole; the members have their own."""
        return dict(self._options)

    def members(self) -> Iterator[tuple[str, Params]]:
        """Yield (name, parameters) for each member."""
        return ((name, self.__dict__[name]) for name in self._members)

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


def _check_apart(members: Mapping[str, Params]) -> None:
    """Raise ValueError if two members are one: as copies they would no longer be tied."""
    for (one, a), (other, b) in itertools.combinations(members.items(), 2):
        if np.may_share_memory(a.flat, b.flat):
            raise ValueError(
                f"bundle: {one} and {other} hold the same numbers, and would become two copies, which training moves "
                f"apart. Give {one} alone and use it in both places; or if two are meant, {other}.copy()."
            )


_TAKEN = frozenset((*dir(Bundle), "flat", "sizes", "_members", "_options"))  # names that no member or option may have


def bundle(**members: Params) -> Bundle:
    """Join parameter objects on one new flat array, into which their values are copied. No two may be the same one.

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
