"""The reader's notebooks, made of a page's Markdown and the chapter's cells, and their variants.

First a chapter's notebook holds its solutions as cells, each marked with the exercise it belongs to. From it come those
that people get, with the solutions ``folded`` (the default), ``in`` as cells, or ``none`` at all.
"""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
import textwrap
import zipfile
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from plain_markdown import Cell, Exercise, Part, Solution, fenced

from gru_book import check
from gru_book.check.engine import EXERCISES
from gru_book.check.values import VALUES
from gru_book.table import STYLE as TABLE_STYLE
from gru_book.widgets import Explorer
from gru_book.widgets._modules import styles

VARIANTS = ("folded", "in", "none")
ARCHIVE = "gru-book-notebooks.zip"
DISTRIBUTIONS = ("gru-lib", "gru-book")
# How the cell that checks an answer starts.
CHECK = "from gru_book import check\n"
FIRST = """\
import os

# One thread for NumPy: products as small as these take longer if threads share them.
# This has to come before NumPy is imported; where it was imported earlier, as in Colab, it changes nothing.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

"""
# A name alone is not installed unasked: until the first release, nobody knows whose it is on the package index.
BY_NAME = """\
# If gru_book is not installed here, remove the first "#" of the last line and run this cell.
# Until the first release, write two paths there: of the project's folder, and of gru_book in it.
# %pip install gru-book
"""
BY_WHEELS = """\
try:
    import gru_book
except ImportError:
    %pip install -q {}
"""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
PAPER = '<rect class="paper" width="100%" height="100%" fill="#FBFBFA"/>'
EDGE = 24  # labels of a preview may stand this far outside its drawing
START, END = re.compile(r"^```\{solution-start\} (\S+)$", re.M), re.compile(r"^```\{solution-end\}\n```$", re.M)
WIDE = re.compile(r'<svg class="[^"]*\bex-only-wide\b[^"]*" viewBox="([^"]*)".*?</svg>', re.S)
EXERCISE = re.compile(r"^```\{exercise\}[^\n]*\n:label: (\S+)\n(.*?)^```$", re.M | re.S)
LABEL = re.compile(r'aria-label="([^"]*)"')
CALL = re.compile(r"`(check\.\w+\([^`]+\))`")


# ------------------------------------------------------------------------------------ solutions in a chapter's notebook


def pieces(cells: Iterable[NotebookNode]) -> Iterator[tuple[NotebookNode, str, str | None]]:
    """A chapter's cells, cut where solutions begin and end: the cell, its text, the exercise that it solves."""
    solved: str | None = None
    for cell in cells:
        text = cell.source
        while cell.cell_type == "markdown" and (found := (END if solved else START).search(text)):
            if solved:
                yield cell, text[: found.end()], solved
                solved, text = None, text[found.end() :]
            else:
                yield cell, text[: found.start()], None
                solved, text = found[1], text[found.start() :]
        yield cell, text, solved


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """A chapter's notebook as if no solution had been written."""
    left = [(cell, text) for cell, text, solved in pieces(notebook.cells) if solved is None and text.strip()]
    cells = [nbformat.from_dict({**cell, "source": text}) for cell, text in left]
    return nbformat.from_dict({**notebook, "cells": cells})


def checks(notebook: NotebookNode) -> dict[str, list[str]]:
    """The calls of `gru_book.check` that an exercise shows, by its label."""
    return {
        label: calls
        for cell, text, solved in pieces(notebook.cells)
        if cell.cell_type == "markdown" and not solved
        for label, body in EXERCISE.findall(text)
        if (calls := CALL.findall(body))
    }


def starter(calls: Iterable[str]) -> str:
    """How an answer begins: with `...` for each value and each function that the calls of `check` look at."""
    blocks = []
    for call in calls:
        made: Any = ast.parse(call, mode="eval").body
        name, answers = made.func.attr, [argument.id for argument in made.args]
        if name in VALUES:
            blocks.append("\n".join(f"{answer} = ..." for answer in answers))
            continue
        task = EXERCISES[name](**{option.arg: ast.literal_eval(option.value) for option in made.keywords})
        given = " ".join((inspect.getdoc(EXERCISES[name]) or "").split("\n\n")[1].split()).replace("`", "")
        given = re.sub(r"\([^()]*\)", lambda shape: shape[0].replace(" ", "\xa0"), given)  # none is broken
        lines = [f"def {answers[0]}({', '.join([*task.args, *task.kwargs])}):"]
        for words in given.replace("; return ", ".\nReturn ").split("\n"):
            lines += textwrap.wrap(words, 76, initial_indent="    # ", subsequent_indent="    # ")
        blocks.append("\n".join([*lines, "    ..."]).replace("\xa0", " "))
    return "\n\n\n".join(blocks)


