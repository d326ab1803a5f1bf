"""Encoder–decoder: one network reads a sequence of tokens; another writes one, from the final state or with attention.

Chapters 17 and 18. Training uses teacher forcing: at every step the decoder gets the right previous token, not its own
guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gru_lib.cells.gru import gru_init
from gru_lib.cells.registry import State, advance, cell_of, check_layer, infer, map_state, reads_backwards, zero_state
from gru_lib.checks import (
    as_array,
    as_integers,
    as_lengths,
    check_bool,
    check_dtype,
    check_function,
    check_instance,
    check_int,
    plain,
)
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
from gru_lib.params import Bundle, Params
from gru_lib.signature import Signature, check_tape, sign
from gru_lib.types import Array, Forward, Infer, MaybeArray, short_repr

__all__ = [
    "AttentionCache", "Seq2SeqParams", "Seq2SeqTape", "attention_backward", "attention_forward", "seq2seq_backward",
    "seq2seq_encode", "seq2seq_forward", "seq2seq_init", "seq2seq_step",
]  # fmt: skip


@short_repr
class AttentionCache(NamedTuple):
    """What `attention_backward` needs from the forward pass."""

    weights: Array  # (T, N, S): α, each row sums to 1, 0 in the padding
    s: Array  # (T, N, K)
    hs: Array  # (S, N, K)


def attention_forward(s: ArrayLike, hs: ArrayLike, lengths: MaybeArray = None) -> tuple[Array, AttentionCache]:
    """Dot-product attention: for every row of `s` a mean of the rows of `hs`, the more weight the larger s · h.

    Chapter 18. Luong et al. (2015), arXiv:1508.04025, their score "dot".

    ::

        e_tj = s_t · h_j,   α_t = softmax over the real j of e_t,   c_t = Σ_j α_tj h_j

    Parameters
    ----------
    s : array (T, N, K)
        What asks: the decoder's outputs.
    hs : array (S, N, K)
        What is looked at: the encoder's outputs.
    lengths : integers (N,), optional
        How many steps of `hs` are real, at least 1; the others get the weight 0.

    Returns
    -------
    c : array (T, N, K)
    cache : AttentionCache
        `cache.weights` are the α.

    Examples
    --------
    >>> from gru_lib.layers import attention_forward
    >>> hs = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # S = 2, N = 1, K = 2
    >>> s = np.array([[[np.log(3), 0.0]]])  # T = 1; s · h is ln 3, then 0
    >>> c, cache = attention_forward(s, hs)
    >>> cache.weights.round(6), c.round(6)
    (array([[[0.75, 0.25]]]), array([[[0.75, 0.25]]]))
    """
    where = "attention_forward"
    hs = as_array(where, "hs", hs, ("S", "N", "K"), {})
    S, N, K = hs.shape
    s = as_array(where, "s", s, ("T", "N", "K"), {"N": N, "K": K})
    if not S:
        raise ValueError(f"{where}: hs must have at least one step to look at; got shape {hs.shape}.")
    mask = None if lengths is None else as_lengths(where, lengths, S, N)
    if mask is not None and not mask[0].all():
        raise ValueError(f"{where}: lengths must be at least 1; got 0.")
    return _attend(s, hs if mask is None else np.where(mask[:, :, None], hs, 0), mask)


def attention_backward(dc: ArrayLike, cache: AttentionCache) -> tuple[Array, Array]:
    """Gradients in s (T, N, K) and in hs (S, N, K), from that in c (T, N, K).

    ::

        dα_tj = dc_t · h_j,   de_t = α_t ⊙ (dα_t − Σ_k α_tk dα_tk)
        ds_t  = Σ_j de_tj h_j,   dh_j = Σ_t (α_tj dc_t + de_tj s_t)

    Examples
    --------
    >>> from gru_lib.layers import attention_backward, attention_forward
    >>> hs = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # S = 2, N = 1, K = 2
    >>> c, cache = attention_forward([[[np.log(3), 0.0]]], hs)
    >>> ds, dhs = attention_backward([[[1.0, 0.0]]], cache)
    >>> ds.round(4)  # of c_1 = α_1: α_1 α_2 (h_1 − h_2)
    array([[[ 0.1875, -0.1875]]])
    """
    where = "attention_backward"
    check_instance(where, "cache", cache, AttentionCache)
    T, N, K = cache.s.shape
    dc = as_array(where, "dc", dc, ("T", "N", "K"), {"T": T, "N": N, "K": K})
    alpha, s, hs, dc = (a.transpose(1, 0, 2) for a in (*cache, dc))  # N first: N matrix products at once
    dalpha = dc @ hs.transpose(0, 2, 1)  # (N, T, S)
    de = alpha * (dalpha - (alpha * dalpha).sum(axis=2, keepdims=True))
    ds, dhs = de @ hs, alpha.transpose(0, 2, 1) @ dc + de.transpose(0, 2, 1) @ s
    return ds.transpose(1, 0, 2), dhs.transpose(1, 0, 2)


def _attend(s: Array, hs: Array, mask: Array | None) -> tuple[Array, AttentionCache]:
    query, states = s.transpose(1, 0, 2), hs.transpose(1, 0, 2)  # N first: N matrix products at once
    e = query @ states.transpose(0, 2, 1)  # (N, T, S); the states are the keys
    if mask is not None:
        e = np.where(mask.T[:, None], e, -np.inf)  # exp(−∞) = 0
    alpha = np.exp(e - e.real.max(axis=2, keepdims=True))  # .real: a gradient check is complex
    alpha /= alpha.sum(axis=2, keepdims=True)
    c = alpha @ states  # and the values
    return c.transpose(1, 0, 2), AttentionCache(alpha.transpose(1, 0, 2), s, hs)


class Seq2SeqParams(Bundle):
    """Parameters of an encoder–decoder on one flat array."""

    source: EmbeddingParams  # of the tokens that are read
    target: EmbeddingParams  # of the tokens that are written
    encoder: Params  # a layer,
    decoder: Params  # and another of its kind
    out: LinearParams  # from the decoder's output, with `attend` beside the mean c_t, to the logits
    start: int  # the token that the decoder gets first
    feed: bool  # whether the decoder sees the encoder's last output at every step
    # These two are options only where they differ, so that files from before there was attention still load.
    attend: bool = False  # whether the output layer sees the mean of the encoder's outputs that attention makes
    carry: bool = True  # whether the decoder starts from the encoder's state


def seq2seq_init(
    rng: np.random.Generator,
    V_source: int,
    V_target: int,
    E: int,
    H: int,
    *,
    start: int,
    feed: bool = True,
    attend: bool = False,
    carry: bool = True,
    cell: Callable[..., Params] = gru_init,
    encoder: Callable[..., Params] | None = None,
    dtype: DTypeLike = np.float64,
) -> Seq2SeqParams:
    """Draw the parameters of an encoder–decoder.

    Cho et al. (2014), arXiv:1406.1078, with `feed`; Sutskever et al. (2014), arXiv:1409.3215, without. With `attend`,
    Luong et al. (2015), arXiv:1508.04025: their dot-product score, and an output layer without their hidden layer.

    Parameters
    ----------
    V_source, V_target, E, H
        Numbers of tokens, and sizes of the embeddings and of the states.
    start
        The target token that the decoder gets first.
    feed
        Whether the encoder's last output is part of the decoder's input at every step.
    attend
        Whether every step of the decoder looks back at all of the encoder's outputs (`attention_forward`). They must
        be as wide as the decoder's.
    carry
        Whether the decoder starts from the encoder's state, which must be of the decoder's form; otherwise from zeros.
    cell
        ``cell(rng, D, H, dtype=…)`` draws the encoder and the decoder: `gru_init`, `lstm_init`, a function that makes
        a stack …
    encoder
        The same for the encoder alone, such as a function that makes a bidirectional layer; default `cell`.

    Examples
    --------
    >>> from gru_lib.layers import seq2seq_init
    >>> rng = np.random.default_rng(0)
    >>> p = seq2seq_init(rng, V_source=7, V_target=4, E=3, H=5, start=0)
    >>> p.encoder.D, p.decoder.D, p.out.W.shape  # with feed: E + H
    (3, 8, (5, 4))
    """
    where = "seq2seq_init"
    check_instance(where, "rng", rng, np.random.Generator)
    dtype, start = check_dtype(where, dtype), check_int(where, "start", start, minimum=0)
    for name, size in {"V_source": V_source, "V_target": V_target, "E": E, "H": H}.items():
        check_int(where, name, size)
    feed, attend, carry = (
        check_bool(where, name, flag) for name, flag in (("feed", feed), ("attend", attend), ("carry", carry))
    )
    check_function(where, "cell", cell)
    check_function(where, "encoder", encoder, optional=True)
    if start >= V_target:
        raise ValueError(f"{where}: start must be a target token, in 0..{V_target - 1}; got {start}.")
    source = embedding_init(rng, V_source, E, dtype=dtype)
    target = embedding_init(rng, V_target, E, dtype=dtype)
    reader = (encoder or cell)(rng, E, H, dtype=dtype)
    width = check_layer(where, "what cell or encoder returns", reader).width(reader)
    decoder = cell(rng, E + width if feed else E, H, dtype=dtype)
    wide = check_layer(where, "what cell returns", decoder).width(decoder)
    if reads_backwards(decoder):
        raise ValueError(f"{where}: cell must make a decoder that reads forwards; got {type(decoder).__name__}.")
    if not (feed or attend or carry):
        raise ValueError(f"{where}: feed, attend or carry must be true; got a decoder that never sees the source.")
    if attend and width != wide:
        raise ValueError(
            f"{where}: with attend, encoder outputs must be as wide as the decoder's, {wide}; got {width}."
        )
    if carry and _form(reader) != _form(decoder):
        raise ValueError(f"{where}: with carry, encoder must have a state like the decoder's; try carry=False.")
    out = linear_init(rng, wide + width if attend else wide, V_target, dtype=dtype)
    members = {"source": source, "encoder": reader, "target": target, "decoder": decoder, "out": out}
    options = {"start": start, "feed": feed}
    options |= ({"attend": True} if attend else {}) | ({} if carry else {"carry": False})
    return Seq2SeqParams(members, options=options)


def _form(p: Params) -> str:
    return repr(map_state(lambda a: np.array(a.shape), zero_state(p, 1)))


@short_repr
class Seq2SeqTape(NamedTuple):
    """What `seq2seq_backward` needs from the forward pass."""

    shape: tuple[int, int, int]  # source steps, N, the width of the encoder's output
    last: Array  # (N,): the encoder's last real step
    caches: tuple[Any, ...]  # of source, encoder, target, decoder, out
    attention: AttentionCache | None
    dlogits: Array  # (T, N, V_target)
    made: Signature  # of the parameters


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
        s_t = decoder(x_t, s_{t−1}),   a_t = s_t W + b  or, with attend, [s_t, c_t] W + b
        L   = −mean over t and rows of log softmax(a_t)[target_t]

    c_t is that of `attention_forward`; without `carry`, s_0 = 0.

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

    Examples
    --------
    >>> from gru_lib.layers import seq2seq_forward, seq2seq_init
    >>> rng = np.random.default_rng(0)
    >>> p = seq2seq_init(rng, V_source=7, V_target=4, E=3, H=5, start=0)
    >>> p.out.flat[:] = 0  # all four tokens alike
    >>> loss, tape = seq2seq_forward([[5], [6]], [[1], [2], [3]], p)
    >>> bool(np.isclose(loss, np.log(4)))
    True
    """
    where = "seq2seq_forward"
    check_instance(where, "p", p, Seq2SeqParams)
    state, code, looked_at, last, caches = _encode(
        where, source, p, source_lengths, "source_lengths", cell_of(p.encoder).forward
    )
    N = len(last)
    target, weights = _tokens(where, "target", target, target_lengths, "target_lengths", p.target.V)
    if target.shape[1] != N:
        raise ValueError(f"{where}: target must have shape (T, N) with N = {N} as source; got {target.shape}.")
    before = np.concatenate([np.full((1, N), p.start), target[:-1]])
    y, target_cache = embedding_forward(before, p.target)
    if p.feed:
        y = np.concatenate([y, np.broadcast_to(code, (len(y), *code.shape))], axis=2)
    hs, _, decoder_tape = cell_of(p.decoder).forward(y, state, p.decoder, lengths=target_lengths)
    attention = None
    if p.attend:
        c, attention = _attend(hs, *looked_at)
        hs = np.concatenate([hs, c], axis=2)
    logits, out_cache = linear_forward(hs, p.out)
    loss, dlogits = softmax_cross_entropy(logits, target, weights)
    caches = (*caches, target_cache, decoder_tape, out_cache)
    return loss, Seq2SeqTape(looked_at[0].shape, last, caches, attention, dlogits, sign(where, p))


