"""Layers made of cells: stacked, bidirectional, with dropout, and an encoder–decoder."""

from gru_lib.layers.bidirectional import (
    BidirectionalParams,
    bidirectional,
    bidirectional_backward,
    bidirectional_forward,
    reverse,
)
from gru_lib.layers.dropout import DropoutMasks, dropout_backward, dropout_forward, dropout_mask, dropout_masks
from gru_lib.layers.seq2seq import (
    Seq2SeqParams,
    Seq2SeqTape,
    seq2seq_backward,
    seq2seq_encode,
    seq2seq_forward,
    seq2seq_init,
    seq2seq_step,
)
from gru_lib.layers.stack import StackParams, stack, stack_backward, stack_forward, stack_masks

__all__ = [
    "BidirectionalParams",
    "DropoutMasks",
    "Seq2SeqParams",
    "Seq2SeqTape",
    "StackParams",
    "bidirectional",
    "bidirectional_backward",
    "bidirectional_forward",
    "dropout_backward",
    "dropout_forward",
    "dropout_mask",
    "dropout_masks",
    "reverse",
    "seq2seq_backward",
    "seq2seq_encode",
    "seq2seq_forward",
    "seq2seq_init",
    "seq2seq_step",
    "stack",
    "stack_backward",
    "stack_forward",
    "stack_masks",
]
