"""The structurally constrained recurrent network (SCRN), Elman's network with slow context units. Chapter 13."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.elman import ElmanTape, elman_backward, elman_forward, elman_on
from gru_lib.cells.registry import Cell, register_cell
from gru_lib.checks import check_cache, check_dtype, check_instance, check_int, check_number
from gru_lib.ops import sigmoid, sigmoid_pair
from gru_lib.params import Params
from gru_lib.sequence import begin, begin_backward, check_rows, outputs, recurrent_mask, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = [
    "SCRNCache", "SCRNParams", "SCRNTape", "scrn_backward", "scrn_forward", "scrn_init", "scrn_step",
    "scrn_step_backward",
]  # fmt: skip


class SCRNParams(Params):
    """Parameters of a structurally constrained recurrent network. Its state is s = [c, h]."""

    D: int
    H: int  # hidden units
    C: int  # context units, which forget slowly
    S: int  # C + H
    alpha: float  # the share of the old context that is kept
    W_xc: Array  # (D, C)
    W: Array  # (H + D + C, H), one below the other:
    W_hh: Array
    W_xh: Array
    W_ch: Array

    def __init__(
        self,
        D: int,
        H: int,
        C: int,
        *,
        alpha: float = 0.95,
        dtype: DTypeLike = np.float64,
        flat: Array | None = None,
    ) -> None:
        where = "scrn_init"
        D, H, C = check_int(where, "D", D), check_int(where, "H", H), check_int(where, "C", C)
        alpha, dtype = check_number(where, "alpha", alpha, least=0, below=1), check_dtype(where, dtype)
        shapes = {"W_xc": (D, C), "W": (H + D + C, H)}
        parts = {"W_hh": ("W", np.s_[:H]), "W_xh": ("W", np.s_[H : H + D]), "W_ch": ("W", np.s_[H + D :])}
        options = {"D": D, "H": H, "C": C, "S": C + H, "alpha": alpha}
        super().__init__(shapes, parts=parts, options=options, dtype=dtype, flat=flat)


def scrn_init(
    rng: np.random.Generator, D: int, H: int, C: int, *, alpha: float = 0.95, dtype: DTypeLike = np.float64
) -> SCRNParams:
    """Draw the parameters of an SCRN: weights uniform in ±1/√H; no biases.

    D, H and C are the sizes of the input, of the hidden units, and of the slow context units. `alpha`, in [0, 1), is
    not learned: what a context unit keeps of an input falls to 1/e in about 1/(1 − alpha) steps.

    Examples
    --------
    >>> from gru_book.cells import scrn_init
    >>> p = scrn_init(np.random.default_rng(0), D=3, H=5, C=2, alpha=0.9)
    >>> p.W_xc.shape, p.W_ch.shape, p.S
    ((3, 2), (2, 5), 7)
    """
    where = "scrn_init"
    check_instance(where, "rng", rng, np.random.Generator)
    p = SCRNParams(D, H, C, alpha=alpha, dtype=dtype)
    p.flat[:] = rng.uniform(-1, 1, p.size) / np.sqrt(p.H)
    return p


@short_repr
class SCRNCache(NamedTuple):
    """What `scrn_step_backward` needs from the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H)
    c: Array  # (N, C)
    a: Array  # (N, H)


