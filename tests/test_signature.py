"""A tape knows the parameters it was made with. What holds for every cell: test_cell.py."""

import numpy as np
import pytest

from gru_lib import Params, gru_init
from gru_lib.signature import check_signature, sign


def test_a_parameter_that_is_nan_is_the_same_parameter():
    p = gru_init(np.random.default_rng(0), 2, 3)
    p.b[:] = np.nan
    check_signature("test", sign("test", p), p)


def test_parameters_made_afresh_are_compared_by_what_they_are():
    """The names of parts are no part of it."""
    shapes, options = {"W": (2, 3)}, {"D": 2, "K": 3}
    p, same = (Params(shapes, parts=parts, options=options) for parts in ({}, {"W_1": ("W", np.s_[:1])}))
    made = sign("test", p)
    check_signature("test", made, same)
    with pytest.raises(ValueError, match=r"test: p must have W.shape = \(2, 3\) as when .*; got \(3, 2\)"):
        check_signature("test", made, Params({"W": (3, 2)}, options=options))
    with pytest.raises(ValueError, match=r"test: p must have K = 3 as when test made the tape; got None"):
        check_signature("test", made, Params(shapes, options={"D": 2}))
    with pytest.raises(ValueError, match=r"test: p must have dtype = 'float64' as when .*; got 'float32'"):
        check_signature("test", made, same.astype(np.float32))
