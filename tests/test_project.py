"""The project as a whole: what imports what, what is installed, what the lock and the documents say."""

from __future__ import annotations

import ast
import email
import email.message
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import do
import pytest
import yaml
from edition_cells import DISTRIBUTION
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gru_lib
from gru_lib.results import FOLDER

ROOT = Path(__file__).resolve().parents[1]

LIBRARY = ROOT / "gru_lib"
MODULES = sorted(p.relative_to(LIBRARY).with_suffix("").as_posix() for p in LIBRARY.rglob("*.py"))

# Imports point one way: a module imports from lines above its own, or from its own package.
LAYERS = (
    "_core",
    "ops optim gradcheck scan decode io results tasks viz",
    "drawings gates cells",
    "convert jacobian train layers",
    "models check",
    "widgets __init__",
)
RANK = {name: i for i, layer in enumerate(LAYERS) for name in layer.split()}
# A cell does not import another, but for those that are made of one: the GRU with a gate less, Elman's network beside
# slow units, and a GRU that drives a stack. The registry and the files beginning with _ are for all.
MADE_OF = {"ablated_gru": {"gru"}, "scrn": {"elman"}, "stack_rnn": {"gru"}}
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


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("GRU", "; it has gru_init, GRUParams, gru_backward, gru_forward, gru_step, gru_step_backward"),
        ("gru", "; it has gru_init, GRUParams, "),
        ("LSTMCell", "; it has lstm_init, LSTMParams, LSTMState, "),
        ("GRUCell", "; it has gru_init, GRUParams, "),
        ("clip_grad_norm", "; it has clip_by_global_norm, clip_by_value"),
        ("cross_entropy", "; it has softmax_cross_entropy"),
        ("nonsense", ""),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_that_begin_so(asked: str, hint: str) -> None:
    with pytest.raises(AttributeError) as found:
        getattr(gru_lib, asked)
    assert str(found.value).startswith(f"module 'gru_lib' has no attribute {asked!r}{hint}")
    assert bool(hint) is ("it has" in str(found.value))
    assert (found.value.name, found.value.obj) == (asked, gru_lib) and not hasattr(gru_lib, asked)


def test_cells_do_not_import_each_other() -> None:
    for cell in CELLS:
        others = {m.partition("/")[2] for m in imported(f"cells/{cell}")} & CELLS
        assert others <= MADE_OF.get(cell, set())
    assert "gru" in CELLS


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
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install` installs, built from the sdist without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    quietly = ("-q", "--no-deps", "--no-build-isolation", "-w", str(folder))
    command = [sys.executable, "-m", "pip", "wheel", *quietly, str(unpacked)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_sdist_is_the_whole_project(unpacked: Path) -> None:
    """So its tests run, and the book can be built from it."""
    assert {file for file in tracked() if not (unpacked / file).is_file()} == set()


def metadata_of(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_wheel_asks_for_numpy_alone(wheel: Path) -> None:
    needed = [Requirement(r) for r in metadata_of(wheel).get_all("Requires-Dist", [])]
    assert [r.name for r in needed if r.marker is None or "extra" not in str(r.marker)] == ["numpy"]


def test_wheel_runs_on_numpy_alone(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    run = [sys.executable, "-c", NUMPY_ALONE, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_wheel_has_every_file_the_library_reads(wheel: Path) -> None:
    files = [p for p in LIBRARY.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    wanted = {p.relative_to(ROOT).as_posix() for p in files}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted - set(archive.namelist()) == set()
    assert {"gru_lib/py.typed", "gru_lib/results/dates.json", "gru_lib/results/torch.npz"} <= wanted


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))


DATE = r"\d{4}-\d\d-\d\d"


def test_version_date_and_status_are_the_same_everywhere(wheel: Path) -> None:
    newest = re.search(rf"^## (\S+), (not yet released|{DATE})$", (ROOT / "CHANGELOG.md").read_text("utf8"), re.M)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    installed = metadata_of(wheel)
    assert {newest[1], str(citation["version"]), installed["Version"]} == {gru_lib.__version__}
    released = citation.get("date-released")
    assert newest[2] == (str(released) if released else "not yet released")
    status = [line for line in installed.get_all("Classifier") if line.startswith("Development Status")]
    major = int(gru_lib.__version__.partition(".")[0])
    assert status == ["Development Status :: 5 - Production/Stable" if major else "Development Status :: 4 - Beta"]


def bibtex(document: str) -> dict[str, str]:
    entry = re.search(r"```bibtex\n(.*?)```", (ROOT / document).read_text("utf8"), re.S)[1]
    return {name: value.strip("{}") for name, value in re.findall(r"^  (\w+) *= (\{.*\}),?$", entry, re.M)}


@pytest.mark.parametrize("document", ["README.md", "book_text/intro.md", "book/cite.md"])
def test_bibtex_says_what_the_citation_file_says(document: str) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    assert bibtex(document) == {
        "author": " and ".join(author["name"] for author in citation["authors"]),
        "title": citation["title"],
        "year": str(citation.get("date-released", config["copyright"]))[:4],
        "note": f"Version {citation['version']}",
    }


@pytest.mark.parametrize("document", ["README.md", "book_text/intro.md"])
def test_what_a_reader_is_told_to_install_and_run_is_there(document: str) -> None:
    text = (ROOT / document).read_text("utf8")
    asked = {extra.strip() for extras in re.findall(r"gru-lib\[([\w, ]+)\]", text) for extra in extras.split(",")}
    assert Requirement(DISTRIBUTION).extras <= asked, "what a notebook installs"
    assert asked <= set(pyproject()["project"]["optional-dependencies"])
    commands = re.findall(r"^(?:python3?|py) tools[/\\]do\.py (\w+)", text, re.M)
    assert {"book", "test"} <= set(commands) <= set(do.COMMANDS)
    oldest = pyproject()["project"]["requires-python"].removeprefix(">=")
    assert f"Python {oldest} or newer" in text


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.lock").read_text("utf8"), re.M))


@pytest.mark.parametrize("extra", [None, "widgets", "viz", "tasks", "safetensors", "book", "test"])
def test_lock_satisfies_what_the_project_asks_for(extra: str | None) -> None:
    project, versions = pyproject()["project"], locked()
    asked = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "gru-lib":
            assert requirement.specifier.contains(versions[name]), requirement


def test_a_lock_names_no_host() -> None:
    """Nor an option of pip, which may name one; that all have hashes is what installs them to see."""
    python, npm = ((ROOT / name).read_text("utf8") for name in ("requirements.lock", "package-lock.json"))
    assert "://" not in python + npm and '"resolved"' not in npm
    assert set(re.findall(r"--[a-z][a-z-]*", python)) == {"--hash"}


PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|yml|lock|cff)|LICENSE[\w-]*)`")


