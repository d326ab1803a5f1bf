"""What the library can do without: whoever meets the missing package reads which extra brings it."""

from __future__ import annotations

import subprocess
import sys

SAVE = "import gru_lib as g, numpy as np; g.save('p.safetensors', g.gru_init(np.random.default_rng(0), 1, 1))"


def test_a_missing_package_is_named_with_the_extra_that_brings_it(tmp_path):
    run = [sys.executable, "-c", f"import sys; sys.modules['safetensors'] = None; {SAVE}"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    last = done.stderr.rstrip().rpartition("\n")[2]
    wanted = 'ImportError: save: p.safetensors needs safetensors: pip install "gru-lib[safetensors]"'
    assert last == wanted, done.stderr
