"""Layers on top of each other, to any depth: each reads the output of the one below.

Chapter 15. A layer is anything that `cell_of` knows: any cell, a bidirectional pair, another stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.registry import Cell, State, cell_of, check_layer, infer, register_cell
from gru_lib.checks import as_array, check_bool, check_instance
from gru_lib.layers.dropout import DropoutMasks, dropout_backward, dropout_forward
from gru_lib.params import Bundle, Params
from gru_lib.sequence import begin
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = ["StackParams", "stack", "stack_backward", "stack_forward"]


class StackParams(Bundle):
    """Parameters of a stack: `p.layer0`, `p.layer1` …, on one flat array, and `p.residual`."""

    D: int
    residual: bool


def stack(*layers: Params, residual: bool = False) -> StackParams:
    """Put layers on top of each other, the lowest first: ``stack(gru_init(rng, D, H), gru_init(rng, H, H))``.

    With `residual`, each layer adds its input to its output if the two have the same size.

    Examples
    --------
    >>> from gru_lib import gru_init, stack
    >>> rng = np.random.default_rng(0)
    >>> p = stack(gru_init(rng, D=3, H=5), gru_init(rng, D=5, H=4))
    >>> p.D, p.layer1.H, p.size == p.layer0.size + p.layer1.size
    (3, 4, True)
    """
    below = None
    residual = check_bool("stack", "residual", residual)
    for i, layer in enumerate(layers):
        if isinstance(layer, tuple | list):  # as `convert` has the directions of a layer
            raise TypeError(
                f"stack: layers[{i}] must be parameters; got a {type(layer).__name__} of {len(layer)}. "
                "Write d[0] for one direction, bidirectional(*d) for two."
            )
        cell = check_layer("stack", f"layers[{i}]", layer)
        if below not in (None, layer.D):
            raise ValueError(
                f"stack: layer {i} must have the input size D = {below}, as layer {i - 1} puts out; got {layer.D}."
            )
        below = cell.width(layer)
    if below is None:
        raise ValueError("stack: layers must be at least one, such as gru_init(rng, D, H).")
    members = {f"layer{i}": layer for i, layer in enumerate(layers)}
    return StackParams(members, options={"D": layers[0].D, "residual": residual})


@short_repr
class StackTape(NamedTuple):
    """What `stack_backward` needs from the forward pass."""

    layers: tuple[Any, ...]
    shape: tuple[int, int]  # T, N
    mask: Array | None  # (T, N)
    made: Signature  # of the parameters, without their numbers: each layer's tape knows its own


def stack_forward(
    xs: ArrayLike,
    state0: Sequence[State] | None,
    p: StackParams,
    *,
    lengths: MaybeArray = None,
    masks: Sequence[DropoutMasks | None] | None = None,
) -> tuple[Array, tuple[State, ...], StackTape]:
    """Run a stack: hs of one layer are xs of the next.

    Chapter 15. Residual connections: He et al. (2016), arXiv:1512.03385.

    Parameters
    ----------
    xs, lengths
        As in `gru_forward`; the outputs are those of the top layer.
    state0 : one state per layer, or None for zeros
        state_T has one state per layer, too.
    masks : one DropoutMasks per layer, optional
        From `dropout_masks`; None (for all, or for a layer) drops nothing, as in evaluation. A residual connection goes
        around the mask.

    Examples
    --------
    >>> from gru_lib import gru_init, stack, stack_forward
    >>> rng = np.random.default_rng(0)
    >>> p = stack(gru_init(rng, D=3, H=5), gru_init(rng, D=5, H=4))
    >>> hs, state_T, tape = stack_forward(np.ones((6, 2, 3)), None, p)
    >>> hs.shape, [h.shape for h in state_T]  # of the top layer; of both
    ((6, 2, 4), [(2, 5), (2, 4)])
    >>> np.array_equal(hs[-1], state_T[1])
    True
    """
    where = "stack_forward"
    check_instance(where, "p", p, StackParams)
    hs, _, mask, _ = begin(where, p, xs, lengths)
    starts, masks = _per_layer(where, "state0", state0, p), _per_layer(where, "masks", masks, p)
    ends, tapes = [], []
    for (_, layer), start, m in zip(p.members(), starts, masks, strict=True):
        out, end, tape = dropout_forward(hs, start, layer, masks=m, lengths=lengths)
        hs = out + hs if _skips(p, layer) else out
        ends.append(end)
        tapes.append(tape)
    return hs, tuple(ends), StackTape(tuple(tapes), hs.shape[:2], mask, sign(where, p, numbers=False))


def stack_backward(
    dhs: MaybeArray, dstate_T: Sequence[State] | None, tape: StackTape, p: StackParams
) -> tuple[Array, tuple[State, ...], StackParams]:
    """Backward through a stack, from the top layer down: dxs of one layer are dhs of the one below.

    Examples
    --------
    >>> from gru_lib import gradcheck, gru_init, layers
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 2, 3))
    >>> p = layers.stack(gru_init(rng, D=3, H=5), gru_init(rng, D=5, H=4))
    >>> hs, state_T, tape = layers.stack_forward(xs, None, p)
    >>> back = layers.stack_backward(np.ones_like(hs), None, tape, p)
    >>> loss = lambda p: layers.stack_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where = "stack_backward"
    check_tape(where, tape, StackTape, p, StackParams)
    if dhs is not None:
        T, N = tape.shape
        dhs = as_array(where, "dhs", dhs, ("T", "N", "K"), {"T": T, "N": N, "K": _width(p)})
        if tape.mask is not None:  # a residual connection would pass on what the padding holds
            dhs = np.where(tape.mask[:, :, None], dhs, 0)
    ends, starts, grads = _per_layer(where, "dstate_T", dstate_T, p), [], []
    for (_, layer), end, kept in reversed(list(zip(p.members(), ends, tape.layers, strict=True))):
        dxs, dstart, g = dropout_backward(dhs, end, kept, layer)
        if dhs is not None and _skips(p, layer):
            dxs = dxs + dhs
        dhs = dxs  # those of the layer below
        starts.append(dstart)
        grads.append(g.flat)
    return dxs, tuple(starts[::-1]), p.on(np.concatenate(grads[::-1]))


