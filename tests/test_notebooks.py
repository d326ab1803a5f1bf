"""The stored notebooks: executed in order, complete, in normal form, equal to their texts. nbval compares outputs."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import jupytext
import matplotlib.pyplot as plt
import nbformat
import notebooks
import pytest
import shape_comments
from helpers import BOX, RAN, cells_of, mark
from nbformat import NotebookNode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gru_book.viz import COLOURS

NAMES = notebooks.names()


@cache
def stored(name: str) -> NotebookNode:
    """The notebook as it is stored."""
    path = notebooks.BOOK / f"{name}.ipynb"
    assert path.is_file(), f"book_text/{name}.md was never executed. Run `make notebooks NB={name}`."
    return nbformat.read(path, as_version=4)


@pytest.fixture(params=NAMES)
def notebook(request: pytest.FixtureRequest) -> NotebookNode:
    """Each notebook in turn."""
    return stored(request.param)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_has_a_text_and_every_text_a_notebook() -> None:
    texts = {p.stem for p in notebooks.TEXT.glob("*.md")}
    assert {p.stem for p in notebooks.BOOK.glob("*.ipynb")} == texts != set()


def test_a_companion_stands_under_its_chapter() -> None:
    chapter = ""
    for line in (notebooks.ROOT / "_toc.yml").read_text("utf8").splitlines():
        if found := re.fullmatch(r"( *)- file: book/(\d\d)([a-z]?)-.*", line):
            chapter = chapter if found[3] else found[2]
            assert (found[2], bool(found[3])) == (chapter, len(found[1]) > 6), line


def test_no_code_of_a_page_has_lost_its_import() -> None:
    """The boxes of other frameworks run only where those are installed; a module is imported on each page."""
    shown = r"^```(?:\{code-cell\}\n(?:---\n.*?\n---\n|:[^\n]*\n)*|python\n)(.*?)^```$"
    modules = {"torch", "nn", "np", "plt", "keras", "jax", "jnp", "onnx", "check", "viz"}
    for text in notebooks.TEXT.glob("*.md"):
        codes = re.findall(shown, text.read_text("utf8"), re.M | re.S)
        nodes = [node for code in codes for node in ast.walk(ast.parse(code))]
        imported = {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
        assert {node.id for node in nodes if isinstance(node, ast.Name)} & modules <= imported, text.name


def test_every_block_of_code_for_another_framework_is_run_by_a_test() -> None:
    """By `box` or `run_box`, of helpers.py, in the test of its chapter."""
    tests = "".join(path.read_text("utf8") for path in Path(__file__).parent.glob("test_chapter*.py"))
    run = re.findall(r'box\(\s*"([^"]+)"(?:, "([^"]+)")?', tests)
    for text in notebooks.TEXT.glob("*.md"):
        for code, _ in re.findall(BOX, text.read_text("utf8"), re.M | re.S):
            assert any(name == text.stem and part in code for name, part in run), f"{text.name}: no test runs\n{code}"


def test_no_block_for_another_framework_was_changed_since_a_test_ran_it() -> None:
    """Where these frameworks are missing, a wrong line of code or output would show in the weekly job alone."""
    known = json.loads(RAN.read_text("utf8"))
    for path in notebooks.TEXT.glob("*.md"):
        text = path.read_text("utf8")
        for block in re.findall(BOX, text, re.M | re.S):
            ran = mark(block) in known.get(path.stem, []) or text.count(block[0].strip()) > 1  # or a cell has it
            advice = f"`pytest --frameworks tests/test_chapter{path.name[:2]}.py` runs it, and notes that in {RAN.name}"
            assert ran, f"{path.name}: changed since it was run; {advice}\n{block[0]}"


@pytest.mark.parametrize("name", NAMES)
def test_text_has_the_same_cells_and_the_notebook_says_so_in_normal_form(name: str) -> None:
    """No ids, timings, widget state or kernel of somebody's machine."""
    notebook, text = stored(name), jupytext.read(notebooks.TEXT / f"{name}.md", fmt="md:myst")
    cells, wanted = ([(c.cell_type, c.source, c.metadata) for c in each.cells] for each in (notebook, text))
    assert cells == [("markdown", notebooks.NOTE, {"tags": ["remove-cell"]}), *wanted]
    assert notebook.metadata.gru.text_sha256 == notebooks.fingerprint(text)
    found = (notebooks.BOOK / f"{name}.ipynb").read_text("utf8")
    assert found == notebooks.as_stored(notebooks.normalise(nbformat.from_dict(notebook)))
    assert str(notebooks.ROOT) not in found and f"{Path.home()}/" not in found


