"""What chapter 2 and its companions state as a property, and that their stored trainings can be made again."""

import inspect

import numpy as np
import pytest
from helpers import result, results, rng, run_box, said

from experiments import fading
from gru_lib import clip_by_global_norm, elman_backward, elman_forward, elman_init, jacobian
from gru_lib.models.reader import ReaderAccuracy
from gru_lib.results import wilson
from gru_lib.widgets.reach import REACH

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


def test_a_net_of_radius_zero_explodes_under_the_inputs_of_the_page():
    p = elman_init(np.random.default_rng(0), 2, 2)
    p.W_x[:], p.W_h[:] = np.eye(2), [[2, 1], [-4, -2]]
    assert not (p.W_h @ p.W_h).any()
    for t in (1, 5, 50):
        total = jacobian(np.tile([4.0, 22.0], (t, 1, 1)), [[0.0, 1.0]], p).total[0]
        np.testing.assert_allclose(total, 2.0 ** (t - 1) * np.array([[2, -4], [0, 0]]), rtol=1e-12, atol=0)
    assert not jacobian(np.zeros((2, 1, 2)), None, p).total.any()


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


@pytest.mark.parametrize("what", [("orthogonal", "clipped", 0.3), ("radius 0.5", "nothing", 0.3)])
def test_a_training_made_anew_solves_what_the_stored_one_solved(what):
    again, stored = fading.run(*what, 0), result(fading, "clipping", *what, 0)
    assert (again["right"] >= 0.98) == (stored["right"] >= 0.98) == (what[0] == "orthogonal")
    assert again["first"] == pytest.approx(stored["first"], rel=0.01)


@pytest.mark.parametrize("part", ["clipping", "own"])  # the second: other kernels
def test_clipping_helps_against_explosion_and_not_against_fading_with_both_kernels(part):
    def solved(*what):
        runs = results(fading, part, *what)
        assert len(runs) == 50
        return sum(run["right"] >= 0.98 for run in runs)

    assert wilson(solved("radius 3", "nothing", 0.3), 50)[1] < 0.5
    assert min(solved("radius 3", "clipped", 0.3), solved("radius 3", "nothing", 0.001)) > 45
    assert all(run["largest"] < 1 for run in results(fading, part, "radius 0.5", "nothing", 0.3))
    assert solved("radius 0.5", "nothing", 0.3) == 0 and wilson(solved("radius 0.5", "rescaled", 3.0), 50)[0] > 0.5
    assert min(solved("orthogonal", how, 0.3) for how in ("nothing", "clipped")) > 45


def test_each_treatment_changes_the_step_as_it_says(monkeypatch):
    """At radius 0.5 no gradient reaches the threshold, so clipping changes no bit; rescaling does."""
    monkeypatch.setattr(fading, "reader_accuracy", lambda m, batch: ReaderAccuracy(m.flat.sum(), 0))
    monkeypatch.setattr(fading, "N", 8)
    end = {name: fading.run("radius 0.5", name, 0.3, 0, steps=220) for name in ("nothing", "clipped", "rescaled")}
    assert end["nothing"] == end["clipped"] and end["nothing"]["largest"] < 1
    assert end["rescaled"]["right"] != end["nothing"]["right"]
    unclipped, clipped = (fading.run("radius 3", name, 0.3, 0, steps=220) for name in ("nothing", "clipped"))
    assert unclipped["first"] == clipped["first"] > 1 and unclipped["norm"] > clipped["norm"]


def test_random_steps_made_anew_end_as_the_stored_ones():
    again, stored = fading.stages("random", 1.0, 0), result(fading, "stages", "random", 1.0, 0)
    assert again["right"] >= 0.98 and stored["right"] >= 0.98
    assert again["norm"] == pytest.approx(stored["norm"], rel=0.01)


def test_adam_made_anew_goes_as_stored_and_needs_shuffled_labels_and_its_own_steps():
    for then in ("Adam", "clipped"):
        again, stored = fading.adam(60, then, 4, steps=120), result(fading, "adam", 60, then, 4)
        assert again["radius"] == pytest.approx(stored["radius"], rel=0.01)
    for then in ("Adam", "clipped"):
        again, stored = fading.adam(0, then, 4, steps=250), result(fading, "adam", 0, then, 4)
        assert (again["right"] >= 0.98) == (stored["right"] >= 0.98) == (then == "Adam")


def test_adam_rescues_most_runs_and_its_steps_on_shuffled_labels_some_with_either_kernels():
    for part in ("adam", "own adam"):
        runs = {key: results(fading, part, *key) for key in fading.SHUFFLED}
        assert {len(found) for found in runs.values()} == {50}
        k = {key: sum(run["right"] >= 0.98 for run in found) for key, found in runs.items()}
        assert 35 < k[60, "Adam"] < k[0, "Adam"]
        assert wilson(k[0, "clipped"], 50)[1] < wilson(k[60, "clipped"], 50)[0] < 0.2
    assert said("02d-clipping-measured", "clipped steps rescue none of 50 networks")


@pytest.mark.parametrize("first", ["gradient", "random"])
def test_the_first_steps_all_have_the_length_asked_for_and_the_others_at_most_the_rate(first, monkeypatch):
    lengths = {3.0: [], 0.3: []}

    class Measured(fading.SGD):
        def step(self, grads):
            lengths[self.lr].append(self.lr * np.linalg.norm(grads.flat))
            super().step(grads)

    monkeypatch.setattr(fading, "SGD", Measured)
    monkeypatch.setattr(fading, "FIRST", 5)
    monkeypatch.setattr(fading, "STEPS", 20)
    fading.stages(first, 3.0, 0)
    np.testing.assert_allclose(lengths[3.0], [3.0] * 5, rtol=1e-12)
    assert len(lengths[0.3]) == 20 and max(lengths[0.3]) <= 0.3 * (1 + 1e-12)
