"""The language model: a trained GRU writes on, character by character (chapter 16)."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib._core.params import Bundle
from gru_lib.cells.gru import gru_step
from gru_lib.models.language_model import lm_init
from gru_lib.widgets._explorer import Explorer, Line, Number, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, percent, still, text

__all__ = ["LanguageExplorer", "read_net", "trained"]

LANGUAGE = json.loads((HERE / "language.json").read_text("utf-8"))  # start, limits, layout, words; as language.mjs
NET = json.loads((HERE / "language-net.json").read_text("utf-8"))
_START, _LIMITS = LANGUAGE["start"], LANGUAGE["limits"]
_VOCABULARY = NET["vocabulary"]
_TOKENS = {c: k for k, c in enumerate(_VOCABULARY)}
_LINE = _TOKENS["\n"]
LENGTH = _LIMITS["at"][1]  # characters in all

Array = NDArray[Any]


@cache
def trained() -> Bundle:
    """Return the trained net: a GRU of 192 units, its weights rounded to 8 bits, as `lm_init` makes it. float64."""
    return read_net(NET)


def read_net(net: Mapping[str, Any]) -> Bundle:
    """Return the parameters that `experiments/language_model.py` stored."""
    m = lm_init(np.random.default_rng(0), net["V"], net["D"], net["H"])
    for name, array in m.items():
        stored = net["arrays"][name]
        if "data" in stored:
            whole = np.frombuffer(base64.b64decode(stored["data"]), np.int8)
            array[:] = whole.reshape(stored["shape"]) * np.array(stored["scale"])
        else:
            array[:] = stored["values"]
    return m


class Run(NamedTuple):
    """A text, and what the net held after reading each character."""

    given: int  # characters of the prefix
    tokens: list[int]  # one more than were read
    steps: list[dict[str, Array]]  # r, z, h (H,), and the logits a (V,) of the next


@lru_cache(maxsize=8)
def write(prefix: str, temperature: float, seed: int) -> Run:
    """Read the prefix and write on, up to `LENGTH` characters; gru-math.mjs draws the same."""
    m = trained()
    tokens = [_TOKENS.get(c, 0) for c in prefix or "\n"]
    given, steps, h = len(tokens), [], np.zeros((1, m.rnn.H))
    while len(steps) < LENGTH:
        h, cache = gru_step(m.embed.E[None, tokens[len(steps)]], h, m.rnn)
        a = (h @ m.out.W + m.out.b)[0]
        steps.append({"r": cache.r[0], "z": cache.z[0], "h": h[0], "a": a})
        if len(steps) == len(tokens):
            tokens.append(_pick(tempered(a, temperature), uniform(seed, len(steps) - given)))
    return Run(given, tokens, steps)


def tempered(a: Array, temperature: float) -> Array:
    """softmax(a / temperature), without the unknown character; temperature 0 is all on the largest."""
    a = np.where(np.arange(len(a)) == 0, -np.inf, a)
    if temperature == 0:
        return (np.arange(len(a)) == a.argmax()).astype(float)
    e = np.exp((a - a.max()) / temperature)
    return e / e.sum()


def uniform(seed: int, place: int) -> float:
    """A number in [0, 1) that looks drawn at random and depends on the seed and the place alone."""
    v = (seed * 0x9E3779B1 + (place + 1) * 0x85EBCA6B) & 0xFFFFFFFF
    for by in (0x7FEB352D, 0x846CA68B):
        v = ((v ^ v >> 16) * by) & 0xFFFFFFFF
    return (v ^ v >> 15) / 2**32


def _pick(probabilities: Array, u: float) -> int:
    above = np.cumsum(probabilities) > u
    return int(above.argmax() if above.any() else probabilities.argmax())


class LanguageExplorer(Explorer):
    """A GRU trained on the English text that ships with Python writes on from what the reader typed.

    The weights are those that ``python -m experiments.language_model net`` made, rounded to 8 bits. A character is
    drawn from softmax(a / temperature), the draws depending on `seed` alone.

    Attributes
    ----------
    prefix : str
        What the reader typed, at most 100 characters.
    temperature : float in [0, 2]
        0 takes the likeliest character every time, 1 is the model itself.
    seed : int in [1, 99]
        Which draws.
    show : "r", "z" or "h"
        What the bars under the characters are.
    unit : int in [1, 192]
        Of which unit.
    at : int in [1, 400]
        The framed character.
    value : dict
        All of these, the `text`, and `shown`: the value of that unit after each of its characters.

    Examples
    --------
    >>> from gru_lib.widgets import LanguageExplorer
    >>> LanguageExplorer(prefix="The ", temperature=0.0).value["text"].startswith("The ")
    True
    """

    module: ClassVar[str] = "language"

    prefix = Line(_START["prefix"], length=LANGUAGE["longest"], help="what the reader typed").tag(sync=True)
    temperature = Number(
        _START["temperature"], min=_LIMITS["temperature"][0], max=_LIMITS["temperature"][1], help="temperature"
    ).tag(sync=True)
    seed = Whole(_START["seed"], min=_LIMITS["seed"][0], max=_LIMITS["seed"][1], help="which draws").tag(sync=True)
    show = OneOf(["r", "z", "h"], _START["show"], help="what the bars are").tag(sync=True)
    unit = Whole(_START["unit"], min=_LIMITS["unit"][0], max=_LIMITS["unit"][1], help="of which unit").tag(sync=True)
    at = Whole(_START["at"], min=_LIMITS["at"][0], max=_LIMITS["at"][1], help="the framed character").tag(sync=True)

    def values(self) -> dict[str, Any]:
        """Return the state, the text, and what the unit held after each character of it."""
        run = write(self.prefix, self.temperature, self.seed)
        written = "".join(_VOCABULARY[k] for k in run.tokens[:LENGTH])
        shown = [float(step[self.show][self.unit - 1]) for step in run.steps]
        return self.state() | {"text": written, "shown": shown}

    def fallback(self) -> str:
        """Return the written text with its bars as static SVG, with what they say as the caption."""
        words = LANGUAGE["words"][self.lang or "en"]
        state, run = self.state(), write(self.prefix, self.temperature, self.seed)
        pictures = {name: (at["W"], at["H"], _draw(state, run, at, words)) for name, at in LANGUAGE["layout"].items()}
        said = _sentence(state, run, LANGUAGE["layout"]["wide"], words)
        return still(pictures, "ex-lines", words["diagram"], said)


def _shown(token: int, space: str) -> str:
    c = _VOCABULARY[token]
    return {"\n": "↵", " ": space}.get(c, c)


def _places(tokens: list[int], at: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The row and the column of each character, as many as there is room for."""
    found, row, column = [], 0, 0
    for i, token in enumerate(tokens):
        if row == at["rows"]:
            break
        found.append((row, column))
        column += 1
        ends = token == _LINE and (i + 1 == len(tokens) or tokens[i + 1] != _LINE)
        if column == at["columns"] or ends:
            row, column = row + 1, 0
    return found


