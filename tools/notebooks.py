"""Make the book's notebooks from their text, and execute them.

``book_text/NN-name.md`` is what people write. ``book/NN-name.ipynb`` is made from it by jupytext, and the book is built
from that. It is executed if code has changed; where only prose has, it keeps its outputs. A notebook carries the hash
of the cells it was made with. So one that was changed since, in JupyterLab for instance, is not written over. The hash
of its outputs stands in ``book/outputs.json``; if they have changed since, it is executed again.

``python tools/notebooks.py [NAME …]`` does every notebook, or those whose name starts with a NAME (``04``).
``--execute`` executes them in any case, which a change of the library asks for; of a notebook that was changed,
``--to-text`` brings the change into the text, and ``--from-text`` drops it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import environment
import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from gru_lib.io import write_atomically

ROOT = Path(__file__).resolve().parents[1]
BOOK, TEXT = ROOT / "book", ROOT / "book_text"
TIMEOUT = 60  # seconds a cell may take; nbval allows three times that, for a busy machine
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# The first cell of a notebook as it is stored, for who opens the file; no other notebook or page has it.
NOTE = """\
*This is how the page is stored. To read it, run `python tools/do.py book` in the project's folder, or `lab` in place of
`book` for a notebook to work in. A copy on GitHub that publishes has those notebooks on its branch `notebooks`.*"""
UNCHANGED = "nothing has changed"
PROSE = "prose has changed and no code: not executed, outputs kept"
# Metadata that editors leave in a cell.
PASSING = ("execution", "collapsed", "scrolled", "jupyter", "editable", "slideshow")
CLIP = re.compile(r'<clipPath id="(p[0-9a-f]{10})">(.*?)</clipPath>', re.S)


class Refused(Exception):
    """Nothing was written, and why."""


# ------------------------------------------------------------------------------------------------------- the two sides


def names() -> list[str]:
    """Every notebook of the book, by name."""
    return sorted({p.stem for p in (*BOOK.glob("*.ipynb"), *TEXT.glob("*.md"))})


def short(name: str) -> str:
    """What the commands call a notebook: 07 for ``07-subtraction``."""
    return name.partition("-")[0]


def read_text(name: str) -> NotebookNode | None:
    """The notebook that a text describes, without outputs; None if there is no text."""
    path = TEXT / f"{name}.md"
    return normalise(jupytext.reads(path.read_text("utf8"), fmt="md:myst")) if path.is_file() else None


def read_notebook(name: str) -> NotebookNode | None:
    """The stored notebook in normal form; None if there is none."""
    path = BOOK / f"{name}.ipynb"
    return normalise(nbformat.read(path, as_version=4)) if path.is_file() else None


def as_stored(notebook: NotebookNode) -> str:
    """The text of the ``.ipynb`` file."""
    note = nbformat.v4.new_markdown_cell(NOTE, id="note", metadata={"tags": ["remove-cell"]})
    return nbformat.writes(nbformat.from_dict({**notebook, "cells": [note, *notebook.cells]})).rstrip("\n") + "\n"


def store(name: str, notebook: NotebookNode) -> None:
    """Write a notebook, whole or not at all, with the hash of the cells that it now shares with its text."""
    notebook = normalise(notebook)
    notebook.metadata["gru"] = {"text_sha256": fingerprint(notebook)}
    nbformat.validate(notebook)
    write_atomically(BOOK / f"{name}.ipynb", as_stored(notebook).encode())
    known = outputs() | {name: hash_of([cell.outputs for cell in code(notebook)])}
    write_atomically(BOOK / "outputs.json", f"{json.dumps(known, indent=1, sort_keys=True)}\n".encode())


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Drop the note, and what differs from run to run or machine to machine: ids, timings, editor metadata."""
    hashes = {"gru": notebook.metadata["gru"]} if "gru" in notebook.metadata else {}
    notebook.metadata = nbformat.from_dict(METADATA | hashes)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.cells = [c for c in notebook.cells if c.source.strip() not in ("", NOTE)]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
        cell.source = cell.source.strip("\n")
        for key in PASSING:
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            data.pop("application/vnd.jupyter.widget-view+json", None)
            if "image/svg+xml" in data:
                data["image/svg+xml"] = name_clips(data["image/svg+xml"])
    return notebook


def name_clips(svg: str) -> str:
    """Name a figure's clip paths after their coordinates as they are written, to six decimals.

    matplotlib names them after all digits, and the last one is not the same in every run: the solver that lays out a
    figure takes its variables in the order of their addresses in memory.
    """
    for name, coordinates in CLIP.findall(svg):
        svg = svg.replace(name, "c" + hashlib.sha256(coordinates.encode()).hexdigest()[:10])
    return svg


