"""A small Neural Turing Machine, with a feed-forward controller. Chapter 13.

The output of a step is the controller's output and what was read, side by side, (N, H + M). Without a state0 both heads
stand at row 0, and every number of the memory is 0.01: addressing by content needs a direction, and zeros have none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import as_array, check_dtype, check_instance, check_int
from gru_lib.loop import check_sizes, check_state, validate
from gru_lib.ops import (
    LinearParams,
    linear_backward,
    linear_forward,
    linear_init,
    log_softmax,
    sigmoid_pair,
    softplus,
)
from gru_lib.params import Bundle
from gru_lib.types import Array, short_repr

__all__ = [
    "NTMParams", "NTMState", "ntm_address", "ntm_address_backward", "ntm_backward", "ntm_forward", "ntm_init",
    "ntm_step", "ntm_step_backward",
]  # fmt: skip


class NTMParams(Bundle):
    """Parameters of a Neural Turing Machine with a feed-forward controller, one read head and one write head."""

    controller: LinearParams  # from x and what was read to h, (D + M, H)
    heads: LinearParams  # from h to what both heads need, (H, 2(M + 6) + 2M)
    D: int
    H: int  # size of the controller's output
    R: int  # rows of the memory
    M: int  # numbers in a row


class NTMState(NamedTuple):
    """State of an NTM, or a gradient in it."""

    read: Any  # (N, M): what was read
    w_read: Any  # (N, R): where
    w_write: Any  # (N, R)
    memory: Any  # (N, R, M)


def ntm_init(
    rng: np.random.Generator, D: int, H: int, *, R: int = 32, M: int = 8, dtype: DTypeLike = np.float64
) -> NTMParams:
    """Draw the parameters of two linear layers, for a memory of R rows of M numbers.

    Examples
    --------
    >>> from gru_book.cells import ntm_init
    >>> p = ntm_init(np.random.default_rng(0), D=3, H=5, R=4, M=2)
    >>> p.controller.W.shape, p.heads.W.shape
    ((5, 5), (5, 20))
    """
    check_instance("ntm_init", "rng", rng, np.random.Generator)
    dtype = check_dtype("ntm_init", dtype)
    sizes = {"D": D, "H": H, "R": R, "M": M}
    D, H, R, M = (check_int("ntm_init", name, size) for name, size in sizes.items())
    members = {
        "controller": linear_init(rng, D + M, H, dtype=dtype),
        "heads": linear_init(rng, H, 2 * (M + 6) + 2 * M, dtype=dtype),
    }
    return NTMParams(members, options=sizes)


_TINY = 1e-12  # keeps logarithms and norms away from 0


@short_repr
class AddressCache(NamedTuple):
    """What `ntm_address_backward` needs. The raw numbers of the head are (N, M + 6)."""

    memory: Array
    w_prev: Array
    key: Array  # (N, M)
    beta: tuple[Array, Array]  # softplus of its pre-activation, and the slope
    z: tuple[Array, Array]  # the share that stays where it was, and that of the content
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

        key, β, 1 − z, s, γ = tanh, softplus, σ, softmax, 1 + softplus   of the head's numbers
        w_c = softmax_i(β cos(key, M_i))                         content
        w_z = z w_prev + (1 − z) w_c                             or where it was before
        w_s = Σ_δ s_δ roll(w_z, δ),   δ = −1, 0, 1               moved by up to a row
        w   = w_s^γ / Σ w_s^γ                                    sharpened

    Chapter 13. Graves et al. (2014), arXiv:1410.5401, equations (5) to (9). The power is taken as
    softmax(γ log(w_s + 1e−12)), which cannot underflow. Norms have 1e−12 under the root: with every key a row of zeros
    has the cosine 0, and a large but finite gradient.

    Parameters
    ----------
    raw : array (N, M + 6)
        M numbers for the key, then one for β, one for 1 − z, three for s, one for γ.
    w_prev : array (N, R)
    memory : array (N, R, M)

    Returns
    -------
    w : array (N, R), at least 0, each row sums to 1
    cache : AddressCache

    Examples
    --------
    >>> from gru_book.cells import ntm_address
    >>> raw = np.zeros((1, 2 + 6))
    >>> raw[0, [3, 6]] = -40, 40  # z = 1 and s = 0, 0, 1: one row on
    >>> w_prev = np.array([[1.0, 0.0, 0.0]])
    >>> w, cache = ntm_address(raw, w_prev, memory=np.ones((1, 3, 2)))
    >>> w.round(6)
    array([[0., 1., 0.]])
    """
    where = "ntm_address"
    memory = as_array(where, "memory", memory, ("N", "R", "M"), {})
    N, R, M = memory.shape
    sizes = {"N": N, "R": R, "M + 6": M + 6}
    raw, w_prev = (
        as_array(where, "raw", raw, ("N", "M + 6"), sizes),
        as_array(where, "w_prev", w_prev, ("N", "R"), sizes),
    )
    key = np.tanh(raw[:, :M])
    beta, z, gamma = _softplus(raw[:, M]), sigmoid_pair(raw[:, M + 1])[::-1], _softplus(raw[:, M + 5])
    shift = np.exp(log_softmax(raw[:, M + 2 : M + 5]))
    norms = np.sqrt((key * key).sum(axis=1) + _TINY), np.sqrt((memory * memory).sum(axis=2) + _TINY)
    cosine = (memory * key[:, None]).sum(axis=2) / (norms[0][:, None] * norms[1])
    w_content = np.exp(log_softmax(beta[0][:, None] * cosine))
    w_gated = z[1][:, None] * w_content + z[0][:, None] * w_prev
    w_shifted = sum(shift[:, k, None] * np.roll(w_gated, k - 1, axis=1) for k in range(3))
    w = np.exp(log_softmax((1 + gamma[0])[:, None] * np.log(w_shifted + _TINY)))
    return w, AddressCache(memory, w_prev, key, beta, z, shift, gamma, norms, cosine, w_content, w_gated, w_shifted, w)


