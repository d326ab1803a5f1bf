"""Optimisers and clipping. All work on the flat buffer, so each is a few lines of array arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gru_lib._check import check_instance, check_number
from gru_lib._params import Params

__all__ = ["SGD", "Adam", "clip_by_global_norm"]


class SGD:
    """Gradient descent: p ← p − lr·g.

    Parameters
    ----------
    p : Params
        Parameters to change, in place.
    lr : float
        Learning rate; may be reassigned between steps.
    """

    def __init__(self, p: Params, lr: float) -> None:
        check_instance("SGD", "p", p, Params)
        self.p, self.lr = p, check_number("SGD", "lr", lr, above=0)

    def step(self, grads: Params) -> None:
        """Take one step against `grads`, which is not changed."""
        _check_grads("SGD.step", self.p, grads)
        self.p.flat[:] -= self.lr * grads.flat


class Adam:
    """Adam: steps scaled by running averages of the gradient and of its square.

    ::

        m ← β1 m + (1 − β1) g,     v ← β2 v + (1 − β2) g²
        p ← p − lr · m̂ / (√v̂ + eps),   m̂ = m / (1 − β1ᵏ),  v̂ = v / (1 − β2ᵏ)   at step k

    Parameters
    ----------
    p : Params
        Parameters to change, in place.
    lr : float
        Learning rate; may be reassigned between steps.
    betas : (float, float)
        β1 and β2, each in [0, 1).
    eps : float
        Keeps the division away from 0.

    Notes
    -----
    Kingma & Ba (2015), arXiv:1412.6980.
    """

    def __init__(
        self, p: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        check_instance("Adam", "p", p, Params)
        self.p, self.lr = p, check_number("Adam", "lr", lr, above=0)
        self.betas = tuple(check_number("Adam", "betas", beta, least=0, below=1) for beta in betas)
        self.eps = check_number("Adam", "eps", eps, above=0)
        self.k = 0
        self.m, self.v = np.zeros_like(p.flat), np.zeros_like(p.flat)

    def step(self, grads: Params) -> None:
        """Take one step against `grads`, which is not changed."""
        _check_grads("Adam.step", self.p, grads)
        g, (beta1, beta2) = grads.flat, self.betas
        self.k += 1
        self.m += (1 - beta1) * (g - self.m)
        self.v += (1 - beta2) * (g * g - self.v)
        root = np.sqrt(self.v / (1 - beta2**self.k))
        self.p.flat[:] -= (self.lr / (1 - beta1**self.k)) * self.m / (root + self.eps)


def clip_by_global_norm(grads: Params, max_norm: float) -> float:
    """Scale `grads` in place so that the norm of all of it together is at most `max_norm`.

    g ← g · min(1, max_norm / ‖g‖)

    Returns
    -------
    float
        ‖g‖ before clipping.

    Raises
    ------
    ValueError
        If max_norm is not above 0. A norm that is not finite is returned as it is, and nothing is scaled.

    Notes
    -----
    Chapter 2. Pascanu et al. (2013), arXiv:1211.5063.
    """
    check_instance("clip_by_global_norm", "grads", grads, Params)
    max_norm = check_number("clip_by_global_norm", "max_norm", max_norm, above=0)
    norm = float(np.linalg.norm(grads.flat))
    if np.isfinite(norm) and norm > max_norm:
        grads.flat[:] *= max_norm / norm
    return norm


def _check_grads(where: str, p: Params, grads: Any) -> NDArray[Any]:
    check_instance(where, "grads", grads, Params)
    if grads.size != p.size:
        raise ValueError(f"{where}: grads must hold as many numbers as p, {p.size}; got {grads.size}.")
    return grads.flat
