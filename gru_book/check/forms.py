"""Exercises on other forms of the equations: Jacobians, chapters 5 and 9, conventions, 10, fewer products, 11."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from gru_book.check.engine import Array, Exercise, Mistake, Outputs, exercise
from gru_book.check.oracle import D, H, affine, draw, each, matmul, sig, weights
from gru_lib.cells.gru import GRUCache, gru_init

__all__ = ["bwd_jacobian", "conv_columns", "fast_sum", "hwy_only"]

# What can be wrong in the Jacobian, by the piece that is left out or changed.
SLIPS = {
    "1 − z": "the direct path is diag(z), not diag(1 − z): z is the share kept.",
    "sign z": "the sign of h_prev − n is turned in the term through the update gate.",
    "slope z": "the slope of σ is missing from the term through the update gate: z ⊙ (1 − z).",
    "slope r": "the slope of σ is missing from the term through the reset gate: r ⊙ (1 − r).",
    "slope n": "the slope of tanh is missing: 1 − n².",
    "again z": "the slope is taken at σ(z): z is squashed already, and its slope is z ⊙ (1 − z).",
    "again r": "the slope is taken at σ(r): r is squashed already, and its slope is r ⊙ (1 − r).",
    "again n": "the slope is taken at tanh(n): n is squashed already, and its slope is 1 − n².",
    "again": "all slopes are taken of what is squashed already: z ⊙ (1 − z), r ⊙ (1 − r) and 1 − n² are the slopes.",
    "written": "the way through the candidate lacks its share 1 − z.",
    "h": "the term through the reset gate lacks the factor h_prev.",
    "r": "the direct way from the candidate is W_hnᵀ diag(r); the factor r is missing.",
    "r after": "diag(r) stands after W_hnᵀ: forward, the old state is multiplied by r first, then by W_hn.",
    "transposed": "W_hz, W_hr and W_hn must be transposed: entry (i, j) is ∂h_i / ∂h_prev,j.",
    "rows": "the diagonal matrices stand on the right of W_hzᵀ and W_hrᵀ; they belong on the left: "
    "entry (i, j) is ∂h_i / ∂h_prev,j.",
}


@exercise
def bwd_jacobian() -> Exercise:
    """Check ``f(cache, p) -> J``: J_ij = ∂h_i / ∂h_prev,j of one step for one example, chapter 5.

    Given the cache (x, h_prev, r, 1 − r, z, 1 − z, n, q) of one row, as in a `GRUCache`, and the weights p, in the
    convention keep with the reset gate before the product; return J (H, H).
    """
    p, rng = draw(2016, gru_init)
    w = weights(p, "rzn")
    x, h_prev = rng.normal(size=(1, D)), rng.normal(size=(1, H))
    r, z = each(sig, affine(x, h_prev, w, "r")), each(sig, affine(x, h_prev, w, "z"))
    n = np.tanh(affine(x, r * h_prev, w, "n"))
    one = np.ones(H)

    def terms(slip: str = "none") -> Outputs:
        """The four terms of J, with the slip in them. They are built transposed, in the order of the forward step."""

        def factor(name: str, value: Array) -> Array:
            return one if slip == name else value[0]

        W_hz, W_hr, W_hn = (w[k].T if slip == "transposed" else w[k] for k in ("W_hz", "W_hr", "W_hn"))
        at = {"z": z, "r": r, "n": n}
        at |= {k: each(math.tanh if k == "n" else sig, a) for k, a in at.items() if slip in ("again", f"again {k}")}
        slopes = {k: 1 - a * a if k == "n" else a * (1 - a) for k, a in at.items()}
        to_z = (h_prev - n)[0] * (-1 if slip == "sign z" else 1) * factor("slope z", slopes["z"])
        to_n = factor("written", 1 - z) * factor("slope n", slopes["n"])
        to_r = factor("h", h_prev) * factor("slope r", slopes["r"])
        keep = (1 - z if slip == "1 − z" else z)[0]
        reset = factor("r", r)
        in_n = W_hn * reset if slip == "r after" else reset[:, None] * W_hn
        transposed = {
            "diag(z), the direct path": np.diag(keep),
            "… W_hzᵀ, through the update gate": to_z[:, None] * W_hz if slip == "rows" else W_hz * to_z,
            "… W_hrᵀ, through the reset gate": matmul(to_r[:, None] * W_hr if slip == "rows" else W_hr * to_r, W_hn)
            * to_n,
            "… W_hnᵀ diag(r), through the candidate": in_n * to_n,
        }
        return {name: term.T for name, term in transposed.items()}

    def total(slip: str = "none") -> Outputs:
        return {"J": functools.reduce(np.add, terms(slip).values())}

    def mistakes() -> Iterator[Mistake]:
        return ((message, total(slip)) for slip, message in SLIPS.items())

    cache = GRUCache(x, h_prev, r, 1 - r, z, 1 - z, n, r * h_prev)
    return Exercise({"cache": cache, "p": p}, total(), mistakes, terms={"J": terms()})


@exercise
def conv_columns() -> Exercise:
    """Check ``f(W_z, H) -> W_hz, W_xz``: the matrix of columns (H, H + D) as two matrices of rows, chapter 10.

    Given W_z (H, H + D) and the number H; return W_hz (H, H) and W_xz (D, H).
    """
    W_z = np.random.default_rng(10).normal(size=(H, H + D))
    W_hz, W_xz = W_z[:, :H].T, W_z[:, H:].T

    def mistakes() -> Iterator[Mistake]:
        message = "x was taken to stand on top of h; here h stands on top, in [h; x]."
        yield message, {"W_hz": W_z[:, D:].T, "W_xz": W_z[:, :D].T}
        yield "W_hz is not transposed: rows multiply from the left, h W_hz.", {"W_hz": W_hz.T, "W_xz": W_xz}
        yield "W_hz holds the last H columns; h meets the first H.", {"W_hz": W_z[:, D:].T, "W_xz": W_xz}
        yield "W_xz holds the first D columns; x meets the last D.", {"W_hz": W_hz, "W_xz": W_z[:, :D].T}
        message = "W_xz has the right columns in the order of another shape: transpose it, do not reshape it."
        yield message, {"W_hz": W_hz, "W_xz": W_z[:, H:].reshape(D, H)}
        message = "both are reshaped where they must be transposed."
        yield message, {"W_hz": W_hz.T, "W_xz": W_z[:, H:].reshape(D, H)}

    return Exercise({"W_z": W_z, "H": H}, {"W_hz": W_hz, "W_xz": W_xz}, mistakes)


@exercise
def hwy_only() -> Exercise:
    """Check ``f(zs) -> J``: ∂h_T/∂h_0 of a GRU without W_hr, W_hz and W_hn, from its gates zs (T, H), chapter 9.

    Given zs (T, H); return J (H, H).
    """
    zs = np.random.default_rng(12).uniform(0.1, 0.9, size=(5, H))
    product = functools.reduce(np.multiply, zs)

    def mistakes() -> Iterator[Mistake]:
        for message, diagonal in (
            ("the shares that are written are multiplied; z is the share kept.", functools.reduce(np.multiply, 1 - zs)),
            ("the gates of the steps are added; Jacobians multiply.", zs.sum(axis=0)),
            ("that is the mean of the gates; Jacobians multiply.", zs.mean(axis=0)),
            ("that is the last step alone; every step has a factor.", zs[-1]),
            ("the first step is left out: z_1 stands between h_0 and h_1.", functools.reduce(np.multiply, zs[1:])),
            ("the last step is left out: z_T stands between h_{T−1} and h_T.", functools.reduce(np.multiply, zs[:-1])),
        ):
            yield message, {"J": np.diag(diagonal)}
        yield "every unit has the same entry; each unit has its own gates.", {"J": np.eye(H) * product.prod()}
        message = "the entries beside the diagonal must be 0: without the three matrices no unit sees another."
        yield message, {"J": np.tile(product, (H, 1))}
        yield message + " The rows and columns are swapped too.", {"J": np.tile(product, (H, 1)).T}

    return Exercise({"zs": zs}, {"J": np.diag(product)}, mistakes)


@exercise
def fast_sum() -> Exercise:
    """Check ``f(hs, das) -> dW``: hs (T, N, H) and das (T, N, 3H) in one product, chapter 11.

    Given hs (T, N, H) and das (T, N, 3H); return dW (H, 3H).
    """
    rng = np.random.default_rng(13)
    hs, das = rng.normal(size=(5, 3, H)), rng.normal(size=(5, 3, 3 * H))
    each_step = [matmul(h.T, da) for h, da in zip(hs, das, strict=True)]
    right = functools.reduce(np.add, each_step)
    shifted = functools.reduce(np.add, (matmul(h.T, da) for h, da in zip(hs[:-1], das[1:], strict=True)))
    rows = hs.transpose(1, 0, 2).reshape(-1, H)

    def mistakes() -> Iterator[Mistake]:
        yield "that is the last step alone; all steps are added.", {"dW": each_step[-1]}
        yield "that is the first step alone; all steps are added.", {"dW": each_step[0]}
        yield "that is the mean over the steps; the sum is wanted.", {"dW": right / 5}
        yield "that is the mean over steps and sequences; the sum is wanted.", {"dW": right / 15}
        yield "the first sequence alone; all N are added.", {"dW": matmul(hs[:, 0].T, das[:, 0])}
        message = "the rows of hs and of das are in different orders: steps and sequences are swapped in one of them."
        yield message, {"dW": matmul(rows.T, das.reshape(-1, 3 * H))}
        yield "hs is one step behind das; both are of the same step here.", {"dW": shifted}
        message = "hs is reshaped to (H, T N) where it must be transposed: the numbers land in the wrong rows."
        yield message, {"dW": matmul(hs.reshape(H, -1), das.reshape(-1, 3 * H))}

    return Exercise({"hs": hs, "das": das}, {"dW": right}, mistakes)
