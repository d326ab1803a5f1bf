"""What chapter 21 says beyond its stored outputs, and its experiment."""

import contextlib
import io

import numpy as np
import pytest
from helpers import box, cells_of, load_results, page_says, run_box

from experiments import loop_solved, without_loop
from gru_book import check
from gru_book.newton import linear, step_jacobian
from gru_book.results import wilson
from gru_book.scan import scan, scan_backward
from gru_lib import gru_forward, gru_init

PAGE = "21-gates-without-the-loop"
STORED, OWN = load_results("without_loop"), load_results("without_loop_own")
NEGATIVE, TWO = "minGRU, z in (−1, 1)", "minGRU, z in (−1, 1), two layers"


def solved(stored, task, cell):
    rows = stored["tasks"] + stored.get("tasks, more seeds", [])
    rows = [row for name, which, _, row in rows if (name, which) == (task, cell)]
    return sum(row["solved"] for row in rows), len(rows)


def medians(task, cell):
    return float(np.median([row["right"] for name, which, _, row in STORED["tasks"] if (name, which) == (task, cell)]))


def test_what_the_page_says_of_the_tasks():
    for cell in without_loop.CELLS:
        assert solved(STORED, "checksum", cell) == (10, 10)
    for task in without_loop.TASKS:
        assert solved(STORED, task, "GRU") == (10, 10)
    for cell in ("minGRU", "minGRU, two layers"):
        assert solved(STORED, "parity", cell)[0] == solved(STORED, "parity_outside", cell)[0] == 0
        assert medians("parity", cell) < 0.53
    assert solved(STORED, "parity", NEGATIVE) == (10, 10)
    for cell in ("minGRU", NEGATIVE):
        assert solved(STORED, "parity_outside", cell)[0] == solved(STORED, "last_outside", cell)[0] == 0
        assert medians("last_outside", cell) == pytest.approx(0.7, abs=0.02)
    assert medians("parity_outside", NEGATIVE) == pytest.approx(0.63, abs=0.02)
    for cell in ("minGRU, two layers", TWO):
        assert solved(STORED, "last_outside", cell) == (10, 10)
    assert solved(STORED, "parity_outside", TWO) == (8, 10) and wilson(8, 10)[0] > 0.4


def test_the_other_kernels_say_the_same_of_every_row():
    for task in without_loop.TASKS:
        for cell in without_loop.CELLS:
            (k, n), (fixed, _) = solved(OWN, task, cell), solved(STORED, task, cell)
            assert n == (10 if fixed else 3)
            assert k == fixed, (task, cell)
    parts = [STORED["tasks"], OWN["tasks"] + OWN["tasks, more seeds"]]
    failed = [
        {seed for *what, seed, row in rows if what == ["parity_outside", TWO] and not row["solved"]} for rows in parts
    ]
    assert failed == [{5, 6}, {5, 6}]


def test_contenders_are_no_larger_than_the_gru_and_as_large_as_they_can_be():
    for draw, D, K in without_loop.TASKS.values():
        sizes = {cell: without_loop.network(np.random.default_rng(0), cell, D, K).size for cell in without_loop.CELLS}
        assert all(0.93 * sizes["GRU"] < size <= sizes["GRU"] for size in sizes.values()), sizes
        assert draw(np.random.default_rng(0), 2, 8).xs.shape == (8, 2, D)


@pytest.mark.slow
def test_a_stored_training_made_anew_ends_as_it_did(monkeypatch):
    """It solves its task in 100 steps; of the 600 that it takes at least, 150 say so."""
    monkeypatch.setattr(without_loop, "MOST", 150)
    name, cell, seed, row = next(each for each in STORED["tasks"] if each[:2] == ["parity", NEGATIVE])
    again = without_loop.tasks(name, cell, seed)
    assert (again["solved"], again["lr"], again["parameters"]) == (row["solved"], row["lr"], row["parameters"])
    assert again["right"] == pytest.approx(row["right"], abs=0.02)


def test_a_network_of_each_kind_starts_with_the_same_bias():
    for cell in without_loop.CELLS:
        m = without_loop.network(np.random.default_rng(0), cell, 4, 1)
        layers = [m.rnn] if hasattr(m.rnn, "b_z") else [m.rnn.layer0, m.rnn.layer1]
        assert all((layer.b_z == without_loop.START).all() for layer in layers)


