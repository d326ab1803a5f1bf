"""Chapter 18 and page 18b: stored trainings say what the pages say, and can be made again; what frameworks compute."""

import re

import numpy as np
import pytest
from helpers import box, close, load_results, rng, run_box

from conftest import ROOT
from experiments import attention
from gru_book.models.translator import translator_init, translator_loss
from gru_book.tasks.dates import LISTED_ISO, LISTED_WRITTEN, encode, pairs, split_days
from gru_lib.layers import attention_forward, seq2seq


def rows(part, *what, name="attention"):
    return [row[-1] for row in load_results(name)[part] if row[: len(what)] == list(what)]


@pytest.mark.slow
def test_a_shortened_training_made_anew_reads_dates_and_keeps_the_month_in_its_six_states():
    (stored,) = rows("small", "attention", 1000, 0)
    p = attention.fit("attention", attention.TINY["attention"], attention.plain, 0, steps=300)
    assert p.size == stored["parameters"] == 4325
    assert 0.5 < attention.exact(p, encode(attention.shown(), reverse=False)) < stored["exact"]
    again = attention.exchanged(p)
    assert again.keys() <= stored.keys() and again["all six"][1] >= again["blank after"][1] > 0.3


def test_what_a_training_stores_is_what_the_page_reads(monkeypatch):
    monkeypatch.setattr(attention, "SHOWN", 24)
    monkeypatch.setattr(attention, "UNITS", {"attention": 4, "fed": 4})
    monkeypatch.setattr(attention, "TINY", {"attention": 4})
    for part in ("small", "lists"):
        row = attention.PARTS[part][0]("attention", 3, 0)
        assert row.keys() == rows(part, "attention")[0].keys()


def test_the_places_of_the_exchange_are_those_of_the_month():
    for name in attention.MONTHS.values():
        text = attention.BEFORE + name + attention.AFTER
        read = {where: "".join(text[j] for j in places) for where, places in attention.PLACES.items()}
        assert read == {"no state": "", "five letters": name, "blank after": " ", "all six": f"{name} "}


def test_the_month_is_in_the_six_states_of_every_network_and_where_depends_on_the_training():
    found = rows("small")
    assert len(found) == 5 and min(row["exact"] for row in found) > 0.95
    assert all(row["no state"] == [1, 0] and row["all six"] == [0, 1] for row in found)
    letters, blank = ([row[name][1] for row in found] for name in ("five letters", "blank after"))
    assert sum(one == 1 and other == 0 for one, other in zip(letters, blank, strict=True)) == 2
    assert max(blank) == 0.7
    assert 0.66 < found[0]["weight, blank after"] < 0.67  # two thirds
    for row in found:  # the weights say where it is read, and training 0 looks at the blank
        letters, blank = row["weight, five letters"], row["weight, blank after"]
        assert abs(row["five letters"][1] - letters) < 0.2 and abs(row["blank after"][1] - blank) < 0.11
        assert (letters > 0.85) == (row["five letters"] == [0, 1])
    assert np.argmax(found[0]["alignment"][attention.SECOND]) == attention.PLACES["blank after"][0]
    assert found[0]["alignment"][attention.SECOND][attention.PLACES["blank after"][0]] == 0.9


def test_a_list_that_is_too_long_is_measured_by_how_it_begins(monkeypatch):
    """A model that always writes the first three dates rightly and stops."""
    p = translator_init(rng(), 3, 4, source=LISTED_WRITTEN, target=LISTED_ISO, feed=False, attend=True)

    def first_three(p, batch, target):
        wanted = [target.text(tokens) for tokens in batch.target.T]
        return [text[:32] for text in wanted], wanted

    for name, value in (("fit", lambda *_, **__: p), ("SHOWN", 60), ("answers", first_three)):
        monkeypatch.setattr(attention, name, value)
    row = attention.lists("attention", 1, 0)
    assert [row[count] for count in "12345"] == [1, 1, 1, 0, 0] and row["4 begins"] == row["5 begins"] == 1
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
    layer = torch.nn.MultiheadAttention(6, 1, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(6).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(6))
        out, _ = layer(torch.tensor(s), torch.tensor(h), torch.tensor(h), key_padding_mask=~real)
    close(out.numpy(), divided)


