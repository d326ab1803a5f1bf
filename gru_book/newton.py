"""All steps of a recurrent network at once, by Newton's method: each round is one linear recurrence. Chapter 21b.

Guess all states. With e_t = f(h_{t−1}, x_t) − h_t, by how much step t is missed, and J_t = ∂f/∂h_{t−1} at the guess,

    d_t = J_t d_{t−1} + e_t,        h_t ← h_t + d_t, cut to where states can lie.

Where all states up to t − 1 are right, e is 0 before t, and so is d: after k rounds the first k states are the loop's,
whatever J is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gru_book.cells.diaggru import DiagGRUCache, DiagGRUParams, _slopes
from gru_book.scan import scan
from gru_lib.cells.gru import GRUParams
from gru_lib.cells.registry import cell_of, zero_state
from gru_lib.checks import as_array, check_bool, check_int, check_number
from gru_lib.params import Params
from gru_lib.sequence import begin, begin_backward, outputs, rows
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, MaybeArray, short_repr

__all__ = ["NewtonTape", "newton_backward", "newton_forward", "step_jacobian"]

_PIECE = 2**22  # numbers of J held at once: the steps of a round are taken in pieces


def _one_cell(where: str, p: Any) -> Any:
    """Return the functions of a cell whose state is one array."""
    cell = cell_of(p)
    if cell.step is None or cell.step_backward is None or cell.apart or np.shape(zero_state(p, 1)) != (1, p.H):
        raise TypeError(f"{where}: p must be of one cell whose state is an array (N, H); got {type(p).__name__}.")
    return cell


def step_jacobian(x: ArrayLike, h_prev: ArrayLike, p: Any) -> tuple[Array, Array]:
    """One step of N sequences: h (N, H), and its Jacobian ∂h/∂h_prev, (N, H, H), [i, j] = ∂h_i / ∂h_prev_j.

    Of a diagonal GRU the Jacobian is (N, H), one number a unit. A cell that is no GRU is asked for H gradients, those
    of h_1 … h_H. Chapter 21b.

    Examples
    --------
    >>> from gru_book.newton import step_jacobian
    >>> from gru_lib import gru_init
    >>> p = gru_init(np.random.default_rng(0), D=1, H=1)
    >>> p.flat[:] = 0  # z = 0.5, and nothing else sees the state
    >>> step_jacobian([[1.0]], [[0.8]], p)
    (array([[0.4]]), array([[[0.5]]]))
    """
    cell = _one_cell("step_jacobian", p)
    f, cache = cell.step(x, h_prev, p)
    if isinstance(cache, DiagGRUCache):
        return f, _slopes(cache, p)[-1]
    if not isinstance(p, GRUParams):
        H, cache = p.H, cell.step(np.repeat(x, p.H, axis=0), np.repeat(h_prev, p.H, axis=0), p)[1]
        return f, cell.step_backward(np.tile(np.eye(H, dtype=f.dtype), (len(f), 1)), cache, p)[1].reshape(-1, H, H)
    _, h, r, not_r, z, not_z, n, q = cache  # (N, H)
    keep, write, turn = (z, not_z, 1) if p.convention == "keep" else (not_z, z, -1)
    to_z, to_n, eye = turn * (h - n) * z * not_z, write * (1 - n * n), np.eye(p.H, dtype=h.dtype)
    if p.reset_after:
        seen = p.W_hr * (q * r * not_r)[:, None] + p.W_hn * r[:, None]  # [j, i]: how a_n,i sees h_j
    else:
        seen = (p.W_hr * (h * r * not_r)[:, None] + eye * r[:, None]) @ p.W_hn
    return f, (eye * keep[:, None] + p.W_hz * to_z[:, None] + seen * to_n[:, None]).swapaxes(1, 2)


def _steps(xs: Array, before: Array, mask: Array | None, p: Any, diagonal: bool) -> tuple[Array, Array]:
    """Every step from the state given before it: f (T, N, H), and J (T, N, H, H) or its diagonal (T, N, H)."""
    f, J = step_jacobian(rows(xs), rows(before), p)
    J = np.diagonal(J, axis1=1, axis2=2) if diagonal and J.ndim == 3 else J
    f, J = f.reshape(before.shape), J.reshape(*before.shape, *J.shape[2:])
    if mask is not None:  # a padded step keeps everything
        real = mask[:, :, None]
        same = np.eye(p.H) if J.ndim == 4 else 1
        f, J = np.where(real, f, before), np.where(real[..., None] if J.ndim == 4 else real, J, same)
    return f, J.astype(before.dtype, copy=False)


def linear(J: Array, w: Array, d0: Array, *, doubling: bool = False) -> Array:
    """Return d_1 … d_T, (T, N, H), of d_t = J_t d_{t−1} + w_t: with a loop, or in log₂ T rounds as `scan`."""
    if J.ndim == 3:
        return scan(J, w, d0, method="doubling" if doubling else "auto")[1:]
    d, J, span = w.copy()[..., None], J.copy() if doubling else J, 1  # columns
    if len(d):
        d[0] += J[0] @ d0[..., None]
    if not doubling:
        for t in range(1, len(d)):
            d[t] += J[t] @ d[t - 1]
    while doubling and span < len(d):
        d[span:] += J[span:] @ d[:-span]
        J[span:] = J[span:] @ J[:-span]  # the later step on the left
        span *= 2
    return d[..., 0]


@short_repr
class NewtonTape(NamedTuple):
    """What `newton_backward` needs, and how it went."""

    xs: Array  # (T, N, D)
    mask: Array | None  # (T, N), True where a step is real
    hs: Array  # (T + 1, N, H): h_0 … h_T
    rounds: int  # scans that were made
    converged: bool  # whether no step is missed by more than `tol`
    missed: list[float]  # by how much the worst step was, before each round and at the end
    made: Signature  # of the parameters


def newton_forward(
    xs: ArrayLike, h0: MaybeArray, p: Any, *, lengths: MaybeArray = None, start: MaybeArray = None,
    diagonal: bool = False, cut: bool = True, tol: float | None = None, most: int | None = None,
    strict: bool = True, doubling: bool = False,
) -> tuple[Array, Array, NewtonTape]:  # fmt: skip
    """Solve for the states of all steps at once. The results are those of the cell's own forward pass, to `tol`.

    xs, h0, p and lengths are as in `gru_forward`; p is of a cell whose state is one array. A round costs T H³.

    - start (T, N, H): a first guess of the states, such as those of an earlier solution; else zeros.
    - diagonal: use the diagonal of J alone. No matrices are joined, and there are more rounds.
    - cut: keep each guess of a GRU's states where they can lie, in ±1, or in ± the largest of h0.
    - tol: by how much a step may be missed, 100 units in the last place if not given.
    - most: rounds at most, T + 1 if not given. If they do not suffice, ValueError; with `strict` False the states are
      returned as they are, and tape.converged is False.
    - doubling: make each scan by doubling, over all steps at once, which holds T N H² numbers and more.

    Chapter 21b; Lim et al. (2024), arXiv:2309.12252.

    Examples
    --------
    >>> from gru_book.newton import newton_forward
    >>> from gru_lib import gru_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p, xs = gru_init(rng, D=3, H=5), rng.normal(size=(1000, 1, 3))
    >>> hs, h_T, tape = newton_forward(xs, None, p)
    >>> off = abs(hs - gru_forward(xs, None, p)[0]).max()
    >>> tape.rounds, bool(off < 1e-12)
    (5, True)
    """
    where = "newton_forward"
    _one_cell(where, p)
    xs, (h0,), mask, dtype = begin(where, p, xs, lengths, h0=(h0, "H"))
    if dtype.kind == "c":
        raise TypeError(f"{where}: xs, h0 and p must be real; got {dtype}.")
    T, N, _ = xs.shape
    diagonal, cut = check_bool(where, "diagonal", diagonal), check_bool(where, "cut", cut)
    strict, doubling = check_bool(where, "strict", strict), check_bool(where, "doubling", doubling)
    tol = 100 * float(np.finfo(dtype).eps) if tol is None else check_number(where, "tol", tol, above=0)
    most = T + 1 if most is None else check_int(where, "most", most)
    hs = np.zeros((T + 1, N, p.H), dtype)  # h_0 … h_T
    hs[0] = h0
    if start is not None:
        hs[1:] = as_array(where, "start", start, ("T", "N", "H"), {"T": T, "N": N, "H": p.H})
    bound = max(1, abs(h0).max(initial=0)) if cut and isinstance(p, GRUParams | DiagGRUParams) else np.inf
    piece, missed = max(1, T if doubling else _PIECE // max(1, N * p.H**2)), []
    xs = np.array(xs, dtype)  # what backward needs is the tape's own
    for rounds in range(most + 1):
        new, worst, d = hs.copy(), 0.0, np.zeros((N, p.H), dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for a in range(0, T, piece):
                part = slice(a, a + piece)
                f, J = _steps(xs[part], hs[:-1][part], None if mask is None else mask[part], p, diagonal)
                e = f - hs[1:][part]
                worst = np.maximum(worst, abs(e).max(initial=0))  # NaN stays
                ds = linear(J, e, d, doubling=doubling)
                d = ds[-1]
                new[1:][part] += ds
        missed.append(float(worst))
        if worst <= tol or rounds == most or not np.isfinite(worst):
            break
        hs = new if bound == np.inf else np.clip(np.where(np.isnan(new), hs, new), -bound, bound)
    converged = missed[-1] <= tol
    if strict and not converged:
        why = "xs, h0 or p leads to NaN" if np.isnan(worst) else f"the worst step is missed by {worst:.0e}"
        raise ValueError(f"{where}: not solved after {rounds} rounds; {why}.")
    return outputs(hs[1:], mask), hs[-1].copy(), NewtonTape(xs, mask, hs, rounds, converged, missed, sign(where, p))


def newton_backward(
    dhs: MaybeArray, dh_T: MaybeArray, tape: NewtonTape, p: Any, *, doubling: bool = False
) -> tuple[Array, Array, Any]:
    """Backward through all steps, by one linear recurrence and no rounds. As in `gru_backward`.

    ::

        δ_t = ∂L/∂h_t + δ_{t+1} J_{t+1}          then every step by itself, with δ_t for dh

    Examples
    --------
    >>> from gru_book.newton import newton_backward, newton_forward
    >>> from gru_lib import gru_backward, gru_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p, xs = gru_init(rng, D=3, H=5), rng.normal(size=(50, 2, 3))
    >>> hs, _, tape = newton_forward(xs, None, p)
    >>> ours = newton_backward(hs, None, tape, p)[2].flat
    >>> tape = gru_forward(xs, None, p)[2]
    >>> grads = gru_backward(hs, None, tape, p)[2].flat
    >>> np.allclose(ours, grads, rtol=0, atol=1e-12 * abs(grads).max())
    True
    """
    where = "newton_backward"
    check_tape(where, tape, NewtonTape, p, Params)
    doubling = check_bool(where, "doubling", doubling)
    xs, mask, hs = tape.xs, tape.mask, tape.hs
    dhs, (g,), _ = begin_backward(where, p, hs, mask, dhs=(dhs, "H"), dh_T=(dh_T, "H"))
    piece = max(1, len(xs) if doubling else _PIECE // max(1, hs[0].size * p.H))
    deltas = np.array(dhs, g.dtype)  # (T, N, H)
    for a in reversed(range(0, len(xs), piece)):
        part = slice(a, a + piece)
        _, J = _steps(xs[part], hs[:-1][part], None if mask is None else mask[part], p, False)
        J = J if J.ndim == 3 else J.swapaxes(2, 3)
        delta = deltas[part]  # g: what reaches its last state from later steps
        delta[-1] += g
        delta[:-1] = linear(J[:0:-1], delta[-2::-1], delta[-1], doubling=doubling)[::-1]
        g = linear(J[:1], np.zeros_like(delta[:1]), delta[0])[0]
    _, cache = cell_of(p).step(rows(xs), rows(hs[:-1]), p)  # type: ignore[misc]
    real = deltas if mask is None else np.where(mask[:, :, None], deltas, 0)
    dxs, _, grads = cell_of(p).step_backward(rows(real), cache, p)  # type: ignore[misc]
    return dxs.reshape(xs.shape), g, grads
