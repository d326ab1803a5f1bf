"""The loop over steps, for cells that are given by their step alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib._core.checks import as_array, check_instance
from gru_lib._core.sequence import begin

__all__ = ["MemoryTape", "run", "run_backward"]

Array = NDArray[Any]


class MemoryTape(NamedTuple):
    """What the backward passes need of the forward pass."""

    caches: tuple[Any, ...]
    mask: Array | None  # (T, N)
    state_T: Any


def run(
    where: str,
    kind: type,
    step: Callable[..., Any],
    start: Callable[..., Any],
    xs: Any,
    state: Any,
    p: Any,
    lengths: Any,
) -> tuple[Array, Any, MemoryTape]:
    check_instance(where, "p", p, kind)
    xs, _, mask, dtype = begin(where, p, xs, lengths)
    T, N, _ = xs.shape
    state = start(p, N, p.dtype) if state is None else _check_state(where, "state0", state, start(p, N, dtype), grow=0)
    hs, caches = np.zeros((T, N, p.H + p.M), np.result_type(dtype, *state)), []
    for t in range(T):
        hs[t], new, cache = step(xs[t], state, p)
        if mask is not None:
            hs[t] = np.where(mask[t, :, None], hs[t], 0)
            new = _carry(mask[t], new, state)
        caches.append(cache)
        state = new
    return hs, state, MemoryTape(tuple(caches), mask, state)


def run_backward(
    where: str, kind: type, step_backward: Callable[..., Any], dhs: Any, dstate: Any, tape: MemoryTape, p: Any
) -> tuple[Array, Any, Any]:
    check_instance(where, "p", p, kind)
    check_instance(where, "tape", tape, MemoryTape)
    T, N, width = len(tape.caches), len(tape.state_T[0]), p.H + p.M
    sizes = {"T": T, "N": N, "K": width}
    dhs = np.zeros((T, N, width), p.dtype) if dhs is None else as_array(where, "dhs", dhs, ("T", "N", "K"), sizes)
    if dstate is None:
        dstate = type(tape.state_T)(*(np.zeros_like(a) for a in tape.state_T))
    else:
        dstate = _check_state(where, "dstate_T", dstate, tape.state_T)
    dtype = np.result_type(p.flat, dhs, *tape.state_T, *dstate)
    dxs, grads = np.zeros((T, N, p.D), dtype), p.zeros_like(dtype)
    for t in reversed(range(T)):
        if tape.mask is None:
            dxs[t], dstate, g = step_backward(dhs[t], dstate, tape.caches[t], p)
        else:
            real = tape.mask[t]
            here = type(dstate)(*(np.where(_wide(real, a), a, 0) for a in dstate))
            dxs[t], before, g = step_backward(np.where(real[:, None], dhs[t], 0), here, tape.caches[t], p)
            dstate = _carry(real, before, dstate)
        grads.flat[:] += g.flat
    return dxs, dstate, grads


def _carry(real: Array, new: Any, old: Any) -> Any:
    """Where a step is padding, the old state. A stack that has one entry more gets one of strength 0 there."""
    pairs = []
    for a, b in zip(new, old, strict=True):
        if a.shape[1] > b.shape[1]:
            b = np.concatenate([b, np.zeros_like(a[:, -1:])], axis=1)
        pairs.append(np.where(_wide(real, a), a, b[:, : a.shape[1]]))
    return type(new)(*pairs)


def _wide(real: Array, a: Array) -> Array:
    return real.reshape(-1, *[1] * (a.ndim - 1))


def _check_state(where: str, name: str, state: Any, like: Any, grow: int | None = None) -> Any:
    """A state of the kind of `like`, of its shapes; with `grow`, the axis of the stack's entries is free."""
    if not isinstance(state, tuple) or len(state) != len(like):
        raise TypeError(f"{where}: {name} must be a {type(like).__name__}; got {type(state).__name__}.")
    checked = []
    for part, value, a in zip(like._fields, state, like, strict=True):
        axes = tuple(f"axis{i}" for i in range(a.ndim))
        sizes = dict(zip(axes, a.shape, strict=True))
        if grow is not None and part in ("values", "strengths"):
            sizes["axis1"] = np.shape(state.strengths)[1] if np.ndim(state.strengths) == 2 else -1
        checked.append(as_array(where, f"{name}.{part}", value, axes, sizes))
    return type(like)(*checked)
