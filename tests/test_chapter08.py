"""Chapter 8 and its companion: gates set by hand and held, the stored trainings, the explorer's answers."""

from functools import partial

import numpy as np
import pytest
from helpers import load_results, result

from experiments import explorer_nets, three_stories
from gru_book import results
from gru_book.models.hand_set import automaton_gru, hand_set_gru, run_automaton
from gru_book.models.reader import reader_init, reader_loss, subtractor_accuracy, subtractor_init
from gru_book.tasks.memory import TASKS, agreement, class_bits
from gru_book.tasks.subtraction import random_pairs
from gru_book.widgets.sequence import NETS, SEQUENCE
from gru_lib import Adam, gru_forward, sigmoid, train


@pytest.mark.parametrize(
    ("part", "what"),
    [
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
    stored = load_results(file)

    def solved(part, *what):
        found = [row[-1]["solved"] for row in stored[part] if row[: len(what)] == list(what)]
        return sum(found) / len(found)

    rights = [row[-1]["right"] for part in ("gates", "stories") for row in stored[part] if row[-1]["solved"]]
    assert min(rights) > 0.97  # of fresh sequences, once learned
    for cell in ("GRU", "no_reset", "shared"):
        assert all(solved("gates", cell, T) == 1 for T in (5, 50))
    if file == "three_stories":
        kept = 10 * solved("gates", "no_update, orthogonal", 50)
        assert kept == 8  # without z, over 50 tokens
    for cell in ("GRU", "no_reset", "shared", "no_update"):
        assert all(solved("stories", name, cell) == 1 for name in three_stories.STORIES)
    assert solved("gates", "no_update, orthogonal", 5) == solved("gates", "GRU", 100) == 1
    assert solved("gates", "no_update, orthogonal", 50) > 0.5 > solved("gates", "no_update, orthogonal", 100)
    assert solved("stories", "parity_since", "Elman, orthogonal") == 1
    for start in ("", ", orthogonal"):  # the reset gate alone makes the difference, from either start
        neither, no_z = (solved("stories", "parity_outside", cell + start) for cell in ("Elman", "no_update"))
        assert neither < 0.5 < no_z
    if file == "three_stories":
        text = (results.FOLDER.parents[1] / "book_text" / "08-three-stories.md").read_text("utf8")
        assert 10 * solved("stories", "parity_outside", "Elman, orthogonal") == 3
        assert "Three seeds of ten learn `parity_outside`" in text


@pytest.mark.parametrize(("file", "seeds"), [("three_stories", 10), ("three_stories_own", 3)])  # other kernels
def test_what_gates_do_at_a_break_with_both_kernels(file, seeds):
    def collect(name):
        rows = load_results(file)["stories"]
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

    cuts = [row[-1] for row in load_results(file)["at the break"] if row[0] == "parity_since"]
    assert len(cuts) == seeds
    assert all(row["gates"][0] > 0.999 and row["candidate"][0] < 0.99 for row in cuts)  # they read the mean
    candidate, gates = (np.array([row[f"{what}, token"][0][0] for row in cuts]) for what in ("candidate", "gates"))
    assert gates.max() < 0.95 and candidate.min() > 0.9  # they read a 0: the other way round

    rows = [row for row in load_results(file)["pronoun"] if row[:2] != ["Elman, orthogonal", 0.03]]
    assert len(rows) == 5 * seeds and all(row[-1]["solved"] for row in rows)


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


def test_between_the_names_the_nets_live_by_repeating(names):
    """Nothing kept: hardly an answer less. No old state in the candidate: few right. r at its other end costs less."""
    batch, nets = names
    for m in nets:
        right = {
            how: (answers(batch, m, *how, "words") == batch.ys[-1]).all(axis=1).mean()
            for how in (("z", 0), ("r", 0), ("r", 1))
        }
        assert (answers(batch, m) == batch.ys[-1]).all(axis=1).mean() > 0.98
        assert right["z", 0] > 0.94 and right["r", 0] < 0.3 < 0.65 < right["r", 1] < 0.95


def test_at_a_name_it_is_the_old_name_that_comes_through_an_open_reset_gate(names):
    """r = 1 at names: the old bit wins where the two differ, one name alone is mostly right. r = 0 costs nothing."""
    batch, nets = names
    count = (batch.tokens < 8).sum(axis=0)
    n = np.flatnonzero(count > 1)
    old, new = (np.array([class_bits(t[t < 8])[k] for t in batch.tokens[:, n].T]) for k in (-2, -1))
    for m in nets:
        bits = answers(batch, m, "r", 1, "names")
        right = (bits == batch.ys[-1]).all(axis=1)
        assert 0.4 < right.mean() < 0.6 and right[count == 1].mean() > 0.75
        assert (bits[n] == old)[old != new].mean() > 0.55
        assert (answers(batch, m, "r", 0, "names") == batch.ys[-1]).all(axis=1).mean() > 0.98
        assert (answers(batch, m, "z", 1, "names") == batch.ys[-1]).all(axis=1).mean() < 0.2


def test_the_tidied_subtractors_need_no_update_gate():
    """And of the plain ones some do, some do not."""
    pairs, right = random_pairs(np.random.default_rng(9), 400, 16), {}
    with np.load(results.path("subtraction_nets")) as weights:
        for kind in ("plain", "tidied"):
            m = subtractor_init(np.random.default_rng(0), 10)
            right[kind] = []
            for m.flat[:] in weights[kind]:
                m.rnn.W_xz[:], m.rnn.W_hz[:], m.rnn.b_z[:] = 0, 0, -40
                right[kind].append(subtractor_accuracy(m, pairs).pairs)
    assert right["tidied"] == [1] * 10
    assert min(right["plain"]) < 0.05 and max(right["plain"]) == 1


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
