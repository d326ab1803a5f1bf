"""Networks with a memory apart from their state: a differentiable stack, and a small Neural Turing Machine.

Chapter 13. Both are layers: `cell_of` knows them, so a stack of layers or an encoder–decoder may contain them. What a
step puts out is the controller's output and what was read, side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._check import as_array, check_instance, check_int
from gru_lib._params import Bundle
from gru_lib._sequence import begin
from gru_lib.cell import Cell, register_cell
from gru_lib.gru import gru_init, gru_step, gru_step_backward
from gru_lib.ops import linear_backward, linear_forward, linear_init, log_softmax, sigmoid_pair

__all__ = [
    "NTMParams",
    "NTMState",
    "StackRNNParams",
    "StackRNNState",
    "ntm_address",
    "ntm_address_backward",
    "ntm_backward",
    "ntm_forward",
    "ntm_init",
    "ntm_step",
    "ntm_step_backward",
    "stack_rnn_backward",
    "stack_rnn_forward",
    "stack_rnn_init",
    "stack_rnn_step",
    "stack_rnn_step_backward",
    "stack_step",
    "stack_step_backward",
]

Array = NDArray[Any]


# ------------------------------------------------------------------------------------------------ the stack by itself


class StackCache(NamedTuple):
    """What `stack_step_backward` needs of the step. K entries before it."""

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

    Notes
    -----
    Chapter 13. Grefenstette et al. (2015), arXiv:1506.02516, equations (1) to (3). Nothing is ever removed: an entry
    that was popped has strength 0.
    """
    left = pop[:, None] - _above(strengths)
    popped = strengths - _relu(left)
    strengths = np.concatenate([_relu(popped), push[:, None]], axis=1)
    values = np.concatenate([values, value[:, None]], axis=1)
    room = 1 - _above(strengths)
    weights = _smaller(strengths, _relu(room))
    read = (weights[:, :, None] * values).sum(axis=1)
    return read, values, strengths, StackCache(values, left, popped, strengths, room, weights)


def stack_step_backward(
    dread: Array, dvalues: Array, dstrengths: Array, cache: StackCache
) -> tuple[Array, Array, Array, Array, Array]:
    """Backward through `stack_step`; at a kink of relu or min the side that is taken forward counts.

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
    """
    values, left, popped, strengths, room, weights = cache
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


def _smaller(a: Array, b: Array) -> Array:
    return np.where(a.real <= b.real, a, b)


# ----------------------------------------------------------------------------------------- the stack driven by a GRU


class StackRNNParams(Bundle):
    """Parameters of a GRU that drives a stack.

    Attributes
    ----------
    controller : GRUParams, its input x and what was read, (D + M)
    act : LinearParams, from h to the pre-activations of push, pop and value, (H, 2 + M)
    D, H, M : sizes of the input, of the controller's state, and of an entry
    """


class StackRNNState(NamedTuple):
    """State of a `stack_rnn`, or a gradient in it. K grows by one at every step."""

    h: Any  # (N, H)
    read: Any  # (N, M)
    values: Any  # (N, K, M)
    strengths: Any  # (N, K)


def stack_rnn_init(
    rng: np.random.Generator, D: int, H: int, M: int, *, dtype: DTypeLike = np.float64, **options: Any
) -> StackRNNParams:
    """Draw the parameters: those of `gru_init`, which gets the options, and of a linear layer."""
    D, H, M = (check_int("stack_rnn_init", name, size) for name, size in (("D", D), ("H", H), ("M", M)))
    members = {
        "controller": gru_init(rng, D + M, H, dtype=dtype, **options),
        "act": linear_init(rng, H, 2 + M, dtype=dtype),
    }
    return StackRNNParams(members, options={"D": D, "H": H, "M": M})


class StackRNNCache(NamedTuple):
    """What `stack_rnn_step_backward` needs of the step."""

    gru: Any
    act: Any
    gates: tuple[Array, Array]  # push and pop, (N, 2), and 1 minus them
    value: Array
    stack: StackCache


