"""Chapter 19: where wider is worse."""

from collections import Counter
from datetime import date

import numpy as np
import pytest
from helpers import load_results, run_box

from experiments import dates
from gru_book import results
from gru_book.models.translator import translate_beam
from gru_book.tasks.dates import ISO, WRITTEN, pairs
from gru_lib.decode import beam_search, greedy
from gru_lib.io import load

STORED, OWN = load_results("dates"), load_results("dates_own")  # the second with other kernels
both = pytest.mark.parametrize("stored", [STORED, OWN], ids=["fixed", "own"])


def rows(stored, share, part="cut"):
    """What ten networks did that learned with this share of their targets empty."""
    found = [row for with_, _, row in stored[part] if with_ == share]
    assert len(found) == 10
    return found


def of(found, how, key="right"):
    return np.array([row[how][key] for row in found])


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


@both
def test_wider_is_worse_where_the_data_was_cut_and_not_where_it_was_not(stored):
    cut, clean = rows(stored, dates.CUT), rows(stored, 0.0)
    assert of(cut, "0, 4", "empty").min() > 0.9 and (of(cut, "0, 16") < 0.1).all() and (of(cut, "0, 1") > 0.1).all()
    assert all(result["empty"] == 0 for row in clean for result in row.values())
    gain = of(clean, "0, 16") - of(clean, "0, 1")
    assert abs(np.median(gain)) < 0.03 and 0.09 < abs(gain).max() < 0.2


@both
def test_exact_search_finds_what_the_widest_beam_does_or_better_in_a_few_steps(stored):
    for _, _, row in stored["cut"]:
        assert row["exact"]["log_prob"] >= row["0, 16"]["log_prob"] - 1e-5 and row["exact"]["calls"][1] < 400


@both
def test_in_the_mean_agreement_stays_below_greedy_search_and_the_mean_per_token_loses_as_the_beam_widens(stored):
    for found in (rows(stored, share) for share in (dates.CUT, 0.0)):
        assert of(found, "one sample").mean() < of(found, "least risk").mean() < of(found, "0, 1").mean()
        assert np.median(of(found, "1, 16")) < np.median(of(found, "1, 4")) - 0.05


def test_a_power_of_a_half_suits_a_narrow_beam_and_a_wide_one():
    cut, halved = rows(STORED, dates.CUT), rows(STORED, dates.CUT, "halfway")
    for width in (4, 16):
        assert (of(halved, f"0.5, {width}") > of(cut, "1, 16") + 0.05).all()
        assert of(halved, f"0.5, {width}", "empty").max() == 0
        clean = of(rows(STORED, 0.0, "halfway"), f"0.5, {width}") - of(rows(STORED, 0.0), "0, 1")
        assert np.median(clean) > -0.02


def test_the_network_and_the_data_are_each_a_reason_for_empty_texts():
    """Taken away one at a time: a smaller share of empty targets, and four times the training."""

    def shares(share, steps, name, stored=STORED):
        found = np.array([row[name] for a, b, _, row in stored["spread"] if (a, b) == (share, steps)])
        assert len(found) == 3
        return found

    assert shares(dates.CUT, 1000, "empty wins").min() > 0.9 and shares(dates.CUT, 4000, "empty wins").min() > 0.8
    assert shares(dates.CUT, 4000, "greedy right").min() == 1
    assert shares(dates.FEW, 1000, "empty wins").min() > 0.2 and shares(dates.FEW, 4000, "empty wins").max() < 0.02
    assert shares(dates.FEW, 1000, "right").mean() == pytest.approx(0.2, abs=0.03)
    assert shares(dates.FEW, 1000, "empty wins", OWN).mean() > 0.3


def test_the_stored_model_does_as_stored(monkeypatch):
    """Greedy search, the shares of the probability, and the divided scores."""
    p, test = load(results.path("dates_cut")).astype(np.float64), pairs(dates.days()[1][:60])
    monkeypatch.setattr(dates, "cut_model", lambda share, seed: p)
    days = test.iso[::18]
    found = [translate_beam(p, ISO.tokens([day])[0][:, 0], width=1, end=WRITTEN.end, max_steps=36)[0] for day in days]
    texts = [WRITTEN.text(one.tokens) for one in found]
    forms = [set(test.texts[18 * n : 18 * n + 3 * dates.WESTERN]) for n in range(60)]
    right = np.mean([text in some for text, some in zip(texts, forms, strict=True)])
    before = next(row for share, seed, row in STORED["cut"] if (share, seed) == (dates.CUT, 0))["0, 1"]
    assert [right, np.mean([text == "" for text in texts])] == pytest.approx(
        [before["right"], before["empty"]], abs=0.02
    )
    (row,) = (row for *run, row in STORED["spread"] if run == [dates.CUT, 1000, 0])
    means = np.mean([dates.shares(p, day) for day in days], axis=0)
    np.testing.assert_allclose(means, [row["right"], row["likeliest"], row["empty"]], atol=0.01)
    halved = dates.halfway(dates.CUT, 0, count=12)
    assert halved["0.5, 4"] == halved["0.5, 16"] == {"empty": 0, "right": 1}


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
