"""Chapter 8: gates set by hand and held, the stored trainings, the explorer's answers."""

import json
import re

import numpy as np
import pytest
from helpers import load_results, result, run_box

from conftest import ROOT
from experiments import explorer_nets, three_stories
from gru_book.cells import ablated_gru_step
from gru_book.models.hand_set import hand_set_gru
from gru_book.models.reader import reader_init
from gru_book.tasks.memory import TASKS, agreement, class_bits
from gru_book.widgets.sequence import NETS, SEQUENCE
from gru_lib import gru_forward, gru_init, sigmoid


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("stories", ("parity_outside", "minimal", 0)),
        ("stories", ("parity_outside", "no_update", 0)),
        ("names", (2, 2400, 1)),
    ],
)
@pytest.mark.slow
def test_a_training_made_anew_solves_what_the_stored_one_solved(part, what):
    again, stored = three_stories.PARTS[part][0](*what), result(three_stories, part, *what)
    assert again.keys() == stored.keys() and again.get("solved") == stored.get("solved")
    for name in set(stored) & {"as trained", "kept, 0", "kept, mean", "written, 0", "written, mean"}:
        assert again[name] == pytest.approx(stored[name], abs=0.05)


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_every_net_without_a_gate_learned_to_skip(file):
    found = {}
    for name, cell, _, row in load_results(file)["stories"]:
        found.setdefault((name, cell), []).append(row["solved"])
    ten = 10 if file == "three_stories" else 3
    for cell in ("no_reset", "shared", "minimal", "no_update"):
        assert found.pop(("parity_outside", cell)) == [True] * ten
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


def by_hand(D, H):
    p = gru_init(np.random.default_rng(0), D, H).zeros_like()
    p.b_r[:] = 40
    return p


def test_weights_that_the_page_says_are_those_of_the_library():
    """Keep, start afresh and skip, from the page's sentences alone."""
    text = " ".join((ROOT / "book_text/08-three-stories.md").read_text("utf8").split())

    def said(sentence):
        assert sentence in text, sentence

    said("All weights that we do not name are 0, the state starts at 0, and $b_r = 40$")
    said(r"hold the three bits of the digit as $\pm 1$, so a bit is 1 where $h > 0$: $b_z = 40$, and for a digit")
    said(r"for a digit $W_{xz} = -80$ and $W_{xn} = \pm 20$, the sign by its bit")
    keep = by_hand(16, 3)
    keep.b_z[:], keep.W_xz[:8] = 40, -80
    keep.W_xn[:8] = np.where(class_bits(np.arange(8)) == 1, 20, -20)

    said(r"A 5 has the bits 101: at it $a_z = -40$ and $a_n = (20, -20, 20)$, so $h$ becomes $(1, -1, 1)$")
    five, net = np.eye(16)[5], hand_set_gru("checksum")
    assert (five @ keep.W_xz + keep.b_z).tolist() == [-40] * 3 and (five @ keep.W_xn).tolist() == [20, -20, 20]
    assert gru_forward(five[None, None], None, net.p)[0].ravel().tolist() == [1, -1, 1]

    said(r"read it as odd where $h > \frac12$.")
    said(r"With $r = 1$, $b_n = 20$ and $W_{hn} = -40$ make the candidate the flipped value")
    said("it has $b_z = 40$, $W_{xz} = -80$ for both brackets, and $W_{xn} = 20$ for `<` and $-20$ for `>`")
    said("The parity unit has $b_z = 120$, $W_{xz} = -160$ for `1`, and $W_{hz} = 80$ from the second unit")
    skip = by_hand(4, 2)
    skip.b_n[0], skip.W_hn[0, 0] = 20, -40
    skip.b_z[:], skip.W_xz[1, 0], skip.W_hz[1, 0] = (120, 40), -160, 80
    skip.W_xz[2:, 1], skip.W_xn[2, 1], skip.W_xn[3, 1] = -80, 20, -20

    said("The parity unit alone, with $b_z = 40$ and $W_{xz} = -80$ for `1` and `|`")
    said("For `|` also $W_{xr} = -80$ and $W_{xn} = -40$")
    afresh = by_hand(3, 1)
    afresh.b_z[:], afresh.b_n[:], afresh.W_hn[:] = 40, 20, -40
    afresh.W_xz[1:], afresh.W_xr[2], afresh.W_xn[2] = -80, -80, -40

    for name, p, threshold in (("checksum", keep, 0), ("parity_since", afresh, 0.5), ("parity_outside", skip, 0.5)):
        net = hand_set_gru(name)
        assert net.threshold == threshold
        np.testing.assert_array_equal(net.p.flat, p.flat)


