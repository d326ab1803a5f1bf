"""Exercises on sequences: language models, chapter 16, a loss, 17, attention, 18, and search, 19."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gru_book.check.engine import Array, Exercise, Mistake, exercise
from gru_book.check.oracle import each, matmul

__all__ = [
    "att_backward", "beam_safe", "lm_temperature", "s2s_softmax",
]  # fmt: skip


def _softmax(a: Array) -> Array:
    """The softmax of each row, one number at a time."""
    e = each(math.exp, a)
    return np.array([[v / sum(row) for v in row] for row in e])


@exercise
def lm_temperature() -> Exercise:
    """Check ``f(logits, targets, temperature) -> bits``: logits (N, V), bits for each character, chapter 16.

    Given logits (N, V), targets (N,) and a number; return a number.
    """
    rng = np.random.default_rng(1948)
    a, y, t = rng.normal(size=(6, 4)), np.array([3, 0, 1, 1, 2, 0]), 0.7
    rows = range(len(y))

    def bits(scaled: Array, mean: Callable[[Array], Any] = np.mean) -> Any:
        return mean(np.array([-math.log2(p) for p in _softmax(scaled)[rows, y]]))

    right = bits(a / t)
    plain = _softmax(a)[rows, y]

    def mistakes() -> Iterator[Mistake]:
        for message, value in (
            ("the logits are multiplied by the temperature; divide them by it.", bits(a * t)),
            ("the temperature is not used.", bits(a)),
            ("those are nats; divide by ln 2.", right * math.log(2)),
            ("those are bits divided by ln 2 once too often.", right / math.log(2)),
            ("nats become bits by dividing by ln 2, not by multiplying.", right * math.log(2) ** 2),
            ("that is the sum; the mean over the characters is wanted.", bits(a / t, np.sum)),
            ("the sign is turned: minus the logarithm.", -right),
            ("that is the perplexity, 2 to the power of the bits.", 2**right),
            ("the probabilities are divided by the temperature; the logits are to be divided.",
             float(np.mean(-np.log2(plain / t)))),
            ("the loss is divided by t: divide the logits, so that the probabilities sum to 1 again.", bits(a) / t),
            ("1/N is used twice: that is the mean divided by N.", right / len(y)),
            ("the softmax runs over the characters of the text, axis 0; it must run over the vocabulary, axis 1.",
             float(np.mean(-np.log2(_softmax(a.T / t).T[rows, y])))),
            ("that is the entropy of the predictions; take the probability of the target.",
             float(np.mean([-sum(p * math.log2(p) for p in row) for row in _softmax(a / t)]))),
            ("that is minus the logarithm of the mean probability; take the mean of the logarithms.",
             -math.log2(_softmax(a / t)[rows, y].mean())),
        ):  # fmt: skip
            yield message, {"bits": np.array(value)}

    far = {"logits": np.array([[1000.0, 0.0], [0.0, 0.0]]), "targets": np.array([1, 0]), "temperature": 1.0}
    message = "right for small logits, but at 1000 exp overflows, or a probability is rounded to 0: take the logarithm "
    message += "before dividing, as log_softmax does."
    also = [(far, {"bits": np.array(500 / math.log(2) + 0.5)}, message)]
    return Exercise({"logits": a, "targets": y, "temperature": t}, {"bits": np.array(right)}, mistakes, also=also)


@exercise
def s2s_softmax() -> Exercise:
    """Check ``f(logits, targets, mask) -> loss, dlogits``: logits (T, N, V), mean over the real tokens, chapter 17.

    Given logits (T, N, V), targets (T, N) and mask (T, N), 1 at a real token and 0 in padding; return the loss, a
    number, and dlogits (T, N, V).
    """
    T, N, V = 4, 3, 5
    rng = np.random.default_rng(2014)
    a, y = rng.normal(size=(T, N, V)), rng.integers(0, V, (T, N))
    mask = (np.arange(T)[:, None] < np.array([4, 2, 1])).astype(float)
    y = np.where(mask > 0, y, 0)
    M = int(mask.sum())
    one_hot = np.array([[[float(v == k) for k in range(V)] for v in row] for row in y])
    s = np.array([_softmax(step) for step in a])
    costs = np.array([[-math.log(s[t, n, y[t, n]]) for n in range(N)] for t in range(T)])
    slopes, m = s - one_hot, mask[:, :, None]
    loss, grad = (mask * costs).sum() / M, m * slopes / M

    def mistakes() -> Iterator[Mistake]:
        over_time = np.moveaxis(np.array([_softmax(step.T).T for step in np.moveaxis(a, 1, 0)]), 0, 1)
        cost = -np.log(np.take_along_axis(over_time, y[:, :, None], axis=2))[:, :, 0]
        for message, its_loss, its_grad in (
            ("both are divided by T N; M is the number of real tokens.", loss * M / (T * N), grad * M / (T * N)),
            ("the loss is divided by T N; M is the number of real tokens.", loss * M / (T * N), grad),
            ("dlogits is divided by T N; M is the number of real tokens.", loss, grad * M / (T * N)),
            ("both are divided by N; the mean is over the M real tokens.", loss * M / N, grad * M / N),
            ("both are sums; the mean over the real tokens is wanted.", loss * M, grad * M),
            ("dlogits is not divided by M, though the loss is a mean.", loss, grad * M),
            ("the mask is not used: padding is counted.", costs.mean(), slopes / (T * N)),
            ("padding is in the sum, though M counts real tokens only.", costs.sum() / M, slopes / M),
            ("dlogits must be zero in padding: multiply by the mask.", loss, slopes / M),
            ("dlogits lacks the one-hot: softmax(a) − onehot(v).", loss, m * s / M),
            ("dlogits has the wrong sign: softmax(a) − onehot(v).", loss, -grad),
            ("the loss has the wrong sign.", -loss, grad),
            ("the loss is in bits; nats are wanted (the natural logarithm).", loss / math.log(2), grad),
            ("the softmax runs over time; it must run over the vocabulary, the last axis.", (mask * cost).sum() / M,
             m * (over_time - one_hot) / M),
        ):  # fmt: skip
            yield message, {"loss": np.array(its_loss), "dlogits": its_grad}

    (likely, other) = _softmax(np.array([[10.0, 0.0]]))[0]
    one = {"targets": np.array([[1]]), "mask": np.ones((1, 1))}
    large, far = ({"logits": np.array([[[1000.0, low]]])} | one for low in (990.0, 0.0))
    overflow = "right for small logits, but exp(1000) overflows: subtract the largest logit first."
    zero = "at the logits 1000 and 0 a probability is rounded to 0: take the logarithm before dividing."
    also = [
        (large, {"loss": np.array(-math.log(other)), "dlogits": np.array([[[likely, other - 1]]])}, overflow),
        (far, {"loss": np.array(1000.0), "dlogits": np.array([[[1.0, -1.0]]])}, zero),
    ]
    args = {"logits": a, "targets": y, "mask": mask}
    return Exercise(args, {"loss": np.array(loss), "dlogits": grad}, mistakes, also=also)


@exercise
def att_backward() -> Exercise:
    """Check ``f(dc, alpha, s, h) -> ds, dh``: attention backward for one sequence, chapter 18.

    Given dc (T, d), alpha (T, S), the weights, s (T, d) and h (S, d); return ds (T, d) and dh (S, d).
    """
    rng = np.random.default_rng(2015)
    dc, s, h = (rng.normal(size=(steps, 2)) for steps in (4, 4, 3))
    alpha = _softmax(matmul(s, h.T))
    dalpha = matmul(dc, h.T)
    mean = np.array([[sum(a * d for a, d in zip(*rows, strict=True))] for rows in zip(alpha, dalpha, strict=True)])
    de = alpha * (dalpha - mean)
    by_mean, by_score = matmul(alpha.T, dc), matmul(de.T, s)

    def mistakes() -> Iterator[Mistake]:
        for message, its_de in (
            ("the softmax is left out: de is dα there.", dalpha),
            ("de lacks α in front of the bracket.", dalpha - mean),
            ("de lacks the mean: subtract Σ α dα from dα.", alpha * dalpha),
            ("the mean in de is not weighted: it is Σ α dα, not the mean of dα.",
             alpha * (dalpha - dalpha.mean(axis=1, keepdims=True))),
            ("the mean in de has the wrong sign: it is subtracted.", alpha * (dalpha + mean)),
            ("the sum in de runs over t; it must run over the places j, axis 1.",
             alpha * (dalpha - (alpha * dalpha).sum(axis=0))),
            ("de is α (1 − α) dα, the slope of a sigmoid: in a softmax every weight depends on every score.",
             alpha * (1 - alpha) * dalpha),
        ):  # fmt: skip
            yield message, {"ds": matmul(its_de, h), "dh": by_mean + matmul(its_de.T, s)}

    terms = {"dh": {"through the mean, Σ α dc": by_mean, "through the score, Σ de s": by_score}}
    args = {"dc": dc, "alpha": alpha, "s": s, "h": h}
    return Exercise(args, {"ds": matmul(de, h), "dh": by_mean + by_score}, mistakes, terms=terms)


# Trees for `beam_safe`: the probabilities of the next token after each beginning. In the first a beam of 2 finds more
# than greedy search, in the second less.
AHEAD: dict[tuple[int, ...], tuple[float, ...]] = {(): (0.6, 0.4, 0), (0,): (0.55, 0.45, 0), (1,): (0.9, 0.1, 0)}
BEHIND: dict[tuple[int, ...], tuple[float, ...]] = {
    (): (0.36, 0.33, 0.31),
    (0,): (0.34, 0.33, 0.33),
    (1,): (0.5, 0.5, 0),
    (0, 0): (1, 0, 0),
}


def _tree(table: Mapping[tuple[int, ...], tuple[float, ...]]) -> Callable[[Any, Any], tuple[Array, tuple[int, ...]]]:
    def step(past: Any, token: Any) -> tuple[Array, tuple[int, ...]]:
        past = () if past is None else (*past, int(token))
        return np.log(np.maximum(table.get(past, (1 / 3,) * 3), 1e-12)), past

    return step


@exercise
def beam_safe() -> Exercise:
    """Check ``f(step, state, start, width, max_steps) -> log_prob``, never below greedy search's, chapter 19.

    Given step(state, token), which returns log-probabilities and the next state, the state and the token to start
    with, and two numbers; return log P, a number.
    """
    args = {"step": _tree(AHEAD), "state": None, "start": 0, "width": 2, "max_steps": 2}
    greedy, best = math.log(0.6 * 0.55), math.log(0.4 * 0.9)

    def mistakes() -> Iterator[Mistake]:
        for message, value in (
            ("that is greedy search's, though the beam found a likelier one: take the larger.", greedy),
            ("that is the probability; its logarithm is wanted.", math.exp(best)),
            ("that is divided by the length; here the sum of the logarithms is compared.", best / 2),
            ("the sign is turned: log P is below 0.", -best),
            ("that is greedy search's and the beam's together; take the larger.", greedy + best),
            ("that is the mean of the two; take the larger.", (greedy + best) / 2),
            ("those are bits; the natural logarithm is wanted.", best / math.log(2)),
            ("that is the last step alone; add the logarithms of all steps.", math.log(0.9)),
            ("that is the first step alone; add the logarithms of all steps.", math.log(0.4)),
        ):
            yield message, {"log_prob": np.array(value)}

    also = []
    for width, steps, value in ((1, 1, math.log(0.6)), (1, 2, greedy), (3, 1, math.log(0.6)), (3, 2, best)):
        message = f"right for width 2 and two steps, but not for width {width} and {steps}: use the arguments."
        also.append((args | {"width": width, "max_steps": steps}, {"log_prob": np.array(value)}, message))
    message = "where the beam cuts greedy search's path the result is below greedy search: take the larger."
    behind = args | {"step": _tree(BEHIND), "max_steps": 3}
    also.append((behind, {"log_prob": np.array(math.log(0.36 * 0.34))}, message))
    return Exercise(args, {"log_prob": np.array(best)}, mistakes, also=also)
