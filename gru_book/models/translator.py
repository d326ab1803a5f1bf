"""An encoder–decoder at work: its loss on a batch, and translations by search or of least risk. Chapters 17 to 19."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gru_book.tasks.dates import ISO, WRITTEN, Alphabet, Batch
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import map_state
from gru_lib.decode import Decoded, Hypothesis, beam_search, exact_search, greedy, sample
from gru_lib.layers.bidirectional import BidirectionalParams, bidirectional
from gru_lib.layers.seq2seq import (
    Seq2SeqParams,
    seq2seq_backward,
    seq2seq_encode,
    seq2seq_forward,
    seq2seq_init,
    seq2seq_step,
)
from gru_lib.params import Params

__all__ = [
    "alignment",
    "exact_match",
    "shared_pairs",
    "translate",
    "translate_beam",
    "translate_consensus",
    "translate_exact",
    "translator_init",
    "translator_loss",
]


def translator_init(
    rng: np.random.Generator,
    E: int,
    H: int,
    *,
    source: Alphabet = WRITTEN,
    target: Alphabet = ISO,
    feed: bool = True,
    attend: bool = False,
    both_ways: bool = False,
    b_z: float = 1.0,
    cell: Callable[..., Params] = gru_init,
    dtype: DTypeLike = np.float32,
) -> Seq2SeqParams:
    """Draw an encoder–decoder between two alphabets; a GRU's update gates start with the bias `b_z`.

    With `both_ways` the encoder is bidirectional, H/2 units each way, and the decoder starts from zeros, so it needs
    `feed` or `attend`.

    Examples
    --------
    >>> from gru_book.models.translator import translator_init
    >>> p = translator_init(np.random.default_rng(0), E=3, H=5)
    >>> p.source.E.shape, p.target.E.shape, p.encoder.b_z
    ((71, 3), (13, 3), array([1., 1., 1., 1., 1.], dtype=float32))
    """
    if both_ways and H % 2:
        raise ValueError(f"translator_init: with both_ways, H must be even; got {H}.")

    def two(rng: np.random.Generator, D: int, H: int, *, dtype: DTypeLike) -> Params:
        return bidirectional(*(cell(rng, D, H // 2, dtype=dtype) for _ in range(2)))

    make = partial(seq2seq_init, start=target.start, feed=feed, attend=attend, carry=not both_ways, cell=cell)
    p = make(rng, source.size, target.size, E, H, encoder=two if both_ways else cell, dtype=dtype)
    readers = [part for _, part in p.encoder.members()] if isinstance(p.encoder, BidirectionalParams) else [p.encoder]
    for layer in (*readers, p.decoder):
        if hasattr(layer, "b_z"):
            layer.b_z[:] = b_z
    return p


def translator_loss(p: Seq2SeqParams, batch: Batch) -> tuple[Any, Seq2SeqParams]:
    """Return the mean cross-entropy of a batch's target tokens, padding left out, and its gradient.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.models import translator
    >>> from gru_book.tasks.dates import encode, pairs
    >>> p = translator.translator_init(np.random.default_rng(0), E=3, H=5)
    >>> p.flat[:] = 0  # every token of an ISO date alike
    >>> batch = encode(pairs([date(2026, 3, 7).toordinal()]))
    >>> loss, grads = translator.translator_loss(p, batch)
    >>> bool(np.isclose(loss, np.log(13)))
    True
    """
    loss, tape = seq2seq_forward(
        batch.source,
        batch.target,
        p,
        source_lengths=batch.source_lengths,
        target_lengths=batch.target_lengths,
    )
    return loss, seq2seq_backward(tape, p)


def alignment(p: Seq2SeqParams, batch: Batch) -> NDArray[Any]:
    """Return with which weights (T, N, S) each of the batch's target tokens looked at its source.

    If the targets are what the model itself says, these are the weights with which it said it.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.models.translator import alignment, translator_init
    >>> from gru_book.tasks.dates import encode, pairs
    >>> p = translator_init(np.random.default_rng(0), E=3, H=5, attend=True)
    >>> batch = encode(pairs([date(2026, 3, 7).toordinal()]))
    >>> weights = alignment(p, batch)
    >>> weights.shape, np.allclose(weights.sum(axis=-1), 1)
    ((11, 18, 26), True)
    """
    options = {"source_lengths": batch.source_lengths, "target_lengths": batch.target_lengths}
    _, tape = seq2seq_forward(batch.source, batch.target, p, **options)
    if tape.attention is None:
        raise ValueError("alignment: p must be a model with attention; got one without.")
    return tape.attention.weights


def translate(p: Seq2SeqParams, batch: Batch, *, end: int, max_steps: int, rows: int = 1000) -> Decoded:
    """Translate the sources of a batch greedily, `rows` at a time.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.models.translator import translate, translator_init
    >>> from gru_book.tasks.dates import ISO, encode, pairs
    >>> p = translator_init(np.random.default_rng(0), E=3, H=5)
    >>> p.out.W[:], p.out.b[7 + 1] = 0, 1  # it says 7, whatever it reads
    >>> batch = encode(pairs([date(2026, 3, 7).toordinal()]))
    >>> said = translate(p, batch, end=ISO.end, max_steps=4)
    >>> ISO.text(said.tokens[0])
    '7777'
    """
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
    p: Seq2SeqParams,
    source: NDArray[Any],
    *,
    width: int,
    end: int,
    max_steps: int,
    alpha: float = 0.0,
    offset: float = 0.0,
) -> list[Hypothesis]:
    """Search for translations of one source, tokens (S,), with a beam.

    Examples
    --------
    >>> from gru_book.models import translator
    >>> from gru_book.tasks.dates import ISO, WRITTEN
    >>> p = translator.translator_init(np.random.default_rng(0), E=3, H=5)
    >>> p.out.W[:], p.out.b[7 + 1] = 0, 1  # it says 7, whatever it reads
    >>> source = WRITTEN.tokens(["7 March"])[0][:, 0]
    >>> found = translator.translate_beam(
    ...     p, source, width=2, end=ISO.end, max_steps=4
    ... )
    >>> ISO.text(found[0].tokens)
    '7777'
    """
    return beam_search(
        seq2seq_step(p),
        seq2seq_encode(np.asarray(source)[:, None], p),
        p.start,
        width=width,
        end=end,
        max_steps=max_steps,
        alpha=alpha,
        offset=offset,
        pick=lambda state, rows: map_state(lambda a: a[rows], state),
    )


def translate_exact(p: Seq2SeqParams, source: NDArray[Any], *, end: int, max_steps: int) -> tuple[Hypothesis, int]:
    """Find the likeliest translation of one source, tokens (S,), and how many steps of the decoder that took.

    Examples
    --------
    >>> from gru_book.models import translator
    >>> from gru_book.tasks.dates import ISO, WRITTEN
    >>> p = translator.translator_init(np.random.default_rng(0), E=3, H=5)
    >>> p.out.W[:], p.out.b[7 + 1] = 0, 1  # it says 7, whatever it reads
    >>> source = WRITTEN.tokens(["7 March"])[0][:, 0]
    >>> best, calls = translator.translate_exact(
    ...     p, source, end=ISO.end, max_steps=2
    ... )
    >>> best.tokens == (ISO.end,)  # the likeliest translation says nothing
    True
    """
    step = seq2seq_step(p)

    def one(state: Any, token: int) -> tuple[NDArray[Any], Any]:
        log_probs, state = step(state, np.array([token]))
        return log_probs[0], state

    best, calls = exact_search(
        one, seq2seq_encode(np.asarray(source)[:, None], p), p.start, end=end, max_steps=max_steps
    )
    assert best is not None  # nothing was asked of it
    return best, calls


def translate_consensus(
    p: Seq2SeqParams,
    source: NDArray[Any],
    rng: np.random.Generator,
    target: Alphabet,
    *,
    count: int,
    max_steps: int,
) -> tuple[str, list[str]]:
    """Draw `count` translations of one source and return the one that agrees most with all of them, and all of them.

    Agreement is `shared_pairs`. Minimum Bayes risk decoding: Kumar & Byrne (2004), with samples as in Eikema & Aziz
    (2020), arXiv:2005.10283. Chapter 19.

    Examples
    --------
    >>> from gru_book.models import translator
    >>> from gru_book.tasks.dates import ISO, WRITTEN
    >>> rng = np.random.default_rng(0)
    >>> p = translator.translator_init(rng, E=3, H=5)
    >>> p.out.W[:], p.out.b[7 + 1] = 0, 20  # it says 7, whatever it reads
    >>> source = WRITTEN.tokens(["7 March"])[0][:, 0]
    >>> translator.translate_consensus(
    ...     p, source, rng, ISO, count=3, max_steps=4
    ... )
    ('7777', ['7777', '7777', '7777'])
    """
    state = seq2seq_encode(np.repeat(np.asarray(source)[:, None], count, axis=1), p)
    drawn = sample(seq2seq_step(p), state, np.full(count, p.start), rng, end=target.end, max_steps=max_steps)
    texts = [target.text(tokens) for tokens in drawn.tokens]
    return max(texts, key=lambda text: sum(shared_pairs(text, other) for other in texts)), texts


def shared_pairs(a: str, b: str) -> float:
    """Return the share of neighbouring characters that two texts have in common: 1 for the same text, 0 for none.

    Examples
    --------
    >>> from gru_book.models.translator import shared_pairs
    >>> shared_pairs("2026", "2026"), round(shared_pairs("2026", "2025"), 3)
    (1.0, 0.667)
    """
    if a == b:
        return 1.0
    x, y = Counter(pairwise(a)), Counter(pairwise(b))
    return 2 * (x & y).total() / max(1, x.total() + y.total())


def exact_match(said: Sequence[str], wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each translation whether every character is right.

    Examples
    --------
    >>> from gru_book.models.translator import exact_match
    >>> exact_match(["2026", "2025"], ["2026", "2026"])
    array([ True, False])
    """
    if len(said) != len(wanted):
        raise ValueError(f"exact_match: said must hold as many texts as wanted, {len(wanted)}; got {len(said)}.")
    return np.array([a == b for a, b in zip(said, wanted, strict=True)])
