"""Exercises on linear recurrences, chapter 21."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gru_book.check.engine import Exercise, Mistake, exercise

__all__ = ["scan_join"]


@exercise
def scan_join() -> Exercise:
    """Check ``f(z1, w1, z2, w2) -> z, w``: two steps h ← z h + w in one, first 1, then 2, chapter 21.

    Given z1, w1, z2 and w2 (H,); return z (H,) and w (H,).
    """
    rng = np.random.default_rng(1980)
    z1, w1, z2, w2 = rng.normal(size=(4, 5))

    def mistakes() -> Iterator[Mistake]:
        for message, z, w in (
            ("the steps are taken in the wrong order: what step 1 writes, step 2 keeps by z₂.", z1 * z2, z1 * w2 + w1),
            ("what step 1 writes goes through step 2: it is multiplied by z₂.", z1 * z2, w1 + w2),
            ("what step 2 writes is missing.", z1 * z2, z2 * w1),
            ("what step 1 writes is missing.", z1 * z2, w2),
            ("z₂ keeps what step 1 wrote; what step 2 writes is added as it is.", z1 * z2, z2 * (w1 + w2)),
            ("w₁ is written after z₁ has kept: it meets z₂ alone.", z1 * z2, z1 * z2 * w1 + w2),
            ("w₁ meets z₂, not z₁.", z1 * z2, z1 * w1 + w2),
            ("both steps keep: z is their product, not their sum.", z1 + z2, z2 * w1 + w2),
            ("step 1 keeps too: z = z₁ z₂.", z2, z2 * w1 + w2),
            ("step 2 keeps too: z = z₁ z₂.", z1, z2 * w1 + w2),
            ("here w is all that is written; it is not multiplied by 1 − z once more.", z1 * z2,
             z2 * (1 - z1) * w1 + (1 - z2) * w2),
            ("z and w have changed places: return z first.", z2 * w1 + w2, z1 * z2),
        ):  # fmt: skip
            yield message, {"z": z, "w": w}

    right = {"z": z1 * z2, "w": z2 * w1 + w2}
    return Exercise({"z1": z1, "w1": w1, "z2": z2, "w2": w2}, right, mistakes, flatten=_rows)


def _rows(raw: Any) -> Any:
    """The rows of an array, which may hold z and w, one below the other; anything else as it is."""
    return tuple(raw) if isinstance(raw, np.ndarray) and raw.ndim > 1 else raw
