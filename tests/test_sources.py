"""The page "Sources and errata": every claim has one verdict and leads somewhere, and its numbers stand there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "book" / "sources.md").read_text("utf8")
DOCUMENTS = ["D2L", "ai-edu", "Goldberg's notes", "The notes on Ng's course"]
VERDICTS = ("Holds", "Depends", "Corrected")

CLAIM = re.compile(r"^(?![:#(\[*\-`]|$)(.+)\n((?:: .*\n)+)", re.M)
CHINESE = re.compile(r'<span lang="zh-Han[st]">(.*?)</span>')
ARXIV = re.compile(r"\b1\d{3}\.\d{4}\b")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def sections(text: str) -> dict[str, str]:
    """The page's sections, by title."""
    parts = re.split(r"^## (.+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def claims(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each claim, and what is said of it: perhaps a quotation, the verdict, and the places that show it."""
    for title, body in CLAIM.findall(text):
        yield title, [line.removeprefix(": ") for line in body.splitlines()]


def verdict(said: list[str]) -> list[str]:
    """The verdicts among the lines of a claim."""
    return [v for line in said for v in VERDICTS if re.match(rf"\*\*{v}\b", line)]


@cache
def page(name: str) -> str:
    """The prose, the code and the outputs of a chapter or companion page."""
    cells = json.loads((ROOT / "book" / name).read_text("utf8"))["cells"]
    outputs = [o.get("data", o) for cell in cells for o in cell.get("outputs", [])]
    printed = ["".join(out.get(kind, "")) for out in outputs for kind in ("text", "text/plain", "text/html")]
    figures = [str(cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", "")) for cell in cells]
    return "\n".join(["".join(cell["source"]) for cell in cells] + printed + figures)


@cache
def names_of_tests() -> set[str]:
    """All tests that there are."""
    return {
        name for path in ROOT.glob("tests/test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text("utf8"))
    }


def plain(text: str) -> str:
    """Numbers without the comma of the thousands."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


def pages(text: str, where: str) -> list[str]:
    """The files that the line of a claim links to."""
    links = dict(re.findall(r"^\[((?:chapter|page) \w+)\]: (\S+)$", text, re.M))
    return [links.get(name, name) for name in re.findall(r"\[((?:chapter|page) \w+)\]", where)]


def faults(text: str) -> list[tuple[str, str]]:
    """What is wrong with the claims of the page."""
    in_toc = (ROOT / "_toc.yml").read_text("utf8")
    found = []
    for title, said in claims(text):
        *before, where = said
        files = pages(text, where)
        found += [(title, "one verdict")] if len(verdict(before)) != 1 or verdict([where]) else []
        found += [(title, "no page")] if not files else []
        found += [(title, f) for f in files if not re.search(rf"file: book/{Path(f).stem}$", in_toc, re.M)]
        there = "\n".join(page(f) for f in files if (ROOT / "book" / f).is_file())
        headings = set(re.findall(r"^#+ (.+)$", there, re.M))
        found += [(title, s) for s in re.findall(r'"([^"]+)"', where) if s not in headings]
        labels = re.findall(r"\{(?:eq|ref|numref|prf:ref)\}`([\w-]+)`", where)
        found += [(title, label) for label in labels if not re.search(rf"(?<![\w-]){label}(?![\w-])", there)]
        found += [(title, t) for t in re.findall(r"`(test_\w+)`", where) if t not in names_of_tests()]
        said_by_us = next((line for line in before if verdict([line])), "")
        known, ours = set(NUMBER.findall(plain(there))), plain(ARXIV.sub("", CHINESE.sub("", said_by_us)))
        found += [(title, n) for n in NUMBER.findall(ours) if n not in known]
    return found


def test_every_claim_has_one_verdict_and_a_link_to_where_it_is_shown() -> None:
    assert len(list(claims(TEXT))) > 60
    assert faults(TEXT) == []


@pytest.mark.parametrize(
    ("there", "planted", "fault"),
    [
        (': **Holds.**\n: See [chapter 3], "Who sets', ': Yes.\n: See [chapter 3], "Who sets', "one verdict"),
        ("[chapter 12], ", "", "no page"),
        (": 05b-other-conventions.ipynb", ": 05z-nowhere.ipynb", "05z-nowhere.ipynb"),
        ('"Where z comes from"', '"Where z goes"', "Where z goes"),
        ("{eq}`gru-residual`", "{eq}`gru-residuals`", "gru-residuals"),
        ("`test_shut_reset_alone_still_carries_the_state`", "`test_nothing`", "test_nothing"),
        ("2,067 steps", "2,068 steps", "2068"),
    ],
)
def test_a_fault_on_the_page_is_found(there: str, planted: str, fault: str) -> None:
    assert there in TEXT
    assert fault in {what for _, what in faults(TEXT.replace(there, planted))}


def test_all_four_texts_are_described_and_each_has_its_claims() -> None:
    parts = sections(TEXT)
    for name in DOCUMENTS:
        assert f"- **{name}**: " in parts["The four texts"]
        assert len(list(claims(parts[name]))) >= 12


def test_verdicts_are_as_many_as_the_page_says() -> None:
    count = Counter(v for _, said in claims(TEXT) for v in verdict(said))
    numbers = [count.total(), *(count[v] for v in VERDICTS)]
    (said,) = re.findall(r"^Of (\d+) claims, (\d+) hold, (\d+) depend and (\d+) are corrected\.$", TEXT, re.M)
    assert [int(n) for n in said] == numbers


def test_chinese_stands_in_quotations_only_and_its_english_follows() -> None:
    assert not re.search(r"[\u4e00-\u9fff]", CHINESE.sub("", TEXT))
    assert len(CHINESE.findall(TEXT)) > 40
    after = [TEXT[m.end() :] for m in CHINESE.finditer(TEXT)]
    assert [rest[:40] for rest in after if not re.match(r", “[^\u4e00-\u9fff]{6,}?”", rest)] == []


def test_page_is_in_the_back_matter_before_the_bibliography() -> None:
    (back,) = (
        p for p in yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))["parts"] if p["caption"] == "Back matter"
    )
    files = [chapter["file"] for chapter in back["chapters"]]
    assert files.index("book/sources") == files.index("book/bibliography") - 1
