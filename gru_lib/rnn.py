"""Recurrent networks without gates: CBOW as a running sum, Elman's network, IRNN, a linear recurrence, SCRN.

Chapter 1 derives CBOW and Elman's network, chapter 2 their backward pass, chapter 13 IRNN and SCRN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._check import check_choice, check_instance, check_int, check_number
from gru_lib._params import Params
from gru_lib._sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.ops import orthogonal, sigmoid, sigmoid_pair

__all__ = [
    "CBOWParams",
    "ElmanParams",
    "SCRNParams",
    "cbow_backward",
    "cbow_forward",
    "cbow_init",
    "cbow_step",
    "cbow_step_backward",
    "elman_backward",
    "elman_forward",
    "elman_init",
    "elman_step",
    "elman_step_backward",
    "elman_step_concatenated",
    "elman_step_concatenated_backward",
    "irnn_init",
    "scrn_backward",
    "scrn_forward",
    "scrn_init",
    "scrn_step",
    "scrn_step_backward",
]

Array = NDArray[Any]


# ----------------------------------------------------------------------------------------- CBOW: the state is a sum


class CBOWParams(Params):
    """No numbers, only the size D of inputs and state (H = D): what CBOW learns is the embedding of its inputs."""


def cbow_init(D: int, *, dtype: DTypeLike = np.float64) -> CBOWParams:
    """Return the (empty) parameters of CBOW as a recurrent network."""
    D = check_int("cbow_init", "D", D)
    return CBOWParams({}, options={"D": D, "H": D}, dtype=dtype)


def cbow_step(x: ArrayLike, h_prev: ArrayLike, p: CBOWParams) -> tuple[Array, None]:
    """h = h_prev + x: blind to the order of the inputs. Shapes (N, D). Nothing needs caching. Chapter 1."""
    check_instance("cbow_step", "p", p, CBOWParams)
    x, h_prev = check_rows("cbow_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    return h_prev + x, None


def cbow_step_backward(dh: ArrayLike, cache: None, p: CBOWParams) -> tuple[Array, Array, CBOWParams]:
    """dx = dh,  dh_prev = dh."""
    check_instance("cbow_step_backward", "p", p, CBOWParams)
    (dh,) = check_rows("cbow_step_backward", p, dh=(dh, "H"))
    return dh.copy(), dh.copy(), p.zeros_like(dh.dtype)


class CBOWTape(NamedTuple):
    """What `cbow_backward` needs of the forward pass."""

    h: Array  # (T + 1, N, H)
    mask: Array | None  # (T, N), True where a step is real


def cbow_forward(
    xs: ArrayLike, h0: ArrayLike | None, p: CBOWParams, *, lengths: ArrayLike | None = None
) -> tuple[Array, Array, CBOWTape]:
    """Run `cbow_step` for t = 1 … T: h_t = h_0 + x_1 + … + x_t. Arguments and results as in `gru_forward`.

    Notes
    -----
    Chapter 1. Mikolov et al. (2013), arXiv:1301.3781; as a recurrent network in Goldberg (2017), section 15.1.
    """
    check_instance("cbow_forward", "p", p, CBOWParams)
    xs, (h0,), mask, dtype = begin("cbow_forward", p, xs, lengths, h0=(h0, "H"))
    h = np.cumsum(np.concatenate([h0[None], xs]), axis=0, dtype=dtype)  # padded x are zero: the state is carried
    return outputs(h[1:], mask), h[-1].copy(), CBOWTape(h, mask)


def cbow_backward(
    dhs: ArrayLike | None, dh_T: ArrayLike | None, tape: CBOWTape, p: CBOWParams
) -> tuple[Array, Array, CBOWParams]:
    """dx_t = dh_t + … + dh_T: every input gets the gradient of every later output. As in `gru_backward`."""
    check_instance("cbow_backward", "p", p, CBOWParams)
    check_instance("cbow_backward", "tape", tape, CBOWTape)
    dhs, (dh_T,), dtype = begin_backward("cbow_backward", p, tape.h, tape.mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    dh = np.cumsum(np.concatenate([dh_T[None], dhs[::-1]]), axis=0, dtype=dtype)[::-1]
    return outputs(dh[:-1], tape.mask), dh[0].copy(), p.zeros_like(dtype)


# ------------------------------------------------------------------------------------------ Elman's network (S-RNN)


class ElmanParams(Params):
    """Parameters of Elman's network, the split and the concatenated weights in the same memory.

    Attributes
    ----------
    W : array (H + D, H), for the concatenated form [h_prev, x] W
    W_h, W_x : arrays (H, H) and (D, H), the rows of W that meet h_prev and x
    b : array (H,) (0.0 without bias)
    D, H : sizes of input and state
    activation : "tanh", "relu", "sigmoid" or "linear"
    """


def elman_init(
    rng: np.random.Generator,
    D: int,
    H: int,
    *,
    activation: str = "tanh",
    bias: bool = True,
    init: str = "uniform",
    dtype: DTypeLike = np.float64,
) -> ElmanParams:
    """Draw the parameters of Elman's network: weights uniform in ±1/√H, b = 0.

    Parameters
    ----------
    rng
        Source of randomness.
    D, H
        Sizes of the input and of the state.
    activation
        "tanh", "relu", "sigmoid", or "linear" for a linear recurrence.
    bias
        Whether there is a b.
    init
        "uniform", or "orthogonal" for a W_h that keeps every vector's length.
    dtype
        float32 or float64.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.
    """
    where = "elman_init"
    check_instance(where, "rng", rng, np.random.Generator)
    D, H = check_int(where, "D", D), check_int(where, "H", H)
    check_choice(where, "activation", activation, ("tanh", "relu", "sigmoid", "linear"))
    check_choice(where, "init", init, ("uniform", "orthogonal"))
    shapes: dict[str, tuple[int, ...]] = {"W": (H + D, H)} | ({"b": (H,)} if bias else {})
    parts = {"W_h": ("W", np.s_[:H]), "W_x": ("W", np.s_[H:])}
    options = {"D": D, "H": H, "activation": activation, "bias": bool(bias)} | ({} if bias else {"b": 0.0})
    p = ElmanParams(shapes, parts=parts, options=options, dtype=dtype)
    p.W[:] = rng.uniform(-1, 1, p.W.shape) / np.sqrt(H)
    if init == "orthogonal":
        p.W_h[:] = orthogonal(rng, H)
    return p


def irnn_init(
    rng: np.random.Generator, D: int, H: int, *, std: float = 0.001, dtype: DTypeLike = np.float64
) -> ElmanParams:
    """Return Elman's network with ReLU that starts as an IRNN: W_h = I, b = 0, W_x normal with deviation `std`.

    At first the state is copied from step to step, and so is its gradient. Training may leave the identity.

    Notes
    -----
    Chapter 13. Le, Jaitly & Hinton (2015), arXiv:1504.00941.
    """
    std = check_number("irnn_init", "std", std, least=0)
    p = elman_init(rng, D, H, activation="relu", dtype=dtype)
    p.W_h[:] = np.eye(p.H)
    p.W_x[:] = rng.normal(0, std, p.W_x.shape)
    return p


class ElmanCache(NamedTuple):
    """What the backward step needs of the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H)
    slope: Array  # (N, H): g′(a)


