"""tools/mutants.py: the changes that it makes, the tests that it runs on them, and the list of what survived."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import mutants
import pytest


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x = a + b", {"x = a - b"}),
        ("x = a @ b.T", {"x = a * b.T", "x = a @ b"}),
        ("x -= c * d", {"pass", "x += c * d", "x -= c / d"}),
        ("y = p < 3", {"y = p <= 3", "y = p > 3", "y = p < 4"}),
        ("y = -x if not k else x", {"y = x if not k else -x", "y = x if not k else x", "y = -x if k else x"}),
        ("y = a.sum(axis=1)", {"y = a.mean(axis=1)", "y = a.sum(axis=2)"}),
        ("y = np.zeros(n), 0.5, True", {"y = (np.ones(n), 0.5, True)", "y = (np.zeros(n), 1.0, True)",
                                        "y = (np.zeros(n), 0.5, False)"}),
        ("if a and b:\n    x[0] = f(c)", {"if a or b", "if not (a and b)", "x[1] = f(c)", "pass"}),
        ("for i in s:\n    g(i)\n    continue", {"pass"}),
        ("def f(a: int | None = 1) -> int | float:\n    return a", {"def f(a: int | None=2) -> int | float"}),
        ("class A(B):\n    '''1 + 1'''\n    n: int | str = 2", {"n: int | str = 3"}),
        ("raise ValueError(f'{a + 1}')", {"pass"}),
        ("__all__ = ['a', 1 + 1]", set()),
        ("x = 'a' % 3", {"x = 'a' // 3", "x = 'a' % 4"}),
    ],
)  # fmt: skip
def test_each_change_is_made_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, wanted: set[str]
) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text(source, "utf8")
    found = list(mutants.mutants(path))
    assert {mutant.after for mutant in found} == wanted
    for mutant in found:
        tree = mutants.ast.parse(source)
        changed = mutants.ast.unparse(mutants.mutated(tree, mutant.steps, mutant.choice))
        assert changed != mutants.ast.unparse(tree) and mutant.after in changed


@cache
def of_the_core() -> list[mutants.Mutant]:
    return [mutant for path in mutants.modules() for mutant in mutants.mutants(path)]


def test_what_is_said_of_a_mutant_and_the_sample_is_always_the_same() -> None:
    every = of_the_core()
    assert len({(m.path, m.steps, m.choice) for m in every}) == len(every) > 2000
    (one,) = (m for m in every if m.after == "total -= product" and m.function == "backward")
    assert one.key == ("gru_lib/_core/passes.py", "backward", "total += product", "total -= product")
    sample = mutants.choose(every, 50, "")
    assert len(sample) == 50 and sample == mutants.choose(every, 50, "") == sorted(sample, key=every.index)
    assert mutants.choose(every, None, "") == every and one in mutants.choose(every, 1, "passes.py")
    assert {path.name for path in mutants.modules()} >= {"gru.py", "_gru_pass.py", "ops.py", "optim.py", "buffers.py"}
    assert all((mutants.ROOT / file).is_file() for file in mutants.files_of_tests())
    assert len(mutants.files_of_tests()) == len(mutants.TESTS)


def test_survivors_that_are_listed_exist_and_have_a_reason() -> None:
    there = {mutant.key for mutant in of_the_core()}
    with mutants.LISTED.open(encoding="utf8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert rows == sorted(rows) and len({tuple(row[:4]) for row in rows}) == len(rows)
    assert [row for row in rows if tuple(row[:4]) not in there] == [], "the code has changed: look at it again"
    for *_, reason in rows:
        kind, _, words = reason.partition(": ")
        assert kind in mutants.REASONS and len(words) > 10


GATES = """
import numpy as np

def seen(x):
    return np.maximum(x, 0) + 3

def unseen(x):
    y = x - 1
    return y

def until(x):
    while x:
        x >>= 1
    return x

def never(x):
    return x * 2
"""
TESTS = """
from gru_lib.gates import seen, unseen, until

def test_seen():
    assert seen(-1) == 3 and seen(2) == 5

def test_unseen():
    unseen(0)

def test_until():
    assert until(4) == 0
"""
LISTED = """module,function,before,after,reason
gru_lib/gates.py,until,x >>= 1,x >>= 2,equivalent: it only comes sooner
gru_lib/gates.py,seen,"return np.maximum(x, 0) + 3","return np.maximum(x, 1) + 3",open: so we believed
"""
PROGRAM = "import mutants as m; m.PATIENCE, m.TESTS = 0.5, ('gates',); raise SystemExit(m.main(['--all']))"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, so the tool runs no mutant")
def test_holes_are_found_and_nothing_else(tmp_path: Path) -> None:
    """Killed are also a loop that does not end, which is stopped, and one that does not begin."""
    for folder in ("tools", "gru_lib", "tests"):
        (tmp_path / folder).mkdir()
    shutil.copy(mutants.__file__, tmp_path / "tools")
    for name, text in {
        "gru_lib/__init__.py": "",
        "gru_lib/gates.py": GATES,
        "tests/test_gates.py": TESTS,
        "tests/mutants.csv": LISTED,
        "pytest.ini": "[pytest]\npythonpath = .",
    }.items():
        (tmp_path / name).write_text(text, "utf8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "tools"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf8",
        check=False,
        env=environment,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(("survived", "listed", "11 "))]
    assert said[1:-1] == [
        "listed, but killed: gru_lib/gates.py:5 seen: return np.maximum(x, 0) + 3  ->  return np.maximum(x, 1) + 3",
        "survived 1 tests: gru_lib/gates.py:8 unseen: y = x - 1  ->  y = x + 1",
        "survived 1 tests: gru_lib/gates.py:8 unseen: y = x - 1  ->  y = x - 2",
        "survived 0 tests: gru_lib/gates.py:17 never: return x * 2  ->  return x / 2",
        "survived 0 tests: gru_lib/gates.py:17 never: return x * 2  ->  return x * 3",
    ], done.stdout + done.stderr
    assert said[0] == "11 of 11 mutants." and said[-1].startswith("11 mutants in ")
    assert said[-1].endswith("6 killed, 1 equivalent, 4 others. 60.0 % of those that are not equivalent are killed.")
    assert done.returncode == 1
