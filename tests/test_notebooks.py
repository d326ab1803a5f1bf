"""The stored notebooks: executed in order, complete, in normal form, equal to their texts. nbval compares outputs."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import jupytext
import nbformat
import notebooks
import pytest
from edition_cells import DISTRIBUTION
from helpers import BOX
from nbformat import NotebookNode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAMES = notebooks.names()

# What the first cell of an edition installs, and so what a chapter may import.
PROJECT = tomllib.loads((notebooks.ROOT / "pyproject.toml").read_text("utf8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
INSTALLED = Requirement(DISTRIBUTION).extras
ASKED = [*PROJECT["dependencies"], *(r for extra in INSTALLED for r in EXTRAS[extra])]
DISTRIBUTIONS = {canonicalize_name(Requirement(r).name) for r in ASKED}
FILES = {path.name for path in notebooks.BOOK.iterdir()}
FOLDERS = {path.name for path in notebooks.ROOT.iterdir() if path.is_dir()}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Each notebook's name in turn."""
    return request.param


@cache
def stored(name: str) -> NotebookNode:
    """The notebook as it is stored."""
    path = notebooks.BOOK / f"{name}.ipynb"
    assert path.is_file(), f"book_text/{name}.md was never executed. Run `make notebooks NB={name}`."
    return nbformat.read(path, as_version=4)


@pytest.fixture
def notebook(name: str) -> NotebookNode:
    """Each notebook in turn."""
    return stored(name)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_has_a_text_and_every_text_a_notebook() -> None:
    texts = {p.stem for p in notebooks.TEXT.glob("*.md")}
    assert {p.stem for p in notebooks.BOOK.glob("*.ipynb")} == texts != set()


def test_every_block_of_code_for_another_framework_is_run_by_a_test() -> None:
    """By `box` or `run_box`, of helpers.py, in the test of its chapter."""
    tests = "".join(path.read_text("utf8") for path in Path(__file__).parent.glob("test_chapter*.py"))
    run = re.findall(r'box\(\s*"([^"]+)"(?:, "([^"]+)")?', tests)
    for text in notebooks.TEXT.glob("*.md"):
        for code, _ in re.findall(BOX, text.read_text("utf8"), re.M | re.S):
            assert any(name == text.stem and part in code for name, part in run), f"{text.name}: no test runs\n{code}"


def test_cells_were_executed_once_and_in_order(notebook: NotebookNode) -> None:
    """nbval compares nothing where a count is null."""
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))


def test_text_has_the_same_cells_and_the_notebook_says_so(name: str, notebook: NotebookNode) -> None:
    text = jupytext.read(notebooks.TEXT / f"{name}.md", fmt="md:myst")
    cells = [(c.cell_type, c.source, c.metadata) for c in text.cells]
    assert cells == [(c.cell_type, c.source, c.metadata) for c in notebook.cells]
    assert notebook.metadata.gru.text_sha256 == notebooks.fingerprint(text)


@cache
def importable() -> set[str]:
    """The modules of what is installed with an edition, of Python, and of the library."""
    of = packages_distributions()
    asked = {name for name, brought in of.items() if DISTRIBUTIONS & set(map(canonicalize_name, brought))}
    return asked | set(sys.stdlib_module_names) | {"gru_lib"}


def outside(source: str) -> set[str]:
    """What a cell needs that is not installed with its edition: modules, files of the project, `sys.path`."""
    found, tree = set(), ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or "."]
            found |= {m for m in modules if m.partition(".")[0] not in importable()}
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path":
            found.add("sys.path")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            first, *more = node.value.split("/")
            if ".." in (first, *more) or node.value in FILES or (more and first in FOLDERS):
                found.add(node.value)
    return found


def test_a_notebook_needs_nothing_but_what_its_edition_installs(notebook: NotebookNode) -> None:
    """So it runs in any folder."""
    assert {what for cell in code(notebook) for what in outside(cell.source)} == set()


def test_what_a_cell_needs_from_elsewhere_is_found() -> None:
    for needs in ("../experiments/dates.json", "references.bib"):
        assert outside(f"import torch\nopen('{needs}')") == {"torch", needs}


def test_what_prints_or_draws_has_stored_output(notebook: NotebookNode) -> None:
    silent = [c.source for c in code(notebook) if re.search(r"^print\(|^plt\.show\(", c.source, re.M) and not c.outputs]
    assert silent == []


