"""The pages for instructors: what they say is what the chapters, the courses and the checker say."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import page_checks
import pages
import pytest
import teaching
from check_answers import ANSWERS, PLANTED
from page_checks import after, value
from selectolax.lexbor import LexborNode
from test_check import planted, wrong
from test_page_lengths import PAGES, stated

from gru_lib import check
from gru_lib.check.values import VALUES

COURSES = pages.settings("courses.yml")
SESSIONS = [(name, i) for name, course in COURSES.items() for i in range(len(course["sessions"]))]


def words(tag: LexborNode) -> str:
    """The text of an element, on one line."""
    return " ".join(tag.text().split())


def minutes(text: str) -> int:
    """A time such as "2 hours 5 minutes"."""
    whole, rest = re.search(r"(\d+) hour", text), re.search(r"(\d+) minute", text)
    return 60 * int(whole[1] if whole else 0) + int(rest[1] if rest else 0)


# ------------------------------------------------------------------------------------------------------------- courses


@pytest.mark.parametrize(("course", "i"), SESSIONS)
def test_a_session_is_ninety_minutes(course: str, i: int) -> None:
    session = COURSES[course]["sessions"][i]
    assert sum(item[0] for item in session["plan"]) == 90
    assert all(5 <= item[0] <= 30 for item in session["plan"])
    assert session["prepare"]


@pytest.mark.parametrize(("course", "i"), SESSIONS)
def test_what_a_session_asks_for_was_read(course: str, i: int) -> None:
    """The page of an exercise, and what a page builds on, come before or in the session."""
    sessions = COURSES[course]["sessions"]
    read: list[str] = [name for session in sessions[:i] for name in [*session["read"], *session["class"]]]
    for name in [*sessions[i]["read"], *sessions[i]["class"]]:
        assert name in PAGES and name not in read
        assert set(pages.read(name).needs) <= set(read), name
        read.append(name)
    labels = [label for *_, label in sessions[i]["plan"] if isinstance(label, str) and label.startswith("ex-")]
    assert labels
    for item in sessions[i]["plan"]:
        for label in item[2:]:
            assert teaching.exercise_page(label).name in read, label
    text = " ".join(item[1] for item in sessions[i]["plan"])
    for number in re.findall(r"(?:chapter|page) (\d+[a-z]?)", text, re.I):
        assert number in {pages.read(name).number for name in read}, number


def test_courses_are_as_long_as_they_say_and_the_page_adds_up(built_book: Path) -> None:
    assert [len(course["sessions"]) for course in COURSES.values()] == [1, 4, 8]
    page = page_checks.parse(built_book / "book/instructors.html")
    for name, course in COURSES.items():
        if name == "one":
            continue
        sections = [page.css_first(f"section#{name}-{i}") for i in range(1, len(course["sessions"]) + 1)]
        assert all(sections)
        said = re.search(r"([\w ]+) of reading, ([\w ]+) in class", words(sections[0].parent))
        assert said is not None
        assert minutes(said[1]) == sum(stated(p) for session in course["sessions"] for p in session["read"])
        assert minutes(said[2]) == 90 * len(sections)
        for section, session in zip(sections, course["sessions"], strict=True):
            head = words(section.css_first("p"))
            assert [int(m) for m in re.findall(r"\((\d+) minutes\)", head)] == [stated(p) for p in session["read"]]
            if len(session["read"]) > 1:
                assert minutes(head.split("Together")[1]) == sum(map(stated, session["read"]))
            rows = [int(words(td)) for td in section.css("tbody td:first-child")]
            assert rows == [item[0] for item in session["plan"]]


# ------------------------------------------------------------------------------------------------ objectives and times


def test_objectives_and_times_are_those_of_the_chapters(built_book: Path) -> None:
    section = page_checks.parse(built_book / "book/instructors.html").css_first("section#what-each-chapter-promises")
    assert section is not None
    heads = [p for p in section.css("p") if p.css_first("strong a")]
    chapters = [page for page in PAGES if page[2] == "-"]
    assert [value(p.css_first("a"), "href").removesuffix(".html") for p in heads] == chapters
    for chapter, head in zip(chapters, heads, strict=True):
        said = re.search(r", (\d+) minutes(?:, (\d+) more to go deeper)?, exercises apart$", words(head))
        assert said is not None
        deeper = sum(stated(p) for p in PAGES if p[:2] == chapter[:2] and p != chapter)
        assert (int(said[1]), int(said[2] or 0)) == (stated(chapter), deeper)
        there = page_checks.parse(built_book / "book" / f"{chapter}.html")
        label = next((p for p in there.css("article p") if words(p).endswith("You will be able to")), None)
        goals = after(label, "ol", "ul").css("li") if label else [there.css_first(".gru-lede")]
        assert [words(li) for li in after(head, "ul").css("li")] == [words(goal) for goal in goals]


# ------------------------------------------------------------------------------------------------------------ mistakes


def code(text: str) -> list[str]:
    """The lines of a program, each as `words` gives it."""
    return [" ".join(line.split()) for line in text.split("\n")]


def rows(built_book: Path) -> dict[str, list[tuple[list[str], str]]]:
    """What the page says of each check: the lines that were written, and what the checker says."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    name = ""
    for e in page_checks.parse(built_book / "book/mistakes.html").css("section > p, table.gru-mistakes"):
        if e.tag == "p":
            name = words(e.css("code")[-1]).removeprefix("check.") if e.css_first("code") else ""
            continue
        body = [tr.css("td") for tr in e.css("tbody tr")]
        found[name] = [([words(line) for line in written.css("code")], words(said)) for written, said in body]
    return found


def test_mistakes_are_those_that_the_checker_names(built_book: Path) -> None:
    """Every slip in a number and every planted function, with the message that comes today, and nothing else."""
    found = rows(built_book)
    assert set(found) == {name for _, _, name in teaching.checked()} == set(check.__all__) - {"Result", "adam"}
    for name, listed in found.items():
        if name in VALUES:
            task = VALUES[name]()
            given = [task.right | {label: value} for label, value, _ in task.slips]
            said = [getattr(check, name)(*values.values()).message for values in given]
        else:
            said = [getattr(check, name)(planted(*each[:3])).message for each in PLANTED if each[0] == name]
        assert [message for _, message in listed] == [" ".join(m.split()) for m in dict.fromkeys(said)], name
        assert all(written for written, _ in listed)


def test_what_is_written_is_wrong_code_and_never_a_line_of_the_right_one(built_book: Path) -> None:
    """Who looks up a mistake must not read the answer beside it. Of a wrong function there stand the lines that it has
    more often than the right one; if it has none, those that it lacks, marked as that."""
    lines = {name: found for name, found in rows(built_book).items() if name in ANSWERS}
    assert sum(map(len, lines.values())) > 500
    for name, listed in lines.items():
        right = Counter(code(ANSWERS[name]))
        more: set[str] = set()
        for _, old, new, _ in (each for each in PLANTED if each[0] == name):
            more |= set(Counter(code(wrong(name, old, new))) - right)
        shown = {line for written, _ in listed for line in written if not line.startswith("# left out: ")}
        assert shown <= more, name


def test_nine_in_ten_exercises_can_be_checked_as_the_page_says() -> None:
    text = "\n".join(pages.markdown(name) for name in PAGES)
    bodies = re.findall(r"^```\{exercise\}[^\n]*\n:label: \S+\n(.*?)^```$", text, re.M | re.S)
    assert sum("`check." in body for body in bodies) / len(bodies) > 0.9
    assert "More than nine in ten exercises have a check" in pages.markdown("instructors")
