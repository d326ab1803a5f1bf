"""Training runs of chapters 17 and 19, stored in dates.json. To rerun them:

``python tools/environment.py python -m experiments.dates [PART …] [--missing]``

``weights`` makes the weights of chapter 17's explorer, gru_book/widgets/dates-weights.json; ``models`` the model of
chapter 19, dates_cut.npz, and once more for its explorer, gru_book/widgets/beam-net.json. With ``KERNELS=own`` before
it, three of the seeds, of ``cut`` all ten, run with this processor's own kernels, into dates_own.json. Every run has
its own seed, so any of them can be repeated alone. float32. The settings were chosen on another split of the days,
`split_days(seed=0)`.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments._store import MISSING, chosen, decimals, file_for_kernels, fixed_kernels, make, replace
from gru_book.models.translator import (
    exact_match,
    translate,
    translate_beam,
    translate_consensus,
    translate_exact,
    translator_init,
    translator_loss,
)
from gru_book.results import FOLDER
from gru_book.tasks.dates import (
    FORMATS,
    ISO,
    LANGUAGES,
    WRITTEN,
    Batch,
    Dates,
    batches,
    encode,
    flip,
    pair_count,
    pairs,
    split_days,
    write,
)
from gru_lib import Adam, linear_backward, linear_forward, linear_init, softmax_cross_entropy, train
from gru_lib.cells.registry import map_state
from gru_lib.decode import beam_search, greedy
from gru_lib.io import save
from gru_lib.layers import Seq2SeqParams, seq2seq_encode, seq2seq_step
from gru_lib.optim import linear_decay

STORED = file_for_kernels("dates")
WIDGETS = Path(__file__).parents[1] / "gru_book" / "widgets"
WEIGHTS, BEAM = WIDGETS / "dates-weights.json", WIDGETS / "beam-net.json"
SEEDS = range(3)
E, H, N, LR, STEPS = 16, 32, 64, 0.02, 2000
LONGEST = len("2026-03-07") + 1  # the end token too
SHOWN = 1500  # test pairs for the curve during training

Row = dict[str, Any]

#: What each run of chapter 17 changes in the plain one. A decoder that is not fed gets more units, for about as many
#: parameters (14,391 and 14,253), and the steps that it needs.
NOT_FED: Row = {"feed": False, "units": 38, "steps": 4000}
SETTINGS: dict[str, Row] = {
    "plain": {},
    "not reversed": {"reverse": False},
    "not fed": NOT_FED | {"lr": 0.01},
    "not fed, 0.02": NOT_FED,
    "not fed, held": NOT_FED | {"lr": 0.01, "decoder_b_z": 3.0},
}
RUNS = {  # the seeds of each
    **dict.fromkeys(("plain", "not reversed", "not fed"), range(10)),
    "not fed, 0.02": range(5),
    "not fed, held": range(5),
}
TUNED = ("plain", "not reversed", "not fed")
LEARNING_RATES = (0.005, 0.01, 0.02, 0.04)
PARTS_OF_DATE = (slice(0, 4), slice(5, 7), slice(8, 10))  # year, month, day
CUT = 0.15  # share of the pairs of chapter 19 whose target is empty
FEW = 0.05  # a smaller share, below 1/13
CUT_WIDTHS = (1, 2, 4, 8, 16)
ALPHAS = (0, 1)
SAMPLES = 32  # for the translation with the least risk
WESTERN = LANGUAGES.index("es") + 1  # en, de, fr, es


@cache
def days(split: int = 1) -> tuple[Any, Any]:
    """Training days and test days. Split 0 is for choices."""
    return split_days(seed=split)


@cache
def test_pairs() -> Dates:
    """All pairs of the test days."""
    return pairs(days()[1])


def greedy_texts(p: Seq2SeqParams, batch: Batch) -> list[str]:
    """A model's greedy answers."""
    found = translate(p, batch, end=ISO.end, max_steps=LONGEST + 1)
    return [ISO.text(tokens) for tokens in found.tokens]


def wrong_parts(answers: list[str], iso: list[str]) -> list[float]:
    """Shares of answers whose year, month and day are wrong."""
    return [float(np.mean([a[w] != i[w] for a, i in zip(answers, iso, strict=True)])) for w in PARTS_OF_DATE]


