"""Chapter 13: what the page says of its memories, and that its stored trainings can be made again."""

import inspect
from functools import partial

import numpy as np
import pytest
from helpers import cells_of, check_loss, names_of, randomised, results, run_box

from experiments import other_memories
from gru_book.cells import scrn_forward, scrn_init, stack_rnn_forward, stack_step
from gru_book.jacobian import jacobian
from gru_book.tasks.adding import adding
from gru_lib import elman_forward, gradcheck, linear_forward
from gru_lib.cells import irnn_init

FILES = ("other_memories", "other_memories_own")  # the second with other kernels
stored = partial(results, FILES[0])


@pytest.mark.parametrize(
    ("part", "cell"),
    [("starts", "relu")]
    + [("early, ten", cell) for cell in other_memories.RELUS]
    + [("early, three", cell) for cell in other_memories.CONTROLS]
    + [("early", cell) for cell in other_memories.LESS]
    + [(part, cell) for part in ("late", "early") for cell in other_memories.TANHS],
)
def test_a_training_made_anew_goes_as_the_stored_one(part, cell):
    """Its first 100 steps; later ones drift apart by rounding on other machines."""
    again = other_memories.add(cell, 50, 100, lr=0.003, steps=100, marks="early" if "early" in part else "halves")
    (before,) = stored(part, cell, 0.003, 0)
    np.testing.assert_allclose(again["error"], before["error"][:1], rtol=0.05)


def test_an_irnn_goes_the_same_way_before_rounding_grows():
    """After 10 steps the two sorts of kernels differ by 6 in a million, after 20 by 3 in a thousand."""
    again = other_memories.add("IRNN", 50, 0, lr=0.003, steps=10)
    np.testing.assert_allclose(again["error"], [0.207168], rtol=1e-4)


def test_starts_have_what_their_names_say():
    names = ("relu, identity", "IRNN", "relu, 0.5 identity", "relu, permutation", "relu, orthogonal", "relu, He")
    nets = [other_memories.CELLS[cell](np.random.default_rng(0), D=2, H=32) for cell in names]
    assert all(p.activation == "relu" and not p.b.any() for p in nets)
    assert [p.W_x.std() < 0.01 for p in nets] == [False, True, False, False, False, False]
    copied, irnn, half, moved, turned, he = (p.W_h for p in nets)
    assert np.array_equal(copied, np.eye(32)) and np.array_equal(irnn, copied) and np.array_equal(half, copied / 2)
    stretched, signed, positive = (
        other_memories.CELLS[f"relu, {start}"](np.random.default_rng(0), D=2, H=32)
        for start in ("√2 orthogonal", "signed permutation", "positive")
    )
    for p in (stretched, signed, positive):
        assert p.activation == "relu" and not p.b.any() and np.array_equal(p.W_x, nets[0].W_x)
    for W in (moved, turned, signed.W_h):
        np.testing.assert_allclose(W @ W.T, np.eye(32), atol=1e-12)
    assert set(moved.flat) == {0, 1} and np.trace(moved) < 5
    np.testing.assert_allclose(stretched.W_h, np.sqrt(2) * turned, rtol=1e-12)
    assert np.array_equal(abs(signed.W_h), moved) and 8 < (signed.W_h < 0).sum() < 24
    np.testing.assert_allclose(positive.W_h / abs(turned), positive.W_h[0, 0] / abs(turned[0, 0]), rtol=1e-9)
    assert abs(max(abs(np.linalg.eigvals(positive.W_h))) - 1) < 1e-9
    assert 1.8 < 32 * he.var() < 2.2


def test_relu_cuts_nothing_from_starts_without_a_negative_entry_and_something_from_the_others():
    h = np.random.default_rng(1).random((100, 32))
    for cell in (*other_memories.RELUS, *other_memories.CONTROLS, "relu"):
        a = h @ other_memories.CELLS[cell](np.random.default_rng(0), D=2, H=32).W_h
        assert (a.min() >= 0) == (cell in ("relu, identity", "relu, permutation", "relu, positive"))


