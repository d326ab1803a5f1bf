"""Words of twelve languages, from Babel: which language is a word? Chapter 0.

Babel ships the names of countries, languages, currencies, cities, units and days as the Unicode CLDR has them. Their
words, in lower case, are the vocabulary: a *pair* is a word and the number of its language. Versions of Babel differ in
a few words. ``words.json`` beside this file lists, by their hashes, those that 2.16, 2.17 and 2.18 share, so the
vocabulary is the same with each of them; `experiments/words_manifest.py` made it.

*irland* would give *irlanda* away. So pairs are split by the beginnings of words: what shares its first three letters,
accents aside, is in the same part.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_book.tasks.dates import Alphabet
from gru_lib.checks import check_instance, check_int, check_number, check_sequence

__all__ = [
    "LANGUAGES", "LETTERS", "NAMES", "Batch", "Words", "WordsWarning", "anagrams", "batches", "either_way", "encode",
    "endings", "order_blind", "pairs_of", "stem", "vocabulary", "words",
]  # fmt: skip

Array = NDArray[Any]
Pair = tuple[str, int]  # a word and the number of its language

#: The languages, by the names of their CLDR locales.
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "sv", "fi", "hu", "pl", "cs", "tr")
#: Their English names.
NAMES = ("English", "German", "French", "Spanish", "Italian", "Dutch", "Swedish", "Finnish", "Hungarian", "Polish",
         "Czech", "Turkish")  # fmt: skip
#: A space, which no word has, and the characters of the vocabulary. A test checks that they are exactly those.
LETTERS = Alphabet(" '-abcdefghijklmnopqrstuvwxyzßàáâãäåæçèéêëìíîïñóôõöøùúûüýāăąćčďęěğıłńňőœřśşšťůűźżžș")
#: Letters of a word, at least and at most.
SHORTEST, LONGEST = 3, 18
#: Share of the listed words that must be found; with fewer it would be another vocabulary.
ENOUGH = 0.8

_MANIFEST = Path(__file__).with_suffix(".json")
_TABLES = (
    "territories", "languages", "scripts", "variants", "currency_names", "currency_names_plural", "unit_display_names",
    "time_zones", "meta_zones", "date_fields", "days", "months", "quarters", "eras", "day_periods",
)  # fmt: skip
_APOSTROPHES = str.maketrans("’ʻʼ", "'''")
# Letters that Unicode does not take apart into a letter and an accent.
_PLAIN = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "đ": "d", "ð": "d", "ß": "s", "æ": "a", "œ": "o"})


class WordsWarning(UserWarning):
    """Babel's words are not those that the book's numbers were measured on."""


class Words(NamedTuple):
    """Pairs in three parts. In `validation` and `test` are only words that one language alone has."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


class Batch(NamedTuple):
    """Words as tokens, time first, each closed by `LETTERS.end`."""

    tokens: Array  # (T, N)
    lengths: Array  # (N,), the end counted
    ys: Array  # (N,): the class of each word


# ---------------------------------------------------------------------------------------------------- the vocabulary


@cache
def vocabulary() -> dict[str, tuple[str, ...]]:
    """Return the words of each language, sorted, after checking them against the manifest.

    Warns
    -----
    WordsWarning
        If some words are missing: everything runs, and numbers differ a little from the book's.

    Raises
    ------
    ImportError
        If Babel is not installed.
    RuntimeError
        If it has too few of the words.

    Examples
    --------
    >>> from gru_book.tasks.words import vocabulary
    >>> found = vocabulary()
    >>> len(found), "janvier" in found["fr"], "janvier" in found["de"]
    (12, True, False)
    """
    from babel import Locale, __version__

    found = {language: words_of(Locale(language)._data, language) for language in LANGUAGES}
    return _listed(found, json.loads(_MANIFEST.read_text("utf8")), __version__)


