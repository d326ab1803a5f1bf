"""Curves over many powers of ten against a number of steps, as a still picture: what decades.mjs draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gru_lib.widgets._svg import num, sub, text

__all__ = ["Curve", "drawing", "size"]

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Curve(NamedTuple):
    """A curve: its role (colour), its own class, its name, and its values for 0 … T steps."""

    role: str
    cls: str
    name: str
    values: np.ndarray


def size(v: float) -> str:
    """Return a number >= 0 in words that survive a hundred powers of ten: 0.042, 31, 4.2 · 10², 2.3 · 10⁻⁹."""
    if v == 0:
        return "0"
    if 0.01 <= v < 99.5:
        return f"{v:#.2g}".rstrip(".")
    digits, power = f"{v:.1e}".split("e")
    return f"{digits}\u00a0·\u00a010{str(int(power)).translate(_RAISED)}"


def drawing(
    curves: Sequence[Curve], length: int, at: Mapping[str, Any], decades: Sequence[int], words: Mapping[str, str]
) -> str:
    """Return the inside of the <svg> for two curves up to `length` steps."""
    (low, high), T = decades, len(curves[0].values) - 1
    left, right, top, bottom = (at[side] for side in ("left", "right", "top", "bottom"))

    def x(t: float) -> float:
        return left + t / T * (right - left)

    def y(decade: float) -> float:
        return bottom - (decade - low) / (high - low) * (bottom - top)

    out = []
    for d in range(low, high + 1, 8):
        out.append(f'<path class="{"ex-rule" if d else "ex-one"}" d="M{left} {num(y(d))}H{right}"/>')
        out.append(text("ex-small", left - 6, y(d) + 4.5, "end", f"10{str(d).translate(_RAISED)}" if d else "1"))
    out += [text("ex-small", x(t), bottom + 18, "middle", str(t)) for t in (0, 25, 50, 75, 100)]
    out.append(text("ex-small", right, bottom + 36, "end", f'<tspan class="ex-it">T</tspan>, {words["steps"]}'))
    ratio = f'<tspan class="ex-it">∂{sub("h", "T")}/∂{sub("h", "0")}</tspan>'
    out.append(text("ex-ratio", left, 16, "start", words["norm"].format(d=ratio)))

    ends = []
    for curve in curves:
        with np.errstate(divide="ignore"):  # a direct path may underflow to 0
            powers = np.log10(curve.values[: length + 1])
        points = [(x(t), y(d)) for t, d in enumerate(powers) if low <= d <= high]
        line = "L".join(f"{num(a)} {num(b)}" for a, b in points)
        out.append(f'<path class="ex-line ex-{curve.role} {curve.cls}" d="M{line}"/>')
        ends.append((*points[-1], bool(low <= powers[-1] <= high)))
    (ax, ay, _), (bx, by, _) = ends
    near, up = abs(ay - by) < 16 and abs(ax - bx) < 60, 1 if ay <= by else -1
    for i, (curve, (px, py, reached)) in enumerate(zip(curves, ends, strict=True)):
        shift = (up if i else -up) * (16 - abs(ay - by)) / 2 if near else 0
        out.append(f'<circle class="ex-fill-{curve.role}" cx="{num(px)}" cy="{num(py)}" r="{4 if reached else 0}"/>')
        out.append(text(f"ex-name-g ex-{curve.role}", px + 8, py + 4.5 + shift, "start", curve.name))
    out.append(f'<path class="ex-cursor" d="M{num(x(length))} {top}V{bottom}"/>')
    return "".join(out)
