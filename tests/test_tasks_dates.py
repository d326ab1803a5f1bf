"""Dates as people write them: what Babel says, split by days, and as tokens."""

from datetime import date

import numpy as np
import pytest
from babel.dates import format_date
from helpers import refused

from gru_book.tasks import dates
from gru_book.tasks.dates import (
    FIRST,
    FORMATS,
    ISO,
    LANGUAGES,
    LAST,
    LISTED_ISO,
    LISTED_WRITTEN,
    WRITTEN,
    Alphabet,
    batches,
    encode,
    flip,
    listed,
    pair_count,
    pairs,
    split_days,
    write,
)


@pytest.fixture
def fresh():
    """Babel's words are read anew before, and after."""
    dates._locales.cache_clear()
    yield
    dates._locales.cache_clear()


def test_pairs_are_what_babel_writes():
    days = np.random.default_rng(0).integers(FIRST, LAST + 1, 60)
    found = pairs(days)
    assert len(found.texts) == pair_count(days) == 1080
    for n in range(1080):
        day, language, form = date.fromordinal(int(days[n // 18])), LANGUAGES[n // 3 % 6], FORMATS[n % 3]
        locale = "en_US" if language == "en" else language
        assert found.texts[n] == format_date(day, form, locale) == write(day, language, form)
        assert found.iso[n] == day.isoformat()
        assert (LANGUAGES[found.language[n]], FORMATS[found.form[n]]) == (language, form)


def test_of_a_leap_year_each_text_means_one_day_names_its_year_and_the_alphabet_is_what_occurs():
    """So no text of a test day is one of a training day, of whatever years."""
    found = pairs(np.arange(date(2000, 1, 1).toordinal(), date(2001, 1, 1).toordinal()))
    assert len({*zip(found.texts, found.iso, strict=True)}) == len({*found.texts})
    assert all("2000" in text for text in found.texts)
    assert "".join(sorted(set("".join(found.texts)))) == WRITTEN.characters


def test_days_are_split_whole():
    train, test = split_days(2000, seed=1)
    assert len(test) == 2000 and set(train) | set(test) == set(range(FIRST, LAST + 1))
    assert not set(train) & set(test)
    assert set(split_days(2000, seed=2)[1]) != set(test)
    np.testing.assert_array_equal(split_days(2000, seed=1)[1], test)


def test_numbers_choose_pairs():
    days = split_days(50)[1]
    every, numbers = pairs(days), np.array([899, 0, 17, 17])
    some = pairs(days, numbers)
    assert some.texts == [every.texts[n] for n in numbers] and some.iso == [every.iso[n] for n in numbers]


@pytest.mark.parametrize("reverse", [True, False])
def test_tokens_give_the_text_back(reverse):
    found = pairs(split_days(60)[1])
    batch = encode(found, reverse=reverse)
    assert batch.source.shape == (max(map(len, found.texts)), len(found.texts))
    assert batch.target.shape == (11, len(found.texts)) and (batch.target[-1] == ISO.end).all()
    for n, text in enumerate(found.texts):
        real = batch.source[: batch.source_lengths[n], n]
        assert WRITTEN.text(real[::-1] if reverse else real) == text
        assert ISO.text(batch.target[:, n]) == found.iso[n]


def test_flipped_pairs_are_read_as_iso_and_written_out():
    found = pairs(split_days(5)[1])
    batch = flip(found)
    assert batch.source.shape == (10, 90)
    assert [WRITTEN.text(row) for row in batch.target.T] == found.texts
    np.testing.assert_array_equal(batch.target_lengths, [len(text) + 1 for text in found.texts])


def test_batches_of_a_size_come_from_so_many_pairs():
    days = split_days(2000)[1]
    one, two = (batches(np.random.default_rng(0), days, 50, size=20) for _ in range(2))
    np.testing.assert_array_equal(next(one).source, next(two).source)
    drawn = [next(one) for _ in range(20)]
    seen = {WRITTEN.text(row[:n][::-1]) for b in drawn for row, n in zip(b.source.T, b.source_lengths, strict=True)}
    assert 15 <= len(seen) <= 20


def test_an_alphabet_has_two_tokens_more():
    assert (ISO.size, ISO.end, ISO.start) == (13, 11, 12)
    assert ISO.text([1, ISO.start, 2, ISO.end, 3]) == "0?1"


def test_a_babel_that_writes_otherwise_is_refused(fresh, monkeypatch):
    import babel.dates

    names = babel.dates.get_month_names
    monkeypatch.setattr(babel.dates, "get_month_names", lambda *a, **k: {**names(*a, **k), 3: "Lenzmond"})
    message = r"Babel must write dates as versions 2\.12 to 2\.18 do; the one installed"
    refused(ValueError, message, write, date(2026, 3, 7), "de", "long")
    dates._locales.cache_clear()
    monkeypatch.setattr(babel.dates, "get_month_names", names)
    monkeypatch.setattr(babel.dates, "get_date_format", lambda form, locale: babel.dates.parse_pattern("d MMM y G"))
    refused(ValueError, message, write, date(2026, 3, 7), "de", "long")


@pytest.mark.parametrize(("call", "message"), [
    (lambda: write(date(2026, 3, 7), "it", "long"), "language must be one of .*; got 'it', 'long'"),
    (lambda: pairs([5]), r"days must be integers \(n,\) in 711858..748382, 1950 to 2049"),
    (lambda: pairs([0.5]), "days must be integers"),
    (lambda: pairs([FIRST], [18]), r"numbers must be integers \(n,\) in 0..17; got"),
    (lambda: split_days(40_000), "test must leave days to train on, of 36525; got 40000"),
    (lambda: batches(np.random.default_rng(0), [FIRST], 4, size=19), "size must be at most 18"),
    (lambda: WRITTEN.tokens(["7 März", "7 Ω"]), "written in the alphabet; got 'Ω'"),
    (lambda: WRITTEN.tokens([""]), "one character or more"),
    (lambda: Alphabet("aba"), "each stand there once; got 'aba'"),
    (lambda: Alphabet(["a", "b"]), r"Alphabet: characters must be a str; got list\."),
    (lambda: ISO.tokens(["1", 3]), r"Alphabet\.tokens: texts must be a list of texts; got \['1', 3\]"),
    (lambda: ISO.text([-1]), r"Alphabet\.text: tokens must be integers in 0\.\.12, \(T,\); got \[-1\]"),
    (lambda: ISO.text([99]), r"tokens must be integers in 0\.\.12, \(T,\); got \[99\]"),
    (lambda: ISO.text([[1]]), r"tokens must be integers in 0\.\.12, \(T,\); got \[\[1\]\]"),
])  # fmt: skip
def test_bad_arguments_are_named(call, message):
    refused((TypeError, ValueError), message, call)


def test_an_empty_text_is_an_end_token():
    tokens, lengths = WRITTEN.tokens(["", "7"], end=True)
    np.testing.assert_array_equal(lengths, [1, 2])
    assert tokens[0, 0] == WRITTEN.end


def test_lists_hold_so_many_dates_in_both_forms():
    found = pairs(split_days(2)[1], [0, 4, 7, 20, 30, 33])
    batch, parts = listed(found, [1, 3, 2]), (slice(1), slice(1, 4), slice(4, 6))
    read = [LISTED_WRITTEN.text(row[:n]) for row, n in zip(batch.source.T, batch.source_lengths, strict=True)]
    assert read == ["; ".join(found.texts[part]) for part in parts]
    assert [LISTED_ISO.text(row) for row in batch.target.T] == [";".join(found.iso[part]) for part in parts]
    np.testing.assert_array_equal(batch.target_lengths, [11, 33, 22])


@pytest.mark.parametrize("wrong", [[3.0], [-1], [1, 2]])
def test_wrong_counts_of_a_list_are_named(wrong):
    found = pairs(split_days(1)[1], [0])
    refused(ValueError, "listed: counts must be integers from 1 that sum to the dates, 1; got", listed, found, wrong)
