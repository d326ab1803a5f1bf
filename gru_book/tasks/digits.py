"""Handwritten digits as sequences: scikit-learn's 1797 images of 8 × 8 pixels, read row by row or pixel by pixel.

The images come with scikit-learn, so nothing is downloaded. They are the test part of the *optdigits* set of the UCI
repository, by 13 writers. The data does not say who wrote which, so the split made here does not keep writers apart.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib.checks import check_choice, check_instance

__all__ = ["CLASSES", "Digits", "Part", "as_sequence", "digits"]

Array = NDArray[Any]

#: How many classes there are: the digits.
CLASSES = 10
#: Sizes of the first two parts; the remaining images are the test part.
TRAIN, VALIDATION = 1000, 297

_SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


class Part(NamedTuple):
    """Images and their labels."""

    images: Array  # (M, 8, 8), in [0, 1]: rows from the top, pixels from the left
    labels: Array  # (M,), integers in 0..9


class Digits(NamedTuple):
    """The images in three parts."""

    train: Part  # 1000
    validation: Part  # 297
    test: Part  # 500


@cache
def digits() -> Digits:
    """Return scikit-learn's digits in three parts, after checking their fingerprint. The split is always the same.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    RuntimeError
        If its digits are not those that the book's numbers were measured on.

    Notes
    -----
    Chapter 20. Alpaydin & Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning Repository.

    Examples
    --------
    >>> from gru_book.tasks.digits import digits
    >>> [part.images.shape for part in digits()]
    [(1000, 8, 8), (297, 8, 8), (500, 8, 8)]
    """
    from sklearn.datasets import load_digits

    return _split(*load_digits(return_X_y=True))


def _split(pixels: Array, labels: Array) -> Digits:
    """Check the data and split it into three parts."""
    pixels, labels = np.asarray(pixels), np.asarray(labels)
    found = hashlib.sha256(pixels.astype(np.uint8).tobytes() + labels.astype(np.uint8).tobytes()).hexdigest()
    if found != _SHA256:
        raise RuntimeError(
            f"digits: scikit-learn's digits must have the fingerprint {_SHA256[:16]}…; got {found[:16]}… "
            f"of {len(pixels)} pictures. Another version of the data gives other numbers than the book's."
        )
    order = np.random.default_rng(0).permutation(len(pixels))
    images = pixels.reshape(-1, 8, 8) / 16
    parts = np.split(order, [TRAIN, TRAIN + VALIDATION])
    return Digits(*(Part(images[part], labels[part]) for part in parts))


def as_sequence(images: Array, by: str) -> Array:
    """Turn images (M, 8, 8) into sequences, time first: by "row" (8, M, 8), or by "pixel" (64, M, 1), row after row.

    Examples
    --------
    >>> from gru_book.tasks.digits import as_sequence
    >>> images = np.arange(64).reshape(1, 8, 8)
    >>> as_sequence(images, "row").shape, as_sequence(images, "pixel").shape
    ((8, 1, 8), (64, 1, 1))
    """
    check_choice("as_sequence", "by", by, ("row", "pixel"))
    check_instance("as_sequence", "images", images, np.ndarray)
    if images.ndim != 3 or images.shape[1:] != (8, 8):
        raise ValueError(f"as_sequence: images must have shape (M, 8, 8); got {images.shape}.")
    rows = images.transpose(1, 0, 2)  # (8, M, 8)
    return rows if by == "row" else images.reshape(len(images), 64).T[:, :, None]