def seq2seq_backward(tape: Seq2SeqTape, p: Seq2SeqParams) -> Seq2SeqParams:
    """Gradient of the loss in all parameters, from the tape of `seq2seq_forward`.

    The decoder passes back to the encoder the gradient of its first state, with `feed` the sum over all steps of that
    of c, and with `attend` one for each of the encoder's outputs.

    Examples
    --------
    >>> from gru_lib import gradcheck, layers
    >>> rng = np.random.default_rng(0)
    >>> p = layers.seq2seq_init(rng, 7, 4, E=2, H=2, start=0, attend=True)
    >>> run = lambda p: layers.seq2seq_forward([[5], [6]], [[1], [2]], p)
    >>> loss, tape = run(p)
    >>> grads = layers.seq2seq_backward(tape, p)
    >>> gradcheck(lambda p: run(p)[0], p, grads).worst < 1e-6
    True
    """
    check_tape("seq2seq_backward", tape, Seq2SeqTape, p, Seq2SeqParams)
    (S, N, width), E = tape.shape, p.target.D
    source_cache, encoder_tape, target_cache, decoder_tape, out_cache = tape.caches
    ds, g_out = linear_backward(tape.dlogits, out_cache, p.out)
    dhs = np.zeros((S, N, width), ds.dtype)
    if tape.attention is not None:
        ds, dc = ds[..., :-width], ds[..., -width:]
        more, dhs = attention_backward(dc, tape.attention)
        ds = ds + more
    dy, dstate, g_decoder = cell_of(p.decoder).backward(ds, None, decoder_tape, p.decoder)
    g_target = embedding_backward(dy[..., :E], target_cache, p.target)
    if p.feed:
        dhs[tape.last, np.arange(N)] += dy[..., E:].sum(axis=0)
    dx, _, g_encoder = cell_of(p.encoder).backward(dhs, dstate if p.carry else None, encoder_tape, p.encoder)
    g_source = embedding_backward(dx, source_cache, p.source)
    return p.on(np.concatenate([g.flat for g in (g_source, g_encoder, g_target, g_decoder, g_out)]))


