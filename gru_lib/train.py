"""A training loop: batches in, history out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gru_lib._check import check_instance, check_int, check_number
from gru_lib._params import Params
from gru_lib.optim import clip_by_global_norm

__all__ = ["History", "train"]


class Optimizer(Protocol):
    """What `train` asks of an optimiser."""

    p: Params
    lr: float

    def step(self, grads: Params) -> None:
        """Change `p` in place."""


@dataclass
class History:
    """What happened in training.

    Attributes
    ----------
    loss, grad_norm
        One number per step: the batch's loss, and the gradient's norm before clipping.
    metrics
        Name -> list of (step, value), from `evaluate`; step counts the steps taken so far.
    stopped
        Whether `stop` ended the training early.
    """

    loss: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    metrics: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    stopped: bool = False

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.loss)

    def last(self, name: str) -> float:
        """Return the latest value of a metric."""
        if not self.metrics.get(name):
            raise KeyError(f"no metric {name!r}; there is {', '.join(self.metrics) or 'none'}")
        return self.metrics[name][-1][1]

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """Return the steps and the values of a metric, ready to plot."""
        self.last(name)
        steps, values = zip(*self.metrics[name], strict=True)
        return list(steps), list(values)

    def __repr__(self) -> str:
        latest = "".join(f", {name} {self.last(name):.4g}" for name in self.metrics)
        loss = f", loss {self.loss[-1]:.4g}" if self.loss else ""
        return f"History({self.steps} steps{loss}{latest}{', stopped early' if self.stopped else ''})"


def train(
    p: Params,
    loss_and_grads: Callable[[Any, Any], tuple[Any, Params]],
    batches: Iterable[Any],
    optimizer: Optimizer,
    *,
    steps: int,
    clip_norm: float | None = None,
    schedule: Callable[[int], float] | None = None,
    evaluate: Callable[[Any], Mapping[str, float]] | None = None,
    every: int = 100,
    stop: Callable[[History], bool] | None = None,
    progress: bool = True,
) -> History:
    """Train `p` in place.

    Each step: take a batch, compute loss and gradients, clip, let the optimiser step.

    Parameters
    ----------
    p
        Parameters; the same object that the optimiser holds.
    loss_and_grads
        ``loss_and_grads(p, batch) -> loss, grads``.
    batches
        Yields one batch per step. A list is gone through again and again.
    optimizer
        `SGD`, `Adam`, or anything with their `step`.
    steps
        Most steps to take.
    clip_norm
        Largest norm of the whole gradient; None for no clipping.
    schedule
        Step (from 0) -> learning rate for that step.
    evaluate
        ``evaluate(p) -> {"name": value}``, called every `every` steps and after the last.
    stop
        Called after each evaluation; training ends when it returns True.
    progress
        Show a progress bar, if tqdm is installed and the output is a terminal or a notebook.

    Returns
    -------
    History

    Raises
    ------
    FloatingPointError
        If the loss or the gradient is not finite. `p` is left as it was before that step.
    ValueError
        If `batches` ends too soon, or an argument is out of range.
    """
    check_instance("train", "p", p, Params)
    steps, every = check_int("train", "steps", steps), check_int("train", "every", every)
    if clip_norm is not None:
        check_number("train", "clip_norm", clip_norm, above=0)
    if optimizer.p is not p:
        raise ValueError("train: optimizer must hold the same parameter object p; got another one.")
    history, source = History(), _endless(batches)
    bar = _progress_bar(steps) if progress else None
    try:
        for i in range(steps):
            try:
                batch = next(source)
            except StopIteration:
                raise ValueError(f"train: batches must yield {steps} batches; it ended after {i}.") from None
            if schedule is not None:
                optimizer.lr = check_number("train", "schedule(step)", schedule(i), least=0)
            loss, grads = loss_and_grads(p, batch)
            norm = float(np.linalg.norm(grads.flat))
            if not (math.isfinite(loss) and math.isfinite(norm)):
                raise FloatingPointError(
                    f"train: at step {i} the loss is {float(loss):g} and the gradient's norm {norm:g}. "
                    "Try a smaller learning rate, or clip_norm."
                )
            if clip_norm is not None:
                clip_by_global_norm(grads, clip_norm)
            optimizer.step(grads)
            history.loss.append(float(loss))
            history.grad_norm.append(norm)
            if bar is not None:
                bar.update()
            if evaluate is not None and ((i + 1) % every == 0 or i + 1 == steps):
                for name, value in evaluate(p).items():
                    history.metrics.setdefault(name, []).append((i + 1, float(value)))
                if bar is not None:
                    bar.set_postfix({name: f"{history.last(name):.4g}" for name in history.metrics})
                if stop is not None and stop(history):
                    history.stopped = True
                    break
    finally:
        if bar is not None:
            bar.close()
    return history


def _endless(batches: Iterable[Any]) -> Any:
    if isinstance(batches, list | tuple):
        if not batches:
            raise ValueError("train: batches must hold at least one batch; got none.")
        while True:
            yield from batches
    else:
        yield from batches


def _progress_bar(total: int) -> Any:
    """A tqdm bar if somebody can see it, else None. `TQDM_DISABLE=1` switches it off everywhere."""
    if not (sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")):
        return None
    try:
        from tqdm import tqdm
    except ImportError:  # gru_lib itself needs NumPy only
        return None
    return tqdm(total=total, desc="training", unit="step")