def test_the_parity_unit_of_skip_flips_in_one_case_of_four():
    """The four cells of the page's table."""
    p = hand_set_gru("parity_outside").p
    for token in range(4):
        a_z = [float(p.b_z[0] + p.W_xz[token, 0] + inside * p.W_hz[1, 0]) for inside in (0, -1, 1)]
        assert a_z == ([-40, -120, 40] if token == 1 else [120, 40, 200])


def test_start_afresh_needs_no_reset_gate():
    net = hand_set_gru("parity_since")
    net.p.W_xr[2], net.p.W_xn[2] = 0, -80
    assert (net.p.W_xr == 0).all() and (net.p.W_hr == 0).all() and (sigmoid(net.p.b_r) == 1).all()
    at_break = net.p.b_n + net.p.W_xn[2] + np.array([[-1.0], [0], [1]]) @ net.p.W_hn
    assert at_break.ravel().tolist() == [-20, -60, -100]
    batch = TASKS["parity_since"].draw(np.random.default_rng(8), 16, 10_000)
    np.testing.assert_array_equal(net.answers(batch.xs), batch.ys)


def test_float64_rounds_the_switches_to_their_limits():
    assert sigmoid(40.0) == 1 and np.tanh(20.0) == 1 and sigmoid(-40.0) > 0 and 1 + sigmoid(-40.0) == 1


@pytest.mark.parametrize("file", ["three_stories", "three_stories_own"])
def test_with_z_held_nets_need_more_what_they_write_and_from_6_it_does_not_seem_so_otherwise(file):
    found = {}
    for b_z, steps, _, row in load_results(file)["names"]:
        found.setdefault((b_z, steps), []).append(row)
    assert list(found) == [(0, 2400), (2, 2400), (6, 7200)]
    assert [len(rows) for rows in found.values()] == [10 if file == "three_stories" else 3] * 3
    rows = [row for some in found.values() for row in some]
    assert all(row["as trained"] > 0.99 and row["held"] >= 0.89 for row in rows)
    for kind in (", mean", ", held, mean"):
        assert all(row["written" + kind] < row["kept" + kind] for row in rows)
    assert all(row["z = 1"] > 0.99 and row["z, written"] > row["z"] - 0.01 for row in rows)
    more = sum(row["written, held"] < row["kept, held"] for row in rows)
    assert more >= len(rows) - 1
    if file == "three_stories":
        assert (more, len(rows)) == (29, 30)
    for row in found[6, 7200]:
        assert row["kept"] < row["written"] and row["z, kept"] > 0.9 > 0.8 > row["z"]
    for row in found[0, 2400]:
        assert row["written"] < row["kept"] and abs(row["z, kept"] - row["z"]) < 0.02


def test_the_net_that_the_page_trains_is_the_first_stored_one():
    shown = next(text for text in printed("08-three-stories") if "one net from 2" in text)
    row = result(three_stories, "names", 2, 2400, 0)
    for names, line in (
        (("as trained", "kept", "written"), "z as it comes"),
        (("held", "kept, held", "written, held"), "z held at its mean"),
    ):
        expected = "".join(rf"\s+{100 * row[name]:.0f}" for name in names)
        assert re.search(rf"^{line}{expected}$", shown, re.M)


def printed(name):
    """The text of each output that the notebook has stored."""
    for cell in json.loads((ROOT / f"book/{name}.ipynb").read_text("utf8"))["cells"]:
        for output in cell.get("outputs", []):
            yield "".join(output.get("text", "") or output.get("data", {}).get("text/plain", ""))


def lines():
    return agreement(np.random.default_rng(1), 64, 9, distance=(1, 7))


def test_the_fillers_are_those_between_the_last_name_and_the_end():
    batch = lines()
    for tokens, here in zip(batch.tokens.T, three_stories.after_name(batch).T, strict=True):
        last = max(t for t in range(9) if tokens[t] < 8)
        assert np.flatnonzero(here).tolist() == list(range(last + 1, 8))