@pytest.mark.parametrize("cell", [*other_memories.RELUS, *other_memories.CONTROLS, *other_memories.LESS])
def test_lengths_kept_are_those_of_fresh_networks(cell):
    for seed, before in enumerate(stored("kept", cell)):
        assert abs(other_memories.kept(cell, seed)["kept"] - before["kept"]) < 1e-3


def learned(file, part, cell, lr=0.003, steps=4000):
    """For each training whether a test shows an error below 0.05 within so many steps."""
    return [min(run["error"][: steps // 100]) < 0.05 for run in results(file, part, cell, lr)]


@pytest.mark.parametrize(("file", "seeds"), [(FILES[0], 10), (FILES[1], 3)])
def test_with_one_mark_near_relu_learns_from_the_usual_start(file, seeds):
    assert learned(file, "starts", "relu") == seeds * [True]


def test_with_one_mark_near_no_tanh_has_learned_in_4000_steps_at_three_rates():
    tried = [learned(FILES[0], "late", cell) for cell in other_memories.TANHS]
    tried += [
        learned(FILES[0], "starts, other rates", cell, lr) for cell in other_memories.TANHS for lr in (0.001, 0.01)
    ]
    assert sum(map(sum, tried)) == 0 and sum(map(len, tried)) == 22


def test_with_one_mark_near_tanh_learns_later_from_the_usual_start():
    usual, identity = (learned(FILES[0], "late", cell, steps=12_000) for cell in other_memories.TANHS)
    assert usual == 5 * [True] and (sum(identity), len(identity)) == (1, 5)


def test_with_both_marks_far_relu_learns_from_the_identity_and_a_permutation():
    ten = [learned(FILES[0], "early, ten", cell) for cell in other_memories.RELUS]
    assert [len(found) for found in ten] == 5 * [10] and [sum(found) for found in ten] == [10, 10, 1, 5, 4]
    three = [learned(FILES[0], "early, three", cell) for cell in other_memories.CONTROLS]
    assert [len(found) for found in three] == [3, 3] and [sum(found) for found in three] == [2, 0]
    five = [learned(FILES[0], "early", cell) for cell in (*other_memories.LESS, *other_memories.TANHS)]
    assert [len(found) for found in five] == 5 * [5] and [sum(found) for found in five] == [0, 5, 0, 0, 0]


def test_at_a_third_of_the_rate_relu_learns_from_more_starts_and_tanh_from_neither_of_its():
    five = [learned(FILES[0], "early, slower", cell, 0.001) for cell in other_memories.SLOWER]
    assert [len(found) for found in five] == 3 * [5] and [sum(found) for found in five] == [5, 5, 3]
    cells = (*other_memories.RELUS[:2], *other_memories.TANHS)
    three = [learned(FILES[0], "early, slower, three", cell, 0.001) for cell in cells]
    assert [len(found) for found in three] == 4 * [3] and [sum(found) for found in three] == [3, 3, 0, 0]


def test_no_stored_start_that_keeps_less_than_four_fifths_of_a_step_learned():
    cells = {"early, ten": other_memories.RELUS, "early, three": other_memories.CONTROLS, "early": other_memories.LESS}
    nets = [
        (fresh["kept"], found)
        for part, names in cells.items()
        for cell in names
        for fresh, found in zip(stored("kept", cell), learned(FILES[0], part, cell), strict=False)
    ]
    few = [found for kept, found in nets if kept < 0.8]
    assert len(nets) == 71 and len(few) == 20 and not any(few)
    orthogonal = [run["kept"] for run in stored("kept", "relu, orthogonal")]
    found = learned(FILES[0], "early, ten", "relu, orthogonal")
    assert sum(found) == 1 and len(found) == 10 and found.index(True) == int(np.argmax(orthogonal))
    assert min(run["kept"] for run in stored("kept", "relu, positive")[:3]) > 0.98


@pytest.mark.slow
def test_a_copying_machine_made_anew_learns_what_the_stored_one_learned():
    again, (before,) = other_memories.copied("held", 1), stored("copy, starts of z", "held", 1)
    assert again.keys() == before.keys() and again["32"][0] > 0.98 and before["32"][0] > 0.98


@pytest.mark.parametrize(("file", "seeds"), [(FILES[0], 10), (FILES[1], 3)])
def test_machines_copy_further_with_z_held_at_one_than_learned_and_from_near_one_than_from_half(file, seeds):
    held, nearest, near, half = found = [results(file, "copy, starts of z", start) for start in other_memories.BIASES]
    assert {len(runs) for runs in found} == {seeds} and min(run["20"][0] for runs in found for run in runs) > 0.9
    assert min(run["32"][0] for run in held) > 0.95
    if file == FILES[0]:
        medians = [f"{100 * np.median([run['32'][1] for run in runs]):.0f} %" for runs in (nearest, near, half)]
        assert min(run["32"][1] for run in held) == 0.99 and medians == ["96 %", "4 %", "0 %"]
    for length in ("5", "10", "20", "32"):
        held_right, *learned = (np.median([run[length][0] for run in runs]) for runs in found)
        assert held_right >= max(learned)
    middles = [np.median([run["32"][1] for run in runs]) for runs in found]
    assert middles == sorted(middles, reverse=True)


def test_z_of_both_heads_starts_where_its_bias_says():
    for start, z in (("held", 1), ("nearest one", 0.9997), ("near one", 0.98), ("half", 0.5)):
        m = other_memories.speaker(np.random.default_rng(0), "NTM", "copy")
        if (bias := other_memories.BIASES[start]) is not None:
            other_memories.by_place(m, bias)
        cache = other_memories.cell_of(m.rnn).forward(other_memories.unseen("copy", 1).xs, None, m.rnn)[2].caches[0]
        off = {"half": 0.05, "near one": 0.01, "nearest one": 1e-4, "held": 1e-6}[start]
        for head in (cache.write, cache.read):
            assert abs(head.z[0].mean() - z) < off


def test_heads_that_are_held_to_their_place_walk():
    m = other_memories.speaker(np.random.default_rng(0), "NTM", "copy")
    other_memories.by_place(m)
    batch = other_memories.unseen("copy", 3)
    caches = other_memories.cell_of(m.rnn).forward(batch.xs, None, m.rnn)[2].caches
    assert all(np.allclose(head.w_gated, head.w_prev) for step in caches for head in (step.write, step.read))


@pytest.mark.parametrize("file", FILES)
def test_a_gru_that_knows_the_trained_lengths_still_fails_beyond_them(file):
    for run in results(file, "flat"):
        assert run["8"][1] > 0.98 and 0.4 < run["16"][0] < 0.65 and run["16"][1] == 0
    for run in results(file, "strings", "copy", "GRU") + results(file, "copy, falling", 4000):
        assert run["size"] == 14214 and run["5"][0] >= 0.97 and run["10"][0] < 0.5 and run["10"][1] == 0
    falling = [run["10"][0] for run in results(file, "copy, falling", 4000)]
    assert len(falling) == 3 and np.median(falling) < np.median(
        [run["10"][0] for run in results(file, "strings", "copy", "GRU")]
    )


@pytest.mark.parametrize("file", FILES)
def test_stacks_learn_a_rule_for_twice_the_length_and_most_for_four_times(file):
    runs = results(file, "flat, stack")
    assert all(run["8"][1] > 0.98 for run in runs)
    found = tuple(sum(run[length][1] >= 0.95 for run in runs) for length in ("16", "32"))
    assert found == {FILES[0]: (10, 8), FILES[1]: (3, 2)}[file]
    assert min(run["16"][1] for run in runs) >= 0.99 and min(run["32"][1] for run in runs) == 0.84


def test_a_stack_alone_gets_as_far():
    with_state, runs = stored("flat, stack"), stored("flat, forgetful")
    assert len(runs) == 5 and min(run["16"][1] for run in runs) >= 0.99
    for measure in (min, np.median, max):
        assert measure([run["32"][1] for run in runs]) >= measure([run["32"][1] for run in with_state])


def test_the_pages_stack_is_the_librarys():
    (cell,) = (source for source in cells_of("13b-stack") if "def stack_step" in source)
    step = names_of(["import numpy as np", cell])["stack_step"]
    rng = np.random.default_rng(0)
    values, s, theirs = np.zeros((0, 3)), np.zeros(0), (np.zeros((1, 0, 3)), np.zeros((1, 0)))
    for _ in range(30):
        v, d, u = rng.normal(size=3), rng.random(), 1.5 * rng.random()
        values, s, read = step(values, s, v, d, u)
        wanted, *theirs, _ = stack_step(v[None], np.array([d]), np.array([u]), *theirs)
        for found, same in zip((values, s, read), (*theirs, wanted), strict=True):
            np.testing.assert_allclose(found, same[0], rtol=0, atol=1e-12)


def test_the_trained_net_of_the_page_answers_and_reads_what_is_due():
    (cell,) = (source for source in cells_of("13b-stack") if "trained_net()" in source)
    before = ["import numpy as np", "from gru_book.cells import stack_rnn_forward"]
    names = names_of([*before, "from gru_book.widgets.stack import trained_net", cell.split("\nfig, axes")[0]])
    net, word, letters = names["net"], names["word"], "abcdefgh"
    assert len(word) == 12
    logits = linear_forward(stack_rnn_forward(names["xs"][:, None], None, net.rnn)[0], net.out)[0]
    assert "".join(letters[k] for k in logits[12:, 0].argmax(axis=1)) == word[::-1]
    read = np.array(names["held"])[12:]
    assert "".join((letters + ".")[k] for k in read.argmax(axis=1)) == word[::-1] and read.max(axis=1).min() > 0.5
    some = other_memories.reverse(np.random.default_rng(0), 200, 12, letters=8)
    assert other_memories.right(net, some)[1] == 1


def test_the_controller_of_a_stack_alone_has_no_state_and_keeps_none_by_training():
    rng = np.random.default_rng(0)
    m = other_memories.speaker(rng, "stack", "reverse", dtype=np.float64)
    other_memories.forget(m.rnn.controller)
    m.rnn.controller.b_z[:] = -40
    batch = other_memories.reverse(rng, 2, 4)
    grads = other_memories.forgetful_loss(m, batch)[1].rnn.controller
    held = ("W_hr", "W_hz", "W_hn", "W_xz", "b_z")
    assert not any(getattr(grads, name).any() for name in held) and grads.W_xn.any()
    for before in (np.zeros((2, 32)), rng.normal(size=(2, 32))):
        state = other_memories.cell_of(m.rnn).forward(batch.xs[:1], None, m.rnn)[1]._replace(h=before)
        h = other_memories.cell_of(m.rnn).forward(batch.xs[1:2], state, m.rnn)[1].h
        np.testing.assert_allclose(h, other_memories.cell_of(m.rnn).forward(batch.xs[:2], None, m.rnn)[1].h, atol=1e-12)


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


def test_slow_units_of_an_scrn_keep_alpha_to_the_t_and_are_linear():
    rng = np.random.default_rng(0)
    p = scrn_init(rng, D=2, H=4, C=3, alpha=0.95)
    xs, total = rng.normal(size=(2, 20, 1, 2)), np.eye(p.S)
    for step in jacobian(xs[0], None, p).steps[:, 0]:
        total = step @ total
    np.testing.assert_allclose(total[:3, :3], 0.95**20 * np.eye(3), rtol=1e-12)
    c = [scrn_forward(x, None, p)[1][:, :3] for x in (xs[0], xs[1], xs[0] + 2 * xs[1])]
    np.testing.assert_allclose(c[0] + 2 * c[1], c[2], atol=1e-12)


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
    np.testing.assert_allclose(theirs, elman_forward(xs, None, p)[0][-1], atol=1e-6)
    defaults = inspect.signature(keras.layers.SimpleRNN).parameters
    assert [defaults[name].default for name in ("activation", "recurrent_initializer", "bias_initializer")] == [
        "tanh", "orthogonal", "zeros"
    ]  # fmt: skip
