"""Chapter 13: what the page says of its memories, and that its stored trainings can be made again."""

import inspect
from functools import partial

import numpy as np
import pytest
from helpers import cells_of, check_loss, load_results, names_of, randomised, results, run_box

from experiments import other_memories
from gru_book.cells import scrn_forward, scrn_init, stack_rnn_forward, stack_step
from gru_book.jacobian import jacobian
from gru_book.tasks.adding import adding
from gru_lib import elman_forward, gradcheck, linear_forward
from gru_lib.cells import irnn_init

FILES = ("other_memories", "other_memories_own")  # the second with other kernels
stored = partial(results, FILES[0])


# -------------------------------------------------------------------------------------------- adding, set by hand


@pytest.fixture(scope="module")
def page():
    """What the cells of the page define up to its table of reaches, without that of the figure."""
    cells = [source for source in cells_of("13-other-memories") if "plt.show" not in source][:5]
    assert "def reach" in cells[-1]
    return names_of(cells)


def test_two_units_add_exactly_and_their_weights_stay_as_they_are(page):
    p, thousand = page["p"], page["thousand"]
    np.testing.assert_array_equal(p.W_h, [[0, 1], [0, 1]])
    answers = elman_forward(thousand.xs[:, :100], None, p)[0][-1].sum(axis=1)
    np.testing.assert_allclose(answers, thousand.ys[:100, 0], rtol=0, atol=1e-12)
    assert page["share_left"](0.99) == page["share_left"](0.99)
    np.testing.assert_array_equal(p.W_h, [[0, 1], [0, 1]])


@pytest.mark.parametrize("weight", [1, 0.9999, 0.999, 0.998, 0.995, 0.99])
def test_a_smaller_weight_costs_what_it_forgets(page, weight):
    """Against the states written out, on 200,000 sequences."""
    rng, N = np.random.default_rng(3), 200_000
    places, numbers = np.stack([rng.integers(0, 500, N), rng.integers(500, 1000, N)]), rng.random((2, N))
    left = np.where(places == 999, 0, weight ** (998.0 - places))
    states = np.c_[(numbers * (places == 999)).sum(axis=0), (numbers * left).sum(axis=0), np.ones(N)]
    total = numbers.sum(axis=0)
    error = ((states @ np.linalg.lstsq(states, total, rcond=None)[0] - total) ** 2).mean()
    assert abs(page["share_left"](weight) - error * 6) < 0.03


def test_the_first_unit_is_a_gate_for_marks_of_0_or_1_and_numbers_up_to_1_alone():
    select = lambda v, m: max(v + m - 1, 0)  # noqa: E731
    assert all(abs(select(v, m) - m * v) < 1e-15 for v in np.linspace(0, 1, 11) for m in (0, 1))
    assert select(1.5, 0) != 0 and select(0.5, 0.5) != 0.25


# --------------------------------------------------------------------------------------- reach, before any training


SAME = {"relu": "relu, usual", "Elman": "tanh, usual"}  # the names on the page


@pytest.mark.parametrize("cell", other_memories.STARTS)
def test_the_pages_fresh_networks_are_those_that_were_trained(page, cell):
    ours = page["fresh"](SAME.get(cell, cell), np.random.default_rng(4))
    np.testing.assert_array_equal(ours.flat, other_memories.CELLS[cell](np.random.default_rng(4), D=2, H=32).flat)


def test_starts_have_what_their_names_say():
    starts = {cell: other_memories.CELLS[cell](np.random.default_rng(0), D=2, H=32) for cell in other_memories.STARTS}
    for cell, p in starts.items():
        if cell != "GRU":
            assert p.activation == ("relu" if cell.startswith("relu") else "tanh") and not p.b.any()
            np.testing.assert_array_equal(p.W_x, starts["relu"].W_x)
    W = {cell: p.W_h for cell, p in starts.items() if cell != "GRU"}
    for cell in ("relu, permutation", "relu, orthogonal", "tanh, orthogonal"):
        np.testing.assert_allclose(W[cell] @ W[cell].T, np.eye(32), atol=1e-12)
    assert set(W["relu, permutation"].flat) == {0, 1} and np.trace(W["relu, permutation"]) < 5
    for cell in ("relu, identity", "tanh, identity"):
        np.testing.assert_array_equal(W[cell], np.eye(32))
    small = other_memories.CELLS["tanh, identity, small W_x"](np.random.default_rng(0), D=2, H=32)
    np.testing.assert_array_equal(small.W_x, 0.1 * starts["tanh, identity"].W_x)
    np.testing.assert_array_equal(small.W_h, np.eye(32))
    assert small.activation == "tanh" and not small.b.any()
    assert 2.9 < starts["GRU"].size / starts["relu"].size < 3.1
    assert 0.17 < abs(W["relu"]).max() <= 32**-0.5


