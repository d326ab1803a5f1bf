"""The readers' notebooks: what is in them, their variants, and the lessons made of them."""

from __future__ import annotations

import ast
import builtins
import dis
import html
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat
import notebooks_for_readers
import pytest
import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from reader_cells import ARCHIVE, CHECK, VARIANTS, checks, pieces, starter, variant, without_solutions

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9]*.ipynb"))
MACROS = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["sphinx"]["config"]["maths_macros"]
# What only the book's own builder understands, and "> $$", after which JupyterLab would show the next line's ">".
RAW = re.compile(
    r"^[`:]{3,}\{|\{(?:eq|ref|numref|term|cite:[pt]|prf:ref)\}`|^:label:|\]\(#|\.md\)|\\class\{|^\{\.|> \$\$\n"
    rf"|\\(?:{'|'.join(MACROS)})(?![A-Za-z])",
    re.M,
)


@cache
def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def chapter(name: str) -> NotebookNode:
    return read(ROOT / "book" / f"{name}.ipynb")


@pytest.fixture(scope="module")
def folder(built_book: Path) -> Path:
    """The notebooks that the built book offers."""
    return built_book / "notebooks"


def markdown(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", CHAPTERS)
def test_it_is_read_in_any_jupyter(folder: Path, name: str) -> None:
    """It has no markup of the book's, links that lead somewhere, and figures that say what they show."""
    notebook = read(folder / f"{name}.ipynb")
    text = markdown(notebook)
    assert not RAW.search(text), RAW.search(text)
    assert text.count("<details>") == text.count("</details>")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert target.startswith("https://") or (folder / target).is_file(), target
    for data in [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]:
        shown = data.get("text/html", "")
        assert "image/svg+xml" not in data
        assert "<img" not in shown or re.fullmatch(r'<img alt="[^"]{20,}" src="data:image/svg\+xml;base64,\S+">', shown)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_exercise_has_a_cell_to_type_in_and_its_check_below(folder: Path, name: str) -> None:
    cells, calls = read(folder / f"{name}.ipynb").cells, checks(chapter(name))
    labels = re.findall(r"^```\{exercise\}[^\n]*\n:label: (\S+)", markdown(chapter(name)), re.M)
    places = [i for i, cell in enumerate(cells) if cell.source.startswith("### Exercise ")]
    for place, label in zip(places, labels, strict=True):
        answer, below = cells[place + 1 : place + 3]
        assert (answer.cell_type, answer.source) == ("code", starter(calls.get(label, [])))
        if label in calls:
            assert below.source == "\n".join([CHECK, *(f"print({call})" for call in calls[label])])
            assert all(output.text.startswith("Not yet: ") for output in below.outputs)


def only_in_solutions(notebook: NotebookNode) -> set[str]:
    """What a chapter's cells use and only its solutions bind; without them, those cells would stop."""
    bound: dict[bool, set[str]] = {True: set(), False: set()}
    used = set()
    for cell, text, solved in pieces(notebook.cells):
        for node in ast.walk(ast.parse(text)) if cell.cell_type == "code" else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used |= set() if solved else {node.id}
            elif isinstance(node, ast.Name | ast.FunctionDef | ast.ClassDef | ast.alias | ast.arg):
                name = next(filter(None, (getattr(node, each, None) for each in ("id", "asname", "name", "arg"))))
                bound[bool(solved)].add(name.partition(".")[0])
    return (bound[True] & used) - bound[False]


def at_top(code: str) -> set[str]:
    """The names that code binds where later cells see them."""
    return {each.argval for each in dis.get_instructions(compile(code, "cell", "exec")) if each.opname == "STORE_NAME"}


@pytest.mark.parametrize("name", CHAPTERS)
def test_cells_answers_and_solutions_need_no_name_of_each_other(name: str) -> None:
    """Else a cell that is run again after an answer would see the answer."""
    assert only_in_solutions(chapter(name)) == set()
    own = [text for cell, text, solved in pieces(chapter(name).cells) if cell.cell_type == "code" and not solved]
    taken = {each for text in own for each in at_top(text)} | set(dir(builtins))
    names = [each for calls in checks(chapter(name)).values() for each in at_top(starter(calls))]
    assert len(names) == len(set(names)) and not taken & set(names), names


# -------------------------------------------------------------------------------------------------------- the solutions


def test_solutions_are_folded_or_in_or_gone() -> None:
    mark = {"gru": {"solution": "ex-a", "number": "1.1"}}
    whole = [
        new_markdown_cell("### Exercise 1.1 · Add"),
        new_markdown_cell("**Solution of exercise 1.1**\n\nTwenty twice.", metadata=mark),
        new_code_cell("print(20 + 22)", metadata=mark, outputs=[new_output("stream", text="42\n")]),
        new_markdown_cell("The end."),
    ]
    sources = [cell.source for cell in whole]
    folded, within, none = ([c.source for c in variant(new_notebook(cells=whole), how).cells] for how in VARIANTS)
    fold = "<details><summary>Solution of exercise 1.1</summary>\n\nTwenty twice.\n\n"
    fold += "```python\nprint(20 + 22)\n```\n\nOutput:\n\n```text\n42\n```\n\n</details>"
    assert folded == [sources[0], fold, sources[3]]
    assert (within, none) == (sources, [sources[0], sources[3]])


def solutions(notebook: NotebookNode) -> Iterator[str]:
    """The lines that stand in the solutions of a chapter and nowhere else in it."""
    parts = list(pieces(notebook.cells))
    outside = "\n".join(text for _, text, solved in parts if not solved)
    for _, text, solved in parts:
        for line in text.splitlines() if solved else ():
            if len(line) > 30 and not line.startswith(("```", ":")) and line.strip() not in outside:
                yield line.strip()


def test_a_chapter_without_solutions_has_no_line_of_them() -> None:
    for name in CHAPTERS:
        left = markdown(without_solutions(chapter(name)))
        assert [line for line in (*solutions(chapter(name)), "{solution") if line in left] == [], name
        assert left.count("```{exercise}") == markdown(chapter(name)).count("```{exercise}")


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of one chapter, built with SOLUTIONS=no."""
    root = tmp_path_factory.mktemp("book")
    for name in ("book", "gru_lib", "gru_book"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "_config.yml", root)
    names = ("04-gru-forward", "notation", "glossary", "bibliography", "instructors")
    pages = "".join(f"  - file: book/{name}\n" for name in names)
    (root / "_toc.yml").write_text(f"format: jb-book\nroot: book/intro\nchapters:\n{pages}", "utf8")
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(root), "-q"]
    environment = os.environ | {"SOLUTIONS": "no", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"


def test_a_book_without_solutions_holds_no_trace_of_them(without: Path, built_book: Path) -> None:
    def texts(book: Path) -> dict[str, str]:
        pages = [path for path in book.rglob("*") if path.suffix in (".html", ".ipynb", ".js", ".md", ".py")]
        found = {path.name: path.read_text("utf8", errors="replace") for path in pages}
        with zipfile.ZipFile(book / "notebooks" / ARCHIVE) as archive:
            found |= {f"{ARCHIVE}/{name}": archive.read(name).decode() for name in archive.namelist()}
        return {name: html.unescape(re.sub(r"<[^>]+>", "", text)) for name, text in found.items()}

    own = chapter("04-gru-forward")
    listed = "".join(path.read_text("utf8") for path in ROOT.glob("gru_*/**/*.py"))
    lines = {line for line in solutions(own) if line not in listed and '"' not in line} | {"sol-gru-"}
    lines -= {f"print({call})" for calls in checks(own).values() for call in calls}
    assert [(line, name) for name, text in texts(without).items() for line in lines if line in text] == []
    assert not (without / "_sources").exists()
    usual = texts(built_book)["04-gru-forward.html"]
    assert sum(line in usual for line in lines) > 15, "the search finds what is there"
    assert "check.gru_step(my_step" in markdown_and_code(without / "notebooks" / "04-gru-forward.ipynb")
    numbers = re.findall(r"0\.\d{4}", (ROOT / "book" / "instructors.md").read_text("utf8").partition("{answers}")[2])
    taught = texts(without)["instructors.html"]
    assert len(numbers) > 12 and not [n for n in (*numbers, "0.8433", "0.3753", "4.27") if n in taught]
    assert "without these answers" in taught and numbers[0] in texts(built_book)["instructors.html"]


def markdown_and_code(path: Path) -> str:
    return "\n".join(cell.source for cell in read(path).cells)


def test_the_archive_holds_every_notebook(folder: Path) -> None:
    with zipfile.ZipFile(folder / ARCHIVE) as archive:
        assert archive.namelist() == [f"gru-book/{name}.ipynb" for name in CHAPTERS]
        for name in archive.namelist():
            assert archive.read(name) == (folder / Path(name).name).read_bytes()


# ---------------------------------------------------------------------------------------------------------- the lessons


def test_a_changed_lesson_is_never_written_over(tmp_path: Path) -> None:
    notebook, lessons = tmp_path / "04-a.ipynb", tmp_path / "lessons"

    def new(text: str) -> list[str]:
        notebook.write_text(text, "utf8")
        return notebooks_for_readers.copy_to_lessons([notebook], lessons)

    def held() -> dict[str, str]:
        return {path.name: path.read_text("utf8") for path in lessons.glob("*.ipynb")}

    assert new("1") == new("2") == []
    assert held() == {"04-a.ipynb": "2"}, "one that nobody changed is brought up to date"
    (lessons / "04-a.ipynb").write_text("mine", "utf8")
    assert new("2") == []
    assert held() == {"04-a.ipynb": "mine"}, "there is nothing new"
    assert new("3") == ["04-a.ipynb has your changes and stays. The new one is '04-a (new).ipynb'."]
    (lessons / "04-a (new).ipynb").write_text("mine too", "utf8")
    new("4")
    assert held() == {"04-a.ipynb": "mine", "04-a (new).ipynb": "mine too", "04-a (new 2).ipynb": "4"}


def test_a_lesson_that_was_only_opened_is_brought_up_to_date(tmp_path: Path) -> None:
    notebook, lessons = tmp_path / "04-a.ipynb", tmp_path / "lessons"
    notebook.write_text(json.dumps(new_notebook(cells=[new_code_cell("1", id="a")])), "utf8")
    notebooks_for_readers.copy_to_lessons([notebook], lessons)
    kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "name": "python3"}}
    opened = new_notebook(cells=[new_code_cell("1", id="a")], metadata=kernel)
    (lessons / "04-a.ipynb").write_text(json.dumps(opened, indent=1), "utf8")
    notebook.write_text(json.dumps(new_notebook(cells=[new_code_cell("2", id="a")])), "utf8")
    assert notebooks_for_readers.copy_to_lessons([notebook], lessons) == []
    assert (lessons / "04-a.ipynb").read_bytes() == notebook.read_bytes()