def seq2seq_encode(source: ArrayLike, p: Seq2SeqParams, *, lengths: MaybeArray = None) -> State:
    """Read sources (S, N) and return the state that `seq2seq_step` begins with: arrays with N as their first axis.

    Examples
    --------
    >>> from gru_lib import greedy, layers
    >>> rng = np.random.default_rng(0)
    >>> p = layers.seq2seq_init(rng, 7, 4, E=3, H=5, start=0)
    >>> state = layers.seq2seq_encode([[5, 6], [4, 2]], p)  # two sources
    >>> step = layers.seq2seq_step(p)
    >>> said = greedy(step, state, [0, 0], end=None, max_steps=3)
    >>> said.tokens.shape
    (2, 3)
    """
    check_instance("seq2seq_encode", "p", p, Seq2SeqParams)
    state, code, (hs, mask), *_ = _encode("seq2seq_encode", source, p, lengths, "lengths", infer)
    if not p.attend:
        return state, code
    mask = np.ones(hs.shape[:2], bool) if mask is None else mask
    return state, code, hs.transpose(1, 0, 2), mask.T


def seq2seq_step(p: Seq2SeqParams) -> Step:
    """Return the decoder as ``step(state, tokens) -> log_probs, state``, for `greedy`, `sample` and `beam_search`.

    Tokens are (N,) for a batch of N sources, or a single token for one source, as in `beam_search`.

    Examples
    --------
    >>> from gru_lib import layers
    >>> rng = np.random.default_rng(0)
    >>> p = layers.seq2seq_init(rng, 7, 4, E=3, H=5, start=0)
    >>> state = layers.seq2seq_encode([[5], [6]], p)
    >>> log_probs, state = layers.seq2seq_step(p)(state, np.array([0]))
    >>> log_probs.shape, bool(np.isclose(np.exp(log_probs).sum(), 1))
    ((1, 4), True)
    """
    check_instance("seq2seq_step", "p", p, Seq2SeqParams)

    def step(state: State, tokens: ArrayLike) -> tuple[Array, State]:
        tokens, (inner, code, *looked_at) = np.asarray(tokens), state
        y, _ = embedding_forward(tokens.reshape(-1), p.target)
        out, inner = advance(np.concatenate([y, code], axis=1) if p.feed else y, inner, p.decoder)
        if p.attend:
            hs, mask = looked_at
            c, _ = _attend(out[None], hs.transpose(1, 0, 2), mask.T)
            out = np.concatenate([out, c[0]], axis=1)
        logits, _ = linear_forward(out, p.out)
        return log_softmax(logits).reshape(*tokens.shape, -1), (inner, code, *looked_at)

    return step


