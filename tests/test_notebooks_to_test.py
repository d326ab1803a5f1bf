"""tools/notebooks_to_test.py: the reader's notebook is executed, on the library of the wheel and no other."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import notebooks_to_test as to_test
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[1]
ADVICE = "Run `python tools/notebooks_to_test.py`, as `make test` does."


@pytest.mark.parametrize("path", sorted(to_test.BOOK.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_cell_of_the_book_is_executed_and_compared_with_what_is_stored(path: Path) -> None:
    copy = to_test.RUN / path.stem / path.name
    assert list(copy.parent.iterdir()) == [copy], "the folder is empty but for the notebook"

    own, run = (
        [(cell.source, cell.metadata, cell.outputs) for cell in nbformat.read(p, 4).cells if cell.cell_type == "code"]
        for p in (path, copy)
    )
    assert [cell for cell in run if cell in own] == own, ADVICE


@pytest.fixture
def folder() -> Iterator[Path]:
    """A new folder inside the project, so that its conftest.py holds there."""
    with tempfile.TemporaryDirectory(dir=ROOT / "_build") as name:
        yield Path(name)


def test_nbval_runs_in_that_kernel_and_in_an_empty_folder(folder: Path) -> None:
    """And finds an output that differs, a file and a module that only the project has."""
    cells = [
        new_code_cell(source, execution_count=1, outputs=[new_output("stream", name="stdout", text=stored)])
        for source, stored in (
            ("import gru_lib; print('to-test' in gru_lib.__file__)", "True\n"),
            ("import os; print(os.listdir())", "['a.ipynb']\n"),
            ("print(6 * 7)", "43\n"),
            ("print(open('../experiments/README.md').closed)", "False\n"),
            ("import experiments; print('there')", "there\n"),
        )
    ]
    metadata = {"kernelspec": {"display_name": to_test.NAME, "name": to_test.NAME}}
    nbformat.write(new_notebook(cells=cells, metadata=metadata), folder / "a.ipynb")
    command = (sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--nbval", "a.ipynb")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = re.findall(r"^FAILED \S+::Cell (\d)", done.stdout, re.M)
    assert sorted(set(found)) == ["2", "3", "4"] and "2 passed" in done.stdout, done.stdout
