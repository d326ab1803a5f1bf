"""Every pytest run, nbval's kernels included, has the environment in which the notebooks were executed."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from environment import reproducible

os.environ.update(reproducible())
