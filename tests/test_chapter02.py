"""What chapter 2 and its companions state as a property, and that their stored trainings can be made again."""

import inspect

import numpy as np
import pytest
from helpers import result, results, rng, run_box

from experiments import fading
from experiments import marked as experiment
from gru_book.jacobian import jacobian
from gru_book.models.reader import ReaderAccuracy
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


def test_the_uniform_start_has_the_radius_that_the_framework_box_names():
    radii = [np.abs(np.linalg.eigvals(elman_init(rng(seed), 8, 32).W_h)).max() for seed in range(30)]
    assert round(float(np.median(radii)), 1) == 0.6


@pytest.mark.frameworks("torch", "keras")
def test_pytorch_clips_and_starts_as_the_box_says():
    import torch

    names = run_box("02-why-memory-fades")
    assert names["optimizer"].global_clipnorm == 1
    grads = [p.grad for p in names["net"].parameters()]
    assert names["before"] > 1 and np.sqrt(sum(float((g * g).sum()) for g in grads)) == pytest.approx(1, rel=1e-5)
    assert inspect.signature(torch.nn.utils.clip_grad_norm_).parameters["error_if_nonfinite"].default is False
    grads[0].view(-1)[0] = float("nan")
    torch.nn.utils.clip_grad_norm_(names["net"].parameters(), 1.0)
    assert all(torch.isnan(g).all() for g in grads)
    W = torch.nn.RNN(8, 32).weight_hh_l0.abs().max()
    assert 0.9 / np.sqrt(32) < W <= 1 / np.sqrt(32)


# Keras on torch asks numpy for an array in a way that numpy 2.5 is to forbid.
@pytest.mark.frameworks("torch", "keras")
def test_keras_clips_and_starts_as_the_box_says():
    import keras

    optimizer = keras.optimizers.SGD(0.1)
    assert optimizer.clipnorm is optimizer.clipvalue is optimizer.global_clipnorm is None
    grads = [keras.ops.convert_to_tensor(g) for g in ([3.0, 4.0], [0.0, 12.0])]
    for how, wanted in (
        ("clipnorm", [[0.6, 0.8], [0, 1]]),
        ("clipvalue", [[1, 1], [0, 1]]),
        ("global_clipnorm", [[3 / 13, 4 / 13], [0, 12 / 13]]),
    ):
        clipped = keras.optimizers.SGD(0.1, **{how: 1.0})._clip_gradients(grads)
        np.testing.assert_allclose([g.cpu().numpy() for g in clipped], wanted, rtol=1e-6)
    layer = keras.layers.SimpleRNN(32)
    layer.build((None, None, 8))
    np.testing.assert_allclose(np.linalg.svd(layer.get_weights()[1])[1], 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("radius", "strength", "size"), [(1.1, 1, -9), (1.1, 0.1, 1), (1.5, 1, 0), (1.5, 3, -15), (1.5, 0, 18)]
)
def test_the_explorer_shows_the_sizes_that_the_page_names(radius, strength, size):
    """As powers of ten, rounded; without inputs the two lines are one."""
    net, p = REACH["elman"], elman_init(rng(), 8, 8)
    p.W_x[:], p.W_h[:], p.b[:] = np.eye(8), radius / net["radius"] * np.array(net["W_h"]), 0
    total = jacobian(strength * np.array(net["inputs"])[:, None], None, p).total[0]
    assert abs(np.log10(norm(total)) - size) < 0.6


def test_on_the_border_the_derivative_fades_as_the_exercise_says():
    p = elman_init(rng(), 1, 1)
    p.W_h[:] = 1
    slope = jacobian(np.zeros((10_000, 1, 1)), [[0.5]], p).total.item()
    assert slope == pytest.approx((1 + 0.25 * 2 / 3 * 10_000) ** -1.5, rel=0.05)


