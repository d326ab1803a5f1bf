"""What the passes of GRU, LSTM and Elman's network over whole sequences share. Chapter 11 says what each of it buys.

- Inside, the batch is the last axis: arrays are (T, H, N), and each gate of a step is one piece of memory.
- The input's part of all pre-activations is one product, the bias in it as the weight of an input that is always 1.
- Backward goes through spans of steps, the last span first. Every factor that does not depend on dh is computed for a
  whole span at once, and so are the gradients of the weights; what a span needs stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gru_lib.ops import lowest_exponent
from gru_lib.sequence import rows
from gru_lib.types import Array

__all__ = [
    "backwards",
    "batch_first",
    "batch_last",
    "by_spans",
    "columns",
    "dinputs",
    "inputs",
    "sigmoids",
    "spans",
]

_ROWS = 384  # steps · sequences of a span, at least
_NUMBERS = 3 * 2**14  # in an array (t, H, N) of a span, with few units


def batch_first(a: Array) -> Array:
    """(T, K, N) to (T, N, K), a view."""
    return a.swapaxes(1, 2)


batch_last = batch_first  # the same exchange of axes, read the other way


def columns(a: Array) -> Array:
    """(T, K, N) to (K, T·N): one column per step and sequence, for one product over all of them."""
    T, K, N = a.shape
    return a.swapaxes(0, 1).reshape(K, T * N)


def inputs(xs: Array, W_x: Array, b: Array | None, dtype: np.dtype) -> tuple[Array, Array]:
    """Return a copy of xs, (T, N, D), and the input's part of every pre-activation, xs W_x + b, (T, G·H, N).

    With b the copy ends with an input that is always 1, (T, N, D + 1), and b is its weight.
    """
    T, N, D = xs.shape
    x = np.ones((T, N, D if b is None else D + 1), xs.dtype)
    x[:, :, :D] = xs
    W = W_x if b is None else np.concatenate((W_x, b[None]))
    return x, np.matmul(W.T, batch_last(x)).astype(dtype, copy=False)


def sigmoids(a: Array, s: Array) -> None:
    """Write σ(a) into s, and 1 − σ(a) in place of a. As `sigmoid_pair`, without new arrays."""
    np.maximum(a, lowest_exponent(a.dtype), out=a)
    np.negative(a, out=a)
    np.exp(a, out=a)
    np.add(a, 1, out=s)
    np.reciprocal(s, out=s)
    a *= s


def spans(T: int, N: int, H: int) -> list[slice]:
    """Cut T steps into spans, the last first."""
    length = max(1, max(_ROWS, _NUMBERS // H) // max(N, 1))
    return [slice(max(stop - length, 0), stop) for stop in range(T, 0, -length)]


def backwards(now: slice, *arrays: Array) -> Iterator[tuple[Any, ...]]:
    """Go through the steps of a span, the last first: t, and that step of each array."""
    return zip(reversed(range(now.start, now.stop)), *(a[::-1] for a in arrays), strict=True)


def dinputs(da: Array, x: Array, p: Any, g: Any) -> Array:
    """Return dx of a span, (t, N, D), and add its part of the gradients of W_x and b to g; da is (G·H, t·N).

    BLAS is faster with the gradients of weights transposed.
    """
    by_x = da @ rows(x)
    g.W_x[:] += by_x[:, : p.D].T
    if p.bias:
        g.b[:] += by_x[:, p.D]
    return (p.W_x @ da).T.reshape(*x.shape[:2], p.D)


def by_spans(
    forward: Callable[..., Any], xs: Array, state: Any, p: Any, mask: Array | None, dtype: np.dtype
) -> tuple[Array, Any]:
    """Run a forward pass span by span, and drop each tape: outputs (T, N, H) and final state."""
    T, N, _ = xs.shape
    hs = np.empty((T, N, p.H), dtype)
    for now in reversed(spans(T, N, p.H)):
        hs[now], state, _ = forward(xs[now], state, p, lengths=None if mask is None else mask[now].sum(axis=0))
    return hs, state
