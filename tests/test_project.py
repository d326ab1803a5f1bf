"""The project as a whole: what imports what, what is installed, what the lock and the documents say."""

from __future__ import annotations

import ast
import email
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "gru_lib"
MODULES = sorted(p.relative_to(LIBRARY).with_suffix("").as_posix() for p in LIBRARY.rglob("*.py"))

# Imports point one way: what a module imports has a lower rank, or stands in the same package.
RANK = {
    "_core": 0,
    "viz": 0,
    "ops": 1,
    "optim": 1,
    "gradcheck": 1,
    "decode": 1,
    "io": 1,
    "tasks": 1,
    "gates": 2,
    "cells": 2,
    "convert": 3,
    "jacobian": 3,
    "train": 3,
    "layers": 3,
    "models": 4,
    "check": 4,
    "widgets": 5,
    "__init__": 5,
}
# A cell does not import another, but for the two that are made of one: the GRU with a gate less, and a GRU that drives
# a stack. The registry and the files beginning with _ are for all.
MADE_OF = {"ablated_gru": {"gru"}, "stack_rnn": {"gru"}}
CELLS = {m.partition("/")[2] for m in MODULES if m.startswith("cells/")} - {"registry", "__init__"}
CELLS = {m for m in CELLS if not m.startswith("_")}


def imported(module: str) -> set[str]:
    """The modules and packages of ``gru_lib`` that a module imports, anywhere in it: ``cells/gru``, ``ops``."""
    names = set()
    for node in ast.walk(ast.parse((LIBRARY / f"{module}.py").read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"gru_lib.{a.name}" for a in node.names} if node.module == "gru_lib" else {node.module}
    return {n.removeprefix("gru_lib.").replace(".", "/") for n in names if n.startswith("gru_lib.")}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    package = module.partition("/")[0]
    used = {m.partition("/")[0] for m in imported(module)} - {package}
    assert {m for m in used if RANK.get(m, 99) >= RANK[package]} == set()


def test_cells_do_not_import_each_other() -> None:
    for cell in CELLS:
        others = {m.partition("/")[2] for m in imported(f"cells/{cell}")} & CELLS
        assert others <= MADE_OF.get(cell, set())
    assert "gru" in CELLS


def test_every_module_and_every_chapter_has_the_test_file_that_its_name_says() -> None:
    """As tests/README.md says it."""
    prefix = {"tasks": "tasks_", "widgets": "explorer_"}  # other packages have none
    shared = {"cells/registry": "cell"} | {m: "check" for m in MODULES if m.startswith("check/")}
    wanted = {f"chapter{p.name[:2]}" for p in (ROOT / "book_text").glob("[0-9][0-9]-*.md")}
    assert len(wanted) >= 19
    for module in MODULES:
        package, _, name = module.rpartition("/")
        if not any(part.startswith("_") for part in module.split("/")):
            wanted.add(shared.get(module, prefix.get(package, "") + name))
    there = {p.stem.removeprefix("test_") for p in (ROOT / "tests").glob("test_*.py")}
    assert wanted - there == set()
    # And no file of a module or a chapter that is gone; the others are named after what else is in the project.
    rest = {"project", "threads", "new_cell", "types", "javascript", "notebooks_tool", "widgets", "live_notebook"}
    rest |= {p.name for p in ROOT.iterdir() if p.is_dir()}
    for folder in ("tools", "tests", "gru_lib/_core", "book/_ext"):
        rest |= {p.stem for p in (ROOT / folder).glob("[a-z]*.*")}
    assert {name for name in there - wanted - rest if not name.startswith("explorer")} == set()


NUMPY_ALONE = """
import sys
allowed = set(sys.stdlib_module_names) | {"numpy", "gru_lib"}
class Guard:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"{name} is not NumPy", name=name)
sys.meta_path.insert(0, Guard())
sys.path.insert(0, sys.argv[1])
import numpy as np
import gru_lib
assert gru_lib.__file__.startswith(sys.argv[1]), gru_lib.__file__
p = gru_lib.gru_init(np.random.default_rng(0), D=3, H=5)
hs, h_T, tape = gru_lib.gru_forward(np.ones((7, 2, 3)), None, p)
gru_lib.gru_backward(np.ones_like(hs), None, tape, p)
print(sorted(m for m in sys.modules if m.startswith("gru_lib.widgets")))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install .` installs, built from the tracked and untracked sources without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = tmp_path_factory.mktemp("source")
    for pattern in ("pyproject.toml", "README.md", "LICENSE*", "gru_lib/**/*"):
        for path in ROOT.glob(pattern):
            if path.is_file() and "__pycache__" not in path.parts:
                target = build / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(build),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_wheel_asks_for_numpy_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    needed = [Requirement(r) for r in metadata.get_all("Requires-Dist", [])]
    assert [r.name for r in needed if r.marker is None or "extra" not in str(r.marker)] == ["numpy"]


def test_wheel_runs_on_numpy_alone(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    run = [sys.executable, "-c", NUMPY_ALONE, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_wheel_has_every_file_the_library_reads(wheel: Path) -> None:
    kinds = {".py", ".mplstyle", ".mjs", ".css", ".json", ".typed"}
    wanted = {str(p.relative_to(ROOT)) for p in LIBRARY.rglob("*") if p.suffix in kinds or p.name == "py.typed"}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted - set(archive.namelist()) == set()
    assert "gru_lib/py.typed" in wanted


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text("utf8"), re.M))


@pytest.mark.parametrize("extra", [None, "widgets", "book", "test"])
def test_lock_satisfies_what_the_project_asks_for(extra: str | None) -> None:
    project, versions = pyproject()["project"], locked()
    asked = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "gru-lib":
            assert requirement.specifier.contains(versions[name]), requirement


def test_lock_has_hashes_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text("utf8")
    assert "--hash=sha256:" in text.split("==", 1)[1].split("==", 1)[0]
    assert len(re.findall(r"^[a-z0-9.-]+==", text, re.M)) == len(re.findall(r"==[^#\n]+\\\n +--hash", text))
    assert "://" not in text
    assert set(re.findall(r"--[a-z][a-z-]*", text)) == {"--hash"}, "an option of pip that is not a hash may name a host"


def test_readme_and_ci_run_the_same_command() -> None:
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text("utf8"), re.M)
    assert re.search(r"^exec make test$", (ROOT / ".ci" / "run").read_text("utf8"), re.M)
    assert "run: .ci/run" in (ROOT / ".github" / "workflows" / "book.yml").read_text("utf8")


def test_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text("utf8")
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split())
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in shown.splitlines() if line.startswith("make ")} == targets
