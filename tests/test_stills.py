"""The stored still pictures are what the explorers draw; ``python tools/stills.py`` draws them anew."""

import re

import pytest
import stills

from gru_book.widgets._modules import STILLS

WANTED = {explorer.still(): explorer for explorer in stills.wanted()}
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def studio(browser):
    with stills.studio(browser) as page:
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
def test_stored_still_is_what_the_explorer_draws(studio, file):
    stored = (STILLS / file).read_text("utf-8")
    assert unlike(stored, stills.draw(studio, WANTED[file])) == "", "run `python tools/stills.py`"


def test_no_still_is_stored_that_nothing_shows():
    assert {path.name for path in STILLS.iterdir()} == set(WANTED)
