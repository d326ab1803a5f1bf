"""Explorers: live widgets in Jupyter, and live in the built pages without a kernel. Needs ``gru-lib[widgets]``."""

from gru_lib.widgets._explorer import Explorer
from gru_lib.widgets.beam import BeamExplorer
from gru_lib.widgets.bptt import BPTTExplorer
from gru_lib.widgets.cells import CellsExplorer
from gru_lib.widgets.dates import DatesExplorer
from gru_lib.widgets.gate import GateExplorer
from gru_lib.widgets.hold import HoldExplorer
from gru_lib.widgets.language import LanguageExplorer
from gru_lib.widgets.reach import ReachExplorer
from gru_lib.widgets.reader import ReaderExplorer
from gru_lib.widgets.reorder import ReorderExplorer
from gru_lib.widgets.sequence import SequenceExplorer
from gru_lib.widgets.stack import StackExplorer
from gru_lib.widgets.subtraction import SubtractionExplorer

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