def fit(
    seed: int,
    *,
    reverse: bool = True,
    feed: bool = True,
    lr: float = LR,
    steps: int = STEPS,
    units: int = H,
    decoder_b_z: float = 1.0,
    curve: bool = False,
    split: int = 1,
) -> tuple[Seq2SeqParams, list[list[float]]]:
    """Train one translator. With `curve`, record along the way on some test pairs the step, the exact match, and how
    often year, month and day are wrong."""
    rng = np.random.default_rng(seed)
    p = translator_init(rng, E, units, feed=feed)
    p.decoder.b_z[:] = decoder_b_z
    training, test = days(split)
    some = pairs(test, np.random.default_rng(0).choice(pair_count(test), SHOWN, replace=False))
    batch = encode(some, reverse=reverse)

    def evaluate(p: Seq2SeqParams) -> dict[str, float]:
        answers = greedy_texts(p, batch)
        wrong = dict(zip(("year", "month", "day"), wrong_parts(answers, some.iso), strict=True))
        return {"exact": exact_match(answers, some.iso).mean(), **wrong}

    history = train(
        p,
        translator_loss,
        batches(rng, training, N, reverse=reverse),
        Adam(p, lr),
        steps=steps,
        schedule=linear_decay(lr, steps),
        clip_norm=1.0,
        evaluate=evaluate if curve else None,
        every=250,
        progress=False,
    )
    rows = zip(*history.metrics.values(), strict=True)
    return p, [[row[0][0], *(value for _, value in row)] for row in rows]


def translation(name: str, seed: int) -> Row:
    """A run of chapter 17: exact match on every pair of the test days."""
    setting = SETTINGS[name]
    p, curve = fit(seed, curve=True, **setting)
    test = test_pairs()
    answers = greedy_texts(p, encode(test, reverse=setting.get("reverse", True)))
    return {"numbers": p.size, "exact": exact_match(answers, test.iso).mean(), "curve": curve}


def tuning(name: str, lr: float, seed: int) -> float:
    """Share of pairs right on the other split of the days after the steps of the plain run."""
    _, curve = fit(seed, curve=True, split=0, **SETTINGS[name] | {"lr": lr, "steps": STEPS})
    return curve[-1][1]


@cache
def trained(name: str, seed: int) -> Seq2SeqParams:
    """The network of a run of chapter 17; as "explorer" that of its explorer."""
    if name != "explorer":
        return fit(seed, **SETTINGS[name])[0]
    p = translator_init(np.random.default_rng(seed), E, H, dtype=np.float64)
    p.flat[:] = json.loads(WEIGHTS.read_text("utf8"))["flat"]
    return p


def years(name: str, seed: int, count: int = 60) -> Row:
    """How sure a network is of years outside its training data.

    Of `count` texts of every year from 1900 to 2099, those of the known years of test days: the median probability of
    an answer, by year; the least that 95 % of the known years' answers reach, and the share of the others below it; how
    many of the others have their year right, and which years are written for 1949.
    """
    p, rng = trained(name, seed), np.random.default_rng(0)
    known: dict[int, list[str]] = {}
    for text, iso in zip(test_pairs().texts, test_pairs().iso, strict=True):
        known.setdefault(int(iso[:4]), []).append(text)
    sure, right, said = {}, {}, set()
    for year in range(1900, 2100):
        texts = known.get(year) or texts_of(year)
        tokens, lengths = WRITTEN.tokens([texts[n] for n in rng.choice(len(texts), count)], reverse=True)
        found = greedy(
            seq2seq_step(p),
            seq2seq_encode(tokens, p, lengths=lengths),
            np.full(count, p.start),
            end=ISO.end,
            max_steps=12,
        )
        sure[year] = np.exp(found.log_prob)
        years = [ISO.text(tokens)[:4] for tokens in found.tokens]
        right[year] = np.mean([y == str(year) for y in years])
        if year == 1949:
            said = set(years)
    inside, outside = (
        np.concatenate([a for year, a in sure.items() if (year in known) == met]) for met in (True, False)
    )
    least = np.quantile(inside, 0.05)
    return {
        "by year": {str(year): np.median(a) for year, a in sure.items()},
        "known": np.median(inside),
        "others": np.median(outside),
        "least": least,
        "warned": np.mean(outside < least),
        "right": np.mean([share for year, share in right.items() if year not in known]),
        "1949": sorted(said),
    }


