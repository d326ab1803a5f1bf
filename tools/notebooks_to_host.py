"""What the launch buttons of a published book open: ``python tools/notebooks_to_host.py``, after `make book`.

Into ``_build/to-host`` it writes the readers' notebooks, the two wheels, and in ``binder/`` what Binder installs: these
and, of the lock, what notebooks use; JupyterLab is Binder's own. The workflow pushes it to the branch `notebooks`. The
same project gives the same bytes, since Binder builds an environment for each commit that it meets.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import notebooks_to_test
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import pages  # noqa: E402

READERS = ROOT / "_build" / "html" / "notebooks"
OUT = ROOT / "_build" / "to-host"
PYTHON = "3.12"  # Binder's
BINDER = {"python_full_version": f"{PYTHON}.0", "python_version": PYTHON}  # its system is that of CI, Linux
README = """The notebooks of *The Gated Recurrent Unit*, the wheels of what they import, and what Binder installs.

They are made from the main branch at each change, and what is changed here is lost. Text and figures are under
CC BY 4.0 (`LICENSE-TEXT`), the code is under the MIT licence (`LICENSE`).

"""


def needed(asked: list[str]) -> set[str]:
    """The packages that requirements bring on Binder, themselves too, as the packages installed here say."""
    todo, seen = list(map(Requirement, asked)), set()
    while todo:
        package = todo.pop()
        name = canonicalize_name(package.name)
        for extra in {"", *package.extras} - {extra for one, extra in seen if one == name}:
            seen.add((name, extra))
            for each in map(Requirement, metadata.requires(name) or ()):
                if each.marker is None or each.marker.evaluate({**BINDER, "extra": extra}):
                    todo.append(each)
    return {name for name, _ in seen}


def locked(names: set[str]) -> str:
    """The part of the lock that pins these packages."""
    parts = re.split(r"^(?=\S)", (ROOT / "requirements.lock").read_text("utf8"), flags=re.M)
    return "".join(part for part in parts if part.partition("==")[0] in names)


def main() -> None:
    """Write everything anew."""
    notebooks = sorted(READERS.glob("*.ipynb"))
    if not notebooks:
        sys.exit("There are no notebooks in _build/html/notebooks. Run `python tools/do.py book` first.")
    shutil.rmtree(OUT, ignore_errors=True)
    binder = OUT / "binder"
    binder.mkdir(parents=True)
    for file in (*notebooks, ROOT / "LICENSE", ROOT / "LICENSE-TEXT"):
        shutil.copy(file, OUT)
    contents = (f"- [{pages.read(path.stem).title}]({path.name})\n" for path in notebooks)
    (OUT / "README.md").write_text("".join([README, *contents]), "utf8")
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # the times in the wheel
    project = tomllib.loads((ROOT / "gru_book" / "pyproject.toml").read_text("utf8"))["project"]
    lock = locked(needed(project["dependencies"]))
    made = ((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()) for wheel in notebooks_to_test.wheels(OUT))
    ours = "".join(f"./{name} --hash=sha256:{digest}\n" for name, digest in made)  # seen from OUT
    (binder / "requirements.txt").write_text(lock + ours, "utf8")
    (binder / "runtime.txt").write_text(f"python-{PYTHON}\n", "utf8")


if __name__ == "__main__":
    main()
