"""A content security policy in every page: what a browser may load and run there, whatever else gets into the page.

Scripts come from the book's own folder. The few that the template writes into pages are allowed by their hashes, and
those that a cell's output might hold are not. Nothing is evaluated: the explorers live without ``unsafe-eval``.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    # Sizes and places stand in style attributes: of figures and formulas, of what explorers move.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self' data:",  # the formulas' font stands in its style sheet: maths_font.py
    "form-action": "'self'",  # the search
    "base-uri": "'none'",
}
FRONT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta content="{policy}" http-equiv="Content-Security-Policy"/>
<meta content="0; url={front}" http-equiv="refresh"/>
<title>{title}</title>
</head>
</html>
"""


def hashed(script: str) -> str:
    """What allows a script that stands in a page."""
    return f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policy(scripts: list[str]) -> str:
    """The policy of a page that holds these scripts."""
    allowed = " ".join([POLICY["script-src"], *dict.fromkeys(map(hashed, scripts))])
    return "; ".join(f"{name} {value}" for name, value in (POLICY | {"script-src": allowed}).items())


def write_front(app: Sphinx) -> None:
    """Write the page that leads from the root to the front page; sphinx_external_toc would write one without a head."""
    title, front = app.config.html_title, app.builder.get_target_uri(app.config.root_doc)
    text = FRONT.format(policy=policy([]), title=title, front=front)
    (Path(app.outdir) / "index.html").write_text(text, "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("gru_served", False, "html")  # `do.py serve` sets it
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
