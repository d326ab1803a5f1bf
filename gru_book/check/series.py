"""Exercises on series with missing readings, chapter 22."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gru_book.check.engine import Array, Exercise, Mistake, exercise

__all__ = ["carried", "work_length"]


@exercise
def carried() -> Exercise:
    """Check ``f(values, seen) -> last, since`` for one series (T,): NaN where nothing is seen; the first step is.

    Given values (T,), NaN where nothing is seen, and seen (T,), True or False; return last (T,) and since (T,).
    """
    values = np.array([0.5, np.nan, np.nan, -1.5, 2.0, np.nan, 0.25, np.nan, np.nan, np.nan])
    seen = np.isfinite(values)
    there = [t for t, s in enumerate(seen) if s]
    steps = range(len(values))

    def of(latest: list[int]) -> Array:
        """The readings at these steps."""
        return values[latest]

    at = [max(s for s in there if s <= t) for t in steps]  # of the latest reading
    last, since = of(at), np.array([float(t - s) for t, s in zip(steps, at, strict=True)])

    def mistakes() -> Iterator[Mistake]:
        after = of([min((s for s in there if s >= t), default=at[t]) for t in steps])
        before = of([max((s for s in there if s < t), default=0) for t in steps])
        for message, its_last, its_since in (
            ("since is 0 at a step with a reading: the last reading is that one.", last, since + 1),
            (
                "since must start anew at each reading; that counts all missing steps so far.",
                last,
                np.cumsum(~seen) * 1.0,
            ),
            ("since is the mask, or its opposite; it must count the steps since the last reading.", last, ~seen * 1.0),
            ("since is the mask, or its opposite; it must count the steps since the last reading.", last, seen * 1.0),
            ("since counts the steps since the start.", last, np.arange(len(values)) * 1.0),
            ("missing values are 0 there; carry the last reading.", np.where(seen, values, 0), since),
            ("that fills a gap with the reading after it, which has not come yet.", after, since),
            (
                "that draws a line across each gap, and its far end has not come yet.",
                np.interp(steps, there, values[there]),
                since,
            ),
            (
                "that fills gaps with the mean of the series, which is not known until its end.",
                np.where(seen, values, np.nanmean(values)),
                since,
            ),
            ("last is one step late: a reading that is there now is the last one.", before, since),
        ):
            yield message, {"last": its_last, "since": its_since}

    return Exercise({"values": values, "seen": seen}, {"last": last, "since": since}, mistakes)


@exercise
def work_length() -> Exercise:
    """Check ``f(said, truth) -> share``: of the variance of truth, how much said explains, chapter 22.

    Given said (N,) and truth (N,); return a number.
    """
    rng = np.random.default_rng(1805)
    truth = rng.normal(1, 2, 12)
    said = 0.7 * truth + rng.normal(0, 1, 12)
    said += np.mean(truth - said)  # so that R², which counts a shift as an error, is right too
    off, whole = (said - truth) - np.mean(said - truth), truth - np.mean(truth)
    left, all_of_it = sum(v * v for v in off), sum(v * v for v in whole)
    of_said = sum(v * v for v in said - np.mean(said))

    def mistakes() -> Iterator[Mistake]:
        for message, share in (
            ("that is the share that is left; 1 minus it is explained.", left / all_of_it),
            ("that is the fraction upside down.", 1 - all_of_it / left),
            ("that is the variance of what is said, over that of the truth; take what is left.", of_said / all_of_it),
            ("what is left is compared with the variance of what is said; take that of the truth.", 1 - left / of_said),
            ("that is the root: a share of the standard deviation.", 1 - np.sqrt(left / all_of_it)),
            ("that is the variance that is left; divide it by that of the truth.", left / len(truth)),
            (
                "that is a difference of variances; divide it by that of the truth.",
                (all_of_it - left) / len(truth),
            ),
            ("that is the correlation.", np.corrcoef(said, truth)[0, 1]),
            (
                "that is the correlation squared, which forgives a wrong scale.",
                np.corrcoef(said, truth)[0, 1] ** 2,
            ),
            ("what is left is not divided by the variance of the truth.", 1 - left / len(truth)),
        ):
            yield message, {"share": np.array(share)}

    return Exercise({"said": said, "truth": truth}, {"share": np.array(1 - left / all_of_it)}, mistakes)
