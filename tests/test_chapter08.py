"""Chapter 8: what the page says of hand-set gates, and that its stored trainings can be made again."""

import json

import numpy as np
import pytest

from experiments import three_stories
from gru_lib import gru_forward
from gru_lib.models.hand_set import automaton_gru, hand_set_gru, run_automaton
from gru_lib.tasks.memory import TASKS

STORED = json.loads(three_stories.STORED.read_text("utf8"))


def result(part, *what):
    (row,) = [row[-1] for row in STORED[part] if row[:-1] == list(what)]
    return row


def test_stored_results_hold_every_setting_with_ten_seeds():
    for part, (_, settings) in three_stories.PARTS.items():
        wanted = {(*setting, seed) for setting in settings for seed in three_stories.SEEDS}
        assert {tuple(row[:-1]) for row in STORED[part]} == wanted and len(STORED[part]) == len(wanted), part


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
    again, stored = three_stories.PARTS[part][0](*what), result(part, *what)
    assert again.keys() == stored.keys()
    key = "right at 10" if part == "pronoun" else "right"
    assert (again[key] >= three_stories.SOLVED) == (stored[key] >= three_stories.SOLVED)


def test_results_are_stored_as_they_were_computed(tmp_path, monkeypatch):
    def run(name, seed):
        return {"right": seed / 3, "name": name}

    monkeypatch.setattr(three_stories, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(three_stories, "PARTS", {"one": (run, (("a",), ("b",))), "two": (run, (("c",),))})
    three_stories.main([])
    before = json.loads((tmp_path / "out.json").read_text("utf8"))
    assert before["one"][3] == ["b", 1, {"right": 0.3333, "name": "b"}] and len(before["two"]) == 10
    three_stories.main(["two"])  # the others stay
    assert json.loads((tmp_path / "out.json").read_text("utf8")) == before


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