def test_relu_cuts_nothing_from_starts_without_a_negative_entry_and_something_from_the_others():
    h = np.random.default_rng(1).random((100, 32))
    for cell in (cell for cell in other_memories.STARTS if cell.startswith("relu")):
        a = h @ other_memories.CELLS[cell](np.random.default_rng(0), D=2, H=32).W_h
        assert (a.min() >= 0) == (cell in ("relu, identity", "relu, permutation"))


@pytest.mark.parametrize("cell", ["relu, identity", "relu, permutation", "relu, orthogonal"])
def test_reach_is_the_pages_equation(page, cell):
    left, paths = page["reach"](cell, 5)
    rng = np.random.default_rng(5)
    p = page["fresh"](cell, rng)
    hs = elman_forward(adding(rng, N=100, T=50, marks="early").xs, None, p)[0]
    at_end = d = rng.normal(size=(100, 32))
    for h in hs[:9:-1]:
        d = (d * (h > 0)) @ p.W_h.T
    assert abs(np.linalg.norm(d) / np.linalg.norm(at_end) - left) < 1e-12
    on = hs[10:] > 0
    if cell == "relu, identity":
        assert paths == pytest.approx(on.all(axis=0).mean(), abs=1e-12)
    if cell == "relu, permutation":
        unit, passed = np.arange(32), np.ones((100, 32), dtype=bool)
        for step in on[::-1]:  # each path from its unit at step 50, one unit a step
            passed &= step[:, unit]
            unit = p.W_h[:, unit].argmax(axis=0)
        assert paths == pytest.approx(passed.mean(), abs=1e-12)


def test_what_reaches_back_before_training(page):
    names = [SAME.get(cell, cell) for cell in other_memories.STARTS]
    left = {name: np.array([page["reach"](name, seed)[0] for seed in range(40)]) for name in names}
    middle = {name: np.median(shares) for name, shares in left.items()}
    assert left["relu, identity"].min() > 0.5 and middle["relu, permutation"] > 0.5
    assert left["relu, permutation"].min() < 0.4 and left["relu, permutation"].max() > 0.9
    assert left["relu, orthogonal"].max() < 0.005 and 1e-6 < middle["relu, orthogonal"] < 1e-5
    assert left["relu, usual"].max() < 1e-11 and left["GRU"].max() < 1e-7
    assert abs(middle["tanh, identity"] - 0.16) < 0.01 and abs(middle["tanh, orthogonal"] - 1 / 5) < 0.02


def test_where_units_are_not_mixed_the_root_of_the_uncut_paths_is_left(page):
    for cell in ("relu, identity", "relu, permutation"):
        for seed in range(40, 60):  # others than the page's
            left, paths = page["reach"](cell, seed)
            assert abs(left - np.sqrt(paths)) < 0.025
    assert abs(np.log10(np.sqrt(0.5**40)) + 6) < 0.03


def test_an_orthogonal_matrix_loses_about_half_of_the_square_at_each_step(page):
    kept = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = page["fresh"]("relu, orthogonal", rng)
        hs = elman_forward(adding(rng, N=100, T=50, marks="early").xs, None, p)[0]
        d = rng.normal(size=(100, 32))
        for h in hs[:9:-1]:
            whole, d = (d * d).sum(), d * (h > 0)
            kept.append((d * d).sum() / whole)
            d = d @ p.W_h.T
    assert len(kept) == 400 and abs(np.exp(np.mean(np.log(kept))) - 0.5) < 0.06


def test_a_smaller_w_x_changes_no_reach(page):
    rng = np.random.default_rng(0)
    p = page["fresh"]("relu, identity", rng)
    xs = adding(rng, N=100, T=50, marks="early").xs
    d = rng.normal(size=(100, 32))
    left = page["reach"]("relu, identity", 0)[0]
    for size in (1, 100):
        p.W_x /= size
        assert other_memories.reach(p, xs, d) == pytest.approx(left, abs=1e-12)


