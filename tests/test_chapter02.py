"""What chapter 2 and its companions state as a property, and that their stored trainings can be made again."""

import numpy as np
import pytest
from helpers import page_says, result, rng, run_box

from experiments import marked as experiment
from gru_book import check
from gru_book.jacobian import jacobian
from gru_book.results import load as load_results
from gru_book.tasks.adding import marked
from gru_book.widgets.reach import REACH
from gru_lib import clip_by_global_norm, elman_backward, elman_forward, elman_init

T, D, H = 30, 3, 6


def linear(W):
    """The linear recurrence with the recurrent weights W."""
    p = elman_init(rng(), D, len(W), activation="linear")
    p.W_h[:] = W
    return p


def norm(a):
    return np.linalg.norm(a, 2)


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
@pytest.mark.parametrize("size", [0.9, 2.0])
def test_jacobian_is_at_most_the_power_of_the_norm(activation, size):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = elman_init(rng, D, H, activation=activation)
        p.W_h[:] *= size / norm(p.W_h)
        for t in (1, 2, T):
            total = jacobian(rng.normal(size=(t, 1, D)), rng.normal(size=(1, H)), p).total[0]
            assert norm(total) <= size**t * (1 + 1e-12)


def test_powers_stay_between_the_bounds_of_the_spectral_radius():
    for seed in range(10):
        p = linear(rng(seed).normal(size=(H, H)))
        eigenvalues, V = np.linalg.eig(p.W_h)
        rho, kappa = np.abs(eigenvalues).max(), norm(V) * norm(np.linalg.inv(V))
        for k in (1, 2, 3, 7, 20, 59):
            size = norm(jacobian(np.zeros((k, 1, D)), None, p).total[0])
            assert rho**k * (1 - 1e-10) <= size <= kappa * rho**k * (1 + 1e-10)


def test_clipping_leaves_the_share_of_every_number_as_it_was():
    rng = np.random.default_rng(0)
    p = elman_init(rng, D, H)
    _, h_T, tape = elman_forward(rng.normal(size=(T, 2, D)), None, p)
    grads = elman_backward(None, rng.normal(size=h_T.shape), tape, p)[2]
    before = grads.flat.copy()
    clip_by_global_norm(grads, norm(before[:, None]) / 7)
    np.testing.assert_allclose(grads.flat * 7, before, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("radius", "strength", "size"), [(1.1, 1, -7), (1.1, 0.1, 2), (1.1, 0, 4)])
def test_the_explorer_shows_the_sizes_that_the_page_names(radius, strength, size):
    """As powers of ten, rounded."""
    net, p = REACH["elman"], elman_init(rng(), 8, 8)
    p.W_x[:], p.W_h[:], p.b[:] = np.eye(8), radius / net["radius"] * np.array(net["W_h"]), 0
    total = jacobian(strength * np.array(net["inputs"])[:, None], None, p).total[0]
    assert abs(np.log10(norm(total)) - size) < 0.6


def test_without_the_last_ten_steps_little_is_left_of_the_weights_gradient():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p, xs = elman_init(rng, 2, 32), marked(rng, 32, 50).xs
        h0, dh_T = np.zeros((32, 32)), rng.normal(size=(32, 32))
        whole = elman_backward(None, dh_T, elman_forward(xs, h0, p)[2], p)[2].W_h
        h_40 = elman_forward(xs[:40], h0, p)[1]
        late = elman_backward(None, dh_T, elman_forward(xs[40:], h_40, p)[2], p)[2].W_h
        assert np.linalg.norm(whole - late) < 0.1 * np.linalg.norm(whole)


def errors(net, T):
    """The errors at the end of a net's ten trainings."""
    found = [row[-1]["errors"][-1] for row in load_results("marked")["error"] if row[:2] == [net, T]]
    assert len(found) == 10
    return np.array(found)


