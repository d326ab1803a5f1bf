"""Run notebooks that students hand in, and print what the checker says: ``python tools/grade.py handed-in/*.ipynb``.

Each notebook is run in an empty folder; a cell that fails does not stop it. The calls of the checker are those of the
book's editions in ``_build/html/notebooks``, each made where the student's answer to the exercise ends, whatever the
notebook's own cells say. ``--csv`` prints a line for each exercise, for a spreadsheet. The notebooks run with your
rights: if you do not know who wrote them, use a container.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import editions
import nbformat
from environment import fix
from nbclient import NotebookClient
from nbformat import NotebookNode

HEADING = re.compile(r"^#+ .*$", re.M)
EXERCISE = re.compile(r"#+ Exercise (\w+\.\d+) ")
CALL = re.compile(r"^print\((check\.\w+\(.*\))\)$", re.M)
MARK = "gru-grade"
SAY = """
try:
    import gru_lib.check as _gru_check
    print({mark!r}, {number!r}, (lambda said: "Not done: " + said.message if said.blank else repr(said))(
        eval({call!r}, globals() | {{"check": _gru_check}})).replace(chr(10), " "))
except NameError as _gru_missing:
    print({mark!r}, {number!r}, f"Not done: there is no {{_gru_missing.name}}.")
except Exception as _gru_error:
    print({mark!r}, {number!r}, f"Not yet: {{type(_gru_error).__name__}}: {{_gru_error}}")
"""


class Verdict(NamedTuple):
    """What the checker says of one answer."""

    exercise: str
    call: str
    said: str


def headings(notebook: NotebookNode) -> set[str]:
    """The lines that are headings."""
    return {line for cell in notebook.cells if cell.cell_type == "markdown" for line in HEADING.findall(cell.source)}


def by_exercise(notebook: NotebookNode, known: set[str]) -> Iterator[tuple[NotebookNode, str]]:
    """The cells, each with the number of the exercise under whose heading it stands, or an empty string.

    Only a known heading begins something new; a student may put others into an answer.
    """
    number = ""
    for cell in notebook.cells:
        for line in HEADING.findall(cell.source) if cell.cell_type == "markdown" else ():
            if line in known:
                found = EXERCISE.match(line)
                number = found[1] if found else ""
        yield cell, number


def calls(edition: NotebookNode) -> dict[str, list[str]]:
    """The calls of the checker in the book's edition, by the exercise's number."""
    found: dict[str, list[str]] = {}
    for cell, number in by_exercise(edition, headings(edition)):
        if number and cell.cell_type == "code" and (made := CALL.findall(cell.source)):
            found.setdefault(number, []).extend(made)
    return found


def prepared(handed_in: NotebookNode, edition: NotebookNode) -> NotebookNode:
    """The student's cells, with the edition's calls added where each exercise ends."""
    cells: list[NotebookNode] = []
    open_calls, last = calls(edition), ""

    def close(number: str) -> None:
        for call in open_calls.pop(number, []):
            cells.append(nbformat.v4.new_code_cell(SAY.format(mark=MARK, number=number, call=call)))

    for cell, number in by_exercise(handed_in, headings(edition)):
        if number != last:
            close(last)
            last = number
        if cell.cell_type == "code":
            cells.append(nbformat.v4.new_code_cell(cell.source))
    for number in [last, *open_calls]:  # a heading that is gone: whatever was defined by the end
        close(number)
    return nbformat.v4.new_notebook(cells=cells)


def edition_of(handed_in: NotebookNode, known: dict[str, NotebookNode]) -> tuple[str, NotebookNode] | None:
    """The book's edition of the chapter that a notebook is, by its title."""
    title = next((line for cell in handed_in.cells for line in cell.source.split("\n") if line.startswith("# ")), "")
    return next(((name, e) for name, e in known.items() if e.cells[0].source.split("\n")[0] == title), None)


def grade(handed_in: NotebookNode, edition: NotebookNode, seconds: int = editions.TIMEOUT) -> list[Verdict]:
    """Run a notebook, and return what the checker says of each exercise that it can look at."""
    asked, notebook = calls(edition), prepared(handed_in, edition)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(
            notebook,
            timeout=seconds,
            kernel_name="python3",
            resources=where,
            allow_errors=True,
            interrupt_on_timeout=True,
        ).execute()
    said: dict[str, list[str]] = {}
    for cell in notebook.cells:
        for line in "".join(out.get("text", "") for out in cell.outputs).split("\n"):
            if cell.source.startswith(SAY.partition("print")[0]) and line.startswith(f"{MARK} "):
                _, number, words = line.split(" ", 2)
                said.setdefault(number, []).append(words)
    return [
        Verdict(number, call, words)
        for number in asked
        for call, words in zip(asked[number], said.get(number, []), strict=True)
    ]


def main(arguments: list[str]) -> int:
    """Grade the notebooks that the arguments name."""
    parser = argparse.ArgumentParser(
        prog="grade", description="What the checker says of notebooks that were handed in."
    )
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--csv", action="store_true", help="a line for each exercise, for a spreadsheet")
    asked = parser.parse_args(arguments)
    known = {path.stem: nbformat.read(path, as_version=4) for path in sorted(editions.READERS.glob("*.ipynb"))}
    if not known:
        parser.error("there are no editions to compare with; `make book` (`python tools/do.py book`) writes them")
    fix()
    table = csv.writer(sys.stdout)
    if asked.csv:
        table.writerow(["notebook", "exercise", "check", "right", "said"])
    unknown = 0
    for path in asked.notebooks:
        handed_in = nbformat.read(path, as_version=4)
        found = edition_of(handed_in, known)
        if found is None:
            print(f"{path}: no chapter of the book has this title", file=sys.stderr)
            unknown += 1
            continue
        verdicts = grade(handed_in, found[1])
        right = [verdict.said.startswith("Right: ") for verdict in verdicts]
        if asked.csv:
            for verdict, ok in zip(verdicts, right, strict=True):
                table.writerow([path, verdict.exercise, verdict.call, int(ok), verdict.said])
            continue
        print(f"{path}: {sum(right)} of {len(right)} right")
        for verdict in verdicts:
            print(f"  {verdict.exercise:5} {verdict.said}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
