"""A training loop with a history, early stopping, checkpoints, and chunks for truncated backpropagation."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import check_bool, check_choice, check_function, check_instance, check_int, check_number
from gru_lib.io import brief, check_arrays, describe, read, write_npz
from gru_lib.optim import clip_by_global_norm
from gru_lib.params import Params, check_grads

__all__ = ["Chunk", "Chunks", "History", "early_stopping", "train"]


class Optimizer(Protocol):
    """What `train` needs of an optimiser; the last two methods only for checkpoints."""

    p: Params
    lr: float

    def step(self, grads: Params) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


@dataclass
class History:
    """What happened in training."""

    loss: list[float] = field(default_factory=list)  # of each step's batch
    grad_norm: list[float] = field(default_factory=list)  # of each step, before clipping
    # What `evaluate` returned: name -> list of (steps taken so far, value).
    metrics: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    stopped: bool = False  # whether `stop` ended the training early

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
        """Return the steps and values of a metric, ready to plot."""
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
    checkpoint: str | os.PathLike[str] | None = None,
    rng: np.random.Generator | None = None,
    progress: bool = True,
) -> History:
    """Train `p` in place: take a batch, compute loss and gradients, clip, let the optimiser step, and repeat.

    With a checkpoint, a run that is killed at any moment and started again gives the same bits as an uninterrupted one,
    as long as its randomness comes from `rng`.

    Parameters
    ----------
    p
        Parameters; the same object that the optimiser holds.
    loss_and_grads
        ``loss_and_grads(p, batch) -> loss, grads``.
    batches
        Yields one batch per step. A list is repeated.
    optimizer
        `SGD`, `Adam`, or anything with their `step`.
    steps
        The largest number of steps to take.
    clip_norm
        Largest norm of the whole gradient; None for no clipping.
    schedule
        Step (from 0) -> learning rate for that step.
    evaluate
        ``evaluate(p) -> {"name": value}``, called every `every` steps and after the last.
    stop
        Called after each evaluation; training ends when it returns True. See `early_stopping`.
    checkpoint
        An ``.npz`` file. If it exists, training resumes from it; it is rewritten every `every` steps and at the end. It
        holds `p`, the optimiser, the history, `rng`, and `batches` if that has `state_dict` and `load_state_dict`, as
        `Chunks` has.
    rng
        The generator that `batches` and `loss_and_grads` draw from; used only to save it in the checkpoint.
    progress
        Show a progress bar, if tqdm is installed and the output is a terminal or a notebook.

    Raises
    ------
    FloatingPointError
        If the loss or the gradient is not finite. `p` then holds what it held at the last step where both were.
    ValueError
        If `batches` ends too soon, or the checkpoint is not one of this training.

    Examples
    --------
    >>> from gru_lib import SGD, ops, train
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> p = ops.linear_init(np.random.default_rng(0), D=1, K=1)
    >>> def loss_and_grads(p, batch):
    ...     x, y = batch
    ...     said, cache = ops.linear_forward(x, p)
    ...     dx, grads = ops.linear_backward(said - y, cache, p)
    ...     return ((said - y) ** 2).sum() / 2, grads
    ...
    >>> batches = [(x, 2 * x + 1)]
    >>> optimizer = SGD(p, lr=0.2)
    >>> history = train(p, loss_and_grads, batches, optimizer, steps=100)
    >>> p.W.round(3), p.b.round(3)
    (array([[2.]]), array([1.]))
    """
    check_instance("train", "p", p, Params)
    steps, every = check_int("train", "steps", steps), check_int("train", "every", every)
    for name, function in {"schedule": schedule, "evaluate": evaluate, "stop": stop}.items():
        check_function("train", name, function, optional=True)
    check_function("train", "loss_and_grads", loss_and_grads)
    check_bool("train", "progress", progress)
    if clip_norm is not None:
        check_number("train", "clip_norm", clip_norm, above=0)
    if rng is not None:
        check_instance("train", "rng", rng, np.random.Generator)
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes | Params):
        raise TypeError(f"train: batches must yield batches; got {type(batches).__name__}.")
    if isinstance(batches, np.ndarray) and not batches.ndim:
        raise TypeError("train: batches must yield batches; got an array without axes.")
    if not hasattr(optimizer, "p") or not hasattr(optimizer, "step"):
        raise TypeError(f"train: optimizer must be one such as Adam(p); got {type(optimizer).__name__}.")
    if optimizer.p is not p:
        raise ValueError("train: optimizer must hold the same parameter object p; got another one.")
    if not isinstance(checkpoint, str | os.PathLike | None):
        raise TypeError(f"train: checkpoint must be a path; got {type(checkpoint).__name__}.")
    saved = None if checkpoint is None else _Checkpoint(Path(checkpoint), p, optimizer, batches, rng)
    history = History() if saved is None else saved.load()
    source = _endless(batches, history.steps)
    bar = _progress_bar(steps, history.steps) if progress else None
    good = p.flat.copy()
    try:
        for i in range(history.steps, 0 if history.stopped else steps):
            try:
                batch = next(source)
            except StopIteration:
                raise ValueError(f"train: batches must yield {steps} batches; it ended after {i}.") from None
            if schedule is not None:
                optimizer.lr = check_number("train", "schedule(step)", schedule(i), least=0)
            loss, grads = _parts(loss_and_grads(p, batch), p)
            norm = float(np.linalg.norm(grads.flat))
            if not (math.isfinite(loss) and math.isfinite(norm)):
                p.flat[:] = good
                before = ""
                if history.steps:
                    at = int(np.argmax(history.grad_norm))
                    before = f"; the largest before was {history.grad_norm[at]:.3g}, at step {at}"
                raise FloatingPointError(
                    f"train: at step {i} the loss is {loss:g} and the gradient's norm {norm:g}{before}. "
                    "Try a smaller learning rate, or clip_norm."
                )
            if clip_norm is not None:
                clip_by_global_norm(grads, clip_norm)
            good[:] = p.flat
            optimizer.step(grads)
            history.loss.append(loss)
            history.grad_norm.append(norm)
            if bar is not None:
                bar.update()
            if (i + 1) % every and i + 1 < steps:
                continue
            if evaluate is not None:
                metrics = evaluate(p)
                if not isinstance(metrics, Mapping):
                    raise TypeError(f"train: evaluate must return names and values; got {type(metrics).__name__}.")
                for name, value in metrics.items():
                    history.metrics.setdefault(name, []).append((i + 1, float(value)))
                if bar is not None:
                    bar.set_postfix({name: f"{history.last(name):.4g}" for name in history.metrics})
                history.stopped = stop is not None and bool(stop(history))
            if saved is not None:
                saved.save(history)
            if history.stopped:
                break
        if bar is not None and history.stopped:
            bar.set_description("stopped early")
    finally:
        if bar is not None:
            bar.close()
    return history


def _parts(found: Any, p: Params) -> tuple[float, Params]:
    """The loss and the gradients that a loss function returned; TypeError or ValueError if they are something else."""
    must = "train: loss_and_grads must return (loss, grads)"
    if not isinstance(found, tuple):
        raise TypeError(f"{must}; got {type(found).__name__}.")
    if len(found) != 2:
        raise ValueError(f"{must}; got a tuple of {len(found)}.")
    loss, grads = found
    if not isinstance(loss, Real | np.ndarray) or isinstance(loss, bool):
        raise TypeError(f"{must}; its first part must be a number; got {type(loss).__name__}.")
    if isinstance(loss, np.ndarray) and (loss.ndim or loss.dtype.kind not in "iuf"):
        raise TypeError(f"{must}; its first part must be a number; got an array of shape {loss.shape}, {loss.dtype}.")
    if not isinstance(grads, Params):
        raise TypeError(f"{must}; its second part must be {type(p).__name__} like p; got {type(grads).__name__}.")
    check_grads(must, grads, p)
    return float(loss), grads


def early_stopping(name: str, patience: int, *, mode: str = "min") -> Callable[[History], bool]:
    """Return a `stop` for `train`: true once the metric has not improved in the last `patience` evaluations.

    `name` is a metric that `evaluate` returns; `mode` is "min" if smaller is better, "max" if larger is. NaN is worse
    than any number.

    Examples
    --------
    >>> from gru_lib.train import History, early_stopping
    >>> stop = early_stopping("loss", patience=2)
    >>> stop(History(metrics={"loss": [(100, 0.9), (200, 0.5)]}))
    False
    >>> worse = [(100, 0.9), (200, 0.5), (300, 0.6), (400, 0.7)]
    >>> stop(History(metrics={"loss": worse}))
    True
    """
    check_instance("early_stopping", "name", name, str)
    patience = check_int("early_stopping", "patience", patience)
    check_choice("early_stopping", "mode", mode, ("min", "max"))

    def stop(history: History) -> bool:
        _, values = history.curve(name)
        worst = math.inf if mode == "min" else -math.inf
        known = [worst if math.isnan(value) else value for value in values]
        best = known.index(min(known) if mode == "min" else max(known))
        return len(values) - 1 - best >= patience

    return stop


class Chunk(NamedTuple):
    """A piece of the sequences, for one step of truncated backpropagation."""

    xs: NDArray[Any]  # (K, N, …)
    ys: NDArray[Any]  # (K, N, …)
    state: Any  # the final state of the chunk before; None at the beginning
    carry: Callable[[Any], None]  # call it with the final state of this chunk


class Chunks:
    """Batches for truncated backpropagation through time: pieces of K steps, the state carried from one to the next.

    Each piece treats its first state as constant: the forward pass sees all of the past, the gradient only the last K
    steps. The loss must pass the final state on::

        def loss_and_grads(p, chunk):
            hs, h_T, tape = gru_forward(chunk.xs, chunk.state, p.rnn)
            chunk.carry(h_T)
            ...

    After the last piece (which may be shorter) iteration starts over, with no state. It raises ValueError if a chunk's
    `carry` was not called.

    Chapter 16. Williams & Peng (1990).

    `xs` and `ys`, (T, N, …), are the inputs and targets, time first.

    Examples
    --------
    >>> from gru_lib.train import Chunks
    >>> xs = np.arange(5).reshape(5, 1, 1)  # T = 5, N = 1
    >>> chunks = iter(Chunks(xs, xs, K=2))
    >>> for chunk in (next(chunks) for _ in range(3)):
    ...     chunk.carry(f"state after {chunk.xs[-1, 0, 0]}")
    ...     print(chunk.xs[:, 0, 0], chunk.state)
    [0 1] None
    [2 3] state after 1
    [4] state after 3
    """

    def __init__(self, xs: ArrayLike, ys: ArrayLike, K: int) -> None:
        self.xs, self.ys, self.K = np.asarray(xs), np.asarray(ys), check_int("Chunks", "K", K)
        if self.xs.ndim < 2 or self.xs.shape[:2] != self.ys.shape[:2] or not self.xs.size:
            raise ValueError(
                f"Chunks: xs and ys must have shapes (T, N, …) with the same T and N; "
                f"got {self.xs.shape} and {self.ys.shape}."
            )
        self._start, self._state, self._due = 0, None, False

    def __iter__(self) -> Iterator[Chunk]:
        while True:
            if self._due:
                raise ValueError("Chunks: chunk.carry(state) must be called with the state that each chunk ends in.")
            piece = slice(self._start, self._start + self.K)
            self._start, state = piece.stop, self._state
            self._due = self._start < len(self.xs)
            if not self._due:
                self._start, self._state = 0, None
            yield Chunk(self.xs[piece], self.ys[piece], state, self._carry if self._due else lambda state: None)

    def _carry(self, state: Any) -> None:
        self._state, self._due = state, False

    def state_dict(self) -> dict[str, Any]:
        """Return the position and the state: what the next chunk depends on."""
        return {"start": self._start, "state": self._state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from there."""
        start = check_int("Chunks.load_state_dict", "start", state["start"], minimum=0)
        if start >= len(self.xs):
            raise ValueError(f"Chunks.load_state_dict: start must be a step, in 0..{len(self.xs) - 1}; got {start}.")
        self._start, self._state, self._due = start, state["state"], False