def words_of(data: Mapping[str, Any], language: str) -> list[str]:
    """Return every word of 3 to 18 letters in a locale's tables, sorted."""
    texts = [text for table in _TABLES if table in data for text in _strings(data[table])]
    texts += [text for unit in data["unit_patterns"].values() if "long" in unit for text in _strings(unit["long"])]
    found = set()
    for text in texts:
        lower = re.sub(r"\{\d\}", " ", _lower(text, language)).translate(_APOSTROPHES)
        found |= {word.strip("-'") for word in re.split(r"[^\w'\-]+", lower)}
    return sorted(w for w in found if SHORTEST <= len(w) <= LONGEST and all(map(_latin, w)))


def word_hash(language: str, word: str) -> bytes:
    """Return three bytes that stand for a word of a language."""
    return hashlib.blake2b(f"{language}/{word}".encode(), digest_size=3).digest()


def fingerprint(found: Mapping[str, Sequence[str]]) -> str:
    """Return the SHA-256 of a vocabulary."""
    lines = (f"{language} {' '.join(ws)}\n" for language, ws in found.items())
    return hashlib.sha256("".join(lines).encode("utf8")).hexdigest()


def _listed(
    found: Mapping[str, Sequence[str]], manifest: Mapping[str, Any], version: str
) -> dict[str, tuple[str, ...]]:
    """Keep the words that the manifest lists."""
    kept, wanted, missing = {}, 0, 0
    for language, digits in manifest["words"].items():
        raw = base64.b64decode(digits)
        hashes = Counter(raw[i : i + 3] for i in range(0, len(raw), 3))
        there = [w for w in found[language] if word_hash(language, w) in hashes]
        kept[language] = tuple(there)
        wanted += len(raw) // 3
        missing += sum((hashes - Counter(word_hash(language, w) for w in there)).values())
    versions = ", ".join(manifest["versions"])
    if missing > (1 - ENOUGH) * wanted:
        raise RuntimeError(
            f"vocabulary: Babel must hold most of the {wanted} words that versions {versions} share; "
            f"version {version} lacks {missing} of them."
        )
    if missing:
        warnings.warn(
            f"vocabulary: expected the {wanted} words that Babel {versions} share; version {version} lacks {missing} "
            "of them. Everything runs; numbers differ a little from the book's.",
            WordsWarning,
            stacklevel=3,
        )
    elif fingerprint(kept) != manifest["sha256"]:
        raise RuntimeError(
            f"vocabulary: the words must have the fingerprint {manifest['sha256'][:16]}…; got "
            f"{fingerprint(kept)[:16]}…. words.json and words.py do not belong together."
        )
    return kept


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)
    elif hasattr(value, "values"):
        for part in value.values():
            yield from _strings(part)


def _latin(c: str) -> bool:
    return c in "'-" or unicodedata.name(c, "").startswith("LATIN")


def _lower(text: str, language: str) -> str:
    text = unicodedata.normalize("NFC", text)
    if language == "tr":  # which has a dotted and a dotless i
        text = text.replace("I", "ı").replace("İ", "i")
    return unicodedata.normalize("NFC", text.lower())


# ---------------------------------------------------------------------------------------------------------- the split


def stem(word: str) -> str:
    """Return the first three letters without their accents: ``stem("länsi")`` is "lan".

    Examples
    --------
    >>> from gru_book.tasks.words import stem
    >>> stem("länsi"), stem("lansing")
    ('lan', 'lan')
    """
    check_instance("stem", "word", word, str)
    bare = unicodedata.normalize("NFD", word.translate(_PLAIN))
    return "".join(c for c in bare if not unicodedata.combining(c))[:3]


def words(languages: Sequence[str] = LANGUAGES, *, seed: int = 0) -> Words:
    """Split the pairs of some languages by the stems of their words: seven tenths, one tenth, two tenths.

    A pair is a word and the place of its language in `languages`. Raises what `vocabulary` raises.

    Examples
    --------
    >>> from gru_book.tasks.words import stem, words
    >>> parts = words(("en", "de"))
    >>> trained = {stem(word) for word, language in parts.train}
    >>> any(stem(word) in trained for word, language in parts.test)
    False
    """
    return split(pairs_of(languages), check_int("words", "seed", seed, minimum=0))


