"""The project as a whole: what imports what, what is installed, what the lock and the documents say."""

from __future__ import annotations

import email
import email.message
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import do
import pytest
import yaml
from packaging.requirements import Requirement

import gru_book
import gru_lib
from experiments._store import OWN
from gru_book.results import FOLDER

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = ("gru_lib", "gru_book")


def test_the_library_imports_nothing_of_the_book_and_no_cell_another() -> None:
    imports = re.compile(r"^ *(?:from|import) (\S+)", re.M)
    for path in (ROOT / "gru_lib").rglob("*.py"):
        found = set(imports.findall(path.read_text("utf8")))
        assert not {name for name in found if name.split(".")[0] in ("gru_book", "matplotlib", "anywidget")}, path
        if path.parent.name == "cells" and path.name != "__init__.py":
            others = {f"gru_lib.cells.{cell}" for cell in ("gru", "lstm", "elman")} - {f"gru_lib.cells.{path.stem}"}
            assert not found & others, path


def test_after_import_gru_lib_every_module_is_there_and_completed() -> None:
    """But for those that share their name with what they are there for, such as train, and are imported from."""
    shown = "import gru_lib, types; print(*(n for n in dir(gru_lib) if type(getattr(gru_lib, n)) is types.ModuleType))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True, cwd=ROOT)
    names = {module.name for module in pkgutil.iter_modules(gru_lib.__path__)}
    assert set(done.stdout.split()) == names - {"train", "gradcheck"}


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
print(gru_lib.__version__)
"""


def tracked() -> list[str]:
    """The project's files as git lists them; outside of a checkout, in an unpacked sdist, as they lie there."""
    if not (ROOT / ".git").exists():
        return (ROOT / "gru_lib.egg-info" / "SOURCES.txt").read_text("utf8").splitlines()
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [file for file in files if (ROOT / file).is_file()]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, built without a network and unpacked."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("sdist")
    for file in tracked():
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_bytes((ROOT / file).read_bytes())
    build = f"import setuptools.build_meta as backend; backend.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    shutil.unpack_archive(next(folder.glob("*.tar.gz")), folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def wheels(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `pip install` installs, unpacked, built from the sdist without a network."""
    folder = tmp_path_factory.mktemp("wheels")
    quietly = ("-q", "--no-deps", "--no-build-isolation", "-w", str(folder))
    command = [sys.executable, "-m", "pip", "wheel", *quietly, str(unpacked), str(unpacked / "gru_book")]
    subprocess.run(command, check=True, capture_output=True)
    made = {}
    for name in PACKAGES:
        (wheel,) = folder.glob(f"{name}-*.whl")
        made[name] = tmp_path_factory.mktemp(name)
        shutil.unpack_archive(wheel, made[name], "zip")
    return made


def test_sdist_is_the_whole_project(unpacked: Path) -> None:
    """So its tests run, and the book can be built from it."""
    assert {file for file in tracked() if not (unpacked / file).is_file()} == set()


@pytest.mark.parametrize("name", PACKAGES)
def test_wheel_has_every_file_of_its_package_and_its_version(wheels: dict[str, Path], name: str) -> None:
    files = [file for file in tracked() if file.startswith(f"{name}/") and not file.endswith("/pyproject.toml")]
    assert files and [file for file in files if not (wheels[name] / file).is_file()] == []
    metadata = email.message_from_bytes(next(wheels[name].glob("*.dist-info/METADATA")).read_bytes())
    assert metadata["Version"] == gru_lib.__version__ == gru_book.__version__
    needed = [Requirement(r) for r in metadata.get_all("Requires-Dist", [])]
    always = {str(r) for r in needed if r.marker is None or "extra" not in str(r.marker)}
    assert (always == {"numpy>=1.26"}) if name == "gru_lib" else f"gru-lib=={gru_lib.__version__}" in always


def test_the_library_is_small_and_runs_on_numpy_alone(wheels: dict[str, Path], tmp_path: Path) -> None:
    assert sum(file.stat().st_size for file in wheels["gru_lib"].rglob("*") if file.is_file()) < 600_000
    run = [sys.executable, "-c", NUMPY_ALONE, str(wheels["gru_lib"])]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.strip() == gru_lib.__version__, done.stderr


def test_version_and_date_are_the_same_everywhere() -> None:
    newest = re.search(
        r"^## (\S+), (not yet released|\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text("utf8"), re.M
    )
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    assert newest.groups() == (gru_lib.__version__, str(citation.get("date-released", "not yet released")))
    assert str(citation["version"]) == gru_lib.__version__
    year = str(citation.get("date-released", yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["copyright"]))[:4]
    for document in ("README.md", "book/cite.md"):
        entry = re.search(r"```bibtex\n(.*?)```", (ROOT / document).read_text("utf8"), re.S)[1]
        authors = " and ".join(author["name"] for author in citation["authors"])
        for said in (authors, citation["title"], f"Version {citation['version']}", f"= {{{year}}}"):
            assert said in entry, (document, said)