LINK = re.compile(r'\]\((?!https?:|#)([^)]+)\)|\b(?:src|srcset)="([^"]+)"')  # and a picture


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "experiments/README.md", "book/cite.md"]
)
def test_every_path_in_a_document_is_there(document: str) -> None:
    text = (ROOT / document).read_text("utf8")
    made = {"_build/html", "_build/replaced", "_build/release", "_build/", "lessons/"}
    paths = set(PATH.findall(text)) - made
    paths = {path for path in paths if "NN" not in path and "<" not in path}
    assert {path for path in paths if not (ROOT / path).exists()} == set()
    assert paths
    links = {link for pair in LINK.findall(text) for link in pair if link}
    assert {link for link in links if not (ROOT / document).parent.joinpath(link).is_file()} == set()


def test_the_program_of_the_readme_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf8"), re.S)
    names: dict[str, Any] = {}
    exec(program, names)
    assert (names["hs"].shape, names["h_T"].shape, names["dxs"].shape) == ((7, 2, 5), (2, 5), (7, 2, 3))


def test_contributing_leads_from_every_chapter_to_its_library() -> None:
    rows = re.findall(r"^\| (\d\d) \| `gru_lib/.*\|$", (ROOT / "CONTRIBUTING.md").read_text("utf8"), re.M)
    assert rows == sorted({p.name[:2] for p in (ROOT / "book_text").glob("[0-9]*.md")})


def test_everything_stored_names_the_command_that_made_it() -> None:
    text = (ROOT / "experiments" / "README.md").read_text("utf8")
    stored = {p.relative_to(ROOT).as_posix() for p in FOLDER.iterdir() if p.suffix in (".json", ".npz")}
    words = {p.stem for p in (ROOT / "gru_lib" / "widgets").glob("*.mjs")}  # an explorer's own file holds its words
    widgets = (ROOT / "gru_lib" / "widgets").glob("*.json")
    stored |= {p.relative_to(ROOT).as_posix() for p in widgets if p.stem not in words}
    rows = dict(re.findall(r"^\| (.*) \| `python (.*)` \|$", text, re.M))
    makers = {path: maker for paths, maker in rows.items() for path in re.findall(r"`([^`]+)`", paths)}
    assert stored - makers.keys() == set()
    for path, maker in makers.items():
        assert (ROOT / path).is_file()
        name, *parts = maker.removeprefix("-m ").split()
        script = ROOT / (name if name.endswith(".py") else name.replace(".", "/") + ".py")
        source = (script if script.is_file() else script.with_suffix("") / "__main__.py").read_text("utf8")
        assert all(f'"{part}"' in source for part in parts) or not name.startswith("experiments.")


def test_type_checkers_find_the_library_outside_the_project(tmp_path: Path) -> None:
    """They look along paths, and do not run the hook by which an editable install finds its modules otherwise."""
    code = (
        "import sys; from importlib.machinery import PathFinder as along; print(along.find_spec('gru_lib', sys.path))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert str(ROOT / "gru_lib") in done.stdout