def stack_rnn_step(x: Array, state: StackRNNState, p: StackRNNParams) -> tuple[Array, StackRNNState, StackRNNCache]:
    """One step of a GRU that drives a stack.

    ::

        h = GRU([x, read_prev], h_prev)
        push, pop = σ(h W + b),   value = tanh(h W + b)         (the columns of `act`)
        read, values, strengths = stack_step(value, push, pop, values_prev, strengths_prev)

    Returns
    -------
    out : array (N, H + M), h and read
    state : StackRNNState
    cache : StackRNNCache
    """
    h, gru_cache = gru_step(np.concatenate([x, state.read], axis=1), state.h, p.controller)
    a, act_cache = linear_forward(h, p.act)
    gates, value = sigmoid_pair(a[:, :2]), np.tanh(a[:, 2:])
    read, values, strengths, cache = stack_step(value, *gates[0].T, state.values, state.strengths)
    out = np.concatenate([h, read], axis=1)
    return out, StackRNNState(h, read, values, strengths), StackRNNCache(gru_cache, act_cache, gates, value, cache)


def stack_rnn_step_backward(
    dout: Array, dstate: StackRNNState, cache: StackRNNCache, p: StackRNNParams
) -> tuple[Array, StackRNNState, StackRNNParams]:
    """Backward through `stack_rnn_step`: dx, the gradient of the state before, and the parameters' gradients."""
    (gate, not_gate), value = cache.gates, cache.value
    dread = dstate.read + dout[:, p.H :]
    dvalue, dpush, dpop, dvalues, dstrengths = stack_step_backward(dread, dstate.values, dstate.strengths, cache.stack)
    da = np.concatenate([np.stack([dpush, dpop], axis=1) * gate * not_gate, dvalue * (1 - value * value)], axis=1)
    dh, g_act = linear_backward(da, cache.act, p.act)
    dxr, dh_prev, g_gru = gru_step_backward(dh + dout[:, : p.H] + dstate.h, cache.gru, p.controller)
    grads = p.on(np.concatenate([g_gru.flat, g_act.flat]))
    return dxr[:, : p.D], StackRNNState(dh_prev, dxr[:, p.D :], dvalues, dstrengths), grads


def stack_rnn_forward(
    xs: ArrayLike, state0: StackRNNState | None, p: StackRNNParams, *, lengths: ArrayLike | None = None
) -> tuple[Array, StackRNNState, MemoryTape]:
    """Run `stack_rnn_step` for t = 1 … T, from an empty stack if state0 is None. As `gru_forward`.

    Returns
    -------
    hs : array (T, N, H + M)
        h and what was read at each step; zero where padded.
    state_T : StackRNNState
        With T more entries. A padded step adds one of strength 0.
    tape : MemoryTape
    """
    return _forward("stack_rnn_forward", StackRNNParams, stack_rnn_step, _empty, xs, state0, p, lengths)


def stack_rnn_backward(
    dhs: ArrayLike | None, dstate_T: StackRNNState | None, tape: MemoryTape, p: StackRNNParams
) -> tuple[Array, StackRNNState, StackRNNParams]:
    """Backward through `stack_rnn_forward`, as `gru_backward`."""
    return _backward("stack_rnn_backward", StackRNNParams, stack_rnn_step_backward, dhs, dstate_T, tape, p)


def _empty(p: StackRNNParams, N: int, dtype: DTypeLike) -> StackRNNState:
    return StackRNNState(*(np.zeros((N, *rest), dtype) for rest in ((p.H,), (p.M,), (0, p.M), (0,))))


# --------------------------------------------------------------------------------------------- Neural Turing Machine


class NTMParams(Bundle):
    """Parameters of a Neural Turing Machine with a feed-forward controller, one read head and one write head.

    Attributes
    ----------
    controller : LinearParams, from x and what was read to h, (D + M, H)
    heads : LinearParams, from h to what both heads need, (H, 2(M + 6) + 2M)
    D, H : sizes of the input and of the controller's output
    R, M : rows of the memory, and numbers in a row
    """


class NTMState(NamedTuple):
    """State of an NTM, or a gradient in it."""

    read: Any  # (N, M): what was read
    w_read: Any  # (N, R): where
    w_write: Any  # (N, R)
    memory: Any  # (N, R, M)


