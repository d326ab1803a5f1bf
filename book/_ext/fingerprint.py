"""Rebuild every page when something changes that Sphinx does not watch: style sheets, explorers, these extensions,
what sets the formulas.

Sphinx compares its configuration with that of the previous build, so a hash of those files goes into it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

WATCHED = (
    "book/_ext/*.*",
    "book/_static/*.*",
    "book/_templates/*.*",
    "gru_lib/widgets/*.*",
    "gru_lib/widgets/stills/*.*",
    "gru_lib/viz.py",
    "package-lock.json",
)


def fingerprint(root: Path) -> str:
    """A hash of the watched files' names and contents."""
    digest = hashlib.sha256()
    for pattern in WATCHED:
        for path in sorted(root.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def set_fingerprint(app: Sphinx, config: Config) -> None:
    """Store the hash where Sphinx compares it."""
    config.gru_fingerprint = fingerprint(Path(app.srcdir))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("gru_fingerprint", "", "env")
    app.connect("config-inited", set_fingerprint)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
