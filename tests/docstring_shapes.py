"""The shapes in docstrings and beside fields, compared with the arrays of every call that the examples make.

A letter is one size within a call: the T of an argument is the T of what is returned, and D and H are those of `p`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

SHAPE = r"\(((?:[^()\s,]+(?: [+−-] [^()\s,]+)*,? ?)+)\)"
SIZE = re.compile(r"(\d*)([A-Z]\w*)?(?: ([+−-]) (\d+))?$")
Said = list[tuple[str, list[str]]]  # a name, and the shapes that it may have


class Doc(NamedTuple):
    """What a docstring says of a function."""

    name: str
    given: Said
    returned: Said


def section(doc: str, title: str) -> Said:
    """The names under "Parameters" or "Returns", and the shapes that their lines allow."""
    body = re.search(rf"^{title}\n-+\n((?:(?!\w+\n-+\n).*\n?)*)", doc, re.M)
    lines = re.findall(r"^(\w+(?:, \w+)*)(?: : (.*))?$", body[1] if body else "", re.M)
    return [
        (name, re.findall(SHAPE, said) if re.match(r"(?:array|integers|numbers)s? ?\(", said) else [])
        for names, said in lines
        for name in names.split(", ")
    ]


@lru_cache
def fields(kind: type) -> Said:
    """The fields of a class with a shape in the comment beside them: ``z: Array  # (T, N, H), or …``."""
    source = inspect.getsource(kind) if kind.__module__.startswith("gru_") else ""
    return [(name, re.findall(SHAPE, said)) for name, said in re.findall(r"^    (\w+): .*# (\([^#\n]*)", source, re.M)]


def fits(shape: tuple[int, ...], said: str, sizes: dict[str, int]) -> bool:
    """Whether a shape is the one said, with the letters known so far. New letters become known."""
    parts = [part for part in re.split(r", ?", said) if part]
    if parts[0] in ("...", "…"):  # any axes before
        parts, shape = parts[1:], shape[max(0, len(shape) - len(parts) + 1) :]
    if len(parts) != len(shape):
        return False
    new = dict(sizes)
    for size, part in zip(shape, parts, strict=True):
        found = SIZE.match(part)
        if found is None or not (found[1] or found[2]):
            continue  # words
        factor, letter, sign, more = found.groups()
        size -= int(f"{'' if sign in (None, '+') else '-'}{more or 0}")
        if letter is None:
            if size != int(factor):
                return False
        elif new.setdefault(letter, size // int(factor or 1)) * int(factor or 1) != size:
            return False
    sizes.update(new)
    return True


def wrong(values: Iterable[tuple[str, Any, list[str]]], sizes: dict[str, int]) -> Iterator[str]:
    for name, value, said in values:
        if said and value is not None and not isinstance(value, dict | str):
            shape = np.shape(value)
            if not any(fits(shape, one, sizes) for one in sorted(said, key=len)):
                yield f"{name} is {shape}, and said to be ({') or ('.join(said)}) with {sizes}"


def docs_of(modules: Iterable[ModuleType]) -> Iterator[tuple[Any, Doc]]:
    for module in modules:
        for name in getattr(module, "__all__", ()):
            thing = inspect.unwrap(getattr(module, name))
            if inspect.isfunction(thing) and thing.__module__ == module.__name__:
                doc = inspect.getdoc(thing) or ""
                yield thing.__code__, Doc(name, section(doc, "Parameters"), section(doc, "Returns"))


@contextmanager
def compared(docs: dict[Any, Doc], faults: list[str]) -> Iterator[None]:
    """Within it, every call of these functions is compared with its docstring."""
    known: dict[FrameType, dict[str, int]] = {}

    def look(frame: FrameType, event: str, value: Any) -> None:
        if event not in ("call", "return") or frame.f_code not in docs:
            return
        name, given, returned = docs[frame.f_code]
        if event == "call":
            p = frame.f_locals.get("p")
            known[frame] = {key: getattr(p, key) for key in "DH" if isinstance(getattr(p, key, None), int)}
            args = ((f"{name}: {a}", frame.f_locals.get(a), said) for a, said in given)
            faults.extend(wrong(args, known[frame]))
            return
        sizes = known.pop(frame, {})
        if value is None:
            return
        values = value if isinstance(value, tuple) and len(returned) > 1 else (value,)
        if returned and len(values) != len(returned):
            faults.append(f"{name} gives {len(values)} values, and its docstring names {len(returned)}")
        else:
            made = ((f"{name} gives {a}", one, said) for (a, said), one in zip(returned, values, strict=False))
            faults.extend(wrong(made, sizes))
        for one in values:
            held = ((a, getattr(one, a, None), said) for a, said in fields(type(one)))
            parts = ((f"{type(one).__name__}.{a}", v, said) for a, v, said in held if isinstance(v, np.ndarray))
            own = {key: getattr(one, key) for key in "DH" if isinstance(getattr(one, key, None), int)}
            faults.extend(wrong(parts, sizes | own))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)
