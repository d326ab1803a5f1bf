"""What the chapters load: results of long trainings, measured times, trained nets, and what other frameworks computed.

The files stand beside this one, so a notebook finds them wherever the library is installed. ``experiments/README.md``
says which command made each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gru_lib.checks import check_choice

__all__ = ["FOLDER", "load", "path", "wilson"]

#: Where the files are, and where scripts store new ones.
FOLDER = Path(__file__).parent


def load(name: str) -> dict[str, Any]:
    """Return stored results: ``load("dates")`` is what `dates.json` holds.

    Examples
    --------
    >>> from gru_book import results
    >>> "translation" in results.load("dates")
    True
    """
    found: dict[str, Any] = json.loads(_file("load", name, ".json").read_text("utf8"))
    return found


def path(name: str) -> Path:
    """Return a file of stored arrays: ``path("dates_weak")`` for `gru_lib.load`, ``path("torch")`` for `np.load`.

    Examples
    --------
    >>> from gru_book import results
    >>> results.path("torch").name
    'torch.npz'
    """
    return _file("path", name, ".npz")


def _file(where: str, name: str, suffix: str) -> Path:
    check_choice(where, "name", name, tuple(sorted(file.stem for file in FOLDER.glob(f"*{suffix}"))))
    return FOLDER / f"{name}{suffix}"


def wilson(k: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share of which `k` of `n` were counted: the seeds of an experiment, say.

    Chapter 2; Wilson (1927), Journal of the American Statistical Association 22.

    Examples
    --------
    >>> from gru_book.results import wilson
    >>> low, high = wilson(9, 10)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    z2 = 1.96**2
    middle, half = k + z2 / 2, (z2 * (k * (n - k) / n + z2 / 4)) ** 0.5
    return max(0.0, (middle - half) / (n + z2)), min(1.0, (middle + half) / (n + z2))