# ------------------------------------------------------------------------------------------------ reach and training


@pytest.mark.parametrize("cell", other_memories.STARTS)
def test_a_training_made_anew_goes_as_the_stored_one(cell):
    """Its first 100 steps; later ones drift apart by rounding on other machines."""
    again, (before,) = other_memories.early(cell, 0.003, 0, steps=100), stored("early", cell, 0.003, 0)
    np.testing.assert_allclose(again["error"], before["error"][:1], rtol=0.05)


def soon(cell, lr, part="early"):
    """For each training the first test with an error below 0.05, by its step; 0 if there is none in 4,000 steps."""
    errors = [np.array(run["error"]) for run in stored(part, cell, lr)]
    assert len(errors) == 5 and all(error.shape == (40,) for error in errors)
    return [100 * int(1 + np.argmax(error < 0.05)) if error.min() < 0.05 else 0 for error in errors]


def learned(cell, lr, part="early"):
    """How many of the five trainings learned."""
    return sum(map(bool, soon(cell, lr, part)))


@pytest.mark.parametrize(
    ("cell", "lr", "counts"),
    [("GRU", 0, 5), ("GRU", 1, 5), ("relu, identity", 0, 5), ("relu, identity", 1, 5), ("relu, permutation", 0, 5),
     ("relu, permutation", 1, 5), ("relu, orthogonal", 0, 0), ("relu, orthogonal", 1, 5), ("relu", 0, 0),
     ("relu", 1, 3), ("tanh, identity", 0, 0), ("tanh, identity", 1, 0), ("tanh, orthogonal", 0, 0),
     ("tanh, orthogonal", 1, 2), ("Elman", 0, 0), ("Elman", 1, 0)],
)  # fmt: skip
def test_how_many_of_five_learn(cell, lr, counts):
    """The page's table, which no reach of a fresh network decides; two of these 30 trainings of tanh learned."""
    assert learned(cell, other_memories.RATES[lr]) == counts


def test_of_five_more_from_an_orthogonal_matrix_one_learned():
    assert learned("relu, orthogonal", 0.003, "early, five more") == 1


def test_from_the_identity_relu_learns_within_500_steps_at_both_rates():
    found = [soon("relu, identity", lr) for lr in other_memories.RATES]
    assert min(map(min, found)) > 0 and max(map(max, found)) == 500


def test_those_that_did_not_learn_stayed_near_the_baseline():
    runs = [row[-1] for part in ("early", "early, five more") for row in results_of(part)]
    not_learned = [min(run["error"]) for run in runs if min(run["error"]) >= 0.05]
    assert len(not_learned) > 30 and min(not_learned) > 0.164


def results_of(part):
    """The stored rows of a part, with their arguments."""
    return load_results(FILES[0])[part]


# ------------------------------------------------------------------------------------------- the reach during training

TRACED = ("reach", "reach, until learned", "reach, five more")


@pytest.mark.parametrize("cell", [cell for cell, _ in other_memories.SHOWN[1:]])
def test_a_trace_made_anew_goes_as_the_stored_one(cell):
    lr = dict(other_memories.SHOWN)[cell]
    again, (before,) = other_memories.early(cell, lr, 0, 50, 25, traces=True), stored("reach", cell, lr, 0)
    np.testing.assert_allclose(again["error"], before["error"][:2], rtol=0.05)
    np.testing.assert_allclose(again["reach"], before["reach"][:3], rtol=0.2)


