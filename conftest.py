"""Every pytest run, nbval's kernels included, has the environment in which the notebooks were executed.

With ``-n 2`` the tests run in two processes. A notebook stays in one, with its kernel; so does a file of tests, with
what it prepares once. Only the visits to the book's pages are many, and long: each page's are a piece of their own.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from environment import reproducible

os.environ.update(reproducible())


class ByFileOrVisit(LoadScopeScheduling):
    """Hand out whole files, and the tests of one visit to a page: ``[book/intro:390]``."""

    def _split_scope(self, nodeid: str) -> str:
        visit = re.search(r"\[(book/[^:\]]+:\d+)\b", nodeid)
        return visit[1] if visit else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFileOrVisit:
    """Called by pytest-xdist."""
    return ByFileOrVisit(config, log)
