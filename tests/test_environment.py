"""tools/environment.py: which kernels a command gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import notebooks
import pytest

ROOT = Path(__file__).resolve().parents[1]
SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def variables(**given: str) -> dict[str, str]:
    """The environment of a command that tools/environment.py starts."""
    command = (sys.executable, "tools/environment.py", sys.executable, "-c", SHOW)
    outer = {k: v for k, v in os.environ.items() if k != "KERNELS"} | given
    run = subprocess.run(command, cwd=ROOT, env=outer, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_kernels_are_those_of_the_first_avx2_processors_unless_asked_otherwise() -> None:
    assert variables(OPENBLAS_CORETYPE="Zen")["OPENBLAS_CORETYPE"] == "Haswell"
    own = variables(KERNELS="own", OPENBLAS_CORETYPE="Haswell", NPY_DISABLE_CPU_FEATURES="FMA3")
    assert not {"OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES"} & set(own) and own["OPENBLAS_NUM_THREADS"] == "1"


def test_notebooks_are_executed_with_the_stored_kernels_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setenv("KERNELS", "own")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "")  # put back afterwards, as all that is set here
    monkeypatch.setattr(notebooks, "make", lambda *_, **__: seen.append(os.environ["OPENBLAS_CORETYPE"]) or "made")
    notebooks.main(["05"])
    assert len(seen) > 1 and set(seen) == {"Haswell"}  # chapter 5 and its companions