def ntm_init(
    rng: np.random.Generator, D: int, H: int, *, R: int = 32, M: int = 8, dtype: DTypeLike = np.float64
) -> NTMParams:
    """Draw the parameters of two linear layers, for a memory of R rows of M numbers."""
    sizes = {"D": D, "H": H, "R": R, "M": M}
    D, H, R, M = (check_int("ntm_init", name, size) for name, size in sizes.items())
    members = {
        "controller": linear_init(rng, D + M, H, dtype=dtype),
        "heads": linear_init(rng, H, 2 * (M + 6) + 2 * M, dtype=dtype),
    }
    return NTMParams(members, options=sizes)


_TINY = 1e-12  # keeps logarithms and norms away from 0


class AddressCache(NamedTuple):
    """What `ntm_address_backward` needs. The raw numbers of the head are (N, M + 6)."""

    memory: Array
    w_prev: Array
    key: Array  # (N, M)
    beta: tuple[Array, Array]  # softplus of its pre-activation, and the slope
    g: tuple[Array, Array]
    shift: Array  # (N, 3)
    gamma: tuple[Array, Array]
    norms: tuple[Array, Array]  # of the key (N,), of the rows (N, R)
    cosine: Array  # (N, R)
    w_content: Array
    w_gated: Array
    w_shifted: Array
    w: Array


def ntm_address(raw: Array, w_prev: Array, memory: Array) -> tuple[Array, AddressCache]:
    """Where a head looks: by content, then by place.

    ::

        key, β, g, s, γ = tanh, softplus, σ, softmax, 1 + softplus   of the head's numbers
        w_c = softmax_i(β cos(key, M_i))                         content
        w_g = g w_c + (1 − g) w_prev                             or where it was before
        w_s = Σ_δ s_δ roll(w_g, δ),   δ = −1, 0, 1               moved by up to a row
        w   = w_s^γ / Σ w_s^γ                                    sharpened

    Parameters
    ----------
    raw : array (N, M + 6)
        M numbers for the key, then one for β, one for g, three for s, one for γ.
    w_prev : array (N, R)
    memory : array (N, R, M)

    Returns
    -------
    w : array (N, R), at least 0, each row sums to 1
    cache : AddressCache

    Notes
    -----
    Chapter 13. Graves et al. (2014), arXiv:1410.5401, equations (5) to (9). The power is taken as
    softmax(γ log(w_s + 1e−12)), which cannot underflow; norms have 1e−12 under the root.
    """
    M = memory.shape[2]
    key = np.tanh(raw[:, :M])
    beta, g, gamma = _softplus(raw[:, M]), sigmoid_pair(raw[:, M + 1]), _softplus(raw[:, M + 5])
    shift = np.exp(log_softmax(raw[:, M + 2 : M + 5]))
    norms = np.sqrt((key * key).sum(axis=1) + _TINY), np.sqrt((memory * memory).sum(axis=2) + _TINY)
    cosine = (memory * key[:, None]).sum(axis=2) / (norms[0][:, None] * norms[1])
    w_content = np.exp(log_softmax(beta[0][:, None] * cosine))
    w_gated = g[0][:, None] * w_content + g[1][:, None] * w_prev
    w_shifted = sum(shift[:, k, None] * np.roll(w_gated, k - 1, axis=1) for k in range(3))
    w = np.exp(log_softmax((1 + gamma[0])[:, None] * np.log(w_shifted + _TINY)))
    return w, AddressCache(memory, w_prev, key, beta, g, shift, gamma, norms, cosine, w_content, w_gated, w_shifted, w)


