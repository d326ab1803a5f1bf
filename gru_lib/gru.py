"""The Gated Recurrent Unit: one step to read, the whole sequence to run, each with its backward beside it.

Chapter 4 derives the forward pass, chapter 5 the backward pass; the letters are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._buffers import empty
from gru_lib._check import check_choice, check_instance, check_int
from gru_lib._params import Params
from gru_lib._products import columns, times
from gru_lib._sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.ops import lowest_exponent, sigmoid_pair

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


def _blocks(N: int, H: int) -> list[slice]:
    """Cut N sequences into blocks of equal width, each at most 128 wide or, with few units, 2¹⁵ numbers in a state."""
    count = -(-N // max(128, 2**15 // H))
    return [slice(N * i // count, N * (i + 1) // count) for i in range(count)]


def _span(T: int, N: int, H: int) -> int:
    """Steps per span in backward: 384 rows, that is steps times sequences, or with few units 3 · 2¹⁵ numbers."""
    return max(1, min(T, max(384, 3 * 2**15 // H) // max(N, 1)))


class _Block(NamedTuple):
    """One block of sequences, batch last. N is the block's width here."""

    xs: Array  # (T, N, K): the inputs and, with a bias, a last one that is 1; K is D or D + 1
    h: Array  # (T + 1, H, N): h_0 … h_T
    seen: Array  # (T, H, N): what the gates and the candidate see of h_prev; h[:-1] without recurrent dropout
    gates: Array  # (T, 2, H, N): r and k
    rest: Array  # (T, 3, H, N): e of r, e of k, n
    q: Array  # (T, H, N): as in GRUCache


class GRUTape(NamedTuple):
    """What `gru_backward` needs of the forward pass. Backward may be called more than once."""

    hs: Array  # (T + 1, N, H): h_0 … h_T
    mask: Array | None  # (T, N), True where a step is real
    h_mask: Array | None  # (T, N, H), what the recurrent connection was multiplied by
    convention: str
    blocks: tuple[_Block, ...]

    def gate(self, name: str) -> Array:
        """Return "r", "z" or "n" of every step, (T, N, H), for looking at. Padded steps hold what x = 0 gives."""
        check_choice("GRUTape.gate", "name", name, ("r", "z", "n"))
        picked = []
        for b in self.blocks:
            gate = b.rest[:, 2] if name == "n" else b.gates[:, "rz".index(name)]
            picked.append(gate * b.rest[:, 1] if name == "z" and self.convention == "write" else gate)
        return np.concatenate([_batch_first(gate) for gate in picked], axis=1)


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
        See `gru_lib.dropout`.

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
    h_mask = recurrent_mask(where, h_mask, xs, p)
    T, N, _ = xs.shape

    hs, blocks = empty((T + 1, N, p.H), dtype), []
    for c in _blocks(N, p.H):
        pieces = [None if m is None else m[:, c] for m in (mask, h_mask)]
        blocks.append(_forward_block(xs[:, c], h0[c], p, dtype, *pieces))
        hs[:, c] = _batch_first(blocks[-1].h)
    return outputs(hs[1:], mask), hs[-1].copy(), GRUTape(hs, mask, h_mask, p.convention, tuple(blocks))


