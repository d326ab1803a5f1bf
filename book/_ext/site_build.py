"""What a build does beside reading and writing pages: what it watches, and what it makes when all pages are written."""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import mathml
from frame import pages_written
from maths_font import write_sheet
from reader_notebooks import write_for_readers
from search_index import write_index
from site_files import write_files, write_moved
from sphinx.application import Sphinx
from sphinx.config import Config

# What Sphinx does not watch: every page is built anew when one of these changes.
WATCHED = (
    "book/_ext/*.*",
    "book/_static/*.*",
    "book/_templates/*.*",
    "gru_book/widgets/*.*",
    "gru_book/widgets/previews/*.*",
    "gru_book/viz.py",
    "package-lock.json",
)
DOI = "https://doi.org/"
FRONT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta content="0; url={front}" http-equiv="refresh"/>
<title>{title}</title>
</head>
</html>
"""


def fingerprint(root: Path) -> str:
    """A hash of the watched files' names and contents."""
    digest = hashlib.sha256()
    for path in (path for pattern in WATCHED for path in sorted(root.glob(pattern))):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def watch(app: Sphinx, config: Config) -> None:
    """Put the hash where Sphinx compares the configuration with that of the build before."""
    config.gru_fingerprint = fingerprint(Path(app.srcdir))


def ask_the_registry(_app: Sphinx | None, address: str) -> str | None:
    """Where `do.py links` asks about a DOI: the registry answers 404 for one that does not exist, while publishers turn
    robots away. None for any other address."""
    return f"{DOI}api/handles/{quote(address.removeprefix(DOI))}" if address.startswith(DOI) else None


def write_front(app: Sphinx) -> None:
    """Write the page that leads from the root to the front page; sphinx_external_toc would write one without a head."""
    text = FRONT.format(title=app.config.html_title, front=app.builder.get_target_uri(app.config.root_doc))
    (Path(app.outdir) / "index.html").write_text(text, "utf8")


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write what is made of all pages."""
    mathml.stop()
    if exception is not None or app.builder.format != "html":
        return
    write_front(app)
    write_index(app)
    if pages_written(app):  # or all pages are as they were
        write_sheet(app)
        write_for_readers(app)
    write_files(app)
    write_moved(app)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension. It finishes after sphinx_external_toc, which writes a front page of its own."""
    # A document is a cycle of thousands of nodes. As Python counts, reading one back from disk is reason to look
    # through all of them again: nine tenths of the time of a build with nothing to do.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    app.add_config_value("gru_fingerprint", "", "env")
    app.connect("config-inited", watch)
    app.connect("build-finished", finish, priority=600)
    app.connect("linkcheck-process-uri", ask_the_registry)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
