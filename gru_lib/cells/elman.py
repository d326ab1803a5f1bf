"""Elman's network, the plain recurrent network, and the IRNN: Elman's network with a ReLU that starts at the identity.

Chapter 1 derives the step, chapter 2 its backward pass, chapter 13 the IRNN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import (
    as_array,
    check_bool,
    check_cache,
    check_choice,
    check_dtype,
    check_instance,
    check_int,
    check_number,
)
from gru_lib.ops import orthogonal, sigmoid, sigmoid_pair
from gru_lib.params import Params
from gru_lib.passes import backwards, batch_first, batch_last, by_spans, columns, dinputs, inputs, spans
from gru_lib.sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = [
    "ElmanCache", "ElmanParams", "ElmanTape", "elman_backward", "elman_forward", "elman_init", "elman_on", "elman_step",
    "elman_step_backward", "irnn_init",
]  # fmt: skip


_ACTIVATIONS = ("tanh", "relu", "sigmoid", "linear")


class ElmanParams(Params):
    """Parameters of Elman's network, the split and the concatenated weights in the same memory."""

    D: int
    H: int
    activation: str  # "tanh", "relu", "sigmoid" or "linear"
    bias: bool
    W: Array  # (H + D, H), for the concatenated form [h_prev, x] W; its rows are
    W_h: Array  # (H, H), those that meet h_prev, and
    W_x: Array  # (D, H), those that meet x
    b: Array  # (H,), 0.0 without bias

    def __init__(
        self,
        D: int,
        H: int,
        *,
        activation: str = "tanh",
        bias: bool = True,
        dtype: DTypeLike = np.float64,
        flat: Array | None = None,
    ) -> None:
        where = "elman_init"
        D, H, dtype = check_int(where, "D", D), check_int(where, "H", H), check_dtype(where, dtype)
        check_choice(where, "activation", activation, _ACTIVATIONS)
        bias = check_bool(where, "bias", bias)
        shapes: dict[str, tuple[int, ...]] = {"W": (H + D, H)} | ({"b": (H,)} if bias else {})
        parts = {"W_h": ("W", np.s_[:H]), "W_x": ("W", np.s_[H:])}
        options = {"D": D, "H": H, "activation": activation, "bias": bias} | ({} if bias else {"b": 0.0})
        super().__init__(shapes, parts=parts, options=options, dtype=dtype, flat=flat)


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

    `activation` is "tanh", "relu", "sigmoid", or "linear" for a linear recurrence. `init` is "uniform", or "orthogonal"
    for a W_h that keeps every vector's length. The other arguments are as in `gru_init`.

    Examples
    --------
    >>> from gru_lib import elman_init
    >>> rng = np.random.default_rng(0)
    >>> p = elman_init(rng, D=3, H=5, init="orthogonal")
    >>> np.allclose(p.W_h @ p.W_h.T, np.eye(5))
    True
    >>> p.W_x.shape, p.b.shape
    ((3, 5), (5,))
    """
    where = "elman_init"
    check_instance(where, "rng", rng, np.random.Generator)
    check_choice(where, "init", init, ("uniform", "orthogonal"))
    p = ElmanParams(D, H, activation=activation, bias=bias, dtype=dtype)
    p.W[:] = rng.uniform(-1, 1, p.W.shape) / np.sqrt(p.H)
    if init == "orthogonal":
        p.W_h[:] = orthogonal(rng, p.H)
    return p


def elman_on(W: Array, activation: str) -> ElmanParams:
    """Lay the parameters of Elman's network without bias on W (H + D, H). Nothing is copied.

    Examples
    --------
    >>> from gru_lib.cells import elman_on
    >>> W = np.array([[0.5], [2.0]])  # H = D = 1
    >>> p = elman_on(W, "linear")
    >>> p.W_h, p.W_x
    (array([[0.5]]), array([[2.]]))
    >>> np.shares_memory(p.W_x, W)
    True
    """
    W = as_array("elman_on", "W", W, ("H + D", "H"), {})
    check_choice("elman_on", "activation", activation, _ACTIVATIONS)
    H = W.shape[1]
    if len(W) <= H:
        raise ValueError(f"elman_on: W must have more rows than columns, H + D and H; got shape {W.shape}.")
    return ElmanParams(len(W) - H, H, activation=activation, bias=False, flat=W.reshape(-1))


def irnn_init(
    rng: np.random.Generator, D: int, H: int, *, std: float = 0.001, dtype: DTypeLike = np.float64
) -> ElmanParams:
    """Return Elman's network with ReLU that starts as an IRNN: W_h = I, b = 0, W_x normal with deviation `std`.

    At first the state is copied from step to step, and so is its gradient. Training may leave the identity. Chapter 13;
    Le, Jaitly & Hinton (2015), arXiv:1504.00941.

    Examples
    --------
    >>> from gru_lib.cells import irnn_init
    >>> p = irnn_init(np.random.default_rng(0), D=3, H=2)
    >>> p.W_h, p.activation
    (array([[1., 0.],
           [0., 1.]]), 'relu')
    """
    std = check_number("irnn_init", "std", std, least=0)
    p = elman_init(rng, D, H, activation="relu", dtype=dtype)
    p.W_h[:] = np.eye(p.H)
    p.W_x[:] = rng.normal(0, std, p.W_x.shape)
    return p


def activate(activation: str, a: Array, out: Array | None = None) -> Array:
    """Return h = g(a), in `out` if it is given."""
    if activation == "tanh":
        return np.tanh(a, out=out)
    h = np.where(a.real > 0, a, 0) if activation == "relu" else sigmoid(a) if activation == "sigmoid" else a
    if out is not None:
        out[:] = h
    return h


def derivative(activation: str, a: Array, h: Array) -> Array:
    """Return g′(a), given h = g(a)."""
    if activation == "tanh":
        return 1 - h * h
    if activation == "sigmoid":
        return np.multiply(*sigmoid_pair(a))
    return (a.real > 0).astype(a.dtype) if activation == "relu" else np.ones_like(a)


@short_repr
class ElmanCache(NamedTuple):
    """What the backward step needs from the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H)
    slope: Array  # (N, H): g′(a)


