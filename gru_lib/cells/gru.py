"""The Gated Recurrent Unit: one step to read, the whole sequence to run, each with its backward beside it.

Chapter 4 derives the forward pass, chapter 5 the backward pass; the letters are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._core.buffers import Loan, empty
from gru_lib._core.checks import check_choice, check_instance, check_int
from gru_lib._core.params import Params
from gru_lib._core.products import times
from gru_lib._core.sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.cells._gru_arrays import Factors, Reserve, Span, Workspace, batch_first, batch_last, blocks
from gru_lib.cells.registry import Cell, register_cell
from gru_lib.ops import sigmoid_pair

__all__ = [
    "GRUCache",
    "GRUParams",
    "GRUTape",
    "gru_backward",
    "gru_forward",
    "gru_init",
    "gru_step",
    "gru_step_backward",
]

Array = NDArray[Any]


class GRUParams(Params):
    """Parameters of a GRU, gates in the order r, z, n.

    Attributes
    ----------
    W_x : array (D, 3H), the columns of W_xr, W_xz, W_xn
    W_h : array (H, 3H), the columns of W_hr, W_hz, W_hn
    b : array (3H,), the pieces b_r, b_z, b_n (0.0 without bias)
    b_hn : array (H,), the bias inside the reset gate; only with `reset_after` (else 0.0)
    D, H : sizes of input and state
    reset_after : bool, where the reset gate acts
    convention : "keep" or "write", which share z is
    """


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
    rng
        Source of randomness.
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
        float32 or float64.

    Returns
    -------
    GRUParams

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, a size is below 1, or the convention is unknown.
    """
    check_instance("gru_init", "rng", rng, np.random.Generator)
    D, H = check_int("gru_init", "D", D), check_int("gru_init", "H", H)
    check_choice("gru_init", "convention", convention, ("keep", "write"))
    shapes: dict[str, tuple[int, ...]] = {"W_x": (D, 3 * H), "W_h": (H, 3 * H)}
    options = {"D": D, "H": H, "reset_after": bool(reset_after), "bias": bool(bias), "convention": convention}
    columns = {"r": np.s_[..., :H], "z": np.s_[..., H : 2 * H], "n": np.s_[..., 2 * H :]}
    parts = {f"W_{a}{gate}": (f"W_{a}", where) for a in "xh" for gate, where in columns.items()}
    if bias:
        shapes["b"] = (3 * H,)
        parts |= {f"b_{gate}": ("b", where) for gate, where in columns.items()}
    else:
        options |= dict.fromkeys(("b", "b_r", "b_z", "b_n"), 0.0)
    if bias and reset_after:
        shapes["b_hn"] = (H,)
    else:
        options["b_hn"] = 0.0
    p = GRUParams(shapes, parts=parts, options=options, dtype=dtype)
    p.W_x[:] = rng.uniform(-1, 1, p.W_x.shape) / np.sqrt(H)
    p.W_h[:] = rng.uniform(-1, 1, p.W_h.shape) / np.sqrt(H)
    return p


# ------------------------------------------------------------------------------------------------ one step, to read


