"""Chapter 17: stored trainings say what the page says, and can be made again; frameworks' losses."""

import re
from functools import partial

import numpy as np
import pytest
from helpers import load_results, page_says, randomised, results, rng, run_box

from experiments import dates
from gru_book.models.translator import translator_init, translator_loss
from gru_book.tasks.dates import encode, pairs, split_days
from gru_lib import convert, gradcheck, gru_init
from gru_lib.decode import greedy
from gru_lib.layers import seq2seq_encode, seq2seq_forward, seq2seq_init, seq2seq_step

PAGE = "17-encoder-decoder"
FILES = ("dates", "dates_own")  # the second with other kernels


def test_three_of_the_seeds_and_of_chapter_19s_cut_all_are_stored_with_other_kernels_too():
    fixed, own = (load_results(file) for file in FILES)
    names = ("plain", "not reversed", "not fed")
    assert [row[:2] for row in own["translation"]] == [[name, seed] for name in names for seed in range(3)]
    assert [row[:-1] for row in own["cut"]] == [row[:-1] for row in fixed["cut"] if row[-2] < 10]


@pytest.mark.parametrize(("file", "seeds"), [(FILES[0], 10), (FILES[1], 3)])
def test_plain_translator_is_right_in_99_percent_on_unseen_days_for_every_seed(file, seeds):
    exact = [row["exact"] for row in results(file, "translation", "plain")]
    assert len(exact) == seeds and min(exact) > 0.99
    assert page_says(PAGE, "each of ten seeds gets over 99 % of all 36,000 test pairs right")


def test_every_fed_translator_is_as_good_and_of_those_not_fed_half_and_all_whose_decoder_starts_by_keeping():
    names = ("not reversed", "not fed", "not fed, 0.02", "not fed, held")
    ends = {name: [row["exact"] for row in results("dates", "translation", name)] for name in names}
    assert [len(found) for found in ends.values()] == [10, 10, 5, 5]
    assert [sum(exact > 0.99 for exact in found) for found in ends.values()] == [10, 5, 1, 5]
    assert [seed for seed, exact in enumerate(ends["not fed"]) if exact < 0.04] == [1, 4]
    fed, not_fed = (results("dates", "translation", name)[0]["numbers"] for name in ("plain", "not fed"))
    assert 1 <= not_fed / fed < 1.02


def test_an_explorers_net_is_stored_and_warns_of_years_as_its_weights_say_now(monkeypatch):
    monkeypatch.setattr(dates, "test_pairs", lambda: pairs(split_days(seed=1)[1], rng(0).integers(0, 36_000, 6000)))
    found, stored = dates.years("explorer", 0, count=10), results("dates", "years", "explorer")[0]
    assert found.keys() == stored.keys() and found["1949"] == stored["1949"] == ["1994"]
    assert found["warned"] == pytest.approx(stored["warned"], abs=0.08)
    foreign = {year: p for year, p in stored["by year"].items() if not 1950 <= int(year) < 2050}
    assert len(foreign) == 100 and stored["by year"]["1949"] == max(foreign.values()) > stored["known"]
    assert 0.4 < min(foreign.values()) < 0.5


def test_a_readout_finds_the_day_in_the_code_of_a_fed_network_and_not_in_those_that_write_it_wrong():
    for seed in (1, 2):
        assert results("dates", "code", "plain", seed)[0]["linear readout"] > 0.99
    found = [results("dates", "code", "not fed", seed)[0] for seed in (1, 4)]
    assert [round(100 * row["linear readout"]) for row in found] == [6, 14]
    assert max(row["decoder"] for row in found) < 0.04


def test_a_few_rules_and_the_names_of_the_months_read_every_date():
    train_days, test_days = split_days(2000, seed=1)
    some, met = pairs(train_days, rng(0).choice(18 * len(train_days), 2000, replace=False)), {}
    for text, iso in zip(some.texts, some.iso, strict=True):
        for word in re.findall(r"[^\W\d_]{3,}", text):
            met.setdefault(word, set()).add(iso[5:7])
    months = {word: min(found) for word, found in met.items() if len(found) == 1}

    def by_rule(text):
        groups = re.findall(r"\d+", text)
        year = next(group for group in groups if len(group) == 4)
        rest = [group.zfill(2) for group in groups if len(group) < 4]
        if len(rest) == 2:
            month, day = rest if groups[0] == year else rest[::-1]
            return f"{year}-{month}-{day}"
        words = re.findall(r"[^\W\d_]{2,}", text)
        return f"{year}-{next((months[word] for word in words if word in months), '01')}-{rest[0]}"

    test = pairs(test_days)
    assert [by_rule(text) for text in test.texts] == list(test.iso)


def test_three_seeds_end_alike_with_other_kernels():
    for name, apart in (("plain", 0.001), ("not reversed", 0.001), ("not fed", 0.2)):
        found = zip(*(results(file, "translation", name)[:3] for file in FILES), strict=True)
        assert all(abs(one["exact"] - other["exact"]) < apart for one, other in found), name


def test_rate_of_the_fed_networks_is_the_best_of_those_tried_on_the_other_split(monkeypatch):
    for name in ("plain", "not reversed"):
        tried = {lr: results("dates", "tuning", name, lr, 0)[0] for lr in dates.LEARNING_RATES}
        assert tried[dates.SETTINGS[name].get("lr", dates.LR)] == max(tried.values())
    asked, days = [], dates.days
    monkeypatch.setattr(dates, "days", lambda split=1: asked.append(split) or days(split))
    monkeypatch.setattr(dates, "STEPS", 5)
    monkeypatch.setattr(dates, "SHOWN", 20)
    assert 0 <= dates.tuning("plain", 0.02, 0) < 1 and set(asked) == {0}


