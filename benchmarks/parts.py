"""How many tests each part of `make test` has, and how long it takes.

conftest.py records it, `benchmarks.pages` prints it again, and ``python -m benchmarks.parts`` stores the last run for
the page that says how the book is tested.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[1]
LAST = ROOT / "_build" / "test-times.json"
STATED = ROOT / "book" / "tested.csv"
DRIFT = 0.1  # what a count may differ from the one stated: it is of the last stored run, and rounded

# The first pattern that matches a test file names its part.
PARTS = {
    "notebooks": r"\.ipynb$|/test_(notebooks|prose_numbers)",
    "pages of the book": r"/test_(book|press|page_checks)\."
    r"|/test_(api_reference|glossary_links|mathml|theme_style|ways|teaching)\.",
    "explorers": r"/test_(explorer|widgets|afm_host|stills|live_notebook)(_\w+)?\.",
    "chapters": r"/test_chapter\d",
    "project": r"/test_(project|do|repository|browser|benchmarks|experiments|environment)\."
    r"|/test_(editions|editions_shown|alone|grade|pdf|release|link_check|types|site_files|icons|lint_js|mutants)\.",
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


def rounded(count: float) -> int:
    """A count with two digits that say something: 4,700 for 4,671."""
    return int(float(f"{count:.2g}"))


def rows(run: dict[str, Any], day: date) -> list[list[str]]:
    """A run as the page's table has it: tests and minutes by part, then of all."""
    parts = run["parts"]
    said = [[name, f"{rounded(p['tests']):,}", f"{p['seconds'] / 60:.1f}"] for name, p in parts.items()]
    tests, minutes = sum(p["tests"] for p in parts.values()), run["wall"] / 60
    last = f"all, on {day}, by the clock with {run['processes']} processes"
    return [["part", "tests", "minutes"], *said, [last, f"{rounded(tests):,}", f"{minutes:.1f}"]]


def stated() -> dict[str, int]:
    """The number of tests of each part that the page states."""
    with STATED.open(encoding="utf8", newline="") as file:
        _, *said, _ = csv.reader(file)
    return {name: int(tests.replace(",", "")) for name, tests, _ in said}


def contradictions(said: dict[str, int], counted: dict[str, int]) -> list[str]:
    """The parts whose number of tests is not about the one stated."""
    return [
        f"{name}: {said.get(name, 0)} tests are stated, there are {counted.get(name, 0)}"
        for name in said | counted
        if abs(said.get(name, 0) - counted.get(name, 0)) > DRIFT * counted.get(name, 0)
    ]


def store() -> None:
    """Store the last whole run for the page."""
    if not LAST.is_file():
        sys.exit("There was no whole run yet: `make test` first.")
    run = json.loads(LAST.read_text("utf8"))
    with STATED.open("w", encoding="utf8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows(run, date.fromtimestamp(LAST.stat().st_mtime)))


if __name__ == "__main__":
    store()
