"""What the chapters of *The Gated Recurrent Unit* import beside `gru_lib`.

`cells` of single chapters, `tasks` (the data), `models` (what chapters build from cells and layers), `check` (answers
to exercises), `widgets` (the explorers), `drawings`, `viz` and `table` (figures), `results` (of long trainings), `scan`
and `jacobian`. CONTRIBUTING.md says which chapter uses what. A module is loaded when it is first asked for.
"""

import sys
from importlib import import_module
from types import ModuleType

__version__ = "0.3.0"

_MODULES = (
    "cells", "check", "drawings", "jacobian", "models", "results", "scan", "table", "tasks", "viz", "widgets",
)  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*_MODULES, "__version__"})


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return import_module(f"gru_book.{name}")
    # From `name` and `obj` Python tells what was meant.
    raise AttributeError(f"module 'gru_book' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