def test_what_is_replaced_is_replaced_at_the_fillers_and_nowhere_else():
    m, batch = reader_init(np.random.default_rng(0), 17, 3, 16), lines()
    hs, _, tape = gru_forward(batch.xs, None, m.rnn)
    zs, ns = tape.gate("z"), tape.gate("n")
    np.testing.assert_allclose(three_stories.last_state(m, batch)[0], hs[-1], atol=1e-12)
    one = np.flatnonzero(three_stories.after_name(batch).sum(axis=0) == 1)  # a single filler, at step 8 of 9
    assert len(one) > 3
    for instead, state in (
        ({"kept": 0.25}, 0.25 + (1 - zs[-2]) * ns[-2]),
        ({"written": 0.25}, zs[-2] * hs[-3] + 0.25),
        ({"z": 0.25}, 0.25 * hs[-3] + 0.75 * ns[-2]),
        ({"z": 0.25, "kept": 0.0}, 0.75 * ns[-2]),
    ):
        after = gru_forward(batch.xs[-1:], state, m.rnn)[1]
        np.testing.assert_allclose(three_stories.last_state(m, batch, **instead)[0][one], after[one], atol=1e-12)


def test_means_are_over_lines_and_fillers():
    m, batch = reader_init(np.random.default_rng(0), 17, 3, 16), lines()
    hs, _, tape = gru_forward(batch.xs, None, m.rnn)
    here, z = three_stories.after_name(batch), tape.gate("z")
    kept = z * np.concatenate([np.zeros((1, 64, 16)), hs[:-1]])
    expected = z[here].mean(axis=0), kept[here].mean(axis=0), (hs - kept)[here].mean(axis=0)
    np.testing.assert_allclose(three_stories.last_state(m, batch)[1], expected, atol=1e-12)


def test_z_pinned_at_1_is_the_same_as_leaving_the_fillers_out():
    m = reader_init(np.random.default_rng(0), 17, 3, 16)
    m.rnn.W_xz[8:16] = 1000  # z = 1 at the fillers
    batch = agreement(np.random.default_rng(1), 64, 9, distance=(1, 7))
    hs = gru_forward(batch.xs, None, m.rnn)[0]
    for i in range(64):
        short = batch.xs[(batch.tokens[:, i] < 8) | (batch.tokens[:, i] == 16), i, None]
        np.testing.assert_array_equal(gru_forward(short, None, m.rnn)[0][-1, 0].round(12), hs[-1, i].round(12))


@pytest.mark.frameworks("torch")
def test_the_copy_of_pytorch_s_step_agrees_and_replaces_a_term():
    import torch

    box = run_box("08-three-stories")
    states, gru, xs = box["states"], box["gru"], box["xs"]
    hs, z, kept, written = states(gru, xs)
    torch.testing.assert_close(hs, gru(xs)[0], atol=1e-5, rtol=0)
    assert (kept[0] == 0).all() and (written[0].abs() > 1e-3).any()  # would fail if they were swapped
    assert (states(gru, xs, written=0.0)[0] == 0).all()  # nothing is ever written
    where = torch.zeros(xs.shape[:2], dtype=torch.bool)
    where[-1, 0] = True
    for value in (0.0, kept[where].mean(0)):
        for term, other in (("kept", written), ("written", kept)):
            out = states(gru, xs, where, **{term: value})[0]
            torch.testing.assert_close(out[~where], hs[~where])
            torch.testing.assert_close(out[-1, 0], other[-1, 0] + value)
    n = written[-1, 0] / (1 - z[-1, 0])
    out = states(gru, xs, where, z=torch.full((16,), 0.25), kept=0.0)[0]
    torch.testing.assert_close(out[-1, 0], 0.75 * n)
    with pytest.raises(AssertionError):
        states(gru, xs, where, keep=0.0)
    for layer in (
        torch.nn.GRU(17, 16, batch_first=True),
        torch.nn.GRU(17, 16, 2),
        torch.nn.GRU(17, 16, bidirectional=True),
    ):
        with pytest.raises(AssertionError):
            states(layer, xs)


def test_at_the_break_only_unit_3_of_the_explorers_trained_net_has_both_gates_near_0():
    m = explorer_nets.from_lists(NETS["nets"]["afresh"]["trained"])
    tape = gru_forward(np.eye(m.rnn.D)[SEQUENCE["presets"]["mixed"]][:, None], None, m.rnn)[2]
    r, z = tape.gate("r")[10, 0], tape.gate("z")[10, 0]
    assert (np.maximum(r, z) < 0.1).tolist() == [False, False, True, False] and all(np.delete(r, 2) > 0.55)
    assert (r[2].round(2), z[2].round(2)) == (0.09, 0.03)
