"""The Gated Recurrent Unit: one step to read, the whole sequence to run, each with its backward beside it.

Chapter 4 derives the forward pass, chapter 5 the backward pass; the letters are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_bool, check_cache, check_choice, check_dtype, check_instance, check_int
from gru_lib.ops import sigmoid_pair
from gru_lib.params import Params, draw_gates, gate_layout
from gru_lib.passes import backwards, batch_first, batch_last, by_spans, columns, dinputs, inputs, sigmoids, spans
from gru_lib.sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = [
    "GRUCache", "GRUParams", "GRUTape", "gru_backward", "gru_forward", "gru_init", "gru_step", "gru_step_backward",
]  # fmt: skip


class GRUParams(Params):
    """Parameters of a GRU, gates in the order r, z, n. Without bias the b are 0.0."""

    D: int
    H: int
    reset_after: bool  # where the reset gate acts
    bias: bool
    convention: str  # "keep" or "write": which share z is
    W_x: Array  # (D, 3H), side by side:
    W_xr: Array
    W_xz: Array
    W_xn: Array
    W_h: Array  # (H, 3H), side by side:
    W_hr: Array
    W_hz: Array
    W_hn: Array
    b: Array  # (3H,), side by side:
    b_r: Array
    b_z: Array
    b_n: Array
    b_hn: Array  # (H,), inside the reset gate; 0.0 unless `reset_after`

    def __init__(
        self,
        D: int,
        H: int,
        *,
        reset_after: bool = False,
        bias: bool = True,
        convention: str = "keep",
        dtype: DTypeLike = np.float64,
        flat: Array | None = None,
    ) -> None:
        where = "gru_init"
        D, H, dtype = check_int(where, "D", D), check_int(where, "H", H), check_dtype(where, dtype)
        check_choice(where, "convention", convention, ("keep", "write"))
        bias, reset_after = check_bool(where, "bias", bias), check_bool(where, "reset_after", reset_after)
        more = {"b_hn": (H,)} if bias and reset_after else {}
        options = {"D": D, "H": H, "reset_after": reset_after, "bias": bias, "convention": convention}
        options |= {} if more else {"b_hn": 0.0}
        super().__init__(**gate_layout({"r": 0, "z": 1, "n": 2}, options, more), dtype=dtype, flat=flat)


def gru_init(
    rng: np.random.Generator,
    D: int,
    H: int,
    *,
    reset_after: bool = False,
    bias: bool = True,
    convention: str = "keep",
    dtype: DTypeLike = np.float64,
) -> GRUParams:
    """Draw the parameters of a GRU: weights uniform in ±1/√H, biases 0.

    Parameters
    ----------
    D, H
        Sizes of the input and of the state.
    reset_after
        False: n = tanh(x W_xn + (r ⊙ h_prev) W_hn + b_n), as Cho et al. (2014) and this book.
        True: n = tanh(x W_xn + b_n + r ⊙ (h_prev W_hn + b_hn)), as PyTorch, cuDNN and Keras.
    bias
        Whether there are biases. A second bias on r or z would only be added to the first.
    convention
        "keep": h = z ⊙ h_prev + (1 − z) ⊙ n.  "write": h = (1 − z) ⊙ h_prev + z ⊙ n.
    dtype
        float32, float64, complex64 or complex128.

    Examples
    --------
    >>> from gru_lib import gru_init
    >>> p = gru_init(np.random.default_rng(0), D=3, H=5)
    >>> p.W_xr.shape, p.W_hr.shape, p.b_r.shape
    ((3, 5), (5, 5), (5,))
    >>> p.size == 3 * (3 * 5 + 5 * 5 + 5)
    True
    """
    check_instance("gru_init", "rng", rng, np.random.Generator)
    p = GRUParams(D, H, reset_after=reset_after, bias=bias, convention=convention, dtype=dtype)
    return draw_gates(p, rng)


# ------------------------------------------------------------------------------------------------ one step, to read


@short_repr
class GRUCache(NamedTuple):
    """What `gru_step_backward` needs from the step. All but x are (N, H)."""

    x: Array  # (N, D)
    h_prev: Array
    r: Array
    not_r: Array  # 1 − r, accurate when r is near 1
    z: Array
    not_z: Array  # 1 − z, accurate when z is near 1
    n: Array
    q: Array  # what the reset gate made: r ⊙ h_prev (before), or what it multiplies: h_prev W_hn + b_hn (after)


def gru_step(x: ArrayLike, h_prev: ArrayLike, p: GRUParams) -> tuple[Array, GRUCache]:
    """One step of a GRU.

    ::

        r = σ(x W_xr + h_prev W_hr + b_r)                    reset gate
        z = σ(x W_xz + h_prev W_hz + b_z)                    update gate
        n = tanh(x W_xn + (r ⊙ h_prev) W_hn + b_n)           candidate, reset before
        n = tanh(x W_xn + b_n + r ⊙ (h_prev W_hn + b_hn))    candidate, reset after
        h = z ⊙ h_prev + (1 − z) ⊙ n                         new state, "keep"
        h = (1 − z) ⊙ h_prev + z ⊙ n                         new state, "write"

    Chapter 4. Cho et al. (2014), arXiv:1406.1078, "keep", reset before.

    Parameters
    ----------
    x : array (N, D)
        Input, one row per sequence.
    h_prev : array (N, H)
        State before the step.
    p : GRUParams

    Returns
    -------
    h : array (N, H)
        State after the step.
    cache : GRUCache
        What `gru_step_backward` needs.

    Examples
    --------
    >>> from gru_lib import gru_init, gru_step
    >>> p = gru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0
    >>> p.b_z[:] = np.log(3)  # z = 0.75
    >>> p.b_n[:] = np.arctanh(-0.4)  # n = −0.4
    >>> h, cache = gru_step([[0.0]], [[0.8]], p)
    >>> h.round(6)  # 0.75 · 0.8 − 0.25 · 0.4
    array([[0.5]])
    """
    check_instance("gru_step", "p", p, GRUParams)
    x, h_prev = check_rows("gru_step", p, x=(x, "D"), h_prev=(h_prev, "H"))
    r, not_r = sigmoid_pair(x @ p.W_xr + h_prev @ p.W_hr + p.b_r)
    z, not_z = sigmoid_pair(x @ p.W_xz + h_prev @ p.W_hz + p.b_z)
    if p.reset_after:
        q = h_prev @ p.W_hn + p.b_hn
        n = np.tanh(x @ p.W_xn + p.b_n + r * q)
    else:
        q = r * h_prev
        n = np.tanh(x @ p.W_xn + q @ p.W_hn + p.b_n)
    keep, write = (z, not_z) if p.convention == "keep" else (not_z, z)
    h = keep * h_prev + write * n
    return h, GRUCache(x, h_prev, r, not_r, z, not_z, n, q)


def gru_step_backward(dh: ArrayLike, cache: GRUCache, p: GRUParams) -> tuple[Array, Array, GRUParams]:
    """Backward through one step: from dh = ∂L/∂h to the gradients of x, h_prev and every parameter.

    ::

        da_z = dh ⊙ (h_prev − n) ⊙ z ⊙ (1 − z)               "keep"; the sign turns for "write"
        da_n = dh ⊙ (1 − z) ⊙ (1 − n²)                       "keep"; z in place of 1 − z for "write"
        dq   = da_n W_hnᵀ,    dr = dq ⊙ h_prev               reset before
        dq   = da_n ⊙ r,      dr = da_n ⊙ q                  reset after
        da_r = dr ⊙ r ⊙ (1 − r)

        dh_prev = dh ⊙ z + da_z W_hzᵀ + da_r W_hrᵀ + dq ⊙ r       reset before
        dh_prev = dh ⊙ z + da_z W_hzᵀ + da_r W_hrᵀ + dq W_hnᵀ     reset after
        dx      = da_r W_xrᵀ + da_z W_xzᵀ + da_n W_xnᵀ

        dW_xr = xᵀ da_r,       dW_xz = xᵀ da_z,       dW_xn = xᵀ da_n
        dW_hr = h_prevᵀ da_r,  dW_hz = h_prevᵀ da_z,  dW_hn = (r ⊙ h_prev)ᵀ da_n  or  h_prevᵀ dq
        db_r = Σ da_r,   db_z = Σ da_z,   db_n = Σ da_n,   db_hn = Σ dq       (sums over the rows)

    Chapter 5. With "write", reset before and no bias these are equations (8) to (24) of ai-edu, section 20.3.

    Parameters
    ----------
    dh : array (N, H)
        Gradient of the loss in the step's output.
    cache : GRUCache
        From `gru_step`.
    p : GRUParams
        The same parameters as in the forward step.

    Returns
    -------
    dx : array (N, D)
    dh_prev : array (N, H)
    grads : GRUParams
        Gradient of each parameter, under the parameter's name.

    Examples
    --------
    >>> from gru_lib import gru_init, gru_step, gru_step_backward
    >>> p = gru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0
    >>> p.b_z[:] = np.log(3)  # z = 0.75
    >>> p.b_n[:] = np.arctanh(-0.4)  # n = −0.4
    >>> h, cache = gru_step([[0.0]], [[0.8]], p)
    >>> dx, dh_prev, grads = gru_step_backward([[1.0]], cache, p)
    >>> dh_prev.round(6), grads.b_z.round(6)  # z, and (0.8 + 0.4) z (1 − z)
    (array([[0.75]]), array([0.225]))
    """
    check_instance("gru_step_backward", "p", p, GRUParams)
    check_cache("gru_step_backward", cache, GRUCache, p)
    x, h_prev, r, not_r, z, not_z, n, q = cache
    (dh,) = check_rows("gru_step_backward", p, N=len(x), dh=(dh, "H"))
    keep, write, sign = (z, not_z, 1) if p.convention == "keep" else (not_z, z, -1)

    da_z = sign * dh * (h_prev - n) * z * not_z
    da_n = dh * write * (1 - n * n)
    if p.reset_after:
        dq = da_n * r
        dr = da_n * q
    else:
        dq = da_n @ p.W_hn.T
        dr = dq * h_prev
    da_r = dr * r * not_r

    dh_prev = dh * keep + da_z @ p.W_hz.T + da_r @ p.W_hr.T + (dq @ p.W_hn.T if p.reset_after else dq * r)
    dx = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T

    g = p.zeros_like(dx.dtype)
    g.W_xr[:], g.W_xz[:], g.W_xn[:] = x.T @ da_r, x.T @ da_z, x.T @ da_n
    g.W_hr[:], g.W_hz[:] = h_prev.T @ da_r, h_prev.T @ da_z
    g.W_hn[:] = h_prev.T @ dq if p.reset_after else q.T @ da_n
    if p.bias:
        g.b_r[:], g.b_z[:], g.b_n[:] = da_r.sum(axis=0), da_z.sum(axis=0), da_n.sum(axis=0)
    if p.bias and p.reset_after:
        g.b_hn[:] = dq.sum(axis=0)
    return dx, dh_prev, g


# -------------------------------------------------------------------------------------- the whole sequence, to run
#
# The numbers are those of T calls of gru_step. Inside, the batch is the last axis: what is (N, H) above is (H, N) now,
# and a product with weights W is Wᵀ times the state. Chapter 11 says why, and what else is done to be fast.


@short_repr
class GRUTape(NamedTuple):
    """What `gru_backward` needs from the forward pass. Backward may be called more than once."""

    x: Array  # (T, N, D), or (T, N, D + 1) with an input that is always 1, whose weight is the bias
    hs: Array  # (T + 1, N, H): h_0 … h_T
    h_mask: Array | None  # (T, N, H), what the recurrent connection was multiplied by
    mask: Array | None  # (T, N), True where a step is real
    r: Array  # (T, H, N), and so all that follow: as in `GRUCache`
    not_r: Array
    z: Array
    not_z: Array
    n: Array
    q: Array
    made: Signature  # of the parameters

    def gate(self, name: str) -> Array:
        """Return "r", "z" or "n" of every step, (T, N, H), for looking at. A padded step keeps all of its state."""
        check_choice("GRUTape.gate", "name", name, ("r", "z", "n"))
        return batch_first(getattr(self, name)).copy()


def gru_forward(
    xs: ArrayLike, h0: MaybeArray, p: GRUParams, *, lengths: MaybeArray = None, h_mask: MaybeArray = None
) -> tuple[Array, Array, GRUTape]:
    """Run a GRU over sequences: `gru_step` for t = 1 … T.

    Chapters 4 and 11. Outputs and gradients have the dtype that the inputs and parameters promote to.

    Parameters
    ----------
    xs : array (T, N, D)
        Inputs, time first.
    h0 : array (N, H), or None for zeros
        State before the first step.
    p : GRUParams
    lengths : integers (N,), optional
        Steps of each sequence that are real, in 0..T; the rest is padding. A padded step carries the state and
        outputs zero. Whatever the padding holds, NaN included, changes no bit of any result.
    h_mask : array (N, H) or (T, N, H), optional
        Recurrent dropout: the gates and the candidate see h_mask ⊙ h_prev; what z carries over is h_prev itself.
        See `gru_lib.layers.dropout`.

    Returns
    -------
    hs : array (T, N, H)
        State after each step; zero where padded.
    h_T : array (N, H)
        State after the last real step.
    tape : GRUTape
        What `gru_backward` needs.

    Examples
    --------
    >>> from gru_lib import gru_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p, xs = gru_init(rng, D=3, H=5), rng.normal(size=(4, 2, 3))
    >>> hs, h_T, tape = gru_forward(xs, None, p, lengths=[4, 2])
    >>> np.array_equal(h_T[1], hs[1, 1])  # the last real step's
    True
    >>> hs.shape, tape.gate("z").shape
    ((4, 2, 5), (4, 2, 5))
    """
    where = "gru_forward"
    check_instance(where, "p", p, GRUParams)
    xs, (h0,), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"))
    h_mask = recurrent_mask(where, h_mask, xs, p, dtype)
    (T, N, _), H = xs.shape, p.H
    W_rz, W_hn, b_hn = p.W_h[:, : 2 * H].T.copy(), p.W_hn.T.copy(), np.empty((H, N), dtype)
    b_hn.T[:] = p.b_hn

    x, a = inputs(xs, p.W_x, p.b if p.bias else None, dtype)
    hs, rz, q = (np.empty(shape, dtype) for shape in ((T + 1, H, N), (T, 2 * H, N), (T, H, N)))
    r, z, not_r, not_z, n = rz[:, :H], rz[:, H:], a[:, :H], a[:, H : 2 * H], a[:, 2 * H :]
    tape = GRUTape(x, batch_first(hs), h_mask, mask, r, not_r, z, not_z, n, q, sign(where, p))

    hs[0] = h0.T
    steps = zip(hs[:-1], hs[1:], a[:, : 2 * H], rz, r, z, not_z, n, q, strict=True)
    for t, (h_prev, h, a_rz, rz, r, z, not_z, n, q) in enumerate(steps):
        seen = h_prev if h_mask is None else h_mask[t].T * h_prev
        a_rz += np.dot(W_rz, seen)
        sigmoids(a_rz, rz)  # where a_r and a_z were, 1 − r and 1 − z are now; n too is written where a_n was
        if p.reset_after:
            np.add(np.dot(W_hn, seen), b_hn, out=q)
            n += r * q
        else:
            np.multiply(r, seen, out=q)
            n += np.dot(W_hn, q)
        np.tanh(n, out=n)
        keep, write = (z, not_z) if p.convention == "keep" else (not_z, z)
        if mask is not None:
            keep[:, ~mask[t]], write[:, ~mask[t]] = 1, 0
        np.multiply(keep, h_prev, out=h)
        h += write * n
    return outputs(tape.hs[1:], mask), tape.hs[-1].copy(), tape


def gru_backward(dhs: MaybeArray, dh_T: MaybeArray, tape: GRUTape, p: GRUParams) -> tuple[Array, Array, GRUParams]:
    """Backpropagation through time: `gru_step_backward` for t = T … 1, the parameters' gradients summed over t.

    Parameters
    ----------
    dhs : array (T, N, H), or None for zeros
        Gradient of the loss in each output. What it holds in padding is ignored.
    dh_T : array (N, H), or None for zeros
        Gradient of the loss in the final state, beside what `dhs` says of it.
    tape : GRUTape
        From `gru_forward`.
    p : GRUParams
        Those of the forward pass, or a copy. Others, or changed ones, raise ValueError.

    Returns
    -------
    dxs : array (T, N, D)
        Zero where padded.
    dh0 : array (N, H)
    grads : GRUParams

    Examples
    --------
    >>> from gru_lib import gradcheck, gru_backward, gru_forward, gru_init
    >>> xs = np.ones((4, 2, 3))
    >>> p = gru_init(np.random.default_rng(0), D=3, H=5)
    >>> hs, h_T, tape = gru_forward(xs, None, p)
    >>> dxs, dh0, grads = gru_backward(None, np.ones((2, 5)), tape, p)
    >>> loss = lambda p: gru_forward(xs, None, p)[1].sum()
    >>> gradcheck(loss, p, grads).worst < 1e-9
    True
    """
    where, after = "gru_backward", getattr(p, "reset_after", False)
    check_tape(where, tape, GRUTape, p, GRUParams)
    hs, h_mask = tape.hs, tape.h_mask
    dhs, (dh_T,), dtype = begin_backward(where, p, hs, tape.mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    T, N, H = dhs.shape
    W_rz, W_hn = p.W_h[:, : 2 * H].copy(), p.W_hn.copy()
    W_back = np.concatenate((W_hn, W_rz), axis=1) if after else W_rz  # what is one product on the way back

    g, dxs, dh = p.zeros_like(dtype), np.empty((T, N, p.D), dtype), dh_T.T.copy()
    for now in spans(T, N, H):
        h_prev, dh_outs = batch_last(hs[:-1][now]), batch_last(dhs[now])
        r, not_r, z, not_z, n, q = (a[now] for a in (tape.r, tape.not_r, tape.z, tape.not_z, tape.n, tape.q))
        seen = h_prev if h_mask is None else batch_last(h_mask[now]) * h_prev
        keep, write, change = (z, not_z, h_prev - n) if p.convention == "keep" else (not_z, z, n - h_prev)
        # What dh is multiplied by to give da_z and da_n, and dq to give da_r, for all steps of the span at once. If the
        # reset gate acts after the product, dq and da_r are dh times a factor too, and dq comes first.
        of, da = np.empty((2, len(n), 3 + after, H, N), dtype)  # of da_r, da_z, da_n of each step; and these
        of_r, of_z, of_n = of[:, -3], of[:, -2], of[:, -1]
        np.multiply(change * z, not_z, out=of_z)
        np.multiply(write, 1 - n * n, out=of_n)
        np.multiply(r * not_r, q * of_n if after else seen, out=of_r)
        side_by_side = da.reshape(len(n), (3 + after) * H, N)
        if after:
            np.multiply(r, of_n, out=of[:, 0])
            steps = backwards(now, dh_outs, of, keep, da, side_by_side[:, : 3 * H])
            for t, dh_out, of_all, kept, da_all, dq_r_z in steps:
                dh += dh_out
                np.multiply(dh, of_all, out=da_all)
                dseen = np.dot(W_back, dq_r_z)
                dh *= kept
                dh += dseen if h_mask is None else dseen * h_mask[t].T
        else:
            das = da[:, 0], da[:, 1:], da[:, 2], side_by_side[:, : 2 * H]
            steps = backwards(now, dh_outs, of_r, of[:, 1:], keep, r, *das)
            for t, dh_out, of_dq, of_dh, kept, r_t, da_r, da_zn, da_n, da_rz in steps:
                dh += dh_out
                np.multiply(dh, of_dh, out=da_zn)
                dq = np.dot(W_hn, da_n)
                np.multiply(dq, of_dq, out=da_r)
                dseen = np.dot(W_back, da_rz)
                dseen += dq * r_t
                dh *= kept
                dh += dseen if h_mask is None else dseen * h_mask[t].T

        da, seen = columns(side_by_side), rows(batch_first(seen))  # for one product over all steps of the span
        dxs[now] = dinputs(da[-3 * H :], tape.x[now], p, g)
        g.W_h[:, : 2 * H] += (da[-3 * H : -H] @ seen).T
        g.W_hn[:] += (da[:H] @ seen if after else da[-H:] @ columns(q).T).T
        if p.bias and after:
            g.b_hn[:] += da[:H].sum(axis=1)
    return dxs, dh.T.copy(), g


def _infer(xs: ArrayLike, h0: MaybeArray, p: GRUParams, *, lengths: MaybeArray = None) -> tuple[Array, Array]:
    """`gru_forward` without a tape."""
    xs, (h0,), mask, dtype = begin("infer", p, xs, lengths, h0=(h0, "H"))
    if len(xs) == 1 and mask is None:
        h, _ = gru_step(xs[0], h0, p)
        return h[None], h.copy()
    return by_spans(gru_forward, xs, h0.astype(dtype), p, mask, dtype)


register_cell(Cell(GRUParams, gru_step, gru_step_backward, gru_forward, gru_backward, infer=_infer))
