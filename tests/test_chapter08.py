"""Chapter 8: gates set by hand and held, the stored trainings, the explorer's answers."""

from functools import partial

import numpy as np
import pytest
from helpers import load_results, result, run_box

from experiments import explorer_nets, three_stories
from gru_book.cells import ablated_gru_step
from gru_book.models.reader import reader_init
from gru_book.tasks.memory import agreement
from gru_book.widgets.sequence import NETS, SEQUENCE
from gru_lib import gru_forward, sigmoid


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("stories", ("parity_outside", "minimal", 0)),
        ("stories", ("parity_since", "Elman, orthogonal", 0)),
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
def test_every_net_without_a_gate_learned_to_skip_and_elmans_to_start_afresh(file):
    found = {}
    for name, cell, _, row in load_results(file)["stories"]:
        found.setdefault((name, cell), []).append(row["solved"])
    ten = 10 if file == "three_stories" else 3
    for cell in ("no_reset", "shared", "minimal", "no_update"):
        assert found.pop(("parity_outside", cell)) == [True] * ten
    assert found.pop(("parity_since", "Elman, orthogonal")) == [True] * ten
    assert sum(found.pop(("parity_outside", "Elman, orthogonal"))) == (3 if ten == 10 else 1)  # chapter 20 says it
    assert found == {}


def test_the_minimal_gated_unit_is_the_one_whose_gates_are_opposite():
    """r = 1 − z with z the share that is kept."""
    m = three_stories.network(np.random.default_rng(0), "minimal", 5, 3)
    assert m.rnn.convention == "write"
    m.rnn.b_z[:] = -2
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


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_between_the_names_no_net_does_without_r_and_those_from_small_biases_do_without_z(file):
    zero, two, six = ([row for bias, _, row in load_results(file)["names"] if bias == b_z] for b_z in (0, 2, 6))
    nine = 9 if file == "three_stories" else 3
    assert [len(rows) for rows in (zero, two, six)] == [10 if file == "three_stories" else 3] * 3
    assert all(row["r = 0"] < 0.315 for row in zero + two + six)
    assert all(row["z = 0"] > 0.985 for row in zero) and sum(row["z = 0"] > 0.985 for row in two) == nine
    for row in zero + two + six:
        assert row["as trained"] > 0.945 and row["z = 1"] > 0.89
    assert all(row["z = 0"] < 0.765 for row in six)


def test_a_gate_is_held_where_it_is_said_and_nowhere_else():
    m = reader_init(np.random.default_rng(0), 17, 3, 16)
    batch = agreement(np.random.default_rng(1), 64, 9, distance=(1, 7))
    nowhere, everywhere = np.zeros((9, 64), bool), np.ones((9, 64), bool)
    said = gru_forward(batch.xs, None, m.rnn)[0] @ m.out.W + m.out.b
    held = partial(three_stories.held, m, batch._replace(ys=said))
    assert held(nowhere, z=0, r=0) == 1 and held(everywhere) == 1
    assert held(everywhere, z=1) < 1 and held(batch.tokens < 16, z=0) < 1
    kept = batch._replace(ys=np.broadcast_to(m.out.b, said.shape))  # with z at 1 the state stays 0
    assert three_stories.held(m, kept, everywhere, z=1) == 1
    m.rnn.b_r[:] = -40  # r at 0 everywhere
    said = gru_forward(batch.xs, None, m.rnn)[0] @ m.out.W + m.out.b
    m.rnn.b_r[:] = 0
    assert three_stories.held(m, batch._replace(ys=said), everywhere, r=0) == 1


@pytest.mark.frameworks("torch")
def test_the_copy_of_pytorch_s_step_agrees_and_holds_a_gate():
    import torch

    box = run_box("08-three-stories")
    states, gru, xs = box["states"], box["gru"], box["xs"]
    where = torch.ones(xs.shape[:2], dtype=bool)
    assert (states(gru, xs, where, z=1.0) == 0).all()  # nothing is ever written
    where[:, 1:] = False
    for gate in "rz":
        off = (states(gru, xs, where, **{gate: 0.0}) - gru(xs)[0]).abs().amax(dim=(0, 2))
        assert off[0] > 1e-3 and (off[1:] < 1e-6).all()
    for wrong in ((xs[:, 0],), (xs, where)):  # without a batch; a place, and no gate
        with pytest.raises(AssertionError):
            states(gru, *wrong)
    with pytest.raises(AssertionError):
        states(gru, xs, z=0.0)  # a gate, and no place


def test_at_the_break_only_unit_3_of_the_explorers_trained_net_has_both_gates_near_0():
    m = explorer_nets.from_lists(NETS["nets"]["afresh"]["trained"])
    tape = gru_forward(np.eye(m.rnn.D)[SEQUENCE["presets"]["mixed"]][:, None], None, m.rnn)[2]
    gates = np.maximum(tape.gate("r"), tape.gate("z"))[10, 0]
    assert (gates < 0.1).tolist() == [False, False, True, False] and all(np.delete(gates, 2) > 0.4)
