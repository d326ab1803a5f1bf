"""English text for a character language model: the help texts that ship with Python itself, `pydoc_data.topics`.

Nothing is downloaded. The help texts differ a little from one version of Python to the next, even between 3.11.2 and
3.11.7. So the text consists of the paragraphs that Python 3.11.2, 3.11.7, 3.12.1 and 3.13.0 share to the letter: on
those four it is the same, character by character, and so is every number computed from it. ``text.json`` beside this
file lists the paragraphs by their hashes; `tools/text_manifest.py` made it.

Some help topics contain others, word for word. A split with the part in training and the whole in validation would
measure memory of the training text. Here every paragraph of any length belongs to one topic only, and each topic to
one part of the split.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gru_lib.checks import check_instance, check_int, plain

__all__ = ["UNKNOWN", "Streams", "Text", "TextWarning", "english", "paragraphs", "streams"]

#: The character of token 0, which stands for every character outside the vocabulary.
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
#: A character that is rarer in training counts as unknown, so that training contains the unknown one too.
LEAST = 2
#: Share of the paragraphs that must be found; with fewer it would be another text.
ENOUGH = 0.8

_MANIFEST = Path(__file__).with_suffix(".json")


class TextWarning(UserWarning):
    """Python's help texts are not those that the book's numbers were measured on."""


@dataclass(frozen=True)
class Text:
    """A text in three parts, with its characters numbered.

    Attributes
    ----------
    train, validation, test : str
        No topic is in two of them.
    vocabulary : str
        The character of each token: `UNKNOWN`, then those that occur at least twice in training, sorted.
    missing : int
        Paragraphs that this version of Python lacks: 0 where the book's numbers hold.

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
    missing: int = 0
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
        return f"Text({parts} characters, V={self.V}, missing={self.missing})"


@cache
def english() -> Text:
    """Return the English text that ships with this Python, split by topics, after checking its fingerprint.

    Warns
    -----
    TextWarning
        If some paragraphs are missing: everything runs, and numbers differ a little from the book's.

    Raises
    ------
    RuntimeError
        If this Python has no help texts, or shares too little with the known ones.

    Notes
    -----
    Chapters 14, 16 and 20. The text is Python's documentation, © Python Software Foundation.

    Examples
    --------
    >>> from gru_book.tasks.text import english
    >>> text = english()
    >>> text.decode(text.encode("a gate"))
    'a gate'
    """
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError:
        raise RuntimeError(
            "english: the module pydoc_data.topics of Python's standard library must be there; it is not. "
            "Some slim builds leave it out."
        ) from None
    return _assemble(topics, json.loads(_MANIFEST.read_text("utf8")))


def paragraphs(topic: str) -> list[str]:
    """Split a topic at its empty lines.

    Examples
    --------
    >>> from gru_book.tasks.text import paragraphs
    >>> len(paragraphs("One.\\n\\nTwo,\\nstill two.\\n\\nThree."))
    3
    """
    check_instance("paragraphs", "topic", topic, str)
    return [part for part in re.split(r"\n[ \t]*\n", topic.strip("\n")) if part.strip()]


def paragraph_hash(paragraph: str) -> str:
    """Return eight hexadecimal digits that identify a paragraph."""
    return hashlib.blake2b(paragraph.encode("utf8"), digest_size=4).hexdigest()


def _assemble(topics: Mapping[str, str], manifest: Mapping[str, Any]) -> Text:
    """Join the paragraphs that the manifest lists, in its order."""
    found = {paragraph_hash(part): part for topic in topics.values() for part in paragraphs(topic)}
    parts, wanted, missing = {}, 0, 0
    for name in ("train", "validation", "test"):
        pieces = []
        for digits in manifest[name].values():
            hashes = re.findall(".{8}", digits)
            there = [found[h] for h in hashes if h in found]
            wanted, missing = wanted + len(hashes), missing + len(hashes) - len(there)
            if there:
                pieces.append("\n\n".join(there) + "\n\n\n")
        parts[name] = "".join(pieces)
    version = ".".join(map(str, sys.version_info[:3]))
    if missing > (1 - ENOUGH) * wanted:
        raise RuntimeError(
            f"english: pydoc_data.topics must hold most of the {wanted} paragraphs that Python "
            f"{', '.join(manifest['versions'])} share; Python {version} lacks {missing} of them."
        )
    fingerprint = hashlib.sha256("\0".join(parts.values()).encode("utf8")).hexdigest()
    if missing:
        warnings.warn(
            f"english: expected the {wanted} paragraphs that Python {', '.join(manifest['versions'])} share; "
            f"Python {version} lacks {missing} of them. Everything runs; numbers differ a little from the book's.",
            TextWarning,
            stacklevel=3,
        )
    elif fingerprint != manifest["sha256"]:
        raise RuntimeError(
            f"english: the text must have the fingerprint {manifest['sha256'][:16]}…; got {fingerprint[:16]}…. "
            "text.json and text.py do not belong together."
        )
    return Text(**parts, missing=missing)


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