def ntm_address_backward(dw: Array, cache: AddressCache) -> tuple[Array, Array, Array]:
    """Backward through `ntm_address`, from the last line to the first: draw, dw_prev, dmemory.

    ::

        dl   = w ⊙ (dw − Σ dw w),        l = γ log(w_s + tiny)
        dγ   = Σ dl log(w_s + tiny),     dw_s = γ dl / (w_s + tiny)
        ds_δ = Σ dw_s roll(w_z, δ),      dw_z = Σ_δ s_δ roll(dw_s, −δ)
        dz   = Σ dw_z (w_prev − w_c),    dw_c = (1 − z) dw_z,   dw_prev = z dw_z
        dc   = β w_c ⊙ (dw_c − Σ dw_c w_c),   dβ = Σ dc cos / β
        dkey = Σ_i dc_i (M_i / |M_i| − cos_i key / |key|) / |key|,   dM_i alike

    Examples
    --------
    >>> from gru_book.cells import ntm_address, ntm_address_backward
    >>> rng = np.random.default_rng(0)
    >>> raw, memory = rng.normal(size=(1, 8)), rng.normal(size=(1, 3, 2))
    >>> w, cache = ntm_address(raw, np.array([[1.0, 0.0, 0.0]]), memory)
    >>> draw, dw_prev, dM = ntm_address_backward(np.ones((1, 3)), cache)
    >>> np.allclose(draw, 0)  # the weights sum to 1, whatever the head says
    True
    """
    check_instance("ntm_address_backward", "cache", cache, AddressCache)
    memory, w_prev, key, beta, z, shift, gamma, norms, cosine, w_content, w_gated, w_shifted, w = cache
    dw = as_array("ntm_address_backward", "dw", dw, ("N", "R"), {"N": len(w), "R": w.shape[1]})
    dl = w * (dw - (dw * w).sum(axis=1)[:, None])
    dgamma = (dl * np.log(w_shifted + _TINY)).sum(axis=1)
    dws = dl * (1 + gamma[0])[:, None] / (w_shifted + _TINY)
    dshift = np.stack([(dws * np.roll(w_gated, k - 1, axis=1)).sum(axis=1) for k in range(3)], axis=1)
    dwz = sum(shift[:, k, None] * np.roll(dws, 1 - k, axis=1) for k in range(3))
    dz = (dwz * (w_prev - w_content)).sum(axis=1)
    dwc = z[1][:, None] * dwz
    dq = w_content * (dwc - (dwc * w_content).sum(axis=1)[:, None])
    dcos = beta[0][:, None] * dq
    unit_key, unit_rows = key / norms[0][:, None], memory / norms[1][:, :, None]
    dkey = (dcos[:, :, None] * unit_rows).sum(axis=1) - (dcos * cosine).sum(axis=1)[:, None] * unit_key
    dmemory = dcos[:, :, None] * (unit_key[:, None] - cosine[:, :, None] * unit_rows) / norms[1][:, :, None]
    draw = np.concatenate(
        [
            dkey / norms[0][:, None] * (1 - key * key),
            ((dq * cosine).sum(axis=1) * beta[1])[:, None],
            (-dz * z[1] * z[0])[:, None],
            shift * (dshift - (dshift * shift).sum(axis=1)[:, None]),
            (dgamma * gamma[1])[:, None],
        ],
        axis=1,
    )
    return draw, z[0][:, None] * dwz, dmemory


def _softplus(a: Array) -> tuple[Array, Array]:
    """log(1 + exp(a)), and its slope σ(a)."""
    return softplus(a), sigmoid_pair(a)[0]


@short_repr
class NTMCache(NamedTuple):
    """What `ntm_step_backward` needs from the step."""

    controller: Any
    heads: Any
    h: Array
    erase: tuple[Array, Array]
    add: Array
    write: AddressCache
    read: AddressCache


