"""A cell reads a sequence; a linear layer and sigmoids answer with bits. Chapters 7, 8 and 9.

`m = reader_init(rng, D, K, H)` is a bundle of the cell `m.rnn` and the linear layer `m.out`. Any cell of this library
can take the GRU's place: the type of `m.rnn` says which. The subtractor of chapter 7 is the reader of two bits a step
that answers with one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_book.tasks import memory, subtraction
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import cell_of, infer
from gru_lib.ops import bce_with_logits, linear_backward, linear_forward, linear_init, sigmoid
from gru_lib.params import Bundle, bundle

__all__ = [
    "ReaderAccuracy", "SubtractorAccuracy", "reader_accuracy", "reader_init", "reader_logits", "reader_loss",
    "subtractor_accuracy", "subtractor_init", "subtractor_loss", "subtractor_predict",
]  # fmt: skip

Array = NDArray[Any]


def reader_init(
    rng: np.random.Generator, D: int, K: int, H: int, *, init: Callable[..., Any] = gru_init, **options: Any
) -> Bundle:
    """Draw a cell of H units that reads D inputs a step, and a linear layer with K outputs.

    The cell is ``init(rng, D, H, **options)``; the linear layer shares its dtype and `bias`.

    Examples
    --------
    >>> from gru_book.models.reader import reader_init
    >>> m = reader_init(np.random.default_rng(0), D=3, K=2, H=5)
    >>> m.rnn.W_x.shape, m.out.W.shape
    ((3, 15), (5, 2))
    """
    shared = {name: options[name] for name in ("bias", "dtype") if name in options}
    return bundle(rnn=init(rng, D, H, **options), out=linear_init(rng, H, K, **shared))


def reader_logits(m: Bundle, xs: ArrayLike) -> Array:
    """Return the logit of each bit after each step: (T, N, K) for xs (T, N, D).

    Examples
    --------
    >>> from gru_book.models.reader import reader_init, reader_logits
    >>> m = reader_init(np.random.default_rng(0), D=3, K=2, H=5)
    >>> m.out.W[:], m.out.b[:] = 0, [1, -1]
    >>> reader_logits(m, np.ones((4, 1, 3)))[-1]
    array([[ 1., -1.]])
    """
    return linear_forward(infer(xs, None, m.rnn)[0], m.out)[0]


def reader_loss(m: Bundle, batch: memory.Batch) -> tuple[Any, Bundle]:
    """Mean binary cross-entropy of the bits that count, and its gradient in every parameter. Chapter 8.

    ::

        y_t = σ(h_t W + b)
        L   = −mean over the asked (t, n) and over k of  d log y + (1 − d) log(1 − y),  d the right bit

    The batch holds xs (T, N, D), ys (T, N, K) and asked (T, N).

    Examples
    --------
    >>> from gru_book.models.reader import reader_init, reader_loss
    >>> from gru_book.tasks.memory import checksum
    >>> rng = np.random.default_rng(0)
    >>> m = reader_init(rng, D=16, K=3, H=5)
    >>> m.flat[:] = 0  # every answer is 0.5
    >>> loss, grads = reader_loss(m, checksum(rng, N=8, T=6))
    >>> bool(np.isclose(loss, np.log(2)))
    True
    """
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(batch.xs, None, m.rnn)
    first = 0 if batch.asked[:-1].any() else -1  # asked only at the end, the other steps need no logits
    logits, cache = linear_forward(hs[first:], m.out)  # (T or 1, N, K)
    weights = np.broadcast_to(batch.asked[first:, :, None], logits.shape)
    loss, dlogits = bce_with_logits(logits, batch.ys[first:], weights)
    dread, dout = linear_backward(dlogits, cache, m.out)
    dhs = np.zeros(hs.shape, dread.dtype)
    dhs[first:] = dread
    _, _, drnn = cell.backward(dhs, None, tape, m.rnn)
    return loss, bundle(rnn=drnn, out=dout)


class ReaderAccuracy(NamedTuple):
    """Shares in [0, 1]."""

    answers: float  # of the asked answers, all K bits right
    sequences: float  # of the sequences, every asked answer right


def reader_accuracy(m: Bundle, batch: memory.Batch) -> ReaderAccuracy:
    """Return the shares of answers and of whole sequences that are right.

    Examples
    --------
    >>> from gru_book.models.reader import reader_accuracy, reader_init
    >>> from gru_book.tasks.memory import checksum
    >>> rng = np.random.default_rng(0)
    >>> m = reader_init(rng, D=16, K=3, H=5)
    >>> m.out.W[:], m.out.b[:] = 0, 1  # it says 7 to everything
    >>> round(reader_accuracy(m, checksum(rng, N=1000, T=6)).answers, 1)
    0.1
    """
    right = ((reader_logits(m, batch.xs).real > 0) == (batch.ys == 1)).all(axis=2)
    return ReaderAccuracy(float(right[batch.asked].mean()), float((right | ~batch.asked).all(axis=0).mean()))


# -------------------------------------------------------------------------------------------- the subtractor, chapter 7


def subtractor_init(rng: np.random.Generator, H: int, *, init: Callable[..., Any] = gru_init, **options: Any) -> Bundle:
    """Draw a reader of two bits a step with H units and one output; options as for `reader_init`.

    Examples
    --------
    >>> from gru_book.models.reader import subtractor_init
    >>> m = subtractor_init(np.random.default_rng(0), H=3)
    >>> m.rnn.D, m.rnn.H, m.out.K
    (2, 3, 1)
    """
    return reader_init(rng, 2, 1, H, init=init, **options)


def subtractor_loss(
    m: Bundle,
    batch: subtraction.Batch,
    *,
    commit: float = 0.0,
    decay: float = 0.0,
) -> tuple[Any, Bundle]:
    """The loss on a batch, and its gradient in every parameter.

    ::

        y_t = σ(h_t W + b)
        L   = mean of −(d log y + (1 − d) log(1 − y)), d the right bit
            + commit/2 · mean of |h_t − sign h_t|²
            + decay/2 · |all parameters|²

    The means are over steps and pairs. The second term pulls every unit towards −1 or +1.

    Examples
    --------
    >>> from gru_book.models.reader import subtractor_init, subtractor_loss
    >>> from gru_book.tasks.subtraction import all_pairs
    >>> m = subtractor_init(np.random.default_rng(0), H=3)
    >>> m.flat[:] = 0  # every answer is 0.5
    >>> loss, grads = subtractor_loss(m, all_pairs(4))
    >>> bool(np.isclose(loss, np.log(2)))
    True
    """
    xs, ys = batch
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(xs, None, m.rnn)  # (T, N, H)
    logits, cache = linear_forward(hs, m.out)  # (T, N, 1)
    loss, dlogits = bce_with_logits(logits, ys)
    dhs, dout = linear_backward(dlogits, cache, m.out)
    if commit:
        away = hs - np.where(hs.real > 0, 1.0, -1.0)
        count = hs.shape[0] * hs.shape[1]
        loss = loss + commit / 2 * (away**2).sum() / count
        dhs = dhs + commit * away / count
    _, _, drnn = cell.backward(dhs, None, tape, m.rnn)
    grads = bundle(rnn=drnn, out=dout)
    if decay:
        loss = loss + decay / 2 * (m.flat**2).sum()
        grads.flat[:] += decay * m.flat
    return loss, grads


def subtractor_predict(m: Bundle, xs: ArrayLike) -> Array:
    """Return the probability that each bit of the difference is 1: (T, N, 1) for xs (T, N, 2).

    Examples
    --------
    >>> from gru_book.models.hand_set import hand_set
    >>> from gru_book.models.reader import subtractor_predict
    >>> from gru_book.tasks.subtraction import encode
    >>> y = subtractor_predict(hand_set(), encode([6], [3], bits=4).xs)
    >>> (y[:, 0, 0] > 0.5).astype(int)  # 3, the lowest bit first
    array([1, 1, 0, 0])
    """
    return sigmoid(reader_logits(m, xs))


class SubtractorAccuracy(NamedTuple):
    """Shares in [0, 1]."""

    bits: float  # of all bits
    pairs: float  # of pairs with every bit right


def subtractor_accuracy(m: Bundle, batch: subtraction.Batch) -> SubtractorAccuracy:
    """Return the shares of bits and of whole pairs that are right.

    Examples
    --------
    >>> from gru_book.models.hand_set import hand_set
    >>> from gru_book.models.reader import subtractor_accuracy
    >>> from gru_book.tasks.subtraction import all_pairs
    >>> subtractor_accuracy(hand_set(), all_pairs(4))
    SubtractorAccuracy(bits=1.0, pairs=1.0)
    """
    right = (subtractor_predict(m, batch.xs) > 0.5) == (batch.ys == 1)
    return SubtractorAccuracy(float(right.mean()), float(right.all(axis=0).mean()))
