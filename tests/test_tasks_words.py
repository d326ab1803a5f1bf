"""Words of twelve languages: what Babel says, checked against the manifest, split by beginnings, and as tokens."""

from __future__ import annotations

import base64
import json
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from babel import Locale
from helpers import refused, rng

from gru_book.tasks import words as module
from gru_book.tasks.words import (
    LANGUAGES,
    LETTERS,
    NAMES,
    WordsWarning,
    anagrams,
    batches,
    either_way,
    encode,
    order_blind,
    pairs_of,
    split,
    stem,
    vocabulary,
    word_hash,
    words,
)

MANIFEST = json.loads(Path(module.__file__).with_suffix(".json").read_text("utf8"))


@pytest.fixture(scope="module")
def parts():
    return words()


def found():
    """Every word that this Babel has."""
    return {k: module.words_of(Locale(k)._data, k) for k in LANGUAGES}


def test_vocabulary_is_what_babel_has_of_the_words_that_its_versions_share():
    there = found()
    assert list(vocabulary()) == list(LANGUAGES) and len(NAMES) == len(LANGUAGES)
    for language, known in vocabulary().items():
        assert set(known) <= set(there[language]) and list(known) == sorted(set(known))
        assert len(known) > 0.97 * len(there[language])
    assert {"itävalta", "päivää"} <= set(vocabulary()["fi"]) and "ıslanda" not in vocabulary()["tr"]
    assert "izlanda" in vocabulary()["tr"] and "i̇zlanda" not in vocabulary()["tr"]


def test_letters_are_exactly_those_of_the_vocabulary_and_a_space():
    assert LETTERS.characters == " " + "".join(sorted({c for word, _ in pairs_of() for c in word}))


def test_a_babel_with_more_words_gives_the_same_vocabulary():
    more = {k: sorted([*ws, "zzyzxq", "brandnew"]) for k, ws in found().items()}
    assert module._listed(more, MANIFEST, "3.0") == vocabulary()


def test_a_babel_that_lacks_a_few_words_is_warned_about_and_runs():
    fewer = found()
    fewer["fi"].remove("itävalta")
    with pytest.warns(WordsWarning, match=r"expected the \d+ words that Babel 2\.16\.0, .*; version 3\.0 lacks 1 of"):
        known = module._listed(fewer, MANIFEST, "3.0")
    assert "itävalta" not in known["fi"] and known["de"] == vocabulary()["de"]


