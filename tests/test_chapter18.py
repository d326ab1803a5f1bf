"""Chapter 18: its stored trainings say what the page says, and can be made again; what frameworks compute."""

import numpy as np
import pytest
from helpers import close, load_results, page_says, rng, run_box

from experiments import attention
from gru_book.models.translator import translator_init, translator_loss
from gru_book.results import path
from gru_book.tasks.dates import ISO, LISTED_ISO, LISTED_WRITTEN, WRITTEN, encode, pairs, split_days
from gru_lib.decode import Decoded, greedy
from gru_lib.io import load
from gru_lib.layers import attention_forward, seq2seq, seq2seq_encode, seq2seq_step

PAGE = "18-attention"


def rows(part, *what, name="attention"):
    return [row[-1] for row in load_results(name)[part] if row[: len(what)] == list(what)]


def shares(part, *what, key="exact", name="attention"):
    return np.array([row[key] for row in rows(part, *what, name=name)])


def test_a_shortened_training_made_anew_reads_dates_and_looks_where_the_stored_one_looks():
    """The page's own training is the stored one of seed 0, at its full length."""
    (stored,) = rows("tiny", "attention", 1000, 0)
    again = attention.tiny("attention", 300, 0)
    assert again["parameters"] == stored["parameters"] == 4325
    assert 0.5 < again["exact"] < stored["exact"]
    assert again["year"][1] > 0.9 < stored["year"][1] and again["month"][1] > 0.8 < stored["month"][1]


@pytest.mark.parametrize("part", ["tiny", "filler", "lists", "few"])
def test_what_a_training_stores_is_what_the_page_reads(part, monkeypatch):
    monkeypatch.setattr(attention, "SHOWN", 24)
    monkeypatch.setattr(attention, "UNITS", {"attention": 4, "fed": 4})
    monkeypatch.setattr(attention, "TINY", {"attention": 4})
    run, ((_, size), *_), _ = attention.PARTS[part]
    options = {"steps": 3} if part == "few" else {}
    row = run("attention", 40 if part == "few" else 3, 0, **options)
    assert row.keys() == rows(part, "attention", size)[0].keys()


def test_the_drawn_model_loads_and_is_right():
    p = load(path("attention_both_ways"))
    assert attention.exact(p, encode(attention.shown(), reverse=False)) > 0.9


def test_fields_are_where_the_digits_of_a_date_stand():
    found = pairs(split_days(seed=1)[1][:40])
    for text, iso in zip(found.texts, found.iso, strict=True):
        year, day, month = attention.fields(text)
        assert text[year : year + 4] == iso[:4]
        assert int("".join(text[j] for j in day)) == int(iso[8:])
        assert month is None or int("".join(text[j] for j in month)) == int(iso[5:7])
    assert attention.fields("2026年3月17日")[2] == range(5, 6)


def test_a_list_that_is_too_long_is_measured_by_how_it_begins(monkeypatch):
    """A model that always writes the first three dates rightly and stops."""
    p = translator_init(rng(), 3, 4, source=LISTED_WRITTEN, target=LISTED_ISO, feed=False, attend=True)
    monkeypatch.setattr(attention, "fit", lambda *_, **__: p)
    monkeypatch.setattr(attention, "SHOWN", 60)

    def first_three(p, batch, target):
        wanted = [target.text(tokens) for tokens in batch.target.T]
        return [text[:32] for text in wanted], wanted

    monkeypatch.setattr(attention, "answers", first_three)
    row = attention.lists("attention", 1, 0)
    assert [row[count] for count in "12345"] == [1, 1, 1, 0, 0]
    assert row["4 begins"] == row["5 begins"] == 1
    assert row["4 dates"] == row["5 dates"] == [0, 0, 10, 0, 0, 0]


# ------------------------------------------------------------------------------------------------------ frameworks


def asked():
    """Queries (T, N, K), memory (S, N, K) and which of it is real (N, S)."""
    s, h, lengths = rng().normal(size=(4, 3, 6)), rng(1).normal(size=(5, 3, 6)), np.array([5, 2, 3])
    return s, h, lengths, np.arange(5) < lengths[:, None]


