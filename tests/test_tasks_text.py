"""The English text: which it is, that its parts share nothing, and what happens on another Python."""

import json
import re
import warnings

import numpy as np
import pytest

from gru_book.tasks import text
from gru_book.tasks.text import UNKNOWN, Text, TextWarning, english, paragraph_hash, paragraphs, streams

MANIFEST = json.loads(text._MANIFEST.read_text("utf8"))


def topics():
    from pydoc_data.topics import topics

    return topics


def test_the_text_is_the_one_that_the_numbers_of_the_book_were_measured_on():
    """On a version of Python that lacks some paragraphs this fails, and with it every stored number of chapter 16."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = text._assemble(topics(), MANIFEST)
    assert found.missing == 0
    assert (len(found.train), len(found.validation), len(found.test)) == (204_591, 33_018, 37_183)
    assert found == english()


def test_no_long_paragraph_stands_twice_and_no_topic_in_two_parts():
    parts = [english().train, english().validation, english().test]
    long = [p for part in parts for p in paragraphs(part) if len(p) >= 60]
    assert len(long) == len(set(long)) > 1000
    names = [name for part in ("train", "validation", "test") for name in MANIFEST[part]]
    assert len(names) == len(set(names)) == 57
    assert set(names) <= set(topics())


def test_the_help_topics_themselves_do_share_long_paragraphs():
    """Why the manifest drops them."""
    long = [p for topic in topics().values() for p in paragraphs(topic) if len(p) >= 60]
    assert sum(map(len, long)) > 1.15 * sum(map(len, set(long)))


def test_no_two_paragraphs_of_the_help_have_the_same_hash():
    parts = {p for topic in topics().values() for p in paragraphs(topic)}
    assert len({paragraph_hash(p) for p in parts}) == len(parts) > 2000


def test_a_python_that_lacks_a_few_paragraphs_is_warned_about_and_runs():
    changed = dict(topics())
    changed["assert"] = changed["assert"].replace("Assert statements are a convenient way", "They are a way")
    with pytest.warns(TextWarning, match=r"expected the \d+ paragraphs that Python 3\.11\.7, .* lacks 1 of them"):
        found = text._assemble(changed, MANIFEST)
    assert found.missing == 1
    assert "convenient way" in english().validation and "convenient way" not in found.validation
    assert found.train == english().train


def test_a_python_whose_help_is_another_text_is_refused():
    with pytest.raises(RuntimeError, match=r"must hold most of the \d+ paragraphs .* lacks \d+ of them"):
        text._assemble({"assert": topics()["assert"]}, MANIFEST)


def test_a_manifest_that_does_not_belong_to_the_code_is_refused():
    with pytest.raises(RuntimeError, match=r"fingerprint 00…; got [0-9a-f]{16}…"):
        text._assemble(topics(), MANIFEST | {"sha256": "00"})


def test_a_python_without_help_texts_is_told_what_is_missing(monkeypatch):
    english.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "pydoc_data.topics", None)
    with pytest.raises(RuntimeError, match=r"pydoc_data\.topics of Python's standard library must be there"):
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


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: streams([1, 2], 2), ValueError, "streams: tokens must be at least N + 1 = 3; got 2"),
        (lambda: streams([[1, 2]], 1), TypeError, "streams: tokens must be a row of integers"),
        (lambda: streams([1.0, 2.0], 1), TypeError, "streams: tokens must be a row of integers; got float64"),
        (lambda: english().encode(b"a"), TypeError, "Text.encode: text must be a str; got bytes"),
        (lambda: english().decode([10_000]), ValueError, "Text.decode: tokens must lie in 0.."),
        (lambda: english().decode([0.5]), TypeError, "Text.decode: tokens must be a row of integers; got float64"),
    ],
)
def test_a_wrong_argument_is_named(call, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        call()
