"""Products in slabs and copies into columns are the same numbers as the plain ones."""

import numpy as np
import pytest
import threadpoolctl

from gru_book.models.gru_rungs import columns
from gru_lib import products
from gru_lib.passes import blocks, spans
from gru_lib.products import times


@pytest.fixture(params=[True, False])
def in_place(request, monkeypatch):
    """Whether BLAS multiplies small factors where they lie, whichever this processor's does."""
    monkeypatch.setattr(products, "_multiplies_in_place", lambda: request.param)
    return request.param


@pytest.mark.parametrize(
    ("K", "H", "N"),
    [(6, 4, 3), (768, 256, 32), (256, 1024, 32), (512, 1536, 64), (257, 256, 40), (1536, 512, 64), (768, 256, 128),
     (3, 1, 0)],
)  # fmt: skip
@pytest.mark.parametrize("order", "CF")
def test_times_is_the_product(K, H, N, order, in_place):
    rng = np.random.default_rng(0)
    W, x = np.asarray(rng.normal(size=(K, H)), order=order), rng.normal(size=(H, N))
    out = np.full((K, N), np.nan)
    assert times(W, N)(x, out) is out
    np.testing.assert_allclose(out, W @ x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("K", "H", "N", "slabs"),
    [
        (768, 256, 32, (8, 96, 256)),  # 96 · 256 · 32 = 786,432 multiplications; 128 rows would be more than a million
        (1536, 512, 40, (32, 48, 512)),
        (256, 1024, 32, (2, 8, 32, 512)),  # 32 rows are too many as they are, but not in two parts
        (512, 1536, 64, (4, 16, 32, 384)),
        (48, 16, 32, None),  # small enough as it is
        (768, 256, 1, None),
        (768, 256, 128, None),  # fewer than 32 rows, and with so many columns parts do not pay
        (257, 256, 40, None),  # a prime number of rows
        (1000, 1021, 40, None),  # a prime number of columns, and 24 rows
        (297, 260, 40, (9, 33, 260)),  # at most 96 rows: 33 divide 297
    ],
)
def test_times_cuts_what_is_large_and_only_that(monkeypatch, in_place, K, H, N, slabs):
    matmul, cut = np.matmul, []

    def spy(W, x, **options):
        cut.append(W.shape)
        return matmul(W, x, **options)

    monkeypatch.setattr(np, "matmul", spy)
    times(np.ones((K, H)), N)(np.ones((H, N)), np.empty((K, N)))
    assert cut == ([slabs] if slabs and in_place else [])


def test_in_place_is_what_the_kernels_name_says():
    """This processor's answer is that of threadpoolctl, which asks the same library."""
    found = {e.get("architecture") for e in threadpoolctl.threadpool_info() if e["user_api"] == "blas"}
    assert products._multiplies_in_place() == bool(found & {"SkylakeX", "Cooperlake", "SapphireRapids"})


@pytest.mark.parametrize("N", [0, 1, 7, 8, 20])
def test_columns_has_a_column_for_each_step_and_sequence(N):
    a = np.random.default_rng(0).normal(size=(5, 6, N))
    found = columns(a, np.empty(a.size + 3))
    np.testing.assert_array_equal(found, np.concatenate(list(a), axis=1))


@pytest.mark.parametrize("H", [1, 16, 256, 100_000])
@pytest.mark.parametrize("N", [0, 1, 127, 128, 129, 1000, 3000])
def test_blocks_cover_the_batch_in_equal_parts(N, H):
    covered = [n for c in blocks(N, H) for n in range(c.start, c.stop)]
    widths = {c.stop - c.start for c in blocks(N, H)}
    assert covered == list(range(N))
    assert not widths or (max(widths) - min(widths) <= 1 and max(widths) <= max(128, 2**15 // H))


@pytest.mark.parametrize("H", [1, 16, 256, 100_000])
@pytest.mark.parametrize("N", [1, 7, 128, 3000])
def test_spans_cover_the_steps_from_the_last_to_the_first(N, H):
    cut = spans(50, N, H)
    assert [t for now in reversed(cut) for t in range(now.start, now.stop)] == list(range(50))
    lengths = [now.stop - now.start for now in cut]
    assert set(lengths[:-1]) <= {lengths[0]} and 1 <= lengths[-1] <= lengths[0]
    assert spans(0, N, H) == []


@pytest.mark.parametrize(
    ("H", "N", "width", "steps"),
    [
        (256, 300, 100, 1),  # 128 sequences at most, 384 rows
        (256, 128, 128, 3),
        (64, 3000, 500, 1),  # 2¹⁵ numbers in a state, 3 · 2¹⁴ in a span
        (64, 512, 512, 1),
        (16, 128, 128, 24),
        (1, 1, 1, 50),
        (256, 77, 77, 4),
        (1000, 90, 90, 4),
        (100_000, 1, 1, 50),
    ],
)
def test_blocks_and_spans_are_as_large_as_they_say(H, N, width, steps):
    assert max(c.stop - c.start for c in blocks(N, H)) == width
    now = spans(50, N, H)[0]
    assert now.stop - now.start == steps
