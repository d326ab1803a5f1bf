"""Three stories about memory as tasks: keep something, skip tokens, start afresh at a break. And a pronoun. Chapter 8.

Each function draws N token sequences of T steps, every token independently of the others, so T may be anything. The
answer at a step follows from the tokens up to that step and is a row of K bits; zero bits where it is not defined yet
(no class has come). `bracket`, `filler`, `brk` and `people` are shares of tokens of that kind, in [0, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import as_integers, check_choice, check_instance, check_int, check_number, check_sequence

__all__ = [
    "CLASSES", "TASKS", "Batch", "Task", "agreement", "batches", "checksum", "class_bits", "first_of_segment",
    "first_token", "last_outside", "parity_outside", "parity_since",
]  # fmt: skip

Array = NDArray[Any]

#: How many classes there are: the tokens 0 … 7, three bits each.
CLASSES = 8
_BITS = 3


class Batch(NamedTuple):
    """Inputs and targets, time first."""

    xs: Array  # (T, N, D): one-hot rows
    ys: Array  # (T, N, K): the bits to be said after each step
    asked: Array  # (T, N): True where the answer counts
    tokens: Array  # (T, N): integers below D


class Task(NamedTuple):
    """A task by name, and what a network needs to know about it."""

    draw: Callable[..., Batch]  # draw(rng, N, T)
    D: int  # number of tokens
    K: int  # bits of an answer
    symbols: str  # one character for each token


def class_bits(tokens: ArrayLike) -> Array:
    """Return the three bits of each class, the lowest first: integers (…) in 0..7 -> 0.0 and 1.0 (…, 3).

    Examples
    --------
    >>> from gru_book.tasks.memory import class_bits
    >>> class_bits([1, 6])
    array([[1., 0., 0.],
           [0., 1., 1.]])
    """
    return (as_integers("class_bits", "tokens", tokens, 0, 2 * CLASSES)[..., None] >> np.arange(_BITS) & 1).astype(
        np.float64
    )


def checksum(rng: np.random.Generator, N: int, T: int) -> Batch:
    """Keep the first token: it is one of 8 classes, then come fillers (tokens 8 … 15). Asked at the end.

    xs (T, N, 16), ys (T, N, 3). Chapter 9 too.

    Examples
    --------
    >>> from gru_book.tasks.memory import checksum, class_bits
    >>> batch = checksum(np.random.default_rng(0), N=2, T=6)
    >>> batch.xs.shape, batch.asked[:, 0].nonzero()[0]
    ((6, 2, 16), array([5]))
    >>> np.array_equal(batch.ys[-1], class_bits(batch.tokens[0]))
    True
    """
    N, T = _check("checksum", rng, N, T)
    tokens = rng.integers(CLASSES, 2 * CLASSES, (T, N))
    tokens[0] = rng.integers(0, CLASSES, N)
    return _batch(tokens, 2 * CLASSES, np.broadcast_to(class_bits(tokens[0]), (T, N, _BITS)), at_end=True)


def first_token(rng: np.random.Generator, N: int, T: int) -> Batch:
    """Keep the first token; those after it are of the same 8 classes, so only its position tells it apart.

    xs (T, N, 8), ys (T, N, 3); asked at the end.

    Examples
    --------
    >>> from gru_book.tasks.memory import class_bits, first_token
    >>> batch = first_token(np.random.default_rng(0), N=2, T=6)
    >>> np.array_equal(batch.ys[-1], class_bits(batch.tokens[0]))
    True
    """
    N, T = _check("first_token", rng, N, T)
    tokens = rng.integers(0, CLASSES, (T, N))
    return _batch(tokens, CLASSES, np.broadcast_to(class_bits(tokens[0]), (T, N, _BITS)), at_end=True)


def parity_outside(rng: np.random.Generator, N: int, T: int, *, bracket: float = 0.2) -> Batch:
    """Skip what stands in brackets: is the number of 1s outside brackets odd? Tokens 0, 1, < and >.

    The latest bracket decides: after < we are inside, after > (and at the start) outside. Brackets do not nest.
    xs (T, N, 4), ys (T, N, 1); asked at every step.

    Examples
    --------
    >>> from gru_book.tasks.memory import parity_outside
    >>> batch = parity_outside(np.random.default_rng(18), N=1, T=14)
    >>> "".join("01<>"[token] for token in batch.tokens[:, 0])
    '111<10011>0011'
    >>> "".join(str(int(bit)) for bit in batch.ys[:, 0, 0])
    '10111111111101'
    """
    N, T = _check("parity_outside", rng, N, T)
    bracket = check_number("parity_outside", "bracket", bracket, least=0, below=1)
    tokens = _mix(rng, (T, N), 2, bracket, 2)
    odd = np.cumsum((tokens == 1) & ~_inside(tokens, 2), axis=0) % 2
    return _batch(tokens, 4, odd[..., None])


def last_outside(rng: np.random.Generator, N: int, T: int, *, bracket: float = 0.1, filler: float = 0.5) -> Batch:
    """Skip what stands in brackets: which class came last outside? Tokens: 8 classes, < (8), > (9), a filler (10).

    xs (T, N, 11), ys (T, N, 3); asked at every step. `bracket` and `filler` together are below 1.

    Examples
    --------
    >>> from gru_book.tasks.memory import last_outside
    >>> batch = last_outside(np.random.default_rng(16), N=1, T=14)
    >>> "".join("01234567<>."[token] for token in batch.tokens[:, 0])
    '72<43>.1>316..'
    >>> "".join(str(int(bits @ [1, 2, 4])) for bits in batch.ys[:, 0])
    '72222221131666'
    """
    where = "last_outside"
    N, T = _check(where, rng, N, T)
    bracket = check_number(where, "bracket", bracket, least=0, below=1)
    filler = check_number(where, "filler", filler, least=0, below=1 - bracket)
    tokens = _mix(rng, (T, N), CLASSES, bracket, 2)
    tokens[rng.random((T, N)) < filler / (1 - bracket) * (tokens < CLASSES)] = CLASSES + 2
    last = _latest((tokens < CLASSES) & ~_inside(tokens, CLASSES))
    return _batch(tokens, CLASSES + 3, _bits_at(tokens, last))


def parity_since(rng: np.random.Generator, N: int, T: int, *, brk: float = 0.1) -> Batch:
    """Start afresh at a break: is the number of 1s since the latest ``|`` odd? Tokens 0, 1 and ``|`` (2).

    xs (T, N, 3), ys (T, N, 1); asked at every step.

    Examples
    --------
    >>> from gru_book.tasks.memory import parity_since
    >>> batch = parity_since(np.random.default_rng(0), N=1, T=12, brk=0.3)
    >>> "".join("01|"[token] for token in batch.tokens[:, 0])
    '0|||1110010|'
    >>> "".join(str(int(bit)) for bit in batch.ys[:, 0, 0])
    '000010111000'
    """
    N, T = _check("parity_since", rng, N, T)
    tokens = _mix(rng, (T, N), 2, check_number("parity_since", "brk", brk, least=0, below=1), 1)
    ones = np.concatenate([np.zeros((1, N), int), np.cumsum(tokens == 1, axis=0)])  # ones[t]: before step t
    since = ones[1:] - np.take_along_axis(ones, _latest(tokens == 2) + 1, axis=0)
    return _batch(tokens, 3, (since % 2)[..., None])


def first_of_segment(rng: np.random.Generator, N: int, T: int, *, brk: float = 0.1) -> Batch:
    """Start afresh at a break: which class came first since the latest ``|``? Tokens: 8 classes and ``|`` (8).

    xs (T, N, 9), ys (T, N, 3); asked at every step.

    Examples
    --------
    >>> from gru_book.tasks.memory import first_of_segment
    >>> rng = np.random.default_rng(0)
    >>> batch = first_of_segment(rng, N=1, T=12, brk=0.3)
    >>> "".join("01234567|"[token] for token in batch.tokens[:, 0])
    '3|||6561060|'
    >>> "".join(str(int(bits @ [1, 2, 4])) for bits in batch.ys[:, 0])
    '300066666660'
    """
    N, T = _check("first_of_segment", rng, N, T)
    brk = check_number("first_of_segment", "brk", brk, least=0, below=1)
    tokens = _mix(rng, (T, N), CLASSES, brk, 1)
    first = _latest(tokens == CLASSES) + 1  # the step after the latest break
    return _batch(tokens, CLASSES + 1, _bits_at(tokens, np.where(first > np.arange(T)[:, None], -1, first)))


def agreement(
    rng: np.random.Generator, N: int, T: int, *, distance: int | tuple[int, int], people: float = 0.1
) -> Batch:
    """Who is "he"? The last token is a pronoun (16); it means the latest of the people (0 … 7) before it.

    After that person come `distance` words about other things (8 … 15), then the pronoun. Earlier tokens mix words and
    other people, so a stored person must also be replaced. `distance` is a number, or (lowest, highest) to draw from
    for each sequence; at most T − 2. xs (T, N, 17), ys (T, N, 3); asked at the end.

    Examples
    --------
    >>> from gru_book.tasks.memory import agreement, class_bits
    >>> batch = agreement(np.random.default_rng(0), N=2, T=9, distance=3)
    >>> np.array_equal(batch.ys[-1], class_bits(batch.tokens[-1 - 3 - 1]))
    True
    """
    where = "agreement"
    N, T = _check(where, rng, N, T, shortest=2)
    lowest, highest = _range(where, "distance", distance)
    lowest = check_int(where, "distance", lowest, minimum=0)
    highest = check_int(where, "distance", highest, minimum=lowest)
    if highest > T - 2:
        raise ValueError(f"{where}: distance must be at most T - 2 = {T - 2}; got {highest}.")
    people = check_number(where, "people", people, least=0, below=1)
    tokens = rng.integers(0, CLASSES, (T, N)) + CLASSES * (rng.random((T, N)) >= people)
    at = T - 2 - rng.integers(lowest, highest + 1, N)
    after = np.arange(T)[:, None] > at
    tokens[after] = tokens[after] % CLASSES + CLASSES
    tokens[at, np.arange(N)] %= CLASSES
    tokens[-1] = 2 * CLASSES
    return _batch(tokens, 2 * CLASSES + 1, _bits_at(tokens, _latest(tokens < CLASSES)), at_end=True)


#: The tasks that `batches` can draw, by name; `gru_book.models.hand_set` has weights for each of them.
TASKS: dict[str, Task] = {
    "checksum": Task(checksum, 16, 3, "01234567abcdefgh"),
    "first_token": Task(first_token, 8, 3, "01234567"),
    "parity_outside": Task(parity_outside, 4, 1, "01<>"),
    "last_outside": Task(last_outside, 11, 3, "01234567<>."),
    "parity_since": Task(parity_since, 3, 1, "01|"),
    "first_of_segment": Task(first_of_segment, 9, 3, "01234567|"),
}


def batches(rng: np.random.Generator, task: str, N: int, T: int | tuple[int, int]) -> Iterator[Batch]:
    """Yield batches of N sequences of a task of `TASKS` forever.

    T is a number of steps, or (lowest, highest) to draw from for each batch. Errors come with the first batch.

    Examples
    --------
    >>> from gru_book.tasks.memory import batches
    >>> rng = np.random.default_rng(0)
    >>> batch = next(batches(rng, "checksum", N=4, T=(5, 9)))
    >>> 5 <= len(batch.xs) <= 9, batch.ys.shape[1:]
    (True, (4, 3))
    """
    check_choice("batches", "task", task, tuple(TASKS))
    check_instance("batches", "rng", rng, np.random.Generator)
    N = check_int("batches", "N", N)
    lowest, highest = _range("batches", "T", T)
    lowest = check_int("batches", "T", lowest)
    highest = check_int("batches", "T", highest, minimum=lowest)
    while True:
        yield TASKS[task].draw(rng, N, int(rng.integers(lowest, highest + 1)) if highest > lowest else lowest)


def _range(where: str, name: str, value: Any) -> tuple[Any, Any]:
    """A number, or a pair (lowest, highest), as a pair."""
    if not isinstance(value, tuple | list):
        return value, value
    check_sequence(where, name, value, 2)
    return value[0], value[1]


def _check(where: str, rng: Any, N: Any, T: Any, *, shortest: int = 1) -> tuple[int, int]:
    check_instance(where, "rng", rng, np.random.Generator)
    return check_int(where, "N", N), check_int(where, "T", T, minimum=shortest)


def _mix(rng: np.random.Generator, shape: tuple[int, int], plain: int, share: float, special: int) -> Array:
    """Tokens below `plain`, and a share of the `special` ones that follow them."""
    return np.where(
        rng.random(shape) < share, rng.integers(plain, plain + special, shape), rng.integers(0, plain, shape)
    )


def _latest(true: Array) -> Array:
    """At each step, the latest step up to and including it where `true` holds; −1 if there is none."""
    return np.maximum.accumulate(np.where(true, np.arange(len(true))[:, None], -1), axis=0)


def _inside(tokens: Array, opening: int) -> Array:
    """Whether the latest bracket opens; the closing one is the token after `opening`."""
    return _latest(tokens == opening) > _latest(tokens == opening + 1)


def _bits_at(tokens: Array, step: Array) -> Array:
    """The bits of the class at another step of the same sequence; zeros where that step is −1."""
    classes = np.take_along_axis(tokens, np.maximum(step, 0), axis=0)
    return np.where((step >= 0)[..., None], class_bits(classes), 0.0)


def _batch(tokens: Array, D: int, ys: Array, *, at_end: bool = False) -> Batch:
    asked = np.ones(tokens.shape, bool)
    asked[:-1] &= not at_end
    return Batch(np.eye(D)[tokens], np.array(ys, np.float64), asked, tokens)
