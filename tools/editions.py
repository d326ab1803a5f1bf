"""The reader's editions: ``python tools/editions.py`` writes them again, with or without solutions, after `make book`.

``--solutions folded`` (the default) puts each solution into a fold, ``in`` into cells, ``none`` leaves it out. ``--to``
names the folder.

``--lessons`` brings the editions into ``lessons/``, where a reader may change what they like: a notebook that was
changed is never written over. A newer edition of it comes beside it. ``--lab`` then opens JupyterLab there.

``--run`` executes the editions in an empty folder with the Python that runs this, and compares what they print with
what is stored. That Python needs the wheel, the extras that the chapters ask for, nbclient and ipykernel.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import nbformat
from environment import fix
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

WHOLE = ROOT / "_build" / "editions"
READERS = ROOT / "_build" / "html" / "notebooks"
LESSONS = ROOT / "lessons"
GIVEN = ".editions.json"  # in a folder of lessons: the hash of each notebook as it was given
TIMEOUT = 180


# -------------------------------------------------------------------------------------------------------------- lessons


def bring(editions: list[Path], folder: Path) -> list[str]:
    """Bring the editions into a folder of lessons; return what there is to say.

    A notebook is replaced if it is as it was given. If it was changed, a newer edition comes beside it, once.
    """
    folder.mkdir(exist_ok=True)
    record = folder / GIVEN
    given: dict[str, str] = json.loads(record.read_text("utf8")) if record.is_file() else {}
    said = []
    for edition in editions:
        new = _hash(edition)
        for number in range(1, 100):
            name = edition.stem + ("", " (new)", f" (new {number - 1})")[min(number, 3) - 1] + ".ipynb"
            lesson = folder / name
            if lesson.is_file() and given.get(name) == new:
                break  # given before, changed or not
            if not lesson.is_file() or _hash(lesson) in (given.get(name), new):
                lesson.write_bytes(edition.read_bytes())
                given[name] = new
                if number > 1:
                    said.append(f"{edition.name} has your changes and stays. Its new edition is {name!r}.")
                break
    record.write_text(json.dumps(given, indent=1, sort_keys=True) + "\n", "utf8")
    return said


def _hash(path: Path) -> str:
    """The hash of a notebook's cells. Jupyter notes its kernel even if one only opens a notebook."""
    content = path.read_bytes()
    if content.startswith(b"{"):
        with suppress(ValueError):  # not a notebook any more
            cells = nbformat.reads(content.decode(), as_version=4).cells
            content = json.dumps(cells, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def lab(folder: Path, options: list[str]) -> None:
    """Become JupyterLab in a folder of lessons: numbers as in the book, figures and progress as elsewhere."""
    fix()
    environment = {k: v for k, v in os.environ.items() if k not in ("GRU_FIGURES", "TQDM_DISABLE")}
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [sys.executable, "-m", "jupyterlab", *root, *options, str(folder)]
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.call(command, env=environment))
    os.execve(command[0], command, environment)


# ------------------------------------------------------------------------------------------------------------------ run


def execute(edition: Path, folder: Path) -> list[str]:
    """Execute an edition in a folder; return what went wrong, and what came out otherwise than it is stored."""
    stored = nbformat.read(edition, as_version=4)
    fresh = nbformat.from_dict(stored)
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(fresh, timeout=TIMEOUT, kernel_name="python3", resources=where, coalesce_streams=True)
    try:
        client.execute()
    except CellExecutionError as error:
        return [f"{error.ename}: {error.evalue}"]
    wrong = []
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        if old.cell_type == "code" and _printed(old) != _printed(new):
            lines = difflib.unified_diff(
                _printed(old).split("\n"), _printed(new).split("\n"), "stored", "printed", n=0, lineterm=""
            )
            wrong.append("\n".join([f"cell {old.id}:", *lines]))
    return wrong


def _printed(cell: NotebookNode) -> str:
    """What a cell has printed. Pictures are compared where the book's own notebooks are executed."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return re.sub(r" at 0x[0-9a-f]+", "", "".join(texts))


def run(editions: list[Path]) -> int:
    """Execute editions, each in an empty folder; return how many failed."""
    fix()
    failed = 0
    for edition in editions:
        with tempfile.TemporaryDirectory() as folder:
            wrong = execute(edition, Path(folder))
        failed += bool(wrong)
        print(f"{edition.name}: {'runs' if not wrong else ''}", *wrong, sep="\n  " if wrong else "", flush=True)
    return failed


# ----------------------------------------------------------------------------------------------------------------- main


def main(arguments: list[str]) -> int:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="editions", description="The notebooks that readers get.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="with --run: such as 04; all if there is none")
    parser.add_argument("--solutions", default="folded", help="what becomes of the solutions: folded, in, none")
    parser.add_argument("--to", type=Path, default=READERS, metavar="FOLDER", help="where to write the editions")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--lessons", action="store_true", help="bring the book's editions into lessons/")
    rest = argparse.REMAINDER
    what.add_argument("--lab", nargs=rest, metavar="OPTION", help="the same, and open JupyterLab there, with OPTIONs")
    what.add_argument("--run", action="store_true", help="execute the book's editions in an empty folder")
    asked = parser.parse_args(arguments)
    if not any(WHOLE.glob("*.ipynb")):
        parser.error("there are no editions; `make book` (`python tools/do.py book`) writes them")
    editions = sorted(READERS.glob("*.ipynb"))
    if asked.run:
        return run([each for each in editions if not asked.names or each.name.startswith(tuple(asked.names))])
    if not asked.lessons and asked.lab is None:
        from edition_cells import WAYS, write_editions  # it needs docutils, which who only runs them may not have

        if asked.solutions not in WAYS:
            parser.error(f"--solutions must be {', '.join(WAYS)}; got {asked.solutions!r}")
        written = write_editions(WHOLE, (path.stem for path in WHOLE.glob("*.ipynb")), asked.to, asked.solutions)
        print(f"{len(written)} notebooks and an archive of them in {asked.to}")
        return 0
    for line in bring(editions, LESSONS):
        print(line)
    if asked.lab is not None:
        lab(LESSONS, asked.lab)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