@pytest.mark.frameworks("torch")
def test_pytorch_divides_the_scores_unless_told_otherwise_and_its_masks_mean_opposite_things():
    import torch

    s, h, lengths, real = asked()
    q, k = (torch.tensor(np.moveaxis(a, 1, 0).copy()) for a in (s, h))
    real = torch.tensor(real)
    product = torch.nn.functional.scaled_dot_product_attention
    ours = attention_forward(s, h, lengths)[0]
    divided = attention_forward(s / np.sqrt(6), h, lengths)[0]
    close(np.moveaxis(product(q, k, k, attn_mask=real[:, None], scale=1.0).numpy(), 0, 1), ours)
    close(np.moveaxis(product(q, k, k, attn_mask=real[:, None]).numpy(), 0, 1), divided)
    assert np.abs(ours - divided).max() > 0.1

    layer = torch.nn.MultiheadAttention(6, 1, dtype=torch.float64)
    assert not layer.batch_first and layer.in_proj_weight.shape == (18, 6) and layer.out_proj.weight.shape == (6, 6)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(6).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(6))
        out, _ = layer(torch.tensor(s), torch.tensor(h), torch.tensor(h), key_padding_mask=~real)
    close(out.numpy(), divided)
    heads = torch.nn.MultiheadAttention(6, 2, dtype=torch.float64)
    with torch.no_grad():
        heads.in_proj_weight.copy_(torch.eye(6).repeat(3, 1))
        heads.out_proj.weight.copy_(torch.eye(6))
        out, _ = heads(torch.tensor(s), torch.tensor(h), torch.tensor(h), key_padding_mask=~real)
    both = [attention_forward(s[..., part] / np.sqrt(3), h[..., part], lengths)[0] for part in (np.s_[:3], np.s_[3:])]
    close(out.numpy(), np.concatenate(both, axis=2))


@pytest.mark.frameworks("torch")
def test_pytorch_program_writes_digits_backwards_and_bahdanaus_score_is_a_small_network():
    import torch

    net = run_box("18-attention", "class Translator")["net"]
    torch.manual_seed(1)
    source = torch.randint(1, 10, (50, 6))
    before = torch.cat([torch.zeros(50, 1, dtype=int), source.flip(1)], dim=1)
    said = net(source, source > 0, before).argmax(2)
    assert (said[:, :6] == source.flip(1)).float().mean() > 0.95 and (said[:, 6] == 0).float().mean() > 0.95

    s, h, real = torch.randn(2, 3, 64), torch.randn(2, 5, 64), torch.arange(5) < torch.tensor([[5], [3]])
    additive = run_box("18-attention", "torch.tanh", torch=torch)["Additive"]()
    c, (q, k, v) = additive(s, h, real), (getattr(additive, name).weight.T for name in "qkv")
    for n, S in ((0, 5), (1, 3)):
        e = torch.stack([torch.tanh(s[n, 1] @ q + h[n, j] @ k) @ v for j in range(S)])[:, 0]
        torch.testing.assert_close(c[n, 1], e.softmax(0) @ h[n, :S])


@pytest.mark.frameworks("torch", "keras")
def test_keras_computes_ours_from_query_and_value():
    import keras

    s, h, lengths, real = asked()
    layer = keras.layers.Attention()
    q, k = (np.moveaxis(a, 1, 0).astype("float32") for a in (s, h))
    out = keras.ops.convert_to_numpy(layer([q, k], mask=[None, keras.ops.convert_to_tensor(real)]))
    assert not layer.weights
    close(np.moveaxis(out, 0, 1), attention_forward(s, h, lengths)[0], atol=1e-5)
    other = rng(2).normal(size=k.shape).astype("float32")  # values that are not the keys: query, value, key
    out = keras.ops.convert_to_numpy(layer([q, other, k], mask=[None, keras.ops.convert_to_tensor(real)]))
    weights = attention_forward(s, h, lengths)[1].weights
    close(np.moveaxis(out, 0, 1), np.einsum("tns,nsk->tnk", weights, other), atol=1e-5)


