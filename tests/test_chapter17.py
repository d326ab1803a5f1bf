"""Chapter 17: its stored trainings are complete, say what the page says, and can be made again."""

import json

import numpy as np

from experiments import dates
from gru_lib import gru_backward
from gru_lib.layers import seq2seq_backward, seq2seq_forward
from gru_lib.models.translator import translator_init
from gru_lib.ops import linear_backward
from gru_lib.tasks.dates import encode, pairs, split_days

STORED = json.loads(dates.STORED.read_text("utf8"))


def test_stored_results_hold_every_run():
    for part, (_, wanted) in dates.PARTS.items():
        assert [tuple(row[:-1]) for row in STORED[part]] == list(wanted), part
    assert {name: len({row[1] for row in STORED["translation"] if row[0] == name}) >= 3 for name in dates.SETTINGS} == (
        dict.fromkeys(dates.SETTINGS, True)
    )


def test_plain_translator_is_right_in_99_percent_on_unseen_days_for_every_seed():
    exact = [row["exact"] for name, _, row in STORED["translation"] if name == "plain"]
    assert len(exact) == 5 and min(exact) > 0.99


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
    stored = next(result for name, _, result in STORED["translation"] if name == "plain")
    assert row.keys() == stored.keys()
    assert row["wrong"] == round(360 * (1 - row["exact"])) and len(row["language"]) == 6 and len(row["form"]) == 3


def test_code_gets_the_gradients_of_all_places_where_it_is_used():
    """dc = ds_0 + Σ dy[c]: the encoder's gradient is linear in what enters it, and neither part may be left out."""
    rng = np.random.default_rng(0)
    m = translator_init(rng, 3, 4, dtype=np.float64)
    batch = encode(pairs(split_days(seed=1)[1][:1]))
    _, tape = seq2seq_forward(batch.source, batch.target, m, source_lengths=batch.source_lengths)
    (S, N, H), E = tape.shape, m.target.D
    _, encoder_tape, _, decoder_tape, out_cache = tape.caches
    dhs, _ = linear_backward(tape.dlogits, out_cache, m.out)
    dy, ds_0, _ = gru_backward(dhs, None, decoder_tape, m.decoder)
    feed = np.zeros((S, N, H))
    feed[tape.last, np.arange(N)] = dy[..., E:].sum(axis=0)
    one, two = (gru_backward(a, b, encoder_tape, m.encoder)[2].flat for a, b in ((feed, None), (None, ds_0)))
    true = seq2seq_backward(tape, m).encoder.flat
    np.testing.assert_allclose(one + two, true, rtol=1e-10, atol=1e-14)
    together = gru_backward(None, ds_0 + feed[tape.last, np.arange(N)], encoder_tape, m.encoder)[2].flat
    np.testing.assert_allclose(together, true, rtol=1e-10, atol=1e-14)
    assert min(np.abs(one).max(), np.abs(two).max()) > 0.01 * np.abs(true).max()
