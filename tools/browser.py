"""Find a Chromium for the browser tests, or install one, or say what to do.

Looked for in this order: ``$CHROMIUM``; a Chromium or Chrome on the path, the one without windows first; Playwright's
own. If there is none, that of Playwright is downloaded; where that fails and we are root on Debian or Ubuntu, the
package ``chromium-headless-shell`` is installed, or ``chromium`` where there is no such package.

``python tools/browser.py`` makes sure there is one and prints it; :func:`find` only looks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

WINDOWS = os.name == "nt"
# The shell has no windows to draw: the tests of the explorers take a quarter less processor time in it.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
PACKAGES = NAMES[:2]
ADVICE = """\
The browser tests need a Chromium, and none could be found or installed. Do one of these, then run the command again:
  - Debian:            sudo apt-get install chromium-headless-shell
  - Ubuntu:            sudo apt-get install chromium
  - anywhere else:     install Chrome or Chromium, and if it is not on the path set CHROMIUM=/path/to/chromium
  - with a network:    .venv/bin/playwright install --with-deps chromium (on Windows .venv\\Scripts\\playwright)"""

# Two pages of the address bar's popup that Chromium loads with every window, and processes it starts in case one is
# wanted. Headless, nobody sees either; they took as long as the pages under test.
UNSEEN = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")

# What Playwright switches off. Of two --disable-features Chromium hears the last, so its list is repeated here.
PLAYWRIGHTS = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "TcpPortRandomizationWin",
    "ThirdPartyStoragePartitioning",
)

# No first-run pages, updates or background requests: what the tests see on the network is the book's.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(UNSEEN + PLAYWRIGHTS)}",
)


def runs(path: str | Path) -> bool:
    """Whether the program starts: Ubuntu has a `chromium-browser` that only says to install a snap."""
    if WINDOWS:  # there, --version opens a window
        return Path(path).is_file()
    try:
        done = subprocess.run([str(path), "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def find() -> str | None:
    """The path of a Chromium that starts, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if runs(named) else None
    found = [path for name in NAMES if (path := shutil.which(name))]
    found.append(playwrights_own())
    return next((path for path in found if path and runs(path)), None)


def playwrights_own() -> str | None:
    """Where Playwright keeps the browser it downloads, if it has."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def install() -> None:
    """Try the two ways of installing one, with their own progress on the screen."""
    print("No Chromium here; asking Playwright for one ...", flush=True)
    playwright = [sys.executable, "-m", "playwright", "install", "chromium"]
    if subprocess.run(playwright, check=False).returncode == 0 and find():
        return
    if not WINDOWS and os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing the system's package ...", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-q"], env=quiet, check=False)
        for package in PACKAGES:
            command = ["apt-get", "install", "-q", "-y", "--no-install-recommends", package]
            if subprocess.run(command, env=quiet, check=False).returncode == 0:
                return


def main() -> None:
    """Print the browser's path, installing one if need be; stop with advice if there is none."""
    if os.environ.get("CHROMIUM") and find() is None:
        sys.exit(f"CHROMIUM={os.environ['CHROMIUM']} does not start. Correct it or unset it.")
    if find() is None:
        install()
    path = find()
    if path is None:
        sys.exit(ADVICE)
    print(f"Browser tests run in {path}")


if __name__ == "__main__":
    main()
