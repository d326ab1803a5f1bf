"""The loop over steps: a cell that has a step and its backward gets the passes over sequences from here.

A step is ``step(x, state, p) -> state, cache``, and ``step_backward(dstate, cache, p) -> dx, dstate_prev, grads``. The
state is an array (N, H) or a named tuple of arrays, N first; its output is the state, or the first part of the tuple.
If the output is not part of the state, it is apart and comes first: ``step(x, state, p) -> out, state, cache`` and
``step_backward(dout, dstate, cache, p)``. A state may grow along an axis, as that of a stack does with every push.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gru_lib.checks import as_array, check_instance, plain
from gru_lib.params import Params, check_grads
from gru_lib.sequence import begin, outputs
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, Backward, Forward, MaybeArray, State, short_repr

__all__ = ["StepsTape", "by_steps", "check_sizes", "check_state", "leaves", "map_state", "validate"]


@short_repr
class StepsTape(NamedTuple):
    """What backward needs from the forward pass."""

    caches: tuple[Any, ...]
    mask: Array | None  # (T, N), True where a step is real
    state_T: State
    made: Signature  # of the parameters


def validate(check: Callable[..., tuple[Any, ...]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a decorator that runs `check` before a step: it takes the arguments, and returns them checked.

    The loop over steps goes past it, since the pass has checked what it was given.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def checked(*args: Any) -> Any:
            return function(*check(*args))

        return checked

    return decorate


def map_state(function: Callable[..., Array], *states: State) -> State:
    """Apply `function` to the arrays of states of one form, keeping the form.

    ``map_state(lambda a: a[rows], state)`` picks sequences; ``map_state(np.add, dstate, more)`` adds gradients.

    Examples
    --------
    >>> from gru_lib import LSTMState, map_state
    >>> state = LSTMState(h=np.zeros((3, 5)), c=np.ones((3, 5)))
    >>> map_state(lambda a: a[:1, :2], state)
    LSTMState(h=array([[0., 0.]]), c=array([[1., 1.]]))
    """
    if not callable(function) or not states:
        raise TypeError(
            f"map_state: function must be callable, and states at least one; got {type(function).__name__}."
        )
    first = states[0]
    if not isinstance(first, tuple):
        return function(*states)
    if any(not isinstance(state, tuple) or len(state) != len(first) for state in states):
        raise TypeError(f"map_state: states must have one form, {type(first).__name__}; got {states[-1]!r}.")
    parts = [map_state(function, *pieces) for pieces in zip(*states, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def leaves(state: State) -> list[Array]:
    """Return the arrays of a state, from the first to the last."""
    return [a for part in state for a in leaves(part)] if isinstance(state, tuple) else [state]


def by_steps(
    kind: type,
    step: Callable[..., Any],
    step_backward: Callable[..., Any],
    zeros: Callable[..., State],
    width: Callable[[Any], int],
    apart: bool = False,
) -> tuple[Forward, Backward]:
    """Return the passes over sequences of a cell that is given by its step; the arguments are those of `Cell`.

    ``leaky_step`` and ``leaky_step_backward`` give ``leaky_forward`` and ``leaky_backward``; errors use these names.
    """
    name = step.__name__.removesuffix("_step")
    # Past `validate`: the passes have checked what they were given.
    step, step_backward = (getattr(function, "__wrapped__", function) for function in (step, step_backward))

    def forward(
        xs: ArrayLike, state0: State | None, p: Any, *, lengths: MaybeArray = None
    ) -> tuple[Array, State, StepsTape]:
        check_instance(forward.__name__, "p", p, kind)
        xs, _, mask, dtype = begin(forward.__name__, p, xs, lengths)
        T, N, _ = xs.shape
        start = state = zeros(p, N, p.dtype)
        if state0 is not None:
            state = check_state(forward.__name__, "state0", state0, state, T=T)
        xs, state = xs.copy(), map_state(np.copy, state)  # what the caches hold is the tape's own
        hs, caches = np.zeros((T, N, width(p)), np.result_type(dtype, *leaves(state))), []
        for t in range(T):
            found = step(xs[t], state, p)
            if t == 0:
                _check_step(f"{name}_step", found, start, (N, width(p)), hs.dtype, apart)
            *out, new, cache = found
            hs[t] = out[0] if apart else leaves(new)[0]
            caches.append(cache)
            state = new if mask is None else _carry(mask[t], new, state)
        tape = StepsTape(tuple(caches), mask, state, sign(forward.__name__, p))
        return outputs(hs, mask), map_state(np.copy, state), tape

    def backward(dhs: MaybeArray, dstate_T: State | None, tape: StepsTape, p: Any) -> tuple[Array, State, Any]:
        check_tape(backward.__name__, tape, StepsTape, p, kind)
        T, N, dtype = len(tape.caches), len(leaves(tape.state_T)[0]), np.result_type(p.flat, *leaves(tape.state_T))
        sizes = {"T": T, "N": N, "K": width(p)}
        given = np.zeros(tuple(sizes.values()), dtype) if dhs is None else dhs
        dhs = as_array(backward.__name__, "dhs", given, ("T", "N", "K"), sizes)
        if tape.mask is not None:
            dhs = np.where(tape.mask[:, :, None], dhs, 0)
        dstate = map_state(np.zeros_like, tape.state_T)
        if dstate_T is not None:
            dstate = check_state(backward.__name__, "dstate_T", dstate_T, dstate, grown=True)
        dtype = np.result_type(dtype, dhs, *leaves(dstate))
        dxs, grads = np.zeros((T, N, p.D), dtype), p.zeros_like(dtype)
        for t in reversed(range(T)):
            real = None if tape.mask is None else tape.mask[t]
            now = dstate if real is None else map_state(lambda a, real=real: np.where(_wide(real, a), a, 0), dstate)
            given = (dhs[t], now) if apart else (_add_to_first(dhs[t], now),)
            found = step_backward(*given, tape.caches[t], p)
            if t == T - 1:
                _check_back(f"{name}_step_backward", found, zeros(p, N, p.dtype), p)
            dxs[t], before, g = found
            dstate = before if real is None else _carry(real, before, dstate)
            grads.flat[:] += g.flat
        return dxs, dstate, grads

    for function, what in ((forward, "forward"), (backward, "backward")):
        function.__name__ = function.__qualname__ = f"{name}_{what}"
        function.__module__ = step.__module__
    forward.__doc__ = f"Run `{name}_step` for t = 1 … T. Arguments and results as in `gru_forward`."
    backward.__doc__ = f"Run `{name}_step_backward` for t = T … 1. Arguments and results as in `gru_backward`."
    return forward, backward


def _check_step(where: str, found: Any, start: State, out: tuple[int, int], dtype: np.dtype, apart: bool) -> None:
    """Raise TypeError or ValueError unless a step returned arrays of the right shapes: nothing is to be broadcast."""
    wanted = "out, a state and a cache" if apart else "a state and a cache"
    if not isinstance(found, tuple) or len(found) != 2 + apart:
        raise TypeError(f"{where}: it must return {wanted}; got {type(found).__name__}.")
    given = leaves(check_state(where, "the new state", found[-2], start))
    if apart:
        given.append(as_array(where, "out", found[0], ("N", "K"), dict(zip("NK", out, strict=True))))
    for a in given:
        if not np.can_cast(a.dtype, dtype, "same_kind"):
            raise TypeError(f"{where}: it must return numbers that fit {dtype}; got {a.dtype}.")


def _check_back(where: str, found: Any, start: State, p: Params) -> None:
    """The same for what the backward of a step returned."""
    if not isinstance(found, tuple) or len(found) != 3:
        raise TypeError(f"{where}: it must return dx, dstate_prev and grads; got {type(found).__name__}.")
    dx, before, grads = found
    as_array(where, "dx", dx, ("N", "D"), {"N": len(leaves(start)[0]), "D": p.D})
    check_state(where, "dstate_prev", before, start)
    check_grads(where, grads, p)


def _add_to_first(dout: Array, dstate: State) -> State:
    """Add the gradient of a step's output, which is the state or its first part."""
    if not isinstance(dstate, tuple):
        return dstate + dout
    return type(dstate)(_add_to_first(dout, dstate[0]), *dstate[1:])


