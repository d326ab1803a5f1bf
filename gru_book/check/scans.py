"""Exercises on linear recurrences, chapter 21."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gru_book.check.engine import Array, Exercise, Mistake, Outputs, exercise

__all__ = ["scan_gradients", "scan_join"]


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

    return Exercise({"z1": z1, "w1": w1, "z2": z2, "w2": w2}, {"z": z1 * z2, "w": z2 * w1 + w2}, mistakes)


@exercise
def scan_gradients() -> Exercise:
    """Check ``f(dhs, z, hs) -> dz, dw, dh0``: backward through h_t = z_t h_{t−1} + w_t, hs = h_0 … h_T, chapter 21.

    Given dhs (T, H), z (T, H) and hs (T + 1, H); return dz (T, H), dw (T, H) and dh0 (H,).
    """
    rng = np.random.default_rng(2024)
    T, H = 6, 3
    z, dhs, hs = rng.uniform(0.2, 0.9, (T, H)), rng.normal(size=(T, H)), rng.normal(size=(T + 1, H))

    def through(carried: Array, *, late: bool = False, forwards: bool = False) -> Array:
        """δ, with the factor by which each is carried to the step before; `late` multiplies before adding."""
        delta, deltas = np.zeros(H), np.zeros((T, H))
        for t in range(T) if forwards else reversed(range(T)):
            delta = carried[t] * (dhs[t] + delta) if late else dhs[t] + carried[t] * delta
            deltas[t] = delta
        return deltas

    later = np.concatenate([z[1:], np.ones((1, H))])  # z_{t+1}
    right = through(later)

    def outputs(
        delta: Array = right, *, seen: Array = hs[:-1], dw: Array | None = None, dh0: Array | None = None
    ) -> Outputs:
        return {"dz": delta * seen, "dw": delta if dw is None else dw, "dh0": z[0] * delta[0] if dh0 is None else dh0}

    def mistakes() -> Iterator[Mistake]:
        yield "δ_t is carried back by z_{t+1}, the factor of the step after it; yours takes z_t.", outputs(through(z))
        yield (
            "what comes from later meets one factor, z_{t+1}; yours is multiplied by z_t too.",
            outputs(through(z * later)),
        )
        yield "no gradient comes from the step after: δ_t = dh_t + z_{t+1} δ_{t+1}.", outputs(dhs)
        message = "what comes from the step after is carried without its factor z_{t+1}."
        yield message, outputs(through(np.ones((T, H))))
        yield "dh_t is multiplied by z as well: only what comes from later is.", outputs(through(z, late=True))
        message = "the loop runs forwards; a gradient comes from the end."
        yield message, outputs(through(z, forwards=True))
        yield "z_t multiplied h_{t−1}: dz_t = δ_t h_{t−1}, not δ_t h_t.", outputs(seen=hs[1:])
        yield "dz is δ times the state that z met, h_{t−1}.", outputs(seen=np.ones((T, H)))
        yield "dh_0 passes the first step: multiply δ_1 by z_1.", outputs(dh0=right[0])
        yield "dh_0 is z_1 δ_1, at the first step, not the last.", outputs(dh0=z[-1] * right[-1])
        yield "w_t is added as it is: dw_t = δ_t, not z_t δ_t.", outputs(dw=z * right)
        yield "dw_t = δ_t; (1 − z_t) belongs to n, before w is made of it.", outputs(dw=(1 - z) * right)
        yield "the carry is cut off by 1 − z_{t+1}; what is kept is z_{t+1}.", outputs(through(1 - later))
        message = "dz and dw have changed places: return dz first."
        yield message, {"dz": right, "dw": right * hs[:-1], "dh0": z[0] * right[0]}

    return Exercise({"dhs": dhs, "z": z, "hs": hs}, outputs(), mistakes)
