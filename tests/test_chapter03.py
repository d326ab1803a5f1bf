"""What chapter 3 states for all gates, on random ones; what they conclude from trainings; what is stored."""

import itertools
import json

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, result, run_box

from experiments import gates
from experiments._store import load, save, stored_file
from gru_book.tasks.hold import drift, hold
from gru_lib import elman_init, elman_step, gradcheck, gru_forward, gru_init, sigmoid

NAME = "03-gates"
SEEDS = range(5)


def mixed(z, old, new):
    """The gated update."""
    return z * old + (1 - z) * new


def hard_gate(a):
    return (np.asarray(a) > 0) * 1.0


def run(z, candidates, h0):
    h = h0
    for z_t, n in zip(z, candidates, strict=True):
        h = mixed(z_t, h, n)
    return h


def weights(z):
    """w_0 … w_T, one product at a time."""
    T = len(z)
    rest = [np.prod(z[t:], axis=0) for t in range(T + 1)]
    return np.array([rest[0], *((1 - z[k]) * rest[k + 1] for k in range(T))])


# ------------------------------------------------------------------------------------------------ what holds for all


@pytest.mark.parametrize("seed", SEEDS)
def test_an_elman_network_rewrites_every_number_of_its_state_at_every_step(seed):
    rng = np.random.default_rng(seed)
    p, h = elman_init(rng, 3, 8), rng.uniform(-1, 1, (1, 8))
    for x in rng.normal(size=(20, 1, 3)):
        new, _ = elman_step(x, h, p)
        moved = [elman_step(x, h + 0.1 * unit, p)[0] for unit in np.eye(8)]
        assert (new != h).all() and (np.concatenate(moved) != new).all()
        h = new


def test_the_gate_set_by_hand_holds_the_marked_number_to_the_last_digit():
    xs, ys = hold(np.random.default_rng(0), 500, 50)
    h = np.zeros((500, 1))
    for x, y in zip(xs, ys, strict=True):
        a = np.concatenate([x, h], axis=1) @ [[0.0], [-2.0], [0.0]] + 1
        h = mixed(hard_gate(a), h, x[:, :1])
        assert (h == y).all()


def test_a_hard_gates_loss_has_no_slope_and_a_soft_ones_has():
    def loss(gate, a):
        return (mixed(gate(a), 1.0, 0.0) - 0.4) ** 2

    for a in (-2, -1e-3, 1e-3, 2):
        assert loss(hard_gate, a + 1e-4) == loss(hard_gate, a) == pytest.approx(0.36 if a > 0 else 0.16)
        assert abs(loss(sigmoid, a + 1e-4) - loss(sigmoid, a)) > 1e-6
    assert loss(sigmoid, np.log(0.4 / 0.6)) < 1e-30


@pytest.mark.parametrize("seed", SEEDS)
def test_the_memory_is_a_weighted_average_whose_weights_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    z, candidates, h0 = rng.random((40, 3, 5)), rng.normal(size=(40, 3, 5)), rng.normal(size=(3, 5))
    w = weights(z)
    assert (w >= 0).all()
    np.testing.assert_allclose(w.sum(axis=0), 1, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run(z, candidates, h0), w[0] * h0 + (w[1:] * candidates).sum(axis=0), rtol=0, atol=1e-12)


def test_a_hard_gate_leaves_the_last_candidate_that_was_written():
    source = np.random.default_rng(0)
    a, candidates, h0 = source.normal(-1, 1, (30, 100)), source.normal(size=(30, 100)), source.normal(size=100)
    h = run(1 - hard_gate(a), candidates, h0)
    for column in range(100):
        written = np.flatnonzero(a[:, column] > 0)
        assert h[column] == (candidates[written[-1], column] if len(written) else h0[column])


@pytest.mark.parametrize("z", [0.0, 0.3, 0.9, 0.999, 1.0])
def test_a_constant_gate_is_the_exponential_average_with_z_the_weight_of_the_old(z):
    rng = np.random.default_rng(1)
    candidates, h0 = rng.normal(size=500), rng.normal()
    h = run(np.full((500, 1), z), candidates[:, None], np.array([h0]))
    fade = z ** np.arange(500)
    assert h.item() == pytest.approx(z**500 * h0 + (1 - z) * fade @ candidates[::-1], rel=0, abs=1e-12)
    assert weights(np.full(20, z))[-1] == 1 - z  # the newest
    assert weights(np.full(20, z))[-10:].sum() == pytest.approx(1 - z**10, abs=1e-14)


