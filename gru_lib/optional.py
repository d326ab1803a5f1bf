"""Packages that the library can do without: what needs one says which extra of ``gru-lib`` brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["needs"]


@contextmanager
def needs(where: str, package: str, extra: str) -> Iterator[None]:
    """Import a package inside this block: if it is missing, the error names it and says how to install it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{where} needs {package}: pip install "gru-lib[{extra}]"') from error
