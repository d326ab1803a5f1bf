"""The machinery of `elman_forward` and `elman_backward`: activation functions, arrays and the two loops over steps.

`gru_lib/passes.py` holds what all cells share, with the map of the arrays x, h, seen, a, columns and dh, and says
why it is fast. Here a holds the pre-activation of every step, the one factor is its slope g′(a), and C = 1: da alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gru_lib.ops import sigmoid, sigmoid_pair
from gru_lib.passes import Form, Reserve, Workspace, steps
from gru_lib.products import times
from gru_lib.types import Array

__all__ = ["ElmanReserve", "ElmanWorkspace", "activate", "derivative"]


def activate(activation: str, a: Array, out: Array | None = None) -> Array:
    """Return h = g(a), in `out` if it is given."""
    if activation == "tanh":
        return np.tanh(a, out=out)
    h = np.where(a.real > 0, a, 0) if activation == "relu" else sigmoid(a) if activation == "sigmoid" else a
    if out is not None:
        out[:] = h
    return h


def derivative(activation: str, a: Array, h: Array, out: Array | None = None) -> Array:
    """Return g′(a), given h = g(a), in `out` if it is given."""
    if activation == "tanh":
        return np.subtract(1, np.multiply(h, h, out=out), out=out)
    if activation == "sigmoid":
        return np.multiply(*sigmoid_pair(a), out=out)
    slope = (a.real > 0).astype(a.dtype) if activation == "relu" else np.ones_like(a)
    if out is not None:
        out[:] = slope
    return slope


class Span(NamedTuple):
    """What backward reads of a span of t steps."""

    now: slice
    x: Array  # (t · N, K)
    a: Array  # (t, H, N)
    h: Array  # (t, H, N)


class ElmanReserve(Reserve):
    """What forward keeps. `steps` and `spans` are the views that the loops take."""

    G = 1

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        self.steps = steps(self.h[:-1], self.h[1:], self.seen, self.a)
        self.spans = self.cut(Span, self.a, self.h[1:])
        self.part = np.empty((form.H, form.N), form.dtype)

    @staticmethod
    def weights(p: Any, N: int) -> tuple[Any, ...]:
        """Lay the weights: W_x with b, and the product with W_h."""
        return np.concatenate((p.W_x, p.b[None])).T if p.bias else p.W_x.T, times(p.W_h.T.copy(), N)

    def run(
        self,
        p: Any,
        weights: tuple[Any, ...],
        xs: Array,
        states: Sequence[Array],
        mask: Array | None = None,
        h_mask: Array | None = None,
    ) -> None:
        """Fill every array of a block: `elman_step` for t = 1 … T."""
        W_x, W_h_times = weights
        self.load(xs, states, h_mask, W_x)
        part = self.part
        for t, (h_prev, h, seen, a) in zip(range(len(xs)), self.steps(), strict=False):
            if h_mask is not None:
                seen *= h_prev
            a += W_h_times(seen, part)
            activate(p.activation, a, out=h)
            if mask is not None:
                np.copyto(h, h_prev, where=~mask[t])


class Views(NamedTuple):
    """What the backward loop takes for a span of t steps."""

    slope: Array  # (t, H, N)
    columns: Array  # (H, t · N)
    steps: Any  # for each step, the last first: its slope and its columns


class ElmanWorkspace(Workspace):
    """What backward needs while it runs."""

    F, C = 1, 1

    def __init__(self, t: int, N: int, H: int, dtype: np.dtype) -> None:
        super().__init__(t, N, H, dtype)
        self.da, self.part = np.empty((H, N), dtype), np.empty((H, N), dtype)

    def lay(self, factors: Array, gathered: Array, columns: Array) -> Views:
        """Return the views of a span."""
        return Views(factors[0], columns, steps(factors[0, ::-1], gathered[::-1]))

    def begin(self, p: Any, dstates: Sequence[Array]) -> None:
        """Take in dh_T."""
        self.W_h_times = times(p.W_h.copy(), self.dh.shape[1])
        self.dh[:] = dstates[0].T

    def run(self, span: Span, dhs: Array, p: Any, mask: Array | None, h_mask: Array | None) -> Array:
        """`elman_step_backward` for the steps of a span, the last first."""
        views = self.views(span.now.stop - span.now.start)
        derivative(p.activation, span.a, span.h, out=views.slope)
        if mask is not None:  # a padded step: no gradient to the weights, all of dh to the step before
            np.multiply(views.slope, mask[span.now, None, :], out=views.slope)
        dh, da, W_h_times = self.dh, self.da, self.W_h_times
        dh_prev = dh if mask is None else self.part
        backwards = reversed(range(span.now.start, span.now.stop))
        for t, (slope, columns) in zip(backwards, views.steps(), strict=True):
            dh += dhs[t]
            np.multiply(dh, slope, out=da)
            W_h_times(da, dh_prev)
            if h_mask is not None:
                dh_prev *= h_mask[t].T
            if mask is not None:
                np.copyto(dh, dh_prev, where=mask[t])
            columns[:] = da
        return views.columns
