"""The fast passes over whole sequences: what the GRU, the LSTM and Elman's network share.

The numbers are those of a loop over the cell's step. What makes them come faster (chapter 11 measures each):

- The batch is the last axis inside: arrays are (units, N), each gate one contiguous slab, and a step is W_hᵀ h.
- The input's part of all pre-activations is one product for all steps.
- In backward, every factor that does not depend on dh is computed for many steps at once, and the gradients of the
  weights are one product over as many steps and sequences.
- A large batch is cut into blocks of sequences and a long sequence into spans of steps, so that what backward needs
  of them stays in the processor's cache.
- Arrays, and the views of them that the loops go through, are made once for a shape and wait in a pool between passes.
  As in cuDNN, the *reserve* is what forward keeps for backward, the *workspace* what backward needs while it runs.

What every cell has, for a block of N sequences and G slabs of H pre-activations (the cell's own file adds the rest):

=======  =============  ====================================  ===============================================
array    shape          written by                            read by
=======  =============  ====================================  ===============================================
x        (T, N, K)      `load`                                the input's product, W_x's gradient
h        (T + 1, H, N)  `load` (h_0), the forward loop        the forward loop, the factors
seen     (T, H, N)      `load` (the mask), the forward loop   the product with W_h; without a mask it is h_prev
a        (T, G·H, N)    the input's product                   the forward loop, which may put others in its place
factors  (F, t, H, N)   the cell's `factors`                  the backward loop
columns  (C·H, t · N)   the backward loop: da, for a span     the gradients of W_h, W_x, b and x
dh       (H, N)         the backward loop                     the backward loop
=======  =============  ====================================  ===============================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from gru_lib.buffers import Pooled
from gru_lib.products import as_columns
from gru_lib.sequence import rows
from gru_lib.types import Array

__all__ = [
    "Form", "Reserve", "Workspace", "backward", "batch_first", "batch_last", "blocks", "forward", "gradients", "infer",
    "spans", "steps",
]  # fmt: skip

_ROWS = 256  # steps · sequences that `infer` goes through at a time
_FEW = 64  # steps; keeping the views of a longer sequence would take much memory and save little time
_VIEW = 144  # bytes of a view, with its place in a tuple
_OBJECTS = 5000  # bytes of the objects that a Reserve or a Workspace is made of


@cache
def blocks(N: int, H: int) -> tuple[slice, ...]:
    """Cut N sequences into blocks of equal width, each at most 128 wide or, with few units, 2¹⁵ numbers in a state."""
    count = max(1, -(-N // max(128, 2**15 // H)))
    return tuple(slice(N * i // count, N * (i + 1) // count) for i in range(count))


def spans(T: int, N: int, H: int) -> list[slice]:
    """Cut T steps into spans, the last first: each 384 rows (steps · sequences), or with few units 3 · 2¹⁴ numbers."""
    length = max(1, max(384, 3 * 2**14 // H) // max(N, 1))
    return [slice(max(stop - length, 0), stop) for stop in range(T, 0, -length)]


class steps:
    """``steps(a, b)()`` goes through the steps of the arrays side by side; a short sequence's views are kept.

    Attributes
    ----------
    nbytes : size of the views that are kept
    """

    __slots__ = ("_views", "nbytes")

    def __init__(self, *arrays: Array) -> None:
        views: Callable[[], Iterator[tuple[Array, ...]]] = partial(zip, *arrays, strict=True)
        kept = len(arrays[0]) <= _FEW
        self._views = list(views()).__iter__ if kept else views
        self.nbytes = _VIEW * len(arrays) * len(arrays[0]) * kept

    def __call__(self) -> Iterator[tuple[Array, ...]]:
        return self._views()


def batch_first(a: Array) -> Array:
    """(T, K, N) to (T, N, K)."""
    return a.transpose(0, 2, 1)


batch_last = batch_first  # the same exchange of axes, read the other way


class Form(NamedTuple):
    """What the arrays of a block depend on."""

    T: int
    N: int
    D: int
    H: int
    dtype: np.dtype
    dropout: bool  # whether the recurrent connection has a mask
    bias: bool


class Reserve:
    """What forward keeps of a block of N sequences: x, h, seen, a, and the arrays that a cell adds with `keep`.

    Attributes
    ----------
    spans : for each span, the last first: `now`, its slice of steps, `x` (t · N, K), and what the factors are made of
    steps : what the forward loop goes through
    """

    G: ClassVar[int]  # slabs of pre-activations

    spans: Sequence[Any]
    steps: steps

    def __init__(self, form: Form) -> None:
        T, N, D, H, _, dropout, bias = self.form = form
        self._kept: list[Array] = []
        self.h, self.a = self.keep(T + 1, H, N), self.keep(T, self.G * H, N)
        self.seen = self.keep(T, H, N) if dropout else self.h[:-1]
        self.x = self.keep(T, N, D + bias)  # with an input that is always 1, the bias is its weight
        self.x[:, :, D:] = 1

    @classmethod
    def of(cls, p: Any, T: int, N: int, dtype: np.dtype, dropout: bool = False) -> Pooled[Self]:
        """Take one from the pool for T steps of N sequences."""
        return Pooled(cls, Form(T, N, p.D, p.H, dtype, dropout, p.bias))

    def keep(self, *shape: int) -> Array:
        """Make an array that backward, or a copy of the tape, will need."""
        a = np.empty(shape, self.form.dtype)
        self._kept.append(a)
        return a

    @cached_property
    def nbytes(self) -> int:
        """Size of the arrays, and of the views of them."""
        views = _VIEW * sum(map(len, self.spans)) + self.steps.nbytes
        return sum(a.nbytes for a in self._kept) + views + _OBJECTS

    def cut(self, span: Callable[..., Any], *arrays: Array) -> list[Any]:
        """Return a `span` of each: its slice of steps, its inputs as (t · N, K), and those steps of the arrays."""
        cuts = spans(self.form.T, self.form.N, self.form.H)
        return [span(now, rows(self.x[now]), *(a[now] for a in arrays)) for now in cuts]

    def load(self, xs: Array, states: Sequence[Array], h_mask: Array | None, W_x: Array) -> None:
        """Take in xs (T, N, D), the first states (N, H) and the recurrent mask; a is the input's part, W_x x."""
        now = slice(len(xs))  # with `infer` the last steps may be fewer
        self.x[now, :, : xs.shape[2]] = xs
        self.h[0] = states[0].T
        if h_mask is not None:
            self.seen[now] = batch_last(h_mask)
        np.matmul(W_x, batch_last(self.x[now]), out=self.a[now])

    @staticmethod
    def weights(p: Any, N: int) -> tuple[Any, ...]:
        """Lay the weights as `run` wants them: W_x (G·H, K) for `load`, and the products of a step."""
        raise NotImplementedError

    def run(
        self,
        p: Any,
        weights: tuple[Any, ...],
        xs: Array,
        states: Sequence[Array],
        mask: Array | None = None,
        h_mask: Array | None = None,
    ) -> None:
        """Fill every array: `load`, then the cell's step for t = 1 … T."""
        raise NotImplementedError

    def states(self, t: int) -> tuple[Array, ...]:
        """Return the cell's state after t steps, (N, H)."""
        return (self.h[t].T,)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy needs views of its own
        return _restored, (type(self), self.form, self._kept)