class GRUCache(NamedTuple):
    """What `gru_step_backward` needs of the step. All (N, H) but x."""

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

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape.

    Notes
    -----
    Chapter 4. Cho et al. (2014), arXiv:1406.1078, "keep", reset before.
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

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape.

    Notes
    -----
    Chapter 5. With "write", reset before and no bias these are equations (8) to (24) of ai-edu, section 20.3.
    """
    check_instance("gru_step_backward", "p", p, GRUParams)
    check_instance("gru_step_backward", "cache", cache, GRUCache)
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
# Same numbers as T calls of gru_step, faster (chapter 11):
# - Inside, the batch is the last axis: arrays are (H, N), each gate one contiguous slab, and a step is W_hᵀ h.
# - The input's part of all pre-activations comes from one product for all steps. The bias is the weight of one more
#   input, which is always 1.
# - What both gates need is e = exp(−a): s = 1/(1 + e) and 1 − s = s e. So their weights are negated, once. k is the
#   share of h_prev that is kept, z or 1 − z; with e of that gate, h = k h_prev + (1 − k) n is k (h_prev + e n).
# - In backward, all that does not depend on dh is computed for many steps at once, and the weights' gradients are one
#   product over as many steps and sequences.
# - BLAS is given its factors as it reads them fastest: W_h in slabs (_products.py), the weights' gradients transposed.
# - A large batch is cut into blocks of columns, a long sequence into spans of steps: what backward needs for them is
#   small enough to stay in the cache, and to be made again for the next.
# - The arrays, and the pieces of them that the loops go through, are lent from one pass to the next (_gru_arrays.py).


class GRUTape(NamedTuple):
    """What `gru_backward` needs of the forward pass. Backward may be called more than once."""

    hs: Array  # (T + 1, N, H): h_0 … h_T
    mask: Array | None  # (T, N), True where a step is real
    h_mask: Array | None  # (T, N, H), what the recurrent connection was multiplied by
    convention: str
    blocks: tuple[Loan, ...]  # of a Reserve each

    def gate(self, name: str) -> Array:
        """Return "r", "z" or "n" of every step, (T, N, H), for looking at. Padded steps hold what x = 0 gives."""
        check_choice("GRUTape.gate", "name", name, ("r", "z", "n"))
        picked = []
        for b in (block.it for block in self.blocks):
            gate = {"r": b.r, "z": b.k, "n": b.n}[name]
            picked.append(gate * b.e_k if name == "z" and self.convention == "write" else gate)
        return np.concatenate([batch_first(gate) for gate in picked], axis=1)


def gru_forward(
    xs: ArrayLike,
    h0: ArrayLike | None,
    p: GRUParams,
    *,
    lengths: ArrayLike | None = None,
    h_mask: ArrayLike | None = None,
) -> tuple[Array, Array, GRUTape]:
    """Run a GRU over sequences: `gru_step` for t = 1 … T.

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

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape, or a length lies outside 0..T.

    Notes
    -----
    Chapters 4 and 11. Outputs and gradients have the dtype that the inputs and parameters promote to.
    """
    where = "gru_forward"
    check_instance(where, "p", p, GRUParams)
    xs, (h0,), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"))
    h_mask = recurrent_mask(where, h_mask, xs, p, dtype)
    T, N, _ = xs.shape

    hs, lent = empty((T + 1, N, p.H), dtype), []
    for c in blocks(N, p.H):
        lent.append(Loan(Reserve, T, c.stop - c.start, p.D, p.H, dtype, p.bias, p.reset_after, h_mask is not None))
        _forward_block(lent[-1].it, xs[:, c], h0[c], p, *(None if m is None else m[:, c] for m in (mask, h_mask)))
        hs[:, c] = batch_first(lent[-1].it.h)
    return outputs(hs[1:], mask), hs[-1].copy(), GRUTape(hs, mask, h_mask, p.convention, tuple(lent))


def _forward_block(it: Reserve, xs: Array, h0: Array, p: GRUParams, mask: Array | None, h_mask: Array | None) -> None:
    D, H, N = p.D, p.H, len(h0)
    W = np.concatenate((p.W_h, p.W_x, p.b[None]) if p.bias else (p.W_h, p.W_x))
    negated = W[:, : 2 * H if p.convention == "keep" else H]  # "write": k = 1 − σ(a_z) = σ(−a_z), so −a is a_z itself
    np.negative(negated, out=negated)
    W_h, W_x = W[:H].T, W[H:].T  # (3H, H), (3H, K)
    if not p.reset_after:
        W_h_times, W_hn_times = times(W_h[: 2 * H].copy(), N), times(W_h[2 * H :].copy(), N)
    else:
        W_h_times = times(W_h, N)
        if p.bias:
            it.b_hn[:] = p.b_hn[:, None]
    it.x[:, :, :D] = xs
    it.h[0] = h0.T
    if h_mask is not None:
        it.seen[:] = batch_last(h_mask)

    np.matmul(W_x, batch_last(it.x), out=it.a)  # the input's part
    part, part_n, part_rk, part_q = it.part, it.part_n, it.part[: 2 * H], it.part[2 * H :]
    b_hn, highest, one = it.b_hn, it.highest, np.array(1, it.a.dtype)  # NumPy adds an array faster than a number
    for t, (h_prev, h_t, seen_t, e, e_k, rk, r, k, n, q) in enumerate(it.steps()):
        if h_mask is not None:
            seen_t *= h_prev
        W_h_times(seen_t, part)
        e += part_rk  # −a of both gates
        np.exp(np.minimum(e, highest, out=e), out=e)
        np.reciprocal(np.add(e, one, out=rk), out=rk)
        if p.reset_after:
            np.add(part_q, b_hn, out=q)
            n += np.multiply(r, q, out=part_n)
        else:
            n += W_hn_times(np.multiply(r, seen_t, out=q), part_n)
        np.tanh(n, out=n)
        np.multiply(e_k, n, out=h_t)
        h_t += h_prev
        h_t *= k
        if mask is not None:
            np.copyto(h_t, h_prev, where=~mask[t])


def gru_backward(
    dhs: ArrayLike | None, dh_T: ArrayLike | None, tape: GRUTape, p: GRUParams
) -> tuple[Array, Array, GRUParams]:
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
        The same parameters as in the forward pass.

    Returns
    -------
    dxs : array (T, N, D)
        Zero where padded.
    dh0 : array (N, H)
    grads : GRUParams

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape.

    Notes
    -----
    Chapters 5 and 11.
    """
    where = "gru_backward"
    check_instance(where, "p", p, GRUParams)
    check_instance(where, "tape", tape, GRUTape)
    dhs, (dh,), dtype = begin_backward(where, p, tape.hs, tape.mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    T, N, H = dhs.shape
    dxs, dh0 = empty((T, N, p.D), dtype), np.empty((N, H), dtype)
    sums: list[Array] = []
    for c, block in zip(blocks(N, H), tape.blocks, strict=True):
        pieces = (None if m is None else m[:, c] for m in (tape.mask, tape.h_mask))
        dxs[:, c], dh0[c] = _backward_block(dhs[:, c], dh[c], tape.hs[:-1, c], block.it, p, sums, *pieces)
    return dxs, dh0, _gradients(sums, p, dtype)


def _backward_block(
    dhs: Array,
    dh_T: Array,
    h_prev_rows: Array,
    block: Reserve,
    p: GRUParams,
    sums: list[Array],
    mask: Array | None,
    h_mask: Array | None,
) -> tuple[Array, Array]:
    """Return dxs (T, N, D) and dh0 (N, H), and add to sums."""
    (T, N, H), dtype = dhs.shape, dh_T.dtype
    if p.reset_after:  # dq, da_r and da_z lie side by side, so their way back to h_prev is one product
        W_h_times = times(np.concatenate((p.W_hn, p.W_h[:, : 2 * H]), axis=1), N)
    else:
        W_h_times, W_hn_times = times(p.W_h[:, : 2 * H].copy(), N), times(p.W_hn.copy(), N)
    longest = block.spans[0].now if block.spans else slice(0, 0)
    lent = Loan(Workspace, longest.stop - longest.start, N, H, dtype, p.reset_after)
    w, dxs, dhs = lent.it, empty((T, N, p.D), dtype), batch_last(dhs)
    dh, dq, products, by_dq, by_dh, four, back = w.dh, w.dq, w.products, w.by_dq, w.by_dh, w.four, w.back
    dq_r, _, _, da_n, dh_k = products
    dh[:] = dh_T.T
    for span in block.spans:
        start, stop = span.now.start, span.now.stop
        f = _factors(w.factors(stop - start), span, p, mask)
        steps = zip(reversed(range(start, stop)), f.steps(), strict=True)
        for t, (f_t, f_dq, f_dh, gathered) in steps:
            dh += dhs[t]
            if p.reset_after:
                np.multiply(f_t, dh, out=products)
                W_h_times(back, dh)
            else:
                np.multiply(f_dh, dh, out=by_dh)
                np.multiply(f_dq, W_hn_times(da_n, dq), out=by_dq)
                W_h_times(back, dh)
                dh += dq_r
            if h_mask is not None:
                dh *= h_mask[t].T
            dh += dh_k
            gathered[:] = four

        seen = rows(h_prev_rows[span.now] if h_mask is None else h_prev_rows[span.now] * h_mask[span.now])
        c = f.columns  # dq, da_r, da_z, da_n, one below the other
        if p.reset_after:
            _add(sums, c[H:] @ span.x, c[: 3 * H] @ seen, c[:H] @ span.x[:, -1])  # x ends with 1
        else:
            f.columns_q[:] = span.q  # what W_hn multiplied; dq itself is not needed any more
            _add(sums, c[H:] @ span.x, c[H : 3 * H] @ seen, c[3 * H :] @ c[:H].T)
        dxs[span.now] = (p.W_x @ c[H:]).reshape(p.D, -1, N).transpose(1, 2, 0)
    return dxs, dh.T.copy()


def _add(sums: list[Array], *products: Array) -> None:
    """Add products to the sums; the first ones are the sums."""
    if not sums:
        sums.extend(products)
        return
    for total, product in zip(sums, products, strict=True):
        total += product


def _gradients(sums: list[Array], p: GRUParams, dtype: np.dtype) -> GRUParams:
    """Turn the sums round, which are transposed, since so BLAS finds the factors of their products as it likes them.

    They are: da_r, da_z and da_n, one below the other, times the inputs and 1; then, with the reset before, da_r and
    da_z times `seen`, and da_n times q; with the reset after, dq, da_r and da_z times `seen`, and dq times 1.
    """
    if not sums:
        return p.zeros_like(dtype)
    D, H, g = p.D, p.H, p.on(np.empty(p.size, dtype))
    by_x, by_h, last = sums
    g.W_x[:] = by_x[:, :D].T
    if p.bias:
        g.b[:] = by_x[:, D]
    if p.reset_after:
        g.W_h[:, : 2 * H], g.W_h[:, 2 * H :] = by_h[H:].T, by_h[:H].T
        if p.bias:
            g.b_hn[:] = last
    else:
        g.W_h[:, : 2 * H], g.W_h[:, 2 * H :] = by_h.T, last.T
    return g


def _factors(f: Factors, s: Span, p: GRUParams, mask: Array | None) -> Factors:
    """Fill `f` for the steps of `s` and return it.

    dq, da_r, da_z, da_n and the part of dh that k carries back are products of a factor, known before backward begins,
    and of dh (but the first two, with the reset before the product, of dq = da_n W_hnᵀ). These are the factors.
    """
    f.qk[:], f.n[:], f.rz[:] = s.rk, s.n, s.e
    np.subtract(*((s.h_prev, f.n) if p.convention == "keep" else (f.n, s.h_prev)), out=f.scratch)
    f.rz *= f.qk  # 1 − r and 1 − k
    np.subtract(1, np.multiply(f.n, f.n, out=f.n), out=f.n)
    f.n *= f.z
    f.rz *= f.qk
    f.z *= f.scratch
    if p.reset_after:
        f.q *= f.n
        f.r *= np.multiply(s.q, f.n, out=f.scratch)
    else:
        f.r *= s.seen
    if mask is not None:  # a padded step: no gradient to the gates, all of dh to the step before
        f.all *= mask[s.now, None, :]
        f.k += ~mask[s.now, None, :]
    return f


register_cell(GRUParams, Cell(gru_forward, gru_backward, gru_step, gru_step_backward))