def elman_step(x: ArrayLike, h_prev: ArrayLike, p: ElmanParams) -> tuple[Array, ElmanCache]:
    """One step of Elman's network, split weights: a = x W_x + h_prev W_h + b,  h = g(a).

    Shapes as in `gru_step`; p.activation is g. Chapter 1; Elman (1990), Finding structure in time.

    Examples
    --------
    >>> from gru_lib.cells import elman_on, elman_step
    >>> p = elman_on(np.array([[0.5], [2.0]]), "linear")  # 0.5 h_prev + 2 x
    >>> h, cache = elman_step([[3.0]], [[4.0]], p)
    >>> h
    array([[8.]])
    """
    check_instance("elman_step", "p", p, ElmanParams)
    x, h_prev = check_rows("elman_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    a = x @ p.W_x + h_prev @ p.W_h + p.b
    h = activate(p.activation, a)
    return h, ElmanCache(x, h_prev, derivative(p.activation, a, h))


def elman_step_backward(dh: ArrayLike, cache: ElmanCache, p: ElmanParams) -> tuple[Array, Array, ElmanParams]:
    """Backward through `elman_step`.

    ::

        da = dh ⊙ g′(a),     g′ = 1 − h² (tanh),  a > 0 (relu),  σ(a) ⊙ σ(−a) (sigmoid),  1 (linear)
        dx = da W_xᵀ,        dh_prev = da W_hᵀ
        dW_x = xᵀ da,        dW_h = h_prevᵀ da,    db = Σ da      (over the rows)

    Chapter 2.

    Examples
    --------
    >>> from gru_lib.cells import elman_on, elman_step, elman_step_backward
    >>> p = elman_on(np.array([[0.5], [2.0]]), "linear")  # 0.5 h_prev + 2 x
    >>> h, cache = elman_step([[3.0]], [[4.0]], p)
    >>> dx, dh_prev, grads = elman_step_backward([[1.0]], cache, p)
    >>> dx, dh_prev, grads.W_x, grads.W_h
    (array([[2.]]), array([[0.5]]), array([[3.]]), array([[4.]]))
    """
    check_instance("elman_step_backward", "p", p, ElmanParams)
    check_cache("elman_step_backward", cache, ElmanCache, p)
    x, h_prev, slope = cache
    (dh,) = check_rows("elman_step_backward", p, N=len(x), dh=(dh, "H"))
    da = dh * slope
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W_x[:], grads.W_h[:] = x.T @ da, h_prev.T @ da
    if p.bias:
        grads.b[:] = da.sum(axis=0)
    return da @ p.W_x.T, da @ p.W_h.T, grads


@short_repr
class ElmanTape(NamedTuple):
    """What `elman_backward` needs from the forward pass. Backward may be called more than once."""

    x: Array  # (T, N, D), or (T, N, D + 1) with an input that is always 1, whose weight is the bias
    hs: Array  # (T + 1, N, H): h_0 … h_T
    a: Array  # (T, H, N), with the batch last: the pre-activations
    h_mask: Array | None  # (T, N, H), what the recurrent connection was multiplied by
    mask: Array | None  # (T, N), True where a step is real
    made: Signature  # of the parameters


def elman_forward(
    xs: ArrayLike, h0: MaybeArray, p: ElmanParams, *, lengths: MaybeArray = None, h_mask: MaybeArray = None
) -> tuple[Array, Array, ElmanTape]:
    """Run `elman_step` for t = 1 … T. Arguments and results as in `gru_forward`.

    With a mask on the recurrent connection a = x W_x + (h_mask ⊙ h_prev) W_h + b.

    Examples
    --------
    >>> from gru_lib.cells import elman_forward, elman_on
    >>> p = elman_on(np.array([[0.5], [2.0]]), "linear")  # 0.5 h_prev + 2 x
    >>> hs, h_T, tape = elman_forward([[[1.0]], [[0.0]], [[0.0]]], None, p)
    >>> hs[:, 0, 0]
    array([2. , 1. , 0.5])
    """
    where = "elman_forward"
    check_instance(where, "p", p, ElmanParams)
    xs, (h0,), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"))
    h_mask = recurrent_mask(where, h_mask, xs, p, dtype)
    (T, N, _), H = xs.shape, p.H
    W_h = p.W_h.T.copy()

    # Inside, the batch is the last axis, and a product with weights W is Wᵀ times the state: chapter 11.
    x, a = inputs(xs, p.W_x, p.b if p.bias else None, dtype)
    hs = np.empty((T + 1, H, N), dtype)
    tape = ElmanTape(x, batch_first(hs), a, h_mask, mask, sign(where, p))
    hs[0] = h0.T
    for t, (h_prev, h, a_t) in enumerate(zip(hs[:-1], hs[1:], a, strict=True)):
        a_t += np.dot(W_h, h_prev if h_mask is None else h_mask[t].T * h_prev)
        activate(p.activation, a_t, out=h)
        if mask is not None:
            np.copyto(h, h_prev, where=~mask[t])
    return outputs(tape.hs[1:], mask), tape.hs[-1].copy(), tape


def elman_backward(
    dhs: MaybeArray, dh_T: MaybeArray, tape: ElmanTape, p: ElmanParams
) -> tuple[Array, Array, ElmanParams]:
    """Backpropagation through time: `elman_step_backward` for t = T … 1. As in `gru_backward`.

    Examples
    --------
    >>> from gru_lib.cells import elman_backward, elman_forward, elman_on
    >>> p = elman_on(np.array([[0.5], [2.0]]), "linear")  # 0.5 h_prev + 2 x
    >>> hs, h_T, tape = elman_forward([[[1.0]], [[0.0]], [[0.0]]], None, p)
    >>> dxs, dh0, grads = elman_backward(None, [[1.0]], tape, p)
    >>> dxs[:, 0, 0], dh0, grads.W_x
    (array([0.5, 1. , 2. ]), array([[0.125]]), array([[0.25]]))
    """
    where = "elman_backward"
    check_tape(where, tape, ElmanTape, p, ElmanParams)
    x, hs, a, h_mask, mask, _ = tape
    dhs, (dh_T,), dtype = begin_backward(where, p, hs, mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    T, N, H = dhs.shape
    W_h = p.W_h.copy()

    grads, dxs, dh = p.zeros_like(dtype), np.empty((T, N, p.D), dtype), dh_T.T.copy()
    for now in spans(T, N, H):
        slope = derivative(p.activation, a[now], batch_last(hs[1:][now]))
        if mask is not None:  # a padded step: no gradient to the weights, all of dh to the step before
            slope = mask[now, None] * slope
        da = np.empty(slope.shape, dtype)
        for t, dh_out, slope_t, da_t in backwards(now, batch_last(dhs[now]), slope, da):
            dh += dh_out
            np.multiply(dh, slope_t, out=da_t)
            dh_prev = np.dot(W_h, da_t)
            if h_mask is not None:
                dh_prev *= h_mask[t].T
            dh = dh_prev if mask is None else np.where(mask[t], dh_prev, dh)

        seen = hs[:-1][now] if h_mask is None else h_mask[now] * hs[:-1][now]
        da = columns(da)  # for one product over all steps of the span
        dxs[now] = dinputs(da, x[now], p, grads)
        grads.W_h[:] += (da @ rows(seen)).T
    return dxs, dh.T.copy(), grads


def _infer(xs: ArrayLike, h0: MaybeArray, p: ElmanParams, *, lengths: MaybeArray = None) -> tuple[Array, Array]:
    """`elman_forward` without a tape."""
    xs, (h0,), mask, dtype = begin("infer", p, xs, lengths, h0=(h0, "H"))
    if len(xs) == 1 and mask is None:
        h, _ = elman_step(xs[0], h0, p)
        return h[None].copy(), h
    return by_spans(elman_forward, xs, h0.astype(dtype), p, mask, dtype)


register_cell(Cell(ElmanParams, elman_step, elman_step_backward, elman_forward, elman_backward, infer=_infer))