def test_the_explorers_states_answer_as_the_page_says():
    states = json.loads((ROOT / "gru_book" / "widgets" / "hold.json").read_text("utf8"))

    def weights_at_24(preset):
        gate = states["presets"][preset]
        return weights(np.where(np.arange(1, 25) == states["store"], gate["store"], gate["else"]))

    soft, leak = map(weights_at_24, ("soft", "leak"))
    assert [round(100 * w[5]) for w in (soft, leak)] == [81, 13]
    assert [round(1000 * w[5] / (1 - states["presets"]["soft"]["store"])) for w in (soft, leak)] == [826, 135]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_memory_stays_between_old_and_new_and_from_tanh_between_minus_one_and_one(seed):
    rng = np.random.default_rng(seed)
    z, (new, old) = sigmoid(rng.normal(0, 10, 10_000)), rng.normal(size=(2, 10_000))
    h = mixed(z, old, new)
    slack = 4e-16 * np.maximum(np.abs(new), np.abs(old))  # rounding
    assert (np.minimum(new, old) - slack <= h).all() and (h <= np.maximum(new, old) + slack).all()
    p = gru_init(rng, 2, 8)
    p.flat[:] = rng.normal(0, 3, p.size)
    assert np.abs(gru_forward(rng.normal(0, 9, (200, 5, 2)), None, p)[0]).max() <= 1 + 4e-16  # z and 1 − z are rounded


# ------------------------------------------------------------------------------------------- what trainings are to show


@pytest.fixture(scope="module")
def page():
    """The loop, the loss and the training as the page has them."""
    cells = cells_of(NAME)
    names = names_of([cells[0], *(c for c in cells if "def forward" in c or "def backward" in c)])
    assert {"forward", "loss_of", "backward", "train"} <= names.keys()
    return names


NEW = (50, 51, 52)  # not the page's seeds


def test_trained_gates_go_to_the_ends_on_hold_and_stay_between_on_drift(page):
    for draw, ends, error in ((hold, 1, (0.005, 0.008)), (drift, 0, (0.255, 0.268))):
        xs, ys = draw(np.random.default_rng(200), 1000, 20)
        for seed in NEW:
            hs, zs = page["forward"](xs, *page["train"](draw, seed))
            assert ((zs < 0.1) | (zs > 0.9)).mean() == ends
            assert error[0] < page["loss_of"](hs, ys)[0] < error[1]
        biases = (np.log(z / (1 - z)) for z in np.arange(0.005, 1, 0.01))
        constant = min(page["loss_of"](page["forward"](xs, np.zeros((3, 1)), b)[0], ys)[0] for b in biases)
        assert constant > 0.8 if draw is hold else constant == pytest.approx(0.261, abs=0.007)


def runs(path, task, name, key):
    return [row[-1][key] for row in load(path)["runs"] if row[:2] == [task, name]]


@pytest.mark.parametrize("file", ["gates", "gates_own"])
def test_one_gated_unit_holds_and_one_without_a_gate_does_not_and_sixteen_do(file):
    path = stored_file(file)
    gated, sixteen = (runs(path, "hold", who, "error") for who in ("gated unit", "Elman, 16 units"))
    relu = runs(path, "hold", "Elman, 16 relu units", "error")
    assert max(gated) < 0.0003 and min(sixteen) > 0.003 and max(sixteen) < 0.03 and max(relu) < 0.001
    assert min(runs(path, "hold", "linear recurrence", "error") + runs(path, "hold", "Elman, 1 unit", "error")) > 0.8


@pytest.mark.parametrize("file", ["gates", "gates_own"])
def test_on_drift_the_gate_gains_nothing(file):
    path = stored_file(file)
    linear, gated = (np.median(runs(path, "drift", who, "error")) for who in ("linear recurrence", "gated unit"))
    assert linear == pytest.approx(gated, abs=0.002)
    elman = ("1 unit", "16 units", "16 relu units")
    assert all(0.25 < np.median(runs(path, "drift", f"Elman, {H}", "error")) < 0.29 for H in elman)


@pytest.mark.parametrize("file", ["gates", "gates_own"])
def test_both_hard_gates_learn_to_hold_without_a_leak_and_neither_follows_a_drift(file):
    for name in ("straight-through", "REINFORCE"):
        assert max(runs(stored_file(file), "hold", name, "error")) == 0, name
        assert min(runs(stored_file(file), "drift", name, "error")) > 0.9, name