def pairs_of(languages: Sequence[str] = LANGUAGES) -> list[Pair]:
    """Return every pair of some languages.

    Examples
    --------
    >>> from gru_book.tasks.words import pairs_of
    >>> pairs = pairs_of(("en", "de"))
    >>> ("january", 0) in pairs, ("januar", 1) in pairs
    (True, True)
    """
    check_sequence("words", "languages", languages)
    unknown = [language for language in languages if not isinstance(language, str) or language not in LANGUAGES]
    if unknown or len(set(languages)) < len(languages) or len(languages) < 2:
        raise ValueError(f"words: languages must be two or more of {', '.join(LANGUAGES)}; got {tuple(languages)}.")
    return [(word, k) for k, language in enumerate(languages) for word in vocabulary()[language]]


def split(pairs: Sequence[Pair], seed: int = 0) -> Words:
    """Split pairs by the stems of their words, as `words` does."""
    count, parts = Counter(word for word, _ in pairs), Words([], [], [])
    for word, k in pairs:
        tenth = hashlib.sha256(f"{seed}/{stem(word)}".encode()).digest()[0] * 10 // 256
        if tenth >= 3:
            parts.train.append((word, k))
        elif count[word] == 1:
            parts[1 if tenth == 2 else 2].append((word, k))
    return parts


def order_blind(pairs: Iterable[Pair]) -> float:
    """Return the largest share of pairs that a guess can get right which does not see the order of the letters.

    Examples
    --------
    >>> from gru_book.tasks.words import order_blind
    >>> order_blind([("ireland", 0), ("irlande", 1)])  # the same letters
    0.5
    >>> order_blind([("haus", 1), ("house", 0)])
    1.0
    """
    groups: dict[str, Counter[int]] = defaultdict(Counter)
    for word, k in _checked("order_blind", pairs):
        groups["".join(sorted(word))][k] += 1
    return sum(max(group.values()) for group in groups.values()) / sum(group.total() for group in groups.values())


# --------------------------------------------------------------------------------------------- what a network is given


def encode(pairs: Sequence[Pair]) -> Batch:
    """Return pairs as a batch. Raises a ValueError that names a character which is not in `LETTERS`.

    Examples
    --------
    >>> from gru_book.tasks.words import LETTERS, encode
    >>> batch = encode([("haus", 1), ("maison", 2)])
    >>> batch.tokens.shape, batch.lengths, batch.ys
    ((7, 2), array([5, 7]), array([1, 2]))
    >>> LETTERS.text(batch.tokens[:, 0])
    'haus'
    """
    return _encode(_checked("encode", pairs))


def _encode(pairs: Sequence[Pair]) -> Batch:
    return Batch(*LETTERS.tokens([word for word, _ in pairs], end=True), np.array([k for _, k in pairs]))


def _checked(where: str, pairs: Iterable[Pair], name: str = "pairs", least: int = 1) -> list[Pair]:
    """Return pairs as a list, or raise if there are none, or others than of a word and a number."""
    if not isinstance(pairs, Iterable) or isinstance(pairs, str | bytes | np.ndarray | Mapping):
        raise TypeError(f"{where}: {name} must be pairs of a word and a number; got {type(pairs).__name__}.")
    found = list(pairs)
    for pair in found:
        right = isinstance(pair, tuple | list) and len(pair) == 2
        if not (right and isinstance(pair[0], str) and isinstance(pair[1], int | np.integer)):
            raise TypeError(f"{where}: {name} must be pairs of a word and a number; got {pair!r} among them.")
    if len(found) < least:
        raise ValueError(f"{where}: {name} must be one pair or more; got none.")
    return found


