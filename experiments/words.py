"""Which language is a word? Training runs of chapters 0, 1 and 4, stored in words.json, and the net of the front page.

``python tools/environment.py python -m experiments.words [--missing] [PART …]``

With ``KERNELS=own`` the results, of three seeds, go to ``words_own.json``. The part ``net`` trains ten nets, picks one
on the validation words, rounds it to 8 bits and stores it with its measurements in ``gru_book/results/words_net.json``.
Every run has its own seed, so any of them can be repeated alone. float64, in which both kernels lead to the same
digits; the nets of the front page are float32.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._store import MISSING, as_stored, chosen, file_for_kernels, fixed_kernels, make_parts, replace
from gru_book.models.word_reader import (
    word_reader_accuracy,
    word_reader_init,
    word_reader_loss,
    word_reader_z,
)
from gru_book.results import FOLDER
from gru_book.tasks.words import (
    LANGUAGES,
    LETTERS,
    Batch,
    Pair,
    Words,
    anagrams,
    batches,
    either_way,
    encode,
    pairs_of,
    split,
    words,
)
from gru_lib import (
    Adam,
    Bundle,
    cosine_decay,
    elman_backward,
    elman_forward,
    elman_init,
    gru_init,
    gru_step,
    linear_backward,
    linear_forward,
    linear_init,
    log_softmax,
    sigmoid,
    train,
)

STORED = file_for_kernels("words")
NET = FOLDER / "words_net.json"
SEEDS, TUNING_SEEDS = range(10 if fixed_kernels() else 3), range(100, 102)
N, STEPS, PREFIXES = 64, 1000, (2, 4, 6)
DTYPE = np.float64
INIT: dict[str, Callable[..., Any]] = {
    "Elman": elman_init,
    "GRU": gru_init,
}
CELLS = (("Elman", 64), ("GRU", 64))
RATES = (0.003, 0.01, 0.02)
#: The rates that were best on the validation words in "languages rates"; the other parts take them too.
RATE = {"Elman": 0.01, "GRU": 0.01}

Row = dict[str, Any]
parts = cache(words)


# ------------------------------------------------------------------------------------------------------- training


def fit(m: Bundle, source: Iterator[Batch], lr: float, steps: int, **options: Any) -> Bundle:
    """Adam, its rate falling to zero along a cosine, the gradient clipped at norm 1."""
    loss = partial(word_reader_loss, **options)
    train(m, loss, source, Adam(m, lr), steps=steps, schedule=cosine_decay(lr, steps), clip_norm=1.0, progress=False)
    return m


def reader(found: Words, K: int, cell: str, H: int, lr: float, seed: int, steps: int = STEPS) -> Bundle:
    """A reader trained as on the page of chapter 0."""
    rng = np.random.default_rng(seed)
    m = word_reader_init(rng, LETTERS.size, K, H=H, init=INIT[cell], dtype=DTYPE)
    return fit(m, batches(rng, found.train, N), lr, steps)


def language(cell: str, H: int, lr: float, seed: int) -> Row:
    """Which of twelve languages? Accuracy at the end; of a GRU what it notes at an ä, and what holding that costs."""
    m = reader(parts(), len(LANGUAGES), cell, H, lr, seed)
    row: Row = {name: word_reader_accuracy(m, getattr(parts(), name)) for name in ("validation", "test")}
    return row | {"latch": latch(m), "hold": hold(m)} if cell == "GRU" else row


def three_times(cell: str, H: int, lr: float, seed: int) -> Row:
    """Which of twelve languages, after three times as many updates?"""
    m = reader(parts(), len(LANGUAGES), cell, H, lr, seed, 3 * STEPS)
    return {name: word_reader_accuracy(m, getattr(parts(), name)) for name in ("validation", "test")}


def longer(pairs: Sequence[Pair], k: int) -> list[Pair]:
    """The pairs whose word has k letters or more."""
    return [pair for pair in pairs if len(pair[0]) >= k]


def orders(task: str, cell: str, H: int, seed: int) -> Row:
    """Anagrams, or forwards and backwards: what a sum of letters cannot tell."""
    found, K = order_task(task)
    return {"test": word_reader_accuracy(reader(found, K, cell, H, RATE[cell], seed), found.test)}


@cache
def order_task(task: str) -> tuple[Words, int]:
    """The words of a task in which order decides, and its number of classes."""
    return (anagrams(), len(LANGUAGES)) if task == "anagrams" else (either_way(parts()), 2)


def page_loop(cell: str, faster: float, steps: int, lr: float, seed: int) -> Row:
    """Forwards or backwards? The loop on chapter 1's page, its rate from lr down, for W_x this many times as large."""
    found, (D, H) = order_task("either way")[0], (len(LETTERS.characters), 64)
    by_length: dict[int, list[Pair]] = {}
    for pair in found.train:
        by_length.setdefault(len(pair[0]), []).append(pair)
    lengths = sorted(by_length)
    share = np.array([len(by_length[T]) for T in lengths]) / len(found.train)

    def arrays(pairs: Sequence[Pair]) -> tuple[Any, Any]:
        tokens = [[LETTERS.characters.index(c) for c in word] for word, _ in pairs]
        return np.eye(D)[np.transpose(tokens)], np.array([[y] for _, y in pairs])

    rng = np.random.default_rng(seed)
    p = INIT[cell](rng, D, H, init="orthogonal")
    out = linear_init(np.random.default_rng(0), H, 1)
    out.W[:] = rng.normal(size=(H, 1)) / np.sqrt(H)
    for step in range(steps):
        pairs = by_length[rng.choice(lengths, p=share)]
        xs, y = arrays([pairs[i] for i in rng.integers(0, len(pairs), N)])
        _, h_T, tape = elman_forward(xs, None, p)
        s, cache = linear_forward(h_T, out)
        d_s = (sigmoid(s) - y) / N
        d_h_T, _ = linear_backward(d_s, cache, out)
        grads = elman_backward(None, d_h_T, tape, p)[2]
        rate = lr * (1 - step / steps)
        out.W -= rate * h_T.T @ d_s
        out.b -= rate * d_s.sum(axis=0)
        grads.W_x[:] *= faster
        p.flat[:] -= rate * grads.flat
    right = 0
    for T in sorted({len(word) for word, _ in found.test}):
        xs, y = arrays([pair for pair in found.test if len(pair[0]) == T])
        right += int(((linear_forward(elman_forward(xs, None, p)[1], out)[0] > 0) == y).sum())
    return {"test": right / len(found.test)}


