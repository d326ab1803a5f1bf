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
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(Path(__file__).parent / "book" / "_ext"))
sys.path.insert(0, str(Path(__file__).parent / "tools"))

import environment

ROOT = Path(__file__).parent
environment.fix(environment.asked())
# Keras asks for TensorFlow unless told otherwise, and takes a Mac's GPU, which CI's Macs cannot use.
os.environ |= {"KERAS_BACKEND": "torch", "KERAS_TORCH_DEVICE": "cpu"}

# Where a session notes which notebooks passed: tools/notebooks_to_test.py says what for.
KEYS, PASSED = ROOT / "_build" / "to-test" / "keys.json", ROOT / "_build" / "passed.json"
CELLS: dict[str, list[bool]] = {}  # of each notebook, which cells passed

# Who asks for one of these needs a browser or the built book; these files need what else stands beside the library.
FIXTURES = {"browser", "built_book", "book_url"}
FILES = re.compile(
    r"\.ipynb$|/test_(afm_host|api_reference|benchmarks|do)\.py$"
    r"|/test_(equations|experiments|explorer_\w+|glossary_links|grade|live_notebook|mathml)\.py$"
    r"|/test_(notebooks\w*|page_checks|page_links|pdf|previews|project|prose_numbers|reader_notebooks)\.py$"
    r"|/test_(release|repository|site_files|teaching|widgets)\.py$"
)


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
    parser.addoption("--quick", action="store_true", help="no test that is marked slow, as `make test`; CI runs them")
    parser.addoption("--library", action="store_true", help="only tests that need no browser, book or notebook")
    parser.addoption("--frameworks", action="store_true", help="only tests that need other frameworks; none is skipped")
    parser.addoption("--page", default="", help="only tests of this chapter and its companions, or of one: 04, 04b")
    parser.addoption("--other-fonts", action="store_true", help="only tests marked so, in a browser with other fonts")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Called by pytest. With --frameworks: which versions the claims are run with."""
    if not config.option.frameworks:
        return []
    with (ROOT / "pyproject.toml").open("rb") as file:
        group = tomllib.load(file)["dependency-groups"]["frameworks"]
    names = [re.match(r"[\w-]+", each)[0] for each in group]
    return ["frameworks: " + ", ".join(f"{name} {version(name) if has(name) else '–'}" for name in names)]


def has(name: str) -> bool:
    """Whether a distribution is installed."""
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def pytest_configure(config: pytest.Config) -> None:
    """Called by pytest. nbval finds what not to compare, so `pytest --nbval book/04-gru-forward.ipynb` does all; and
    Jupyter finds the kernel that tools/notebooks_to_test.py makes."""
    if getattr(config.option, "nbval_sanitize_with", "") is None:
        config.option.nbval_sanitize_with = str(ROOT / "tests" / "nbval-sanitize.cfg")
    os.environ["JUPYTER_PATH"] = str(ROOT / "_build" / "to-test" / "kernel" / "share" / "jupyter")
    gc.disable()  # what thousands of tests are collected into stays; to search it for garbage takes seconds


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Called by pytest. The longest pieces come first, so that short ones fill the end."""

    def beyond_the_library(item: pytest.Item) -> bool:
        asked = FIXTURES.intersection(getattr(item, "fixturenames", ()))
        return bool(asked or FILES.search(item.nodeid.partition("::")[0]))

    page = config.option.page
    of_page = re.compile(rf"test_chapter{page[:2]}\.py|book/{page}[^/]*\.ipynb|\[(book/)?{page}[a-z]?-")
    for option, kept in (
        (page, lambda item: of_page.search(item.nodeid)),
        (config.option.library, lambda item: not beyond_the_library(item)),
        (config.option.other_fonts, lambda item: item.get_closest_marker("fonts")),
        (config.option.quick, lambda item: not item.get_closest_marker("slow")),
        (config.option.frameworks, lambda item: item.get_closest_marker("frameworks")),
    ):
        if option:
            config.hook.pytest_deselected(items=[item for item in items if not kept(item)])
            items[:] = [item for item in items if kept(item)]
    items.sort(key=lambda item: (".ipynb" not in item.nodeid, not beyond_the_library(item)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Called by pytest. Where a framework is missing its tests are skipped; with --frameworks they run, and fail."""
    marker = item.get_closest_marker("frameworks")
    missing = [name for name in marker.args if not find_spec(name)] if marker else []
    if missing and not item.config.option.frameworks:
        pytest.skip(f"{' and '.join(missing)} not installed: pip install --group frameworks")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Called by pytest. What a test ran of another framework's code on a page is noted if it passes."""
    helpers = sys.modules.get("helpers")
    if helpers:
        helpers.TAKEN.clear()
    yield
    if helpers and helpers.TAKEN:
        helpers.note_boxes()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Called by pytest after the collection. Garbage is looked for again, among what comes from here on."""
    gc.freeze()
    gc.enable()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Called by pytest, for each cell of a notebook too."""
    page = re.fullmatch(r"_build/to-test/run/([^/]+)/.*\.ipynb", report.nodeid.partition("::")[0])
    if page and report.when == "call":
        CELLS.setdefault(page[1], []).append(report.passed)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Called by pytest. A notebook has passed if each of its cells has."""
    if CELLS and not hasattr(session.config, "workerinput"):
        keys, known = (json.loads(path.read_text("utf8")) if path.is_file() else {} for path in (KEYS, PASSED))
        for page, passed in CELLS.items():
            notebook = json.loads((KEYS.parent / "run" / page / f"{page}.ipynb").read_text("utf8"))
            known.pop(page, None)
            if all(passed) and len(passed) == sum(cell["cell_type"] == "code" for cell in notebook["cells"]):
                known[page] = keys.get(page)
        PASSED.write_text(json.dumps(known, indent=0), "utf8")
