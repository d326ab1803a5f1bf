"""What the passes of the recurrent cells share: checks on entry, and what padding means.

A padded step carries the state and outputs zero. `begin` sets padded inputs to zero, whatever they held, so that
nothing in them can reach a result; `begin_backward` does the same to the gradients that come in. Padding stands at the
end: sequences that are clearly padded in front are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gru_lib.checks import as_array, as_lengths, plain
from gru_lib.params import Params
from gru_lib.types import Array

__all__ = ["begin", "begin_backward", "check_rows", "outputs", "recurrent_mask", "rows"]


def check_rows(where: str, p: Params, *, N: int | None = None, **arrays: tuple[Any, str]) -> list[Array]:
    """Check the arrays of one step, given as name=(value, axis): each is (N, axis), with one N."""
    checked, sizes = [], {**p.sizes} if N is None else {**p.sizes, "N": N}
    for name, (value, axis) in arrays.items():
        checked.append(as_array(where, name, value, ("N", axis), sizes))
        sizes["N"] = len(checked[0])
    return checked


def begin(
    where: str, p: Params, xs: Any, lengths: Any, **states: tuple[Any, str]
) -> tuple[Array, list[Array], Array | None, np.dtype]:
    """Check the arguments of a forward pass.

    States come as name=(value, axis); None becomes zeros. Returns xs with zeros in the padding, the states, the mask
    (T, N) (None without lengths) and the dtype that inputs and parameters promote to.
    """
    xs = as_array(where, "xs", xs, ("T", "N", "D"), p.sizes)
    T, N, _ = xs.shape
    checked = _states(where, {**p.sizes, "T": T, "N": N}, p.dtype, states)
    mask = None if lengths is None else as_lengths(where, lengths, T, N)
    if mask is not None:
        _check_end(where, xs, mask)
        xs = np.where(mask[:, :, None], xs, 0)
    return xs, checked, mask, _common(p.dtype, xs, *checked)


def _check_end(where: str, xs: Array, mask: Array) -> None:
    """Raise ValueError if all short sequences begin with as many zeros as they lack, and none ends in zeros."""
    short = ~mask[-1] if len(mask) else np.zeros(0, bool)
    if not short.any() or xs[0, short].any() or not xs[-1, short].any(axis=1).all():
        return
    front = ~mask[::-1]
    if front.sum() > 1 and not xs[front].any():
        raise ValueError(
            f"{where}: lengths counts from the first step, and padding stands at the end; here the short sequences of "
            "xs begin with zeros and end in data. Keras's pad_sequences pads in front, unless padding='post'."
        )


def begin_backward(
    where: str,
    p: Params,
    states: Array,
    mask: Array | None,
    *,
    dhs: tuple[Any, str],
    name: str = "dhs",
    **dstates: tuple[Any, str],
) -> tuple[Array, list[Array], np.dtype]:
    """Check the gradients that enter a backward pass; `states` are the T + 1 of the forward pass.

    `name` is what the cell calls dhs. Returns dhs with zeros in the padding, fresh arrays for the states' gradients
    (None becomes zeros), and the dtype.
    """
    (value, axis), dtype = dhs, states.dtype
    sizes = {**p.sizes, "T": len(states) - 1, "N": states.shape[1]}
    if value is None:
        outer = np.broadcast_to(np.zeros((), dtype), (sizes["T"], sizes["N"], sizes[axis]))
    else:
        outer = as_array(where, name, value, ("T", "N", axis), sizes)
        if mask is not None:
            outer = np.where(mask[:, :, None], outer, 0)
    checked = _states(where, sizes, dtype, dstates)
    dtype = _common(dtype, p.flat, outer, *checked)
    return outer, [a.astype(dtype) for a in checked], dtype


def _common(dtype: np.dtype, *arrays: Array) -> np.dtype:
    """Return the dtype that all promote to, without asking NumPy if they all have the same, as they usually do."""
    for a in arrays:
        if a.dtype is not dtype:
            dtype = np.result_type(dtype, a)
    return dtype


def _states(where: str, sizes: dict[str, int], dtype: np.dtype, states: dict[str, tuple[Any, str]]) -> list[Array]:
    return [
        np.zeros((sizes["N"], sizes[axis]), dtype)
        if value is None
        else as_array(where, name, value, ("N", axis), sizes)
        for name, (value, axis) in states.items()
    ]


def recurrent_mask(where: str, h_mask: Any, xs: Array, p: Params, dtype: np.dtype) -> Array | None:
    """Check a mask on the recurrent connection, (N, H) or one for each step, (T, N, H), and give it T steps.

    The result is a copy, for the tape. It has the dtype of the pass, since a mask of zeros and ones does not say which
    precision is wanted.
    """
    if h_mask is None:
        return None
    h_mask = plain(where, "h_mask", h_mask)
    axes = ("T", "N", "H") if h_mask.ndim == 3 else ("N", "H")
    h_mask = as_array(where, "h_mask", h_mask, axes, {"T": len(xs), "N": xs.shape[1], "H": p.H})
    return np.broadcast_to(h_mask.astype(dtype), (len(xs), *h_mask.shape[-2:]))


def outputs(states: Array, mask: Array | None) -> Array:
    """Return the states (T, N, K) as outputs: a copy, zero where padded."""
    return states.copy() if mask is None else np.where(mask[:, :, None], states, 0)


def rows(a: Array) -> Array:
    """(T, N, K) to (T·N, K): one row per step and sequence, for one product over all of them."""
    return a.reshape(-1, a.shape[-1])
