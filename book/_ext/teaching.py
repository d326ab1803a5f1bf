"""What the pages for instructors are made of: objectives and times, and courses.

Nothing of it is written twice: objectives and times come from the chapters, courses from ``book/courses.yml``.
"""

from __future__ import annotations

from typing import Any

import pages
from docutils import nodes
from page_links import note_sources, parsed, section
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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


def _exercise(label: str) -> str:
    page = exercise_page(label)
    return f"Exercise {{ref}}`{page.exercises[label]} <{label}>`, page {page.number}."


def _session(session: dict[str, Any]) -> str:
    read = ", ".join(map(_link, session["read"])) or "nothing"
    total = sum(pages.read(name).minutes for name in session["read"])
    lines = [f"*Students read before*: {read}."]
    if len(session["read"]) > 1:
        lines[-1] += f" Together {pages.hours(total)}."
    lines += ["", f"*At the end they can* {session['can']}", "", f"*You prepare*: {session['prepare']}"]
    lines += ["", f"*Slides*: {session['slides']}"] if "slides" in session else []
    lines += ["", "| Minutes | Plan |", "|--:|:--|"]
    for minutes, words, *exercises in session["plan"]:
        lines.append(f"| {minutes} | {' '.join([words, *map(_exercise, exercises)])} |")
    lines += ["", f"*At home*: {' '.join(map(_exercise, session['home']))}"] if "home" in session else []
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


class Answers(SphinxDirective):
    """``{answers}``: what a book without solutions leaves out, since students have that book."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return what stands in it; a sentence in a book without solutions."""
        if self.config.gru_solutions == "no":
            return parsed(self, "This copy of the book is without solutions, and so without these answers.")
        return parsed(self, "\n".join(self.content))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("objectives", Objectives)
    app.add_directive("answers", Answers)
    app.add_directive("course", Courses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
