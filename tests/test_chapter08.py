"""Chapter 8 and its companions: gates set by hand, the stored trainings, the explorer's answers, the frameworks."""

import numpy as np
import pytest
from helpers import ROOT, result, run_box

from experiments import explorer_nets, three_stories
from gru_lib import convert, gru_forward, results, sigmoid
from gru_lib.models.hand_set import automaton_gru, hand_set_gru, run_automaton
from gru_lib.tasks.memory import TASKS
from gru_lib.widgets.sequence import NETS, SEQUENCE

TEXT = (ROOT / "book_text" / "08-three-stories.md").read_text("utf8")


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("opening", ("GRU, b_z = 4", 20, 0.01, 0)),
        ("opening", ("Elman, orthogonal", 50, 0.003, 0)),
        ("gates", ("no_update, orthogonal", 5, 0)),
        ("stories", ("parity_since", "GRU", 0)),
        ("stories", ("last_outside", "no_update", 0)),
        ("pronoun", ("GRU, b_z = 2", 0.01, 0)),
    ],
)
def test_a_training_made_anew_solves_what_the_stored_one_solved(monkeypatch, part, what):
    """The stored ones took at least 600 steps. These end as soon as they are solved."""
    fit = three_stories.fit
    monkeypatch.setattr(three_stories, "fit", lambda *given, least=0: fit(*given))
    again, stored = three_stories.PARTS[part][0](*what), result(three_stories, part, *what)
    assert again.keys() == stored.keys()
    assert again["solved"] == stored["solved"]


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_the_ablations_say_what_the_page_concludes(file):
    stored = results.load(file)

    def solved(part, *what):
        found = [row[-1]["solved"] for row in stored[part] if row[: len(what)] == list(what)]
        return sum(found) / len(found)

    for cell in ("GRU", "no_reset", "shared"):
        assert all(solved("gates", cell, T) == 1 for T in (5, 50))
    for cell in ("GRU", "no_reset", "shared", "no_update"):
        assert all(solved("stories", name, cell) == 1 for name in three_stories.STORIES)
    assert solved("gates", "no_update, orthogonal", 5) == solved("gates", "GRU", 100) == 1
    assert solved("gates", "no_update, orthogonal", 50) > 0.5 > solved("gates", "no_update, orthogonal", 100)
    assert solved("stories", "parity_since", "Elman, orthogonal") == 1
    assert solved("stories", "parity_outside", "Elman, orthogonal") < 0.5


@pytest.mark.parametrize(("file", "seeds"), [("three_stories", 10), ("three_stories_own", 3)])  # other kernels
def test_what_gates_do_at_a_break_and_how_long_their_units_remember_with_both_kernels(file, seeds):
    def collect(name):
        rows = results.load(file)["stories"]
        found = [row[-1] for row in rows if row[:2] == [name, "GRU"]]
        assert len(found) == seeds
        return found

    def both_low(name, kind, limit=0.2):
        return np.mean([np.max([row["units"][gate][kind] for gate in "rz"], axis=0) < limit for row in collect(name)])

    assert max(both_low("parity_since", kind) for kind in ("0", "1", "|")) < 0.05
    assert both_low("first_of_segment", "later") < both_low("first_of_segment", "|") < 0.2
    assert both_low("first_of_segment", "first") > 0.5
    for name in ("parity_since", "first_of_segment"):
        at_break, elsewhere = np.median([row["passed"] for row in collect(name)], axis=0)[:2]
        assert 0.3 < at_break < 0.6 < 0.8 < elsewhere

    def positive(name, gate):
        return np.mean([row["time scale"][gate] > 0 for row in collect(name)])

    for name in ("parity_outside", "parity_since"):
        assert positive(name, "z") == 1 and positive(name, "r") < 0.7
    assert positive("first_of_segment", "z") > 0.6 and positive("first_of_segment", "r") == 1
    assert 0.3 < positive("last_outside", "z") < 0.7 and positive("last_outside", "r") < 0.7
    rows = [row for row in results.load(file)["pronoun"] if row[:2] != ["Elman, orthogonal", 0.03]]
    assert len(rows) == 5 * seeds and all(row[-1]["solved"] for row in rows)


def test_a_unit_that_keeps_a_share_of_its_state_has_the_time_scale_of_that_share():
    rng, share = np.random.default_rng(0), np.array([0.0, 0.5, 0.9])
    hs = np.zeros((200, 2000, 3))
    for t in range(1, 200):
        hs[t] = share * hs[t - 1] + np.sqrt(1 - share**2) * rng.normal(size=(2000, 3))
    lags = [1 + int(np.log(np.exp(-1)) / np.log(a)) if a else 1 for a in share]  # until the power of it is below 1/e
    expected = [sum(a**k for k in range(lag)) for a, lag in zip(share, lags, strict=True)]
    np.testing.assert_allclose(three_stories.time_scales(hs[50:]), expected, rtol=0.03)


def test_rank_correlation_sees_order_only():
    values = np.array([0.1, 3.0, 2.0, 7.0])
    assert three_stories.rank_correlation(values, np.exp(values)) == pytest.approx(1)
    assert three_stories.rank_correlation(values, -values) == pytest.approx(-1)
    assert three_stories.rank_correlation(values, [1, 2, 3, 4]) == pytest.approx(0.8)


def test_the_rate_with_the_best_share_is_chosen_and_steps_break_ties():
    def row(lr, best, steps, cell="GRU"):
        return [cell, 5, lr, 100, {"best": best, "steps": steps}]

    rows = [row(0.003, 0.999, 300), row(0.01, 1.0, 100), row(0.03, 0.8, 50), row(0.003, 1.0, 50, "shared")]
    assert three_stories.best_rate(rows, "GRU", 5) == 0.01
    assert three_stories.best_rate(rows, "shared", 5) == 0.003


def test_a_held_gate_is_constant_and_the_rest_is_as_it_was():
    m = three_stories.network(np.random.default_rng(0), "GRU", 4, 1, 0.0)
    value = np.linspace(0.1, 0.9, three_stories.H)
    held = three_stories.clamp(m, "z", value)
    xs = three_stories.single(TASKS["parity_outside"].draw(np.random.default_rng(0), 5, 6)).xs
    tapes = [gru_forward(xs, None, p.rnn)[2] for p in (m, held)]
    np.testing.assert_allclose(tapes[1].gate("z"), np.broadcast_to(value, (6, 5, 16)), rtol=1e-5)
    np.testing.assert_array_equal(tapes[0].gate("r")[0], tapes[1].gate("r")[0])  # before the states differ


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


# ------------------------------------------------------------------------------- the explorer's answers, on page 8d


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


# ------------------------------------------------------------------------------------------------------- frameworks


# Keras 3.15 on torch asks numpy for an array in a way that numpy 2.5 is to forbid.
@pytest.mark.frameworks("torch", "keras")
def test_pytorch_and_keras_get_the_bias_of_the_update_gate():
    names = run_box("08-three-stories")
    ((p,),) = convert.from_torch(names["gru"].state_dict(), "gru")
    np.testing.assert_array_equal(p.b_z, 4)
    assert max(abs(p.b_r).max(), abs(p.b_n).max(), abs(p.b_hn).max()) <= 2 / np.sqrt(16)
    weights = names["layer"].get_weights()
    (p,) = convert.from_keras(weights, "gru")
    np.testing.assert_array_equal(p.b_z, 4)
    assert not p.b_r.any() and not p.b_n.any() and not p.b_hn.any()
    np.testing.assert_allclose(weights[1] @ weights[1].T, np.eye(16), atol=1e-5)
