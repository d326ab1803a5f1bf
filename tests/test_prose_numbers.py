"""Every measured number in the prose has a source, and one that has not is found (tools/prose_numbers.py)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import prose_numbers
import pytest
from prose_numbers import ENTRIES, TEXT, Entry, Page, changed, noticed, numbers, one_more, parse, prose, worth, write

PAGES = cache(Page)
NAMES = sorted(p.stem for p in TEXT.glob("*.md"))
CELL = '\n```{code-cell}\nprint("of ten seeds 7 learn; the largest error is 0.0312, in all 91.4 % right")\n```\n'
LINE = "of ten seeds 7 learn; the largest error is 0.0312, in all 91.4 % right"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A page of one cell, which prints LINE, with this prose after it and these entries."""
    printed = {"made-up": ((0, False, LINE), (0, True, "rates = (0.01, 0.02, 0.03)"))}
    monkeypatch.setattr(prose_numbers, "outputs", lambda name: printed[name])
    monkeypatch.setattr(prose_numbers, "ENTRIES", tmp_path)
    for function in ("printed", "lines"):
        getattr(prose_numbers, function).cache_clear()

    def make(said: str, entries: str = "") -> Page:
        (tmp_path / "made-up.txt").write_text(entries, "utf8")
        return Page("made-up", f"# Title\n{CELL}\n{said}\n")

    yield make
    for function in ("printed", "lines"):
        getattr(prose_numbers, function).cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_every_measured_number_has_a_source(name: str) -> None:
    """If this is red, `python tools/prose_numbers.py NN` says more, and CONTRIBUTING what to do."""
    assert PAGES(name).problems == []


def test_entries_belong_to_pages_and_stand_in_their_order() -> None:
    assert {p.stem for p in ENTRIES.glob("*.txt")} <= set(NAMES)
    for name in NAMES:
        page = PAGES(name)
        places = [page.place(entry) for entry in page.entries]
        assert places == sorted(places, key=lambda place: place or (0, 0)), name
        assert len(set(places)) == len(places), name


def test_changes_by_one_in_the_last_digit_are_noticed() -> None:
    """A sample of those that `--measure` makes, in which 98 of 100 are noticed."""
    pages = [PAGES(name) for name in NAMES]
    every = [(page, *change) for page in pages for change in changed(page)]
    assert len(every) > 3000
    sample = every[7::120]
    assert sum(noticed(page, n, text) for page, n, _, text in sample) >= 0.95 * len(sample)


# -------------------------------------------------------------------------------------------------- what is a number


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("It is right in 91.4 % and loses 0.03 bits.", [91.4, 0.03]),
        ("Seven of ten seeds learn in 1,200 steps.", [7, 10, 1200]),
        ("It is three times as fast, two to four times forward.", [3, 4]),
        ("About two millionths of it are left, $3 \\cdot 10^{-5}$ or $10^4$.", [2e-6, 3e-5, 1e4]),
        ("A network of 16 units, in $-2.18$ of $12.5$ %, takes 60 billion operations.", [16, 2.18, 12.5, 6e10]),
        ("In chapter 12, [page 7b](07b-what-is-proved.ipynb), {eq}`eq-x-12` and since 1997 `f(0.5)` is used.", []),
        ("With $h_{12}$, $W_{24}$ and one of the two gates, two bits below.", []),
        ("1. A list begins so.\n2. And goes on.", []),
    ],
)
def test_measured_numbers_are_found(said: str, found: list[float]) -> None:
    assert [n.value for n in numbers(prose(said))] == pytest.approx(found)


def test_captions_are_prose_and_code_is_not() -> None:
    cell = "```{code-cell}\n---\nmystnb:\n  image:\n    alt: It falls to 0.25.\n---\nx = 0.75\n```\n"
    assert [n.value for n in numbers(prose(cell))] == [0.25]


@pytest.mark.parametrize(
    ("old", "up", "down"),
    [
        ("0.99", "1.00", "0.98"),
        ("1,000", "1,001", "999"),
        ("seven", "eight", "six"),
        ("12 %", "13 %", "11 %"),
        ("3 \\cdot 10^{-5}", "4 \\cdot 10^{-5}", "2 \\cdot 10^{-5}"),
        ("10^{-5}", "10^{-6}", "10^{-4}"),
    ],
)
def test_a_number_is_changed_by_one_in_its_last_digit(old: str, up: str, down: str) -> None:
    assert (one_more(old, 1), one_more(old, -1)) == (up, down)


# ------------------------------------------------------------------------------------------------------- its source


@pytest.mark.parametrize(
    "said",
    [
        "The largest error is 0.0312.",
        "The largest error is 0.031.",
        "In all 91 % are right.",
        "In all 91.4 % are right.",
        "7 of ten learn.",
        "The product is $0.3 \\cdot 0.9 \\cdot 0.8 = 0.216$.",
        "By the rule it is $0.95^{99} = 0.006$.",
    ],
)
def test_what_a_cell_prints_or_a_formula_works_out_has_a_source(page, said: str) -> None:
    entries = "«ten» learn.\n    given: the cell spells it out\n" if "ten" in said else ""
    assert page(said, entries).problems == []