def test_nothing_failed_or_warned(notebook: NotebookNode) -> None:
    allowed = {"raises-exception"}  # a cell whose error is the lesson
    for cell in code(notebook):
        if allowed & set(cell.metadata.get("tags", [])):
            continue
        assert [o for o in cell.outputs if o.output_type == "error" or o.get("name") == "stderr"] == []


def test_figures_are_svg_with_alternative_text(notebook: NotebookNode) -> None:
    for cell in code(notebook):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert not kinds & {"image/png", "image/jpeg"}
        if "plt.show()" in cell.source:
            assert "image/svg+xml" in kinds
        if "image/svg+xml" in kinds:
            assert len(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")) >= 20, cell.source


def test_figures_use_only_the_colours_of_the_page(notebook: NotebookNode) -> None:
    from gru_lib.viz import COLOURS

    for cell in code(notebook):
        for output in cell.outputs:
            svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
            assert {c.upper() for c in re.findall(r"#[0-9a-fA-F]{6}\b", svg)} <= set(COLOURS.values()), cell.source


def test_stored_form_is_normal(name: str, notebook: NotebookNode) -> None:
    """No ids, timings, widget state or kernel of somebody's machine."""
    text = (notebooks.BOOK / f"{name}.ipynb").read_text("utf8")
    normal = nbformat.writes(notebooks.normalise(nbformat.from_dict(notebook)))
    assert text.rstrip("\n") == normal.rstrip("\n")


def test_a_page_prints_sizes_and_at_most_one_true_or_false(name: str, notebook: NotebookNode) -> None:
    said = [line for cell in code(notebook) for o in cell.outputs for line in shown(o) if re.search("True|False", line)]
    assert len(said) <= 1, said


def test_a_table_or_a_drawing_stands_last_in_its_cell_or_nobody_sees_it(notebook: NotebookNode) -> None:
    for cell in code(notebook):
        *before, _ = ast.parse(re.sub(r"^[%!].*", "0", cell.source, flags=re.M)).body
        calls = [ast.unparse(statement) for statement in before if isinstance(statement, ast.Expr)]
        assert not [call for call in calls if call.startswith(("viz.table", "cell_drawing"))]


def shown(output: NotebookNode) -> list[str]:
    """The lines of text of an output."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "")).splitlines()


def test_outputs_name_no_folder_of_this_machine(notebook: NotebookNode) -> None:
    for cell in code(notebook):
        text = str(cell.outputs)
        assert str(notebooks.ROOT) not in text
        assert str(Path.home()) + "/" not in text


def test_chapter_has_one_title_and_at_most_60_cells(notebook: NotebookNode) -> None:
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    outside_fences = re.sub(r"^(`{3,}).*?^\1", "", prose, flags=re.M | re.S)
    assert len(re.findall(r"^# ", outside_fences, re.M)) == 1
    assert len(notebook.cells) <= 60


# ----------------------------------------------------------------------------------------------------------- exercises

# An exercise, and right below it its solution, folded, with a word in it.
SOLVED = re.compile(
    r"^```\{exercise\} [^\n]+\n:label: ex-([a-z0-9-]+)\n(?:(?!\{exercise).)*?"
    r"^```\{solution-start\} ex-\1\n(?::label: sol-\1\n)?:class: dropdown\n```\n(?:(?!\{solution|\{exercise).)*?\w"
    r"(?:(?!\{solution|\{exercise).)*?^```\{solution-end\}\n```$",
    re.M | re.S,
)


OPEN = re.compile(r"^```\{exercise\} [^\n]+ \(open\)\n:label: ex-([a-z0-9-]+)$", re.M)


def unsolved(text: str) -> tuple[int, int]:
    """How many exercises, and beginnings and ends of solutions, are no part of a pair; an open question needs none."""
    pairs = len(SOLVED.findall(text))
    alone = sum(f"{{solution-start}} ex-{label}\n" not in text for label in OPEN.findall(text))
    return text.count("{exercise") - pairs - alone, text.count("{solution") - 2 * pairs


def test_every_exercise_has_its_solution() -> None:
    texts = {path.name: path.read_text("utf8") for path in (*notebooks.TEXT.glob("*.md"), *notebooks.BOOK.glob("*.md"))}
    assert {name: found for name, text in texts.items() if any(found := unsolved(text))} == {}
    assert sum(len(SOLVED.findall(text)) for text in texts.values()) > 100
