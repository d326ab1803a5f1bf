"""The differentiable stack: what it does. Its gradients are in test_loop.py."""

import numpy as np

from experiments.other_memories import letter_loss, right, speaker
from gru_book.cells import stack_step
from gru_book.tasks.strings import reverse
from gru_lib import Adam, train


def test_the_example_of_grefenstette_and_others():
    """Figure 1 of the paper, worked by hand: push .8; pop .1, push .5; pop .9, push .9."""
    values, strengths, v = np.zeros((1, 0, 3)), np.zeros((1, 0)), np.eye(3)
    steps = (
        (0.8, 0.0, [0.8], 0.8 * v[0]),
        (0.5, 0.1, [0.7, 0.5], 0.5 * v[1] + 0.5 * v[0]),
        (0.9, 0.9, [0.3, 0, 0.9], 0.9 * v[2] + 0.1 * v[0]),
    )
    for k, (push, pop, left, wanted) in enumerate(steps):
        read, values, strengths, _ = stack_step(v[[k]], np.array([push]), np.array([pop]), values, strengths)
        np.testing.assert_allclose(strengths[0], left, atol=1e-15)
        np.testing.assert_allclose(read[0], wanted)


def test_with_whole_strengths_it_is_a_list():
    """Pushes and pops of strength 0 and 1 do what a Python list does; an empty stack reads zero."""
    rng, plain, values, strengths = np.random.default_rng(0), [], np.zeros((1, 0, 1)), np.zeros((1, 0))
    for _ in range(100):
        push, pop, value = int(rng.integers(2)), int(rng.integers(2)), rng.normal()
        if pop and plain:
            plain.pop()
        if push:
            plain.append(value)
        given = np.array([[value]]), np.array([float(push)]), np.array([float(pop)])
        read, values, strengths, _ = stack_step(*given, values, strengths)
        assert read[0, 0] == (plain[-1] if plain else 0)


def test_strengths_stay_between_0_and_1_and_a_read_weighs_at_most_1():
    rng = np.random.default_rng(0)
    values, strengths = np.zeros((50, 0, 1)), np.zeros((50, 0))
    for _ in range(30):
        push, pop = rng.random((2, 50))
        read, values, strengths, cache = stack_step(np.ones((50, 1)), push, pop, values, strengths)
        assert (strengths >= 0).all() and (strengths <= 1).all()
        total = np.minimum(strengths.sum(axis=1), 1)
        np.testing.assert_allclose(read[:, 0], total, atol=1e-12)
        np.testing.assert_allclose(cache.weights.sum(axis=1), total, atol=1e-12)


def test_a_gru_learns_to_reverse_with_its_stack():
    """Strings of 1 to 3 of four letters; by chance a string of 3 comes out right once in 64."""
    rng = np.random.default_rng(0)
    m = speaker(rng, "stack", "reverse", dtype=np.float64)
    batches = (reverse(rng, 16, int(rng.integers(1, 4))) for _ in iter(int, 1))
    train(m, letter_loss, batches, Adam(m, 0.01), steps=300, clip_norm=1.0, progress=False)
    assert right(m, reverse(rng, 200, 3))[1] >= 0.9