@pytest.mark.frameworks("torch")
def test_the_look_back_of_the_page_masks_padding_and_a_mask_of_two_axes_runs_too():
    import torch

    code, _ = box("18-attention")
    s, h, lengths, _ = asked()
    q, k, many = (torch.tensor(a) for a in (np.moveaxis(s[:3], 1, 0).copy(), np.moveaxis(h, 1, 0).copy(), lengths))
    ours = np.moveaxis(attention_forward(s[:3], h, lengths)[0], 0, 1)
    close(run_box("18-attention")["attend"](q, k, many).numpy(), ours)
    exec(code.replace("padded[:, None], ", "padded, "), wrong := {})
    assert abs(wrong["attend"](q, k, many).numpy() - ours).max() > 0.1
    assert wrong["attend"](q[:, :1], k, many).shape == (3, 3, 6)  # one query, and it runs too
    assert run_box("18-attention")["attend"](q, k, many * 0).isnan().all()


@pytest.mark.frameworks("torch")
def test_the_decoder_of_the_page_reads_out_state_and_context_and_a_token_at_a_time_gives_the_same():
    import torch

    torch.manual_seed(0)
    _, h, lengths, _ = asked()
    decoder, h, many = run_box("18-attention")["Decoder"](7, 4, 6).double(), torch.tensor(h).transpose(0, 1), lengths
    before, state = torch.tensor(rng().integers(0, 7, (3, 5))), torch.tensor(rng().normal(size=(1, 3, 6)))
    many = torch.tensor(many)
    with torch.no_grad():
        whole, last = decoder(before, state, h, many)
        s = decoder.gru(decoder.embed(before), state)[0]
        c = attention_forward(s.numpy().swapaxes(0, 1), h.numpy().swapaxes(0, 1), lengths)[0].swapaxes(0, 1)
        close(whole.numpy(), decoder.readout(torch.cat([s, torch.tensor(c)], dim=2)).numpy())
        for t in range(5):
            step, state = decoder(before[:, t : t + 1], state, h, many)
            close(step[:, 0].numpy(), whole[:, t].numpy())
    close(state.numpy(), last.numpy())


@pytest.mark.frameworks("torch")
def test_the_block_of_the_page_computes_its_equations():
    import torch

    block, x = run_box("18b-transformer-block", "class Block")["Block"](24, 4).double(), rng().normal(size=(5, 24))
    assert sum(p.numel() for p in block.parameters()) == 12 * 24**2 + 13 * 24
    p = {name: a.detach().numpy() for name, a in block.named_parameters()}

    def linear(name, a):
        return a @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    def norm(a):
        return (a - a.mean(axis=1, keepdims=True)) / np.sqrt(a.var(axis=1, keepdims=True) + 1e-5)

    heads = []
    for q, k, v in zip(*(np.split(a, 4, axis=1) for a in np.split(linear("qkv", norm(x)), 3, axis=1)), strict=True):
        powers = np.tri(5) * np.exp(q @ k.T / np.sqrt(6))
        heads.append(powers / powers.sum(axis=1, keepdims=True) @ v)
    u = x + linear("mix", np.concatenate(heads, axis=1))
    wanted = u + linear("down", np.maximum(linear("up", norm(u)), 0))
    close(block(torch.tensor(x[None]))[0].detach().numpy(), wanted)