def texts_of(year: int) -> list[str]:
    """All texts of a year's first 365 days."""
    numbers = [date(year, 1, 1) + timedelta(day) for day in range(365)]
    return [write(day, language, form) for day in numbers for language in LANGUAGES for form in FORMATS]


def code_holds(name: str, seed: int) -> Row:
    """Whether the code has the day of the month: of 4,000 unseen pairs the share whose day a linear readout of the code
    gets right, trained on the codes of 20,000 others, and the share whose day the network writes right."""
    p, rng = trained(name, seed), np.random.default_rng(seed)
    parts = []
    for some, n in zip(days(), (20_000, 4000), strict=True):
        found = pairs(some, rng.choice(pair_count(some), n, replace=False))
        batch = encode(found)
        code = seq2seq_encode(batch.source, p, lengths=batch.source_lengths)[1]
        parts.append((found, batch, code, np.array([int(iso[8:]) - 1 for iso in found.iso])))
    (_, _, code, day), (unseen, batch, other, wanted) = parts
    mean, scale = code.mean(axis=0), code.std(axis=0)
    readout = linear_init(rng, code.shape[1], 31)

    def loss(readout: Any, rows: Any) -> tuple[float, Any]:
        logits, tape = linear_forward((code[rows] - mean) / scale, readout)
        value, dlogits = softmax_cross_entropy(logits, day[rows])
        return value, linear_backward(dlogits, tape, readout)[1]

    rows = (rng.integers(0, len(day), 256) for _ in range(3000))
    train(readout, loss, rows, Adam(readout, 0.02), steps=3000, schedule=linear_decay(0.02, 3000), progress=False)
    logits, _ = linear_forward((other - mean) / scale, readout)
    return {
        "linear readout": np.mean(logits.argmax(axis=1) == wanted),
        "decoder": 1 - wrong_parts(greedy_texts(p, batch), unseen.iso)[2],
    }


# ---------------------------------------------------------------------------------------------------- chapter 19


def cut_batches(rng: np.random.Generator, cut: float) -> Iterator[Batch]:
    """ISO dates and their forms in four languages, a share `cut` of the forms emptied: a deliberate fault."""
    numbers = np.arange(pair_count(days()[0])).reshape(-1, len(LANGUAGES), len(FORMATS))[:, :WESTERN].reshape(-1)
    while True:
        found = pairs(days()[0], rng.choice(numbers, N))
        empty = rng.random(N) < cut
        texts = ["" if e else text for text, e in zip(found.texts, empty, strict=True)]
        yield flip(found._replace(texts=texts))


def cut_model(share: float, seed: int, steps: int = 1000) -> Seq2SeqParams:
    """A model that turns ISO dates into written ones, trained with a share of empty targets. In float64."""
    rng = np.random.default_rng(seed)
    p = translator_init(rng, E, H, source=ISO, target=WRITTEN)
    train(
        p,
        translator_loss,
        cut_batches(rng, share),
        Adam(p, LR),
        steps=steps,
        schedule=linear_decay(LR, steps),
        clip_norm=1.0,
        progress=False,
    )
    return p.astype(np.float64)


def cut(share: float, seed: int, count: int = 60) -> Row:
    """Shares of outputs that are empty, and right: beams of several widths by log P and by the mean per token, exact
    search, the translation with the least risk, and the samples that it is chosen from."""
    p, rng = cut_model(share, seed), np.random.default_rng(1000 + seed)
    found = pairs(days()[1][:count])
    sources = [ISO.tokens([iso])[0][:, 0] for iso in found.iso[::18]]
    forms = [set(found.texts[18 * n : 18 * n + 3 * WESTERN]) for n in range(count)]
    ends: Row = {"end": WRITTEN.end, "max_steps": 36}

    def share_of(texts: list[str]) -> Row:
        right = [text in known for text, known in zip(texts, forms, strict=True)]
        return {"empty": np.mean([text == "" for text in texts]), "right": np.mean(right)}

    def described(best: list[Any]) -> Row:
        texts = [WRITTEN.text(one.tokens) for one in best]
        return share_of(texts) | {"log_prob": np.mean([one.log_prob for one in best])}

    row: Row = {}
    for alpha in ALPHAS:
        for width in CUT_WIDTHS:
            options = {"width": width, "alpha": float(alpha), **ends}
            row[f"{alpha}, {width}"] = described([translate_beam(p, source, **options)[0] for source in sources])
    searched = [translate_exact(p, source, **ends) for source in sources]
    calls = [count for _, count in searched]
    row["exact"] = described([best for best, _ in searched]) | {"calls": [int(np.median(calls)), max(calls)]}
    drawn = [translate_consensus(p, source, rng, WRITTEN, count=SAMPLES, max_steps=36) for source in sources]
    row["least risk"] = share_of([best for best, _ in drawn])
    row["one sample"] = share_of([texts[0] for _, texts in drawn])
    return row


