"""Figures and tables of results: one style, and one colour and line style for each quantity.

A colour means a quantity; everything else is ink. Figures have no legends: :func:`label` names a curve at its end.
Small multiples on one scale are matplotlib's own ``plt.subplots(1, 3, sharex=True, sharey=True)``.
matplotlib is imported only when a function draws, since it takes half a second.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gru_book.table import Table, table
from gru_lib.checks import check_choice, check_instance
from gru_lib.train import History
from gru_lib.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = [
    "COLOURS", "MUTED", "ROLE", "Table", "dots", "history", "label", "marks", "mean_interval", "seeds", "style",
    "table", "use_style",
]  # fmt: skip

Role = Literal["h", "n", "z", "r", "x", "g"]

#: The light value of every colour a figure may use, under the name of its CSS variable (``--gru-r`` …).
COLOURS: dict[str, str] = {
    "r": "#0B7C78",
    "z": "#9340D6",
    "n": "#A65A0C",
    "h": "#0F5299",
    "x": "#3E4653",
    "g": "#97101C",
    "ink": "#1B1E23",
    "muted": "#5A5F69",
    "edge": "#858B95",
    "rule": "#D4D6DA",
    "track": "#E2E4E8",
    "surface": "#F3F4F4",
    # Only in drawings of an LSTM: its cell state, its gates and its candidate.
    "lstm-c": "#5B57C9",
    "lstm-f": "#77327B",
    "lstm-i": "#831438",
    "lstm-g": "#766C01",
    "lstm-o": "#1C7E4B",
    "paper": "#FBFBFA",
}

#: Keyword arguments of ``Axes.plot`` for each quantity: colour, line width and dashes in points.
ROLE: dict[str, dict[str, Any]] = {
    "h": {"color": COLOURS["h"], "linewidth": 2.4, "linestyle": "-"},
    "n": {"color": COLOURS["n"], "linewidth": 1.6, "linestyle": (0, (7, 2, 1.5, 2))},
    "z": {"color": COLOURS["z"], "linewidth": 1.6, "linestyle": (0, (7, 2.5))},
    "r": {"color": COLOURS["r"], "linewidth": 1.6, "linestyle": (0, (3, 2))},
    "x": {"color": COLOURS["x"], "linewidth": 1.2, "linestyle": "-"},
    "g": {"color": COLOURS["g"], "linewidth": 1.6, "linestyle": (0, (1.2, 1.8))},
}

#: The same for a model shown for comparison.
MUTED: dict[str, Any] = {"color": COLOURS["muted"], "linewidth": 1.2, "linestyle": "-"}

_STYLE = Path(__file__).with_name("gru.mplstyle")


def style() -> list[Any]:
    """Return the book's style as matplotlib takes it: ``with plt.style.context(viz.style()):``.

    A figure has a light background, so that it can be read in a dark notebook too. The book's pages follow the reader's
    theme; for them ``GRU_FIGURES=bare`` in the environment leaves it out.

    Examples
    --------
    >>> from gru_book import viz
    >>> [file.name for file in viz.style()[:1]]
    ['gru.mplstyle']
    """
    paper = COLOURS["paper"]
    light = {"figure.facecolor": paper, "savefig.facecolor": paper, "savefig.transparent": False}
    return [_STYLE] if os.environ.get("GRU_FIGURES") == "bare" else [_STYLE, light]


def use_style() -> None:
    """Draw every later figure in the book's style (`style`); in a notebook, as SVG.

    Examples
    --------
    >>> from matplotlib import rcParams
    >>> from gru_book import viz
    >>> viz.use_style()
    >>> rcParams["axes.spines.top"]
    False
    """
    import matplotlib.pyplot as plt

    plt.style.use(style())
    try:
        from IPython.core.getipython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # not in a notebook
        return
    if get_ipython() is not None:
        # Keep the margins as drawn and write no date, so that the same data gives the same file.
        set_matplotlib_formats("svg", bbox_inches=None, metadata={"Date": None})


def label(
    ax: Axes, x: float, y: float, text: str, role: Role | None = None, *, dx: float = 5, dy: float = 0, **kwargs: Any
) -> Annotation:
    """Name a curve at its end (x, y), in its colour: ``label(ax, 1, z[-1], "$z$", "z")``.

    Without a role the label is muted, as for a curve shown for comparison. dx and dy are the offset of the text from
    the end, in points; further arguments go to ``Axes.annotate``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from gru_book import viz
    >>> ax = Figure().subplots()
    >>> line = ax.plot([0, 1], [0.2, 0.8], **viz.ROLE["z"])
    >>> name = viz.label(ax, 1, 0.8, "$z$", "z")
    >>> name.get_text(), name.get_color() == viz.COLOURS["z"]
    ('$z$', True)
    """
    if role is not None and role not in ROLE:
        raise ValueError(f"label: role must be one of {', '.join(ROLE)} or None; got {role!r}")
    options: dict[str, Any] = {
        "color": COLOURS["muted"] if role is None else COLOURS[role],
        "va": "center",
        "annotation_clip": False,
        "fontsize": 11 if text.startswith("$") else 9,
        **kwargs,
    }
    return ax.annotate(text, (x, y), xytext=(dx, dy), textcoords="offset points", **options)


# --------------------------------------------------------------------------------------------------------- results

# Student's t leaves 2.5 % above this, by the count of results.
_T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 15: 2.145, 20: 2.093,
      30: 2.045, 50: 2.010}  # fmt: skip


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """Return the mean of some results, and half of its 95 % interval by Student's t: q s / √n.

    For 2 to 10 results, or 15, 20, 30 or 50. The interval of a share that was counted is `gru_book.results.wilson`.

    Examples
    --------
    >>> from gru_book import viz
    >>> mean, half = viz.mean_interval([0.70, 0.72, 0.69, 0.71, 0.73])
    >>> f"{mean:.2f} ± {half:.2f}"
    '0.71 ± 0.02'
    """
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or len(found) not in _T:
        raise ValueError(f"mean_interval: values must be 2 to 10, 15, 20, 30 or 50 numbers; got shape {found.shape}.")
    return float(found.mean()), float(_T[len(found)] * found.std(ddof=1) / np.sqrt(len(found)))


def dots(
    ax: Axes,
    found: Mapping[str, ArrayLike],
    *,
    rival: Mapping[str, float] | None = None,
    roles: Mapping[str, Role] | None = None,
) -> dict[str, tuple[float, float]]:
    """Draw a row for each contender, the first at the top: a dot a training, and below them the mean's interval.

    `found` maps a contender's name to its results, `rival` the name of a simple method to its one result, which is a
    line; `roles` gives contenders a colour. Returns each contender's `mean_interval`, for the cell to print.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from gru_book import viz
    >>> ax = Figure(figsize=(4, 1.6)).subplots()
    >>> shares = {"GRU": [0.70, 0.72, 0.71], "Elman": [0.66, 0.67, 0.65]}
    >>> drawn = viz.dots(ax, shares, rival={"counting": 0.76})
    >>> {name: round(mean, 2) for name, (mean, half) in drawn.items()}
    {'GRU': 0.71, 'Elman': 0.66}
    """
    intervals = {name: mean_interval(values) for name, values in found.items()}
    for y, (name, values) in enumerate(found.items()):
        colour = COLOURS[roles[name]] if roles and name in roles else COLOURS["muted"]
        (mean, half), these = intervals[name], np.asarray(values)
        ax.plot(these, np.full(len(these), y), "o", markersize=3.5, color=colour)
        ax.plot([mean - half, mean + half], [y + 0.28] * 2, color=COLOURS["ink"], linewidth=1.6)
        ax.plot(mean, y + 0.28, "|", markersize=8, color=COLOURS["ink"])
    for name, value in (rival or {}).items():
        ax.axvline(value, **MUTED)
        label(ax, value, -0.75, name, dx=3)
    ax.set_yticks(range(len(found)), [*found])
    ax.set_ylim(len(found) - 0.4, -1.1 if rival else -0.5)
    return intervals


def seeds(ax: Axes, x: ArrayLike, runs: ArrayLike, text: str, role: Role | None = None, **kwargs: Any) -> Array:
    """Draw a thin line for each of the runs (K, len(x)), and their median, named at its end; return the median.

    Further arguments go to `label`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from gru_book import viz
    >>> ax = Figure().subplots()
    >>> errors = [[1.0, 0.5, 0.2], [1.0, 0.7, 0.3], [1.0, 0.9, 0.9]]
    >>> viz.seeds(ax, [0, 100, 200], errors, "GRU", "h")
    array([1. , 0.7, 0.3])
    """
    at, lines = np.asarray(x), np.asarray(runs)
    if lines.ndim != 2 or at.shape != lines.shape[1:]:
        raise ValueError(f"seeds: runs must have shape (K, len(x)) = (K, {at.size}); got {lines.shape}.")
    middle: Array = np.median(lines, axis=0)
    look = MUTED if role is None else ROLE[role]
    ax.plot(at, lines.T, color=look["color"], linewidth=0.6, alpha=0.45)
    ax.plot(at, middle, **look)
    label(ax, at[-1], middle[-1], text, role, **kwargs)
    return middle


def marks(ax: Axes, rows: Sequence[str], columns: Sequence[str], found: ArrayLike) -> None:
    """Draw a grid of marks: a full disc where `found` (rows, columns) is true, a small ring where it is not.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from gru_book import viz
    >>> ax = Figure(figsize=(4, 1.6)).subplots()
    >>> bugs, tests = ["sign of δ", "z and 1 − z"], ["shapes", "gradients"]
    >>> viz.marks(ax, bugs, tests, [[0, 1], [0, 0]])
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['shapes', 'gradients']
    """
    grid = np.asarray(found, dtype=bool)
    if grid.shape != (len(rows), len(columns)):
        raise ValueError(f"marks: found must have shape {(len(rows), len(columns))}; got {grid.shape}.")
    for noticed, size, face in ((True, 9, COLOURS["ink"]), (False, 5, "none")):
        y, x = np.nonzero(grid == noticed)
        ax.plot(
            x, y, "o", markersize=size, markerfacecolor=face, markeredgecolor=COLOURS["edge" if not noticed else "ink"]
        )
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)


def history(history: History, *names: str) -> list[Axes]:
    """Draw the loss of a training and every metric against the steps, each in axes of its own; return these.

    With names, draw those; "grad_norm" is one too. A metric called "loss" stands in the axes of the batches' loss.

    Examples
    --------
    >>> from gru_book import viz
    >>> from gru_lib.train import History
    >>> history = History([2.0, 1.0, 0.5], grad_norm=[3.0, 1.5, 0.7])
    >>> for ax in viz.history(history, "loss", "grad_norm"):
    ...     ax.set_yscale("log")
    """
    import matplotlib.pyplot as plt

    check_instance("history", "history", history, History)
    if not history.loss:
        raise ValueError("history: the history must have at least one step; it has none.")
    for name in names:
        check_choice("history", "names", name, ("loss", "grad_norm", *history.metrics))
    names = names or tuple(dict.fromkeys(("loss", *history.metrics)))
    batches = {"loss": history.loss, "grad_norm": history.grad_norm}
    with plt.style.context(style()):
        _, grid = plt.subplots(len(names), sharex=True, squeeze=False, figsize=(6.8, 0.7 + 1.6 * len(names)))
        for ax, name in zip(grid[:, 0], names, strict=True):
            curves: dict[str, tuple[Sequence[int], list[float], dict[str, Any]]] = {}
            if name in batches:
                curves["each batch"] = range(1, history.steps + 1), batches[name], MUTED
            if name in history.metrics:
                curves["evaluated"] = *history.curve(name), {"color": COLOURS["ink"]}
            top = max(values[-1] for _, values, _ in curves.values())
            for what, (steps, values, look) in curves.items():
                ax.plot(steps, values, **look, marker="o" if len(steps) < 30 else "")
                if len(curves) > 1:
                    label(ax, steps[-1], values[-1], what, dy=5 if values[-1] == top else -5, color=look["color"])
            ax.set_title(name)
        grid[-1, 0].set_xlabel("step")
        grid[-1, 0].locator_params(axis="x", integer=True)
    return list(grid[:, 0])
