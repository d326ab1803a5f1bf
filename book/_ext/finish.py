"""What a build does when all of its pages are written, in this order and in one place."""

from __future__ import annotations

from typing import Any

import mathml
from content_policy import write_front
from frame import written
from maths_font import write_sheet
from reader_editions import write_for_readers
from search_index import write_index
from site_files import write_files
from sphinx.application import Sphinx


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write what is made of all pages."""
    mathml.stop()
    if exception is not None or app.builder.format != "html":
        return
    write_front(app)
    write_index(app)
    if written(app):  # or all pages are as they were
        write_sheet(app)
        write_for_readers(app)
    write_files(app)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension: after sphinx_external_toc, which writes a front page of its own."""
    app.connect("build-finished", finish, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
