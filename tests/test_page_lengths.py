"""A page is one sitting: how much of it there is to read before the exercises, and how long it says that takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from reader_notebooks import without_examples
from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

from conftest import ROOT

PAGES = sorted(p.stem for p in (ROOT / "book_text").glob("[0-9]*.md"))
LINES = 250


def most_words(name: str) -> int:
    """A companion is shorter; that on the loop, solved, is a chapter of its own."""
    return 900 if re.match(r"\d\d[a-z]", name) and name != "21b-the-loop-solved" else 1700


UNSEEN = {"hide-input", "remove-input", "hide-cell", "remove-cell"}
SILENT = {"hide-output", "remove-output", "hide-cell", "remove-cell"}


class Length(NamedTuple):
    """Words of prose, lines of code and of printed output that are shown, and lines of displayed equations."""

    words: int
    code: int
    output: int
    steps: int


def before_exercises(text: str) -> str:
    """A page's Markdown without its head and its exercises."""
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S).split("\n## Exercises")[0]


def words(text: str) -> int:
    """Words of prose: no code, no displayed equations; a piece of inline maths or code counts as one."""
    prose = re.sub(r"```(?:\{code-cell\}|\w+\n).*?\n```", "", text, flags=re.S)
    prose = re.sub(r"\$\$.*?\$\$(\s*\([\w-]+\))?", "", prose, flags=re.S)
    prose = re.sub(r"\]\([^)]*\)|\{[\w:]+\}", " ", re.sub(r"\$[^$]*\$|`[^`]*`", " x ", prose))
    return len(re.findall(r"[A-Za-zÀ-ž0-9]+(?:['’-][A-Za-z]+)*", prose))


def printed(output: dict[str, object]) -> int:
    """Lines of text that an output shows."""
    data = output.get("data", {})
    assert isinstance(data, dict)
    drawn = {"text/html", "image/svg+xml", "application/vnd.jupyter.widget-view+json"} & set(data)
    text = output.get("text") or ("" if drawn else data.get("text/plain", ""))
    return len("".join(text).rstrip("\n").split("\n")) if text else 0  # type: ignore[arg-type]


def listed(fence: str) -> int:
    """Lines of a listing: a fenced block of a language, or a literalinclude, which shows a piece of a file."""
    head, *rest = fence.rstrip("`").rstrip().split("\n")
    if "{literalinclude}" not in head:
        return len(rest)
    given = re.findall(r"^:([\w-]+): *(.+)$", "\n".join(rest), re.M)
    options = {
        key: yaml.safe_load(value)
        for key, value in given
        if key in ("pyobject", "start-at", "start-after", "end-at", "end-before")
    }
    file = ROOT / "book" / head.split("}")[1].strip()
    return without_examples(LiteralIncludeReader(str(file), options, Config()).read()[0]).count("\n")


def length(page: str) -> Length:
    """Measure a page, before its exercises."""
    text = before_exercises((ROOT / "book_text" / f"{page}.md").read_text("utf8"))
    code = output = 0
    for cell in json.loads((ROOT / "book" / f"{page}.ipynb").read_text("utf8"))["cells"]:
        source, tags = "".join(cell["source"]), set(cell["metadata"].get("tags", []))
        if cell["cell_type"] == "markdown":
            if re.search(r"^## Exercises", source, re.M):
                break
            fences = re.findall(r"^```(?:\{literalinclude\}|\w+\n).*?^```$", source, re.S | re.M)
            code += sum(map(listed, fences))
            continue
        code += 0 if UNSEEN & tags else source.count("\n") + 1
        output += 0 if SILENT & tags else sum(printed(o) for o in cell["outputs"])
    displays = re.findall(r"\$\$.*?\$\$", text, re.S)
    return Length(words(text), code, output, sum(1 + display.count(r"\\") for display in displays))


def stated_minutes(page: str) -> int:
    """The minutes that a page says it takes."""
    found = re.search(
        r"^\*\*Time\*\*: about (\d+) minutes", Path(ROOT / f"book_text/{page}.md").read_text("utf8"), re.M
    )
    assert found is not None, f"{page} says no time"
    return int(found[1])


@pytest.mark.parametrize("page", PAGES)
def test_page_is_one_sitting_and_its_stated_time_is_honest(page: str) -> None:
    """200 words a minute and ten seconds a line of code; a line of a displayed derivation takes up to two minutes."""
    found = length(page)
    assert found.words <= most_words(page)
    assert found.code + found.output <= LINES
    least = found.words / 200 + found.code / 6
    assert 0.9 * least <= stated_minutes(page) <= least + 2 * found.steps + 5