def test_without_the_last_ten_steps_little_is_left_of_the_weights_gradient():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p, xs = elman_init(rng, 2, 32), marked(rng, 32, 50).xs
        h0, dh_T = np.zeros((32, 32)), rng.normal(size=(32, 32))
        whole = elman_backward(None, dh_T, elman_forward(xs, h0, p)[2], p)[2].W_h
        h_40 = elman_forward(xs[:40], h0, p)[1]
        late = elman_backward(None, dh_T, elman_forward(xs[40:], h_40, p)[2], p)[2].W_h
        assert np.linalg.norm(whole - late) < 0.1 * np.linalg.norm(whole)


def test_a_sign_lasts_a_thousand_steps_although_its_gradient_is_gone():
    p = elman_init(rng(), 1, 1)
    p.W_x[:], p.W_h[:] = 1, 2
    starts = np.repeat([[0.3], [-0.3]], 100, axis=0)
    hs, h_T, _ = elman_forward(rng().normal(size=(1000, 200, 1)) * 0.2, starts, p)
    assert (np.sign(h_T) == np.sign(starts)).mean() > 0.98
    assert np.median(np.log10(2 * (1 - hs[:100] ** 2)).sum(axis=0)) < -30


def solved(radius, treatment, rate):
    runs = results(fading, "rates", radius, treatment, rate)
    assert len(runs) == 10
    return sum(run["right"] >= 0.98 for run in runs)


@pytest.mark.parametrize("what", [(0.5, "Adam", 0.01), (3.0, "nothing", 0.001)])
def test_a_training_made_anew_solves_what_the_stored_one_solved(what):
    again, stored = fading.run(*what, 0), result(fading, "rates", *what, 0)
    assert (again["right"] >= 0.98) == (stored["right"] >= 0.98)
    assert again["first"] == pytest.approx(stored["first"], rel=0.01)


def test_each_treatment_changes_the_step_as_it_says(monkeypatch):
    """At radius 0.5 no gradient reaches the threshold, so clipping changes no bit; rescaling does."""
    monkeypatch.setattr(fading, "reader_accuracy", lambda m, batch: ReaderAccuracy(m.flat.sum(), 0))
    monkeypatch.setattr(fading, "N", 8)
    end = {name: fading.run(0.5, name, 0.3, 0, steps=220) for name in fading.TREATMENTS}
    assert end["nothing"] == end["clipped"] and end["nothing"]["largest"] < 1
    assert len({run["right"] for run in end.values()}) == 3
    unclipped, clipped = (fading.run(3.0, name, 0.3, 0, steps=220) for name in ("nothing", "clipped"))
    assert unclipped["first"] == clipped["first"] > 1 and unclipped["right"] != clipped["right"]


def errors(net, T):
    """The errors at the end of a net's ten trainings."""
    found = [row[-1]["errors"][-1] for row in load_results("marked")["error"] if row[:2] == [net, T]]
    assert len(found) == 10
    return np.array(found)


def test_one_marked_number_of_twenty_is_learned_by_all_and_one_of_fifty_by_the_gru_and_the_irnn_alone():
    for net in experiment.NETS:
        assert max(errors(net, 10).max(), errors(net, 20).max()) < 0.001
    assert min(errors("Elman", 50).min(), errors("Elman, orthogonal", 50).min()) > 0.084
    assert errors("IRNN", 50).max() < 0.001 and errors("GRU", 50).max() < 1e-5


def test_one_marked_number_of_a_hundred_is_learned_by_the_gru_and_the_irnn_alone():
    """Two trainings each after the one that chose the rate; of the Elman networks one at each, none below saying ½."""
    stored, ends = load_results("marked"), {}
    for part in ("far rates", "far"):
        for net, T, rate, seed, row in stored[part]:
            assert T == 100
            ends.setdefault((part, net), {})[rate, seed] = row["errors"][-1]
    for net in ("Elman", "Elman, orthogonal"):
        found = ends["far rates", net]
        assert [rate for rate, _ in found] == list(experiment.RATES) and min(found.values()) > 0.083
    for net, rate in experiment.BEST_FAR.items():
        tried = ends["far rates", net]
        assert min(tried, key=tried.__getitem__)[0] == rate or max(tried.values()) < 1e-5  # any that learned to the end
        assert len(ends["far", net]) == 2 and max(ends["far", net].values()) < 0.02


