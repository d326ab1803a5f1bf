"""Chapter 15: what the page says of stacks and of two directions, and that its stored trainings can be made again."""

from itertools import pairwise, product

import numpy as np
import pytest
from helpers import check_loss, close, leaves, randomised, result, results, rng, run_box

from experiments import deep
from gru_lib import (
    bidirectional,
    bundle,
    cell_of,
    convert,
    gru_init,
    linear_init,
    reverse,
    stack,
    stack_forward,
)
from gru_lib.results import load
from gru_lib.tasks.ahead import LETTERS, TOKENS, marks


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("ahead", ("before", "forward", 0)),
        ("ahead", ("after", "forward", 0)),
        ("ahead", ("after", "backward", 0)),
        ("ahead", ("after", "bidirectional", 0)),
        ("ahead", ("same", "two bidirectional", 0)),
        ("delay", (2, 0)),
        ("reversal", ("array, lengths kept", 0)),
    ],
)
def test_a_training_made_anew_is_after_half_of_its_steps_where_the_stored_one_ended(part, what):
    again, stored = deep.PARTS[part][0](*what, steps=300 if part == "delay" else 200), result(deep, part, *what)
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


@pytest.mark.parametrize("name", ["bidirectional", "two bidirectional", "hidden"])
def test_loss_and_accuracy_of_a_tagger_ignore_what_stands_in_the_padding(name, monkeypatch):
    """They would not if `lengths` were left out: a backward layer would read the padding first."""
    monkeypatch.setattr(deep, "DTYPE", np.float64)
    source = rng()
    batch = deep.drawn(1, 200, "same")
    padded = np.arange(deep.T)[:, None] >= batch.lengths
    filled = np.where(padded[..., None], source.normal(size=batch.xs.shape), batch.xs)
    assert padded.any() and not np.array_equal(filled, batch.xs)
    rnn = deep.layers("bidirectional" if name == "hidden" else name, source, TOKENS, 3)
    width, loss, accuracy = cell_of(rnn).width(rnn), deep.tag_loss, deep.tag_accuracy
    m = bundle(rnn=rnn, out=linear_init(source, width, 1))
    if name == "hidden":
        m = bundle(rnn=rnn, meet=linear_init(source, width, 4), out=linear_init(source, 4, 1))
        loss, accuracy = deep.hidden_loss, deep.hidden_accuracy
    m = randomised(m, source, 0.7)
    (wanted, grads), (found, again) = (loss(m, batch._replace(xs=xs)) for xs in (batch.xs, filled))
    assert float(found) == float(wanted)
    np.testing.assert_array_equal(again.flat, grads.flat)
    assert accuracy(m, batch._replace(xs=filled)) == accuracy(m, batch)


