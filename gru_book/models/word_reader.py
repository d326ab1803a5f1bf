"""A cell reads a word letter by letter; a linear layer and a softmax say after each letter what class it is. Chapter 0.

`m = word_reader_init(rng, V, K)` is a bundle of `m.embed`, `m.rnn` and `m.out`; the type of `m.rnn` says which cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_book.tasks.words import Batch, Pair, encode, endings
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import cell_of
from gru_lib.layers.dropout import dropout_mask
from gru_lib.ops import (
    embedding_backward,
    embedding_forward,
    embedding_init,
    linear_backward,
    linear_forward,
    linear_init,
    softmax_cross_entropy,
)
from gru_lib.params import Bundle, bundle

__all__ = [
    "Read", "word_reader_accuracy", "word_reader_forward", "word_reader_init", "word_reader_loss", "word_reader_z",
]  # fmt: skip

Array = NDArray[Any]


class Read(NamedTuple):
    """What a reader made of a batch."""

    hs: Array  # (T, N, H)
    scores: Array  # (T, N, K), after every letter
    tape: Any  # of the cell; that of a GRU knows its gates


def word_reader_init(
    rng: np.random.Generator, V: int, K: int, D: int = 32, H: int = 64, *, init: Callable[..., Any] = gru_init,
    dtype: Any = np.float32, **options: Any,
) -> Bundle:  # fmt: skip
    """Draw an embedding of V letters in D numbers, a cell of H units, and a linear layer with a score for each class.

    The cell is ``init(rng, D, H, **options)``, with `gru_init`, `elman_init` …

    Examples
    --------
    >>> from gru_book.models.word_reader import word_reader_init
    >>> m = word_reader_init(np.random.default_rng(0), V=30, K=4, D=3, H=5)
    >>> m.embed.E.shape, m.rnn.W_x.shape, m.out.W.shape
    ((30, 3), (3, 15), (5, 4))
    """
    embed, rnn = embedding_init(rng, V, D, dtype=dtype), init(rng, D, H, dtype=dtype, **options)
    return bundle(embed=embed, rnn=rnn, out=linear_init(rng, H, K, dtype=dtype))


def word_reader_forward(m: Bundle, tokens: ArrayLike, lengths: ArrayLike) -> Read:
    """Read tokens (T, N): states, scores after every letter, and the tape of the cell.

    Examples
    --------
    >>> from gru_book.models import word_reader
    >>> from gru_book.tasks.words import LETTERS, encode
    >>> rng = np.random.default_rng(0)
    >>> m = word_reader.word_reader_init(rng, LETTERS.size, K=4)
    >>> tokens, lengths, ys = encode([("haus", 1), ("maison", 2)])
    >>> read = word_reader.word_reader_forward(m, tokens, lengths)
    >>> read.scores.shape  # after each letter, and after the end
    (7, 2, 4)
    """
    hs, _, tape = cell_of(m.rnn).forward(embedding_forward(tokens, m.embed)[0], None, m.rnn, lengths=lengths)
    return Read(hs, linear_forward(hs, m.out)[0], tape)


def word_reader_loss(
    m: Bundle, batch: Batch, *, last: float = 5.0, drop: float = 0.0, rng: np.random.Generator | None = None
) -> tuple[Any, Bundle]:
    """Mean cross-entropy of the class after each letter, the last one counted `last` times, and its gradients.

    ::

        x_t = E[letter_t],   h_t = cell(x_t, h_{t−1}),   scores_t = (mask ⊙ h_t) W + b
        L   = −weighted mean over t and n of log softmax(scores_t)[class]

    With `drop`, one mask for each word drops that share of the units from what the linear layer sees; `rng` draws it.

    Examples
    --------
    >>> from gru_book.models import word_reader
    >>> from gru_book.tasks.words import LETTERS, encode
    >>> rng = np.random.default_rng(0)
    >>> m = word_reader.word_reader_init(rng, LETTERS.size, K=4)
    >>> m.flat[:] = 0  # four classes, all alike
    >>> batch = encode([("haus", 1), ("maison", 2)])
    >>> loss, grads = word_reader.word_reader_loss(m, batch)
    >>> bool(np.isclose(loss, np.log(4)))
    True
    """
    T, N = batch.tokens.shape
    xs, embed_cache = embedding_forward(batch.tokens, m.embed)
    cell = cell_of(m.rnn)
    hs, _, tape = cell.forward(xs, None, m.rnn, lengths=batch.lengths)
    mask = dropout_mask(rng, (N, hs.shape[2]), drop, hs.dtype) if drop and rng is not None else 1
    scores, out_cache = linear_forward(hs * mask, m.out)
    weights = (np.arange(T)[:, None] < batch.lengths).astype(m.flat.real.dtype)  # the padding has none
    weights[batch.lengths - 1, np.arange(N)] = last
    loss, dscores = softmax_cross_entropy(scores, np.broadcast_to(batch.ys, (T, N)), weights)
    dhs, dout = linear_backward(dscores, out_cache, m.out)
    dxs, _, drnn = cell.backward(dhs * mask, None, tape, m.rnn)
    return loss, bundle(embed=embedding_backward(dxs, embed_cache, m.embed), rnn=drnn, out=dout)


def word_reader_accuracy(m: Bundle, pairs: Sequence[Pair], after: int | None = None) -> float:
    """Return the share of pairs whose class gets the highest score at the end, or after so many letters.

    Examples
    --------
    >>> from gru_book.models import word_reader
    >>> from gru_book.tasks.words import LETTERS
    >>> rng = np.random.default_rng(0)
    >>> m = word_reader.word_reader_init(rng, LETTERS.size, K=4)
    >>> m.out.W[:], m.out.b[:] = 0, [0, 1, 0, 0]  # always class 1
    >>> word_reader.word_reader_accuracy(m, [("haus", 1), ("maison", 2)])
    0.5
    """
    batch = encode(pairs)
    at = batch.lengths - 1 if after is None else after - 1
    scores = word_reader_forward(m, batch.tokens, batch.lengths).scores[at, np.arange(len(pairs))]
    return float((scores.argmax(axis=1) == batch.ys).mean())


def word_reader_z(m: Bundle, pairs: Sequence[Pair], run: str) -> tuple[Array, Array]:
    """Return the mean update gate of each unit of a GRU where a letter or run of letters ends, and after it: (H,) each.

    Only words that hold the run count. A unit that notes it has a z near 0 there and near 1 after it.

    Examples
    --------
    >>> from gru_book.models import word_reader
    >>> from gru_book.tasks.words import LETTERS
    >>> rng = np.random.default_rng(0)
    >>> m = word_reader.word_reader_init(rng, LETTERS.size, K=4, H=2)
    >>> m.rnn.flat[:] = 0
    >>> m.rnn.b_z[:] = np.log(3)  # z = 0.75, always
    >>> at, after = word_reader.word_reader_z(m, [("schule", 1)], "sch")
    >>> at.round(3).tolist(), after.round(3).tolist()
    ([0.75, 0.75], [0.75, 0.75])
    """
    pairs = [pair for pair in pairs if run in pair[0]]
    if not pairs:
        raise ValueError(f"word_reader_z: pairs must hold a word with run = {run!r}; got none.")
    batch, ends = encode(pairs), endings(pairs, run)
    z = word_reader_forward(m, batch.tokens, batch.lengths).tape.gate("z")  # (T, N, H)
    after = (ends.cumsum(axis=0) > 0) & ~ends & (np.arange(len(ends))[:, None] < batch.lengths)
    return z[ends].mean(axis=0), z[after].mean(axis=0)
