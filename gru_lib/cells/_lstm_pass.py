"""The machinery of `lstm_forward` and `lstm_backward`: the LSTM's arrays and its two loops over steps.

`gru_lib/_core/passes.py` holds what all cells share, and says why it is fast. The three sigmoids lie side by side
(i, f, o, then g), so that one call does all three; their weights are negated, once, as the GRU's are.

Map of the arrays (x, h, seen, a, factors, columns, dh: see there)

===========  =================  ======================================  ======================================
array        shape              written by                              read by
===========  =================  ======================================  ======================================
a            (T, 4H, N)         the input's part: −a_i, −a_f, −a_o, a_g  the forward loop
e            (T, 3H, N)         the forward loop, in place of −a        the forward loop, the factors
g            (T, H, N)          the forward loop, in place of a_g       the forward loop, the factors
ifo          (T, 3H, N)         the forward loop: i, f, o               the forward loop, the factors
c            (T + 1, H, N)      `run` (c_0), the forward loop           the forward loop, the factors
tanh_c       (T, H, N)          the forward loop                        the forward loop, the factors
factors      (6, t, H, N)       `_factors`                              the backward loop
da           (4H, N)            the backward loop: i, f, g, o           the backward loop
columns      (4H, t · N)        the backward loop: da                   the gradients of W_h, W_x, b and x
dh, dc       (H, N)             the backward loop                       the backward loop
===========  =================  ======================================  ======================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gru_lib._core.passes import Reserve, Workspace, steps
from gru_lib._core.types import Array
from gru_lib.ops import lowest_exponent

__all__ = ["LSTMReserve", "LSTMWorkspace"]


class Span(NamedTuple):
    """What backward reads of a span of t steps."""

    now: slice
    x: Array  # (t · N, K)
    c_prev: Array  # (t, H, N), and so all that follow
    i: Array
    f: Array
    o: Array
    e_i: Array
    e_f: Array
    e_o: Array
    g: Array
    tanh_c: Array


class LSTMReserve(Reserve):
    """What forward keeps, by the names of the map. `steps` and `spans` are the views that the loops take."""

    G = 4
    CUT = False  # chapters 2 and 12 show numbers whose last digits depend on the order of the sums

    def __init__(self, T: int, N: int, D: int, H: int, dtype: np.dtype, dropout: bool) -> None:
        super().__init__(T, N, D, H, dtype, dropout)
        self.c, self.ifo, self.tanh_c = self.keep(T + 1, H, N), self.keep(T, 3 * H, N), self.keep(T, H, N)
        self.g, h_prev, c_prev, e = self.a[:, 3 * H :], self.h[:-1], self.c[:-1], self.a[:, : 3 * H]
        gates = [a[:, k * H : (k + 1) * H] for a in (self.ifo, e) for k in range(3)]
        self.gates = dict(zip("ifo", gates[:3], strict=True))
        self.steps = steps(
            h_prev, self.h[1:], self.seen, c_prev, self.c[1:], self.a, e, self.ifo, *gates[:3], self.g, self.tanh_c
        )
        self.spans = [Span(*views) for views in self.cut(c_prev, *gates, self.g, self.tanh_c)]
        # Of one step. NumPy adds and compares arrays of one shape faster than it does a number.
        self.part, self.one = np.empty((4 * H, N), dtype), np.array(1, dtype)
        self.highest = np.full((3 * H, N), -lowest_exponent(dtype), dtype)

    def run(self, p: Any, xs: Array, states: Sequence[Array], mask: Array | None, h_mask: Array | None) -> None:
        """Fill every array of a block: `lstm_step` for t = 1 … T."""
        H = p.H
        W = np.concatenate((p.W_h, p.W_x, p.b[None]) if p.bias else (p.W_h, p.W_x))
        W = np.concatenate((-W[:, : 2 * H], -W[:, 3 * H :], W[:, 2 * H : 3 * H]), axis=1)  # −i, −f, −o, g
        W_h, W_x = W[:H].T.copy(), W[H : H + p.D].T.copy()
        self.load(xs, states, h_mask, W_x)
        if p.bias:
            self.a += W[-1][:, None]
        self.c[0] = states[1].T
        part, highest, one = self.part, self.highest, self.one
        for t, (h_prev, h, seen, c_prev, c, a, e, ifo, i, f, o, g, tanh_c) in enumerate(self.steps()):
            if h_mask is not None:
                seen *= h_prev
            a += np.dot(W_h, seen, out=part)
            np.exp(np.minimum(e, highest, out=e), out=e)
            np.reciprocal(np.add(e, one, out=ifo), out=ifo)
            np.tanh(g, out=g)
            np.multiply(f, c_prev, out=c)
            c += np.multiply(i, g, out=h)  # h is not written yet, and serves as scratch space
            np.tanh(c, out=tanh_c)
            np.multiply(o, tanh_c, out=h)
            if mask is not None:
                np.copyto(h, h_prev, where=~mask[t])
                np.copyto(c, c_prev, where=~mask[t])


class Views(NamedTuple):
    """What the backward loop takes for a span of t steps."""

    factors: Array  # (6, t, H, N)
    columns: Array  # (4H, t · N)
    steps: Any  # for each step, the last first: the factors of i, f and g, of o, of c, of f's carry, and its columns


class LSTMWorkspace(Workspace):
    """What backward needs while it runs, by the names of the map."""

    F, C = 6, 4

    def __init__(self, t: int, N: int, H: int, dtype: np.dtype) -> None:
        super().__init__(t, N, H, dtype)
        self.dc, self.part, self.da = np.empty((H, N), dtype), np.empty((H, N), dtype), np.empty((4 * H, N), dtype)
        da = self.da.reshape(4, H, N)
        self.da_ifg, self.da_o = da[:3], da[3]

    def lay(self, factors: Array, gathered: Array, columns: Array) -> Views:
        """Return the views of a span."""
        of_ifg = factors[:3].swapaxes(0, 1)
        return Views(factors, columns, steps(*(a[::-1] for a in (of_ifg, *factors[3:], gathered))))

    def begin(self, p: Any, dstates: Sequence[Array]) -> None:
        """Take in dh_T and dc_T."""
        self.W_h = np.ascontiguousarray(p.W_h)
        self.dh[:], self.dc[:] = (d.T for d in dstates)

    def run(self, span: Span, dhs: Array, p: Any, mask: Array | None, h_mask: Array | None) -> Array:
        """`lstm_step_backward` for the steps of a span, the last first."""
        views = self.views(span.now.stop - span.now.start)
        _factors(views.factors, span, mask)
        dh, dc, part, da, da_ifg, da_o, W_h = self.dh, self.dc, self.part, self.da, self.da_ifg, self.da_o, self.W_h
        backwards = reversed(range(span.now.start, span.now.stop))
        for t, (of_ifg, of_o, of_c, carry, columns) in zip(backwards, views.steps(), strict=True):
            dh += dhs[t]
            np.multiply(dh, of_o, out=da_o)
            dc += np.multiply(dh, of_c, out=part)
            np.multiply(dc, of_ifg, out=da_ifg)
            dc *= carry
            dh_prev = np.dot(W_h, da, out=dh if mask is None else part)
            if h_mask is not None:
                dh_prev *= h_mask[t].T
            if mask is not None:
                np.copyto(dh, dh_prev, where=mask[t])
            columns[:] = da
        return views.columns

    def end(self) -> tuple[Array, ...]:
        """Return dh_0 and dc_0, (H, N)."""
        return self.dh, self.dc


def _factors(factors: Array, s: Span, mask: Array | None) -> None:
    """Precompute every factor of backward that does not depend on dh or dc."""
    of_i, of_f, of_g, of_o, of_c, carry = factors
    of_i[:] = s.i * (s.e_i * s.i) * s.g
    of_f[:] = s.f * (s.e_f * s.f) * s.c_prev
    of_g[:] = (1 - s.g * s.g) * s.i
    of_o[:] = s.tanh_c * s.o * (s.e_o * s.o)
    of_c[:] = (1 - s.tanh_c * s.tanh_c) * s.o
    carry[:] = s.f
    if mask is not None:  # a padded step: no gradient to the gates, all of dh and dc to the step before
        factors *= mask[s.now, None, :]
        carry += ~mask[s.now, None, :]
