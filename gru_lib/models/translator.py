"""An encoder–decoder at work: its loss on a batch, and translations by greedy or beam search. Chapters 17 and 18."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gru_lib._core.params import Params
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import map_state
from gru_lib.decode import Decoded, Hypothesis, beam_search, greedy
from gru_lib.layers.seq2seq import (
    Seq2SeqParams,
    seq2seq_backward,
    seq2seq_encode,
    seq2seq_forward,
    seq2seq_init,
    seq2seq_step,
)
from gru_lib.tasks.dates import ISO, WRITTEN, Alphabet, Batch

__all__ = ["exact_match", "translate", "translate_beam", "translator_init", "translator_loss"]


def translator_init(
    rng: np.random.Generator,
    E: int,
    H: int,
    *,
    source: Alphabet = WRITTEN,
    target: Alphabet = ISO,
    feed: bool = True,
    b_z: float = 1.0,
    cell: Callable[..., Params] = gru_init,
    dtype: DTypeLike = np.float32,
) -> Seq2SeqParams:
    """Draw an encoder–decoder between two alphabets; a GRU's update gates start with the bias `b_z`."""
    make = partial(seq2seq_init, start=target.start, feed=feed, cell=cell, dtype=dtype)
    p = make(rng, source.size, target.size, E, H)
    for layer in (p.encoder, p.decoder):
        if hasattr(layer, "b_z"):
            layer.b_z[:] = b_z
    return p


def translator_loss(p: Seq2SeqParams, batch: Batch) -> tuple[Any, Seq2SeqParams]:
    """Return the mean cross-entropy of a batch's target tokens, padding left out, and its gradient."""
    loss, tape = seq2seq_forward(
        batch.source,
        batch.target,
        p,
        source_lengths=batch.source_lengths,
        target_lengths=batch.target_lengths,
    )
    return loss, seq2seq_backward(tape, p)


def translate(p: Seq2SeqParams, batch: Batch, *, end: int, max_steps: int, rows: int = 1000) -> Decoded:
    """Translate the sources of a batch greedily, `rows` at a time."""
    parts = []
    for first in range(0, batch.source.shape[1], rows):
        part = slice(first, first + rows)
        state = seq2seq_encode(batch.source[:, part], p, lengths=batch.source_lengths[part])
        start = np.full(len(batch.source_lengths[part]), p.start)
        found = greedy(seq2seq_step(p), state, start, end=end, max_steps=max_steps)
        missing = max_steps - found.tokens.shape[1]
        tokens = np.pad(found.tokens, ((0, 0), (0, missing)), constant_values=end)
        parts.append(found._replace(tokens=tokens))
    return Decoded(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def translate_beam(
    p: Seq2SeqParams, source: NDArray[Any], *, width: int, end: int, max_steps: int, alpha: float = 0.0
) -> list[Hypothesis]:
    """Search for translations of one source, tokens (S,), with a beam."""
    return beam_search(
        seq2seq_step(p),
        seq2seq_encode(np.asarray(source)[:, None], p),
        p.start,
        width=width,
        end=end,
        max_steps=max_steps,
        alpha=alpha,
        pick=lambda state, rows: map_state(lambda a: a[rows], state),
    )


def exact_match(said: Sequence[str], wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each translation whether every character is right."""
    if len(said) != len(wanted):
        raise ValueError(f"exact_match: said must hold as many texts as wanted, {len(wanted)}; got {len(said)}.")
    return np.array([a == b for a, b in zip(said, wanted, strict=True)])
