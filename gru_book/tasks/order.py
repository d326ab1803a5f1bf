"""Two tasks in which only the order of the tokens tells the classes apart. Chapter 1.

`one_order`: which of two tokens came first? `two_orders`: do two such pairs stand in the same order? In both, every
sequence has a partner of the other class with the same tokens in another order. So a model that ignores the order is
right half of the time.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib.checks import check_instance, check_int

__all__ = ["FILLERS", "TOKENS", "Batch", "all_one_order", "all_two_orders", "one_order", "two_orders"]

Array = NDArray[Any]

#: How many tokens are fillers. They come after those that count: a b c d are 0 1 2 3.
FILLERS = 4
#: How many tokens there are: the size D of a one-hot input.
TOKENS = 4 + FILLERS


class Batch(NamedTuple):
    """Inputs and targets, time first."""

    xs: Array  # (T, N, TOKENS): one-hot rows
    ys: Array  # (N, 1): 1.0 or 0.0
    tokens: Array  # (T, N): integers below TOKENS


def one_order(rng: np.random.Generator, N: int, T: int) -> Batch:
    """Draw N sequences of T tokens with one a and one b at random places among fillers; y = 1 if a comes first.

    Examples
    --------
    >>> from gru_book.tasks.order import one_order
    >>> batch = one_order(np.random.default_rng(0), N=3, T=5)
    >>> a, b = ((batch.tokens == k).argmax(axis=0) for k in (0, 1))
    >>> np.array_equal(batch.ys[:, 0], a < b)
    True
    """
    return _one(_draw("one_order", rng, N, T, marked=2))


def two_orders(rng: np.random.Generator, N: int, T: int) -> Batch:
    """Draw N sequences with one each of a, b, c, d among fillers.

    y = 1 if "a before b" and "c before d" are both true or both false.

    Examples
    --------
    >>> from gru_book.tasks.order import two_orders
    >>> batch = two_orders(np.random.default_rng(0), N=3, T=6)
    >>> a, b, c, d = ((batch.tokens == k).argmax(axis=0) for k in range(4))
    >>> np.array_equal(batch.ys[:, 0], (a < b) == (c < d))
    True
    """
    return _two(_draw("two_orders", rng, N, T, marked=4))


def all_one_order(T: int) -> Batch:
    """Every sequence that `one_order` can draw, once: T(T − 1) · 4^(T − 2) of them, so keep T small.

    Examples
    --------
    >>> from gru_book.tasks.order import all_one_order
    >>> batch = all_one_order(T=2)
    >>> batch.tokens.T, batch.ys[:, 0]  # a b and b a
    (array([[0, 1],
           [1, 0]]), array([1., 0.]))
    """
    return _one(_every("all_one_order", T, marked=2))


def all_two_orders(T: int) -> Batch:
    """Every sequence that `two_orders` can draw, once: T(T − 1)(T − 2)(T − 3) · 4^(T − 4) of them.

    Examples
    --------
    >>> from gru_book.tasks.order import all_two_orders
    >>> batch = all_two_orders(T=4)
    >>> batch.tokens.shape, float(batch.ys.mean())
    ((4, 24), 0.5)
    """
    return _two(_every("all_two_orders", T, marked=4))


def _draw(where: str, rng: np.random.Generator, N: int, T: int, *, marked: int) -> tuple[Array, Array]:
    """Put one of each token below `marked` at different places. Returns tokens (T, N) and places (marked, N)."""
    check_instance(where, "rng", rng, np.random.Generator)
    N, T = check_int(where, "N", N), check_int(where, "T", T, minimum=marked)
    fillers = rng.integers(TOKENS - FILLERS, TOKENS, (T, N))
    places = rng.permuted(np.tile(np.arange(T)[:, None], N), axis=0)[:marked]
    return _put(fillers, places), places


def _every(where: str, T: int, *, marked: int) -> tuple[Array, Array]:
    """Like `_draw`: every placement with every choice of fillers."""
    T = check_int(where, "T", T, minimum=marked)
    columns, places = [], []
    for at in permutations(range(T), marked):
        free = [t for t in range(T) if t not in at]
        for fillers in product(range(TOKENS - FILLERS, TOKENS), repeat=len(free)):
            column = np.empty(T, np.int64)
            column[free] = fillers
            columns.append(column)
            places.append(at)
    return _put(np.array(columns).T, np.array(places).T), np.array(places).T


def _put(tokens: Array, places: Array) -> Array:
    tokens[places, np.arange(tokens.shape[1])] = np.arange(len(places))[:, None]
    return tokens


def _one(drawn: tuple[Array, Array]) -> Batch:
    tokens, (a, b) = drawn
    return _batch(tokens, a < b)


def _two(drawn: tuple[Array, Array]) -> Batch:
    tokens, (a, b, c, d) = drawn
    return _batch(tokens, (a < b) == (c < d))


def _batch(tokens: Array, positive: Array) -> Batch:
    return Batch(np.eye(TOKENS)[tokens], positive[:, None].astype(np.float64), tokens)
