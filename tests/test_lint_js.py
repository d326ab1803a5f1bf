"""The explorers' JavaScript is typed and linted: clean as it stands, red for a fault of either kind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WIDGETS = Path("gru_lib") / "widgets"
RESULTS = Path("gru_lib") / "results"
HOST = Path("book") / "_ext" / "afm_host.js"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "lint_js.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The modules, the page's host and the settings, in a folder of their own."""
    (tmp_path / WIDGETS).mkdir(parents=True)
    (tmp_path / HOST).parent.mkdir(parents=True)
    for path in [*(ROOT / WIDGETS).glob("*.mjs"), *(ROOT / WIDGETS).glob("*.json")]:
        shutil.copy(path, tmp_path / WIDGETS)
    shutil.copy(ROOT / HOST, tmp_path / HOST)
    (tmp_path / RESULTS).mkdir()
    shutil.copy(ROOT / RESULTS / "words_net.json", tmp_path / RESULTS)  # the net that the reader imports
    for name in ("jsconfig.json", ".oxlintrc.json"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_every_file_asks_an_editor_for_its_types() -> None:
    files = [*(ROOT / WIDGETS).glob("*.mjs"), ROOT / HOST]
    assert [path.name for path in files if not path.read_text("utf-8").startswith("// @ts-check\n")] == []


FAULTS = (
    # A number where text belongs; a word that the JSON does not have; a type that is said nowhere.
    (WIDGETS / "hold.mjs", 'export const planted1 = fixed("0.5");', "error TS2345"),
    (WIDGETS / "hold.mjs", "export const planted2 = HOLD.words.en.nowhere;", "error TS2339"),
    (WIDGETS / "hold.mjs", "export const planted3 = (v) => v;", "error TS7006"),
    (HOST, "(function () { document.body.wide = 1; })();", "error TS2339"),
    # What no type can tell: a comparison that converts, and a value that nobody uses.
    (WIDGETS / "hold.mjs", "export const planted4 = (/** @type {number} */ v) => v == 1;", "eslint(eqeqeq)"),
    (HOST, "(function () { let planted = 1; document.title = String(planted); })();", "eslint(prefer-const)"),
)


def test_planted_faults_are_found(copy: Path) -> None:
    """Each in its line, and nothing else."""
    places = set()
    for file, fault, complaint in FAULTS:
        with (copy / file).open("a", encoding="utf-8") as text:
            text.write(f"{fault}\n")
        places.add((file.name, len((copy / file).read_text("utf8").splitlines()), complaint))
    done = lint(copy)
    assert done.returncode > 0, done.stdout + done.stderr
    found = re.findall(r"/([\w.]+)[(:](\d+)[,:]\d+\S* .*?(error TS\d+|eslint\([\w-]+\))", done.stdout)
    assert {(file, int(line), complaint) for file, line, complaint in found} == places, done.stdout
