"""The reader's editions: ``python tools/editions.py`` writes them again, with or without solutions, after `make book`.

``--solutions folded`` (the default) puts each solution into a fold, ``in`` into cells, ``none`` leaves it out. ``--to``
names the folder.

``--lab`` brings the editions into ``lessons/``, where a reader may change what they like, and opens JupyterLab there. A
notebook that was changed is never written over: a newer edition of it comes beside it.
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

from edition_cells import WAYS, write_editions  # noqa: E402

WHOLE = ROOT / "_build" / "editions"
READERS = ROOT / "_build" / "html" / "notebooks"
LESSONS = ROOT / "lessons"
GIVEN = ".editions.json"  # in a folder of lessons: the hash of each notebook as it was given


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


# ----------------------------------------------------------------------------------------------------------------- main


def main(arguments: list[str]) -> int:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="editions", description="The notebooks that readers get.")
    parser.add_argument("--solutions", choices=WAYS, default="folded", help="what becomes of the solutions")
    parser.add_argument("--to", type=Path, default=READERS, metavar="FOLDER", help="where to write the editions")
    parser.add_argument(
        "--lab", nargs=argparse.REMAINDER, metavar="OPTION", help="open JupyterLab on copies in lessons/"
    )
    asked = parser.parse_args(arguments)
    if not any(WHOLE.glob("*.ipynb")):
        parser.error("there are no editions; `make book` (`python tools/do.py book`) writes them")
    if asked.lab is None:
        written = write_editions(WHOLE, (path.stem for path in WHOLE.glob("*.ipynb")), asked.to, asked.solutions)
        print(f"{len(written)} notebooks and an archive of them in {asked.to}")
        return 0
    for line in bring(sorted(READERS.glob("*.ipynb")), LESSONS):
        print(line)
    lab(LESSONS, asked.lab)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
