"""What right outputs and mistakes are computed with: loops over single numbers, straight from the equations.

They share no code with the cells they check, so that a mistake in one cannot hide in the other.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from gru_book.check.engine import Array, Mistake, Outputs
from gru_lib.params import Params

__all__ = [
    "D", "H", "N", "Scalar", "T", "affine", "draw", "each", "matmul", "sig", "slips", "sums", "total", "weight_grads",
    "weights",
]  # fmt: skip

#: The sizes at which functions are tried: sequences, inputs, units and steps.
N, D, H, T = 3, 2, 4, 5
#: A function of one number.
Scalar = Callable[[float], float]
AnyParams = TypeVar("AnyParams", bound=Params)


def draw(seed: int, init: Callable[..., AnyParams], **options: Any) -> tuple[AnyParams, np.random.Generator]:
    """Return parameters that are all random, biases too, and the generator for the rest."""
    rng = np.random.default_rng(seed)
    p = init(rng, D, H, **options)
    p.flat[:] = rng.normal(size=p.size)
    return p, rng


def sig(a: float) -> float:
    """σ(a) of one number."""
    return 1 / (1 + math.exp(-a)) if a > 0 else math.exp(a) / (1 + math.exp(a))


def matmul(A: Array, B: Array) -> Array:
    """A B, one sum at a time."""
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"matmul: A has {A.shape[1]} columns, B has {B.shape[0]} rows.")
    rows, columns = A.tolist(), B.T.tolist()  # Python's own numbers, whose products take a fraction of the time
    return np.array([[sum(map(operator.mul, row, column)) for column in columns] for row in rows])


def each(function: Callable[..., float], *arrays: Array) -> Array:
    """Apply a function of numbers to the entries of matrices."""
    return np.array([[function(*v) for v in zip(*rows, strict=True)] for rows in zip(*arrays, strict=True)])


def sums(A: Array) -> Array:
    """The sum of each column."""
    return np.array([sum(column) for column in A.T])


def total(terms: Mapping[str, Outputs]) -> Outputs:
    """Add the terms of each output."""
    return {name: functools.reduce(np.add, parts.values()) for name, parts in terms.items()}


def weights(p: Params, gates: str) -> Outputs:
    """Copy the arrays of each gate, by name; a bias that is not there becomes zeros."""
    names = [f"{a}{g}" for g in gates for a in ("W_x", "W_h", "b_")] + (["b_hn"] if gates == "rzn" else [])
    return {name: np.zeros(H) + v if np.ndim(v := getattr(p, name)) < 2 else v.copy() for name in names}


def affine(x: Array, h: Array, w: Mapping[str, Array], gate: str) -> Array:
    """x W_x + h W_h + b with the weights of one gate."""
    return matmul(x, w[f"W_x{gate}"]) + matmul(h, w[f"W_h{gate}"]) + w[f"b_{gate}"]


def weight_grads(x: Array, h: Array, da: Mapping[str, Array]) -> Outputs:
    """The gradients of each gate's arrays, from that of its pre-activation."""
    out = {f"dW_x{gate}": matmul(x.T, a) for gate, a in da.items()}
    out |= {f"dW_h{gate}": matmul(h.T, a) for gate, a in da.items()}
    return out | {f"db_{gate}": sums(a) for gate, a in da.items()}


def slips(w: Mapping[str, Array], gates: str) -> Iterator[Mistake]:
    """Yield (message, changed weights): W_h transposed and a bias left out, in all gates and in each."""
    for some in (gates, *gates):
        matrices, biases = [f"W_h{g}" for g in some], [f"b_{g}" for g in some]
        message = f"{', '.join(matrices)} {'are' if len(some) > 1 else 'is'} transposed: h_prev W, not h_prev Wᵀ."
        yield message, {name: w[name].T for name in matrices}
        if any(w[name].any() for name in biases):
            yield f"{', '.join(biases)}: missing bias.", {name: 0 * w[name] for name in biases}
