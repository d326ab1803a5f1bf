"""Dropout in recurrent networks: three places to put it, one way to run them. Chapter 14.

A mask holds 0 with probability `rate` and 1/(1 − rate) otherwise, so its mean is 1 and evaluation needs no rescaling.
Masks are drawn first, from a generator; forward and backward then multiply by the same ones. Evaluation: `masks=None`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import State, cell_of, check_layer
from gru_lib.checks import (
    as_array,
    as_lengths,
    check_choice,
    check_dtype,
    check_instance,
    check_int,
    check_number,
    check_sequence,
    plain,
)
from gru_lib.params import Bundle, Params
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = ["DropoutMasks", "dropout_backward", "dropout_forward", "dropout_mask", "dropout_masks"]


@short_repr
class DropoutMasks(NamedTuple):
    """Masks of one layer; None where nothing is dropped."""

    x: Array | None  # on the inputs: (T, N, D), or (N, D) for all steps
    h: Any  # on the recurrent connection: (T, N, H), or (N, H) for all steps; a pair for a bidirectional layer


def dropout_mask(rng: np.random.Generator, shape: tuple[int, ...], rate: float, dtype: DTypeLike = np.float64) -> Array:
    """Draw a mask: 0 with probability `rate`, else 1/(1 − rate). Forward y = mask ⊙ x, backward dx = mask ⊙ dy.

    Chapter 14. Srivastava et al. (2014), Dropout.

    Examples
    --------
    >>> from gru_lib.layers import dropout_mask
    >>> mask = dropout_mask(np.random.default_rng(0), (1000,), rate=0.2)
    >>> np.unique(mask), round(float(mask.mean()), 1)
    (array([0.  , 1.25]), 1.0)
    """
    check_instance("dropout_mask", "rng", rng, np.random.Generator)
    rate, dtype = check_number("dropout_mask", "rate", rate, least=0, below=1), check_dtype("dropout_mask", dtype)
    check_sequence("dropout_mask", "shape", shape)
    shape = tuple(check_int("dropout_mask", "shape", size, minimum=0) for size in shape)
    return (rng.random(shape) >= rate).astype(dtype) / np.asarray(1 - rate, dtype)


def dropout_masks(rng: np.random.Generator, p: Params, T: int, N: int, *, rate: float, kind: str) -> DropoutMasks:
    """Draw the masks of one layer for T steps of N sequences.

    Chapter 14. Pham et al. (2013), arXiv:1312.4569, and Zaremba et al. (2014), arXiv:1409.2329, drop non-recurrent
    connections; Gal & Ghahramani (2016), arXiv:1512.05287, draw one mask per sequence.

    Parameters
    ----------
    rate
        Probability that a number is dropped.
    kind
        "zaremba": inputs only, a new mask for each step; the state is never touched.
        "variational": inputs and recurrent connection, one mask for the whole sequence.
        "per step": both, a new mask for each step: the memory is hit T times.

    Examples
    --------
    >>> from gru_lib import gru_init
    >>> from gru_lib.layers import dropout_masks
    >>> rng = np.random.default_rng(0)
    >>> p = gru_init(rng, D=3, H=5)
    >>> masks = dropout_masks(rng, p, 4, 2, rate=0.3, kind="variational")
    >>> masks.x.shape, masks.h.shape  # one mask for all steps
    ((2, 3), (2, 5))
    """
    where = "dropout_masks"
    check_instance(where, "rng", rng, np.random.Generator)
    check_layer(where, "p", p)
    rate = check_number(where, "rate", rate, least=0, below=1)
    check_choice(where, "kind", kind, ("zaremba", "variational", "per step"))
    T, N = check_int(where, "T", T, minimum=0), check_int(where, "N", N, minimum=0)
    lead = (N,) if kind == "variational" else (T, N)
    x = dropout_mask(rng, (*lead, p.D), rate, p.dtype)
    if kind == "zaremba":
        return DropoutMasks(x, None)

    def recurrent(p: Params) -> Any:
        if not cell_of(p).takes_h_mask:
            raise ValueError(f"{where}: p must be of a layer that takes h_mask; got {type(p).__name__}.")
        if isinstance(p, Bundle):
            return tuple(recurrent(member) for _, member in p.members())
        return dropout_mask(rng, (*lead, p.H), rate, p.dtype)

    return DropoutMasks(x, recurrent(p))


@short_repr
class DropoutTape(NamedTuple):
    """What `dropout_backward` needs from the forward pass."""

    x: Array | None
    tape: Any


def dropout_forward(
    xs: ArrayLike, state0: State | None, p: Params, *, masks: DropoutMasks | None, lengths: MaybeArray = None
) -> tuple[Array, State, DropoutTape]:
    """Run any layer on x_t ⊙ masks.x, its recurrent products on h_{t−1} ⊙ masks.h; None drops nothing.

    What the update gate of a GRU or the cell of an LSTM carries over is not masked. Arguments and results are as for
    the layer's own forward; the tape is for `dropout_backward`.

    Examples
    --------
    >>> from gru_lib import gru_forward, gru_init
    >>> from gru_lib.layers import dropout_forward, dropout_masks
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 2, 3))
    >>> p = gru_init(rng, D=3, H=5)
    >>> masks = dropout_masks(rng, p, T=4, N=2, rate=0.3, kind="zaremba")
    >>> hs, h_T, tape = dropout_forward(xs, None, p, masks=masks)
    >>> np.array_equal(hs, gru_forward(xs * masks.x, None, p)[0])
    True
    """
    where = "dropout_forward"
    cell = check_layer(where, "p", p)
    if masks is None:
        masks = DropoutMasks(None, None)
    check_instance(where, "masks", masks, DropoutMasks)
    x = None if masks.x is None else plain(where, "masks.x", masks.x)
    if masks.h is not None and not cell.takes_h_mask:
        raise ValueError(f"{where}: masks.h must be None for a {type(p).__name__}; got {type(masks.h).__name__}.")
    if x is not None:
        xs = as_array(where, "xs", xs, ("T", "N", "D"), {"D": p.D})
        T, N, _ = xs.shape
        axes = ("T", "N", "D") if x.ndim == 3 else ("N", "D")
        x = as_array(where, "masks.x", x, axes, {"T": T, "N": N, "D": p.D})
        if lengths is not None:  # before the product: 0 · inf would warn
            xs = np.where(as_lengths(where, lengths, T, N)[:, :, None], xs, 0)
        x = x.copy()  # what backward needs is the tape's own
        xs = xs * x
    given = {} if masks.h is None else {"h_mask": masks.h}
    hs, state_T, tape = cell.forward(xs, state0, p, lengths=lengths, **given)
    return hs, state_T, DropoutTape(x, tape)


def dropout_backward(dhs: MaybeArray, dstate_T: State | None, tape: DropoutTape, p: Params) -> tuple[Array, State, Any]:
    """Backward through `dropout_forward`: the layer's own, then dx_t ⊙ masks.x.

    Examples
    --------
    >>> from gru_lib import gradcheck, gru_init, layers
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 2, 3))
    >>> p = gru_init(rng, D=3, H=5)
    >>> options = {"rate": 0.3, "kind": "per step"}
    >>> masks = layers.dropout_masks(rng, p, 4, 2, **options)
    >>> hs, h_T, tape = layers.dropout_forward(xs, None, p, masks=masks)
    >>> back = layers.dropout_backward(np.ones_like(hs), None, tape, p)
    >>> run = lambda p: layers.dropout_forward(xs, None, p, masks=masks)[0]
    >>> gradcheck(lambda p: run(p).sum(), p, back[2]).worst < 1e-9
    True
    """
    cell = check_layer("dropout_backward", "p", p)
    check_instance("dropout_backward", "tape", tape, DropoutTape)
    dxs, dstate0, grads = cell.backward(dhs, dstate_T, tape.tape, p)
    return (dxs if tape.x is None else dxs * tape.x), dstate0, grads