def ntm_address_backward(dw: Array, cache: AddressCache) -> tuple[Array, Array, Array]:
    """Backward through `ntm_address`, from the last line to the first: draw, dw_prev, dmemory.

    ::

        dl   = w ⊙ (dw − Σ dw w),        l = γ log(w_s + tiny)
        dγ   = Σ dl log(w_s + tiny),     dw_s = γ dl / (w_s + tiny)
        ds_δ = Σ dw_s roll(w_g, δ),      dw_g = Σ_δ s_δ roll(dw_s, −δ)
        dg   = Σ dw_g (w_c − w_prev),    dw_c = g dw_g,   dw_prev = (1 − g) dw_g
        dc   = β w_c ⊙ (dw_c − Σ dw_c w_c),   dβ = Σ dc cos / β
        dkey = Σ_i dc_i (M_i / |M_i| − cos_i key / |key|) / |key|,   dM_i alike
    """
    memory, w_prev, key, beta, g, shift, gamma, norms, cosine, w_content, w_gated, w_shifted, w = cache
    dl = w * (dw - (dw * w).sum(axis=1)[:, None])
    dgamma = (dl * np.log(w_shifted + _TINY)).sum(axis=1)
    dws = dl * (1 + gamma[0])[:, None] / (w_shifted + _TINY)
    dshift = np.stack([(dws * np.roll(w_gated, k - 1, axis=1)).sum(axis=1) for k in range(3)], axis=1)
    dwg = sum(shift[:, k, None] * np.roll(dws, 1 - k, axis=1) for k in range(3))
    dg = (dwg * (w_content - w_prev)).sum(axis=1)
    dwc = g[0][:, None] * dwg
    dz = w_content * (dwc - (dwc * w_content).sum(axis=1)[:, None])
    dcos = beta[0][:, None] * dz
    unit_key, unit_rows = key / norms[0][:, None], memory / norms[1][:, :, None]
    dkey = (dcos[:, :, None] * unit_rows).sum(axis=1) - (dcos * cosine).sum(axis=1)[:, None] * unit_key
    dmemory = dcos[:, :, None] * (unit_key[:, None] - cosine[:, :, None] * unit_rows) / norms[1][:, :, None]
    draw = np.concatenate(
        [
            dkey / norms[0][:, None] * (1 - key * key),
            ((dz * cosine).sum(axis=1) * beta[1])[:, None],
            (dg * g[0] * g[1])[:, None],
            shift * (dshift - (dshift * shift).sum(axis=1)[:, None]),
            (dgamma * gamma[1])[:, None],
        ],
        axis=1,
    )
    return draw, g[1][:, None] * dwg, dmemory


def _softplus(a: Array) -> tuple[Array, Array]:
    """log(1 + exp(a)) = relu(a) + log(1 + exp(−|a|)), and its slope σ(a)."""
    e = np.exp(np.where(a.real > 0, -a, a))
    return _relu(a) + np.log1p(e), sigmoid_pair(a)[0]


class NTMCache(NamedTuple):
    """What `ntm_step_backward` needs of the step."""

    controller: Any
    heads: Any
    h: Array
    erase: tuple[Array, Array]
    add: Array
    write: AddressCache
    read: AddressCache


def ntm_step(x: Array, state: NTMState, p: NTMParams) -> tuple[Array, NTMState, NTMCache]:
    """One step of a Neural Turing Machine: write, then read.

    ::

        h    = tanh([x, read_prev] W + b)
        w_w  = address(h, w_w_prev, M_prev),      e = σ(…),  a = tanh(…)   of h
        M_i  = M_prev_i ⊙ (1 − w_w_i e) + w_w_i a
        w_r  = address(h, w_r_prev, M),           read = Σ_i w_r_i M_i

    Returns
    -------
    out : array (N, H + M), h and read
    state : NTMState
    cache : NTMCache
    """
    a, controller = linear_forward(np.concatenate([x, state.read], axis=1), p.controller)
    h = np.tanh(a)
    raw, heads = linear_forward(h, p.heads)
    raw_write, raw_read, raw_erase, raw_add = np.split(raw, _columns(p), axis=1)
    erase, add = sigmoid_pair(raw_erase), np.tanh(raw_add)
    w_write, write = ntm_address(raw_write, state.w_write, state.memory)
    here = w_write[:, :, None]
    memory = state.memory * (1 - here * erase[0][:, None]) + here * add[:, None]
    w_read, look = ntm_address(raw_read, state.w_read, memory)
    read = (w_read[:, :, None] * memory).sum(axis=1)
    out = np.concatenate([h, read], axis=1)
    return out, NTMState(read, w_read, w_write, memory), NTMCache(controller, heads, h, erase, add, write, look)


