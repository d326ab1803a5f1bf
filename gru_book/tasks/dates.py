"""Dates as people write them, in six languages, and their ISO 8601 form: 7 de marzo de 2026 -> 2026-03-07.

The written forms are those of the Unicode CLDR as Babel ships it: its formats medium, long and full. A *pair* is one
day in one language and format. Pairs are split by days, so that no test day was seen in training, in any language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import as_integers, check_bool, check_instance, check_int, plain

__all__ = [
    "FORMATS", "ISO", "LANGUAGES", "LISTED_ISO", "LISTED_WRITTEN", "WRITTEN", "Alphabet", "Batch", "Dates", "batches",
    "encode", "flip", "listed", "pair_count", "pairs", "split_days", "write",
]  # fmt: skip

Array = NDArray[Any]

#: Languages, by the name of their CLDR locale.
LANGUAGES = ("en", "de", "fr", "es", "ja", "zh")
#: The CLDR's formats of a date that are used.
FORMATS: tuple[Literal["medium", "long", "full"], ...] = ("medium", "long", "full")
#: The first and the last day, as `date.toordinal` counts them: 36,525 days.
FIRST, LAST = date(1950, 1, 1).toordinal(), date(2049, 12, 31).toordinal()

# SHA-256 of the 18 forms of every day of 2000, a line each: all months, days of a month and weekdays are in it.
_FINGERPRINT = "5febd6b7dbfe0ae3e7bc2b8f16c356c73502b5469f490a70a826f57cee03e1b5"


class Alphabet:
    """Characters as tokens: character i is token i; then come `end` and `start`.

    Attributes
    ----------
    characters : str, each character once
    size : int, the number of tokens, `end` and `start` included
    end, start : int, the tokens that end a sequence and come before it

    Examples
    --------
    >>> from gru_book.tasks.dates import Alphabet
    >>> letters = Alphabet("abc")
    >>> tokens, lengths = letters.tokens(["cab", "a"], end=True)
    >>> tokens.T, lengths
    (array([[2, 0, 1, 3],
           [0, 3, 0, 0]]), array([4, 2]))
    >>> letters.text(tokens[:, 0])
    'cab'
    """

    def __init__(self, characters: str) -> None:
        check_instance("Alphabet", "characters", characters, str)
        if len(set(characters)) != len(characters) or not characters:
            raise ValueError(f"Alphabet: characters must each stand there once; got {characters!r}.")
        self.characters = characters
        self.end, self.start = len(characters), len(characters) + 1
        self.size = len(characters) + 2
        self._token = {c: i for i, c in enumerate(characters)}

    def tokens(self, texts: Sequence[str], *, end: bool = False, reverse: bool = False) -> tuple[Array, Array]:
        """Return texts as tokens (T, N), time first and padded at the end, and their lengths (N,).

        `end` appends the end token, which counts in the length; `reverse` puts the last character first. A text may be
        empty only with `end`.
        """
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"Alphabet.tokens: texts must be a list of texts; got {texts!r:.60}.")
        lengths = np.array([len(text) + end for text in texts])
        if not lengths.size or not lengths.all():
            raise ValueError(f"Alphabet.tokens: texts must hold texts of one character or more; got {list(texts)[:5]}.")
        table = np.zeros((lengths.max(), len(lengths)), np.int64)
        for n, text in enumerate(texts):
            try:
                row = [self._token[c] for c in (reversed(text) if reverse else text)]
            except KeyError:
                unknown = "".join(sorted(set(text) - set(self.characters)))
                raise ValueError(f"Alphabet.tokens: texts must be written in the alphabet; got {unknown!r}.") from None
            table[: len(text), n] = row
            if end:
                table[len(text), n] = self.end
        return table, lengths

    def text(self, tokens: ArrayLike) -> str:
        """Return tokens (T,) as text, up to the first `end`; a `start` in it shows as "?"."""
        array = np.asarray(tokens)
        whole = array.dtype.kind in "iu" or not array.size
        if array.ndim != 1 or not whole or ((array < 0) | (array >= self.size)).any():
            raise ValueError(f"Alphabet.text: tokens must be integers in 0..{self.size - 1}, (T,); got {tokens!r:.60}.")
        found: list[int] = array.tolist()
        if self.end in found:
            found = found[: found.index(self.end)]
        return "".join("?" if t == self.start else self.characters[t] for t in found)


#: The characters of written dates. A test checks that they are exactly those that occur.
WRITTEN = Alphabet(" ,./0123456789ADFJMNOSTWabcdefghijklmnoprstuvwyzáäéû一三二五六四土年日星曜月期木水火金")
#: The characters of ISO dates.
ISO = Alphabet("-0123456789")
#: The same with a semicolon, for lists of dates.
LISTED_WRITTEN, LISTED_ISO = Alphabet(WRITTEN.characters + ";"), Alphabet(ISO.characters + ";")


class Dates(NamedTuple):
    """Pairs, each a date written in two ways."""

    texts: list[str]  # as people write it
    iso: list[str]  # 2026-03-07
    language: Array  # (N,): 0..5, in the order of LANGUAGES
    form: Array  # (N,): 0..2, in the order of FORMATS


class Batch(NamedTuple):
    """Tokens, time first, and how many of them are real."""

    source: Array  # (S, N)
    source_lengths: Array  # (N,)
    target: Array  # (T, N), the end token included
    target_lengths: Array  # (N,)


def write(day: date, language: str, form: str) -> str:
    """Write a day as the CLDR does for a language: ``write(date(2026, 3, 7), "fr", "long")`` is 7 mars 2026.

    Raises
    ------
    ImportError
        If Babel is not installed.
    ValueError
        If language or form is unknown, or the installed Babel writes dates in another way.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.tasks.dates import write
    >>> write(date(2026, 3, 7), "fr", "long")
    '7 mars 2026'
    """
    check_instance("write", "day", day, date)
    if not isinstance(language, str) or language not in LANGUAGES or not isinstance(form, str) or form not in FORMATS:
        raise ValueError(f"write: language must be one of {LANGUAGES}, form of {FORMATS}; got {language!r}, {form!r}.")
    return _write(_locales(), day, LANGUAGES.index(language), FORMATS.index(form))


def split_days(test: int = 2000, seed: int = 0) -> tuple[Array, Array]:
    """Split the days from 1950 to 2049 at random, into training days and `test` days, as `date.toordinal` numbers.

    Examples
    --------
    >>> from gru_book.tasks.dates import split_days
    >>> train, test = split_days()
    >>> len(train), len(test), len(set(train) & set(test))
    (34525, 2000, 0)
    """
    test = check_int("split_days", "test", test)
    if test >= LAST - FIRST + 1:
        raise ValueError(f"split_days: test must leave days to train on, of {LAST - FIRST + 1}; got {test}.")
    days = np.random.default_rng(check_int("split_days", "seed", seed, minimum=0)).permutation(LAST - FIRST + 1) + FIRST
    return days[test:], days[:test]


def pair_count(days: ArrayLike) -> int:
    """Return how many pairs the days have: 18 each.

    Examples
    --------
    >>> from gru_book.tasks.dates import pair_count
    >>> pair_count([739682])  # one day: 6 languages, 3 forms
    18
    """
    return plain("pair_count", "days", days).size * len(LANGUAGES) * len(FORMATS)


def pairs(days: ArrayLike, numbers: ArrayLike | None = None) -> Dates:
    """Return the pairs of the days: all of them, or those with the given numbers, 0 … pair_count(days) − 1.

    Pair 18·d + 3·l + f is day d in language l and format f. Raises what `write` raises.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.tasks.dates import pairs
    >>> found = pairs([date(2026, 3, 7).toordinal()])
    >>> found.texts[1:6:3], found.iso[0]
    (['March 7, 2026', '7. März 2026'], '2026-03-07')
    """
    days, locales = plain("pairs", "days", days), _locales()
    if days.dtype.kind not in "iu" or days.ndim != 1 or not days.size or days.min() < FIRST or days.max() > LAST:
        raise ValueError(f"pairs: days must be integers (n,) in {FIRST}..{LAST}, 1950 to 2049; got {days!r}.")
    numbers = np.arange(pair_count(days)) if numbers is None else plain("pairs", "numbers", numbers)
    if (
        numbers.dtype.kind not in "iu"
        or numbers.ndim != 1
        or (numbers < 0).any()
        or (numbers >= pair_count(days)).any()
    ):
        raise ValueError(f"pairs: numbers must be integers (n,) in 0..{pair_count(days) - 1}; got {numbers!r}.")
    d, language, form = np.unravel_index(numbers, (len(days), len(LANGUAGES), len(FORMATS)))
    when = [date.fromordinal(day) for day in days[d].tolist()]
    texts = [_write(locales, *what) for what in zip(when, language.tolist(), form.tolist(), strict=True)]
    return Dates(texts, [day.isoformat() for day in when], language, form)


def encode(found: Dates, *, reverse: bool = True) -> Batch:
    """Return pairs as tokens: the source is the written form, reversed if `reverse`; the target is the ISO form.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.tasks.dates import ISO, WRITTEN, encode, pairs
    >>> batch = encode(pairs([date(2026, 3, 7).toordinal()]))
    >>> WRITTEN.text(batch.source[:11, 0]), ISO.text(batch.target[:, 0])
    ('6202 ,7 raM', '2026-03-07')
    """
    check_bool("encode", "reverse", reverse)
    _check("encode", found)
    return Batch(*WRITTEN.tokens(found.texts, reverse=reverse), *ISO.tokens(found.iso, end=True))


def flip(found: Dates) -> Batch:
    """Return pairs as tokens the other way round: ISO is the source, the written form is the target.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.tasks.dates import ISO, WRITTEN, flip, pairs
    >>> batch = flip(pairs([date(2026, 3, 7).toordinal()]))
    >>> ISO.text(batch.source[:, 0]), WRITTEN.text(batch.target[:, 0])
    ('2026-03-07', 'Mar 7, 2026')
    """
    _check("flip", found)
    return Batch(*ISO.tokens(found.iso), *WRITTEN.tokens(found.texts, end=True))


def _check(where: str, found: Any) -> None:
    check_instance(where, "found", found, Dates)
    for name in ("texts", "iso"):
        texts = getattr(found, name)
        if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{where}: found.{name} must be texts, one or more; got {type(texts).__name__}.")
    if len(found.texts) != len(found.iso):
        raise ValueError(f"{where}: found must hold as many texts as ISO dates; got other counts.")


def listed(found: Dates, counts: ArrayLike) -> Batch:
    """Return the dates as lists, `counts` of them in each, as tokens: 7 mars 2026; May 1 … -> 2026-03-07;1999-05-01.

    The alphabets are `LISTED_WRITTEN` and `LISTED_ISO`.

    Examples
    --------
    >>> from datetime import date
    >>> from gru_book.tasks.dates import LISTED_ISO, listed, pairs
    >>> found = pairs([date(2026, 3, 7).toordinal()], [0, 1])
    >>> LISTED_ISO.text(listed(found, [2]).target[:, 0])
    '2026-03-07;2026-03-07'
    """
    _check("listed", found)
    counts = plain("listed", "counts", counts)
    if counts.dtype.kind not in "iu" or counts.ndim != 1 or (counts < 1).any() or counts.sum() != len(found.texts):
        raise ValueError(
            f"listed: counts must be integers from 1 that sum to the dates, {len(found.texts)}; got {counts!r}."
        )
    ends = np.cumsum(counts).tolist()
    parts = [slice(end - count, end) for end, count in zip(ends, counts.tolist(), strict=True)]
    sources = LISTED_WRITTEN.tokens(["; ".join(found.texts[part]) for part in parts])
    return Batch(*sources, *LISTED_ISO.tokens([";".join(found.iso[part]) for part in parts], end=True))


def batches(
    rng: np.random.Generator, days: ArrayLike, N: int, *, size: int | None = None, reverse: bool = True
) -> Iterator[Batch]:
    """Yield batches of N pairs forever, drawn from all pairs of the days, or from `size` of them drawn at the start.

    Examples
    --------
    >>> from gru_book.tasks.dates import batches, split_days
    >>> rng, (train, test) = np.random.default_rng(0), split_days()
    >>> batch = next(batches(rng, train, N=4))
    >>> batch.target.shape  # ten characters and the end
    (11, 4)
    """
    check_instance("batches", "rng", rng, np.random.Generator)
    check_bool("batches", "reverse", reverse)
    days = as_integers("batches", "days", days, FIRST, LAST)
    if days.ndim != 1 or not days.size:
        raise ValueError(f"batches: days must be integers (n,), one or more; got shape {days.shape}.")
    N, count = check_int("batches", "N", N), pair_count(days)
    if size is not None and check_int("batches", "size", size) > count:
        raise ValueError(f"batches: size must be at most {count}, the pairs of the days; got {size}.")

    def endless() -> Iterator[Batch]:
        chosen = None if size is None else rng.choice(count, size, replace=False)
        while True:
            numbers = rng.integers(0, count if chosen is None else size, N)
            yield encode(pairs(days, numbers if chosen is None else chosen[numbers]), reverse=reverse)

    return endless()


# ------------------------------------------------------------------------------------------------ Babel's words


class _Locale(NamedTuple):
    templates: tuple[str, ...]  # one for each format: "%(d)s %(MMMM)s %(y)s"
    months: tuple[tuple[str, str], ...]  # abbreviated, wide
    weekdays: tuple[str, ...]  # from Monday


def _write(locales: tuple[_Locale, ...], day: date, language: int, form: int) -> str:
    locale = locales[language]
    short, wide = locale.months[day.month - 1]
    return locale.templates[form] % {
        "y": day.year,
        "M": day.month,
        "MM": f"{day.month:02}",
        "MMM": short,
        "MMMM": wide,
        "d": day.day,
        "dd": f"{day.day:02}",
        "EEEE": locale.weekdays[day.weekday()],
    }


@cache
def _locales() -> tuple[_Locale, ...]:
    """The words and templates of every language, after checking that they are those the book was made with."""
    from babel import __version__
    from babel.dates import get_date_format, get_day_names, get_month_names, parse_pattern

    def locale(name: str) -> _Locale:
        short, wide = (get_month_names(width, locale=name) for width in ("abbreviated", "wide"))
        weekdays = get_day_names("wide", locale=name)
        return _Locale(
            tuple(str(parse_pattern(get_date_format(form, name).pattern).format) for form in FORMATS),
            tuple((short[month], wide[month]) for month in range(1, 13)),
            tuple(weekdays[day] for day in range(7)),
        )

    found = tuple(locale("en_US" if language == "en" else language) for language in LANGUAGES)
    try:
        lines = [_write(found, date.fromordinal(day), *form) for day, form in _year_2000()]
    except KeyError:  # a field of the calendar that no format had
        lines = []
    if hashlib.sha256("\n".join(lines).encode()).hexdigest() != _FINGERPRINT:
        raise ValueError(
            "gru_book.tasks.dates: Babel must write dates as versions 2.12 to 2.18 do; the one installed, "
            f"{__version__}, writes some in another way, and results would not be those of the book."
        )
    return found


def _year_2000() -> Iterator[tuple[int, tuple[int, int]]]:
    for day in range(date(2000, 1, 1).toordinal(), date(2001, 1, 1).toordinal()):
        for form in np.ndindex(len(LANGUAGES), len(FORMATS)):
            yield day, form
