"""tools/do.py and the Makefile that calls it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.request import urlopen

import content_policy
import do
import pytest
from bs4 import BeautifulSoup

from conftest import Visit

ROOT = Path(__file__).resolve().parents[1]
FILES = ("requirements.lock", "pyproject.toml", "package.json", "package-lock.json")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project in place of this one."""
    for name in FILES:
        (tmp_path / name).write_text("", "utf8")
    monkeypatch.setattr(do, "ROOT", tmp_path)
    monkeypatch.setattr(do, "VENV", tmp_path / ".venv")
    return tmp_path


@pytest.fixture
def asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Instead of running programs, what would be run; in the empty project, as `book` notes what it has built."""
    lines: list[str] = []
    monkeypatch.setenv("PYTHONPATH", "")  # put back afterwards: `serve` sets it
    monkeypatch.setattr(do, "install", lambda: lines.append("install"))
    monkeypatch.setattr(do, "run", lambda *command, quiet=False: lines.append(" ".join(command)))
    return lines


def test_a_build_forgets_the_pages_whose_source_is_gone(project: Path, asked: list[str]) -> None:
    (project / "book").mkdir()
    (project / "book" / "04-gru.ipynb").write_text("", "utf8")
    built = project / "_build" / "html" / "book"
    built.mkdir(parents=True)
    for name in ("04-gru", "03-gone"):
        (built / f"{name}.html").write_text("", "utf8")
    do.book()
    assert [page.name for page in built.iterdir()] == ["04-gru.html"]
    assert asked[-1].startswith("jupyter-book build")


@pytest.fixture
def builds(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Asks for the book of a small project, and says whether it was built; building makes a page and an edition."""
    ran: list[str] = []

    def build(*command: str) -> None:
        ran.append(command[0])
        for name in ("html/page.html", "editions/page.ipynb"):
            path = Path(command[command.index("--path-output") + 1]) / "_build" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(" ".join(command), "utf8")

    def builds() -> bool:
        ran.clear()
        do.book()
        return ran == ["jupyter-book"]

    for name in ("book/04.ipynb", "tests/answers.py", ".venv/pyvenv.cfg", ".venv/lib/python3.11/site-packages/x"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("once", "utf8")
    monkeypatch.setattr(do, "PACKAGES", "lib/python*/site-packages")
    monkeypatch.setattr(do, "install", lambda: None)
    monkeypatch.setattr(do, "run", build)
    return builds


def in_git(project: Path) -> None:
    """Commit everything."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (("init", "-q"), ("add", "book"), (*identity, "commit", "-q", "--allow-empty", "-m", "now")):
        subprocess.run(["git", *command], cwd=project, check=True)


def in_time(path: Path) -> None:
    """Another time of a file."""
    os.utime(path, (1, 1))


def append(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf8") as file:
        file.write("more")


def swap(path: Path) -> None:
    """As many bytes as before, at the same time."""
    before = path.stat()
    path.write_text(path.read_text("utf8")[::-1], "utf8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "a page": lambda project, _: append(project / "book/04.ipynb"),
    "a page to the byte": lambda project, _: swap(project / "book/04.ipynb"),
    "what a page takes from the tests": lambda project, _: append(project / "tests/answers.py"),
    "a new file": lambda project, _: append(project / "book/05.ipynb"),
    "a file in a new folder": lambda project, _: append(project / "gru_lib/new/x.py"),
    "a file gone": lambda project, _: (project / "book/04.ipynb").unlink(),
    "a file's name": lambda project, _: (project / "book/04.ipynb").rename(project / "book/06.ipynb"),
    "the lock": lambda project, _: append(project / "requirements.lock"),
    "a package": lambda project, _: (project / ".venv/lib/python3.11/site-packages/a-2.dist-info").mkdir(),
    "a commit": lambda project, _: in_git(project),
    "what is asked for": lambda _, patch: patch.setenv("SOLUTIONS", "in"),
    "the year": lambda _, patch: patch.setenv("SOURCE_DATE_EPOCH", "86400"),
    "the repository in CI": lambda _, patch: patch.setenv("GITHUB_REPOSITORY", "a/b"),
    "the site": lambda _, patch: patch.setenv("SITE_ADDRESS", "https://a.github.io/b"),
    "a built page": lambda project, _: append(project / "_build/html/page.html"),
    "a built page to the byte": lambda project, _: in_time(project / "_build/html/page.html"),
    "a built page gone": lambda project, _: (project / "_build/html/page.html").unlink(),
    "an edition": lambda project, _: append(project / "_build/editions/page.ipynb"),
    "a built page that nobody asked for": lambda project, _: append(project / "_build/html/other.html"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_book_is_built_again_when_anything_has_changed(
    project: Path, builds: Callable[[], bool], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    assert [builds(), builds()] == [True, False]
    CHANGES[change](project, monkeypatch)
    assert [builds(), builds()] == [True, False]


@pytest.mark.parametrize(
    "path",
    ["_build/alone/x", "lessons/04.ipynb", ".ruff_cache/x", "tools/__pycache__/x.pyc", ".venv/x", "other/pyvenv.cfg"],
)
def test_a_book_is_not_built_again_for_what_it_does_not_read(
    project: Path, builds: Callable[[], bool], path: str
) -> None:
    assert builds()
    append(project / path)
    assert not builds()


def test_a_build_that_failed_is_done_again(
    project: Path, builds: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when what made it fail is taken back: pages of the failed build may lie there."""
    assert builds()
    before = (project / "book/04.ipynb").read_text("utf8")
    append(project / "book/04.ipynb")

    def fail(*command: str) -> None:
        append(project / "_build/html/page.html")
        raise SystemExit(1)

    with monkeypatch.context() as patch:
        patch.setattr(do, "run", fail)
        for _ in range(2):
            with pytest.raises(SystemExit):
                do.book()
    (project / "book/04.ipynb").write_text(before, "utf8")
    assert builds()


def test_what_changes_during_a_build_is_built_again(project: Path, builds: Callable[[], bool]) -> None:
    build = do.run
    do.run = lambda *command: (build(*command), append(project / "book/04.ipynb"))  # as `monkeypatch` will put it back
    assert builds()
    do.run = build
    assert builds()


def shell(*command: str) -> subprocess.CompletedProcess[str]:
    outer = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=outer)