def _forward_block(
    xs: Array, h0: Array, p: GRUParams, dtype: np.dtype, mask: Array | None, h_mask: Array | None
) -> _Block:
    (T, N, D), H = xs.shape, p.H
    W = np.concatenate((p.W_h, p.W_x, p.b[None]) if p.bias else (p.W_h, p.W_x))
    W[:, : 2 * H if p.convention == "keep" else H] *= -1  # "write": k = 1 − σ(a_z) = σ(−a_z), so −a is a_z itself
    W_h, W_x = W[:H].T, W[H:].T  # (3H, H), (3H, K)
    if p.bias:
        x = empty((T, N, D + 1), dtype)
        x[:, :, :D], x[:, :, D] = xs, 1
        xs = x
    a = np.matmul(W_x, _batch_last(xs), out=empty((T, 3 * H, N), dtype))  # the input's part
    if p.reset_after:
        W_h_times = times(W_h, N)
        b_hn = np.empty((H, N), dtype)  # NumPy adds it faster than one column
        b_hn[:] = p.b_hn[:, None] if p.bias else 0
    else:
        W_h_times, W_hn_times = times(W_h[: 2 * H].copy(), N), times(W_h[2 * H :].copy(), N)
    highest = np.full((2 * H, N), -lowest_exponent(dtype), dtype)  # an array: NumPy compares it faster than a number
    one = np.array(1, dtype)  # NumPy adds an array faster than a number, even one without axes

    h, gates, q = empty((T + 1, H, N), dtype), empty((T, 2 * H, N), dtype), empty((T, H, N), dtype)
    seen = h[:-1] if h_mask is None else np.array(_batch_last(h_mask), dtype, order="C")
    part, part_n = np.empty(((3 if p.reset_after else 2) * H, N), dtype), np.empty((H, N), dtype)
    part_rk, part_q = part[: 2 * H], part[2 * H :]
    h[0] = h0.T
    steps = (h[:-1], h[1:], seen, a[:, : 2 * H], a[:, H : 2 * H], a[:, 2 * H :], gates, gates[:, :H], gates[:, H:], q)
    for t, (h_prev, h_t, seen_t, e, e_k, n, s, r, k, q_t) in enumerate(zip(*steps, strict=True)):
        if h_mask is not None:
            seen_t *= h_prev
        W_h_times(seen_t, part)
        e += part_rk  # −a of both gates
        np.exp(np.minimum(e, highest, out=e), out=e)
        np.reciprocal(np.add(e, one, out=s), out=s)  # r and k
        if p.reset_after:
            np.add(part_q, b_hn, out=q_t)
            n += np.multiply(r, q_t, out=part_n)
        else:
            n += W_hn_times(np.multiply(r, seen_t, out=q_t), part_n)
        np.tanh(n, out=n)
        np.multiply(e_k, n, out=h_t)
        h_t += h_prev
        h_t *= k
        if mask is not None:
            np.copyto(h_t, h_prev, where=~mask[t])
    return _Block(xs, h, seen, gates.reshape(T, 2, H, N), a.reshape(T, 3, H, N), q)


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
    sums = _Sums(empty((3 * H, p.D + p.bias), dtype), empty((3 * H, H), dtype), np.empty(H, dtype))
    for a in sums:
        a.fill(0)
    for c, block in zip(_blocks(N, H), tape.blocks, strict=True):
        pieces = [None if m is None else m[:, c] for m in (tape.mask, tape.h_mask)]
        dxs[:, c], dh0[c] = _backward_block(dhs[:, c], dh[c], tape.hs[:-1, c], block, p, sums, *pieces)
    return dxs, dh0, _gradients(sums, p)


def _backward_block(
    dhs: Array,
    dh_T: Array,
    h_prev_rows: Array,
    block: _Block,
    p: GRUParams,
    sums: _Sums,
    mask: Array | None,
    h_mask: Array | None,
) -> tuple[Array, Array]:
    """Return dxs (T, N, D) and dh0 (N, H), and add to sums."""
    (T, N, _), H, dtype = block.xs.shape, p.H, dh_T.dtype
    if p.reset_after:  # dq, da_r and da_z lie side by side, so their way back to h_prev is one product
        W_h_times, back = times(np.concatenate((p.W_hn, p.W_h[:, : 2 * H]), axis=1), N), np.s_[:, :3]
    else:
        W_h_times, W_hn_times, back = times(p.W_h[:, : 2 * H].copy(), N), times(p.W_hn.copy(), N), np.s_[:, 1:3]
    some = _span(T, N, H)
    dxs, factors, memory = (empty(s, dtype) for s in ((T, N, p.D), (some, 5, H, N), (some * 4 * H * N,)))
    dh, part = dh_T.T.copy(), np.empty((H, N), dtype)
    for stop in range(T, 0, -some):
        now = slice(max(stop - some, 0), stop)
        f = _factors(factors[: stop - now.start], block, now, p, mask)
        steps = zip(range(now.start, stop), _batch_last(dhs[now]), f, f[back].reshape(len(f), -1, N), strict=True)
        for t, dhs_t, f_t, da in reversed(list(steps)):  # each factor becomes the product that it is a factor of
            dh += dhs_t
            if p.reset_after:
                f_t *= dh
                W_h_times(da, dh)
            else:
                f_t[2:] *= dh
                f_t[:2] *= W_hn_times(f_t[3], part)
                W_h_times(da, dh)
                dh += f_t[0]
            if h_mask is not None:
                dh *= h_mask[t].T
            dh += f_t[4]

        if not p.reset_after:
            f[:, 0] = block.q[now]  # what W_hn multiplied; dq itself is not needed any more
        every = columns(f[:, :4].reshape(len(f), 4 * H, N), memory)
        seen = rows(h_prev_rows[now] if h_mask is None else h_prev_rows[now] * h_mask[now])
        sums.add(rows(block.xs[now]), seen, every, p.reset_after)
        dxs[now] = (p.W_x @ every[H:]).reshape(p.D, len(f), N).transpose(1, 2, 0)
    return dxs, dh.T


