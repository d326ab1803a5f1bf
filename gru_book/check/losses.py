"""Exercises on σ and on losses: chapters 3 and 7."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from gru_book.check.engine import Array, Exercise, Fault, Function, Mistake, Outputs, call, exercise, same
from gru_book.check.oracle import Scalar, each, sig

__all__ = ["bce", "sigmoid"]


@exercise
def sigmoid() -> Exercise:
    """Check ``f(a) -> σ(a)`` for arrays, large ``|a|`` included.

    Given an array a; return σ of each of its numbers.
    """
    a = np.array([[-3.0, -1.0, 0.0], [0.5, 2.0, 4.0]])

    def s(function: Scalar) -> Outputs:
        return {"s": each(function, a)}

    def mistakes() -> Iterator[Mistake]:
        yield "the sign in the exponent is turned: σ(a) = 1 / (1 + exp(−a)).", s(lambda v: sig(-v))
        yield "that is tanh; σ lies in (0, 1).", s(math.tanh)
        yield "that is the slope σ(a) σ(−a); σ itself is wanted.", s(lambda v: sig(v) * sig(-v))
        yield "that is exp(a); divide by 1 + exp(a).", s(math.exp)
        yield "that is 1 + exp(−a); one divided by it is wanted.", s(lambda v: 1 + math.exp(-v))

    def ends(f: Function) -> None:
        far, limits = np.array([-1000.0, 1000.0]), np.array([0.0, 1.0])
        try:
            found = call(f, far)
            fault = f"they are {found}"
        except Fault as error:
            found, fault = None, str(error)
        if not same(found, limits) or np.abs(found - limits).max() > 1e-16:
            raise Fault(f"σ(−1000) and σ(1000) must be 0 and 1; {fault}.")
        seen = []

        @functools.wraps(f)
        def recorded(a: Array) -> Any:
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                s = f(a)
            seen.extend(given)
            return s

        call(recorded, far)
        if seen:
            raise Fault(f"the numbers are right, but a = −1000 or 1000 gives a warning: {seen[0].message}.")

    return Exercise({"a": a}, s(sig), mistakes, then=ends)


@exercise
def bce() -> Exercise:
    """Check ``f(logits, targets) -> loss, dlogits``: mean binary cross-entropy with logits, and its gradient.

    Given logits and targets, 0 or 1, in arrays of one shape; return the loss, a number, and dlogits of that shape.
    """
    rng = np.random.default_rng(0)
    a, y = rng.normal(size=(4, 3)), (rng.random((4, 3)) < 0.5).astype(float)
    K = a.size
    sum_ = each(lambda v, t: -math.log(sig(v) if t else sig(-v)), a, y).sum()
    slopes = each(lambda v, t: sig(v) - t, a, y)
    loss, grad = sum_ / K, slopes / K

    def mistakes() -> Iterator[Mistake]:
        turned = each(lambda v, t: -math.log(sig(-v) if t else sig(v)), a, y).mean()
        ones = each(lambda v, t: -math.log(sig(v)) if t else 0.0, a, y).mean()
        in_s = each(lambda v: sig(v) * sig(-v), a)
        for message, its_loss, its_grad in (
            ("loss and gradient are sums; the mean is wanted: divide by the number of elements.", sum_, slopes),
            ("dlogits is not divided by the number of elements; the loss is a mean.", loss, slopes),
            ("the loss is a sum, though dlogits is right for the mean.", sum_, grad),
            ("the loss has the wrong sign: it is minus the log-likelihood.", -loss, grad),
            ("dlogits has the wrong sign: it is σ(s) − y, with the logit s and its target y.", loss, -grad),
            ("targets 0 and 1 have changed places.", turned, each(lambda v, t: sig(v) - 1 + t, a, y) / K),
            ("the loss lacks the half for targets of 0: (1 − y) log(1 − σ(s)).", ones, grad),
            ("the loss is in bits; nats are wanted (the natural logarithm).", loss / math.log(2), grad),
            ("dlogits has σ's slope too many: with logits it cancels, and σ(s) − y is left.", loss, grad * in_s),
            ("dlogits is the gradient in σ(s); the one in the logit s is wanted.", loss, grad / in_s),
        ):
            yield message, {"loss": its_loss, "dlogits": its_grad}

    far = {"logits": np.array([[1000.0, -1000.0]]), "targets": np.zeros((1, 2))}
    message = "right for small logits, but for the logit s = 1000 and the target d = 0 the loss must be 1000: work "
    message += "from the logit, log(1 + exp(s)) = np.logaddexp(0, s), not from the output y."
    also = [(far, {"loss": np.array(500.0), "dlogits": np.array([[0.5, 0.0]])}, message)]
    return Exercise({"logits": a, "targets": y}, {"loss": loss, "dlogits": grad}, mistakes, also=also)
