"""The recurrent cells, a module each, and the registry by which layers find the functions of a cell."""

from gru_lib.cells.ablated_gru import *
from gru_lib.cells.cbow import *
from gru_lib.cells.deltanet import *
from gru_lib.cells.elman import *
from gru_lib.cells.gru import *
from gru_lib.cells.lstm import *
from gru_lib.cells.mingru import *
from gru_lib.cells.ntm import *
from gru_lib.cells.registry import *
from gru_lib.cells.scrn import *
from gru_lib.cells.stack_rnn import *
