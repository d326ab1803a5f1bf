"""Build a sequence: pulses, noise and breaks, and the gates and states of a net that reads them (chapter 8)."""

from __future__ import annotations

import html
import json
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gru_lib._core.params import Bundle
from gru_lib.cells.gru import gru_forward
from gru_lib.ops import linear_forward
from gru_lib.widgets._explorer import Explorer, OneOf, Whole, Wholes
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, percent, still, text
from gru_lib.widgets.subtraction import network

__all__ = ["SequenceExplorer"]

SEQUENCE = json.loads((HERE / "sequence.json").read_text("utf-8"))  # start, presets, layout and words
NETS = json.loads((HERE / "sequence-nets.json").read_text("utf-8"))  # weights, made by experiments.explorer_nets
_START = SEQUENCE["start"]
T = len(_START["tokens"])
_UNITS = max(len(nets["trained"]["b_r"]) for nets in NETS["nets"].values())
_TANK, _HALF = 16, 19  # a tank's height; half of the height for a state


class SequenceExplorer(Explorer):
    """24 tokens of the reader's, and a GRU that reads them and answers after each.

    Attributes
    ----------
    tokens : list of 24 ints
        0 noise, 1 a pulse, 2 a break. For the task "skip" the breaks are brackets, opening and closing in turn.
    task : "keep", "skip" or "afresh"
        Which token came first? Is the number of 1s outside brackets odd? Is that since the latest break odd?
    net : "hand" or "trained"
        Weights set by hand, or a net of four units trained on the task; how often it is right was measured, and
        stands in ``sequence-nets.json``.
    at : int in [1, 24]
        The framed step.
    unit : int in [1, 4]
        The unit whose numbers are said; beyond the last one, the last.
    value : dict
        All of these; `says` and `right`, the answers, a token or 0 (even) and 1 (odd); `r`, `z`, `h`, each (24, H).

    Examples
    --------
    >>> from gru_lib.widgets import SequenceExplorer
    >>> value = SequenceExplorer(task="afresh", net="trained").value
    >>> value["says"] == value["right"]
    True
    """

    module: ClassVar[str] = "sequence"

    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    unit = Whole(_START["unit"], min=1, max=_UNITS, help="the unit whose numbers are said").tag(sync=True)
    task = OneOf(list(NETS["nets"]), _START["task"], help="what is asked").tag(sync=True)
    net = OneOf(["hand", "trained"], _START["net"], help="which net").tag(sync=True)
    tokens = Wholes(_START["tokens"], min=0, max=2, help="0 noise, 1 pulse, 2 break").tag(sync=True)

    def model(self) -> Bundle:
        """Return the net, as `gru_lib.models.reader` takes it."""
        return network(NETS["nets"][self.task][self.net])

    def values(self) -> dict[str, Any]:
        """Return the state, and what the net makes of the tokens."""
        run = _compute(self.state())
        gates = {"r": run.r.tolist(), "z": run.z.tolist(), "h": run.h.tolist()}
        return self.state() | {"says": run.says, "right": run.right} | gates

    def fallback(self) -> str:
        """Return the rows as static SVG, with what they say as the caption."""
        words = SEQUENCE["words"][self.lang or "en"]
        state = self.state()
        run = _compute(state)
        pictures = {
            name: (at["W"], _height(at, run.h.shape[1]), _rows(state, run, at, words))
            for name, at in SEQUENCE["layout"].items()
        }
        return still(pictures, "ex-rows", words["diagram"], html.unescape(_sentence(state, run, words)))


def read_as(task: str, tokens: list[int]) -> list[int]:
    """Return the tokens as the task reads them: for "skip" the breaks are < (2) and > (3) in turn."""
    brackets = np.cumsum([token == 2 for token in tokens])
    if task != "skip":
        return list(tokens)
    return [2 + int(count % 2 == 0) if token == 2 else token for token, count in zip(tokens, brackets, strict=True)]


def answers(task: str, read: list[int]) -> list[int]:
    """Return what is right after each step: the first token, or 0 (even) and 1 (odd)."""
    inside, odd, found = False, 0, []
    for token in read:
        if task == "skip" and token >= 2:
            inside = token == 2
        if task == "afresh" and token == 2:
            odd = 0
        if token == 1 and not inside:
            odd = 1 - odd
        found.append(read[0] if task == "keep" else odd)
    return found


class _Run(NamedTuple):
    """What is drawn and said; r, z, h are (T, H)."""

    read: list[int]
    r: np.ndarray
    z: np.ndarray
    h: np.ndarray
    says: list[int]
    right: list[int]
    wrong: list[int]
    unit: int


def _compute(s: dict[str, Any]) -> _Run:
    m = network(NETS["nets"][s["task"]][s["net"]])
    read = read_as(s["task"], s["tokens"])
    hs, _, tape = gru_forward(np.eye(m.rnn.D)[read][:, None], None, m.rnn)
    bits = linear_forward(hs[:, 0], m.out)[0] > 0  # (T, K)
    says = (bits @ 2 ** np.arange(bits.shape[1])).tolist()
    right = answers(s["task"], read)
    wrong = [t + 1 for t in range(T) if says[t] != right[t]]
    r, z = (tape.gate(gate)[:, 0] for gate in "rz")
    return _Run(read, r, z, hs[:, 0], says, right, wrong, min(s["unit"], m.rnn.H))


def _symbol(task: str, token: int) -> str:
    symbols = SEQUENCE["symbols"][task]
    return html.escape(symbols[token]) if token < len(symbols) else "?"