def test_one_unit_of_a_gru_counts_ones_with_the_weights_that_the_page_gives():
    p = gru_init(np.random.default_rng(0), 2, 1)
    p.flat[:] = 0
    p.W_xz[:, 0], p.W_hn[:], p.b_r[:] = [80, -80], -5, 80  # z = 1 on a 0 and 0 on a 1; r = 1
    bits = np.random.default_rng(1).integers(0, 2, (10_000, 4))
    hs = gru_forward(np.eye(2)[bits], -np.ones((4, 1)), p)[0]
    np.testing.assert_array_equal(hs[..., 0] > 0, np.cumsum(bits, axis=0) % 2)
    assert (abs(hs) > 0.99).all()
    assert page_says(PAGE, r"On a 1, let $z_t$ be near 0 and $n_t = \tanh(-5 h_{t-1})$: that flips it.")
    p.W_xz[1] = -4  # z = 0.018 on a 1, inside (0, 1)
    hs = gru_forward(np.eye(2)[np.ones((10_000, 1), int)], [[-1.0]], p)[0][:, 0, 0]
    np.testing.assert_array_equal(hs > 0, np.arange(1, 10_001) % 2 == 1)


@pytest.mark.parametrize("H", [1, 2, 3, 5])
def test_a_readout_of_units_with_gates_0_and_1_among_them_changes_its_sign_at_most_h_times_after_step_1(H):
    rng, most = np.random.default_rng(H), 0
    for _ in range(3000):
        z = rng.choice([0, 1, rng.random(), rng.random()], H)
        h, n, w = rng.normal(size=(3, H))
        f = [rng.normal() + (n + z**t * (h - n)) @ w for t in range(1, 2)]
        bias = f[0] - (n + z * (h - n)) @ w
        f = np.array([(n + z**t * (h - n)) @ w + bias for t in range(1, 40)])
        most = max(most, int((np.diff(np.sign(f)) != 0).sum()))
    assert 0 < most <= H


def told(bit):
    rows = STORED["told"] + STORED["told nothing"]
    return [row["solved"] for *_, which, _, row in rows if which == bit]


def test_a_single_layer_that_is_told_of_brackets_learns_them_and_a_random_bit_does_not_help():
    assert told("inside") == [True] * 20 and told("random") == [False] * 2 * 3
    assert [row["solved"] for *_, row in OWN["told"]] == [True] * 2


def test_the_bit_says_whether_a_bracket_is_open():
    """It is what the task calls inside: a GRU's answer may change only outside."""
    seen = {}

    def look(m, rng, draw, *args, **kwargs):
        seen["batch"] = draw(rng, 50)
        raise StopIteration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(without_loop, "fit", look)
        with pytest.raises(StopIteration):
            without_loop.told("last_outside", "minGRU", "inside", 0)
    batch = seen["batch"]
    changed = (batch.ys[1:] != batch.ys[:-1]).any(axis=2)
    assert batch.xs.shape[2] == 12 and changed.any() and not changed[batch.xs[1:, :, -1] == 1].any()


def recalled(task, cell, pairs="16", stored=STORED):
    rows = [row for part in ("recall", "recall, more seeds", "recall controls") for row in stored.get(part, [])]
    rows = [row for which, name, _, row in rows if (which, name) == (task, cell)]
    return np.array([row[pairs] for row in rows])


def test_what_a_matrix_buys_in_recall():
    sizes = {cell: row["size"] for _, cell, _, row in STORED["recall"]}
    assert sizes["GRU"] == 14_468 and sizes["DeltaNet"] == sizes["linear attention"] == 390
    for stored, count in ((STORED, 5), (OWN, 1)):
        gru = recalled("recall", "GRU", stored=stored)
        assert len(gru) == count
        for cell in ("DeltaNet", "linear attention"):
            assert recalled("recall", cell, stored=stored).min() > 0.57 > 1.1 * gru.max()
            assert np.median(recalled("recall", cell, stored=stored)) > 2 * np.median(gru)
    attention, delta = (recalled("recall", cell) for cell in ("linear attention", "DeltaNet"))
    assert len(attention) == len(delta) == 10
    assert np.median(attention) > np.median(delta) and attention.min() < delta.min()
    assert recalled("recall", "GRU, 128 units").max() < 0.52 < attention.min()
    medians = {
        (cell, pairs): np.median(recalled("recall", cell, pairs))
        for cell in ("GRU", "GRU, 128 units", "linear attention, 8 rows")
        for pairs in ("6", "16")
    }
    for pairs in ("6", "16"):
        assert medians["linear attention, 8 rows", pairs] < medians["GRU, 128 units", pairs]


def test_what_the_correction_buys_where_keys_come_twice():
    for stored in (STORED, OWN):
        gru, delta, add = (
            recalled("twice", cell, "6", stored=stored) for cell in ("GRU", "DeltaNet", "linear attention")
        )
        assert add.max() < 0.4 < gru.min() < delta.min() and delta.min() > 0.9
        assert recalled("twice", "DeltaNet", stored=stored).min() > 2 * recalled("twice", "GRU", stored=stored).max()