def endings(pairs: Sequence[Pair], run: str) -> Array:
    """Return where in the batch of the pairs a run of letters ends: bool (T, N).

    Examples
    --------
    >>> from gru_book.tasks.words import endings
    >>> endings([("schule", 1)], "sch")[:, 0].astype(int)
    array([0, 0, 1, 0, 0, 0, 0])
    """
    pairs = _checked("endings", pairs)
    check_instance("endings", "run", run, str)
    found = np.zeros((max(len(word) for word, _ in pairs) + 1, len(pairs)), bool)
    for n, (word, _) in enumerate(pairs):
        found[[t for t in range(len(word)) if word[: t + 1].endswith(run)], n] = True
    return found


def batches(rng: np.random.Generator, pairs: Sequence[Pair], N: int, *, cut: float = 0.5) -> Iterator[Batch]:
    """Yield batches of N pairs forever, words of similar length together.

    A share `cut` of the words loses up to five of its first letters, four staying at least: so a net sees more endings.

    Examples
    --------
    >>> from gru_book.tasks.words import LETTERS, batches
    >>> pairs = [("haus", 1), ("maison", 2), ("house", 0)]
    >>> batch = next(batches(np.random.default_rng(0), pairs, N=2, cut=0.0))
    >>> batch.tokens.shape[1], batch.ys.shape
    (2, (2,))
    """
    check_instance("batches", "rng", rng, np.random.Generator)
    N, cut = check_int("batches", "N", N), check_number("batches", "cut", cut, least=0)
    pairs = _checked("batches", pairs)
    if len(pairs) < N:
        raise ValueError(f"batches: pairs must be at least N = {N}; got {len(pairs)}.")
    length = np.array([len(word) for word, _ in pairs])

    def endless() -> Iterator[Batch]:
        while True:
            order = rng.permutation(len(pairs))
            pools = [order[a : a + 8 * N] for a in range(0, len(order), 8 * N)]
            pools = [pool[np.argsort(length[pool], kind="stable")] for pool in pools]
            chosen = [pool[a : a + N] for pool in pools for a in range(0, len(pool) - N + 1, N)]
            for k in rng.permutation(len(chosen)):
                lost = np.where(rng.random(N) < cut, rng.integers(0, 6, N), 0)
                some = [pairs[i] for i in chosen[k]]
                yield _encode([(w[min(s, max(len(w) - 4, 0)) :], y) for (w, y), s in zip(some, lost, strict=True)])

    return endless()


# ------------------------------------------------------------------------------------------ where the order decides


def anagrams(languages: Sequence[str] = LANGUAGES) -> Words:
    """Test words of four letters or more that have the same letters as a word of another language.

    *ireland* and *irlande* are such a pair. In training is no word that shares its stem with one of them. A guess that
    does not see the order gets at most the share `order_blind` right. Validation is empty.

    Examples
    --------
    >>> from gru_book.tasks.words import anagrams
    >>> ("ireland", 0) in anagrams(("en", "fr")).test
    True
    """
    pairs = pairs_of(languages)
    count = Counter(word for word, _ in pairs)
    groups: dict[str, list[Pair]] = defaultdict(list)
    for word, k in pairs:
        if count[word] == 1 and len(word) >= 4:
            groups["".join(sorted(word))].append((word, k))
    test = sorted(pair for group in groups.values() if len({k for _, k in group}) > 1 for pair in group)
    held = {stem(word) for word, _ in test}
    return Words([pair for pair in pairs if stem(pair[0]) not in held], [], test)


def either_way(parts: Words) -> Words:
    """Turn the question into "forwards or backwards?": each word as it is, class 0, and reversed, class 1.

    A guess that does not see the order is right on one of the two and wrong on the other: on exactly one half.

    Examples
    --------
    >>> from gru_book.tasks.words import Words, either_way
    >>> either_way(Words(train=[("haus", 1)], validation=[], test=[])).train
    [('haus', 0), ('suah', 1)]
    """

    check_instance("either_way", "parts", parts, Words)

    def both(pairs: Sequence[Pair]) -> list[Pair]:
        found = {word for word, _ in pairs}
        found = {word for word in found if word[::-1] not in found}
        return [pair for word in sorted(found) for pair in ((word, 0), (word[::-1], 1))]

    return Words(*(both(_checked("either_way", part, "parts", least=0)) for part in parts))
