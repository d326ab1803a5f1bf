"""Run notebooks that students hand in, and print what the checker says: ``.venv/bin/python tools/grade.py handed-in``.

Each notebook, also in folders of the folder, is run in an empty folder; a cell that fails or is stopped for taking too
long does not stop it. The calls of the checker are those of the book's own in ``_build/html/notebooks``, each made
where the student's answer to the exercise ends, whatever the notebook's own cells say. ``--csv`` prints a line for each
check, for a spreadsheet; sent to a file it is in UTF-8 with the mark by which Excel knows that, whatever the system's
encoding. A file that cannot be read as a notebook is listed with the reason, and so is what was not run
since a kernel died; the exit code is then 1. The notebooks run with your rights: if you do not know who wrote them, use
a container.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import nbformat
import notebooks_for_readers
from environment import fix
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.reader import NotJSONError

HEADING = re.compile(r"^#+ .*$", re.M)
EXERCISE = re.compile(r"#+ Exercise (\w+\.\d+) ")
CALL = re.compile(r"^print\((check\.\w+\(.*\))\)$", re.M)
FILE = re.compile(r"\(\S+, (?=line \d+\)$)")  # Python's name for a cell, where a syntax error is
TIMEOUT = 180  # seconds that a cell may take
MARK = "gru-grade"
SAY = """
try:
    import gru_book.check as _gru_check
    print({mark!r}, {number!r}, (lambda said: "Not done: " + said.message if said.blank else repr(said))(
        eval({call!r}, globals() | {{"check": _gru_check}})).replace(chr(10), " "))
except NameError as _gru_missing:
    print({mark!r}, {number!r}, f"{missing}{{_gru_missing.name}}.")
except Exception as _gru_error:
    print({mark!r}, {number!r}, f"Not yet: {{type(_gru_error).__name__}}: {{_gru_error}}")
"""

MISSING = "Not done: there is no "
NOT_RUN = "Not run: the kernel had died, or took too long."


class NotGraded(Exception):
    """Why a file was not graded, in a few words."""


class Verdict(NamedTuple):
    """What the checker says of one answer."""

    exercise: str
    call: str
    said: str


def read(path: Path) -> NotebookNode:
    """A notebook, of whatever version."""
    try:
        notebook = nbformat.read(path, as_version=4)
        if any(not isinstance(cell.source, str) or not cell.cell_type for cell in notebook.cells):
            raise ValueError
    except Exception as error:
        reasons = {FileNotFoundError: "not there", NotJSONError: "cut off, or not a notebook"}
        words = "no notebook in it" if path.is_dir() else reasons.get(type(error), "not a notebook")
        raise NotGraded(f"unreadable: {words}") from None
    if not notebook.cells:
        raise NotGraded("unreadable: no cells")
    return notebook


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


def calls(original: NotebookNode) -> dict[str, list[str]]:
    """The calls of the checker in the book's notebook, by the exercise's number."""
    found: dict[str, list[str]] = {}
    for cell, number in by_exercise(original, headings(original)):
        if number and cell.cell_type == "code" and (made := CALL.findall(cell.source)):
            found.setdefault(number, []).extend(made)
    return found


def prepared(handed_in: NotebookNode, original: NotebookNode) -> NotebookNode:
    """The student's cells, with the book's calls added where each exercise ends."""
    cells: list[NotebookNode] = []
    open_calls, last = calls(original), ""

    def close(number: str) -> None:
        for call in open_calls.pop(number, []):
            say = SAY.format(mark=MARK, number=number, call=call, missing=MISSING)
            cells.append(nbformat.v4.new_code_cell(say, metadata={MARK: number, "check": True}))

    for cell, number in by_exercise(handed_in, headings(original)):
        if number != last:
            close(last)
            last = number
        if cell.cell_type == "code":
            cells.append(nbformat.v4.new_code_cell(cell.source, metadata={MARK: number, "check": False}))
    for number in [last, *open_calls]:  # a heading that is gone: whatever was defined by the end
        close(number)
    return nbformat.v4.new_notebook(cells=cells)


def original_of(handed_in: NotebookNode, known: list[NotebookNode]) -> NotebookNode:
    """The book's notebook that one is: the one of whose title and exercises it has the most."""

    def shared(original: NotebookNode) -> int:
        title = original.cells[0].source.split("\n")[0]
        return sum(line == title or EXERCISE.match(line) is not None for line in there & headings(original))

    there = headings(handed_in)
    best = max(known, key=shared)
    if not shared(best):
        raise NotGraded("it has no title and no exercise of the book")
    return best


