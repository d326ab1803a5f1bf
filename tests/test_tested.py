"""book/tested.md: the counts it states are about those of the tests there are, and what it names is there."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from benchmarks import parts
from conftest import ROOT

PAGE = (ROOT / "book" / "tested.md").read_text("utf8")


def collected(request: pytest.FixtureRequest) -> dict[str, int]:
    """How many tests there are, by part. A run of a few asks another pytest for the others, but for the notebooks'
    cells, which are there only where `tools/alone.py` has prepared them."""
    found = {item.nodeid for item in request.session.items}
    if {parts.part(each) for each in found} == set(parts.PARTS) and any(".ipynb" in each for each in found):
        return Counter(map(parts.part, found))
    command = [sys.executable, "-m", "pytest", "-qq", "-p", "no:cacheprovider", "--collect-only", "tests"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    files = re.findall(r"^(tests/\S+\.py): (\d+)$", done.stdout, re.M)
    assert files, done.stdout + done.stderr
    counts: Counter[str] = Counter()
    for file, count in files:
        counts[parts.part(file)] += int(count)
    del counts["notebooks"]
    return counts


def test_page_states_about_as_many_tests_as_there_are(request: pytest.FixtureRequest) -> None:
    counted = collected(request)
    said = {name: count for name, count in parts.stated().items() if name in counted}
    assert parts.contradictions(said, counted) == [], "`make test`, then `python -m benchmarks.parts`"


def test_a_count_that_is_off_by_more_than_a_tenth_is_seen() -> None:
    assert parts.contradictions({"library": 2500, "project": 510}, {"library": 2472, "project": 510}) == []
    assert parts.contradictions({"library": 2500}, {"library": 2800}) == [
        "library: 2500 tests are stated, there are 2800"
    ]
    assert parts.contradictions({}, {"library": 1}) == ["library: 0 tests are stated, there are 1"]
    assert parts.contradictions({"chapters": 9}, {}) == ["chapters: 9 tests are stated, there are 0"]


def test_last_run_is_stored_as_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LAST", tmp_path / "times.json")
    monkeypatch.setattr(parts, "STATED", tmp_path / "tested.csv")
    with pytest.raises(SystemExit, match="no whole run yet"):
        parts.store()
    run = {"parts": {"library": {"tests": 2472, "seconds": 55.9}}, "wall": 385.2, "processes": 2}
    parts.LAST.write_text(json.dumps(run), "utf8")
    day = date(2026, 3, 7)
    os.utime(parts.LAST, (noon := 86400 * (day - date(1970, 1, 1)).days + 43200, noon))
    parts.store()
    assert list(csv.reader(parts.STATED.read_text("utf8").splitlines())) == [
        ["part", "tests", "minutes"],
        ["library", "2,500", "0.9"],
        ["all, on 2026-03-07, by the clock with 2 processes", "2,500", "6.4"],
    ]
    assert parts.stated() == {"library": 2500}


def test_every_part_is_stated_and_every_file_that_the_page_names_is_there() -> None:
    assert list(parts.stated()) == list(parts.PARTS)
    linked = re.findall(r"\{download\}`([^<`]+) <\.\./([^>]+)>`", PAGE)
    assert len(linked) > 15
    assert [shown for shown, path in linked if shown != path or not (ROOT / path).is_file()] == []
    assert [
        path for path in re.findall(r"`((?:tests|tools|gru_lib)/[\w./]+)`", PAGE) if not (ROOT / path).exists()
    ] == []
