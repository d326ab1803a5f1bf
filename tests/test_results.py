"""What the chapters load: found by name, whatever the folder, and an unknown name is answered with those there are."""

import os
import re

import numpy as np
import pytest

from gru_book import results


def test_results_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert results.load("dates")["cut"]
    with np.load(results.path("torch")) as arrays:
        assert "gru/xs" in arrays.files
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("find", "suffix"), [(results.load, ".json"), (results.path, ".npz")])
def test_an_unknown_name_is_answered_with_those_there_are(find, suffix):
    known = sorted(p.stem for p in results.FOLDER.iterdir() if p.suffix == suffix)
    assert len(known) > 3
    message = f"{find.__name__}: name must be one of {', '.join(map(repr, known))}; got 'nonsense'."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        find("nonsense")


@pytest.mark.parametrize("k", [0, 3, 10])
def test_wilsons_interval_holds_the_shares_that_a_score_test_at_five_per_cent_does_not_reject(k):
    n, shares = 10, np.linspace(1e-6, 1 - 1e-6, 100_001)
    kept = shares[np.abs(k - n * shares) <= 1.96 * np.sqrt(n * shares * (1 - shares))]
    np.testing.assert_allclose(results.wilson(k, n), (kept.min(), kept.max()), atol=2e-5)
