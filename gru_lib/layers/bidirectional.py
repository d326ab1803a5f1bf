"""Two layers side by side, one reading forwards and one backwards, so that each output knows what comes after it.

Chapter 15. A padded sequence is reversed within its own length: the padding stays at the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, State, cell_of, check_layer, infer, register_cell
from gru_lib.checks import as_array, as_lengths, check_instance
from gru_lib.params import Bundle, Params
from gru_lib.sequence import begin
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = ["BidirectionalParams", "bidirectional", "bidirectional_backward", "bidirectional_forward", "reverse"]


class BidirectionalParams(Bundle):
    """Parameters of both directions: `p.forward` and `p.backward`, on one flat array."""

    D: int
    forward: Params
    backward: Params


def bidirectional(forward: Params, backward: Params) -> BidirectionalParams:
    """Join the parameters of two layers that read the same input: ``bidirectional(gru_init(…), gru_init(…))``.

    Examples
    --------
    >>> from gru_lib import bidirectional, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = bidirectional(gru_init(rng, D=3, H=5), gru_init(rng, D=3, H=5))
    >>> p.forward.H, p.backward.H, p.size == 2 * p.forward.size
    (5, 5, True)
    """
    for name, p in (("forward", forward), ("backward", backward)):
        check_layer("bidirectional", name, p)
    if forward.D != backward.D:
        raise ValueError(f"bidirectional: backward must have the input size of forward, {forward.D}; got {backward.D}.")
    return BidirectionalParams({"forward": forward, "backward": backward}, options={"D": forward.D})


def reverse(xs: ArrayLike, lengths: MaybeArray = None) -> Array:
    """Reverse each sequence (T, N, K) within its length: its last real step comes first, padding stays at the end.

    Applied twice it gives back the same sequence, so it is its own backward pass.

    Examples
    --------
    >>> from gru_lib import reverse
    >>> xs = np.array([[1, 5], [2, 6], [3, 0]])[:, :, None]  # T = 3, N = 2
    >>> reverse(xs, lengths=[3, 2])[:, :, 0]
    array([[3., 6.],
           [2., 5.],
           [1., 0.]])
    """
    xs = as_array("reverse", "xs", xs, ("T", "N", "K"), {})
    T, N, _ = xs.shape
    if lengths is None:
        return xs[::-1].copy()
    mask, t = as_lengths("reverse", lengths, T, N), np.arange(T)[:, None]
    return xs[np.where(mask, mask.sum(axis=0) - 1 - t, t), np.arange(N)]


@short_repr
class BidirectionalTape(NamedTuple):
    """What `bidirectional_backward` needs from the forward pass."""

    forward: Any
    backward: Any
    shape: tuple[int, int]  # T, N
    lengths: Array | None
    made: Signature  # of the parameters, without their numbers: each direction's tape knows its own


def bidirectional_forward(
    xs: ArrayLike,
    state0: tuple[State, State] | None,
    p: BidirectionalParams,
    *,
    lengths: MaybeArray = None,
    h_mask: tuple[Any, Any] | None = None,
) -> tuple[Array, tuple[State, State], BidirectionalTape]:
    """Run both directions and put their outputs side by side.

    Chapter 15. Schuster & Paliwal (1997), Bidirectional recurrent neural networks.

    Parameters
    ----------
    xs, lengths
        As in `gru_forward`.
    state0 : pair of states, or None for zeros
        Of the forward layer (before step 1) and of the backward layer (before it reads the last real step).
    h_mask : pair, optional
        Masks for recurrent dropout in each direction.

    Returns
    -------
    hs : array (T, N, K)
        At step t: the forward layer's output for x_1 … x_t, then the backward layer's for x_T … x_t. K is the sum of
        both widths. Zero where padded.
    state_T : pair of states
    tape : BidirectionalTape

    Examples
    --------
    >>> from gru_lib import bidirectional, bidirectional_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = bidirectional(gru_init(rng, D=3, H=5), gru_init(rng, D=3, H=5))
    >>> xs = rng.normal(size=(4, 2, 3))
    >>> hs, (forward, backward), tape = bidirectional_forward(xs, None, p)
    >>> np.array_equal(forward, hs[-1, :, :5])
    True
    >>> np.array_equal(backward, hs[0, :, 5:])  # it ends at the first step
    True
    """
    where = "bidirectional_forward"
    check_instance(where, "p", p, BidirectionalParams)
    xs, _, _, _ = begin(where, p, xs, lengths)
    starts, masks = _pair(where, "state0", state0), _pair(where, "h_mask", h_mask)
    found = []
    for layer, x, start, m in zip((p.forward, p.backward), (xs, reverse(xs, lengths)), starts, masks, strict=True):
        given = {} if m is None else {"h_mask": m}
        found.append(cell_of(layer).forward(x, start, layer, lengths=lengths, **given))
    (hs, end, tape), (hs_b, end_b, tape_b) = found
    lengths = None if lengths is None else np.array(lengths)
    hs = np.concatenate([hs, reverse(hs_b, lengths)], axis=2)
    made = BidirectionalTape(tape, tape_b, hs.shape[:2], lengths, sign(where, p, numbers=False))
    return hs, (end, end_b), made


def bidirectional_backward(
    dhs: MaybeArray, dstate_T: tuple[State, State] | None, tape: BidirectionalTape, p: BidirectionalParams
) -> tuple[Array, tuple[State, State], BidirectionalParams]:
    """Backward through both directions, each with the layer's own backward; their gradients in xs add up.

    Examples
    --------
    >>> from gru_lib import gradcheck, gru_init, layers
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 2, 3))
    >>> p = layers.bidirectional(gru_init(rng, 3, 5), gru_init(rng, 3, 5))
    >>> hs, state_T, tape = layers.bidirectional_forward(xs, None, p)
    >>> dhs = np.ones_like(hs)
    >>> back = layers.bidirectional_backward(dhs, None, tape, p)
    >>> loss = lambda p: layers.bidirectional_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where = "bidirectional_backward"
    check_tape(where, tape, BidirectionalTape, p, BidirectionalParams)
    ends = _pair(where, "dstate_T", dstate_T)
    dforward = dbackward = None
    if dhs is not None:
        split, (T, N) = cell_of(p.forward).width(p.forward), tape.shape
        dhs = as_array(where, "dhs", dhs, ("T", "N", "K"), {"T": T, "N": N, "K": _width(p)})
        dforward, dbackward = dhs[:, :, :split], reverse(dhs[:, :, split:], tape.lengths)
    dxs, dstart, g = cell_of(p.forward).backward(dforward, ends[0], tape.forward, p.forward)
    dxs_b, dstart_b, g_b = cell_of(p.backward).backward(dbackward, ends[1], tape.backward, p.backward)
    return dxs + reverse(dxs_b, tape.lengths), (dstart, dstart_b), p.on(np.concatenate([g.flat, g_b.flat]))