def _encode(
    where: str, source: ArrayLike, p: Seq2SeqParams, lengths: MaybeArray, name: str, run: Forward | Infer
) -> tuple[Any, ...]:
    source, mask = _tokens(where, "source", source, lengths, name, p.source.V)
    x, cache = embedding_forward(source, p.source)
    hs, state, *tape = run(x, None, p.encoder, lengths=lengths)
    last = (np.full(source.shape[1], len(source)) if mask is None else mask.sum(axis=0)) - 1
    code = hs[last, np.arange(len(last))]
    state = state if p.carry else zero_state(p.decoder, len(last))
    return state, code, (hs, mask), last, (cache, *tape)


def _tokens(
    where: str, name: str, tokens: ArrayLike, lengths: MaybeArray, lengths_name: str, V: int
) -> tuple[Array, Array | None]:
    """Tokens (T, N) with 0 in the padding, and the mask of the real ones."""
    tokens = plain(where, name, tokens)
    if tokens.dtype.kind not in "iu" or tokens.ndim != 2 or not tokens.size:
        raise ValueError(f"{where}: {name} must be integers (T, N); got {tokens.dtype} of shape {tokens.shape}.")
    if lengths is None:
        return as_integers(where, name, tokens, 0, V - 1).copy(), None  # what backward needs is the tape's own
    mask = as_lengths(where, lengths, *tokens.shape, name=lengths_name)
    if not mask[0].all():
        raise ValueError(f"{where}: {lengths_name} must be at least 1; got 0.")
    return as_integers(where, name, np.where(mask, tokens, 0), 0, V - 1), mask
