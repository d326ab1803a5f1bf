"""Encoder–decoder: one network reads a sequence of tokens; another starts from its final state and writes one.

Chapter 17. Training uses teacher forcing: at every step the decoder gets the right previous token, not its own guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib._core.checks import as_lengths, check_instance, check_int
from gru_lib._core.params import Bundle, Params
from gru_lib._core.types import Array, MaybeArray
from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import State, advance, cell_of
from gru_lib.decode import Step
from gru_lib.ops import (
    EmbeddingParams,
    LinearParams,
    embedding_backward,
    embedding_forward,
    embedding_init,
    linear_backward,
    linear_forward,
    linear_init,
    log_softmax,
    softmax_cross_entropy,
)

__all__ = [
    "Seq2SeqParams", "Seq2SeqTape", "seq2seq_backward", "seq2seq_encode", "seq2seq_forward", "seq2seq_init",
    "seq2seq_step",
]  # fmt: skip


class Seq2SeqParams(Bundle):
    """Parameters of an encoder–decoder on one flat array."""

    source: EmbeddingParams  # of the tokens that are read
    target: EmbeddingParams  # of the tokens that are written
    encoder: Params  # a layer,
    decoder: Params  # and another of its kind
    out: LinearParams  # from the decoder's output to the logits
    start: int  # the token that the decoder gets first
    feed: bool  # whether the decoder sees the encoder's last output at every step


def seq2seq_init(
    rng: np.random.Generator,
    V_source: int,
    V_target: int,
    E: int,
    H: int,
    *,
    start: int,
    feed: bool = True,
    cell: Callable[..., Params] = gru_init,
    dtype: DTypeLike = np.float64,
) -> Seq2SeqParams:
    """Draw the parameters of an encoder–decoder.

    Cho et al. (2014), arXiv:1406.1078, with `feed`; Sutskever et al. (2014), arXiv:1409.3215, without.

    Parameters
    ----------
    V_source, V_target, E, H
        Numbers of tokens, and sizes of the embeddings and of the states.
    start
        The target token that the decoder gets first.
    feed
        Whether the encoder's last output is part of the decoder's input at every step. Otherwise only the decoder's
        first state carries what the encoder read.
    cell
        ``cell(rng, D, H, dtype=…)`` draws the encoder and the decoder: `gru_init`, `lstm_init`, a function that makes
        a stack …
    """
    where = "seq2seq_init"
    check_instance(where, "rng", rng, np.random.Generator)
    start = check_int(where, "start", start, minimum=0)
    if start >= check_int(where, "V_target", V_target):
        raise ValueError(f"{where}: start must be a target token, in 0..{V_target - 1}; got {start}.")
    source = embedding_init(rng, V_source, E, dtype=dtype)
    target = embedding_init(rng, V_target, E, dtype=dtype)
    encoder = cell(rng, E, H, dtype=dtype)
    width = cell_of(encoder).width(encoder)
    decoder = cell(rng, E + width if feed else E, H, dtype=dtype)
    out = linear_init(rng, cell_of(decoder).width(decoder), V_target, dtype=dtype)
    members = {"source": source, "encoder": encoder, "target": target, "decoder": decoder, "out": out}
    return Seq2SeqParams(members, options={"start": start, "feed": bool(feed)})


class Seq2SeqTape(NamedTuple):
    """What `seq2seq_backward` needs from the forward pass."""

    shape: tuple[int, int, int]  # source steps, N, the width of the encoder's output
    last: Array  # (N,): the encoder's last real step
    caches: tuple[Any, ...]  # of source, encoder, target, decoder, out
    dlogits: Array  # (T, N, V_target)


def seq2seq_forward(
    source: ArrayLike,
    target: ArrayLike,
    p: Seq2SeqParams,
    *,
    source_lengths: MaybeArray = None,
    target_lengths: MaybeArray = None,
) -> tuple[Any, Seq2SeqTape]:
    """Mean cross-entropy of the target tokens, each given the source and the right tokens before it.

    ::

        c, s_0 = encoder(source)                                  last output and state
        x_t = [target_{t−1}, c]  or  target_{t−1}                 embedded; target_0 is `start`
        s_t = decoder(x_t, s_{t−1}),   a_t = h_t W + b
        L   = −mean over t and rows of log softmax(a_t)[target_t]

    Parameters
    ----------
    source : integers (S, N)
        Tokens to read, time first.
    target : integers (T, N)
        Tokens to write, with the end token and without `start`.
    source_lengths, target_lengths : integers (N,), optional
        How many tokens are real, at least 1. Padding may hold any integers; it changes nothing.

    Returns
    -------
    loss : number, in nats per real target token
    tape : Seq2SeqTape
    """
    where = "seq2seq_forward"
    check_instance(where, "p", p, Seq2SeqParams)
    state, context, last, kept, caches = _encode(where, source, p, source_lengths)
    N = len(last)
    target, weights = _tokens(where, "target", target, target_lengths)
    if target.shape[1] != N:
        raise ValueError(f"{where}: target must have shape (T, N) with N = {N} as source; got {target.shape}.")
    before = np.concatenate([np.full((1, N), p.start), target[:-1]])
    y, target_cache = embedding_forward(before, p.target)
    if p.feed:
        y = np.concatenate([y, np.broadcast_to(context, (len(y), *context.shape))], axis=2)
    hs, _, decoder_tape = cell_of(p.decoder).forward(y, state, p.decoder, lengths=target_lengths)
    logits, out_cache = linear_forward(hs, p.out)
    loss, dlogits = softmax_cross_entropy(logits, target, weights)
    return loss, Seq2SeqTape(kept, last, (*caches, target_cache, decoder_tape, out_cache), dlogits)


def seq2seq_backward(tape: Seq2SeqTape, p: Seq2SeqParams) -> Seq2SeqParams:
    """Gradient of the loss in all parameters, from the tape of `seq2seq_forward`.

    The decoder passes two gradients back to the encoder: that of its first state and, with `feed`, the sum over all
    steps of that of c.
    """
    check_instance("seq2seq_backward", "p", p, Seq2SeqParams)
    check_instance("seq2seq_backward", "tape", tape, Seq2SeqTape)
    (S, N, width), E = tape.shape, p.target.D
    source_cache, encoder_tape, target_cache, decoder_tape, out_cache = tape.caches
    dhs, g_out = linear_backward(tape.dlogits, out_cache, p.out)
    dy, dstate, g_decoder = cell_of(p.decoder).backward(dhs, None, decoder_tape, p.decoder)
    g_target = embedding_backward(dy[..., :E], target_cache, p.target)
    dhs = np.zeros((S, N, width), dy.dtype)
    if p.feed:
        dhs[tape.last, np.arange(N)] = dy[..., E:].sum(axis=0)
    dx, _, g_encoder = cell_of(p.encoder).backward(dhs, dstate, encoder_tape, p.encoder)
    g_source = embedding_backward(dx, source_cache, p.source)
    return p.on(np.concatenate([g.flat for g in (g_source, g_encoder, g_target, g_decoder, g_out)]))


def seq2seq_encode(source: ArrayLike, p: Seq2SeqParams, *, lengths: MaybeArray = None) -> tuple[State, Array]:
    """Read sources (S, N) and return the state that `seq2seq_step` begins with."""
    check_instance("seq2seq_encode", "p", p, Seq2SeqParams)
    state, context, *_ = _encode("seq2seq_encode", source, p, lengths)
    return state, context


def seq2seq_step(p: Seq2SeqParams) -> Step:
    """Return the decoder as ``step(state, tokens) -> log_probs, state``, for `greedy`, `sample` and `beam_search`.

    Tokens are (N,) for a batch of N sources, or a single token for one source, as in `beam_search`.
    """
    check_instance("seq2seq_step", "p", p, Seq2SeqParams)

    def step(state: tuple[State, Array], tokens: ArrayLike) -> tuple[Array, tuple[State, Array]]:
        tokens, (inner, context) = np.asarray(tokens), state
        y, _ = embedding_forward(tokens.reshape(-1), p.target)
        out, inner = advance(np.concatenate([y, context], axis=1) if p.feed else y, inner, p.decoder)
        logits, _ = linear_forward(out, p.out)
        return log_softmax(logits).reshape(*tokens.shape, -1), (inner, context)

    return step


def _encode(where: str, source: ArrayLike, p: Seq2SeqParams, lengths: MaybeArray) -> tuple[Any, ...]:
    source, mask = _tokens(where, "source", source, lengths)
    x, cache = embedding_forward(source, p.source)
    hs, state, tape = cell_of(p.encoder).forward(x, None, p.encoder, lengths=lengths)
    last = (np.full(source.shape[1], len(source)) if mask is None else mask.sum(axis=0)) - 1
    return state, hs[last, np.arange(len(last))], last, hs.shape, (cache, tape)


def _tokens(where: str, name: str, tokens: ArrayLike, lengths: MaybeArray) -> tuple[Array, Array | None]:
    """Tokens (T, N) with 0 in the padding, and the mask of the real ones."""
    tokens = np.asarray(tokens)
    if tokens.dtype.kind not in "iu" or tokens.ndim != 2 or not tokens.size:
        raise ValueError(f"{where}: {name} must be integers (T, N); got {tokens.dtype} of shape {tokens.shape}.")
    if lengths is None:
        return tokens, None
    mask = as_lengths(where, lengths, *tokens.shape)
    if not mask[0].all():
        raise ValueError(f"{where}: {name}_lengths must be at least 1; got 0.")
    return np.where(mask, tokens, 0), mask
