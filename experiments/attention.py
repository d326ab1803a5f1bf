"""Training runs of chapter 18, stored in attention.json. To rerun them:

``python tools/environment.py python -m experiments.attention [PART …] [--missing]``

With ``KERNELS=own`` they go to attention_own.json, of "lists fed" the first five seeds. ``model`` makes the
bidirectional model of chapter 17's explorer, its weights rounded, gru_book/widgets/dates-looking-weights.json. Every
run has its own seed. float32. The rate was chosen in chapter 17 on another
split of the days, `split_days(seed=0)`, for the fed net.

A net is "fed" (chapter 17: the encoder's last output is part of every decoder input), "attention", or "both ways"
(attention, the encoder bidirectional with half the units each way, the decoder started from zeros). No source is
reversed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts, replace
from gru_book.models.translator import alignment, exact_match, translate, translator_init, translator_loss
from gru_book.tasks.dates import (
    ISO,
    LISTED_ISO,
    LISTED_WRITTEN,
    WRITTEN,
    Alphabet,
    Batch,
    Dates,
    encode,
    listed,
    pair_count,
    pairs,
    split_days,
)
from gru_lib import Adam, train
from gru_lib.decode import greedy
from gru_lib.layers import Seq2SeqParams, seq2seq_encode, seq2seq_step
from gru_lib.optim import linear_decay

STORED = file_for_kernels("attention")
ROUNDED = Path(__file__).parents[1] / "gru_book" / "widgets" / "dates-looking-weights.json"
E, N, SHOWN = 16, 64, 2000
KINDS: dict[str, dict[str, bool]] = {
    "fed": {},
    "attention": {"feed": False, "attend": True},
    "both ways": {"feed": False, "attend": True, "both_ways": True},
}
# Of lists, about as many parameters: 14,318 and 13,846.
TINY = {"attention": 14, "both ways": 16}
UNITS = {"fed": 32, "attention": 36}
RATE = 0.02
LISTS = 3  # most dates of a list in training

Row = dict[str, Any]
Draw = Callable[[np.random.Generator, Any], Batch]


def fit(
    kind: str,
    units: int,
    draw: Draw,
    seed: int,
    *,
    steps: int,
    rate: float = RATE,
    split: int = 1,
    alphabets: tuple[Alphabet, Alphabet] = (WRITTEN, ISO),
) -> Seq2SeqParams:
    """Train one net on the batches that `draw` makes of the training days."""
    rng = np.random.default_rng(seed)
    p = translator_init(rng, E, units, source=alphabets[0], target=alphabets[1], **KINDS[kind])
    days, _ = split_days(seed=split)
    endless = (draw(rng, days) for _ in iter(int, 1))
    schedule = linear_decay(rate, steps)
    train(p, translator_loss, endless, Adam(p, rate), steps=steps, schedule=schedule, clip_norm=1.0, progress=False)
    return p


def drawn(rng: np.random.Generator, days: Any, count: int = N) -> Dates:
    """Pairs of the days, at random."""
    return pairs(days, rng.integers(0, pair_count(days), count))


def shown(split: int = 1) -> Dates:
    """The pairs of test days on which all are measured."""
    return drawn(np.random.default_rng(0), split_days(seed=split)[1], SHOWN)


def answers(p: Seq2SeqParams, batch: Batch, target: Alphabet = ISO) -> tuple[list[str], list[str]]:
    """What a model says to a batch, decoded greedily, and what it should say."""
    found = translate(p, batch, end=target.end, max_steps=len(batch.target) + 1, rows=250)
    return [target.text(tokens) for tokens in found.tokens], [target.text(tokens) for tokens in batch.target.T]


def exact(p: Seq2SeqParams, batch: Batch, target: Alphabet = ISO) -> float:
    """Share of a batch whose every character is right."""
    return exact_match(*answers(p, batch, target)).mean()


# ------------------------------------------------------------------------------------------------ what a state holds

MONTHS = {"01": "enero", "03": "marzo", "04": "abril", "06": "junio", "07": "julio"}  # of five letters each
BEFORE, AFTER = "17 de ", " de 2026"
PLACES = {
    "no state": [],
    "five letters": [len(BEFORE) + k for k in range(5)],
    "blank after": [len(BEFORE) + 5],
    "all six": [len(BEFORE) + k for k in range(6)],
}
SECOND = len("2026-0")  # the place of the month's second digit in the answer


def plain(rng: np.random.Generator, days: Any) -> Batch:
    """A batch of single dates."""
    return encode(drawn(rng, days), reverse=False)


def exchanged(p: Seq2SeqParams) -> Row:
    """Whose month the answer has, [its own, the other's], when states at some places are taken from another month."""
    found = [(a, b) for a in MONTHS for b in MONTHS if a != b]
    states = []
    for k in (0, 1):
        tokens, lengths = WRITTEN.tokens([BEFORE + MONTHS[two[k]] + AFTER for two in found])
        states.append(seq2seq_encode(tokens, p, lengths=lengths))
    row: Row = {}
    for name, places in PLACES.items():
        state, code, hs, real = states[0]
        hs = hs.copy()
        hs[:, places] = states[1][2][:, places]
        start = np.full(len(found), p.start)
        said = greedy(seq2seq_step(p), (state, code, hs, real), start, end=ISO.end, max_steps=12)
        months = [ISO.text(tokens)[5:7] for tokens in said.tokens]
        row[name] = [float(np.mean([m == two[k] for m, two in zip(months, found, strict=True)])) for k in (0, 1)]
    return row


def looks(p: Seq2SeqParams) -> Row:
    """The weights of *17 de marzo de 2026*, and how much of them, in the mean of the months, two parts of it have.

    These are the five letters and the blank after them, when the month's second digit is written.
    """
    tokens, lengths = WRITTEN.tokens([BEFORE + month + AFTER for month in MONTHS.values()])
    wanted, ends = ISO.tokens([f"2026-{number}-17" for number in MONTHS])
    weights = alignment(p, Batch(tokens, lengths, wanted, ends))
    mean = weights[SECOND].mean(axis=0)
    row: Row = {f"weight, {name}": float(mean[PLACES[name]].sum()) for name in ("five letters", "blank after")}
    return row | {"alignment": weights[:, [*MONTHS].index("03")].round(2).tolist()}


def small(kind: str, steps: int, seed: int) -> Row:
    """A small net: how often it is right, where it keeps the month, and where it looks for it."""
    p = fit(kind, TINY[kind], plain, seed, steps=steps)
    right = exact(p, encode(shown(), reverse=False))
    return {"parameters": p.size, "exact": right} | exchanged(p) | looks(p)


# --------------------------------------------------------------------------------------------------------- lists


def listing(kind: str, steps: int, seed: int, units: int | None = None) -> Seq2SeqParams:
    """A net that learned from lists of one to three dates."""

    def draw(rng: np.random.Generator, days: Any) -> Batch:
        counts = rng.integers(1, LISTS + 1, N)
        return listed(drawn(rng, days, counts.sum()), counts)

    return fit(kind, units or UNITS[kind], draw, seed, steps=steps, alphabets=(LISTED_WRITTEN, LISTED_ISO))


def shown_lists(count: int) -> tuple[Dates, Batch]:
    """The dates of the lists on which all are measured, and these lists."""
    rows = SHOWN // LISTS // 2
    found = Dates(*(part[: rows * count] for part in shown()))
    return found, listed(found, np.full(rows, count))


def lists(kind: str, steps: int, seed: int, units: int | None = None) -> Row:
    """Lists of one to three dates; tested on lists of one to five."""
    p = listing(kind, steps, seed, units)
    row: Row = {"parameters": p.size}
    for count in range(1, LISTS + 3):
        said, wanted = answers(p, shown_lists(count)[1], LISTED_ISO)
        row[str(count)] = exact_match(said, wanted).mean()
        if count > LISTS:  # what it writes then: how many dates, and whether the first are right
            first = 11 * LISTS - 1
            dates = [text.count(";") + 1 for text in said]
            right = exact_match([text[:first] for text in said], [text[:first] for text in wanted])
            row[f"{count} begins"], row[f"{count} dates"] = right.mean(), np.bincount(dates, minlength=7)[1:7].tolist()
    return row


def wide(units: int, steps: int, seed: int) -> Row:
    """The same with one code of another width."""
    return lists("fed", steps, seed, units)


# ---------------------------------------------------------------------------------------------- the drawn model


def rounded(p: Seq2SeqParams, digits: int = 2) -> Row:
    """The weights of a model, rounded, and how often it is right with them and before, on all pairs of test days."""
    batch = encode(pairs(split_days(seed=1)[1]), reverse=False)
    before, p = exact(p, batch), p.astype(np.float64)
    p.flat[:] = p.flat.round(digits)
    return {
        "origin": "python tools/environment.py python -m experiments.attention model",
        "digits": digits,
        "exact": exact(p, batch),
        "unrounded": before,
        "E": E,
        "H": TINY["both ways"],
        "flat": [int(w) if w == int(w) else w for w in p.flat.tolist()],
    }


PARTS: dict[str, tuple[Callable[..., Row], list[tuple[Any, ...]], range]] = {
    "small": (small, [("attention", 1000)], range(5)),
    "lists": (lists, [("attention", 2000)], range(10)),
    "lists fed": (lists, [("fed", 6000)], range(10 if fixed_kernels() else 5)),
}
if fixed_kernels():  # what one wider code is beside the ten narrow ones
    PARTS["lists fed, wide"] = (wide, [(96, 3000)], range(3))


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store them."""
    if arguments == ["model"]:
        p = fit("both ways", TINY["both ways"], plain, 0, steps=1000)
        replace(ROUNDED, json.dumps(rounded(p), separators=(",", ":")) + "\n")
    else:
        make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
