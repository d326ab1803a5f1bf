"""The rungs of chapter 11: from the equations to the library, one training step."""

import numpy as np
import pytest
from helpers import close

from gru_book.models.gru_rungs import RUNGS, library, problem


@pytest.mark.parametrize("name", RUNGS)
@pytest.mark.parametrize("size", [(1, 1, 1, 1), (5, 3, 4, 6), (40, 20, 3, 5)])
def test_every_rung_is_the_same_training_step(name, size):
    xs, dhs, p = problem(size, np.float64)
    hs, dxs, grads = library(xs, dhs, p)
    found = RUNGS[name](xs, dhs, p)
    close(found, (hs, dxs, grads), rtol=1e-11, atol=1e-12)
