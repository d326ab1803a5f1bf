"""A character language model over any layer: embedding, layer, linear, softmax cross-entropy (chapters 14, 16, 21b).

`m = lm_init(rng, V, D, H)` is a bundle of `m.embed`, `m.rnn` and `m.out`; the type of `m.rnn` says which layer it is.
`lm_loss` is for `train`, with `Chunks` for truncated backpropagation; `lm_bits` measures; `lm_step` is for
`gru_lib.decode`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_book.tasks.text import streams
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import cell_of, infer
from gru_lib.checks import check_instance, check_int
from gru_lib.layers.dropout import dropout_backward, dropout_forward, dropout_mask, dropout_masks
from gru_lib.ops import (
    embedding_backward,
    embedding_forward,
    embedding_init,
    linear_backward,
    linear_forward,
    linear_init,
    log_softmax,
    softmax_cross_entropy,
)
from gru_lib.params import Bundle, bundle
from gru_lib.train import Chunk

__all__ = ["LMDropout", "lm_bits", "lm_init", "lm_logits", "lm_loss", "lm_step"]

Array = NDArray[Any]
State = Any


class LMDropout(NamedTuple):
    """Dropout of a language model in training: on the layer, as in `dropout_masks`, and on its output."""

    rng: np.random.Generator
    rate: float
    kind: str  # "zaremba", "variational" or "per step"


def lm_init(
    rng: np.random.Generator, V: int, D: int, H: int, *, init: Callable[..., Any] = gru_init, **options: Any
) -> Bundle:
    """Draw an embedding of V characters in D numbers, a layer of H units, and a linear layer with V outputs.

    The layer is ``init(rng, D, H, **options)``, with `gru_init`, `lstm_init`, `elman_init` …

    Examples
    --------
    >>> from gru_book.models.language_model import lm_init
    >>> m = lm_init(np.random.default_rng(0), V=8, D=3, H=5)
    >>> m.embed.E.shape, m.rnn.W_x.shape, m.out.W.shape
    ((8, 3), (3, 15), (5, 8))
    """
    dtype = options.get("dtype", np.float64)
    embed, rnn = embedding_init(rng, V, D, dtype=dtype), init(rng, D, H, **options)
    return bundle(embed=embed, rnn=rnn, out=linear_init(rng, cell_of(rnn).width(rnn), V, dtype=dtype))


def lm_logits(m: Bundle, tokens: ArrayLike, state: State | None = None) -> tuple[Array, State]:
    """Return the logits of the next character after each step, (T, N, V) for tokens (T, N), and the final state.

    `state` is the layer's state to begin with; None for zeros.

    Examples
    --------
    >>> from gru_book.models.language_model import lm_init, lm_logits
    >>> m = lm_init(np.random.default_rng(0), V=8, D=3, H=5)
    >>> logits, state = lm_logits(m, [[1], [2], [3]])
    >>> again, state = lm_logits(m, [[4]], state)  # it reads on
    >>> np.allclose(again[-1], lm_logits(m, [[1], [2], [3], [4]])[0][-1])
    True
    """
    xs, _ = embedding_forward(tokens, m.embed)
    hs, state = infer(xs, state, m.rnn)
    return linear_forward(hs, m.out)[0], state


def lm_loss(m: Bundle, chunk: Chunk, dropout: LMDropout | None = None) -> tuple[Any, Bundle]:
    """Mean cross-entropy of a chunk's next characters, in nats, and its gradient in every parameter. Chapter 16.

    ::

        x_t = E[token_t],   h_t = layer(x_t, h_{t−1}),   a_t = h_t W + b
        L   = −mean over t and n of log softmax(a_t)[token_{t+1}]

    The first state is treated as constant, which truncates backpropagation; the last is passed on.

    `dropout` is for training: ``partial(lm_loss, dropout=LMDropout(rng, 0.3, "zaremba"))`` goes into `train`. The masks
    are new in every chunk, so one mask "for the whole sequence" lasts K steps.

    Examples
    --------
    >>> from gru_book.models.language_model import lm_init, lm_loss
    >>> from gru_book.tasks.text import streams
    >>> from gru_lib.train import Chunks
    >>> m = lm_init(np.random.default_rng(0), V=8, D=3, H=5)
    >>> m.flat[:] = 0  # eight characters, all alike
    >>> chunk = next(iter(Chunks(*streams(np.arange(100) % 8, 4), 10)))
    >>> bool(np.isclose(lm_loss(m, chunk)[0], np.log(8)))
    True
    """
    xs, embed_cache = embedding_forward(chunk.xs, m.embed)  # (K, N, D)
    K, N, _ = xs.shape
    masks = None if dropout is None else dropout_masks(dropout.rng, m.rnn, K, N, rate=dropout.rate, kind=dropout.kind)
    hs, state_T, tape = dropout_forward(xs, chunk.state, m.rnn, masks=masks)
    chunk.carry(state_T)
    if dropout is not None:
        lead = (N,) if dropout.kind == "variational" else (K, N)
        mask = dropout_mask(dropout.rng, (*lead, hs.shape[-1]), dropout.rate, hs.dtype)
        hs = hs * mask
    logits, out_cache = linear_forward(hs, m.out)  # (K, N, V)
    loss, dlogits = softmax_cross_entropy(logits, chunk.ys)
    dhs, dout = linear_backward(dlogits, out_cache, m.out)
    if dropout is not None:
        dhs = dhs * mask
    dxs, _, drnn = dropout_backward(dhs, None, tape, m.rnn)
    return loss, bundle(embed=embedding_backward(dxs, embed_cache, m.embed), rnn=drnn, out=dout)


def lm_bits(m: Bundle, tokens: ArrayLike, *, N: int = 8, K: int = 256) -> float:
    """Return the bits per character of a row of tokens (L,), L > N, under the model, without dropout.

    The row is read as N streams side by side, each starting from the zero state and carrying its state to the end. So
    N − 1 characters are predicted without their past. K only bounds the memory used.

    Examples
    --------
    >>> from gru_book.models.language_model import lm_bits, lm_init
    >>> m = lm_init(np.random.default_rng(0), V=8, D=3, H=5)
    >>> m.flat[:] = 0  # eight characters, all alike
    >>> round(lm_bits(m, np.arange(100) % 8), 6)
    3.0
    """
    xs, ys = streams(tokens, N)
    K, state, nats = check_int("lm_bits", "K", K), None, 0.0
    for start in range(0, len(xs), K):
        logits, state = lm_logits(m, xs[start : start + K], state)
        nats += float(softmax_cross_entropy(logits, ys[start : start + K]).loss) * len(logits)
    return nats / len(xs) / float(np.log(2))


def lm_step(m: Bundle) -> Callable[[State, Any], tuple[Array, State]]:
    """Return ``step(state, tokens) -> log_probs, state`` for `greedy`, `sample` and `beam_search`.

    Tokens have shape (N,) or are a single token; the first state is None, or what `lm_logits` returned for a prefix.

    Examples
    --------
    >>> from gru_lib import greedy
    >>> from gru_book.models.language_model import lm_init, lm_step
    >>> m = lm_init(np.random.default_rng(0), V=8, D=3, H=5)
    >>> m.out.W[:], m.out.b[5] = 0, 1
    >>> greedy(lm_step(m), None, 0, end=None, max_steps=3).tokens
    array([5, 5, 5])
    """
    check_instance("lm_step", "m", m, Bundle)

    def step(state: State, tokens: Any) -> tuple[Array, State]:
        row = np.atleast_1d(tokens)
        logits, state = lm_logits(m, row[None], state)
        return log_softmax(logits[0]).reshape(*np.shape(tokens), -1), state

    return step
