"""What the pages for instructors are made of: objectives and times, courses, and the mistakes that the checker names.

Nothing of it is written twice. Objectives and times come from the chapters, courses from ``book/courses.yml``, and the
mistakes from `gru_lib.check`: its slips in numbers, and the wrong functions that its tests plant, with what it says.
What states an answer is left out. Wrong ones come near it all the same, so a book without solutions has none of them.
"""

from __future__ import annotations

import difflib
import linecache
import re
from collections.abc import Iterable, Iterator
from functools import cache
from textwrap import dedent
from typing import Any, NamedTuple

import nbformat
import numpy as np
import pages
from check_answers import ANSWERS, PLANTED, VARIANTS
from docutils import nodes
from edition_cells import pieces
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from ways import note_sources, parsed, section

import gru_lib
from gru_lib import check, decode
from gru_lib.check.values import VALUES, near

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
            return parsed(self, "This edition is without solutions, and so without these answers.")
        return parsed(self, "\n".join(self.content))


# ------------------------------------------------------------------------------------------------------------ mistakes


class Mistake(NamedTuple):
    """What somebody wrote, and what the checker says of it."""

    wrote: str  # lines of code, or one such as "T = 2"
    said: str


# Numbers as messages write them, alone or in a sum, product or quotient; not those in formulas, such as 1 − z.
_NUMBER = r"(?:\d+(?:,\d{3})*(?:\.\d+)?|[½¼¾])"
_NUMBERS = re.compile(rf"(?<![\w.]){_NUMBER}(?: ?[·+−/] ?{_NUMBER})*(?!\w|\.\d| ?[·+−/] ?\(?\w)")
_PYTHON = {",": "", "½": "0.5", "¼": "0.25", "¾": "0.75", "·": "*", "−": "-"}
_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def stated(message: str) -> Iterator[float]:
    """The numbers that a message states, and what its sums, products and quotients of numbers come to."""
    for found in _NUMBERS.findall(message.replace("1/e", "0.368")):
        for text in (found, *re.findall(_NUMBER, found)):
            yield float(eval("".join(_PYTHON.get(letter, letter) for letter in text)))
    yield from (2.0 + _WORDS.index(word) for word in re.findall(r"\w+", message) if word in _WORDS)


def shows(numbers: Iterable[float], right: Iterable[Any]) -> bool:
    """Whether one of the numbers is right but for the sign, or one step away: its reciprocal, the rest to 1, ..."""
    close: list[float] = []
    for r in (abs(float(each)) for each in right if is_number(each)):
        close += [r, abs(1 - r), 2 * r, r / 2, *([1 / r] if r else []), *([r - 1, r + 1] if r % 1 == 0 else [])]
    return any(near(abs(number), each) for number in numbers for each in close)


def is_number(value: Any) -> bool:
    """Whether a value is a number, and neither a word nor yes or no."""
    return np.asarray(value).dtype.kind in "iuf"


def parts(value: Any) -> Iterator[Any]:
    """A value's single numbers and words."""
    if isinstance(value, (list, tuple, set, np.ndarray)):
        for each in value:
            yield from parts(each)
    else:
        yield value


def in_numbers(name: str) -> Iterator[Mistake]:
    """The slips in an exercise that asks for numbers; without those that show what is right, by number or message.

    Nor those where a word is wanted: of the few that it may be, every message leaves fewer.
    """
    task = VALUES[name]()
    right = list(parts(list(task.right.values())))
    for label, value, _ in task.slips:
        said = getattr(check, name)(*(task.right | {label: value}).values()).message
        if all(map(is_number, parts(task.right[label]))) and not shows(stated(said), right):
            wrong = list(parts(value))
            if all(map(is_number, wrong)) and not shows(wrong, right):
                yield Mistake(f"{label} = {_shown(value)}", said)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


# What the checker says of any function: a crash, a shape, a number. A class needs no list of these.
_OF_FORM = re.compile(
    r"changed in place|NaN or inf|is still|returns None|stopped with|must be an array of|is \S+ times what|"
    r"is wrong: it is|in this order; got|^grads must|must have shape (?!.*sum over the batch)"
)


def in_functions(name: str, options: str = "") -> Iterator[Mistake]:
    """The wrong functions that the checker's tests plant: the lines that a right one does not have.

    Without those of which a line stands in a solution, that only lack a line, or have a mistake of form.
    """
    here = [slip for of, *slip in PLANTED if of == name]
    right, slips = VARIANTS.get((name, options), (ANSWERS[name], here))
    given = solutions() | {" ".join(line.split()) for line in right.split("\n")}
    for old, new, _ in slips:
        wrong = re.sub(old[1:], new, right, flags=re.M) if old.startswith("~") else right.replace(old, new)
        differs = [line for line in difflib.ndiff(right.split("\n"), wrong.split("\n")) if line.startswith("+ ")]
        lines = [line[2:].rstrip() for line in differs if line[2:].strip() not in ("", "pass")]
        if lines and not any(" ".join(line.split()) in given for line in lines):
            said = getattr(check, name)(_function(wrong), **eval(f"dict({options})")).message
            if not _OF_FORM.search(said):
                yield Mistake(dedent("\n".join(lines)), said)


