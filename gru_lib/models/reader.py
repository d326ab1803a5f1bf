"""The network of chapters 8 and 9: a cell reads tokens; a linear layer and sigmoids answer with K bits.

`m = reader_init(rng, D, K, H)` is a bundle of the cell `m.rnn` and the linear layer `m.out`. Any cell of this library
can stand in for the GRU: the type of `m.rnn` says which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib._core.params import Bundle, bundle
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import cell_of
from gru_lib.ops import bce_with_logits, linear_backward, linear_forward, linear_init
from gru_lib.tasks.memory import Batch

__all__ = ["Accuracy", "reader_accuracy", "reader_init", "reader_logits", "reader_loss"]

Array = NDArray[Any]


def reader_init(
    rng: np.random.Generator, D: int, K: int, H: int, *, init: Callable[..., Any] = gru_init, **options: Any
) -> Bundle:
    """Draw a cell of H units that reads one of D tokens, and a linear layer with K outputs.

    Parameters
    ----------
    rng
        Source of randomness.
    D, K, H
        Number of tokens, of bits in an answer, and of units.
    init
        The cell's own: ``init(rng, D, H, **options)``.

    Returns
    -------
    Bundle
        `m.rnn` and `m.out`.
    """
    return bundle(rnn=init(rng, D, H, **options), out=linear_init(rng, H, K, dtype=options.get("dtype", np.float64)))


def reader_logits(m: Bundle, xs: ArrayLike) -> Array:
    """Return the logit of each bit after each step: (T, N, K) for xs (T, N, D)."""
    return linear_forward(cell_of(m.rnn).forward(xs, None, m.rnn)[0], m.out)[0]


def reader_loss(m: Bundle, batch: Batch) -> tuple[Any, Bundle]:
    """The mean binary cross-entropy of the bits that are asked for, and its gradient in every parameter.

    ::

        y_t = σ(h_t W + b)
        L   = −mean over the asked (t, n) and over k of  d log y + (1 − d) log(1 − y),  d the right bit

    Parameters
    ----------
    m : Bundle
        `m.rnn`, `m.out`.
    batch : Batch
        xs (T, N, D), ys (T, N, K), asked (T, N).

    Returns
    -------
    loss : number
    grads : Bundle

    Notes
    -----
    Chapter 8.
    """
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(batch.xs, None, m.rnn)
    if batch.asked[:-1].any():
        logits, cache = linear_forward(hs, m.out)  # (T, N, K)
        weights = np.broadcast_to(batch.asked[..., None], logits.shape)
        loss, dlogits = bce_with_logits(logits, batch.ys, weights)
        dhs, dout = linear_backward(dlogits, cache, m.out)
    else:  # asked at the end alone: nothing to be done for the other steps
        logits, cache = linear_forward(hs[-1:], m.out)  # (1, N, K)
        weights = np.broadcast_to(batch.asked[-1:, :, None], logits.shape)
        loss, dlogits = bce_with_logits(logits, batch.ys[-1:], weights)
        dlast, dout = linear_backward(dlogits, cache, m.out)
        dhs = np.zeros(hs.shape, dlast.dtype)
        dhs[-1] = dlast[0]
    _, _, drnn = cell.backward(dhs, None, tape, m.rnn)
    return loss, bundle(rnn=drnn, out=dout)


class Accuracy(NamedTuple):
    """Shares in [0, 1]."""

    answers: float  # of the answers asked for, all K bits right
    sequences: float  # of the sequences, every answer right


def reader_accuracy(m: Bundle, batch: Batch) -> Accuracy:
    """Return which share of the answers, and which share of the sequences as a whole, is right."""
    right = ((reader_logits(m, batch.xs).real > 0) == (batch.ys == 1)).all(axis=2)
    return Accuracy(float(right[batch.asked].mean()), float((right | ~batch.asked).all(axis=0).mean()))
