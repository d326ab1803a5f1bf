"""Faults, one at a time, in an equation: those that a slip of the pen makes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from equations import DOTS, GROUPS, Words, closing

EXCHANGED = {"+": "-", "-": "+", r"\odot": "+", r"\cdot": "+", r"\le": r"\ge", r"\ge": r"\le", "<": ">", ">": "<"}
EXCHANGED |= {r"\tanh": r"\sigma", r"\sigma": r"\tanh", r"\ln": r"\exp", r"\log": r"\exp", r"\exp": r"\log"}
EXCHANGED |= {r"\sum": r"\prod", r"\prod": r"\sum", r"\min": r"\max", r"\max": r"\min"}


def faults(words: Words) -> Iterator[Words]:
    """The equation with one fault each: a sign, an operation, a number, a name, an index, a transpose, the order."""
    letter = re.compile(
        r"[A-Za-z]$|\\(alpha|beta|gamma|lambda|mu|nu|rho|tau|theta|phi|pi|eta|varepsilon|kappa|ell|xi)$"
    )
    low: list[str] = []
    names: dict[bool, list[int]] = {True: [], False: []}
    for k, word in enumerate(words):  # where the names are: on the line (False), or in a subscript (True)
        after = words[k - 1] if k else ""
        if word in ("{", r"\begin"):
            low.append("_" if after == "_" else "skip" if after in (r"\begin", r"\end") else low[-1] if low else "")
        elif word in ("}", r"\end"):
            low.pop()
        elif letter.match(word) and (not low or low[-1] != "skip"):
            names[after == "_" or bool(low and low[-1] == "_")].append(k)
    for k, word in enumerate(words):
        if word in EXCHANGED and words[k + 1 : k + 2] not in ([dots] for dots in DOTS):
            yield [*words[:k], EXCHANGED[word], *words[k + 1 :]]
        if word.isdigit():
            yield [*words[:k], str(int(word) + 1), *words[k + 1 :]]
        if words[k : k + 2] == ["^", r"\top"]:
            yield words[:k] + words[k + 2 :]
        if words[k : k + 2] == ["1", "-"] and words[k - 1] not in ("_", "^"):
            yield words[:k] + words[k + 2 :]
        if words[k : k + 2] == ["-", "1"] and words[k + 2 : k + 3] == ["}"]:
            yield words[:k] + words[k + 2 :]
        if words[k - 1 : k + 1] == ["_", "t"]:
            yield [*words[:k], "{", "t", "-", "1", "}", *words[k + 1 :]]
    for where in names.values():
        for k in where:
            others = [words[j] for j in where if words[j] != words[k]]
            if others:
                yield [*words[:k], others[k % len(others)], *words[k + 1 :]]
    for k in names[False]:
        end = end_of_name(words, k)
        if words[k].isupper() and words[k + 1 : k + 2] == ["_"] and words[end : end + 1] != ["^"]:
            yield [*words[:end], "^", r"\top", *words[end:]]
        if end in names[False] and words[end].isupper():
            last = end_of_name(words, end)
            yield words[:k] + words[end:last] + words[k:end] + words[last:]


def end_of_name(words: Words, at: int) -> int:
    """Where the name ends that begins at `at`, with what hangs on it."""
    at += 1
    while at < len(words) and words[at] in ("_", "^", "'"):
        at = at + 1 if words[at] == "'" else closing(words, at + 1) + 1 if words[at + 1] in GROUPS else at + 2
    return at