def trials(net):
    """The errors at the end of a net's six trials on fifty numbers: three rates, two seeds."""
    found = [row[-1]["errors"][-1] for row in load_results("marked")["tuning"] if row[:2] == [net, 50]]
    assert len(found) == 6
    return found


def test_one_marked_number_of_twenty_is_learned_by_all_and_one_of_fifty_by_the_gru_and_not_by_elmans():
    for net in ("Elman", "GRU"):
        assert max(errors(net, 10).max(), errors(net, 20).max()) < 0.001
    assert errors("Elman", 50).min() > 0.084 and errors("GRU", 50).max() < 1e-5
    assert min(trials("Elman")) > 0.084


def test_relu_learns_it_without_a_gate_from_the_identity_and_from_a_scaled_matrix_and_tanh_from_neither():
    assert errors("IRNN", 50).max() < 0.001
    assert min(trials("relu") + trials("tanh, IRNN") + trials("tanh, scaled")) > 0.08
    assert sum(end < 0.01 for end in trials("relu, scaled")) == 3 and sum(end < 0.01 for end in trials("IRNN")) == 4
    stored = load_results("marked")
    ends = {
        (part, row[-2]): row[-1]["errors"][-1]
        for part in ("tuning", "scaled")
        for row in stored[part]
        if row[:3] == ["relu, scaled", 50, 0.001]
    }
    assert len(ends) == 5 and sum(end < 0.01 for end in ends.values()) == 4
    assert page_says("02-why-memory-fades", "at the rate 0.001, four of five seeds learn")


def test_with_a_radius_of_zero_a_driven_gradient_can_explode():
    """A triangle without its diagonal, turned: its eigenvalues are 0, and at rest its powers soon are."""
    grew = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = elman_init(rng, 8, 32)
        Q = np.linalg.qr(rng.normal(size=(32, 32)))[0]
        p.W_h[:] = Q @ np.triu(rng.normal(size=(32, 32)) * 5 / np.sqrt(32), 1) @ Q.T
        grew += norm(jacobian(rng.normal(size=(100, 1, 8)), None, p).total[0]) > 1e3
        assert norm(jacobian(np.zeros((100, 1, 8)), None, p).total[0]) < 1e-3
    assert grew >= 5


def test_clipping_as_pytorch_writes_it_is_right():
    def clip(grads, max_norm):
        factor = max_norm / (np.sqrt(sum((g * g).sum() for g in grads)) + 1e-6)
        return [g * min(1.0, factor) for g in grads]

    assert check.clip(clip).ok


@pytest.mark.frameworks("torch")
def test_pytorch_clips_and_cuts_as_the_page_says():
    import torch

    names = run_box("02-why-memory-fades")
    grads = [p.grad for p in names["parameters"]]
    assert sum(float((g * g).sum()) for g in grads) <= 1 + 1e-4
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        h = torch.zeros(1, 4, 32)
        for _ in range(2):
            hs, h = names["net"](torch.randn(20, 4, 8), h)
            hs.sum().backward()
    grads[0].view(-1)[0] = float("nan")
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.nn.utils.clip_grad_norm_(names["parameters"], 1.0, error_if_nonfinite=True)


def test_the_rates_of_the_marked_number_are_those_that_tuning_found_best():
    stored = load_results("marked")
    assert {rate for (_, T), rate in experiment.BEST.items() if T == 50} == {0.001, 0.01}
    assert {case: experiment.best_rate(*case, stored) for case in experiment.BEST} == experiment.BEST


def test_a_training_on_the_marked_number_made_anew_begins_as_the_stored_one():
    net, T, rate = "Elman", 10, experiment.BEST["Elman", 10]
    again = experiment.learn(net, T, rate, 0, steps=400)  # it falls to zero sooner, in the last fifth
    stored = result(experiment, "error", net, T, rate, 0)
    assert again["errors"][0] == pytest.approx(stored["errors"][0], rel=0.02)
