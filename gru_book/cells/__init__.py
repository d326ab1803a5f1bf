"""The cells of single chapters: registered like those of `gru_lib.cells`, so its layers and passes take them too."""

from gru_book.cells.ablated_gru import *
from gru_book.cells.cbow import *
from gru_book.cells.deltanet import *
from gru_book.cells.mingru import *
from gru_book.cells.ntm import *
from gru_book.cells.scrn import *
from gru_book.cells.stack_rnn import *
