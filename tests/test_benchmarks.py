"""What is timed side by side must be the same computation."""

import numpy as np
import pytest

from benchmarks.contenders import CONTENDERS, Case
from benchmarks.tricks import TRICKS, copy

CASE = Case(5, 3, 4, 6)
TORCH, JAX, ONNX = (pytest.mark.frameworks(name) for name in ("torch", "jax", "onnxruntime"))


@pytest.mark.parametrize(("name", "cell"), [
    *(pytest.param("torch.nn", cell, marks=TORCH) for cell in ("gru", "lstm", "elman")),
    *(pytest.param("onnxruntime", cell, marks=ONNX) for cell in ("gru", "lstm", "elman")),
    pytest.param("torch loop", "gru", marks=TORCH),
    pytest.param("jax.jit scan", "gru", marks=JAX),
    ("plain NumPy", "gru"),
])  # fmt: skip
def test_contenders_compute_the_same_numbers(name, cell):
    other = CONTENDERS[name](cell, CASE, "float32")
    ours = CONTENDERS["gru_lib"](cell, CASE, "float32")
    np.testing.assert_allclose(np.asarray(other.forward()), ours.forward(), atol=1e-6)
    if other.train is not None:
        for mine, theirs in zip(ours.train(), other.train(), strict=True):
            theirs = theirs.detach().numpy() if hasattr(theirs, "detach") else np.asarray(theirs)
            np.testing.assert_allclose(theirs, mine, atol=1e-5)


@pytest.mark.parametrize("trick", TRICKS)
def test_what_undoes_a_trick_is_found_in_the_library(trick, tmp_path):
    copy(tmp_path, TRICKS[trick])
