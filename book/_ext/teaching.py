"""What the pages for instructors are made of: objectives and times, courses, and the mistakes that the checker names.

Nothing of it is written twice. Objectives and times come from the chapters, courses from ``book/courses.yml``, and the
mistakes from `gru_lib.check`: its slips in numbers, and the wrong functions that its tests plant, with what it says.
A book without solutions leaves the mistakes out, because they show what is right.
"""

from __future__ import annotations

import difflib
import importlib
import linecache
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from ways import note_sources, parsed, section

import gru_lib
from gru_lib import check, decode
from gru_lib.check.values import VALUES

ROOT = pages.BOOK.parent


# ------------------------------------------------------------------------------------------------ objectives and times


def chapters(companions: bool = False) -> list[pages.Page]:
    """The chapters, or all numbered pages, in their order."""
    pattern = "[0-9][0-9]*.ipynb" if companions else "[0-9][0-9]-*.ipynb"
    return [pages.read(path.stem) for path in sorted(pages.BOOK.glob(pattern))]


class Objectives(SphinxDirective):
    """``{objectives}``: each chapter with its times and what a reader can do afterwards, as the chapter says it."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        note_sources(self)
        everything, text = chapters(companions=True), []
        for page in chapters():
            deeper = sum(p.minutes for p in everything if p.name[:2] == page.name[:2] and p != page)
            time = f"{page.minutes} minutes" + (f", {deeper} more to go deeper" if deeper else "")
            goals = page.objectives or (page.lede,)
            text.append(f"**{page.number} · [{page.heading}]({page.name}.ipynb)**, {time}, exercises apart")
            text.append("\n".join(f"- {goal}" for goal in goals))
        return parsed(self, "\n\n".join(text))


# ------------------------------------------------------------------------------------------------------------- courses


def exercise_page(label: str) -> pages.Page:
    """The page that sets an exercise."""
    found = [page for page in chapters(companions=True) if label in page.exercises]
    if not found:
        raise ValueError(f"book/courses.yml: no page has the exercise {label}")
    return found[0]


def course_times(course: dict[str, Any]) -> tuple[int, int]:
    """Minutes of reading before the sessions, and minutes of the sessions."""
    read = sum(pages.read(name).minutes for session in course["sessions"] for name in session["read"])
    return read, sum(item[0] for session in course["sessions"] for item in session["plan"])


def _link(name: str) -> str:
    page = pages.read(name)
    return f"[{page.title}]({page.name}.ipynb) ({page.minutes} minutes)"


def _session(session: dict[str, Any]) -> str:
    read = ", ".join(map(_link, session["read"])) or "nothing"
    total = sum(pages.read(name).minutes for name in session["read"])
    lines = [f"*Students read before*: {read}."]
    if len(session["read"]) > 1:
        lines[-1] += f" Together {pages.hours(total)}."
    lines += ["", f"*You prepare*: {session['prepare']}", "", "| Minutes | Plan |", "|--:|:--|"]
    for minutes, words, *exercises in session["plan"]:
        found = [(label, exercise_page(label)) for label in exercises]
        said = [f"Exercise {{ref}}`{p.exercises[label]} <{label}>`, page {p.number}." for label, p in found]
        lines.append(f"| {minutes} | {' '.join([words, *said])} |")
    return "\n".join(lines)


class Courses(SphinxDirective):
    """``{course} four``: the sessions of a course of ``courses.yml``, with their times."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sessions."""
        note_sources(self)
        name = self.arguments[0]
        course = pages.settings("courses.yml")[name]
        if len(course["sessions"]) == 1:
            return parsed(self, _session(course["sessions"][0]))
        read, taught = course_times(course)
        found = parsed(self, f"{pages.hours(read)} of reading, {pages.hours(taught)} in class; homework apart.")
        for i, session in enumerate(course["sessions"], 1):
            found.append(section(f"{name}-{i}", f"{i}. {session['title']}", parsed(self, _session(session))))
        return found


# ------------------------------------------------------------------------------------------------------------ mistakes


class Mistake(NamedTuple):
    """What somebody wrote, and what the checker says of it."""

    wrote: tuple[str, ...]  # lines of code, or one such as "T = 2"
    said: str


