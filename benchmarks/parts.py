"""How long each part of `make test` takes. conftest.py records it, `benchmarks.pages` prints it again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

LAST = Path(__file__).resolve().parents[1] / "_build" / "test-times.json"

# The first pattern that matches a test file names its part.
PARTS = {
    "notebooks": r"\.ipynb$|/test_notebooks",
    "pages of the book": r"/test_(book|page_checks|glossary_links|mathml|ways|teaching)\.",
    "explorers": r"/test_(explorer|widgets|afm_host|stills|live_notebook)(_\w+)?\.",
    "chapters": r"/test_chapter\d",
    "project": r"/test_(project|do|repository|browser|benchmarks|experiments|environment)\."
    r"|/test_(editions|editions_shown|alone|grade|pdf|release|link_check|types|site_files|icons|lint_js)\.",
    "library": "",
}
LIBRARY = ("chapters", "library")  # the parts that need neither a browser nor the built book nor its notebooks


class Report(Protocol):
    """What pytest reports about the setup, the call or the teardown of a test."""

    nodeid: str
    when: str
    duration: float


def part(nodeid: str) -> str:
    """The part a test belongs to, by its file."""
    file = nodeid.partition("::")[0]
    return next(name for name, pattern in PARTS.items() if re.search(pattern, file))


def by_part(reports: Iterable[Report]) -> dict[str, dict[str, float]]:
    """Count the tests of each part and sum their seconds, setup and teardown included."""
    found: dict[str, dict[str, float]] = {name: {"tests": 0, "seconds": 0.0} for name in PARTS}
    for report in reports:
        row = found[part(report.nodeid)]
        row["tests"] += report.when == "setup"
        row["seconds"] += report.duration
    return {name: row for name, row in found.items() if row["tests"]}


def table(run: dict[str, Any]) -> list[str]:
    """A run's lines: one per part, the longest first, and the wall-clock time."""
    rows = sorted(run["parts"].items(), key=lambda row: -row[1]["seconds"])
    lines = [f"{name:20}{row['tests']:6.0f} tests{row['seconds']:7.0f} s" for name, row in rows]
    return [*lines, f"in {run['processes']} processes {run['wall']:.0f} s by the clock"]


def last() -> list[str]:
    """The lines of the last whole `make test`, or one that says there was none."""
    if not LAST.is_file():
        return ["`make test`: no whole run yet, so no times by part"]
    return ["The last `make test`, by part:", *table(json.loads(LAST.read_text("utf8")))]
