"""``python tools/notebooks_for_readers.py``, after `make book`, writes these again, with or without solutions.

``--solutions folded`` (the default) puts each solution into a fold, ``in`` into cells, ``none`` leaves it out. ``--to``
names the folder.

``--lab`` brings them into ``lessons/``, where a reader may change what they like, and opens JupyterLab there. A
notebook that was changed is never written over: a newer one comes beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import nbformat
from environment import fix

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from reader_cells import VARIANTS, write_notebooks  # noqa: E402

COMPLETE = ROOT / "_build" / "reader"
READERS = ROOT / "_build" / "html" / "notebooks"
LESSONS = ROOT / "lessons"
GIVEN = ".editions.json"  # in a folder of lessons: the hash of each notebook as it was given


# -------------------------------------------------------------------------------------------------------------- lessons


def copy_to_lessons(notebooks: list[Path], folder: Path) -> list[str]:
    """Bring the notebooks into a folder of lessons; return what there is to say.

    A notebook is replaced if it is as it was given. If it was changed, a newer one comes beside it, once.
    """
    folder.mkdir(exist_ok=True)
    record = folder / GIVEN
    given: dict[str, str] = json.loads(record.read_text("utf8")) if record.is_file() else {}
    said = []
    for notebook in notebooks:
        new = _hash(notebook)
        for number in range(1, 100):
            name = notebook.stem + ("", " (new)", f" (new {number - 1})")[min(number, 3) - 1] + ".ipynb"
            lesson = folder / name
            if lesson.is_file() and given.get(name) == new:
                break  # given before, changed or not
            if not lesson.is_file() or _hash(lesson) in (given.get(name), new):
                lesson.write_bytes(notebook.read_bytes())
                given[name] = new
                if number > 1:
                    said.append(f"{notebook.name} has your changes and stays. The new one is {name!r}.")
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


# ----------------------------------------------------------------------------------------------------------------- main


def main(arguments: list[str]) -> int:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="notebooks_for_readers", description="The notebooks that readers get.")
    parser.add_argument("--solutions", choices=VARIANTS, default="folded", help="what becomes of the solutions")
    parser.add_argument("--to", type=Path, default=READERS, metavar="FOLDER", help="where to write the notebooks")
    parser.add_argument(
        "--lab", nargs=argparse.REMAINDER, metavar="OPTION", help="open JupyterLab on copies in lessons/"
    )
    asked = parser.parse_args(arguments)
    if not any(COMPLETE.glob("*.ipynb")):
        parser.error("there are no notebooks; `make book` (`python tools/do.py book`) writes them")
    if asked.lab is None:
        written = write_notebooks(COMPLETE, (path.stem for path in COMPLETE.glob("*.ipynb")), asked.to, asked.solutions)
        print(f"{len(written)} notebooks and an archive of them in {asked.to}")
        return 0
    for line in copy_to_lessons(sorted(READERS.glob("*.ipynb")), LESSONS):
        print(line)
    lab(LESSONS, asked.lab)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
