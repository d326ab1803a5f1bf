"""A differentiable stack, and a GRU that drives it. Chapter 13.

The output of a step is the controller's state and what was read, side by side, (N, H + M). Without state0 the stack is
empty; a padded step adds an entry of strength 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.gru import GRUParams, gru_init, gru_step, gru_step_backward
from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import as_array, check_dtype, check_instance, check_int
from gru_lib.loop import check_sizes, check_state, validate
from gru_lib.ops import LinearParams, linear_backward, linear_forward, linear_init, sigmoid_pair
from gru_lib.params import Bundle
from gru_lib.types import Array, short_repr

__all__ = [
    "StackRNNParams", "StackRNNState", "stack_rnn_backward", "stack_rnn_forward", "stack_rnn_init", "stack_rnn_step",
    "stack_rnn_step_backward", "stack_step", "stack_step_backward",
]  # fmt: skip


@short_repr
class StackCache(NamedTuple):
    """What `stack_step_backward` needs from the step; before it the stack has K entries."""

    values: Array  # (N, K + 1, M), with the pushed one
    left: Array  # (N, K): what is still to be popped when entry i is reached
    popped: Array  # (N, K): strengths after the pop, before they are cut at 0
    strengths: Array  # (N, K + 1)
    room: Array  # (N, K + 1): how much of the read of 1 the entries above leave
    weights: Array  # (N, K + 1): how much of each entry is read


def stack_step(
    value: Array, push: Array, pop: Array, values: Array, strengths: Array
) -> tuple[Array, Array, Array, StackCache]:
    """Pop, push, then read a stack whose entries have strengths: all three by real amounts.

    ::

        left_i     = pop − Σ_{j>i} s_prev_j                     what the entries above i leave of the pop
        s_i        = relu(s_prev_i − relu(left_i))              each old entry loses it, down to 0
        s_new      = push,   v_new = value                      the new entry, on top
        room_i     = relu(1 − Σ_{j>i} s_j)                      what the entries above i leave of the read
        read       = Σ_i min(s_i, room_i) v_i                   the topmost strength of 1, averaged

    Chapter 13. Grefenstette et al. (2015), arXiv:1506.02516, equations (1) to (3). Nothing is ever removed: an entry
    that was popped has strength 0.

    Parameters
    ----------
    value : array (N, M)
    push, pop : arrays (N,), at least 0
    values, strengths : arrays (N, K, M) and (N, K)
        The stack before the step, the bottom first. They are not changed.

    Returns
    -------
    read : array (N, M)
    values, strengths : arrays (N, K + 1, M) and (N, K + 1)
    cache : StackCache

    Examples
    --------
    >>> from gru_book.cells import stack_step
    >>> values, strengths = np.array([[[5.0]]]), np.array([[1.0]])
    >>> value, push, pop = np.array([[7.0]]), np.array([0.25]), np.zeros(1)
    >>> read, *new, _ = stack_step(value, push, pop, values, strengths)
    >>> read  # 0.25 · 7 + 0.75 · 5
    array([[5.5]])
    >>> new[1]
    array([[1.  , 0.25]])
    """
    where = "stack_step"
    values = as_array(where, "values", values, ("N", "K", "M"), {})
    N, K, M = values.shape
    sizes = {"N": N, "K": K, "M": M}
    value, strengths = (
        as_array(where, "value", value, ("N", "M"), sizes),
        as_array(where, "strengths", strengths, ("N", "K"), sizes),
    )
    push, pop = as_array(where, "push", push, ("N",), sizes), as_array(where, "pop", pop, ("N",), sizes)
    for name, amount in (("push", push), ("pop", pop)):
        if (amount.real < 0).any():
            raise ValueError(f"{where}: {name} must be at least 0; got {amount.real.min():g}.")
    left = pop[:, None] - _above(strengths)
    popped = strengths - _relu(left)
    strengths = np.concatenate([_relu(popped), push[:, None]], axis=1)
    values = np.concatenate([values, value[:, None]], axis=1)
    room = 1 - _above(strengths)
    weights = np.where(strengths.real <= _relu(room).real, strengths, _relu(room))  # the smaller of the two
    read = (weights[:, :, None] * values).sum(axis=1)
    return read, values, strengths, StackCache(values, left, popped, strengths, room, weights)


def stack_step_backward(
    dread: Array, dvalues: Array, dstrengths: Array, cache: StackCache
) -> tuple[Array, Array, Array, Array, Array]:
    """Backward through `stack_step`; at a kink of relu or min, the side that the forward step took counts.

    ::

        dw_i    = dread · v_i,                dv_i += w_i dread
        ds_i   += dw_i  where s_i ≤ relu(room_i),   else droom_i = dw_i  where room_i > 0
        ds_j   −= Σ_{i<j} droom_i
        dpush   = ds_new,                     dvalue = dv_new
        ds_prev_i = ds_i  where s_i > 0,      dleft_i = −ds_prev_i  where left_i > 0
        dpop    = Σ_i dleft_i,                ds_prev_j −= Σ_{i<j} dleft_i

    Returns
    -------
    dvalue, dpush, dpop : arrays (N, M), (N,), (N,)
    dvalues, dstrengths : arrays (N, K, M) and (N, K)
        Gradients of the stack before the step.

    Examples
    --------
    >>> from gru_book.cells import stack_step, stack_step_backward
    >>> values, strengths = np.array([[[5.0]]]), np.array([[1.0]])
    >>> value, push, pop = np.array([[7.0]]), np.array([0.25]), np.zeros(1)
    >>> read, *new, cache = stack_step(value, push, pop, values, strengths)
    >>> given = [np.ones((1, 1)), *(np.zeros_like(a) for a in new)]
    >>> dvalue, dpush, *_ = stack_step_backward(*given, cache)
    >>> dvalue, dpush  # of read = push · 7 + (1 − push) · 5
    (array([[0.25]]), array([2.]))
    """
    where = "stack_step_backward"
    check_instance(where, "cache", cache, StackCache)
    values, left, popped, strengths, room, weights = cache
    sizes = dict(zip(("N", "K + 1", "M"), values.shape, strict=True))
    dread = as_array(where, "dread", dread, ("N", "M"), sizes)
    dvalues = as_array(where, "dvalues", dvalues, ("N", "K + 1", "M"), sizes)
    dstrengths = as_array(where, "dstrengths", dstrengths, ("N", "K + 1"), sizes)
    dw = (dread[:, None] * values).sum(axis=2)
    dvalues = dvalues + weights[:, :, None] * dread[:, None]
    whole = strengths.real <= _relu(room).real
    droom = np.where(whole | (room.real <= 0), 0, dw)
    ds = dstrengths + np.where(whole, dw, 0) - _below(droom)
    ds_prev = np.where(popped.real > 0, ds[:, :-1], 0)
    dleft = np.where(left.real > 0, -ds_prev, 0)
    return dvalues[:, -1], ds[:, -1], dleft.sum(axis=1), dvalues[:, :-1], ds_prev - _below(dleft)


def _above(a: Array) -> Array:
    """Σ_{j>i} a_j."""
    return np.cumsum(a[:, ::-1], axis=1)[:, ::-1] - a


def _below(a: Array) -> Array:
    """Σ_{i<j} a_i."""
    return np.cumsum(a, axis=1) - a


def _relu(a: Array) -> Array:
    return np.where(a.real > 0, a, 0)


class StackRNNParams(Bundle):
    """Parameters of a GRU that drives a stack."""

    controller: GRUParams  # its input is x and what was read, D + M numbers
    act: LinearParams  # from h to the pre-activations of push, pop and value, (H, 2 + M)
    D: int
    H: int  # size of the controller's state
    M: int  # size of an entry


class StackRNNState(NamedTuple):
    """State of a `stack_rnn`, or a gradient in it. K grows by one at every step."""

    h: Any  # (N, H)
    read: Any  # (N, M)
    values: Any  # (N, K, M)
    strengths: Any  # (N, K)


def stack_rnn_init(
    rng: np.random.Generator, D: int, H: int, M: int, *, dtype: DTypeLike = np.float64, **options: Any
) -> StackRNNParams:
    """Draw the parameters: those of `gru_init`, which gets the options, and of a linear layer.

    Examples
    --------
    >>> from gru_book.cells import stack_rnn_init
    >>> p = stack_rnn_init(np.random.default_rng(0), D=3, H=5, M=2)
    >>> p.controller.W_x.shape  # of x and what was read
    (5, 15)
    >>> p.act.W.shape  # to push, pop and a value
    (5, 4)
    """
    check_instance("stack_rnn_init", "rng", rng, np.random.Generator)
    dtype = check_dtype("stack_rnn_init", dtype)
    D, H, M = (check_int("stack_rnn_init", name, size) for name, size in (("D", D), ("H", H), ("M", M)))
    members = {
        "controller": gru_init(rng, D + M, H, dtype=dtype, **options),
        "act": linear_init(rng, H, 2 + M, dtype=dtype),
    }
    return StackRNNParams(members, options={"D": D, "H": H, "M": M})


@short_repr
class StackRNNCache(NamedTuple):
    """What `stack_rnn_step_backward` needs from the step."""

    gru: Any
    act: Any
    gates: tuple[Array, Array]  # push and pop, (N, 2), and 1 minus them
    value: Array
    stack: StackCache


def _check_step(x: ArrayLike, state: StackRNNState, p: StackRNNParams) -> tuple[Any, ...]:
    where = "stack_rnn_step"
    check_instance(where, "p", p, StackRNNParams)
    x = as_array(where, "x", x, ("N", "D"), {"D": p.D})
    return x, check_state(where, "state", state, _empty(p, len(x), p.dtype)), p


@validate(_check_step)
def stack_rnn_step(x: Array, state: StackRNNState, p: StackRNNParams) -> tuple[Array, StackRNNState, StackRNNCache]:
    """One step of a GRU that drives a stack.

    ::

        h = GRU([x, read_prev], h_prev)
        push, pop = σ(h W + b),   value = tanh(h W + b)         (the columns of `act`)
        read, values, strengths = stack_step(value, push, pop, values_prev, strengths_prev)

    The output is h and read, side by side: (N, H + M).

    Examples
    --------
    >>> from gru_book.cells import stack_rnn_init, stack_rnn_step
    >>> from gru_lib.cells import zero_state
    >>> p = stack_rnn_init(np.random.default_rng(0), D=3, H=5, M=2)
    >>> x = np.ones((1, 3))
    >>> out, state, cache = stack_rnn_step(x, zero_state(p, N=1), p)
    >>> np.array_equal(out, np.hstack([state.h, state.read]))
    True
    >>> state.values.shape  # the first entry
    (1, 1, 2)
    """
    h, gru_cache = gru_step(np.concatenate([x, state.read], axis=1), state.h, p.controller)
    a, act_cache = linear_forward(h, p.act)
    gates, value = sigmoid_pair(a[:, :2]), np.tanh(a[:, 2:])
    push, pop = gates[0].T
    read, values, strengths, cache = stack_step(value, push, pop, state.values, state.strengths)
    out = np.concatenate([h, read], axis=1)
    return out, StackRNNState(h, read, values, strengths), StackRNNCache(gru_cache, act_cache, gates, value, cache)


def _check_backward(dout: ArrayLike, dstate: StackRNNState, cache: StackRNNCache, p: StackRNNParams) -> tuple[Any, ...]:
    where = "stack_rnn_step_backward"
    check_instance(where, "p", p, StackRNNParams)
    check_instance(where, "cache", cache, StackRNNCache)
    h, values = cache.gru.h_prev, cache.stack.values
    (N, H), M = h.shape, values.shape[2]
    check_sizes(where, {"D": cache.gru.x.shape[1] - M, "H": H, "M": M}, p)
    dout = as_array(where, "dout", dout, ("N", "H + M"), {"N": N, "H + M": H + M})
    like = StackRNNState(h, cache.value, values, cache.stack.strengths)
    return dout, check_state(where, "dstate", dstate, like, grown=True), cache, p


@validate(_check_backward)
def stack_rnn_step_backward(
    dout: Array, dstate: StackRNNState, cache: StackRNNCache, p: StackRNNParams
) -> tuple[Array, StackRNNState, StackRNNParams]:
    """Backward through `stack_rnn_step`: dx, the gradient of the state before, and the parameters' gradients.

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> p = cells.stack_rnn_init(np.random.default_rng(0), D=3, H=5, M=2)
    >>> x, state0 = np.ones((1, 3)), cells.zero_state(p, N=1)
    >>> out, state, cache = cells.stack_rnn_step(x, state0, p)
    >>> dstate = cells.map_state(np.zeros_like, state)
    >>> dout = np.ones((1, 5 + 2))
    >>> back = cells.stack_rnn_step_backward(dout, dstate, cache, p)
    >>> loss = lambda p: cells.stack_rnn_step(x, state0, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    (gate, not_gate), value = cache.gates, cache.value
    dread = dstate.read + dout[:, p.H :]
    dvalue, dpush, dpop, dvalues, dstrengths = stack_step_backward(dread, dstate.values, dstate.strengths, cache.stack)
    da = np.concatenate([np.stack([dpush, dpop], axis=1) * gate * not_gate, dvalue * (1 - value * value)], axis=1)
    dh, g_act = linear_backward(da, cache.act, p.act)
    dxr, dh_prev, g_gru = gru_step_backward(dh + dout[:, : p.H] + dstate.h, cache.gru, p.controller)
    grads = p.on(np.concatenate([g_gru.flat, g_act.flat]))
    return dxr[:, : p.D], StackRNNState(dh_prev, dxr[:, p.D :], dvalues, dstrengths), grads


def _empty(p: StackRNNParams, N: int, dtype: DTypeLike) -> StackRNNState:
    return StackRNNState(*(np.zeros((N, *rest), dtype) for rest in ((p.H,), (p.M,), (0, p.M), (0,))))


_CELL = register_cell(
    Cell(StackRNNParams, stack_rnn_step, stack_rnn_step_backward, width=lambda p: p.H + p.M, zeros=_empty, apart=True)
)
stack_rnn_forward, stack_rnn_backward = _CELL.forward, _CELL.backward
stack_rnn_forward.__doc__ = f"""{stack_rnn_forward.__doc__}

Examples
--------
>>> from gru_book.cells import stack_rnn_forward, stack_rnn_init
>>> p = stack_rnn_init(np.random.default_rng(0), D=3, H=5, M=2)
>>> hs, state_T, tape = stack_rnn_forward(np.ones((4, 2, 3)), None, p)
>>> hs.shape, np.array_equal(hs[-1, :, 5:], state_T.read)
((4, 2, 7), True)
"""
stack_rnn_backward.__doc__ = f"""{stack_rnn_backward.__doc__}

Examples
--------
>>> from gru_book import cells
>>> from gru_lib import gradcheck
>>> xs = np.ones((4, 2, 3))
>>> p = cells.stack_rnn_init(np.random.default_rng(0), D=3, H=5, M=2)
>>> hs, state_T, tape = cells.stack_rnn_forward(xs, None, p)
>>> back = cells.stack_rnn_backward(np.ones_like(hs), None, tape, p)
>>> loss = lambda p: cells.stack_rnn_forward(xs, None, p)[0].sum()
>>> gradcheck(loss, p, back[2]).worst < 1e-9
True
"""