def _framed(run: Run, framed: int, at: Mapping[str, Any]) -> int:
    return min(framed, len(run.steps), len(_places(run.tokens, at)))


def _candidates(
    state: Mapping[str, Any], run: Run, framed: int
) -> tuple[list[int], dict[int, float], dict[int, float], int]:
    """The likeliest next characters in the model's own order, their two probabilities, and what stands there."""
    a, following = run.steps[framed - 1]["a"], run.tokens[framed]
    own, there = tempered(a, 1), tempered(a, state["temperature"])
    order = np.argsort(-own, kind="stable")[: LANGUAGE["candidates"]].tolist()
    if following and following not in order:
        order[-1] = following
    return order, dict(enumerate(own.tolist())), dict(enumerate(there.tolist())), following


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{num(x)} {num(y)}h{num(width)}v{num(height)}h{num(-width)}z"


def _path(cls: str, d: str) -> str:
    return f'<path class="{cls}" d="{d}"/>' if d else ""


def _draw(s: Mapping[str, Any], run: Run, at: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Return the inside of the <svg>; language.mjs draws the same, and a test holds the two equal."""
    framed, where = _framed(run, s["at"], at), _places(run.tokens, at)
    bar, show, out = at["step"] - 2.4, s["show"], []

    def x(column: float) -> float:
        return at["left"] + column * at["step"]

    def y(row: int) -> float:
        return at["top"] + row * at["row"]

    def value(i: int) -> float:
        return float(run.steps[i][show][s["unit"] - 1])

    for row in range(at["rows"]):
        here = [i for i, (r, _) in enumerate(where) if r == row]
        if not here:
            break
        for cls, part in (
            ("ex-char ex-given", [i for i in here if i < run.given]),
            ("ex-char", [i for i in here if i >= run.given]),
        ):
            if part:
                xs = " ".join(num(x(where[i][1]) + at["step"] / 2) for i in part)
                chars = "".join(html.escape(_shown(run.tokens[i], "\u00a0"), quote=False) for i in part)
                out.append(f'<text class="{cls}" x="{xs}" y="{num(y(row))}" text-anchor="middle">{chars}</text>')
        read = [i for i in here if i < len(run.steps)]
        left = {i: x(where[i][1]) + 1.2 for i in read}
        floor, middle = y(row) + 21, y(row) + 14
        if show == "h":
            if read:
                out.append(_path("ex-axis", f"M{num(x(0))} {num(middle)}H{num(x(len(read)))}"))
            up = "".join(_box(left[i], middle - 8 * value(i), bar, 8 * value(i)) for i in read if value(i) >= 0)
            down = "".join(_box(left[i] + 0.6, middle, bar - 1.2, -8 * value(i)) for i in read if value(i) < 0)
            out += [_path("ex-fill-h", up), _path("ex-down ex-h", down)]
        else:
            out.append(_path("ex-tank", "".join(_box(left[i], floor - 14, bar, 14) for i in read)))
            tanks = "".join(_box(left[i], floor - 14 * value(i), bar, 14 * value(i)) for i in read)
            out.append(_path(f"ex-fill-{show}", tanks))

    row, column = where[framed - 1]
    out.append(
        f'<rect class="ex-frame" x="{num(x(column))}" y="{num(y(row) - 14)}" width="{at["step"]}" height="38" rx="2"/>'
    )
    symbol = (
        f'<tspan class="ex-it ex-{show}">{show}<tspan class="ex-sub" dy="4">{s["unit"]}</tspan>'
        '<tspan dy="-4">\u200b</tspan></tspan>'
    )
    now = f"{words['step']} {framed}\u2003{html.escape(_shown(run.tokens[framed - 1], '␣'), quote=False)}\u2003{symbol}"
    out.append(
        text("ex-now", at["left"], 16, "start", f'{now} <tspan class="ex-{show}">{fixed(value(framed - 1))}</tspan>')
    )

    order, own, there, following = _candidates(s, run, framed)
    title = words["nextSlim" if at["slim"] else "next"].format(T=fixed(s["temperature"], 2))
    out.append(text("ex-small", at["left"], at["bars"] - 8, "start", title))
    wide, ground, high = (at["W"] - 2 * at["left"]) / len(order), at["bars"] + 20 + at["high"], at["high"]
    out.append(_path("ex-axis", f"M{at['left']} {num(ground)}H{num(at['W'] - at['left'])}"))
    for i, k in enumerate(order):
        middle = at["left"] + (i + 0.5) * wide
        out.append(_path("ex-chance", _box(middle - 9, ground - high * there[k], 18, high * there[k])))
        out.append(_path("ex-own", _box(middle - 12, ground - high * own[k], 24, high * own[k])))
        top = ground - high * max(own[k], there[k])
        out.append(
            text("ex-part", middle, top - 5, "middle", percent(there[k]).replace("<", "&lt;").replace(">", "&gt;"))
        )
        chosen = " ex-chosen" if k == following else ""
        char = html.escape(_shown(k, "␣"), quote=False)
        out.append(text(f"ex-char{chosen}", middle, ground + 18, "middle", char))
        if chosen:
            out.append(_path("ex-axis ex-chosen", f"M{num(middle - 12)} {num(ground + 25)}h24"))
    return "".join(out)


def _sentence(s: Mapping[str, Any], run: Run, at: Mapping[str, Any], words: Mapping[str, str]) -> str:
    framed = _framed(run, s["at"], at)
    order, own, there, following = _candidates(s, run, framed)
    tail = "".join(_shown(k, " ") for k in run.tokens[max(0, framed - 12) : framed])
    return words["say"].format(
        tail=f"“…{tail}”",
        best=f"“{_shown(order[0], '␣')}”",
        own=percent(own[order[0]]),
        there=percent(there[order[0]]),
        T=fixed(s["temperature"], 2),
        next=f"“{_shown(following, '␣')}”",
        chance=percent(there[following]),
        unit=s["unit"],
        symbol=s["show"],
        v=fixed(float(run.steps[framed - 1][s["show"]][s["unit"] - 1])),
    )
