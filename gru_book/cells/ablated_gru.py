"""The GRU with a gate taken away: no reset gate, no update gate, or one gate in both places.

Chapter 8 asks which gate does what. An ablated GRU *is* the GRU with a gate held constant, r = 1 or z = 0, or with
r = z. So each pass sets up the full GRU, runs it, and gathers the gradients of the gate that is left.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

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
from gru_lib.checks import check_bool, check_choice, check_dtype, check_instance, check_int
from gru_lib.params import Params, draw_gates, gate_layout
from gru_lib.signature import check_signature, sign
from gru_lib.types import Array, MaybeArray

__all__ = [
    "AblatedGRUParams", "ablated_gru_backward", "ablated_gru_forward", "ablated_gru_init", "ablated_gru_step",
    "ablated_gru_step_backward",
]  # fmt: skip

_GATES = {"no_reset": "z", "no_update": "r", "shared": "rz"}
_FAR = 700.0  # σ(700) is 1 and σ(−700) is 1e−304: too little to change any sum


class AblatedGRUParams(Params):
    """Parameters of a GRU with one gate less, under the names of GRUParams. A shared gate is both W_xr and W_xz …"""

    D: int
    H: int
    ablation: str  # "no_reset" (r = 1), "no_update" (z = 0, nothing is kept) or "shared" (r = z)
    bias: bool
    reset_after: bool
    convention: str
    W_x: Array  # (D, 2H): the gate that is left, then W_xn
    W_h: Array  # (H, 2H)
    b: Array  # (2H,); only with bias
    b_hn: Array  # (H,); only with bias and `reset_after`

    def __init__(
        self,
        D: int,
        H: int,
        *,
        ablation: str,
        reset_after: bool = False,
        bias: bool = True,
        convention: str = "keep",
        dtype: DTypeLike = np.float64,
        flat: Array | None = None,
    ) -> None:
        where = "ablated_gru_init"
        D, H, dtype = check_int(where, "D", D), check_int(where, "H", H), check_dtype(where, dtype)
        check_choice(where, "ablation", ablation, tuple(_GATES))
        check_choice(where, "convention", convention, ("keep", "write"))
        bias, reset_after = check_bool(where, "bias", bias), check_bool(where, "reset_after", reset_after)
        options = {"D": D, "H": H, "ablation": ablation, "bias": bias, "reset_after": reset_after}
        options["convention"] = convention
        slabs = dict.fromkeys(_GATES[ablation], 0) | {"n": 1}
        more = {"b_hn": (H,)} if bias and reset_after else {}
        super().__init__(**gate_layout(slabs, options, more), dtype=dtype, flat=flat)


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

    Chapter 8. Minimal gated unit: Zhou et al. (2016), arXiv:1603.09420.

    Parameters
    ----------
    ablation
        "no_reset": r = 1.  "no_update": z such that h = n.  "shared": one gate is both r and z. Then the convention
        matters: with "keep" a gate near 1 reads and keeps the state, with "write" it reads the state and replaces it,
        which is the minimal gated unit.
    D, H, reset_after, bias, convention, dtype
        As in `gru_init`.

    Examples
    --------
    >>> from gru_book.cells import ablated_gru_init
    >>> from gru_lib.cells import gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = ablated_gru_init(rng, D=3, H=5, ablation="no_reset")
    >>> p.W_xz.shape, p.W_xn.shape
    ((3, 5), (3, 5))
    >>> p.size, gru_init(rng, D=3, H=5).size
    (90, 135)
    """
    where = "ablated_gru_init"
    check_instance(where, "rng", rng, np.random.Generator)
    p = AblatedGRUParams(
        D, H, ablation=ablation, reset_after=reset_after, bias=bias, convention=convention, dtype=dtype
    )
    return draw_gates(p, rng)


def ablated_gru_step(x: ArrayLike, h_prev: ArrayLike, p: AblatedGRUParams) -> tuple[Array, GRUCache]:
    """One step: `gru_step` with r = 1, or z = 0 (h = n), or r = z. Arguments and results as there.

    Examples
    --------
    >>> from gru_book.cells import ablated_gru_init, ablated_gru_step
    >>> rng = np.random.default_rng(0)
    >>> p = ablated_gru_init(rng, D=3, H=5, ablation="no_update")
    >>> h, cache = ablated_gru_step(np.ones((2, 3)), np.ones((2, 5)), p)
    >>> np.array_equal(h, cache.n)
    True
    """
    return gru_step(x, h_prev, _full("ablated_gru_step", p))


