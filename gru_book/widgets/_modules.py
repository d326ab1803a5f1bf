"""From source files to the one ES module that a front end takes.

anywidget wants an explorer as the text of one module, and a page opened from disk cannot load modules at all. So the
sources import each other as usual, and `assemble` puts them into one text. It knows three line forms and no more::

    import { a, b } from "./file.mjs";      replaced by the file's text, the first time it is named
    import NAME from "./file.json";         replaced by `const NAME = <the file's text>;`
    export function f / export const c      loses its `export`

The entry keeps its final `export default`. All files share one scope, so a name may be defined at the top of one only.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PREVIEWS = HERE / "previews"
_IMPORT = re.compile(r'^import\s+(?P<what>[^;]*?)\s+from\s+"\./(?P<file>[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_TYPES = re.compile(r"^ *(?:/\*\*.*?\*/|// @ts-check)\n", re.MULTILINE | re.DOTALL)  # no page needs them


def data(file: str) -> dict[str, Any]:
    """Return what a `.json` beside this file holds: an explorer and its module read the same."""
    found: dict[str, Any] = json.loads((HERE / file).read_text("utf-8"))
    return found


def assemble(entry: str, folder: Path = HERE) -> str:
    """Return the text of one ES module without imports and type comments: `entry` and all that it imports."""
    seen: set[str] = set()

    def text_of(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        source = _TYPES.sub("", (folder / file).read_text("utf-8"))
        return _EXPORT.sub("", _IMPORT.sub(inline, source))

    def inline(found: re.Match[str]) -> str:
        file = found["file"]
        if not file.endswith(".json"):
            return text_of(file)
        if file in seen:
            return ""
        seen.add(file)
        return f"const {found['what']} = {(folder / file).read_text('utf-8').strip()};\n"

    return text_of(entry)


def classic(name: str) -> str:
    """Return the explorer as a classic script: it hands its default export to the host of the page."""
    body, _, default = assemble(f"{name}.mjs").rpartition("export default")
    register = f'afmHost.register("{name}", {default.strip().rstrip(";")});'
    return f'(function () {{\n"use strict";\n{body}\n{register}\n}})();\n'


def styles(name: str, *, tokens: bool) -> str:
    """Return the style sheets of an explorer as one text; a page of the book has the tokens already."""
    files = [*(["gru-tokens.css"] if tokens else []), "explorer.css", f"{name}.css"]
    return "\n".join((HERE / file).read_text("utf-8") for file in files)
