"""Every pytest run, nbval's kernels included, has the environment in which the notebooks were executed.

With ``-n 3`` the tests run in three processes. A notebook stays in one, with its kernel; so does a file of tests, with
what it prepares once. Only the visits to the book's pages are many, and long, and so is what every explorer is asked:
each page's tests are a piece of their own, and each explorer's.
"""

import gc
import json
import os
import re
import sys
import time
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(Path(__file__).parent / "book" / "_ext"))
sys.path.insert(0, str(Path(__file__).parent / "tools"))

import environment

from benchmarks import parts

ROOT = Path(__file__).parent
START = time.perf_counter()
environment.fix(environment.asked())


class ByFileOrPage(LoadScopeScheduling):
    """Hand out whole files, and the tests of one page, ``[book/intro.html-390]``, or one explorer, ``[gate-390]``."""

    def _split_scope(self, nodeid: str) -> str:
        piece = re.search(r"\[(book/[^.\]]+)\.html\b|test_explorer_family\.py::\w+\[(\w+)", nodeid)
        return piece[0].rpartition("[")[2] if piece else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFileOrPage:
    """Called by pytest-xdist."""
    config.option.loadscopereorder = False  # it would begin with what has most tests, and end with a long notebook
    return ByFileOrPage(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest."""
    parser.addoption("--library", action="store_true", help="only tests that need no browser, book or notebook")
    parser.addoption("--other-fonts", action="store_true", help="only tests marked so, in a browser with other fonts")


def pytest_configure(config: pytest.Config) -> None:
    """Called by pytest. nbval finds what not to compare, so `pytest --nbval book/04-gru-forward.ipynb` does all; and
    Jupyter finds the kernel that tools/alone.py makes."""
    if getattr(config.option, "nbval_sanitize_with", "") is None:
        config.option.nbval_sanitize_with = str(ROOT / "tests" / "nbval-sanitize.cfg")
    os.environ["JUPYTER_PATH"] = str(ROOT / "_build" / "alone" / "kernel" / "share" / "jupyter")
    gc.disable()  # what thousands of tests are collected into stays; to search it for garbage takes seconds


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Called by pytest. The parts in the order of their table: the longest pieces first, the shortest fill the end."""
    order = list(parts.PARTS)
    for option, kept in (
        (config.option.library, lambda item: parts.part(item.nodeid) in parts.LIBRARY),
        (config.option.other_fonts, lambda item: item.get_closest_marker("fonts")),
    ):
        if option:
            config.hook.pytest_deselected(items=[item for item in items if not kept(item)])
            items[:] = [item for item in items if kept(item)]
    items.sort(key=lambda item: order.index(parts.part(item.nodeid)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Called by pytest after the collection. Garbage is looked for again, among what comes from here on."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Called by pytest at the end, in the process that hears of every test. `make test` says where its time went."""
    heard = [report for reports in terminalreporter.stats.values() for report in reports]
    times = parts.by_part(report for report in heard if isinstance(report, pytest.TestReport))
    whole = set(config.args) == {"tests", "_build/alone/run"} and not config.option.keyword
    if not (whole and times) or exitstatus > pytest.ExitCode.TESTS_FAILED:
        return
    run = {"parts": times, "wall": time.perf_counter() - START, "processes": len(config.option.tx) or 1}
    parts.LAST.parent.mkdir(exist_ok=True)
    parts.LAST.write_text(json.dumps(run, indent=1), "utf8")
    terminalreporter.section("time by part")
    for line in parts.table(run):
        terminalreporter.line(line)