def scrn_step(x: ArrayLike, s_prev: ArrayLike, p: SCRNParams) -> tuple[Array, SCRNCache]:
    """One step of an SCRN: an Elman step that also reads c, an exponential average of the inputs.

    ::

        c = (1 − α) x W_xc + α c_prev
        a = x W_xh + h_prev W_hh + c W_ch,   h = σ(a)
        s = [c, h]                                state and output

    x is (N, D), s (N, S). Chapter 13; Mikolov et al. (2014), arXiv:1412.7753, with [c, h] as the output.

    Examples
    --------
    >>> from gru_book.cells import scrn_init, scrn_step
    >>> p = scrn_init(np.random.default_rng(0), D=1, H=1, C=1, alpha=0.75)
    >>> p.flat[:] = 0
    >>> p.W_xc[:] = 4  # c = 0.75 c_prev + 0.25 · 4 x
    >>> s, cache = scrn_step([[1.0]], [[8.0, 0.0]], p)
    >>> s  # c, and h = σ(0)
    array([[7. , 0.5]])
    """
    check_instance("scrn_step", "p", p, SCRNParams)
    x, s_prev = check_rows("scrn_step", p, x=(x, "D"), s_prev=(s_prev, "S"))
    c_prev, h_prev = s_prev[:, : p.C], s_prev[:, p.C :]
    c = (1 - p.alpha) * (x @ p.W_xc) + p.alpha * c_prev
    a = x @ p.W_xh + h_prev @ p.W_hh + c @ p.W_ch
    return np.concatenate([c, sigmoid(a)], axis=1), SCRNCache(x, h_prev, c, a)


def scrn_step_backward(ds: ArrayLike, cache: SCRNCache, p: SCRNParams) -> tuple[Array, Array, SCRNParams]:
    """Backward through `scrn_step`, with ds = [dc, dh].

    ::

        da = dh ⊙ σ(a) ⊙ σ(−a),   dc ← dc + da W_chᵀ,   du = (1 − α) dc
        dx = da W_xhᵀ + du W_xcᵀ,   dh_prev = da W_hhᵀ,   dc_prev = α dc
        dW_xh = xᵀ da,   dW_hh = h_prevᵀ da,   dW_ch = cᵀ da,   dW_xc = xᵀ du

    Examples
    --------
    >>> from gru_book.cells import scrn_init, scrn_step, scrn_step_backward
    >>> p = scrn_init(np.random.default_rng(0), D=1, H=1, C=1, alpha=0.75)
    >>> p.flat[:] = 0
    >>> p.W_xc[:] = 4  # c = 0.75 c_prev + 0.25 · 4 x
    >>> s, cache = scrn_step([[1.0]], [[8.0, 0.0]], p)
    >>> dx, ds_prev, grads = scrn_step_backward([[1.0, 0.0]], cache, p)
    >>> dx, ds_prev
    (array([[1.]]), array([[0.75, 0.  ]]))
    """
    check_instance("scrn_step_backward", "p", p, SCRNParams)
    check_cache("scrn_step_backward", cache, SCRNCache, p)
    x, h_prev, c, a = cache
    (ds,) = check_rows("scrn_step_backward", p, N=len(x), ds=(ds, "S"))
    s, not_s = sigmoid_pair(a)
    da = ds[:, p.C :] * s * not_s
    dc = ds[:, : p.C] + da @ p.W_ch.T
    du = (1 - p.alpha) * dc
    grads = p.zeros_like(np.result_type(da, p.flat))
    grads.W_xc[:], grads.W_xh[:], grads.W_hh[:], grads.W_ch[:] = x.T @ du, x.T @ da, h_prev.T @ da, c.T @ da
    return da @ p.W_xh.T + du @ p.W_xc.T, np.concatenate([p.alpha * dc, da @ p.W_hh.T], axis=1), grads


@short_repr
class SCRNTape(NamedTuple):
    """What `scrn_backward` needs from the forward pass. Backward may be called more than once."""

    xs: Array  # (T, N, D), zero in padding
    mask: Array | None  # (T, N), True where a step is real
    elman: ElmanTape  # of Elman's network on [x, c], whose weights are W
    made: Signature  # of the parameters


