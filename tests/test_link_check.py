"""External links: a DOI is asked of its registry, an address of its host."""

from __future__ import annotations

import runpy

import pytest

from conftest import ROOT


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("https://doi.org/10.1000/a<b>", "https://doi.org/api/handles/10.1000/a%3Cb%3E"),
        ("https://arxiv.org/abs/1406.1078", None),
    ],
)
def test_a_doi_is_asked_of_the_registry(address: str, asked: str | None) -> None:
    ask = runpy.run_path(str(ROOT / "book" / "_ext" / "link_check.py"))["ask_the_registry"]
    assert ask(None, address) == asked