def _restored(kind: type[Reserve], form: Form, kept: list[Array]) -> Reserve:
    new = kind(form)
    for to, a in zip(new._kept, kept, strict=True):
        to[:] = a
    return new


def forward(
    kind: type[Reserve],
    p: Any,
    xs: Array,
    states: Sequence[Array],
    mask: Array | None,
    h_mask: Array | None,
    dtype: np.dtype,
) -> tuple[Array, tuple[Pooled[Any], ...]]:
    """Run a cell over sequences, block by block; return h_0 … h_T, (T + 1, N, H), and the reserve of each block."""
    (T, N, _), H = xs.shape, p.H
    hs, reserves = np.empty((T + 1, N, H), dtype), []
    for c in blocks(N, H):
        n = c.stop - c.start
        reserves.append(kind.of(p, T, n, dtype, h_mask is not None))
        masks = (None if m is None else m[:, c] for m in (mask, h_mask))
        reserves[-1].it.run(p, kind.weights(p, n), xs[:, c], [s[c] for s in states], *masks)
        hs[:, c] = batch_first(reserves[-1].it.h)
    return hs, tuple(reserves)


def infer(
    kind: type[Reserve], p: Any, xs: Array, states: Sequence[Array], mask: Array | None, dtype: np.dtype
) -> tuple[Array, list[Array]]:
    """Run a cell over sequences when nobody will ask for gradients; return its outputs (T, N, H) and final states.

    One reserve of a few steps serves again and again, so its arrays stay in the processor's cache.
    """
    (T, N, _), H = xs.shape, p.H
    hs, ends = np.empty((T, N, H), dtype), [np.array(s, dtype) for s in states]
    for c in blocks(N, H):
        n = c.stop - c.start
        length = max(1, min(T, _ROWS // max(n, 1)))
        pooled, weights = kind.of(p, length, n, dtype), kind.weights(p, n)
        block, now = pooled.it, tuple(s[c] for s in states)
        for start in range(0, T, length):
            part = slice(start, min(start + length, T))
            block.run(p, weights, xs[part, c], now, None if mask is None else mask[part, c])
            hs[part, c], now = batch_first(block.h[1 : part.stop - start + 1]), block.states(part.stop - start)
        for end, s in zip(ends, now, strict=True):
            end[c] = s
    if mask is not None:
        hs[~mask] = 0
    return hs, ends


class Workspace:
    """What backward needs while it goes through the spans of a block: factors, columns and dh, and what a cell adds.

    Attributes
    ----------
    nbytes : size of the large arrays, of the views that are kept, and of the weights as `begin` lays them
    """

    F: ClassVar[int]  # factors of a unit and step
    C: ClassVar[int]  # slabs that are gathered for the gradients

    def __init__(self, t: int, N: int, H: int, dtype: np.dtype) -> None:
        self._factors, self._columns = np.empty(t * self.F * H * N, dtype), np.empty(t * self.C * H * N, dtype)
        self.nbytes = self._factors.nbytes + self._columns.nbytes + self.C * H * H * dtype.itemsize + _OBJECTS
        self._views: dict[int, Any] = {}  # by the length of a span
        self.dh = np.empty((H, N), dtype)

    @classmethod
    def of(cls, block: Reserve, dtype: np.dtype) -> Pooled[Self]:
        """Take one from the pool for the spans of a block."""
        longest = max((span.now.stop - span.now.start for span in block.spans), default=0)
        return Pooled(cls, longest, block.form.N, block.form.H, dtype)

    def views(self, t: int) -> Any:
        """Return what `lay` makes for a span of t steps, made once."""
        if t not in self._views:
            H, N = self.dh.shape
            factors = self._factors[: t * self.F * H * N].reshape(self.F, t, H, N)
            self._views[t] = self.lay(factors, *as_columns(self._columns, t, self.C * H, N))
            self.nbytes += self._views[t].steps.nbytes
        return self._views[t]

    def lay(self, factors: Array, gathered: Array, columns: Array) -> Any:
        """Return the views that `run` takes of factors (F, t, H, N) and of columns, also seen as (t, C·H, N).

        One of them is `steps`, what the backward loop goes through.
        """
        raise NotImplementedError

    def begin(self, p: Any, dstates: Sequence[Array]) -> None:
        """Take in the gradients of the final states (N, H), and prepare the weights."""
        raise NotImplementedError

    def run(self, span: Any, dhs: Array, p: Any, mask: Array | None, h_mask: Array | None) -> Array:
        """Go through a span, the last step first, and return the da of its steps, (G·H, t · N)."""
        raise NotImplementedError

    def products(self, da: Array, span: Any, seen: Array, W_x: Array) -> tuple[Array, ...]:
        """Return dx of a span's steps, (t · N, D), and the span's part of the gradients of W_x with b, and of W_h.

        The latter are transposed: BLAS multiplies them faster so.
        """
        return (W_x @ da).T, da @ span.x, da @ seen

    def end(self) -> tuple[Array, ...]:
        """Return the gradients of the first states, (H, N)."""
        return (self.dh,)


def backward(
    kind: type[Workspace],
    p: Any,
    W_x: Array,
    reserves: Sequence[Pooled[Any]],
    hs: Array,
    dhs: Array,
    dstates: Sequence[Array],
    mask: Array | None,
    h_mask: Array | None,
) -> tuple[Array, list[Array], list[Array]]:
    """Run a cell backward over sequences, block by block and span by span.

    `hs` and `reserves` come from `forward`; dhs (T, N, H) and dstates (N, H) are the gradients of outputs and final
    states; W_x (D, G·H) are the weights of the inputs. Returns dxs (T, N, D), the gradients of the first states, and
    the sums over spans and blocks of what `Workspace.products` gave for the weights: none if there was no step.
    """
    (T, N, H), dtype = dhs.shape, dstates[0].dtype
    dxs, dstates0 = np.empty((T, N, len(W_x)), dtype), [np.empty((N, H), dtype) for _ in dstates]
    sums: list[Array] = []
    start = 0
    for block in (reserve.it for reserve in reserves):
        c = slice(start, start := start + block.form.N)
        pooled = kind.of(block, dtype)
        work, mask_c, h_mask_c = pooled.it, *(None if m is None else m[:, c] for m in (mask, h_mask))
        dhs_c = batch_last(dhs[:, c])
        work.begin(p, [d[c] for d in dstates])
        for span in block.spans:
            now = span.now
            da = work.run(span, dhs_c, p, mask_c, h_mask_c)
            seen = rows(hs[now, c] if h_mask_c is None else hs[now, c] * h_mask_c[now])
            dx, *products = work.products(da, span, seen, W_x)
            dxs[now, c] = dx.reshape(now.stop - now.start, c.stop - c.start, len(W_x))
            if sums:
                for total, product in zip(sums, products, strict=True):
                    total += product
            else:
                sums = products
        for d, end in zip(dstates0, work.end(), strict=True):
            d[c] = end.T
    return dxs, dstates0, sums


def gradients(sums: list[Array], p: Any, dtype: np.dtype) -> Any:
    """Return the sums of the base class's `products` as parameters."""
    if not sums:
        return p.zeros_like(dtype)
    g, (by_x, by_h) = p.on(np.empty(p.size, dtype)), sums
    g.W_x[:], g.W_h[:] = by_x[:, : p.D].T, by_h.T
    if p.bias:
        g.b[:] = by_x[:, p.D]
    return g