# --------------------------------------------------------------------------------------------------- with all solutions


def install(wheels: Sequence[str] = ()) -> str:
    """The first code cell: one thread for NumPy; where the packages are missing, their wheels, or how to get them."""
    named = " ".join(f'"{name} @ {wheel}"' for name, wheel in zip(DISTRIBUTIONS, wheels, strict=False))
    return (FIRST + (BY_WHEELS.format(named) if wheels else BY_NAME)).rstrip()


def assemble(
    parts: Iterable[Part], chapter: NotebookNode, calls: dict[str, list[str]], head: str, wheels: Sequence[str] = ()
) -> NotebookNode:
    """A chapter's notebook with solutions: title, text and cells, and a place to type in for each exercise."""
    cells: list[NotebookNode] = []
    prose: list[str] = []

    def flush() -> None:
        if prose:
            cells.append(nbformat.v4.new_markdown_cell("\n\n".join(prose)))
            prose.clear()

    def add(part: Part) -> None:
        if isinstance(part, str):
            if part.startswith("#"):
                flush()
            if part:
                prose.append(part)
            return
        if isinstance(part, Cell):
            if part.title:
                prose.append(part.title)
            flush()
            cells.append(_stored(chapter.cells[part.index]))
            if part.caption:
                prose.append(part.caption)
            alt = chapter.cells[part.index].metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            if alt:
                words = " ".join(alt.split())
                prose.append(f"<details><summary>The figure in words</summary>\n\n{words}\n\n</details>")
        elif isinstance(part, Exercise):
            flush()
            cells.extend(_answer(part, calls.get(part.label, [])))
        elif isinstance(part, Solution):
            flush()
            first = len(cells)
            add(f"**Solution of exercise {part.number}**")
            for each in part.parts:
                add(each)
            flush()
            for cell in cells[first:]:
                cell.metadata["gru"] = {"solution": part.label, "number": part.number}

    for part in parts:
        add(part)
    flush()
    title, *rest = cells[0].source.split("\n\n", 1)
    cells[0].source = "\n\n".join([title, head, *rest])
    return _numbered([cells[0], nbformat.v4.new_code_cell(install(wheels)), *cells[1:]])


def _stored(cell: NotebookNode) -> NotebookNode:
    """A code cell of the chapter, its outputs such that a notebook shows them before anything has run."""
    cell = nbformat.from_dict(cell)
    tags = cell.metadata.get("tags", [])
    folds = {"hide-input": "source_hidden", "hide-output": "outputs_hidden"}
    hidden = {name: True for tag, name in folds.items() if tag in tags}
    metadata: dict[str, Any] = {"jupyter": hidden} if hidden else {}
    for output in cell.outputs:
        data = output.get("data", {})
        if explorer := Explorer.from_html(data.get("text/html", "")):
            metadata["tags"] = ["nbval-ignore-output"]  # live, it is a widget
            output["data"] = {"text/html": as_image(picture(explorer)), "text/plain": data["text/plain"]}
        elif 'class="table gru-table"' in data.get("text/html", ""):
            data["text/html"] = TABLE_STYLE + data["text/html"]
        elif "image/svg+xml" in data:
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            svg = on_paper(data.pop("image/svg+xml"))
            output["data"] = {"text/html": as_image(svg, " ".join(alt.split())), "text/plain": data["text/plain"]}
    cell.metadata = nbformat.from_dict(metadata)
    return cell


def as_image(svg: str, alt: str = "") -> str:
    """A picture as an element that also shows in a notebook that is not trusted yet; there Jupyter draws no SVG."""
    alt = alt or html.unescape(found[1] if (found := LABEL.search(svg)) else "")
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'


def on_paper(svg: str) -> str:
    """A figure with a background, so that it can be read in a dark theme."""
    return svg if PAPER in svg else re.sub(r"(<svg\b[^>]*>)", rf"\1{PAPER}", svg, count=1)


