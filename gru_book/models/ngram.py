"""n-gram models: the next token by counting, the baselines of chapter 16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import check_int, check_number

__all__ = ["KneserNey", "NGram"]

Counts = NDArray[np.int64]


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

    Examples
    --------
    >>> from gru_book.models.ngram import NGram
    >>> text = [0, 1] * 10
    >>> model = NGram(text, n=2, V=2)
    >>> round(model.probability(1, [0]), 3)
    0.963
    >>> round(model.bits([0, 1, 0, 1]), 3)
    0.293
    """

    def __init__(self, tokens: ArrayLike, n: int, V: int, *, discount: float = 0.75) -> None:
        self.n, self.V = check_int("NGram", "n", n), check_int("NGram", "V", V)
        self.discount = check_number("NGram", "discount", discount, above=0, below=1)
        row = _row("NGram", tokens, self.V)
        self._strings = _Strings(row, min(self.n, len(row)), self.V)
        self._levels: list[_Level] = []
        #: How many different contexts of 0, 1, … n − 1 tokens something followed.
        self.contexts: list[int] = []
        for k, count in enumerate(self._strings.counts, 1):
            kinds, total = self._strings.by_context(k, np.ones(len(count))), self._strings.by_context(k, count)
            self._levels.append(_Level(np.maximum(count - self.discount, 0), self.discount * kinds, total))
            self.contexts.append(int(np.count_nonzero(kinds)))

    def probability(self, token: int, context: ArrayLike, *, n: int | None = None) -> float:
        """Return p(token | context); with n, under the model of that smaller order."""
        row = np.append(np.asarray(context, np.int64), token)
        return float(self.probabilities(row, n=n)[-1])

    def probabilities(self, tokens: ArrayLike, *, n: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each token of a text after those before it, (L,)."""
        n = _order("NGram.probabilities", n, self.n)
        return self._strings.interpolate(_row("NGram.probabilities", tokens, self.V), self._levels[:n])

    def bits(self, tokens: ArrayLike, *, n: int | None = None) -> float:
        """Return the bits per token of a text; with n, under the model of that smaller order."""
        n = _order("NGram.bits", n, self.n)
        row = _row("NGram.bits", tokens, self.V)
        return float(-np.log2(self._strings.interpolate(row, self._levels[:n])).mean())


class KneserNey:
    """Interpolated modified Kneser–Ney: the n-gram model to beat.

    ::

        p_0(c)     = 1/V
        p_k(c | u) = (a(u c) − D(a(u c)) + Σ_c D(a(u c)) · p_{k−1}(c | u′)) / Σ_c a(u c)

    It is `NGram` with two changes. The discount D depends on the count: D_1, D_2, D_3 for counts 1, 2, and 3 or more,
    for each k from its numbers of counts n_1 … n_4. And only the highest order, k = n, counts occurrences; below it
    a(u c) is in how many different contexts u c occurred, the number of different tokens before it. For what a shorter
    context is asked for is what the longer one has not seen.

    Parameters
    ----------
    tokens : integers (L,), in 0..V−1
        The training text.
    n : int
        Highest order; models of smaller order are in it too.
    V : int
        Number of tokens.

    Notes
    -----
    Chapter 16. Chen & Goodman (1999), after Kneser & Ney (1995). Where the numbers of counts give no discount
    or one below 0, as in very small texts, it is 0.5, 1, 1.5.

    Examples
    --------
    >>> from gru_book.models.ngram import KneserNey
    >>> text = [0, 1] * 10
    >>> model = KneserNey(text, n=2, V=2)
    >>> round(model.probability(1, [0]), 3)
    0.925
    >>> round(model.bits([0, 1, 0, 1]), 3)
    0.338
    """

    def __init__(self, tokens: ArrayLike, n: int, V: int) -> None:
        self.n, self.V = check_int("KneserNey", "n", n), check_int("KneserNey", "V", V)
        row = _row("KneserNey", tokens, self.V)
        if len(row) < self.n:
            raise ValueError(f"KneserNey: tokens must be at least n = {self.n}; got {len(row)}.")
        self._strings = _Strings(row, self.n, self.V)
        self._occurrences = [self._level(k, a) for k, a in enumerate(self._strings.counts, 1)]
        self._contexts = [self._level(k, a) for k, a in enumerate(self._strings.before, 1)]

    def _level(self, k: int, a: Counts) -> _Level:
        """Discounts of the counts `a` of the strings of k tokens."""
        n1, n2, n3, n4 = (int((a == count).sum()) for count in (1, 2, 3, 4))
        D = np.array([0, 0.5, 1, 1.5])
        if min(n1, n2, n3) > 0:
            Y = n1 / (n1 + 2 * n2)
            found = np.array([0, 1 - 2 * Y * n2 / n1, 2 - 3 * Y * n3 / n2, 3 - 4 * Y * n4 / n3])
            D = np.where(found >= 0, found, D)
        taken = D[np.minimum(a, 3)]
        return _Level(a - taken, self._strings.by_context(k, taken), self._strings.by_context(k, a))

    def probability(self, token: int, context: ArrayLike, *, n: int | None = None) -> float:
        """Return p(token | context); with n, under the model of that smaller order."""
        row = np.append(np.asarray(context, np.int64), token)
        return float(self.probabilities(row, n=n)[-1])

    def probabilities(self, tokens: ArrayLike, *, n: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each token of a text after those before it, (L,)."""
        n = _order("KneserNey.probabilities", n, self.n)
        row = _row("KneserNey.probabilities", tokens, self.V)
        return self._strings.interpolate(row, [*self._contexts[: n - 1], self._occurrences[n - 1]])

    def bits(self, tokens: ArrayLike, *, n: int | None = None) -> float:
        """Return the bits per token of a text; with n, under the model of that smaller order."""
        return float(-np.log2(self.probabilities(tokens, n=n)).mean())


class _Strings:
    """The different strings of 1 to n tokens of a text.

    A string of k tokens is known by its number: the place of (number of its first k − 1, last token) in keys[k].
    """

    def __init__(self, row: Counts, n: int, V: int) -> None:
        self.V = V
        self.keys: list[Counts] = [np.zeros(1, np.int64)]
        self.counts: list[Counts] = []  # how often each string of k tokens occurs, at k − 1
        self.before: list[Counts] = []  # how many different tokens stand before it; not for k = n
        ends = np.zeros(len(row) + 1, np.int64)  # number of the string of k tokens before each place; −1 for none
        for k in range(1, n + 1):
            place = np.flatnonzero(ends[:-1] >= 0)
            keys, first, numbers, count = np.unique(
                ends[place] * V + row[place], return_index=True, return_inverse=True, return_counts=True
            )
            if k > 1:  # each different string of k tokens is one context of its last k − 1
                self.before.append(np.bincount(ends[place[first] + 1], minlength=len(self.keys[-1])))
            self.keys.append(keys)
            self.counts.append(count)
            ends = np.full(len(row) + 1, -1)
            ends[place + 1] = numbers

    def by_context(self, k: int, values: NDArray[Any]) -> NDArray[Any]:
        """For each context of k − 1 tokens the sum of the values of its strings of k tokens."""
        return np.bincount(self.keys[k] // self.V, values, len(self.keys[k - 1]))

    def interpolate(self, row: Counts, levels: Sequence[_Level]) -> NDArray[np.float64]:
        """The probability of each token of a text, from levels for k = 1, 2, …"""
        p = np.full(len(row), 1 / self.V)
        u = np.zeros(len(row), np.int64)  # numbers of the k − 1 tokens before each place; −1 for none
        for k, level in enumerate(levels, 1):
            uc = np.where(u >= 0, self._number(k, u * self.V + row), -1)
            kept = np.where(uc >= 0, level.kept[uc], 0)
            seen = (u >= 0) & (level.total[u] > 0)
            p = np.where(seen, (kept + level.taken[u] * p) / np.where(seen, level.total[u], 1), p)
            u = np.concatenate(([-1], uc[:-1]))
        return p

    def _number(self, k: int, keys: Counts) -> Counts:
        """The place of each key in self.keys[k], or −1."""
        place = np.minimum(np.searchsorted(self.keys[k], keys), len(self.keys[k]) - 1)
        return np.where(self.keys[k][place] == keys, place, -1)


class _Level(NamedTuple):
    """The counts of one order, each less its discount."""

    kept: NDArray[Any]  # of each string u c
    taken: NDArray[Any]  # of each context u: the sum of its discounts
    total: NDArray[Any]  # of each context u: the sum of its counts


def _row(where: str, tokens: ArrayLike, V: int) -> Counts:
    array = np.asarray(tokens)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{where}: tokens must be a row of integers; got {array.dtype} of shape {array.shape}.")
    if array.size and (array.min() < 0 or array.max() >= V):
        raise ValueError(f"{where}: tokens must lie in 0..{V - 1}; got {array.min()}..{array.max()}.")
    return array.astype(np.int64)


def _order(where: str, n: int | None, most: int) -> int:
    n = most if n is None else check_int(where, "n", n)
    if n > most:
        raise ValueError(f"{where}: n must be at most {most}, what was counted; got {n}.")
    return n
