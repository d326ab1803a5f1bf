"""Small books, each built in a fork of a process that has loaded Sphinx: to load it takes longer than to build them.

Where a system has no fork server, each loads it anew.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
from multiprocessing.connection import Connection
from typing import NamedTuple

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
NOWHERE = {"GITHUB_REPOSITORY": "", "SITE_ADDRESS": ""}
LOADED = ["sphinx.cmd.build", "myst_parser.sphinx_ext.main", "sphinxext.opengraph"]


class Done(NamedTuple):
    """How a build ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


def _build(end: Connection, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout, sys.stderr = out, err = io.StringIO(), io.StringIO()
    from sphinx.cmd.build import main

    end.send((main(arguments), out.getvalue(), err.getvalue()))


def sphinx(*arguments: str, **environment: str) -> Done:
    """Run sphinx-build, whatever repository this runs in; with more in its environment."""
    context = multiprocessing.get_context(METHOD)
    context.set_forkserver_preload(LOADED)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_build, args=(there, arguments, os.environ | NOWHERE | environment))
    process.start()
    there.close()
    with here:
        found = here.recv()
    process.join()
    return Done(*found)
