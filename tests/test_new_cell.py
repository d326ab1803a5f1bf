"""CONTRIBUTING's example of a new cell, `new_cell/`, works in a copy of the library and in the common suite."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


EXAMPLE = Path(__file__).with_name("new_cell")
# What the example changes in files that there are.
CHANGED = {
    "gru_lib/cells/__init__.py": "from gru_lib.cells.leaky import *\n",
    "tests/test_cell.py": """from gru_lib.cells import leaky_init

CELLS |= {"leaky": lambda rng: leaky_init(rng, D, H)}
""",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the library and of the common suite, with the cell of the example."""
    shutil.copytree(ROOT / "gru_lib", tmp_path / "gru_lib", ignore=shutil.ignore_patterns("widgets", "__pycache__"))
    (tmp_path / "tests").mkdir()
    for name in ("test_cell.py", "helpers.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    shutil.copy(EXAMPLE / "leaky.py", tmp_path / "gru_lib" / "cells")
    shutil.copy(EXAMPLE / "test_leaky.py", tmp_path / "tests")
    for name, text in CHANGED.items():
        path = tmp_path / name
        old = path.read_text("utf8")
        above = re.search(r"^COMPOSED = ", old, re.M)  # the cells of the suite stand above it
        at = above.start() if above else len(old)
        path.write_text(old[:at] + text + old[at:], "utf8")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "red"),
    [
        ("", "", "", ""),
        (
            "gru_lib/cells/leaky.py",
            r"dh / 2 \+ da @ p.W_h.T",
            "da @ p.W_h.T",
            "test_backward_matches_complex_step[full-leaky]",
        ),
        ("tests/test_cell.py", r"CELLS \|= .*leaky.*", "", "test_every_registered_layer_is_in_this_suite"),
    ],
    ids=["by the list", "a wrong gradient", "not in the suite"],
)
def test_a_cell_made_by_the_list_passes_the_common_suite(copy: Path, file: str, old: str, new: str, red: str) -> None:
    if file:
        (copy / file).write_text(re.sub(old, new, (copy / file).read_text("utf8")), "utf8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "leaky or registered"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the suite needs none
    run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == bool(red) and red in run.stdout, run.stdout
    assert red or int(re.search(r"(\d+) passed", run.stdout)[1]) >= 22, run.stdout