def test_help_lists_every_command_and_make_has_each() -> None:
    text = (ROOT / "Makefile").read_text("utf8")
    assert set(re.search(r"^\.PHONY: (.*)$", text, re.M)[1].split()) == set(do.COMMANDS)
    shown = shell("make").stdout
    assert set(re.findall(r"^(\w+)  +\S", shown, re.M)) == set(do.COMMANDS)
    assert shown == shell(sys.executable, "tools/do.py").stdout == shell(sys.executable, "tools/do.py", "--help").stdout


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        ("notebooks NB=04 ARGS=--execute", "notebooks 04 --execute"),
        ("take NB=07", "take 07"),
        ("test ARGS=library", "test library"),
        ("serve PORT=9000", "serve --port 9000"),
        ("serve", "serve"),
        ("bench ARGS=--help", "bench --help"),
        ("lock UPGRADE=--upgrade", "lock --upgrade"),
        ("lint", "lint"),
    ],
)
def test_make_hands_its_variables_on(make: str, arguments: str) -> None:
    shown = shell("make", "-n", "PY=a-python", *make.split()).stdout
    assert shown.partition("a-python tools/do.py ")[2].split() == arguments.split()


def test_make_passes_a_failure_on() -> None:
    assert shell("make", "PY=true").returncode == 0
    assert shell("make", "PY=false").returncode != 0
    assert "Install Python 3.11 or newer" in shell("make", "PY=no-such-python").stdout


def test_an_unknown_command_names_the_known() -> None:
    done = shell(sys.executable, "tools/do.py", "bok")
    assert done.returncode == 1
    assert "There is no command 'bok'. The commands are help, book, test" in done.stderr


