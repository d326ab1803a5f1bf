"""scikit-learn's digits: the right data, always the same split, and sequences that are the pictures."""

import sys

import numpy as np
import pytest

from gru_book.tasks.digits import as_sequence, digits


def load_digits():
    """scikit-learn's own, which takes a second to import."""
    from sklearn import datasets

    return datasets.load_digits(return_X_y=True)


def test_parts_hold_every_picture_once():
    parts = digits()
    assert [len(part.labels) for part in parts] == [1000, 297, 500]
    assert all(
        0.06 < share < 0.14 for part in parts for share in np.bincount(part.labels, minlength=10) / len(part.labels)
    )
    images = np.concatenate([part.images for part in parts])
    assert images.shape == (1797, 8, 8) and images.min() == 0 and images.max() == 1
    pixels, labels = load_digits()
    labels_here = np.concatenate([part.labels for part in parts])
    ours = sorted(zip(map(bytes, (images * 16).astype(np.uint8)), labels_here.tolist(), strict=True))
    theirs = sorted(zip(map(bytes, pixels.astype(np.uint8)), labels.tolist(), strict=True))
    assert ours == theirs


def test_sequences_are_the_pictures_row_by_row_and_pixel_by_pixel():
    images = digits().train.images[:5]
    np.testing.assert_array_equal(as_sequence(images, "row"), images.swapaxes(0, 1))
    np.testing.assert_array_equal(as_sequence(images, "pixel"), images.reshape(5, 64, 1).swapaxes(0, 1))


def test_other_data_are_refused():
    module = sys.modules["gru_book.tasks.digits"]
    pixels, labels = load_digits()
    pixels = pixels.copy()
    pixels[3, 5] += 1
    with pytest.raises(RuntimeError, match=r"must have the fingerprint 87ff0c9e40dc7e2c…; got .* of 1797 pictures"):
        module._split(pixels, labels)
