"""Cells side by side: Elman, GRU and LSTM, one unit each, on the same 24 inputs (chapter 12)."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar

import numpy as np

from gru_lib._core.params import Params
from gru_lib.cells.elman import elman_init
from gru_lib.cells.gru import gru_init, gru_step
from gru_lib.cells.lstm import lstm_init, lstm_step
from gru_lib.cells.registry import advance, zero_state
from gru_lib.widgets._explorer import Explorer, Number, Numbers, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, still, sub, text

__all__ = ["CellsExplorer"]

CELLS = json.loads((HERE / "cells.json").read_text("utf-8"))  # start, presets, weights, layout and words
_START, _LIMITS = CELLS["start"], CELLS["limits"]
T = len(_START["x"])
_STATES = ("elman", "gru", "c", "lstm")
_ROLES = {"x": "x", "m": "x", "elman": "h", "z": "z", "gru": "h", "f": "a", "i": "a", "c": "a", "lstm": "h"}
_SYMBOLS = {"x": "x", "m": "m", "elman": "h", "z": "z", "gru": "h", "f": "f", "i": "i", "c": "c", "lstm": "h"}


def _number(key: str, text: str) -> Number:
    lo, hi = _LIMITS[key]
    return Number(_START[key], min=lo, max=hi, help=text).tag(sync=True)


class CellsExplorer(Explorer):
    """Three cells of one unit on the same inputs, and what each still knows of the first.

    ::

        Elman   h = tanh(2 x + w h_prev)
        GRU     z = σ(b_z − 8 m),  n = tanh(2 x),  h = z h_prev + (1 − z) n
        LSTM    f = σ(b_f − 8 m),  i = σ(b_i + 8 m),  g = tanh(2 x),  c = f c_prev + i g,  h = tanh(c) / 2

    Attributes
    ----------
    x, m : lists of 24 floats, in [-1, 1] and in [0, 1]
        Inputs: a signal, and a mark that asks the gates to write it.
    at : int in [1, 24]
        The framed step.
    w : float in [0, 1.5]
        Elman's weight from state to state.
    b_z, b_f : float in [-2, 8]
        Biases of the GRU's update gate and of the LSTM's forget gate.
    input_gate : "coupled" or "free"
        Whether b_i is −b_f or 0.
    value : dict
        All of these; the states "elman", "gru", "c", "lstm" and the gates "z", "f", "i" of every step; "away", by how
        much each state at step `at` would differ if the first input had the other sign.

    Examples
    --------
    >>> from gru_lib.widgets import CellsExplorer
    >>> away = CellsExplorer().value["away"]
    >>> away["elman"] < 0.01 and away["gru"] > 1 and away["c"] > 1
    True
    """

    module: ClassVar[str] = "cells"

    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    x = Numbers(_START["x"], min=-1, max=1, help="inputs").tag(sync=True)
    m = Numbers(_START["m"], min=0, max=1, help="marks: write now").tag(sync=True)
    w = _number("w", "Elman's weight from state to state")
    b_z = _number("b_z", "bias of the GRU's update gate")
    b_f = _number("b_f", "bias of the LSTM's forget gate")
    input_gate = OneOf(["coupled", "free"], _START["input_gate"], help="whether b_i is -b_f or 0").tag(sync=True)

    def params(self) -> dict[str, Params]:
        """Return the parameters of the cells "elman", "gru" and "lstm"; what `cells.json` does not name is 0."""
        rng = np.random.default_rng(0)
        cells: dict[str, Params] = {
            "elman": elman_init(rng, 2, 1),
            "gru": gru_init(rng, 2, 1),
            "lstm": lstm_init(rng, 2, 1),
        }
        for name, p in cells.items():
            p.flat[:] = 0
            for weights, value in CELLS["weights"][name].items():
                getattr(p, weights)[:] = value
        cells["elman"].W_h[:] = self.w
        cells["gru"].b_z[:] = self.b_z
        cells["lstm"].b_f[:] = self.b_f
        cells["lstm"].b_i[:] = -self.b_f if self.input_gate == "coupled" else 0
        return cells

    def _walk(self, x: list[float]) -> dict[str, list[float]]:
        cells = self.params()
        states = {name: zero_state(p, 1) for name, p in cells.items()}
        out: dict[str, list[float]] = {name: [] for name in (*_STATES, "z", "f", "i")}
        for both in np.column_stack([x, self.m]):
            _, states["elman"] = advance(both[None], states["elman"], cells["elman"])
            states["gru"], gru = gru_step(both[None], states["gru"], cells["gru"])
            states["lstm"], lstm = lstm_step(both[None], states["lstm"], cells["lstm"])
            now = {"elman": states["elman"], "gru": states["gru"], "c": states["lstm"].c, "lstm": states["lstm"].h}
            for name, value in (now | {"z": gru.z, "f": lstm.f[0], "i": lstm.i[0]}).items():
                out[name].append(float(value.item()))
        return out

    def both(self) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        """Return states and gates of all steps, and the same with the sign of the first input turned."""
        return self._walk(self.x), self._walk([-self.x[0], *self.x[1:]])

    def values(self) -> dict[str, Any]:
        """Return the state, what the cells do with it, and how far the other sign would take each state."""
        here, there = self.both()
        away = {name: abs(here[name][self.at - 1] - there[name][self.at - 1]) for name in _STATES}
        return self.state() | here | {"away": away}

    def fallback(self) -> str:
        """Return the rows as static SVG, with what they say as the caption."""
        words = CELLS["words"][self.lang or "en"]
        here, there = self.both()
        shown = {**self.state(), **here}
        pictures = {name: (at["W"], at["H"], _rows(shown, there, at, words)) for name, at in CELLS["layout"].items()}
        away = {name: abs(here[name][self.at - 1] - there[name][self.at - 1]) for name in _STATES}
        return still(pictures, "ex-rows", words["diagram"], _sentence(self.at, away, words))


def _sentence(at: int, away: dict[str, float], words: dict[str, str]) -> str:
    known = {"Elman": away["elman"], "GRU": away["gru"], "LSTM": max(away["c"], away["lstm"])}
    told = [name for name, gap in known.items() if gap > CELLS["told"]]
    who = words["and"].join(told) or words["nobody"]
    return words["say"].format(t=at, who=who, **{name: fixed(gap) for name, gap in away.items()})


def _bar(cls: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{cls}" x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(max(height, 0))}"/>'


def _signed(role: str, x: float, y: float, width: float, v: float, half: float) -> str:
    size = abs(v) * half
    if v < 0:
        return _bar(f"ex-down ex-{role}", x + 0.75, y, width - 1.5, size)
    return _bar(f"ex-fill-{role}", x, y - size, width, size)


def _rows(s: dict[str, Any], there: dict[str, list[float]], at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the rows' <svg>; cells.mjs draws the same, and a test holds the two equal."""
    left, column, bar, now = at["left"], at["column"], at["bar"], s["at"]
    right = left + T * column
    scale = max(1, math.ceil(10 * max(map(abs, s["c"] + there["c"]))) / 10)
    out = []

    def x(t: int) -> float:
        return left + (t - 1) * column + (column - bar) / 2

    for row, place in at["rows"].items():
        role, half, high, y = _ROLES[row], place.get("half"), place.get("high"), place["y"]
        symbol = sub(_SYMBOLS[row], "t")
        axis = words["axis"].format(scale=f"\u00b1{fixed(scale, 1)}") if row == "c" and scale > 1 else ""
        if at["slim"]:
            name = f'<tspan class="ex-it ex-{role}">{symbol}</tspan>\u2002{words[row]}' + (axis and f", {axis}")
            out.append(text("ex-small", left, (y - half if half else y) - 6, "start", name))
        else:
            middle = y if half else y + high / 2
            out.append(text(f"ex-sym ex-{role}", 0, middle + 5, "start", symbol))
            out.append(text("ex-small", 32, middle + 5, "start", words[row]))
            if axis:
                out.append(text("ex-small", 32, middle + 22, "start", axis))
        if half:
            out.append(f'<path class="ex-axis" d="M{left} {y}H{right}"/>')
        for t, v in enumerate(s[row], start=1):
            if not half:
                out.append(_bar("ex-tank", x(t), y, bar, high))
                out.append(_bar(f"ex-fill-{role}", x(t), y + high * (1 - v), bar, high * v))
                continue
            unit = half / scale if row == "c" else half
            out.append(_signed(role, x(t), y, bar, v, unit))
            if row != "x":
                tick = num(y - unit * there[row][t - 1])
                out.append(f'<path class="ex-tick" d="M{num(x(t) - 2)} {tick}H{num(x(t) + bar + 2)}"/>')
    for t in range(1, T + 1):
        if t == 1 or t % 6 == 0:
            out.append(text("ex-small", x(t) + bar / 2, at["H"] - 2, "middle", str(t)))

    def part(name: str, symbol: str, role: str, value: str) -> str:
        return f'\u2003{name}<tspan class="ex-it ex-{role}">{symbol}</tspan> {value}'

    given = part("", "x", "x", fixed(s["x"][now - 1], 2))
    shown = [fixed(s[name][now - 1]) for name in _STATES]
    lstm = "" if at["slim"] else "LSTM "
    names = (("Elman ", "h", "h"), ("GRU ", "h", "h"), (lstm, "c", "a"), ("", "h", "h"))
    states = "".join(part(*name, value) for name, value in zip(names, shown, strict=True))
    out.append(text("ex-now", left, 14, "start", f"{words['step']} {now}{given}" + ("" if at["slim"] else states)))
    if at["slim"]:
        out.append(text("ex-now", left, 32, "start", states[1:]))
    edge, top = left + (now - 1) * column, at["top"]
    out.append(
        f'<rect class="ex-frame" x="{num(edge)}" y="{top}" width="{column}" height="{at["H"] - top - 18}" rx="2"/>'
    )
    return "".join(out)