def ablated_gru_step_backward(
    dh: ArrayLike, cache: GRUCache, p: AblatedGRUParams
) -> tuple[Array, Array, AblatedGRUParams]:
    """Backward through one step: as `gru_step_backward`; a shared gate gets the sum of both gates' gradients.

    Examples
    --------
    >>> from gru_book import cells
    >>> rng = np.random.default_rng(0)
    >>> p = cells.ablated_gru_init(rng, D=3, H=5, ablation="no_update")
    >>> p.W_h[:] = 0
    >>> h, cache = cells.ablated_gru_step([[1, 0, 0]], np.ones((1, 5)), p)
    >>> back = cells.ablated_gru_step_backward(h, cache, p)
    >>> np.allclose(back[1], 0)  # no gate keeps the state
    True
    """
    dx, dh_prev, full = gru_step_backward(dh, cache, _full("ablated_gru_step_backward", p))
    return dx, dh_prev, _gather(p, full)


def ablated_gru_forward(
    xs: ArrayLike, h0: MaybeArray, p: AblatedGRUParams, *, lengths: MaybeArray = None, h_mask: MaybeArray = None
) -> tuple[Array, Array, GRUTape]:
    """Run the ablated GRU over sequences. Arguments and results as in `gru_forward`.

    Examples
    --------
    >>> from gru_book.cells import ablated_gru_forward, ablated_gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = ablated_gru_init(rng, D=3, H=5, ablation="no_reset")
    >>> xs = rng.normal(size=(4, 2, 3))
    >>> hs, h_T, tape = ablated_gru_forward(xs, None, p)
    >>> hs.shape, bool((tape.gate("r") == 1).all())
    ((4, 2, 5), True)
    """
    where = "ablated_gru_forward"
    hs, h_T, tape = gru_forward(xs, h0, _full(where, p), lengths=lengths, h_mask=h_mask)
    return hs, h_T, tape._replace(made=sign(where, p))


def ablated_gru_backward(
    dhs: MaybeArray, dh_T: MaybeArray, tape: GRUTape, p: AblatedGRUParams
) -> tuple[Array, Array, AblatedGRUParams]:
    """Backpropagation through time. Arguments and results as in `gru_backward`.

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> rng, xs = np.random.default_rng(0), np.ones((4, 2, 3))
    >>> p = cells.ablated_gru_init(rng, D=3, H=5, ablation="shared")
    >>> hs, h_T, tape = cells.ablated_gru_forward(xs, None, p)
    >>> back = cells.ablated_gru_backward(np.ones_like(hs), None, tape, p)
    >>> loss = lambda p: cells.ablated_gru_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where, full = "ablated_gru_backward", _full("ablated_gru_backward", p)
    check_instance(where, "tape", tape, GRUTape)
    check_signature(where, tape.made, p)
    dxs, dh0, grads = gru_backward(dhs, dh_T, tape._replace(made=sign(where, full, numbers=False)), full)
    return dxs, dh0, _gather(p, grads)


@lru_cache(maxsize=32)
def _template(D: int, H: int, reset_after: bool, convention: str) -> GRUParams:
    return gru_init(np.random.default_rng(0), D, H, reset_after=reset_after, convention=convention)


def _full(where: str, p: AblatedGRUParams) -> GRUParams:
    """Return the full GRU that computes the same as `p`."""
    check_instance(where, "p", p, AblatedGRUParams)
    full = _template(p.D, p.H, p.reset_after, p.convention).zeros_like(p.dtype)
    for name in _shared_names(p):
        getattr(full, name)[:] = getattr(p, name)
    if p.ablation == "no_reset":
        full.b_r[:] = _FAR
    elif p.ablation == "no_update":
        full.b_z[:] = -_FAR if p.convention == "keep" else _FAR
    return full


def _gather(p: AblatedGRUParams, full: GRUParams) -> AblatedGRUParams:
    """Collect the full GRU's gradients under the names of `p`; those of a shared gate add up."""
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
