"""What chapter 2 states as a property, and that its stored trainings can be made again."""

import numpy as np
import pytest
from helpers import result, run_box

from experiments import marked as experiment
from gru_book import check
from gru_book.jacobian import jacobian
from gru_book.results import load as load_results
from gru_book.widgets.reach import REACH
from gru_lib import elman_init

T, D, H = 30, 3, 6
STORED = load_results("marked")


def norm(a):
    return np.linalg.norm(a, 2)


@pytest.mark.parametrize(("activation", "size"), [("tanh", 0.9), ("tanh", 2.0), ("relu", 2.0), ("linear", 0.9)])
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
        rng = np.random.default_rng(seed)
        p = elman_init(rng, D, H, activation="linear")
        p.W_h[:] = rng.normal(size=(H, H))
        eigenvalues, V = np.linalg.eig(p.W_h)
        rho, kappa = np.abs(eigenvalues).max(), norm(V) * norm(np.linalg.inv(V))
        for k in (1, 2, 3, 7, 20, 59):
            size = norm(jacobian(np.zeros((k, 1, D)), None, p).total[0])
            assert rho**k * (1 - 1e-10) <= size <= kappa * rho**k * (1 + 1e-10)


@pytest.mark.parametrize(("radius", "strength", "size"), [(1.1, 1, -7), (1.1, 0.1, 2), (1.1, 0, 4)])
def test_the_explorer_shows_the_sizes_that_the_page_names(radius, strength, size):
    """As powers of ten, rounded."""
    net, p = REACH["elman"], elman_init(np.random.default_rng(), 8, 8)
    p.W_x[:], p.W_h[:], p.b[:] = np.eye(8), radius / net["radius"] * np.array(net["W_h"]), 0
    total = jacobian(strength * np.array(net["inputs"])[:, None], None, p).total[0]
    assert abs(np.log10(norm(total)) - size) < 0.6


def ends(part, net, T):
    """The errors at the end of a net's trainings."""
    return [row[-1]["errors"][-1] for row in STORED[part] if row[:2] == [net, T]]


def test_one_marked_number_of_twenty_is_learned_by_elmans_and_one_of_fifty_by_the_gru_and_relu_and_not_by_elmans():
    found = {(net, T): ends("error", net, T) for net, T in experiment.CASES}
    assert {len(errors) for errors in found.values()} == {10}
    assert max(found["Elman", 20]) < 0.001
    assert max(found["GRU", 50]) < 1e-5 and max(found["IRNN", 50]) < 0.001
    elman = found["Elman", 50]
    assert (round(min(elman), 3), round(max(elman), 3)) == (0.084, 0.086)
    trials = ends("tuning", "Elman", 50) + ends("wider rates", "Elman", 50)
    assert len(trials) == 2 * len(experiment.RATES + experiment.WIDER) == 10
    assert min(trials) > 0.083 and sum(error < 0.083 for error in trials) == 0


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
    assert {case: experiment.best_rate(*case, STORED) for case in experiment.BEST} == experiment.BEST


@pytest.mark.parametrize(("net", "T"), [("Elman", 20), ("GRU", 50)])
def test_a_training_on_the_marked_number_made_anew_begins_as_the_stored_one(net, T):
    rate = experiment.BEST[net, T]
    again = experiment.learn(net, T, rate, 0, steps=400)  # it falls to zero sooner, in the last fifth
    stored = result(experiment, "error", net, T, rate, 0)
    assert again["errors"][0] == pytest.approx(stored["errors"][0], rel=0.02)
