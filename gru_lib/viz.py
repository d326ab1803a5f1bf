"""Figures: one style, one colour and line style for each quantity, and the mapping from light colours to the page's.

A colour means a quantity; everything else is ink. Figures have no legends: :func:`label` names a curve at its end.
matplotlib (``gru-lib[viz]``) is imported only when a function needs it, so that the library itself needs only NumPy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from gru_lib._core.optional import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["COLOURS", "MUTED", "ROLE", "label", "themed", "use_style"]

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
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def use_style() -> None:
    """Draw every later figure in the book's style; in a notebook, as SVG.

    A figure has a light background, so that it can be read in a dark notebook too. The book's pages follow the reader's
    theme; for them ``GRU_FIGURES=bare`` in the environment leaves it out.
    """
    with needs("gru_lib.viz", "matplotlib", "viz"):
        import matplotlib.pyplot as plt

    plt.style.use(_STYLE)
    if os.environ.get("GRU_FIGURES") != "bare":
        paper = COLOURS["paper"]
        plt.rcParams.update({"figure.facecolor": paper, "savefig.facecolor": paper, "savefig.transparent": False})
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
    """Name a curve at its end, in its colour.

    Parameters
    ----------
    ax : Axes
    x, y : float
        The curve's end, in data coordinates.
    text : str
        The name, usually a symbol: ``"$z$"``.
    role : {"h", "n", "z", "r", "x", "g"}, optional
        The quantity. Without it the label is muted, as for a curve shown for comparison.
    dx, dy : float
        Offset of the text from the end, in points.
    **kwargs
        Passed to ``Axes.annotate``, such as ``ha="right"``.
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


def themed(svg: str, *, alt: str, prefix: str, classes: Iterable[str] = ()) -> str:
    """Turn one of matplotlib's SVG files into an element that follows the page it is on.

    Colours of :data:`COLOURS` become ``var(--gru-…, light value)``, text takes the page's fonts, and what only a
    separate file needs (metadata, title, style sheet) goes.

    Parameters
    ----------
    svg : str
        The file's text, drawn in the style of :func:`use_style`.
    alt : str
        What the figure shows, for readers who cannot see it.
    prefix : str
        Put before every id, so that no two figures on a page share one.
    classes : iterable of str
        CSS classes besides ``gru-fig``.

    Returns
    -------
    str
        An ``<svg>`` element with ``role="img"``.
    """
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg)
    unwanted = {f"{{{_SVG}}}{name}" for name in ("metadata", "title", "style")}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in unwanted or (child.tag == f"{{{_SVG}}}defs" and len(child) == 0):
                parent.remove(child)
    for element in root.iter():
        element.tail = element.tail if element.tail and element.tail.strip() else None
        target = element.attrib.pop(f"{{{_XLINK}}}href", None)
        if target is not None:
            element.set("href", target)
        for name, value in element.attrib.items():
            element.set(name, _follow_page(name, value, prefix))
    # matplotlib counts in points (1/72 inch), the page in pixels (1/96 inch).
    width = float(root.get("viewBox", "0 0 0 0").split()[2]) * 96 / 72
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("class", " ".join(["gru-fig", *classes]))
    root.set("style", f"max-width:{width:.0f}px")
    root.set("role", "img")
    root.set("aria-label", alt)
    return ElementTree.tostring(root, encoding="unicode")


def _follow_page(name: str, value: str, prefix: str) -> str:
    """Adapt one attribute of an SVG: a prefix for an id or a reference to one, the page's colours and fonts."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        return value.replace("#", f"#{prefix}-", 1)
    value = re.sub(r"url\(#", f"url(#{prefix}-", value)
    if name in ("style", "fill", "stroke"):
        value = re.sub(r"#[0-9a-fA-F]{6}\b", _variable, value)
        value = re.sub(r"'STIXGeneral'|'STIXNonUnicode'", "var(--gru-math)", value)
        value = re.sub(r"'DejaVu Sans'", "var(--gru-sans)", value)
    return value


def _variable(match: re.Match[str]) -> str:
    colour = match[0].upper()
    for role, light in COLOURS.items():
        if light == colour:
            return f"var(--gru-{role}, {colour})"
    return match[0]