@pytest.mark.parametrize("document", ["README.md", "book_text/intro.md"])
def test_what_a_reader_is_told_to_install_is_there(document: str) -> None:
    text = (ROOT / document).read_text("utf8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    assert "gru-book" in text and "pip install . ./gru_book jupyterlab" in text
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in text


def test_the_commands_that_the_readme_names_are_there() -> None:
    commands = re.findall(r"^python tools/do\.py (\w+)", (ROOT / "README.md").read_text("utf8"), re.M)
    assert {"book", "test"} <= set(commands) <= set(do.COMMANDS)


def test_the_same_pythons_are_named_everywhere() -> None:
    oldest, newest = (int(version.removeprefix("3.")) for version in (do.OLDEST, do.NEWEST))
    served = [f"3.{minor}" for minor in range(oldest, newest + 1)]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
    assert re.findall(r":: (3\.\d+)", "\n".join(settings["project"]["classifiers"])) == served
    assert settings["project"]["requires-python"] == f">={do.OLDEST}"
    assert settings["tool"]["mypy"]["python_version"] == do.OLDEST
    assert settings["tool"]["ruff"]["target-version"] == f"py{do.OLDEST.replace('.', '')}"
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text("utf8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == served
    for document in ("README.md", "CONTRIBUTING.md"):
        assert f"Python {do.OLDEST} to {do.NEWEST}" in (ROOT / document).read_text("utf8")


def test_a_lock_names_no_host() -> None:
    """Nor an option of pip, which may name one; that all have hashes is what installs them to see."""
    python, npm = ((ROOT / name).read_text("utf8") for name in ("requirements.lock", "package-lock.json"))
    assert "://" not in python + npm and '"resolved"' not in npm
    assert set(re.findall(r"--[a-z][a-z-]*", python)) == {"--hash"}


def test_contributing_names_the_code_of_every_chapter() -> None:
    """Each row of its table: modules that are there, and among them those of tasks and models that the pages import."""
    rows = re.findall(r"^\| (\d\d) \|(.*)\|(.*)\|(.*)\|$", (ROOT / "CONTRIBUTING.md").read_text("utf8"), re.M)
    texts = sorted((ROOT / "book_text").glob("[0-9]*.md"))
    assert [row[0] for row in rows] == sorted({path.name[:2] for path in texts})
    for number, *columns in rows:
        named = {
            name if name.startswith("benchmarks.") else f"{package}.{name}"
            for package, column in zip(("gru_lib", "gru_book", "experiments"), columns, strict=True)
            for name in re.findall(r"`([\w.]+)`", column)
        }
        files = [ROOT / f"{name.replace('.', '/')}.py" for name in named]
        assert [file for file in files if not file.is_file()] == [], number
        text = "".join(path.read_text("utf8") for path in texts if path.name.startswith(number))
        lines = re.findall(r"^from gru_book\.(tasks|models)(?:\.(\w+) import| import (.+))", text, re.M)
        used = {f"gru_book.{kind}.{name}" for kind, *each in lines for name in re.findall(r"\w+", " ".join(each))}
        assert used <= named, (number, used - named)


PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|yml|lock|cff)|LICENSE[\w-]*)`")
LINK = re.compile(r'\]\((?!https?:|#)([^)]+)\)|\b(?:src|srcset)="([^"]+)"')  # and a picture


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "experiments/README.md", "book/cite.md"]
)
def test_every_path_in_a_document_is_there(document: str) -> None:
    text = (ROOT / document).read_text("utf8")
    paths = {path for path in PATH.findall(text) if "NN" not in path and not path.startswith(("_build", "lessons"))}
    paths |= {f"{Path(document).parent}/{link}" for pair in LINK.findall(text) for link in pair if link}
    assert paths and {path for path in paths if not (ROOT / path).exists()} == set()


def test_the_program_of_the_readme_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf8"), re.S)
    names: dict[str, Any] = {}
    exec(program, names)
    assert (names["hs"].shape, names["h_T"].shape, names["dxs"].shape) == ((7, 2, 5), (2, 5), (7, 2, 3))


def test_everything_stored_names_the_command_that_made_it() -> None:
    text = (ROOT / "experiments" / "README.md").read_text("utf8")
    files = [*FOLDER.iterdir(), *OWN.iterdir()]
    stored = {p.relative_to(ROOT).as_posix() for p in files if p.suffix in (".json", ".npz")}
    rows = dict(re.findall(r"^\| (.*) \| `python (.*)` \|$", text, re.M))
    makers = {path: maker for paths, maker in rows.items() for path in re.findall(r"`([^`]+)`", paths)}
    assert stored - makers.keys() == set()
    for path, maker in makers.items():
        module = maker.removeprefix("-m ").split()[0].removesuffix(".py").replace(".", "/")
        assert (ROOT / path).is_file() and list(ROOT.glob(f"{module}*")), path
