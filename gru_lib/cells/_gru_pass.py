"""The machinery of `gru_forward` and `gru_backward`: the GRU's arrays and its two loops over steps.

`gru_lib/passes.py` holds what all cells share, and says why it is fast. Both gates come from one exponential:
with e = exp(−a), s = 1/(1 + e) and 1 − s = s e. So the weights of the gates are negated, once. k is the share of h_prev
that is kept: z, or 1 − z with "write". With the e of that gate, k ⊙ h_prev + (1 − k) ⊙ n is k ⊙ (h_prev + e ⊙ n).

Map of the arrays (x, h, seen, a, factors, columns, dh: see there)

===========  =================  =====================================  =======================================
array        shape              written by                             read by
===========  =================  =====================================  =======================================
a            (T, 3H, N)         the input's product: −a_r, −a_k, a_n   the forward loop
e_rk, e_k    (T, 2H or H, N)    the forward loop, in place of −a       the forward loop, the factors
n            (T, H, N)          the forward loop, in place of a_n      the forward loop, the factors
rk, r, k     (T, 2H or H, N)    the forward loop: r and k              the forward loop, the factors
q            (T, H, N)          the forward loop: as in `GRUCache`     the factors, W_hn's gradient
factors      (5, t, H, N)       `_factors`                             the backward loop
five         (5, H, N)          the backward loop: factors ⊙ dh or dq  the backward loop
columns      (4H, t · N)        the backward loop: four products       the gradients of W_h, W_x, b, b_hn and x
dh, dq       (H, N)             the backward loop                      the backward loop
===========  =================  =====================================  =======================================

The five products of a step are dq_r, da_r, da_z, da_n and dh_k: dh_k = dh ⊙ k is what the direct path carries back, and
dq_r = dq ⊙ r what comes back through the reset gate (with `reset_after` it is the gradient of h_prev W_hn, da_n ⊙ r).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gru_lib.ops import lowest_exponent
from gru_lib.passes import Form, Reserve, Workspace, batch_first, steps
from gru_lib.products import times
from gru_lib.types import Array

__all__ = ["GRUReserve", "GRUStates", "GRUWorkspace", "gate", "gradients"]


class Span(NamedTuple):
    """What backward reads of a span of t steps."""

    now: slice
    x: Array  # (t · N, K)
    h_prev: Array  # (t, H, N), and so all that follow
    seen: Array
    n: Array
    q: Array
    r: Array
    k: Array
    e_r: Array
    e_k: Array


class GRUReserve(Reserve):
    """What forward keeps, by the names of the map. `steps` and `spans` are the views that the loops take."""

    G = 3

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        T, N, H, dtype = form.T, form.N, form.H, form.dtype
        rk, self.q = self.keep(T, 2 * H, N), self.keep(T, H, N)
        h_prev, e_rk, self.e_k, self.n = self.h[:-1], self.a[:, : 2 * H], self.a[:, H : 2 * H], self.a[:, 2 * H :]
        self.r, self.k = rk[:, :H], rk[:, H:]
        self.steps = steps(h_prev, self.h[1:], self.seen, e_rk, self.e_k, rk, self.r, self.k, self.n, self.q)
        e_r = self.a[:, :H]
        self.spans = self.cut(Span, h_prev, self.seen, self.n, self.q, self.r, self.k, e_r, self.e_k)
        # Of one step. NumPy adds and compares arrays of one shape faster than it does a column or a number.
        self.part, self.part_n = np.empty((3 * H, N), dtype), np.empty((H, N), dtype)
        self.highest, self.one = np.full((2 * H, N), -lowest_exponent(dtype), dtype), np.array(1, dtype)
        self.b_hn = np.zeros((H, N), dtype)

    @staticmethod
    def weights(p: Any, N: int) -> tuple[Any, ...]:
        """Lay the weights, those of r and k negated."""
        return _weights(p, N, -1)

    def run(
        self,
        p: Any,
        weights: tuple[Any, ...],
        xs: Array,
        states: Sequence[Array],
        mask: Array | None = None,
        h_mask: Array | None = None,
    ) -> None:
        """Fill every array of a block: `gru_step` for t = 1 … T."""
        H, (W_x, W_h_times, W_hn_times), b_hn = p.H, weights, self.b_hn
        b_hn.T[:] = p.b_hn
        self.load(xs, states, h_mask, W_x)
        part_n, part_rk, part_q = self.part_n, self.part[: 2 * H], self.part[2 * H :]
        part = self.part if p.reset_after else part_rk
        highest, one = self.highest, self.one
        for t, (h_prev, h, seen, e_rk, e_k, rk, r, k, n, q) in enumerate(self.steps()):
            if h_mask is not None:
                seen *= h_prev
            W_h_times(seen, part)
            e_rk += part_rk
            np.exp(np.minimum(e_rk, highest, out=e_rk), out=e_rk)
            np.reciprocal(np.add(e_rk, one, out=rk), out=rk)
            if p.reset_after:
                np.add(part_q, b_hn, out=q)
                n += np.multiply(r, q, out=part_n)
            else:
                n += W_hn_times(np.multiply(r, seen, out=q), part_n)
            np.tanh(n, out=n)
            np.multiply(e_k, n, out=h)
            h += h_prev
            h *= k
            if mask is not None:
                np.copyto(h, h_prev, where=~mask[t])


def _weights(p: Any, N: int, by: float) -> tuple[Any, ...]:
    """Lay the weights, those of r and k times `by`: W_x with b, the product with W_h (or with W_hr, W_hk) and W_hn."""
    H = p.H
    W = np.concatenate((p.W_h, p.W_x, p.b[None]) if p.bias else (p.W_h, p.W_x))
    W[:, :H] *= by
    W[:, H : 2 * H] *= by if p.convention == "keep" else -by  # "write": k = 1 − σ(a_z) = σ(−a_z)
    W_h = W[:H].T  # (3H, H)
    if p.reset_after:
        return W[H:].T, times(W_h, N), None
    return W[H:].T, times(W_h[: 2 * H].copy(), N), times(W_h[2 * H :].copy(), N)


class GRUStates(Reserve):
    """What `infer` needs. Without a backward pass σ(a) = ½ + ½ tanh(½ a) is as good, and takes fewer calls."""

    G = 3

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        N, H, dtype = form.N, form.H, form.dtype
        a_rk, a_n = self.a[:, : 2 * H], self.a[:, 2 * H :]
        self.steps = steps(self.h[:-1], self.h[1:], a_rk, self.a[:, :H], self.a[:, H : 2 * H], a_n)
        self.spans = ()
        self.part, self.half = np.empty((3 * H, N), dtype), np.array(0.5, dtype)
        self.q, self.b_hn = np.empty((H, N), dtype), np.zeros((H, N), dtype)

    @staticmethod
    def weights(p: Any, N: int) -> tuple[Any, ...]:
        """Lay the weights, those of r and k halved."""
        return _weights(p, N, 0.5)

    def run(
        self,
        p: Any,
        weights: tuple[Any, ...],
        xs: Array,
        states: Sequence[Array],
        mask: Array | None = None,
        h_mask: Array | None = None,
    ) -> None:
        """Go through the steps of xs: `gru_step`, keeping h alone."""
        H, (W_x, W_h_times, W_hn_times), b_hn = p.H, weights, self.b_hn
        b_hn.T[:] = p.b_hn
        self.load(xs, states, h_mask, W_x)
        q, half, part_rk, part_q = self.q, self.half, self.part[: 2 * H], self.part[2 * H :]
        part = self.part if p.reset_after else part_rk
        for t, (h_prev, h, rk, r, k, n) in zip(range(len(xs)), self.steps(), strict=False):
            W_h_times(h_prev, part)
            rk += part_rk
            np.tanh(rk, out=rk)
            rk *= half
            rk += half
            if p.reset_after:
                part_q += b_hn
                n += np.multiply(r, part_q, out=q)
            else:
                n += W_hn_times(np.multiply(r, h_prev, out=h), q)  # h is not written yet, and serves as scratch space
            np.tanh(n, out=n)
            np.subtract(h_prev, n, out=h)
            h *= k
            h += n
            if mask is not None:
                np.copyto(h, h_prev, where=~mask[t])


def gate(block: GRUReserve, name: str, convention: str) -> Array:
    """Return "r", "z" or "n" of every step of a block, (T, N, H)."""
    if name == "z" and convention == "write":
        return batch_first(block.k * block.e_k)
    return batch_first({"r": block.r, "z": block.k, "n": block.n}[name])


class Views(NamedTuple):
    """What the backward loop takes for a span of t steps."""

    factors: Array  # (5, t, H, N)
    columns: Array  # (4H, t · N)
    columns_q: Array  # (t, H, N), its first H
    steps: Any  # for each step, the last first: all five factors, the first two, the other three, its columns


class GRUWorkspace(Workspace):
    """What backward needs while it runs, by the names of the map."""

    F, C = 5, 4

    def __init__(self, t: int, N: int, H: int, dtype: np.dtype) -> None:
        super().__init__(t, N, H, dtype)
        self.dq, self.five = np.empty((H, N), dtype), np.empty((5, H, N), dtype)
        self.dq_r, _, _, self.da_n, self.dh_k = self.five
        self.from_dq, self.from_dh, self.four = self.five[:2], self.five[2:], self.five[:4].reshape(4 * H, N)

    def lay(self, factors: Array, gathered: Array, columns: Array) -> Views:
        """Return the views of a span."""
        by_step = factors.swapaxes(0, 1)
        backwards = (a[::-1] for a in (by_step, by_step[:, :2], by_step[:, 2:], gathered))
        return Views(factors, columns, gathered[:, : len(self.dh)], steps(*backwards))

    def begin(self, p: Any, dstates: Sequence[Array]) -> None:
        """Take in dh_T, and lay the weights so that what goes back through them side by side is one product."""
        H, N = self.dh.shape
        W_h = np.concatenate((p.W_hn, p.W_h[:, : 2 * H]), axis=1) if p.reset_after else p.W_h[:, : 2 * H].copy()
        self.W_h_times, self.W_hn_times = times(W_h, N), times(p.W_hn.copy(), N)
        self.reset_after, self.back = p.reset_after, self.four[0 if p.reset_after else H : 3 * H]
        self.dh[:] = dstates[0].T

    def run(self, span: Span, dhs: Array, p: Any, mask: Array | None, h_mask: Array | None) -> Array:
        """`gru_step_backward` for the steps of a span, the last first."""
        views = self.views(span.now.stop - span.now.start)
        _factors(views.factors, span, p, mask)
        dh, dq, dq_r, da_n, dh_k, W_h_times = self.dh, self.dq, self.dq_r, self.da_n, self.dh_k, self.W_h_times
        five, four, from_dq, from_dh, back = self.five, self.four, self.from_dq, self.from_dh, self.back
        W_hn_times = self.W_hn_times
        backwards = zip(reversed(range(span.now.start, span.now.stop)), views.steps(), strict=True)
        for t, (factors, of_dq, of_dh, columns) in backwards:
            dh += dhs[t]
            if p.reset_after:
                np.multiply(factors, dh, out=five)
                W_h_times(back, dh)
            else:
                np.multiply(of_dh, dh, out=from_dh)
                np.multiply(of_dq, W_hn_times(da_n, dq), out=from_dq)
                W_h_times(back, dh)
                dh += dq_r
            if h_mask is not None:
                dh *= h_mask[t].T
            dh += dh_k
            columns[:] = four
        if not p.reset_after:
            views.columns_q[:] = span.q  # what W_hn multiplied; dq itself is not needed any more
        self.columns = views.columns
        return views.columns[len(dh) :]

    def products(self, da: Array, span: Span, seen: Array, W_x: Array) -> tuple[Array, ...]:
        """Return dx, and the span's part of the gradients, transposed: of W_x with b, of W_h, and of b_hn or W_hn."""
        H, c, x, dx = len(self.dh), self.columns, span.x, (W_x @ da).T
        if self.reset_after:  # W_hn is among those that meet `seen`, and x ends with 1
            return dx, da @ x, c[: 3 * H] @ seen, c[:H] @ x[:, -1]
        return dx, da @ x, c[H : 3 * H] @ seen, c[3 * H :] @ c[:H].T