# ------------------------------------------------------------------------------------------------------- baselines


# scikit-learn takes seconds to import, so only what fits one of its models does.


def ngrams(longest: int, **options: Any) -> Any:
    """Counts of runs of letters, the borders of a word among them."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(**{"analyzer": "char_wb", "ngram_range": (1, longest), "lowercase": False} | options)


def bayes(counts: Any) -> Any:
    """Naive Bayes on counts."""
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    return make_pipeline(counts, MultinomialNB(alpha=0.3))


def regression(counts: Any, C: float) -> Any:
    """Softmax regression on counts."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(counts, LogisticRegression(C=C, max_iter=1000))


def ends(first: bool) -> Any:
    """The last letter of a word, or the first and the last."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(analyzer=lambda word: [f"^{word[0]}"] * first + [word[-1]])


BASELINES: dict[str, Callable[[], Any]] = {
    "letters, regression": lambda: regression(ngrams(1), C=1),
    "last letter, regression": lambda: regression(ends(first=False), C=1),
    "first and last letter, regression": lambda: regression(ends(first=True), C=1),
    "up to 3, regression": lambda: regression(ngrams(3), C=0.3),
}


def baseline(task: str, name: str, seed: int) -> Row:
    """A baseline from scikit-learn; what decides C is the validation words."""
    found = parts() if task == "languages" else order_task(task)[0]
    model = BASELINES[name]().fit(*zip(*found.train, strict=True))
    row: Row = {"test": model.score(*zip(*found.test, strict=True))}
    if task == "languages":
        row["validation"] = model.score(*zip(*found.validation, strict=True))
    return row


def beginnings(pairs: Sequence[Pair], *, marked: str = "^") -> list[Pair]:
    """Every beginning of every word, the border before it marked."""
    return [(marked + word[:k], y) for word, y in pairs for k in range(1, len(word) + 1)]


def after(found: Words) -> Row:
    """Naive Bayes on runs of up to four letters, taught with whole words or with all their beginnings; and guessing."""
    row: Row = {}
    for name, taught in (("words", [(f"^{w}", y) for w, y in found.train]), ("beginnings", beginnings(found.train))):
        model = bayes(ngrams(4, analyzer="char")).fit(*zip(*taught, strict=True))
        for part in ("validation", "test"):
            cut = [[(f"^{w[:k]}", y) for w, y in longer(getattr(found, part), k)] for k in PREFIXES]
            row[f"{name}, {part}"] = [model.score(*zip(*pairs, strict=True)) for pairs in cut]
    return row


# --------------------------------------------------------------------------------------------------------- latches


def latch(m: Bundle, run: str = "ä") -> Row:
    """The unit whose z swings most at a run of letters on training words; on test words, its mean z at and after it."""
    at, later = word_reader_z(m, parts().train, run)
    u = int((later - at).argmax())
    return {"unit": u, "z": [float(a[u]) for a in word_reader_z(m, parts().test, run)]}


def hold(m: Bundle, run: str = "ä", language: str = "fi") -> Row:
    """What the net believes of a language's test words with a letter if some units may not write when it comes.

    The mean probability of that language at the end: with no unit held, with the one whose z swings most, with all.
    """
    k, letter = LANGUAGES.index(language), LETTERS.characters.index(run)
    found = [pair for pair in parts().test if pair[1] == k and run in pair[0]]
    held: list[Sequence[int]] = [[], [latch(m, run)["unit"]], range(m.rnn.H)]
    return {"words": len(found), "held": [belief(m, found, letter, units)[:, k].mean() for units in held]}


def belief(m: Bundle, pairs: Sequence[Pair], letter: int, held: Any) -> Any:
    """The probabilities at the end of each word, (N, K), if some units keep their state when a letter comes."""
    tokens, lengths, _ = encode(pairs)
    h = np.zeros((len(pairs), m.rnn.H))
    hs = []
    for row in tokens:
        new, _ = gru_step(m.embed.E[row], h, m.rnn)
        here = np.ix_(row == letter, held)
        new[here] = h[here]
        hs.append(h := new)
    ends = np.array(hs)[lengths - 1, np.arange(len(pairs))]
    return np.exp(log_softmax(ends @ m.out.W + m.out.b))


# --------------------------------------------------------------------------------------- the net of the front page

NINE = ("en", "de", "fr", "es", "sv", "fi", "hu", "pl", "tr")
EVERYDAY = Path(__file__).with_name("everyday.txt")  # written for this book; its lines stand in `everyday`
FRONT = {"lr": 0.01, "drop": 0.3, "last": 2.0}
EMBEDDED = 24
OFTEN, UNKNOWN = 6, 0.02  # an everyday word counts as six; this share of the letters is replaced by the unknown one


@cache
def everyday() -> list[Pair]:
    """Everyday words of the nine languages, of three letters or more.

    A line of the file is a meaning, a word for each language, or begins with a language and holds only its words.
    """
    head, *lines = EVERYDAY.read_text("utf8").splitlines()
    assert tuple(head.split()) == NINE
    found = set()
    for line in lines:
        language, only, known = line.partition(": ")
        found |= (
            {(w, NINE.index(language)) for w in known.split()} if only else {*zip(line.split(), range(9), strict=True)}
        )
    return sorted(pair for pair in found if len(pair[0]) > 2)


@cache
def front_words() -> Words:
    """Babel's words of the nine languages and the everyday ones, split by stems; these come more often in training."""
    found = split(sorted({*pairs_of(NINE), *everyday()}))
    common = set(everyday())
    return found._replace(train=[pair for pair in found.train for _ in range(OFTEN if pair in common else 1)])