def test_a_unit_that_does_not_turn_round_can_say_the_parity_for_long_to_a_readout_that_is_not_linear():
    """So the page says: read linearly. h = 0.9^t gives t, and a sum of relus any answers to t = 1 … 40."""
    t = np.arange(1, 41)
    h = 0.9**t
    ends = np.append((h[:-1] + h[1:]) / 2, 0)  # relu(h − end) for every end: the steps from some t on back
    basis = np.maximum(h[:, None] - ends, 0)
    weights = np.linalg.solve(basis, -((-1.0) ** t))
    np.testing.assert_array_equal(np.sign(basis @ weights), -((-1.0) ** t))
    assert page_says(PAGE, "Read linearly, a layer of $H$ units")


def test_keys_that_come_twice_are_asked_for_their_second_value():
    batch, last = without_loop.twice(np.random.default_rng(0), 5, 6), {}
    for n in range(5):
        for t in range(18):
            if t < 12:
                last[n, batch.tokens[t, n]] = (batch.xs[t, n, 4:8] + 1) / 2
            else:
                np.testing.assert_array_equal(batch.ys[t, n], last[n, batch.tokens[t, n]])
    assert not batch.asked[:12].any() and batch.asked[12:].all() and (batch.xs[12:, :, 8] == 1).all()


@pytest.mark.slow
def test_a_stored_recall_made_anew_ends_as_it_did():
    *what, row = next(each for each in STORED["recall controls"] if each[1] == "linear attention, 8 rows")
    again = without_loop.remember_tuned(*what)
    assert again["6"] == pytest.approx(row["6"], abs=0.05) and again["lr"] == row["lr"]


SOLVED = load_results("loop_solved")


def trainings(*parts):
    found = {}
    for part in parts:
        for task, cell, _, _, row in SOLVED[part]:
            found.setdefault((task, cell), []).append(row["solved"])
    return found


def test_what_a_diagonal_gru_learned_and_did_not():
    learned = trainings("learned")
    assert {what: (sum(rows), len(rows)) for what, rows in learned.items()} == {
        ("parity", "diagonal"): (10, 10),
        ("cups", "GRU"): (10, 10),
        ("parity", "only its candidate"): (10, 10),
    }
    assert trainings("failed") == {what: [False] * 10 for what in loop_solved.FAILING}
    again = (*loop_solved.FAILING[:2], *loop_solved.FROM_ZERO)
    assert trainings("failed, lower rate", "failed, from 0") == {what: [False] * 3 for what in again}
    two = {task: sum(solved) for (task, _), solved in trainings("two layers").items()}
    assert two == {"parity": 10, "last_outside": 10, "cups": 0}


def test_the_cups_of_21b_are_where_they_are_said_to_be():
    batch = loop_solved.cups(np.random.default_rng(0), 3, 20)
    for n in range(3):
        row = list(range(5))
        for t, left in enumerate(batch.tokens[:, n]):
            row[left], row[left + 1] = row[left + 1], row[left]
            assert row.index(0) == batch.ys[t, n].argmax()


def test_contenders_of_21b_are_no_larger_than_the_gru():
    for name, cell in (*loop_solved.CONTENDERS, *loop_solved.FAILING, *loop_solved.TWO):
        _, D, K = loop_solved.TASKS[name]
        gru, size = (loop_solved.network(np.random.default_rng(0), c, D, K).size for c in ("GRU", cell))
        assert 0.9 * gru < size <= gru, (name, cell)


@pytest.mark.slow
def test_a_training_of_21b_made_anew_ends_as_it_did(monkeypatch):
    *what, row = next(each for each in SOLVED["learned"] if each[0] == "parity")
    again = loop_solved.tasks(*what)
    assert (again["solved"], again["parameters"]) == (row["solved"], row["parameters"])
    assert again["steps"] == pytest.approx(row["steps"], abs=50)


@pytest.mark.parametrize("cell", loop_solved.BLIND)
def test_what_is_not_to_see_the_state_never_does(cell, monkeypatch):
    monkeypatch.setattr(loop_solved, "MOST", 20)
    m, _ = loop_solved.trained("parity", cell, 0.03, 0, 4)
    for gate in "rzn":
        assert getattr(m.rnn, f"u_{gate}").any() == (gate not in loop_solved.BLIND[cell][1])


@pytest.mark.slow
def test_rounds_that_are_stored_are_made_again():
    runs = {tuple(what): row["rounds"] for *what, _, row in SOLVED["language"]}
    assert loop_solved.language(128, True, "all", 0)["rounds"] == runs[128, True, "all"] == 15
    assert runs[128, False, "all"] > 60
    assert all(rounds < 20 for (_, cut, used), rounds in runs.items() if cut and used == "all")
    *what, row = SOLVED["counters"][3]
    assert loop_solved.counters(*what) == row
    *what, row = SOLVED["diagonal counters"][3]
    assert loop_solved.diagonal_counters(*what) == row