def _factors(factors: Array, s: Span, p: Any, mask: Array | None) -> None:
    """Precompute every factor of backward that does not depend on dh: those of dq_r, da_r, da_z, da_n, dh_k."""
    of_q, of_r, of_z, of_n, of_k = factors
    not_r, not_k = s.e_r * s.r, s.e_k * s.k
    of_n[:] = (1 - s.n * s.n) * not_k
    of_z[:] = not_k * s.k * (s.h_prev - s.n if p.convention == "keep" else s.n - s.h_prev)
    of_q[:] = s.r * of_n if p.reset_after else s.r
    of_r[:] = not_r * s.r * (s.q * of_n if p.reset_after else s.seen)
    of_k[:] = s.k
    if mask is not None:  # a padded step: no gradient to the gates, all of dh to the step before
        factors *= mask[s.now, None, :]
        of_k += ~mask[s.now, None, :]


def gradients(sums: list[Array], p: Any, dtype: np.dtype) -> Any:
    """Transpose the sums back; BLAS multiplies them faster transposed."""
    if not sums:
        return p.zeros_like(dtype)
    D, H, g = p.D, p.H, p.on(np.empty(p.size, dtype))
    by_x, by_h, last = sums
    g.W_x[:] = by_x[:, :D].T
    if p.bias:
        g.b[:] = by_x[:, D]
    if p.reset_after:  # by_h: of W_hn, W_hr, W_hz
        g.W_h[:, : 2 * H], g.W_h[:, 2 * H :] = by_h[H:].T, by_h[:H].T
        if p.bias:
            g.b_hn[:] = last
    else:  # by_h: of W_hr, W_hz; last: of W_hn
        g.W_h[:, : 2 * H], g.W_h[:, 2 * H :] = by_h.T, last.T
    return g
