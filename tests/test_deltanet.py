"""DeltaNet: what its equations say. What all cells have in common is in test_cell.py."""

from itertools import combinations

import numpy as np
import pytest
from helpers import rng
from scipy.optimize import brentq

from gru_book.cells import DeltaNetState, deltanet_forward, deltanet_init, deltanet_step

N, D, H, K = 3, 2, 4, 3


def unit(a):
    y = a / (1 + np.exp(-a))
    return y / np.sqrt((y * y).sum(axis=1, keepdims=True) + 1e-6)


@pytest.mark.parametrize(("rule", "turn"), [("delta", False), ("delta", True), ("add", False)])
def test_deltanet_step_follows_the_equations(rule, turn):
    p = deltanet_init(rng(), D, H, K=K, rule=rule, turn=turn)
    p.flat[:] = rng().normal(size=p.size)
    x, S = rng().normal(size=(N, D)), rng().normal(size=(N, K, H))
    out, state, _ = deltanet_step(x, DeltaNetState(S), p)
    q, k, v = unit(x @ p.W_q + p.b_q), unit(x @ p.W_k + p.b_k), x @ p.W_v + p.b_v
    beta = (1 + turn) / (1 + np.exp(-(x @ p.W_beta + p.b_beta)))
    for i in range(N):
        old = k[i] @ S[i] if rule == "delta" else 0
        new = S[i] + np.outer(k[i], beta[i] * (v[i] - old))
        np.testing.assert_allclose(state.memory[i], new, rtol=0, atol=1e-14)
        np.testing.assert_allclose(out[i], q[i] @ new, rtol=0, atol=1e-14)


def test_a_key_written_twice_holds_the_last_value_and_with_add_their_sum():
    for rule, wanted in (("delta", 5.0), ("add", 8.0)):
        p = deltanet_init(rng(), 1, 1, K=2, rule=rule)
        p.flat[:] = 0
        p.b_q[:] = p.b_k[:] = [40, 0]
        p.W_v[:], p.b_beta[:] = 1, 40
        out, _, _ = deltanet_forward([[[3.0]], [[5.0]]], None, p)
        assert out[-1, 0, 0] == pytest.approx(wanted, abs=1e-6)


def swapper(cups, **kind):
    """A DeltaNet that reads which two cups are swapped, as one-hot rows, and holds at each place which cup is there."""
    pairs = list(combinations(range(cups), 2))
    up, down = (brentq(lambda a, to=to: a / (1 + np.exp(-a)) - to, -1, 1) for to in (0.2, -0.2))
    p = deltanet_init(rng(), len(pairs), cups, K=cups, **kind)
    p.flat[:] = 0
    for row, (i, j) in enumerate(pairs):
        p.W_k[row, [i, j]] = up, down  # the key (e_i − e_j) / √2
    p.b_beta[:] = 40
    return p, pairs


def test_a_deltanet_that_may_turn_follows_five_cups_and_one_that_may_not_loses_them():
    moves = rng().integers(0, 10, 300)
    for turn in (True, False):
        p, pairs = swapper(5, turn=turn)
        place, right = np.arange(5), 0
        _, state, _ = deltanet_forward(np.eye(10)[moves][:, None], DeltaNetState(np.eye(5)[None]), p)
        for move in moves:
            i, j = pairs[move]
            place[[i, j]] = place[[j, i]]
        right = (state.memory[0].argmax(axis=1) == place).sum()
        assert right == 5 if turn else right < 5
        if turn:
            np.testing.assert_allclose(state.memory[0], np.eye(5)[place], atol=0.02)
