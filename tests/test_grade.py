"""tools/grade.py: what the checker says of a notebook that was handed in."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import grade
import nbformat
import notebooks_for_readers
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


RIGHT = WRONG.replace("z * h_prev + (1 - z) * n", "(1 - z) * h_prev + z * n")


def original() -> NotebookNode:
    """The book's notebook of chapter 4."""
    return nbformat.read(notebooks_for_readers.READERS / f"{NAME}.ipynb", as_version=4)


def filled(answers: dict[str, str]) -> NotebookNode:
    """It with answers, and nothing that shows anything else, which would take time."""
    notebook, left = original(), dict(answers)
    first = next(c for c in notebook.cells if c.cell_type == "code" and "import numpy" in c.source)
    needed = [line for line in first.source.split("\n") if "numpy" in line or "gru_lib" in line]
    cells, found = [notebook.cells[0], new_code_cell("\n".join(needed))], None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            found = grade.EXERCISE.match(cell.source)
            cells += [cell] if found else []
        elif found and cell.cell_type == "code":
            if cell.source.startswith("from gru_book import check") or found[1] not in answers:
                cells.append(new_code_cell(cell.source))
            elif found[1] in left:
                cells.append(new_code_cell(left.pop(found[1])))
    return nbformat.v4.new_notebook(cells=cells)


def verdicts(notebook: NotebookNode) -> dict[str, str]:
    """The verdicts, by exercise."""
    return {verdict.exercise: verdict.said for verdict in grade.grade(notebook, original())}


@pytest.fixture(scope="module", autouse=True)
def _built(built_book: Path) -> None:
    """There must be the readers' notebooks."""


def test_page_shows_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    folder = tmp_path / "handed-in"
    folder.mkdir()
    no_colon = "def my_forward(xs, h0, p, lengths)\n    hs = []"
    answers = {"4.1": "my_r, my_z = 0.8433, 0.5", "4.2": RIGHT, "4.3": no_colon}
    nbformat.write(filled(answers), folder / "ada-04.ipynb")
    monkeypatch.chdir(tmp_path)
    found, run = [], grade.grade
    monkeypatch.setattr(grade, "grade", lambda *asked: found or found.extend(run(*asked)) or found)
    page = (ROOT / "book" / "instructors.md").read_text("utf8")
    (command,) = re.findall(r"^\.venv/bin/python tools/grade.py (.*)$", page, re.M)
    assert grade.main(command.split()) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == 4
    assert f"```text\n{printed}```" in page
    assert grade.main(["--csv", "handed-in/ada-04.ipynb"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out.removeprefix("\ufeff"))))
    assert [(row["exercise"], row["right"]) for row in table] == [(f"4.{n}", str(int(n == 2))) for n in range(1, 4)]