# ------------------------------------------------------------------------------------------------- what the page says


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_a_small_net_learns_on_both_sets_of_kernels_and_eight_of_ten_look_a_place_late(name):
    exact = shares("tiny", "attention", name=name)
    assert len(exact) == 10 and exact.min() > 0.95
    late = shares("tiny", "attention", key="month", name=name)[:, 1]
    assert (late > 0.75).sum() == 8


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_fed_nets_of_that_size_are_all_below_those_with_attention(name):
    assert shares("tiny both ways", "both ways", name=name).min() > 0.95
    least = shares("tiny", "attention", name=name).min()
    fed = shares("tiny fed", "fed", name=name)
    assert len(fed) == (10 if name == "attention" else 3) and 0.5 < fed.min() <= fed.max() < 0.93 < least
    fast = shares("tiny fed, 0.04", "fed", name=name)
    assert len(fast) == 10 and fast.min() < 0.1 < 0.7 < fast.max() < least and fast.mean() < fed.mean()


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_a_single_trial_would_choose_twice_the_rate_for_the_fed_nets(name):
    for kind, rate in (("attention", attention.RATE), ("fed", 2 * attention.RATE)):
        tried = {row[2]: row[-1]["exact"] for row in load_results(name)["tiny rates"] if row[0] == kind}
        assert len(tried) == 4 and max(tried, key=tried.__getitem__) == rate


def test_of_the_nets_that_read_both_ways_two_look_a_place_late_at_half_of_the_years():
    assert page_says(PAGE, "of those that read both ways, two do, in about half of the dates, for the year")
    for name in ("attention", "attention_own"):
        for field in ("month", "day"):
            assert shares("tiny both ways", "both ways", key=field, name=name)[:, 0].min() > 0.85
        years = shares("tiny both ways", "both ways", key="year", name=name)
        late = years[:, 0] < 0.85
        assert late.sum() == 2 and len(late) == 10 and np.abs(years[late] - 0.5).max() < 0.02


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_lists_longer_than_in_training_are_all_wrong_and_written_as_three(name):
    for count in "123":
        assert shares("lists", "attention", key=count, name=name).min() > 0.99
    for count in "45":
        assert shares("lists", "attention", key=count, name=name).max() == 0
    dates = [row["4 dates"] for row in rows("lists", name=name)]
    if name == "attention":
        assert dates == 10 * [[0, 0, 333, 0, 0, 0]]
    else:
        assert np.sum(dates, axis=0).tolist() == [0, 0, 3329, 0, 1, 0] and len(dates) == 10


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_fed_nets_write_short_lists(name):
    for count, least, most in (("1", 0.89, 1), ("2", 0.33, 0.75), ("3", 0, 0.1)):
        fed = shares("lists fed", "fed", key=count, name=name)
        assert len(fed) == (10 if name == "attention" else 5) and least < fed.min() <= fed.max() < most
        assert count != "1" or np.median(fed).round(2) == 0.97


def test_the_first_three_of_four_dates_are_seldom_right():
    begins, own = (100 * shares("lists", "attention", key="4 begins", name=n) for n in ("attention", "attention_own"))
    assert max(begins.max(), own.max()) < 20


@pytest.mark.parametrize(("name", "seeds"), [("attention", 5), ("attention_own", 1)])
def test_without_the_end_token_lists_of_four_stay_wrong_and_the_third_date_is_mixed_with_the_fourth(name, seeds):
    found = rows("lists without end", name=name)
    assert len(found) == seeds
    for row in found:
        assert row["exact"] < 0.05 and min(row["dates"][:2]) > 0.99 and max(row["dates"][2:]) < 0.3
        assert row["mixed"] > 0.5 > 0.15 > row["mixed with another's"]


