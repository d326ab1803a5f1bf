"""tools/notebooks.py: a text and its notebook, whichever of them has changed, and what is executed."""

from __future__ import annotations

import io
import re
from pathlib import Path

import jupytext
import nbformat
import notebooks
import pytest
from nbclient.exceptions import CellExecutionError

LIBRARY = Path(__file__).resolve().parents[1] / "gru_book"

NAME = "07-little"
PROSE = "# A title\n\nThe first sentence.\nThe second.\n\nAnother paragraph."
CELLS = (("markdown", PROSE), ("code", "a = 1"), ("markdown", "Then:"), ("code", "print(a + 1)"))


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book of one chapter, made and executed once."""
    for name in ("book", "book_text"):
        (tmp_path / name).mkdir()
    for name, path in {"BOOK": "book", "TEXT": "book_text"}.items():
        monkeypatch.setattr(notebooks, name, tmp_path / path)
    monkeypatch.setattr(notebooks, "run", execute)
    cells = [getattr(nbformat.v4, f"new_{kind}_cell")(source) for kind, source in CELLS]
    text_path().write_text(jupytext.writes(nbformat.v4.new_notebook(cells=cells), fmt="md:myst"), "utf8")
    assert notebooks.make(NAME).startswith("executed")
    EXECUTED.clear()
    return tmp_path


EXECUTED: list[str] = []


def execute(notebook: nbformat.NotebookNode) -> None:
    """In place of a kernel, which takes seconds: an output that names the cell."""
    EXECUTED.append(notebook.cells[0].source)
    for count, cell in enumerate(notebooks.code(notebook), 1):
        if "raise" in cell.source:
            raise CellExecutionError("a traceback", "ValueError", "no")
        cell.execution_count = count
        cell.outputs = [nbformat.v4.new_output("stream", text=f"{cell.source} gave {count}\n")]


def text_path() -> Path:
    return notebooks.TEXT / f"{NAME}.md"


def notebook_path() -> Path:
    return notebooks.BOOK / f"{NAME}.ipynb"


def both() -> tuple[bytes, bytes]:
    return text_path().read_bytes(), notebook_path().read_bytes()


def edit_text(old: str, new: str) -> None:
    """As in an editor."""
    text = text_path().read_text("utf8")
    text_path().write_text(text.replace(old, new), "utf8")


def edit_notebook(old: str, new: str) -> None:
    """As JupyterLab saves: other ids and metadata, and the outputs and counts of the session."""
    notebook = nbformat.read(notebook_path(), as_version=4)
    for number, cell in enumerate(notebook.cells):
        cell.source = cell.source.replace(old, new)
        cell.id = f"lab{number}"
        cell.metadata["editable"] = True
    for count, cell in enumerate(notebooks.code(notebook), 40):
        cell.execution_count, cell.outputs = count, []
    notebook.metadata.language_info["version"] = "3.12.1"
    nbformat.write(notebook, notebook_path())


pytestmark = pytest.mark.usefixtures("book")


def test_changed_prose_is_taken_without_executing_and_each_output_stays_with_its_code() -> None:
    old = notebooks.read_notebook(NAME)
    edit_text("Then:", "Then, said in two cells:\n\n+++\n\nthe sum.")
    assert notebooks.make(NAME) == notebooks.PROSE
    new = notebooks.read_notebook(NAME)
    assert EXECUTED == []
    assert [c.source for c in new.cells[2:4]] == ["Then, said in two cells:", "the sum."]
    assert [c.outputs for c in notebooks.code(new)] == [c.outputs for c in notebooks.code(old)] != [[], []]
    assert notebooks.make(NAME) == notebooks.UNCHANGED


@pytest.mark.parametrize(("old", "new"), [("a = 1", "a = 2"), ("Then:", "```{code-cell}\nb = 3\n```")])
def test_changed_code_is_executed(old: str, new: str) -> None:
    edit_text(old, new)
    assert notebooks.make(NAME).startswith("executed")
    assert notebooks.make(NAME) == notebooks.UNCHANGED
    assert len(EXECUTED) == 1


def test_outputs_of_an_editors_session_are_not_kept() -> None:
    before = both()
    edit_notebook("a = 1", "a = 1")
    assert notebooks.make(NAME).startswith("executed")
    assert both() == before


@pytest.mark.parametrize("texts_too", [False, True])
def test_a_changed_notebook_is_not_replaced_unless_the_text_is_asked_for(texts_too: bool) -> None:
    edit_notebook("a = 1", "a = 5")
    if texts_too:
        edit_text("Then:", "Hence:")
    before = both()
    with pytest.raises(notebooks.Refused, match=r"the notebook was changed.*--to-text.*--from-text"):
        notebooks.make(NAME, execute=True)
    assert both() == before and EXECUTED == []
    assert notebooks.make(NAME, from_text=True).startswith("executed")
    assert "a = 5" not in notebook_path().read_text("utf8")


def test_a_failing_cell_leaves_the_notebook_as_it_was() -> None:
    stored = notebook_path().read_bytes()
    edit_text("a = 1", "raise ValueError")
    with pytest.raises(CellExecutionError):
        notebooks.make(NAME)
    assert notebook_path().read_bytes() == stored


def test_a_change_made_in_jupyterlab_comes_into_the_text_without_the_note() -> None:
    edit_notebook("a = 1", "a = 5")
    assert notebooks.make(NAME, to_text=True).startswith("executed")
    assert "a = 5" in notebook_path().read_text("utf8")
    text = text_path().read_text("utf8")
    assert "a = 5" in text and "# A title" in text and notebooks.NOTE not in text and "sha256" not in text
    assert notebooks.make(NAME) == notebooks.UNCHANGED


def drawn(shift: float) -> str:
    """Two panels in the book's style, a little up."""
    import matplotlib.pyplot as plt  # not where every process of the tests reads this file
    from matplotlib.figure import Figure

    with plt.style.context(LIBRARY / "gru.mplstyle"):
        fig = Figure(layout="none")
        for bottom in (0.1, 0.6):
            fig.add_axes((0.1, bottom + shift, 0.8, 0.3)).plot([0, 1], [0, 1])
        file = io.StringIO()
        fig.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def test_a_figure_whose_layout_differs_in_the_last_bit_is_the_same_figure() -> None:
    svg, shifted = drawn(0), drawn(1e-15)
    assert svg != shifted, "matplotlib's own ids are now the same; name_clips can go"
    named = notebooks.name_clips(svg)
    assert notebooks.name_clips(shifted) == named != notebooks.name_clips(drawn(0.01))
    clips = set(re.findall(r'<clipPath id="(\w+)"', named))
    assert len(clips) == 2 and set(re.findall(r"url\(#(\w+)\)", named)) == clips