def test_a_babel_with_another_vocabulary_is_refused():
    other = {k: ws[: len(ws) // 2] for k, ws in found().items()}
    with pytest.raises(RuntimeError, match=r"must hold most of the \d+ words .* version 3\.0 lacks \d+ of them"):
        module._listed(other, MANIFEST, "3.0")


def test_a_manifest_that_does_not_belong_to_the_code_is_refused():
    with pytest.raises(RuntimeError, match=r"fingerprint 00…; got [0-9a-f]{16}…"):
        module._listed(found(), MANIFEST | {"sha256": "00"}, "2.18.0")


def test_the_manifest_lists_three_bytes_for_each_word():
    for language, known in vocabulary().items():
        raw = base64.b64decode(MANIFEST["words"][language])
        assert Counter(word_hash(language, w) for w in known) == Counter(raw[i : i + 3] for i in range(0, len(raw), 3))


def test_a_stem_is_three_letters_without_accents():
    assert [*map(stem, ("länsi", "łotwa", "ıslak", "øst", "él"))] == ["lan", "lot", "isl", "ost", "el"]


def test_no_stem_is_in_two_parts_and_only_training_has_shared_words(parts):
    stems = [{stem(word) for word, _ in part} for part in parts]
    assert not (stems[0] & stems[1] or stems[0] & stems[2] or stems[1] & stems[2])
    count = Counter(word for word, _ in pairs_of())
    assert all(count[word] == 1 for part in parts[1:] for word, _ in part)
    missing = set(pairs_of()) - {pair for part in parts for pair in part}
    assert all(count[word] > 1 for word, _ in missing)
    assert [len(part) / len(pairs_of()) for part in parts] == pytest.approx([0.7, 0.06, 0.12], abs=0.04)
    assert words() == parts != words(seed=1)


def test_some_languages_are_numbered_as_they_are_asked_for():
    pairs = {pair for part in words(("tr", "en")) for pair in part}
    assert {k for _, k in pairs} == {0, 1} and all(word in vocabulary()[("tr", "en")[k]] for word, k in pairs)


def test_anagrams_have_a_partner_of_another_language_and_no_stem_in_training(parts):
    train, validation, test = anagrams()
    languages = Counter(bag for bag, _ in {("".join(sorted(word)), k) for word, k in test})
    assert min(languages.values()) >= 2 and {"avril", "abril"} <= {word for word, _ in test}
    assert not {stem(w) for w, _ in test} & {stem(w) for w, _ in train}
    assert order_blind(test) <= 0.5 and validation == []


def test_forwards_or_backwards_is_one_half_without_the_order(parts):
    both = either_way(parts)
    for part in both:
        assert order_blind(part) == 0.5
        assert all(part[i + 1] == (part[i][0][::-1], 1) and part[i][1] == 0 for i in range(0, len(part), 2))


def test_a_batch_gives_the_words_back_with_an_end():
    batch = encode([("itävalta", 7), ("ab", 0)])
    assert [LETTERS.text(row) for row in batch.tokens.T] == ["itävalta", "ab"]
    assert [*batch.lengths, *batch.ys] == [9, 3, 7, 0]
    assert batch.tokens[8, 0] == batch.tokens[2, 1] == LETTERS.end


def test_batches_hold_ends_of_training_words_of_similar_length_and_come_again(parts):
    source = batches(rng(), parts.train, 32)
    known, words = {(word[cut:], k) for word, k in parts.train for cut in range(6)}, set(parts.train)
    drawn = [*islice(source, 30)]
    read = [pair for b in drawn for pair in zip(map(LETTERS.text, b.tokens.T), b.ys.tolist(), strict=True)]
    assert known.issuperset(read)
    assert all(len(pair[0]) >= 4 or pair in words for pair in read)  # what is cut keeps four
    assert 0.4 < np.mean([pair in words for pair in read]) < 0.75
    assert np.mean([np.ptp(b.lengths) for b in drawn]) < 7
    np.testing.assert_array_equal(drawn[0].tokens, next(batches(rng(), parts.train, 32)).tokens)


def test_without_cuts_every_word_is_whole_and_an_epoch_has_each_at_most_once(parts):
    some, drawn = parts.train[:320], Counter()
    for b in islice(batches(rng(), some, 32, cut=0), 10):
        drawn.update(zip(map(LETTERS.text, b.tokens.T), b.ys.tolist(), strict=True))
    assert drawn == Counter(some)


def test_endings_are_the_places_where_a_run_of_letters_is_complete():
    pairs = [("batat", 0), ("at", 1), ("xyz", 2)]
    found = module.endings(pairs, "at")
    assert found.shape == encode(pairs).tokens.shape
    assert [np.flatnonzero(column).tolist() for column in found.T] == [[2, 4], [1], []]


def test_a_wrong_argument_is_named():
    refused(ValueError, "languages must be two or more of en, de, ", words, ("en", "ru"))
    refused(ValueError, "languages must be two or more of", words, ("en", "en"))
    refused(ValueError, "batches: pairs must be at least N = 2; got 1", batches, rng(), [("ab", 0)], 2)
    refused(ValueError, "written in the alphabet; got 'жку'", encode, [("жук", 0)])


def test_a_split_of_other_pairs_follows_the_same_rule():
    parts = split([("abc", 0), ("ábcd", 1), ("xyz", 0), ("xyz", 1)])
    assert len({name for name, part in zip("tve", parts, strict=True) for w, _ in part if stem(w) == "abc"}) == 1
