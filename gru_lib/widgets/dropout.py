"""Dropout masks: where three schemes drop, and what is left of a stored value (chapter 14)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from gru_lib.cells.gru import GRUParams, gru_forward, gru_init, gru_step
from gru_lib.widgets._explorer import Explorer, Number, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, still, text

__all__ = ["DropoutExplorer"]

DROP = json.loads((HERE / "dropout.json").read_text("utf-8"))  # start, presets, layout and words
_START, _LIMITS, SCHEMES = DROP["start"], DROP["limits"], DROP["schemes"]
T, D, H, STORED = DROP["steps"], DROP["inputs"], DROP["units"], DROP["stored"]


class DropoutExplorer(Explorer):
    """Six units that hold a value over 24 steps, under three kinds of masks.

    ::

        read    h_t = z h_{t-1}       + (1 − z) tanh(w m_t h_{t-1})     as gru_forward(…, h_mask=m)
        state   h_t = z m_t h_{t-1}   + (1 − z) tanh(w m_t h_{t-1})

    w is such that without masks the stored value 0.8 stays where it is, whatever z is.

    Attributes
    ----------
    rate : float in [0, 0.8]
        Probability that a number is dropped.
    z : float in [0, 0.999]
        Update gate of every unit: the share that is carried over without being read.
    place : {"read", "state"}
        What the recurrent mask multiplies: what the weights read, or the whole state.
    seed : int in [0, 99]
        Which masks are drawn.
    value : dict
        All of these, and for each scheme ("zaremba", "variational", "naive") how many of the six units still hold their
        value after 24 steps, within half of it.

    Examples
    --------
    >>> from gru_lib.widgets import DropoutExplorer
    >>> value = DropoutExplorer(rate=0.5, z=0.0).value
    >>> value["zaremba"], value["naive"]
    (6, 0)
    """

    module: ClassVar[str] = "dropout"

    rate = Number(_START["rate"], min=_LIMITS["rate"][0], max=_LIMITS["rate"][1], help="share dropped").tag(sync=True)
    z = Number(_START["z"], min=_LIMITS["z"][0], max=_LIMITS["z"][1], help="update gate of every unit").tag(sync=True)
    place = OneOf(["read", "state"], _START["place"], help="what the recurrent mask multiplies").tag(sync=True)
    seed = Whole(_START["seed"], min=_LIMITS["seed"][0], max=_LIMITS["seed"][1], help="which masks").tag(sync=True)

    def masks(self, scheme: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the masks of a scheme on the inputs (2, 24) and on the recurrent connection (6, 24)."""
        drawn = np.array([[uniform(self.seed, row * T + t) for t in range(T)] for row in range(D + H)])
        if scheme == "variational":
            drawn = np.repeat(drawn[:, :1], T, axis=1)
        mask = (drawn >= self.rate) / (1 - self.rate)
        return mask[:D], np.ones((H, T)) if scheme == "zaremba" else mask[D:]

    def states(self, scheme: str) -> np.ndarray:
        """Return the states of the six units after each step, (6, 24)."""
        mask, p = self.masks(scheme)[1].T[:, None], memory(self.z)
        h, xs = np.full((1, H), STORED), np.zeros((T, 1, 1))
        if self.place == "read":
            return gru_forward(xs, h, p, h_mask=mask)[0][:, 0].T
        out = []
        for t in range(T):
            h, _ = gru_step(xs[t], h * mask[t], p)
            out.append(h[0])
        return np.array(out).T

    def holds(self, scheme: str) -> int:
        """Return how many units end within half of the stored value."""
        return int((np.abs(self.states(scheme)[:, -1] / STORED - 1) < 0.5).sum())

    def values(self) -> dict[str, Any]:
        """Return the state and how many units hold their value under each scheme."""
        return self.state() | {scheme: self.holds(scheme) for scheme in SCHEMES}

    def fallback(self) -> str:
        """Return the three blocks as static SVG, with what they say as the caption."""
        words = DROP["words"][self.lang or "en"]
        pictures = {name: (at["W"], at["H"], self._blocks(at, words)) for name, at in DROP["layout"].items()}
        counts = {scheme: self.holds(scheme) for scheme in SCHEMES}
        said = words["say"].format(rate=fixed(self.rate, 2), z=fixed(self.z), **counts)
        return still(pictures, "ex-blocks", words["diagram"], said)

    def _blocks(self, at: dict[str, Any], words: dict[str, str]) -> str:
        """Return the inside of the <svg>; dropout.mjs draws the same, and a test holds the two equal."""
        out, left, right = [], at["left"], at["left"] + T * at["column"]
        for nth, scheme in enumerate(SCHEMES):
            top = at["top"] + nth * at["block"]
            out.append(text("ex-head", 0 if at["slim"] else left, top - 8, "start", words[scheme]))
            out.append(text("ex-num", right, top - 8, "end", words["holds"].format(k=self.holds(scheme))))
            for rows, role in zip(self.masks(scheme), "xh", strict=True):
                middle = top + at[role] + len(rows) * at["cell"] / 2 + 5
                if at["slim"]:
                    out.append(text(f"ex-it ex-{role}", 0, middle, "start", role))
                else:
                    both = f'{words["mask"]} <tspan class="ex-it ex-{role}">{role}</tspan>'
                    out.append(text("ex-small", left - 12, middle, "end", both))
                for i, row in enumerate(rows):
                    cells = {True: "", False: ""}
                    for t, m in enumerate(row):
                        cells[bool(m > 0)] += (
                            f"M{left + t * at['column'] + 1} {num(top + at[role] + i * at['cell'])}"
                            f"h{at['column'] - 2}v{at['cell'] - 2}h{2 - at['column']}z"
                        )
                    out.append(
                        f'<path class="ex-fill-{role}" d="{cells[True]}"/><path class="ex-none" d="{cells[False]}"/>'
                    )

            def y(v: float, top: float = top) -> float:
                return top + at["y"] + at["high"] * (1 - min(max(v, 0), DROP["most"]) / DROP["most"])

            out.append(f'<path class="ex-axis" d="M{left} {num(y(0))}H{right}"/>')
            out.append(f'<path class="ex-ctl" d="M{left} {num(y(STORED))}H{right}"/>')
            if not at["slim"]:
                out.append(text("ex-small", left - 12, y(0) - 14, "end", words["left"]))
            out.append(text("ex-part", left - 5, y(STORED) + 4, "end", num(STORED)))
            for row in self.states(scheme):
                points = (f"{num(left + t * at['column'])} {num(y(v))}" for t, v in enumerate([STORED, *row]))
                out.append(f'<path class="ex-line ex-h" d="M{"L".join(points)}"/>')
        return "".join(out)


def memory(z: float) -> GRUParams:
    """Return a GRU of six units that each hold the stored value without masks: r = 1, update gate z, n = tanh(w h)."""
    p = gru_init(np.random.default_rng(0), 1, H)
    p.flat[:] = 0
    p.b_r[:] = 40  # σ(40) = 1 in float64
    p.b_z[:] = np.log(z) - np.log1p(-z) if z else -700  # σ(−700) is about 1e−304
    p.W_hn[:] = np.eye(H) * np.arctanh(STORED) / STORED
    return p


def uniform(seed: int, place: int) -> float:
    """Return a number in [0, 1) that depends on the seed and the place alone: as in gru-math.mjs, bit by bit."""
    v = (seed * 0x9E3779B1 + (place + 1) * 0x85EBCA6B) & 0xFFFFFFFF
    for by in (0x7FEB352D, 0x846CA68B):
        v = ((v ^ (v >> 16)) * by) & 0xFFFFFFFF
    return (v ^ (v >> 15)) / 2**32