def test_a_command_without_arguments_refuses_them(asked: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"book takes no arguments; got 04"):
        do.main(["book", "04"])
    assert asked == []


def test_programs_stand_where_the_system_puts_them() -> None:
    unix, windows = do.program("pytest", windows=False), do.program("pytest", windows=True)
    assert Path(unix).relative_to(do.VENV).as_posix() == "bin/pytest"
    assert Path(windows).relative_to(do.VENV).as_posix() == "Scripts/pytest.exe"


def test_the_tests_come_after_the_book_and_a_browser_in_the_fixed_environment(asked: list[str]) -> None:
    do.main(["test", "-k", "gru"])
    installed, book, browser, alone, tests = asked
    assert (installed, book.split()[:2], browser) == ("install", ["jupyter-book", "build"], "python tools/browser.py")
    assert alone == "python tools/alone.py"
    assert tests.startswith(f"python tools/environment.py {do.program('python')} -m pytest --nbval ")
    assert tests.endswith(" tests _build/alone/run -k gru")


def test_what_depends_on_fonts_is_tested_once_more_with_others(asked: list[str], project: Path) -> None:
    (project / "tests").mkdir()
    for name, text in {"a": do.FONTS, "b": "@pytest.mark.other", "c": "def test(): ..."}.items():
        (project / "tests" / f"test_{name}.py").write_text(text, "utf8")
    do.main(["test"])
    assert asked[-1].endswith(" -m pytest --other-fonts tests/test_a.py")


def test_the_librarys_tests_need_neither_book_nor_browser(asked: list[str]) -> None:
    do.main(["test", "library", "-x"])
    assert asked[0] == "install"
    assert asked[1].endswith(" --library tests -x")
    assert len(asked) == 2


def test_lab_opens_lessons_made_of_the_book_as_it_is_now(asked: list[str]) -> None:
    do.main(["lab", "--no-browser"])
    assert asked[1].startswith("jupyter-book build ")
    assert asked[2:] == ["python tools/editions.py --lab --no-browser"]


