"""The bidirectional layer. What all layers have in common is in test_cell.py."""

import numpy as np
from helpers import rng, same

from gru_lib import (
    bidirectional,
    bidirectional_forward,
    gru_forward,
    gru_init,
    reverse,
    stack,
)
from gru_lib.cells import reads_backwards

T, N, D, H = 4, 3, 2, 3


def pair():
    return bidirectional(gru_init(rng(), D, H), gru_init(rng(), D, H, reset_after=True))


def test_reverse_turns_each_sequence_around_within_its_length():
    xs = np.arange(T * N, dtype=float).reshape(T, N, 1)
    back = reverse(xs, [4, 0, 3])
    np.testing.assert_array_equal(back[:, 0, 0], [9, 6, 3, 0])
    np.testing.assert_array_equal(back[:, 1], xs[:, 1])
    np.testing.assert_array_equal(back[:, 2, 0], [8, 5, 2, 11])
    np.testing.assert_array_equal(reverse(back, [4, 0, 3]), xs)
    np.testing.assert_array_equal(reverse(xs), xs[::-1])
    assert not np.shares_memory(reverse(xs), xs)


def test_the_halves_are_the_two_directions():
    p, xs = pair(), rng().normal(size=(T, N, D))
    hs, (end, start), _ = bidirectional_forward(xs, None, p)
    ahead, h_T, _ = gru_forward(xs, None, p.forward)
    back, h_1, _ = gru_forward(xs[::-1], None, p.backward)
    same((hs, end, start), (np.concatenate([ahead, back[::-1]], axis=2), h_T, h_1))


def test_a_bundle_reads_backwards_if_a_layer_in_it_does():
    p = gru_init(rng(), D, H)
    assert not reads_backwards(stack(p, gru_init(rng(), H, H)))
    assert reads_backwards(stack(bidirectional(p, p.copy()), gru_init(rng(), 2 * H, H)))
