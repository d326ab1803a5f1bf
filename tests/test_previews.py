"""The stored previews are what the explorers draw; ``python tools/previews.py`` draws them anew."""

import re

import previews
import pytest

from gru_book.widgets._modules import PREVIEWS

WANTED = {explorer.preview(): explorer for explorer in previews.wanted()}
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def studio(browser):
    with previews.studio(browser) as page:
        yield page


def unlike(stored, drawn):
    """The first line of two pictures that differs, or "". A number may differ by one in its last place.

    Browsers may differ in the last bit of an exponential; a coordinate has two decimals, or fewer if they are zeros.
    """
    pairs = list(zip(stored.split("\n"), drawn.split("\n"), strict=False))
    for old, new in pairs:
        numbers = [[n.replace("−", "-") for n in NUMBER.findall(line)] for line in (old, new)]
        if NUMBER.sub("#", old) != NUMBER.sub("#", new) or any(_differ(a, b) for a, b in zip(*numbers, strict=True)):
            return f"{old}\n{new}"
    return "" if stored.count("\n") == drawn.count("\n") else "one has more lines"


def _differ(a, b):
    decimals = max(len(n.partition(".")[2]) for n in (a, b))
    return a != b and (decimals == 0 or abs(float(a) - float(b)) > 1.01 * 10**-decimals)


@pytest.mark.parametrize("file", WANTED)
def test_stored_preview_is_what_the_explorer_draws(studio, file):
    stored = (PREVIEWS / file).read_text("utf-8")
    assert unlike(stored, previews.draw(studio, WANTED[file])) == "", "run `python tools/previews.py`"


def test_no_preview_is_stored_that_nothing_shows():
    assert {path.name for path in PREVIEWS.iterdir()} == set(WANTED)
