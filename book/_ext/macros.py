r"""TeX without the book's macros, which stand in ``_config.yml`` as ``maths_macros``: ``\gz[_t]`` is z_t in its colour.

A macro is its body, the number of its arguments, which is 1, and the default of the argument if that is an option.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from typing import Any

from sphinx.application import Sphinx

# An argument in braces, in which pairs of braces stand up to five deep.
INSIDE = reduce(lambda inside, _: rf"(?:[^{{}}]|\{{{inside}\}})*", range(5), r"[^{}]*")
BRACES = rf"\{{({INSIDE})\}}"
CLASS = re.compile(rf"\\class\{{gru-(\w)\}}{BRACES}")


def without_macros(tex: str, macros: dict[str, Any]) -> str:
    r"""TeX with the macros' bodies: ``\gz[_t]`` becomes ``\class{gru-z}{z_t}``."""
    for name, (body, _, *default) in macros.items():
        argument = r"(?:\[([^][]*)\])?" if default else rf"\s*(?:{BRACES}|(\w))"
        pattern = re.compile(rf"\\{name}(?![A-Za-z]){argument}")
        while found := pattern.search(tex):
            value = next((group for group in found.groups() if group is not None), "".join(default))
            tex = tex[: found.start()] + body.replace("#1", value) + tex[found.end() :]
    return tex


def without_classes(tex: str, form: Callable[[str, str], str]) -> str:
    r"""TeX in which ``\class{gru-z}{z_t}`` has become ``form("z", "z_t")``."""
    while found := CLASS.search(tex):
        tex = tex[: found.start()] + form(found[1], found[2]) + tex[found.end() :]
    return tex


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the macros."""
    app.add_config_value("maths_macros", {}, "env")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