@pytest.mark.parametrize(
    "said",
    [
        "The largest error is 0.0313.",
        "The largest error is 0.032.",
        "In all 92 % are right.",
        "8 times as many learn.",
        "The gain is 0.47 bits.",
        "It takes 31 seconds.",
        "The product is $0.3 \\cdot 0.9 \\cdot 0.8 = 0.217$.",
        "At the rate 0.02 it learns.",
    ],
)
def test_a_number_that_nothing_prints_or_that_differs_is_found(page, said: str) -> None:
    assert any(problem.startswith("no source: ") for problem in page(said).problems)


SAID = "All but «8.6 %» are right."


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (f"output: {LINE.replace('91.4', '«91.4»')}\n    = 100 - a", ""),
        ("= 100 - 91.4", ""),
        ("given: by definition", ""),
        (f"output: {LINE.replace('91.4', '«91.4»')}", "the source says 91.4"),
        (f"output: {LINE.replace('91.4', '«91.4»')}\n    = 100 - b", "KeyError"),
        ("output: in all «91.5 %» right\n    = 100 - a", "output has no line"),
        ("output 99: «8.6 %»", "StopIteration"),
        (f"code: {LINE.replace('91.4', '«91.4»')}\n    = 100 - a", "code has no line"),
        ("tests/no_such_test.py: «8.6»", "FileNotFoundError"),
        ("= 100 - 91.5", "the source says 8.5"),
        ("= __import__('os')", "KeyError"),
        ("= (91).bit_length()", "cannot work out"),
        ("given: so", "no reason"),
        ("cited: its source", "no citation"),
    ],
)
def test_an_entry_says_where_a_number_comes_from_or_what_is_wrong_with_it(page, rows: str, problem: str) -> None:
    found = page(SAID.replace("«", "").replace("»", ""), f"{SAID}\n    {rows}\n").problems
    assert bool(found) == bool(problem)
    assert not problem or any(problem in line for line in found), found


def test_an_entry_whose_sentence_has_changed_is_found(page) -> None:
    found = page("All but 8.7 % are right.", f"{SAID}\n    = 100 - 91.4\n").problems
    assert [line.partition(":")[0] for line in found] == [
        "no source",
        "this does not stand on the page, or more than once",
    ]


def test_a_test_that_only_quotes_the_page_is_no_source() -> None:
    line = 'assert said(PAGE, "takes the mean probability of Finnish from 0.82 to 0.81")'
    quote = Entry("from «0.82» to", (("tests/test_chapter04.py", line.replace("0.82", "«0.82»")),))
    assert "quotes the page" in str(quote.value("04-gru-forward"))


def test_a_number_that_a_test_fills_into_its_sentence_has_a_source() -> None:
    text = (TEXT / "12-lstm.md").read_text("utf8")
    number = next(n for n in PAGES("12-lstm").numbers if text[n.start - 15 : n.end] == "Elman network of 46"[-17:])
    assert any(start <= number.start < end for start, end in PAGES("12-lstm").tested)


@pytest.mark.parametrize(
    ("said", "value", "right"),
    [
        ("about «50» of", 46, True),
        ("about «50» of", 44, False),
        ("more than «50» of", 58, True),
        ("more than «50» of", 49, False),
        ("at most «50» of", 49, True),
        ("at most «50» of", 51, False),
        ("exactly «50» of", 51, False),
    ],
)
def test_words_before_a_number_allow_what_they_say(page, said: str, value: int, right: bool) -> None:
    found = page(f"It is {said} them.".replace("«", "").replace("»", ""), f"{said}\n    = {value} + 0\n").problems
    assert (found == []) == right


@pytest.mark.parametrize(
    ("tex", "value"),
    [
        ("$0.5 \\cdot 4", 2),
        ("\\frac{1}{4} + \\tfrac12", 0.75),
        ("e^{-1}", 0.36788),
        ("z + 1", None),
        ("2^{9999}", None),
    ],
)
def test_formulas_without_symbols_are_worked_out(tex: str, value: float | None) -> None:
    assert worth(tex) == (value if value is None else pytest.approx(value, rel=1e-5))


def test_a_file_of_entries_that_cannot_be_read_says_where() -> None:
    for text in ("no number\n    = 1\n", "a «1» b\n", "a «1» b\n    = 1\n    = 2\n", "a «1» b\n    output\n"):
        with pytest.raises(ValueError, match="not an entry"):
            list(parse(text))


# ------------------------------------------------------------------------------------------------- what a writer does


def test_write_adds_renews_and_removes_entries(page, tmp_path: Path) -> None:
    old = LINE.replace("0.0312", "0.0299").replace("91.4", "«91.4»")
    write(
        page(
            "All but 8.6 % are right. At the rate 0.02 it learns, and 4711 is nowhere.",
            f"{SAID}\n    output: {old}\n    = 100 - a\nno longer «5» there\n    = 5 + 0\n",
        )
    )
    assert list(parse((tmp_path / "made-up.txt").read_text("utf8"))) == [
        Entry(SAID, (("output", LINE.replace("91.4", "«91.4»")),), "100 - a"),
        Entry("At the rate «0.02» it learns,", (("code", "rates = (0.01, «0.02», 0.03)"),)),
    ]
