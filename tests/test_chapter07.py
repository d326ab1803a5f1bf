"""Chapter 7: its stored trainings can be made again."""

import pytest
from helpers import result

from experiments import subtraction


def test_the_first_epochs_of_one_pair_at_a_time_made_anew_are_those_stored():
    again, stored = subtraction.aiedu(0, epochs=8), result(subtraction, "aiedu", 0)
    assert again["right"] == pytest.approx(stored["right"][:8], abs=2)  # rounding differs between machines
    assert again["0 - 0"] == stored["0 - 0"] == [0.5] * 4


@pytest.mark.parametrize("cell", subtraction.CELLS)
def test_a_split_made_anew_gives_what_is_stored(cell):
    again, stored = subtraction.split(34, cell, 0), result(subtraction, "split", 34, cell, 0)
    assert again["numbers"] == stored["numbers"] and again["seen"] == stored["seen"] == 1
    assert again["unseen"] == pytest.approx(stored["unseen"], abs=0.03)