def test_measuring_the_reach_leaves_the_training_as_it_is():
    """Each trace has the errors of the training without it, at the tests that both have."""
    for part in TRACED:
        for cell, lr, seed, run in results_of(part):
            (plain,) = stored("early, five more" if seed >= 5 else "early", cell, lr, seed)
            same = min(len(run["error"]) // 4, 4)  # rounding parts them later on another machine
            np.testing.assert_allclose(run["error"][3::4][:same], plain["error"][:same], rtol=0.05)


def test_the_experiments_reach_is_the_pages(page):
    rng = np.random.default_rng(7)
    p = page["fresh"]("relu, permutation", rng)
    xs = adding(rng, N=100, T=50, marks="early").xs
    found = other_memories.reach(p, xs, rng.normal(size=(100, 32)))
    assert found == pytest.approx(page["reach"]("relu, permutation", 7)[0], abs=1e-12)


def test_in_every_training_that_learned_the_reach_was_far_when_the_error_first_fell():
    then, first = [], []
    for part in TRACED:
        for *_, run in results_of(part):
            error = np.array(run["error"])
            assert len(run["reach"]) == len(error) + 1
            if error.min() < 0.05:
                then.append(run["reach"][1 + np.argmax(error < 0.15)])
                first.append(run["reach"][0])
    counts = [learned(cell, lr) for cell in other_memories.STARTS for lr in other_memories.RATES]
    assert len(then) == 41 == sum(counts) + 1  # of the five more
    assert min(then) > 0.1 and min(first) < 1e-9


def test_training_builds_the_reach_or_destroys_it():
    grown = [run["reach"] for run in stored("reach", "GRU", 0.003)]
    assert all(max(far) / far[0] > 1e7 for far in grown)
    lost = [run["reach"] for run in stored("reach", "tanh, identity", 0.001)]
    assert all(far[0] > 0.05 and min(far[:5]) < 0.01 and max(far[9:]) < far[0] for far in lost)  # 4 tests are 100 steps
    back = stored("reach", "relu, orthogonal", 0.003)
    assert sum(max(run["reach"]) > 0.3 and run["reach"][-1] < 0.01 for run in back) == 2
    assert min(min(run["error"]) for run in back) > 0.14


def test_a_far_reach_is_not_enough():
    runs = stored("reach, small W_x")
    assert len(runs) == 5 and all(len(run["error"]) == 40 for run in runs)
    assert min(min(run["error"]) for run in runs) > 0.14
    assert min(min(run["reach"][11:]) for run in runs) > 0.4  # its last 3,000 steps


LENGTHS = [str(length) for length in other_memories.TESTED["copy"]]
ITEMS, LISTS = 0, 1


@pytest.mark.slow
def test_a_copying_machine_made_anew_learns_what_the_stored_one_learned():
    again, (before,) = other_memories.copied("held", 0), stored("copy, z", "held", 0)
    assert again.keys() == before.keys() and again["32"][ITEMS] > 0.98 and before["32"][ITEMS] > 0.98


def middle(runs, length, which):
    return np.median([run[length][which] for run in runs])


@pytest.mark.parametrize(("file", "seeds"), [(FILES[0], 6), (FILES[1], 3)])
def test_machines_whose_heads_walk_copy_lists_that_fill_the_memory(file, seeds):
    held = results(file, "copy, z", "held")
    assert len(held) == seeds and {run["size"] for run in held} == {2210}
    assert all(run[length][LISTS] >= 0.95 for run in held for length in LENGTHS)


@pytest.mark.parametrize(("file", "seeds"), [(FILES[0], 6), (FILES[1], 3)])
def test_where_z_is_learned_the_walk_is_found_and_unread_rows_are_written_over(file, seeds):
    learned = results(file, "copy, z", "learned")
    assert len(learned) == seeds
    for run in learned:
        nothing, read, unread = (run[f"writes: {may}"] for may in ("none", "read", "unread"))
        assert run["walk"] > 0.97 and run["z"] < 0.2
        assert run["on free, 5"] > 0.9
        assert run["32"][LISTS] < 0.1 < run["20"][LISTS] and run["32"][ITEMS] < run["20"][ITEMS] - 0.1
        for spared in (nothing, read):
            assert spared["32"][LISTS] > 0.7 and spared["32"][ITEMS] > 0.95
            assert abs(spared["5"][LISTS] - run["5"][LISTS]) < 0.02
        assert unread["32"][LISTS] < 0.02
    few = results(file, "copy, z", "learned, 5 rows")
    assert len(few) == seeds and all(run["size"] == 2210 and run["32"][LISTS] >= 0.95 for run in few)


def test_z_of_both_heads_is_held():
    m = other_memories.speaker(np.random.default_rng(0), "NTM", "copy")
    batch = other_memories.unseen("copy", 3)

    def heads():
        caches = other_memories.cell_of(m.rnn).forward(batch.xs, None, m.rnn)[2].caches
        return [head for step in caches for head in (step.write, step.read)]

    assert all(0.3 < head.z[0].mean() < 0.7 for head in heads())
    other_memories.by_place(m)
    assert all(np.allclose(head.w_gated, head.w_prev) for head in heads())


def test_a_machine_run_step_by_step_is_the_librarys_and_writes_where_it_may():
    m = other_memories.speaker(np.random.default_rng(0), "NTM", "copy", dtype=np.float64)
    batch = other_memories.unseen("copy", 4)
    forward = other_memories.cell_of(m.rnn).forward
    hs, _, tape = forward(batch.xs, None, m.rnn)
    found = other_memories.copying(m, batch)
    np.testing.assert_allclose(found.logits, linear_forward(hs, m.out)[0], atol=1e-12)
    np.testing.assert_allclose(found.w_write, [step.write.w for step in tape.caches], atol=1e-12)
    np.testing.assert_allclose(found.w_read, [step.read.w for step in tape.caches], atol=1e-12)
    np.testing.assert_allclose(found.z_write, [step.write.z[0] for step in tape.caches], atol=1e-12)
    quiet, both = m.copy(), 2 * (m.rnn.M + 6)
    quiet.rnn.heads.W[:, both:], quiet.rnn.heads.b[both:] = 0, 8 * [-40] + 8 * [0]
    state = forward(batch.xs[:4], None, m.rnn)[1]
    wanted = linear_forward(forward(batch.xs[4:], state, quiet.rnn)[0], m.out)[0]
    logits = {may: other_memories.copying(m, batch, may).logits for may in other_memories.MAY}
    np.testing.assert_allclose(logits["none"][4:], wanted, atol=1e-9)
    assert all(np.array_equal(rows[:4], logits["all"][:4]) for rows in logits.values())
    read = np.array([[True, False]])
    assert [other_memories.MAY[may](read).tolist() for may in ("all", "none", "read", "unread")] == [
        [[True, True]], [[False, False]], [[True, False]], [[False, True]]
    ]  # fmt: skip


@pytest.mark.slow
def test_the_pages_machine_walks_and_answers_with_the_read_of_the_step_before():
    sources = cells_of("13c-addressable-memory")
    (training,) = (source for source in sources if "hold_z_at_1(ntm)" in source)
    names = names_of([sources[0].replace("viz.use_style()", ""), training])
    net, unseen = names["net"], names["unseen"]
    assert names["reader_accuracy"](net, unseen(32)).sequences >= 0.95
    for part, least, most in ((slice(32, None), 0.95, 1), (slice(32), 0, 0.1)):
        cut = net.copy()
        cut.out.W[part] = 0
        assert least <= names["reader_accuracy"](cut, unseen(20)).answers <= most
    caches = names["ntm_forward"](unseen(10).xs, None, net.rnn)[2].caches
    where = np.array([[step.write.w[0].argmax(), step.read.w[0].argmax()] for step in caches])
    assert [*where[:10, 0]] == [*range(10)] and [*where[9:, 1]] == [*range(11)] and not where[:10, 1].any()
    (places,) = (source for source in sources if "def without_writing" in source)
    exec(places, names)
    quiet = names["without_writing"](net)
    first, second, *_ = names["by_place"](33, net)
    alone, *others = names["by_place"](33, quiet)
    assert first < 0.1 and alone < 0.1 and second < 0.5 and min(others) > 0.95
    writes = [step.write.w.argmax(axis=1) for step in names["ntm_forward"](unseen(33).xs, None, net.rnn)[2].caches]
    assert all((row == step % 32).all() for step, row in enumerate(writes[:33]))


@pytest.mark.parametrize("file", FILES)
def test_a_gru_that_knows_the_trained_lengths_still_fails_beyond_them(file):
    for run in results(file, "flat"):
        assert run["8"][1] > 0.98 and 0.4 < run["16"][0] < 0.65 and run["16"][1] == 0
    for run in results(file, "strings", "copy", "GRU"):
        assert run["size"] == 14214 and run["5"][0] >= 0.97 and run["10"][0] < 0.5 and run["10"][1] == 0
    for run in results(file, "strings", "copy", "GRU"):
        assert 0.5 < run["6"][ITEMS] < 0.85 and not any(run[L][LISTS] for L in LENGTHS[1:])


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
