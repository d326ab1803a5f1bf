"""The pieces around a recurrent cell, as forward/backward pairs: sigmoid, linear layer, embedding, losses.

Each `*_forward` returns its output and the cache that `*_backward` needs.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.checks import as_array, as_integers, check_bool, check_dtype, check_instance, check_int, of_shape, plain
from gru_lib.params import Params
from gru_lib.types import Array, MaybeArray

__all__ = [
    "EmbeddingParams", "LinearParams", "bce_with_logits", "embedding_backward", "embedding_forward", "embedding_init",
    "linear_backward", "linear_forward", "linear_init", "log_softmax", "orthogonal", "sigmoid", "sigmoid_pair",
    "softmax_cross_entropy",
]  # fmt: skip


def sigmoid(a: ArrayLike) -> Array:
    """Return the logistic function σ(a) = 1 / (1 + exp(−a)) of a real or complex array, in the same dtype.

    Large ``|a|`` neither overflows nor warns, and σ(a) keeps its relative accuracy for very negative a. The slope is
    σ′(a) = σ(a)·σ(−a); computed as s·(1 − s) it loses its digits where s is near 1. `sigmoid_pair` gives both factors.

    Examples
    --------
    >>> from gru_lib import sigmoid
    >>> sigmoid([0.0, np.log(3), 1000.0])
    array([0.5 , 0.75, 1.  ])
    """
    a = of_shape("sigmoid", "a", a)
    return 1 / (1 + np.exp(-np.maximum(a, lowest_exponent(a.dtype))))


def sigmoid_pair(a: ArrayLike) -> tuple[Array, Array]:
    """Return σ(a) and σ(−a) = 1 − σ(a), both to full relative accuracy, from one exponential.

    With e = exp(−a): σ(a) = 1/(1 + e) and σ(−a) = e/(1 + e). Their product is the slope of σ.

    Examples
    --------
    >>> from gru_lib.ops import sigmoid_pair
    >>> s, not_s = sigmoid_pair(50.0)
    >>> f"{1 - s:.4e}", f"{not_s:.4e}"
    ('0.0000e+00', '1.9287e-22')
    """
    a = of_shape("sigmoid_pair", "a", a)
    e = np.exp(-np.maximum(a, lowest_exponent(a.dtype)))
    s = 1 / (1 + e)
    return s, e * s


@cache
def lowest_exponent(dtype: np.dtype) -> Any:
    """The lowest pre-activation whose exp(−a) does not overflow: −708 for float64, −87 for float32."""
    return dtype.type(np.ceil(np.log(np.finfo(dtype).tiny)))


def orthogonal(rng: np.random.Generator, H: int) -> Array:
    """Draw an (H, H) orthogonal matrix, uniformly among all of them: multiplying by it keeps every vector's length.

    Saxe et al. (2014), arXiv:1312.6120. Taking the signs of R's diagonal makes the draw uniform (Mezzadri 2007).

    Examples
    --------
    >>> from gru_lib import orthogonal
    >>> Q = orthogonal(np.random.default_rng(0), 5)
    >>> np.allclose(Q @ Q.T, np.eye(5))
    True
    """
    check_instance("orthogonal", "rng", rng, np.random.Generator)
    Q, R = np.linalg.qr(rng.normal(size=(check_int("orthogonal", "H", H),) * 2))
    return Q * np.sign(np.diag(R))


class LinearParams(Params):
    """Parameters of a linear layer: W (D, K) and, with `bias`, b (K,)."""

    D: int
    K: int
    bias: bool
    W: Array
    b: Array

    def __init__(
        self, D: int, K: int, *, bias: bool = True, dtype: DTypeLike = np.float64, flat: Array | None = None
    ) -> None:
        where = "linear_init"
        D, K, dtype = check_int(where, "D", D), check_int(where, "K", K), check_dtype(where, dtype)
        bias = check_bool(where, "bias", bias)
        shapes: dict[str, tuple[int, ...]] = {"W": (D, K)} | ({"b": (K,)} if bias else {})
        super().__init__(shapes, options={"D": D, "K": K, "bias": bias}, dtype=dtype, flat=flat)


def linear_init(
    rng: np.random.Generator, D: int, K: int, *, bias: bool = True, dtype: DTypeLike = np.float64
) -> LinearParams:
    """Draw the parameters of y = x W + b: W (D, K) uniform in ±1/√D and, with `bias`, b (K,) = 0.

    Examples
    --------
    >>> from gru_lib import linear_init
    >>> p = linear_init(np.random.default_rng(0), D=4, K=2)
    >>> p.W.shape, p.b, bool(np.abs(p.W).max() < 1 / np.sqrt(4))
    ((4, 2), array([0., 0.]), True)
    """
    check_instance("linear_init", "rng", rng, np.random.Generator)
    p = LinearParams(D, K, bias=bias, dtype=dtype)
    p.W[:] = rng.uniform(-1, 1, (D, K)) / np.sqrt(D)
    return p


def linear_forward(x: ArrayLike, p: LinearParams) -> tuple[Array, Array]:
    """y = x W + b, for x of shape (..., D) and y of shape (..., K).

    Examples
    --------
    >>> from gru_lib import linear_forward, linear_init
    >>> p = linear_init(np.random.default_rng(0), D=2, K=1)
    >>> p.W[:, 0], p.b[:] = [10, 1], 0.5
    >>> y, cache = linear_forward([3.0, 4.0], p)
    >>> y
    array([34.5])
    """
    check_instance("linear_forward", "p", p, LinearParams)
    x = _last_axis("linear_forward", "x", x, p.D)
    y = x @ p.W
    return (y + p.b if p.bias else y), x


def linear_backward(dy: ArrayLike, cache: Array, p: LinearParams) -> tuple[Array, LinearParams]:
    """dx = dy Wᵀ,  dW = Σ xᵀ dy,  db = Σ dy, summed over all leading axes. Returns dx and the gradients.

    Examples
    --------
    >>> from gru_lib import linear_backward, linear_forward, linear_init
    >>> p = linear_init(np.random.default_rng(0), D=2, K=1)
    >>> p.W[:, 0] = 10, 1
    >>> y, cache = linear_forward([[3.0, 4.0]], p)
    >>> dx, grads = linear_backward([[1.0]], cache, p)
    >>> dx, grads.W[:, 0], grads.b
    (array([[10.,  1.]]), array([3., 4.]), array([1.]))
    """
    check_instance("linear_backward", "p", p, LinearParams)
    dy, cache = _last_axis("linear_backward", "dy", dy, p.K), _last_axis("linear_backward", "cache", cache, p.D)
    if dy.shape[:-1] != cache.shape[:-1]:
        raise ValueError(f"linear_backward: dy must have the shape of y, {(*cache.shape[:-1], p.K)}; got {dy.shape}.")
    x_rows, dy_rows = cache.reshape(-1, p.D), dy.reshape(-1, p.K)
    grads = p.zeros_like(np.result_type(x_rows, dy_rows, p.flat))
    grads.W[:] = x_rows.T @ dy_rows
    if p.bias:
        grads.b[:] = dy_rows.sum(axis=0)
    return dy @ p.W.T, grads


def _last_axis(where: str, name: str, value: ArrayLike, size: int) -> Array:
    if type(value) is np.ndarray and value.dtype.char in "fdFD" and value.shape[-1:] == (size,):
        return value  # as nearly always
    array = plain(where, name, value)
    last = "K" if name == "dy" else "D"
    axes = tuple(f"axis{i}" for i in range(max(array.ndim - 1, 0)))
    return as_array(where, name, array, (*axes, last), {last: size})


class EmbeddingParams(Params):
    """Parameters of an embedding: E (V, D), one row for each of V tokens."""

    V: int
    D: int
    E: Array

    def __init__(self, V: int, D: int, *, dtype: DTypeLike = np.float64, flat: Array | None = None) -> None:
        where = "embedding_init"
        V, D, dtype = check_int(where, "V", V), check_int(where, "D", D), check_dtype(where, dtype)
        super().__init__({"E": (V, D)}, options={"V": V, "D": D}, dtype=dtype, flat=flat)


def embedding_init(rng: np.random.Generator, V: int, D: int, *, dtype: DTypeLike = np.float64) -> EmbeddingParams:
    """Draw an embedding of V tokens: rows of D standard normal numbers.

    Examples
    --------
    >>> from gru_lib import embedding_init
    >>> p = embedding_init(np.random.default_rng(0), V=7, D=3)
    >>> p.E.shape
    (7, 3)
    """
    check_instance("embedding_init", "rng", rng, np.random.Generator)
    p = EmbeddingParams(V, D, dtype=dtype)
    p.E[:] = rng.normal(size=(V, D))
    return p


def embedding_forward(tokens: ArrayLike, p: EmbeddingParams) -> tuple[Array, Array]:
    """x = E[tokens], (..., D) for integers (...) in 0..V−1: one-hot rows times E, without the product.

    Examples
    --------
    >>> from gru_lib import embedding_forward, embedding_init
    >>> p = embedding_init(np.random.default_rng(0), V=7, D=3)
    >>> x, cache = embedding_forward([[2, 5], [2, 6]], p)
    >>> x.shape, np.array_equal(x[1, 0], p.E[2])
    ((2, 2, 3), True)
    """
    check_instance("embedding_forward", "p", p, EmbeddingParams)
    tokens = _classes("embedding_forward", "tokens", tokens, p.V)
    return p.E[tokens], tokens


def embedding_backward(dx: ArrayLike, cache: Array, p: EmbeddingParams) -> EmbeddingParams:
    """dE[v] = Σ dx over the places where the token was v. Tokens have no gradient.

    Examples
    --------
    >>> from gru_lib import ops
    >>> p = ops.embedding_init(np.random.default_rng(0), V=3, D=2)
    >>> x, cache = ops.embedding_forward([1, 1, 2], p)
    >>> ops.embedding_backward(np.ones((3, 2)), cache, p).E
    array([[0., 0.],
           [2., 2.],
           [1., 1.]])
    """
    check_instance("embedding_backward", "p", p, EmbeddingParams)
    dx, cache = _last_axis("embedding_backward", "dx", dx, p.D), _classes("embedding_backward", "cache", cache, p.V)
    if dx.shape[:-1] != cache.shape:
        raise ValueError(f"embedding_backward: dx must have shape {(*cache.shape, p.D)}; got {dx.shape}.")
    grads = p.zeros_like(np.result_type(dx, p.flat))
    np.add.at(grads.E, cache.reshape(-1), dx.reshape(-1, p.D))
    return grads


def _classes(where: str, name: str, value: ArrayLike, count: int) -> Array:
    return as_integers(where, name, value, 0, count - 1)


class LossGrad(NamedTuple):
    """A loss and its gradient with respect to the logits."""

    loss: Any
    dlogits: Array


def bce_with_logits(logits: ArrayLike, targets: ArrayLike, weights: MaybeArray = None) -> LossGrad:
    """Mean binary cross-entropy of targets y given logits a, with s = σ(a).

    ::

        L     = Σ w·( log(1 + exp(a)) − y·a ) / Σ w  =  −Σ w·( y log s + (1−y) log(1−s) ) / Σ w
        dL/da = w·(s − y) / Σ w

    Computed from the logits, never from s, so nothing overflows.

    Parameters
    ----------
    logits : array (...)
    targets : array (...), in [0, 1]
    weights : array (...), optional
        At least 0, not all 0; default 1. A mask of 0 and 1 leaves out padding, which may even hold NaN.

    Returns
    -------
    LossGrad
        The loss in nats per (weighted) element, and its gradient, of the shape of `logits`.

    Examples
    --------
    >>> from gru_lib import bce_with_logits
    >>> loss, dlogits = bce_with_logits([np.log(3), 0.0], [1, 0])
    >>> bool(np.isclose(loss, -np.log(0.75 * 0.5) / 2))
    True
    >>> dlogits.round(6)  # ((0.75, 0.5) − (1, 0)) / 2
    array([-0.125,  0.25 ])
    """
    where = "bce_with_logits"
    a = of_shape(where, "logits", logits)
    y = of_shape(where, "targets", targets, a.shape)
    if y.size and not ((y.real >= 0) & (y.real <= 1)).all():
        raise ValueError(f"{where}: targets must lie in [0, 1]; got {y.real.min():g}..{y.real.max():g}.")
    w = _shares(where, weights, a.shape, a.real.dtype)
    if weights is not None:
        a, y = np.where(w > 0, a, 0), np.where(w > 0, y, 0)
    s, _ = sigmoid_pair(a)
    return LossGrad((w * (softplus(a) - y * a)).sum(), w * (s - y.astype(a.dtype)))


def _shares(where: str, weights: MaybeArray, shape: tuple[int, ...], dtype: Any) -> Array:
    """The weights of a mean, divided by their sum; equal ones for None."""
    w = np.ones(shape, dtype)
    if weights is not None:
        w = of_shape(where, "weights", weights, shape).astype(dtype)
        if not (w >= 0).all():
            raise ValueError(f"{where}: weights must be at least 0; got {w.min():g}.")
    total = w.sum()
    if not total > 0:
        raise ValueError(f"{where}: at least one weight must be above 0; got none.")
    return w / total


def softplus(a: Array) -> Array:
    """``log(1 + exp(a)) = relu(a) + log(1 + exp(−|a|))``: without overflow, for complex a too (complex step)."""
    positive = a.real > 0
    return np.where(positive, a, 0) + _log1p(np.exp(np.where(positive, -a, a)))


def _log1p(a: Array) -> Array:
    """log(1 + a), computed in double: it is the C library's, and these differ in the last bit of single precision."""
    return np.log1p(a, dtype=np.result_type(a, np.float64)).astype(a.dtype, copy=False)