def _carry(real: Array, new: State, old: State) -> State:
    """Return the old state where a step is padding. If the new state has grown, the old one is extended by zeros."""

    def choose(a: Array, b: Array) -> Array:
        if a.shape[1] > b.shape[1]:
            b = np.concatenate([b, np.zeros_like(a[:, b.shape[1] :])], axis=1)
        return np.where(_wide(real, a), a, b[:, : a.shape[1]])

    return map_state(choose, new, old)


def _wide(real: Array, a: Array) -> Array:
    return real.reshape(-1, *[1] * (a.ndim - 1))


def check_state(where: str, name: str, state: Any, like: State, grown: bool = False, T: int | None = None) -> State:
    """Check that a state has the form and shapes of `like`, whose empty axes are those that grow, and return it."""
    steps = {} if T is None else {"T": T}
    if not isinstance(like, tuple):
        return as_array(where, name, state, ("N", "H"), dict(zip("NH", like.shape, strict=True)) | steps)
    if not isinstance(state, tuple) or len(state) != len(like):
        raise TypeError(f"{where}: {name} must be a {type(like).__name__}; got {type(state).__name__}.")
    checked, grow = [], None
    fields: tuple[str, ...] = type(like)._fields  # type: ignore[attr-defined]  # a NamedTuple
    for part, value, a in zip(fields, state, like, strict=True):
        axes = ("N", *(f"axis{i}" for i in range(1, a.ndim)))
        sizes = dict(zip(axes, a.shape, strict=True)) | steps
        if a.ndim > 1 and a.shape[1] == 0 and not grown:
            value = plain(where, f"{name}.{part}", value)
            grow = value.shape[1] if grow is None and value.ndim == a.ndim else grow or 0
            sizes["axis1"] = grow
        checked.append(as_array(where, f"{name}.{part}", value, axes, sizes))
    return type(like)(*checked)


def check_sizes(where: str, found: dict[str, int], p: Any) -> None:
    """Raise ValueError unless the cache of a step has the sizes that `p` has."""
    for letter, size in found.items():
        if getattr(p, letter) != size:
            raise ValueError(f"{where}: cache must be of a step with {letter} = {getattr(p, letter)}; got {size}.")
