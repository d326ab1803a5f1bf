"""Decoding, checked against the list of all sequences of small random trees."""

import itertools

import numpy as np
import pytest
from helpers import refused

from gru_lib import log_softmax
from gru_lib.decode import beam_search, exact_search, greedy, sample

V, END = 4, 0


def tree(seed, scale=1.5):
    """A random model whose next-token distribution depends on the whole past, which is the state."""

    def step(past, token):
        past = (*past, int(token))
        rng = np.random.default_rng([seed, *past])
        return log_softmax(rng.normal(size=V) * scale), past

    return step


def every_sequence(step, start, max_steps):
    """All sequences that end in END or have max_steps tokens, with their log-probabilities."""
    found = []
    for tokens in itertools.product(range(V), repeat=max_steps):
        tokens = tokens[: tokens.index(END) + 1] if END in tokens else tokens
        found.append(tokens)
    result = {}
    for tokens in set(found):
        state, before, total = (), start, 0.0
        for token in tokens:
            log_probs, state = step(state, before)
            total, before = total + log_probs[token], token
        result[tokens] = total
    return result


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_is_exhaustive_search(seed, alpha):
    step, T = tree(seed), 4
    exact = sorted(every_sequence(step, 1, T).items(), key=lambda item: -item[1] / len(item[0]) ** alpha)
    found = beam_search(step, (), 1, width=V**T, end=END, max_steps=T, alpha=alpha)
    assert [h.tokens for h in found[:20]] == [tokens for tokens, _ in exact[:20]]
    for h in found:
        np.testing.assert_allclose(h.log_prob, dict(exact)[h.tokens], rtol=1e-12)
        np.testing.assert_allclose(h.score, h.log_prob / len(h.tokens) ** alpha, rtol=1e-12)
        assert h.ended == (h.tokens[-1] == END)
    assert len(found) == len(exact)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_stopping_early_changes_nothing_that_a_beam_returns(alpha):
    """Without the early stop the same beam, run to the end, returns the same list."""
    for seed in range(30):
        step = tree(seed)
        short = beam_search(step, (), 1, width=3, end=END, max_steps=6, alpha=alpha)
        assert short == reference_beam(step, 3, 6, alpha)


def reference_beam(step, width, max_steps, alpha):
    from gru_lib.decode import Hypothesis

    live, done = [(0.0, (), ())], []
    for length in range(1, max_steps + 1):
        grown = []
        for total, tokens, state in live:
            log_probs, after = step(state, tokens[-1] if tokens else 1)
            grown += [(total + float(log_probs[k]), (*tokens, k), after) for k in range(V)]
        grown.sort(key=lambda g: -g[0])
        for total, tokens, _ in grown[:width]:
            if tokens[-1] == END or length == max_steps:
                done.append(Hypothesis(tokens, total, total / length**alpha, tokens[-1] == END))
        live = [g for g in grown if g[1][-1] != END][:width]
    return sorted(done, key=lambda h: -h.score)[:width]


@pytest.mark.parametrize("end", [None, END])
def test_exact_search_finds_the_likeliest_of_all_sequences_from_fewer_beginnings(end):
    calls, all_beginnings = [], {None: 1 + 4 + 16 + 64, END: 1 + 3 + 9 + 27}[end]
    for seed in range(20):
        step, T = tree(seed), 4
        (known,) = beam_search(step, (), 1, width=V**T, end=end, max_steps=T)[:1]
        best, count = exact_search(step, (), 1, end=end, max_steps=T)
        assert best == known
        if end == END:
            assert best.log_prob == pytest.approx(max(every_sequence(step, 1, T).values()), rel=1e-12)
        calls.append(count)
    assert max(calls) < all_beginnings and np.mean(calls) < 0.5 * all_beginnings


