"""The arrays of the GRU's sequence passes, batch last, and the pieces of them that their loops go through.

With few units, making arrays and pieces of arrays was about a quarter of a training step (chapter 11). So they are made
once for a shape, here, and lent to one pass after another (`gru_lib._core.buffers.Loan`). As in cuDNN, what forward
keeps for backward is called the reserve space, and what a pass needs only while it runs the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib._core.products import as_columns
from gru_lib._core.sequence import rows
from gru_lib.ops import lowest_exponent

__all__ = ["Factors", "Reserve", "Span", "Workspace", "batch_first", "batch_last", "blocks", "spans"]

Array = NDArray[Any]

_FEW = 64  # steps; the views of many more take much memory, 128 bytes each, and making them is less of the time


@cache
def blocks(N: int, H: int) -> tuple[slice, ...]:
    """Cut N sequences into blocks of equal width, each at most 128 wide or, with few units, 2¹⁵ numbers in a state."""
    count = -(-N // max(128, 2**15 // H))
    return tuple(slice(N * i // count, N * (i + 1) // count) for i in range(count))


def spans(T: int, N: int, H: int) -> list[slice]:
    """Cut T steps into spans, the last first: each 384 rows (steps · sequences), or with few units 3 · 2¹⁵ numbers."""
    steps = max(1, max(384, 3 * 2**15 // H) // max(N, 1))
    return [slice(max(stop - steps, 0), stop) for stop in range(T, 0, -steps)]


def _steps(*arrays: Array) -> Callable[[], Iterator[tuple[Array, ...]]]:
    """Return a function that goes through the arrays side by side, as zip does; the pieces of a few steps are kept."""
    pieces = partial(zip, *arrays, strict=True)
    return list(pieces()).__iter__ if len(arrays[0]) <= _FEW else pieces


class Span(NamedTuple):
    """What backward reads of a span of t steps: views on the arrays of `Reserve`."""

    now: slice
    x: Array  # (t · N, K)
    h_prev: Array  # (t, H, N)
    seen: Array  # (t, H, N)
    n: Array  # (t, H, N)
    q: Array  # (t, H, N)
    rk: Array  # (2, t, H, N)
    e: Array  # (2, t, H, N)


class Reserve:
    """What forward leaves for backward, for a block of N sequences, and what it needs itself.

    Attributes
    ----------
    x : (T, N, K), the inputs and, with a bias, a last one that stays 1: K is D + 1 then, else D
    h : (T + 1, H, N), h_0 … h_T
    seen : (T, H, N), what the gates and the candidate see of h_prev: h[:-1] but with recurrent dropout
    a : (T, 3H, N), −a_r, −a_k and a_n; in their place come e_r, e_k and n
    rk : (T, 2H, N), r and k
    q : (T, H, N), as in GRUCache
    r, k, e_k, n : parts of these
    steps : for each step: h_prev, h, seen, −a_r with −a_k, −a_k alone, r with k, r, k, a_n, q
    spans : what backward reads, the last span first
    part, part_n, b_hn, highest : of one step, only while forward runs
    """

    def __init__(
        self, T: int, N: int, D: int, H: int, dtype: np.dtype, bias: bool, reset_after: bool, dropout: bool
    ) -> None:
        self._args = T, N, D, H, dtype, bias, reset_after, dropout
        self.x, self.h = np.ones((T, N, D + bias), dtype), np.empty((T + 1, H, N), dtype)
        self.a, self.rk, self.q = (np.empty((T, K, N), dtype) for K in (3 * H, 2 * H, H))
        self.seen = np.empty((T, H, N), dtype) if dropout else self.h[:-1]
        self.nbytes = sum(a.nbytes for a in self._arrays())

        h_prev, e, self.e_k, self.n = self.h[:-1], self.a[:, : 2 * H], self.a[:, H : 2 * H], self.a[:, 2 * H :]
        self.r, self.k = self.rk[:, :H], self.rk[:, H:]
        self.steps = _steps(h_prev, self.h[1:], self.seen, e, self.e_k, self.rk, self.r, self.k, self.n, self.q)
        rk, e = (a.reshape(T, 2, H, N).swapaxes(0, 1) for a in (self.rk, e))
        read = h_prev, self.seen, self.n, self.q
        self.spans = [
            Span(now, rows(self.x[now]), *(a[now] for a in read), rk[:, now], e[:, now]) for now in spans(T, N, H)
        ]

        self.part, self.part_n = np.empty(((3 if reset_after else 2) * H, N), dtype), np.empty((H, N), dtype)
        self.b_hn = np.zeros((H, N), dtype)  # NumPy adds an array of the same shape faster than one column
        self.highest = np.full((2 * H, N), -lowest_exponent(dtype), dtype)  # and compares it faster than a number

    def _arrays(self) -> tuple[Array, ...]:
        return self.x, self.h, self.seen, self.a, self.rk, self.q

    def __reduce__(self) -> tuple[Any, ...]:  # a copy needs pieces of its own
        return _restored, (self._args, self._arrays())


def _restored(args: tuple[Any, ...], arrays: tuple[Array, ...]) -> Reserve:
    new = Reserve(*args)
    for to, a in zip(new._arrays(), arrays, strict=True):
        to[:] = a
    return new


class Workspace:
    """What backward needs while it goes through the spans of a block, of at most `steps` steps.

    Attributes
    ----------
    dh, dq : (H, N)
    products : (5, H, N), of one step: dq ⊙ r (with `reset_after` dq = da_n ⊙ r), da_r, da_z, da_n, and dh ⊙ k
    by_dq, by_dh : the first two and the other three
    four : (4H, N), the first four
    back : what W_h takes back to h_prev: da_r and da_z, (2H, N), with `reset_after` dq before them, (3H, N)
    """

    def __init__(self, steps: int, N: int, H: int, dtype: np.dtype, reset_after: bool) -> None:
        self._factors, self._columns = np.empty(steps * 5 * H * N, dtype), np.empty(steps * 4 * H * N, dtype)
        self.nbytes = self._factors.nbytes + self._columns.nbytes
        self._of: dict[int, Factors] = {}
        self.dh, self.dq, self.products = np.empty((H, N), dtype), np.empty((H, N), dtype), np.empty((5, H, N), dtype)
        self.by_dq, self.by_dh, self.four = self.products[:2], self.products[2:], self.products[:4].reshape(4 * H, N)
        self.back = self.four[: 3 * H] if reset_after else self.four[H : 3 * H]

    def factors(self, t: int) -> Factors:
        """Return the factors for a span of t steps."""
        if t not in self._of:
            self._of[t] = Factors(t, *self.dh.shape, self._factors, self._columns)
        return self._of[t]


class Factors:
    """What dh and dq are multiplied by in a span of t steps, and where the products are gathered.

    Attributes
    ----------
    all : (5, t, H, N), the factors of the five products of a `Workspace`
    q, r, z, n, k : (t, H, N), each of the five
    rz, qk : (2, t, H, N), two of them
    steps : for each step, the last first: all five, the first two, the other three, and where the products go
    columns : (4H, t · N), the first four products of all steps and sequences, one below the other
    columns_q : (t, H, N), the first of them
    scratch : (t, H, N), on the memory of `columns`
    """

    def __init__(self, t: int, H: int, N: int, factors: Array, columns: Array) -> None:
        self.all = factors[: 5 * t * H * N].reshape(5, t, H, N)
        self.q, self.r, self.z, self.n, self.k = self.all
        self.rz, self.qk, self.scratch = self.all[1:3], self.all[::4], columns[: t * H * N].reshape(t, H, N)
        gathered, self.columns = as_columns(columns, t, 4 * H, N)
        self.columns_q, by_step = gathered[:, :H], self.all.swapaxes(0, 1)
        pieces = by_step, by_step[:, :2], by_step[:, 2:], gathered
        self.steps = _steps(*(a[::-1] for a in pieces))


def batch_first(a: Array) -> Array:
    """(T, K, N) to (T, N, K)."""
    return a.transpose(0, 2, 1)


batch_last = batch_first  # the same exchange of axes, read the other way