def _infer(
    xs: ArrayLike, state0: tuple[State, State] | None, p: BidirectionalParams, *, lengths: MaybeArray = None
) -> tuple[Array, tuple[State, State]]:
    """`bidirectional_forward` without a tape."""
    xs, (start, start_b) = begin("infer", p, xs, lengths)[0], _pair("infer", "state0", state0)
    hs, end = infer(xs, start, p.forward, lengths=lengths)
    hs_b, end_b = infer(reverse(xs, lengths), start_b, p.backward, lengths=lengths)
    return np.concatenate([hs, reverse(hs_b, lengths)], axis=2), (end, end_b)


def _pair(where: str, name: str, value: Any) -> tuple[Any, Any]:
    if value is None:
        return None, None
    if not isinstance(value, tuple | list):
        raise TypeError(f"{where}: {name} must be a pair, for forward and backward; got {type(value).__name__}.")
    if len(value) != 2:
        raise ValueError(f"{where}: {name} must be a pair, for forward and backward; got {len(value)} entries.")
    return value[0], value[1]


def _width(p: BidirectionalParams) -> int:
    return sum(cell_of(layer).width(layer) for _, layer in p.members())


def _zeros(p: BidirectionalParams, N: int, dtype: DTypeLike) -> tuple[State, ...]:
    return tuple(cell_of(layer).zeros(layer, N, dtype) for _, layer in p.members())


register_cell(
    Cell(
        BidirectionalParams,
        forward=bidirectional_forward,
        backward=bidirectional_backward,
        width=_width,
        zeros=_zeros,
        infer=_infer,
        backwards=True,
    )
)