def front_batches(rng: np.random.Generator, pairs: Sequence[Pair]) -> Iterator[Batch]:
    """Batches in which a few letters are unknown."""
    for batch in batches(rng, pairs, N):
        lost = (rng.random(batch.tokens.shape) < UNKNOWN) & (batch.tokens != LETTERS.end)
        yield batch._replace(tokens=np.where(lost, LETTERS.start, batch.tokens))


def front_net(seed: int, steps: int = 4000) -> Bundle:
    """One of the ten."""
    rng = np.random.default_rng(seed)
    m = word_reader_init(rng, LETTERS.size, len(NINE), D=EMBEDDED)
    options = {"drop": FRONT["drop"], "last": FRONT["last"], "rng": rng}
    return fit(m, front_batches(rng, front_words().train), FRONT["lr"], steps, **options)


def rounded(a: Any) -> Row:
    """An array as 8-bit integers times one scale."""
    scale = float(f"{np.abs(a).max() / 127:.6g}")
    whole = np.clip(np.rint(a / scale), -127, 127).astype(np.int8)
    return {"shape": list(a.shape), "scale": scale, "data": base64.b64encode(whole.tobytes()).decode()}


def restored(net: Row) -> Bundle:
    """The net that a file of rounded arrays holds, in float64."""
    D = net["arrays"]["embed.E"]["shape"][1]
    m = word_reader_init(np.random.default_rng(0), LETTERS.size, len(net["languages"]), D=D, dtype=np.float64)
    arrays = dict(m.items())
    for name, a in net["arrays"].items():
        values = np.frombuffer(base64.b64decode(a["data"]), np.int8).reshape(a["shape"]) * a["scale"]
        if name == "embed.E":
            arrays[name][:] = values[-1]  # a letter that the net does not know
            arrays[name][rows_of(net["letters"])] = values
        else:
            arrays[name][:] = values
    return m


