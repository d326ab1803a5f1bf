"""Chapter 8: gates set by hand and held, the stored trainings, the explorer's answers."""

from functools import partial

import numpy as np
import pytest
from helpers import load_results, result, run_box

from experiments import explorer_nets, three_stories
from gru_book.cells import ablated_gru_step
from gru_book.models.hand_set import automaton_gru, hand_set_gru, run_automaton
from gru_book.models.reader import reader_init, reader_loss
from gru_book.tasks.memory import TASKS, agreement
from gru_book.widgets.sequence import NETS, SEQUENCE
from gru_lib import Adam, gru_forward, sigmoid, train


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("stories", ("parity_outside", "minimal", 0)),
        ("stories", ("parity_since", "GRU", 0)),
        ("stories", ("last_outside", "no_update", 0)),
        ("gates", ("GRU", 100, 0)),
        ("gates", ("GRU, z fixed", 100, 1)),
    ],
)
@pytest.mark.slow
def test_a_training_made_anew_solves_what_the_stored_one_solved(part, what):
    again, stored = three_stories.PARTS[part][0](*what), result(three_stories, part, *what)
    assert again.keys() == stored.keys()
    assert again["solved"] == stored["solved"]


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_any_one_gate_can_be_spared_on_the_four_tasks_and_not_both(file):
    stored = load_results(file)
    for name in three_stories.STORIES:
        for cell in ("GRU", "no_reset", "shared", "minimal", "no_update"):
            assert all(row["solved"] for *what, _, row in stored["stories"] if what == [name, cell])
    neither = [row["solved"] for *what, _, row in stored["stories"] if what == ["parity_outside", "Elman, orthogonal"]]
    assert sum(neither) == (3 if file == "three_stories" else 1)
    rows = [row for row in stored["stories"] if row[1] == "Elman, orthogonal" and row[0] != "parity_outside"]
    others = [row["solved"] for *_, row in rows]
    assert file != "three_stories" or (sum(others), len(others)) == (29, 30)


def test_a_fixed_update_gate_is_a_constant_and_training_leaves_it():
    m = three_stories.network(np.random.default_rng(0), "GRU, z fixed", 16, 3, b_z=4.0)
    batch = three_stories.single(TASKS["checksum"].draw(np.random.default_rng(1), 4, 20))
    assert np.ptp(gru_forward(batch.xs, None, m.rnn)[2].gate("z")) == 0
    grads, whole = three_stories.fixed_z_loss(m, batch)[1], reader_loss(m, batch)[1]
    left = (grads.flat != whole.flat).sum()
    assert left == (whole.rnn.W_xz != 0).sum() + (whole.rnn.W_hz != 0).sum() + (whole.rnn.b_z != 0).sum() > 0


def test_the_minimal_gated_unit_is_the_one_whose_gates_are_opposite():
    """r = 1 − z with z the share that is kept, its bias at the start the same."""
    m = three_stories.network(np.random.default_rng(0), "minimal", 5, 3, b_z=2.0)
    assert m.rnn.convention == "write" and (m.rnn.b_z == -2).all()
    x, h, p = np.eye(5)[:1], np.random.default_rng(1).normal(size=(1, 16)), m.rnn
    r = sigmoid(x @ p.W_xz + h @ p.W_hz + p.b_z)
    n = np.tanh(x @ p.W_xn + (r * h) @ p.W_hn + p.b_n)
    np.testing.assert_allclose(ablated_gru_step(x, h, p)[0], (1 - r) * h + r * n, rtol=1e-6)


def test_over_100_tokens_a_constant_near_1_keeps_and_a_gate_that_starts_at_one_half_mostly_does_not():
    stored = load_results("three_stories")
    solved = {
        cell: [row["solved"] for name, _, _, row in stored["gates"] if name == cell] for cell in three_stories.KEEPERS
    }
    assert [sum(found) for found in solved.values()] == [10, 2, 9]
    assert all(len(found) == 10 for found in solved.values())
    assert [{row["lr"] for name, *_, row in stored["gates"] if name == cell} for cell in three_stories.KEEPERS] == [
        {0.03},
        {0.03},
        {0.01},
    ]


def test_the_rate_with_the_best_share_is_chosen_and_steps_break_ties():
    def row(lr, best, steps, cell="GRU"):
        return [cell, 5, lr, 100, {"best": best, "steps": steps}]

    rows = [row(0.003, 0.999, 300), row(0.01, 1.0, 100), row(0.03, 0.8, 50), row(0.003, 1.0, 50, "shared")]
    assert three_stories.best_rate(rows, "GRU", 5) == 0.01
    assert three_stories.best_rate(rows, "shared", 5) == 0.003


def test_float64_rounds_the_switches_to_their_limits():
    assert sigmoid(40.0) == 1 and np.tanh(20.0) == 1
    assert sigmoid(-40.0) > 0 and 1 + sigmoid(-40.0) == 1
    assert round(sigmoid(2.0), 2) == 0.88  # where the sentences' z starts


def test_a_strong_input_can_stand_in_for_the_reset_gate():
    batch, net = TASKS["parity_since"].draw(np.random.default_rng(0), 64, 500), hand_set_gru("parity_since")
    net.p.W_xr[:] = 0
    assert (net.answers(batch.xs) != batch.ys).mean() > 0.3
    net.p.W_xn[2] = -80
    assert (net.answers(batch.xs) == batch.ys).all()