def _check_step(x: ArrayLike, state: NTMState, p: NTMParams) -> tuple[Array, NTMState, NTMParams]:
    where = "ntm_step"
    check_instance(where, "p", p, NTMParams)
    x = as_array(where, "x", x, ("N", "D"), {"D": p.D})
    return x, check_state(where, "state", state, _fresh(p, len(x), p.dtype)), p


@validate(_check_step)
def ntm_step(x: Array, state: NTMState, p: NTMParams) -> tuple[Array, NTMState, NTMCache]:
    """One step of a Neural Turing Machine: write, then read.

    ::

        h    = tanh([x, read_prev] W + b)
        w_w  = address(h, w_w_prev, M_prev),      e = σ(…),  a = tanh(…)   of h
        M_i  = M_prev_i ⊙ (1 − w_w_i e) + w_w_i a
        w_r  = address(h, w_r_prev, M),           read = Σ_i w_r_i M_i

    The output is h and read, side by side: (N, H + M).

    Examples
    --------
    >>> from gru_book.cells import ntm_init, ntm_step
    >>> from gru_lib.cells import zero_state
    >>> p = ntm_init(np.random.default_rng(0), D=3, H=5, R=4, M=2)
    >>> out, state, cache = ntm_step(np.ones((1, 3)), zero_state(p, 1), p)
    >>> np.array_equal(out[:, 5:], state.read), state.memory.shape
    (True, (1, 4, 2))
    >>> np.allclose(state.w_read.sum(axis=1), 1)
    True
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


def _check_backward(dout: ArrayLike, dstate: NTMState, cache: NTMCache, p: NTMParams) -> tuple[Any, ...]:
    where = "ntm_step_backward"
    check_instance(where, "p", p, NTMParams)
    check_instance(where, "cache", cache, NTMCache)
    (N, H), (_, R, M) = cache.h.shape, cache.read.memory.shape
    check_sizes(where, {"D": cache.controller.shape[1] - M, "H": H, "R": R, "M": M}, p)
    dout = as_array(where, "dout", dout, ("N", "H + M"), {"N": N, "H + M": H + M})
    return dout, check_state(where, "dstate", dstate, _fresh(p, N, p.dtype)), cache, p


@validate(_check_backward)
def ntm_step_backward(
    dout: Array, dstate: NTMState, cache: NTMCache, p: NTMParams
) -> tuple[Array, NTMState, NTMParams]:
    """Backward through `ntm_step`: dx, the gradient of the state before, and the parameters' gradients.

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> p = cells.ntm_init(np.random.default_rng(0), D=3, H=5, R=4, M=2)
    >>> x, state0 = np.ones((1, 3)), cells.zero_state(p, N=1)
    >>> out, state, cache = cells.ntm_step(x, state0, p)
    >>> dstate = cells.map_state(np.zeros_like, state)
    >>> dout = np.ones((1, 5 + 2))
    >>> back = cells.ntm_step_backward(dout, dstate, cache, p)
    >>> loss = lambda p: cells.ntm_step(x, state0, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-6
    True
    """
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


def _fresh(p: NTMParams, N: int, dtype: DTypeLike) -> NTMState:
    at_0 = np.zeros((N, p.R), dtype)
    at_0[:, 0] = 1
    return NTMState(np.zeros((N, p.M), dtype), at_0, at_0.copy(), np.full((N, p.R, p.M), 0.01, dtype))


def _columns(p: NTMParams) -> list[int]:
    return [p.M + 6, 2 * (p.M + 6), 2 * (p.M + 6) + p.M]


_CELL = register_cell(Cell(NTMParams, ntm_step, ntm_step_backward, width=lambda p: p.H + p.M, zeros=_fresh, apart=True))
ntm_forward, ntm_backward = _CELL.forward, _CELL.backward
ntm_forward.__doc__ = f"""{ntm_forward.__doc__}

Examples
--------
>>> from gru_book.cells import ntm_forward, ntm_init
>>> p = ntm_init(np.random.default_rng(0), D=3, H=5, R=4, M=2)
>>> hs, state_T, tape = ntm_forward(np.ones((4, 2, 3)), None, p)
>>> hs.shape, np.array_equal(hs[-1, :, 5:], state_T.read)
((4, 2, 7), True)
"""
ntm_backward.__doc__ = f"""{ntm_backward.__doc__}

Examples
--------
>>> from gru_book import cells
>>> from gru_lib import gradcheck
>>> xs = np.ones((4, 2, 3))
>>> p = cells.ntm_init(np.random.default_rng(0), D=3, H=5, R=4, M=2)
>>> hs, state_T, tape = cells.ntm_forward(xs, None, p)
>>> back = cells.ntm_backward(np.ones_like(hs), None, tape, p)
>>> loss = lambda p: cells.ntm_forward(xs, None, p)[0].sum()
>>> gradcheck(loss, p, back[2]).worst < 1e-6
True
"""
