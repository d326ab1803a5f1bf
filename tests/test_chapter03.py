"""What chapter 3 states for all gates, on random ones; what they conclude from trainings; what is stored."""

import itertools
import json

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, result, run_box

from experiments import gates
from experiments._store import load, save, stored_file
from gru_book.tasks.hold import drift, hold
from gru_lib import gradcheck, sigmoid

NAME = "03-gates"


def mixed(z, old, new):
    """The gated update."""
    return z * old + (1 - z) * new


def weights(z):
    """w_0 … w_T, one product at a time."""
    T = len(z)
    rest = [np.prod(z[t:], axis=0) for t in range(T + 1)]
    return np.array([rest[0], *((1 - z[k]) * rest[k + 1] for k in range(T))])


def test_the_gate_set_by_hand_holds_the_marked_number_to_the_last_digit():
    xs, ys = hold(np.random.default_rng(0), 500, 50)
    h = np.zeros((500, 1))
    for x, y in zip(xs, ys, strict=True):
        z = np.concatenate([x, h], axis=1) @ [[0.0], [-2.0], [0.0]] + 1 > 0
        h = mixed(z, h, x[:, :1])
        assert (h == y).all()


def test_the_memory_is_a_weighted_average_whose_weights_sum_to_one():
    rng = np.random.default_rng(0)
    z, candidates, h0 = rng.random((40, 3, 5)), rng.normal(size=(40, 3, 5)), rng.normal(size=(3, 5))
    z[5], z[6, 0] = 0.0, 1.0
    w, h = weights(z), h0
    for z_t, n in zip(z, candidates, strict=True):
        h = mixed(z_t, h, n)
    assert (w >= 0).all()
    np.testing.assert_allclose(w.sum(axis=0), 1, rtol=0, atol=1e-13)
    np.testing.assert_allclose(h, w[0] * h0 + (w[1:] * candidates).sum(axis=0), rtol=0, atol=1e-12)


def test_the_explorers_states_answer_as_the_page_says():
    states = json.loads((ROOT / "gru_book" / "widgets" / "hold.json").read_text("utf8"))
    gates = (states["presets"][preset] for preset in ("soft", "leak"))
    shares = [weights(np.where(np.arange(1, 25) == states["store"], g["store"], g["else"])) for g in gates]
    assert [round(100 * w[5]) for w in shares] == [81, 13]


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
def test_one_gated_unit_holds_and_one_without_a_gate_does_not_and_four_do(file):
    found = {(task, who): runs(stored_file(file), task, who, "error") for task, who in gates.EACH}
    one, four = ("linear recurrence", "Elman, 1 unit"), "Elman, 4 relu units"
    assert max(found["hold", "gated unit"]) < 0.0003
    assert np.median(found["hold", four]) < 0.001 and max(found["hold", four]) < 0.03
    assert min(error for who in one for error in found["hold", who]) > 0.8
    assert all(0.25 < np.median(found["drift", who]) < 0.275 for who in (*one, "gated unit", four))
    assert {max(found["hold", who]) for who in gates.HARD} == {0}


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


@pytest.mark.parametrize("name", list(gates.CONTENDERS)[:4])
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
