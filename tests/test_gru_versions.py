"""The versions of chapter 11: from the equations to the library, one training step."""

import numpy as np
import pytest
from helpers import close

from gru_book.models.gru_versions import VERSIONS, library, problem


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize("size", [(1, 1, 1, 1), (5, 3, 4, 6), (40, 20, 3, 5)])
def test_every_version_is_the_same_training_step(name, size):
    xs, dhs, p = problem(size, np.float64)
    hs, dxs, grads = library(xs, dhs, p)
    found = VERSIONS[name](xs, dhs, p)
    close(found, (hs, dxs, grads), rtol=1e-11, atol=1e-12)
