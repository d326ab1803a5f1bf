"""From next-token probabilities to whole sequences: greedy, sampled, by beam search, or by exact search.

Everything here takes a function ``step(state, token) -> log_probs, state``. The state may be anything; since a step
makes a new one and leaves the old one alone, hypotheses branch for free. A `step` that returns another shape, NaN, or
leaves no token possible raises ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import check_function, check_instance, check_int, check_number, plain

__all__ = ["Decoded", "Hypothesis", "beam_search", "exact_search", "greedy", "sample"]

Array = NDArray[Any]
Step = Callable[[Any, Any], tuple[Array, Any]]
Beginning = tuple[float, tuple[int, ...], int]  # its log-probability, its tokens, its state's row in the batch


class Decoded(NamedTuple):
    """Decoded sequences, one for each start token."""

    tokens: Array  # (…, L): without the start, with the end; padded with the end token
    log_prob: Array  # (…): of all tokens up to the end, under the model
    lengths: Array  # (…): number of tokens, the end included


class Hypothesis(NamedTuple):
    """One sequence that a beam search found."""

    tokens: tuple[int, ...]  # without the start, with the end
    log_prob: float
    score: float  # log_prob, normalised for its length
    ended: bool  # whether it has the end token; otherwise max_steps cut it off


def greedy(step: Step, state: Any, start: ArrayLike, *, end: int | None, max_steps: int) -> Decoded:
    """Take the most likely token at every step.

    Parameters
    ----------
    step
        ``step(state, tokens) -> log_probs, state``, with log_probs (…, V) for tokens (…).
    state
        Passed to the first step.
    start : integer, or integers (N,)
        The token before the first one, for one sequence or for a batch.
    end
        The token that ends a sequence, or None if there is none.
    max_steps
        Most tokens to decode.

    Examples
    --------
    >>> from gru_lib import greedy
    >>> P = np.array([[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.8, 0.1, 0.1]])
    >>> step = lambda state, token: (np.log(P[token]), state)  # 0 ends
    >>> said = greedy(step, None, 0, end=0, max_steps=4)
    >>> said.tokens, round(float(np.exp(said.log_prob)), 6)  # 0.5 · 0.4
    (array([1, 0]), 0.2)
    """
    return _run("greedy", step, state, start, end, max_steps, lambda log_probs: log_probs)


def sample(
    step: Step,
    state: Any,
    start: ArrayLike,
    rng: np.random.Generator,
    *,
    end: int | None,
    max_steps: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Decoded:
    """Draw every token from p^(1/temperature), renormalised over the tokens that `top_k` and `top_p` leave possible.

    Adding independent Gumbel noise to log p/temperature and taking the largest is such a draw. So one call of `rng`
    serves the whole batch, and no probability underflows.

    Parameters
    ----------
    step, state, start, end, max_steps
        As in `greedy`.
    temperature
        Above 0. Near 0 the result is `greedy`'s, 1 is the model, and higher is more even.
    top_k
        How many tokens stay possible, the most likely ones; None for all.
    top_p
        Nucleus sampling: only the fewest most likely tokens stay possible whose probabilities, after the temperature
        and `top_k`, sum to at least `top_p`, in (0, 1); None for all.

    Returns
    -------
    Decoded
        `log_prob` is the model's own, whatever the temperature.

    Notes
    -----
    Chapter 16. `top_k`: Fan et al. (2018), arXiv:1805.04833; `top_p`: Holtzman et al. (2020), arXiv:1904.09751.

    Examples
    --------
    >>> from gru_lib import sample
    >>> P = np.array([[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.8, 0.1, 0.1]])
    >>> step = lambda state, token: (np.log(P[token]), state)
    >>> rng, start = np.random.default_rng(0), np.zeros(10_000, int)
    >>> said = sample(step, None, start, rng, end=None, max_steps=1)
    >>> (np.bincount(said.tokens[:, 0]) / 10_000).round(1)
    array([0.1, 0.5, 0.4])
    """
    check_instance("sample", "rng", rng, np.random.Generator)
    temperature = check_number("sample", "temperature", temperature, above=0)
    top_k = None if top_k is None else check_int("sample", "top_k", top_k)
    top_p = None if top_p is None else check_number("sample", "top_p", top_p, above=0, below=1)

    def noisy(log_probs: Array) -> Array:
        a = log_probs / temperature
        if top_k is not None and top_k < a.shape[-1]:
            low = np.argpartition(a, -top_k, axis=-1)[..., :-top_k]
            a = a.copy()
            np.put_along_axis(a, low, -np.inf, axis=-1)
        if top_p is not None:
            order = np.argsort(-a, axis=-1)
            p = np.exp(np.take_along_axis(a, order, axis=-1) - a.max(axis=-1, keepdims=True))
            before = np.cumsum(p, axis=-1) - p
            enough = before >= top_p * p.sum(axis=-1, keepdims=True)  # without this token
            a = np.where(np.take_along_axis(enough, np.argsort(order, axis=-1), axis=-1), -np.inf, a)
        return a + rng.gumbel(size=a.shape)

    return _run("sample", step, state, start, end, max_steps, noisy)


def _run(
    where: str,
    step: Step,
    state: Any,
    start: ArrayLike,
    end: int | None,
    max_steps: int,
    preference: Callable[[Array], Array],
) -> Decoded:
    """At every step, follow the token that `preference` ranks highest."""
    tokens, max_steps = _check(where, step, start, end), check_int(where, "max_steps", max_steps)
    log_prob, lengths = np.zeros(tokens.shape), np.zeros(tokens.shape, int)
    live = np.ones(tokens.shape, bool)
    chosen: list[Array] = []
    while live.any() and len(chosen) < max_steps:
        log_probs, state = _call(where, step, state, tokens[()])
        log_probs = _check_log_probs(where, log_probs, tokens.shape, live, end)
        tokens = np.asarray(preference(log_probs).argmax(axis=-1))
        gain = np.take_along_axis(log_probs, tokens[..., None], axis=-1)[..., 0]
        log_prob += np.where(live, gain, 0)
        lengths += live
        if end is not None:
            tokens = np.where(live, tokens, end)
            live = live & (tokens != end)
        chosen.append(tokens)
    table = np.stack(chosen, axis=-1) if chosen else np.zeros((*tokens.shape, 0), int)  # a batch of none
    return Decoded(table, log_prob, lengths)


def beam_search(
    step: Step,
    state: Any,
    start: int,
    *,
    width: int,
    end: int | None,
    max_steps: int,
    alpha: float = 0.0,
    offset: float = 0.0,
    pick: Callable[[Any, Array], Any] | None = None,
) -> list[Hypothesis]:
    """Search for the sequence with the highest score, keeping the `width` most likely beginnings at every step.

    ::

        score = Σ_t log p(token_t | tokens before) / ((offset + length) / (offset + 1))^alpha

    Every log-probability is below 0, so with alpha = 0 short sequences win; alpha = 1 is the mean per token.

    Parameters
    ----------
    step
        ``step(state, token) -> log_probs, state`` for one sequence, with log_probs (V,).
    state, start, end, max_steps
        As in `greedy`, for one sequence.
    width
        How many beginnings to keep. With alpha = 0, width 1 is `greedy`; as many as there are sequences is exhaustive
        search.
    alpha
        Length normalisation, in [0, 50).
    offset
        At least 0; 5 is the length penalty of GNMT. The larger, the less two short lengths differ.
    pick
        ``pick(state, rows) -> state``, the given rows of a batch's state, such as
        ``lambda state, rows: map_state(lambda a: a[rows], state)``. Then `step` is called once for all beginnings
        together, as in `greedy`, with `state` a batch of one: the same search, several times faster.

    Returns
    -------
    list of Hypothesis
        At most `width`, best score first.

    Notes
    -----
    Chapter 19. The search is that of Lowerre (1976); dividing by the length as in Cho et al. (2014), arXiv:1409.1259;
    the offset of 5 as in Wu et al. (2016), arXiv:1609.08144.

    Examples
    --------
    >>> from gru_lib import beam_search
    >>> P = np.array([[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.8, 0.1, 0.1]])
    >>> step = lambda state, token: (np.log(P[token]), state)  # 0 ends
    >>> best, *_ = beam_search(step, None, 0, width=2, end=0, max_steps=4)
    >>> best.tokens, round(float(np.exp(best.log_prob)), 6)  # 0.4 · 0.8
    ((2, 0), 0.32)
    """
    where = "beam_search"
    if _check(where, step, start, end).ndim:
        raise ValueError(f"{where}: start must be one token; got {np.shape(start)}. Search for one sequence at a time.")
    width, max_steps = check_int(where, "width", width), check_int(where, "max_steps", max_steps)
    check_function(where, "pick", pick, optional=True)
    alpha, offset = (
        check_number(where, "alpha", alpha, least=0, below=50),
        check_number(where, "offset", offset, least=0),
    )

    def norm(length: int) -> float:
        return ((offset + length) / (offset + 1)) ** alpha

    choose = pick
    if choose is None:
        step, state, choose = _of_a_batch(where, step, end), [state], lambda states, rows: [states[row] for row in rows]

    def expand(live: list[Beginning]) -> Array:
        """log_probs (N, V) after each beginning; the states after them are the new batch."""
        nonlocal state
        rows, last = [row for *_, row in live], [tokens[-1] if tokens else start for _, tokens, _ in live]
        log_probs, state = _call(where, step, choose(state, np.array(rows)), np.array(last))
        return _check_log_probs(where, log_probs, (len(live),), np.True_, end)

    done: list[Hypothesis] = []
    live: list[Beginning] = [(0.0, (), 0)]  # log P, tokens, and the row in which the state stands
    for length in range(1, max_steps + 1):
        found: list[Beginning] = []
        for row, gains in enumerate(expand(live).tolist()):
            log_p, tokens, _ = live[row]
            for k, gain in enumerate(gains):
                if gain > -np.inf:
                    found.append((log_p + gain, (*tokens, k), row))
        found.sort(key=lambda c: -c[0])
        live = []
        for rank, (log_p, tokens, row) in enumerate(found):
            ended = end is not None and tokens[-1] == end
            if (ended or length == max_steps) and rank < width:
                score = log_p / norm(length)
                done.append(Hypothesis(tokens, log_p, score, ended))
            elif not ended and len(live) < width:
                live.append((log_p, tokens, row))
        done = sorted(done, key=lambda d: -d.score)[:width]
        if not live:
            break
        # At best each further token costs nothing.
        best = live[0][0] / norm(max_steps)
        if len(done) == width and best <= done[-1].score:
            break
    return done


def exact_search(
    step: Step, state: Any, start: int, *, end: int | None, max_steps: int, least: float = -np.inf
) -> tuple[Hypothesis | None, int]:
    """Find the likeliest sequence, depth first, leaving out every beginning that is no likelier than the best so far.

    Nothing is lost by that: every further token only lowers the log-probability.

    Parameters
    ----------
    step, state, start, end, max_steps
        As in `greedy`, for one sequence.
    least
        A log-probability that some sequence is known to reach, such as that of a beam: only what is above it is looked
        for, which is faster.

    Returns
    -------
    Hypothesis or None
        The likeliest sequence, or None if there is none above `least`.
    int
        How many beginnings were extended, the empty one included: calls of `step`.

    Notes
    -----
    Chapter 19. Stahlberg & Byrne (2019), arXiv:1908.10090.

    Examples
    --------
    >>> from gru_lib.decode import exact_search
    >>> P = np.array([[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.8, 0.1, 0.1]])
    >>> step = lambda state, token: (np.log(P[token]), state)  # 0 ends
    >>> best, calls = exact_search(step, None, 0, end=0, max_steps=4)
    >>> best.tokens, round(float(np.exp(best.log_prob)), 6), calls
    ((2, 0), 0.32, 3)
    """
    where = "exact_search"
    if _check(where, step, start, end).ndim:
        raise ValueError(f"{where}: start must be one token; got {np.shape(start)}. Search for one sequence at a time.")
    max_steps = check_int(where, "max_steps", max_steps)
    if not (isinstance(least, float) and least == -np.inf):
        least = check_number(where, "least", least)
    best, calls = None, 0
    waiting: list[tuple[float, tuple[int, ...], Any]] = [(0.0, (), state)]
    while waiting:
        log_prob, tokens, before = waiting.pop()
        if log_prob <= least:
            continue
        log_probs, after = _call(where, step, before, tokens[-1] if tokens else start)
        log_probs, calls = _check_log_probs(where, log_probs, (), np.True_, end), calls + 1
        for k in np.argsort(log_probs, kind="stable").tolist():  # the likeliest is put last and so taken first
            total, grown = log_prob + float(log_probs[k]), (*tokens, k)
            if total <= least:
                continue
            ended = k == end
            if ended or len(grown) == max_steps:
                best, least = Hypothesis(grown, total, total, ended), total
            else:
                waiting.append((total, grown, after))
    return best, calls


def _check(where: str, step: Step, start: ArrayLike, end: int | None) -> Array:
    check_function(where, "step", step)
    tokens = plain(where, "start", start)
    if tokens.dtype.kind not in "iu" or tokens.ndim > 1:
        raise TypeError(f"{where}: start must be a token or tokens (N,), integers; got {start!r}.")
    if end is not None:
        check_int(where, "end", end, minimum=0)
    return tokens


def _call(where: str, step: Step, state: Any, tokens: Any) -> tuple[Array, Any]:
    found = step(state, tokens)
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(f"{where}: step must return log_probs and a state; got {type(found).__name__}.")
    return found


def _of_a_batch(where: str, step: Step, end: int | None) -> Step:
    """Make of a step for one sequence one for a batch, whose state is a list of theirs."""

    def batch_step(states: list[Any], tokens: Array) -> tuple[Array, list[Any]]:
        found = [_call(where, step, state, token) for state, token in zip(states, tokens.tolist(), strict=True)]
        rows = [_check_log_probs(where, log_probs, (), np.True_, end) for log_probs, _ in found]
        return np.array(rows), [state for _, state in found]

    return batch_step


def _check_log_probs(where: str, log_probs: Any, shape: tuple[int, ...], live: Any, end: int | None) -> Array:
    a = plain(where, "step", log_probs)
    if a.dtype.kind != "f":
        raise TypeError(f"{where}: step must return log_probs, real numbers; got dtype {a.dtype}.")
    if end is not None and a.ndim and end >= a.shape[-1]:
        raise ValueError(f"{where}: end must be a token, in 0..{a.shape[-1] - 1}; got {end}.")
    if not a.size and a.ndim and not a.shape[-1]:
        raise ValueError(f"{where}: step must return log_probs of at least one token; got shape {a.shape}.")
    if a.ndim != len(shape) + 1 or a.shape[:-1] != shape:
        wanted = f"({', '.join(map(str, shape))}{', ' if shape else ''}V)"
        raise ValueError(f"{where}: step must return log_probs of shape {wanted}; got {a.shape}.")
    best = a.max(axis=-1)[live]
    if np.isnan(best).any() or (best > 1e-6).any() or (best == -np.inf).any():
        raise ValueError(f"{where}: step must return log-probabilities, at most 0 and not all −∞; got {best.max():g}.")
    return a