def scrn_forward(
    xs: ArrayLike, s0: MaybeArray, p: SCRNParams, *, lengths: MaybeArray = None, h_mask: MaybeArray = None
) -> tuple[Array, Array, SCRNTape]:
    """Run `scrn_step` for t = 1 … T: first all contexts, which do not depend on h, then Elman's loop on [x, c].

    Arguments and results as in `gru_forward`, with states and outputs [c, h] of size S; h_mask is for h only.

    Examples
    --------
    >>> from gru_book.cells import scrn_forward, scrn_init
    >>> p = scrn_init(np.random.default_rng(0), D=1, H=1, C=1, alpha=0.5)
    >>> p.flat[:] = 0
    >>> p.W_xc[:] = 4  # c = 0.5 c_prev + 0.5 · 4 x
    >>> ss, s_T, tape = scrn_forward([[[1.0]], [[0.0]], [[0.0]]], None, p)
    >>> ss[:, 0, 0]  # the context
    array([2. , 1. , 0.5])
    """
    where = "scrn_forward"
    check_instance(where, "p", p, SCRNParams)
    xs, (s0,), mask, dtype = begin(where, p, xs, lengths, s0=(s0, "S"))
    xs = np.array(xs, dtype)  # what backward needs is the tape's own
    recurrent_mask(where, h_mask, xs, p, dtype)  # so that an error names this function
    (T, N, _), C = xs.shape, p.C
    c = np.empty((T + 1, N, C), dtype)
    c[0], c[1:] = s0[:, :C], (1 - p.alpha) * (rows(xs) @ p.W_xc).reshape(T, N, C)
    for t in range(T):
        c[t + 1] += p.alpha * c[t]
        if mask is not None:
            np.copyto(c[t + 1], c[t], where=~mask[t][:, None])
    xcs, elman = np.concatenate([xs, c[1:]], axis=2), elman_on(p.W, "sigmoid")
    hs, h_T, tape = elman_forward(xcs, s0[:, C:], elman, lengths=lengths, h_mask=h_mask)
    ss = np.concatenate([c[1:], hs], axis=2)
    made = SCRNTape(xs, mask, tape, sign(where, p))
    return outputs(ss, mask), np.concatenate([c[-1], h_T], axis=1), made


def scrn_backward(dss: MaybeArray, ds_T: MaybeArray, tape: SCRNTape, p: SCRNParams) -> tuple[Array, Array, SCRNParams]:
    """`scrn_step_backward` for t = T … 1. As in `gru_backward`, with gradients of [c, h] of size S.

    Examples
    --------
    >>> from gru_book import cells
    >>> from gru_lib import gradcheck
    >>> xs = np.ones((4, 2, 3))
    >>> p = cells.scrn_init(np.random.default_rng(0), D=3, H=5, C=2)
    >>> ss, s_T, tape = cells.scrn_forward(xs, None, p)
    >>> back = cells.scrn_backward(np.ones_like(ss), None, tape, p)
    >>> loss = lambda p: cells.scrn_forward(xs, None, p)[0].sum()
    >>> gradcheck(loss, p, back[2]).worst < 1e-9
    True
    """
    where = "scrn_backward"
    check_tape(where, tape, SCRNTape, p, SCRNParams)
    xs, mask, elman, _ = tape
    (T, N, D), C = xs.shape, p.C
    dss, (ds,), dtype = begin_backward(where, p, elman.hs, mask, dhs=(dss, "S"), name="dss", ds_T=(ds_T, "S"))
    dxcs, dh0, g = elman_backward(dss[:, :, C:], ds[:, C:], elman, elman_on(p.W, "sigmoid"))
    dc, du = ds[:, :C], np.empty((T, N, C), dtype)
    for t in reversed(range(T)):
        dc_t = dc + dss[t, :, :C] + dxcs[t, :, D:]
        du[t] = (1 - p.alpha) * (dc_t if mask is None else np.where(mask[t][:, None], dc_t, 0))
        dc = p.alpha * dc_t if mask is None else np.where(mask[t][:, None], p.alpha * dc_t, dc_t)
    grads = p.zeros_like(dtype)
    grads.W_xc[:], grads.W[:] = rows(xs).T @ rows(du), g.W
    dxs = dxcs[:, :, :D] + (rows(du) @ p.W_xc.T).reshape(xs.shape)
    return dxs, np.concatenate([dc, dh0], axis=1), grads


register_cell(
    Cell(
        SCRNParams, scrn_step, scrn_step_backward, scrn_forward, scrn_backward,
        width=lambda p: p.S, zeros=lambda p, N, dtype: np.zeros((N, p.S), dtype),
    )
)  # fmt: skip
