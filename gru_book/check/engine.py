"""Run a reader's function, compare what it returns with the right outputs, and find the words for what is wrong.

First come the faults that need no list: nothing returned, a crash, an argument changed in place, a wrong shape, NaN.
Then each of the exercise's own mistakes: if it leads to the reader's numbers, its message is the answer. Last come the
mistakes that one wrong array shows by itself, such as a missing term or a sign.
"""

from __future__ import annotations

import copy
import dis
import functools
import inspect
import itertools
import re
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from typing import Any, Concatenate, ParamSpec

import numpy as np

from gru_lib.params import Params
from gru_lib.types import Array

__all__ = [
    "EXERCISES", "Array", "Blank", "Exercise", "Fault", "Function", "Mistake", "Outputs", "Result", "call",
    "described", "exercise", "listed", "numbers", "run", "same", "several",
]  # fmt: skip

#: What a function returns, by name.
Outputs = dict[str, Array]
#: A message, and the outputs of somebody who makes this mistake.
Mistake = tuple[str, Outputs]
#: What a reader hands in: a function of any arguments.
Function = Callable[..., Any]
Options = ParamSpec("Options")


#: What stands for letters that an output's encoding may not have; of the others, as in x₁, what Unicode says.
PLAIN: dict[int, str] = {ord(a): unicodedata.name(a).split()[3].lower() for a in "αβγδεζηθικλμνξοπρςστυφχψω"}
PLAIN |= {ord(a): b for a, b in zip("−⊙∂≈⊕′⁻·×", "-*d~^'-*x", strict=True)}
PLAIN |= {ord(a): b for a, b in (("ᵀ", ".T"), ("√", "sqrt "), ("²", "^2"), ("Σ", "sum "), ("\u0302", "_hat"))}


@dataclass(frozen=True, repr=False)
class Result:
    """What a check found: whether the answer is right (also the result's truth value), and a sentence about it."""

    ok: bool
    message: str
    blank: bool = False  # whether nothing has been answered yet

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"{'Right' if self.ok else 'Not yet'}: {self.message}"

    def __str__(self) -> str:
        """The same in letters that the output has: a script's may go to a file in cp1252, which has no σ."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            repr(self).encode(encoding)
        except UnicodeEncodeError:
            plain = unicodedata.normalize("NFKC", repr(self).translate(PLAIN)).replace("\N{FRACTION SLASH}", "/")
            return plain.encode(encoding, "namereplace").decode(encoding)
        return repr(self)


@dataclass
class Exercise:
    """What the reader's function is given, what it must return, and how it may go wrong."""

    args: dict[str, Any]  # by name, in order
    right: Outputs  # what must be returned, by name, in order; gradients of parameters last, as d<name>
    mistakes: Callable[[], Iterable[Mistake]] = tuple  # (message, outputs) of each; called if the numbers are wrong
    grads: tuple[str, ...] = ()  # the parameters whose gradients are returned, as Params or as a dict
    terms: dict[str, Outputs] = field(default_factory=dict)  # of an output that is a sum, by name
    kwargs: dict[str, Any] = field(default_factory=dict)
    batch: int = 1  # N where gradients are sums over the batch, so that a mean is recognised
    flatten: Callable[[Any], Any] | None = None  # turns what is returned into a flat tuple, if it holds pairs
    also: Sequence[tuple[dict[str, Any], Outputs, str]] = ()  # further (args, right outputs, message if they are wrong)
    then: Callable[[Function], None] | None = None  # tries what outputs alone do not show; raises Fault
    guess: Callable[[Outputs], str] | None = None  # what wrong outputs are, or "", where none of the mistakes fits
    shown: str = ""  # what a right function has shown, where that is not "does what the equations say"


class Fault(Exception):
    """What is wrong with the reader's answer, in words for the reader."""


class Blank(Fault):
    """There is no answer yet."""


#: What builds each exercise that asks for a function, by name.
EXERCISES: dict[str, Callable[..., Exercise]] = {}


