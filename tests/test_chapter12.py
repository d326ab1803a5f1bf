"""Chapter 12: what the page says of LSTM and GRU, and that its stored trainings can be made again."""

import numpy as np
import pytest
from helpers import load_results, result, rng, run_box

from experiments import lstm_memory
from gru_book.tasks.memory import TASKS
from gru_book.widgets.cells import CELLS
from gru_lib import (
    LSTMState,
    convert,
    elman_forward,
    elman_init,
    gru_forward,
    gru_init,
    lstm_forward,
    lstm_init,
    lstm_step,
    sigmoid,
)


@pytest.mark.parametrize(
    ("part", "what"),
    [("keep", ("LSTM, b_f = ln 39, b_i = -ln 39", 0.01, 0)), ("rewrite", ("GRU, b_z = 0", 0.03, 0))],
)
def test_a_training_made_anew_learns_what_the_stored_one_learned(part, what):
    again, stored = lstm_memory.PARTS[part][0](*what), result(lstm_memory, part, *what)
    assert again.keys() == stored.keys() and again["size"] == stored["size"]
    assert (again["right"] >= 0.98) == (stored["right"] >= 0.98)


@pytest.mark.parametrize(("file", "seeds"), [("lstm_memory", 10), ("lstm_memory_own", 3)])  # the second: other kernels
def test_a_large_forget_bias_helps_to_keep_and_costs_steps_to_rewrite(file, seeds):
    stored, rates = load_results(file), lstm_memory.RATES

    def steps(part, start, rate):
        rows = [row[-1] for row in stored[part] if row[:2] == [start, rate]]
        assert len(rows) == (seeds if part == "keep" else min(seeds, 5))
        return [row["steps"] if row["right"] >= 0.98 else np.inf for row in rows]

    def kept(start):
        return [int(np.isfinite(steps("keep", start, rate)).sum()) for rate in rates]

    one, alone, pair = "LSTM, b_f = 1", "LSTM, b_f = ln 39", "LSTM, b_f = ln 39, b_i = -ln 39"
    six = "LSTM, b_f = 6"
    assert kept(pair) == kept(six) == 3 * [seeds]
    assert kept("GRU, b_z = 0")[-1] == seeds
    assert kept(alone) == {"lstm_memory": [10, 8, 5], "lstm_memory_own": [3, 2, 2]}[file]
    assert sum(kept("LSTM, b_f = 0")) == sum(kept(one)) == 0
    for rate in rates[1:]:
        ends = {start: np.median(steps("rewrite", start, rate)) for start in lstm_memory.STARTS}
        assert 1.5 * ends[one] < ends[pair] < 2.5 * ends[one]
        assert min(ends[alone], ends[six]) > ends[one]
        assert ends["GRU, b_z = 0"] < ends["GRU, b_z = ln 39"]

    for start in (one, alone, pair, six):
        assert np.isinf(steps("rewrite", start, 0.003)).all()


def test_over_a_hundred_tokens_a_large_forget_bias_alone_is_not_enough():
    found = {
        start: sum(row[-1]["right"] >= 0.98 for row in load_results("lstm_memory")["keep a hundred"] if row[0] == start)
        for start in lstm_memory.HUNDRED
    }
    assert len(load_results("lstm_memory")["keep a hundred"]) == 2 * 9
    assert found == {"LSTM, b_f = 7": 1, "LSTM, b_f = ln 99, b_i = -ln 99": 9}


def test_a_sum_that_forgets_a_thousandth_is_ahead_of_all_trained_counters_but_the_lstm_of_8():
    stored, best = load_results("lstm_memory"), {}
    assert all(row[-1]["40"] > 0.98 for part in ("counting", "counting, other biases") for row in stored[part])
    for cell in ("LSTM", "GRU"):
        rows = [row for row in stored["counting, other biases"] if row[0] == cell]
        right = {b: [row[-1]["1000"] for row in rows if row[1] == b] for b in (1, 4.5, 6, 8)}
        assert {len(found) for found in right.values()} == {5}
        right[3] = [row[-1]["1000"] for row in stored["counting"] if row[0] == cell]
        medians = {b: np.median(found) for b, found in right.items()}
        best[cell] = max(medians, key=medians.__getitem__), right
    (b_f, lstm), (b_z, gru) = best["LSTM"], best["GRU"]
    assert (b_f, b_z) == (8, 4.5) and min(lstm[8]) > max(gru[4.5])

    test = lstm_memory.majority(np.random.default_rng(10_001), 200, 1000)
    s, said = np.zeros(200), []
    for row in test.tokens:
        s = 0.999 * s + 1 - 2 * row
        said.append(s > 0.5)
    forgets = (np.array(said) == test.ys[..., 0]).mean()
    others = [found for b, found in lstm.items() if b != 8] + [*gru.values()]
    assert max(np.median(found) for found in others) < forgets < np.median(lstm[8]) < forgets + 0.02