def elman_step(x: ArrayLike, h_prev: ArrayLike, p: ElmanParams) -> tuple[Array, ElmanCache]:
    """One step of Elman's network, split weights: a = x W_x + h_prev W_h + b,  h = g(a).

    Parameters
    ----------
    x : array (N, D)
    h_prev : array (N, H)
    p : ElmanParams
        Its activation is g.

    Returns
    -------
    h : array (N, H)
    cache : ElmanCache

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape.

    Notes
    -----
    Chapter 1. Elman (1990), Finding structure in time.
    """
    check_instance("elman_step", "p", p, ElmanParams)
    x, h_prev = check_rows("elman_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    a = x @ p.W_x + h_prev @ p.W_h + p.b
    h = _activate(p.activation, a)
    return h, ElmanCache(x, h_prev, _slope(p.activation, a, h))


def elman_step_backward(dh: ArrayLike, cache: ElmanCache, p: ElmanParams) -> tuple[Array, Array, ElmanParams]:
    """Backward through `elman_step`.

    ::

        da = dh ⊙ g′(a),     g′ = 1 − h² (tanh),  a > 0 (relu),  σ(a) σ(−a) (sigmoid),  1 (linear)
        dx = da W_xᵀ,        dh_prev = da W_hᵀ
        dW_x = xᵀ da,        dW_h = h_prevᵀ da,    db = Σ da      (over the rows)

    Returns
    -------
    dx : array (N, D)
    dh_prev : array (N, H)
    grads : ElmanParams

    Notes
    -----
    Chapter 2.
    """
    check_instance("elman_step_backward", "p", p, ElmanParams)
    check_instance("elman_step_backward", "cache", cache, ElmanCache)
    x, h_prev, slope = cache
    (dh,) = check_rows("elman_step_backward", p, N=len(x), dh=(dh, "H"))
    da = dh * slope
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W_x[:], grads.W_h[:] = x.T @ da, h_prev.T @ da
    if p.bias:
        grads.b[:] = da.sum(axis=0)
    return da @ p.W_x.T, da @ p.W_h.T, grads


def elman_step_concatenated(x: ArrayLike, h_prev: ArrayLike, p: ElmanParams) -> tuple[Array, ElmanCache]:
    """The same step with the weights in one piece: a = [h_prev, x] W + b,  h = g(a). As `elman_step`."""
    check_instance("elman_step_concatenated", "p", p, ElmanParams)
    x, h_prev = check_rows("elman_step_concatenated", p, x=(x, "D"), h_prev=(h_prev, "H"))
    a = np.concatenate([h_prev, x], axis=1) @ p.W + p.b
    h = _activate(p.activation, a)
    return h, ElmanCache(x, h_prev, _slope(p.activation, a, h))


def elman_step_concatenated_backward(
    dh: ArrayLike, cache: ElmanCache, p: ElmanParams
) -> tuple[Array, Array, ElmanParams]:
    """[dh_prev, dx] = da Wᵀ,  dW = [h_prev, x]ᵀ da,  da = dh ⊙ g′(a). As `elman_step_backward`."""
    check_instance("elman_step_concatenated_backward", "p", p, ElmanParams)
    check_instance("elman_step_concatenated_backward", "cache", cache, ElmanCache)
    x, h_prev, slope = cache
    (dh,) = check_rows("elman_step_concatenated_backward", p, N=len(x), dh=(dh, "H"))
    da = dh * slope
    dboth = da @ p.W.T
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W[:] = np.concatenate([h_prev, x], axis=1).T @ da
    if p.bias:
        grads.b[:] = da.sum(axis=0)
    return dboth[:, p.H :], dboth[:, : p.H], grads


class ElmanTape(NamedTuple):
    """What `elman_backward` needs of the forward pass. Read-only; backward may be called more than once."""

    xs: Array  # (T, N, D), zero in padding
    a: Array  # (T, N, H)
    h: Array  # (T + 1, N, H): h_0 … h_T
    mask: Array | None  # (T, N), True where a step is real
    h_mask: Array | None  # (T, N, H)


def elman_forward(
    xs: ArrayLike,
    h0: ArrayLike | None,
    p: ElmanParams,
    *,
    lengths: ArrayLike | None = None,
    h_mask: ArrayLike | None = None,
) -> tuple[Array, Array, ElmanTape]:
    """Run `elman_step` for t = 1 … T. Arguments and results as in `gru_forward`.

    Parameters
    ----------
    h_mask : array (N, H) or (T, N, H), optional
        Recurrent dropout: a = x W_x + (h_mask ⊙ h_prev) W_h + b. See `gru_lib.dropout`.

    Notes
    -----
    Chapters 1 and 2.
    """
    check_instance("elman_forward", "p", p, ElmanParams)
    xs, (h0,), mask, dtype = begin("elman_forward", p, xs, lengths, h0=(h0, "H"))
    h_mask = recurrent_mask("elman_forward", h_mask, xs, p, dtype)
    a = (rows(xs) @ p.W_x + p.b).astype(dtype, copy=False).reshape(*xs.shape[:2], p.H)  # one product for all steps
    h = _run(a, h0, p.W_h, p.activation, mask, h_mask)
    return outputs(h[1:], mask), h[-1].copy(), ElmanTape(xs, a, h, mask, h_mask)


def elman_backward(
    dhs: ArrayLike | None, dh_T: ArrayLike | None, tape: ElmanTape, p: ElmanParams
) -> tuple[Array, Array, ElmanParams]:
    """Backpropagation through time: `elman_step_backward` for t = T … 1. As in `gru_backward`."""
    where = "elman_backward"
    check_instance(where, "p", p, ElmanParams)
    check_instance(where, "tape", tape, ElmanTape)
    xs, a, h, mask, h_mask = tape
    dhs, (dh,), dtype = begin_backward(where, p, h, mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    da, dh0 = _run_backward(dhs, dh, a, h, p.W_h, p.activation, mask, h_mask)
    seen = h[:-1] if h_mask is None else h[:-1] * h_mask
    grads = p.zeros_like(dtype)
    grads.W_x[:], grads.W_h[:] = rows(xs).T @ rows(da), rows(seen).T @ rows(da)
    if p.bias:
        grads.b[:] = rows(da).sum(axis=0)
    return (rows(da) @ p.W_x.T).reshape(xs.shape), dh0, grads


def _run(a: Array, h0: Array, W_h: Array, activation: str, mask: Array | None, h_mask: Array | None) -> Array:
    """Add h_{t−1} W_h to a_t, which holds the input's part, and return h_0 … h_T."""
    h = np.empty((len(a) + 1, *a.shape[1:]), a.dtype)
    h[0] = h0
    for t in range(len(a)):
        a[t] += (h[t] if h_mask is None else h[t] * h_mask[t]) @ W_h
        h[t + 1] = _activate(activation, a[t])
        if mask is not None:
            np.copyto(h[t + 1], h[t], where=~mask[t][:, None])
    return h


def _run_backward(
    dhs: Array, dh: Array, a: Array, h: Array, W_h: Array, activation: str, mask: Array | None, h_mask: Array | None
) -> tuple[Array, Array]:
    """Return da of all steps and dh_0."""
    da = np.empty(a.shape, dh.dtype)
    slope = _slope(activation, a, h[1:])
    if mask is not None:
        slope = np.where(mask[:, :, None], slope, 0)
    for t in reversed(range(len(a))):
        dh = dh + dhs[t]
        da[t] = dh * slope[t]
        dh_prev = da[t] @ W_h.T
        if h_mask is not None:
            dh_prev *= h_mask[t]
        dh = dh_prev if mask is None else np.where(mask[t][:, None], dh_prev, dh)
    return da, dh


def _activate(activation: str, a: Array) -> Array:
    if activation == "tanh":
        return np.tanh(a)
    if activation == "relu":
        return np.where(a.real > 0, a, 0)
    return sigmoid(a) if activation == "sigmoid" else a


def _slope(activation: str, a: Array, h: Array) -> Array:
    """g′(a), given h = g(a)."""
    if activation == "tanh":
        return 1 - h * h
    if activation == "relu":
        return (a.real > 0).astype(a.dtype)
    if activation == "sigmoid":
        s, not_s = sigmoid_pair(a)
        return s * not_s
    return np.ones_like(a)


# ---------------------------------------------------------------------------------------------------------- SCRN


class SCRNParams(Params):
    """Parameters of a structurally constrained recurrent network. Its state is s = [c, h], of size S = C + H.

    Attributes
    ----------
    W_xc : array (D, C)
    W : array (H + D + C, H), the rows of W_hh (H, H), W_xh (D, H) and W_ch (C, H)
    D, H, C, S : sizes of input, hidden units, context units and state
    alpha : the share of the old context that is kept
    """


def scrn_init(
    rng: np.random.Generator, D: int, H: int, C: int, *, alpha: float = 0.95, dtype: DTypeLike = np.float64
) -> SCRNParams:
    """Draw the parameters of an SCRN: weights uniform in ±1/√H; no biases.

    Parameters
    ----------
    rng
        Source of randomness.
    D, H, C
        Sizes of the input, of the hidden units, and of the slow context units.
    alpha
        In [0, 1): a context unit forgets an input by 1/e in about 1/(1 − alpha) steps. Not learned.
    dtype
        float32 or float64.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.
    """
    where = "scrn_init"
    check_instance(where, "rng", rng, np.random.Generator)
    D, H, C = check_int(where, "D", D), check_int(where, "H", H), check_int(where, "C", C)
    alpha = check_number(where, "alpha", alpha, least=0, below=1)
    parts = {"W_hh": ("W", np.s_[:H]), "W_xh": ("W", np.s_[H : H + D]), "W_ch": ("W", np.s_[H + D :])}
    options = {"D": D, "H": H, "C": C, "S": C + H, "alpha": alpha}
    p = SCRNParams({"W_xc": (D, C), "W": (H + D + C, H)}, parts=parts, options=options, dtype=dtype)
    p.flat[:] = rng.uniform(-1, 1, p.size) / np.sqrt(H)
    return p


class SCRNCache(NamedTuple):
    """What `scrn_step_backward` needs of the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H)
    c: Array  # (N, C)
    a: Array  # (N, H)


def scrn_step(x: ArrayLike, s_prev: ArrayLike, p: SCRNParams) -> tuple[Array, SCRNCache]:
    """One step of an SCRN: an Elman step that also reads c, an exponential average of the inputs.

    ::

        c = (1 − α) x W_xc + α c_prev
        h = σ(x W_xh + h_prev W_hh + c W_ch)
        s = [c, h]                                state and output

    Parameters
    ----------
    x : array (N, D)
    s_prev : array (N, S), S = C + H
    p : SCRNParams

    Returns
    -------
    s : array (N, S)
    cache : SCRNCache

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape.

    Notes
    -----
    Chapter 13. Mikolov et al. (2014), arXiv:1412.7753, with [c, h] as the output to whatever layer follows.
    """
    check_instance("scrn_step", "p", p, SCRNParams)
    x, s_prev = check_rows("scrn_step", p, x=(x, "D"), s_prev=(s_prev, "S"))
    c_prev, h_prev = s_prev[:, : p.C], s_prev[:, p.C :]
    c = (1 - p.alpha) * (x @ p.W_xc) + p.alpha * c_prev
    a = x @ p.W_xh + h_prev @ p.W_hh + c @ p.W_ch
    return np.concatenate([c, sigmoid(a)], axis=1), SCRNCache(x, h_prev, c, a)


def scrn_step_backward(ds: ArrayLike, cache: SCRNCache, p: SCRNParams) -> tuple[Array, Array, SCRNParams]:
    """Backward through `scrn_step`, with ds = [dc, dh].

    ::

        da = dh ⊙ σ(a) ⊙ σ(−a),   dc ← dc + da W_chᵀ,   du = (1 − α) dc
        dx = da W_xhᵀ + du W_xcᵀ,   dh_prev = da W_hhᵀ,   dc_prev = α dc
        dW_xh = xᵀ da,   dW_hh = h_prevᵀ da,   dW_ch = cᵀ da,   dW_xc = xᵀ du

    Returns
    -------
    dx : array (N, D)
    ds_prev : array (N, S)
    grads : SCRNParams
    """
    check_instance("scrn_step_backward", "p", p, SCRNParams)
    check_instance("scrn_step_backward", "cache", cache, SCRNCache)
    x, h_prev, c, a = cache
    (ds,) = check_rows("scrn_step_backward", p, N=len(x), ds=(ds, "S"))
    da = ds[:, p.C :] * _slope("sigmoid", a, a)
    dc = ds[:, : p.C] + da @ p.W_ch.T
    du = (1 - p.alpha) * dc
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W_xc[:], grads.W_xh[:], grads.W_hh[:], grads.W_ch[:] = x.T @ du, x.T @ da, h_prev.T @ da, c.T @ da
    return da @ p.W_xh.T + du @ p.W_xc.T, np.concatenate([p.alpha * dc, da @ p.W_hh.T], axis=1), grads


class SCRNTape(NamedTuple):
    """What `scrn_backward` needs of the forward pass. Read-only; backward may be called more than once."""

    xs: Array  # (T, N, D), zero in padding
    c: Array  # (T + 1, N, C)
    a: Array  # (T, N, H)
    h: Array  # (T + 1, N, H)
    mask: Array | None  # (T, N)
    h_mask: Array | None  # (T, N, H)


def scrn_forward(
    xs: ArrayLike,
    s0: ArrayLike | None,
    p: SCRNParams,
    *,
    lengths: ArrayLike | None = None,
    h_mask: ArrayLike | None = None,
) -> tuple[Array, Array, SCRNTape]:
    """Run `scrn_step` for t = 1 … T: first all contexts, which do not depend on h, then Elman's loop on [x, c].

    Arguments and results as in `gru_forward`, with states and outputs [c, h] of size S; h_mask is for h only.
    """
    check_instance("scrn_forward", "p", p, SCRNParams)
    xs, (s0,), mask, dtype = begin("scrn_forward", p, xs, lengths, s0=(s0, "S"))
    h_mask = recurrent_mask("scrn_forward", h_mask, xs, p, dtype)
    (T, N, _), C = xs.shape, p.C
    c = np.empty((T + 1, N, C), dtype)
    c[0], c[1:] = s0[:, :C], (1 - p.alpha) * (rows(xs) @ p.W_xc).reshape(T, N, C)
    for t in range(T):
        c[t + 1] += p.alpha * c[t]
        if mask is not None:
            np.copyto(c[t + 1], c[t], where=~mask[t][:, None])
    a = (rows(xs) @ p.W_xh + rows(c[1:]) @ p.W_ch).reshape(T, N, p.H)
    h = _run(a, s0[:, C:], p.W_hh, "sigmoid", mask, h_mask)
    s = np.concatenate([c, h], axis=2)
    return outputs(s[1:], mask), s[-1].copy(), SCRNTape(xs, c, a, h, mask, h_mask)


def scrn_backward(
    dss: ArrayLike | None, ds_T: ArrayLike | None, tape: SCRNTape, p: SCRNParams
) -> tuple[Array, Array, SCRNParams]:
    """`scrn_step_backward` for t = T … 1. As in `gru_backward`, with gradients of [c, h] of size S."""
    where = "scrn_backward"
    check_instance(where, "p", p, SCRNParams)
    check_instance(where, "tape", tape, SCRNTape)
    xs, c, a, h, mask, h_mask = tape
    (T, N, _), C = xs.shape, p.C
    dss, (ds,), dtype = begin_backward(where, p, h, mask, dhs=(dss, "S"), ds_T=(ds_T, "S"))
    da, dh0 = _run_backward(dss[:, :, C:], ds[:, C:], a, h, p.W_hh, "sigmoid", mask, h_mask)
    dcs = dss[:, :, :C] + (rows(da) @ p.W_ch.T).reshape(T, N, C)
    dc, du = ds[:, :C], np.empty((T, N, C), dtype)
    for t in reversed(range(T)):
        dc = dc + dcs[t]
        du[t] = (1 - p.alpha) * (dc if mask is None else np.where(mask[t][:, None], dc, 0))
        dc = p.alpha * dc if mask is None else np.where(mask[t][:, None], p.alpha * dc, dc)
    grads = p.zeros_like(dtype)
    grads.W_xc[:], grads.W_xh[:] = rows(xs).T @ rows(du), rows(xs).T @ rows(da)
    seen = h[:-1] if h_mask is None else h[:-1] * h_mask
    grads.W_hh[:], grads.W_ch[:] = rows(seen).T @ rows(da), rows(c[1:]).T @ rows(da)
    dxs = (rows(da) @ p.W_xh.T + rows(du) @ p.W_xc.T).reshape(xs.shape)
    return dxs, np.concatenate([dc, dh0], axis=1), grads
