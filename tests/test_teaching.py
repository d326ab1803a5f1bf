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
from check_answers import ANSWERS, VARIANTS
from edition_cells import pieces
from page_checks import after, value
from selectolax.lexbor import LexborNode
from test_page_lengths import PAGES, stated

from gru_lib import gru_init, gru_step, gru_step_backward
from gru_lib.check.values import VALUES

COURSES = pages.settings("courses.yml")


def words(tag: LexborNode) -> str:
    """The text of an element, on one line."""
    return " ".join(tag.text().split())


@pytest.mark.parametrize("course", COURSES)
def test_a_session_is_ninety_minutes_and_asks_for_what_was_read(course: str) -> None:
    """The page of an exercise, and what a page builds on, come before or in the session."""
    read: list[str] = []
    for session in COURSES[course]["sessions"]:
        assert sum(item[0] for item in session["plan"]) == 90
        assert session["prepare"] and session["can"].endswith(".")
        for name in [*session["read"], *session["class"]]:
            assert name in PAGES and name not in read
            assert set(pages.read(name).needs) <= set(read), name
            read.append(name)
        labels = [label for item in session["plan"] for label in item[2:]]
        for label in [*labels, *session.get("home", [])]:
            assert teaching.exercise_page(label).name in read, label
        text = " ".join(item[1] for item in session["plan"])
        for number in re.findall(r"(?:chapter|page) (\d+[a-z]?)", text, re.I):
            assert number in {pages.read(name).number for name in read}, number


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
    answers = pages.markdown("instructors").partition("```{answers}")[2].partition("```")[0]
    for number in found:
        assert f"{number:.4f}".replace("-", "−") in answers, number
    assert f"{100 * z:.0f} %" in answers and f"{np.log(0.5) / np.log(z):.1f} steps" in answers
    up, down = (gru_step([[1.0]], [[0.5 + off]], p)[0].item() for off in (0.01, -0.01))
    kept = 0.5 ** (1 / 50)
    for number in ((up - h.item()) / 0.01, (up - down) / 0.02, kept):
        assert f"{number:.4f}" in answers
    assert f"= {np.log(kept / (1 - kept)):.2f}$" in answers


def test_objectives_and_times_are_those_of_the_chapters(built_book: Path) -> None:
    section = page_checks.parse(built_book / "book/instructors.html").css_first("section#what-each-chapter-promises")
    heads = [p for p in section.css("p") if p.css_first("strong a")]
    chapters = [page for page in PAGES if page[2] == "-"]
    assert [value(p.css_first("a"), "href").removesuffix(".html") for p in heads] == chapters
    deeper = sum(stated(page) for page in PAGES if page[:2] == "05" and page != chapters[5])
    assert words(heads[5]).endswith(f", {stated(chapters[5])} minutes, {deeper} more to go deeper, exercises apart")
    assert [words(li) for li in after(heads[5], "ul").css("li")] == list(pages.read(chapters[5]).objectives) != []


# ------------------------------------------------------------------------------------------------------------ mistakes


LISTS = [f"book/mistakes-{page[:2]}.html" for page in PAGES if page[2] == "-"]


@pytest.fixture(scope="module")
def listed(built_book: Path) -> dict[str, list[tuple[list[str], str]]]:
    """What the pages say of each check: the lines that were written, and what the checker says."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for path in LISTS:
        for e in page_checks.parse(built_book / path).css("section > p, ul.gru-mistakes > li"):
            if e.tag == "p":
                name = words(e.css("code")[-1]).removeprefix("check.") if e.css_first("code") else ""
                continue
            written = "\n".join(pre.text() for pre in e.css("pre"))
            lines = [" ".join(line.split()) for line in written.split("\n") if line.strip()]
            found.setdefault(name, []).append((lines, words(e.css_first("p"))))
    assert sum(map(len, found.values())) > 700
    return found


def test_an_entry_shows_what_somebody_would_write(listed: dict[str, list[tuple[list[str], str]]]) -> None:
    for name, mistakes in listed.items():
        for written, said in mistakes:
            assert written and "pass" not in written, (name, said)
            assert not re.search("changed in place|must be an array|stopped with|grads must|should be", said), (
                name,
                said,
            )


def test_a_variant_has_its_own_words(listed: dict[str, list[tuple[list[str], str]]]) -> None:
    """Not those of the first exercise with this check."""
    for name, options in VARIANTS:
        own = [mistake.said for mistake in teaching.mistakes(name, options)]
        assert own == [said for _, said in listed[f"{name}(…, {options})"]]
    assert any("b_hn: missing bias" in said for _, said in listed["gru_step(…, reset_after=True)"])
    assert "Here h = (1 − z) ⊙ h_prev + z ⊙ n" in listed['gru_step(…, convention="write", bias=False)'][0][1]


def test_a_list_stands_under_the_number_of_its_exercise(built_book: Path) -> None:
    for path in LISTS:
        for link in page_checks.parse(built_book / path).css("section > p a[href*='#']"):
            if words(link).startswith("Exercise "):
                page, _, label = value(link, "href").partition("#")
                title = page_checks.parse(built_book / "book" / page).css_first(f"[id='{label}'] > .admonition-title")
                assert words(title).startswith(f"{words(link)} ")


def test_no_line_of_a_solution_is_among_the_mistakes(listed: dict[str, list[tuple[list[str], str]]]) -> None:
    """Of whatever exercise; nor a line of the right program that the checker's tests hold for this one."""

    def lines(text: str) -> set[str]:
        return {" ".join(line.split()) for line in text.split("\n")}

    solved = set()
    for name in PAGES:
        for _, text, label in pieces(nbformat.read(pages.source(name), as_version=4).cells):
            solved |= lines(text) if label else set()
    longer = [line for line in solved if len(line) > 30]
    assert len(longer) > 1000
    for name, mistakes in listed.items():
        given = solved | lines(ANSWERS.get(name, ""))
        for written, said in mistakes:
            assert not given & set(written), name
            assert not [line for line in longer if line in said], name


NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?(?!/e)")


def test_no_right_number_is_among_the_mistakes(listed: dict[str, list[tuple[list[str], str]]]) -> None:
    """0 and 1 apart, which stand in every second formula."""
    for name in VALUES.keys() & listed.keys():
        right = [each for each in teaching.parts(list(VALUES[name]().right.values())) if not isinstance(each, str)]
        right = [abs(float(each)) for each in right if each not in (0, 1, -1)]
        for written, said in listed[name]:
            numbers = [float(number.replace(",", "")) for number in NUMBER.findall("\n".join([*written, said]))]
            same = [n for n in numbers for r in right if n not in (0, 1) and n == pytest.approx(r, rel=4e-3)]
            assert not same, (name, written, said)
