"""Exercises that ask for the weights of a small network: its answers are compared. Chapters 8, 12 and 13."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gru_book.cells.stack_rnn import StackRNNParams, stack_rnn_forward
from gru_book.check.engine import (
    Array,
    Exercise,
    Fault,
    Function,
    Mistake,
    call,
    described,
    exercise,
)
from gru_lib.cells.gru import GRUParams

__all__ = ["lstm_odometer", "mem_latch", "other_by_hand"]

STEPS, SEQUENCES = 400, 6


def _run(raw: Any, D: int, H: int, tokens: Array, start: float = 0.0) -> Array:
    """The states (T, N, H) of a GRU on one-hot tokens, (T, N), from a state of `start` in all units."""
    if not isinstance(raw, GRUParams):
        raise Fault(f"return a GRU's parameters, made by gru_init; got {described(raw)}.")
    if (raw.D, raw.H) != (D, H):
        raise Fault(f"return a GRU with D = {D} and H = {H}; this one has D = {raw.D} and H = {raw.H}.")
    if raw.convention != "keep" or raw.reset_after:
        raise Fault("return a GRU of chapter 4: z is kept, r acts before the product.")

    def gate(a: Array) -> Array:
        with np.errstate(over="ignore"):  # at -1000 it is 0
            return 1 / (1 + np.exp(-a))

    h, hs = np.full((tokens.shape[1], H), start), []
    for i in tokens:
        r = gate(raw.W_xr[i] + h @ raw.W_hr + raw.b_r)
        z = gate(raw.W_xz[i] + h @ raw.W_hz + raw.b_z)
        n = np.tanh(raw.W_xn[i] + (r * h) @ raw.W_hn + raw.b_n)
        h = z * h + (1 - z) * n
        hs.append(h)
    if not np.isfinite(hs).all():
        raise Fault("the state becomes NaN or infinite: are all weights finite numbers?")
    return np.array(hs)


def _answering(D: int, tokens: Array, right: Array, threshold: float) -> Callable[[Any], tuple[Array]]:
    """Turn the parameters into answers. What is right at first and wrong later leaks, which no list can hold."""

    def answers(raw: Any) -> tuple[Array]:
        said = _run(raw, D, 1, tokens)[..., 0] > threshold
        wrong = np.flatnonzero((said != right).any(axis=1))
        if len(wrong) and wrong[0] >= 10:
            raise Fault(
                f"right for {wrong[0]} steps, then wrong: something leaks. A gate that keeps must be nearer to 1."
            )
        return (said.astype(np.float32),)

    return answers


def _digits(counts: Array, H: int) -> Array:
    """The last H binary digits of the counts, the lowest first."""
    return (counts[..., None] >> np.arange(H) & 1).astype(np.float32)


@exercise
def lstm_odometer() -> Exercise:
    """Check ``f(H) -> p``: a GRU with D = 2 whose H units are the binary digits of a count of the a, chapter 12.

    Return the parameters of a GRU with D = 2 and H units, made by gru_init; token 0 is a, token 1 is b. It starts from
    a state of -1 in all units. A digit is 1 where the state is above 0; the lowest digit comes first.
    """
    H, more, longest = 4, (1, 2, 9), 10_000
    tokens = np.random.default_rng(2000).integers(0, 2, (60, 4))
    many = np.random.default_rng(2001).integers(0, 2, (longest, 4))

    def said(raw: Any, H: int, tokens: Array) -> Array:
        return (_run(raw, 2, H, tokens, -1.0) > 0).astype(np.float32)

    def then(f: Function) -> None:
        for units in (H, *more):
            wrong = said(call(f, units), units, many) != _digits(np.cumsum(many == 0, axis=0), units)
            if wrong.any():
                first = int(wrong.any(axis=(1, 2)).argmax()) + 1
                raise Fault(f"right with {H} units for {len(tokens)} tokens, wrong with {units} units after {first:,}.")

    def mistakes() -> Iterator[Mistake]:
        counts, every = np.cumsum(tokens == 0, axis=0), np.cumsum(1 + 0 * tokens, axis=0)
        for message, digits in (
            ("no digit ever turns over: the candidate must have the sign that h has not.", _digits(0 * counts, H)),
            ("b is counted too: at a token b each digit must stay.", _digits(every, H)),
            ("that counts the b: the tokens have changed places.", _digits(every - counts, H)),
            ("the highest digit comes first; the lowest is to be unit 0.", _digits(counts, H)[..., ::-1]),
            ("every digit turns over at each a; it may only where all digits below it are 1.",
             np.repeat(_digits(counts, 1), H, axis=2)),
            ("it counts down: a digit turns over where all below it are 0.", _digits(-counts, H)),
        ):  # fmt: skip
            yield message, {"digits": digits}

    right = {"digits": _digits(np.cumsum(tokens == 0, axis=0), H)}

    def flatten(raw: Any) -> tuple[Array]:
        found = said(raw, H, tokens)
        if (found != right["digits"]).any():
            other = raw.copy()
            other.W_hz[:] = raw.W_hz.T
            if (said(other, H, tokens) == right["digits"]).all():
                raise Fault("right if W_hz is transposed: its row j is what digit j adds to the gates of the others.")
        return (found,)

    shown = f"counts {longest:,} tokens in binary, with {min(more)} to {max(more)} units"
    return Exercise({"H": H}, right, mistakes, flatten=flatten, then=then, shown=shown)


@exercise
def mem_latch() -> Exercise:
    """Check ``f() -> p``: a GRU with D = 2, H = 1 whose h is above ½ as soon as a 1 has come, chapter 8.

    Return the parameters of a GRU with D = 2 and H = 1, made by gru_init.
    """
    rng = np.random.default_rng(8)
    tokens = (rng.random((STEPS, SEQUENCES)) < [0, 0.003, 0.01, 0.2, 0.5, 0.9]).astype(int)
    tokens[:9] = 0
    tokens[9, 1:3] = tokens[2:4, 3] = tokens[0, 5] = 1
    has_come = np.maximum.accumulate(tokens, axis=0)

    def mistakes() -> Iterator[Mistake]:
        for message, said in (
            ("it never says yes: at a 1, z must be near 0 and the candidate near 1.", 0 * tokens),
            ("it says yes from the first step: at a 0 nothing may be written.", 1 + 0 * tokens),
            ("it says yes at a 1 and forgets it at the next 0, where z must be near 1.", tokens),
            ("yes and no have changed places: h near 1 means that a 1 has come.", 1 - has_come),
            ("0 and 1 have changed places: row 1 of W_x is what the token 1 adds.",
             np.maximum.accumulate(1 - tokens, axis=0)),
            ("a second 1 takes the yes back: a 1 is to write 1, whatever was there.", np.cumsum(tokens, axis=0) % 2),
        ):  # fmt: skip
            yield message, {"answers": said.astype(np.float32)}

    flatten = _answering(2, tokens, has_come == 1, 0.5)
    right = {"answers": has_come.astype(np.float32)}
    shown = f"says at each of {STEPS} steps whether a 1 has come"
    return Exercise({}, right, mistakes, flatten=flatten, shown=shown)


@exercise
def other_by_hand() -> Exercise:
    """Check ``f() -> p``: a GRU with a stack that says strings of the letters 0 to 3 backwards, chapter 13.

    Return parameters made by stack_rnn_init with D = 5, H = 4 and M = 2.

    Token 4 is the blank. At a blank the letter is told by the signs of the two numbers that are read: bit 0 is 1 where
    the first is above 0, bit 1 where the second is.
    """
    rng = np.random.default_rng(2015)
    strings = {length: rng.integers(0, 4, (length, 8)) for length in (5, 1, 2, 17, 200)}
    strings[5][:, :4] = np.array([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [3, 0, 1, 2, 1], [2, 3, 0, 1, 3]]).T
    right = strings[5][::-1]

    def say(p: Any, letters: Array) -> Array:
        tokens = np.concatenate([letters, np.full_like(letters, 4)])
        read = stack_rnn_forward(np.eye(5)[tokens], None, p)[0][len(letters) :, :, 4:]
        bits = read.round(9) > 0  # what an emptied stack reads is nearly 0, of either sign
        return bits[..., 0] + 2 * bits[..., 1]

    def said(raw: Any) -> tuple[Array]:
        if not isinstance(raw, StackRNNParams):
            raise Fault(f"return the parameters of a GRU with a stack, made by stack_rnn_init; got {described(raw)}.")
        if (raw.D, raw.H, raw.M) != (5, 4, 2):
            raise Fault(f"D, H and M must be 5, 4 and 2; they are {raw.D}, {raw.H} and {raw.M}.")
        if not np.isfinite(raw.flat).all():
            raise Fault("some weights are NaN or infinite.")
        found = {length: say(raw, letters) for length, letters in strings.items()}
        wrong = [length for length, letters in strings.items() if (found[length] != letters[::-1]).any()]
        if wrong and 5 not in wrong:
            raise Fault(
                f"right for strings of 5 letters, wrong for {wrong[0]}: something leaks. A pop must take off just what "
                "a push laid down."
            )
        return (found[5].astype(np.float32),)

    def mistakes() -> Iterator[Mistake]:
        for message, wrong in (
            ("the last letter is popped before it is said: do not pop at the first blank.",
             np.vstack([right[1:], right[:1] * 0])),
            ("that says the last letter all the time: nothing is popped.", np.vstack([right[:1]] * len(right))),
            ("the two bits of a letter have changed places.", np.array([0, 2, 1, 3])[right]),
            ("the first bit has the wrong sign.", right ^ 1),
            ("the second bit has the wrong sign.", right ^ 2),
            ("both bits have the wrong sign.", 3 - right),
            ("every answer is letter 0: is each letter pushed, and nothing at a blank?", 0 * right),
            ("every answer is letter 3.", 0 * right + 3),
        ):  # fmt: skip
            yield message, {"said": wrong.astype(np.float32)}

    shown = f"says strings of 1 to {max(strings)} letters backwards, from what it reads on its stack"
    return Exercise({}, {"said": right.astype(np.float32)}, mistakes, flatten=said, shown=shown)