def _height(at: dict[str, Any], units: int) -> float:
    return at["units"] + at["pitch"] * units + at["gap"] + at["step"] + 34


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{num(x)} {num(y)}h{num(width)}v{num(height)}h{num(-width)}z"


def _drawn(cls: str, boxes: list[str]) -> str:
    return f'<path class="{cls}" d="{"".join(boxes)}"/>' if boxes else ""


def _rows(s: dict[str, Any], run: _Run, at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the rows' <svg>; sequence.mjs draws the same, and a test holds the two equal."""
    left, column, bar, out, steps = at["left"], at["column"], at["bar"], [], range(1, T + 1)
    units = run.h.shape[1]

    def edge(t: int) -> float:
        return left + (t - 1) * column

    def x(t: int) -> float:
        return edge(t) + (column - bar) / 2

    def middle(t: int) -> float:
        return edge(t) + column / 2

    for t in steps:
        token = run.read[t - 1]
        cls = f"ex-token ex-token-{min(token, 2)}"
        out.append(text(cls, middle(t), at["x"] + 17, "middle", _symbol(s["task"], token)))
    out.append(f'<rect class="ex-strip" x="{num(left)}" y="{at["x"]}" width="{num(column * T)}" height="24"/>')
    roles = SEQUENCE["roles"][s["task"]] if s["net"] == "hand" else []
    for k in range(units):
        y = at["units"] + at["pitch"] * k
        name = words["unit"].format(i=k + 1)
        role = words[roles[k]] if k < len(roles) else ""
        cls = "ex-small ex-picked" if k + 1 == run.unit else "ex-small"
        if at["slim"]:
            out.append(text(cls, left, y - 6, "start", f"{name}: {role}" if role else name))
        else:
            out.append(text(cls, 0, y + 13, "start", name))
            if role:
                out.append(text("ex-small", 0, y + 31, "start", role))
        for gate, top, values in (("r", y, run.r), ("z", y + 20, run.z)):
            out.append(text(f"ex-it ex-{gate}", left - 7, top + 12.5, "end", gate))
            out.append(_drawn("ex-tank", [_box(x(t), top, bar, _TANK) for t in steps]))
            high = [_TANK * v for v in values[:, k]]
            out.append(
                _drawn(f"ex-fill-{gate}", [_box(x(t), top + _TANK - high[t - 1], bar, high[t - 1]) for t in steps])
            )
        zero = y + 40 + _HALF
        out.append(text("ex-it ex-h", left - 7, zero + 4.5, "end", "h"))
        out.append(f'<path class="ex-axis" d="M{num(left)} {num(zero)}H{num(left + column * T)}"/>')
        up, down = [], []
        for t in steps:
            v = run.h[t - 1, k]
            size = abs(v) * _HALF
            if v < 0:
                down.append(_box(x(t) + 0.75, zero, bar - 1.5, size))
            else:
                up.append(_box(x(t), zero - size, bar, size))
        out += [_drawn("ex-fill-h", up), _drawn("ex-down ex-h", down)]
    says = at["units"] + at["pitch"] * units + at["gap"]
    for y, word, row in ((says, words["says"], run.says), (says + at["step"], words["right"], run.right)):
        out.append(
            text("ex-small", left, y - 5, "start", word) if at["slim"] else text("ex-small", 0, y + 13, "start", word)
        )
        for t in steps:
            shown = _symbol("keep", row[t - 1]) if s["task"] == "keep" else str(row[t - 1])
            out.append(text("ex-answer", middle(t), y + 13, "middle", shown))
    out.append(_drawn("ex-ink", [_box(edge(t) + 1, says + 17, column - 2, 4) for t in run.wrong]))
    H = _height(at, units)
    out += [text("ex-small", middle(t), H - 2, "middle", str(t)) for t in steps if t == 1 or t % 6 == 0]
    now, k = s["at"] - 1, run.unit - 1
    numbers = "".join(
        f'\u2002<tspan class="ex-it ex-{role}">{role}</tspan> <tspan class="ex-{role}">{fixed(float(v), 2)}</tspan>'
        for role, v in (("r", run.r[now, k]), ("z", run.z[now, k]), ("h", run.h[now, k]))
    )
    unit = words["unit"].format(i=run.unit)
    out.append(text("ex-now", left, 14, "start", f"{words['step']} {s['at']}, {unit}{numbers}"))
    out.append(
        f'<rect class="ex-frame" x="{num(edge(s["at"]))}" y="22" width="{num(column)}" height="{num(H - 39)}" rx="2"/>'
    )
    return "".join(out)


def _share(v: float) -> str:
    if v < 1e-9:
        return "0\u00a0%"
    return "100\u00a0%" if v > 1 - 1e-9 else percent(v)


def _sentence(s: dict[str, Any], run: _Run, words: dict[str, str]) -> str:
    now, k = s["at"] - 1, run.unit - 1
    said, right = (
        _symbol("keep", answer) if s["task"] == "keep" else words["odd" if answer else "even"]
        for answer in (run.says[now], run.right[now])
    )
    parts = (
        words["say"].format(
            t=s["at"],
            token=_symbol(s["task"], run.read[now]),
            i=run.unit,
            z=_share(float(run.z[now, k])),
            r=_share(float(run.r[now, k])),
            before=fixed(float(run.h[now - 1, k]) if now else 0.0, 2),
            after=fixed(float(run.h[now, k]), 2),
        ),
        words["good" if run.says[now] == run.right[now] else "bad"].format(says=said, right=right),
        words["score"].format(n=T - len(run.wrong), T=T),
    )
    return words["space"].join(parts)
