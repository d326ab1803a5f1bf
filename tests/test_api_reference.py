"""The API reference: every public name is in it, says something, and leads to its source; how docstrings are set."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import api_reference
import page_checks
import pytest
from helpers import INSIDE
from page_checks import after, value
from selectolax.lexbor import LexborHTMLParser, LexborNode

import gru_book
import gru_lib
from conftest import ROOT, Visit

Pages = list[LexborHTMLParser]
PAGES = sorted(path.stem for path in (ROOT / "book").glob("api*.md"))


def public() -> set[str]:
    """Every name in the `__all__` of a module that is public itself."""
    packages = (gru_lib, gru_book)
    walked = [m.name for p in packages for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
    modules = ["gru_lib", *walked]
    own = [importlib.import_module(m) for m in modules if not re.search(r"\._", m) and m not in INSIDE]
    return {name for module in own for name in getattr(module, "__all__", ())}


def entries(pages: Pages) -> dict[str, tuple[LexborNode, LexborNode | None]]:
    """What the pages describe, by name: its signature, and what is said of it."""
    found = [dt for page in pages for dt in page.css("dl.py > dt.sig[id]")]
    return {value(dt, "id"): (dt, after(dt, "dd")) for dt in found}


@pytest.fixture(scope="module")
def pages(built_book: Path) -> Pages:
    return [page_checks.parse(built_book / "book" / f"{name}.html") for name in PAGES]


def test_every_public_name_is_described_and_code_leads_to_its_source(pages: Pages, built_book: Path) -> None:
    described = {name.rpartition(".")[2]: entry for name, entry in entries(pages).items()}
    sections = {value(e, "id").rpartition(".")[2] for page in pages for e in page.css("[id^=module-]")}
    assert len(public()) > 350 and public() - described.keys() - sections == set()
    for name in public() & described.keys():
        signature, text = described[name]
        assert len(text.text().split()) > 1, f"{name} has no docstring"
        link = signature.css_first("a:has(.viewcode-link)")
        home = max((m for m in sys.modules if value(signature, "id").startswith(f"{m}.")), key=len)
        if re.search(rf"^ *(?:def|class) {name}\b", inspect.getsource(sys.modules[home]), re.M):
            assert link is not None, f"{name} does not lead to its source"
            target, _, anchor = value(link, "href").removeprefix("../").partition("#")
            assert anchor in page_checks.ids(built_book / target), f"{name} does not lead to its source"
    front = page_checks.parse(built_book / "book" / "api.html")
    listed = {link.text() for link in front.css("table.autosummary td:first-child a")}
    assert listed <= set(gru_lib.__all__) <= listed | {name.rpartition(".")[2] for name in entries([front])}


@pytest.mark.parametrize("name", PAGES)
def test_no_markup_is_left_in_the_text(built_book: Path, name: str) -> None:
    page = LexborHTMLParser((built_book / "book" / f"{name}.html").read_text("utf8"))
    article = page.css_first("article.gru-text")
    for code in reversed(article.css("pre, code, dt.sig")):
        code.decompose()
    assert re.findall(r".{0,30}(?:``|`|:\w+:`|::|\\|(?<![\w*])\*\w|-{4,}|>>>).{0,30}", article.text()) == []


def test_page_of_a_source_is_in_order(
    reader: Callable[[str, int], AbstractContextManager[Visit]], built_book: Path
) -> None:
    file = built_book / "_modules/gru_lib/cells/gru.html"
    with reader(file.as_uri(), 390) as visit:
        visit.open()
        assert (visit.foreign, visit.complaints) == ([], [])
        assert page_checks.too_wide(visit.page) == []
        assert page_checks.faint_text(visit.page, "light", "dark") == []
        assert page_checks.violations(visit.page) == []
    assert page_checks.broken_links(file) == []


def test_signature_is_the_one_in_the_source(pages: Pages) -> None:
    described = entries(pages)
    texts = {name: re.sub(r"\s", "", dt.text()) for name, (dt, _) in described.items()}
    assert (
        "gru_step(x:ArrayLike,h_prev:ArrayLike,p:GRUParams,)→tuple[Array,GRUCache]"
        in texts["gru_lib.cells.gru.gru_step"]
    )
    assert not re.search("gru_lib|_Buffer|at0x", " ".join(texts.values()))
    fields = described["gru_lib.cells.gru.GRUParams"][1].css_first("pre").text()
    assert "W_x: Array  # (D, 3H), side by side:\n" in fields


def test_book_without_solutions_has_no_source_of_the_checks() -> None:
    """It holds the right answers."""
    for solutions, module, source in (
        ("no", "gru_book.check.by_hand", ("", {})), ("no", "gru_lib.ops", None), ("yes", "gru_book.check.by_hand", None)
    ):  # fmt: skip
        app: Any = SimpleNamespace(config=SimpleNamespace(gru_solutions=solutions))
        assert api_reference.find_source(app, module) == source