def test_the_automaton_gru_needs_its_reset_gate():
    delta, symbols = [[0, 1], [1, 0]], np.random.default_rng(0).integers(0, 2, (200, 4))  # parity
    p, h0 = automaton_gru(delta)
    states = run_automaton(delta, symbols)
    for expected in (True, False):
        hs, _, _ = gru_forward(np.eye(2)[symbols], np.tile(h0, (4, 1)), p)
        assert ((hs[..., 2] > 0) == (states == 1)).all() == expected
        p.W_xr[:], p.b_r[:] = 0, 40


# -------------------------------------------------------------------------------------------------------- the names


@pytest.fixture(scope="module")
def names():
    """1,024 sentences, and three nets that keep names, as the page trains them."""
    nets = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        m = reader_init(rng, 17, 3, 16)
        m.rnn.b_z[:] = 2
        batches = iter(partial(agreement, rng, 32, 14, distance=(1, 10)), None)
        train(m, reader_loss, batches, Adam(m, 0.01), steps=400, clip_norm=1.0, progress=False)
        nets.append(m)
    return agreement(np.random.default_rng(5), 1024, 24, distance=(1, 20)), nets


def answers(batch, m, gate="", value=0, where=None):
    """The bits after the last word, (N, 3), with a gate held where the tokens are of one kind."""
    p, h = m.rnn, np.zeros((batch.xs.shape[1], 16))
    for x, tokens in zip(batch.xs, batch.tokens, strict=True):
        here = {"names": tokens < 8, "words": (tokens >= 8) & (tokens < 16), None: tokens < 0}[where][:, None]
        r, z = sigmoid(x @ p.W_xr + h @ p.W_hr + p.b_r), sigmoid(x @ p.W_xz + h @ p.W_hz + p.b_z)
        r, z = (np.where(here, value, a) if g == gate else a for g, a in (("r", r), ("z", z)))
        n = np.tanh(x @ p.W_xn + (r * h) @ p.W_hn + p.b_n)
        h = z * h + (1 - z) * n
    return h @ m.out.W + m.out.b > 0


def test_between_the_names_the_update_gate_is_free(names):
    """Nothing kept, or nothing but kept: hardly an answer less. No old state in the candidate: few right."""
    batch, nets = names
    far = agreement(np.random.default_rng(5), 256, 204, distance=(180, 200))
    for m in nets:
        assert (answers(far, m, "z", 1, "words") == far.ys[-1]).all(axis=1).mean() > 0.98
        right = {
            how: (answers(batch, m, *how, "words") == batch.ys[-1]).all(axis=1).mean()
            for how in (("z", 0), ("z", 1), ("r", 0), ("r", 1))
        }
        assert (answers(batch, m) == batch.ys[-1]).all(axis=1).mean() > 0.98
        assert right["z", 0] > 0.94 and right["z", 1] > 0.99 and right["r", 0] < 0.3 < 0.65 < right["r", 1] < 0.95


def test_at_a_name_the_net_must_not_see_the_old_one(names):
    batch, nets = names
    for m in nets:
        right = {
            how: (answers(batch, m, *how, "names") == batch.ys[-1]).all(axis=1).mean()
            for how in (("r", 1), ("r", 0), ("z", 1))
        }
        assert 0.4 < right["r", 1] < 0.6 and right["r", 0] > 0.98 and right["z", 1] < 0.2


def test_with_a_larger_bias_and_more_words_the_nets_also_keep():
    for *_, row in load_results("three_stories")["far"]:
        assert row["right"] > 0.98 and row["z = 0"] < 0.96 and row["z = 1"] >= 0.8 and row["z"] > 0.8


@pytest.mark.frameworks("torch")
def test_the_copy_of_pytorch_s_step_agrees_and_holds_a_gate():
    import torch

    box = run_box("08-three-stories")
    states, gru, xs = box["states"], box["gru"], box["xs"]
    assert (states(gru, xs, hold=1.0) == 0).all()  # nothing is ever written
    assert not torch.allclose(states(gru, xs, hold=0.0), gru(xs)[0])


# ---------------------------------------------------------------------------------------------- the explorer's answers


def trained(task, preset):
    """r, z (T, H) and h (T + 1, H) of the trained net on a sequence of the explorer."""
    m = explorer_nets.from_lists(NETS["nets"][task]["trained"])
    tape = gru_forward(np.eye(m.rnn.D)[SEQUENCE["presets"][preset]][:, None], None, m.rnn)[2]
    return tape.gate("r")[:, 0], tape.gate("z")[:, 0], tape.hs[:, 0]


def test_at_the_break_only_unit_3_has_both_gates_near_0():
    r, z, h = trained("afresh", "mixed")
    assert (np.maximum(r[10], z[10]) < 0.1).tolist() == [False, False, True, False]
    assert all(r[10, :2] > 0.5) and all(z[10, :2] < 0.15) and 0.4 < z[10, 3] < 0.6
    assert all(h[10, :3] < -0.7) and all(h[11, :3] > 0.7)  # what they held is gone


def test_unit_1_drifts_upwards_from_minus_0_7_while_noise_is_read():
    _, _, h = trained("afresh", "quiet")
    assert h[2, 0] == pytest.approx(-0.7, abs=0.05)
    assert all(np.diff(h[2:19, 0]) > 0) and h[19, 0] > 0