def test_exact_search_extends_only_beginnings_likelier_than_what_is_known():
    for seed in range(50):
        step, asked = tree(seed), []

        def noting(past, token, step=step, asked=asked):
            asked.append((past, token))
            return step(past, token)

        (beam,) = beam_search(step, (), 1, width=2, end=END, max_steps=6)[:1]
        best, count = exact_search(noting, (), 1, end=END, max_steps=6, least=beam.log_prob - 1e-12)
        assert best.log_prob >= beam.log_prob and count == len(asked) == len(set(asked))
        assert count <= exact_search(step, (), 1, end=END, max_steps=6)[1]
        assert exact_search(step, (), 1, end=END, max_steps=6, least=best.log_prob)[0] is None
        for past, token in asked:
            total, before = 0.0, ()
            for t, then in itertools.pairwise((*past, token)):
                log_probs, before = step(before, t)
                total += log_probs[then]
            assert total > beam.log_prob - 1e-9


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_the_length_penalty_has_an_offset(offset):
    alpha = 0.6
    for seed in range(5):
        found = beam_search(tree(seed), (), 1, width=V**4, end=END, max_steps=4, alpha=alpha, offset=offset)
        scores = {h.tokens: h.log_prob / ((offset + len(h.tokens)) / (offset + 1)) ** alpha for h in found}
        assert [h.tokens for h in found] == sorted(scores, key=lambda tokens: -scores[tokens])
        np.testing.assert_allclose([h.score for h in found], [scores[h.tokens] for h in found], rtol=1e-12)


def test_a_beam_of_one_is_greedy():
    for seed in range(20):
        step = tree(seed)
        (best,) = beam_search(step, (), 1, width=1, end=END, max_steps=6)
        found = greedy(step, (), 1, end=END, max_steps=6)
        assert tuple(found.tokens) == best.tokens and found.lengths == len(best.tokens)
        np.testing.assert_allclose(found.log_prob, best.log_prob)


def batch_step(seed):
    """The same tree for several sequences at once."""
    one = tree(seed)

    def step(states, tokens):
        pairs = [one(s, t) for s, t in zip(states, tokens, strict=True)]
        return np.array([p for p, _ in pairs]), [s for _, s in pairs]

    return step


def test_a_batch_is_decoded_as_its_sequences_alone():
    for seed in range(5):
        found = greedy(batch_step(seed), [()] * 3, np.array([1, 2, 3]), end=END, max_steps=7)
        for k in range(3):
            alone = greedy(tree(seed), (), k + 1, end=END, max_steps=7)
            n = int(found.lengths[k])
            assert n == alone.lengths
            np.testing.assert_array_equal(found.tokens[k, :n], alone.tokens)
            assert (found.tokens[k, n:] == END).all()
            np.testing.assert_allclose(found.log_prob[k], alone.log_prob)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beginnings_in_one_batch_give_the_same_search(alpha):
    for seed in range(10):
        options = {"width": 4, "end": END, "max_steps": 6, "alpha": alpha}
        apart = beam_search(tree(seed), (), 1, **options)
        together = beam_search(batch_step(seed), [()], 1, **options, pick=lambda s, rows: [s[r] for r in rows])
        assert apart == together


def test_without_an_end_token_every_sequence_has_max_steps_tokens():
    assert greedy(tree(0), (), 1, end=None, max_steps=5).tokens.shape == (5,)
    found = beam_search(tree(0), (), 1, width=V**3, end=None, max_steps=3)
    assert len(found) == V**3 and not any(h.ended for h in found)


@pytest.mark.parametrize(("temperature", "top_k", "top_p", "left"), [
    *[(1.0, None, None, 4), (0.5, None, None, 4), (2.0, None, None, 4), (1.0, 2, None, 2), (0.7, 3, None, 3)],
    # probabilities .51, .23, .21, .06
    *[(1.0, None, 0.45, 1), (1.0, None, 0.55, 2), (1.0, None, 0.9, 3), (1.0, None, 0.95, 4)],
    # after the temperature .73, .15, .12, .01 and .38, .25, .24, .13; after top_k .69, .31 and .54, .24, .22
    *[(0.5, None, 0.7, 1), (2.0, None, 0.7, 3), (1.0, 2, 0.6, 1), (1.0, 3, 0.6, 2)],
])  # fmt: skip
def test_samples_have_the_frequencies_they_should(temperature, top_k, top_p, left):
    log_p, n = log_softmax(np.array([0.3, -1.0, 1.2, 0.4])), 40_000
    found = sample(
        lambda state, tokens: (np.tile(log_p, (n, 1)), None),
        None,
        np.zeros(n, int),
        np.random.default_rng(0),
        end=None,
        max_steps=1,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
    )
    p = np.exp(log_p / temperature)
    p[np.argsort(p)[: V - left]] = 0
    p /= p.sum()
    seen = np.bincount(found.tokens[:, 0], minlength=V) / n
    assert (np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n)).all()
    assert (seen[p == 0] == 0).all()
    np.testing.assert_allclose(found.log_prob, log_p[found.tokens[:, 0]])