def test_a_counter_made_anew_is_on_its_way():
    """200 of its 1,500 steps."""
    again, stored = lstm_memory.counting("GRU", 0.01, 0, steps=200), result(lstm_memory, "counting", "GRU", 0.01, 0)
    assert again["size"] == stored["size"] and 0.85 < again["40"] < stored["40"]


@pytest.mark.parametrize("name", ["checksum", "parity_outside"])
def test_cells_have_equal_parameters_within_a_hundredth(name):
    D, K = TASKS[name].D, TASKS[name].K
    rng, sizes = np.random.default_rng(0), []
    for start, cell in (("GRU, b_z = 0", "GRU"), ("LSTM, b_f = 1", "LSTM")):
        sizes.append(lstm_memory.network(rng, start, D, K).size)
        assert sizes[-1] == lstm_memory.size(cell, lstm_memory.sizes(D, K)[cell], D, K)
    assert max(sizes) / min(sizes) < 1.01


def coupled(p, lstm):
    """Give an LSTM the weights of a GRU of the convention "write": i is z, f is 1 − i, g is n, o is 1."""
    for a in ("W_x", "W_h", "b_"):
        for mine, other, sign in (("i", "z", 1), ("f", "z", -1), ("g", "n", 1)):
            getattr(lstm, a + mine)[:] = sign * getattr(p, a + other)
        getattr(lstm, a + "o")[:] = 40 if a == "b_" else 0
    return lstm


@pytest.mark.parametrize("seed", range(3))
def test_coupled_lstm_keeps_its_cell_between_the_old_one_and_the_candidate(seed):
    rng = np.random.default_rng(seed)
    p, lstm = gru_init(rng, 3, 5, convention="write"), lstm_init(rng, 3, 5)
    p.flat[:] = rng.normal(size=p.size)
    coupled(p, lstm)
    c0 = rng.normal(size=(4, 5)) * 2
    _, _, tape = lstm_forward(rng.normal(size=(40, 4, 3)), LSTMState(None, c0), lstm)
    np.testing.assert_allclose(tape.gate("f") + tape.gate("i"), 1, rtol=0, atol=1e-15)
    c, g = tape.gate("c"), tape.gate("g")
    before = np.concatenate([c0[None], c[:-1]])
    assert (np.minimum(before, g) - 1e-15 <= c).all() and (c <= np.maximum(before, g) + 1e-15).all()
    assert np.abs(c).max() <= max(1, np.abs(c0).max())


