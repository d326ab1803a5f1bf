"""The pages for instructors: what they say is what the chapters and the courses say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import page_checks
import pages
import pytest
import teaching
from page_checks import after, value
from selectolax.lexbor import LexborNode
from test_page_lengths import PAGES, stated_minutes

from gru_lib import gru_init, gru_step, gru_step_backward

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
    deeper = sum(stated_minutes(page) for page in PAGES if page[:2] == "05" and page != chapters[5])
    own = stated_minutes(chapters[5])
    assert words(heads[5]).endswith(f", {own} minutes, {deeper} more to go deeper, exercises apart")
    assert [words(li) for li in after(heads[5], "ul").css("li")] == list(pages.read(chapters[5]).objectives) != []
