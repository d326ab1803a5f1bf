"""Optimisers, gradient clipping and learning-rate schedules. All work on the flat buffer, so each is a few lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gru_lib.checks import check_instance, check_int, check_number, check_sequence, of_shape
from gru_lib.params import Params, check_grads

__all__ = [
    "SGD", "Adam", "clip_by_global_norm", "cosine_decay", "linear_decay",
]  # fmt: skip


class _Optimizer:
    """What the optimisers share: saving and restoring their state."""

    p: Params
    lr: float
    _state: tuple[str, ...]  # the attributes that a later step depends on, besides `p`

    def state_dict(self) -> dict[str, Any]:
        """Return everything a later step depends on, besides `p`: arrays and numbers."""
        return {name: getattr(self, name) for name in self._state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from the `state_dict` of an optimiser of this kind with as many parameters.

        Everything is checked before anything changes.
        """
        where, mine = f"{type(self).__name__}.load_state_dict", self.state_dict()
        check_instance(where, "state", state, Mapping)
        fits = mine.keys() == state.keys()
        if not fits or any(np.shape(v) != np.shape(state[name]) for name, v in mine.items()):
            raise ValueError(f"{where}: state must be of this kind and size, {', '.join(mine)}.")
        checked = {name: self._checked(where, name, state[name]) for name in mine}
        for name, value in mine.items():
            if isinstance(value, np.ndarray):
                value[...] = checked[name]
            else:
                setattr(self, name, checked[name])

    def _checked(self, where: str, name: str, value: Any) -> Any:
        """Return an entry of a state, if it is one that this optimiser could be in, or raise."""
        if name == "lr":
            return check_number(where, name, value, least=0)  # a schedule may end at 0
        if name in ("momentum", "betas"):
            many = tuple(check_number(where, name, v, least=0, below=1) for v in np.atleast_1d(value))
            return many if name == "betas" else many[0]
        if name == "eps":
            return check_number(where, name, value, above=0)
        if name == "k":
            return check_int(where, name, value, minimum=0)
        return of_shape(where, name, value, self.state_dict()[name].shape)


class SGD(_Optimizer):
    """Gradient descent, with momentum if asked: v ← momentum·v + g,  p ← p − lr·v  (without: p ← p − lr·g).

    `p` is changed in place, and `lr` may be reassigned between steps. `momentum`, in [0, 1), is the share of v that is
    kept. Polyak (1964), in the form of Sutskever et al. (2013): the learning rate stands outside v, as in PyTorch.

    Examples
    --------
    >>> from gru_lib import SGD, linear_init
    >>> p = linear_init(np.random.default_rng(0), D=1, K=1)
    >>> p.W[:] = 3
    >>> optimizer = SGD(p, lr=0.1)
    >>> for _ in range(3):
    ...     grads = p.zeros_like()
    ...     grads.W[:] = 2 * p.W  # of W²
    ...     optimizer.step(grads)
    ...
    >>> p.W.round(6)  # 0.8³ · 3
    array([[1.536]])
    """

    _state = ("v", "lr", "momentum")

    def __init__(self, p: Params, lr: float, momentum: float = 0.0) -> None:
        check_instance("SGD", "p", p, Params)
        self.p, self.lr = p, check_number("SGD", "lr", lr, above=0)
        self.momentum = check_number("SGD", "momentum", momentum, least=0, below=1)
        self.v = np.zeros_like(p.flat) if self.momentum else np.zeros(0, p.dtype)

    def step(self, grads: Params) -> None:
        """Take one step against `grads`, which stays unchanged."""
        check_grads("SGD.step", grads, self.p)
        g = grads.flat
        if self.momentum:
            self.v *= self.momentum
            self.v += g
            g = self.v
        self.p.flat[:] -= self.lr * g


