"""n-gram models: the next token by counting, the baseline of chapter 16."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib._core.checks import check_int, check_number

__all__ = ["NGram"]


class NGram:
    """Counts of what followed each context of up to n − 1 tokens, with interpolated backoff.

    ::

        p_0(c)     = 1/V
        p_k(c | u) = (max(count(u c) − d, 0) + d · kinds(u) · p_{k−1}(c | u′)) / count(u)

    with u the last k − 1 tokens, u′ the last k − 2, kinds(u) the number of different tokens that followed u, and d the
    discount. What the discount takes from the counts goes to the shorter context, so every p_k sums to 1. An unseen
    context leaves everything to the shorter one.

    Parameters
    ----------
    tokens : integers (L,), in 0..V−1
        The training text.
    n : int
        1 for unigrams, 2 for bigrams …
    V : int
        Number of tokens.
    discount : float in (0, 1)

    Notes
    -----
    Chapter 16. Absolute discounting: Ney, Essen & Kneser (1994).
    """

    def __init__(self, tokens: ArrayLike, n: int, V: int, *, discount: float = 0.75) -> None:
        self.n, self.V = check_int("NGram", "n", n), check_int("NGram", "V", V)
        self.discount = check_number("NGram", "discount", discount, above=0, below=1)
        row = self._row("NGram", tokens)
        self.counts: list[defaultdict[tuple[int, ...], Counter[int]]] = []
        for k in range(self.n):
            follows: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
            for i in range(k, len(row)):
                follows[row[i - k : i]][row[i]] += 1
            self.counts.append(follows)
        self._totals = [{u: c.total() for u, c in follows.items()} for follows in self.counts]

    def _row(self, where: str, tokens: ArrayLike) -> tuple[int, ...]:
        array = np.asarray(tokens)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"{where}: tokens must be a row of integers; got {array.dtype} of shape {array.shape}.")
        if array.size and (array.min() < 0 or array.max() >= self.V):
            raise ValueError(f"{where}: tokens must lie in 0..{self.V - 1}; got {array.min()}..{array.max()}.")
        return tuple(array.tolist())

    def probability(self, token: int, context: ArrayLike, *, n: int | None = None) -> float:
        """Return p(token | context); with n, under the model of that smaller order."""
        row = self._row("NGram.probability", np.asarray(context, np.int64))
        return self._probability(token, row, self.n if n is None else n)

    def _probability(self, token: int, context: tuple[int, ...], n: int) -> float:
        p = 1 / self.V
        for k in range(min(n, len(context) + 1)):
            u = context[len(context) - k :]
            total = self._totals[k].get(u)
            if total is None:
                break
            follows = self.counts[k][u]
            p = (max(follows[token] - self.discount, 0) + self.discount * len(follows) * p) / total
        return p

    def bits(self, tokens: ArrayLike, *, n: int | None = None) -> float:
        """Return the bits per token of a text; with n, under the model of that smaller order."""
        n = self.n if n is None else check_int("NGram.bits", "n", n)
        if n > self.n:
            raise ValueError(f"NGram.bits: n must be at most {self.n}, what was counted; got {n}.")
        row = self._row("NGram.bits", tokens)
        p: NDArray[np.float64] = np.array(
            [self._probability(token, row[max(0, i - n + 1) : i], n) for i, token in enumerate(row)]
        )
        return float(-np.log2(p).mean())