@cache
def importable() -> set[str]:
    """The modules of what the first cell of a reader's notebook installs, of Python, and of the library."""
    files = (notebooks.ROOT / "pyproject.toml", notebooks.ROOT / "gru_book" / "pyproject.toml")
    projects = [tomllib.loads(file.read_text("utf8"))["project"] for file in files]
    asked = {canonicalize_name(Requirement(r).name) for project in projects for r in project["dependencies"]}
    brought = packages_distributions().items()
    modules = {name for name, distributions in brought if asked & set(map(canonicalize_name, distributions))}
    return modules | set(sys.stdlib_module_names) | {"gru_lib", "gru_book"}


WITH_SHAPES = [name for name in NAMES if any(shape_comments.said(row) for c in cells_of(name) for row in c.split("\n"))]
TRAIN_FIRST = ("01", "04", "07", "08", "13c")  # before the last comment is reached
NEVER_CALLED = {  # on their page
    "00": """from gru_lib import gru_init
my_gru(np.zeros((5, 3, 2)), np.zeros((3, 4)), gru_init(np.random.default_rng(0), 2, 4))""",
    "12": """from gru_lib import lstm_init
my_lstm(np.zeros((5, 3, 2)), 2 * [np.zeros((3, 4))], lstm_init(np.random.default_rng(0), 2, 4))""",
    "16": """from gru_book.models.language_model import lm_init
from gru_book.tasks.text import streams
from gru_lib.train import Chunk
tokens = np.random.default_rng(1).integers(0, 6, 41)
my_loss(lm_init(np.random.default_rng(0), V=6, D=3, H=4), Chunk(*streams(tokens, 2), None, lambda state: None))""",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n.partition("-")[0] in TRAIN_FIRST)) for n in WITH_SHAPES],
)
def test_a_shape_beside_a_line_of_code_is_that_of_the_array(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    assert shape_comments.compared(cells_of(name), NEVER_CALLED.get(name.partition("-")[0], "")) == []


def test_a_notebook_imports_nothing_but_what_its_first_cell_installs(notebook: NotebookNode) -> None:
    for cell in code(notebook):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or "."]
                assert {module.partition(".")[0] for module in modules} <= importable()


def test_cells_were_executed_in_order_show_what_they_print_or_draw_and_did_not_fail(notebook: NotebookNode) -> None:
    """nbval compares nothing where a count is null."""
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    for cell in code(notebook):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert cell.outputs or not re.search(r"^print\(|^plt\.show\(", cell.source, re.M), cell.source
        assert not kinds & {"image/png", "image/jpeg"}
        if "image/svg+xml" in kinds:
            assert len(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")) >= 20, cell.source
        if "raises-exception" not in cell.metadata.get("tags", []):  # a cell whose error is the lesson
            assert [o for o in cell.outputs if o.output_type == "error" or o.get("name") == "stderr"] == []
        for output in cell.outputs:
            svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
            assert {c.upper() for c in re.findall(r"#[0-9a-fA-F]{6}\b", svg)} <= set(COLOURS.values()), cell.source


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_as_they_were_stored(name: str) -> None:
    """Also what nbval does not compare, such as a figure's coordinates."""
    assert notebooks.untouched(name, stored(name)), f"changed by hand: `make notebooks NB={name}` executes it again"


def test_a_page_prints_sizes_and_at_most_one_true_or_false(notebook: NotebookNode) -> None:
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    texts = ["".join(o.get("text") or o.get("data", {}).get("text/plain", "")) for o in outputs]
    assert len([line for text in texts for line in text.splitlines() if re.search("True|False", line)]) <= 1


def test_a_table_or_a_drawing_stands_last_in_its_cell_or_nobody_sees_it(notebook: NotebookNode) -> None:
    for cell in code(notebook):
        *before, _ = ast.parse(re.sub(r"^[%!].*", "0", cell.source, flags=re.M)).body
        calls = [ast.unparse(statement) for statement in before if isinstance(statement, ast.Expr)]
        assert not [call for call in calls if call.startswith(("viz.table", "cell_drawing"))]


# An exercise, and right below it its solution, folded, with a word in it.
SOLVED = re.compile(
    r"^```\{exercise\} [^\n]+\n:label: ex-([a-z0-9-]+)\n(?:(?!\{exercise).)*?"
    r"^```\{solution-start\} ex-\1\n(?::label: sol-\1\n)?:class: dropdown\n```\n(?:(?!\{solution|\{exercise).)*?\w"
    r"(?:(?!\{solution|\{exercise).)*?^```\{solution-end\}\n```$",
    re.M | re.S,
)
OPEN = re.compile(r"^```\{exercise\} [^\n]+ \(open\)\n:label: ex-([a-z0-9-]+)$", re.M)


def test_every_exercise_has_its_solution_but_an_open_question() -> None:
    for path in (*notebooks.TEXT.glob("*.md"), *notebooks.BOOK.glob("*.md")):
        text = path.read_text("utf8")
        pairs = len(SOLVED.findall(text))
        alone = sum(f"{{solution-start}} ex-{label}\n" not in text for label in OPEN.findall(text))
        assert (text.count("{exercise"), text.count("{solution")) == (pairs + alone, 2 * pairs), path.name
