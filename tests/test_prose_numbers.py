"""Every measured number in the prose has a source, and one that has not is found (tools/prose_numbers.py)."""

from __future__ import annotations

import re
from functools import cache

import prose_numbers
import pytest
from prose_numbers import ENTRIES, TEXT, Page, blocks, numbers

PAGES = cache(Page)
NAMES = sorted(p.stem for p in TEXT.glob("*.md"))
KNOWN = ("at_end(gru, 0.55)", "bits_lost = 0.55", "0.56 for the LSTM, GRU 0.55", "{16: 0.25, 256: 0.75}")
KNOWN += ("the bus 0.57", "the train 0.58")
LINE = "of ten seeds 7 learn; the largest error is 0.0312, in all 91.4 % right"
CELL = f'\n```{{code-cell}}\nprint("{LINE}")\n```\n'


@pytest.mark.parametrize("name", NAMES)
def test_every_measured_number_has_a_source(name: str) -> None:
    """If this is red, `python tools/prose_numbers.py NN` says more, and CONTRIBUTING what to do."""
    assert list(PAGES(name).problems()) == []


def test_entries_belong_to_pages() -> None:
    assert {p.stem for p in ENTRIES.glob("*.txt")} <= set(NAMES)


def test_changed_numbers_are_noticed() -> None:
    """On each page the first share, in % and with decimals, is changed in its last digit."""
    noticed = []
    for name in NAMES:
        text = (TEXT / f"{name}.md").read_text("utf8")
        if number := re.search(r"(?<![\w.`^{,-])\d+\.\d+(?= %)", text):
            changed = text[: number.end() - 1] + str((int(number[0][-1]) + 1) % 10) + text[number.end() :]
            noticed.append(any(Page(name, changed).problems()))
    assert len(noticed) >= 6 and all(noticed)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("It is right in 91.4 % and loses 0.03 bits.", [91.4, 0.03]),
        ("Seven of ten seeds learn in 1,200 steps.", [7, 10, 1200]),
        ("About two millionths of it are left, $3 \\cdot 10^{-5}$ or $10^4$.", [2e-6, 3e-5, 1e4]),
        ("Six gates, forty-nine tasks and three ways to the twenty-seventh.", [6, 49]),
        ("A network of 16 units, in $-2.18$ of $12.5$ %, takes 60 billion operations.", [16, 2.18, 12.5, 6e10]),
        ("In chapter 12, [page 7b](07b-what-is-proved.ipynb), {eq}`eq-x-12` and since 1997 `f(0.5)` is used.", []),
        ("```{note}\nOf 0.25.\n```\n\nAnd 0.75.\n\n```\n0.5\n```", [0.25, 0.75]),  # after a fence closes, prose goes on
        ("````{exercise} With 30 in it\n:label: ex-20\n\nOf 0.25.\n\n```python\nx = 0.5\n```\n````", [30, 0.25]),
        ("```{code-cell}\n---\nmystnb:\n  image:\n    alt: It falls to 0.25.\n---\nx = 0.75\n```", [0.25]),
    ],
)
def test_measured_numbers_are_found(said: str, found: list[float]) -> None:
    assert [n.value for block in blocks(said) for n in numbers(block)] == pytest.approx(found)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch):
    """A page of one cell, which prints LINE, with this prose after it and these entries."""
    cached = [prose_numbers.printed, prose_numbers.lines]
    monkeypatch.setattr(prose_numbers, "outputs", lambda _: ((0, False, LINE), (0, True, "rates = (0.01, 0.02, 0.03)")))
    for function in cached:
        function.cache_clear()
    yield lambda said, given="": list(Page("made-up", f"# Title\n{CELL}\n{said}\n", given).problems())
    for function in cached:
        function.cache_clear()


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (f"8.6 %: output: {LINE.replace('91.4', '«91.4»')}\n    = 100 - a", ""),
        ("given: 8.6 %", ""),
        (f"8.6 %: output: {LINE.replace('91.4', '«91.4»')}", "the source says 91.4"),
        ("8.6 %: output: in all «91.5 %» right", "output has no line"),
        ("8.6 %: tests/no_such_test.py: «8.6»", "No such file"),
        ("8.6 %: cited: its source", "cites nothing"),
        ("8.7 %: = 100 - 91.3", "the page has no such number"),
    ],
)
def test_an_entry_says_where_a_number_comes_from_or_what_is_wrong_with_it(page, entry: str, problem: str) -> None:
    found = page("All but 8.6 % are right.", entry)
    assert bool(found) == bool(problem)
    assert not problem or any(problem in line for line in found), found


@pytest.mark.parametrize(
    ("said", "entry", "problem"),
    [
        ("Of 0.7, and 0.7 again.\n\nOf 0.4.", "given: 0.7, 0.4", ""),
        ("Of 0.7.\n\nOf 0.7.", "given: 0.7, 0.4", "0.7 stands in 2 paragraphs"),
        ("Of 0.7.\n\nOf 0.7.", "given: 0.7 ×2, 0.4", ""),
        ("Ten nets.\n\nAll ten.", "given: Ten ×2", ""),
        ("Ten nets.\n\nAll ten.", "given: Ten", "ten stands in 2 paragraphs"),
        ("None of ten learned.", "given: ten", "no source"),
        ("The tokens of tokens are three tokens. It takes 40 steps.", "given: 40", "steps, which the page has nowhere"),
        ("The tokens of tokens are three tokens. It takes 40 steps.", "given: 40 steps", ""),
        ("An LSTM ends at 0.55.", "0.55: code: at_end(gru, «0.55»)", "lstm, where its source says gru"),
        ("A GRU ends at 0.55, not the LSTM.", "0.55: code: at_end(gru, «0.55»)", ""),
        ("It loses 0.55 nats.", "0.55: code: bits_lost = «0.55»", "nat, where its source says bit"),
        ("An LSTM ends at 0.56, the GRU at 0.55.", "0.56, 0.55: code: «0.56» for the LSTM, GRU «0.55»", ""),
        (
            "It takes 0.25 with 16 units, 0.75 with 256.",
            "0.25, 0.75: code: {16: «0.25», 256: «0.75»}\ngiven: 16, 256",
            "",
        ),
        (
            "It takes 0.25 with 256 units.",
            "0.25, 0.75: code: {16: «0.25», 256: «0.75»}\ngiven: 256",
            "256, where its source says 16",
        ),
        (
            "The train takes 0.57 h, the bus 0.58.",
            "0.57: code: the bus «0.57»\n0.58: code: the train «0.58»",
            "0.57 and 0.58 may be exchanged",
        ),
    ],
)
def test_a_number_stands_where_it_belongs_and_is_of_what_its_source_says(
    page, monkeypatch: pytest.MonkeyPatch, said: str, entry: str, problem: str
) -> None:
    monkeypatch.setattr(prose_numbers, "lines", lambda *_: KNOWN)
    monkeypatch.setattr(prose_numbers.lines, "cache_clear", lambda: None, raising=False)
    found = page(said, entry)
    assert [problem in line for line in found if "no such number" not in line] == [True] * bool(problem), found
