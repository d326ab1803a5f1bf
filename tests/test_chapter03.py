"""What chapter 3 and page 3b state for all gates, on random ones, and that their stored trainings can be made again."""

import inspect
import json

import numpy as np
import pytest
from helpers import ROOT, result, run_box

from experiments import gates, words
from experiments._store import save
from gru_lib import bundle, elman_init, gradcheck, linear_init
from gru_lib.gates import convex_update, hard_gate, hard_gate_backward, soft_gate, soft_gate_backward

SEEDS = range(5)


def run(z, candidates, h0):
    h = h0
    for z_t, n in zip(z, candidates, strict=True):
        h, _ = convex_update(1 - z_t, n, h)
    return h


def weights(z):
    """w_0 … w_T, one product at a time."""
    T = len(z)
    rest = [np.prod(z[t:], axis=0) for t in range(T + 1)]
    return np.array([rest[0], *((1 - z[k]) * rest[k + 1] for k in range(T))])


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
    a, candidates, h0 = source.normal(1, 1, (30, 100)), source.normal(size=(30, 100)), source.normal(size=100)
    h = run(1 - hard_gate(a)[0], candidates, h0)
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
    states = json.loads((ROOT / "gru_lib" / "widgets" / "hold.json").read_text("utf8"))

    def weights_at_24(preset):
        gate = states["presets"][preset]
        return weights(np.where(np.arange(1, 25) == states["store"], gate["store"], gate["else"]))

    soft, leak, average = map(weights_at_24, ("soft", "leak", "average"))
    found = [soft[5], leak[5], leak[-10:].sum(), average[-10:].sum()]
    assert [round(100 * share) for share in found] == [81, 13, 65, 65]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_memory_stays_between_old_and_new(seed):
    rng = np.random.default_rng(seed)
    g, (new, old) = soft_gate(rng.normal(0, 10, 10_000))[0], rng.normal(size=(2, 10_000))
    h, _ = convex_update(g, new, old)
    slack = 4e-16 * np.maximum(np.abs(new), np.abs(old))  # rounding
    assert (np.minimum(new, old) - slack <= h).all() and (h <= np.maximum(new, old) + slack).all()


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("c", [0.0, 0.3])
def test_reinforcement_has_the_mean_of_the_true_slope_with_any_baseline(p, c):
    a, y = np.log(p / (1 - p)), 0.4
    L = {1: (1 - y) ** 2, 0: y**2}
    estimate = p * (1 - p) * (L[1] - c) + (1 - p) * (0 - p) * (L[0] - c)
    slope = soft_gate_backward([L[1] - L[0]], soft_gate([a])[1])  # of the mean loss p L[1] + (1 − p) L[0]
    assert estimate == pytest.approx(slope.item(), rel=1e-12)


def slopes(p, y):
    """The exact slope of the mean of (g − y)² in a, and the mean of the straight-through estimate."""
    g = np.array([1.0, 0.0])
    through = np.array([p, 1 - p]) @ hard_gate_backward(2 * (g - y), g, straight_through=True)
    return p * (1 - p) * ((1 - y) ** 2 - y**2), through


def test_straight_through_can_have_the_wrong_sign():
    assert slopes(0.1, 0.4) == pytest.approx((0.018, -0.6))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_its_sign_is_wrong_exactly_if_the_answer_lies_between_p_and_a_half(p):
    for y in np.linspace(0.01, 0.99, 50):
        exact, through = slopes(p, y)
        assert (exact * through < 0) == (min(p, 0.5) < y < max(p, 0.5))


def test_a_softened_coin_is_the_coin_when_rounded_and_its_slope_is_another_loss_until_it_is_hard():
    a, y, u = np.log(0.1 / 0.9), 0.4, (np.arange(200_000) + 0.5) / 200_000  # every share of the noise alike
    pre = a + np.log(u / (1 - u))
    assert (pre > 0).mean() == pytest.approx(0.1, abs=1e-5)

    def mean_slope(tau):
        g, cache = soft_gate(pre / tau)
        return soft_gate_backward(2 * (g - y), cache).mean() / tau

    def mean_loss(tau, e):
        return ((soft_gate((pre + e) / tau)[0] - y) ** 2).mean()

    for tau in (1, 0.2):  # the true slope of the softened gate
        assert mean_slope(tau) == pytest.approx((mean_loss(tau, 1e-5) - mean_loss(tau, -1e-5)) / 2e-5, rel=1e-5)
    assert mean_slope(1) < mean_slope(0.5) < 0 < mean_slope(0.2) < mean_slope(0.1) < mean_slope(0.05) < 0.018
    assert mean_slope(0.01) == pytest.approx(0.018, rel=0.06)


@pytest.mark.parametrize(("dtype", "a"), [(np.float64, 37), (np.float32, 17)])
def test_the_slope_as_a_product_with_one_minus_g_is_lost_where_the_librarys_is_not(dtype, a):
    g, cache = soft_gate(np.array([a], dtype))
    assert g * (1 - g) == 0
    assert soft_gate_backward(np.ones(1, dtype), cache) == pytest.approx(np.exp(-float(a)), rel=1e-6)


