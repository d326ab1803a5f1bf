"""The network of chapter 7: a cell reads two bits a step; a linear layer and a sigmoid answer with one.

`m = subtractor_init(rng, H)` is a bundle of the cell `m.rnn` and the linear layer `m.out`. Any cell of this library
can stand in for the GRU: the type of `m.rnn` says which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib._core.checks import check_number
from gru_lib._core.params import Bundle, bundle
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import cell_of
from gru_lib.ops import bce_with_logits, linear_backward, linear_forward, linear_init, sigmoid
from gru_lib.tasks.subtraction import Batch

__all__ = ["Accuracy", "hand_set", "subtractor_accuracy", "subtractor_init", "subtractor_loss", "subtractor_predict"]

Array = NDArray[Any]


def subtractor_init(rng: np.random.Generator, H: int, *, init: Callable[..., Any] = gru_init, **options: Any) -> Bundle:
    """Draw a cell of H units that reads two bits, and a linear layer with one output.

    Parameters
    ----------
    rng
        Source of randomness.
    H
        Size of the state.
    init
        The cell's own: ``init(rng, 2, H, **options)``.

    Returns
    -------
    Bundle
        `m.rnn` and `m.out`. With ``bias=False`` among the options neither has a bias.
    """
    return bundle(
        rnn=init(rng, 2, H, **options),
        out=linear_init(rng, H, 1, bias=options.get("bias", True), dtype=options.get("dtype", np.float64)),
    )


def subtractor_loss(
    m: Bundle,
    batch: Batch,
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

    Parameters
    ----------
    m : Bundle
        `m.rnn`, `m.out`.
    batch : Batch
        xs (T, N, 2), ys (T, N, 1).
    commit, decay : float
        Weights of the second and the third term; 0 leaves them out. The
        second asks every unit to be near −1 or +1.

    Returns
    -------
    loss : number
    grads : Bundle

    Notes
    -----
    Chapter 7. The means are over steps and pairs.
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
    """Return the probability that each bit of the difference is 1: (T, N, 1) for xs of shape (T, N, 2)."""
    hs, _, _ = cell_of(m.rnn).forward(xs, None, m.rnn)
    return sigmoid(linear_forward(hs, m.out)[0])


class Accuracy(NamedTuple):
    """Shares in [0, 1]."""

    bits: float  # of all bits
    pairs: float  # of pairs with every bit right


def subtractor_accuracy(m: Bundle, batch: Batch) -> Accuracy:
    """Return which share of the bits, and which share of the pairs as a whole, is right."""
    right = (subtractor_predict(m, batch.xs) > 0.5) == (batch.ys == 1)
    return Accuracy(float(right.mean()), float(right.all(axis=0).mean()))


def hand_set(K: float = 80.0) -> Bundle:
    """Return a subtractor with three units whose weights were thought out, not trained.

    With c the borrow and e = a − b − c in −2 … 1, the units say e ≤ −1 (this is the next borrow), e ≥ 1 and e ≤ −2,
    as +1 for yes and −1 for no. Unit 1 holds the borrow, c = (h_1 + 1)/2, and feeds all three::

        a_n = K · (b − a + h_1/2 − 1/4,   a − b − h_1/2 − 3/4,   b − a + h_1/2 − 5/4)
        b_r = K/2,  b_z = −K/2:  r and 1 − z are nearly 1
        logit = h_1 + h_2 − h_3

    Parameters
    ----------
    K : float
        Steepness, above 0. With K = 80 float64 rounds every gate and candidate to its limit.

    Returns
    -------
    Bundle
        `m.rnn` (a GRU, keep, reset before) and `m.out`.

    Notes
    -----
    Chapter 7.
    """
    K = check_number("hand_set", "K", K, above=0)
    rng = np.random.default_rng(0)  # everything drawn is overwritten
    m = subtractor_init(rng, 3)
    m.flat[:] = 0
    m.rnn.b_r[:], m.rnn.b_z[:] = K / 2, -K / 2
    m.rnn.W_xn[:] = K * np.array([[-1, 1, -1], [1, -1, 1]])
    m.rnn.W_hn[0] = K * np.array([0.5, -0.5, 0.5])
    m.rnn.b_n[:] = K * np.array([-0.25, -0.75, -1.25])
    m.out.W[:, 0] = 1, 1, -1
    return m
