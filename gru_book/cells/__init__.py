"""The cells of single chapters, and beside them those of `gru_lib.cells`, whose layers and passes take them all."""

from gru_book.cells.ablated_gru import *
from gru_book.cells.cbow import *
from gru_book.cells.deltanet import *
from gru_book.cells.diaggru import *
from gru_book.cells.mingru import *
from gru_book.cells.ntm import *
from gru_book.cells.scrn import *
from gru_book.cells.stack_rnn import *
from gru_lib.cells import *
