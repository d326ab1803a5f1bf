"""Execute the book's notebooks, store their outputs, and keep each equal to its MyST twin.

``python tools/notebooks.py [NAME …]`` does every notebook, or those whose name starts with a NAME (``04``). The twin
``book_text/NN-name.md`` is what people write and review; ``book/NN-name.ipynb`` is what the book is built from.
A notebook that has no twin yet gets one.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from environment import reproducible
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
BOOK, TEXT = ROOT / "book", ROOT / "book_text"
TIMEOUT = 60  # seconds a cell may take; nbval allows three times that, for a busy machine
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def names() -> list[str]:
    """Every notebook of the book, by name."""
    return sorted({p.stem for p in (*BOOK.glob("*.ipynb"), *TEXT.glob("*.md"))})


def read_twin(name: str) -> NotebookNode:
    """The notebook a twin describes, without outputs."""
    return jupytext.read(TEXT / f"{name}.md", fmt="md:myst")


def write_twin(name: str, notebook: NotebookNode) -> None:
    """Write a notebook's twin: its cells, without outputs."""
    plain = nbformat.from_dict(notebook)
    plain.metadata = nbformat.from_dict({"kernelspec": METADATA["kernelspec"]})
    jupytext.write(plain, TEXT / f"{name}.md", fmt="md:myst")


def newer_side(name: str) -> NotebookNode:
    """The cells to execute: from the twin, or from the notebook when that was edited last (in JupyterLab)."""
    twin, notebook = TEXT / f"{name}.md", BOOK / f"{name}.ipynb"
    if not twin.exists() or (notebook.exists() and notebook.stat().st_mtime > twin.stat().st_mtime):
        return nbformat.read(notebook, as_version=4)
    return read_twin(name)


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Drop what differs from run to run or machine to machine: ids, timings, widget state, editor metadata."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:03d}"
        for key in ("execution", "collapsed", "scrolled", "jupyter", "editable", "slideshow"):
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    notebook.cells = [c for c in notebook.cells if c.source.strip()]
    return notebook


def run(name: str) -> None:
    """Execute one notebook and write it and its twin."""
    notebook = newer_side(name)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = nbformat.from_dict(METADATA)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        store_widget_state=False,
        record_timing=False,
        coalesce_streams=True,  # one output for all that a cell prints, however it arrives
    )
    total = sum(c.cell_type == "code" for c in notebook.cells)
    if sys.stderr.isatty():
        client.on_cell_executed = lambda cell, cell_index, execute_reply: print(
            f"\r{name}: {cell.execution_count} of {total} cells", end="", file=sys.stderr
        )
    client.execute()
    normalise(notebook)
    nbformat.validate(notebook)
    nbformat.write(notebook, BOOK / f"{name}.ipynb")
    write_twin(name, notebook)
    (BOOK / f"{name}.ipynb").touch()
    (TEXT / f"{name}.md").touch()  # the twin last, so that the next edit of either side is seen


def main(wanted: list[str]) -> int:
    """Run the notebooks asked for; return how many failed."""
    chosen = [n for n in names() if not wanted or any(n.startswith(w) for w in wanted)]
    if not chosen:
        sys.exit(f"no notebook starts with {' or '.join(wanted)}; there are {', '.join(names())}")
    os.environ.update(reproducible())
    failed = 0
    for i, name in enumerate(chosen, 1):
        start = time.perf_counter()
        try:
            run(name)
        except CellExecutionError as error:
            failed += 1
            print(f"\n[{i}/{len(chosen)}] {name}: a cell failed\n{error}", flush=True)
            continue
        print(f"\r[{i}/{len(chosen)}] {name}: {time.perf_counter() - start:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main([Path(a).stem for a in sys.argv[1:]]))
