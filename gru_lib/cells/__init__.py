"""The recurrent cells, a module each, and the registry by which layers find the functions of a cell."""

from gru_lib.cells.elman import *
from gru_lib.cells.gru import *
from gru_lib.cells.lstm import *
from gru_lib.cells.registry import *