def log_softmax(a: ArrayLike) -> Array:
    """Return log softmax(a) over the last axis: a − log Σ exp(a), for logits of any size up to 1e300.

    With m the largest logit this is (a − m) − log(1 + Σ exp(a − m)), summed over all the others: nothing overflows, and
    the log-probability of a nearly certain class keeps its digits.

    Examples
    --------
    >>> from gru_lib import log_softmax
    >>> np.exp(log_softmax([1000 + np.log(3), 1000.0])).round(6)
    array([0.75, 0.25])
    """
    a = plain("log_softmax", "a", a)
    a = as_array("log_softmax", "a", a, (*(f"axis{i}" for i in range(a.ndim - 1)), "K"), {})
    if not a.shape[-1]:
        raise ValueError(f"log_softmax: a must have at least one class; got shape {a.shape}.")
    top = a.real.argmax(axis=-1)[..., None]
    a = a - np.take_along_axis(a, top, axis=-1)
    e = np.exp(a)
    np.put_along_axis(e, top, 0, axis=-1)
    return a - _log1p(e.sum(axis=-1, keepdims=True))


def softmax_cross_entropy(logits: ArrayLike, targets: ArrayLike, weights: MaybeArray = None) -> LossGrad:
    """Mean cross-entropy of target classes y given logits a, with s = softmax(a). Chapter 16.

    ::

        L     = −Σ w·log s[y] / Σ w
        dL/da = w·(s − onehot(y)) / Σ w

    Parameters
    ----------
    logits : array (..., K)
    targets : integers (...), in 0..K−1
    weights : array (...), optional
        As in `bce_with_logits`. Under weight 0 the target may be any integer.

    Returns
    -------
    LossGrad
        The loss in nats per (weighted) position, and its gradient (..., K).

    Examples
    --------
    >>> from gru_lib import softmax_cross_entropy
    >>> loss, dlogits = softmax_cross_entropy([[np.log(3), 0.0]], [0])
    >>> bool(np.isclose(loss, np.log(4 / 3)))
    True
    >>> dlogits.round(6)  # (0.75, 0.25) − (1, 0)
    array([[-0.25,  0.25]])
    """
    where = "softmax_cross_entropy"
    y = plain(where, "targets", targets)
    if y.dtype.kind not in "iu":
        raise TypeError(f"{where}: targets must hold integers; got dtype {y.dtype}.")
    axes = tuple(f"axis{i}" for i in range(y.ndim))
    a = as_array(where, "logits", logits, (*axes, "K"), dict(zip(axes, y.shape, strict=True)))
    w = _shares(where, weights, y.shape, a.real.dtype)
    if weights is not None:
        a, y = np.where(w[..., None] > 0, a, 0), np.where(w > 0, y, 0)
    y, w = _classes(where, "targets", y, a.shape[-1])[..., None], w[..., None]
    log_s = log_softmax(a)
    loss = -(w * np.take_along_axis(log_s, y, axis=-1)).sum()
    s = np.exp(log_s)
    np.put_along_axis(s, y, 0, axis=-1)
    np.put_along_axis(s, y, -s.sum(axis=-1, keepdims=True), axis=-1)  # s[y] − 1, accurate when s[y] is near 1
    return LossGrad(loss, w * s)
