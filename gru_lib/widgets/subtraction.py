"""Subtraction: a small net subtracts two numbers of up to 64 bits, bit by bit (chapter 7)."""

from __future__ import annotations

import json
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gru_lib._core.params import Bundle, bundle
from gru_lib.cells.gru import gru_forward, gru_init
from gru_lib.ops import linear_forward, linear_init, sigmoid
from gru_lib.tasks.subtraction import subtract_bits
from gru_lib.widgets._explorer import Explorer, Natural, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, percent, still, text

__all__ = ["SubtractionExplorer"]

SUBTRACTION = json.loads((HERE / "subtraction.json").read_text("utf-8"))  # start, presets, layout and words
NETS = json.loads((HERE / "subtraction-nets.json").read_text("utf-8"))  # weights, made by experiments.explorer_nets
_START = SUBTRACTION["start"]
MOST = 64


class SubtractionExplorer(Explorer):
    """Two numbers and a GRU that says their difference: it reads a bit of each a step, the least significant first.

    Attributes
    ----------
    a, b : str
        Whole numbers below 2**64, in decimal digits: a page's numbers are floats. Set them to an int or to digits.
    net : "four", "eight" or "hand"
        Trained on pairs of four bits; on pairs of four to eight bits, with a tidy state; weights set by hand. How
        often each is right was measured, and stands in ``subtraction-nets.json``.
    at : int in [1, 64]
        The framed place; beyond the last one, the last.
    value : dict
        All of these; `places`, how many there are; `says` and `right`, the net's number and a − b (modulo
        2**places), as ints; `wrong`, the places where they differ; `h`, the states (places, H).

    Examples
    --------
    >>> from gru_lib.widgets import SubtractionExplorer
    >>> value = SubtractionExplorer(a=3 * 2**40, b=1).value
    >>> value["says"] == value["right"] == 3 * 2**40 - 1
    True
    """

    module: ClassVar[str] = "subtraction"

    a = Natural(_START["a"], bits=MOST, help="minuend, in decimal digits").tag(sync=True)
    b = Natural(_START["b"], bits=MOST, help="subtrahend, in decimal digits").tag(sync=True)
    net = OneOf(list(NETS["nets"]), _START["net"], help="which net").tag(sync=True)
    at = Whole(_START["at"], min=1, max=MOST, help="the framed place").tag(sync=True)

    def model(self) -> Bundle:
        """Return the net, as `gru_lib.models.subtractor` takes it."""
        return network(NETS["nets"][self.net])

    def values(self) -> dict[str, Any]:
        """Return the state, and what the net makes of it."""
        run = _compute(self.state())
        found = {"places": run.T, "says": run.said, "right": run.rest, "wrong": run.wrong, "h": run.hs.tolist()}
        return self.state() | found

    def fallback(self) -> str:
        """Return the rows as static SVG, with what they say as the caption."""
        words = SUBTRACTION["words"][self.lang or "en"]
        state = self.state()
        run = _compute(state)
        pictures = {
            name: (at["W"], _place(at, run.T, run.hs.shape[1])["H"], _rows(state, run, at, words))
            for name, at in SUBTRACTION["layout"].items()
        }
        return still(pictures, "ex-rows", words["diagram"], _sentence(state, run, words))


def network(weights: dict[str, Any]) -> Bundle:
    """Return a bundle of a GRU and a linear layer from the lists of a `-nets.json`."""
    D, H = np.shape(weights["W_xr"])
    rng = np.random.default_rng(0)  # everything drawn is overwritten
    m = bundle(rnn=gru_init(rng, D, H), out=linear_init(rng, H, len(weights["out"]["b"])))
    for name, values in weights.items():
        if name != "out":
            getattr(m.rnn, name)[:] = values
    m.out.W[:], m.out.b[:] = weights["out"]["W"], weights["out"]["b"]
    return m


class _Run(NamedTuple):
    """What is drawn and said."""

    T: int
    a: list[int]
    b: list[int]
    hs: np.ndarray  # (T, H)
    ys: np.ndarray  # (T,)
    says: list[int]
    right: list[int]
    borrow: list[int]  # after each place
    wrong: list[int]
    at: int
    said: int
    rest: int


def _compute(s: dict[str, Any]) -> _Run:
    """Run the net, and subtract with Python's whole numbers to judge it."""
    A, B = int(s["a"]), int(s["b"])
    T = max(4, A.bit_length(), B.bit_length())
    a, b = ([n >> t & 1 for t in range(T)] for n in (A, B))
    m = network(NETS["nets"][s["net"]])
    hs = gru_forward(np.array([a, b], float).T[:, None], None, m.rnn)[0]
    ys = sigmoid(linear_forward(hs, m.out)[0])[:, 0, 0]
    says = [int(y > 0.5) for y in ys]
    rest = (A - B) % 2**T
    right = [rest >> t & 1 for t in range(T)]
    _, borrow = subtract_bits(np.array(a)[:, None], np.array(b)[:, None])
    wrong = [t + 1 for t in range(T) if says[t] != right[t]]
    said = sum(bit << t for t, bit in enumerate(says))
    return _Run(T, a, b, hs[:, 0], ys, says, right, borrow[1:, 0].tolist(), wrong, min(s["at"], T), said, rest)