@pytest.mark.frameworks("torch")
def test_with_one_query_is_causal_shows_it_the_first_key_alone():
    import torch

    q, k, v = (torch.tensor(rng(seed).normal(size=(1, 1, 4, 6))) for seed in range(3))
    seen = torch.nn.functional.scaled_dot_product_attention(q[:, :, -1:], k, v, is_causal=True)
    close(seen[0, 0, 0].numpy(), v[0, 0, 0].numpy())
    whole = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    alone = torch.nn.functional.scaled_dot_product_attention(q[:, :, -1:], k, v)
    close(alone[0, 0, 0].numpy(), whole[0, 0, -1].numpy())


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
def test_attention_writes_all_lists_as_long_as_in_training_and_of_longer_ones_three_dates_where_one_code_fails(name):
    found = rows("lists", name=name)
    assert min(row[count] for row in found for count in "123") > 0.99 and max(row["4"] + row["5"] for row in found) == 0
    dates = np.array([row["4 dates"] for row in found])
    assert dates.shape == (10, 6) and dates[:, 2].min() >= 332 and dates.sum() == 10 * 333
    assert max(row["4 begins"] for row in found) < 0.3  # the first three, mostly not all right
    if name == "attention":
        assert dates[:, 2].tolist() == 10 * [333]
    fed = rows("lists fed", "fed", name=name)
    assert len(fed) == (10 if name == "attention" else 5) and found[0]["parameters"] < fed[0]["parameters"]
    for count, least, most in (("1", 0.89, 1), ("2", 0.33, 0.75), ("3", 0, 0.1)):
        assert all(least < row[count] < most for row in fed)
    assert np.median([row["1"] for row in fed]).round(2) == 0.97


def test_a_code_three_times_as_wide_writes_most_lists_of_three():
    found = [row[-1] for row in load_results("attention")["lists fed, wide"]]
    assert len(found) == 3 and max(row["4"] for row in found) == 0
    assert [round(100 * end(row["3"] for row in found)) for end in (min, max)] == [90, 94]
    assert 6.5 < found[0]["parameters"] / rows("lists fed", "fed")[0]["parameters"] < 7  # nearly seven times


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


def test_the_transformer_writes_all_but_a_few_lists_that_are_no_longer_than_those_in_training():
    found = rows("lists", name="lists_torch")
    assert len(found) == 3 and [round(100 * end(row["3"] for row in found)) for end in (min, max)] == [96, 98]
    assert min(row["1"] for row in found) > 0.99 and max(row["4"] for row in found) == 0
    ours = rows("lists")
    assert (ours[0]["parameters"], found[0]["parameters"]) == (13846, 16910)
    assert min(row["3"] for row in ours) == 1 and max(row["4"] for row in ours) == 0


def test_a_head_of_the_second_block_looks_most_at_the_digit_that_is_to_be_written_in_each_of_three_trainings():
    found = rows("backwards", name="lists_torch")
    assert len(found) == 3 and all(row["exact"] == 1 for row in found)
    for row in found:
        right, grid, (block, head) = np.array(row["on the digit"]), np.array(row["grid"]), row["best"]
        assert right.shape == (2, 4) and right[block, head] == right.max() > 0.8
        assert block == 1 and right[0].max() < 0.25
        assert grid.shape == (15, 15) and not np.triu(grid, 1).any()
        close(grid.sum(axis=1), np.ones(15), atol=1e-3)
        assert [row.argmax() for row in grid[7:]] == [7, 6, 5, 4, 3, 2, 1, 0]
        trained = row["trained without"]
        assert trained["mask"][0] < 0.01 and trained["mask"][1] < 0.15 and trained["places"][1] == 0
        assert trained["root"][1] == trained["more than a head"][1] == 1
    trained = found[0]["trained without"]
    assert round(trained["mask"][0], 3) == 0.002 and found[0]["best"] == [1, 0]
    of_mask, of_block = ([row["trained without"][what][1] for row in found] for what in ("mask", "more than a block"))
    assert (round(1000 * max(of_mask)), round(1000 * min(of_block))) == (104, 991)
    close(found[0]["without head"][1], [0.89, 0.70, 0.92, 1.00], atol=0.005)


@pytest.mark.frameworks("torch")
def test_weights_computed_from_queries_and_keys_give_with_the_values_what_the_block_of_the_page_gives():
    import torch

    from experiments import lists_torch

    torch.manual_seed(0)
    page = run_box("18b-transformer-block", "class Block")
    block, x, seen = page["Block"](24, 4), torch.randn(2, 5, 24), []
    product = page["scaled_dot_product_attention"]
    page["scaled_dot_product_attention"] = lambda q, k, v, **options: seen.append(v) or product(q, k, v, **options)
    block.mix.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    block(x)
    found = lists_torch.weights(block, x)
    v, joined = seen
    torch.testing.assert_close((found @ v).transpose(1, 2).reshape(2, 5, 24), joined)


