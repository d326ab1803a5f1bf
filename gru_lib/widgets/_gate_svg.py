"""The gate explorer as a still picture, for pages without JavaScript.

The drawing is that of gate-cell.mjs, function by function; a test in the browser holds the two equal to the character.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gru_lib.widgets._svg import Points, fixed, percent, still
from gru_lib.widgets._svg import num as _num
from gru_lib.widgets._svg import path as _path
from gru_lib.widgets._svg import sub as _sub
from gru_lib.widgets._svg import text as _text

__all__ = ["cell", "figure"]


def _wire(points: Points, value: float, full: float, role: str) -> tuple[str, str]:
    size = min(abs(value), 1.0) * full
    negative = value < -0.005
    outer = max(size, 4.0 if negative else 1.0)
    hollow = outer - (3.2 if outer > 7 else 2.2)
    flow = _path(f"ex-wire ex-{role}", points, outer) + (_path("ex-hollow", points, hollow) if negative else "")
    return _path("ex-track", points, full), flow


def _tap(x: float, y: float, value: float, full: float, role: str) -> str:
    plate, gap = full / 2 + 8, value * full / 2

    def rect(top: float) -> str:
        return f'<rect x="{_num(x - 5)}" y="{_num(top)}" width="10" height="{_num(plate)}"/>'

    return f'<g class="ex-tap ex-fill-{role}">{rect(y - gap - plate)}{rect(y + gap)}</g>'


def _plaque(x: float, y: float, width: float, height: float, radius: int, symbol: str, value: float, role: str) -> str:
    left, right = x - width / 2, x + width / 2
    return (
        f'<g class="ex-plaque ex-{role}"><rect x="{_num(left)}" y="{_num(y - height / 2)}" width="{_num(width)}" '
        f'height="{_num(height)}" rx="{radius}"/>{_text("ex-sym", left + 11, y + 5, "start", symbol)}'
        f"{_text('ex-num', right - 8, y + 4.5, 'end', fixed(value))}</g>"
    )


def _box(x: float, y: float, width: float, lines: Sequence[str]) -> str:
    height = 38 if len(lines) > 1 else 24
    middle = (len(lines) - 1) / 2
    rows = (_text("", x, y + 4.5 + 15 * (i - middle), "middle", line) for i, line in enumerate(lines))
    return (
        f'<g class="ex-op"><rect x="{_num(x - width / 2)}" y="{_num(y - height / 2)}" width="{_num(width)}" '
        f'height="{height}" rx="2"/>{"".join(rows)}</g>'
    )


def _plus(x: float, y: float) -> str:
    cross = f'<path d="M{_num(x - 5)} {_num(y)}h10M{_num(x)} {_num(y - 5)}v10"/>'
    return f'<g class="ex-op"><circle cx="{_num(x)}" cy="{_num(y)}" r="12"/>{cross}</g>'


def _controls(at: dict[str, Any], rx: float) -> str:
    lines = [
        [(at["branch"], at["mid"]), (at["branch"], at["ry"]), (rx - 37, at["ry"])],
        [(rx, at["bot"]), (rx, at["ry"] + 13)],
        [(at["ctl"], at["top"]), (at["ctl"], at["zy"]), (at["v"] - 37, at["zy"])],
        [(at["n"], at["bot"]), (at["ctl"], at["bot"]), (at["ctl"], at["zy"])],
        [(at["v"], at["top"]), (at["v"], at["mid"])],
        [(rx, at["mid"]), (rx, at["ry"])],
    ]
    return "".join(_path("ex-ctl", line) for line in lines)


def _wires(s: Any, at: dict[str, Any], rx: float, wx: float, half: float) -> list[tuple[str, str]]:
    top, mid, bot, left = at["top"], at["mid"], at["bot"], at["n"] - 42
    down = [(at["branch"], top), (at["branch"], mid)]
    keep, write = _shares(s)
    if s.reset == "after":
        inner = s.h_prev * s.W_hn + s.b_hn
        past: list[tuple[Points, float, str]] = [
            ([*down, (wx - half, mid)], s.h_prev, "h"),
            ([(wx + half, mid), (rx, mid)], inner, "a"),
            ([(rx, mid), (left, mid)], s.r * inner, "a"),
        ]
    else:
        past = [
            ([*down, (rx, mid)], s.h_prev, "h"),
            ([(rx, mid), (wx - half, mid)], s.r * s.h_prev, "h"),
            ([(wx + half, mid), (left, mid)], s.r * s.h_prev * s.W_hn, "a"),
        ]
    rest: list[tuple[Points, float, str]] = [
        ([(at["start"], bot), (at["n"], bot), (at["n"], at["wy"])], s.x, "x"),
        ([(at["n"], at["wy"]), (at["n"], mid)], s.x * s.W_xn + s.b_n, "a"),
        ([(at["n"] + 42, mid), (at["v"], mid)], s.n, "n"),
        ([(at["v"], mid), (at["s"], mid), (at["s"], top)], write * s.n, "n"),
        ([(at["start"], top), (at["v"], top)], s.h_prev, "h"),
        ([(at["v"], top), (at["s"], top)], keep * s.h_prev, "h"),
        ([(at["s"], top), (at["out"], top)], s.h, "h"),
    ]
    return [_wire(points, value, at["full"], role) for points, value, role in past + rest]


def _shares(s: Any) -> tuple[float, float]:
    return (s.z, 1 - s.z) if s.convention == "keep" else (1 - s.z, s.z)


def _tags(s: Any, at: dict[str, Any], words: dict[str, str]) -> str:
    def tag(x: float, y: float, word: str, share: str, value: float) -> str:
        rest = "" if share == "z" else f' <tspan class="ex-small-num">{fixed(value)}</tspan>'
        symbol = share.replace("z", '<tspan class="ex-it">z</tspan>')  # the 1 stands upright
        return _text("ex-tag", x, y, "end", f'{word} <tspan class="ex-share">{symbol}</tspan>{rest}')

    kept, written = ("z", "1 − z") if s.convention == "keep" else ("1 − z", "z")
    keep, write = _shares(s)
    above = (at["v"] + (24 if kept == "z" or at["slim"] else 60), at["top"] - at["full"] / 2 - 24)
    below = (at["v"] + (24 if written == "z" else 60), at["mid"] + at["full"] / 2 + 33)
    return tag(*above, words["keep"], kept, keep) + tag(*below, words["write"], written, write)


def _ends(s: Any, at: dict[str, Any], rx: float, words: dict[str, str]) -> str:
    def end(x: float, y: float, anchor: str, symbol: str, value: float, name: str, role: str) -> str:
        below = _text("ex-small", x, y + 33, anchor, name) if name else ""
        value_text = _text("ex-num", x, y + 15, anchor, fixed(value))
        return f'<g class="ex-{role}">{_text("ex-sym", x, y - 4, anchor, symbol)}{value_text}{below}</g>'

    hp, ht, top, bot = _sub("h", "t−1"), _sub("h", "t"), at["top"], at["bot"]
    if at["slim"]:
        x_value = _text("ex-sym", 4, bot - 14, "start", "x") + _text("ex-num", 16, bot - 14, "start", fixed(s.x))
        return (
            end(4, top - 32, "start", hp, s.h_prev, "", "h")
            + end(349, top - 32, "end", ht, s.h, "", "h ex-out")
            + f'<g class="ex-x">{x_value}</g>'
        )
    keep, write = _shares(s)
    return (
        end(54, top, "end", hp, s.h_prev, words["h_prev"], "h")
        + end(54, bot - 6, "end", "x", s.x, words["x"], "x")
        + end(at["out"] + 6, top, "start", ht, s.h, words["h"], "h ex-out")
        + _text("ex-small", at["v"] + 43, at["zy"] + 4.5, "start", words["z"])
        + _text("ex-small", rx, at["ry"] + 27, "middle", words["r"])
        + _text("ex-part ex-h", (at["v"] + at["s"]) / 2 + 14, top - 16, "middle", fixed(keep * s.h_prev))
        + _text("ex-part ex-n", at["s"] + 16, (top + at["mid"]) / 2 + 20, "start", fixed(write * s.n))
    )


def cell(s: Any, at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the cell's <svg>.

    Parameters
    ----------
    s
        Anything with the attributes of a GateExplorer.
    at
        One of the layouts of gate.json.
    words
        One of its languages.
    """
    after = s.reset == "after"
    rx, wx = (at["b"], at["a"]) if after else (at["a"], at["b"])
    inner = [f"× {_sub('w', 'hn')}"] + ([f"+ {_sub('b', 'hn')}"] if after else [])
    outer = [f"× {_sub('w', 'xn')}", f"+ {_sub('b', 'n')}"]
    width = at["box"] if at["slim"] or after else 54
    keep, write = _shares(s)

    def rows(lines: list[str]) -> list[str]:
        return lines if at["slim"] else [" ".join(lines)]

    wires = _wires(s, at, rx, wx, width / 2)
    return "".join(
        [
            *(track for track, _ in wires),
            _controls(at, rx),
            *(flow for _, flow in wires),
            _plus(at["s"], at["top"]),
            _box(wx, at["mid"], width, rows(inner)),
            _box(at["n"], at["wy"], at["box"], rows(outer)),
            _tap(rx, at["mid"], s.r, at["full"], "r"),
            _tap(at["v"], at["top"], keep, at["full"], "z"),
            _tap(at["v"], at["mid"], write, at["full"], "z"),
            _plaque(rx, at["ry"], 74, 26, 13, "r", s.r, "r"),
            _plaque(at["v"], at["zy"], 74, 26, 13, "z", s.z, "z"),
            _plaque(at["n"], at["mid"], 84, 32, 3, "n", s.n, "n"),
            _text("ex-small", at["n"], at["mid"] - 23, "middle", words["n"]),
            _tags(s, at, words),
            _ends(s, at, rx, words),
        ]
    )


def sentence(s: Any, words: dict[str, str]) -> str:
    """Return the sentence under the cell, made from the values."""
    keep, write = _shares(s)
    shares = words["say"].format(keep=percent(keep), write=percent(write), seen=percent(s.r))
    moves = words["moves"].format(**{"from": fixed(s.h_prev), "to": fixed(s.h)})
    return shares + words["space"] + moves  # no space after a Chinese full stop


def figure(s: Any, gate: dict[str, Any]) -> str:
    """Return the cell with its sentence, for a wide screen and for a narrow one; the style sheet shows one of them."""
    words = gate["words"][s.lang or "en"]
    pictures = {name: (at["W"], at["H"], cell(s, at, words)) for name, at in gate["layout"].items()}
    return still(pictures, "ex-cell", words["diagram"], sentence(s, words))
