"""SOURCES.md: every claim of the four texts leads to a page, and what is said of it stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "SOURCES.md").read_text("utf8")

ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.M)
ARXIV = re.compile(r"\b1\d{3}\.\d{4}\b")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
LINK = r"\[((?:chapter|page) \w+)\]"


def claims(text: str) -> Iterator[tuple[str, str]]:
    """Each claim, and what the book says of it, with the places that show it."""
    yield from (row for row in ROW.findall(text) if row[0] != "It says")


@cache
def page(name: str) -> str:
    """The prose, the code and the outputs of a chapter or companion page."""
    cells = json.loads((ROOT / "book" / f"{Path(name).stem}.ipynb").read_text("utf8"))["cells"]
    outputs = [o.get("data", o) for cell in cells for o in cell.get("outputs", [])]
    printed = ["".join(out.get(kind, "")) for out in outputs for kind in ("text", "text/plain", "text/html")]
    figures = [str(cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", "")) for cell in cells]
    return "\n".join(["".join(cell["source"]) for cell in cells] + printed + figures)


def plain(text: str) -> str:
    """Numbers without the comma of the thousands."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


def pages(text: str, said: str) -> list[str]:
    """The files that a row links to."""
    links = dict(re.findall(r"^\[((?:chapter|page) \w+)\]: (\S+)$", text, re.M))
    return [links.get(name, name) for name in re.findall(LINK, said)]


def faults(text: str) -> list[tuple[str, str]]:
    """What is wrong with the claims of the page."""
    in_toc = (ROOT / "_toc.yml").read_text("utf8")
    found = []
    for title, said in claims(text):
        files = pages(text, said)
        found += [(title, "no page")] if not files else []
        found += [(title, f) for f in files if not re.search(rf"file: book/{Path(f).stem}$", in_toc, re.M)]
        there = "\n".join(page(f) for f in files if (ROOT / f).is_file())
        headings = set(re.findall(r"^#+ (.+)$", there, re.M))
        found += [(title, s) for s in re.findall(r'"([^"]+)"', said) if s not in headings]
        labels = re.findall(r"`((?:eq|ex|tab|fig|thm|gru)-[\w-]+)`", said)
        found += [(title, label) for label in labels if not re.search(rf"(?<![\w-]){label}(?![\w-])", there)]
        known, ours = set(NUMBER.findall(plain(there))), plain(ARXIV.sub("", re.sub(LINK, "", said)))
        found += [(title, n) for n in NUMBER.findall(ours) if n not in known]
    return found


def test_every_claim_leads_to_where_it_is_shown() -> None:
    assert len(list(claims(TEXT))) > 60
    assert faults(TEXT) == []
