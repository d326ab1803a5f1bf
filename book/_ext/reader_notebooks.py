"""The reader's notebook of each chapter, one that any Jupyter shows well, behind the page's download button.

It is written from the resolved page, in which numbers, references, citations and listings stand as readers see them.
``_build/reader`` gets them with all solutions, ``notebooks/`` in the book those for readers, and an archive of these.
``SOLUTIONS`` in the environment says what becomes of the solutions: ``folded``, ``in`` (cells), ``none``, or ``no``,
with which neither the pages nor the notebooks hold a trace of them.

QuantEcon's ``sphinx-tojupyter`` was tried. It knows no gated solutions, folds nothing, leaves macros as they are and
brings dask and nbdime, so little of its 3,500 lines would have been used.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import nbformat
from chapter_numbers import chapter_number, is_chapter
from docutils import nodes
from plain_markdown import Page
from reader_cells import ARCHIVE, VARIANTS, as_file, assemble, checks, without_solutions, write_notebooks
from repository import wheels
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.directives.code import LiteralInclude
from sphinx.errors import ExtensionError
from sphinx.util.display import progress_message

FOLDER = "notebooks"


def without_examples(code: str) -> str:
    """Leave out the examples at the end of docstrings: a page that shows code explains it, and the API has them."""
    code = re.sub(r'\n\n +Examples\n +-{8}\n.*?(\n +""")', r"\1", code, flags=re.S)
    return re.sub(r'^( *)"""(.*)\n\1"""$', r'\1"""\2"""', code, flags=re.M)  # a docstring of one line


class Listing(LiteralInclude):
    """`literalinclude` without examples, that remembers what it shows."""

    def run(self) -> list[nodes.Node]:
        """Return the listing."""
        found = super().run()
        for block in (block for node in found for block in node.findall(nodes.literal_block)):
            block.rawsource = without_examples(block.rawsource)
            block[:] = [nodes.Text(block.rawsource)]
            block["listing"] = self.options.get("pyobject", "")
            block["listing_file"] = os.path.normpath(Path("book") / self.arguments[0]).replace(os.sep, "/")
        return found


def configure(app: Sphinx, config: Config) -> None:
    """Take the switch from the environment; without solutions no page's source may be copied."""
    config.gru_solutions = os.environ.get("SOLUTIONS") or "folded"
    if config.gru_solutions not in (*VARIANTS, "no"):
        raise ExtensionError(f"SOLUTIONS must be {', '.join(VARIANTS)} or no; got {config.gru_solutions!r}")
    if config.gru_solutions == "no":
        config.html_copy_source = False
        shutil.rmtree(app.outdir / "_sources", ignore_errors=True)


def drop_solutions(app: Sphinx, docname: str, source: list[str]) -> None:
    """Read a chapter as if it had no solutions, when the book is built without."""
    if app.config.gru_solutions == "no" and is_chapter(docname):
        source[0] = nbformat.writes(without_solutions(nbformat.reads(source[0], as_version=4)))


def write_complete(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the notebook of a page, with all its solutions."""
    if app.builder.format != "html" or not is_chapter(docname):
        return
    chapter = nbformat.read(app.env.doc2path(docname), as_version=4)
    calls = checks(chapter)
    if app.config.gru_solutions == "no":
        chapter = without_solutions(chapter)
    site = app.config.html_baseurl
    here = urljoin(site.rstrip("/") + "/", app.builder.get_target_uri(docname)) if site else ""

    def link(target: str) -> str | None:
        """Where a reference leads: to another host, to the page on the site, or to the notebook beside this one."""
        if re.match(r"https?:", target):
            return target
        if site:
            return urljoin(here, target)
        name = target.partition("#")[0].removesuffix(".html")
        return f"{name}.ipynb" if name and is_chapter(name) else None

    macros = app.config.maths_macros
    number = chapter_number(docname)
    page = Page(macros, app.env.toc_fignumbers.get(docname, {}), link, "" if number is None else f"{number}. ")
    title = f"From *{app.config.html_title}*" if not site else f"From [*{app.config.html_title}*]({here})"
    packages = wheels(app.config.gru_repository)
    notebook = assemble(page.parts(doctree.children), chapter, calls, f"{title}. {ADVICE}", packages)
    path = _folder(app) / f"{docname.rpartition('/')[2]}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_file(notebook), "utf8")


ADVICE = (
    "Run the cells from the top (Shift + Enter); an explorer is a picture until its cell has run."
    " Below each exercise put your answer in place of `...`; the cell after it checks it."
)


def add_download(_app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let a chapter's download button give its notebook, and every other page's the archive of all."""
    name = f"{pagename.rpartition('/')[2]}.ipynb" if is_chapter(pagename) else ARCHIVE
    if doctree is not None:
        context["gru_download"] = f"{FOLDER}/{name}"


@progress_message("writing the readers' notebooks")
def write_for_readers(app: Sphinx) -> None:
    """Write the notebooks that readers get, also those whose page this build left as it was."""
    names = [name.rpartition("/")[2] for name in app.env.found_docs if is_chapter(name)]
    solutions = app.config.gru_solutions
    write_notebooks(_folder(app), names, Path(app.outdir) / FOLDER, "none" if solutions == "no" else solutions)


def _folder(app: Sphinx) -> Path:
    return Path(app.outdir).parent / "reader"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("gru_solutions", "folded", "env")
    app.add_directive("literalinclude", Listing, override=True)
    app.connect("config-inited", configure)
    app.connect("source-read", drop_solutions)
    app.connect("doctree-resolved", write_complete)
    app.connect("html-page-context", add_download)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