def exercise(build: Callable[Options, Exercise]) -> Callable[Concatenate[Function, Options], Result]:
    """Turn a function that returns an Exercise into a check of that name, which takes the reader's function first."""
    name = build.__name__
    EXERCISES[name] = build

    @functools.wraps(build)
    def check(f: Function, /, *args: Options.args, **options: Options.kwargs) -> Result:
        return run(build(*args, **options), f)

    shown = inspect.signature(build)
    f = inspect.Parameter("f", inspect.Parameter.POSITIONAL_ONLY, annotation="Function")
    vars(check)["__signature__"] = shown.replace(parameters=[f, *shown.parameters.values()], return_annotation="Result")
    return check


def run(task: Exercise, f: Any) -> Result:
    """Check the function on one exercise."""
    try:
        if f is None or f is Ellipsis:
            raise Blank("there is no function yet. Put yours in place of `...`.")
        if not callable(f):
            how = "give the function itself, by its name alone, as in check.gru_step(my_step)"
            raise Fault(f"{how}; got {described(f)}.")
        _check_numbers(task, f)
        for args, right, message in task.also:
            if not run(Exercise(args, right), f).ok:
                raise Fault(message)
        if task.then is not None:
            task.then(f)
    except Fault as fault:
        said = str(fault)
        return Result(False, ("NaN" in said and _of_padding(task, f)) or said, isinstance(fault, Blank))
    count = sum(np.size(right) for right in task.right.values())
    compared = f", in all {count} numbers" if count > 2 else ""
    return Result(True, f"{_named(f)} {task.shown or 'does what the equations say' + compared}.")


def _named(f: Function) -> str:
    """The name that the reader has given to the function."""
    name = getattr(f, "__name__", "")
    return name if name.isidentifier() else "your function"


def listed(names: Sequence[str]) -> str:
    """Names as in "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def described(value: Any) -> str:
    """What was given in place of what is wanted."""
    if callable(value):
        return "a function"
    if isinstance(value, str):
        return f"the text {value!r:.40}"
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    if isinstance(value, tuple | list | set | dict):
        return f"a {type(value).__name__} of {len(value)}"
    return "a number" if isinstance(value, Number | np.ndarray) else f"an object of type {type(value).__name__}"


def call(f: Function, *args: Any, **kwargs: Any) -> Any:
    """Return what the reader's function returns, or raise Fault if it crashes or returns nothing."""
    name, blank = _named(f), _blank(f)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = f(*args, **kwargs)
    except NotImplementedError:
        raw, blank = None, True
    except Exception as error:
        file = getattr(getattr(inspect.unwrap(f), "__code__", None), "co_filename", None)
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line = frames[-1].line or "" if frames else ""
        where = f" in the line `{line}`" if line else ""
        try:
            said = f"{error}{_hint(error, args, line)}"
        except Exception:  # an exception of the reader's own may not say what it is
            said = "it has no text"
        raise Fault(f"{name} stopped with {type(error).__name__}{where}: {said}") from error
    if raw is Ellipsis or (raw is None and blank):
        raise Blank(f"{name} is still blank. Put your lines in place of `...`.")
    if raw is None:
        raise Fault(f"{name} runs, but returns None. Is there a `return` at its end?")
    return raw


def _hint(error: Exception, args: tuple[Any, ...], line: str) -> str:
    """How to reach the arrays of parameters, for a function that takes them for a dictionary."""
    for p in (each for each in args if isinstance(each, Params)):
        if str(error) == f"{type(p).__name__!r} object is not subscriptable":
            tried = [("p", name) for name, _ in p.items()]
            tried[:0] = [(of, name) for of, _, name in re.findall(r"(\w+)\[(['\"])(\w+)\2\]", line) if hasattr(p, name)]
            of, name = tried[0]
            return f". Parameters are attributes: `{of}.{name}`, not `{of}[{name!r}]`."
    return ""


def _blank(f: Function) -> bool:
    """Whether the function's body does nothing: `pass`, `...`, `return None` or a docstring."""
    code = getattr(f, "__code__", None)
    nothing = ("RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE")
    return code is not None and all(step.opname in nothing for step in dis.get_instructions(code))


