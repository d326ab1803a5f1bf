"""Chapter 17: its stored trainings say what the page says, and can be made again."""

import numpy as np
import pytest
from helpers import results, rng, said

from experiments import dates
from gru_lib import numeric_gradient
from gru_lib.layers import seq2seq_backward, seq2seq_forward
from gru_lib.models.translator import translator_init
from gru_lib.tasks.dates import encode, pairs, split_days


def test_plain_translator_is_right_in_99_percent_on_unseen_days_for_every_seed():
    exact = [row["exact"] for row in results(dates, "translation", "plain")]
    assert len(exact) == 5 and min(exact) > 0.99
    assert said("17-encoder-decoder", "the plain network is right in over 99 % of the pairs for each of five seeds")


def test_fed_networks_all_learn_sooner_and_slow_seeds_that_are_not_fed_learn_the_day_last():
    fed, not_fed, longer = (results(dates, "translation", name) for name in ("plain", "not fed", "not fed, longer"))
    assert 1 <= not_fed[0]["numbers"] / fed[0]["numbers"] < 1.02
    at_half = [next(look[0] for look in row["curve"] if look[1] >= 0.5) for row in fed]
    assert max(at_half) < min(look[0] for row in not_fed for look in row["curve"] if look[1] >= 0.5)
    stuck = [seed for seed, row in enumerate(not_fed) if row["exact"] < 0.5]
    for seed in stuck:
        _, _, year, month, day = not_fed[seed]["curve"][-1]
        assert year < 0.01 and month < 0.1 and day > 0.9
    assert tuple(stuck) == dates.RUNS["not fed, longer"]
    assert longer[0]["exact"] > 0.95 and 0.1 < longer[1]["exact"] < 0.2
    assert longer[1]["curve"][-1][-1] > 0.8  # the day


def test_rate_of_the_fed_networks_is_the_best_of_those_tried_on_the_other_split(monkeypatch):
    for name in ("plain", "not reversed"):
        tried = {lr: results(dates, "tuning", name, lr, 0)[0] for lr in dates.LEARNING_RATES}
        assert tried[dates.SETTINGS[name].get("lr", dates.LR)] == max(tried.values())
    asked, days = [], dates.days
    monkeypatch.setattr(dates, "days", lambda split=1: asked.append(split) or days(split))
    monkeypatch.setattr(dates, "STEPS", 5)
    monkeypatch.setattr(dates, "SHOWN", 20)
    assert 0 <= dates.tuning("plain", 0.02, 0) < 1 and set(asked) == {0}


def test_a_shortened_training_made_anew_reads_the_source_and_gives_the_same_again():
    first, curve = dates.fit(0, steps=500, curve=True)
    assert curve[-1][1] > 0.1 and curve[0][1] < curve[-1][1]  # nobody who does not read gets one in 36,525
    again, _ = dates.fit(0, steps=20)
    np.testing.assert_array_equal(again.flat, dates.fit(0, steps=20)[0].flat)
    assert first.flat.dtype == np.float32


def test_what_a_training_stores_is_what_the_page_reads(monkeypatch):
    monkeypatch.setattr(dates, "test_pairs", lambda: pairs(split_days(seed=1)[1][:20]))
    monkeypatch.setitem(dates.SETTINGS, "plain", {"steps": 5, "units": 4})
    row = dates.translation("plain", 0)
    assert row.keys() == results(dates, "translation", "plain", 0)[0].keys()
    assert row["wrong"] == round(360 * (1 - row["exact"])) and len(row["language"]) == 6 and len(row["form"]) == 3


@pytest.mark.parametrize("way", ["first state", "fed at every step"])
def test_code_reaches_the_encoder_by_each_of_its_two_ways(way):
    """dc = ds_0 + Σ dy[c]. With one of the two ways cut, all that the encoder learns comes by the other."""
    m = translator_init(rng(), 3, 4, dtype=np.float64)
    if way == "first state":
        m.decoder.W_x[m.target.D :] = 0  # the decoder does not look at what it is fed
    else:
        m.decoder.W_h[:], m.decoder.b_z[:] = 0, -800  # or forgets at once
    batch = encode(pairs(split_days(seed=1)[1][:1]))
    lengths = {"source_lengths": batch.source_lengths}

    def loss(encoder):
        whole = m.astype(encoder.dtype)
        whole.encoder.flat[:] = encoder.flat
        return seq2seq_forward(batch.source, batch.target, whole, **lengths)[0]

    right = numeric_gradient(loss, m.encoder)
    found = seq2seq_backward(seq2seq_forward(batch.source, batch.target, m, **lengths)[1], m).encoder
    for name, a in found.items():
        np.testing.assert_allclose(a, right[name], rtol=0, atol=1e-12)
    assert np.abs(found.flat).max() > 1e-3
