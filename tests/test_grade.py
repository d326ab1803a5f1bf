"""tools/grade.py: what the checker says of a notebook that was handed in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import editions
import grade
import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

ROOT = Path(__file__).resolve().parents[1]
NAME = "04-gru-forward"
WRONG = """def my_step(x, h_prev, p):
    r = sigmoid(x @ p.W_xr + h_prev @ p.W_hr)
    z = sigmoid(x @ p.W_xz + h_prev @ p.W_hz)
    n = np.tanh(x @ p.W_xn + (r * h_prev) @ p.W_hn)
    return z * h_prev + (1 - z) * n"""


def edition() -> NotebookNode:
    """The book's edition of chapter 4."""
    return nbformat.read(editions.READERS / f"{NAME}.ipynb", as_version=4)


def filled(answers: dict[str, str]) -> NotebookNode:
    """That edition with answers, the cells that show anything else left out to save time."""
    notebook = edition()
    first = next(c for c in notebook.cells if c.cell_type == "code" and "import numpy" in c.source)
    cells, found = [notebook.cells[0], first], None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            found = grade.EXERCISE.match(cell.source)
            cells += [cell] if found else []
        elif found and cell.cell_type == "code":
            given = cell.source.startswith("from gru_lib import check") or found[1] not in answers
            cells.append(new_code_cell(cell.source if given else answers[found[1]]))
    return nbformat.v4.new_notebook(cells=cells)


def said(notebook: NotebookNode) -> dict[str, str]:
    """The verdicts, by exercise."""
    return {verdict.exercise: verdict.said for verdict in grade.grade(notebook, edition())}


@pytest.fixture(scope="module", autouse=True)
def _built(built_book: Path) -> None:
    """There must be editions."""


def test_page_shows_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    folder = tmp_path / "handed-in"
    folder.mkdir()
    nbformat.write(filled({"4.1": "my_r, my_z = 0.8433, 0.3753", "4.4": WRONG}), folder / "ada-04.ipynb")
    monkeypatch.chdir(tmp_path)
    found, run = [], grade.grade
    monkeypatch.setattr(grade, "grade", lambda *asked: found or found.extend(run(*asked)) or found)
    assert grade.main(["handed-in/ada-04.ipynb"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == 8
    assert f"```text\n{printed}```" in (ROOT / "book" / "instructors.md").read_text("utf8")
    assert grade.main(["--csv", "handed-in/ada-04.ipynb"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["exercise"], row["right"]) for row in table] == [(f"4.{n}", str(int(n == 1))) for n in range(1, 8)]


def test_the_notebooks_own_checks_decide_nothing() -> None:
    """Not a check that was changed, nor one that was replaced, deleted or moved under another heading."""
    notebook = filled({"4.1": "my_r, my_z = 0.1, 0.2", "4.4": WRONG})
    for cell in notebook.cells:
        if cell.cell_type == "code" and "print(check." in cell.source:
            cell.source = 'print("Right: all of it")\nprint("gru-grade 4.1 Right: so there")'
    notebook.cells.insert(2, new_code_cell("class check:\n    gru_step = gru_second = lambda *_, **__: True"))
    found = said(notebook)
    assert set(found) == {f"4.{n}" for n in range(1, 8)}
    assert not any(words.startswith("Right: ") for words in found.values())


def test_a_notebook_may_be_unfinished_crash_or_have_headings_of_its_own() -> None:
    right = WRONG.replace("z * h_prev + (1 - z) * n", "(1 - z) * h_prev + z * n")
    notebook = filled({"4.1": "my_r, my_z = 1 / 0", "4.4": right})
    at = next(i for i, cell in enumerate(notebook.cells) if cell.source == right)
    notebook.cells.insert(at, new_markdown_cell("## My answer\n\nLong thought."))
    found = said(notebook)
    assert found["4.1"] == "Not done: there is no my_r."
    assert found["4.4"].startswith("Right: my_step does")
    assert found["4.3"] == "Not done: spare is still `...`. Put your answer there."


def test_a_kernel_that_dies_or_does_not_end_stops_neither_the_class_nor_what_came_before() -> None:
    for answer in ("import os; os._exit(1)", "import time; time.sleep(999)"):
        notebook = filled({"4.1": "my_r, my_z = 0.8433, 0.3753", "4.4": answer})
        found = {verdict.exercise: verdict.said for verdict in grade.grade(notebook, edition(), longest=15)}
        assert found["4.1"].startswith("Right: ") and found["4.3"].startswith("Not done: ")
        assert found["4.4"] == found["4.5"] == grade.NOT_RUN


def test_what_is_no_notebook_of_the_book_is_listed_and_the_rest_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    other = nbformat.v4.new_notebook(cells=[new_markdown_cell("# Something else")])
    old = nbformat.convert(filled({}), 3)
    for name, content in {"empty": "", "json": '{"answers": [1, 2]}', "other": nbformat.writes(other)}.items():
        (tmp_path / name).write_text(content, "utf8")
    (tmp_path / "version-3").write_text(json.dumps(old), "utf8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grade, "grade", lambda *_: [grade.Verdict("4.1", "", "Right: so.")])
    wrong = {"empty": "unreadable: not a notebook", "json": "unreadable: not a notebook"}
    wrong |= {"gone": "unreadable: not there", "other": "no chapter of the book has this title"}
    asked = [*wrong, "version-3"]
    assert grade.main(asked) == 1
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.split("\n") if line[:1].strip())
    assert lines == wrong | {"version-3": "1 of 1 right"} and list(lines) == asked
    assert grade.main(["--csv", *asked]) == 1
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["notebook"]: row["said"] for row in table} == wrong | {"version-3": "Right: so."}
    assert grade.main(["version-3"]) == 0
