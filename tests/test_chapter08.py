"""Chapter 8: what the page says of hand-set gates, and that its stored trainings can be made again."""

import numpy as np
import pytest
from helpers import result

from experiments import three_stories
from gru_lib import gru_forward
from gru_lib.models.hand_set import automaton_gru, hand_set_gru, run_automaton
from gru_lib.tasks.memory import TASKS


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("opening", ("GRU, b_z = 4", 20, 0)),
        ("opening", ("GRU, b_z = 0", 50, 0)),
        ("gates", ("no_update", 5, 0)),
        ("stories", ("parity_since", "GRU", 0)),
        ("stories", ("parity_outside", "Elman", 0)),
        ("pronoun", ("GRU, b_z = 2", 0)),
    ],
)
def test_a_training_made_anew_solves_what_the_stored_one_solved(part, what):
    again, stored = three_stories.PARTS[part][0](*what), result(three_stories, part, *what)
    assert again.keys() == stored.keys()
    key = "right at 10" if part == "pronoun" else "right"
    assert (again[key] >= three_stories.SOLVED) == (stored[key] >= three_stories.SOLVED)


def test_a_held_gate_is_constant_and_the_rest_is_as_it_was():
    m = three_stories.network(np.random.default_rng(0), "GRU", 4, 1, 0.0)
    value = np.linspace(0.1, 0.9, three_stories.H)
    held = three_stories.clamp(m, "z", value)
    xs = three_stories.single(TASKS["parity_outside"].draw(np.random.default_rng(0), 5, 6)).xs
    tapes = [gru_forward(xs, None, p.rnn)[2] for p in (m, held)]
    np.testing.assert_allclose(tapes[1].gate("z"), np.broadcast_to(value, (6, 5, 16)), rtol=1e-5)
    np.testing.assert_array_equal(tapes[0].gate("r")[0], tapes[1].gate("r")[0])  # before the states differ


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