def stopped(cell: NotebookNode) -> str:
    """The error in which a student's cell ended, in a few words; or an empty string.

    Their own call of the checker needs what is missing: that is not the reason.
    """
    for out in cell.outputs:
        if out.output_type == "error" and not (out.ename == "NameError" and CALL.search(cell.source)):
            if out.ename == "KeyboardInterrupt":
                return f"was stopped after {TIMEOUT} s"
            at = {"StdinNotImplementedError": "input()", "SystemExit": "sys.exit()"}.get(out.ename)
            said = FILE.sub("(", out.evalue.split("\n")[0])
            return f"stopped at {at}" if at else f"stopped with {out.ename}: {said}"
    return ""


def grade(handed_in: NotebookNode, original: NotebookNode, longest: int = 5 * TIMEOUT) -> list[Verdict]:
    """Run a notebook, for so many seconds at most, and return what the checker says of each exercise it can look at."""
    asked, notebook = calls(original), prepared(handed_in, original)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            resources=where,
            allow_errors=True,
            interrupt_on_timeout=True,
            extra_arguments=["--log-level=ERROR"],
        )

        async def execute() -> None:  # a cell may go on when it is interrupted
            await asyncio.wait_for(client.async_execute(), longest)

        with suppress(RuntimeError, TimeoutError):  # whatever an answer does to its kernel, it must not stop a class
            try:
                run_sync(execute)()
            except AssertionError:  # so ends what nbclient does at Ctrl-C
                raise KeyboardInterrupt from None
    said: dict[str, list[str]] = {}
    why: dict[str, str] = {}
    for cell in notebook.cells:
        number, at = cell.metadata[MARK], stopped(cell)
        if not cell.metadata["check"]:
            why[number] = why.get(number) or at
            continue
        lines = "".join(out.get("text", "") for out in cell.outputs).split("\n")
        words = next((line.split(" ", 2)[2] for line in reversed(lines) if line.startswith(f"{MARK} ")), "")
        if at:
            words = f"Not yet: the check {at}."
        elif why.get(number) and not words.startswith("Right: "):
            words = f"Not yet: a cell {why[number]}. {'' if words.startswith(MISSING) else words}"
        if words:
            said.setdefault(number, []).append(words.rstrip())
    return [
        Verdict(number, call, words)
        for number in asked
        for call, words in zip_longest(asked[number], said.get(number, []), fillvalue=NOT_RUN)
    ]


def found(names: list[str]) -> Iterator[Path]:
    """The files that names stand for: a folder has those in it, and a pattern may come as it was typed."""
    for name in names:
        for path in map(Path, [name] if Path(name).exists() else sorted(glob(name)) or [name]):
            inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else []
            yield from [each for each in inside if ".ipynb_checkpoints" not in each.parts] or [path]


def write_utf8(*, mark: bool) -> None:
    """Print to a file or a pipe in UTF-8: cp1252 and Latin-1 have no σ, and would lose a class at its first message."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8-sig" if mark else "utf-8", newline="" if mark else None)


def main(arguments: list[str]) -> int:
    """Grade the notebooks that the arguments name."""
    parser = argparse.ArgumentParser(
        prog="grade", description="What the checker says of notebooks that were handed in."
    )
    parser.add_argument("notebooks", nargs="+", help="files, or folders of them")
    parser.add_argument("--csv", action="store_true", help="a line for each check, for a spreadsheet")
    asked = parser.parse_args(arguments)
    known = [nbformat.read(path, as_version=4) for path in sorted(notebooks_for_readers.READERS.glob("*.ipynb"))]
    if not known:
        parser.error("there are no notebooks to compare with; `make book` (`python tools/do.py book`) writes them")
    fix()
    write_utf8(mark=asked.csv)
    table = csv.writer(sys.stdout)
    if asked.csv:
        table.writerow(["notebook", "exercise", "check", "right", "said"])
    all_graded = True
    for path in found(asked.notebooks):
        try:
            handed_in = read(path)
            verdicts = grade(handed_in, original_of(handed_in, known))
        except NotGraded as why:
            all_graded = False
            if asked.csv:
                table.writerow([path, "", "", "", why])
            else:
                print(f"{path}: {why}")
            continue
        all_graded &= not any(verdict.said == NOT_RUN for verdict in verdicts)
        right = [verdict.said.startswith("Right: ") for verdict in verdicts]
        if asked.csv:
            for verdict, ok in zip(verdicts, right, strict=True):
                table.writerow([path, verdict.exercise, verdict.call, int(ok), verdict.said])
            continue
        print(f"{path}: {sum(right)} of {len(right)} right")
        for verdict in verdicts:
            print(f"  {verdict.exercise:5} {verdict.said}")
    return 0 if all_graded else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("grade: interrupted; what is printed is whole, and the rest was not run.")
