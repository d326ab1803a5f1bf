r"""TeX without the book's macros, which stand in ``_config.yml`` as ``maths_macros``: ``\gz[_t]`` is z_t in its colour.

A macro is its body, the number of its arguments, and the default of the first if that is an option.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx

CLASS = re.compile(r"\\class\{gru-(\w)\}")


def without_macros(tex: str, macros: dict[str, Any]) -> str:
    r"""TeX with the macros' bodies: ``\gz[_t]`` becomes ``\class{gru-z}{z_t}``."""
    for name, (body, count, *default) in macros.items():
        pattern = re.compile(rf"\\{name}(?![A-Za-z])")
        while found := pattern.search(tex):
            values, end = _arguments(tex, found.end(), count, default)
            text = body
            for number, value in enumerate(values, 1):
                text = text.replace(f"#{number}", value)
            tex = tex[: found.start()] + text + tex[end:]
    return tex


def without_classes(tex: str, form: Callable[[str, str], str]) -> str:
    r"""TeX in which ``\class{gru-z}{z_t}`` has become ``form("z", "z_t")``."""
    while found := CLASS.search(tex):
        (content,), end = _arguments(tex, found.end(), 1, [])
        tex = tex[: found.start()] + form(found[1], content) + tex[end:]
    return tex


def _arguments(tex: str, at: int, count: int, default: list[str]) -> tuple[list[str], int]:
    """The arguments of a macro whose name ends at `at`, and where they end."""
    values = list(default[:1])
    if default and tex[at : at + 1] == "[":
        end = _closing(tex, at, "]")
        values, at = [tex[at + 1 : end]], end + 1
    while len(values) < count:
        at += len(tex[at:]) - len(tex[at:].lstrip())
        if not tex[at:]:
            raise ValueError(f"an argument is missing: {tex}")
        end = _closing(tex, at, "}") if tex[at] == "{" else at
        values.append(tex[at + 1 : end] if tex[at] == "{" else tex[at])
        at = end + 1
    return values, at


def _closing(tex: str, at: int, closing: str) -> int:
    """Where the bracket that opens at `at` closes; brackets inside braces do not count."""
    depth = 0
    for position in range(at + 1, len(tex)):
        if tex[position] == closing and depth == 0:
            return position
        depth += {"{": 1, "}": -1}.get(tex[position], 0)
    raise ValueError(f"a bracket is not closed: {tex[at:]}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the macros."""
    app.add_config_value("maths_macros", {}, "env")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
