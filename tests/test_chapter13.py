"""Chapter 13: what the page says of its memories, and that its stored trainings can be made again."""

import inspect
import json
from functools import partial

import numpy as np
import pytest
from helpers import check_loss, load_results, randomised, results, run_box

from experiments import other_memories
from gru_book.cells import scrn_forward, scrn_init, stack_rnn_forward, stack_step
from gru_book.jacobian import jacobian
from gru_book.tasks.adding import BASELINE, adding
from gru_book.widgets import stack
from gru_lib import elman_forward, elman_init, gradcheck
from gru_lib.cells import irnn_init

PAGE = "13-other-memories"
FILES = ("other_memories", "other_memories_own")  # the second with other kernels
stored = partial(results, FILES[0])


@pytest.mark.parametrize("cell", ["Elman", "IRNN", "SCRN", "GRU", "LSTM"])
def test_a_training_made_anew_goes_as_the_stored_one(cell):
    """Its first 200 steps of 2,000; later ones drift apart by rounding on other machines. Elman's net, the SCRN and the
    LSTM learn nothing in them, so that half of them says as much.

    The IRNN's drift apart before that: with NumPy's own kernels in place of the tests' its errors here are 0.187 and
    0.161, stored are 0.173 and 0.216. Of it we ask here that it neither learns nor diverges sooner than the stored one,
    and below that its first steps are the same.
    """
    steps = 200 if cell in ("GRU", "IRNN") else 100
    again = other_memories.add(cell, 50, 0, lr=other_memories.best_rate(cell), steps=steps)
    (before,) = stored("adding", cell, 50, 0)
    assert again["size"] == before["size"]
    np.testing.assert_allclose(again["error"], before["error"][: steps // 100], rtol=0.3 if cell == "IRNN" else 0.05)


def test_an_irnn_goes_the_same_way_before_rounding_grows():
    """After 10 steps the two sorts of kernels differ by 6 in a million, after 20 by 3 in a thousand."""
    again = other_memories.add("IRNN", 50, 0, lr=other_memories.best_rate("IRNN"), steps=10)
    np.testing.assert_allclose(again["error"], [0.207168], rtol=1e-4)


@pytest.mark.parametrize("product", [True, False])
def test_slow_units_made_anew_add_only_where_the_product_is_given(product):
    """The first 200 steps of 2,000, as above, and 100 without the product."""
    steps = 200 if product else 100
    again = other_memories.add("SCRN, 0.99", 100, 0, lr=other_memories.best_rate("SCRN"), steps=steps, product=product)
    (before,) = stored("slow", "SCRN, 0.99", product, 0)
    assert again["size"] == before["size"]
    np.testing.assert_allclose(again["error"], before["error"][: steps // 100], rtol=0.02)


def test_a_net_made_anew_is_the_stored_size_and_learns_copying_as_far():
    again = other_memories.strings("copy", "NTM", "bits", 0.0, 1, steps=250)
    (before,) = stored("strings", "copy", "NTM", "bits", 0.0, 1)
    assert again.keys() == before.keys() and again["size"] == before["size"]
    assert again["5"][0] >= 0.95 and before["5"][0] >= 0.95
    assert again["40"][0] < 0.9 and before["40"][0] < 0.9  # 32 rows of memory


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
def test_claims_of_the_page_hold_with_both_sets_of_kernels(file):
    def stored(part, *what):
        more = f"{part}, more seeds"
        return results(file, part, *what) + (results(file, more, *what) if more in load_results(file) else [])

    def ends(cell, T):
        found = [run["error"][-1] for run in stored("adding", cell, T)]
        assert len(found) == (10 if file == FILES[0] or cell == "IRNN" else 3)
        return found

    for T in (50, 100):
        assert max(ends("GRU", T) + ends("LSTM", T)) < 0.01
        for cell in ("Elman", "Elman, orthogonal", "SCRN"):
            assert min(ends(cell, T)) > 0.88 * BASELINE
    below = [sum(error < 0.08 for error in ends("IRNN", T)) for T in (50, 100)]
    assert below == {FILES[0]: [10, 2], FILES[1]: [8, 3]}[file]
    first = [100 * (1 + np.argmax(np.array(run["error"]) < 0.05)) for run in stored("adding", "GRU", 50)]
    assert set(first) <= {200, 300}
    always = ((adding(np.random.default_rng(10_001), 500, 100).ys - 1) ** 2).mean()  # what always answering 1 costs
    assert min(run["error"][-1] for cell in other_memories.SLOW for run in stored("slow", cell, False)) > 0.97 * always
    assert max(run["error"][-1] for run in stored("slow", "SCRN", True)) < 0.12
    assert max(run["error"][-1] for run in stored("slow", "SCRN, 0.99", True)) < 0.02
    copies = [run["20"][0] >= 0.97 for run in stored("strings", "copy", "NTM")]
    assert (sum(copies), len(copies)) == {FILES[0]: (9, 10), FILES[1]: (3, 3)}[file]
    assert max(run["40"][0] for run in stored("strings", "copy", "NTM")) < 0.7


def test_each_cell_has_the_rate_that_both_sets_of_kernels_choose():
    for cell in other_memories.CELLS:
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


@pytest.mark.parametrize("file", FILES)
def test_an_irnn_adds_where_its_units_may_read_each_other_and_not_where_each_may_change_its_own_entry_alone(file):
    runs = {free: results(file, "kept", free) for free in other_memories.FREE}
    assert [len(found) for found in runs.values()] == 4 * [10 if file == FILES[0] else 3]
    for free in ("none", "own"):
        assert min(run["error"] for run in runs[free]) > 0.85 * BASELINE
    for free, least in (("between", 0.6), ("all", 1)):
        assert np.mean([run["error"] < 0.1 for run in runs[free]]) >= least
    assert min(run["least"] for run in runs["all"]) > 0.4  # no unit of these keeps nothing


@pytest.mark.parametrize("file", FILES)
def test_with_the_right_rate_and_4000_steps_every_net_learns_to_add_with_some_seeds(file):
    rows = [row for part, rows in load_results(file).items() if part.startswith("longer") for row in rows]
    ends = {}
    for cell, lr, _, run in rows:
        whole = len(run["error"]) == 40
        ends.setdefault((cell, lr), []).append(np.median(run["error"][-5:]) if whole else np.inf)
    count = {what: sum(end < 0.1 for end in found) for what, found in ends.items()}
    for cell in other_memories.NEVER:
        assert 1 <= max(n for (which, _), n in count.items() if which == cell) <= 7
        assert sum(n > 0 for (which, _), n in count.items() if which == cell) <= 2  # at two rates of seven
    if file == FILES[0]:
        assert count["IRNN", 0.003] == count["IRNN", 0.001] == 10


def test_an_irnn_that_has_not_learned_100_numbers_in_2000_steps_has_in_10000():
    runs = [run["error"] for run in stored("further", "IRNN")]
    assert min(map(len, runs)) == 100
    assert sum(np.median(errors[15:20]) < 0.05 for errors in runs) <= len(runs) / 2
    assert all(np.median(errors[-5:]) < 0.05 for errors in runs)


def test_beyond_the_trained_length_an_irnn_can_be_wrong_without_bound_and_gated_nets_cannot():
    runs = {cell: stored("beyond", cell) for cell in ("IRNN", "GRU", "LSTM")}
    assert all(run["50"][0] < 0.1 for found in runs.values() for run in found)
    for cell in ("GRU", "LSTM"):
        assert all(run["1000"][1] <= 1 for run in runs[cell])
        assert max(run["1000"][0] for run in runs[cell]) < max(run["1000"][0] for run in runs["IRNN"])
    assert max(run["1000"][0] for run in runs["IRNN"]) > 10


@pytest.mark.parametrize("file", FILES)
def test_a_gru_that_knows_the_trained_lengths_still_fails_beyond_them(file):
    for run in results(file, "flat"):
        assert run["8"][1] > 0.98 and 0.4 < run["16"][0] < 0.65 and run["16"][1] == 0
    for run in results(file, "strings", "copy", "GRU"):
        assert run["5"][0] >= 0.97 and run["10"][0] < 0.5 and run["10"][1] == 0


def test_a_gru_begins_long_strings_right_and_loses_the_letters_that_lie_deeper():
    for run in stored("places", "GRU"):
        assert run["whole 8"] > 0.97 and run["16"][0] >= 0.99 and run["16"][3] > 0.6
        assert 0.2 < run["whole 10"] < 0.5 and run["whole 16"] == 0
        assert 0.25 < np.mean(run["16"][8:]) < 0.4


def test_the_two_stacks_that_did_not_find_the_brackets_do_worse_than_most_grus():
    runs = stored("strings", "brackets", "stack")
    for L in ("24", "48", "96"):
        grus = [run[L][1] for run in stored("strings", "brackets", "GRU")]
        assert all(np.sum(np.array(grus) >= run[L][1]) >= 8 for run in runs if run["48"][1] < 0.5)


def test_a_stack_that_learns_the_trained_lengths_learns_twice_as_long_ones():
    later = [run for file in FILES for run in results(file, "later")]
    assert [load_results(file)["later"][0][:2] for file in FILES] == [[0.0, 2]] * 2 and len(later) == 5
    assert all(run["16"][1] == 0 for run in later)
    runs = [run for file in FILES for run in results(file, "strings", "reverse", "stack")]
    for run in runs + later:  # and none is in between
        assert min(run["8"][1], run["16"][1]) >= 0.95 or (run["8"][1] < 0.7 and run["16"][1] == 0)


def test_nets_that_missed_their_stack_were_given_more_steps_and_with_other_kernels_the_same_seeds_miss_it():
    fixed, own = (
        {(pop, seed) for task, kind, _, pop, seed, run in load_results(file)["strings"]
         if (task, kind) == ("reverse", "stack") and run["16"][1] < 0.95}
        for file in FILES
    )  # fmt: skip
    assert fixed == set(other_memories.MISSED)
    assert own == {(pop, seed) for pop, seed in fixed if seed < 3} and own


def test_an_lstm_that_knows_the_trained_lengths_fails_beyond_them_as_a_gru_does():
    for run in stored("gated", "reverse", "LSTM"):
        assert run["8"][1] > 0.9 and run["16"][0] < 0.7 and run["16"][1] == 0


def test_answers_of_a_stack_fray_and_with_whole_pushes_and_pops_they_do_not():
    runs = [run for run in stored("rounded", "reverse") if run["as is"]["16"][1] > 0.95]
    assert len(runs) == 9
    for run in runs:
        assert run["whole"]["128"][0] > run["as is"]["128"][0]
        assert abs(run["whole"]["128"][0] - run["whole"]["8"][0]) < 0.06
    assert sorted(round(run["whole"]["128"][0] / run["whole"]["8"][0], 2) for run in runs)[:3] == [0.94, 0.99, 0.99]
    assert min(run["as is"]["128"][0] for run in runs) < 0.6
    assert sum(run["whole"]["128"][0] > 0.99 for run in runs) >= 7 / 9 * len(runs)


@pytest.mark.parametrize("file", FILES)
def test_with_a_stack_most_seeds_learn_brackets_and_gates_alone_fail_beyond_their_lengths(file):
    runs = results(file, "strings", "brackets", "stack")
    found = [run for run in runs if run["48"][1] > 0.95]
    assert (len(found), len(runs)) == {FILES[0]: (8, 10), FILES[1]: (3, 3)}[file]
    assert min(run["24"][1] for run in found) > 0.97 and min(run["96"][1] for run in found) > 0.7
    assert all(run["48"][1] < 0.5 and run["96"][1] < 0.15 for run in runs if run not in found)
    for run in results(file, "strings", "brackets", "GRU") + stored("strings, LSTM"):
        assert run["24"][1] > 0.75 and run["96"][1] < 0.4


def test_a_machine_made_anew_wears_its_list_and_not_with_its_writing_switched_off():
    """250 of the 1,000 steps."""
    again = other_memories.eroded("NTM", 1, steps=250)
    assert np.mean(again["all"]["32"]) + 0.05 < np.mean(again["nothing"]["32"]) > 0.9
    assert again["rows"]["64"] > np.mean(again["all"]["32"]) + 0.05


def test_a_list_is_worn_by_what_the_writing_head_writes_while_it_is_given_back():
    """Without that writing it comes back whole; so it does with free rows, and as long as there are some."""
    runs = stored("eroded", "NTM")
    mean = {may: [np.mean(run[may]["32"]) for run in runs] for may in other_memories.AFTERWARDS}
    assert max(mean["all"]) < 0.9 and max(mean["all"]) < min(mean["nothing"])
    assert sum(share > 0.99 for share in mean["nothing"]) >= len(runs) - 1
    assert np.median(mean["all"]) < np.median(mean["add"]) < np.median(mean["erase"]) < np.median(mean["nothing"])
    assert np.median([np.mean(run["nothing"]["40"]) for run in runs]) < 32 / 40 + 8 / 40 / 64 + 0.02
    for run in runs:
        assert run["parked"]["10"][1] < 10 / 32 and run["parked"]["20"][1] < 20 / 32 and run["parked"]["32"][1] > 0.9
    assert np.median([run["rows"]["64"] for run in runs]) > 0.97


def test_recall_made_anew_finds_rows_by_their_keys():
    """250 of its 600 steps: this seed is among those that find it first."""
    again, (before,) = other_memories.recalled("biased", 0.003, 2, steps=250), stored("recall", "biased", 0.003, 2)
    for run in (again, before):
        assert run["16"] > 0.9 and run["g"] > 0.9 and run["there"] > 0.9
    assert min(run["16"] for run in stored("recall later")) > 0.95


@pytest.mark.parametrize("file", FILES)
def test_biased_starts_recall_but_for_one_seed_which_does_with_other_kernels_and_none_as_drawn(file):
    found = [run["16"] > 0.8 for run in results(file, "recall", "biased")]
    assert found == {FILES[0]: [False, *9 * [True]], FILES[1]: 3 * [True]}[file]
    assert [row[2] for row in load_results(FILES[0])["recall later"]] == [0]
    drawn = results(file, "recall as drawn")
    assert max(run["6"] for run in drawn) < 0.25 and len(drawn) == {FILES[0]: 5, FILES[1]: 3}[file]
    for run in results(file, "recall", "GRU"):
        assert run["6"] > 0.8 and run["16"] < 0.45


def test_gradient_of_a_biased_head_matches_complex_step():
    rng = np.random.default_rng(0)
    m = other_memories.rememberer(rng, "biased", dtype=np.float64)
    batch = other_memories.recall(rng, 2, 3)
    some = rng.choice(m.size, 100, replace=False)
    grads = other_memories.reader_loss(m, batch)[1]

    def loss(part):
        whole = m.flat.astype(part.dtype)
        whole[some] = part
        return other_memories.reader_loss(m.on(whole), batch)[0]

    assert gradcheck(loss, {"part": m.flat[some]}, {"part": grads.flat[some]}).worst < 1e-10


def test_adder_gradient_matches_complex_step(monkeypatch):
    monkeypatch.setattr(other_memories, "UNITS", 5)
    rng = np.random.default_rng(0)
    for cell in other_memories.CELLS:
        m = randomised(other_memories.adder(rng, cell, dtype=np.float64), rng, 0.3)
        batch = adding(rng, 2, 4)
        check_loss(lambda m, batch=batch: other_memories.adder_loss(m, batch), m)


def test_letter_loss_gradient_matches_complex_step():
    rng = np.random.default_rng(0)
    m = other_memories.speaker(rng, "stack", "brackets", dtype=np.float64)
    batch = other_memories.brackets(rng, 2, 4)
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


def as_irnn(W_x, W_h, b):
    """Our network with a framework's arrays, which are the start of an IRNN."""
    np.testing.assert_array_equal(W_h, np.eye(32))
    np.testing.assert_array_equal(b, 0 * b)
    assert 0.0005 < W_x.std() < 0.0015
    p = irnn_init(np.random.default_rng(0), D=2, H=32)
    p.W_x[:] = W_x
    return p


@pytest.mark.frameworks("torch")
def test_the_pytorch_code_of_the_box_makes_an_irnn():
    import torch

    names = run_box("13-other-memories", "import torch")
    rnn, xs = names["rnn"], np.random.default_rng(0).normal(size=(7, 3, 2))
    arrays = {name: a.detach().numpy() for name, a in rnn.named_parameters()}
    p = as_irnn(arrays["weight_ih_l0"].T, arrays["weight_hh_l0"].T, arrays["bias_ih_l0"] + arrays["bias_hh_l0"])
    theirs = rnn(torch.tensor(xs, dtype=torch.float32))[0].detach().numpy()
    np.testing.assert_allclose(theirs, elman_forward(xs, None, p)[0], atol=1e-6)
    fresh = torch.nn.RNN(2, 100)
    assert fresh.nonlinearity == "tanh"
    assert all(0.08 < a.abs().max() <= 0.1 and abs(a.mean()) < 0.03 for a in fresh.parameters())


# Keras 3.15 on torch asks numpy for an array in a way that numpy 2.5 is to forbid.
@pytest.mark.frameworks("torch", "keras")
def test_the_keras_code_of_the_box_makes_an_irnn():
    import keras

    names = run_box("13-other-memories", "import keras")
    layer, xs = names["layer"], np.random.default_rng(0).normal(size=(7, 3, 2))
    layer.build((None, None, 2))
    p = as_irnn(*layer.get_weights())
    theirs = layer(np.moveaxis(xs, 0, 1).astype("float32")).detach().cpu().numpy()
    np.testing.assert_allclose(np.moveaxis(theirs, 1, 0), elman_forward(xs, None, p)[0], atol=1e-6)
    defaults = inspect.signature(keras.layers.SimpleRNN).parameters
    assert [defaults[name].default for name in ("activation", "recurrent_initializer", "bias_initializer")] == [
        "tanh", "orthogonal", "zeros"
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------- what the explorer's text says


def test_answers_to_the_explorers_prompts_hold():
    preset = stack.STACK["presets"]["fractions"]
    for fifth, wanted in ((preset["push"][4], [0, 0, 0, 0.6, 0.4]), (1, [0, 0, 0, 0, 1])):
        values, strengths = np.zeros((1, 0, 5)), np.zeros((1, 0))
        for t, push in enumerate([*preset["push"][:4], fifth]):
            at = np.array([push]), np.array([preset["pop"][t]])
            read, values, strengths, _ = stack_step(np.eye(5)[t : t + 1], *at, values, strengths)
        np.testing.assert_allclose(read[0], wanted, atol=1e-12)
    m, letters = stack.trained_net(), stack.STACK["letters"]
    xs = np.zeros((8, 1, len(letters) + 1))
    for t, x in enumerate(xs):
        x[0, letters.index("face"[t]) if t < 4 else -1] = 1
    push, pop = np.array([step.gates[0][0] for step in stack_rnn_forward(xs, None, m.rnn)[2].caches]).T
    assert push[:4].min() >= 0.955 and push[:4].max() < 0.995
    assert pop[5:].min() >= 0.935 and pop[5:].max() < 0.985