def _infer(
    xs: ArrayLike, state0: Sequence[State] | None, p: StackParams, *, lengths: MaybeArray = None
) -> tuple[Array, tuple[State, ...]]:
    """`stack_forward` without a tape."""
    hs, ends = begin("infer", p, xs, lengths)[0], []
    for (_, layer), start in zip(p.members(), _per_layer("infer", "state0", state0, p), strict=True):
        out, end = infer(hs, start, layer, lengths=lengths)
        hs = out + hs if _skips(p, layer) else out
        ends.append(end)
    return hs, tuple(ends)


def _skips(p: StackParams, layer: Params) -> bool:
    return p.residual and cell_of(layer).width(layer) == layer.D


def _per_layer(where: str, name: str, value: Any, p: StackParams) -> Sequence[Any]:
    count = len(list(p.members()))
    if value is None:
        return (None,) * count
    if not isinstance(value, tuple | list) or len(value) != count:
        came = f"{len(value)}" if isinstance(value, tuple | list) else type(value).__name__
        how, k = [], itertools.count()
        for _, layer in p.members():  # as PyTorch has them, one after another
            pair = hasattr(layer, "backward")
            how.append(f"({name}[{next(k)}], {name}[{next(k)}])" if pair else f"{name}[{next(k)}]")
        came += f". Write ({', '.join(how)})" if isinstance(value, np.ndarray) and name == "state0" else ""
        raise ValueError(f"{where}: {name} must have one entry for each of {count} layers; got {came}.")
    return value


def _width(p: StackParams) -> int:
    *_, (_, top) = p.members()
    return cell_of(top).width(top)


def _zeros(p: StackParams, N: int, dtype: DTypeLike) -> tuple[State, ...]:
    return tuple(cell_of(layer).zeros(layer, N, dtype) for _, layer in p.members())


register_cell(
    Cell(
        StackParams,
        forward=stack_forward,
        backward=stack_backward,
        width=_width,
        zeros=_zeros,
        takes_h_mask=False,
        infer=_infer,
    )
)