class _Checkpoint:
    """Everything that the next training step depends on, in a file."""

    def __init__(self, path: Path, p: Params, optimizer: Optimizer, batches: Any, rng: Any) -> None:
        if path.suffix != ".npz":
            raise ValueError(f"train: checkpoint must end in .npz; got {path.name!r}.")
        self.path, self.p, self.optimizer, self.rng = path, p, optimizer, rng
        self.batches = batches if hasattr(batches, "state_dict") else None

    def _arrays(self) -> dict[str, NDArray[Any]]:
        state = self.optimizer.state_dict()
        return {"p": self.p.flat} | {f"optimizer.{k}": v for k, v in state.items() if isinstance(v, np.ndarray)}

    def _what(self) -> dict[str, str | None]:
        """What a training must have in common with the one that it goes on from."""
        return {
            "p": brief(describe(self.p)),
            "optimizer": type(self.optimizer).__name__,
            "batches": None if self.batches is None else type(self.batches).__name__,
            "rng": None if self.rng is None else type(self.rng.bit_generator).__name__,
        }

    def save(self, history: History) -> None:
        state = self.optimizer.state_dict()
        header = {
            "what": self._what(),
            "optimizer": {k: v for k, v in state.items() if not isinstance(v, np.ndarray)},
            "history": asdict(history),
            "batches": None if self.batches is None else self.batches.state_dict(),
            "rng": None if self.rng is None else self.rng.bit_generator.state,
        }
        write_npz(self.path, self._arrays(), _plain(header))

    def load(self) -> History:
        """Restore everything and return the history; a new History if there is no file.

        A file that is damaged or of another training raises ValueError, and everything is as it was.
        """
        if not self.path.exists():
            return History()
        header, found = read("train", self.path)
        try:
            return self._restore(header, found)
        except (AttributeError, KeyError, RecursionError, TypeError) as error:
            raise ValueError(f"train: {self.path.name} is damaged: {type(error).__name__}: {error}") from None

    def _restore(self, header: Any, found: Mapping[str, NDArray[Any]]) -> History:
        for name, wanted in self._what().items():
            held = header.get("what", {}).get(name)
            if held != wanted:
                raise ValueError(f"train: {self.path.name} must be a checkpoint with {name} {wanted}; it has {held}.")
        check_arrays("train", self.path, found, self._arrays())
        state = _unplain(header)
        history = History(**state["history"])
        repr(history)  # it must be one
        arrays = {name.removeprefix("optimizer."): a for name, a in found.items() if name != "p"}
        self.optimizer.load_state_dict(state["optimizer"] | arrays)
        if self.batches is not None:
            self.batches.load_state_dict(state["batches"])
        if self.rng is not None:
            self.rng.bit_generator.state = state["rng"]
        self.p.flat[:] = found["p"]
        return history


