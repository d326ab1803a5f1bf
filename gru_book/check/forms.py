"""Exercises on other forms of the equations: a Jacobian, chapter 9, conventions, 10, fewer products, 11."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from gru_book.check.engine import Exercise, Fault, Function, Mistake, exercise
from gru_book.check.oracle import D, H, matmul

__all__ = ["conv_columns", "fast_sum", "hwy_only"]


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

    several = "right, but by several products: a single one takes all steps at once."

    class Term:
        """A number that knows how many products it is the sum of. A single matrix product adds them one by one."""

        most = 1

        def __init__(self, value: float, terms: int = 1) -> None:
            self.value, self.terms = value, terms
            Term.most = max(Term.most, terms)

        def __mul__(self, other: Term) -> Term:
            return Term(self.value * other.value)

        def __add__(self, other: Any) -> Term:
            if not isinstance(other, Term):  # the 0 that a sum begins with
                return self
            if self.terms > 1 and other.terms > 1:
                raise Fault(several)
            return Term(self.value + other.value, self.terms + other.terms)

        __radd__ = __add__

        def __float__(self) -> float:
            return self.value

    def then(f: Function) -> None:
        try:
            f(*(np.vectorize(Term, otypes=[object])(a) for a in (hs, das)))
        except Fault:
            raise
        except Exception as error:  # something is added to an array of floats; whatever else stops, says nothing
            if getattr(error, "ufunc", None) is np.add and Term.most < len(rows):
                raise Fault(several) from error

    return Exercise({"hs": hs, "das": das}, {"dW": right}, mistakes, then=then)