def in_numbers(name: str) -> Iterator[Mistake]:
    """The slips in an exercise that asks for numbers."""
    task = VALUES[name]()
    for label, value, _ in task.slips:
        result = getattr(check, name)(*(task.right | {label: value}).values())
        yield Mistake((f"{label} = {_shown(value)}",), result.message)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def in_functions(name: str) -> Iterator[Mistake]:
    """The wrong functions that the checker's tests plant: the lines that differ from a right one."""
    answers = _answers()
    right = answers.ANSWERS[name]
    for planted, old, new, _ in answers.PLANTED:
        if planted == name:
            wrong = re.sub(old[1:], new, right, flags=re.M) if old.startswith("~") else right.replace(old, new)
            lines = list(difflib.ndiff(right.split("\n"), wrong.split("\n")))
            new_lines = [line[2:].strip() for line in lines if line.startswith("+ ") and line[2:].strip()]
            gone = [f"# left out: {line[2:].strip()}" for line in lines if line.startswith("- ")]
            said = getattr(check, name)(_function(wrong)).message
            yield Mistake(tuple(new_lines or gone), said)


def _answers() -> Any:
    """The answers of the checker's tests, right and wrong; they stand in the project, not in the library."""
    if (folder := str(ROOT / "tests")) not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("check_answers")


def _function(source: str) -> Any:
    linecache.cache["<answer>"] = (len(source), None, source.splitlines(keepends=True), "<answer>")
    names = ("sigmoid", "gru_step", "gru_step_backward", "gru_init", "elman_init", "elman_forward", "lstm_forward")
    space = {"np": np, "beam_search": decode.beam_search, "greedy": decode.greedy}
    space |= {name: getattr(gru_lib, name) for name in (*names, "LSTMState")}
    exec(compile(source, "<answer>", "exec"), space)
    return space["f"]


def checked() -> Iterator[tuple[pages.Page, str, str]]:
    """Every exercise that names a check, once for each check: the page, the exercise's label, the check."""
    seen = set()
    for page in chapters(companions=True):
        text = pages.markdown(page.name)
        for label, body in re.findall(r"^```\{exercise\}[^\n]*\n:label: (\S+)\n(.*?)^```$", text, re.M | re.S):
            for name in dict.fromkeys(re.findall(r"`check\.(\w+)\(", body)):
                if name not in seen:
                    seen.add(name)
                    yield page, label, name


def mistakes(name: str) -> list[Mistake]:
    """What may go wrong in an exercise, each message once."""
    found = in_numbers(name) if name in VALUES else in_functions(name)
    return list({mistake.said: mistake for mistake in found}.values())


class Mistakes(SphinxDirective):
    """``{mistakes}``: by chapter and exercise, what a student writes and what the checker says."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each chapter, or a sentence in a book without solutions."""
        note_sources(self)
        if self.config.gru_solutions == "no":
            return parsed(self, "This edition is without solutions, and so without this list.")
        by_chapter: dict[str, list[nodes.Node]] = {}
        for page, label, name in checked():
            box = by_chapter.setdefault(page.name[:2], [])
            box += [self.head(page, label, name), self.table(mistakes(name))]
        return [
            section(f"chapter-{page.number}", f"{page.number} · {page.heading}", by_chapter[page.name[:2]])
            for page in chapters()
            if page.name[:2] in by_chapter
        ]

    def head(self, page: pages.Page, label: str, name: str) -> nodes.Node:
        """The exercise, with a link to it, and the call of its check."""
        words = f"**{{ref}}`{page.exercises[label]} <{label}>`**, page {page.number}: `check.{name}`"
        return parsed(self, words.replace("**", ""))[0]

    def table(self, found: list[Mistake]) -> nodes.Node:
        """A table of two columns; code and messages stand in it as they are."""
        table = nodes.table(classes=["gru-mistakes"])
        group = nodes.tgroup(cols=2)
        table += group
        group += [nodes.colspec(colwidth=45), nodes.colspec(colwidth=55)]
        group += nodes.thead("", _row(nodes.paragraph("", "Written"), nodes.paragraph("", "The checker says")))
        body = nodes.tbody()
        group += body
        for mistake in found:
            code = nodes.paragraph()
            for i, line in enumerate(mistake.wrote):
                code += [nodes.Text("\n")] if i else []
                code += nodes.literal(line, line)
            body += _row(code, nodes.paragraph("", mistake.said, support_smartquotes=False))  # to the letter
        return table


def _row(*cells: nodes.Node) -> nodes.row:
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("objectives", Objectives)
    app.add_directive("course", Courses)
    app.add_directive("mistakes", Mistakes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
