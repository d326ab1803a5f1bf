"""The subtraction task's data, against Python's own subtraction."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from gru_book.tasks import subtraction
from gru_book.tasks.subtraction import all_pairs, encode, long_borrows, pick, random_pairs, subtract_bits


def numbers(batch: subtraction.Batch) -> tuple[list[int], list[int], list[int]]:
    """Read a batch back as integers a, b and difference, apart from the code that wrote it."""
    rows = np.concatenate([batch.xs, batch.ys], axis=2).astype(int)  # (T, N, 3)
    return tuple([int("".join(map(str, rows[::-1, i, k])), 2) for i in range(rows.shape[1])] for k in range(3))


@pytest.mark.parametrize("bits", [1, 4])
def test_all_pairs_holds_every_pair_once_with_its_difference(bits: int) -> None:
    a, b, d = numbers(all_pairs(bits))
    assert sorted(zip(a, b, strict=True)) == [(u, v) for u in range(2**bits) for v in range(u + 1)]
    assert d == [u - v for u, v in zip(a, b, strict=True)]


@pytest.mark.parametrize("draw", [random_pairs, long_borrows])
@pytest.mark.parametrize("bits", [2, 200])
def test_drawn_pairs_are_ordered_and_their_difference_is_right(draw, bits: int) -> None:
    batch = draw(np.random.default_rng(bits), 50, bits)
    assert batch.xs.shape == (bits, 50, 2)
    assert all(d == a - b >= 0 for a, b, d in zip(*numbers(batch), strict=True))


def test_long_borrows_have_one_borrow_over_a_third_of_the_places() -> None:
    batch = long_borrows(np.random.default_rng(0), 400, 90)
    a, b = batch.xs[..., 0], batch.xs[..., 1]
    assert ((a != b).sum(axis=0) == 2).all()  # where the chain begins, and where it ends
    chain = subtract_bits(a, b)[1].sum(axis=0)
    assert chain.min() >= 1 and 25 < chain.mean() < 35  # the distance of two random places: a third of the width


def test_subtract_bits_leaves_a_borrow_exactly_where_a_is_smaller() -> None:
    a, b = (v.ravel() for v in np.meshgrid(np.arange(16), np.arange(16)))
    bits = [np.array([n >> t & 1 for t in range(4)]) for n in (a, b)]
    d, borrow = subtract_bits(*bits)
    assert (d == np.array([(a - b) % 16 >> t & 1 for t in range(4)])).all()
    assert (borrow[-1] == (a < b)).all()
    assert (borrow[0] == 0).all()


def test_random_batches_have_every_width_asked_for_and_no_other() -> None:
    widths = {len(b.xs) for b in islice(subtraction.random_batches(np.random.default_rng(0), 2, (4, 8)), 100)}
    assert widths == {4, 5, 6, 7, 8}


def test_pick_takes_the_pairs_asked_for() -> None:
    batch, few = all_pairs(), pick(all_pairs(), [3, 100])
    assert (few.xs == batch.xs[:, [3, 100]]).all() and (few.ys == batch.ys[:, [3, 100]]).all()


@pytest.mark.parametrize(("a", "b", "bits", "message"), [
    ([3], [5], 4, "0 <= b <= a"),
    ([16], [5], 4, "0 <= b <= a"),
    ([3, 4], [1], 4, "equally many"),
    ([3], [1], 0, "bits must be at least 1"),
])  # fmt: skip
def test_encode_refuses_what_does_not_fit(a, b, bits, message) -> None:
    with pytest.raises(ValueError, match=message):
        encode(a, b, bits)


def test_random_batches_refuses_a_range_that_runs_down() -> None:
    with pytest.raises(ValueError, match=r"bits\[1\] must be at least 8"):
        next(subtraction.random_batches(np.random.default_rng(0), 2, (8, 4)))