def test_the_word_with_the_latch_was_not_in_training():
    found = words.front_words()
    assert "arménie" in {word for word, _ in found.test}
    assert "arménie" not in {word for word, _ in [*found.train, *found.validation]}


def test_an_elman_net_trained_anew_errs_as_the_stored_one():
    again, stored = gates.tuned("drift", 1, 2000, 0), result(gates, "elman", "drift", 1, 2000, 0)
    assert again["parameters"] == stored["parameters"] == 6
    assert again["error"] == pytest.approx(stored["error"], rel=0.02)
    assert (again["start"], again["rate"]) == (stored["start"], stored["rate"])


@pytest.mark.parametrize("what", gates.CELLS[4:7])
def test_a_cell_trained_anew_is_the_stored_one(what):
    np.testing.assert_allclose(gates.cells(*what, 1), result(gates, "cells", *what, 1), rtol=0.01)


def test_the_best_start_and_rate_are_those_with_the_smallest_error(tmp_path, monkeypatch):
    monkeypatch.setattr(gates, "FOLDER", tmp_path)
    rows = [["hold", H, start, rate, 20, error] for H, start, rate, error in [
        (4, "uniform", 0.1, 0.3), (4, "orthogonal", 0.01, 0.2), (4, "uniform", 0.01, 0.4), (16, "uniform", 0.1, 0.1)
    ]]  # fmt: skip
    save(tmp_path / "gates.json", {"tuning": rows})
    assert gates.best("hold", 4) == ("orthogonal", 0.01) and gates.best("hold", 16) == ("uniform", 0.1)


@pytest.mark.parametrize("name", ["elman", "gate"])
def test_a_loss_of_the_trainings_has_its_gradient_and_counts_the_second_half_alone(name):
    rng = np.random.default_rng(0)
    batch, lossy = gates.TASKS["hold"](rng, 2, 6), getattr(gates, f"{name}_loss")
    p = bundle(rnn=elman_init(rng, 2, 3), out=linear_init(rng, 3, 1)) if name == "elman" else linear_init(rng, 3, 1)
    loss, grads = lossy(p, batch)
    assert gradcheck(lambda p: lossy(p, batch)[0], p, grads).worst < 1e-12
    batch.ys[:3] += 1
    assert lossy(p, batch)[0] == loss
    batch.ys[3:] += 1
    assert lossy(p, batch)[0] != loss


# -------------------------------------------------------------------------------------------------- other frameworks


@pytest.mark.frameworks("torch")
def test_what_the_pages_say_of_pytorch_holds():
    import torch

    made = {name: torch.randn(50, dtype=torch.double, requires_grad=True) for name in ("a", "new", "old")}
    a, new, old = made.values()
    g = torch.sigmoid(a)
    ours, _ = convex_update(*(v.detach().numpy() for v in (g, new, old)))
    np.testing.assert_allclose(torch.lerp(old, new, g).detach().numpy(), ours, rtol=0, atol=1e-14)
    torch.where(a > 0, new, old).sum().backward()
    assert a.grad is None and new.grad is not None and old.grad is not None

    names = run_box("03b-hard-gates", a=a)
    assert torch.equal(names["g"].round(), (a > 0).double())
    (names["g"] * new.detach()).sum().backward()
    assert torch.equal(a.grad, new.detach())  # as if g = a

    soften = torch.nn.functional.gumbel_softmax
    defaults = inspect.signature(soften).parameters
    assert (defaults["tau"].default, defaults["hard"].default) == (1, False)
    logits = torch.tensor([[-1.0, 0.0]]).repeat(100_000, 1)
    torch.manual_seed(0)
    drawn = soften(logits.double(), tau=0.5)[:, 0].sort().values
    u = torch.sigmoid(0.5 * torch.logit(drawn) + 1)  # evenly spread, if the distribution is the same
    assert (u - torch.linspace(0, 1, 100_000, dtype=torch.double)).abs().max() < 0.01
    logits.requires_grad_()
    (hard, hard_slope), (soft, soft_slope) = ((v, torch.autograd.grad(v.sum(), logits)[0]) for v in (
        (torch.manual_seed(0), soften(logits, tau=0.5, hard=rounded)[:, 0])[1] for rounded in (True, False)
    ))  # fmt: skip
    assert torch.allclose(hard, soft.round(), atol=1e-6) and torch.allclose(hard_slope, soft_slope, atol=1e-6)


# Keras 3.15 on torch asks numpy for an array in a way that numpy 2.5 is to forbid.
@pytest.mark.frameworks("torch", "keras")
def test_what_the_pages_say_of_keras_holds():
    import keras

    a = np.linspace(-5, 5, 101)
    straight = keras.ops.convert_to_numpy(keras.activations.hard_sigmoid(keras.ops.convert_to_tensor(a)))
    np.testing.assert_allclose(straight, np.clip(a / 6 + 0.5, 0, 1), rtol=0, atol=1e-6)
    assert inspect.signature(keras.layers.GRU).parameters["recurrent_activation"].default == "sigmoid"
    assert keras.layers.GRU(2, recurrent_activation="hard_sigmoid")(np.zeros((1, 3, 2))).shape == (1, 2)
    assert callable(keras.ops.stop_gradient)
