"""Chapter 14: what the page says of masks and memory, and that its stored trainings can be made again."""

import json

import numpy as np
import pytest

from experiments import dropout
from gru_lib import bundle, gradcheck, gru_init, linear_init
from gru_lib.layers import dropout_mask
from gru_lib.tasks.memory import checksum

STORED = json.loads(dropout.STORED.read_text("utf8"))


def result(part, *what):
    (row,) = [row[-1] for row in STORED[part] if row[:-1] == list(what)]
    return row


def test_stored_results_hold_every_setting_with_every_seed():
    for part, (_, settings, seeds) in dropout.PARTS.items():
        wanted = {(*setting, seed) for setting in settings for seed in seeds}
        assert {tuple(row[:-1]) for row in STORED[part]} == wanted and len(STORED[part]) == len(wanted), part


@pytest.mark.parametrize(
    ("what", "solves"),
    [
        (("GRU", 50, "step", 0.3, 0), True),
        (("GRU", 50, "sequence", 0.3, 0), True),
        (("Elman", 20, "none", 0.0, 0), True),
        (("Elman", 20, "step", 0.3, 0), False),
    ],
)
def test_a_memory_made_anew_solves_what_the_stored_one_solved(what, solves):
    again, stored = dropout.memory(*what), result("memory", *what)
    assert (again["right"] >= 0.99) == (stored["right"] >= 0.99) == solves


@pytest.mark.parametrize(("kind", "rate"), [("none", 0.0), ("naive", 0.25)])
def test_a_language_model_made_anew_follows_the_stored_curve(kind, rate):
    again = dropout.language_model(kind, rate, 0, steps=dropout.EVERY)
    stored = result(kind, kind, rate, 0)
    assert again["validation"][0] == pytest.approx(stored["validation"][0], abs=0.05)
    assert again["training"][0] == pytest.approx(stored["training"][0], abs=0.05)


@pytest.mark.parametrize("place", dropout.PLACES)
def test_gradient_with_a_mask_at_every_place_matches_complex_step(place):
    rng = np.random.default_rng(0)
    m = bundle(rnn=gru_init(rng, 16, 3), out=linear_init(rng, 3, 3))
    batch = checksum(rng, 4, 5)

    def loss(m):
        return dropout.masked_loss(m, batch, rng=np.random.default_rng(7), place=place, rate=0.4)

    assert gradcheck(lambda m: loss(m)[0], m, loss(m)[1]).worst < 1e-10


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("z", [0.0, 0.9])
def test_moments_of_what_is_left_are_those_of_the_page(rate, z):
    """Second moments exactly, over all masks of a few steps: the product of independent factors z + (1 − z) m."""
    T = 6
    factors = z + (1 - z) * np.array([0.0, 1 / (1 - rate)])
    weights = np.array([rate, 1 - rate])
    left, chance = np.array([1.0]), np.array([1.0])
    for _ in range(T):
        left, chance = np.outer(left, factors).ravel(), np.outer(chance, weights).ravel()
    assert chance @ left == pytest.approx(1, abs=1e-12)
    variance = chance @ left**2 - 1
    assert variance == pytest.approx((1 + (1 - z) ** 2 * rate / (1 - rate)) ** T - 1, rel=1e-12)
    if z == 0:
        assert chance @ (left > 0) == pytest.approx((1 - rate) ** T, rel=1e-12)
        assert variance == pytest.approx((1 - rate) ** -T - 1, rel=1e-12)


def test_mean_and_variance_of_a_mask():
    mask = dropout_mask(np.random.default_rng(0), (400_000,), 0.3)
    deviation = np.sqrt(0.3 / 0.7)
    assert abs(mask.mean() - 1) < 5 * deviation / np.sqrt(mask.size)
    assert mask.var() == pytest.approx(0.3 / 0.7, rel=0.01)