@cache
def solutions() -> frozenset[str]:
    """Every line of every solution."""
    found: set[str] = set()
    for page in chapters(companions=True):
        for _, text, solved in pieces(nbformat.read(pages.source(page.name), as_version=4).cells):
            found |= {" ".join(line.split()) for line in text.split("\n")} if solved else set()
    return frozenset(found)


def _function(source: str) -> Any:
    linecache.cache["<answer>"] = (len(source), None, source.splitlines(keepends=True), "<answer>")
    names = ("sigmoid", "gru_step", "gru_step_backward", "gru_init", "elman_init", "elman_forward", "lstm_forward")
    space = {"np": np, "beam_search": decode.beam_search, "greedy": decode.greedy}
    space |= {name: getattr(gru_lib, name) for name in (*names, "LSTMState")}
    exec(compile(source, "<answer>", "exec"), space)
    return space["f"]


def checked() -> Iterator[tuple[pages.Page, str, str, str]]:
    """Every exercise that names a check, with each that it names: the page, the exercise's label, the check, options.

    Options only if the mistakes of the variant that they ask for are known.
    """
    for page in chapters(companions=True):
        text = pages.markdown(page.name)
        for label, body in re.findall(r"^```\{exercise\}[^\n]*\n:label: (\S+)\n(.*?)^```$", text, re.M | re.S):
            for name, options in dict.fromkeys(re.findall(r"`check\.(\w+)\(\w+(?:, ([^)]*))?\)`", body)):
                yield page, label, name, options if (name, options) in VARIANTS else ""


def mistakes(name: str, options: str = "") -> list[Mistake]:
    """What may go wrong in an exercise, each message once."""
    found = in_numbers(name) if name in VALUES else in_functions(name, options)
    return list({mistake.said: mistake for mistake in found}.values())


class Mistakes(SphinxDirective):
    """``{mistakes} 04``: what students write in a chapter's exercises, and what the checker says; else the chapters."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a section for each exercise, or the list of chapters; a sentence in a book without solutions."""
        note_sources(self)
        for path in [*ROOT.glob("gru_lib/check/*.py"), *ROOT.glob("book/_ext/check_answers/*.py")]:
            self.env.note_dependency(str(path))
        if self.arguments:
            self.env.metadata[self.env.docname]["nosearch"] = True
        if self.config.gru_solutions == "no":
            return parsed(self, "This edition is without solutions, and so without this list, which comes near them.")
        return self.exercises(self.arguments[0]) if self.arguments else self.chapters()

    def chapters(self) -> list[nodes.Node]:
        """The chapters, each with its own page."""
        links = (f"- {p.number} · [{p.heading}](mistakes-{p.name[:2]}.md)" for p in chapters())
        return parsed(self, "\n".join(["{.gru-contents}", *links]))

    def exercises(self, chapter: str) -> list[nodes.Node]:
        """The exercises of a chapter and its companions. A check that several ask for is shown with the first."""
        main = next(page for page in chapters() if page.name.startswith(chapter))
        lede = f"What students write in the exercises of [{main.title}]({main.name}.ipynb), and what the checker says."
        found = parsed(self, f"{{.gru-lede}}\n{lede}\n\n[All chapters](mistakes.md)")
        first: dict[tuple[str, str], str] = {}
        for page, label, name, options in checked():
            shown = first.setdefault((name, options), page.name[:2])
            if page.name[:2] == chapter and (listed := mistakes(name, options)):
                if label not in found[-1].get("ids", ()):
                    found.append(section(label, page.exercises[label], []))
                number = f"{page.number}.{list(page.exercises).index(label) + 1}"
                there = "" if shown == chapter else f", shown [with chapter {int(shown)}](mistakes-{shown}.md)"
                call = f"check.{name}(…, {options})" if options else f"check.{name}"
                found[-1] += parsed(self, f"{{ref}}`Exercise {number} <{label}>`: `{call}`{there}")
                found[-1] += self.listed(listed) if shown == chapter else []
        return found

    def listed(self, found: list[Mistake]) -> list[nodes.Node]:
        """A list: the code, and below it what the checker says, to the letter; after the first eight, folded."""
        items = []
        for mistake in found:
            code = nodes.literal_block(mistake.wrote, mistake.wrote, language="python")
            items.append(nodes.list_item("", code, nodes.paragraph("", mistake.said, support_smartquotes=False)))
        lists = [nodes.bullet_list("", *some, classes=["gru-mistakes"]) for some in (items[:8], items[8:]) if some]
        more = [nodes.admonition("", nodes.title("", "More"), each, classes=["dropdown"]) for each in lists[1:]]
        return [lists[0], *more]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("objectives", Objectives)
    app.add_directive("answers", Answers)
    app.add_directive("course", Courses)
    app.add_directive("mistakes", Mistakes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
