"""What ``python tools/do.py links`` asks of a reference: whether its DOI is registered.

Publishers turn robots away, so that the page behind a DOI cannot be asked for. The registry itself can.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from sphinx.application import Sphinx

DOI = "https://doi.org/"


def ask_the_registry(_app: Sphinx | None, address: str) -> str | None:
    """Where to ask about a DOI: it answers 404 for one that does not exist. None for any other address."""
    return f"{DOI}api/handles/{quote(address.removeprefix(DOI))}" if address.startswith(DOI) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("linkcheck-process-uri", ask_the_registry)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
