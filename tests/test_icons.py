"""tools/icons.py: the stored pictures are what it draws."""

from __future__ import annotations

import icons
import numpy as np
import pytest
from PIL import Image


@pytest.mark.parametrize("name", ["favicon.ico", "apple-touch-icon.png", "card.png"])
def test_stored_picture_is_drawn_from_the_mark(name: str) -> None:
    drawn = np.asarray(icons.icons()[name].convert("RGBA"), int)
    with Image.open(icons.STATIC / name) as picture:
        stored = np.asarray(picture.convert("RGBA"), int)
    assert stored.shape == drawn.shape
    assert np.abs(stored - drawn).max() <= 8  # the card has 64 colours


def test_mark_is_two_plates_and_what_comes_through() -> None:
    ink = np.asarray(icons.mark(32))[:, :, 3]
    plates, before, after = ink[:, 15], ink[:, 3], ink[:, 28]
    assert (plates == 255).sum() == 24
    assert ((before > 0).sum(), (after > 0).sum()) == (16, 8)
