"""The machinery of `lstm_forward` and `lstm_backward`: the LSTM's arrays and its two loops over steps.

`gru_lib/passes.py` holds what all cells share, and says why it is fast. The three sigmoids lie side by side
(i, f, o, then g), so that one call does all three; their weights are negated, once, as the GRU's are. What is kept of a
gate is e = exp(−a): backward makes s = 1/(1 + e) again, which costs less than the memory would.

Map of the arrays (x, h, seen, a, factors, columns, dh: see there)

===========  =================  ======================================  ======================================
array        shape              written by                              read by
===========  =================  ======================================  ======================================
a            (T, 4H, N)         the input's part: −a_i, −a_f, −a_o, a_g  the forward loop
e            (T, 3H, N)         the forward loop, in place of −a        the forward loop, the factors
g            (T, H, N)          the forward loop, in place of a_g       the forward loop, the factors
ifo          (3H, N)            the forward loop: i, f, o of a step     the forward loop
c            (T + 1, H, N)      `run` (c_0), the forward loop           the forward loop, the factors
tanh_c       (T, H, N)          the forward loop                        the forward loop, the factors
factors      (6, t, H, N)       `_factors`                              the backward loop
six          (6, H, N)          the backward loop: factors ⊙ dc or dh   the backward loop
columns      (4H, t · N)        the backward loop: da_i … da_o          the gradients of W_h, W_x, b and x
dh, dc       (H, N)             the backward loop                       the backward loop
===========  =================  ======================================  ======================================

The six products of a step are dc_f, da_i, da_f, da_g (dc times a factor), da_o and dc_h (dh times one): dc_f = dc ⊙ f
is what the cell before gets, and dc_h what this cell gets from the output. So da is one piece, in the weights' order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gru_lib.ops import lowest_exponent
from gru_lib.passes import Form, Reserve, Workspace, batch_first, steps
from gru_lib.products import times
from gru_lib.types import Array

__all__ = ["LSTMReserve", "LSTMStates", "LSTMWorkspace", "gate", "quick_step"]


class Span(NamedTuple):
    """What backward reads of a span of t steps."""

    now: slice
    x: Array  # (t · N, K)
    c_prev: Array  # (t, H, N), and so all that follow
    e_i: Array
    e_f: Array
    e_o: Array
    g: Array
    tanh_c: Array


class LSTMReserve(Reserve):
    """What forward keeps, by the names of the map. `steps` and `spans` are the views that the loops take."""

    G = 4

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        T, N, H, dtype = form.T, form.N, form.H, form.dtype
        self.c, self.tanh_c = self.keep(T + 1, H, N), self.keep(T, H, N)
        h_prev, c_prev, e, self.g = self.h[:-1], self.c[:-1], self.a[:, : 3 * H], self.a[:, 3 * H :]
        self.e = {gate: e[:, k * H : (k + 1) * H] for k, gate in enumerate("ifo")}
        self.steps = steps(h_prev, self.h[1:], self.seen, c_prev, self.c[1:], self.a, e, self.g, self.tanh_c)
        self.spans = self.cut(Span, c_prev, *self.e.values(), self.g, self.tanh_c)
        # Of one step. NumPy adds and compares arrays of one shape faster than it does a number.
        self.part, self.ifo, self.one = np.empty((4 * H, N), dtype), np.empty((3 * H, N), dtype), np.array(1, dtype)
        self.highest = np.full((3 * H, N), -lowest_exponent(dtype), dtype)

    @staticmethod
    def weights(p: Any, N: int) -> tuple[Any, ...]:
        """Lay the weights in the order i, f, o, g, those of the gates negated."""
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
        """Fill every array of a block: `lstm_step` for t = 1 … T."""
        W_x, W_h_times = weights
        self.load(xs, states, h_mask, W_x)
        self.c[0] = states[1].T
        part, ifo, highest, one = self.part, self.ifo, self.highest, self.one
        i, f, o = ifo.reshape(3, p.H, -1)
        for t, (h_prev, h, seen, c_prev, c, a, e, g, tanh_c) in enumerate(self.steps()):
            if h_mask is not None:
                seen *= h_prev
            a += W_h_times(seen, part)
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


def _weights(p: Any, N: int, by: float) -> tuple[Any, ...]:
    """Lay the weights in the order i, f, o, g, those of the gates times `by`: W_x with b, and the product with W_h."""
    H = p.H
    W = np.concatenate((p.W_h, p.W_x, p.b[None]) if p.bias else (p.W_h, p.W_x))
    W = np.concatenate((W[:, : 2 * H], W[:, 3 * H :], W[:, 2 * H : 3 * H]), axis=1)
    W[:, : 3 * H] *= by
    return W[H:].T, times(W[:H].T.copy(), N)


class LSTMStates(Reserve):
    """What `infer` needs. Without a backward pass σ(a) = ½ + ½ tanh(½ a) is as good: one tanh for all gates and g."""

    G = 4

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        T, N, H, dtype = form.T, form.N, form.H, form.dtype
        self.c = self.keep(T + 1, H, N)
        gates = (self.a[:, k * H : (k + 1) * H] for k in range(4))
        ifo = self.a[:, : 3 * H]
        self.steps = steps(self.h[:-1], self.h[1:], self.c[:-1], self.c[1:], self.a, ifo, *gates)
        self.spans = ()
        self.part, self.half = np.empty((4 * H, N), dtype), np.array(0.5, dtype)

    @staticmethod
    def weights(p: Any, N: int) -> tuple[Any, ...]:
        """Lay the weights in the order i, f, o, g, those of the gates halved."""
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
        """Go through the steps of xs: `lstm_step`, keeping h and c alone."""
        W_x, W_h_times = weights
        self.load(xs, states, h_mask, W_x)
        self.c[0] = states[1].T
        part, half = self.part, self.half
        for t, (h_prev, h, c_prev, c, a, ifo, i, f, o, g) in zip(range(len(xs)), self.steps(), strict=False):
            a += W_h_times(h_prev, part)
            np.tanh(a, out=a)
            ifo *= half
            ifo += half
            np.multiply(f, c_prev, out=c)
            c += np.multiply(i, g, out=h)
            np.multiply(o, np.tanh(c, out=h), out=h)
            if mask is not None:
                np.copyto(h, h_prev, where=~mask[t])
                np.copyto(c, c_prev, where=~mask[t])

    def states(self, t: int) -> tuple[Array, ...]:
        """Return h and c after t steps, (N, H)."""
        return self.h[t].T, self.c[t].T


def quick_step(x: Array, h_prev: Array, c_prev: Array, p: Any) -> tuple[Array, Array]:
    """`lstm_step` in as few calls as can be, without a cache: the gates side by side, σ from tanh."""
    H = p.H
    a = np.dot(x, p.W_x) + np.dot(h_prev, p.W_h)
    a += p.b
    i_f, o = a[:, : 2 * H], a[:, 3 * H :]
    i_f *= 0.5
    o *= 0.5
    np.tanh(a, out=a)
    for gates in (i_f, o):
        gates *= 0.5
        gates += 0.5
    c = a[:, H : 2 * H] * c_prev
    c += a[:, :H] * a[:, 2 * H : 3 * H]
    return o * np.tanh(c), c


class Views(NamedTuple):
    """What the backward loop takes for a span of t steps."""

    factors: Array  # (6, t, H, N)
    columns: Array  # (4H, t · N)
    steps: Any  # for each step, the last first: the first four factors, the other two, its columns


class LSTMWorkspace(Workspace):
    """What backward needs while it runs, by the names of the map."""

    F, C = 6, 4

    def __init__(self, t: int, N: int, H: int, dtype: np.dtype) -> None:
        super().__init__(t, N, H, dtype)
        self.dc, self.part, six = np.empty((H, N), dtype), np.empty((H, N), dtype), np.empty((6, H, N), dtype)
        self.dc_f, self.dc_h, self.from_dc, self.from_dh = six[0], six[5], six[:4], six[4:]
        self.da = six[1:5].reshape(4 * H, N)

    def lay(self, factors: Array, gathered: Array, columns: Array) -> Views:
        """Return the views of a span."""
        by_step = factors.swapaxes(0, 1)
        return Views(factors, columns, steps(*(a[::-1] for a in (by_step[:, :4], by_step[:, 4:], gathered))))

    def begin(self, p: Any, dstates: Sequence[Array]) -> None:
        """Take in dh_T and dc_T."""
        self.W_h_times = times(p.W_h.copy(), self.dh.shape[1])
        self.dh[:], self.dc_f[:] = (d.T for d in dstates)

    def run(self, span: Span, dhs: Array, p: Any, mask: Array | None, h_mask: Array | None) -> Array:
        """`lstm_step_backward` for the steps of a span, the last first."""
        views = self.views(span.now.stop - span.now.start)
        _factors(views.factors, span, mask)
        dh, dc, dc_f, dc_h, da, W_h_times = self.dh, self.dc, self.dc_f, self.dc_h, self.da, self.W_h_times
        from_dc, from_dh, dh_prev = self.from_dc, self.from_dh, self.dh if mask is None else self.part
        backwards = reversed(range(span.now.start, span.now.stop))
        for t, (of_dc, of_dh, columns) in zip(backwards, views.steps(), strict=True):
            dh += dhs[t]
            np.multiply(of_dh, dh, out=from_dh)
            np.multiply(of_dc, np.add(dc_f, dc_h, out=dc), out=from_dc)
            W_h_times(da, dh_prev)
            if h_mask is not None:
                dh_prev *= h_mask[t].T
            if mask is not None:
                np.copyto(dh, dh_prev, where=mask[t])
            columns[:] = da
        return views.columns

    def end(self) -> tuple[Array, ...]:
        """Return dh_0 and dc_0, (H, N)."""
        return self.dh, self.dc_f


def gate(block: LSTMReserve, name: str) -> Array:
    """Return "i", "f", "g" or "o" of every step of a block, (T, N, H)."""
    return batch_first(block.g if name == "g" else 1 / (1 + block.e[name]))


def _factors(factors: Array, s: Span, mask: Array | None) -> None:
    """Precompute every factor of backward that does not depend on dh or dc."""
    f, of_i, of_f, of_g, of_o, of_c = factors  # dc_f = dc ⊙ f
    i = 1 / (1 + s.e_i)
    of_i[:] = s.e_i * i * i * s.g
    of_g[:] = (1 - s.g * s.g) * i
    f[:] = 1 / (1 + s.e_f)
    of_f[:] = s.e_f * f * f * s.c_prev
    o = 1 / (1 + s.e_o)
    of_o[:] = s.e_o * o * o * s.tanh_c
    of_c[:] = (1 - s.tanh_c * s.tanh_c) * o
    if mask is not None:  # a padded step: no gradient to the gates, all of dh and dc to the step before
        factors *= mask[s.now, None, :]
        f += ~mask[s.now, None, :]
