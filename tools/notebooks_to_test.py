"""What `make test` executes: the chapters as their readers have them. `make book` comes first.

``python tools/notebooks_to_test.py`` writes into ``_build/to-test``, all of it anew:

- ``kernel``: what wheels built here hold of `gru_lib` and `gru_book`, and a kernel `to-test`, which conftest.py lets
  Jupyter find. Its Python is the one that runs this, with these packages and without the source tree.
- ``run/<chapter>/<chapter>.ipynb``, each in a folder where nothing else lies: the reader's notebook, its solutions in
  cells, with the outputs that are stored in ``book/``, for nbval to compare. The cells that it adds must print what
  they hold: the one below an exercise says that there is no answer yet.
  A page that has cells and no such notebook, the front page, is there as it is.
- ``keys.json``: for each of these a hash of all that its outputs depend on. conftest.py notes the keys of those that
  pass in ``_build/passed.json``, and `make test` executes no notebook whose key stands there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import environment
import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
READER = ROOT / "_build" / "reader"
OUT = ROOT / "_build" / "to-test"
LIBRARY, RUN = OUT / "kernel" / "library", OUT / "run"
JUPYTER = OUT / "kernel" / "share" / "jupyter"
KEYS, PASSED = OUT / "keys.json", ROOT / "_build" / "passed.json"
NAME = "to-test"
# What each of the two wheels is built from.
PACKAGES = (("gru_lib", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "LICENSE-TEXT"), ("gru_book",))
KERNEL = """
import sys
sys.path = [path for path in sys.path if path != {!r}]
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""
BUILD = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"


def wheels(folder: Path) -> list[Path]:
    """Build both wheels into a folder, from copies: setuptools keeps files of earlier builds beside the sources."""
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as name:
            source = Path(name)
            for each in package:
                if (ROOT / each).is_dir():
                    shutil.copytree(ROOT / each, source / each, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / each, source)
            start = source if (source / "pyproject.toml").is_file() else source / package[0]
            build = [sys.executable, "-c", BUILD, str(folder)]
            done = subprocess.run(build, cwd=start, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
    return sorted(folder.glob("*.whl"))


def to_run(reader: NotebookNode, chapter: NotebookNode) -> NotebookNode:
    """A reader's notebook with the outputs of its chapter. Their code cells must be the same."""
    own = [cell for cell in chapter.cells if cell.cell_type == "code"]
    notebook = nbformat.from_dict(reader)
    install, *code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    added = [install, *(cell for cell in code if "exercise" in cell.metadata.get("gru", {}))]
    for cell in added:
        cell.metadata = nbformat.from_dict({})
    code = [cell for cell in code if cell not in added]
    if [cell.source for cell in code] != [cell.source for cell in own]:
        raise ValueError("the reader's code cells are not those of the chapter; `make book` writes it again")
    for cell, stored in zip(code, own, strict=True):
        cell.metadata, cell.outputs = stored.metadata, stored.outputs
    notebook.metadata = nbformat.from_dict(notebook.metadata | {"kernelspec": {"display_name": NAME, "name": NAME}})
    return notebook


def key(notebook: Path) -> str:
    """A hash of what a notebook's outputs depend on: it, both packages, the lock, Python, and the environment."""
    files = [notebook, *sorted(p for p in LIBRARY.rglob("*") if p.is_file()), ROOT / "requirements.lock"]
    digest = hashlib.sha256(f"{sys.version} {environment.asked()} {environment.FIXED}".encode())
    for file in (*files, ROOT / "tools" / "environment.py", ROOT / "tests" / "nbval-sanitize.cfg"):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def main() -> None:
    """Write everything anew."""
    shutil.rmtree(OUT, ignore_errors=True)
    JUPYTER.joinpath("kernels", NAME).mkdir(parents=True)
    for wheel in wheels(OUT):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(LIBRARY)
    command = [sys.executable, "-c", KERNEL.format(str(ROOT)), "-f", "{connection_file}"]
    start = {"argv": command, "display_name": NAME, "language": "python", "env": {"PYTHONPATH": str(LIBRARY)}}
    JUPYTER.joinpath("kernels", NAME, "kernel.json").write_text(json.dumps(start, indent=1), "utf8")
    for path in sorted(BOOK.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if path.stem[0].isdigit():
            if not (READER / path.name).is_file():
                sys.exit(f"There is no _build/reader/{path.name}. Run `python tools/do.py book` first.")
            notebook = to_run(nbformat.read(READER / path.name, as_version=4), notebook)
        else:
            notebook.metadata.kernelspec.name = NAME
        (RUN / path.stem).mkdir(parents=True)
        nbformat.write(notebook, RUN / path.stem / path.name)
    KEYS.write_text(json.dumps({path.stem: key(path) for path in sorted(RUN.glob("*/*.ipynb"))}, indent=0), "utf8")


if __name__ == "__main__":
    main()
