"""The examples in the docstrings: every public function has one, and each runs, on arrays of the shapes said."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import FunctionType, ModuleType

import matplotlib as mpl
import numpy as np
import pytest
from docstring_shapes import compared, docs_of
from helpers import INSIDE

import gru_book
import gru_lib

PACKAGES = (gru_lib, gru_book)
NAMES = [m.name for p in PACKAGES for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
MODULES = [*PACKAGES, *map(importlib.import_module, NAMES)]
DOCS = dict(docs_of(MODULES))
COLUMNS = 72  # of a block of code on a page


def examples(module: ModuleType) -> list[doctest.DocTest]:
    """The examples of what a module defines. They may use `np`."""
    return [test for test in doctest.DocTestFinder().find(module, globs={"np": np}) if test.examples]


@pytest.mark.parametrize("module", [m for m in MODULES if examples(m)], ids=lambda module: module.__name__)
def test_examples_print_what_they_say_on_arrays_of_the_shapes_said(module: ModuleType) -> None:
    said: list[str] = []
    faults: list[str] = []
    with mpl.rc_context(), compared(DOCS, faults):
        for test in examples(module):
            doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)
    assert sorted(set(faults)) == []


def test_examples_fit_a_page() -> None:
    shown = [
        line
        for module in MODULES
        for test in examples(module)
        for example in test.examples
        for line in [*(f">>> {line}" for line in example.source.splitlines()), *example.want.splitlines()]
    ]
    assert [line for line in shown if len(line) > COLUMNS] == []


def test_every_public_function_has_an_example() -> None:
    """But the checks of exercises: one would be the answer."""
    public = {
        f"{thing.__module__}.{name}": thing
        for module in MODULES
        for name, thing in ((name, getattr(module, name)) for name in getattr(module, "__all__", ()))
        if "._" not in module.__name__
        and module.__name__ not in INSIDE
        and isinstance(getattr(thing, "__wrapped__", thing), FunctionType)
    }
    assert len(public) > 350
    without = [name for name, thing in public.items() if not doctest.DocTestParser().get_examples(thing.__doc__ or "")]
    assert [name for name in without if not name.startswith("gru_book.check.")] == []
