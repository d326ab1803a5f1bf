"""Chapter 13: what the page says of its memories, and that its stored trainings can be made again."""

import inspect
import json
from functools import partial

import numpy as np
import pytest
from helpers import check_loss, randomised, results, run_box

from experiments import other_memories
from gru_book.cells import ntm_forward, ntm_init, scrn_forward, scrn_init, stack_rnn_forward, stack_step
from gru_book.jacobian import jacobian
from gru_book.tasks.adding import adding
from gru_lib import elman_forward, elman_init, gradcheck
from gru_lib.cells import irnn_init

PAGE = "13-other-memories"
FILES = ("other_memories", "other_memories_own")  # the second with other kernels
stored = partial(results, FILES[0])


@pytest.mark.parametrize(
    ("part", "cell"),
    [
        ("starts", "relu"),
        ("starts", "relu, identity"),
        ("starts", "IRNN"),
        ("late", "Elman"),
        ("late", "tanh, identity"),
        ("as large", "GRU, 18 units"),
    ],
)
def test_a_training_made_anew_goes_as_the_stored_one(part, cell):
    """Its first 100 steps; later ones drift apart by rounding on other machines."""
    again = other_memories.add(cell, 50, 100, lr=0.003, steps=100)
    (before,) = stored(part, cell, 0.003, 0)
    np.testing.assert_allclose(again["error"], before["error"][:1], rtol=0.3 if cell == "IRNN" else 0.05)


def test_an_irnn_goes_the_same_way_before_rounding_grows():
    """After 10 steps the two sorts of kernels differ by 6 in a million, after 20 by 3 in a thousand."""
    again = other_memories.add("IRNN", 50, 0, lr=other_memories.best_rate("IRNN"), steps=10)
    np.testing.assert_allclose(again["error"], [0.207168], rtol=1e-4)


def first(run):
    """The step of the first test below 0.05."""
    below = np.flatnonzero(np.array(run["error"]) < 0.05)
    return 100 * (1 + below[0]) if len(below) else np.inf


@pytest.mark.parametrize(("file", "seeds"), [(FILES[0], 10), (FILES[1], 3)])
def test_relu_learns_sooner_from_the_identity_and_with_a_small_W_x_later(file, seeds):
    def steps(part, cell, lr=0.003):
        return [first(run) for run in results(file, part, cell, lr)]

    usual, copied, irnn = (steps("starts", cell) for cell in other_memories.RELUS)
    assert len(usual) == len(copied) == len(irnn) == seeds
    assert max(copied) < min(usual) and max(usual + irnn) < 4000
    assert max(copied) <= 400 and np.median(usual) < 1000 < 1500 <= np.median(irnn)
    (units,) = {run["size"] for run in results(file, "as large")}
    gru = steps("as large", "GRU, 18 units")
    assert len(gru) == seeds and units == 1153 and max(copied) < min(gru) and max(gru) < min(irnn)
    assert {run["size"] for run in results(file, "starts")} == {1153}


def test_tanh_learns_later_than_relu_and_from_the_identity_later_still():
    tanh, hindered = ([first(run) for run in stored("late", cell)] for cell in ("Elman", "tanh, identity"))
    assert len(tanh) == len(hindered) == 5
    assert max(map(first, stored("starts"))) < min(tanh) <= max(tanh) < min(hindered)
    assert np.isfinite(tanh).all() and np.isfinite(hindered).sum() == 1
    assert {run["size"] for run in stored("late")} == {1153}


def test_the_order_is_the_same_at_other_rates_and_at_a_hundred_numbers():
    assert max(first(run) for run in stored("starts")) == 3100
    for rate in (0.001, 0.01):
        found = [[first(run) for run in stored("starts, other rates", cell, rate)] for cell in other_memories.RELUS]
        usual, copied, irnn = map(np.median, found)
        assert [len(steps) for steps in found] == [3, 3, 3] and copied < usual < irnn
        tanh = [first(run) for run in stored("starts, other rates", "Elman", rate)]
        assert len(tanh) == 3 and min(tanh) > 4000
    usual, copied, irnn = ([first(run) for run in stored("hundred", cell)] for cell in other_memories.RELUS)
    assert len(copied) == 3 and max(copied) == 800
    assert np.isfinite(usual).sum() == np.isfinite(irnn).sum() == 2 and min(usual + irnn) > 800