def rows_of(letters: str) -> list[int]:
    """The tokens of some letters, then of the end and of the unknown letter."""
    return [*(LETTERS.characters.index(c) for c in letters), LETTERS.end, LETTERS.start]


def measured(m: Bundle) -> Row:
    """Shares right on the test words, after some letters and at the end, and on the everyday ones among them."""
    test, common = front_words().test, set(everyday())
    rare = [pair for pair in test if pair in common]
    return {
        "validation": word_reader_accuracy(m, front_words().validation),
        "test": word_reader_accuracy(m, test),
        "after": [word_reader_accuracy(m, longer(test, k), k) for k in PREFIXES],
        "everyday": word_reader_accuracy(m, rare),
        "words": [len(test), len(rare)],
    }


def counted() -> Row:
    """Naive Bayes on runs of up to four letters: shares right as in `measured`."""
    counts = {name: value for name, value in after(front_words()).items() if name.endswith("test")}
    model = bayes(ngrams(4)).fit(*zip(*front_words().train, strict=True))
    test, common = front_words().test, set(everyday())
    for name, pairs in (("end", test), ("everyday", [pair for pair in test if pair in common])):
        counts[name] = model.score(*zip(*pairs, strict=True))
    return counts


def store_net() -> None:
    """Train ten, pick the best on the validation words, round it, measure it, store it."""
    tried = []
    for seed in SEEDS:
        m = front_net(seed)
        tried.append((measured(m), m))
        print(f"net: seed {seed}, {tried[-1][0]}", flush=True)
    seed = max(SEEDS, key=lambda k: tried[k][0]["validation"])
    letters = "".join(sorted({c for word, _ in front_words().train for c in word}))
    arrays = dict(tried[seed][1].items())
    arrays["embed.E"] = arrays["embed.E"][rows_of(letters)]
    net: Row = {
        "origin": "python tools/environment.py python -m experiments.words net",
        "languages": list(NINE),
        "letters": letters,
        "seed": seed,
        "arrays": {name: rounded(a) for name, a in arrays.items()},
    }
    m = restored(net)
    net["measured"] = as_stored({"8 bits": measured(m), "float32": tried[seed][0], "counts": counted()})
    net["tried"] = [as_stored([row["validation"], row["test"]]) for row, _ in tried]
    replace(NET, json.dumps(net, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"net: {net['measured']}, {NET.stat().st_size} bytes", flush=True)


# ----------------------------------------------------------------------------------------------------------- parts

ORDERS = tuple((task, cell, 64) for task in ("anagrams", "either way") for cell in ("Elman", "GRU"))
#: Of chapter 1's page, and with one rate for all.
LOOPS = (("Elman", 20, 2000, 0.2), ("Elman", 1, 2000, 0.2))
Settings = tuple[tuple[Any, ...], ...]
PARTS: dict[str, tuple[Callable[..., Row], Settings, range]] = {
    "languages": (language, tuple((cell, H, RATE[cell]) for cell, H in CELLS), SEEDS),
}
if fixed_kernels():
    PARTS |= {
        "languages rates": (
            language,
            tuple((cell, 64, lr) for cell in ("Elman", "GRU") for lr in RATES),
            TUNING_SEEDS,
        ),
        # 121 units have as many parameters as a GRU of 64.
        "three times": (three_times, (("Elman", 121, 0.005), ("GRU", 64, 0.01)), range(3)),
        "page loop": (page_loop, LOOPS, range(3)),
        "orders": (orders, ORDERS, range(10)),
        "baselines": (baseline, tuple((t, n) for t in ("languages", "either way") for n in BASELINES), range(1)),
    }


def main(asked: list[str]) -> None:
    """Run the named parts, or all, and store them; with --missing, only what is not stored yet."""
    names = chosen([name for name in asked if name != MISSING], [*PARTS, "net"])
    if rest := [name for name in names if name != "net"]:
        make_parts(STORED, PARTS, [*rest, *(name for name in asked if name == MISSING)])
    if "net" in names:
        store_net()


if __name__ == "__main__":
    main(sys.argv[1:])
