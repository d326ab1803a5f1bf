"""Long short-term memory: one step to read, the whole sequence to run, each with its backward beside it.

Chapter 12 derives both passes. The gates come in PyTorch's order: i, f, g, o.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_bool, check_cache, check_choice, check_dtype, check_instance, check_int, check_number
from gru_lib.ops import sigmoid_pair
from gru_lib.params import Params, draw_gates, gate_layout
from gru_lib.passes import backwards, batch_first, batch_last, by_spans, columns, dinputs, inputs, sigmoids, spans
from gru_lib.sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = [
    "LSTMParams", "LSTMState", "LSTMTape", "lstm_backward", "lstm_forward", "lstm_init", "lstm_step",
    "lstm_step_backward",
]  # fmt: skip


class LSTMParams(Params):
    """Parameters of an LSTM, gates in the order i, f, g, o. Without bias the b are 0.0."""

    D: int
    H: int
    bias: bool
    W_x: Array  # (D, 4H), side by side:
    W_xi: Array
    W_xf: Array
    W_xg: Array
    W_xo: Array
    W_h: Array  # (H, 4H), side by side:
    W_hi: Array
    W_hf: Array
    W_hg: Array
    W_ho: Array
    b: Array  # (4H,), side by side:
    b_i: Array
    b_f: Array
    b_g: Array
    b_o: Array

    def __init__(
        self, D: int, H: int, *, bias: bool = True, dtype: DTypeLike = np.float64, flat: Array | None = None
    ) -> None:
        where = "lstm_init"
        D, H, bias = check_int(where, "D", D), check_int(where, "H", H), check_bool(where, "bias", bias)
        slabs = {gate: k for k, gate in enumerate("ifgo")}
        super().__init__(
            **gate_layout(slabs, {"D": D, "H": H, "bias": bias}), dtype=check_dtype(where, dtype), flat=flat
        )


class LSTMState(NamedTuple):
    """The state of an LSTM, or a gradient in it: output h and cell c, both (N, H).

    Examples
    --------
    >>> from gru_lib import LSTMState
    >>> state = LSTMState(h=np.zeros((2, 5)), c=np.zeros((2, 5)))
    >>> state.c.shape
    (2, 5)
    """

    h: Any
    c: Any


def lstm_init(
    rng: np.random.Generator,
    D: int,
    H: int,
    *,
    bias: bool = True,
    forget_bias: float = 1.0,
    dtype: DTypeLike = np.float64,
) -> LSTMParams:
    """Draw the parameters of an LSTM: weights uniform in ±1/√H, b_f = forget_bias, the other biases 0.

    A `forget_bias` of 1 keeps most of the cell through the first steps of training; 0 halves it at every step. Without
    bias there is nothing to set. The other arguments are as in `gru_init`. Jozefowicz et al. (2015), An empirical
    exploration of recurrent network architectures.

    Examples
    --------
    >>> from gru_lib import lstm_init
    >>> p = lstm_init(np.random.default_rng(0), D=3, H=2, forget_bias=2.0)
    >>> p.b_f, p.b_i
    (array([2., 2.]), array([0., 0.]))
    >>> p.W_xf.shape, p.W_hf.shape
    ((3, 2), (2, 2))
    """
    check_instance("lstm_init", "rng", rng, np.random.Generator)
    forget_bias = check_number("lstm_init", "forget_bias", forget_bias)
    p = draw_gates(LSTMParams(D, H, bias=bias, dtype=dtype), rng)
    if p.bias:
        p.b_f[:] = forget_bias
    return p


# ------------------------------------------------------------------------------------------------ one step, to read


@short_repr
class LSTMCache(NamedTuple):
    """What `lstm_step_backward` needs from the step. All but x are (N, H); the pairs are a gate and 1 minus it."""

    x: Array  # (N, D)
    h_prev: Array
    c_prev: Array
    i: tuple[Array, Array]
    f: tuple[Array, Array]
    g: Array
    o: tuple[Array, Array]
    tanh_c: Array


def lstm_step(x: ArrayLike, state_prev: LSTMState, p: LSTMParams) -> tuple[LSTMState, LSTMCache]:
    """One step of an LSTM.

    ::

        i = σ(x W_xi + h_prev W_hi + b_i)         input gate
        f = σ(x W_xf + h_prev W_hf + b_f)         forget gate
        g = tanh(x W_xg + h_prev W_hg + b_g)      candidate
        o = σ(x W_xo + h_prev W_ho + b_o)         output gate
        c = f ⊙ c_prev + i ⊙ g                    new cell
        h = o ⊙ tanh(c)                           new output

    Chapter 12. Hochreiter & Schmidhuber (1997); the forget gate from Gers et al. (2000).

    x is (N, D), one row per sequence; h and c are (N, H). Returns the new LSTMState and the cache that
    `lstm_step_backward` needs.

    Examples
    --------
    >>> from gru_lib import LSTMState, lstm_init, lstm_step
    >>> p = lstm_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0
    >>> p.b_f[:] = np.log(3)  # f = 0.75; i = o = 0.5
    >>> p.b_g[:] = np.arctanh(-0.4)  # g = −0.4
    >>> state, cache = lstm_step([[0.0]], LSTMState([[0.0]], [[0.8]]), p)
    >>> state.c.round(6)  # 0.75 · 0.8 − 0.5 · 0.4
    array([[0.4]])
    """
    where = "lstm_step"
    check_instance(where, "p", p, LSTMParams)
    h_prev, c_prev = _pair(where, "state_prev", state_prev)
    x, h_prev, c_prev = check_rows(where, p, x=(x, "D"), h_prev=(h_prev, "H"), c_prev=(c_prev, "H"))
    i = sigmoid_pair(x @ p.W_xi + h_prev @ p.W_hi + p.b_i)
    f = sigmoid_pair(x @ p.W_xf + h_prev @ p.W_hf + p.b_f)
    g = np.tanh(x @ p.W_xg + h_prev @ p.W_hg + p.b_g)
    o = sigmoid_pair(x @ p.W_xo + h_prev @ p.W_ho + p.b_o)
    c = f[0] * c_prev + i[0] * g
    tanh_c = np.tanh(c)
    return LSTMState(o[0] * tanh_c, c), LSTMCache(x, h_prev, c_prev, i, f, g, o, tanh_c)


def lstm_step_backward(dstate: LSTMState, cache: LSTMCache, p: LSTMParams) -> tuple[Array, LSTMState, LSTMParams]:
    """Backward through one step: from dh = ∂L/∂h and dc = ∂L/∂c to the gradients of everything that went in.

    ::

        dc  ← dc + dh ⊙ o ⊙ (1 − tanh²(c))
        da_i = dc ⊙ g ⊙ i ⊙ (1 − i),        da_f = dc ⊙ c_prev ⊙ f ⊙ (1 − f)
        da_g = dc ⊙ i ⊙ (1 − g²),           da_o = dh ⊙ tanh(c) ⊙ o ⊙ (1 − o)

        dc_prev = dc ⊙ f
        dh_prev = da_i W_hiᵀ + da_f W_hfᵀ + da_g W_hgᵀ + da_o W_hoᵀ
        dx      = da_i W_xiᵀ + da_f W_xfᵀ + da_g W_xgᵀ + da_o W_xoᵀ
        dW_xi = xᵀ da_i,   dW_hi = h_prevᵀ da_i,   db_i = Σ da_i      (sum over the rows; f, g, o alike)

    dstate holds dh and dc, both (N, H). Returns dx (N, D), dstate_prev with dh_prev and dc_prev, and the gradient of
    each parameter under its name.

    Examples
    --------
    >>> from gru_lib import cells
    >>> p = cells.lstm_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0
    >>> p.b_f[:] = np.log(3)  # f = 0.75
    >>> before = cells.LSTMState(h=[[0.0]], c=[[0.8]])
    >>> state, cache = cells.lstm_step([[0.0]], before, p)
    >>> dstate = cells.LSTMState(h=[[0.0]], c=[[1.0]])
    >>> dx, dbefore, grads = cells.lstm_step_backward(dstate, cache, p)
    >>> dbefore.c.round(6), grads.b_f.round(6)  # f, and 0.8 f (1 − f)
    (array([[0.75]]), array([0.15]))
    """
    where = "lstm_step_backward"
    check_instance(where, "p", p, LSTMParams)
    check_cache(where, cache, LSTMCache, p)
    x, h_prev, c_prev, (i, not_i), (f, not_f), g, (o, not_o), tanh_c = cache
    dh, dc = _pair(where, "dstate", dstate)
    dh, dc = check_rows(where, p, N=len(x), dh=(dh, "H"), dc=(dc, "H"))

    dc = dc + dh * o * (1 - tanh_c * tanh_c)
    da_i = dc * g * i * not_i
    da_f = dc * c_prev * f * not_f
    da_g = dc * i * (1 - g * g)
    da_o = dh * tanh_c * o * not_o

    da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)  # (N, 4H), as the fused weights
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W_x[:], grads.W_h[:] = x.T @ da, h_prev.T @ da
    if p.bias:
        grads.b[:] = da.sum(axis=0)
    return da @ p.W_x.T, LSTMState(da @ p.W_h.T, dc * f), grads


def _pair(where: str, name: str, state: Any) -> LSTMState:
    """Return a state as LSTMState; without a state both halves are None."""
    if state is None:
        return LSTMState(None, None)
    if not isinstance(state, tuple | list) or len(state) != 2:
        raise TypeError(f"{where}: {name} must be an LSTMState(h, c); got {type(state).__name__}.")
    return LSTMState(*state)


# -------------------------------------------------------------------------------------- the whole sequence, to run
#
# The numbers are those of T calls of lstm_step. Inside, the batch is the last axis: what is (N, H) above is (H, N) now,
# and a product with weights W is Wᵀ times the state. Chapter 11 says why, and what else is done to be fast.


@short_repr
class LSTMTape(NamedTuple):
    """What `lstm_backward` needs from the forward pass. Backward may be called more than once."""

    x: Array  # (T, N, D), or (T, N, D + 1) with an input that is always 1, whose weight is the bias
    hs: Array  # (T + 1, N, H): h_0 … h_T
    c: Array  # (T + 1, N, H): c_0 … c_T
    h_mask: Array | None  # (T, N, H), what the recurrent connection was multiplied by
    mask: Array | None  # (T, N), True where a step is real
    i: tuple[Array, Array]  # (T, H, N), and so all that follow; the pairs are a gate and 1 minus it
    f: tuple[Array, Array]
    g: Array
    o: tuple[Array, Array]
    tanh_c: Array
    made: Signature  # of the parameters

    def gate(self, name: str) -> Array:
        """Return "i", "f", "g", "o" or "c" of every step, (T, N, H), for looking at. Padding holds what x = 0 gives."""
        check_choice("LSTMTape.gate", "name", name, ("i", "f", "g", "o", "c"))
        if name == "c":
            return self.c[1:].copy()
        return batch_first(self.g if name == "g" else getattr(self, name)[0]).copy()


def lstm_forward(
    xs: ArrayLike, state0: LSTMState | None, p: LSTMParams, *, lengths: MaybeArray = None, h_mask: MaybeArray = None
) -> tuple[Array, LSTMState, LSTMTape]:
    """Run an LSTM over sequences: `lstm_step` for t = 1 … T.

    Arguments and results as in `gru_forward`, with state0 and state_T as LSTMState; either half of state0 may be None.

    Examples
    --------
    >>> from gru_lib import lstm_forward, lstm_init
    >>> rng = np.random.default_rng(0)
    >>> p, xs = lstm_init(rng, D=3, H=5), rng.normal(size=(4, 2, 3))
    >>> hs, state_T, tape = lstm_forward(xs, None, p)
    >>> np.array_equal(hs[-1], state_T.h)
    True
    >>> np.array_equal(tape.c[-1], state_T.c)
    True
    >>> tape.gate("f").shape
    (4, 2, 5)
    """
    where = "lstm_forward"
    check_instance(where, "p", p, LSTMParams)
    h0, c0 = _pair(where, "state0", state0)
    xs, (h0, c0), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"), c0=(c0, "H"))
    h_mask = recurrent_mask(where, h_mask, xs, p, dtype)
    (T, N, _), H, weights = xs.shape, p.H, (p.W_x, p.W_h, p.b if p.bias else p.W_x)
    # With g last, one call is enough for the three gates.
    W_x, W_h, b = (np.concatenate((W[..., : 2 * H], W[..., 3 * H :], W[..., 2 * H : 3 * H]), axis=-1) for W in weights)
    W_h = W_h.T.copy()

    x, a = inputs(xs, W_x, b if p.bias else None, dtype)
    hs, cs, ifo, tanh_c = (np.empty((T + more, K, N), dtype) for more, K in ((1, H), (1, H), (0, 3 * H), (0, H)))
    i, f, o = (ifo[:, k * H : (k + 1) * H] for k in range(3))
    not_i, not_f, not_o, g = (a[:, k * H : (k + 1) * H] for k in range(4))
    pairs = (i, not_i), (f, not_f), g, (o, not_o)
    tape = LSTMTape(x, batch_first(hs), batch_first(cs), h_mask, mask, *pairs, tanh_c, sign(where, p))

    hs[0], cs[0] = h0.T, c0.T
    steps = zip(hs[:-1], hs[1:], cs[:-1], cs[1:], a, a[:, : 3 * H], ifo, i, f, o, g, tanh_c, strict=True)
    for t, (h_prev, h, c_prev, c, a, a_ifo, ifo, i, f, o, g, tanh_c) in enumerate(steps):
        a += np.dot(W_h, h_prev if h_mask is None else h_mask[t].T * h_prev)
        sigmoids(a_ifo, ifo)  # where a_i, a_f and a_o were, 1 − i, 1 − f and 1 − o are now
        np.tanh(g, out=g)  # where a_g was
        np.multiply(f, c_prev, out=c)
        c += i * g
        np.tanh(c, out=tanh_c)
        np.multiply(o, tanh_c, out=h)
        if mask is not None:
            np.copyto(h, h_prev, where=~mask[t])
            np.copyto(c, c_prev, where=~mask[t])
    return outputs(tape.hs[1:], mask), LSTMState(tape.hs[-1].copy(), tape.c[-1].copy()), tape


def lstm_backward(
    dhs: MaybeArray, dstate_T: LSTMState | None, tape: LSTMTape, p: LSTMParams
) -> tuple[Array, LSTMState, LSTMParams]:
    """Backpropagation through time: `lstm_step_backward` for t = T … 1, parameters' gradients summed over t.

    Arguments and results as in `gru_backward`, with dstate_T and dstate0 as LSTMState; either half may be None.

    Examples
    --------
    >>> from gru_lib import cells, gradcheck
    >>> xs = np.ones((4, 2, 3))
    >>> p = cells.lstm_init(np.random.default_rng(0), D=3, H=5)
    >>> hs, state_T, tape = cells.lstm_forward(xs, None, p)
    >>> back = cells.lstm_backward(np.ones_like(hs), None, tape, p)
    >>> loss = lambda p: cells.lstm_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where = "lstm_backward"
    check_tape(where, tape, LSTMTape, p, LSTMParams)
    x, hs, cs, h_mask, mask, (i, not_i), (f, not_f), g, (o, not_o), tanh_c, _ = tape
    dh_T, dc_T = _pair(where, "dstate_T", dstate_T)
    dhs, dstates, dtype = begin_backward(where, p, hs, mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"), dc_T=(dc_T, "H"))
    T, N, H = dhs.shape
    W_h = p.W_h.copy()

    grads, dxs, (dh, dc) = p.zeros_like(dtype), np.empty((T, N, p.D), dtype), (d.T.copy() for d in dstates)
    for now in spans(T, N, H):
        # The factors by which dc becomes da_i, da_f and da_g, dh becomes da_o, and dh goes into dc.
        c_prev, keep, slope_c = batch_last(cs[:-1][now]), f[now], 1 - tanh_c[now] * tanh_c[now]
        of_ifg = np.empty((len(keep), 3, H, N), hs.dtype)
        of_ifg[:, 0], of_ifg[:, 1] = g[now] * i[now] * not_i[now], c_prev * keep * not_f[now]
        of_ifg[:, 2] = i[now] * (1 - g[now] * g[now])
        of_o, of_c = tanh_c[now] * o[now] * not_o[now], o[now] * slope_c
        if mask is not None:  # a padded step: no gradient to the gates, all of dh and dc to the step before
            real = mask[now, None]
            keep, of_o, of_c, of_ifg = np.where(real, keep, 1), real * of_o, real * of_c, real[:, None] * of_ifg
        da = np.empty((len(keep), 4, H, N), dtype)  # da_i, da_f, da_g, da_o
        side_by_side = da.reshape(len(da), 4 * H, N)
        steps = backwards(now, batch_last(dhs[now]), of_o, of_c, of_ifg, keep, da[:, :3], da[:, 3], side_by_side)
        for t, dh_out, of_o, of_c, of_ifg, keep, da_ifg, da_o, da_all in steps:
            dh += dh_out
            np.multiply(dh, of_o, out=da_o)
            dc += dh * of_c
            np.multiply(dc, of_ifg, out=da_ifg)
            dc *= keep
            dh_prev = np.dot(W_h, da_all)
            if h_mask is not None:
                dh_prev *= h_mask[t].T
            dh = dh_prev if mask is None else np.where(mask[t], dh_prev, dh)

        seen = hs[:-1][now] if h_mask is None else h_mask[now] * hs[:-1][now]
        da = columns(side_by_side)  # for one product over all steps of the span
        dxs[now] = dinputs(da, x[now], p, grads)
        grads.W_h[:] += (da @ rows(seen)).T
    return dxs, LSTMState(dh.T.copy(), dc.T.copy()), grads


def _infer(
    xs: ArrayLike, state0: LSTMState | None, p: LSTMParams, *, lengths: MaybeArray = None
) -> tuple[Array, LSTMState]:
    """`lstm_forward` without a tape."""
    h0, c0 = _pair("infer", "state0", state0)
    xs, (h0, c0), mask, dtype = begin("infer", p, xs, lengths, h0=(h0, "H"), c0=(c0, "H"))
    if len(xs) == 1 and mask is None:
        state, _ = lstm_step(xs[0], LSTMState(h0, c0), p)
        return state.h[None].copy(), state
    return by_spans(lstm_forward, xs, LSTMState(h0.astype(dtype), c0.astype(dtype)), p, mask, dtype)


register_cell(
    Cell(
        LSTMParams, lstm_step, lstm_step_backward, lstm_forward, lstm_backward, infer=_infer,
        zeros=lambda p, N, dtype: LSTMState(np.zeros((N, p.H), dtype), np.zeros((N, p.H), dtype)),
    )
)  # fmt: skip