# --------------------------------------------------------------------------------------------------- what has changed


def own_parts(notebook: NotebookNode) -> list[tuple[str, str, dict[str, Any]]]:
    """What a person wrote of a notebook: each cell's kind, source and metadata."""
    return [(cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]


def fingerprint(notebook: NotebookNode) -> str:
    """A hash of what a person wrote."""
    return hash_of(own_parts(notebook))


def hash_of(parts: Any) -> str:
    """A hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def outputs() -> dict[str, str]:
    """The hash of each notebook's outputs as they were stored."""
    path = BOOK / "outputs.json"
    return json.loads(path.read_text("utf8")) if path.is_file() else {}


def untouched(name: str, notebook: NotebookNode) -> bool:
    """Whether a stored notebook's outputs are those that it was stored with."""
    return hash_of([cell.outputs for cell in code(notebook)]) == outputs().get(name)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def has_outputs_for(notebook: NotebookNode, text: NotebookNode) -> bool:
    """Whether a notebook holds what the text's code computes: the same code, executed in order."""
    cells = code(notebook)
    in_order = [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    return in_order and [cell.source for cell in cells] == [cell.source for cell in code(text)]


# ----------------------------------------------------------------------------------------------------------- commands


def make(name: str, *, execute: bool = False, to_text: bool = False, from_text: bool = False) -> str:
    """Make one notebook from its text; return what was done."""
    text, old = read_text(name), read_notebook(name)
    if text is None:
        raise Refused(f"there is no book_text/{name}.md")
    agree = old is None or own_parts(text) == own_parts(old) or fingerprint(old) == old.metadata.gru.text_sha256
    if not agree and to_text:
        notebook = nbformat.v4.new_notebook(cells=old.cells, metadata={"kernelspec": METADATA["kernelspec"]})
        (TEXT / f"{name}.md").write_text(jupytext.writes(notebook, fmt="md:myst"), "utf8")
        text = read_text(name)
    elif not agree and not from_text:
        raise Refused(
            "the notebook was changed since it was made. Nothing was written. To bring the change into the text:"
            f" `make notebooks NB={short(name)} ARGS=--to-text`; to drop it: ARGS=--from-text."
        )
    # A file in another form was saved by an editor, and its outputs are those of somebody's session.
    ours = old is not None and (BOOK / f"{name}.ipynb").read_text("utf8") == as_stored(old) and untouched(name, old)
    if old is None or execute or not ours or not has_outputs_for(old, text):
        start = time.perf_counter()
        run(text)
        store(name, text)
        return f"executed, {time.perf_counter() - start:.1f} s"
    if own_parts(text) == own_parts(old):
        return UNCHANGED
    for cell, executed in zip(code(text), code(old), strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    store(name, text)
    return PROSE


def run(notebook: NotebookNode) -> None:
    """Execute a notebook's cells."""
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        store_widget_state=False,
        record_timing=False,
        coalesce_streams=True,  # one output for all that a cell prints, however it arrives
    )
    client.execute()


def main(arguments: list[str]) -> int:
    """Do the notebooks asked for; return how many were refused or failed."""
    parser = argparse.ArgumentParser(prog="notebooks", description="Make the book's notebooks from their text.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 04; every notebook if there is none")
    parser.add_argument("--execute", action="store_true", help="execute, even if no code has changed")
    parser.add_argument("--to-text", action="store_true", help="write a notebook that has changed into its text")
    parser.add_argument("--from-text", action="store_true", help="replace a notebook that has changed")
    asked = parser.parse_args(arguments)
    stems = [Path(n).stem for n in asked.names]
    chosen = [n for n in names() if not stems or any(n.startswith(s) for s in stems)]
    if not chosen:
        parser.error(f"no notebook starts with {' or '.join(stems)}; there are {', '.join(map(short, names()))}")
    environment.fix()
    failed = kept = 0
    for i, name in enumerate(chosen, 1):
        try:
            done = make(name, execute=asked.execute, to_text=asked.to_text, from_text=asked.from_text)
        except (Refused, CellExecutionError) as error:
            failed += 1
            done = str(error) if isinstance(error, Refused) else f"a cell failed, no output was stored\n{error}"
        kept += done in (UNCHANGED, PROSE)
        print(f"\r[{i}/{len(chosen)}] {name}: {done}", flush=True)
    if kept:
        print(f"{kept} not executed. After a change of the library, add --execute (make notebooks ARGS=--execute).")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
