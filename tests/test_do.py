"""tools/do.py and the Makefile that calls it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import do
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project in place of this one."""
    for name in do.LOCKS:
        (tmp_path / name).write_text("a==1\nuv==9 \\\n    --hash=sha256:1\nuvicorn==2\n", "utf8")
    monkeypatch.setattr(do, "ROOT", tmp_path)
    monkeypatch.setattr(do, "VENV", tmp_path / ".venv")
    monkeypatch.delenv("SOLUTIONS", raising=False)
    return tmp_path


@pytest.fixture
def asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Instead of running programs, what would be run."""
    lines: list[str] = []
    monkeypatch.setenv("PYTHONPATH", "")  # put back afterwards: `serve` sets it
    monkeypatch.setattr(do, "install", lambda: lines.append("install"))
    monkeypatch.setattr(do, "run", lambda *command, quiet=False: lines.append(" ".join(command)))
    return lines


def shell(*command: str) -> subprocess.CompletedProcess[str]:
    outer = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=outer)


def test_help_lists_every_command_and_make_has_each() -> None:
    shown = shell("make").stdout
    assert set(re.findall(r"^(\w+)  +\S", shown, re.M)) == set(do.COMMANDS)
    assert shown == shell(sys.executable, "tools/do.py").stdout
    for name in do.COMMANDS:
        assert shell("make", "-n", "PY=a-python", name).stdout.split("a-python tools/do.py ")[1].split() == [name]
    assert shell("make", "-n", "test", "NB=04").stdout.partition("do.py test ")[2].split() == ["--page", "04"]
    for python in ("no-such-python", "false"):  # a version manager's stand-in is there, and runs nothing
        assert "Install Python 3.11 or newer" in shell("make", f"PY={python}").stdout


def test_what_there_is_not_is_refused(asked: list[str]) -> None:
    for line, said in (
        ("bok", "There is no command 'bok'. The commands are help, book, test"),
        ("test --page 99", "There is no page '99'"),
    ):
        with pytest.raises(SystemExit, match=said):
            do.main(line.split())
    assert asked == ["install"]


def test_a_book_without_solutions_has_a_folder_of_its_own_and_nothing_else_is_made_of_it(
    asked: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLUTIONS", "no")
    do.main(["book"])
    assert f" --path-output {project}/_build/without-solutions " in asked[-1]
    for command in ("test", "lab", "bench", "release"):
        with pytest.raises(SystemExit, match="SOLUTIONS=no is for book and serve alone"):
            do.main([command])
