"""The library's types: right in themselves, and of use to who imports it (`typed_use.py`)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_type_checker_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_type_checkers_find_the_library_outside_the_project(tmp_path: Path) -> None:
    """They look along paths, and do not run the hook by which an editable install finds its modules otherwise."""
    code = (
        "import sys; from importlib.machinery import PathFinder as along; print(along.find_spec('gru_lib', sys.path))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert str(ROOT / "gru_lib") in done.stdout