def test_the_nucleus_ends_with_the_token_that_reaches_top_p():
    halves = np.log([[0.5, 0.25, 0.25]] * 100)
    found = sample(
        lambda state, tokens: (halves, None),
        None,
        np.zeros(100, int),
        np.random.default_rng(0),
        end=None,
        max_steps=1,
        top_p=0.5,
    )
    assert (found.tokens == 0).all()


def test_the_nucleus_of_each_row_is_its_own():
    log_p = log_softmax(np.random.default_rng(0).normal(size=(30, 7)) * 2)
    drawn = [
        sample(
            lambda state, tokens: (log_p, None),
            None,
            np.zeros(30, int),
            np.random.default_rng(seed),
            end=None,
            max_steps=1,
            top_p=0.8,
        ).tokens[:, 0]
        for seed in range(400)
    ]
    for row, seen in zip(np.exp(log_p), np.transpose(drawn), strict=True):
        order = np.argsort(-row)
        nucleus = order[: 1 + int((np.cumsum(row[order]) < 0.8).sum())]
        assert set(seen) == set(nucleus)


def test_top_one_and_low_temperature_are_greedy_and_a_seed_gives_the_same_draws():
    best = greedy(tree(3), (), 1, end=END, max_steps=8)
    for options in ({"top_k": 1}, {"temperature": 1e-6}, {"top_p": 1e-6}):
        found = sample(tree(3), (), 1, np.random.default_rng(0), end=END, max_steps=8, **options)
        np.testing.assert_array_equal(found.tokens, best.tokens)
    draws = [sample(tree(3), (), 1, np.random.default_rng(5), end=None, max_steps=20).tokens for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_a_batch_of_none_decodes_to_nothing():
    step = lambda state, tokens: (np.zeros((len(tokens), 3)), state)  # noqa: E731
    for decode in (greedy, lambda *args, **kw: sample(*args, np.random.default_rng(0), **kw)):
        found = decode(step, None, np.zeros(0, int), end=END, max_steps=4)
        assert found.tokens.shape == (0, 0) and found.log_prob.shape == found.lengths.shape == (0,)


def test_wrong_arguments_and_steps_are_named():
    def gives(value):
        return lambda state, token: (np.array(value), state)

    good = {"end": END, "max_steps": 3}
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"greedy: step must return log_probs of shape \(V\); got \(1, 4\)"):
        greedy(gives([[0.0] * 4]), None, 1, **good)
    refused(ValueError, r"shape \(2, V\); got \(4,\)", greedy, gives([0.0] * 4), None, np.array([1, 2]), **good)
    for bad in ([np.nan, 0, 0], [0.4, 0.6, 0.0], [-np.inf] * 3):
        with pytest.raises(ValueError, match="beam_search: step must return log-probabilities"):
            beam_search(gives(bad), None, 1, width=2, **good)
    refused(ValueError, "start must be one token", beam_search, gives([0.0]), None, np.array([1, 2]), width=2, **good)
    for top_p in (0, 1):
        with pytest.raises(ValueError, match=f"top_p must be > 0 and < 1; got {top_p}"):
            sample(gives([0.0]), None, 1, rng, top_p=top_p, **good)
    with pytest.raises(ValueError, match="exact_search: start must be one token"):
        exact_search(gives([0.0]), None, np.array([1, 2]), **good)
    with pytest.raises(ValueError, match="exact_search: step must return log-probabilities"):
        exact_search(gives([0.4, 0.6]), None, 1, **good)
