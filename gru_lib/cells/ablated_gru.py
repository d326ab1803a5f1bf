"""The GRU with a gate taken away: no reset gate, no update gate, or one gate in both places.

Chapter 8 asks which gate does what. An ablated GRU *is* the GRU with a gate held fast: r = 1, or z = 0, or r = z. So
each pass sets up the full GRU, runs it, and gathers the gradients of the gate that is left.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gru_lib._core.checks import check_choice, check_instance, check_int
from gru_lib._core.params import Params
from gru_lib.cells.gru import (
    GRUCache,
    GRUParams,
    GRUTape,
    gru_backward,
    gru_forward,
    gru_init,
    gru_step,
    gru_step_backward,
)
from gru_lib.cells.registry import Cell, register_cell

__all__ = [
    "AblatedGRUParams",
    "ablated_gru_backward",
    "ablated_gru_forward",
    "ablated_gru_init",
    "ablated_gru_step",
    "ablated_gru_step_backward",
]

Array = NDArray[Any]

_GATES = {"no_reset": "z", "no_update": "r", "shared": "rz"}
_FAST = 700.0  # σ(700) is 1 and σ(−700) is 1e−304: too little to change any sum


class AblatedGRUParams(Params):
    """Parameters of a GRU with one gate less.

    Attributes
    ----------
    W_x : array (D, 2H), the columns of the gate that is left, then of W_xn
    W_h : array (H, 2H), the same for the state
    b : array (2H,); only with bias
    b_hn : array (H,), only with bias and `reset_after`
    W_xr, W_hr, b_r and W_xz, W_hz, b_z : the gate under its own name; when shared, both names are the same memory
    D, H : sizes of input and state
    ablation : "no_reset" (r = 1), "no_update" (z = 0, nothing is kept) or "shared" (r = z)
    reset_after, convention : as in GRUParams
    """


def ablated_gru_init(
    rng: np.random.Generator,
    D: int,
    H: int,
    *,
    ablation: str,
    reset_after: bool = False,
    bias: bool = True,
    convention: str = "keep",
    dtype: DTypeLike = np.float64,
) -> AblatedGRUParams:
    """Draw the parameters of an ablated GRU: weights uniform in ±1/√H, biases 0.

    Parameters
    ----------
    rng
        Source of randomness.
    D, H
        Sizes of the input and of the state.
    ablation
        "no_reset": r = 1.  "no_update": z such that h = n.  "shared": one gate is both r and z.
    reset_after, bias, convention, dtype
        As in `gru_init`. For "shared" the convention matters: with "keep" an open gate reads and keeps the state, with
        "write" it reads the state and replaces it, which is the minimal gated unit.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Notes
    -----
    Chapter 8. Minimal gated unit: Zhou et al. (2016), arXiv:1603.09420.
    """
    where = "ablated_gru_init"
    check_instance(where, "rng", rng, np.random.Generator)
    D, H = check_int(where, "D", D), check_int(where, "H", H)
    check_choice(where, "ablation", ablation, tuple(_GATES))
    check_choice(where, "convention", convention, ("keep", "write"))
    shapes: dict[str, tuple[int, ...]] = {"W_x": (D, 2 * H), "W_h": (H, 2 * H)}
    shapes |= {"b": (2 * H,)} if bias else {}
    shapes |= {"b_hn": (H,)} if bias and reset_after else {}
    columns = dict.fromkeys(_GATES[ablation], np.s_[..., :H]) | {"n": np.s_[..., H:]}
    names = ("W_x", "W_h", "b_") if bias else ("W_x", "W_h")
    parts = {name + gate: (name.rstrip("_"), cols) for name in names for gate, cols in columns.items()}
    options = {"D": D, "H": H, "ablation": ablation, "bias": bool(bias)}
    options |= {"reset_after": bool(reset_after), "convention": convention}
    p = AblatedGRUParams(shapes, parts=parts, options=options, dtype=dtype)
    p.W_x[:] = rng.uniform(-1, 1, p.W_x.shape) / np.sqrt(H)
    p.W_h[:] = rng.uniform(-1, 1, p.W_h.shape) / np.sqrt(H)
    return p


def ablated_gru_step(x: ArrayLike, h_prev: ArrayLike, p: AblatedGRUParams) -> tuple[Array, GRUCache]:
    """One step: `gru_step` with r = 1, or z = 0 (h = n), or r = z. Arguments and results as there."""
    return gru_step(x, h_prev, _full("ablated_gru_step", p))


def ablated_gru_step_backward(
    dh: ArrayLike, cache: GRUCache, p: AblatedGRUParams
) -> tuple[Array, Array, AblatedGRUParams]:
    """Backward through one step: as `gru_step_backward`; a shared gate gets the sum of both gates' gradients."""
    dx, dh_prev, full = gru_step_backward(dh, cache, _full("ablated_gru_step_backward", p))
    return dx, dh_prev, _gather(p, full)


def ablated_gru_forward(
    xs: ArrayLike,
    h0: ArrayLike | None,
    p: AblatedGRUParams,
    *,
    lengths: ArrayLike | None = None,
    h_mask: ArrayLike | None = None,
) -> tuple[Array, Array, GRUTape]:
    """Run the ablated GRU over sequences. Arguments and results as in `gru_forward`."""
    return gru_forward(xs, h0, _full("ablated_gru_forward", p), lengths=lengths, h_mask=h_mask)


def ablated_gru_backward(
    dhs: ArrayLike | None, dh_T: ArrayLike | None, tape: GRUTape, p: AblatedGRUParams
) -> tuple[Array, Array, AblatedGRUParams]:
    """Backpropagation through time. Arguments and results as in `gru_backward`."""
    dxs, dh0, full = gru_backward(dhs, dh_T, tape, _full("ablated_gru_backward", p))
    return dxs, dh0, _gather(p, full)


@lru_cache(maxsize=32)
def _template(D: int, H: int, reset_after: bool, convention: str) -> GRUParams:
    return gru_init(np.random.default_rng(0), D, H, reset_after=reset_after, convention=convention)


def _full(where: str, p: AblatedGRUParams) -> GRUParams:
    """Return the full GRU that does what `p` says."""
    check_instance(where, "p", p, AblatedGRUParams)
    full = _template(p.D, p.H, p.reset_after, p.convention).zeros_like(p.dtype)
    for name in _shared_names(p):
        getattr(full, name)[:] = getattr(p, name)
    if p.ablation == "no_reset":
        full.b_r[:] = _FAST
    elif p.ablation == "no_update":
        full.b_z[:] = -_FAST if p.convention == "keep" else _FAST
    return full


def _gather(p: AblatedGRUParams, full: GRUParams) -> AblatedGRUParams:
    """Add up the full GRU's gradients where `p` has its numbers."""
    grads = p.zeros_like(full.dtype)
    for name in _shared_names(p):
        getattr(grads, name)[:] += getattr(full, name)
    return grads


def _shared_names(p: AblatedGRUParams) -> list[str]:
    gates = _GATES[p.ablation] + "n"
    names = [f"W_{a}{gate}" for a in "xh" for gate in gates] + [f"b_{gate}" for gate in gates if p.bias]
    return names + (["b_hn"] if p.bias and p.reset_after else [])


register_cell(
    Cell(AblatedGRUParams, ablated_gru_step, ablated_gru_step_backward, ablated_gru_forward, ablated_gru_backward)
)
