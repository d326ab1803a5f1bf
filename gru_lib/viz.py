"""Figures: one style, and one colour and line style for each quantity.

A colour means a quantity; everything else is ink. Figures have no legends: :func:`label` names a curve at its end.
matplotlib (``gru-lib[viz]``) is imported only when a function needs it, so that the library itself needs only NumPy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gru_lib._core.optional import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["COLOURS", "MUTED", "ROLE", "label", "style", "use_style"]

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
    >>> from gru_lib import viz
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
    >>> from gru_lib import viz
    >>> viz.use_style()
    >>> rcParams["axes.spines.top"]
    False
    """
    with needs("gru_lib.viz", "matplotlib", "viz"):
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
    >>> from gru_lib import viz
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
