"""Typeset maths from the book's own files, without requests to another host.

The MathJax that ``sphinx-mathjax-offline`` installs weighs 24 MB. The pages use one component, its fonts, the TeX
extensions and the assistive MathML: 2 MB, copied into ``_static/mathjax``.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions",
    "output/chtml.js",
    "output/chtml/fonts",
    "a11y/assistive-mml.js",
)


def mathjax_folder() -> Path:
    """The folder of the installed MathJax. The package's name has hyphens, so an import statement cannot find it."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise ExtensionError("offline_mathjax: sphinx-mathjax-offline is not installed. Install the extra `book`.")
    return Path(spec.origin).parent / "static" / "mathjax"


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy the parts of MathJax that the pages load, unless they are there already."""
    if exception is not None or app.builder.format != "html":
        return
    source, target = mathjax_folder(), Path(app.outdir) / "_static" / "mathjax"
    for part in PARTS:
        if (target / part).exists():
            continue
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part)
        else:
            shutil.copy2(source / part, target / part)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("build-finished", copy_mathjax)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