def _place(at: dict[str, Any], T: int, units: int) -> dict[str, float]:
    """Where things stand: columns for T places, a row for every unit."""
    column = min(at["most"], at["room"] / T)
    bottom = at["units"] + at["pitch"] * units
    says, right = bottom + at["gap"], bottom + at["gap"] + at["step"]
    return {
        "column": column,
        "bar": 0.72 * column,
        "bottom": bottom,
        "says": says,
        "right": right,
        "H": right + at["bit"] + 20,
    }


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{num(x)} {num(y)}h{num(width)}v{num(height)}h{num(-width)}z"


def _drawn(cls: str, boxes: list[str]) -> str:
    return f'<path class="{cls}" d="{"".join(boxes)}"/>' if boxes else ""


def _rows(s: dict[str, Any], run: _Run, at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the rows' <svg>; subtraction.mjs draws the same, and a test holds the two equal."""
    borrow, units = NETS["measured"][s["net"]]["borrow"], run.hs.shape[1]
    here, places, left = _place(at, run.T, units), range(1, run.T + 1), at["left"]
    column, bar, out = here["column"], here["bar"], []

    def edge(t: int) -> float:
        return left + (t - 1) * column

    def x(t: int) -> float:
        return edge(t) + (column - bar) / 2

    def name(y: float, cls: str, word: str) -> None:
        out.append(text(cls, left, y - 5, "start", word) if at["slim"] else text(cls, 0, y + 11, "start", word))

    def bits(y: float, cls: str, row: list[int]) -> None:
        out.append(_drawn("ex-tank", [_box(x(t), y, bar, at["bit"]) for t in places]))
        out.append(_drawn(cls, [_box(x(t), y, bar, at["bit"]) for t in places if row[t - 1]]))

    ground = [_box(edge(t), at["units"], column, here["bottom"] - at["units"]) for t in places if run.borrow[t - 1]]
    out.append(_drawn("ex-shade", ground))
    name(at["a"], "ex-it ex-x", "a")
    bits(at["a"], "ex-fill-x", run.a)
    name(at["b"], "ex-it ex-x", "b")
    bits(at["b"], "ex-fill-x", run.b)
    for k in range(units):
        unit = (borrow["unit"] + k) % units  # the borrow first
        word = words["unit"].format(i=unit + 1)
        middle = at["units"] + at["pitch"] * (k + 1) - at["half"] - 3
        name(
            middle - at["half"] - 1 if at["slim"] else middle - 7,
            "ex-small" if k else "ex-unit ex-h",
            word if k else word + words["is" if borrow["sign"] > 0 else "opposite"],
        )
        out.append(f'<path class="ex-axis" d="M{num(left)} {num(middle)}H{num(left + run.T * column)}"/>')
        up, down = [], []
        for t in places:
            v = run.hs[t - 1, unit]
            size = abs(v) * at["half"]
            if v < 0:
                down.append(_box(x(t) + 0.5, middle, bar - 1, size))
            else:
                up.append(_box(x(t), middle - size, bar, size))
        out += [_drawn("ex-fill-h", up), _drawn("ex-down ex-h", down)]
    name(here["says"], "ex-small", words["says"])
    bits(here["says"], "ex-ink", run.says)
    name(here["right"], "ex-small", words["right"])
    bits(here["right"], "ex-ink", run.right)
    out.append(_drawn("ex-ink", [_box(edge(t), here["says"] + at["bit"] + 2, column, 4) for t in run.wrong]))
    for t in places:
        if t == 1 or (t % 8 == 0 and column * 8 > 20):
            out.append(text("ex-small", x(t) + bar / 2, here["H"] - 3, "middle", str(t)))
    now = run.at - 1
    shown = (("ex-x", "a", run.a[now]), ("ex-x", "b", run.b[now]), ("", "c", run.borrow[now - 1] if now else 0))
    shown += (("", "d", run.right[now]), ("", "y", fixed(float(run.ys[now]))))
    numbers = "".join(f'\u2002<tspan class="ex-it {cls}">{symbol}</tspan> {value}' for cls, symbol, value in shown)
    out.append(text("ex-now", left, 14, "start", f"{words['place']} {run.at}{numbers}"))
    out.append(
        f'<rect class="ex-frame" x="{num(edge(run.at))}" y="22" width="{num(column)}" '
        f'height="{num(here["H"] - 40)}" rx="2"/>'
    )
    return "".join(out)


def _sentence(s: dict[str, Any], run: _Run, words: dict[str, str]) -> str:
    borrow = NETS["measured"][s["net"]]["borrow"]
    A, B = int(s["a"]), int(s["b"])
    up = borrow["sign"] * run.hs[:, borrow["unit"]] > 0
    parts = (
        words["below_text" if A < B else "exact"].format(
            a=A, b=B, d=str(A - B).replace("-", "\u2212"), T=run.T, rest=run.rest
        ),
        words["wrong" if run.wrong else "correct"].format(
            said=run.said, n=len(run.wrong), T=run.T, first=run.wrong[0] if run.wrong else 0
        ),
        words["held"].format(i=borrow["unit"] + 1, n=int((up == (np.array(run.borrow) == 1)).sum()), T=run.T),
        words["now"].format(t=run.at, d=run.right[run.at - 1], y=percent(float(run.ys[run.at - 1]))),
    )
    return words["space"].join(parts)
