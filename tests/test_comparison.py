"""Chapter 20's networks and tasks: what is counted, and what a training may see."""

import numpy as np

from gru_book.models import comparison


def test_parameters_are_counted_as_the_library_has_them():
    for cell in comparison.CELLS:
        m = comparison.network(np.random.default_rng(0), cell, 3, 2, 5)
        assert m.size == comparison.count(cell, 3, 2, 5) and m.flat.dtype == np.float32
