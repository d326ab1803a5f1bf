"""Chapter 19: where wider is worse."""

from collections import Counter
from datetime import date

import numpy as np
import pytest
from helpers import load_results, run_box

from experiments import dates
from gru_book import results
from gru_book.models.translator import shared_pairs, translate_beam
from gru_book.tasks.dates import ISO, WRITTEN, pairs
from gru_lib.decode import beam_search, greedy, sample
from gru_lib.io import load
from gru_lib.layers import seq2seq_encode, seq2seq_step

STORED, OWN = load_results("dates"), load_results("dates_own")  # the second with other kernels


def model(name):
    return load(results.path(f"dates_{name}")).astype(np.float64)


def test_empty_translation_is_the_likeliest_of_the_model_with_cut_data_and_a_narrow_beam_misses_it():
    p = model("cut")
    days = dates.days()[1][:10]
    found = {}
    for width, alpha in ((1, 0.0), (16, 0.0), (16, 1.0)):
        for iso in pairs(days).iso[::18]:
            source = ISO.tokens([iso])[0][:, 0]
            best = translate_beam(p, source, width=width, end=WRITTEN.end, max_steps=36, alpha=alpha)[0]
            found.setdefault((width, alpha), []).append(len(best.tokens))
    empty = {how: np.mean(np.array(lengths) == 1) for how, lengths in found.items()}
    assert empty[1, 0.0] <= 0.2 and empty[16, 0.0] >= 0.8 and empty[16, 1.0] == 0


def test_the_stored_model_is_the_one_with_cut_data():
    p = model("cut")
    log_probs = [
        translate_beam(p, ISO.tokens([iso])[0][:, 0], width=40, end=WRITTEN.end, max_steps=1)
        for iso in ("2026-03-07", "1987-12-25")
    ]
    for found in log_probs:  # what it gives to the end token at once is the share of empty targets
        (empty,) = [one.log_prob for one in found if one.ended]
        assert 0.08 < np.exp(empty) < 0.25


def test_greedy_search_made_anew_on_the_stored_model_does_as_stored():
    p, test = model("cut"), pairs(dates.days()[1][:60])
    texts = []
    for iso in test.iso[::18]:
        source = ISO.tokens([iso])[0][:, 0]
        texts.append(WRITTEN.text(translate_beam(p, source, width=1, end=WRITTEN.end, max_steps=36)[0].tokens))
    forms = [set(test.texts[18 * n : 18 * n + 3 * dates.WESTERN]) for n in range(60)]
    before = next(result for share, seed, result in STORED["cut"] if (share, seed) == (dates.CUT, 0))["0, 1"]
    right = np.mean([text in some for text, some in zip(texts, forms, strict=True)])
    assert right == pytest.approx(before["right"], abs=0.02)
    assert np.mean([text == "" for text in texts]) == pytest.approx(before["empty"], abs=0.02)


def test_most_days_have_twelve_right_texts_and_the_pages_has_eleven_of_which_one_stands_twice():
    """No text stands three times. So the share from which on the empty text wins is 1/13 or 1/7."""
    found = pairs(dates.days()[1]).texts
    days = [found[first : first + 3 * dates.WESTERN] for first in range(0, len(found), 18)]
    counts = Counter(len(set(texts)) for texts in days)
    assert max(counts) == 12 and 2 * counts[12] > len(days)
    assert max(max(Counter(texts).values()) for texts in days) == 2
    texts = pairs([date(2026, 3, 7).toordinal()]).texts[: 3 * dates.WESTERN]
    assert len(set(texts)) == 11 and Counter(texts)["7 mars 2026"] == 2
    assert dates.FEW < 1 / 13 < 1 / 7 < dates.CUT


@pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])
def test_wider_is_worse_where_the_data_was_cut_and_not_where_it_was_not(stored):
    row = {(share, seed): result for share, seed, result in stored["cut"]}
    assert len(row) == 20
    for seed in range(10):
        cut, whole = row[dates.CUT, seed], row[0.0, seed]
        assert cut["0, 4"]["empty"] > 0.9 and cut["0, 16"]["right"] < 0.1 < cut["0, 1"]["right"]
        assert all(result["empty"] == 0 for result in whole.values())
        assert whole["1, 16"]["right"] < whole["1, 1"]["right"]
    gain = beyond_greedy(stored, 0.0, "0, 16")
    assert abs(gain.mean()) < min(0.03, half(gain)) and 0.09 < abs(gain).max() < 0.2


def beyond_greedy(stored, share, how):
    """How much larger the share of right answers is than greedy search's, by seed."""
    return np.array([row[how]["right"] - row["0, 1"]["right"] for with_, _, row in stored["cut"] if with_ == share])


@pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])
def test_with_cut_data_only_the_mean_of_a_narrow_beam_is_right_more_often_than_greedy_search(stored):
    two, four, wide, agree = (beyond_greedy(stored, dates.CUT, how) for how in ("1, 2", "1, 4", "1, 16", "least risk"))
    assert 0 < two.mean() - half(two) < two.mean() < 0.05
    assert abs(four.mean()) < half(four)
    for less in (wide, agree):
        assert less.mean() + half(less) < 0


def shares(share, steps, name):
    """What each of the three networks of `spread` gives, 5 % or 15 % of its targets empty."""
    return np.array([row[name] for a, b, _, row in STORED["spread"] if (a, b) == (share, steps)])


def test_the_network_and_the_data_are_each_a_reason_for_empty_texts():
    """Taken away one at a time: a smaller share of empty targets, and four times the training."""
    assert shares(dates.CUT, 1000, "empty wins").min() > 0.9 and shares(dates.CUT, 4000, "empty wins").min() > 0.8
    assert shares(dates.FEW, 1000, "empty wins").min() > 0.2 and shares(dates.FEW, 4000, "empty wins").max() < 0.02
    assert 0.4 < shares(dates.FEW, 1000, "empty wins").mean() < 0.55
    for share in (dates.CUT, dates.FEW):  # the share of empty texts is learned at once, the right ones later
        for steps in (1000, 4000):
            assert abs(shares(share, steps, "empty").mean() - share) < 0.01
        assert shares(share, 4000, "right").min() > 0.5 > 0.3 > shares(share, 1000, "right").max()
    other = [row for a, b, _, row in OWN["spread"] if (a, b) == (dates.FEW, 1000)]
    assert len(other) == 3 and np.mean([row["empty wins"] for row in other]) > 0.3


def test_the_shares_of_the_stored_model_made_anew_are_as_stored():
    (_, _, _, row) = next(row for row in STORED["spread"] if row[:3] == [dates.CUT, 1000, 0])
    days = pairs(dates.days()[1][:60]).iso[::18]
    means = np.mean([dates.shares(model("cut"), iso) for iso in days], axis=0)
    np.testing.assert_allclose(means, [row["right"], row["likeliest"], row["empty"]], atol=0.01)


def test_an_alpha_in_the_middle_brings_back_right_dates_where_0_and_1_do_not():
    p, source = model("cut"), ISO.tokens(["2026-03-07"])[0][:, 0]
    found = {
        alpha: WRITTEN.text(translate_beam(p, source, width=8, alpha=alpha, end=WRITTEN.end, max_steps=36)[0].tokens)
        for alpha in (0.0, 0.25, 0.5, 0.75, 1.0)
    }
    assert found.pop(0.0) == "" and found.pop(1.0) == "mercredi 7 de marzo de 2026"
    assert set(found.values()) == {"March 7, 2026"}


def test_forbidding_the_empty_text_gains_with_a_narrow_beam_and_with_a_wide_one():
    rows = [row for *_, row in STORED["not empty"]]
    two, wide = (np.array([row[k] - row["greedy"] for row in rows]) for k in ("2", "16"))
    assert two.mean() - half(two) > 0 and wide.mean() - half(wide) > 0
    mean = np.mean([row["1, 16"]["right"] for share, _, row in STORED["cut"] if share])
    assert np.mean([row["16"] for row in rows]) > mean + 0.2
    own = [row for *_, row in OWN["not empty"]]
    assert len(own) == 3 and np.mean([row["2"] - row["greedy"] for row in own]) > 0.02


def halfway(share, how, key):
    return np.array([row[how][key] for with_, _, row in STORED["halfway"] if with_ == share])


def test_a_power_of_a_half_suits_a_narrow_beam_and_a_wide_one_and_a_quarter_leaves_empty_texts():
    greedy, mean = (np.array([row[how]["right"] for share, _, row in STORED["cut"] if share == dates.CUT])
                    for how in ("0, 1", "1, 16"))  # fmt: skip
    for width in (4, 16):
        right = halfway(dates.CUT, f"0.5, {width}", "right")
        assert (right > mean + 0.05).all() and (right - greedy).mean() > 0.03
        assert halfway(dates.CUT, f"0.5, {width}", "empty").max() == 0
        assert 0.2 < np.median(halfway(dates.CUT, f"0.25, {width}", "empty")) < 0.4
        for how in ("0.5", "0.25"):
            assert halfway(0.0, f"{how}, {width}", "empty").max() == 0