def test_coupled_lstm_is_the_gru_without_reset_but_for_the_tanh():
    """One step from the same small state: h differs by what tanh takes off, and c is the GRU's h."""
    rng = np.random.default_rng(0)
    p, lstm = gru_init(rng, 3, 5, convention="write"), lstm_init(rng, 3, 5)
    p.flat[:] = rng.normal(size=p.size)
    p.W_xr[:], p.W_hr[:], p.b_r[:] = 0, 0, 40
    coupled(p, lstm)
    x, h = rng.normal(size=(6, 3)), rng.uniform(-1, 1, (6, 5))
    state, _ = lstm_step(x, LSTMState(h, h), lstm)
    wanted = gru_forward(x[None], h, p)[1]
    np.testing.assert_allclose(state.c, wanted, rtol=0, atol=1e-14)
    np.testing.assert_allclose(state.h, np.tanh(wanted), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_without_a_bias_a_gate_keeps_here_what_it_loses_there(seed):
    rng = np.random.default_rng(seed)
    p = lstm_init(rng, 4, 6, bias=False)
    p.flat[:] = rng.normal(size=p.size) * 3
    x, zero = rng.normal(size=(50, 4)), np.zeros((50, 6))
    f, mirror = (lstm_step(v, LSTMState(zero, zero), p)[1].f[0] for v in (x, -x))
    np.testing.assert_allclose(f + mirror, 1, rtol=0, atol=1e-15)


def one_unit(b_f):
    """An LSTM of one unit that looks at nothing but what a test sets."""
    p = lstm_init(rng(), 1, 1)
    p.flat[:] = 0
    p.b_f[:] = b_f
    return p


def test_a_forget_bias_of_1_halves_the_cell_every_two_steps():
    T = 20
    c = lstm_forward(np.zeros((T, 1, 1)), LSTMState(None, [[1.0]]), one_unit(b_f=1.0))[1].c.item()
    assert T / -np.log2(c) == pytest.approx(2.2, abs=0.05)


def test_an_output_of_an_lstm_cannot_jump_from_positive_to_below_minus_tanh_1_and_a_grus_can():
    rng, bound = np.random.default_rng(0), np.tanh(1)
    xs = rng.choice([-1.0, 1.0], (200, 50, 1))
    for scale in (1, 10, 100):
        p = lstm_init(rng, 1, 8)
        p.flat[:] = rng.normal(0, scale, p.size)
        hs = lstm_forward(xs, LSTMState(None, rng.normal(0, scale, (50, 8))), p)[0]
        assert (hs[1:][hs[:-1] > 0] >= -bound).all() and (hs[1:][hs[:-1] < 0] <= bound).all()
    p = gru_init(rng, 1, 1)
    p.flat[:] = 0
    p.b_z[:], p.W_xn[:] = -40, 20
    np.testing.assert_array_equal(gru_forward(xs, None, p)[0], xs)


def test_one_unit_of_an_lstm_counts_and_a_gru_cannot_leave_its_box():
    p = lstm_init(np.random.default_rng(0), 2, 1)
    p.flat[:] = 0
    p.b_i[:], p.b_f[:], p.W_xg[:, 0] = 40, 40, (20, -20)
    xs = np.eye(2)[np.zeros((2000, 1), int)]
    assert lstm_forward(xs, None, p)[1].c == 2000
    for convention in ("keep", "write"):
        q = gru_init(np.random.default_rng(0), 2, 1, convention=convention)
        q.flat[:] = np.random.default_rng(1).normal(size=q.size) * 20
        assert np.abs(gru_forward(xs, None, q)[0]).max() <= 1


def known(preset, **change):
    """Steps after which each state of the explorer still differs by 0.2 if the first input has the other sign."""
    shown = CELLS["start"] | CELLS["presets"][preset] | change
    cells = {"elman": elman_init(rng(), 2, 1), "gru": gru_init(rng(), 2, 1), "lstm": lstm_init(rng(), 2, 1)}
    for name, p in cells.items():
        p.flat[:] = 0
        for weights, value in CELLS["weights"][name].items():
            getattr(p, weights)[:] = value
    cells["elman"].W_h[:], cells["gru"].b_z[:], cells["lstm"].b_f[:] = shown["w"], shown["b_z"], shown["b_f"]
    cells["lstm"].b_i[:] = -shown["b_f"] if shown["input_gate"] == "coupled" else 0
    first, *rest = shown["x"]
    xs = np.array([[[x, m] for x in (first, -first)] for m in shown["m"][:1]])
    xs = np.concatenate([xs, [[[x, m]] * 2 for x, m in zip(rest, shown["m"][1:], strict=True)]])  # (T, 2, 2)
    hs, _, tape = lstm_forward(xs, None, cells["lstm"])
    states = {"elman": elman_forward(xs, None, cells["elman"])[0], "gru": gru_forward(xs, None, cells["gru"])[0]}
    states |= {"c": tape.gate("c"), "h": hs}
    return {name: int((np.abs(s[:, 0, 0] - s[:, 1, 0]) >= 0.2).sum()) for name, s in states.items()}


def test_explorer_answers():
    """What the page answers to its prompts: who still knows the first input, and for how many steps."""
    assert known("open") == {"elman": 4, "gru": 24, "c": 24, "h": 24}
    fresh = known("fresh")
    assert (fresh["gru"], fresh["c"]) == (4, 8)


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch", "keras")
def test_pytorch_and_keras_get_the_biases_of_the_box_and_start_as_it_says():
    import keras
    import torch

    names = run_box("12-lstm", "torch.randn(4, 20")
    assert tuple(names["hs"].shape) == (20, 5, 16) and not names["state"][1].requires_grad
    with pytest.raises(IndexError):
        names["lstm"](torch.zeros(20, 5, 3), names["state"][0])
    names = run_box("12-lstm", "unit_forget_bias")
    assert tuple(names["hs"].shape) == (5, 3, 32) and names["h_T"].shape == names["c_T"].shape == (1, 3, 32)
    ((theirs,),) = convert.from_torch(names["lstm"].state_dict(), "lstm")
    for p in (theirs, *convert.from_keras(names["layer"].get_weights(), "lstm")):
        np.testing.assert_allclose([p.b_f, -p.b_i], 3.66, rtol=1e-6)
        assert max(abs(p.b_g).max(), abs(p.b_o).max()) <= 2 / np.sqrt(32)

    fresh = keras.layers.LSTM(32)
    fresh.build((None, None, 8))
    _, W_h, b = fresh.get_weights()
    np.testing.assert_array_equal(b, np.repeat([0, 1, 0, 0], 32))
    np.testing.assert_allclose(W_h @ W_h.T, np.eye(32), atol=1e-5)
    ((p,),) = convert.from_torch(torch.nn.LSTM(8, 32).state_dict(), "lstm")
    assert all(0.9 / np.sqrt(32) < abs(W).max() <= 1 / np.sqrt(32) for W in (p.W_x, p.W_h))
    assert np.abs(sigmoid(p.b_f) - 0.5).max() < 0.1
