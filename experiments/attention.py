"""Training runs of chapter 18, stored in attention.json. To rerun them:

``python tools/environment.py python -m experiments.attention [PART …] [--missing]``

With ``KERNELS=own`` they go to attention_own.json, of "lists fed" the first five seeds. ``model`` makes the
bidirectional model that the page draws, attention_both_ways.npz, and the same with its weights rounded for the explorer
of chapter 17, gru_book/widgets/dates-looking-weights.json. Every run has its own seed. float32. The rates were chosen
on another split of the days, `split_days(seed=0)`: for small nets by the part "tiny rates", for the others in chapter
17, for the fed net.

A net is "fed" (chapter 17: the encoder's last output is part of every decoder input), "attention", or "both ways"
(attention, the encoder bidirectional with half the units each way, the decoder started from zeros). No source is
reversed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments._store import file_for_kernels, fixed_kernels, make_parts, replace
from gru_book.models.translator import alignment, exact_match, translate, translator_init, translator_loss
from gru_book.results import FOLDER
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
    surrounded,
)
from gru_lib import Adam, train
from gru_lib.decode import greedy
from gru_lib.io import save
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
# About as many parameters: 4,373, 4,325 and 4,557; and 14,253 and 13,741.
TINY = {"fed": 13, "attention": 14, "both ways": 16}
UNITS = {"fed": 32, "attention": 36}
RATES = (0.01, 0.02, 0.04, 0.08)
RATE = 0.02
FILLER, LISTS = 30, 3  # most characters around a date, and most dates in a list, in training

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


# -------------------------------------------------------------------------------------------- a small net, few pairs


def plain(rng: np.random.Generator, days: Any) -> Batch:
    """A batch of single dates."""
    return encode(drawn(rng, days), reverse=False)


def rate(kind: str, steps: int, lr: float, seed: int) -> Row:
    """A small net on the other split, with one of the rates."""
    p = fit(kind, TINY[kind], plain, seed, steps=steps, rate=lr, split=0)
    return {"exact": exact(p, encode(shown(0), reverse=False))}


def tiny(kind: str, steps: int, seed: int, lr: float = RATE) -> Row:
    """A small net; with attention also where it looks."""
    p = fit(kind, TINY[kind], plain, seed, steps=steps, rate=lr)
    row: Row = {"parameters": p.size, "exact": exact(p, encode(shown(), reverse=False))}
    return row if kind == "fed" else row | looks(p)


def fast(kind: str, steps: int, seed: int) -> Row:
    """The same at the rate that a single seed would choose for the fed net."""
    return tiny(kind, steps, seed, lr=2 * RATE)


def few(kind: str, size: int, seed: int, *, steps: int = 1000) -> Row:
    """A net that trains on `size` pairs only."""
    days, _ = split_days(seed=1)
    numbers = np.random.default_rng(seed).choice(pair_count(days), size, replace=False)

    def draw(rng: np.random.Generator, days: Any) -> Batch:
        return encode(pairs(days, numbers[rng.integers(0, size, N)]), reverse=False)

    p = fit(kind, UNITS[kind], draw, seed, steps=steps)
    seen = encode(pairs(days, numbers), reverse=False)
    return {"parameters": p.size, "exact": exact(p, encode(shown(), reverse=False)), "seen": exact(p, seen)}


# --------------------------------------------------------------------------------------------- longer, and more


def filled(lengths: Any) -> Draw:
    """Batches of dates in a made-up text, from the least to the most characters of it."""

    def draw(rng: np.random.Generator, days: Any) -> Batch:
        found = drawn(rng, days)
        return encode(surrounded(rng, found, rng.integers(*lengths, N)), reverse=False)

    return draw


def filler(kind: str, steps: int, seed: int) -> Row:
    """A date in a made-up text of up to 30 characters; tested in longer ones too."""
    p = fit(kind, UNITS[kind], filled((0, FILLER + 1)), seed, steps=steps)
    row: Row = {"parameters": p.size}
    for length in (0, FILLER, 2 * FILLER, 4 * FILLER):
        found = surrounded(np.random.default_rng(1), shown(), np.full(SHOWN, length))
        row[str(length)] = exact(p, encode(found, reverse=False))
    return row


def listing(kind: str, steps: int, seed: int) -> Seq2SeqParams:
    """A net that learned from lists of one to three dates."""

    def draw(rng: np.random.Generator, days: Any) -> Batch:
        counts = rng.integers(1, LISTS + 1, N)
        return listed(drawn(rng, days, counts.sum()), counts)

    return fit(kind, UNITS[kind], draw, seed, steps=steps, alphabets=(LISTED_WRITTEN, LISTED_ISO))


def shown_lists(count: int) -> tuple[Dates, Batch]:
    """The dates of the lists on which all are measured, and these lists."""
    rows = SHOWN // LISTS // 2
    found = Dates(*(part[: rows * count] for part in shown()))
    return found, listed(found, np.full(rows, count))


def lists(kind: str, steps: int, seed: int) -> Row:
    """Lists of one to three dates; tested on lists of one to five."""
    p = listing(kind, steps, seed)
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


def without_end(p: Seq2SeqParams, count: int = LISTS + 1) -> Row:
    """What a net that learned from lists writes for longer ones if it must not end: how often the list is right, and
    each of its dates; how often the last date of a list as in training is the source's next instead, or a mixture of
    both, each character from one of them; and how often it would be one with the next date of another list."""
    found, batch = shown_lists(count)
    step = seq2seq_step(p)

    def going_on(state: Any, tokens: Any) -> tuple[Any, Any]:
        log_probs, state = step(state, tokens)
        log_probs[..., LISTED_ISO.end] = -np.inf
        return log_probs, state

    state = seq2seq_encode(batch.source, p, lengths=batch.source_lengths)
    start = np.full(len(batch.source_lengths), p.start)
    said = greedy(going_on, state, start, end=LISTED_ISO.end, max_steps=11 * count - 1)
    dates = [LISTED_ISO.text(tokens).split(";") + count * [""] for tokens in said.tokens]
    wanted = np.array(found.iso).reshape(-1, count)
    right = np.array([a[:count] for a in dates]) == wanted
    last, own, later = [a[LISTS - 1] for a in dates], wanted[:, LISTS - 1], wanted[:, LISTS]

    def mixed(others: Any) -> float:
        return float(np.mean([a not in (b, c) and all(x in y for x, *y in zip(a, b, c, strict=False))
                              for a, b, c in zip(last, own, others, strict=True)]))  # fmt: skip

    return {
        "exact": right.all(axis=1).mean(),
        "dates": right.mean(axis=0).tolist(),
        "next": float(np.mean(np.array(last) == later)),
        "mixed": mixed(later),
        "mixed with another's": mixed(np.roll(later, 1)),
    }


def lists_without_end(kind: str, steps: int, seed: int) -> Row:
    """The same nets, which must not end."""
    return without_end(listing(kind, steps, seed))


# ------------------------------------------------------------------------------------------------ where it looks


def fields(text: str) -> tuple[int, range, range | None]:
    """Where the year begins in a written date, and the places of the day's digits and of the month's before 月."""
    groups = list(re.finditer(r"\d+", text))
    year = next(g for g in groups if len(g[0]) == 4)
    rest = [g for g in groups if g is not year]  # the day, or month and day: the day stands away from the year
    day = rest[-1] if groups[0] is year else rest[0]
    month = re.search(r"\d+(?=月)", text)
    return year.start(), range(*day.span()), range(*month.span()) if month else None


def looks(p: Seq2SeqParams) -> Row:
    """Where a model's largest weight is while it writes a character of the answer: shares of the dates.

    For the year's first digit on [that digit, the place after it]; for the month's last, in dates with 月, on [the
    month's digits, 月]; for the day's last on [the day's digits, the place after]. `weight` is the mean weight on the
    right digits, in the same order.
    """
    found = shown()
    weights = alignment(p, encode(found, reverse=False))  # (T, N, S)
    places = [fields(text) for text in found.texts]
    row: Row = {"weight": []}
    own = {
        "year": (0, [range(year, year + 1) for year, _, _ in places]),
        "month": (6, [month for _, _, month in places]),
        "day": (9, [day for _, day, _ in places]),
    }
    for name, (k, ranges) in own.items():
        real = [(n, digits) for n, digits in enumerate(ranges) if digits is not None]
        top = [(int(weights[k, n].argmax()), digits) for n, digits in real]
        row[name] = [float(np.mean([j in digits for j, digits in top])),
                     float(np.mean([j == digits.stop for j, digits in top]))]  # fmt: skip
        row["weight"].append(float(np.mean([weights[k, n, digits].sum() for n, digits in real])))
    return row


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
    "tiny rates": (rate, [(k, s, lr) for k, s in (("attention", 1000), ("fed", 4000)) for lr in RATES], range(1)),
    "tiny": (tiny, [("attention", 1000)], range(10)),
    "tiny both ways": (tiny, [("both ways", 1000)], range(10)),
    "tiny fed": (tiny, [("fed", 4000)], range(10 if fixed_kernels() else 3)),
    "tiny fed, 0.04": (fast, [("fed", 4000)], range(10)),
    "few": (few, [(kind, 500) for kind in UNITS], range(10)),
    "filler": (filler, [("attention", 1000)], range(10)),
    "filler fed": (filler, [("fed", 3000)], range(10)),
    "lists": (lists, [("attention", 2000)], range(10)),
    "lists without end": (lists_without_end, [("attention", 2000)], range(5 if fixed_kernels() else 1)),
    "lists fed": (lists, [("fed", 6000)], range(10 if fixed_kernels() else 5)),
}


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store them."""
    if arguments == ["model"]:
        p = fit("both ways", TINY["both ways"], plain, 0, steps=1000)
        save(FOLDER / "attention_both_ways.npz", p)
        replace(ROUNDED, json.dumps(rounded(p), separators=(",", ":")) + "\n")
    else:
        make_parts(STORED, PARTS, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