def test_a_fresh_reach_does_not_tell_who_learns_sooner():
    """How far the state at the first mark moves the last, in five fresh networks of 20 rows each."""

    def reach(cell):
        found = []
        for seed in range(5):
            p = other_memories.adder(np.random.default_rng(seed), cell, np.float64).rnn
            xs, _, places = adding(np.random.default_rng(50 + seed), 20, 50)
            steps = jacobian(xs, None, p).steps
            for n, mark in enumerate(places[0]):
                total = np.eye(p.H)
                for step in steps[mark + 1 :, n]:
                    total = step @ total
                found.append(np.linalg.norm(total, 2))
        return np.median(found)

    assert reach("relu") < 1e-13 < 1e-8 < reach("Elman") < 1e-6
    assert reach("tanh, identity") > 0.8
    np.testing.assert_allclose([reach("relu, identity"), reach("IRNN")], 1, rtol=1e-6)


@pytest.mark.slow
def test_a_copying_machine_made_anew_answers_from_the_read_of_the_step_before():
    again = other_memories.followed(250, 1)
    (before,) = stored("copy, followed", 1000, 1)
    assert again.keys() == before.keys()
    for run in (again, before):
        assert run["read a step before"] > 0.95 and run["read in the step"] == 0
        assert abs(run["read of another list"] - run["10"][0]) < 0.01 and run["h of another list"] < 0.03
        assert run["30"][1] > run["30"][0]


def test_a_memory_that_is_left_alone_after_the_last_step_is_the_machine_as_it_is():
    p, xs = ntm_init(np.random.default_rng(0), D=3, H=5, R=4, M=2), np.random.default_rng(1).normal(size=(6, 2, 3))
    as_it_is = ntm_forward(xs, None, p)[0]
    np.testing.assert_array_equal(other_memories.writes_no_more(xs, p, 6), as_it_is)
    stopped = other_memories.writes_no_more(xs, p, 3)
    np.testing.assert_array_equal(stopped[:3], as_it_is[:3])
    assert np.abs(stopped[3:] - as_it_is[3:]).max() > 1e-6


