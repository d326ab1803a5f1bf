"""Explorers: live widgets in Jupyter, and live in the built pages without a kernel."""

from gru_book.widgets._explorer import Explorer
from gru_book.widgets.beam import BeamExplorer
from gru_book.widgets.bptt import BPTTExplorer
from gru_book.widgets.cells import CellsExplorer
from gru_book.widgets.dates import DatesExplorer
from gru_book.widgets.gate import GateExplorer
from gru_book.widgets.hold import HoldExplorer
from gru_book.widgets.language import LanguageExplorer
from gru_book.widgets.reach import ReachExplorer
from gru_book.widgets.reader import ReaderExplorer
from gru_book.widgets.reorder import ReorderExplorer
from gru_book.widgets.sequence import SequenceExplorer
from gru_book.widgets.stack import StackExplorer
from gru_book.widgets.subtraction import SubtractionExplorer

__all__ = [
    "EXPLORERS",
    "BPTTExplorer",
    "BeamExplorer",
    "CellsExplorer",
    "DatesExplorer",
    "Explorer",
    "GateExplorer",
    "HoldExplorer",
    "LanguageExplorer",
    "ReachExplorer",
    "ReaderExplorer",
    "ReorderExplorer",
    "SequenceExplorer",
    "StackExplorer",
    "SubtractionExplorer",
]

#: Every explorer by the name of its module, as `data-afm` in a page names it.
EXPLORERS: dict[str, type[Explorer]] = {cls.module: cls for cls in Explorer.__subclasses__()}
