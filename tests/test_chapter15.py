"""Chapter 15: what the page says of stacks and of two directions, and that its stored trainings can be made again."""

from itertools import product

import numpy as np
import pytest
from helpers import check_loss, close, leaves, load_results, randomised, result, results, rng, run_box

from experiments import deep
from gru_book.tasks.ahead import TOKENS, marks
from gru_lib import (
    bidirectional,
    bundle,
    cell_of,
    convert,
    gradcheck,
    gru_init,
    linear_init,
    reverse,
    stack,
    stack_forward,
)


@pytest.mark.parametrize(
    "what",
    [
        ("before", "forward"),
        ("after", "forward"),
        ("after", "backward"),
        ("after", "bidirectional"),
        ("same", "two bidirectional"),
    ],
)
@pytest.mark.slow
def test_a_training_made_anew_is_after_half_of_its_steps_where_the_stored_one_ended(what):
    again, stored = deep.ahead(*what, 0, steps=200), result(deep, "ahead", *what, 0)
    assert again["right"] == pytest.approx(stored["right"], abs=0.05)  # a coin stays a coin


@pytest.mark.parametrize("name", ["forward", "two bidirectional"])
def test_gradient_of_the_tagger_matches_complex_step(name, monkeypatch):
    monkeypatch.setattr(deep, "DTYPE", np.float64)
    source = rng()
    rnn = deep.layers(name, source, TOKENS, 2)
    m = bundle(rnn=rnn, out=linear_init(source, cell_of(rnn).width(rnn), 1))
    batch = marks(source, 5, 8, "same", share=0.5)
    assert batch.asked.any()
    check_loss(lambda m: deep.tag_loss(m, batch), m, 1e-10)


@pytest.mark.parametrize("name", ["bidirectional", "two bidirectional"])
def test_loss_and_accuracy_of_a_tagger_ignore_what_stands_in_the_padding(name, monkeypatch):
    """They would not if `lengths` were left out: a backward layer would read the padding first."""
    monkeypatch.setattr(deep, "DTYPE", np.float64)
    source = rng()
    batch = deep.drawn(1, 200, "same")
    padded = np.arange(deep.T)[:, None] >= batch.lengths
    filled = np.where(padded[..., None], source.normal(size=batch.xs.shape), batch.xs)
    assert padded.any() and not np.array_equal(filled, batch.xs)
    rnn = deep.layers(name, source, TOKENS, 3)
    m = randomised(bundle(rnn=rnn, out=linear_init(source, cell_of(rnn).width(rnn), 1)), source, 0.7)
    (wanted, grads), (found, again) = (deep.tag_loss(m, batch._replace(xs=xs)) for xs in (batch.xs, filled))
    assert float(found) == float(wanted)
    np.testing.assert_array_equal(again.flat, grads.flat)
    assert deep.tag_accuracy(m, batch._replace(xs=filled)) == deep.tag_accuracy(m, batch)


def test_no_sum_of_two_functions_tells_equal_from_different():
    """On many layers: what one bidirectional layer says between two marks is right three times of four
    at most, with a cross-entropy of at least ln 2. With a second layer above it is no such sum."""
    source = rng()
    marked = np.array([[a, 2, b] for a, b in product((0, 1), repeat=2)]).T  # a mark, a letter, another mark
    xs, sign = np.eye(3)[marked], np.array([1, -1, -1, 1])  # equal or different
    most, least, sums = 0, np.inf, []
    for layers in (1, 2):
        p = stack(*(bidirectional(*(gru_init(source, D, 4) for _ in "fb")) for D in (3, 8)[:layers]))
        for _ in range(200):
            hs = cell_of(p).forward(xs, None, randomised(p, source, 2))[0][1]
            said = hs @ source.normal(0, 3, (8, 20)) + source.normal(size=20)
            if layers == 1:
                margin = said * sign[:, None]
                most = max(most, (margin > 0).sum(axis=0).max())
                least = min(least, np.logaddexp(0, -margin).mean(axis=0).min())
            sums.append(np.abs(sign @ said).max())
    assert most == 3 and least >= np.log(2) - 1e-12
    assert max(sums[:200]) < 1e-12 < 1e-3 < np.median(sums[200:])


@pytest.mark.parametrize("make", ["stack", "bidirectional"])
def test_padding_changes_no_real_output(make):
    rng = np.random.default_rng(0)
    pair = gru_init(rng, 2, 3), gru_init(rng, 3 if make == "stack" else 2, 3)
    p = stack(*pair) if make == "stack" else bidirectional(*pair)
    xs = rng.normal(size=(4, 1, 2))
    alone = cell_of(p).forward(xs, None, p)[0]
    padded = np.concatenate([xs, np.full((9, 1, 2), np.nan)])
    np.testing.assert_array_equal(cell_of(p).forward(padded, None, p, lengths=[4])[0][:4], alone)


