"""tools/alone.py: what is executed is the reader's edition, on the library that the wheel holds and no other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import alone
import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[1]
ADVICE = "Run `python tools/alone.py`, as `make test` does."


def ask(start: dict[str, object], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code with the Python that a kernel starts, where the source tree would be found if it could."""
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | start["env"]
    return subprocess.run([start["argv"][0], "-c", code], env=variables, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def kernel() -> dict[str, object]:
    """What starts the kernel that executes the editions."""
    path = alone.JUPYTER / "kernels" / alone.NAME / "kernel.json"
    assert path.is_file(), ADVICE
    return json.loads(path.read_text("utf8"))


def test_the_library_comes_from_the_wheel_and_the_other_packages_from_here(kernel: dict, tmp_path: Path) -> None:
    code = "import sys, gru_lib, numpy, importlib.metadata as m; print(*sys.path, sep='\\n')"
    code += "; print(gru_lib.__file__, numpy.__file__, m.distribution('gru_lib').locate_file(''), sep='\\n')"
    *path, library, numpy, installed = ask(kernel, code, tmp_path).stdout.splitlines()
    assert str(ROOT) not in path
    assert Path(library).is_relative_to(alone.KERNEL) and Path(installed).is_relative_to(alone.KERNEL)
    assert not Path(numpy).is_relative_to(alone.KERNEL)


def test_the_wheel_is_of_the_library_as_it_is_now(kernel: dict) -> None:
    (wheel,) = alone.ALONE.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("gru_lib/"):
                assert archive.read(name) == (ROOT / name).read_bytes(), f"{name} has changed. {ADVICE}"


@pytest.mark.parametrize("code", ["import gru_lib.ops", "from gru_lib import results; results.load('dates')"])
def test_a_file_that_the_wheel_lacks_is_missed(tmp_path: Path, code: str) -> None:
    """Not taken from the source tree, which is installed where the tests run."""
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("gru_lib/__init__.py", "")
        archive.write(ROOT / "gru_lib" / "results" / "__init__.py", "gru_lib/results/__init__.py")
    start = alone.environment(tmp_path / "kernel", tmp_path / "a.whl")
    assert ask(start, "import gru_lib", tmp_path).returncode == 0
    assert "Error: " in ask(start, code, tmp_path).stderr


@pytest.mark.parametrize("path", sorted(alone.BOOK.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_cell_of_the_book_is_executed_and_compared_with_what_is_stored(path: Path) -> None:
    copy = alone.RUN / path.stem / path.name
    assert list(copy.parent.iterdir()) == [copy], "the folder is empty but for the notebook"

    own, run = (
        [(cell.source, cell.metadata, cell.outputs) for cell in nbformat.read(p, 4).cells if cell.cell_type == "code"]
        for p in (path, copy)
    )
    assert [cell for cell in run if cell in own] == own, ADVICE


def edition() -> tuple[NotebookNode, NotebookNode]:
    """A whole edition and its chapter."""
    printed = [new_output("stream", text="42\n")]
    mark = {"gru": {"exercise": "ex-a"}}
    whole = [
        new_code_cell("# %pip install", id="a"),
        new_code_cell("print(42)", id="b", metadata={"tags": ["nbval-ignore-output"]}),
        new_code_cell("", id="c", metadata=mark),
        new_code_cell("check.a()", id="d", metadata=mark | {"tags": ["nbval-ignore-output"]}),
        new_code_cell("1 + 1", id="e", metadata={"gru": {"solution": "ex-a", "number": "1"}}),
    ]
    own = [new_code_cell("print(42)", outputs=printed), new_markdown_cell("And"), new_code_cell("1 + 1")]
    return new_notebook(cells=whole), new_notebook(cells=own)


def test_what_is_run_has_the_chapters_outputs_and_compares_every_cell() -> None:
    run = alone.to_run(*edition())
    assert [cell.source for cell in run.cells] == ["# %pip install", "print(42)", "", "check.a()", "1 + 1"]
    assert [[output.text for output in cell.outputs] for cell in run.cells] == [[], ["42\n"], [], [], []]
    assert not any(cell.metadata for cell in run.cells)


@pytest.mark.parametrize("change", [lambda cells: cells.pop(), lambda cells: cells[0].update(source="print(43)")])
def test_an_edition_with_other_cells_than_its_chapter_is_refused(change) -> None:
    whole, chapter = edition()
    change(chapter.cells)
    with pytest.raises(ValueError, match="the edition's code cells are not those of the chapter"):
        alone.to_run(whole, chapter)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A new folder inside the project, so that its conftest.py holds there."""
    with tempfile.TemporaryDirectory(dir=ROOT / "_build") as name:
        yield Path(name)


def test_nbval_runs_in_that_kernel_and_in_an_empty_folder(kernel: dict, folder: Path) -> None:
    """And finds an output that differs, and a file that only the project has."""
    cells = [
        new_code_cell(source, execution_count=1, outputs=[new_output("stream", name="stdout", text=stored)])
        for source, stored in (
            ("import gru_lib; print('alone' in gru_lib.__file__)", "True\n"),
            ("import os; print(os.listdir())", "['a.ipynb']\n"),
            ("print(6 * 7)", "43\n"),
            ("print(open('../experiments/README.md').closed)", "False\n"),
        )
    ]
    metadata = {"kernelspec": {"display_name": alone.NAME, "name": alone.NAME}}
    nbformat.write(new_notebook(cells=cells, metadata=metadata), folder / "a.ipynb")
    command = (sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--nbval", "a.ipynb")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = re.findall(r"^(PASSED|FAILED) \S+::Cell (\d)", done.stdout, re.M)
    assert sorted(found) == [("FAILED", "2"), ("FAILED", "3"), ("PASSED", "0"), ("PASSED", "1")], done.stdout