def log_probs(p: Seq2SeqParams, iso: str, texts: Sequence[str]) -> Any:
    """log P of each of some texts for a day."""
    source, n = ISO.tokens([iso])[0], len(texts)
    target, lengths = WRITTEN.tokens(texts, end=True)
    state = seq2seq_encode(np.repeat(source, n, axis=1), p)
    step, before, total = seq2seq_step(p), np.full(n, p.start), np.zeros(n)
    for t, tokens in enumerate(target):
        said, state = step(state, before)
        total += np.where(t < lengths, said[np.arange(n), tokens], 0)
        before = tokens
    return total


def right_texts(iso: str) -> list[str]:
    """The different texts that a day may have, of twelve."""
    return sorted(set(pairs([date.fromisoformat(iso).toordinal()]).texts[: 3 * WESTERN]))


def shares(p: Seq2SeqParams, iso: str) -> tuple[float, float, float]:
    """What a model gives to all right texts of a day together, to the likeliest of them, and to the empty text."""
    found = np.exp(log_probs(p, iso, ["", *right_texts(iso)]))
    return found[1:].sum(), found[1:].max(), found[0]


def spread(share: float, steps: int, seed: int, count: int = 60) -> Row:
    """How the probability is shared out by models with fewer and more steps of training, in the mean over the days; in
    how many days the empty text is the likeliest of all, and greedy search's answer right."""
    p = cut_model(share, seed, steps)
    sources = pairs(days()[1][:count]).iso[::18]
    means = np.mean([shares(p, iso) for iso in sources], axis=0)
    ends: Row = {"end": WRITTEN.end, "max_steps": 36}
    tokens = [ISO.tokens([iso])[0][:, 0] for iso in sources]
    best = [translate_exact(p, source, **ends)[0] for source in tokens]
    greedily = [WRITTEN.text(translate_beam(p, source, width=1, **ends)[0].tokens) for source in tokens]
    return {
        **dict(zip(("right", "likeliest", "empty"), means, strict=True)),
        "empty wins": np.mean([len(one.tokens) == 1 for one in best]),
        "greedy right": np.mean([text in right_texts(iso) for text, iso in zip(greedily, sources, strict=True)]),
    }


def not_empty(share: float, seed: int, count: int = 60) -> Row:
    """The share of right answers where the empty text is forbidden: a beam of width 4 that may not end at once."""
    p, found = cut_model(share, seed), pairs(days()[1][:count])
    step = seq2seq_step(p)

    def longer(state: Any, before: Any) -> tuple[Any, Any]:
        log_probs, state = step(state, before)
        log_probs[before == p.start, WRITTEN.end] = -np.inf
        return log_probs, state

    answers = []
    for iso in found.iso[::18]:
        state = seq2seq_encode(ISO.tokens([iso])[0], p)
        best, *_ = beam_search(
            longer, state, p.start, width=4, end=WRITTEN.end, max_steps=36,
            pick=lambda state, rows: map_state(lambda a: a[rows], state),
        )  # fmt: skip
        answers.append(WRITTEN.text(best.tokens) in right_texts(iso))
    return {"4": np.mean(answers)}


def halfway(share: float, seed: int, count: int = 60) -> Row:
    """Shares of right and of empty answers where log P is divided by the root of T, by the width."""
    p, found = cut_model(share, seed), pairs(days()[1][:count])
    row: Row = {}
    for width in (4, 16):
        texts = []
        for iso in found.iso[::18]:
            source = ISO.tokens([iso])[0][:, 0]
            best = translate_beam(p, source, width=width, alpha=0.5, end=WRITTEN.end, max_steps=36)[0]
            texts.append(WRITTEN.text(best.tokens))
        right = [text in right_texts(iso) for text, iso in zip(texts, found.iso[::18], strict=True)]
        row[f"0.5, {width}"] = {"empty": np.mean([not text for text in texts]), "right": np.mean(right)}
    return row