@pytest.mark.frameworks("torch")
def test_pytorchs_own_block_gives_what_the_block_of_the_page_gives():
    import torch

    page = run_box("18b-transformer-block", "class Block")
    block, x, mask = page["Block"](24, 4), torch.randn(2, 5, 24), torch.full((5, 5), -torch.inf).triu(1)
    (call,) = re.findall(
        r"`nn\.(TransformerEncoderLayer\(.*?\))`", (ROOT / "book_text/18b-transformer-block.md").read_text("utf8")
    )
    theirs = eval(f"torch.nn.{call}", {"torch": torch})
    names = {"self_attn.in_proj_": "qkv.", "self_attn.out_proj.": "mix.", "linear1.": "up.", "linear2.": "down."}
    weights = {}
    for name in theirs.state_dict():
        start = next((start for start in names if name.startswith(start)), "")
        weights[name] = block.state_dict()[names.get(start, "") + name.removeprefix(start)]
    theirs.load_state_dict(weights)
    torch.testing.assert_close(theirs(x, src_mask=mask), block(x), rtol=0, atol=1e-5)
    assert block.norm1.eps == 1e-5


@pytest.mark.frameworks("torch")
def test_the_transformer_of_the_page_is_the_one_that_was_trained_and_a_training_begins_again_alike(monkeypatch):
    import torch

    from experiments import lists_torch

    monkeypatch.setattr(attention, "SHOWN", 24)
    torch.manual_seed(0)
    ours, block = lists_torch.Translator(), run_box("18b-transformer-block", "class Block")
    page = run_box("18b-transformer-block", "class Transformer", **block)
    theirs = page["Transformer"](ours.embed.num_embeddings)
    theirs.out = torch.nn.Linear(24, ours.out.out_features)  # the answer has fewer characters than both have
    theirs.load_state_dict(ours.state_dict())
    tokens = torch.arange(10).view(2, 5)
    where = torch.tensor([[0, 1, 2, 3, 4], [0, 1, 2, 0, 1]])
    anew = where + lists_torch.WIDTH * torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])
    torch.testing.assert_close(theirs(tokens, where), ours(tokens, anew))
    row = lists_torch.lists(3, 0)
    assert row == lists_torch.lists(3, 0) and row.keys() == rows("lists", name="lists_torch")[0].keys()
    assert row["parameters"] == rows("lists", name="lists_torch")[0]["parameters"]
    stored = rows("backwards", name="lists_torch")[0]  # its training on digits is the one whose weights are drawn
    found = lists_torch.on_the_digit(lists_torch.looks(page["model"], page["texts"](1000)))
    close(found.numpy(), np.array(stored["on the digit"]), atol=0.03)
    assert [*divmod(int(found.argmax()), 4)] == stored["best"] or found.max() - found[tuple(stored["best"])] < 0.03


@pytest.mark.frameworks("torch")
def test_each_answer_of_the_transformer_stands_behind_its_source_and_padding_changes_nothing():
    import torch

    from experiments import lists_torch

    torch.manual_seed(0)
    m, (_, batch) = lists_torch.Translator(), attention.shown_lists(2)
    tokens, where, said = lists_torch.rows(batch)
    n = int((batch.source_lengths + batch.target_lengths).argmin())
    S, T = int(batch.source_lengths[n]), int(batch.target_lengths[n])
    assert tokens.shape[1] > S + T and (said[n, :S] == -100).all() and (said[n, S + T :] == -100).all()
    assert LISTED_WRITTEN.text(tokens[n, :S].numpy()) == LISTED_WRITTEN.text(batch.source[:S, n])
    assert LISTED_ISO.text(said[n, S : S + T].numpy()) == LISTED_ISO.text(batch.target[:, n])
    np.testing.assert_array_equal(tokens[n, S + 1 : S + T] - LISTED_WRITTEN.size, said[n, S : S + T - 1])
    with torch.no_grad():
        whole, alone = m(tokens, where)[n, : S + T], m(tokens[n : n + 1, : S + T], where[n : n + 1, : S + T])[0]
    torch.testing.assert_close(whole, alone)