def _plain(value: Any) -> Any:
    """Turn `value` into what JSON can hold, exactly: Python writes a float so that it reads back as the same bits."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.name, "shape": list(value.shape)}
    if isinstance(value, tuple):
        return {"tuple": [_plain(v) for v in value]}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _unplain(value: Any) -> Any:
    match value:
        case {"array": numbers, "dtype": dtype, "shape": shape}:
            return np.array(numbers, dtype).reshape(shape)
        case {"tuple": values}:
            return tuple(map(_unplain, values))
        case dict():
            return {k: _unplain(v) for k, v in value.items()}
        case list():
            return [_unplain(v) for v in value]
    return value


def _endless(batches: Iterable[Any], start: int) -> Any:
    if isinstance(batches, list | tuple):
        if not batches:
            raise ValueError("train: batches must hold at least one batch; got none.")
        while True:
            yield from batches[start % len(batches) :]
            start = 0
    else:
        yield from batches


def _progress_bar(total: int, done: int) -> Any:
    """Return a tqdm bar if somebody can see it, else None. `TQDM_DISABLE=1` switches it off everywhere."""
    notebook = "ipykernel" in sys.modules
    if not (sys.stderr.isatty() or notebook):
        return None
    try:
        from tqdm import tqdm
    except ImportError:  # gru_lib itself needs NumPy only
        return None
    # Jupyter shows what goes to stderr on red, as an error.
    return tqdm(total=total, initial=done, desc="training", unit="step", file=sys.stdout if notebook else None)
