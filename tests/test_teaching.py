"""The pages for instructors: what they say is what the chapters, the courses and the checker say."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import numpy as np
import page_checks
import pages
import pytest
import teaching
from check_answers import ANSWERS
from edition_cells import SHORT, pieces
from page_checks import after, value
from selectolax.lexbor import LexborNode
from test_page_lengths import PAGES, stated

from gru_lib import gru_init, gru_step, gru_step_backward
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


def test_courses_are_as_long_as_they_say_and_the_page_says_what_to_read(built_book: Path) -> None:
    assert [len(course["sessions"]) for course in COURSES.values()] == [1, 4, 8, 11]
    for section in page_checks.parse(built_book / "book/instructors.html").css(
        "section[id^='four-'], section[id^='eight-'], section[id^='eleven-']"
    ):
        course, _, number = section.id.partition("-")
        session = COURSES[course]["sessions"][int(number) - 1]
        assert sum(int(words(td)) for td in section.css("tbody td:first-child")) == 90
        times = [int(m) for m in re.findall(r"\((\d+) minutes\)", words(section.css_first("p")))]
        assert times == [stated(name) for name in session["read"]]


def test_answers_to_the_sheet_on_paper_are_those_of_the_library() -> None:
    p = gru_init(np.random.default_rng(0), D=1, H=1)
    rows = re.findall(r"^\| \$([rzn])\$ \|(.*)\|$", pages.markdown("on-paper"), re.M)
    for _, cells in rows:
        for name, given in re.findall(r"\$(\w_\{\w+\}|b_\w) = (-?\d)\$", cells):
            getattr(p, re.sub("[{}]", "", name))[:] = float(given)
    assert [gate for gate, _ in rows] == ["r", "z", "n"]
    h, cache = gru_step([[1.0]], [[0.5]], p)
    _, h_prev, r, not_r, z, not_z, n, q = (a.item() for a in cache)
    da_z, da_n = (h_prev - n) * z * not_z, not_z * (1 - n**2)
    da_r = da_n * p.W_hn.item() * h_prev * r * not_r
    ways = [z, da_z * p.W_hz.item(), da_r * p.W_hr.item(), da_n * p.W_hn.item() * r]
    assert sum(ways) == pytest.approx(gru_step_backward(np.ones((1, 1)), cache, p)[1].item())
    blind = np.tanh(1.0)
    found = [r, z, q, n, h.item(), blind, z * h_prev + not_z * blind, *ways, sum(ways)]
    answers = pages.markdown("instructors").partition("(teach-paper)=")[2].partition("(teach-mistakes)=")[0]
    for number in found:
        assert f"{number:.4f}".replace("-", "−") in answers, number
    assert f"{100 * z:.0f} %" in answers and f"{np.log(0.5) / np.log(z):.1f} steps" in answers
    assert f"{np.log(49):.2f}" in answers


# ------------------------------------------------------------------------------------------------ objectives and times


def test_objectives_and_times_are_those_of_the_chapters(built_book: Path) -> None:
    section = page_checks.parse(built_book / "book/instructors.html").css_first("section#what-each-chapter-promises")
    assert section is not None
    heads = [p for p in section.css("p") if p.css_first("strong a")]
    chapters = [page for page in PAGES if page[2] == "-"]
    assert [value(p.css_first("a"), "href").removesuffix(".html") for p in heads] == chapters
    five = heads[5]
    deeper = sum(stated(page) for page in PAGES if page[:2] == "05" and page != chapters[5])
    assert words(five).endswith(f", {stated(chapters[5])} minutes, {deeper} more to go deeper, exercises apart")
    assert [words(li) for li in after(five, "ul").css("li")] == list(pages.read(chapters[5]).objectives) != []


# ------------------------------------------------------------------------------------------------------------ mistakes


LISTS = [f"book/mistakes-{page[:2]}.html" for page in PAGES if page[2] == "-"]


def entries(built_book: Path) -> dict[str, list[tuple[list[str], str]]]:
    """What the pages say of each check: the lines that were written, and what the checker says."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    name = ""
    for path in LISTS:
        for e in page_checks.parse(built_book / path).css("section > p, ul.gru-mistakes > li"):
            if e.tag == "p":
                name = words(e.css("code")[-1]).removeprefix("check.") if e.css_first("code") else ""
                continue
            written = "\n".join(pre.text() for pre in e.css("pre"))
            lines = [" ".join(line.split()) for line in written.split("\n") if line.strip()]
            found.setdefault(name, []).append((lines, words(e.css_first("p"))))
    return found


def test_every_chapter_has_its_list(built_book: Path) -> None:
    assert [path.name for path in sorted(built_book.glob("book/mistakes-*.html"))] == [Path(p).name for p in LISTS]
    found = entries(built_book)
    assert set(found) <= {name for _, _, name in teaching.checked()}
    assert sum(map(len, found.values())) > 800
    assert any("reset" in said for _, said in found["gru_step"])


def test_a_list_stands_under_the_number_of_its_exercise(built_book: Path) -> None:
    links = [a for path in LISTS for a in page_checks.parse(built_book / path).css("section > p a[href*='#']")]
    links = [a for a in links if words(a).startswith("Exercise ")]
    assert len(links) > 100
    for link in links:
        page, _, label = value(link, "href").partition("#")
        title = page_checks.parse(built_book / "book" / page).css_first(f"[id='{label}'] > .admonition-title")
        assert words(title).startswith(f"{words(link)} ")


def test_no_line_of_a_solution_is_among_the_mistakes(built_book: Path) -> None:
    """Of whatever exercise; nor a line of the right program that the checker's tests hold for this one."""

    def lines(text: str) -> set[str]:
        return {" ".join(line.split()) for line in text.split("\n")}

    solved = set()
    for name in PAGES:
        for cell, text, label in pieces(nbformat.read(pages.source(name), as_version=4).cells):
            solved |= lines(text if label else "".join(SHORT.findall(text)) if cell.cell_type == "markdown" else "")
    longer = [line for line in solved if len(line) > 30]
    assert len(longer) > 1000
    for name, listed in entries(built_book).items():
        given = solved | lines(ANSWERS.get(name, ""))
        for written, said in listed:
            assert not given & set(written), name
            assert not [line for line in longer if line in said], name


NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?(?!/e)")


def test_no_right_number_is_among_the_mistakes(built_book: Path) -> None:
    """0 and 1 apart, which stand in every second formula."""
    asked = 0
    for name, listed in entries(built_book).items():
        right = list(teaching.parts(list(VALUES[name]().right.values()))) if name in VALUES else []
        right = [abs(float(each)) for each in right if not isinstance(each, str) and each not in (0, 1, -1)]
        for written, said in listed if right else ():
            numbers = [float(number.replace(",", "")) for number in NUMBER.findall("\n".join([*written, said]))]
            same = [n for n in numbers for r in right if n not in (0, 1) and n == pytest.approx(r, rel=4e-3)]
            assert not same, (name, written, said)
            asked += 1
    assert asked > 300


def test_three_in_four_exercises_can_be_checked_as_the_page_says() -> None:
    text = "\n".join(pages.markdown(name) for name in PAGES)
    bodies = re.findall(r"^```\{exercise\}[^\n]*\n:label: \S+\n(.*?)^```$", text, re.M | re.S)
    assert sum("`check." in body for body in bodies) / len(bodies) > 0.75
    assert "More than three in four exercises have a check" in pages.markdown("instructors")
