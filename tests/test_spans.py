"""A long sequence is cut into spans, and the numbers are those of the loop over steps.

The other tests of the passes are too small for it: with H = 4 not even a hundred steps are cut.
"""

from collections import namedtuple

import numpy as np
import pytest
from helpers import close, leaves, rng

from gru_lib import GRUParams, cell_of, elman_init, gru_init, infer, lstm_init, map_state, zero_state
from gru_lib.passes import spans

T, D, H = 9, 5, 256

# What is cut: for another cell that is, a line.
CUT = {
    "gru": lambda rng: gru_init(rng, D, H),
    "gru-after": lambda rng: gru_init(rng, D, H, reset_after=True, convention="write"),
    "lstm": lambda rng: lstm_init(rng, D, H),
    "elman-tanh": lambda rng: elman_init(rng, D, H),
    "elman-sigmoid": lambda rng: elman_init(rng, D, H, activation="sigmoid", bias=False),
}

Case = namedtuple("Case", "p xs state0 dhs dstate_T real h_mask lengths")


def case(name, N, masked):
    """A cell with random numbers for its pass. `real` (T, N) says which steps are; without masks all are."""
    source = rng(N)
    p = CUT[name](source)
    p.flat[:] += 0.05 * source.normal(size=p.size)  # biases too, which begin at 0
    xs, dhs = source.normal(size=(T, N, D)), source.normal(size=(T, N, H))
    state0, dstate_T = (map_state(lambda a: source.normal(size=a.shape), zero_state(p, N)) for _ in range(2))
    if not masked:
        return Case(p, xs, state0, dhs, dstate_T, np.ones((T, N), bool), np.ones((T, N, H)), None)
    lengths = source.integers(0, T + 1, N)
    real = np.arange(T)[:, None] < lengths
    return Case(p, xs, state0, dhs, dstate_T, real, 2.0 * source.integers(0, 2, (T, N, H)), lengths)


def like(state, *arrays):
    """Arrays in the form of a state."""
    each = iter(arrays)
    return map_state(lambda _: next(each), state)


def masked_step(x, state, m, p):
    """A step whose recurrent connection is multiplied by m: the state after it, and what goes back through it."""
    cell, (h_prev, *others) = cell_of(p), leaves(state)
    seen = m * h_prev
    new, cache = cell.step(x, like(state, seen, *others), p)
    if not isinstance(p, GRUParams):  # the weights are all that h_prev meets

        def back(dstate):
            dx, dprev, grads = cell.step_backward(dstate, cache, p)
            dseen, *dothers = leaves(dprev)
            return dx, like(state, m * dseen, *dothers), grads

        return new, back

    # What z carries over is h_prev itself. The step carried m ⊙ h_prev: both ways, the rest of it is added.
    sign, keep = (1, cache.z) if p.convention == "keep" else (-1, cache.not_z)
    rest = h_prev - seen

    def back_through_gru(dh):
        dx, dseen, grads = cell.step_backward(dh, cache, p)
        da_z = sign * dh * rest * cache.z * cache.not_z
        grads.W_xz[:] += x.T @ da_z
        grads.W_hz[:] += seen.T @ da_z
        if p.bias:
            grads.b_z[:] += da_z.sum(axis=0)
        return dx + da_z @ p.W_xz.T, m * (dseen - dh * keep + da_z @ p.W_hz.T) + dh * keep, grads

    return new + keep * rest, back_through_gru


def by_steps(c):
    """The results of both passes from a loop over steps."""

    def choose(real, new, old):
        return map_state(lambda a, b: np.where(real[:, None], a, b), new, old)

    state, hs, backs = c.state0, [], []
    for x, real, m in zip(c.xs, c.real, c.h_mask, strict=True):
        new, back = masked_step(x, state, m, c.p)
        state = choose(real, new, state)
        hs.append(choose(real, leaves(state)[0], 0))
        backs.append(back)
    dstate, dxs, total = c.dstate_T, [], c.p.zeros_like()
    for dh, real, back in zip(c.dhs[::-1], c.real[::-1], backs[::-1], strict=True):
        dfirst, *dothers = leaves(dstate)
        dstate = like(dstate, dfirst + choose(real, dh, 0), *dothers)
        dx, dprev, grads = back(map_state(lambda a, real=real: choose(real, a, 0), dstate))
        dstate = choose(real, dprev, dstate)
        dxs.append(dx)
        total.flat[:] += grads.flat
    return np.array(hs), state, np.array(dxs[::-1]), dstate, total


CASES = [(name, 90, masked, [4, 4, 1]) for name in CUT for masked in (False, True)]
CASES += [(name, 400, True, [1] * 9) for name in ("gru", "gru-after", "lstm", "elman-tanh")]


@pytest.mark.parametrize(("name", "N", "masked", "cut"), CASES)
def test_spans_give_the_numbers_of_the_loop_over_steps(name, N, masked, cut):
    c = case(name, N, masked)
    masks = {"lengths": c.lengths, "h_mask": c.h_mask} if masked else {}
    forward, backward = cell_of(c.p).forward, cell_of(c.p).backward
    assert [span.stop - span.start for span in spans(T, N, H)] == cut
    hs, state_T, tape = forward(c.xs, c.state0, c.p, **masks)
    found = hs, state_T, *backward(c.dhs, c.dstate_T, tape, c.p)
    for a, b in zip(found, by_steps(c), strict=True):
        close(a, b, rtol=1e-11, atol=1e-11)
    wanted = forward(c.xs, c.state0, c.p, lengths=c.lengths)[:2]
    close(infer(c.xs, c.state0, c.p, lengths=c.lengths), wanted, rtol=1e-12, atol=1e-12)
