"""The reader's editions: what is in them, their variants, and the lessons made of them."""

from __future__ import annotations

import ast
import builtins
import html
import itertools
import json
import os
import re
import shutil
import subprocess
import symtable
import sys
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import editions
import nbformat
import pytest
import yaml
from chapter_numbers import chapter_number
from edition_cells import ARCHIVE, CHECK, EXERCISE, WAYS, checks, install, pieces, starter, variant, without_solutions
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from plain_markdown import COLOURS
from repository import address, wheel
from test_viz import contrast

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9]*.ipynb"))
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
MACROS = CONFIG["sphinx"]["config"]["maths_macros"]
# What only the book's own builder understands.
RAW = re.compile(
    r"^[`:]{3,}\{|\{(?:eq|ref|numref|term|cite:[pt]|prf:ref)\}`|^:label:|\]\(#|\.md\)|\\class\{|^\{\.", re.M
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


@pytest.fixture(params=CHAPTERS)
def edition(request: pytest.FixtureRequest, folder: Path) -> tuple[str, NotebookNode]:
    """Each chapter's edition."""
    return request.param, read(folder / f"{request.param}.ipynb")


def markdown(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def printed(cell: NotebookNode) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def exercises(notebook: NotebookNode) -> list[int]:
    return [i for i, cell in enumerate(notebook.cells) if cell.source.startswith("### Exercise ")]


# --------------------------------------------------------------------------------------------------------- the Markdown


def test_the_colours_of_formulas_can_be_read_in_light_and_in_dark() -> None:
    assert {macro[0][11] for macro in MACROS.values()} == set(COLOURS)
    for colour in COLOURS.values():
        assert min(contrast(colour, paper) for paper in ("#FFFFFF", "#212121")) > 3.6


def test_an_edition_holds_nothing_that_only_the_book_understands(edition: tuple[str, NotebookNode]) -> None:
    text = markdown(edition[1])
    assert not RAW.search(text), RAW.search(text)
    names = "|".join(MACROS)
    assert not re.search(rf"\\(?:{names})(?![A-Za-z])", text)
    assert text.count("<details>") == text.count("</details>")
    assert "> $$\n" not in text  # JupyterLab would show the next line's ">" in the equation
    source = (ROOT / "book_text" / f"{edition[0]}.md").read_text("utf8")
    assert bool(re.search(r"\$\$ \([\w-]+\)$", source, re.M)) == ("\\tag{" in text)  # labelled formulas have numbers


def test_with_folded_solutions_an_edition_has_the_chapters_other_cells(edition: tuple[str, NotebookNode]) -> None:
    name, notebook = edition
    first, *code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert first.source == install(wheel(address(CONFIG["repository"]["url"])))
    begun = {starter(calls) for calls in checks(chapter(name)).values()} | {""}
    code = [cell for cell in code if cell.source not in begun and not cell.source.startswith(f"{CHECK}\nprint(check.")]
    own = [cell for cell, _, solved in pieces(chapter(name).cells) if cell.cell_type == "code" and not solved]
    assert [cell.source for cell in code] == [cell.source for cell in own]
    assert [printed(cell) for cell in code] == [printed(cell) for cell in own]


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


def test_no_chapter_needs_a_name_that_only_a_solution_binds() -> None:
    assert {name: found for name in CHAPTERS if (found := only_in_solutions(chapter(name)))} == {}
    start, end = (new_markdown_cell(f"```{{solution-{which}\n```") for which in ("start} ex-a", "end}"))
    solution = new_code_cell("import re as a\nb = 1\ndef c(d): ...")
    after = new_code_cell("e = [a, b, c, d, f] + [i for i in d]")
    assert only_in_solutions(new_notebook(cells=[start, solution, end, after])) == {"a", "b", "c", "d"}


def test_pictures_say_what_they_show_and_show_before_anything_has_run(edition: tuple[str, NotebookNode]) -> None:
    pictures = [o.data for c in edition[1].cells for o in c.get("outputs", []) if "text/html" in o.get("data", {})]
    for data in pictures:
        if data["text/html"].startswith("<style>"):  # a table of results, with its look
            assert data["text/html"].endswith("</table></div>")
            continue
        assert re.fullmatch(r'<img alt="[^"]{20,}" src="data:image/svg\+xml;base64,[\w+/=]+">', data["text/html"])
    assert not any("image/svg+xml" in o.get("data", {}) for c in edition[1].cells for o in c.get("outputs", []))


def test_an_explorers_title_and_what_to_try_stand_above_its_cell(edition: tuple[str, NotebookNode]) -> None:
    name, notebook = edition
    for above, cell in itertools.pairwise(notebook.cells):
        if cell.cell_type == "code" and re.search(r"^\w+Explorer\(.*anchor=", cell.source, re.M):
            title = rf"\*\*Explorer {chapter_number(name)}\.\d\. [A-Z][^*]+\?\*\*"
            assert re.search(rf"^{title}\n\n[A-Z][^#]+\.\Z", above.source, re.M), above.source[-300:]


def test_every_exercise_has_a_cell_to_type_in_and_its_check_below(edition: tuple[str, NotebookNode]) -> None:
    name, notebook = edition
    own = chapter(name)
    labels = re.findall(r"^```\{exercise\}[^\n]*\n:label: (\S+)", "\n".join(c.source for c in own.cells), re.M)
    places, calls = exercises(notebook), checks(own)
    assert len(places) == len(labels)
    for place, label in zip(places, labels, strict=True):
        answer, below = notebook.cells[place + 1 : place + 3]
        assert (answer.cell_type, answer.source) == ("code", starter(calls.get(label, [])))
        if label in calls:
            assert below.source == "\n".join([CHECK, *(f"print({call})" for call in calls[label])])
            assert all(line.startswith("Not yet: ") for line in printed(below).splitlines())


def at_top(code: str) -> set[str]:
    """The names that code binds where later cells see them."""
    symbols = symtable.symtable(code, "cell", "exec").get_symbols()
    return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}


def test_an_answer_takes_no_name_of_the_chapters_cells_nor_of_another_answer() -> None:
    """Else the cells that are run again after it would see the answer."""
    for name in CHAPTERS:
        own = [text for cell, text, solved in pieces(chapter(name).cells) if cell.cell_type == "code" and not solved]
        taken = {each for text in own for each in at_top(text)} | set(dir(builtins))
        names = [each for calls in checks(chapter(name)).values() for each in at_top(starter(calls))]
        assert len(names) == len(set(names)), (name, names)
        assert not taken & set(names), (name, taken & set(names))


def test_an_exercise_and_its_answer_cell_show_one_signature() -> None:
    for name in CHAPTERS:
        calls = checks(chapter(name))
        for label, body in EXERCISE.findall(markdown(chapter(name))):
            begun = starter(calls.get(label, []))
            for function, arguments in re.findall(r"^def (\w+)\((.*)\):$", begun, re.M):
                shown = re.findall(rf"`{function}\((.*?)\)`", body)
                assert set(shown) <= {arguments}, (label, shown, arguments)


# -------------------------------------------------------------------------------------------------------- the solutions


def small() -> NotebookNode:
    """A whole edition of one exercise."""
    mark = {"gru": {"solution": "ex-a", "number": "1.1"}}
    printed = [new_output("stream", text="42\n")]
    cells = [
        new_markdown_cell("### Exercise 1.1 · Add"),
        new_markdown_cell("**Solution of exercise 1.1**\n\nTwenty twice.", metadata=mark),
        new_code_cell("print(20 + 22)", metadata=mark, outputs=printed),
        new_markdown_cell("The end."),
    ]
    return new_notebook(cells=cells)


def test_solutions_are_folded_or_in_or_gone() -> None:
    folded, within, none = (variant(small(), how).cells for how in WAYS)
    assert [cell.cell_type for cell in folded] == ["markdown"] * 3
    fold = "<details><summary>Solution of exercise 1.1</summary>\n\nTwenty twice.\n\n"
    assert folded[1].source == fold + "```python\nprint(20 + 22)\n```\n\nOutput:\n\n```text\n42\n```\n\n</details>"
    assert [cell.source for cell in within] == [cell.source for cell in small().cells]
    assert [cell.source for cell in none] == ["### Exercise 1.1 · Add", "The end."]
    assert not any(cell.metadata for cells in (folded, within, none) for cell in cells)
    with pytest.raises(ValueError, match="solutions must be folded, in, none; got 'out'"):
        variant(small(), "out")


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
        whole = chapter(name)
        left = "\n".join(cell.source for cell in without_solutions(whole).cells)
        assert [line for line in (*solutions(whole), "{solution") if line in left] == [], name
        assert left.count("```{exercise}") == "\n".join(c.source for c in whole.cells).count("```{exercise}")
    assert len(list(solutions(chapter("04-gru-forward")))) > 30


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of one chapter, built with SOLUTIONS=no."""
    root = tmp_path_factory.mktemp("book")
    for name in ("book", "gru_lib"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("0[0-35-9]*", "1*", "__pycache__"))
    shutil.copy(ROOT / "_config.yml", root)
    names = ("04-gru-forward", "notation", "glossary", "bibliography", "mistakes", "mistakes-04")
    pages = "".join(f"  - file: book/{name}\n" for name in names)
    (root / "_toc.yml").write_text(f"format: jb-book\nroot: book/intro\nchapters:\n{pages}", "utf8")
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(root), "-q"]
    environment = os.environ | {"SOLUTIONS": "no", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"


def test_a_book_without_solutions_holds_no_trace_of_them(without: Path, built_book: Path) -> None:
    def texts(book: Path, ignored: str) -> Iterator[tuple[Path, str]]:
        for path in book.rglob("*"):
            if path.name == "objects.inv":  # four lines, then the labels, packed
                yield path, zlib.decompress(path.read_bytes().split(b"\n", 4)[4]).decode()
            elif path.is_file() and path.suffix != ".zip" and (ignored not in path.parts or "search" in path.name):
                text = path.read_text("utf8", errors="replace")
                yield path, html.unescape(re.sub(r"<[^>]+>", "", text)) if path.suffix == ".html" else text
        with zipfile.ZipFile(book / "notebooks" / ARCHIVE) as archive:
            yield from ((book / ARCHIVE / name, archive.read(name).decode()) for name in archive.namelist())

    listed = "".join(path.read_text("utf8") for path in (ROOT / "gru_lib").rglob("*.py"))
    lines = {line for line in solutions(chapter("04-gru-forward")) if line not in listed and '"' not in line}
    lines -= {f"print({call})" for calls in checks(chapter("04-gru-forward")).values() for call in calls}
    lines |= {"sol-gru-", "return (1 - z) * h + z * n"}
    assert [(line, path.name) for path, text in texts(without, "_static") for line in lines if line in text] == []
    assert not (without / "_sources").exists()
    usual = "".join(text for path, text in texts(built_book, "_static") if "04-gru-forward" in path.name)
    assert sum(line in usual for line in lines) > 25, "the search finds what is there"
    notebook = nbformat.read(without / "notebooks" / "04-gru-forward.ipynb", as_version=4)
    assert "check.gru_step(my_step" in notebook.cells[exercises(notebook)[3] + 2].source
    for name, book in itertools.product(("mistakes", "mistakes-04"), (without, built_book)):
        page = html.unescape((book / "book" / f"{name}.html").read_text("utf8")).partition("<article")[2]
        assert ("This edition is without solutions" in page) == (book is without)
        assert bool(re.search(r"gru-mistakes|mistakes-\d\d.html", page)) == (book is built_book)


# ---------------------------------------------------------------------------------------------------- in the built book


def test_the_archive_holds_every_edition_and_links_lead_to_them(folder: Path) -> None:
    with zipfile.ZipFile(folder / ARCHIVE) as archive:
        assert archive.namelist() == [f"gru-book/{name}.ipynb" for name in CHAPTERS]
        for name in archive.namelist():
            assert archive.read(name) == (folder / Path(name).name).read_bytes()
    for name in CHAPTERS:
        text = markdown(read(folder / f"{name}.ipynb"))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            assert target.startswith("https://") or (folder / target).is_file(), (name, target)


# ---------------------------------------------------------------------------------------------------------- the lessons


def test_a_changed_lesson_is_never_written_over(tmp_path: Path) -> None:
    edition, lessons = tmp_path / "04-a.ipynb", tmp_path / "lessons"

    def new(text: str) -> list[str]:
        edition.write_text(text, "utf8")
        return editions.bring([edition], lessons)

    def held() -> dict[str, str]:
        return {path.name: path.read_text("utf8") for path in lessons.glob("*.ipynb")}

    assert new("1") == []
    assert new("2") == []
    assert held() == {"04-a.ipynb": "2"}, "one that nobody changed is brought up to date"

    (lessons / "04-a.ipynb").write_text("mine", "utf8")
    assert new("2") == []
    assert held() == {"04-a.ipynb": "mine"}, "there is nothing new"

    assert new("3") == ["04-a.ipynb has your changes and stays. Its new edition is '04-a (new).ipynb'."]
    assert new("3") == []
    (lessons / "04-a (new).ipynb").write_text("mine too", "utf8")
    new("4")
    assert held() == {"04-a.ipynb": "mine", "04-a (new).ipynb": "mine too", "04-a (new 2).ipynb": "4"}

    (lessons / editions.GIVEN).unlink()
    new("5")
    assert held()["04-a.ipynb"] == "mine", "without the record everything counts as changed"


def test_a_lesson_that_was_only_opened_is_brought_up_to_date(tmp_path: Path) -> None:
    edition, lessons = tmp_path / "04-a.ipynb", tmp_path / "lessons"
    edition.write_text(json.dumps(new_notebook(cells=[new_code_cell("1", id="a")])), "utf8")
    editions.bring([edition], lessons)
    kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "name": "python3"}}
    opened = new_notebook(cells=[new_code_cell("1", id="a")], metadata=kernel)
    (lessons / "04-a.ipynb").write_text(json.dumps(opened, indent=1), "utf8")
    edition.write_text(json.dumps(new_notebook(cells=[new_code_cell("2", id="a")])), "utf8")
    assert editions.bring([edition], lessons) == []
    assert (lessons / "04-a.ipynb").read_bytes() == edition.read_bytes()