def test_no_sum_of_two_functions_tells_equal_from_different():
    """The theorem, on many layers: what one bidirectional layer says between two marks is right three times of four
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


@pytest.mark.parametrize(("question", "no"), [("after", 0.485), ("same", 0.4825)])
def test_the_constant_answers_are_right_as_often_as_the_page_says(question, no):
    test = marks(np.random.default_rng(10_001), 1000, 24, question)
    assert np.mean(test.ys[..., 0][test.asked] == 0) == pytest.approx(no, abs=5e-4)


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


def test_other_kernels_change_no_delay_and_no_reversal():
    for part in ("delay", "reversal"):
        first = [row[-1]["right"] for row in load("deep")[part] if row[-2] < 3]
        np.testing.assert_allclose([row[-1]["right"] for row in load("deep_own")[part]], first, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("file", "learned"), [(FILES[0], 7), (FILES[1], 6)])
def test_on_same_every_stack_learns_and_six_or_seven_hidden_layers_of_twenty(file, learned):
    for part, *what in (("ahead", "same", "two bidirectional"), ("relay",)):
        assert shares(file, part, *what).min() > 0.99
    hidden = shares(file, "hidden")
    assert (hidden > 0.95).sum() == learned and len(hidden) == 20
    assert shares("deep", "hidden rates").max() < 0.55
    assert (shares("deep", "hidden, wider") > 0.95).sum() == 3


@pytest.mark.parametrize("file", FILES)
def test_with_larger_weights_at_the_start_more_hidden_layers_learn_same_and_random_halves_hold_the_marks(file):
    found = shares(file, "hidden, larger")
    assert (found > 0.95).sum() == 22 and len(found) == 40
    assert shares(file, "hidden, larger", 12, 0.03).min() > 0.99
    held = shares(file, "hidden, larger", key="held")
    assert held.min() > 0.87 and held.mean() == pytest.approx(0.905, abs=0.005)
    if file == "deep":
        again = deep.hidden_larger(12, 0.03, 0)
        assert again["right"] > 0.99 and again["held"] == pytest.approx(held[0], abs=1e-3)


@pytest.mark.parametrize("file", FILES)
def test_above_taught_halves_every_hidden_layer_learns_same(file):
    found = shares(file, "taught")
    assert len(found) == 20 and found.min() > 0.99
    assert file != "deep" or deep.taught(12, 0.01, 0)["right"] > 0.99


@pytest.mark.parametrize("file", FILES)
def test_a_relay_has_the_comparison_in_its_lower_layer_and_does_not_use_it(file):
    again = [deep.relay(12, 0)] if file == "deep" else []
    for run in (*again, *results(file, "relay")):
        assert run["right"] > 0.99 and run["probe"] > 0.98 and run["untrained"] < 0.7
        assert run["compared"] < 0.07 and run["marks alike"] < 0.03
        assert run["mark"] > 0.84 and run["letter"] > 0.88 and run["letters alike"] < 0.14


def test_states_are_exchanged_where_a_readout_sees_it(monkeypatch):
    """A relay that sees only whether a unit of the lower layer is there: what is exchanged is what `exchanged` says."""
    batch = deep.drawn(10_004, 1000, "same")
    tokens, same, last = batch.tokens, deep.kinds(batch.tokens), deep.mark_before(batch.tokens)
    source = {"mark": tokens, "same": same, "last": last}
    given = []
    hs = np.stack([*source.values()], axis=-1).astype(float)
    monkeypatch.setattr(deep, "gru_forward", lambda *_, **__: (hs, None, None))
    zeros = np.zeros(batch.ys.shape), None
    monkeypatch.setattr(deep, "upper_logits", lambda m, hs, batch: given.append(hs) or zeros)
    deep.exchanged(bundle(rnn=gru_init(rng(), TOKENS, 3), out=linear_init(rng(), 3, 1)))
    plain, compared, mark, letter, marks_alike, letters_alike = given
    at, letters = same >= 0, (tokens >= 0) & (tokens < LETTERS) & (last >= 0)
    np.testing.assert_array_equal(compared[at][:, :2], np.stack([tokens[at], 1 - same[at]], axis=1))
    np.testing.assert_array_equal(mark[at][:, :2], np.stack([2 * LETTERS + 1 - tokens[at], same[at]], axis=1))
    np.testing.assert_array_equal(marks_alike[at][:, :2], plain[at][:, :2])
    np.testing.assert_array_equal(letter[letters][:, 0], tokens[letters])
    np.testing.assert_array_equal(letter[letters][:, 2], 2 * LETTERS + 1 - last[letters])
    np.testing.assert_array_equal(letters_alike[letters], plain[letters])
    for changed, where in ((compared, at), (mark, at), (letter, letters)):
        np.testing.assert_array_equal(changed[~where], plain[~where])


def test_one_bidirectional_layer_learns_to_say_one_half_on_same():
    """Not 75 % right: trained on the loss, it says nearly one half to everything."""
    m, _ = deep.asked_of("same", "bidirectional", 0, 400)
    test = deep.drawn(10_001, 1000, "same")
    hs = cell_of(m.rnn).forward(test.xs, None, m.rnn, lengths=test.lengths)[0]
    says = 1 / (1 + np.exp(-(hs @ m.out.W + m.out.b)))[test.asked]
    assert abs(says - 0.5).max() < 0.06
    assert float(deep.tag_loss(m, test)[0]) == pytest.approx(np.log(2), abs=1e-3)


def test_deep_plain_stacks_do_not_learn_and_residual_ones_do():
    learned = {}
    for count, residual, lr, _, run in load("deep")["depth"]:
        learned.setdefault((count, residual), {}).setdefault(lr, []).append(run["right"] > 0.95)
    best = {key: max(map(sum, by.values())) for key, by in learned.items()}
    assert all(sum(found) == 5 for (_, residual), by in learned.items() if residual for found in by.values())
    assert {len(found) for by in learned.values() for found in by.values()} == {5}
    assert [best[count, False] for count in deep.DEPTHS] == [5, 5, 3, 0]
    assert [best[count, True] for count in deep.DEPTHS] == [5, 5, 5, 5]
    larger = [round(100 * run[-1]["right"]) for run in load("deep")["depth, larger"]]
    assert sorted(larger) == [50, 55, 55, 56, 88]  # of five, one


def test_states_at_marks_are_those_that_follow_another_mark():
    p, batch = gru_init(rng(), TOKENS, 3), marks(rng(1), 20, 9, "same", share=0.5)
    hs = cell_of(p).forward(batch.xs, None, p)[0]
    wanted = {}  # by step and sequence
    for n, tokens in enumerate(batch.tokens.T):
        at = [t for t, token in enumerate(tokens) if token >= LETTERS]
        wanted |= {(t, n): tokens[t] == tokens[s] for s, t in pairwise(at)}
    states, same = deep.at_marks(p, batch)
    np.testing.assert_array_equal(states[:, :-1], [hs[what] for what in sorted(wanted)])
    np.testing.assert_array_equal(same, [wanted[what] for what in sorted(wanted)])
    assert (states[:, -1] == 1).all() and 0.2 < same.mean() < 0.8


def test_the_stack_of_one_direction_each_has_the_fewest_parameters():
    source = rng()
    one, two = (deep.layers("bidirectional", source, D, 12) for D in (TOKENS, 24))
    relay = stack(gru_init(source, TOKENS, 12), gru_init(source, 12, 12)).size + 13
    assert relay < one.size + 24 * 12 + 12 + 13 < one.size + two.size


def test_gradient_of_a_relay_matches_complex_step(monkeypatch):
    monkeypatch.setattr(deep, "DTYPE", np.float64)
    source = rng()
    rnn, back = deep.layers("one", source, TOKENS, 3), deep.layers("one", source, 3, 3)
    m = bundle(rnn=rnn, back=back, out=linear_init(source, 3, 1))
    batch = deep.drawn(1, 2, "same")
    check_loss(lambda m: deep.relay_loss(m, batch), randomised(m, source, 0.4), 1e-10)


def test_gradient_of_a_hidden_layer_matches_complex_step(monkeypatch):
    monkeypatch.setattr(deep, "DTYPE", np.float64)
    source = rng()
    layers = deep.layers("bidirectional", source, TOKENS, 3)
    m = bundle(rnn=layers, meet=linear_init(source, 6, 4), out=linear_init(source, 4, 1))
    batch = deep.drawn(1, 2, "same")
    check_loss(lambda m: deep.hidden_loss(m, batch), randomised(m, source, 0.4), 1e-10)


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch", "keras")
def test_packed_in_pytorch_two_bidirectional_layers_are_ours_and_unpacked_they_read_the_padding():
    import keras
    import torch

    xs, lengths = torch.randn(6, 3, 2), [6, 2, 4]
    names = run_box("15-deep-and-bidirectional", D=2, H=4, xs=xs, lengths=lengths)
    layers = convert.from_torch(names["rnn"].state_dict(), "gru")
    hs, states, _ = stack_forward(xs.numpy(), None, stack(*(bidirectional(*pair) for pair in layers)), lengths=lengths)
    close((names["hs"].detach(), names["h_n"].detach()), (hs, np.stack(leaves(states))), atol=1e-6)
    assert (names["rnn"](xs)[1] - names["h_n"]).abs().max() > 1e-2
    layer = keras.layers.Bidirectional(keras.layers.GRU(4, return_state=True))
    assert [tuple(a.shape) for a in layer(np.ones((3, 6, 2), np.float32))] == [(3, 8), (3, 4), (3, 4)]


def test_an_elman_layer_above_and_gated_units_without_a_state_learn_same_every_time():
    right = {kind: [row[-1]["right"] for row in load("deep")["above"] if row[0] == kind] for kind in ("elman", "gated")}
    assert all(len(found) == 10 and min(found) > 0.99 for found in right.values())


def test_a_relay_compares_at_the_last_letter_before_the_mark_and_carries_part_of_it_back():
    runs = [row[-1] for row in load("deep")["relay, letters"]]
    assert min(run["own 1"][0] for run in runs) > 0.95 and max(run["own 1"][1] for run in runs) < 0.01
    for d in (2, 4, 6):
        own, nearer = (np.array([run[f"{name} {d}"] for run in runs]) for name in ("own", "nearer"))
        assert 0.5 < own[:, 0].mean() < 0.7 and (nearer[:, 0] - nearer[:, 1] > 0.1).all()
    again = deep.relay_letters(deep.UNITS, 0)
    assert again["own 2"] == pytest.approx(runs[0]["own 2"], abs=1e-4)