def test_reversing_the_array_is_wrong_for_every_sequence_but_the_longest():
    xs = np.random.default_rng(0).normal(size=(6, 3, 2))
    right = reverse(xs, [6, 4, 5])
    same = [np.array_equal(right[:length, n], xs[::-1][:length, n]) for n, length in enumerate((6, 4, 5))]
    assert same == [True, False, False]


FILES = ("deep", "deep_own")  # the second with other kernels


def shares(file, part, *what, key="right"):
    return np.array([run[key] for run in results(file, part, *what)])


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("question", "nets"),
    [
        ("before", ("forward", "two forward", "bidirectional", "two bidirectional")),
        ("after", ("backward", "bidirectional", "two bidirectional")),
        ("same", ("two bidirectional",)),
    ],
)
def test_every_seed_of_a_net_answers_what_it_can_know_and_no_other_is_more_than_a_coin(file, question, nets):
    for net in deep.LAYERS:
        found = shares(file, "ahead", question, net)
        assert len(found) == (10 if file == "deep" else 3)
        assert (found.min() > 0.99) if net in nets else (found.max() < 0.53), net


def test_one_bidirectional_layer_learns_to_say_one_half_on_same():
    """Not 75 % right: trained on the loss, it says nearly one half to everything."""
    m, _ = deep.asked_of("same", "bidirectional", 0, 400)
    test = deep.drawn(10_001, 1000, "same")
    hs = cell_of(m.rnn).forward(test.xs, None, m.rnn, lengths=test.lengths)[0]
    says = 1 / (1 + np.exp(-(hs @ m.out.W + m.out.b)))[test.asked]
    assert abs(says - 0.5).max() < 0.06
    assert float(deep.tag_loss(m, test)[0]) == pytest.approx(np.log(2), abs=1e-3)


def test_gradient_of_a_normalised_stack_matches_complex_step():
    source = rng()
    a = source.normal(size=(4, 2, 3))
    rnn = randomised(stack(gru_init(source, 2, 3), gru_init(source, 3, 3), gru_init(source, 3, 3)), source, 0.7)
    xs, lengths = source.normal(size=(4, 2, 2)), [4, 4]
    c = source.normal(size=(4, 2, 3))
    dxs, grads = deep.down(c, deep.up(xs, rnn, lengths)[1], rnn)
    report = gradcheck(lambda xs: (c * deep.up(xs, rnn, lengths)[0]).sum(), {"xs": xs}, {"xs": dxs})
    assert report.worst < 1e-11
    check_loss(lambda p: ((c * deep.up(xs, p, lengths)[0]).sum(), stack(*grads)), rnn, 1e-11)
    out, _ = deep.normalise(a)
    np.testing.assert_allclose((out.mean(axis=-1), out.var(axis=-1)), (0 * out[..., 0], 1 + 0 * out[..., 0]), atol=1e-3)


def test_deep_plain_stacks_do_not_learn_and_residual_ones_do():
    learned = {}
    for count, residual, lr, _, run in load_results("deep")["depth"]:
        learned.setdefault((count, residual), {}).setdefault(lr, []).append(run["right"] > 0.95)
    best = {key: max(map(sum, by.values())) for key, by in learned.items()}
    assert all(sum(found) == 5 for (_, residual), by in learned.items() if residual for found in by.values())
    assert {len(found) for by in learned.values() for found in by.values()} == {5}
    assert {count: best[count, False] for count in deep.DEPTHS} == {4: 5, 8: 5, 16: 3, 24: 0}
    assert [best[count, True] for count in deep.DEPTHS] == [5, 5, 5, 5]
    normalised = {}
    for count, lr, _, run in load_results("deep")["depth, normalised"]:
        normalised.setdefault((count, lr), []).append(run["right"] > 0.95)
    assert {len(found) for found in normalised.values()} == {3} and len(normalised) == 4
    assert all(normalised[16, 0.003]) and not any(normalised[24, 0.003] + normalised[24, 0.01])


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch")
def test_packed_in_pytorch_two_bidirectional_layers_are_ours_and_unpacked_they_read_the_padding():
    from torch.nn.utils.rnn import pack_padded_sequence

    names = run_box("15-deep-and-bidirectional")
    xs, lengths = names["xs"], names["lengths"]
    with pytest.raises(RuntimeError, match="greater than 0"):
        pack_padded_sequence(xs, [5, 0, 4], enforce_sorted=False)
    layers = convert.from_torch(names["rnn"].state_dict(), "gru")
    hs, states, _ = stack_forward(xs.numpy(), None, stack(*(bidirectional(*pair) for pair in layers)), lengths=lengths)
    close((names["hs"].detach(), names["h_n"].detach()), (hs, np.stack(leaves(states))), atol=1e-6)
    assert names["hs"].shape[0] == 6  # total_length, though no sequence is as long
    ends = [hs[length - 1, n, :4] for n, length in enumerate(lengths)], hs[0, :, 4:]
    close(names["last"].detach(), np.concatenate(ends, axis=1), atol=1e-6)
    assert (names["rnn"](xs)[1] - names["h_n"]).abs().max() > 1e-2