def same(a: Any, b: Array) -> bool:
    """Whether two arrays have one shape and, but for rounding, the same numbers."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.size:  # most that differ do so in their first number, and to compare them all takes thirty times as long
        one, other = a.item(0), b.item(0)
        if abs(one - other) > 1e-9 + 1e-7 * abs(other):
            return False
    return bool(np.allclose(a, b, rtol=1e-7, atol=1e-9))


def right_enough(a: Any, b: Array) -> bool:
    """Whether an answer is right: but for the rounding of float32, or for a 1e-6 beside a divisor, it is the same."""
    return bool(np.allclose(np.asarray(a), b, rtol=1e-5, atol=1e-7))


def several(raw: Any, *names: str) -> tuple[Any, ...] | list[Any]:
    """Return `raw` if it is a sequence that holds at least as many things as there are names, or raise Fault."""
    if not isinstance(raw, tuple | list) or len(raw) < len(names):
        raise Fault(f"return {listed(names)}, in this order; got {described(raw)}.")
    return raw


def _check_numbers(task: Exercise, f: Function) -> None:
    args = copy.deepcopy(task.args)
    raw = call(f, *args.values(), **copy.deepcopy(task.kwargs))
    for label, given in task.args.items():
        if not _unchanged(given, args[label]):
            how = "(h = h + a in place of h += a, or start from a copy)"
            raise Fault(f"{label} was changed in place: it is the caller's array. Write a new one {how}.")
    returned = _by_name(task, raw)
    for label, right in task.right.items():
        _check_form(label, returned[label], right, _summed(task, label))
    found = {label: np.asarray(returned[label]) for label in task.right}
    wrong = [label for label, right in task.right.items() if not right_enough(found[label], right)]
    if not wrong:
        return
    means = {label: a / task.batch if label.removeprefix("d") in task.grads else a for label, a in task.right.items()}
    of_batch = "the parameters' gradients are means over the batch; they must be sums.", means
    for message, outputs in itertools.chain(task.mistakes(), [of_batch]):
        if all(same(found[label], outputs[label]) for label in task.right):
            raise Fault(message)
    if task.guess is not None and (said := task.guess(found)):
        raise Fault(said)
    slips = ((label, *slip) for label in wrong for slip in _array_slips(task, label, found[label]))
    first, fault = next(((label, f"{label} {m}") for label, a, m in slips if same(found[label], a)), (wrong[0], ""))
    if not fault:
        value, right = found[first], task.right[first]
        at = tuple(int(i) for i in np.unravel_index(int(np.abs(value - right).argmax()), value.shape))
        place = f" at {list(at)}" if at else ""
        fault = f"{first} is wrong: it is {value[at]:.6g}{place}, and should be {right[at]:.6g}."
    fine = ", ".join(label for label in task.right if label not in wrong)
    more = ", ".join(label for label in wrong if label != first)
    raise Fault(fault + (f" Right: {fine}." if fine else "") + (f" Wrong too: {more}." if more else ""))


def _of_padding(task: Exercise, f: Function) -> str:
    """What is wrong if the NaN comes from the arguments, that is, if it goes where they hold 0 in its place."""
    arrays = {label: a for label, a in task.args.items() if isinstance(a, np.ndarray) and np.isnan(a).any()}
    zeros = {label: np.where(np.isnan(a), 0, a) for label, a in arrays.items()}
    if not arrays:
        return ""
    try:
        _check_numbers(replace(task, args=task.args | zeros), f)
    except Fault as other:
        return "" if "NaN" in str(other) else f"the padding is read, which holds NaN here. With 0 there: {other}"
    return "NaN in the padding reaches the result: 0 · NaN is NaN. Choose with np.where instead."


def _unchanged(given: Any, after: Any) -> bool:
    if given is None or callable(given):
        return True
    if isinstance(given, tuple | list):
        return len(given) == len(after) and all(map(_unchanged, given, after))
    given, after = (value.flat if isinstance(value, Params) else value for value in (given, after))
    return np.array_equal(given, after, equal_nan=True)


def _by_name(task: Exercise, raw: Any) -> dict[str, Any]:
    """Return what was returned under the names of the right outputs."""
    if task.flatten is not None:
        raw = task.flatten(raw)
    outer = [label for label in task.right if label.removeprefix("d") not in task.grads]
    if not task.grads:
        if len(outer) == 1:
            return {outer[0]: raw[0] if isinstance(raw, tuple) and raw else raw}
        return dict(zip(outer, several(raw, *outer), strict=False))
    *first, grads = several(raw, *outer, "grads")[: len(outer) + 1]
    kind = type(grads).__name__
    if isinstance(grads, Mapping):
        have = {str(label).removeprefix("d"): value for label, value in grads.items()}
    elif isinstance(grads, Params):
        have = {label: getattr(grads, label) for label in task.grads if hasattr(grads, label)}
    else:
        raise Fault(f"grads must be a dict of arrays by name, or start from p.zeros_like(); got {described(grads)}.")
    missing = ", ".join(label for label in task.grads if label not in have)
    if missing and isinstance(grads, Params):
        raise Fault(f"grads must be made by p.zeros_like(); this {kind} has no {missing}.")
    if missing:
        raise Fault(f"grads must have {', '.join(task.grads)}; {missing} missing.")
    return dict(zip(outer, first, strict=True)) | {f"d{label}": have[label] for label in task.grads}


def numbers(name: str, value: Any) -> Array:
    """Return an array of the numbers in `value`, or raise Fault."""
    try:
        array = np.asarray(value)
    except Exception:  # a ragged list, or an object that refuses, such as a tensor that requires a gradient
        array = np.asarray(None)
    if array.dtype.kind not in "biufc":
        raise Fault(f"{name} must be an array of numbers; got {described(value)}.")
    return array


def _summed(task: Exercise, label: str) -> int:
    """How many sequences an output is the sum over."""
    return task.batch if label.removeprefix("d") in task.grads else 1


def _check_form(name: str, value: Any, right: Array, N: int) -> None:
    """Raise Fault unless an output, a sum over N sequences, is an array of finite numbers of the right shape."""
    if value is None or value is Ellipsis:
        raise Fault(f"{name} is still {'None' if value is None else '...'}. The rest runs: fill in this one next.")
    array = numbers(name, value)
    if array.shape != right.shape:
        hint = ""
        if array.ndim == 2 and array.T.shape == right.shape:
            hint = " It is transposed."
        elif N > 1 and array.shape == (N, *right.shape):
            hint = " It has a row for each sequence: sum over the batch, axis 0."
        elif N > 1 and array.shape == (N,):
            hint = " That is a sum over the units: sum over the batch, axis 0, in place of axis 1."
        elif array.size == right.size:
            hint = " The numbers are that many: an axis is kept, dropped or moved."
        raise Fault(f"{name} must have shape {right.shape}; it has {array.shape}.{hint}")
    if not np.isfinite(array).all():
        why = "a division by 0, an overflow, or np.empty that was not filled"
        raise Fault(f"{name} holds NaN or infinity. Look for {why}.")


def _array_slips(task: Exercise, name: str, found: Array) -> Iterator[tuple[Array, str]]:
    """Yield what a wrong array may hold, and what its message is then."""
    right, terms = task.right[name], task.terms.get(name, {})
    for label, term in terms.items():
        yield right - term, f"lacks a term: {label}."
        yield right - 2 * term, f"has a term with the wrong sign: {label}."
        if len(terms) > 2:
            yield term, f"has only one of its {len(terms)} terms: {label}."
    yield -right, "has the wrong sign."
    yield right.T, "is transposed."
    if _summed(task, name) > 1:
        message = "is a mean over the batch; it must be the sum. The mean, if any, is in the loss already."
        yield right / task.batch, message
    yield from ((array, f"holds what belongs in {other}.") for other, array in task.right.items())
    yield 0 * right, "is all zeros."
    if right.any():
        with np.errstate(all="ignore"):
            factor = float(np.real(found * right).sum() / np.linalg.norm(right) ** 2)
        yield factor * right, f"is {factor:.6g} times what it should be."