@pytest.mark.slow
def test_a_shortened_training_made_anew_reads_the_source_and_gives_the_same_again():
    first, curve = dates.fit(0, steps=350, curve=True)
    assert curve[-1][1] > 0.1 and curve[0][1] < curve[-1][1]  # nobody who does not read gets one in 36,525
    again, _ = dates.fit(0, steps=5)
    np.testing.assert_array_equal(again.flat, dates.fit(0, steps=5)[0].flat)
    assert first.flat.dtype == np.float32


def test_what_a_training_stores_is_what_the_page_reads(monkeypatch):
    monkeypatch.setattr(dates, "test_pairs", lambda: pairs(split_days(seed=1)[1][:20]))
    monkeypatch.setitem(dates.SETTINGS, "plain", {"steps": 5, "units": 4})
    row = dates.translation("plain", 0)
    assert row.keys() == results("dates", "translation", "plain", 0)[0].keys()


@pytest.mark.parametrize("way", ["first state", "fed at every step"])
def test_code_reaches_the_encoder_by_each_of_its_two_ways(way):
    """dc = ds_0 + Σ dy[c]. With one of the two ways cut, all that the encoder learns comes by the other."""
    m = translator_init(rng(), 3, 4, dtype=np.float64)
    if way == "first state":
        m.decoder.W_x[m.target.D :] = 0  # the decoder does not look at what it is fed
    else:
        m.decoder.W_h[:], m.decoder.b_z[:] = 0, -800  # or forgets at once
    batch = encode(pairs(split_days(seed=1)[1][:1]))
    _, grads = translator_loss(m, batch)
    assert np.abs(grads.encoder.flat).max() > 1e-3
    assert gradcheck(lambda p: translator_loss(p, batch)[0], m, grads).worst < 1e-10


# ------------------------------------------------------------------------------------------------------ frameworks


@pytest.fixture
def whole():
    """A fed translator whose GRUs reset after the product, and a padded batch: source, target and their lengths."""
    p = randomised(seq2seq_init(rng(), 7, 5, 3, 4, start=4, cell=partial(gru_init, reset_after=True)), rng(), 0.5)
    batch = rng(1).integers(0, 7, (6, 3)), rng(2).integers(0, 4, (4, 3)), np.array([6, 2, 4]), np.array([3, 4, 1])
    loss, _ = seq2seq_forward(batch[0], batch[1], p, source_lengths=batch[2], target_lengths=batch[3])
    return p, batch, loss


def in_torch(p):
    """What the page's code defines, with the weights of `p`."""
    import torch

    names = run_box("17-encoder-decoder", A=7, B=5, D=3, H=4, batches=[])
    for name in ("encoder", "decoder"):
        arrays = convert.to_torch([[getattr(p, name)]])
        names[name].double().load_state_dict({key: torch.tensor(a) for key, a in arrays.items()})
    wanted = {"source_embedding": p.source.E, "target_embedding": p.target.E, "readout": p.out.W.T}
    for name, weight in wanted.items():
        assert names[name].weight.shape == weight.shape
        names[name].double().weight.data = torch.tensor(weight)
    names["readout"].bias.data = torch.tensor(p.out.b)
    return names


@pytest.mark.frameworks("torch")
def test_the_code_of_the_page_computes_our_loss_in_pytorch_and_only_with_packing(whole):
    import torch

    p, (source, target, lengths, target_lengths), loss = whole
    names = in_torch(p)
    marked = torch.tensor(np.where(np.arange(4)[:, None] < target_lengths, target, -100))
    source, lengths = torch.tensor(source), torch.tensor(lengths)
    found = names["loss_of"](source, lengths, marked)
    assert float(found.detach()) == pytest.approx(loss, abs=1e-12)
    found.backward()
    assert all(names[name].weight.grad is not None for name in ("source_embedding", "target_embedding", "readout"))
    padded = names["loss_of"](source, torch.full((3,), len(source)), marked)
    assert abs(float(padded.detach()) - loss) > 1e-3


@pytest.mark.frameworks("torch")
def test_the_code_of_the_page_writes_in_pytorch_what_ours_writes_and_stops_at_the_end_token(whole):
    import torch

    p, (source, _, lengths, _), _ = whole
    state = seq2seq_encode(source, p, lengths=lengths)
    wanted = greedy(seq2seq_step(p), state, np.full(3, p.start), end=None, max_steps=5).tokens
    translate = in_torch(p)["translate"]
    for end in range(5):
        ended = np.cumsum(wanted == end, axis=1) > 0
        steps = 5 if not ended[:, -1].all() else int((~ended).sum(axis=1).max()) + 1
        found = translate(torch.tensor(source), torch.tensor(lengths), end, 5)
        np.testing.assert_array_equal(found.T.numpy(), np.where(ended, end, wanted)[:, :steps])


@pytest.mark.frameworks("torch")
def test_the_code_of_the_page_trains_in_pytorch_and_puts_its_start_token_where_the_source_is(whole):
    import torch

    _, (source, target, lengths, target_lengths), _ = whole
    marked = torch.tensor(np.where(np.arange(4)[:, None] < target_lengths, target, -100))
    batch = torch.tensor(source), torch.tensor(lengths), marked
    torch.manual_seed(0)
    names = run_box(PAGE, A=7, B=5, D=3, H=4, batches=[batch] * 200)
    assert names["loss"].item() < 0.3 < np.log(5)
    assert (names["translate"](*batch[:2], 0, 4)[0] == marked[0]).all()
    names["net"].to("meta")  # a device that is not the default, and that computes no values
    names["encode"] = lambda source, lengths: torch.zeros((1, len(lengths), 4), device=source.device)
    assert names["loss_of"](batch[0].to("meta"), batch[1], marked.to("meta")).device.type == "meta"