def test_the_divided_scores_made_anew_on_the_stored_model_do_as_stored(monkeypatch):
    monkeypatch.setattr(dates, "cut_model", lambda share, seed: model("cut"))
    row, stored = dates.halfway(dates.CUT, 0, count=12), STORED["halfway"][0][-1]
    assert row.keys() == stored.keys() and stored["0.5, 4"]["right"] == stored["0.5, 16"]["right"] == 1
    assert row["0.5, 4"] == row["0.5, 16"] == {"empty": 0, "right": 1}


@pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])
def test_with_clean_data_the_mean_of_a_wide_beam_costs_a_fifth(stored):
    mean = beyond_greedy(stored, 0.0, "1, 16")
    assert -0.25 < mean.mean() < -0.15


def test_agreement_grows_with_the_samples_and_stays_below_greedy_search():
    p, days = model("cut"), pairs(dates.days()[1][:60])
    rng, counts = np.random.default_rng(1), (1, 8, 32)
    right = np.zeros(3)
    for first in range(0, len(days.texts), 18):
        source = ISO.tokens([days.iso[first]])[0]
        drawn = sample(
            seq2seq_step(p),
            seq2seq_encode(np.repeat(source, 32, axis=1), p),
            np.full(32, p.start),
            rng,
            end=WRITTEN.end,
            max_steps=36,
        )
        texts = [WRITTEN.text(tokens) for tokens in drawn.tokens]
        agree = np.array([[shared_pairs(a, b) for b in texts] for a in texts])
        right += [texts[agree[:N, :N].sum(axis=1).argmax()] in days.texts[first : first + 12] for N in counts]
    assert 0.1 < right[0] / 60 < 0.35 < right[1] / 60 < right[2] / 60 < 0.93


def half(values):
    """Half of the 95 % interval of a mean of ten."""
    assert len(values) == 10
    return 2.262 * values.std(ddof=1) / 10**0.5


@pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])
def test_exact_search_finds_what_the_widest_beam_does_or_better_in_a_few_steps(stored):
    for _, _, row in stored["cut"]:
        assert row["exact"]["log_prob"] >= row["0, 16"]["log_prob"] - 1e-5
        assert row["exact"]["calls"][0] < 60 and row["exact"]["calls"][1] < 400


@pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])
def test_least_risk_returns_few_empty_texts_and_is_right_far_more_often_than_one_sample(stored):
    for share, _, row in stored["cut"]:
        assert row["least risk"]["right"] > row["one sample"]["right"] + 0.09
        assert row["least risk"]["empty"] <= (0.1 if share else 0)
    empty, right = (
        np.mean([row["least risk"][key] for share, _, row in stored["cut"] if share]) for key in ("empty", "right")
    )
    assert empty < 0.035 and 0.5 < right < 0.6


@pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])
def test_the_mean_returns_no_empty_texts_and_loses_right_answers_as_the_beam_widens(stored):
    for row in (result for share, _, result in stored["cut"] if share == dates.CUT):
        assert row["1, 4"]["empty"] == 0 < 0.6 < row["0, 4"]["empty"]
        assert row["1, 16"]["right"] < row["1, 4"]["right"] - 0.05


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch", "transformers")
def test_generate_in_transformers_searches_as_the_page_says():
    """In random models. Its defaults: greedy search, and with a beam the mean per token."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"vocab_size": 5, "n_positions": 41, "n_embd": 16, "n_layer": 1, "n_head": 2}
    inputs = {"input_ids": torch.tensor([[0]]), "attention_mask": torch.tensor([[1]])}
    longer = 0
    for seed in range(5):
        torch.manual_seed(seed)
        model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=1, pad_token_id=1)).double().eval()
        with torch.no_grad():
            for a in model.parameters():
                a *= 8 if a.ndim > 1 else 1  # or all tokens are as likely

        def step(past, token, model=model):
            past = (*past, int(token))
            with torch.no_grad():
                return model(input_ids=torch.tensor([past])).logits[0, -1].log_softmax(0).numpy(), past

        def generated(model=model, **options):
            return tuple(model.generate(**inputs, max_new_tokens=7, **options)[0, 1:].tolist())

        ours = [beam_search(step, (), 0, width=4, end=1, max_steps=7, alpha=alpha)[0].tokens for alpha in (0, 1)]
        for alpha, tokens in enumerate(ours):
            assert generated(num_beams=4, length_penalty=float(alpha), early_stopping="never") == tokens
        assert generated(num_beams=4, early_stopping="never") == ours[1]
        first = greedy(step, (), 0, end=1, max_steps=7)
        assert generated() == tuple(first.tokens[: first.lengths])
        longer += len(ours[1]) > len(ours[0])
        run_box("19-beam-search", model=model, inputs=inputs)
    assert longer
