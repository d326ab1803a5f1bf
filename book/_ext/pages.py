"""What the pages of the book say of themselves: title, promise, time, objectives and exercises."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from chapter_numbers import chapter_number

BOOK = Path(__file__).resolve().parents[1]
OBJECTIVES = re.compile(r"\*\*You will be able to\*\*\n\n((?:(?:\d+\.|-) .*\n?(?:  .*\n?)*)+)")
EXERCISE = re.compile(r"^```\{exercise\} *(.*)\n:label: (\S+)", re.M)


class Page(NamedTuple):
    """A page, by the name of its file."""

    name: str
    heading: str
    lede: str
    minutes: int  # 0 if it states none
    objectives: tuple[str, ...]
    needs: tuple[str, ...]  # the pages that it builds on, by name; not those that only help
    exercises: dict[str, str]  # their titles, by label

    @property
    def number(self) -> str:
        """Such as 4 or 4b; empty for front and back matter."""
        number = chapter_number(self.name)
        return "" if number is None else str(number)

    @property
    def title(self) -> str:
        """The heading, with the number if there is one."""
        return f"{self.number}. {self.heading}" if self.number else self.heading


def source(name: str) -> Path:
    """The file that a page is built from."""
    notebook = BOOK / f"{name}.ipynb"
    return notebook if notebook.is_file() else BOOK / f"{name}.md"


def markdown(name: str) -> str:
    """The Markdown of a page, without its code cells and what is not shown."""
    path = source(name)
    text = path.read_text("utf8")
    if path.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    shown = ("".join(cell["source"]) for cell in cells if "remove-cell" not in cell["metadata"].get("tags", ()))
    return "\n\n".join(shown) + "\n"


@cache
def read(name: str) -> Page:
    """Read a page."""
    text = markdown(name)
    heading = re.search(r"^# (.+)$", text, re.M)
    lede = re.search(r"^\{\.gru-lede\}\n((?:.+\n)+)", text, re.M)
    time = re.search(r"^\*\*Time\*\*: about (\d+) minutes", text, re.M)
    listed = OBJECTIVES.search(text)
    asked = re.search(r"^\*\*You need\*\* ((?:.+\n)+?)\*\*Time", text, re.M)
    clauses = re.split(r"[;.]\s", asked[1]) if asked else []
    clauses = [clause for clause in clauses if not re.search(r"\bhelps?\b|not \[", clause)]
    needs = [n for clause in clauses for n in re.findall(r"\]\((\d\d[\w-]*)\.ipynb", clause)]
    items = re.split(r"^(?:\d+\.|-) ", listed[1], flags=re.M)[1:] if listed else []
    return Page(
        name,
        heading[1] if heading else name,
        " ".join(lede[1].split()) if lede else "",
        int(time[1]) if time else 0,
        tuple(" ".join(item.split()) for item in items),
        tuple(dict.fromkeys(needs)),
        {label: title for title, label in EXERCISE.findall(text)},
    )


@cache
def settings(name: str) -> dict:
    """A file of settings of the book, such as ``page_links.yml``."""
    found: dict = yaml.safe_load((BOOK / name).read_text("utf8"))
    return found


def hours(minutes: int) -> str:
    """A time in words: 50 minutes, or 2 hours 5 minutes."""
    whole, rest = divmod(minutes, 60)
    parts = [(whole, "hour"), (rest, "minute")]
    return " ".join(f"{n} {word}{'s' if n != 1 else ''}" for n, word in parts if n) or "0 minutes"
