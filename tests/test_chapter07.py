"""Chapter 7: its stored trainings can be made again."""

import numpy as np
import pytest
from helpers import result

from experiments import subtraction
from gru_lib import results


def test_the_first_epochs_of_one_pair_at_a_time_made_anew_are_those_stored():
    again, stored = subtraction.aiedu(0, epochs=8), result(subtraction, "aiedu", 0)
    assert again["right"] == pytest.approx(stored["right"][:8], abs=2)  # rounding differs between machines
    assert again["0 - 0"] == stored["0 - 0"] == [0.5] * 4


@pytest.mark.parametrize("cell", subtraction.CELLS)
def test_a_split_made_anew_gives_what_is_stored(cell):
    again, stored = subtraction.split(34, cell, 0), result(subtraction, "split", 34, cell, 0)
    assert again["numbers"] == stored["numbers"] and again["seen"] == stored["seen"] == 1
    assert again["unseen"] == pytest.approx(stored["unseen"], abs=0.03)


@pytest.mark.parametrize("kind", subtraction.NETS)
def test_a_net_made_anew_is_the_one_stored(kind):
    with np.load(results.path("subtraction_nets")) as nets:
        assert nets[kind].shape == (10, 401)
        np.testing.assert_allclose(subtraction.NETS[kind](3).flat, nets[kind][3], rtol=0, atol=1e-9)
