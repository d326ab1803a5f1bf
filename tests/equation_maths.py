"""What the Python calls that `equations.Reader` makes of TeX: the book's products, sums and relations of arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Values = dict[str, Any]
modulo, multiplied = operator.mod, math.prod
least, greatest = partial(np.min, axis=0), partial(np.max, axis=0)


@dataclass
class Rows:
    """Values with an index that is not printed, their last."""

    index: str
    values: Any


class Ring(np.ndarray):
    """Values whose index goes round."""


class Stack(np.ndarray):
    """Two blocks of rows, one on the other; an index takes one of them."""


def _shape(a: Any, b: Any) -> None:
    if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
        raise ValueError(f"shapes {np.shape(a)} and {np.shape(b)} do not fit")


def add(a: Any, b: Any) -> Any:
    """a + b; a bias may be one row or column for all."""
    if np.ndim(a) and np.ndim(b) and np.broadcast_shapes(np.shape(a), np.shape(b)) not in (np.shape(a), np.shape(b)):
        _shape(a, b)
    return a + b


def sub(a: Any, b: Any) -> Any:
    return add(a, -b)


def pm(a: Any, b: Any) -> Any:
    return np.array([a + b, a - b])


def times(a: Any, b: Any) -> Any:
    """Side by side: of numbers the product, of arrays that of matrices."""
    if not np.ndim(a) or not np.ndim(b):
        return a * b
    if np.ndim(a) == np.ndim(b) == 1:
        raise ValueError("two rows side by side are no product")
    return a @ b


def wise(a: Any, b: Any) -> Any:
    _shape(a, b)
    return a * b


def dot(a: Any, b: Any) -> Any:
    return a @ b if np.ndim(a) == np.ndim(b) == 1 else wise(a, b)


def divide(a: Any, b: Any) -> Any:
    _shape(a, b)
    return a / b


def power(a: Any, exponent: Any) -> Any:
    """Of a square matrix its power, of anything else that of each entry."""
    if np.ndim(a) == 2 and a.shape[0] == a.shape[1]:
        return np.linalg.matrix_power(a, exponent)
    return a ** float(exponent) if np.ndim(exponent) == 0 and not isinstance(a, complex) else a**exponent


def transposed(a: Any) -> Any:
    if np.ndim(a) != 2:
        raise ValueError("only a matrix has a transpose")
    return a.T


def norm(a: Any) -> Any:
    return np.linalg.norm(a, 2) if np.ndim(a) else abs(a)


def row(*parts: Any) -> Any:
    return np.concatenate(parts, axis=-1) if np.ndim(parts[0]) else np.array(parts)


def block(rows: list[list[Any]]) -> Any:
    """A matrix of numbers or of matrices, where 0 has the shape that fits."""
    if not any(np.ndim(cell) for cells in rows for cell in cells):
        return np.array(rows, float)
    heights = [next(len(cell) for cell in cells if np.ndim(cell)) for cells in rows]
    widths = [next(cell.shape[1] for cell in column if np.ndim(cell)) for column in zip(*rows, strict=True)]
    return np.block(
        [
            [np.broadcast_to(c, (h, w)) for c, w in zip(r, widths, strict=True)]
            for r, h in zip(rows, heights, strict=True)
        ]
    )


def at(value: Any, *indices: Any) -> Any:
    """The entry at these indices, from 1 in an array."""
    value = value.values if isinstance(value, Rows) else value
    indices = tuple(tuple(map(int, index)) if np.ndim(index) else index for index in indices)
    if isinstance(value, dict) and indices in value:
        return value[indices]
    for index in indices:
        if isinstance(value, dict):
            value = value[index]
        elif isinstance(value, Stack):
            value = np.split(value.view(np.ndarray), 2)[(1, 2).index(index)]
        elif isinstance(value, Ring):
            value = value.view(np.ndarray)[(operator.index(index) - 1) % len(value)]
        elif 1 <= operator.index(index) <= len(value):
            value = value[index - 1]
        else:
            raise IndexError(f"index {index} of {len(value)}")
    return value


def run(value: Any, first: int, last: int) -> list[Any]:
    return [at(value, k) for k in range(first, last + 1)]


def total(terms: list[Any]) -> Any:
    return sum(terms[1:], terms[0]) if terms else 0.0


def mean(v: Values, of: Callable[[], Any]) -> Any:
    before, result = dict(v), 0.0
    for probability, changed in before["outcomes"]:
        v |= changed
        result = result + probability * of()
    v |= before
    return result


def variance(v: Values, of: Callable[[], Any]) -> Any:
    return mean(v, lambda: of() ** 2) - mean(v, of) ** 2


def equal(a: Any, b: Any, within: float = 1e-7) -> bool:
    b = np.zeros(np.shape(a)) if isinstance(b, int) and b == 0 else b
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=within, atol=within)


RELATE: dict[str, Callable[..., bool]] = {
    "=": equal,
    r"\approx": lambda a, b: np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=0.05),
    r"\ne": lambda a, b: bool(np.any(a != b)),
    r"\le": lambda a, b: bool(np.all(a <= b + 1e-12)),
    r"\ge": lambda a, b: bool(np.all(b <= a + 1e-12)),
    "<": lambda a, b: bool(np.all(a < b)),
    ">": lambda a, b: bool(np.all(a > b)),
    r"\in": lambda a, b: a in b,
}
RELATE |= dict.fromkeys((r"\text{to}", r"\leftarrow"), equal)