def test_what_is_measured_of_a_list_that_must_not_end(monkeypatch):
    """A model that writes the first three dates rightly, and then the third again."""
    p = translator_init(rng(), 3, 4, source=LISTED_WRITTEN, target=LISTED_ISO, feed=False, attend=True)
    monkeypatch.setattr(attention, "SHOWN", 60)
    _, batch = attention.shown_lists(4)
    wanted = batch.target.copy()
    wanted[33:43] = wanted[22:32]

    def tells(_):
        def step(state, tokens):
            log_probs = np.full((len(tokens), LISTED_ISO.size), -1.0)
            log_probs[:, LISTED_ISO.end] = 0  # it would end at once
            log_probs[np.arange(len(tokens)), wanted[min(state, 42)]] = -0.5
            return log_probs, state + 1

        return step

    monkeypatch.setattr(attention, "seq2seq_step", tells)
    monkeypatch.setattr(attention, "seq2seq_encode", lambda *_, **__: 0)
    monkeypatch.setattr(attention, "greedy", _greedy_of_counter)
    row = attention.without_end(p)
    assert row["dates"] == [1, 1, 1, 0] and row["exact"] == row["next"] == row["mixed"] == 0


def _greedy_of_counter(step, state, start, *, end, max_steps):
    """Greedy search whose state is a count of the steps."""
    tokens, found = start, []
    for _ in range(max_steps):
        log_probs, state = step(state, tokens)
        tokens = log_probs.argmax(axis=1)
        found.append(tokens)
    return Decoded(np.array(found).T, np.zeros(len(start)), np.zeros(len(start), bool))


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_few_pairs_are_known_by_heart_by_both_and_generalised_by_one(name):
    for kind in ("attention", "fed"):
        assert shares("few", kind, key="seen", name=name).min() == 1
    assert shares("few", "attention", name=name).min() > 0.7 and shares("few", "fed", name=name).max() < 0.15


@pytest.mark.parametrize("name", ["attention", "attention_own"])
def test_filler_four_times_as_long_as_in_training_does_no_harm_and_to_a_fed_net_little(name):
    assert shares("filler", "attention", key="120", name=name).min() > 0.98
    fed = {key: shares("filler fed", "fed", key=key, name=name) for key in ("30", "120")}
    assert len(fed["120"]) == 10 and fed["30"].min() > 0.99
    assert np.median(fed["120"]).round(2) == 0.99 and 0.92 < fed["120"].min() < fed["120"].max() < 0.998


def test_with_one_of_the_two_sums_left_out_the_gradient_check_fails(monkeypatch):
    """dh_j = Σ_t (α_tj dc_t + de_tj s_t): where it is compared, and where it is averaged."""
    p = translator_init(rng(), 3, 4, feed=False, attend=True, dtype=np.float64)
    p.flat[:] = rng().normal(0, 0.5, p.size)
    few = encode(pairs(split_days(seed=1)[1], [0, 3, 7, 17]), reverse=False)
    right = translator_loss(p, few)[1]
    whole = seq2seq.attention_backward
    for left_out in ("averaged", "compared"):

        def cut(dc, cache, left_out=left_out):
            ds, dhs = whole(dc, cache)
            averaged = np.einsum("tns,tnk->snk", cache.weights, dc)
            return ds, dhs - averaged if left_out == "averaged" else averaged

        monkeypatch.setattr(seq2seq, "attention_backward", cut)
        found = translator_loss(p, few)[1]
        assert np.abs(found.flat - right.flat).max() > 0.01 * np.abs(right.flat).max()


def test_the_months_follow_the_state_at_the_sign_in_other_nets_that_look_there_too():
    """Seed 1, trained as on the page for as long as it takes to read."""
    p = attention.fit("attention", attention.TINY["attention"], attention.plain, 1, steps=400)
    two = [(a, b) for a in "123456789" for b in "123456789" if a != b]
    texts = ([f"2026年{pair[k]}月17日" for pair in two] for k in (0, 1))
    states = [seq2seq_encode(WRITTEN.tokens(those)[0], p) for those in texts]
    followed = {}
    for place in (5, 6):
        state, code, hs, real = states[0]
        hs = hs.copy()
        hs[:, place] = states[1][2][:, place]
        tokens = greedy(seq2seq_step(p), (state, code, hs, real), np.full(72, p.start), end=ISO.end, max_steps=12)
        months = [ISO.text(t)[5:7].lstrip("0") for t in tokens.tokens]
        followed[place] = np.mean([m == b for m, (_, b) in zip(months, two, strict=True)])
    assert followed[6] > followed[5] + 0.3