def gradients(net):
    """Norms and errors in the first thousand steps of a net's five trainings: (5, 21) each."""
    found = [row[-1] for row in load_results("marked")["gradient"] if row[0] == net]
    return (np.array([row[key] for row in found]) for key in ("norms", "errors"))


def test_a_gradient_over_the_row_comes_before_the_error_falls_and_is_not_enough():
    norms, wrong = gradients("GRU")
    assert norms[:, 0].max() < 1e-8 and norms[:, 6].min() > 0.05 and wrong[:, 8].max() < 0.001  # after 300, 400 steps
    norms, wrong = gradients("Elman")
    assert (norms.max(axis=1) < 1e-4).sum() == 4 and wrong[:, -1].min() > 0.08
    norms, wrong = gradients("IRNN")
    assert norms.min() > 0.9 and np.median(wrong[:, -1]) < 0.04
    norms, wrong = gradients("Elman, orthogonal")
    assert norms[:, 0].min() > 0.2 and wrong[:, -1].min() > 0.08


def test_with_zeros_in_between_the_orthogonal_start_learns_fifty_and_the_usual_one_does_not():
    ends = {}
    for net, _, row in load_results("marked")["silent"]:
        ends.setdefault(net, []).append(row["errors"][-1])
    assert sum(error < 0.001 for error in ends["Elman, orthogonal"]) == 4 and len(ends["Elman, orthogonal"]) == 5
    assert min(ends["Elman"]) > 0.06


def test_an_orthogonal_start_helps_at_twenty():
    assert 0.2 < np.median(errors("Elman, orthogonal", 20)) / np.median(errors("Elman", 20)) < 0.3


def test_clipped_at_a_small_rate_ten_times_the_steps_are_enough():
    """Seeds 1 to 5 learn with either kernels, seed 0 with one of them only; in 500 steps none of ten learns."""
    assert fading.run(3.0, "clipped", 0.01, 1, steps=5000)["right"] >= 0.98
    assert solved(3.0, "clipped", 0.01) == 0


def test_clipping_takes_larger_steps_after_explosion_and_changes_nothing_where_gradients_vanish():
    small, large = (0.001, 0.003, 0.01), (0.1, 0.3, 1.0, 3.0)
    assert min(solved(3.0, "nothing", rate) for rate in small) >= 9 > 3 >= max(solved(3.0, "nothing", r) for r in large)
    large_clipped = [solved(3.0, "clipped", rate) for rate in large]
    assert max(solved(3.0, "clipped", rate) for rate in small) == 0 and min(large_clipped) >= 8
    for treatment in ("nothing", "clipped"):
        assert not any(solved(0.5, treatment, rate) for rate in fading.RATES)
        runs = (results(fading, "rates", 0.5, treatment, rate) for rate in fading.RATES)
        assert max(run["largest"] for each in runs for run in each) < 0.54
    assert solved(0.5, "rescaled", 3.0) == solved(0.5, "Adam", 0.01) == 10


def test_the_rates_of_the_marked_number_are_those_that_tuning_found_best():
    stored = load_results("marked")
    assert {case: experiment.best_rate(*case, stored) for case in experiment.BEST} == experiment.BEST


def test_a_training_on_the_marked_number_made_anew_begins_as_the_stored_one():
    net, T, rate = "Elman", 10, experiment.BEST["Elman", 10]
    again = experiment.learn(net, T, rate, 0, steps=400)  # it falls to zero sooner, in the last fifth
    stored = result(experiment, "error", net, T, rate, 0)
    assert again["errors"][0] == pytest.approx(stored["errors"][0], rel=0.02)
