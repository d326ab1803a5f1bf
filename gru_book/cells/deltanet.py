"""DeltaNet: a layer whose state is a matrix, which it corrects at one key a step. Chapter 21.

The state holds a matrix S for each sequence, K keys by H numbers. The output of a step is what stands at the query.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import as_array, check_bool, check_choice, check_dtype, check_instance, check_int
from gru_lib.loop import check_sizes, check_state, validate
from gru_lib.ops import sigmoid_pair
from gru_lib.params import Params
from gru_lib.types import Array, short_repr

__all__ = [
    "DeltaNetParams", "DeltaNetState", "deltanet_backward", "deltanet_forward", "deltanet_init", "deltanet_step",
    "deltanet_step_backward",
]  # fmt: skip


class DeltaNetParams(Params):
    """Parameters of a DeltaNet. Nothing but the sum itself reads the state."""

    D: int
    H: int  # numbers that stand at a key; size of the output
    K: int  # size of keys and queries
    rule: str  # "delta": write what is missing; "add": write all of it, which is linear attention
    turn: bool  # whether β goes up to 2
    W: Array  # (D, 2K + H + 1), side by side:
    W_q: Array
    W_k: Array
    W_v: Array
    W_beta: Array
    b: Array  # (2K + H + 1,):
    b_q: Array
    b_k: Array
    b_v: Array
    b_beta: Array

    def __init__(
        self,
        D: int,
        H: int,
        *,
        K: int = 16,
        rule: str = "delta",
        turn: bool = False,
        dtype: DTypeLike = np.float64,
        flat: Array | None = None,
    ) -> None:
        where = "deltanet_init"
        D, H, K = check_int(where, "D", D), check_int(where, "H", H), check_int(where, "K", K)
        check_choice(where, "rule", rule, ("delta", "add"))
        turn, dtype = check_bool(where, "turn", turn), check_dtype(where, dtype)
        columns = {
            "q": np.s_[..., :K], "k": np.s_[..., K : 2 * K], "v": np.s_[..., 2 * K : 2 * K + H],
            "beta": np.s_[..., 2 * K + H :],
        }  # fmt: skip
        parts = {f"{a}_{g}": (a, part) for a in ("W", "b") for g, part in columns.items()}
        shapes, options = {"W": (D, 2 * K + H + 1), "b": (2 * K + H + 1,)}, {"D": D, "H": H, "K": K}
        super().__init__(shapes, parts=parts, options=options | {"rule": rule, "turn": turn}, dtype=dtype, flat=flat)


class DeltaNetState(NamedTuple):
    """State of a DeltaNet, or a gradient in it."""

    memory: Any  # (N, K, H): what stands at each key


def deltanet_init(
    rng: np.random.Generator,
    D: int,
    H: int,
    *,
    K: int = 16,
    rule: str = "delta",
    turn: bool = False,
    dtype: DTypeLike = np.float64,
) -> DeltaNetParams:
    """Draw the parameters of a DeltaNet: weights uniform in ±1/√D, b = 0.

    Keys and queries have K numbers, what stands at a key has H. The `rule` is "delta", or "add" for a linear
    attention without its denominator. With `turn`, β reaches 2, and a step can turn a direction of the state round.

    Examples
    --------
    >>> from gru_book.cells import deltanet_init
    >>> p = deltanet_init(np.random.default_rng(0), D=3, H=5, K=4)
    >>> p.W_q.shape, p.W_k.shape, p.W_v.shape, p.W_beta.shape
    ((3, 4), (3, 4), (3, 5), (3, 1))
    """
    where = "deltanet_init"
    check_instance(where, "rng", rng, np.random.Generator)
    p = DeltaNetParams(D, H, K=K, rule=rule, turn=turn, dtype=dtype)
    p.W[:] = rng.uniform(-1, 1, p.W.shape) / np.sqrt(p.D)
    return p


_TINY = 1e-6  # under the root of a length


@short_repr
class _Unit(NamedTuple):
    """A direction (N, K), and what its backward needs."""

    y: Array
    length: Array  # (N, 1)
    slope: Array  # of SiLU


def _unit(a: Array) -> _Unit:
    """SiLU(a) = a σ(a), at length 1."""
    s, not_s = sigmoid_pair(a)
    y = a * s
    length = np.sqrt((y * y).sum(axis=1, keepdims=True) + _TINY)
    return _Unit(y / length, length, s + y * not_s)


def _unit_backward(dy: Array, unit: _Unit) -> Array:
    return (dy - unit.y * (unit.y * dy).sum(axis=1, keepdims=True)) / unit.length * unit.slope


@short_repr
class DeltaNetCache(NamedTuple):
    """What `deltanet_step_backward` needs from the step."""

    x: Array  # (N, D)
    memory: Array  # (N, K, H), before the step
    new: Array  # and after it
    q: _Unit
    k: _Unit
    beta: Array  # (N, 1)
    slope: Array  # of beta
    missing: Array  # (N, H): v less what stood there


def _check_step(x: ArrayLike, state: DeltaNetState, p: DeltaNetParams) -> tuple[Array, DeltaNetState, DeltaNetParams]:
    where = "deltanet_step"
    check_instance(where, "p", p, DeltaNetParams)
    x = as_array(where, "x", x, ("N", "D"), {"D": p.D})
    return x, check_state(where, "state", state, _fresh(p, len(x), p.dtype)), p


@validate(_check_step)
def deltanet_step(x: Array, state: DeltaNetState, p: DeltaNetParams) -> tuple[Array, DeltaNetState, DeltaNetCache]:
    """One step of a DeltaNet: look up the key, correct what stands there, read at the query.

    ::

        q, k = SiLU(x W_q + b_q), SiLU(x W_k + b_k), each at length 1      SiLU(a) = a σ(a)
        v = x W_v + b_v,   β = σ(x W_β + b_β)                              with `turn`: 2 σ(…)
        S = S_prev + kᵀ β (v − k S_prev)                                   with the rule "add": S_prev + kᵀ β v
        out = q S

    x is (N, D), S (N, K, H), out (N, H). Chapter 21; Schlag et al. (2021), arXiv:2102.11174; with SiLU and length 1
    as in Yang et al. (2024), arXiv:2406.06484.

    Examples
    --------
    >>> from gru_book.cells import deltanet_init, deltanet_step
    >>> from gru_lib.cells import zero_state
    >>> p = deltanet_init(np.random.default_rng(0), D=1, H=1, K=1)
    >>> p.flat[:] = 0
    >>> p.b_q[:] = p.b_k[:] = 40  # q = k = 1
    >>> p.W_v[:], p.b_beta[:] = 3, 40  # v = 3 x, β = 1
    >>> out, state, cache = deltanet_step([[1.0]], zero_state(p, N=1), p)
    >>> out, state = deltanet_step([[2.0]], state, p)[:2]
    >>> out.round(6)  # 3 is replaced by 6
    array([[6.]])
    """
    K, H, S = p.K, p.H, state.memory
    a = x @ p.W + p.b  # (N, 2K + H + 1)
    q, k = _unit(a[:, :K]), _unit(a[:, K : 2 * K])  # q.y, k.y (N, K)
    v = a[:, 2 * K : 2 * K + H]  # (N, H)
    beta, not_beta = sigmoid_pair(a[:, 2 * K + H :])  # (N, 1)
    most = 2 if p.turn else 1
    beta, slope = most * beta, most * beta * not_beta
    there = (k.y[:, None] @ S)[:, 0]  # (N, H): what stands at the key
    missing = v - there if p.rule == "delta" else v
    new = S + k.y[:, :, None] * (beta * missing)[:, None]  # (N, K, H)
    out = (q.y[:, None] @ new)[:, 0]  # (N, H)
    return out, DeltaNetState(new), DeltaNetCache(x, S, new, q, k, beta, slope, missing)


def _check_backward(dout: ArrayLike, dstate: DeltaNetState, cache: DeltaNetCache, p: DeltaNetParams) -> tuple[Any, ...]:
    where = "deltanet_step_backward"
    check_instance(where, "p", p, DeltaNetParams)
    check_instance(where, "cache", cache, DeltaNetCache)
    (N, D), (_, K, H) = cache.x.shape, cache.memory.shape
    check_sizes(where, {"D": D, "K": K, "H": H}, p)
    dout = as_array(where, "dout", dout, ("N", "H"), {"N": N, "H": H})
    return dout, check_state(where, "dstate", dstate, _fresh(p, N, p.dtype)), cache, p


@validate(_check_backward)
def deltanet_step_backward(
    dout: Array, dstate: DeltaNetState, cache: DeltaNetCache, p: DeltaNetParams
) -> tuple[Array, DeltaNetState, DeltaNetParams]:
    """Backward through `deltanet_step`, from the last line to the first.

    ::

        dS ← dS + qᵀ dout,   dq = dout Sᵀ
        du = k dS,   dk = β (v − k S_prev) dSᵀ,   dv = β du,   dβ = du · (v − k S_prev)
        dS_prev = dS − kᵀ dv,   dk ← dk − dv S_prevᵀ                       with the rule "add" dS and dk as they are

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> p = cells.deltanet_init(np.random.default_rng(0), D=3, H=5, K=4)
    >>> x, state0 = np.ones((1, 3)), cells.zero_state(p, N=1)
    >>> out, state, cache = cells.deltanet_step(x, state0, p)
    >>> dstate = cells.map_state(np.zeros_like, state)
    >>> dout = np.ones((1, 5))
    >>> back = cells.deltanet_step_backward(dout, dstate, cache, p)
    >>> loss = lambda p: cells.deltanet_step(x, state0, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    x, S, new, q, k, beta, slope, missing = cache
    dS = dstate.memory + q.y[:, :, None] * dout[:, None]
    dq = (new @ dout[:, :, None])[:, :, 0]
    dk = (dS @ (beta * missing)[:, :, None])[:, :, 0]
    du = (k.y[:, None] @ dS)[:, 0]
    dv = beta * du
    dbeta = (du * missing).sum(axis=1, keepdims=True) * slope
    if p.rule == "delta":
        dk = dk - (S @ dv[:, :, None])[:, :, 0]
        dS = dS - k.y[:, :, None] * dv[:, None]
    da = np.concatenate([_unit_backward(dq, q), _unit_backward(dk, k), dv, dbeta], axis=1)
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W[:], grads.b[:] = x.T @ da, da.sum(axis=0)
    return da @ p.W.T, DeltaNetState(dS), grads


def _fresh(p: DeltaNetParams, N: int, dtype: DTypeLike) -> DeltaNetState:
    return DeltaNetState(np.zeros((N, p.K, p.H), dtype))


_CELL = register_cell(Cell(DeltaNetParams, deltanet_step, deltanet_step_backward, zeros=_fresh, apart=True))
deltanet_forward, deltanet_backward = _CELL.forward, _CELL.backward
deltanet_forward.__doc__ = f"""{deltanet_forward.__doc__}

Examples
--------
>>> from gru_book.cells import deltanet_forward, deltanet_init
>>> p = deltanet_init(np.random.default_rng(0), D=3, H=5, K=4)
>>> hs, state_T, tape = deltanet_forward(np.ones((4, 2, 3)), None, p)
>>> hs.shape, state_T.memory.shape
((4, 2, 5), (2, 4, 5))
"""
deltanet_backward.__doc__ = f"""{deltanet_backward.__doc__}

Examples
--------
>>> from gru_book import cells
>>> from gru_lib import gradcheck
>>> xs = np.ones((4, 2, 3))
>>> p = cells.deltanet_init(np.random.default_rng(0), D=3, H=5, K=4)
>>> hs, state_T, tape = cells.deltanet_forward(xs, None, p)
>>> back = cells.deltanet_backward(np.ones_like(hs), None, tape, p)
>>> loss = lambda p: cells.deltanet_forward(xs, None, p)[0].sum()
>>> gradcheck(loss, p, back[2]).worst < 1e-9
True
"""