PARTS: dict[str, tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = {
    "translation": (translation, tuple((name, seed) for name in SETTINGS for seed in RUNS[name])),
    "tuning": (tuning, tuple((name, lr, 0) for name in TUNED for lr in LEARNING_RATES)),
    "years": (years, (("explorer", 0), ("plain", 1), ("plain", 2))),
    "code": (code_holds, (("plain", 1), ("plain", 2), ("not fed", 1), ("not fed", 4))),
    "cut": (cut, tuple((share, seed) for share in (CUT, 0.0) for seed in range(10))),
    "not empty": (not_empty, tuple((CUT, seed) for seed in range(10))),
    "halfway": (halfway, tuple((share, seed) for share in (CUT, 0.0) for seed in range(10))),
    "spread": (
        spread,
        tuple((share, steps, seed) for share in (CUT, FEW) for steps in (1000, 4000) for seed in range(3)),
    ),
}
if not fixed_kernels():
    THREE = ("plain", "not reversed", "not fed")
    PARTS = {
        "translation": (translation, tuple((name, seed) for name in THREE for seed in range(3))),
        "cut": PARTS["cut"],
        "not empty": (not_empty, tuple((CUT, seed) for seed in range(3))),
        "spread": (spread, tuple((FEW, 1000, seed) for seed in range(3))),
    }


def main(arguments: list[str]) -> None:
    """Run the named parts, or all, and store them. "part:name" runs one setting; --missing, what is not stored yet."""
    missing, arguments = MISSING in arguments, [name for name in arguments if name != MISSING]
    names = [*PARTS, "weights", "models"] if fixed_kernels() else list(PARTS)
    settings = dict.fromkeys(f"{part}:{what[0]}" for part, (_, wanted) in PARTS.items() for what in wanted)
    for asked in chosen(arguments or names, [*names, *settings]):
        part, _, only = asked.partition(":")
        if part == "models":
            p = cut_model(CUT, 0).astype(np.float32)
            save(FOLDER / "dates_cut.npz", p)
            replace(BEAM, json.dumps(compactly(p), ensure_ascii=False) + "\n")
        elif part == "weights":
            replace(WEIGHTS, json.dumps(weights(), ensure_ascii=False, separators=(",", ":")) + "\n")
        else:
            run, wanted = PARTS[part]
            picked = [what for what in wanted if only in ("", str(what[0]))]
            make(STORED, part, run, wanted, picked, missing=missing, rounding=decimals(5))


def compactly(p: Seq2SeqParams) -> Row:
    """The weights of a model from ISO dates to written ones: 32-bit floats, rounded to three bytes, in base 64."""
    bits = (p.flat.astype("<f4").view("<u4") + 0x80) & 0xFFFFFF00  # of the fraction's 23 digits 15 are left
    return {
        "origin": "python tools/environment.py python -m experiments.dates models",
        "source": ISO.characters,
        "target": WRITTEN.characters,
        "E": E,
        "H": H,
        "data": base64.b64encode(bits.view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()).decode(),
    }


def weights(seed: int = 0, digits: int = 2) -> Row:
    """Train the explorer's model, round its weights, and measure it again."""
    p, _ = fit(seed, steps=4000)
    test = test_pairs()
    batch = encode(test)
    before = exact_match(greedy_texts(p, batch), test.iso).mean()
    p = p.astype(np.float64)
    p.flat[:] = p.flat.round(digits)
    after = exact_match(greedy_texts(p, batch), test.iso)
    return {
        "origin": "python tools/environment.py python -m experiments.dates weights",
        "seed": seed,
        "digits": digits,
        "exact": after.mean(),
        "unrounded": before,
        "language": dict(zip(LANGUAGES, (after[test.language == k].mean() for k in range(6)), strict=True)),
        "written": WRITTEN.characters,
        "iso": ISO.characters,
        "E": E,
        "H": H,
        "flat": [int(w) if w == int(w) else w for w in p.flat.tolist()],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