class Adam(_Optimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    ::

        m ← β1 m + (1 − β1) g,     v ← β2 v + (1 − β2) g²
        p ← p − lr · m̂ / (√v̂ + eps),   m̂ = m / (1 − β1ᵏ),  v̂ = v / (1 − β2ᵏ)   at step k

    `p` and `lr` are as in `SGD`, `betas` are β1 and β2 in [0, 1), and `eps` keeps the division away from 0. Kingma & Ba
    (2015), arXiv:1412.6980.

    Examples
    --------
    >>> from gru_lib import Adam, linear_init
    >>> p = linear_init(np.random.default_rng(0), D=1, K=1)
    >>> p.W[:] = 3
    >>> optimizer, grads = Adam(p, lr=0.1), p.zeros_like()
    >>> grads.W[:] = 1000
    >>> optimizer.step(grads)
    >>> p.W.round(6)  # a first step of lr, however large the gradient
    array([[2.9]])
    """

    _state = ("m", "v", "k", "lr", "betas", "eps")

    def __init__(
        self, p: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        check_instance("Adam", "p", p, Params)
        self.p, self.lr = p, check_number("Adam", "lr", lr, above=0)
        check_sequence("Adam", "betas", betas, 2)
        self.betas = tuple(check_number("Adam", "betas", beta, least=0, below=1) for beta in betas)
        self.eps = check_number("Adam", "eps", eps, above=0)
        self.k = 0
        self.m, self.v = np.zeros_like(p.flat), np.zeros_like(p.flat)

    def step(self, grads: Params) -> None:
        """As `SGD.step`."""
        check_grads("Adam.step", grads, self.p)
        g, (beta1, beta2) = grads.flat, self.betas
        self.k += 1
        self.m += (1 - beta1) * (g - self.m)
        self.v += (1 - beta2) * (g * g - self.v)
        root = np.sqrt(self.v / (1 - beta2**self.k))
        self.p.flat[:] -= (self.lr / (1 - beta1**self.k)) * self.m / (root + self.eps)


def clip_by_global_norm(grads: Params, max_norm: float) -> float:
    """Scale `grads` in place so that its norm, over all parameters together, is at most `max_norm`.

    g ← g · min(1, max_norm / ‖g‖). Returns ‖g‖ before clipping; if that is not finite, nothing is scaled.
    Chapter 2. Pascanu et al. (2013), arXiv:1211.5063.

    Examples
    --------
    >>> from gru_lib import clip_by_global_norm, linear_init
    >>> grads = linear_init(np.random.default_rng(0), D=1, K=1)
    >>> grads.flat[:] = 3, 4
    >>> clip_by_global_norm(grads, 1.0)
    5.0
    >>> grads.flat.round(6)
    array([0.6, 0.8])
    """
    check_instance("clip_by_global_norm", "grads", grads, Params)
    max_norm = check_number("clip_by_global_norm", "max_norm", max_norm, above=0)
    norm = float(np.linalg.norm(grads.flat))
    if np.isfinite(norm) and norm > max_norm:
        grads.flat[:] *= max_norm / norm
    return norm


# ---------------------------------------------------------------------- learning rates, for `train(…, schedule=…)`

Schedule = Callable[[int], float]  # step, from 0 -> learning rate


def linear_decay(lr: float, steps: int, *, last: float = 0.0) -> Schedule:
    """lr(k) = lr + (last − lr)·k/steps: a straight line from `lr` at step 0 to `last` at step `steps` and after.

    Examples
    --------
    >>> from gru_lib import linear_decay
    >>> lr = linear_decay(0.1, steps=100)
    >>> [round(lr(k), 6) for k in (0, 50, 75, 100, 1000)]
    [0.1, 0.05, 0.025, 0.0, 0.0]
    """
    lr, last, steps = _check_decay("linear_decay", lr, last, steps)
    return lambda step: lr + (last - lr) * min(step / steps, 1.0)


def cosine_decay(lr: float, steps: int, *, last: float = 0.0) -> Schedule:
    """lr(k) = last + (lr − last)·(1 + cos(π k/steps))/2: slow at both ends. Loshchilov & Hutter (2017).

    Examples
    --------
    >>> from gru_lib import cosine_decay
    >>> lr = cosine_decay(0.1, steps=100)
    >>> [round(lr(k), 3) for k in (0, 25, 50, 75, 100)]
    [0.1, 0.085, 0.05, 0.015, 0.0]
    """
    lr, last, steps = _check_decay("cosine_decay", lr, last, steps)
    return lambda step: last + (lr - last) * (1 + math.cos(math.pi * min(step / steps, 1.0))) / 2


def _check_decay(where: str, lr: float, last: float, steps: int) -> tuple[float, float, int]:
    lr, last = check_number(where, "lr", lr, above=0), check_number(where, "last", last, least=0)
    return lr, last, check_int(where, "steps", steps)
