"""What the library can do without: whoever meets a missing package reads which extra brings it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAVE, GRU = "import gru_lib as g, numpy as np; g.save", "g.gru_init(np.random.default_rng(0), 1, 1)"

HISTORY = "from gru_lib.train import History; History"
DATE = "import datetime as d; from gru_book.tasks.dates import write; write(d.date(1, 1, 1), 'fr', 'long')"

# What a reader does, the module that is missing then, what the error says, and the extra it names.
MISSING = [
    ("import gru_book.widgets", "anywidget", "gru_book.widgets needs anywidget", "widgets"),
    ("from gru_lib import viz; viz.use_style()", "matplotlib", "gru_book.viz needs matplotlib", "viz"),
    ("from gru_book.tasks.digits import digits; digits()", "sklearn", "digits needs scikit-learn", "tasks"),
    ("from gru_book.tasks.sunspots import sunspots; sunspots()", "statsmodels", "sunspots needs statsmodels", "tasks"),
    (f"{HISTORY}([1.0], [1.0]).plot()", "matplotlib", "History.plot needs matplotlib", "viz"),
    (DATE, "babel", "gru_book.tasks.dates needs Babel", "tasks"),
    (f"{SAVE}('p.safetensors', {GRU})", "safetensors", "save: p.safetensors needs safetensors", "safetensors"),
]


@pytest.mark.parametrize(("code", "module", "needs", "extra"), MISSING)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(code, module, needs, extra, tmp_path):
    run = [sys.executable, "-c", f"import sys; sys.modules[{module!r}] = None; {code}"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    last = done.stderr.rstrip().rpartition("\n")[2]
    assert last == f'ImportError: {needs}: pip install "gru-lib[{extra}]"', done.stderr