@pytest.mark.parametrize("encoding", ["cp1252", pytest.param("utf-8", marks=pytest.mark.slow)])
def test_a_table_sent_to_a_file_is_utf8_and_whole_whatever_the_system_writes(encoding: str, tmp_path: Path) -> None:
    """With the mark by which Excel knows it, and without empty lines between the rows."""
    said = "Not yet: da_z lacks the slope of σ: z ⊙ (1 − z), ∂L/∂z."
    script = f"""
import grade
grade.read = grade.original_of = lambda *_: None
grade.grade = lambda *_: [grade.Verdict("5.1", "check.x(f)", {said!r})] * 2
grade.main(["--csv", "ä.ipynb"])
grade.sys.stdout.flush()
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools"), "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert not run.stderr.strip(), run.stderr
    assert run.stdout.startswith(b"\xef\xbb\xbf") and run.stdout.count(b"\r\n") == run.stdout.count(b"\n") == 3
    rows = list(csv.DictReader(io.StringIO(run.stdout.decode("utf-8-sig"))))
    assert [(row["notebook"], row["said"]) for row in rows] == [("ä.ipynb", said)] * 2


def test_the_other_commands_of_the_page_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "book" / "instructors.md").read_text("utf8")
    printed = re.findall(r"^\.venv/bin/python tools/notebooks_for_readers.py (.*--to (\S+))$", page, re.M)
    assert len(printed) == 2
    monkeypatch.chdir(tmp_path)
    for options, folder in printed:
        assert notebooks_for_readers.main(options.split()) == 0
        assert (tmp_path / folder / f"{NAME}.ipynb").is_file()
        assert f"{folder}/" in (ROOT / ".gitignore").read_text("utf8").split("\n")


def test_the_notebooks_own_checks_decide_nothing() -> None:
    """Not a check that was changed, nor one that was replaced, deleted or moved under another heading."""
    notebook = filled({"4.1": "my_r, my_z = 0.1, 0.2", "4.2": WRONG})
    for cell in notebook.cells:
        if cell.cell_type == "code" and "print(check." in cell.source:
            cell.source = 'print("Right: all of it")\nprint("gru-grade 4.1 Right: so there")'
    notebook.cells.insert(2, new_code_cell("class check:\n    gru_step = gru_second = lambda *_, **__: True"))
    found = verdicts(notebook)
    assert set(found) == {f"4.{n}" for n in range(1, 4)}
    assert not any(words.startswith("Right: ") for words in found.values())
    assert found["4.3"] == "Not done: my_forward is still blank. Put your lines in place of `...`."


@pytest.mark.parametrize(("answers", "wanted"), [
    (
        {
            "4.1": "import sys\nmy_r, my_z = 0.8433, 0.3753\nsys.exit()",
            "4.2": RIGHT.replace("p):", "p)"),
            "4.3": "def my_forward(*_, **__):\n    import sys\n    sys.exit()",
        },
        {
            "4.1": "Right: ",
            "4.2": "Not yet: a cell stopped with SyntaxError: expected ':' (line 1).",
            "4.3": "Not yet: the check stopped at sys.exit().",
        },
    ),
    (
        {"4.1": "my_r, my_z = 3, 1\nmy_r = 1 / 0", "4.2": "my_step = int(input())", "4.3": "# not tried\n"},
        {
            "4.1": "Not yet: a cell stopped with ZeroDivisionError: division by zero. Not yet:",
            "4.2": "Not yet: a cell stopped at input().",
            "4.3": "Not done: there is no my_forward.",
        },
    ),
])  # fmt: skip
def test_an_error_that_stops_an_answer_is_named_and_not_taken_for_work_that_was_not_done(
    answers: dict[str, str], wanted: dict[str, str]
) -> None:
    found = verdicts(filled(answers))
    assert {number: said[: len(wanted[number])] for number, said in found.items()} == wanted


def test_an_endless_loop_is_stopped_said_and_the_rest_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heading of the student's own begins no exercise."""
    monkeypatch.setattr(grade, "TIMEOUT", 5)
    loop = "import time\nwhile True:\n    time.sleep(1)"
    notebook = filled({"4.1": loop, "4.2": RIGHT})
    at = next(i for i, cell in enumerate(notebook.cells) if cell.source == RIGHT)
    notebook.cells.insert(at, new_markdown_cell("## My answer\n\nLong thought."))
    found = verdicts(notebook)
    assert found["4.1"] == "Not yet: a cell was stopped after 5 s."
    assert found["4.2"].startswith("Right: my_step does")


def test_a_name_above_the_title_or_in_it_hides_no_chapter() -> None:
    known = [nbformat.read(path, as_version=4) for path in sorted(notebooks_for_readers.READERS.glob("*.ipynb"))]
    above = new_markdown_cell("# Gil Schmidt, 12345")
    notebook = filled({})
    renamed = nbformat.v4.new_notebook(cells=[above, *notebook.cells[1:]])
    title_alone = nbformat.v4.new_notebook(cells=[above, notebook.cells[0]])
    for handed_in in (nbformat.v4.new_notebook(cells=[above, *notebook.cells]), renamed, title_alone):
        assert grade.original_of(handed_in, known).cells[0].source == notebook.cells[0].source


def test_a_folder_and_a_pattern_are_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["ana_4711/04.ipynb", "b/04.ipynb", "b/.ipynb_checkpoints/04-checkpoint.ipynb", "c [1].ipynb"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert [str(path) for path in grade.found(["."])] == [names[0], names[1], names[3]]
    assert [str(path) for path in grade.found(["*.ipynb"])] == [names[3]]
    assert [str(path) for path in grade.found([names[3], "*/*.ipynb", "no*"])] == [names[3], *names[:2], "no*"]


@pytest.mark.parametrize("answer", [
    "import os; os._exit(1)", pytest.param("import time; time.sleep(999)", marks=pytest.mark.slow)
])  # fmt: skip
def test_a_kernel_that_dies_or_does_not_end_stops_neither_the_class_nor_what_came_before(answer: str) -> None:
    notebook = filled({"4.1": "my_r, my_z = 0.8433, 0.3753", "4.2": answer})
    found = {verdict.exercise: verdict.said for verdict in grade.grade(notebook, original(), longest=10)}
    assert found["4.1"].startswith("Right: ") and found["4.2"] == found["4.3"] == grade.NOT_RUN


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
    wrong = {"empty": "unreadable: cut off, or not a notebook", "json": "unreadable: not a notebook"}
    wrong |= {"gone": "unreadable: not there", "other": "it has no title and no exercise of the book"}
    asked = [*wrong, "version-3"]
    assert grade.main(asked) == 1
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.split("\n") if line[:1].strip())
    assert lines == wrong | {"version-3": "1 of 1 right"} and list(lines) == asked
    assert grade.main(["--csv", *asked]) == 1
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out.removeprefix("\ufeff"))))
    assert {row["notebook"]: row["said"] for row in table} == wrong | {"version-3": "Right: so."}
    assert grade.main(["version-3"]) == 0
