"""Hold the gate: a memory of one number over 24 steps, every gate in the reader's hand (chapter 3)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from gru_lib.gates import convex_update
from gru_lib.widgets._explorer import Explorer, Numbers, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, percent, still, sub, text

__all__ = ["HoldExplorer"]

HOLD = json.loads((HERE / "hold.json").read_text("utf-8"))  # start, presets, layout and words, shared with hold.mjs
_START = HOLD["start"]
T = len(_START["n"])


class HoldExplorer(Explorer):
    """One memory, 24 steps, the gate of each step set by hand.

    ::

        h_t = z_t h_{t-1} + (1 − z_t) n_t,    h_0 = 0

    Attributes
    ----------
    n : list of 24 floats in [-1, 1]
        Candidates.
    z : list of 24 floats in [0, 1]
        Share of the old state that each step keeps.
    at : int in [1, 24]
        The framed step; the lowest row shows what each candidate weighs in its state.
    value : dict
        All of these, the states `h`, and the weights `w` of h_0 and of the candidates 1 … at.

    Examples
    --------
    >>> from gru_lib.widgets import HoldExplorer
    >>> memory = HoldExplorer(z=[0.0] * 24)
    >>> memory.value["h"] == memory.n
    True
    """

    module: ClassVar[str] = "hold"

    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    n = Numbers(_START["n"], min=-1, max=1, help="candidates").tag(sync=True)
    z = Numbers(_START["z"], min=0, max=1, help="share kept at each step").tag(sync=True)

    def values(self) -> dict[str, Any]:
        """Return the state, the states h, and the weights w in the state of the framed step."""
        h, hs = np.zeros(1), []
        for n, z in zip(self.n, self.z, strict=True):
            h, _ = convex_update(np.array([1 - z]), np.array([n]), h)
            hs.append(h.item())
        later = np.append(np.cumprod(self.z[: self.at][::-1])[::-1], 1.0)
        w = [later[0], *((1 - np.array(self.z[: self.at])) * later[1:])]
        return self.state() | {"h": hs, "w": [float(v) for v in w]}

    def fallback(self) -> str:
        """Return the four rows as static SVG, with what they say as the caption."""
        words = HOLD["words"][self.lang or "en"]
        value = self.values()
        pictures = {name: (at["W"], at["H"], _rows(value, at, words)) for name, at in HOLD["layout"].items()}
        return still(pictures, "ex-rows", words["diagram"], _sentence(value, words))


def _share(v: float) -> str:
    if v < 1e-12 or v > 1 - 1e-12:
        return f"{round(v) * 100}\u00a0%"
    return percent(v)


def _sentence(value: dict[str, Any], words: dict[str, str]) -> str:
    at, w = value["at"], value["w"]
    k = 1 + int(np.argmax(w[1:]))
    m = min(10, at)
    return words["say"].format(
        t=at, h=fixed(value["h"][at - 1]), k=k, m=m, most=_share(w[k]), late=_share(sum(w[-m:])), start=_share(w[0])
    )


def _bar(cls: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{cls}" x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(max(height, 0))}"/>'


def _signed(role: str, x: float, y: float, width: float, v: float, half: float) -> str:
    size = abs(v) * half
    if v < 0:
        return _bar(f"ex-down ex-{role}", x + 0.75, y, width - 1.5, size)
    return _bar(f"ex-fill-{role}", x, y - size, width, size)


def _rows(s: dict[str, Any], at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the rows' <svg>; hold.mjs draws the same, and a test holds the two equal."""
    now, out = s["at"], []

    def name(y: float, symbol: str, word: str, role: str) -> None:
        if at["slim"]:
            both = f'<tspan class="ex-it ex-{role}">{symbol}</tspan>\u2002{word}'
            out.append(text("ex-small", at["left"], y - 7, "start", both))
        else:
            out.append(text(f"ex-sym ex-{role}", 0, y + 14, "start", symbol))
            out.append(text("ex-small", 0, y + 32, "start", word))

    name(at["n"]["y"] - at["n"]["half"], sub("n", "t"), words["n"], "n")
    name(at["z"]["y"], sub("z", "t"), words["z"], "z")
    name(at["h"]["y"] - at["h"]["half"], sub("h", "t"), words["h"], "h")
    name(
        at["w"]["y"], sub("w", "k"), words["w"].format(h=f'<tspan class="ex-it ex-h">{sub("h", str(now))}</tspan>'), "n"
    )
    left, right, floor = at["left"], at["left"] + T * at["column"], at["w"]["y"] + at["w"]["high"]
    out += [f'<path class="ex-axis" d="M{left} {y}H{right}"/>' for y in (at["n"]["y"], at["h"]["y"], floor)]
    for t in range(1, T + 1):
        x, bar = left + (t - 1) * at["column"] + (at["column"] - at["bar"]) / 2, at["bar"]
        z, high = s["z"][t - 1], at["z"]["high"]
        out.append(_signed("n", x, at["n"]["y"], bar, s["n"][t - 1], at["n"]["half"]))
        out.append(_bar("ex-tank", x, at["z"]["y"], bar, high))
        out.append(_bar("ex-fill-z", x, at["z"]["y"] + high * (1 - z), bar, high * z))
        out.append(_signed("h", x, at["h"]["y"], bar, s["h"][t - 1], at["h"]["half"]))
        if t <= now:
            w, high = s["w"][t], at["w"]["high"]
            out.append(_bar("ex-fill-n", x, at["w"]["y"] + high * (1 - w), bar, high * w))
        if t == 1 or t % 6 == 0:
            out.append(text("ex-small", x + bar / 2, at["H"] - 2, "middle", str(t)))

    def part(symbol: str, value: str) -> str:
        return f'\u2003<tspan class="ex-it ex-{symbol}">{symbol}</tspan> <tspan class="ex-{symbol}">{value}</tspan>'

    numbers = (
        part("n", fixed(s["n"][now - 1], 2)) + part("z", fixed(s["z"][now - 1])) + part("h", fixed(s["h"][now - 1]))
    )
    out.append(text("ex-now", left, 14, "start", f"{words['step']} {now}{numbers}"))
    edge = left + (now - 1) * at["column"]
    out.append(f'<rect class="ex-frame" x="{num(edge)}" y="22" width="{at["column"]}" height="{at["H"] - 40}" rx="2"/>')
    return "".join(out)