def picture(explorer: Explorer) -> str:
    """The preview of an explorer as a file of its own."""
    svg = WIDE.search(explorer.fallback())
    if svg is None:
        raise ValueError(f"no preview of {explorer!r}: run `python tools/previews.py`")
    width, height = map(float, svg[1].split()[2:])
    size = f'width="{width + 2 * EDGE:g}" height="{height + 2 * EDGE:g}"'
    drawing = svg[0].replace("<svg ", f'<svg style="width: auto" width="{width:g}" height="{height:g}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
        f"<style><![CDATA[{styles(explorer.module, tokens=True)}]]></style>{PAPER}"
        f'<g class="gru-ex gru-{explorer.module}" transform="translate({EDGE} {EDGE})">{drawing}</g></svg>'
    )


def _answer(exercise: Exercise, calls: list[str]) -> Iterator[NotebookNode]:
    """A cell to type in; below it, if the answer can be checked, a cell that does it, and says that there is none."""
    metadata = {"gru": {"exercise": exercise.label}}
    begun = starter(calls)
    yield nbformat.v4.new_code_cell(begun, metadata=metadata)
    if not calls:
        return
    names: dict[str, Any] = {"check": check}
    exec(begun, names)
    printed = "".join(f"{eval(call, names)}\n" for call in calls)
    yield nbformat.v4.new_code_cell(
        "\n".join([CHECK, *(f"print({call})" for call in calls)]),
        metadata=metadata | {"tags": ["nbval-ignore-output"]},
        outputs=[nbformat.v4.new_output("stream", text=printed)],
    )


# ------------------------------------------------------------------------------------------------------------- variants


def variant(notebook: NotebookNode, solutions: str) -> NotebookNode:
    """A notebook with its solutions ``folded``, ``in``, or ``none``."""
    if solutions not in VARIANTS:
        raise ValueError(f"solutions must be {', '.join(VARIANTS)}; got {solutions!r}")
    cells: list[NotebookNode] = []
    for cell in nbformat.from_dict(notebook).cells:
        mark = cell.metadata.pop("gru", {})
        if "solution" not in mark or solutions == "in":
            cells.append(cell)
        elif solutions == "folded":
            if not (cells and cells[-1].metadata.get("gru") == mark):
                start = f"<details><summary>Solution of exercise {mark['number']}</summary>"
                cells.append(nbformat.v4.new_markdown_cell(start, metadata={"gru": mark}))
                cell.source = cell.source.partition("\n\n")[2]  # the summary says whose solution it is
            _fold(cell, cells[-1])
    for cell in cells:
        if cell.metadata.pop("gru", None):
            cell.source += "\n\n</details>"
    return _numbered(cells)


def _fold(cell: NotebookNode, into: NotebookNode) -> None:
    """Add a cell of a solution, with what it printed and drew, to the Markdown cell that holds the solution."""
    blocks = [cell.source] if cell.cell_type == "markdown" else [fenced(cell.source, "python")]
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/html" in data:
            blocks.append(data["text/html"])
        else:
            blocks += ["Output:", fenced(output.get("text", data.get("text/plain", "")), "text")]
    into.source = "\n\n".join([into.source, *(block for block in blocks if block)])


def _numbered(cells: list[NotebookNode]) -> NotebookNode:
    """A notebook of these cells; ids and execution counts follow their order."""
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    count = 0
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:03d}"
        if cell.cell_type == "code" and cell.source:
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    nbformat.validate(notebook)
    return notebook


# ---------------------------------------------------------------------------------------------------------------- files


def as_file(notebook: NotebookNode) -> str:
    """The text of a notebook's file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def write_notebooks(source: Path, names: Iterable[str], target: Path, solutions: str) -> list[Path]:
    """Write the notebooks of the chapters `names`, and one archive of them all, into the folder `target`."""
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in sorted(names):
        path = target / f"{name}.ipynb"
        notebook = nbformat.read(source / path.name, as_version=4)
        path.write_text(as_file(variant(notebook, solutions)), "utf8")
        paths.append(path)
    for old in set(target.glob("*.ipynb")) - set(paths):
        old.unlink()
    with zipfile.ZipFile(target / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            entry = zipfile.ZipInfo(f"gru-book/{path.name}")  # no time: the same files give the same archive
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, path.read_text("utf8"))
    return paths