def test_results_are_stored_as_they_were_computed_and_made_once(tmp_path, monkeypatch):
    made = []

    def run(name, seed):
        made.append((name, seed))
        return {"right": seed / 3, "name": name}

    monkeypatch.setattr(other_memories, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(
        other_memories, "PARTS", {"one": (run, (("a",), ("b",)), range(2)), "two": (run, (("c",),), [5])}
    )
    other_memories.main(["one", "two"])
    before = (tmp_path / "out.json").read_bytes()
    assert json.loads(before)["two"][0] == ["c", 5, {"right": 1.667, "name": "c"}]
    other_memories.main(["one", "two"])
    assert len(made) == 5 and (tmp_path / "out.json").read_bytes() == before


@pytest.mark.parametrize("file", FILES)
def test_answers_come_from_the_read_before_and_end_where_the_rows_do_once_writing_stops(file):
    runs = results(file, "copy, followed", 1000)
    assert len(runs) == (10 if file == FILES[0] else 3)
    for run in runs:
        assert run["read a step before"] > 0.97 and run["read in the step"] == 0
        assert abs(run["read of another list"] - run["10"][0]) < 0.01 and run["h of another list"] < 0.03
        assert run["20"][0] >= 0.9 and run["32"][0] < 0.9 and run["32"][1] > run["32"][0]
        assert max(run["write moves up"], run["write moves down"]) > 0.99
    assert sum(run["write moves down"] > 0.99 for run in runs) == (file == FILES[0])
    assert np.median([run["32"][1] for run in runs]) == 1


def test_each_cell_has_the_rate_that_both_sets_of_kernels_choose():
    for cell in ("IRNN", "GRU", "LSTM"):
        tried = {
            lr: np.median([run["error"][-1] for run in results(FILES[1], "rates", cell, lr)])
            for lr in other_memories.RATES
        }
        assert min(tried, key=tried.__getitem__) == other_memories.best_rate(cell)


def test_two_units_and_no_gate_add_at_any_length_and_one_of_them_keeps_nothing():
    p = elman_init(np.random.default_rng(0), D=2, H=2, activation="relu")
    p.W_x[:], p.W_h[:], p.b[:] = [[1, 0], [1, 0]], [[0, 1], [0, 1]], [-1, 0]
    for T in (2, 50, 1000):
        xs, ys, _ = adding(np.random.default_rng(T), 20, T)
        hs = elman_forward(xs, None, p)[0]
        np.testing.assert_allclose(hs[-1].sum(axis=1), ys[:, 0], atol=1e-12)
        np.testing.assert_allclose(hs[..., 0], xs[..., 0] * xs[..., 1], atol=1e-12)


def test_always_answering_1_costs_what_the_page_says_at_a_hundred_numbers():
    assert round(((adding(np.random.default_rng(10_001), 500, 100).ys - 1) ** 2).mean(), 3) == 0.154


def test_beyond_the_trained_length_relu_can_be_wrong_without_bound_and_gated_nets_cannot():
    runs = {cell: stored("beyond", cell) for cell in ("relu, identity", "IRNN", "GRU", "LSTM")}
    assert [len(found) for found in runs.values()] == [4, 4, 4, 4]
    assert all(run["50"][0] < 0.1 for found in runs.values() for run in found)
    assert all(run["1000"][1] <= 1 for cell in ("GRU", "LSTM") for run in runs[cell])
    relu = runs["relu, identity"] + runs["IRNN"]
    assert sum(run["1000"][0] > 5 for run in relu) == 7
    worst = max(relu, key=lambda run: run["1000"][0])
    assert worst["50"][1] < 5 and worst["1000"][1] > 1000
    always = ((adding(np.random.default_rng(10_001), 500, 1000).ys - 1) ** 2).mean()
    no_better = [run["1000"][0] >= always for run in runs["GRU"] + runs["LSTM"]]
    assert (sum(no_better), len(no_better)) == (7, 8)


@pytest.mark.parametrize("file", FILES)
def test_a_gru_that_knows_the_trained_lengths_still_fails_beyond_them(file):
    for run in results(file, "flat"):
        assert run["8"][1] > 0.98 and 0.4 < run["16"][0] < 0.65 and run["16"][1] == 0
    for run in results(file, "strings", "copy", "GRU") + results(file, "copy, falling", 4000):
        assert run["5"][0] >= 0.97 and run["10"][0] < 0.5 and run["10"][1] == 0
    falling = [run["10"][0] for run in results(file, "copy, falling", 4000)]
    assert len(falling) == 3 and np.median(falling) < np.median(
        [run["10"][0] for run in results(file, "strings", "copy", "GRU")]
    )


@pytest.mark.parametrize("file", FILES)
def test_most_stacks_learn_a_rule_for_twice_the_length_and_the_others_not_even_the_trained_ones(file):
    found = {}
    for pop in (0.0, -1.0):
        runs = results(file, "strings", "reverse", "stack", "softmax", pop)
        found[pop] = sum(run["16"][1] > 0.95 for run in runs), len(runs)
        for run in runs:  # and none is in between
            assert min(run["8"][1], run["16"][1]) >= 0.95 or (run["8"][1] < 0.7 and run["16"][1] == 0)
    assert found == {FILES[0]: {0.0: (7, 10), -1.0: (9, 10)}, FILES[1]: {0.0: (2, 3), -1.0: (3, 3)}}[file]


def test_adder_gradient_matches_complex_step(monkeypatch):
    monkeypatch.setattr(other_memories, "UNITS", 5)
    rng = np.random.default_rng(0)
    for cell in other_memories.CELLS:
        m = randomised(other_memories.adder(rng, cell, dtype=np.float64), rng, 0.3)
        batch = adding(rng, 2, 4)
        check_loss(lambda m, batch=batch: other_memories.adder_loss(m, batch), m)


def test_letter_loss_gradient_matches_complex_step():
    rng = np.random.default_rng(0)
    m = other_memories.speaker(rng, "stack", "reverse", dtype=np.float64)
    batch = other_memories.reverse(rng, 2, 4)
    _, grads = other_memories.letter_loss(m, batch)
    some = rng.choice(m.size, 200, replace=False)

    def loss(part):
        whole = m.flat.astype(part.dtype)
        whole[some] = part
        return other_memories.letter_loss(m.on(whole), batch)[0]

    report = gradcheck(loss, {"part": m.flat[some]}, {"part": grads.flat[some]})
    assert report.worst < 1e-12


@pytest.mark.parametrize("alpha", [0.5, 0.95])
def test_slow_units_of_an_scrn_keep_alpha_to_the_t_and_are_linear(alpha):
    rng = np.random.default_rng(0)
    p = scrn_init(rng, D=2, H=4, C=3, alpha=alpha)
    xs = rng.normal(size=(2, 20, 1, 2))
    total = np.eye(p.S)
    for step in jacobian(xs[0], None, p).steps[:, 0]:
        total = step @ total
    np.testing.assert_allclose(total[:3, :3], alpha**20 * np.eye(3), rtol=1e-12)
    c = [scrn_forward(x, None, p)[1][:, :3] for x in (xs[0], xs[1], xs[0] + 2 * xs[1])]
    np.testing.assert_allclose(c[0] + 2 * c[1], c[2], atol=1e-12)


def test_half_push_and_half_pop_never_make_a_deep_stack():
    values, strengths = np.zeros((1, 0, 1)), np.zeros((1, 0))
    for _ in range(20):
        _, values, strengths, _ = stack_step(np.ones((1, 1)), np.full(1, 0.5), np.full(1, 0.5), values, strengths)
        assert strengths.sum() == 0.5


def test_the_stack_of_a_fresh_net_is_close_to_half_an_entry_deep():
    for seed in range(5):
        m = other_memories.speaker(np.random.default_rng(seed), "stack", "reverse")
        caches = stack_rnn_forward(other_memories.unseen("reverse", 8).xs, None, m.rnn)[2].caches
        gates = np.array([step.gates[0] for step in caches])  # (T, N, 2)
        assert gates.min() > 0.3 and gates.max() < 0.7


# --------------------------------------------------------------------------------------------------- the framework box


def as_ours(W_x, W_h, b):
    """Our network with a framework's arrays, which are those of relu from the identity with the usual W_x."""
    np.testing.assert_array_equal(W_h, np.eye(32))
    np.testing.assert_array_equal(b, 0 * b)
    assert 0.15 < np.abs(W_x).max() <= 1 / np.sqrt(32) * (1 + 1e-6)
    p = irnn_init(np.random.default_rng(0), D=2, H=32)
    p.W_x[:] = W_x
    return p


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_of_the_box_starts_from_the_identity():
    import torch

    names = run_box("13-other-memories", "import torch")
    rnn, xs = names["rnn"], np.random.default_rng(0).normal(size=(7, 3, 2))
    arrays = {name: a.detach().numpy() for name, a in rnn.named_parameters()}
    p = as_ours(arrays["weight_ih_l0"].T, arrays["weight_hh_l0"].T, arrays["bias_ih_l0"] + arrays["bias_hh_l0"])
    theirs = rnn(torch.tensor(xs, dtype=torch.float32))[0].detach().numpy()
    np.testing.assert_allclose(theirs, elman_forward(xs, None, p)[0], atol=1e-6)
    fresh = torch.nn.RNN(2, 100)
    assert fresh.nonlinearity == "tanh"
    assert all(0.08 < a.abs().max() <= 0.1 and abs(a.mean()) < 0.03 for a in fresh.parameters())


# Keras 3.15 on torch asks numpy for an array in a way that numpy 2.5 is to forbid.
@pytest.mark.frameworks("torch", "keras")
def test_the_keras_code_of_the_box_starts_from_the_identity():
    import keras

    names = run_box("13-other-memories", "import keras")
    layer, xs = names["layer"], np.random.default_rng(0).normal(size=(7, 3, 2))
    layer.build((None, None, 2))
    p = as_ours(*layer.get_weights())
    theirs = layer(np.moveaxis(xs, 0, 1).astype("float32")).detach().cpu().numpy()
    np.testing.assert_allclose(np.moveaxis(theirs, 1, 0), elman_forward(xs, None, p)[0], atol=1e-6)
    defaults = inspect.signature(keras.layers.SimpleRNN).parameters
    assert [defaults[name].default for name in ("activation", "recurrent_initializer", "bias_initializer")] == [
        "tanh", "orthogonal", "zeros"
    ]  # fmt: skip