def ntm_step_backward(
    dout: Array, dstate: NTMState, cache: NTMCache, p: NTMParams
) -> tuple[Array, NTMState, NTMParams]:
    """Backward through `ntm_step`: dx, the gradient of the state before, and the parameters' gradients."""
    memory_prev, memory = cache.write.memory, cache.read.memory
    w_write, (e, not_e), add = cache.write.w[:, :, None], cache.erase, cache.add
    dread = dstate.read + dout[:, p.H :]
    dw_read = dstate.w_read + (memory * dread[:, None]).sum(axis=2)
    draw_read, dw_read_prev, dm = ntm_address_backward(dw_read, cache.read)
    dm = dm + dstate.memory + cache.read.w[:, :, None] * dread[:, None]

    dw_write = dstate.w_write + (dm * (add[:, None] - memory_prev * e[:, None])).sum(axis=2)
    derase = -(dm * w_write * memory_prev).sum(axis=1) * e * not_e
    dadd = (dm * w_write).sum(axis=1) * (1 - add * add)
    draw_write, dw_write_prev, dm_prev = ntm_address_backward(dw_write, cache.write)
    dm_prev = dm_prev + dm * (1 - w_write * e[:, None])

    draw = np.concatenate([draw_write, draw_read, derase, dadd], axis=1)
    dh, g_heads = linear_backward(draw, cache.heads, p.heads)
    da = (dh + dout[:, : p.H]) * (1 - cache.h * cache.h)
    dxr, g_controller = linear_backward(da, cache.controller, p.controller)
    grads = p.on(np.concatenate([g_controller.flat, g_heads.flat]))
    return dxr[:, : p.D], NTMState(dxr[:, p.D :], dw_read_prev, dw_write_prev, dm_prev), grads


def ntm_forward(
    xs: ArrayLike, state0: NTMState | None, p: NTMParams, *, lengths: ArrayLike | None = None
) -> tuple[Array, NTMState, MemoryTape]:
    """Run `ntm_step` for t = 1 … T. As `gru_forward`.

    If state0 is None both heads stand at row 0, and every number of the memory is 0.01: a memory of zeros has no
    direction, and addressing by content needs one.

    Returns
    -------
    hs : array (T, N, H + M)
        h and what was read at each step; zero where padded.
    state_T : NTMState
    tape : MemoryTape
    """
    return _forward("ntm_forward", NTMParams, ntm_step, _fresh, xs, state0, p, lengths)


def ntm_backward(
    dhs: ArrayLike | None, dstate_T: NTMState | None, tape: MemoryTape, p: NTMParams
) -> tuple[Array, NTMState, NTMParams]:
    """Backward through `ntm_forward`, as `gru_backward`."""
    return _backward("ntm_backward", NTMParams, ntm_step_backward, dhs, dstate_T, tape, p)


def _fresh(p: NTMParams, N: int, dtype: DTypeLike) -> NTMState:
    at_0 = np.zeros((N, p.R), dtype)
    at_0[:, 0] = 1
    return NTMState(np.zeros((N, p.M), dtype), at_0, at_0.copy(), np.full((N, p.R, p.M), 0.01, dtype))


def _columns(p: NTMParams) -> list[int]:
    return [p.M + 6, 2 * (p.M + 6), 2 * (p.M + 6) + p.M]


# ------------------------------------------------------------------------------------------------- the loops, for both


class MemoryTape(NamedTuple):
    """What the backward passes need of the forward pass."""

    caches: tuple[Any, ...]
    mask: Array | None  # (T, N)
    state_T: Any


def _forward(
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


def _backward(
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


def _width(p: Any) -> int:
    return p.H + p.M


register_cell(
    StackRNNParams, Cell(stack_rnn_forward, stack_rnn_backward, width=_width, zeros=_empty, takes_h_mask=False)
)
register_cell(NTMParams, Cell(ntm_forward, ntm_backward, width=_width, zeros=_fresh, takes_h_mask=False))