def test_trained_counters_take_few_rounds_or_hundreds():
    for part in ("counters", "diagonal counters"):
        rows = [row for _, row in SOLVED[part]]
        assert len(rows) == 10 and all(row["solved"] and row["converged"] for row in rows)
    assert sum(row["rounds"] < 10 for row in rows) == 8 and sum(row["rounds"] > 200 for row in rows) == 2


def test_a_round_of_the_page_keeps_the_guess_where_changes_overflow():
    """Later states would be NaN for good."""
    source = next(cell for cell in cells_of("21b-the-loop-solved") if "def newton_round" in cell)
    names = {"np": np, "step_jacobian": step_jacobian}
    exec(source, names)
    rng = np.random.default_rng(0)
    p = gru_init(rng, 8, 16)
    xs, guess = rng.normal(size=(1800, 8)), np.zeros((1800, 16))
    p.W_h[:] *= 10
    wanted = gru_forward(xs[:, None], None, p)[0][:, 0]
    with np.errstate(over="ignore", invalid="ignore"):
        for rounds in range(1, 3):
            guess, missed = names["newton_round"](guess, xs, p)
            assert np.isfinite(guess).all() and np.isfinite(missed)
            np.testing.assert_allclose(guess[:rounds], wanted[:rounds], atol=1e-12)


def test_two_joined_steps_may_be_the_rows_of_one_array():
    assert check.scan_join(lambda z1, w1, z2, w2: np.array([z1 * z2, z2 * w1 + w2])).ok
    assert "wrong order" in check.scan_join(lambda z1, w1, z2, w2: np.array([z1 * z2, z1 * w2 + w1])).message


@pytest.mark.frameworks("torch")
def test_pytorch_is_solved_as_21b_shows():
    run_box("21b-the-loop-solved")
    code, shown = box("21b-the-loop-solved")
    exchanged = code.replace("J[span:] @ J[:-span]", "J[:-span] @ J[span:]")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(exchanged, {})
    assert (shown, printed.getvalue()) == ("4 rounds; True\n", "10 rounds; True\n")


@pytest.mark.frameworks("jax")
def test_jax_scans_matrices_with_the_join_that_21b_gives():
    import jax

    J, r = np.random.default_rng(0).normal(size=(9, 4, 4)) / 2, np.random.default_rng(1).normal(size=(9, 4))

    def join(first, second):
        (J_1, r_1), (J_2, r_2) = first, second
        return J_2 @ J_1, (J_2 @ r_1[..., None])[..., 0] + r_2

    with jax.enable_x64(True):
        _, d = jax.lax.associative_scan(join, (jax.numpy.asarray(J), jax.numpy.asarray(r)))
    wanted = linear(J[:, None], r[:, None], np.zeros((1, 4)))[:, 0]
    np.testing.assert_allclose(d, wanted, rtol=1e-10)


@pytest.mark.frameworks("torch")
def test_ten_lines_of_pytorch_are_the_scan_and_its_gradient():
    import torch

    names = run_box("21-gates-without-the-loop")
    z, w = (a.double().requires_grad_() for a in (names["z"], names["w"]))
    hs = names["scan"](z, w)
    np.testing.assert_allclose(hs.detach(), scan(z.detach(), w.detach())[1:], rtol=1e-12)
    dhs = torch.ones_like(hs)
    hs.backward(dhs)
    dz, dw, _ = scan_backward(dhs.numpy(), None, z.detach().numpy(), scan(z.detach(), w.detach()))
    np.testing.assert_allclose(z.grad, dz, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(w.grad, dw, rtol=1e-10, atol=1e-12)


@pytest.mark.frameworks("jax", "keras", "torch")
def test_jax_and_keras_scan_with_a_function_that_joins_two_steps():
    import jax
    import keras

    def join(first, second):
        return first[0] * second[0], second[0] * first[1] + second[1]

    z, w = np.random.default_rng(0).uniform(0, 1, (2, 9, 2, 3)).astype(np.float32)
    _, hs = jax.lax.associative_scan(join, (z, w))
    np.testing.assert_allclose(hs, scan(z, w)[1:], rtol=1e-5)
    _, hs = keras.ops.associative_scan(join, tuple(map(keras.ops.convert_to_tensor, (z, w))))
    np.testing.assert_allclose(keras.ops.convert_to_numpy(hs), scan(z, w)[1:], rtol=1e-5)
