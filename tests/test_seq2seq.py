"""The encoder–decoder, with attention too: its loss, all its gradients, masking, decoding, and a task it learns."""

import numpy as np
import pytest
from helpers import close, refused, same

from gru_lib import (
    Adam,
    beam_search,
    bidirectional,
    elman_init,
    gradcheck,
    greedy,
    gru_init,
    linear_decay,
    lstm_init,
    map_state,
    stack,
    train,
)
from gru_lib.layers import (
    AttentionCache,
    attention_backward,
    attention_forward,
    seq2seq_backward,
    seq2seq_encode,
    seq2seq_forward,
    seq2seq_init,
    seq2seq_step,
)

START, END, V = 3, 1, 4
CELLS = {
    "gru": gru_init,
    "gru-after-write": lambda rng, D, H, dtype: gru_init(rng, D, H, reset_after=True, convention="write", dtype=dtype),
    "lstm": lstm_init,
    "elman": elman_init,
    "deep": lambda rng, D, H, dtype: stack(gru_init(rng, D, H, dtype=dtype), gru_init(rng, H, H, dtype=dtype)),
}


def both_ways(rng, D, H, dtype):
    """An encoder of two layers, with as wide outputs as one of size H."""
    return bidirectional(gru_init(rng, D, H // 2, dtype=dtype), elman_init(rng, D, H - H // 2, dtype=dtype))


# How the decoder gets to know the source. The encoder of the last ends in another state than the decoder begins with.
LINKS = {
    "fed": {},
    "state": {"feed": False},
    "attention": {"feed": False, "attend": True},
    "all": {"attend": True},
    "attention alone": {"feed": False, "attend": True, "carry": False},
    "both ways": {"feed": False, "attend": True, "carry": False, "encoder": both_ways},
}


def model(cell="gru", link="fed", seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    p = seq2seq_init(rng, 3, V, 2, 2, start=START, **LINKS[link], cell=CELLS[cell], dtype=dtype)
    p.flat[:] = rng.normal(size=p.size)
    return p


def tokens(seed=1, S=4, T=3, N=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (S, N)), rng.integers(0, V, (T, N))


LENGTHS = {"source_lengths": [4, 1, 2], "target_lengths": [1, 3, 2]}


@pytest.mark.parametrize("lengths", [{}, LENGTHS], ids=["full", "padded"])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("cell", CELLS)
def test_seq2seq_backward_matches_complex_step(cell, link, lengths):
    p, (source, target) = model(cell, link), tokens()
    loss, tape = seq2seq_forward(source, target, p, **lengths)
    grads = seq2seq_backward(tape, p)
    report = gradcheck(lambda p: seq2seq_forward(source, target, p, **lengths)[0], p, grads)
    assert report.worst < 1e-13, report
    assert {a.dtype for a in (loss, grads.flat)} == {np.dtype(np.float64)}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("cell", CELLS)
def test_the_loss_is_what_decoding_gives_the_right_tokens(cell, link):
    """Teacher forcing, token by token through the decoder's step function."""
    p, (source, target) = model(cell, link), tokens()
    step, total, count = seq2seq_step(p), 0.0, 0
    for n, (s, t) in enumerate(zip(LENGTHS["source_lengths"], LENGTHS["target_lengths"], strict=True)):
        state, before = seq2seq_encode(source[:s, n : n + 1], p), START
        for token in target[:t, n]:
            log_probs, state = step(state, before)
            total, count, before = total - log_probs[token], count + 1, token
    loss, _ = seq2seq_forward(source, target, p, **LENGTHS)
    np.testing.assert_allclose(loss, total / count, rtol=1e-13)


@pytest.mark.parametrize("link", ["fed", "all", "both ways"])
@pytest.mark.parametrize("cell", CELLS)
def test_padding_changes_no_bit_and_in_float32_nothing_is_written_to(cell, link):
    p, arrays = model(cell, link, dtype=np.float32), tokens()
    loss, tape = seq2seq_forward(*arrays, p, **LENGTHS)
    grads = seq2seq_backward(tape, p)
    assert loss.dtype == grads.dtype == np.float32
    for junk in (0, -7, 10**6):
        others = [
            np.where(np.arange(len(a))[:, None] >= n, junk, a) for a, n in zip(arrays, LENGTHS.values(), strict=True)
        ]
        for array in (p.flat, *others):
            array.flags.writeable = False
        other, other_tape = seq2seq_forward(*others, p, **LENGTHS)
        assert other == loss
        for _ in range(2):
            np.testing.assert_array_equal(seq2seq_backward(other_tape, p).flat, grads.flat)


@pytest.mark.parametrize("link", LINKS)
def test_a_batch_decodes_as_its_sources_alone_and_a_beam_is_never_worse_than_greedy(link):
    p, (source, _) = model(link=link, seed=3), tokens(N=6)
    both = greedy(seq2seq_step(p), seq2seq_encode(source, p), np.full(6, START), end=END, max_steps=4)
    for n in range(6):
        state = seq2seq_encode(source[:, n : n + 1], p)
        alone = greedy(seq2seq_step(p), state, START, end=END, max_steps=4)
        np.testing.assert_array_equal(both.tokens[n, : alone.lengths], alone.tokens)
        np.testing.assert_allclose(both.log_prob[n], alone.log_prob, rtol=1e-12)
        best = beam_search(seq2seq_step(p), state, START, width=V**4, end=END, max_steps=4)[0]
        assert best.log_prob >= alone.log_prob - 1e-12


@pytest.mark.parametrize("link", ["fed", "all", "both ways"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_beam_in_one_batch_finds_what_it_finds_one_by_one(cell, link):
    p, (source, _) = model(cell, link, seed=3), tokens(N=1)
    state, options = seq2seq_encode(source, p), {"width": 3, "end": END, "max_steps": 5, "alpha": 0.7}
    apart = beam_search(seq2seq_step(p), state, START, **options)
    pick = lambda state, rows: map_state(lambda a: a[rows], state)  # noqa: E731
    together = beam_search(seq2seq_step(p), state, START, **options, pick=pick)
    assert [h.tokens for h in apart] == [h.tokens for h in together]
    np.testing.assert_allclose([h.score for h in apart], [h.score for h in together], rtol=1e-12)


@pytest.mark.parametrize(("seed", "link"), [(0, "fed"), (0, "both ways")])
def test_it_learns_to_turn_a_sequence_round(seed, link):
    """Reversing 3 of 3 symbols; a decoder that ignores the source gets 1/27 of them."""
    rng = np.random.default_rng(seed)
    p = seq2seq_init(rng, 3, 5, 6, 16, start=START, **LINKS[link])
    p.decoder.b_z[:] = 1

    def batch(N):
        source = rng.integers(0, 3, (3, N))
        return source, np.concatenate([source[::-1] + 2, np.full((1, N), END)])

    def loss_and_grads(p, batch):
        loss, tape = seq2seq_forward(*batch, p)
        return loss, seq2seq_backward(tape, p)

    batches = (batch(32) for _ in iter(int, 1))
    train(p, loss_and_grads, batches, Adam(p), steps=150, schedule=linear_decay(0.03, 150), clip_norm=1, progress=False)
    source = np.indices((3, 3, 3)).reshape(3, -1)
    found = greedy(seq2seq_step(p), seq2seq_encode(source, p), np.full(27, START), end=END, max_steps=8)
    wanted = np.vstack([source[::-1] + 2, np.full((1, 27), END)]).T
    assert (found.tokens[:, :4] == wanted).all(axis=1).mean() >= 0.95


@pytest.mark.parametrize("link", LINKS)
def test_the_tape_holds_its_own_tokens_and_knows_its_parameters(link):
    p, (source, target) = model(link=link), tokens()
    _, tape = seq2seq_forward(source, target, p)
    right = seq2seq_backward(tape, p).flat
    source[:], target[:] = 0, 0
    np.testing.assert_array_equal(seq2seq_backward(tape, p.copy()).flat, right)
    for i in (0, p.size // 2, p.size - 1):
        other = p.copy()
        other.flat[i] += 1
        with pytest.raises(ValueError, match="seq2seq_backward: p must hold the same numbers as when seq2seq_forward"):
            seq2seq_backward(tape, other)
    other = model(link="state" if link == "fed" else "fed")
    with pytest.raises(ValueError, match=r"seq2seq_backward: p must have \w+ = .* as when seq2seq_forward"):
        seq2seq_backward(tape, other)


def test_wrong_arguments_are_named():
    p, (source, target) = model(), tokens()
    rng, start = np.random.default_rng(0), {"start": START, "feed": False}
    wider = lambda rng, D, H, dtype: gru_init(rng, D, H + 1, dtype=dtype)  # noqa: E731
    for message, call in (
        (r"seq2seq_init: start must be a target token, in 0\.\.4; got 5",
         lambda: seq2seq_init(rng, 4, 5, 2, 3, start=5)),
        ("source_lengths must be at least 1; got 0",
         lambda: seq2seq_forward(source, target, p, source_lengths=[0, 1, 2])),
        (r"source must lie in 0\.\.2; got .*\.\.9", lambda: seq2seq_forward(source + 9 * (source == 0), target, p)),
        ("feed, attend or carry must be true; got a decoder that never sees the source",
         lambda: seq2seq_init(rng, 4, 5, 2, 3, carry=False, **start)),
        ("with carry, encoder must have a state like the decoder's; try carry=False",
         lambda: seq2seq_init(rng, 4, 5, 2, 3, encoder=both_ways, attend=True, **start)),
        ("encoder outputs must be as wide as the decoder's, 3; got 4",
         lambda: seq2seq_init(rng, 4, 5, 2, 3, encoder=wider, attend=True, carry=False, **start)),
    ):  # fmt: skip
        refused(ValueError, message, call)


# ------------------------------------------------------------------------------------------------------- attention


def asked(T=4, S=5, N=3, K=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(T, N, K)), rng.normal(size=(S, N, K)), rng.normal(size=(T, N, K))


REAL = [5, 1, 3]


def by_loops(s, hs, lengths):
    """The means and the weights, one number at a time."""
    c, alpha = np.zeros_like(s), np.zeros((*s.shape[:2], len(hs)))
    for t, n in np.ndindex(s.shape[:2]):
        e = [np.exp(sum(s[t, n, k] * hs[j, n, k] for k in range(s.shape[2]))) for j in range(lengths[n])]
        for j, share in enumerate(e):
            alpha[t, n, j] = share / sum(e)
            c[t, n] += alpha[t, n, j] * hs[j, n]
    return c, alpha


@pytest.mark.parametrize("lengths", [None, REAL])
def test_attention_does_what_its_equations_say(lengths):
    s, hs, _ = asked()
    c, cache = attention_forward(s, hs, lengths)
    close((c, cache.weights), by_loops(s, hs, lengths or [5] * 3))
    close(cache.weights.sum(axis=2), np.ones((4, 3)))


@pytest.mark.parametrize("junk", [0.0, 1e300, -np.inf, np.nan])
def test_what_stands_in_the_padding_gets_no_weight_and_no_gradient(junk):
    s, hs, dc = asked()
    padded = np.arange(5)[:, None] >= REAL
    before, other = attention_forward(s, hs, REAL), hs.copy()
    other[padded] = junk
    c, cache = attention_forward(s, other, REAL)
    same((c, cache.weights, *attention_backward(dc, cache)),
         (before[0], before[1].weights, *attention_backward(dc, before[1])))  # fmt: skip
    assert (cache.weights.transpose(0, 2, 1)[:, padded] == 0).all()
    assert (attention_backward(dc, cache)[1][padded] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_attention_takes_scores_of_any_size_and_keeps_the_dtype(dtype):
    s, hs, dc = (a.astype(dtype) for a in asked())
    c, cache = attention_forward(1e6 * s, -1e6 * hs)
    assert np.isfinite(c).all() and {c.dtype, *(a.dtype for a in attention_backward(dc, cache))} == {np.dtype(dtype)}
    best = (-s.transpose(1, 0, 2) @ hs.transpose(1, 2, 0)).argmax(axis=2).T
    np.testing.assert_array_equal(cache.weights.argmax(axis=2), best)


def test_wrong_arguments_of_attention_are_named():
    s, hs, _ = asked()
    refused(ValueError, "hs must have at least one step to look at", attention_forward, s, hs[:0])
    refused(ValueError, "lengths must be at least 1; got 0", attention_forward, s, hs, [5, 0, 1])
    assert isinstance(attention_forward(s, hs)[1], AttentionCache)