def test_a_book_without_solutions_has_a_folder_of_its_own(
    builds: Callable[[], bool], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither book is in the other's way, and nothing of one lies in the other."""
    assert builds()
    for built in ("_build/html/page.html", "_build/without-solutions/_build/html/page.html"):
        assert (project / built).read_text("utf8").split()[4] == str((project / built).parents[2])
        monkeypatch.setenv("SOLUTIONS", "no")
        assert [builds(), builds()] == [built.startswith("_build/html"), False]
    monkeypatch.delenv("SOLUTIONS")
    assert not builds()


def test_what_is_served_without_solutions_has_a_folder_of_its_own(
    asked: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLUTIONS", "no")
    do.main(["serve"])
    assert asked[-1].endswith(f" . {project}/_build/without-solutions/_build/serve/html")


@pytest.mark.parametrize("command", ["test", "lab", "bench", "release"])
def test_what_is_made_of_the_book_is_made_of_the_whole(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("SOLUTIONS", "no")
    with pytest.raises(SystemExit, match="SOLUTIONS=no is for book and serve alone"):
        do.main([command])
    assert asked == []


def test_what_is_served_has_editions_of_its_own(asked: list[str]) -> None:
    """They stand beside the folder of the pages; those of `make book` would miss what one of them leaves out."""
    do.main(["serve"])
    assert asked[-1].startswith("sphinx-autobuild ") and asked[-1].endswith("/_build/serve/html")


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ((), "127.0.0.1", "8000"),
        (("--port", "9000"), "127.0.0.1", "9000"),
        (("--host=localhost",), "localhost", "8000"),
    ],
)
def test_what_is_served_may_be_reloaded_from_where_it_is(
    asked: list[str], given: list[str], host: str, port: str
) -> None:
    do.main(["serve", *given, "--open-browser"])
    assert f" --host {host} --port {port} -D gru_served={host}:{port} " in asked[-1]
    assert " --open-browser " in asked[-1]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_served_page_may_be_reloaded_and_runs_nothing_else(
    reader: Callable[[str, int], AbstractContextManager[Visit]], tmp_path: Path, allowed: bool
) -> None:
    """The policy without the address of the server lets its script not run either."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    page = BeautifulSoup('<html lang="en"><head><meta charset="utf-8"/></head><body></body></html>', "html.parser")
    content_policy.state_policy(page, address if allowed else "")
    injected = "<article><script>document.title = 'injected'</script></article>"
    (tmp_path / "page.html").write_text(str(page).replace("</body>", f"{injected}</body>"), "utf8")
    command = ("-m", "sphinx_autobuild", "--no-initial", "--port", address.rpartition(":")[2], str(tmp_path))
    with subprocess.Popen([sys.executable, *command, str(tmp_path)], stdout=subprocess.DEVNULL) as server:
        try:
            while True:
                with contextlib.suppress(OSError), urlopen(f"http://{address}/page.html"):
                    break
                assert server.poll() is None
                time.sleep(0.05)
            with reader(f"http://{address}/page.html", 1280) as visit:
                sockets: list[object] = []
                visit.page.on("websocket", lambda opened: sockets.append(opened))
                visit.open()
                assert visit.page.title() != "injected"
                assert len(visit.complaints) == (1 if allowed else 2)
                assert all("script" in complaint and "Policy" in complaint for complaint in visit.complaints)
                assert len(sockets) == allowed
        finally:
            server.terminate()


def test_every_check_of_lint_is_run(asked: list[str]) -> None:
    do.main(["lint"])
    assert asked == ["install", *map(" ".join, do.LINT)]
    assert "ruff check ." in asked


@pytest.mark.parametrize(("body", "code"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 15)", 143)])
def test_a_programs_exit_code_is_ours(monkeypatch: pytest.MonkeyPatch, body: str, code: int) -> None:
    monkeypatch.setattr(do, "program", lambda name: sys.executable)
    with pytest.raises(SystemExit) as stopped:
        do.run("python", "-c", body)
    assert stopped.value.code == code
    do.run("python", "-c", "")


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    monkeypatch.setattr(do.sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit, match=r"Python 3\.11 or newer is needed; .* is 3\.10\. .* make PY=python3\.11"):
        do.install()
    assert not (project / ".venv").exists()


def test_a_missing_venv_module_is_told(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        do.install()
    assert not (project / ".venv").exists()


@pytest.fixture
def programs(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Programs that note what they are asked, for uv and for Python with its pip; returns what has been asked since."""
    notes = project / "asked"

    def asked() -> list[str]:
        lines = notes.read_text("utf8").splitlines() if notes.is_file() else []
        notes.unlink(missing_ok=True)
        return [line for line in lines if line != "python -c "]

    for name in ("uv", "python"):
        program = project / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >> {notes}\n[ ! -e {project}/no-{name} ]\n', "utf8")
        program.chmod(0o755)
    monkeypatch.setattr(do, "program", lambda name: str(project / name))
    monkeypatch.setattr(do, "npm", lambda *command, cwd: 0)
    (project / ".venv").mkdir()
    (project / "requirements.lock").write_text("a==1\nuv==9 \\\n    --hash=sha256:1\nuvicorn==2\n", "utf8")
    return asked


LOCK = "--require-hashes --only-binary=:all: -r requirements.lock"


def test_uv_installs_and_again_when_the_lock_changes(project: Path, programs: Callable[[], list[str]]) -> None:
    do.install()
    config, lock, ours = programs()
    assert config == "python -m pip config list"
    assert lock.startswith("uv pip install ") and lock.endswith(LOCK)
    assert ours.startswith("uv pip install ") and ours.endswith("--no-build-isolation -e .")
    do.install()
    assert programs() == []
    append(project / "requirements.lock")
    do.install()
    assert lock in programs()


def test_uv_comes_by_its_hash_and_pip_installs_where_it_does_not(
    project: Path, programs: Callable[[], list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "uv").unlink()
    do.install()
    first, _, lock, ours = programs()
    assert first.endswith(f"--require-hashes --only-binary=:all: -r {project / '.venv' / 'uv.lock'}")
    assert (project / ".venv" / "uv.lock").read_text("utf8") == "uv==9 \\\n    --hash=sha256:1\n"
    assert lock.startswith("python -m pip install ") and lock.endswith(LOCK)
    assert ours.startswith("python -m pip install ")
    assert "Without uv: pip installs" in capfd.readouterr().out


def test_an_install_that_fails_says_so_and_is_not_taken_for_done(
    project: Path, programs: Callable[[], list[str]]
) -> None:
    for name in ("no-uv", "no-python"):
        (project / name).touch()
    (project / ".venv" / "pyvenv.cfg").touch()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit, match="Without a network"):
        patch.setattr(do, "starts", lambda _: True)
        do.install()
    assert [line.split()[:2] for line in programs()[-2:]] == [["uv", "pip"], ["python", "-m"]]
    assert not (project / ".venv" / ".installed").exists()


def test_uv_hears_of_pips_mirror(
    project: Path, programs: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in do.OF_PIP.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "mine")
    said = "global.index-url='http://a/simple'\n:env:.proxy='theirs'\nglobal.timeout='9'\n"
    (project / "python").write_text(f'#!/bin/sh\nprintf "{said}"\n', "utf8")
    do.bring_uv()
    assert (os.environ["UV_DEFAULT_INDEX"], os.environ["ALL_PROXY"]) == ("http://a/simple", "mine")
    assert "SSL_CERT_FILE" not in os.environ


@pytest.mark.parametrize("name", FILES)
def test_an_environment_is_that_of_four_files(project: Path, name: str) -> None:
    before = do.fingerprint()
    (project / name).write_text("# another\n", "utf8")
    assert do.fingerprint() != before


def test_what_npm_did_not_bring_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry is a closed port of this machine."""
    monkeypatch.setattr(do, "program", lambda name: sys.executable)
    monkeypatch.setattr(do, "QUIETLY", (*do.QUIETLY, "--registry=http://127.0.0.1:9", "--fetch-retries=0"))
    monkeypatch.setenv("npm_config_cache", str(project / "cache"))
    (project / ".venv").mkdir()
    for name in do.NPM:
        (project / name).write_text((ROOT / name).read_text("utf8"), "utf8")
    with pytest.raises(SystemExit, match=r"^Temml, .* did not come from the npm registry"):
        do.from_npm()
    assert not (project / ".venv" / "node_modules" / "temml").exists()


def test_clean_deletes_what_was_built_and_an_environment_and_nothing_else(project: Path) -> None:
    for name in ("_build/html", "gru_lib.egg-info", "book", ".venv"):
        (project / name).mkdir(parents=True)
    (project / "conf.py").touch()
    do.clean()
    left = {path.name for path in project.iterdir()}
    assert left == {"book", ".venv", *FILES}
    (project / ".venv" / "pyvenv.cfg").touch()
    do.clean()
    assert not (project / ".venv").exists()


ASKS_BACK = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(5))
print("ready", flush=True)
time.sleep(60)
"""
RUNS_IT = f"""
import sys
sys.path.insert(0, "tools")
import do
do.install = lambda: None
do.program = lambda name: sys.executable
do.LINT = [("python", "-c", {ASKS_BACK!r})]
do.main(["lint"])
"""


@pytest.mark.skipif(do.WINDOWS, reason="a signal to a group of processes is another matter there")
def test_an_interrupt_is_left_to_the_program_that_runs() -> None:
    """JupyterLab asks back at Ctrl-C, and do.py must be there for the answer."""
    command = [sys.executable, "-c", RUNS_IT]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stdout.readline() == "ready\n"
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=30) == 5