class _Sums(NamedTuple):
    """Gradients of the weights, transposed: so BLAS finds both factors of their products in the order it likes best."""

    by_x: Array  # (3H, K): da_r, da_z and da_n times the inputs and, with a bias, 1
    by_h: Array  # (3H, H): da_n times q (reset after: dq times `seen`), da_r and da_z times `seen`
    by_one: Array  # (H,): dq times 1

    def add(self, x: Array, seen: Array, every: Array, reset_after: bool) -> None:
        """Add a span: rows of inputs and states, and (4H, rows) dq or q, da_r, da_z, da_n. One product for each sum."""
        by_x, by_h, by_one = self
        H = len(by_one)
        by_x += every[H:] @ x
        if reset_after:
            by_h += every[: 3 * H] @ seen
            by_one += every[:H] @ x[:, -1]  # the 1, if there is a bias
        else:
            by_h[:H] += every[3 * H :] @ every[:H].T
            by_h[H:] += every[H : 3 * H] @ seen


def _gradients(sums: _Sums, p: GRUParams) -> GRUParams:
    D, H, g = p.D, p.H, p.on(np.empty(p.size, sums.by_x.dtype))
    g.W_x[:] = sums.by_x[:, :D].T
    g.W_h[:, 2 * H :] = sums.by_h[:H].T
    g.W_h[:, : 2 * H] = sums.by_h[H:].T
    if p.bias:
        g.b[:] = sums.by_x[:, D]
        if p.reset_after:
            g.b_hn[:] = sums.by_one
    return g


def _factors(out: Array, block: _Block, now: slice, p: GRUParams, mask: Array | None) -> Array:
    """Fill `out` (T, 5, H, N) for the steps `now`.

    dq, da_r, da_z, da_n and the part of dh that k carries back are products of a factor, known before backward begins,
    and of dh (but the first two, with the reset before the product, of dq = da_n W_hnᵀ). These are the factors.
    """
    gates, e, n, h_prev = block.gates[now], block.rest[now, :2], block.rest[now, 2], block.h[now]
    by_q, by_r, by_z, by_n, carry = out.swapaxes(0, 1)
    slopes = out[:, 1:3]
    np.multiply(gates, e, out=slopes)  # first 1 − r and 1 − k
    np.subtract(1, np.multiply(n, n, out=by_n), out=by_n)
    by_n *= slopes[:, 1]
    slopes *= gates
    by_z *= np.subtract(*((h_prev, n) if p.convention == "keep" else (n, h_prev)), out=carry)
    if p.reset_after:
        np.multiply(gates[:, 0], by_n, out=by_q)
        by_r *= np.multiply(block.q[now], by_n, out=carry)
    else:
        by_q[:] = gates[:, 0]
        by_r *= block.seen[now]
    carry[:] = gates[:, 1]
    if mask is not None:  # a padded step: no gradient to the gates, all of dh to the step before
        out *= mask[now, None, None, :]
        carry += ~mask[now, None, :]
    return out


def _batch_first(a: Array) -> Array:
    """(T, K, N) to (T, N, K)."""
    return a.transpose(0, 2, 1)


_batch_last = _batch_first  # the same exchange of axes, read the other way
