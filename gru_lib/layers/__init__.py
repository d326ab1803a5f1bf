"""Layers made of cells: stacked, bidirectional, with dropout; encoder and decoder, with attention or without."""

from gru_lib.layers.bidirectional import *
from gru_lib.layers.dropout import *
from gru_lib.layers.seq2seq import *
from gru_lib.layers.stack import *
