"""Chapter 8: gates set by hand and held, the stored trainings, the explorer's answers."""

from functools import partial

import numpy as np
import pytest
from helpers import load_results, result, run_box

from experiments import explorer_nets, three_stories
from gru_book.cells import ablated_gru_step
from gru_book.models.hand_set import automaton_gru, run_automaton
from gru_book.tasks.memory import agreement
from gru_book.widgets.sequence import NETS, SEQUENCE
from gru_lib import gru_forward, sigmoid


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("stories", ("parity_outside", "minimal", 0)),
        ("stories", ("parity_since", "GRU", 0)),
        ("stories", ("parity_outside", "no_update", 0)),
        ("names", (6, 1)),
    ],
)
@pytest.mark.slow
def test_a_training_made_anew_solves_what_the_stored_one_solved(part, what):
    again, stored = three_stories.PARTS[part][0](*what), result(three_stories, part, *what)
    assert again.keys() == stored.keys() and again.get("solved") == stored.get("solved")
    assert again.get("as trained", 0) == pytest.approx(stored.get("as trained", 0), abs=0.05)


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_any_one_gate_can_be_spared_on_the_two_tasks_and_to_skip_not_both(file):
    stored = load_results(file)["stories"]
    assert all(row["solved"] for _, cell, _, row in stored if cell != "Elman, orthogonal")
    neither = [(name, row["solved"]) for name, cell, _, row in stored if cell == "Elman, orthogonal"]
    assert all(solved for name, solved in neither if name == "parity_since")
    assert sum(solved for name, solved in neither if name == "parity_outside") == (3 if file == "three_stories" else 1)


def test_the_minimal_gated_unit_is_the_one_whose_gates_are_opposite():
    """r = 1 − z with z the share that is kept, its bias at the start the same."""
    m = three_stories.network(np.random.default_rng(0), "minimal", 5, 3, b_z=2.0)
    assert m.rnn.convention == "write" and (m.rnn.b_z == -2).all()
    x, h, p = np.eye(5)[:1], np.random.default_rng(1).normal(size=(1, 16)), m.rnn
    r = sigmoid(x @ p.W_xz + h @ p.W_hz + p.b_z)
    n = np.tanh(x @ p.W_xn + (r * h) @ p.W_hn + p.b_n)
    np.testing.assert_allclose(ablated_gru_step(x, h, p)[0], (1 - r) * h + r * n, rtol=1e-6)


def test_the_rate_with_the_best_share_is_chosen_and_steps_break_ties():
    def row(lr, best, steps, cell="GRU"):
        return [cell, 5, lr, 100, {"best": best, "steps": steps}]

    rows = [row(0.003, 0.999, 300), row(0.01, 1.0, 100), row(0.03, 0.8, 50), row(0.003, 1.0, 50, "shared")]
    assert three_stories.best_rate(rows, "GRU", 5) == 0.01
    assert three_stories.best_rate(rows, "shared", 5) == 0.003


def test_float64_rounds_the_switches_to_their_limits():
    assert sigmoid(40.0) == 1 and np.tanh(20.0) == 1 and sigmoid(-40.0) > 0 and 1 + sigmoid(-40.0) == 1


def test_the_automaton_gru_needs_its_reset_gate():
    delta, symbols = [[0, 1], [1, 0]], np.random.default_rng(0).integers(0, 2, (200, 4))  # parity
    p, h0 = automaton_gru(delta)
    states = run_automaton(delta, symbols)
    for expected in (True, False):
        hs, _, _ = gru_forward(np.eye(2)[symbols], np.tile(h0, (4, 1)), p)
        assert ((hs[..., 2] > 0) == (states == 1)).all() == expected
        p.W_xr[:], p.b_r[:] = 0, 40


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_from_one_bias_most_nets_do_without_z_between_the_names_and_from_another_none_does(file):
    """Those that do are those whose n is close to h; all do with z = 1."""
    two, six = ([row for bias, _, row in load_results(file)["names"] if bias == b_z] for b_z in (2, 6))
    nine = 9 if file == "three_stories" else 3
    free = [row["z = 0"] > 0.99 for row in two]
    assert free == [row["n off h"] < 0.12 for row in two] and sum(free) == nine
    for row in two + six:
        assert row["as trained"] > 0.945 and row["z = 1"] > 0.89
    assert all(row["z = 0"] < 0.765 and row["n off h"] > 0.3 for row in six)


def test_z_is_held_where_it_is_said_and_nowhere_else():
    m = three_stories.network(np.random.default_rng(0), "GRU", 17, 3)
    batch = agreement(np.random.default_rng(1), 64, 9, distance=(1, 7))
    nowhere, everywhere = np.zeros((9, 64), bool), np.ones((9, 64), bool)
    said = gru_forward(batch.xs, None, m.rnn)[0] @ m.out.W + m.out.b
    held = partial(three_stories.held, m, batch._replace(ys=said))
    assert held(0, nowhere) == 1 and held(1, everywhere) < 1 and held(0, batch.tokens < 16) < 1
    kept = batch._replace(ys=np.broadcast_to(m.out.b, said.shape))  # with z at 1 the state stays 0
    assert three_stories.held(m, kept, 1, everywhere) == 1


@pytest.mark.frameworks("torch")
def test_the_copy_of_pytorch_s_step_agrees_and_holds_a_gate():
    import torch

    box = run_box("08-three-stories")
    states, gru, xs = box["states"], box["gru"], box["xs"]
    where = torch.ones(xs.shape[:2], dtype=bool)
    assert (states(gru, xs, pin=1.0, where=where) == 0).all()  # nothing is ever written
    where[:, 1:] = False
    off = (states(gru, xs, pin=0.0, where=where) - gru(xs)[0]).abs().amax(dim=(0, 2))
    assert off[0] > 1e-3 and (off[1:] < 1e-6).all()


def test_at_the_break_only_unit_3_of_the_explorers_trained_net_has_both_gates_near_0():
    m = explorer_nets.from_lists(NETS["nets"]["afresh"]["trained"])
    tape = gru_forward(np.eye(m.rnn.D)[SEQUENCE["presets"]["mixed"]][:, None], None, m.rnn)[2]
    gates = np.maximum(tape.gate("r"), tape.gate("z"))[10, 0]
    assert (gates < 0.1).tolist() == [False, False, True, False] and all(np.delete(gates, 2) > 0.4)