# --------------------------------------------------------------------------------------------- a hard gate's estimates


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("c", [0.0, 0.3])
def test_reinforcement_has_the_mean_of_the_true_slope_with_any_baseline(p, c):
    a, y = np.log(p / (1 - p)), 0.4
    L = {1: (1 - y) ** 2, 0: y**2}
    estimate = p * (1 - p) * (L[1] - c) + (1 - p) * (0 - p) * (L[0] - c)
    mean = lambda a: sigmoid(a) * L[1] + sigmoid(-a) * L[0]  # noqa: E731
    assert estimate == pytest.approx(mean(a + 1e-30j).imag / 1e-30, rel=1e-12)


class Draws:
    """In place of a generator: every number is drawn as the setting says, 1 if 0 < p, 0 if 1 < p does not hold."""

    def __init__(self, setting):
        self.left = iter(setting)

    def random(self, shape):
        return 1.0 - np.reshape([next(self.left) for _ in range(np.prod(shape))], shape)


def test_the_estimate_that_trains_over_a_sequence_is_right_on_average():
    """All 256 settings of four steps and two sequences, each weighed by its probability."""
    rng = np.random.default_rng(0)
    batch, p = hold(rng, 2, 4), gates.CONTENDERS["REINFORCE"][0](rng)
    settings = list(itertools.product((0, 1), repeat=8))

    def chances_and_losses(p):
        for setting in settings:
            h, chance, hs = np.zeros((2, 1)), 1.0, []
            for x, z in zip(batch.xs, np.reshape(setting, (4, 2, 1)), strict=True):
                share = sigmoid(np.concatenate([x, h], axis=1) @ p.W + p.b)
                chance *= np.where(z == 1, share, 1 - share).prod()
                h = z * h + (1 - z) * x[:, :1]
                hs.append(h)
            yield chance, gates.squared(np.array(hs), batch.ys)[0]

    chances = [chance for chance, _ in chances_and_losses(p)]
    estimates = [gates.reinforce_loss(Draws(setting))(p, batch)[1].flat.copy() for setting in settings]
    for i in range(p.size):
        means = []
        for e in (1e-6, -1e-6):
            q = p.copy()
            q.flat[i] += e
            means.append(sum(chance * loss for chance, loss in chances_and_losses(q)))
        assert np.array(chances) @ np.array(estimates)[:, i] == pytest.approx((means[0] - means[1]) / 2e-6, abs=1e-8)


# -------------------------------------------------------------------------------------------------- what is stored


@pytest.mark.parametrize(("task", "name"), [("drift", "Elman, 1 unit"), ("hold", "REINFORCE")])
@pytest.mark.slow
def test_a_contender_trained_anew_is_the_stored_one(task, name):
    again, stored = gates.run(task, name, 1), result(gates, "runs", task, name, 1)
    assert again["rate"] == stored["rate"]
    assert again["error"] == pytest.approx(stored["error"], rel=0.02, abs=1e-6)


def test_the_best_rate_is_that_with_the_smallest_mean_error(tmp_path, monkeypatch):
    monkeypatch.setattr(gates, "FOLDER", tmp_path)
    rates = [["hold", "gate", rate, seed, error] for rate, seed, error in [
        (0.1, 20, 0.1), (0.1, 21, 0.5), (0.01, 20, 0.2), (0.01, 21, 0.2)
    ]]  # fmt: skip
    save(tmp_path / "gates.json", {"rates": rates})
    assert gates.best_rate("hold", "gate") == 0.01


@pytest.mark.parametrize("name", list(gates.CONTENDERS)[:5])
def test_a_loss_of_the_trainings_has_its_gradient_and_counts_the_second_half_alone(name):
    rng = np.random.default_rng(0)
    start, _, lossy = gates.CONTENDERS[name]
    batch, p = gates.TASKS["hold"](rng, 2, 6), start(rng)
    loss, grads = lossy(p, batch)
    assert gradcheck(lambda p: lossy(p, batch)[0], p, grads).worst < 1e-12
    batch.ys[:3] += 1
    assert lossy(p, batch)[0] == loss
    batch.ys[3:] += 1
    assert lossy(p, batch)[0] != loss


# -------------------------------------------------------------------------------------------------- other frameworks


@pytest.mark.frameworks("torch")
def test_what_the_page_says_of_pytorch_holds():
    import torch

    assert run_box("03-gates")["gate"].weight.grad is not None
    made = {name: torch.randn(50, dtype=torch.double, requires_grad=True) for name in ("a", "h", "n")}
    a, h, n = made.values()
    z = torch.sigmoid(a)
    ours = mixed(*(v.detach().numpy() for v in (z, h, n)))
    np.testing.assert_allclose(torch.lerp(n, h, z).detach().numpy(), ours, rtol=0, atol=1e-14)
    torch.where(a > 0, h, n).sum().backward()
    assert a.grad is None and h.grad is not None and n.grad is not None
