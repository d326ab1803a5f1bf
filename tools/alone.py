"""What `make test` executes: the chapters as their readers have them. `make book` comes first.

``python tools/alone.py`` writes into ``_build/alone``, all of it anew:

- ``kernel``: an environment that has `gru_lib` from a wheel built here. It shares all other packages with the
  environment that runs this, but neither its links into the source tree nor ``PYTHONPATH``. Notebooks know it as the
  kernel `alone`, which conftest.py lets Jupyter find.
- ``run/<chapter>/<chapter>.ipynb``, each in a folder where nothing else lies: the reader's edition, its solutions in
  cells, with the outputs that are stored in ``book/``, for nbval to compare. The edition's own cells must print what
  they hold: the one below an exercise says that there is no answer yet.
  A page that has cells and no edition, the front page, is there as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
WHOLE = ROOT / "_build" / "editions"
ALONE = ROOT / "_build" / "alone"
KERNEL, RUN = ALONE / "kernel", ALONE / "run"
JUPYTER = KERNEL / "share" / "jupyter"
NAME = "alone"
PACKAGE = ("gru_lib", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "LICENSE-TEXT")
BUILD = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"


def wheel(folder: Path) -> Path:
    """Build the wheel into a folder, from a copy: setuptools keeps files of earlier builds beside the sources."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        for each in PACKAGE:
            if (ROOT / each).is_dir():
                shutil.copytree(ROOT / each, source / each, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / each, source)
        build = [sys.executable, "-c", BUILD, str(folder)]
        done = subprocess.run(build, cwd=source, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
    return next(folder.glob("*.whl"))


def environment(folder: Path, library: Path) -> dict[str, object]:
    """Make an environment with the library from its wheel; return what starts a kernel there.

    Python reads no ``.pth`` file in a folder that a ``.pth`` file names, so an editable install is not seen.
    """
    venv.create(folder, symlinks=os.name != "nt")
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    with zipfile.ZipFile(library) as archive:
        archive.extractall(site)
    others = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "others.pth").write_text("\n".join(sorted(others)) + "\n", "utf8")
    python = Path(sysconfig.get_path("scripts", "venv", paths)) / ("python.exe" if os.name == "nt" else "python")
    start = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return {"argv": start, "display_name": NAME, "language": "python", "env": {"PYTHONPATH": ""}}


def to_run(whole: NotebookNode, chapter: NotebookNode) -> NotebookNode:
    """A whole edition with the outputs of its chapter. Their code cells must be the same."""
    own = [cell for cell in chapter.cells if cell.cell_type == "code"]
    edition = nbformat.from_dict(whole)
    install, *code = [cell for cell in edition.cells if cell.cell_type == "code"]
    added = [install, *(cell for cell in code if "exercise" in cell.metadata.get("gru", {}))]
    for cell in added:
        cell.metadata = nbformat.from_dict({})
    code = [cell for cell in code if cell not in added]
    if [cell.source for cell in code] != [cell.source for cell in own]:
        raise ValueError("the edition's code cells are not those of the chapter; `make book` writes it again")
    for cell, stored in zip(code, own, strict=True):
        cell.metadata, cell.outputs = stored.metadata, stored.outputs
    edition.metadata = nbformat.from_dict(edition.metadata | {"kernelspec": {"display_name": NAME, "name": NAME}})
    return edition


def main() -> None:
    """Write everything anew."""
    shutil.rmtree(ALONE, ignore_errors=True)
    JUPYTER.joinpath("kernels", NAME).mkdir(parents=True)
    start = environment(KERNEL, wheel(ALONE))
    JUPYTER.joinpath("kernels", NAME, "kernel.json").write_text(json.dumps(start, indent=1), "utf8")
    for path in sorted(BOOK.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if path.stem[0].isdigit():
            if not (WHOLE / path.name).is_file():
                sys.exit(f"There is no _build/editions/{path.name}. Run `python tools/do.py book` first.")
            notebook = to_run(nbformat.read(WHOLE / path.name, as_version=4), notebook)
        else:
            notebook.metadata.kernelspec.name = NAME
        (RUN / path.stem).mkdir(parents=True)
        nbformat.write(notebook, RUN / path.stem / path.name)


if __name__ == "__main__":
    main()
