"""Find a Chromium for the browser tests, or install one, or say what to do: ``python tools/browser.py``.

It is the one that ``CHROMIUM`` names, or one on the path, or Playwright's own. If there is none, root on Debian gets
the package ``chromium-headless-shell``, and everybody else what Playwright downloads. Playwright drives it by a Node of
its own, which needs libatomic: a small Debian lacks it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# The shell has no windows to draw: the tests of the explorers take a quarter less processor time in it.
NAMES = ("chromium-headless-shell", "chromium", "google-chrome", "google-chrome-stable", "chrome")
ADVICE = """\
The browser tests need a Chromium, and none could be found or installed. Do one of these, then run the command again:
  - Debian:            sudo apt-get install chromium-headless-shell libatomic1
  - with a network:    .venv/bin/playwright install --with-deps chromium (on Windows .venv\\Scripts\\playwright)
  - anywhere else:     install Chrome or Chromium, and if it is not on the path set CHROMIUM=/path/to/chromium"""

# No first-run pages, updates or background requests: what the tests see on the network is the book's.
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def find() -> str | None:
    """The path of a Chromium, or None."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    own = playwrights_own()  # asked in any case: without its driver no browser is driven
    there = next(filter(None, map(shutil.which, NAMES)), None) or (own if own and Path(own).is_file() else None)
    return there if own else None


def playwrights_own() -> str | None:
    """Where Playwright keeps the browser that it downloads, if it has; None if its driver does not start."""
    try:
        with sync_playwright() as playwright:
            return playwright.chromium.executable_path
    except Exception:  # it says no more than that the connection was closed
        return None


def main() -> None:
    """Print the browser's path, installing one if need be; stop with advice if there is none."""
    ways = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.name != "nt" and os.geteuid() == 0 and shutil.which("apt-get"):
        get = f"apt-get update -q && apt-get install -q -y --no-install-recommends {NAMES[0]} libatomic1"
        ways.insert(0, ["sh", "-c", get])
    if os.environ.get("CHROMIUM"):
        ways.clear()
    while (path := find()) is None and ways:
        print("No Chromium that can be driven here; asking for one ...", flush=True)
        subprocess.run(ways.pop(0), env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, check=False)
    if path is None:
        sys.exit(f"CHROMIUM={os.environ['CHROMIUM']} is no program." if os.environ.get("CHROMIUM") else ADVICE)
    print(f"Browser tests run in {path}")


if __name__ == "__main__":
    main()
