"""The number of BLAS threads changes no result beyond rounding, and a run with two threads repeats to the bit.

No OpenBLAS promises the same bits with one thread and with two: where it splits a long sum depends on the threads, the
kernels and the version. A product too small to be shared out has the same bits, and the library adds nothing to that.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import sys
import numpy as np
import gru_lib as g
rng = np.random.default_rng(0)
found = {}
for name in ("gru", "lstm", "elman"):
    for size, (T, N, D, H) in {"small": (6, 4, 3, 5), "large": (8, 200, 20, 96)}.items():
        p = getattr(g, name + "_init")(rng, D, H)
        xs, dhs = rng.normal(size=(T, N, D)), rng.normal(size=(T, N, H))
        hs, _, tape = getattr(g, name + "_forward")(xs, None, p)
        dxs, _, grads = getattr(g, name + "_backward")(dhs, None, tape, p)
        found |= {f"{size} {name} {what}": a for what, a in [("hs", hs), ("dxs", dxs), ("grads", grads.flat)]}
np.savez(sys.argv[1], **found)
"""
Results = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Results]:
    """The program's results with one thread, and twice with two."""
    found = {}
    for run, threads in {"one": "1", "two": "2", "two again": "2"}.items():
        file = tmp_path_factory.mktemp("threads") / "results.npz"
        env = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", PROGRAM, file], env=env, check=True)
        with np.load(file) as results:
            found[run] = dict(results)
    assert len(found["one"]) == 18
    return found


def test_two_threads_repeat_to_the_bit_and_differ_from_one_by_rounding_where_products_are_large(runs):
    for name, result in runs["one"].items():
        two = runs["two"][name]
        np.testing.assert_array_equal(runs["two again"][name], two, err_msg=name)
        most = 0 if name.startswith("small") else 1e-14 * np.abs(result).max()
        np.testing.assert_allclose(two, result, rtol=0, atol=most, err_msg=name)
