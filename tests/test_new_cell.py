"""CONTRIBUTING's "Add a cell", followed to the letter in a copy of the library: the cell of its example works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def written() -> dict[str, str]:
    """What the section says to write, by the file it goes to."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf8").split("## Add a cell")[1].split("\n## ")[0]
    blocks = [textwrap.dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", section, re.M | re.S)]
    return {path[2:]: rest for path, _, rest in (block.partition("\n") for block in blocks)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the library and of the common suite, with the cell of the example."""
    shutil.copytree(ROOT / "gru_lib", tmp_path / "gru_lib", ignore=shutil.ignore_patterns("widgets", "__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_cell.py", tmp_path / "tests")
    for name, text in written().items():
        path = tmp_path / name
        old = path.read_text("utf8") if path.exists() else ""
        above = re.search(r"^COMPOSED = ", old, re.M)  # the cells of the suite stand above it
        at = above.start() if above else len(old)
        path.write_text(old[:at] + text + old[at:], "utf8")
    return tmp_path


def suite(copy: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests",
        "-k",
        "leaky or registered",
        *more,
    ]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the suite needs none
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


def test_a_cell_made_by_the_list_passes_the_common_suite(copy: Path) -> None:
    run = suite(copy)
    assert run.returncode == 0, run.stdout
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) >= 22, run.stdout


def test_a_wrong_gradient_in_it_is_found(copy: Path) -> None:
    cell = copy / "gru_lib" / "cells" / "leaky.py"
    cell.write_text(cell.read_text("utf8").replace("dh / 2 + da @ p.W_h.T", "da @ p.W_h.T"), "utf8")
    run = suite(copy, "-x")
    assert run.returncode == 1 and "test_backward_matches_complex_step[full-leaky]" in run.stdout, run.stdout


def test_a_cell_that_is_not_in_the_suite_is_found(copy: Path) -> None:
    tests = copy / "tests" / "test_cell.py"
    tests.write_text(re.sub(r"^CELLS \|= .*leaky.*$", "", tests.read_text("utf8"), flags=re.M), "utf8")
    run = suite(copy)
    assert run.returncode == 1 and "test_every_registered_layer_is_in_this_suite" in run.stdout, run.stdout
