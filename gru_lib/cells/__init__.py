"""The recurrent cells, a module each, and the registry by which layers find the functions of a cell."""

from gru_book.cells.ablated_gru import *
from gru_book.cells.cbow import *
from gru_book.cells.deltanet import *
from gru_book.cells.mingru import *
from gru_book.cells.ntm import *
from gru_book.cells.scrn import *
from gru_book.cells.stack_rnn import *
from gru_lib.cells.elman import *
from gru_lib.cells.gru import *
from gru_lib.cells.lstm import *
from gru_lib.cells.registry import *
