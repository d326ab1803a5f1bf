"""What chapter 2 states as a property, and that its stored trainings can be made again."""

import numpy as np
import pytest
from helpers import result, rng

from experiments import fading
from gru_lib import clip_by_global_norm, elman_backward, elman_forward, elman_init, jacobian
from gru_lib.models.reader import ReaderAccuracy

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
        for k in range(1, 60):
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


def test_each_treatment_changes_the_step_as_it_says(monkeypatch):
    """At radius 0.5 no gradient reaches the threshold, so clipping changes no bit; rescaling does."""
    monkeypatch.setattr(fading, "reader_accuracy", lambda m, batch: ReaderAccuracy(m.flat.sum(), 0))
    end = {name: fading.run("radius 0.5", name, 0.3, 0, steps=220) for name in ("nothing", "clipped", "rescaled")}
    assert end["nothing"] == end["clipped"] and end["nothing"]["largest"] < 1
    assert end["rescaled"]["right"] != end["nothing"]["right"]
    unclipped, clipped = (fading.run("radius 3", name, 0.3, 0, steps=220) for name in ("nothing", "clipped"))
    assert unclipped["first"] == clipped["first"] > 1 and unclipped["norm"] > clipped["norm"]


def test_random_steps_made_anew_end_as_the_stored_ones():
    again, stored = fading.stages("random", 1.0, 0), result(fading, "stages", "random", 1.0, 0)
    assert again["right"] >= 0.98 and stored["right"] >= 0.98
    assert again["norm"] == pytest.approx(stored["norm"], rel=0.01)


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
